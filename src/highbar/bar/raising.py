"""A ratchet on files: reads policy and baseline, proposes thresholds, and may write them into the policy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path

from highbar import history as histories
from highbar import policy as policies
from highbar.bar.ratchet import Climb, propose
from highbar.bar.run_records import scoring_digest
from highbar.changes.scored_run import scoring_of
from highbar.documents.files import read_bytes
from highbar.errors import InputError, Problem
from highbar.history.choosing import comparable
from highbar.history.pooled_metrics import PooledMetric, PooledMetrics
from highbar.load.checkout import ancestors
from highbar.model import Policy, ThresholdRule, Value, Where
from highbar.model.baseline import Baseline, RecordedRule, Scoring
from highbar.model.history import RunRecord
from highbar.model.proposals import PooledRuns, Proposal, Ratchet
from highbar.policy.editing import PolicyText
from highbar.policy.notes import thresholds_of
from highbar.statistics.pooled import RUNS
from highbar.store import baseline_reading
from highbar.store import history as store
from highbar.store.writing import replace_policy

_CLIMB_WARNING = (
    "repeated after every run that passes, this raises the bar on luck: an agent that stays as it is fails more and"
    " more often; --history DIR raises it to what pooled runs show, failed ones included"
)
_CONFIDENT_WARNING = (
    "evidence: confident: against a threshold at its own bound, an agent that stays as it is will soon be"
    " inconclusive more often than not; --history DIR leaves room for the bound of a run"
)

_OTHERWISE = "these runs were scored in another way, or from other rows, than the policy says now"


def ratchet(
    path: Path,
    baseline: Path | None = None,
    climb: Climb | None = None,
    version: str | None = None,
    *,
    write: bool,
    history: str | None = None,
) -> Ratchet:
    """Raise the thresholds of the policy at `path` to what its own or the named baseline showed.

    With a `history`, raise them to what its last runs show together. With `write`, replace the policy file completely
    or not at all; without, change no file. Raises InputError.
    """
    data = read_bytes(path)
    policy = policies.read(path, data)
    climb = climb or Climb()
    pooled: PooledRuns | None = None
    pooling_notes: tuple[str, ...] = ()
    if history is None:
        recorded = baseline_reading.read_baseline(baseline or policies.baseline_file(policy))
    else:
        recorded, pooled, pooling_notes = _pooled_baseline(history, policy)
        climb = Climb("pooled", runs=len(pooled.records))
    text = PolicyText(data)
    proposals = propose(policy, recorded, climb, version, text.written)
    numbers = ((text.written(each.place, each.before), each.after) for each in proposals)
    after = text.edited((number, to) for number, to in numbers if number is not None and to is not None)
    _prove(policy, policies.read(path, after), proposals)
    if write and after != data:
        replace_policy(path, data, after)
    return Ratchet(
        policy=str(path),
        baseline=str(recorded.file),
        forced=recorded.forced,
        proposals=proposals,
        written=write and after != data,
        notes=(*pooling_notes, *_notes(policy, proposals, is_pooled=pooled is not None)),
        pooled=pooled,
    )


def _notes(policy: Policy, proposals: Iterable[Proposal], *, is_pooled: bool) -> Iterator[str]:
    """Notes on what raised thresholds mean for later runs; docs/concepts/rising-bars.md has the figures."""
    raised = {each.place for each in proposals if each.after is not None}
    if not raised:
        return
    if not is_pooled:
        yield _CLIMB_WARNING
        weighed = (
            one.demand for rule in policy.rules for _, one in thresholds_of(rule) if one.threshold_place in raised
        )
        if any(demand.is_confident for demand in weighed):
            yield _CONFIDENT_WARNING


def _prove(before: Policy, after: Policy, proposals: Iterable[Proposal]) -> None:
    """Raise InputError unless the policy, read again, has exactly the thresholds that were proposed."""
    meant = {each.place: each.after for each in proposals if each.after is not None}
    named = [each for rule in before.rules for each in thresholds_of(rule)]
    wanted = [(name, (meant.get(one.threshold_place) or one.threshold).text) for name, one in named]
    if wanted != [(name, one.threshold.text) for rule in after.rules for name, one in thresholds_of(rule)]:
        raise InputError(Problem("baseline.threshold-not-replaced", "the thresholds could not be replaced one by one"))


# --- pooled runs of a history, passed or failed, as a baseline --------------------------------


def _pooled_baseline(folder: str, policy: Policy) -> tuple[Baseline, PooledRuns, tuple[str, ...]]:
    """The last comparable runs of a history, pooled: a baseline, which runs these are, and notes about them.

    Its bounds are the values that thresholds may rise to. Raises InputError if there is no such run.
    """
    history = histories.read_history(folder)
    chosen = comparable(history.runs, ancestors(), RUNS)
    if not chosen.runs:
        why = chosen.in_words if chosen.left_out else "it is empty"
        message = f"no run of this history can be pooled: {why}"
        raise InputError(Problem("history.not-poolable", message, folder, hint="highbar history list prints its runs"))
    pooled = PooledMetrics(history, chosen.runs, float(1 - policy.confidence))
    last = chosen.runs[-1]
    baseline = Baseline(
        scenarios=(),
        metrics={
            name: _pooled_value(pooled.metric(name), last.metrics[name].scenarios) for name in sorted(last.metrics)
        },
        rules=tuple(_pooled_slices(policy, pooled)),
        verdict=last.verdict,
        agent_version=last.agent_version,
        confidence=policy.confidence,
        scoring=Scoring(policy.pass_score, policy.positive),
        file=folder,
    )
    runs = PooledRuns(folder, tuple(run.record for run in chosen.runs), chosen.left_out, history.damaged)
    return baseline, runs, _pooling_notes(policy, history.folder, last)


def _pooling_notes(policy: Policy, folder: str, last: RunRecord) -> tuple[str, ...]:
    # The digest includes who judged in files of other tools, which the policy alone does not tell.
    (path,) = store.paths(folder, [last])
    scoring = scoring_of(policy, store.read(path).verdict.judged_by)
    return () if last.scoring == scoring_digest(policy, scoring) else (_OTHERWISE,)


def _pooled_slices(policy: Policy, pooled: PooledMetrics) -> Iterator[RecordedRule]:
    wanted: dict[tuple[str, Where], None] = {
        (rule.metric, rule.where): None for rule in policy.rules if isinstance(rule, ThresholdRule) and rule.where
    }
    for metric, where in wanted:
        yield RecordedRule("", metric, where, None, _pooled_value(pooled.metric(metric, where), 0))


def _pooled_value(found: PooledMetric | str, scenarios: int) -> Value:
    """The metric, with bounds at the values that a threshold may rise to: the worse one if it is confident.

    Undefined if there is none.
    """
    if isinstance(found, str):
        return Value(None, scenarios, 0, "number", "higher", reason=found)
    low, high = sorted((found.threshold, found.confident))
    return Value(Fraction(found.value), scenarios, 0, found.of.unit, found.of.better, low=low, high=high)
