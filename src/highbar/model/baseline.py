"""A baseline: a recorded run that later ones are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from msgspec import Struct

from highbar.model.against import Source
from highbar.model.literals import Decision, Where
from highbar.model.records import ScenarioRecord
from highbar.model.verdict import Value

SCHEMA = "highbar/baseline/1"


class RecordedRule(Struct, frozen=True):
    """The value of a rule when the baseline was recorded; only rules about one metric are recorded."""

    rule: str
    metric: str
    slice: Where
    threshold: str | None
    value: Value


class Scoring(Struct, frozen=True):
    """The settings of the policy that scoring depends on: another pass_score gives another pass rate.

    The records of a history have a digest of it, names of fields included: with another name, old runs look different.
    """

    pass_score: Fraction = Fraction(1)
    positive: str | None = None
    select: Where = ()  # which rows were judged
    judged_by: tuple[tuple[str, tuple[str, ...]], ...] = ()  # by tool, the scorers that judged, in words


class Baseline(Struct, frozen=True):
    """A recorded run: its metrics with their bounds, and every scenario, so that later runs can be paired with it.

    It may pool several runs of a history, scenario by scenario; then `pooled` has the names of their records.
    `forced`: the --force reason, if the run did not pass or was not complete. `date` is a label from the caller that is
    never compared. `file` and `sha256` are those of the baseline itself, if it was read from a file.
    """

    scenarios: tuple[ScenarioRecord, ...]  # sorted by id
    metrics: Mapping[str, Value]
    rules: tuple[RecordedRule, ...] = ()
    verdict: Decision = "pass"
    agent_version: str | None = None
    date: str | None = None
    forced: str | None = None
    confidence: Fraction = Fraction(95, 100)
    scoring: Scoring = Scoring()
    judges: tuple[str, ...] = ()
    suites: tuple[str, ...] = ()
    policy: Source | None = None
    suite: Source | None = None
    results: tuple[Source, ...] = ()
    pooled: tuple[str, ...] = ()
    file: str | None = None
    sha256: str | None = None

    @property
    def trials(self) -> int:
        """The number of trials."""
        return sum(scenario.trials for scenario in self.scenarios)

    @property
    def runs(self) -> int:
        """How many runs the baseline pools; 1 for a single run."""
        return len(self.pooled) or 1
