"""The pooled metrics of the last runs of a history, passed or failed, to which a ratchet raises thresholds."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from msgspec import Struct

from highbar import history as histories
from highbar.bar.run_records import scoring_digest
from highbar.changes.scored_run import scoring_of
from highbar.errors import InputError, Problem
from highbar.history.choosing import comparable
from highbar.history.pooled_metrics import PooledMetric, PooledMetrics
from highbar.load.checkout import ancestors
from highbar.model import Policy, ThresholdRule, Value, Where
from highbar.model.baseline import Baseline, RecordedRule, Scoring
from highbar.model.history import RunRecord
from highbar.model.proposals import PooledRuns
from highbar.statistics.pooled import RUNS
from highbar.store import history as store

_OTHERWISE = "these runs were scored in another way, or from other rows, than the policy says now"


class PooledBaseline(Struct, frozen=True):
    """Pooled runs as a baseline, with bounds at the values that thresholds may rise to, and which runs they are."""

    baseline: Baseline
    runs: PooledRuns
    notes: tuple[str, ...] = ()


def pooled_baseline(folder: str, policy: Policy, most: int = RUNS) -> PooledBaseline:
    """The last comparable runs of a history, pooled. Raises InputError if there are none."""
    history = histories.read_history(folder)
    chosen = comparable(history.runs, ancestors(), most)
    if not chosen.runs:
        why = chosen.in_words if chosen.left_out else "it is empty"
        message = f"no run of this history can be pooled: {why}"
        raise InputError(Problem(message, folder, hint="highbar history list prints its runs"))
    pooled = PooledMetrics(history, chosen.runs, float(1 - policy.confidence))
    last = chosen.runs[-1]
    baseline = Baseline(
        scenarios=(),
        metrics={name: _value(pooled.metric(name), last.metrics[name].scenarios) for name in sorted(last.metrics)},
        rules=tuple(_slices(policy, pooled)),
        verdict=last.verdict,
        agent_version=last.agent_version,
        confidence=policy.confidence,
        scoring=Scoring(policy.pass_score, policy.positive),
        file=folder,
    )
    runs = PooledRuns(folder, tuple(run.record for run in chosen.runs), chosen.left_out, history.damaged)
    return PooledBaseline(baseline, runs, _notes(policy, history.folder, last))


def _notes(policy: Policy, folder: str, last: RunRecord) -> tuple[str, ...]:
    # The digest includes who judged in files of other tools, which the policy alone does not tell.
    (path,) = store.paths(folder, [last])
    scoring = scoring_of(policy, store.read(path).verdict.judged_by)
    return () if last.scoring == scoring_digest(policy, scoring) else (_OTHERWISE,)


def _slices(policy: Policy, pooled: PooledMetrics) -> Iterator[RecordedRule]:
    wanted: dict[tuple[str, Where], None] = {
        (rule.metric, rule.where): None for rule in policy.rules if isinstance(rule, ThresholdRule) and rule.where
    }
    for metric, where in wanted:
        yield RecordedRule("", metric, where, None, _value(pooled.metric(metric, where), 0))


def _value(found: PooledMetric | str, scenarios: int) -> Value:
    """The metric, with `low` and `high` at the value that a threshold may rise to; undefined if there is none."""
    if isinstance(found, str):
        return Value(None, scenarios, 0, "number", "higher", reason=found)
    return Value(
        Fraction(found.value), scenarios, 0, found.of.unit, found.of.better, low=found.threshold, high=found.threshold
    )
