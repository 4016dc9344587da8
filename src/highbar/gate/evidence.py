"""All that a rule may look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from highbar import formula
from highbar.model import Expression, Metric, Value, Where
from highbar.statistics.bounds import Sums
from highbar.statistics.interval import Interval

if TYPE_CHECKING:  # few checks compare, and its classes take time to make
    from highbar.model.comparison import Difference


class Measured(Protocol):
    """The metrics of the whole, over any scenarios."""

    def value(self, name: str, where: Where = ()) -> Value:
        """The value of one metric."""

    def sums(self, name: str, where: Where = ()) -> Sums | None:
        """The sums behind a metric that is a share; None for any other."""

    def difference(self, left: Expression, right: Expression) -> Value:
        """One expression less another, with its interval."""

    def lookup(self, where: Where = ()) -> formula.Lookup:
        """What the names of a formula are worth."""


class Matched(Protocol):
    """What a pattern of ids found."""

    @property
    def scenarios(self) -> int:
        """How many scenarios match."""

    @property
    def failed(self) -> int:
        """How many of them did not pass every trial."""

    @property
    def examples(self) -> tuple[str, ...]:
        """The ids of some of those."""


class SuiteMatch(Protocol):
    """How the results differ from the suite."""

    @property
    def missing(self) -> int:
        """How many scenarios of the suite have no result."""

    @property
    def missing_ids(self) -> tuple[str, ...]:
        """Some of them."""

    @property
    def extra(self) -> int:
        """How many scenarios of the results are not in the suite."""

    @property
    def extra_ids(self) -> tuple[str, ...]:
        """Some of them."""

    @property
    def excused_ids(self) -> tuple[str, ...]:
        """The scenarios of the suite that have no result and are optional."""

    @property
    def different(self) -> tuple[str, ...]:
        """Where a column that the suite fixes is another in the results, in words."""


class Compared(Protocol):
    """What changed since the baseline."""

    @property
    def problem(self) -> str | None:
        """Why the two cannot be held against each other: another judge, another suite, nothing in common."""

    @property
    def absent(self) -> frozenset[str]:
        """The scenarios of the baseline that should have a result and have none."""

    @property
    def broken(self) -> frozenset[str]:
        """Those of which all trials passed in the baseline, and not all now."""

    @property
    def passed_in_base(self) -> tuple[str, ...]:
        """Those of which all trials passed in the baseline, sorted."""

    def difference(self, metric: str, where: Where = ()) -> Difference:
        """A metric over the pairs, then and now."""

    def bounds(self, metric: str, where: Where, share: Fraction) -> Interval:
        """The bounds of its value now, less `share` times that of then."""

    def base_value(self, metric: str, where: Where = ()) -> Value:
        """A metric over all scenarios of the baseline."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The metrics, what was found of the named scenarios and of the suite, and the one-sided error that is accepted."""

    measured: Measured
    metrics: Mapping[str, Metric]
    patterns: Mapping[str, Matched]
    suite: SuiteMatch | None
    alpha: float = 0.05
    baseline: Compared | None = None
    allow_missing_baseline: bool = False
    baseline_file: str | None = None  # where it was looked for, if not where the policy says
