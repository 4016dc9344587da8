"""All that a rule may look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from highbar.gate.outlook import Rests, percentile_of
from highbar.language import formula
from highbar.model import Better, Expression, Metric, Trial, Value, Where
from highbar.statistics.bounds import Sums
from highbar.statistics.interval import Interval
from highbar.statistics.second_run import NOT_REPEATED, Noise

if TYPE_CHECKING:  # few checks compare, and its classes take time to make
    from highbar.model.comparison import Difference

PASSING = "pass_rate"


class Measured(Protocol):
    """The metrics of the whole, over any scenarios."""

    def value(self, name: str, where: Where = ()) -> Value:
        """The value of one metric."""

    def sums(self, name: str, where: Where = ()) -> Sums | None:
        """The sums behind a metric that is a share; None for any other."""

    def failing(self, name: str, where: Where = ()) -> int | None:
        """How many scenarios (or clusters) behind a share are not perfect; None if that was not counted."""

    def difference(self, left: Expression, right: Expression, better: Better = "higher") -> Value:
        """One expression less another, with its interval."""

    def span(self, left: Expression, right: Expression) -> Span:
        """The least and the most that it comes to, whatever undecided trials turn out to be."""

    def follows(self, name: str, where: Where = ()) -> bool:
        """Whether a metric is at its worst and best with undecided trials at theirs."""

    def lookup(self, where: Where = ()) -> formula.Lookup:
        """What the names of a formula are worth."""


class Span(Protocol):
    """The least and the most that something can come to; None if there is no bound."""

    @property
    def low(self) -> Fraction | None:
        """The least."""

    @property
    def high(self) -> Fraction | None:
        """The most."""


class Matched(Protocol):
    """What a pattern of ids found."""

    @property
    def scenarios(self) -> int:
        """How many scenarios match."""

    @property
    def failed(self) -> int:
        """How many of them failed a trial."""

    @property
    def examples(self) -> tuple[str, ...]:
        """The ids of some of those."""

    @property
    def undecided(self) -> int:
        """How many failed no trial, but have an undecided one."""

    @property
    def undecided_examples(self) -> tuple[str, ...]:
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

    @property
    def unlooked(self) -> tuple[str, ...]:
        """What the suite demands and some trial does not say, in words."""

    @property
    def unlooked_more(self) -> int:
        """How many more of those there are."""

    @property
    def unjudged_ids(self) -> tuple[str, ...]:
        """Some scenarios with an unjudged trial."""


class Compared(Protocol):
    """What changed since the baseline."""

    @property
    def problem(self) -> str | None:
        """Why the two cannot be compared: another judge, another suite, nothing in common."""

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

    def follows(self, metric: str, where: Where = ()) -> bool:
        """Whether, in both runs, a metric is at its worst and best with undecided trials at theirs."""

    @property
    def best(self) -> Compared | None:
        """The same with undecided trials at their best; None if nothing is undecided."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The metrics, what was found of the named scenarios and of the suite, and the one-sided error that is accepted.

    Undecided trials count as not passed, and so on, unless `at_best`. `best` is the same evidence with them at their
    best, None if there are none; `undecided` names, by rule, the trials that it hangs on.
    """

    measured: Measured
    metrics: Mapping[str, Metric]
    patterns: Mapping[str, Matched]
    suite: SuiteMatch | None
    alpha: float = 0.05
    baseline: Compared | None = None
    allow_missing_baseline: bool = False
    at_best: bool = False
    best: Evidence | None = None
    undecided: Mapping[str, tuple[Trial, ...]] = field(default_factory=dict)
    baseline_file: str | None = None  # where it was looked for, if not where the policy says
    noise: Noise = NOT_REPEATED

    def rests(self, metric: str, where: Where = ()) -> Rests:
        """What a metric's value rests on."""
        return Rests(
            self.measured.sums(metric, where),
            self.measured.failing(metric, where),
            self.noise,
            percentile_of(self.metrics.get(metric)),
        )

    @property
    def pass_rate(self) -> Fraction | None:
        """The pass rate of all scenarios, by which a second run of one of them is guessed."""
        return self.measured.value(PASSING).value if PASSING in self.metrics else None
