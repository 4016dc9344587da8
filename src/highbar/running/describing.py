"""The history of a run and the rows that were written → the document `run.json`."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping
from typing import Any

import msgspec

from highbar.running.history import RunHistory
from highbar.running.journal import JournalEnd
from highbar.running.records import Chosen
from highbar.store.run_document import (
    AgentOfRun,
    ChosenOfRun,
    OrderOfRun,
    RunDocument,
    RunExtent,
    ShardOfRun,
    StoredJournal,
    StoredRows,
    SuiteOfRun,
)
from highbar.suite import Suite

_encode = msgspec.json.Encoder(order="sorted", decimal_format="number").encode


def describe(
    history: RunHistory, end: JournalEnd, results: StoredRows, suite: Suite, version: str | None
) -> RunDocument:
    """Describe what was planned and done. `suite` is as it was run last; `version` is the agent's, if it is known."""
    plan = history.plan
    finished = history.finished
    return RunDocument(
        state="running" if finished is None else finished.how,
        whole=plan.chosen == Chosen() and len(plan.order) == plan.scenarios,
        suite=SuiteOfRun(suite.name, plan.suite_file, suite.digest, hashlib.sha256(history.suite_text).hexdigest()),
        agent=_agent(plan.agent, version),
        planned=RunExtent(len(plan.order), sum(plan.trials.values())),
        chosen=ChosenOfRun(
            plan.chosen.only,
            plan.chosen.category,
            plan.chosen.limit,
            None if plan.chosen.shard is None else ShardOfRun(*plan.chosen.shard),
        ),
        done=history.counts(),
        retried=history.counts(retried=True),
        order=OrderOfRun(_digest(list(plan.order)), plan.seed),
        started=plan.started,
        ended=None if finished is None else finished.at,
        resumes=history.resumes,
        results=results,
        journal=StoredJournal(end.size, end.lines, end.checksum.decode()),
        highbar=plan.highbar,
        until_decided=plan.until_decided,
        commit=history.checkout.commit,
        branch=history.checkout.branch,
        parents=history.checkout.parents,
        changed=history.checkout.changed,
    )


def _agent(settings: Mapping[str, Any], version: str | None) -> AgentOfRun:
    target = settings["target"]
    text = target if isinstance(target, str) else shlex.join(target)
    return AgentOfRun(settings["kind"], text, version or settings.get("version"), _digest(settings))


def _digest(value: Any) -> str:
    return hashlib.sha256(_encode(value)).hexdigest()
