"""The evidence for sequential rules from the order of a run, and the verdict of a run that ended early."""

from __future__ import annotations

from msgspec.structs import replace

from highbar import gate, measure
from highbar.changes.record_sums import is_selected
from highbar.changes.scored_run import ScoredRun, measured
from highbar.changes.since import Changes
from highbar.gate.evidence import PASSING
from highbar.load.results import Results
from highbar.model import Counts, Policy, Slice, Verdict
from highbar.model.order import NO_ORDER, RunOrder
from highbar.model.reduction import Reduction
from highbar.model.rules import demands_of
from highbar.model.stopping import SequentialRun
from highbar.statistics.slices import standings
from highbar.verdicts.earlier_noise import EarlierNoise
from highbar.verdicts.notes import POLICY_CHANGED
from highbar.verdicts.replay import Replay, part_of


def replay_of(
    policy: Policy,
    results: Results,
    run: ScoredRun | None,
    changes: Changes | None,
    noise: EarlierNoise | None = None,
) -> Replay | str:
    """The run in its recorded order, or why there is no order."""
    order = results.order
    if not isinstance(order, RunOrder) or run is None:
        return order if isinstance(order, str) else NO_ORDER
    # Fail closed: rows may have been added or removed after the run, and then the recorded order is not theirs.
    if {record.id: record.trials for record in run.records} != order.trials:
        return "the rows are not those of the run's plan"
    return Replay(policy, run, order, changes, noise)


def with_replay(evidence: gate.Evidence, policy: Policy, replay: Replay | str) -> gate.Evidence:
    """The evidence with the run in its order.

    If part of the suite may decide a blocking rule, the rest need not be run: the rule `suite` then demands only that
    all of it was planned. In all other rules, trials without a judgment count at their worst and best.
    """
    if isinstance(replay, str):
        return replace(evidence, unordered=replay)
    blocking = (rule for rule in policy.rules if rule.level == "blocking")
    excused = any(demand.is_sequential for rule in blocking for demand in demands_of(rule))
    suite = evidence.suite
    if suite is not None and excused:
        unfinished = len(replay.order.ids) - len(replay.order.finished)
        suite = replace(suite, unjudged_ids=(), not_run=unfinished)
    return replace(evidence.with_fields(suite=suite), replay=replay)


def with_stopping(found: Verdict, policy: Policy, sums: Reduction, replay: Replay | str) -> Verdict:
    """The verdict with the numbers of scenarios and trials that were planned, run and saved.

    If scenarios were not run, metrics and slices are those of the finished prefix of the order: with the rest at its
    worst, they would say nothing about the agent.
    """
    if isinstance(replay, str):
        ran = found.counts.scenarios, found.counts.scenarios, found.counts.trials, found.counts.trials
        return replace(found, sequential=SequentialRun(*ran, problem=replay))
    order = replay.order
    if None not in (order.decided_by, policy.sha256) and order.decided_by != policy.sha256:
        found = replace(found, warnings=(*found.warnings, POLICY_CHANGED))
    done = SequentialRun(len(order.ids), len(order.finished), order.planned, order.ended, order.seed)
    if not done.saved:
        return replace(found, sequential=done)
    prefix = replay.shown()
    whole = measured(policy, prefix)
    groups = [group.by for group in sums.slices if group.by is not None]
    slices = [_slice(policy, prefix, by) for by in groups]
    standing = standings(whole.sums(PASSING), [part.sums(PASSING) for part, _ in slices])
    return replace(
        found,
        sequential=done,
        metrics=whole.values(),
        slices=tuple(
            Slice(one.by, size, part.values(), *of_rest)
            for one, (part, size), of_rest in zip(found.slices, slices, standing, strict=True)
        ),
        counts=_counts(found.counts, done),
        scenarios_undecided=tuple(one for one in found.scenarios_undecided if one.id in order.finished),
        scenarios=tuple(one for one in found.scenarios if one.id in order.finished),
        repetition=None,  # trials that were not run would look like failures of whole scenarios
    )


def finished_metrics(policy: Policy, replay: Replay | str) -> measure.Measured | None:
    """The metrics of the finished prefix; None if all scenarios have finished, or there is no order."""
    if isinstance(replay, str) or len(replay.order.finished) == len(replay.order.ids):
        return None
    return measured(policy, replay.shown())


def _slice(policy: Policy, run: ScoredRun, by: tuple[str, str]) -> tuple[measure.Measured, int]:
    where = ((by[0], (by[1],)),)
    part = part_of(run, {record.id for record in run.records if is_selected(record, where)})
    return measured(policy, part), len(part.records)


def _counts(counts: Counts, done: SequentialRun) -> Counts:
    """The counts without the trials that were not run, which have rows that only say so."""
    return replace(
        counts,
        scenarios=done.ran,
        trials=done.ran_trials,
        unjudged=max(0, counts.unjudged - done.saved_trials),
        undecided=max(0, counts.undecided - done.saved_trials),
    )
