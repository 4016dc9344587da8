"""One scenario of a run, as a comparison needs it: exact, and small enough to be kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from highbar.columns import EXTRA, UNBOUNDED_NAMES

ONE = Fraction(1)


@dataclass(frozen=True, slots=True)
class ScenarioRecord:
    """What became of one scenario: how many of its trials passed, and its value of every measure that it has.

    A value is the mean over the trials that have it. `ranks` holds the values of the trials that a percentile ranks,
    None for one that never completed, where `values` do not say them already. `lone` names the values that stand only
    for what errors, violations and undecided trials come to: they count if other scenarios have the measure. In those
    that `valueless` names some trial has no value, so that a mean of them says nothing. `undecided` counts trials.
    """

    id: str
    trials: int
    passed: int
    columns: Mapping[str, str] = field(default_factory=dict)  # category, capability and what else it is sliced by
    values: Mapping[str, Fraction] = field(default_factory=dict)
    ranks: Mapping[str, tuple[Fraction | None, ...]] = field(default_factory=dict)
    weight: Fraction = ONE
    cluster: str | None = None
    lone: frozenset[str] = frozenset()
    valueless: frozenset[str] = frozenset()
    undecided: int = 0

    @property
    def all_passed(self) -> bool:
        """Whether every trial passed."""
        return self.passed == self.trials

    @property
    def flaky(self) -> bool:
        """Whether some trials passed and others failed."""
        return 0 < self.passed < self.trials - self.undecided

    def ranked(self, column: str) -> tuple[Fraction | None, ...]:
        """The values of its trials that a percentile of the column ranks, None for one that never completed."""
        return self.ranks.get(column) or self.single_rank(column)

    def single_rank(self, column: str) -> tuple[Fraction | None, ...]:
        """What the values say of the rank of a scenario's one trial; nothing where there are several."""
        if self.trials != 1:
            return ()
        # In a column without bounds a crashed trial ranks beyond every number.
        if self.values.get("error") and (column in UNBOUNDED_NAMES or column.startswith(EXTRA)):
            return (None,)
        return (self.values[column],) if column in self.values else ()
