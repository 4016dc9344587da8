"""Records the last runs of a history as one baseline: each scenario with its trials in all runs, passed or failed.

A run that is recorded because it passed is more often than not a lucky one. The mean of the last runs, failed ones
included, is not. A pooled baseline must still be worth comparing with: the runs together must meet the policy's demands
on metrics, and must not be surely worse than the present baseline.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from highbar import gate
from highbar import history as histories
from highbar import policy as policies
from highbar.bar.recording import RecordedBaseline, baseline_from, write_baseline
from highbar.bar.run_records import judge_digest, scoring_digest
from highbar.changes.scored_run import ScoredRun, measured, run_in, scoring_of
from highbar.changes.since import is_excused, since
from highbar.errors import InputError, Problem
from highbar.history import History
from highbar.history.choosing import OTHER_AGENT, ChosenRuns, comparable
from highbar.history.pooled_records import pooled_record
from highbar.language.phrases import count, some
from highbar.load.checkout import ancestors
from highbar.model import (
    BaselineRule,
    ConditionRule,
    NewFailuresRule,
    Policy,
    ProgressiveRule,
    RuleResult,
    Source,
    StepRule,
    ThresholdRule,
)
from highbar.model.baseline import Baseline
from highbar.model.comparison import Side
from highbar.model.history import DamagedRecord, RunRecord
from highbar.model.job import Job
from highbar.model.records import ScenarioRecord
from highbar.store import baseline_reading, writing
from highbar.store import history as store
from highbar.store.history_footer import SUFFIX, DamagedRecordError
from highbar.verdicts.corrections import Corrections

_UNDECIDED = "with undecided trials"
_STOPPED = "that stopped early (highbar run --resume DIR --run-all runs the rest)"
_NO_VALUES = "that an earlier version recorded, without the values of measures"
_NO_TRIALS = "`judge: correct` needs the trials that people labeled, and a history has only how many passed"
_COMPARED = "baseline."
"""The prefix of the names of rules that compare with the present baseline."""
_ABOUT_METRICS = (ThresholdRule, ConditionRule, ProgressiveRule)
_COMPARING = (BaselineRule, StepRule)


class ReadRuns(Struct, frozen=True, eq=False):
    """The runs to pool, oldest first, with their scenarios by id, and the records that are damaged."""

    chosen: ChosenRuns
    scenarios: tuple[Mapping[str, ScenarioRecord], ...]
    texts: tuple[Mapping[str, str | None], ...]
    damaged: tuple[DamagedRecord, ...] = ()


def record_pooled(
    job: Job, folder: str, most: int, *, file: str | None = None, date: str | None = None, force: str | None = None
) -> RecordedBaseline:
    """Record the last `most` runs of a history as the baseline. Raises InputError before writing anything."""
    policy = policies.choose(job.policy)
    if policy.advisory:
        raise InputError(policies.missing())
    target = policies.baseline_file(policy, file)
    seen = writing.digest(target)
    before = baseline_reading.read_baseline(target) if seen is not None else None
    history = histories.read_history(folder)
    found = _read_runs(history, most)
    last = found.chosen.runs[-1]
    policy = policies.resolve_version(policy, given=job.agent_version, recorded=last.agent_version)
    run = _pool_runs(history, policy, found)
    rules = tuple(_judge_rules(policy, run, before))
    reasons = (*_missed_rules(rules), *_lost_scenarios(policy, run, before))
    forced = force if reasons else None
    # The rules may all be about single runs. Then nothing was judged, and nothing is claimed.
    verdict = gate.decide(rules) if rules else "inconclusive"
    own = [rule for rule in rules if not rule.rule.startswith(_COMPARED)]
    baseline = replace(
        baseline_from(policy, run, measured(policy, run).values(), own),
        date=date,
        forced=forced,
        verdict=verdict,
        results=tuple(_source(path) for path in store.paths(history.folder, found.chosen.runs)),
        pooled=tuple(one.record for one in found.chosen.runs),
    )
    write_baseline(baseline, target, seen, reasons, force)
    damaged = (*history.damaged, *found.damaged)
    return RecordedBaseline(
        baseline, str(target), seen is not None, reasons, tuple(_left_out(found.chosen, most)), damaged
    )


# --- which runs -------------------------------------------------------------------------------


def _read_runs(history: History, most: int) -> ReadRuns:
    """The last comparable runs: of one line of commits and one agent, scored and judged alike, and complete."""
    chosen = comparable(history.runs, ancestors(), changed=False, any_suite=True)
    left = Counter(dict(chosen.left_out))
    last = chosen.runs[-1] if chosen.runs else None
    taken: list[tuple[RunRecord, Mapping[str, ScenarioRecord], Mapping[str, str | None]]] = []
    damaged: list[DamagedRecord] = []
    for run, path in zip(reversed(chosen.runs), reversed(store.paths(history.folder, chosen.runs)), strict=True):
        if len(taken) == most:
            break
        try:
            scenarios, texts = _scenarios(run, path)
            why = _unusable(run, path, last, scenarios)
        except DamagedRecordError as error:
            damaged.append(DamagedRecord(f"{run.record}{SUFFIX}", str(error)))
            continue
        if why is None and scenarios is not None:
            taken.append((run, scenarios, texts))
        elif why is not None:
            left[why] += 1
    runs = ChosenRuns(tuple(run for run, _, _ in reversed(taken)), tuple(sorted(left.items())))
    if not taken:
        message = f"no run of this history can be pooled: {runs.in_words if runs.left_out else 'it is empty'}"
        raise InputError(
            Problem("history.not-poolable", message, history.folder, hint="highbar history list prints its runs")
        )
    return ReadRuns(
        runs, tuple(one for _, one, _ in reversed(taken)), tuple(one for _, _, one in reversed(taken)), tuple(damaged)
    )


def _scenarios(run: RunRecord, path: Path) -> tuple[Mapping[str, ScenarioRecord] | None, Mapping[str, str | None]]:
    """The scenarios of a record, and the digests of their texts, or of the whole suite if those are unknown."""
    texts = {one.id: one.digest or run.suite for one in store.read_scenarios(path, run)}
    return store.read_measures(path, run), texts


def _unusable(run: RunRecord, path: Path, last: RunRecord | None, scenarios: object) -> str | None:
    if last is not None and run.of_agent != last.of_agent:
        return OTHER_AGENT
    if run.counts.undecided:
        return _UNDECIDED
    done = store.read(path).verdict.sequential
    if done is not None and done.saved:
        return _STOPPED
    return _NO_VALUES if scenarios is None else None


# --- the runs together ------------------------------------------------------------------------


def _pool_runs(history: History, policy: Policy, found: ReadRuns) -> ScoredRun:
    """The scenarios of the last run, each with its trials in all runs in which it has the same text."""
    last = found.chosen.runs[-1]
    scoring = scoring_of(policy, store.read(store.paths(history.folder, [last])[0]).verdict.judged_by)
    if scoring_digest(policy, scoring) != last.scoring:
        message = "the last runs were scored in another way, or from other rows, than the policy says now"
        raise InputError(
            Problem(
                "history.not-poolable", message, history.folder, hint="add a run that is judged by this policy first"
            )
        )
    texts = found.texts[-1]
    records = tuple(
        # Trials of another text would be trials of another scenario.
        pooled_record([run[id_] for run, known in zip(found.scenarios, found.texts, strict=True)
                       if id_ in run and known[id_] == texts[id_]])
        for id_ in sorted(found.scenarios[-1])
    )  # fmt: skip
    about = Side(
        (Source(history.folder, None),),
        is_baseline=True,
        agent_version=last.agent_version,
        scenarios=len(records),
        trials=sum(record.trials for record in records),
        runs=len(found.chosen.runs),
    )
    judges = last.judges[: len(last.judges) - len(scoring.judged_by)]
    run = ScoredRun(records, about, scoring, judges, last.suites)
    if judge_digest(run) != last.judge:
        raise InputError(
            Problem("history.not-poolable", "the last run does not say who judged", history.folder, hint="add it again")
        )
    return run


def _source(path: Path) -> Source:
    return Source(str(path), hashlib.sha256(path.read_bytes()).hexdigest())


# --- whether they are worth comparing with ----------------------------------------------------


def _judge_rules(policy: Policy, run: ScoredRun, before: Baseline | None) -> Iterator[RuleResult]:
    """The rules on metrics, judged over all runs together, and those that compare with the present baseline.

    Rules about single runs are not judged: a required scenario that failed once is the reason for pooling runs.
    """
    changes = since(policy, run_in(before), run) if before is not None and policy.comparing else None
    alpha = float(1 - policy.confidence)
    corrections = Corrections(policy, problem=_NO_TRIALS) if _is_corrected(policy, run) else None
    evidence = gate.Evidence(measured(policy, run), policy.metrics, {}, None, alpha, changes, corrections=corrections)
    kinds = (*_ABOUT_METRICS, *_COMPARING) if changes is not None else _ABOUT_METRICS
    for rule in policy.rules:
        if isinstance(rule, kinds):
            yield gate.judge(rule, evidence)


def _is_corrected(policy: Policy, run: ScoredRun) -> bool:
    """Whether shares of these runs are to be corrected for the errors of a judge."""
    return policy.judge is not None and policy.judge.correct and bool(run.judges)


def _missed_rules(rules: Sequence[RuleResult]) -> Iterator[str]:
    """Why the runs together are not good enough. An inconclusive comparison with the present baseline is no reason."""
    bad = [one for one in rules if one.level == "blocking" and one.outcome != "pass"]
    failed = [one.rule for one in bad if one.outcome != "inconclusive"]
    unsure = [one.rule for one in bad if one.outcome == "inconclusive" and not one.rule.startswith(_COMPARED)]
    if failed:
        yield f"the runs together fail: {some(failed)}"
    if unsure:
        why = f"; {_NO_TRIALS}" if any(one.raw is not None for one in bad) else ""
        yield f"the runs together are inconclusive: {some(unsure)}{why}"


def _lost_scenarios(policy: Policy, run: ScoredRun, before: Baseline | None) -> Iterator[str]:
    """What the runs lost compared with the present baseline or the suite."""
    there = {record.id: record for record in run.records}
    wanted = list(policy.suite.scenarios) if policy.suite is not None else []
    wanted += [one.id for one in before.scenarios if not is_excused(policy, one.id)] if before is not None else []
    gone = [id_ for id_ in dict.fromkeys(wanted) if id_ not in there]
    if gone:
        yield f"the last run is not complete: {count(len(gone), 'scenario')} without a result: {some(gone)}"
    patterns = [each for rule in policy.rules if isinstance(rule, NewFailuresRule) for each in rule.patterns]
    passed = [one.id for one in before.scenarios if one.all_passed] if before is not None else []
    broken = [
        id_
        for id_ in passed
        if id_ in there and not there[id_].passed and any(policies.matches(pattern, id_) for pattern in patterns)
    ]
    if broken:
        scenarios = f"{count(len(broken), 'scenario')} that passed in the present baseline"
        yield f"{scenarios} passed in none of the runs: {some(broken)}"


def _left_out(chosen: ChosenRuns, most: int) -> Iterator[str]:
    yield from (f"left out: {count(number, 'run')} {reason}" for reason, number in chosen.left_out)
    if len(chosen.runs) < most:
        yield f"only {count(len(chosen.runs), 'run')} of the {most} asked for; the fewer, the more luck is in it"
