"""The frozen values that flow between the stages: policy and rules in, sums in the middle, a verdict out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

Level = Literal["blocking", "warning"]
Outcome = Literal["pass", "fail", "undefined", "inconclusive"]
Decision = Literal["pass", "fail", "inconclusive"]
Unit = Literal["ratio", "ms", "USD", "per token", "number"]
Better = Literal["higher", "lower"]
Evidence = Literal["estimate", "confident"]
Operator = Literal[">=", ">", "<=", "<", "=", "!="]

Where = tuple[tuple[str, tuple[str, ...]], ...]
"""Which scenarios count: for each named column, the values that are let through. Sorted by column; () is all."""


# --- formulas --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it was written, exact."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Name:
    """A measure, a metric or a setting (`latency_limit`), by name."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """`min`, `max`, `abs` of expressions; `mean`, `sum` of a column; `percentile` of a column and a share."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Binary:
    """Arithmetic: `+`, `-`, `*`, `/`."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Negative:
    """`-x`."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Comparison:
    """`left operator right`, true or false."""

    operator: Operator
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Logic:
    """`and`, `or` over conditions; `not` over one."""

    operator: Literal["and", "or", "not"]
    operands: tuple[Condition, ...]


Expression = Number | Name | Call | Binary | Negative
Condition = Comparison | Logic


# --- metrics and rules -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Metric:
    """A formula over measures and other metrics, with what is needed to read and to judge its value."""

    name: str
    formula: str
    expression: Expression
    unit: Unit
    better: Better
    use_case: str = ""
    typical_threshold: str | None = None
    where: Where = ()


@dataclass(frozen=True, slots=True)
class Threshold:
    """What a value must reach: the operator as written, the bound as an exact number in the metric's unit."""

    operator: Operator
    value: Fraction
    unit: Unit
    text: str  # canonical: ">= 0.9", "< 5000ms"; reading it again gives the same threshold

    def met_by(self, value: Fraction | float) -> bool:
        """Whether `value` reaches the threshold, exactly."""
        return COMPARE[self.operator](value, self.value)


COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    ">=": lambda a, b: a >= b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    "<": lambda a, b: a < b,
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


@dataclass(frozen=True, slots=True)
class Demand:
    """How a rule weighs its evidence."""

    evidence: Evidence = "estimate"
    margin: Fraction = Fraction(0)
    tolerate: Fraction = Fraction(5, 100)
    min_scenarios: int | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the policy file something stands."""

    file: str | None = None
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, slots=True)
class ThresholdRule:
    """A metric, over the scenarios that `where` lets through, must reach a threshold."""

    name: str
    level: Level
    metric: str
    threshold: Threshold
    where: Where = ()
    demand: Demand = Demand()
    description: str | None = None
    place: Place = Place()


@dataclass(frozen=True, slots=True)
class ConditionRule:
    """A condition over metrics must hold (`composite.pass`)."""

    name: str
    level: Level
    condition: Condition
    text: str
    demand: Demand = Demand()
    description: str | None = None
    place: Place = Place()


@dataclass(frozen=True, slots=True)
class ScenarioRule:
    """Every scenario whose id matches `pattern` (`*` and `?`, else exact) must be there and pass all its trials."""

    name: str
    level: Level
    pattern: str
    description: str | None = None
    place: Place = Place()


@dataclass(frozen=True, slots=True)
class SuiteRule:
    """The results must hold every scenario of the suite, and no others."""

    name: str
    level: Level
    place: Place = Place()


@dataclass(frozen=True, slots=True)
class BaselineRule:
    """A metric must be no worse than in the baseline by more than `margin` (`relative`: a share of the baseline)."""

    name: str
    level: Level
    metric: str
    margin: Fraction
    relative: bool
    file: str
    where: Where = ()
    place: Place = Place()


@dataclass(frozen=True, slots=True)
class Step:
    """What a progressive rule demands from one agent version on."""

    version: str
    threshold: Threshold
    demand: Demand = Demand()
    description: str | None = None


@dataclass(frozen=True, slots=True)
class ProgressiveRule:
    """A threshold that rises with the agent's version. Once the version is known it becomes a ThresholdRule of its name;
    one that reaches the gate as it is could not be judged."""

    name: str
    level: Level
    metric: str
    steps: tuple[Step, ...]  # the lowest version first
    target: Threshold | None = None  # the goal, which never holds
    description: str | None = None
    place: Place = Place()


Rule = ThresholdRule | ConditionRule | ScenarioRule | SuiteRule | BaselineRule | ProgressiveRule


@dataclass(frozen=True, slots=True)
class Weights:
    """The policy's weights; what is not named weighs 1."""

    by_category: Mapping[str, Fraction] = field(default_factory=dict)
    by_capability: Mapping[str, Fraction] = field(default_factory=dict)
    by_metric: Mapping[str, Fraction] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Suite:
    """The scenarios that must all have a result, with whatever columns the suite file fixes for them."""

    file: str
    scenarios: Mapping[str, Mapping[str, str]]  # id -> {"category": …, "capability": …}


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy file, read and checked: nothing in it is left to be interpreted later."""

    rules: tuple[Rule, ...]
    metrics: Mapping[str, Metric]
    file: str | None = None
    sha256: str | None = None
    agent_version: str | None = None
    weights: Weights = Weights()
    suite: Suite | None = None
    slices: tuple[str, ...] = ()
    confidence: Fraction = Fraction(95, 100)
    evidence: Evidence = "estimate"
    population: Literal["scenarios", "suite"] = "scenarios"
    positive: str | None = None
    pass_score: Fraction = Fraction(1)
    latency_limit: Fraction = Fraction(5000)
    allow_columns: frozenset[str] = frozenset()
    allow_categories: frozenset[str] = frozenset()
    description: str | None = None
    notes: tuple[str, ...] = ()


# --- results ---------------------------------------------------------------------------------

Format = Literal["jsonl", "json", "csv", "parquet"]


@dataclass(frozen=True, slots=True)
class ResultsFile:
    """A file to read: where its bytes are, what to call it in messages, and how it is written."""

    path: str
    name: str
    format: Format
    compression: str | None = None
    original: str | None = None  # where the bytes came from, if `path` is a copy
    imported: str | None = None  # what was read, in words, if the rows were made from another tool's file
    notes: tuple[str, ...] = ()  # what the import warns of


# --- what the engine is asked for, and what it gives back -------------------------------------


@dataclass(frozen=True, slots=True)
class Term:
    """A sum over scenarios: of their value of `column`, or of how many have one; each times its weight if `weighted`."""

    column: str
    of: Literal["sum", "count"] = "sum"
    where: Where = ()
    weighted: bool = False


@dataclass(frozen=True, slots=True)
class Percentile:
    """The ⌈share·n⌉-th smallest value of `column` over all trials that have one."""

    column: str
    share: Fraction
    where: Where = ()


Linear = tuple[tuple[Term, Fraction], ...]
"""A weighted sum of terms."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """One sum over another, both over the same scenarios: what nearly every metric is, and what a bound is made from."""

    z: Linear
    d: Linear


# --- the verdict -----------------------------------------------------------------------------


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
class RuleResult:
    """What became of one rule, and why."""

    rule: str
    level: Level
    outcome: Outcome
    reason: str
    metric: str | None = None
    slice: Where = ()
    threshold: str | None = None
    value: Value | None = None
    description: str | None = None
    place: Place = Place()
    fragile: bool = False  # the interval reaches across the threshold: another run may be judged differently
    second_run: float | None = None  # how likely that is for the same agent
    more_scenarios: int | None = None  # about how many more would settle it, at the observed value


@dataclass(frozen=True, slots=True)
class FailedScenario:
    """A scenario that did not pass every trial, and why; `required` where a rule demands that it passes."""

    id: str
    category: str | None
    reason: str
    trials: int
    passed_trials: int
    required: bool = False
    input: str | None = None
    output: str | None = None


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


@dataclass(frozen=True, slots=True)
class Source:
    """A file that was read, with the digest of its bytes."""

    file: str
    sha256: str | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer: pass, fail or inconclusive, and everything it rests on."""

    verdict: Decision
    counts: Counts
    metrics: Mapping[str, Value]
    slices: tuple[Slice, ...]
    rules: tuple[RuleResult, ...]
    scenarios_failed: tuple[
        FailedScenario, ...
    ]  # the worst first, at most a bounded number; counts.failed has them all
    warnings: tuple[str, ...]
    policy: Source | None
    results: tuple[Source, ...]
    agent_version: str | None = None
    confidence: Fraction = Fraction(95, 100)
    flaky: tuple[FlakyScenario, ...] = ()  # a bounded number; repetition.flaky counts them all
    repetition: Repetition | None = None

    @property
    def passed(self) -> bool:
        """Whether the verdict is a pass; an inconclusive one is not."""
        return self.verdict == "pass"
