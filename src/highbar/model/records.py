"""One scenario of a run, as comparisons need it: exact, and small enough to be stored."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from msgspec import Struct, field

from highbar.columns import EXTRA, UNBOUNDED_NAMES

ONE = Fraction(1)


class ScenarioRecord(Struct, frozen=True):
    """One scenario: how many of its trials passed, and its value of every measure.

    A value is the mean over the trials that have one. `ranks` has the values of the single trials, for percentiles,
    unless `values` implies them; None for a trial that never completed. `lone` names the measures whose value comes
    only from errors, violations or undecided trials: they count if another scenario has a real value. `valueless` names
    the measures of which some trial has no value, so that the mean is not meaningful. `undecided` counts trials.
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
        """The values of its trials, for a percentile of the column; None for a trial that never completed."""
        return self.ranks.get(column) or self.single_rank(column)

    def single_rank(self, column: str) -> tuple[Fraction | None, ...]:
        """The rank that `values` implies if the scenario has one trial; empty if it has several, or no value."""
        if self.trials != 1:
            return ()
        # In a column without bounds a crashed trial ranks beyond every number.
        if self.values.get("error") and (column in UNBOUNDED_NAMES or column.startswith(EXTRA)):
            return (None,)
        return (self.values[column],) if column in self.values else ()
