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


def recorded_order(files: Sequence[ResultsFile]) -> RunOrder | str:
    """The order of the runs of these results, or why there is none. Raises InputError if its seed gives another."""
    if not files or any(file.recorded is None for file in files):
        return NO_ORDER
    histories = [read_run(Path(file.original or file.path).parent) for file in files]
    for history in histories:
        _refuse_unplanned(history)
    plans = [history.plan for history in histories]
    if len(plans) > 1 and any(plan.chosen.shard is None for plan in plans):
        return "the rows are of several runs"
    if len({plan.seed for plan in plans}) > 1:
        return "the shards were run with different seeds, so that there is no order of all scenarios"
    again = {id_ for history in histories for id_ in history.again}
    if again:
        return "scenarios were changed and run again since the run began"
    return order_of(histories)


def order_of(histories: Sequence[JournalState]) -> RunOrder:
    """The order of a run, or of all shards of a run, and which scenarios have ended."""
    plans = [history.plan for history in histories]
    trials = {id_: count for plan in plans for id_, count in plan.trials.items()}
    return RunOrder(
        permutation(tuple(trials), plans[0].seed),
        trials,
        frozenset(id_ for history in histories for id_ in history.plan.order if history.has_ended(id_)),
        sum(history.ended for history in histories),
        plans[0].seed,
        plans[0].until_decided.sha256 if plans[0].until_decided else None,
    )


def _refuse_unplanned(history: JournalState) -> None:
    """Raise InputError if the plan does not follow from its seed and from the suite text that it stores."""
    plan = history.plan
    recorded = read_document(Path(history.name).parent).order
    if plan.order != permutation(plan.order, plan.seed) or plan.seed != recorded.seed:
        message = f"the order of the scenarios is not the one that the seed {plan.seed} gives"
        raise InputError(Problem(message, history.name, hint=_HINT))
    suite = planned_suite(plan, plan.suite_text)
    planned = {id_: suite.scenarios[id_].trials for id_ in choose_scenarios(suite, plan.chosen)}
    # The digest also covers files that checks use, and these may have changed since: then it cannot be compared.
    is_same = suite.digest == plan.suite_digest or any(word in plan.suite_text for word in OF_OTHER_FILES)
    if planned != plan.trials or not is_same:
        message = "the plan of the run is not that of its suite: other scenarios, other trials, or another text"
        raise InputError(Problem(message, history.name, hint=_HINT))
