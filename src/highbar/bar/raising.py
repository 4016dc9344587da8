"""A ratchet on files: reads policy and baseline, changes the policy's text, proves the change, and may write it."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from highbar import policy as policies
from highbar.bar.pooled_baseline import pooled_baseline
from highbar.bar.ratchet import Climb, propose
from highbar.documents.files import read_bytes, read_tree
from highbar.errors import InputError, Problem
from highbar.model import ConditionRule, Place, Policy, Threshold
from highbar.model.proposals import Proposal, Ratchet
from highbar.policy.editing import Bound, Edit, PolicyText, bounds_of
from highbar.policy.notes import thresholds_of
from highbar.store import baseline_reading
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
    pooled = None if history is None else pooled_baseline(history, policy)
    if pooled is not None:
        recorded, climb = pooled.baseline, Climb("pooled", runs=len(pooled.runs.records))
    else:
        recorded = baseline_reading.read_baseline(baseline or policies.baseline_file(policy))
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
        notes=(*(pooled.notes if pooled else ()), *_notes(policy, proposals, is_pooled=pooled is not None)),
        pooled=None if pooled is None else pooled.runs,
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
