"""A run that was judged, or a verdict document → a record of the history."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from highbar import __version__
from highbar.bar.regrading import runs_in
from highbar.changes.run import ScoredRun
from highbar.errors import InputError
from highbar.language import formula
from highbar.load.checkout import Checkout
from highbar.model import Metric, Operator, Policy, Verdict
from highbar.model.baseline import Scoring
from highbar.model.history import MetricInRun, NewRun, RuleInRun, RunRecord, ScenarioCounts
from highbar.model.job import Job
from highbar.model.records import ScenarioRecord
from highbar.running.folder import read_run
from highbar.store import verdict as verdicts
from highbar.store.encoding import encode
from highbar.store.history import identity
from highbar.store.run_document import RunDocument, read_document
from highbar.verdicts import CheckResult

_BOUND = re.compile(r"(>=|>|<=|<|=|!=) (-?[0-9]+(?:\.[0-9]+)?)(?:ms)?")
"""A threshold that is a number, in canonical form."""


class Origin(Struct, frozen=True):
    """Where a run comes from: its commit, and the time that the caller gave, or now."""

    checkout: Checkout
    now: datetime
    given: datetime | None = None


def of_check(job: Job, done: CheckResult, origin: Origin) -> NewRun:
    """The record of results that were just judged; the job must have wanted the run."""
    if done.run is None:
        raise ValueError("the job did not want its run")
    folders = _run_folders(job)
    documents = [document for folder in folders if (document := _document_of(folder)) is not None]
    found = done.sums.records
    texts = _texts(folders, done.policy) or ({} if found is None else found.texts)
    new = of_verdict(done.verdict, _with_ends(origin, documents))
    scenarios = tuple(_counts(record, texts.get(record.id)) for record in done.run.records)
    metrics = {
        name: replace(value, definition=_definition(name, done.policy.metrics))
        for name, value in new.run.metrics.items()
    }
    run = replace(
        new.run,
        time_of="run" if documents and origin.given is None else new.run.time_of,
        metrics=metrics,
        state=_only(document.state for document in documents),
        suite=_digest([done.run.suites, [(one.id, one.digest, one.category, str(one.weight)) for one in scenarios]]),
        scoring=scoring_digest(done.policy, done.run.scoring),
        judge=judge_digest(done.run),
        agent=_agent(documents),
        judges=(*done.run.judges, *(f"{tool}: {', '.join(names)}" for tool, names in done.run.scoring.judged_by)),
        listed=len(scenarios),
    )
    return NewRun(run, new.document, scenarios)


def of_verdict(verdict: Verdict, origin: Origin) -> NewRun:
    """The record of a verdict whose results are not at hand. It does not say which scenarios passed."""
    if verdict.verdict is None:
        raise ValueError("nothing was judged")
    document = encode(verdicts.write(verdict))
    content = json.loads(document)
    checkout = origin.checkout
    run = RunRecord(
        record=identity(content),
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
        added=int(origin.now.timestamp() * 1_000_000),
        highbar=__version__,
    )
    return NewRun(run, document, None)


# --- numbers of the document, which are on the right side of every threshold -------------------


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
    """The run folders among what a job names."""
    if job.table is not None or job.engine.reads_paths or "-" in job.results:
        return []
    return [Path(path).parent for path in runs_in(job.results)]


def _document_of(folder: Path) -> RunDocument | None:
    try:
        return read_document(folder)
    except InputError:
        return None


def _with_ends(origin: Origin, documents: Sequence[RunDocument]) -> Origin:
    """The origin, at the time at which the runs ended. A commit that is younger than that is not theirs."""
    ends = [datetime.fromisoformat(document.ended) for document in documents if document.ended is not None]
    if not ends:
        return origin
    committed = origin.checkout.committed
    later = committed is not None and origin.checkout.changed is not None and committed > max(ends)
    return replace(origin, checkout=Checkout() if later else origin.checkout, given=origin.given or max(ends))


def agent_of(job: Job) -> str | None:
    """The digest of the settings of the agent that was run; None if no run says it."""
    return _agent([document for folder in _run_folders(job) if (document := _document_of(folder)) is not None])


def _agent(documents: Sequence[RunDocument]) -> str | None:
    return _only(document.agent.settings for document in documents)


def texts_of(job: Job, policy: Policy) -> Mapping[str, str]:
    """By id the digest of what a scenario asks and demands, if a run or a suite says it; else the rows may."""
    return _texts(_run_folders(job), policy)


def _texts(folders: Sequence[Path], policy: Policy) -> Mapping[str, str]:
    """By id the digest of what a scenario asks and demands: as the runs have it, or the suite of the policy."""
    found: dict[str, str] = {}
    for folder in folders:
        with suppress(InputError):  # a copy of a folder may have lost its journal
            found |= read_run(folder).digests
    if found or policy.suite is None:
        return found
    from highbar.suite import read as read_suite  # a run has read it already, other results need not

    with suppress(InputError):
        suite = read_suite(policy.suite.file)
        return {} if suite.is_plan else {id_: scenario.digest for id_, scenario in suite.scenarios.items()}
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
    """The mean over the trials; None if one of them has no value, or only what an error counts as."""
    unknown = name not in record.values or name in record.lone or name in record.valueless or record.undecided
    return None if unknown else float(record.values[name])


def judge_digest(run: ScoredRun) -> str:
    """The digest of who judged."""
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


def _only(values: Iterable[str]) -> str | None:
    """The value that all have; None if they differ, or there is none."""
    found = set(values)
    return found.pop() if len(found) == 1 else None
