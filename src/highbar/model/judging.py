"""Who judges the records of another tool: the scorers that a policy's `judged_by` names, and those that were found."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from highbar.model.words import Where


@dataclass(frozen=True, slots=True)
class ScorerDemand:
    """One scorer that must pass: `{ scorer: NAME, at_least: 0.8 }`, or `{ metric: acc_norm, filter: none }`.

    Without `at_least` the scorer's own verdict decides; one that gives only a number must give at least 1.
    """

    scorer: str
    at_least: Fraction | None = None
    filter: str | None = None  # lm-eval reports one metric several times, once for each filter

    @property
    def least(self) -> Fraction:
        """The least number that meets the demand."""
        return Fraction(1) if self.at_least is None else self.at_least

    def holds(self, value: float | None) -> bool | None:
        """Whether a value of the scorer meets the demand; None if the scorer gave no value."""
        return None if value is None else Fraction(str(value)) >= self.least  # as written: 0.7 is seven tenths


@dataclass(frozen=True, slots=True)
class Judging:
    """Who judged the records of one tool: its scorers, by the policy's `judged_by` or by what the file declares."""

    tool: str
    judges: tuple[str, ...]
    by_policy: bool = False
    others: tuple[str, ...] = field(default=(), compare=False)  # the scorers of the file that do not judge


@dataclass(frozen=True, slots=True)
class Selection:
    """Which rows were judged, and what was left out: the number of rows, and the scenarios without any row left."""

    where: Where
    rows: int = 0
    scenarios: tuple[str, ...] = ()  # some of them
    scenarios_count: int = 0
