"""A policy, read and checked: metrics, thresholds and rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field

from highbar.model.against import Source
from highbar.model.formulas import Condition, Expression
from highbar.model.literals import Better, EvidenceKind, Level, Operator, SpendingKind, Unit, Where
from highbar.model.records import ONE, ScenarioRecord

if TYPE_CHECKING:  # most checks have no mapping, and its classes take 4 ms to make
    from highbar.model.judging import ScorerDemand
    from highbar.model.mapping import RowMap
    from highbar.model.quarantine import LastDays


JudgeKey = Literal["min_labels", "min_sensitivity", "min_specificity", "uncalibrated"]


class Metric(Struct, frozen=True):
    """A formula over measures and other metrics, with the unit and the direction of its value."""

    name: str
    formula: str
    expression: Expression
    unit: Unit
    better: Better
    use_case: str = ""
    typical_threshold: str | None = None
    where: Where = ()
    range: tuple[Fraction, Fraction] | None = None  # as declared: its least and its greatest value


class Threshold(Struct, frozen=True):
    """What a value must reach: the operator as written, the bound as an exact number in the metric's unit."""

    operator: Operator
    value: Fraction
    unit: Unit
    text: str  # canonical: ">= 0.9", "< 5000ms"; reading it again gives the same threshold

    def met_by(self, value: Fraction | float) -> bool:
        """Whether `value` reaches the threshold, exactly."""
        return COMPARE[self.operator](value, self.value)

    def less(self, margin: Fraction, better: Better) -> Threshold:
        """The threshold, moved by the margin toward worse values."""
        if not margin:
            return self
        moved, operator = self.value + (-margin if better == "higher" else margin), self.operator
        if operator == "=":  # demanded of the best value only, which must not miss a bar below it
            operator = ">=" if better == "higher" else "<="
        return Threshold(operator, moved, self.unit, self.text)

    def is_perfection(self, better: Better) -> bool:
        """Whether no value but the best one reaches it: 100 %, or 0 % if lower is better."""
        return self.unit == "ratio" and self.value == (1 if better == "higher" else 0)


COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    ">=": lambda a, b: a >= b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    "<": lambda a, b: a < b,
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


class Demand(Struct, frozen=True):
    """How much evidence a rule demands.

    `failures` is an acceptance number: a threshold of 100 % under `confident` fails only with more failed scenarios
    than that, and passes only if a failure rate of `tolerate` is excluded. `spending` and `horizon` apply to
    `sequential`: how the accepted error is spread over the scenarios, and over how many of them. A `horizon` of None
    means as many as the rule is about.
    """

    evidence: EvidenceKind = "estimate"
    margin: Fraction = Fraction(0)
    tolerate: Fraction = Fraction(5, 100)
    min_scenarios: int | None = None
    failures: int = 0
    spending: SpendingKind = "linear"
    horizon: int | None = None

    @property
    def is_confident(self) -> bool:
        """Whether the interval must meet the threshold, not only the value."""
        return self.evidence != "estimate"

    @property
    def is_sequential(self) -> bool:
        """Whether a part of the scenarios may decide the rule."""
        return self.evidence == "sequential"


class Place(Struct, frozen=True):
    """A place in the policy file."""

    file: str | None = None
    line: int | None = None
    column: int | None = None


class Step(Struct, frozen=True):
    """What a progressive rule demands, starting with one agent version."""

    version: str
    threshold: Threshold
    demand: Demand = Demand()
    description: str | None = None
    threshold_place: Place = Place()


class Stage(Struct, frozen=True):
    """A progressive rule at one agent version: the step that applies, the one after it, and the target."""

    step: Step
    next: Step | None = None
    target: Threshold | None = None


class ThresholdRule(Struct, frozen=True):
    """A metric, over the scenarios that `where` selects, must reach a threshold.

    `place` is the start of the rule, `threshold_place` the start of the threshold's text; `stage` is set if it was a
    progressive rule.
    """

    name: str
    level: Level
    metric: str
    threshold: Threshold
    where: Where = ()
    demand: Demand = Demand()
    description: str | None = None
    place: Place = Place()
    threshold_place: Place = Place()
    stage: Stage | None = None


class ConditionRule(Struct, frozen=True):
    """A condition over metrics must hold (`composite.pass`)."""

    name: str
    level: Level
    condition: Condition
    text: str
    demand: Demand = Demand()
    description: str | None = None
    place: Place = Place()


class ScenarioRule(Struct, frozen=True):
    """Every scenario whose id matches `pattern` (`*` and `?`, else exact) must have results and pass all its trials."""

    name: str
    level: Level
    pattern: str
    description: str | None = None
    place: Place = Place()


class SuiteRule(Struct, frozen=True):
    """The results must contain every scenario of the suite, and no others."""

    name: str
    level: Level
    place: Place = Place()


class BaselineRule(Struct, frozen=True):
    """A metric must be no worse than in the baseline by more than `margin` (`relative`: a share of the baseline)."""

    name: str
    level: Level
    metric: str
    margin: Fraction
    relative: bool
    file: str
    where: Where = ()
    place: Place = Place()
    demand: Demand = Demand()
    description: str | None = None


class StepRule(Struct, frozen=True):
    """A metric must be better than in the baseline by at least `step` (`relative`: a share of the baseline)."""

    name: str
    level: Level
    metric: str
    step: Fraction
    relative: bool
    file: str
    where: Where = ()
    place: Place = Place()
    demand: Demand = Demand()
    description: str | None = None


class NewFailuresRule(Struct, frozen=True):
    """No scenario that matches a pattern, and passed all its trials in the baseline, may fail or be missing now."""

    name: str
    level: Level
    patterns: tuple[str, ...]
    file: str
    place: Place = Place()
    description: str | None = None
    history: str | None = None  # the folder of earlier runs as the policy writes it; they may explain a failure
    folder: str | None = None  # the same folder, as a path from the working folder


class ProgressiveRule(Struct, frozen=True):
    """A threshold that rises with the agent's version.

    It is replaced by a ThresholdRule of the same name as soon as the version is known; the gate cannot judge it.
    """

    name: str
    level: Level
    metric: str
    steps: tuple[Step, ...]  # the lowest version first
    target: Threshold | None = None  # the goal, which is never enforced
    description: str | None = None
    place: Place = Place()


class JudgeRule(Struct, frozen=True):
    """How much must be known about the judge that the results depend on, by the key of the block `judge`.

    `bound` is a number of labeled trials or a rate; None for `uncalibrated`.
    """

    name: str
    level: Level
    key: JudgeKey
    bound: Fraction | None = None
    place: Place = Place()
    description: str | None = None


class QuarantineRule(Struct, frozen=True):
    """No more than a small share of the suite may be quarantined."""

    name: str
    level: Level
    place: Place = Place()
    description: str | None = None


class DriftRule(Struct, frozen=True):
    """Scenarios must not pass less and less often, by the runs in the folder `history`, as the policy writes it.

    `folder` is the same folder, as a path from the working folder.
    """

    name: str
    level: Level
    history: str
    folder: str
    place: Place = Place()
    description: str | None = None


ComparingRule = BaselineRule | StepRule | NewFailuresRule
"""A rule that compares with a baseline."""
Rule = (
    ThresholdRule
    | ConditionRule
    | ScenarioRule
    | SuiteRule
    | ComparingRule
    | ProgressiveRule
    | JudgeRule
    | QuarantineRule
    | DriftRule
)


def demands_of(rule: Rule) -> tuple[Demand, ...]:
    """The evidence that a rule about a number demands, one entry for each of its steps; empty for any other rule."""
    if isinstance(rule, ProgressiveRule):
        return tuple(step.demand for step in rule.steps)
    return (rule.demand,) if isinstance(rule, ThresholdRule | ConditionRule | BaselineRule | StepRule) else ()


class JudgePolicy(Struct, frozen=True):
    """The block `judge` besides its rules: the path of the file with labels, and whether they correct shares."""

    labels: str | None = None
    correct: bool = False


class Weights(Struct, frozen=True):
    """The policy's weights; the default is 1."""

    by_category: Mapping[str, Fraction] = field(default_factory=dict)
    by_capability: Mapping[str, Fraction] = field(default_factory=dict)
    by_metric: Mapping[str, Fraction] = field(default_factory=dict)

    def of(self, record: ScenarioRecord) -> Fraction:
        """What a scenario weighs: its own weight, times those of its category and of its capability."""
        if not self.by_category and not self.by_capability:
            return record.weight
        of_category = self.by_category.get(record.columns.get("category", ""), ONE)
        return record.weight * of_category * self.by_capability.get(record.columns.get("capability", ""), ONE)


DEMANDS = ("expected_behaviors", "must_not", "expected", "answer")
"""The demands that a suite can make of every trial."""


class SuiteDemands(Struct, frozen=True):
    """The scenarios that must all have a result, with the columns that the suite file fixes for them.

    `own_texts` are columns of the user's own with text that the file does not name. `elsewhere` has the keys of a list
    that mean a check or a question to other tools, unless the results have such a column; each with its path.
    """

    file: str
    scenarios: Mapping[str, Mapping[str, str]]  # id -> {"category": …, "capability": …}
    own_texts: tuple[str, ...] = ()
    elsewhere: Mapping[str, tuple[str | int, ...]] = {}
    trials: Mapping[str, int] = field(default_factory=dict)  # by id, where the suite says how many there are to be

    @property
    def demands(self) -> bool:
        """Whether the suite demands anything of any scenario; an empty list demands nothing."""
        return any(
            name in DEMANDS and text != "[]" for fields in self.scenarios.values() for name, text in fields.items()
        )


class Policy(Struct, frozen=True):
    """A policy file, read and checked; nothing is left to interpret later."""

    rules: tuple[Rule, ...]
    metrics: Mapping[str, Metric]
    file: str | None = None
    sha256: str | None = None
    text: str | None = None  # of the file
    agent: str | None = None  # its name, which distinguishes the agents whose runs share one history
    agent_version: str | None = None
    weights: Weights = Weights()
    suite: SuiteDemands | None = None
    slices: tuple[str, ...] = ()
    confidence: Fraction = Fraction(95, 100)
    seed: int | None = None  # of the random order of a run
    evidence: EvidenceKind = "estimate"
    population: Literal["scenarios", "suite"] = "scenarios"
    answers: Literal["vary", "fixed"] = "vary"  # fixed: the same scenario comes to the same in every run
    positive: str | None = None
    pass_score: Fraction = Fraction(1)
    trials: int | Literal["as_recorded"] | None = None  # how many each scenario was to have
    latency_limit: Fraction = Fraction(5000)
    limits: Mapping[str, Fraction] = field(default_factory=dict)  # by column: what a trial without a value counts as
    allow_columns: frozenset[str] = frozenset()
    allow_categories: frozenset[str] = frozenset()
    description: str | None = None
    notes: tuple[str, ...] = ()
    mapping: RowMap | None = None
    select: Where = ()  # which rows are judged; empty: all
    judged_by: Mapping[str, tuple[ScorerDemand, ...]] = field(default_factory=dict)  # by tool: who judges its records
    judge: JudgePolicy | None = None
    quarantine: LastDays | None = None
    advisory: bool = False  # no policy was given: the typical thresholds advise, and decide nothing

    @property
    def source(self) -> Source:
        """Its file and digest, as a verdict names them."""
        return Source(self.file or "<policy>", self.sha256)

    @property
    def is_settled_by_one_run(self) -> bool:
        """Whether the suite's own share in this run is what is asked: it is all there is, and answers do not vary."""
        return self.population == "suite" and self.answers == "fixed"

    @property
    def comparing(self) -> tuple[ComparingRule, ...]:
        """The rules that compare with a baseline."""
        return tuple(rule for rule in self.rules if isinstance(rule, ComparingRule))

    @property
    def recalls(self) -> str | None:
        """The folder of earlier runs that a rule needs; None if no rule does. All such rules name the same folder."""
        folders = (rule.folder for rule in self.rules if isinstance(rule, NewFailuresRule | DriftRule))
        return next((folder for folder in folders if folder is not None), None)

    @property
    def is_sequential(self) -> bool:
        """Whether a part of the scenarios may decide at least one rule."""
        return any(demand.is_sequential for rule in self.rules for demand in demands_of(rule))
