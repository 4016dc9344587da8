"""What a report for looking closer shows beside the verdict; it is read only where such a report is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from highbar.model.comparison import Comparison
from highbar.model.verdict import FailedScenario, Value


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The beginning of a text of the agent's, and how many characters come after it."""

    text: str
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class TrialDetail:
    """One trial of a scenario that did not pass every trial: what was asked, what came, what should have come.

    `reason` says why it did not pass; None for one that did. `violations` are those that happened, by whatever way they
    were recorded; `violation_count` is there where only their number is known.
    """

    trial: int | None
    passed: bool | None  # None: undecided
    reason: str | None
    input: Excerpt | None = None
    output: Excerpt | None = None
    expected_behaviors: tuple[str, ...] = ()
    behaviors: tuple[str, ...] = ()
    must_not: tuple[str, ...] = ()
    violations: tuple[str, ...] = ()
    violation_count: int | None = None
    expected: str | None = None
    predicted: str | None = None
    error: str | None = None
    latency_ms: Fraction | None = None


@dataclass(frozen=True, slots=True)
class ScenarioDetail:
    """A scenario that did not pass every trial, with its trials; of very many, those that did not pass first."""

    scenario: FailedScenario
    trials: tuple[TrialDetail, ...]


@dataclass(frozen=True, slots=True)
class Bin:
    """How many trials took from `low` to below `high` milliseconds; without a `high`, at least `low`."""

    low: Fraction
    high: Fraction | None
    trials: int


@dataclass(frozen=True, slots=True)
class Latency:
    """How the latencies of all trials are spread; the trials that ended in an error never completed."""

    bins: tuple[Bin, ...]
    errors: int
    metrics: tuple[str, ...] = ()  # the metrics that are percentiles of it


@dataclass(frozen=True, slots=True)
class ScorePart:
    """One term of a score: what it adds, and the most that it could add; None where that is not known."""

    text: str
    adds: Fraction | None
    most: Fraction | None


@dataclass(frozen=True, slots=True)
class Score:
    """A metric that is a sum of terms, split into them."""

    metric: str
    formula: str
    parts: tuple[ScorePart, ...]


@dataclass(frozen=True, slots=True)
class ConditionPart:
    """One comparison of a condition: which rule it is of, the metric, its value and what it is held against."""

    rule: str
    metric: str
    threshold: str
    value: Value


@dataclass(frozen=True, slots=True)
class RowDetails:
    """What only the rows can tell."""

    scenarios: tuple[ScenarioDetail, ...] = ()
    latency: Latency | None = None


@dataclass(frozen=True, slots=True)
class Details:
    """Everything that a verdict itself does not need, and its reader may want to see."""

    rows: RowDetails = RowDetails()
    scores: tuple[Score, ...] = ()
    conditions: tuple[ConditionPart, ...] = ()
    policy_text: str | None = None
    version: str | None = None  # of Highbar
    comparison: Comparison | None = None  # with the baseline, where a rule is about one
