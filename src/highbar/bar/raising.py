"""A ratchet on files: reads policy and baseline, changes the policy's text, proves the change, and may write it."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path

from highbar import history as histories
from highbar import policy as policies
from highbar.bar.ratchet import Climb, propose
from highbar.bar.run_records import scoring_digest
from highbar.changes.scored_run import scoring_of
from highbar.documents.files import read_bytes, read_tree
from highbar.errors import InputError, Problem
from highbar.history.choosing import comparable
from highbar.history.pooled_metrics import PooledMetric, PooledMetrics
from highbar.load.checkout import ancestors
from highbar.model import ConditionRule, Place, Policy, Threshold, ThresholdRule, Value, Where
from highbar.model.baseline import Baseline, RecordedRule, Scoring
from highbar.model.history import RunRecord
from highbar.model.proposals import PooledRuns, Proposal, Ratchet
from highbar.policy.editing import Bound, Edit, PolicyText, bounds_of
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
    " inconclusive more often than not"
)

_NamedThreshold = tuple[str, Threshold, Place]
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
    text = PolicyText(path, data)
    proposals = propose(policy, recorded, climb, version, text.written, _bounds(policy, path, data))
    edits = [Edit(each.place, each.before, each.after, each.text_place) for each in proposals if each.after is not None]
    after = text.edited(edits) if edits else data
    _prove(_thresholds(policy, path, data), _thresholds(policies.read(path, after), path, after), proposals)
    if write and after != data:
        replace_policy(path, data, after)
    return Ratchet(
        policy=str(path),
        baseline=str(recorded.file),
        forced=recorded.forced,
        proposals=proposals,
        diff=_diff(str(path), data, after),
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
    weighed = [one.demand for rule in policy.rules for _, one in thresholds_of(rule) if one.threshold_place in raised]
    weighed += [rule.demand for rule in policy.rules if isinstance(rule, ConditionRule)]
    if any(demand.is_confident for demand in weighed):
        yield _CONFIDENT_WARNING


def _prove(before: Iterable[_NamedThreshold], after: Iterable[_NamedThreshold], proposals: Iterable[Proposal]) -> None:
    """Raise InputError unless the policy, read again, has exactly the thresholds that were proposed."""
    meant = {each.place: each.after for each in proposals if each.after is not None}
    wanted = [(name, (meant.get(place) or threshold).text) for name, threshold, place in before]
    if wanted != [(name, threshold.text) for name, threshold, _ in after]:
        raise InputError(Problem("the thresholds could not be replaced one by one"))


def _thresholds(policy: Policy, path: Path, data: bytes) -> Iterator[_NamedThreshold]:
    """Every threshold of the policy, with its name and place."""
    for rule in policy.rules:
        yield from ((name, one.threshold, one.threshold_place) for name, one in thresholds_of(rule))
    yield from ((bound.metric, bound.threshold, bound.place) for bound in _bounds(policy, path, data))


def _bounds(policy: Policy, path: Path, data: bytes) -> tuple[Bound, ...]:
    """The bounds in the condition to pass, if the policy has one."""
    conditions = [rule for rule in policy.rules if isinstance(rule, ConditionRule)]
    if not conditions:
        return ()
    root = read_tree(path, data=data).root
    return tuple(bound for rule in conditions for bound in bounds_of(rule, root, policy.metrics))


def _diff(name: str, before: bytes, after: bytes) -> str:
    """The unified diff, as `git apply` and `patch -p1` read it; empty if nothing changed."""
    # Split only at line feeds: YAML may contain other characters that Python treats as the end of a line.
    old, new = (re.findall("[^\n]*\n|[^\n]+", data.decode("utf-8")) for data in (before, after))
    has_prefix = not Path(name).is_absolute() and not name.startswith(os.pardir)
    names = (f"a/{name}", f"b/{name}") if has_prefix else (name, name)
    lines = difflib.unified_diff(old, new, *names)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


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
        raise InputError(Problem(message, folder, hint="highbar history list prints its runs"))
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
    """The metric, with `low` and `high` at the value that a threshold may rise to; undefined if there is none."""
    if isinstance(found, str):
        return Value(None, scenarios, 0, "number", "higher", reason=found)
    return Value(
        Fraction(found.value), scenarios, 0, found.of.unit, found.of.better, low=found.threshold, high=found.threshold
    )
