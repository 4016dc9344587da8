"""Runs in a recorded order, as records of scenarios that no engine made: thousands of them are judged in a test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from msgspec.structs import replace

from highbar import gate, policy
from highbar.changes.scored_run import ScoredRun, measured, scoring_of
from highbar.changes.since import since
from highbar.model import Policy, RuleResult
from highbar.model.comparison import Side
from highbar.model.order import RunOrder
from highbar.model.recall import Recalled
from highbar.model.records import ScenarioRecord
from highbar.verdicts.earlier_noise import earlier_noise_of
from highbar.verdicts.replay import Replay

ABOUT = Side((), is_baseline=False, agent_version=None, scenarios=0, trials=0)


def scenario(id_: str, passed: int, trials: int = 1, **values: Any) -> ScenarioRecord:
    """A scenario with answers of which so many are right; `weight`, `columns`, `ranks` and `cluster` as in a record."""
    described = {key: values.pop(key) for key in ("weight", "columns", "ranks", "cluster") if key in values}
    share = Fraction(passed, trials)
    return ScenarioRecord(id_, trials, passed, values={"correct": share, **values}, **described)


def read(**content: Any) -> Policy:
    """A policy whose rules are sequential, unless they say otherwise."""
    return policy.read_dict({"evidence": "sequential", **content})


def run_of(bar: Policy, worst: Sequence[ScenarioRecord], best: Sequence[ScenarioRecord] = ()) -> ScoredRun:
    """The run with these records."""
    return ScoredRun(tuple(worst), ABOUT, scoring_of(bar), best=tuple(best))


def judge(
    bar: Policy,
    worst: Sequence[ScenarioRecord],
    finished: int | frozenset[str] | None = None,
    *,
    best: Sequence[ScenarioRecord] = (),
    base: Sequence[ScenarioRecord] = (),
    recalled: Recalled | None = None,
) -> dict[str, RuleResult]:
    """By name what became of the rules. The records are in the recorded order; `finished` are the first ones, or all.

    `best` has the same scenarios with undecided trials at their best, `base` those of the baseline;
    `recalled` is the history.
    """
    order = tuple(record.id for record in worst)
    done = order if finished is None else finished
    done = frozenset(order[:done] if isinstance(done, int) else done)
    # As the engine has them: by id, whatever the order of the run is.
    head = run_of(bar, sorted(worst, key=_id), sorted(best, key=_id))
    changes = None
    if base:
        before = run_of(bar, sorted(base, key=_id))
        changes = since(bar, before, head)
        if best:
            changes = replace(changes, best=since(bar, before, head.at_best()))
    trials = {record.id: record.trials for record in worst}
    recorded = RunOrder(order, trials, done, sum(trials[id_] for id_ in done), seed=1)
    whole = measured(bar, head)
    evidence = gate.Evidence(whole, bar.metrics, {}, None, float(1 - bar.confidence), changes)
    at_best = whole.at_best()
    if at_best is not None:
        evidence = replace(evidence, best=replace(evidence, measured=at_best, at_best=True))
    noise = None if recalled is None else earlier_noise_of(recalled, head)
    return judged(bar, evidence, Replay(bar, head, recorded, changes, noise))


def judged(bar: Policy, evidence: gate.Evidence, replay: Replay | None) -> dict[str, RuleResult]:
    """What became of every rule."""

    seen = replace(evidence, replay=replay)
    return {rule.name: gate.judge(rule, seen) for rule in bar.rules}


def _id(record: ScenarioRecord) -> str:
    return record.id


def outcomes(found: Mapping[str, RuleResult]) -> dict[str, tuple[str, int | None]]:
    """The outcome of each rule, and where it was decided."""
    return {name: (one.outcome, one.stopping and one.stopping.decided_at) for name, one in found.items()}
