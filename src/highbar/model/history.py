"""What the history stores about a run, and what is computed over many runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from highbar.model.literals import Better, Decision, Level, Operator, Outcome, Unit, Where
from highbar.model.verdict import Counts

SCHEMA: Literal["highbar/history/1"] = "highbar/history/1"
Break = Literal["agent", "suite", "scoring", "judge", "unknown"]
"""What changed between two runs, so that no line may join their values; `unknown` if a record does not say what it was
measured with."""
AgentKey = tuple[str | None, str | None]
"""The name of an agent and the digest of its settings, each None if it is not known."""
NOBODY: AgentKey = (None, None)


class MetricInRun(Struct, frozen=True):
    """A metric of a run. `value` is None if it is undefined; it counts the `undecided` trials at their worst.

    `definition` is a digest of its formula and of the formulas of the metrics in it; None if they are not known.
    """

    value: float | None
    low: float | None
    high: float | None
    unit: Unit
    better: Better
    scenarios: int
    undecided: int = 0
    definition: str | None = None


class RuleInRun(Struct, frozen=True):
    """A rule of a run that is about one metric. Its value differs from the metric's if it is about a slice.

    `operator` and `bound` are the threshold as a number, None if it has no fixed one (`1% below the baseline`).
    """

    rule: str
    level: Level
    outcome: Outcome
    metric: str
    threshold: str | None = None
    operator: Operator | None = None
    bound: float | None = None
    slice: Where = ()
    value: float | None = None
    low: float | None = None
    high: float | None = None


class RunRecord(Struct, frozen=True):
    """A run as `highbar history list` shows it: everything in the footer of its file.

    `time` is in UTC, ISO 8601 with `Z`; `time_of` says whether it is when the run ended, what the caller gave, or when
    the record was added. `commit`, `branch` and `parents` are None if they are not known, and `parents` is empty for a
    first commit. `changed`: the working tree differed from the commit; None if the caller or the CI system named the
    commit, and so answers for it. `agent_name` is what the policy or the caller calls the agent.

    `policy`, `suite`, `scoring`, `judge` and `agent` are digests, None if not known: of the policy's text; of the
    scenarios; of the settings by which values are computed; of who judged; of the settings of the agent that was run.
    `listed` is the number of scenarios in the file; None if only the verdict was recorded, so that nothing is known
    about scenarios that passed. `rows` is the digest of the part of the file that has the scenarios; the writer fills
    it in.
    """

    record: str
    time: str
    time_of: Literal["run", "given", "added"]
    verdict: Decision
    counts: Counts
    metrics: Mapping[str, MetricInRun]
    rules: tuple[RuleInRun, ...] = ()
    branch: str | None = None
    commit: str | None = None
    parents: tuple[str, ...] | None = None
    changed: bool | None = None
    agent_name: str | None = None
    agent_version: str | None = None
    state: str | None = None  # how the run ended, if it was one of `highbar run`
    policy: str | None = None
    suite: str | None = None
    scoring: str | None = None
    judge: str | None = None
    agent: str | None = None
    judges: tuple[str, ...] = ()  # who judged, in words
    suites: tuple[str, ...] = ()  # the values of the column `suite`
    results: tuple[str | None, ...] = ()  # the digest of each file, or of all scenarios; None if it is not known
    begun: str | None = None  # a digest that all records of one run folder share, however far the run had come
    listed: int | None = None
    rows: str | None = None
    added: int = 0  # when, in microseconds since 1970: it orders runs of the same second
    highbar: str = ""
    schema: Literal["highbar/history/1"] = SCHEMA

    @property
    def moment(self) -> tuple[str, int, str]:
        """The sort key of runs: the time, then when the record was added, then its name."""
        return self.time, self.added, self.record

    @property
    def of_agent(self) -> AgentKey:
        """The agent that was run."""
        return self.agent_name, self.agent

    @property
    def measured_with(self) -> tuple[str | None, str | None, str | None]:
        """Suite, scoring and judge: values are on one line only if all three are known and the same."""
        return self.suite, self.scoring, self.judge


class ScenarioCounts(Struct, frozen=True):
    """One scenario in one run: how many of its trials passed, failed, and are undecided.

    `digest` is the digest of its text (what it asks and demands), None if that is not known. `latency_ms` is the mean
    over its trials, `cost_usd` the sum; None if a trial has no value.
    """

    id: str
    digest: str | None
    category: str | None
    capability: str | None
    trials: int
    passed: int
    failed: int
    undecided: int
    weight: float = 1.0
    cluster: str | None = None
    latency_ms: float | None = None
    cost_usd: float | None = None


class PooledScenario(Struct, frozen=True):
    """One text of a scenario over several runs.

    If the digest of the text is not known, `digest` is None, and only runs of the same `suite` are pooled. `runs`
    counts the runs that have the scenario, `passed_runs` those in which all its trials passed, and `failed_runs` those
    in which some trial failed.
    """

    id: str
    digest: str | None
    suite: str | None
    category: str | None
    runs: int
    trials: int
    passed: int
    failed: int
    undecided: int
    passed_runs: int
    failed_runs: int


class DamagedRecord(Struct, frozen=True):
    """A file of the history that was left out, and why."""

    file: str
    reason: str


class SeriesPoint(Struct, frozen=True):
    """A metric in one run. `rules` are the rules about it, with thresholds and outcomes."""

    run: RunRecord
    value: float | None
    low: float | None
    high: float | None
    undecided: int
    rules: tuple[RuleInRun, ...]


class Segment(Struct, frozen=True):
    """Consecutive points that a line may join; `because` is what changed since the last segment, None for the first."""

    points: tuple[SeriesPoint, ...]
    because: Break | None = None


class Series(Struct, frozen=True):
    """A metric over runs in order, in segments that no line may join."""

    metric: str
    unit: Unit
    better: Better
    segments: tuple[Segment, ...] = ()

    @property
    def points(self) -> tuple[SeriesPoint, ...]:
        """All points."""
        return tuple(point for segment in self.segments for point in segment.points)

    @property
    def is_gated(self) -> bool:
        """Whether the last run had a rule about the metric."""
        return bool(self.segments) and bool(self.segments[-1].points[-1].rules)


class NewRun(Struct, frozen=True):
    """A run to add to the history: its footer, the text of its verdict document, and its scenarios if known.

    `measures` has each scenario as a baseline writes it, in the same order; empty if that is not known. `no_commit`
    says why the commit of the run is not known although one is checked out.
    """

    run: RunRecord
    document: str
    scenarios: tuple[ScenarioCounts, ...] | None
    no_commit: str | None = None
    measures: tuple[str, ...] = ()


class PooledScenarios(Struct, frozen=True):
    """Scenarios over several runs, sorted by id, and the damaged files that were left out."""

    scenarios: tuple[PooledScenario, ...]
    runs: tuple[RunRecord, ...] = field(default_factory=tuple)  # those that were pooled, each result once
    damaged: tuple[DamagedRecord, ...] = ()
