"""The journals of run folders → the order in which rules look at their scenarios, verified against the seed.

The order comes from the plan, the first record of a journal. It must be the permutation that the seed gives for the
scenarios of the suite: an order that somebody chose, or scenarios that somebody left out, could decide the verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from highbar.errors import InputError, Problem
from highbar.load.run_folders import OF_OTHER_FILES
from highbar.model import ResultsFile
from highbar.model.order import NO_ORDER, RunOrder
from highbar.running.folder import read_run
from highbar.running.journal_state import JournalState
from highbar.running.order import choose_scenarios, permutation
from highbar.running.preparing import planned_suite
from highbar.store.run_document import read_document

_HINT = "start a new run"


def recorded_order(files: Sequence[ResultsFile], seed: int | None = None) -> RunOrder | str:
    """The order of the run of these results, or why there is none. Raises InputError if its seed gives another.

    An order that somebody could choose is none: only one from fresh randomness, or from `seed`, which the policy has
    here and at the ref.
    """
    if not files or any(file.recorded is None for file in files):
        return NO_ORDER
    histories = [read_run(Path(file.original or file.path).parent) for file in files]
    for history in histories:
        _refuse_unplanned(history)
    plans = [history.plan for history in histories]
    if any(plan.chosen.shard is not None for plan in plans):
        return "shards have no common order"
    if len(plans) > 1:
        return "the rows are of several runs"
    (history,), (plan,) = histories, plans
    if plan.seed_from == "option":
        return "the seed of the order was an option of the run, and could be chosen to pass: leave --seed out"
    if plan.seed_from == "policy" and plan.seed != seed:
        return "the seed of the order is the policy's: it counts with --against-ref, if the policy there has the same"
    if history.again:
        return "scenarios were changed and run again since the run began"
    return order_of(history)


def order_of(history: JournalState) -> RunOrder:
    """The order of a run, and which scenarios have ended."""
    plan = history.plan
    return RunOrder(
        permutation(tuple(plan.trials), plan.seed),
        plan.trials,
        frozenset(id_ for id_ in plan.order if history.has_ended(id_)),
        history.ended,
        plan.seed,
        plan.until_decided.sha256 if plan.until_decided else None,
    )


def _refuse_unplanned(history: JournalState) -> None:
    """Raise InputError if the plan does not follow from its seed and from the suite text that it stores."""
    plan = history.plan
    recorded = read_document(Path(history.name).parent).order
    if plan.order != permutation(plan.order, plan.seed) or (plan.seed, plan.seed_from) != (
        recorded.seed,
        recorded.seed_from,
    ):
        message = f"the order of the scenarios is not the one that the seed {plan.seed} gives"
        raise InputError(Problem("run.damaged", message, history.name, hint=_HINT))
    suite = planned_suite(plan, plan.suite_text)
    planned = {id_: suite.scenarios[id_].trials for id_ in choose_scenarios(suite, plan.chosen)}
    # The digest also covers files that checks use, and these may have changed since: then it cannot be compared.
    is_same = suite.digest == plan.suite_digest or any(word in plan.suite_text for word in OF_OTHER_FILES)
    if planned != plan.trials or not is_same:
        message = "the plan of the run is not that of its suite: other scenarios, other trials, or another text"
        raise InputError(Problem("run.damaged", message, history.name, hint=_HINT))
