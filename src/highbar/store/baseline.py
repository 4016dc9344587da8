"""What a baseline holds. `text.render` writes it, `reading.read` reads it; the two are each other's inverse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from highbar.model import Decision, Source, Value, Where
from highbar.model.records import ScenarioRecord

SCHEMA = "highbar/baseline/1"


@dataclass(frozen=True, slots=True)
class RecordedRule:
    """What a rule of the policy measured when the baseline was recorded; only rules about one metric are recorded."""

    rule: str
    metric: str
    slice: Where
    threshold: str | None
    value: Value


@dataclass(frozen=True, slots=True)
class Scoring:
    """The settings of the policy by which trials were scored: another pass_score makes another pass rate."""

    pass_score: Fraction = Fraction(1)
    positive: str | None = None
    select: Where = ()  # which rows were judged
    judged_by: tuple[tuple[str, tuple[str, ...]], ...] = ()  # by tool, the scorers that judged, in words


@dataclass(frozen=True, slots=True)
class Baseline:
    """A run that later ones are compared with: its metrics with their bounds, and every scenario, so that runs pair up.

    `forced` is the reason for recording it although the run did not pass or was not complete. `date` is what the
    caller gave: a label, never compared. `file` and `sha256` are those of the baseline itself, once it was read.
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
    file: str | None = None
    sha256: str | None = None

    @property
    def trials(self) -> int:
        """How many trials it rests on."""
        return sum(scenario.trials for scenario in self.scenarios)
