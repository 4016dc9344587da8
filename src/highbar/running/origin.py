"""What the rows of a run say about it, in the column `highbar_run`: a copy of them is judged like their folder."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from highbar.model.origin import INTERRUPTED, RunOrigin, run_id
from highbar.running.journal_state import JournalState
from highbar.store.run_document import FINISHED, Chosen
from highbar.suite import Suite

_encode = msgspec.json.Encoder(order="sorted", decimal_format="number").encode


def digest(value: Any) -> str:
    """The digest of a JSON value."""
    return hashlib.sha256(_encode(value)).hexdigest()


def origin_of(history: JournalState, suite: Suite, *, added: int = 0) -> dict[str, Any]:
    """The value of the column for the rows of a run, graded by `suite`, with so many `added` for the suite's sake."""
    plan = history.plan
    run = digest([plan.seed, plan.started, list(plan.order), plan.suite_digest])
    planned = sum(plan.trials.values()) + added
    return _as_value(RunOrigin(run_id(run, suite.digest), _plan_digest(history, suite), planned, _part(history)))


def graded_origins(
    found: Mapping[RunOrigin | None, int], suite: Suite, added: int
) -> dict[RunOrigin | None, dict[str, Any]]:
    """The value for rows that are graded again by `suite`, for each run that was `found`, with its number of rows.

    Rows that are `added` are of the first run.
    """
    graded: dict[RunOrigin | None, dict[str, Any]] = {}
    for origin, rows in found.items():
        if origin is not None:
            planned = max(origin.planned, rows + (0 if graded else added))
            graded[origin] = _as_value(replace(origin, id=run_id(origin.id, suite.digest), planned=planned))
    return graded


def _as_value(origin: RunOrigin) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(origin)
    return found


def _plan_digest(history: JournalState, suite: Suite) -> str | None:
    """What all shards of one run have in common; None if files had changed since the commit, so that it is unknown."""
    plan, checkout = history.plan, history.checkout
    if checkout.changed:
        return None
    policy = plan.policy and plan.policy.sha256
    shards = plan.chosen.shard and plan.chosen.shard[1]
    # The digest of a suite is that of what is asked; an option can override how often.
    trials = [plan.settings.get("trials"), {id_: scenario.trials for id_, scenario in suite.scenarios.items()}]
    return digest([checkout.commit, suite.digest, policy, plan.agent, shards, trials])


def _part(history: JournalState) -> str | None:
    plan = history.plan
    if history.finished is None or history.finished.how not in FINISHED:
        return INTERRUPTED
    if plan.chosen.shard is not None and plan.chosen == Chosen(shard=plan.chosen.shard):
        return "{}/{}".format(*plan.chosen.shard)
    return None if plan.chosen == Chosen() and len(plan.order) == plan.scenarios else "filtered"
