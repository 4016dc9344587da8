"""A verdict, and everything that it is based on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from typing import TYPE_CHECKING, Literal

from highbar.errors import Problem
from highbar.model.rules import Demand, Place
from highbar.model.words import Better, Decision, Evidence, Level, Outcome, Unit, Where
from highbar.statistics.outlook import Outlook

if TYPE_CHECKING:  # few checks ask for details, and their classes take time to make
    from highbar.model.details import Details
    from highbar.model.judging import Judging, Selection

NOWHERE = Place()
NO_POLICY = "no policy: nothing was judged"
"""What reports show in place of the policy's name if no policy was found."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why no valid interval is known for a value, so that a rule with `evidence: confident` stays inconclusive.

    Because sums have no limit, weights leave few scenarios, or the scenarios differ too much in number of trials.
    """

    about: Literal["sums", "weights", "trials"]
    reason: str


@dataclass(frozen=True, slots=True)
class Value:
    """A metric's value, with the count behind it. `value` is None if it is undefined; then `reason` says why."""

    value: Fraction | None
    scenarios: int
    missing: int
    unit: Unit
    better: Better
    reason: str | None = None
    low: float | None = None
    high: float | None = None
    undecided: int = 0  # trials whose contribution is not known; `value` counts them at their worst
    best: Fraction | None = None  # counts them at their best; None if that is undefined, or if no trial is undecided
    own_low: float | None = None  # the interval of this value alone, if `low` and `high` cover the best one too
    own_high: float | None = None
    doubt: Doubt | None = None


@dataclass(frozen=True, slots=True)
class Slice:
    """The metrics of the scenarios that share one value of one column.

    `worse`: the pass rate is below that of the rest by more than chance, corrected for the number of slices.
    `likely`: the pass rate, shrunk toward the common one as far as chance explains the difference.
    """

    by: tuple[str, str]
    scenarios: int
    metrics: Mapping[str, Value]
    worse: bool = False
    p_value: float | None = None
    likely: float | None = None


@dataclass(frozen=True, slots=True)
class Goal:
    """A threshold that does not apply yet: whether the value reaches it already, and how much is missing (0 if met).

    `distance` is None if the value is undefined; `version` is the first to which it applies, None for the target.
    """

    threshold: str
    met: bool
    distance: Fraction | None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Progressive:
    """The progress of a progressive rule: the step that applies now, by its version as written, and the next ones."""

    step: str
    next: Goal | None = None
    target: Goal | None = None


@dataclass(frozen=True, slots=True)
class RuleResult:
    """The outcome of one rule, and why.

    `second_run` is an upper bound of the chance that a second run of the same agent on the same scenarios gives the
    rule another outcome, and `second_run_low` a lower bound. They are equal if repeated trials show how much a trial
    varies. Both are computed from `outlooks`, one for each of the cases in `highbar.gate.outlook`.
    """

    rule: str
    level: Level
    outcome: Outcome
    reason: str
    metric: str | None = None
    slice: Where = ()
    threshold: str | None = None
    value: Value | None = None
    description: str | None = None
    place: Place = NOWHERE
    fragile: bool = False  # the interval contains the threshold: another run may be judged differently
    second_run: float | None = None  # None if it is not known
    more_scenarios: int | None = None  # about how many more would give a clear outcome, at the observed value
    progressive: Progressive | None = None
    best: Fraction | None = None  # the metric's value with undecided trials at their best
    undecided: tuple[tuple[str, int | None], ...] = ()  # (id, trial): the first ten of them
    slack: Fraction | None = None  # by how much the value surely exceeds the threshold, if that is a lot
    second_run_low: float | None = None
    evidence: Evidence | None = None  # what the rule compares, if it is about a number
    outlooks: tuple[Outlook, ...] = ()
    accepted: tuple[int, int] | None = None  # of a threshold of 100 %: how many scenarios failed, and how many may
    demand: Demand | None = None  # how much evidence the rule demands, if it is about a number


@dataclass(frozen=True, slots=True)
class FailedScenario:
    """A scenario that did not pass every trial, and why; `required` if a rule demands that it passes."""

    id: str
    category: str | None
    reason: str
    trials: int
    passed_trials: int
    required: bool = False


@dataclass(frozen=True, slots=True)
class UndecidedScenario:
    """A scenario that failed no trial but has an undecided one, and why."""

    id: str
    category: str | None
    reason: str
    trials: int
    passed_trials: int
    required: bool = False

    def as_result(self) -> ScenarioResult:
        """The same, for a report that lists all scenarios."""
        open_ = self.trials - self.passed_trials
        return ScenarioResult(
            self.id,
            self.category,
            self.trials,
            self.passed_trials,
            reason=self.reason,
            required=self.required,
            undecided_trials=open_,
        )


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """One scenario: passed, failed or undecided; `reason` is None if every trial passed.

    `errors`, `violated` and `undecided_trials` count trials; `duration_ms` is the sum of the latencies of its trials,
    None if none was recorded.
    """

    id: str
    category: str | None
    trials: int
    passed_trials: int
    errors: int = 0
    violated: int = 0
    reason: str | None = None
    required: bool = False
    duration_ms: Fraction | None = None
    undecided_trials: int = 0

    @property
    def passed(self) -> bool:
        """Whether every trial passed."""
        return self.passed_trials == self.trials

    @property
    def undecided(self) -> bool:
        """Whether no trial failed and some trial is undecided."""
        return not self.passed and self.passed_trials + self.undecided_trials == self.trials


@dataclass(frozen=True, slots=True)
class FlakyScenario:
    """A scenario that passed some of its trials and failed others."""

    id: str
    trials: int
    passed_trials: int


@dataclass(frozen=True, slots=True)
class Repetition:
    """What repeated trials show: how the variance of a trial splits, and how many scenarios passed only sometimes.

    `correlation` is the intraclass correlation (1: the trials of a scenario always agree); None if nothing varies.
    A scenario that passed all of its `fewest` trials may still fail: `still_possible` is the lowest pass rate that is
    not excluded.
    """

    flaky: int
    between: float
    within: float
    correlation: float | None
    fewest: int
    still_possible: float


@dataclass(frozen=True, slots=True)
class Counts:
    """How much evidence there was."""

    scenarios: int
    trials: int
    errors: int
    unjudged: int
    failed: int
    undecided: int = 0  # trials that neither passed nor failed
    left_out: int = 0  # rows that `select` or --where did not choose


@dataclass(frozen=True, slots=True)
class Source:
    """A file that was read, with the digest of its bytes."""

    file: str
    sha256: str | None


@dataclass(frozen=True, slots=True)
class Weakening:
    """A demand of the policy that was lowered or removed; `now` is None if it was removed."""

    what: str  # the rule or the key, as in the policy
    change: Literal["lowered", "removed", "changed"]
    before: str
    now: str | None = None

    @property
    def sentence(self) -> str:
        """`thresholds.blocking.safety_rate: ≥ 100% → ≥ 60%`."""
        if self.now is None:
            return f"{self.what}: {self.before}, removed"
        return f"{self.what}: {self.before} → {self.now}"


@dataclass(frozen=True, slots=True)
class Against:
    """The bar as it was at a git ref: the verdict by it, and what was weakened since then."""

    ref: str
    commit: str
    verdict: Decision  # by that bar alone
    policy: Source
    weakened: tuple[Weakening, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """The warnings that this adds to the verdict."""
        return tuple(f"weakened since {self.ref}: {each.sentence}" for each in self.weakened)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Pass, fail or inconclusive, and everything that this is based on.

    Without a policy `verdict` is None, `rules` is empty, `problems` says in which places no policy was found, and
    `advice` has the typical thresholds as they would be judged.
    """

    verdict: Decision | None
    counts: Counts
    metrics: Mapping[str, Value]
    slices: tuple[Slice, ...]
    rules: tuple[RuleResult, ...]
    scenarios_failed: tuple[FailedScenario, ...]  # the worst first, a bounded number; counts.failed has them all
    warnings: tuple[str, ...]
    policy: Source | None
    results: tuple[Source, ...]
    scenarios_undecided: tuple[UndecidedScenario, ...] = ()  # a bounded number, the required ones first
    agent_version: str | None = None
    confidence: Fraction = Fraction(95, 100)
    flaky: tuple[FlakyScenario, ...] = ()  # a bounded number; repetition.flaky counts them all
    repetition: Repetition | None = None
    against: Against | None = None
    scenarios: tuple[ScenarioResult, ...] = ()  # the failed first, a bounded number; only if a report lists them
    details: Details | None = None  # only if a report shows them
    advice: tuple[RuleResult, ...] = ()  # without a policy: the typical thresholds, which decide nothing
    problems: tuple[Problem, ...] = ()  # why there is no verdict
    judged_by: tuple[Judging, ...] = ()  # who judged, if the rows come from files of other tools
    selection: Selection | None = None  # which rows were judged, if not all
    second_run: float | None = None  # upper bound of the chance of another verdict in a second run
    second_run_low: float | None = None  # lower bound of the same

    @property
    def passed(self) -> bool:
        """Whether the verdict is a pass; False if it is inconclusive or None."""
        return self.verdict == "pass"

    def save(self, path: str | PathLike[str]) -> None:
        """Write the verdict to a file as JSON, which `highbar.read_verdict` reads. Raises ReportError if that fails."""
        from highbar.store.verdict import save  # a layer above, loaded on call only: see pyproject.toml

        save(self, path)

    def _repr_html_(self) -> str:
        """The verdict in a notebook."""
        from highbar.report.html.compact import compact  # a layer above, loaded on call only: see pyproject.toml

        return compact(self)
