"""The answer, and everything that it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from highbar.errors import Problem
from highbar.model import notebook
from highbar.model.rules import Place
from highbar.model.words import Better, Decision, Evidence, Level, Outcome, Unit, Where

if TYPE_CHECKING:  # few checks ask for details, and their classes take time to make
    from highbar.model.details import Details
    from highbar.model.judging import Judging, Selection

NOWHERE = Place()
NO_POLICY = "no policy: nothing was judged"
"""What a report says in place of the policy's name if no policy was found."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why no interval is known to hold for a value, so that a rule with `evidence: confident` stays inconclusive.

    Of sums without a limit, of weights that leave few scenarios, or of trials that differ too much in number.
    """

    about: Literal["sums", "weights", "trials"]
    reason: str


@dataclass(frozen=True, slots=True)
class Value:
    """A metric's value, with the count it rests on. `value` is None when it is undefined; then `reason` says why."""

    value: Fraction | None
    scenarios: int
    missing: int
    unit: Unit
    better: Better
    reason: str | None = None
    low: float | None = None
    high: float | None = None
    undecided: int = 0  # trials of which it is not known what they add; `value` has them at their worst
    best: Fraction | None = None  # with those at their best; None if it is undefined then, or if there are none
    own_low: float | None = None  # at their best: the worse end then, while `low` and `high` reach over both ends
    own_high: float | None = None
    doubt: Doubt | None = None


@dataclass(frozen=True, slots=True)
class Slice:
    """The metrics of the scenarios that share one value of one column.

    `worse` marks a slice whose pass rate is below that of the rest by more than chance, among all slices looked at;
    `likely` is its pass rate drawn to the common one as far as chance explains the difference.
    """

    by: tuple[str, str]
    scenarios: int
    metrics: Mapping[str, Value]
    worse: bool = False
    p_value: float | None = None
    likely: float | None = None


@dataclass(frozen=True, slots=True)
class Goal:
    """A threshold that does not hold yet: whether the value reaches it already, and what it lacks (0 where nothing).

    `distance` is None where the value is undefined; `version` is the one from which on it holds, None for the target.
    """

    threshold: str
    met: bool
    distance: Fraction | None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Progressive:
    """Where a progressive rule stands: the step that holds now, by its version as written, and what is to come."""

    step: str
    next: Goal | None = None
    target: Goal | None = None


@dataclass(frozen=True, slots=True)
class Outlook:
    """How likely a second run on the same scenarios passes, leaves open and fails a rule or a whole verdict."""

    passes: float
    inconclusive: float
    fails: float

    def of(self, outcome: Outcome) -> float:
        """The chance of one outcome; what is undefined counts as failed."""
        return {"pass": self.passes, "inconclusive": self.inconclusive}.get(outcome, self.fails)


@dataclass(frozen=True, slots=True)
class RuleResult:
    """What became of one rule, and why.

    `second_run` is the chance that a second run of the same agent on the same scenarios gives the rule another outcome,
    at most, and `second_run_low` at least: the two are the same if repeated trials say how much chance is in one.
    `outlooks` are what both come from, for each of the cases in `highbar.gate.outlook`.
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
    fragile: bool = False  # the interval reaches across the threshold: another run may be judged differently
    second_run: float | None = None  # None if nothing is known of it
    more_scenarios: int | None = None  # about how many more would settle it, at the observed value
    progressive: Progressive | None = None
    best: Fraction | None = None  # the metric's value with undecided trials at their best
    undecided: tuple[tuple[str, int | None], ...] = ()  # (id, trial): the first ten of them
    slack: Fraction | None = None  # how much better than the threshold the value surely is, where that is far better
    second_run_low: float | None = None
    evidence: Evidence | None = None  # what the rule compares, if it is about a number
    outlooks: tuple[Outlook, ...] = ()


@dataclass(frozen=True, slots=True)
class FailedScenario:
    """A scenario that did not pass every trial, and why; `required` where a rule demands that it passes."""

    id: str
    category: str | None
    reason: str
    trials: int
    passed_trials: int
    required: bool = False


@dataclass(frozen=True, slots=True)
class UndecidedScenario:
    """A scenario that failed no trial, and of which some trial is undecided, and why."""

    id: str
    category: str | None
    reason: str
    trials: int
    passed_trials: int
    required: bool = False

    def as_result(self) -> ScenarioResult:
        """The same as a report shows it that lists all scenarios."""
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
    """What became of one scenario: passed, failed or undecided; `reason` is None where every trial passed.

    `errors`, `violated` and `undecided_trials` count trials; `duration_ms` is the latencies of its trials
    added up, where they have any.
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
        """Whether no trial failed, and some trial is undecided."""
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

    `correlation` is the intraclass one (1: the trials of a scenario always agree); None where nothing varies.
    A scenario that passed all of its `fewest` trials may still fail: `still_possible` is the pass rate not excluded.
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
    """Something that was demanded before and is not any more, or less of it; `now` is None where it was removed."""

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
    """The bar as it was at a git ref: what was judged by it, and what has become less since then."""

    ref: str
    commit: str
    verdict: Decision  # by that bar alone
    policy: Source
    weakened: tuple[Weakening, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What the verdict warns of because of it."""
        return tuple(f"weakened since {self.ref}: {each.sentence}" for each in self.weakened)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer: pass, fail or inconclusive, and everything it rests on.

    Without a policy there is no answer: `verdict` is None, `rules` is empty, `problems` says where a policy was looked
    for, and `advice` has the typical thresholds as they would be judged.
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
    scenarios: tuple[ScenarioResult, ...] = ()  # the failed first, a bounded number; only where a report asked for them
    details: Details | None = None  # where a report asked for them
    advice: tuple[RuleResult, ...] = ()  # without a policy: the typical thresholds, which decide nothing
    problems: tuple[Problem, ...] = ()  # why there is no verdict
    judged_by: tuple[Judging, ...] = ()  # who judged, where the rows come from files of other tools
    selection: Selection | None = None  # which rows were judged, if not all
    second_run: float | None = None  # how likely a second run on the same scenarios gives another verdict, at most
    second_run_low: float | None = None  # and at least

    @property
    def passed(self) -> bool:
        """Whether the verdict is a pass; an inconclusive one is not, nor is none at all."""
        return self.verdict == "pass"

    def _repr_html_(self) -> str | None:
        """The verdict in a notebook."""
        return notebook.shown(self)
