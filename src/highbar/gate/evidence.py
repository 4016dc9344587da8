"""All that a rule may look at."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

from highbar.gate.outlook import Rests, percentile_of
from highbar.measure import Measured
from highbar.model import Metric, Trial, Value, Where
from highbar.model.reduction import Matched, SuiteMatch
from highbar.statistics.interval import Interval
from highbar.statistics.second_run import NOT_REPEATED, Noise

if TYPE_CHECKING:  # few checks compare, rest on a judge, or are sequential, and these classes take time to make
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

    @property
    def runs_in_base(self) -> int:
        """How many runs the baseline pools; 1 if it is a single run."""

    @property
    def pooled(self) -> Recalled:
        """The trials of the baseline and of the run now, by scenario: what a pooled baseline says about flakiness."""

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


class Correcting(Protocol):
    """Shares of trials as people would have them."""

    def share(self, metric: str, where: Where = (), *, at_best: bool = False) -> CorrectedShare | None:
        """A metric over some scenarios; None if it is not one that is corrected."""


class JudgeKnown(Struct, frozen=True):
    """What is known about the judge; `report` is None if no trial rests on one. `problem` says why it is not known."""

    report: JudgeReport | None = None
    problem: str | None = None


class Evidence(Struct, frozen=True):
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
    judge: JudgeKnown | None = None
    corrections: Correcting | None = None  # None: every share is judged as it was recorded
    quarantined: tuple[QuarantinedScenario, ...] = ()
    recalled: Recalled | None = None  # what the history says; None if no rule needs it
    suite_size: int = 0  # how many scenarios a quarantine is a part of
    replay: Replaying | None = None  # the run in its recorded order; None if it has none
    unordered: str | None = None  # why it has none

    def rests(self, metric: str, where: Where = ()) -> Rests:
        """What a metric's value rests on."""
        return Rests(
            self.measured.sums(metric, where),
            self.measured.failing(metric, where),
            self.noise,
            percentile_of(self.metrics.get(metric)),
        )

    @property
    def pass_rate(self) -> Value | None:
        """The pass rate of all scenarios, by which a second run of one of them is guessed."""
        return self.measured.value(PASSING) if PASSING in self.metrics else None
