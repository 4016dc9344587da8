"""Makes a record for the history from a judged run, or from a verdict document."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from highbar import __version__
from highbar.bar.regrading import runs_in
from highbar.changes.scored_run import ScoredRun
from highbar.errors import InputError
from highbar.language import formula
from highbar.load.checkout import Checkout
from highbar.model import Metric, Operator, Policy, Verdict
from highbar.model.baseline import Scoring
from highbar.model.history import AgentKey, MetricInRun, NewRun, RuleInRun, RunRecord, ScenarioCounts
from highbar.model.job import Job
from highbar.model.records import ScenarioRecord
from highbar.running.folder import read_run
from highbar.store import verdict as verdicts
from highbar.store.baseline_text import scenario_text
from highbar.store.history import identity
from highbar.store.run_document import RunDocument, read_document
from highbar.store.writing import encode
from highbar.verdicts import CheckResult

_BOUND = re.compile(r"(>=|>|<=|<|=|!=) (-?[0-9]+(?:\.[0-9]+)?)(?:ms)?")
"""A threshold with a number, in canonical form."""


class Origin(Struct, frozen=True):
    """Where a run comes from: the commit that is checked out, and the time that the caller named (`given`), or now.

    `commit` and `branch` are those that the caller named, else None. A run folder has a commit of its own, which counts
    unless the caller named another.
    """

    checkout: Checkout
    now: datetime
    given: datetime | None = None
    commit: str | None = None
    branch: str | None = None


def new_run(job: Job, done: CheckResult, origin: Origin) -> NewRun:
    """The record of results that were just judged; `done.run` must not be None.

    If the run ended early, the record has only its finished scenarios: nothing is known about the others. The digest of
    the suite covers all planned scenarios, so that runs of one suite stay comparable, wherever they ended.
    """
    if done.run is None:
        raise ValueError("the job did not want its run")
    folders = _run_folders(job)
    documents = _documents(folders)
    found = done.sums.records
    texts = _texts(folders, done.policy) or ({} if found is None else found.texts)
    source, doubt = _of_runs(origin, documents)
    new = new_run_of_verdict(done.verdict, source)
    planned = [
        (one.id, texts.get(one.id), one.columns.get("category"), str(float(one.weight))) for one in done.run.records
    ]
    records = [one for one in done.run.records if done.finished is None or one.id in done.finished]
    scenarios = tuple(_counts(record, texts.get(record.id)) for record in records)
    metrics = {
        name: replace(value, definition=_definition(name, done.policy.metrics))
        for name, value in new.run.metrics.items()
    }
    run = replace(
        new.run,
        time_of="run" if documents and origin.given is None else new.run.time_of,
        metrics=metrics,
        state=_only(document.state for document in documents),
        suite=_digest([done.run.suites, planned]),
        scoring=scoring_digest(done.policy, done.run.scoring),
        judge=judge_digest(done.run),
        agent_name=job.agent or done.policy.agent,
        agent=_agent(documents),
        judges=(*done.run.judges, *(f"{tool}: {', '.join(names)}" for tool, names in done.run.scoring.judged_by)),
        suites=done.run.suites,
        begun=begun_of(job),
        listed=len(scenarios),
    )
    measures = tuple(scenario_text(record) for record in records)
    if None in run.results or not run.results:
        # Equal results of one commit were rather judged again than run again: to count them twice might excuse more.
        run = replace(run, results=(_digest([run.commit, scenarios, measures]),))
    return NewRun(run, new.document, scenarios, doubt, measures)


def new_run_of_verdict(verdict: Verdict, origin: Origin) -> NewRun:
    """The record of a verdict without its results. It does not say which scenarios passed."""
    if verdict.verdict is None:
        raise ValueError("nothing was judged")
    document = encode(verdicts.write(verdict))
    content = json.loads(document)
    checkout = origin.checkout
    added = int(origin.now.timestamp() * 1_000_000)
    run = RunRecord(
        record=identity(content, added),
        time=(origin.given or origin.now).strftime("%Y-%m-%dT%H:%M:%SZ"),
        time_of="added" if origin.given is None else "given",
        verdict=verdict.verdict,
        counts=verdict.counts,
        metrics={name: _metric(value) for name, value in content["metrics"].items()},
        rules=tuple(_rules(verdict, content["rules"])),
        branch=checkout.branch,
        commit=checkout.commit,
        parents=checkout.parents,
        changed=checkout.changed,
        agent_version=verdict.agent_version,
        policy=None if verdict.policy is None else verdict.policy.sha256,
        judges=tuple(f"{one.tool}: {', '.join(one.judges)}" for one in verdict.judged_by),
        results=tuple(source.sha256 for source in verdict.results),
        added=added,
        highbar=__version__,
    )
    return NewRun(run, document, None)


# --- numbers of the document, which are rounded so that they stay on their side of every threshold ---


def _metric(value: Mapping[str, Any]) -> MetricInRun:
    return MetricInRun(**{name: value[name] for name in MetricInRun.__struct_fields__ if name in value})


def _rules(verdict: Verdict, written: Sequence[Mapping[str, Any]]) -> Iterable[RuleInRun]:
    for rule, numbers in zip(verdict.rules, written, strict=True):
        if rule.metric is not None:
            bound = _BOUND.fullmatch(rule.threshold or "")
            yield RuleInRun(
                rule=rule.rule,
                level=rule.level,
                outcome=rule.outcome,
                metric=rule.metric,
                threshold=rule.threshold,
                operator=None if bound is None else cast("Operator", bound[1]),
                bound=None if bound is None else float(bound[2]),
                slice=rule.slice,
                **{name: numbers[name] for name in ("value", "low", "high")},
            )


# --- the folders of runs ----------------------------------------------------------------------


def _run_folders(job: Job) -> list[Path]:
    """The run folders among the results of a job."""
    if job.table is not None or job.engine.reads_paths or "-" in job.results:
        return []
    return [Path(path).parent for path in runs_in(job.results)]


def _documents(folders: Iterable[Path]) -> list[RunDocument]:
    """The run documents of those folders that have a readable one."""
    found = []
    for folder in folders:
        with suppress(InputError):
            found.append(read_document(folder))
    return found


def _of_runs(origin: Origin, documents: Sequence[RunDocument]) -> tuple[Origin, str | None]:
    """The origin by the run folders: their commit, and the time at which they ended.

    Also why the commit is unknown, if it is: no commit is better than a wrong one.
    """
    ends = [datetime.fromisoformat(document.ended) for document in documents if document.ended is not None]
    timed = replace(origin, given=origin.given or max(ends, default=None))
    if origin.commit is not None or not documents:
        return timed, None
    known = {document.commit for document in documents}
    if known == {None} and not any(document.resumes for document in documents):
        return _unless_younger(timed, max(ends, default=None))
    recorded = documents[0]
    branch = origin.branch or _only(document.branch for document in documents)
    if len(known) > 1 or recorded.commit is None:
        why = "it was run in parts at several commits, or at some that are not known"
        return replace(timed, checkout=Checkout(branch=origin.branch)), why
    states = [document.changed for document in documents]
    # One changed folder makes the whole run changed; otherwise it is known only if all folders agree.
    changed = True if True in states else _only(states)
    return replace(timed, checkout=Checkout(recorded.commit, branch, recorded.parents, changed)), None


def _unless_younger(origin: Origin, ended: datetime | None) -> tuple[Origin, str | None]:
    """The origin of a run without a recorded commit. A commit made after the run ended cannot be its own."""
    found = origin.checkout
    if ended is None or found.committed is None or found.changed is None or found.committed <= ended:
        return origin, None
    why = f"{str(found.commit)[:12]}, which is checked out, was made after the run ended"
    return replace(origin, checkout=Checkout()), why


def agent_of(job: Job, policy: Policy) -> AgentKey:
    """The agent that was run: its name by the caller or the policy, and its settings by the run folders."""
    return job.agent or policy.agent, _agent(_documents(_run_folders(job)))


def commits_of(job: Job) -> frozenset[str]:
    """The commits that the run folders recorded."""
    return frozenset(one.commit for one in _documents(_run_folders(job)) if one.commit is not None)


def begun_of(job: Job) -> str | None:
    """A digest that stays the same while the runs of a job go on; None if its results are not all run folders."""
    found = _documents(_run_folders(job))
    if not found or len(found) != len(job.results):
        return None
    return _digest(sorted((one.started, one.order.digest, one.order.seed, one.agent.settings) for one in found))


def _agent(documents: Sequence[RunDocument]) -> str | None:
    return _only(document.agent.settings for document in documents)


def texts_of(job: Job, policy: Policy) -> Mapping[str, str]:
    """By id, the digest of what a scenario asks and demands, from the runs or the suite; empty if neither has it."""
    return _texts(_run_folders(job), policy)


def _texts(folders: Sequence[Path], policy: Policy) -> Mapping[str, str]:
    """By id, the digest of what a scenario asks and demands, from the runs, else from the policy's suite."""
    found: dict[str, str] = {}
    for folder in folders:
        with suppress(InputError):  # a copy of a folder may have lost its journal
            found |= read_run(folder).digests
    if found or policy.suite is None:
        return found
    from highbar.suite import read as read_suite  # only if no run folder has the digests

    with suppress(InputError):
        suite = read_suite(policy.suite.file)
        return {} if suite.lists_only else {id_: scenario.digest for id_, scenario in suite.scenarios.items()}
    return {}


# --- digests ----------------------------------------------------------------------------------


def _counts(record: ScenarioRecord, digest: str | None) -> ScenarioCounts:
    return ScenarioCounts(
        id=record.id,
        digest=digest,
        category=record.columns.get("category"),
        capability=record.columns.get("capability"),
        trials=record.trials,
        passed=record.passed,
        failed=record.trials - record.passed - record.undecided,
        undecided=record.undecided,
        weight=float(record.weight),
        cluster=record.cluster,
        latency_ms=_mean(record, "latency_ms"),
        cost_usd=None if (cost := _mean(record, "cost_usd")) is None else cost * record.trials,
    )


def _mean(record: ScenarioRecord, name: str) -> float | None:
    """The mean over the trials; None if one of them has no value of its own."""
    unknown = name not in record.values or name in record.lone or name in record.valueless or record.undecided
    return None if unknown else float(record.values[name])


def judge_digest(run: ScoredRun) -> str:
    """The digest of the judges."""
    return _digest([run.judges, run.scoring.judged_by])


def scoring_digest(policy: Policy, scoring: Scoring) -> str:
    """The digest of all settings that change the values of metrics, besides their formulas."""
    mapping = None if policy.mapping is None else replace(policy.mapping, file=None)
    settings = [
        policy.pass_score, policy.positive, policy.select, scoring, policy.weights, policy.latency_limit,
        policy.limits, policy.judge is not None and policy.judge.correct, mapping,
    ]  # fmt: skip
    return _digest(settings)


def _definition(name: str, metrics: Mapping[str, Metric]) -> str:
    """The digest of a metric's formula, and of the formulas of all metrics in it."""
    found: dict[str, Metric] = {}
    todo = [name]
    while todo:
        metric = metrics.get(todo.pop())
        if metric is not None and metric.name not in found:
            found[metric.name] = metric
            todo += formula.names(metric.expression)
    return _digest([(key, one.formula, one.where, one.range) for key, one in sorted(found.items())])[:16]


def _digest(value: Any) -> str:
    plain = msgspec.to_builtins(value, enc_hook=_plain, order="deterministic")
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def _plain(value: object) -> str:
    if isinstance(value, Fraction):
        return str(value)
    raise TypeError(f"no digest of {type(value).__name__}")


_T = TypeVar("_T")


def _only(values: Iterable[_T]) -> _T | None:
    """The value that all share; None if they differ, or there are none."""
    found = set(values)
    return found.pop() if len(found) == 1 else None
