"""What a detailed report shows in addition to the verdict; read only if such a report is requested."""

from __future__ import annotations

from fractions import Fraction

from msgspec import Struct

from highbar.model.comparison import Comparison
from highbar.model.verdict import FailedScenario, Value


class Excerpt(Struct, frozen=True):
    """The beginning of a text, and how many characters were left out."""

    text: str
    left_out: int = 0


class TrialDetail(Struct, frozen=True):
    """One trial of a scenario that did not pass every trial: input, output and what was expected.

    `reason` says why it did not pass; None if it did. `violations` are those that happened, in whatever form they were
    recorded; `violation_count` is set if only their number is known. `why` has pairs of a behavior's name and the
    evidence that the row gives for it, or the reason why it was not observed.
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
    why: tuple[tuple[str, str], ...] = ()


class ScenarioDetail(Struct, frozen=True):
    """A scenario that did not pass every trial, with a bounded number of its trials, those that did not pass first."""

    scenario: FailedScenario
    trials: tuple[TrialDetail, ...]


class Bin(Struct, frozen=True):
    """How many trials took from `low` to below `high` milliseconds; without a `high`, at least `low`."""

    low: Fraction
    high: Fraction | None
    trials: int


class Latency(Struct, frozen=True):
    """The distribution of the latencies of all trials; `errors` counts the trials that never completed."""

    bins: tuple[Bin, ...]
    errors: int
    metrics: tuple[str, ...] = ()  # the metrics that are percentiles of it


class ScorePart(Struct, frozen=True):
    """One term of a score: what it adds, and the most that it could add; None if that is not known."""

    text: str
    adds: Fraction | None
    most: Fraction | None


class Score(Struct, frozen=True):
    """A metric that is a sum of terms, split into them."""

    metric: str
    formula: str
    parts: tuple[ScorePart, ...]


class ConditionPart(Struct, frozen=True):
    """One comparison in a condition: the rule, the metric, its value and the threshold."""

    rule: str
    metric: str
    threshold: str
    value: Value


class Details(Struct, frozen=True):
    """Everything that a reader may want to see in addition to the verdict."""

    scenarios: tuple[ScenarioDetail, ...] = ()
    latency: Latency | None = None
    scores: tuple[Score, ...] = ()
    conditions: tuple[ConditionPart, ...] = ()
    policy_text: str | None = None
    version: str | None = None  # of Highbar
    comparison: Comparison | None = None  # with the baseline, if a rule compares with one
