"""A verdict, and everything that it is based on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from highbar.errors import Problem, ReportError
from highbar.model.against import Against, Source
from highbar.model.judging import Judging, Selection
from highbar.model.literals import Better, Decision, EvidenceKind, Level, Outcome, Unit, Where
from highbar.model.rules import Demand, Place
from highbar.statistics.second_run import Outlook

if TYPE_CHECKING:
    from highbar.model.details import Details
    from highbar.model.judge_quality import CorrectedShare, JudgeReport
    from highbar.model.quarantine import QuarantinedScenario
    from highbar.model.stopping import SequentialRun, Stopping
else:  # few checks need those modules; without the names, `help(Verdict)` fails
    Details = CorrectedShare = JudgeReport = QuarantinedScenario = SequentialRun = Stopping = object

NOWHERE = Place()
ReadAgain = Callable[[bool, bool], "Verdict"]
"""Judges the same results again; its two flags ask for the details and for all scenarios."""
NO_POLICY = "no policy: nothing was judged"
"""What reports show in place of the policy's name if no policy was found."""


class Doubt(Struct, frozen=True):
    """Why no valid interval is known for a value, so that a rule with `evidence: confident` stays inconclusive.

    The reasons: unbounded sums, weights that leave few effective scenarios, too unequal numbers of trials, or a judge
    whose errors are not known.
    """

    about: Literal["sums", "weights", "trials", "judge"]
    reason: str


class Value(Struct, frozen=True):
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
    own_low: float | None = None  # the interval of this value alone, if `low` and `high` also cover that of `best`
    own_high: float | None = None
    doubt: Doubt | None = None
    corrected: CorrectedShare | None = None  # as people would judge it, if the policy corrects the judge

    def __float__(self) -> float:
        if self.value is None:
            raise ValueError(f"the value is undefined: {self.reason}")
        return float(self.value)

    def __format__(self, spec: str) -> str:
        return str(self) if not spec else "undefined" if self.value is None else format(self.value, spec)

    def __repr__(self) -> str:
        if self.value is None:
            return f"<Value: undefined, {self.reason}>"
        interval = "" if self.low is None or self.high is None else f" ({self.low:.4g} to {self.high:.4g})"
        return f"<Value: {float(self.value):.4g}{interval}, {self.scenarios} scenarios>"


class Slice(Struct, frozen=True):
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

    def __repr__(self) -> str:
        return f"<Slice: {'='.join(self.by)}, {self.scenarios} scenarios>"


class Goal(Struct, frozen=True):
    """A threshold that does not apply yet: whether the value reaches it already, and how much is missing (0 if met).

    `distance` is None if the value is undefined; `version` is the first to which it applies, None for the target.
    """

    threshold: str
    met: bool
    distance: Fraction | None
    version: str | None = None


class Progressive(Struct, frozen=True):
    """The progress of a progressive rule: the step that applies now, by its version as written, and the next ones."""

    step: str
    next: Goal | None = None
    target: Goal | None = None


class RuleResult(Struct, frozen=True):
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
    evidence: EvidenceKind | None = None  # whether the value or its interval decides, if the rule is about a number
    outlooks: tuple[Outlook, ...] = ()
    accepted: tuple[int, int] | None = None  # for a threshold of 100 %: how many scenarios failed, and how many may
    demand: Demand | None = None  # how much evidence the rule demands, if it is about a number
    patterns: tuple[str, ...] = ()  # for `new_failures`: the scenarios that it is about; empty for all
    raw: Value | None = None  # the value by the judge's answers, if `value` is corrected for its errors
    stopping: Stopping | None = None  # where a sequential rule was decided
    open: bool = False  # undecided trials may still give it another outcome

    def __repr__(self) -> str:
        return f"<RuleResult: {self.rule}, {self.level}, {self.outcome}>"


class FailedScenario(Struct, frozen=True):
    """A scenario that did not pass every trial, and why; `required`: a rule demands that it passes."""

    id: str
    category: str | None
    reason: str
    trials: int
    passed_trials: int
    required: bool = False


class UndecidedScenario(Struct, frozen=True):
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


class ScenarioResult(Struct, frozen=True):
    """One scenario: passed, failed or undecided; `reason` is None if every trial passed.

    `errors`, `violated` and `undecided_trials` count trials; `duration_ms` is the sum of the latencies of its trials,
    None if no latency was recorded.
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


class FlakyScenario(Struct, frozen=True):
    """A scenario that passed some of its trials and failed others."""

    id: str
    trials: int
    passed_trials: int


class Repetition(Struct, frozen=True):
    """What repeated trials show: the variance between and within scenarios, and how many scenarios are flaky.

    `correlation` is the intraclass correlation (1: the trials of a scenario always agree); None if nothing varies.
    `fewest` is the smallest number of trials of a scenario. One that passed all of these may still fail:
    `still_possible` is the lowest pass rate that is not excluded.
    """

    flaky: int
    between: float
    within: float
    correlation: float | None
    fewest: int
    still_possible: float


class Counts(Struct, frozen=True):
    """How much evidence there was."""

    scenarios: int
    trials: int
    errors: int
    unjudged: int
    failed: int
    undecided: int = 0  # trials that neither passed nor failed
    left_out: int = 0  # rows that `select` or --where excluded


class Verdict(Struct, frozen=True):
    """Pass, fail or inconclusive, and everything that this is based on.

    Without a policy `verdict` is None, `rules` is empty, `problems` says where no policy was found, and `advice` has
    the typical thresholds as they would be judged.
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
    quarantined: tuple[QuarantinedScenario, ...] = ()  # their failures do not count as new, but do count in rates
    judge: JudgeReport | None = None  # what depends on a judge, and how accurate it is; None if nothing does
    second_run: float | None = None  # upper bound of the chance of another verdict in a second run
    second_run_low: float | None = None  # lower bound of the same
    sequential: SequentialRun | None = None  # how much of the plan was run, if a rule is sequential
    read_again: ReadAgain | None = None  # None if the results are not at hand

    @property
    def passed(self) -> bool:
        """Whether the verdict is a pass; False if it is inconclusive or None."""
        return self.verdict == "pass"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Verdict):
            return NotImplemented
        # `read_again` is a function of this process: verdicts that were read from a file do not have it.
        compared = (name for name in self.__struct_fields__ if name != "read_again")
        return all(getattr(self, name) == getattr(other, name) for name in compared)

    __hash__ = None  # type: ignore[assignment] # its mappings have none either

    # Otherwise `if verdict:` would be true for a fail, too.
    def __bool__(self) -> bool:
        raise TypeError("a verdict is neither true nor false: use verdict.passed")

    def __repr__(self) -> str:
        found = "no verdict" if self.verdict is None else self.verdict
        missed = sum(rule.outcome != "pass" and rule.level == "blocking" for rule in self.rules)
        return f"<Verdict: {found}, rules: {len(self.rules)}, not passed: {missed}, scenarios: {self.counts.scenarios}>"

    def __str__(self) -> str:
        from highbar.report import render  # a layer above, loaded on call only: see pyproject.toml

        return render(self).rstrip("\n")

    def complete(self, *, details: bool = False, scenarios: bool = False) -> Verdict:
        """The verdict with the `details` of trials, or the list of all `scenarios`, that some reports show.

        The results are read again if the verdict lacks either. Raises ReportError if they have changed since. A verdict
        from `read_verdict` has no results to read, and is returned unchanged.
        """
        details, scenarios = details or self.details is not None, scenarios or bool(self.scenarios)
        if self.read_again is None or (details, scenarios) == (self.details is not None, bool(self.scenarios)):
            return self
        again = self.read_again(details, scenarios)
        # Details of other rows beside this verdict would mislead: apart from what was added, both must be equal.
        if replace(again, details=self.details, scenarios=self.scenarios) != self:
            raise ReportError("the results have changed since they were judged: check them again")
        return replace(again, read_again=self.read_again)

    def to_dict(self) -> dict[str, Any]:
        """The JSON document of the verdict, as `--format json` prints it, as a dict."""
        from highbar.store.verdict import write  # a layer above, loaded on call only: see pyproject.toml

        return write(self)

    def to_html(self) -> str:
        """The verdict as one HTML page, as `--output report.html` writes it. Raises ReportError."""
        from highbar.report import render  # a layer above, loaded on call only: see pyproject.toml

        return render(self, "html")

    def to_frame(self, table: Literal["metrics", "rules", "scenarios"] = "metrics") -> Any:
        """The metrics, the rules or the scenarios as a pandas data frame, one row each.

        Without pandas it is a polars data frame, and without either a list of dicts. Raises ReportError.
        """
        from highbar.report.frames import frame  # a layer above, loaded on call only: see pyproject.toml

        return frame(self, table)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the verdict to a file as JSON, which `highbar.read_verdict` reads. Raises ReportError if that fails."""
        from highbar.store.verdict import save  # a layer above, loaded on call only: see pyproject.toml

        save(self, path)

    def _repr_html_(self) -> str:
        """The verdict in a notebook."""
        from highbar.report.html.compact import compact  # a layer above, loaded on call only: see pyproject.toml

        return compact(self)
