"""The evidence by which rules are judged."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from highbar.gate.outlook import ValueSupport, percentile_of
from highbar.measure import Measured
from highbar.model import Metric, Trial, Value, Where
from highbar.model.reduction import Matched, SuiteMatch
from highbar.statistics.interval import Interval
from highbar.statistics.second_run import NOT_REPEATED, Noise

if TYPE_CHECKING:  # few checks compare, use a judge, or are sequential, and these modules take time to import
    from highbar.gate.sequential import Replaying
    from highbar.model.comparison import Difference
    from highbar.model.judge_quality import CorrectedShare, JudgeReport
    from highbar.model.quarantine import QuarantinedScenario
    from highbar.model.recall import Recalled

PASSING = "pass_rate"


class Compared(Protocol):
    """What changed since the baseline."""

    @property
    def problem(self) -> str | None:
        """Why the two runs cannot be compared: another judge, another suite, nothing in common; None if they can."""

    @property
    def missing_ids(self) -> frozenset[str]:
        """The scenarios of the baseline that should have a result now and have none."""

    @property
    def broken(self) -> frozenset[str]:
        """The scenarios that passed all their trials in the baseline, and not all now."""

    @property
    def passed_in_base(self) -> tuple[str, ...]:
        """The scenarios that passed all their trials in the baseline, sorted."""

    @property
    def runs_in_base(self) -> int:
        """How many runs the baseline pools; 1 if it is a single run."""

    @property
    def pooled(self) -> Recalled:
        """The trials of the baseline and of this run, by scenario, so that a pooled baseline can show flakiness."""

    def difference(self, metric: str, where: Where = ()) -> Difference:
        """A metric over the pairs, in the baseline and now."""

    def bounds(self, metric: str, where: Where, share: Fraction) -> Interval:
        """The bounds of the metric's value now minus `share` times its value in the baseline."""

    def base_value(self, metric: str, where: Where = ()) -> Value:
        """A metric over all scenarios of the baseline."""

    def is_monotonic(self, metric: str, where: Where = ()) -> bool:
        """Whether, in both runs, a metric is worst with undecided trials at their worst, and best at their best."""

    @property
    def best(self) -> Compared | None:
        """The same with undecided trials at their best; None if nothing is undecided."""


class Correcting(Protocol):
    """Shares of trials, corrected for the errors of the judge."""

    def share(self, metric: str, where: Where = (), *, at_best: bool = False) -> CorrectedShare | None:
        """The corrected value of a metric over some scenarios; None if the metric is not corrected."""


class JudgeKnown(Struct, frozen=True):
    """What is known about the judge. `report` is None if no trial was judged by one; `problem`: why it is unknown.

    `of_behaviors`: whether it decides behaviors, and not only answers.
    """

    report: JudgeReport | None = None
    problem: str | None = None
    of_behaviors: bool = False


class Evidence(Struct, frozen=True):
    """The metrics, the results of named scenarios and of the suite, and `alpha`, the accepted one-sided error.

    Undecided trials count at their worst (not passed, and so on) unless `at_best`. `best` is the same evidence with
    them at their best, None if there are none; `undecided` has, by rule, the trials that its outcome depends on.
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
    baseline_file: str | None = None  # the path that was searched, if not the one in the policy
    noise: Noise = NOT_REPEATED
    judge: JudgeKnown | None = None
    corrections: Correcting | None = None  # None: every share is judged as recorded
    quarantined: tuple[QuarantinedScenario, ...] = ()
    recalled: Recalled | None = None  # from the history; None if no rule needs it
    suite_size: int = 0  # the number of scenarios of which a quarantine is a share
    replay: Replaying | None = None  # the run in its recorded order; None if it has none
    unordered: str | None = None  # why it has no recorded order

    def with_fields(self, **fields: Any) -> Evidence:
        """The evidence with other values of these fields, also at best."""
        return replace(self, best=self.best and replace(self.best, **fields), **fields)

    def with_best(self, undecided: Mapping[str, tuple[Trial, ...]]) -> Evidence:
        """The evidence with its best, if trials are undecided; `undecided` has those that each rule depends on."""
        measured = self.measured.at_best()
        if measured is None:
            return self
        compared = self.baseline and (self.baseline.best or self.baseline)
        return replace(
            self, best=replace(self, measured=measured, at_best=True, baseline=compared), undecided=undecided
        )

    def support(self, metric: str, where: Where = ()) -> ValueSupport:
        """The numbers behind a metric's value."""
        return ValueSupport(
            self.measured.sums(metric, where),
            self.measured.failing(metric, where),
            self.noise,
            percentile_of(self.metrics.get(metric)),
        )
