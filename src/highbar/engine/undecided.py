"""The trials that nothing decides, by name: for the reports, and for the rules that hang on them."""

from __future__ import annotations

from highbar.engine import per_scenario
from highbar.engine.database import Rows
from highbar.engine.layout import Layout
from highbar.engine.limits import MOST_UNDECIDED_LISTED, MOST_UNDECIDED_NAMED
from highbar.engine.protocol import Request
from highbar.engine.sql import any_match, literal, matches
from highbar.model import Trial, Undecided, UndecidedScenario

_LACKS = "undecided: a trial lacks a column by which another trial, or the suite, has this scenario judged"


def named(rows: Rows, layout: Layout, request: Request) -> dict[Undecided, tuple[Trial, ...]]:
    """For each thing that was asked for, the first trials that are undecided; they are all among the `unsettled`."""
    return {wanted: _trials(rows, layout, wanted) for wanted in request.undecided}


def _trials(rows: Rows, layout: Layout, wanted: Undecided) -> tuple[Trial, ...]:
    parts = [(column, where) for column, where in wanted.parts if column in layout.quantities]
    if not parts:
        return ()
    open_ = " OR ".join(
        f"(({per_scenario.undecided(layout, column)}){f' AND {layout.flag(where)}' if where else ''})"
        for column, where in parts
    )
    columns = list(dict.fromkeys(column for column, _ in parts))
    conditions = [f"({open_})"] + ([f"({matches(wanted.pattern)})"] if wanted.pattern is not None else [])
    trial = "trial" if layout.repeated else "NULL"
    found = rows(
        f"SELECT id, {trial} AS trial FROM {per_scenario.beside_facts(layout, columns, 'unsettled')}"
        f" WHERE {' AND '.join(conditions)} ORDER BY id, trial LIMIT {MOST_UNDECIDED_NAMED}"
    )
    return tuple((id_, number) for id_, number in found)


def listed(rows: Rows, request: Request) -> tuple[UndecidedScenario, ...]:
    """The scenarios that failed no trial and did not pass them all, the required ones first."""
    required = any_match(request.required)
    found = rows(
        f"SELECT id, category, trial_count, passed_trials, {required} AS required FROM scenarios"
        " WHERE failed_trials = 0 AND passed_trials < trial_count"
        f" ORDER BY NOT ({required}), id LIMIT {MOST_UNDECIDED_LISTED}"
    )
    if not found:
        return ()
    ids = ", ".join(literal(row[0]) for row in found)
    why = "array_to_string(list_slice(list_sort(list(DISTINCT why)), 1, 3), ' / ')"
    reasons = dict(rows(f"SELECT id, nullif({why}, '') FROM unsettled WHERE id IN ({ids}) GROUP BY id"))
    return tuple(
        UndecidedScenario(id_, category, reasons.get(id_) or _LACKS, trials, passed, required=bool(is_required))
        for id_, category, trials, passed, is_required in found
    )
