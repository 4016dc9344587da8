"""Who judges the records of another tool: the scorers that a policy's `judged_by` names, and those that were found."""

from __future__ import annotations

from fractions import Fraction

from msgspec import Struct

from highbar.model.literals import Where


class ScorerDemand(Struct, frozen=True):
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


class Judging(Struct, frozen=True, eq=False):
    """Who judged the records of one tool: its scorers, by the policy's `judged_by` or by what the file declares."""

    tool: str
    judges: tuple[str, ...]
    by_policy: bool = False
    others: tuple[str, ...] = ()  # the scorers of the file that do not judge

    def __eq__(self, other: object) -> bool:
        """Whether the same scorers judge; a verdict's document does not have the others."""
        return isinstance(other, Judging) and self._who == other._who

    def __hash__(self) -> int:
        return hash(self._who)

    @property
    def _who(self) -> tuple[object, ...]:
        return self.tool, self.judges, self.by_policy


class Selection(Struct, frozen=True):
    """Which rows were judged, and what was left out: how many rows, and the scenarios that lost all their rows."""

    where: Where
    rows: int = 0
    scenarios: tuple[str, ...] = ()  # some of them
    scenarios_count: int = 0
