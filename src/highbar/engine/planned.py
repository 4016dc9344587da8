"""Trials that were planned and are not there → rows that say so, so that they are undecided like any unjudged trial.

Deleting the rows of failed trials must not help, and nor must trying a failed scenario again until it passes.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from highbar.engine.column_readers import Raw
from highbar.engine.limits import MOST_EXAMPLES
from highbar.engine.protocol import Database, Rows
from highbar.engine.sources import SourcePart
from highbar.engine.sql import literal
from highbar.model.reduction import MissingTrials, UnevenTrials
from highbar.model.requests import PlannedTrials

NOT_THERE = "planned, but not in the results"
"""What `unjudged` says of such a trial."""


def missing_trials(
    database: Database, parts: Sequence[SourcePart], planned: PlannedTrials
) -> tuple[SourcePart, MissingTrials] | None:
    """The planned trials without a row, as a part of rows, and what to say of them; None if there are none."""
    if not all("id" in part.columns for part in parts):
        return None  # rows without an id are refused later
    _define_lacking(database, parts, planned)
    trials, scenarios, most = database.rows(
        "SELECT coalesce(sum(lacking), 0), count(*), coalesce(max(planned), 0) FROM lacking_trials"
    )[0]
    if not trials:
        return None
    _define_missing(database, int(most))
    columns = {"id": Raw("id", "VARCHAR"), "trial": Raw("trial", "BIGINT"), "unjudged": Raw("unjudged", "VARCHAR")}
    part = SourcePart(columns, (), table="missing_trials", is_missing=True)
    examples = database.rows(f"SELECT id, lacking, planned FROM lacking_trials ORDER BY id LIMIT {MOST_EXAMPLES}")
    return part, MissingTrials(int(trials), scenarios, tuple((id_, int(n), int(of)) for id_, n, of in examples))


def _define_lacking(database: Database, parts: Sequence[SourcePart], planned: PlannedTrials) -> None:
    """Define `seen_trials`, and `lacking_trials`: the scenarios that have fewer trials than were planned."""
    each = " UNION ALL ".join(
        f"SELECT {part.id_sql} AS id, CAST({part.typed_sql('trial') if 'trial' in part.columns else 'NULL'} AS BIGINT)"
        f" AS trial FROM {part.relation(['id', 'trial'])}"
        for part in parts
    )
    database.define("seen_trials", f"SELECT id, trial FROM ({each}) AS each_trial", materialized=True)
    number = str(planned.every)
    source = "(SELECT id, count(*) AS there FROM seen_trials GROUP BY id) AS seen"
    if planned.of:
        database.list_texts("planned_trials", ("id", "number"), [(id_, str(most)) for id_, most in planned.of.items()])
        source += " LEFT JOIN planned_trials AS p ON p.id = seen.id"
        number = f"greatest({number}, coalesce(CAST(p.number AS BIGINT), 0))"
    counted = f"SELECT seen.id AS id, there, {number} AS planned FROM {source}"
    lacking = f"SELECT id, planned, planned - there AS lacking FROM ({counted}) AS counted WHERE there < planned"
    database.define("lacking_trials", lacking, materialized=True)


def _define_missing(database: Database, most: int) -> None:
    """Define `missing_trials`: a row for each, with a number that no other trial of its scenario has."""
    least = database.rows("SELECT coalesce(min(trial), 1) FROM seen_trials")[0][0]
    database.list_texts("trial_numbers", ("number",), [(str(least + place),) for place in range(most)])
    free = (
        "SELECT l.id AS id, n.number AS trial, l.lacking AS lacking,"
        " row_number() OVER (PARTITION BY l.id ORDER BY n.number) AS place FROM lacking_trials AS l"
        " CROSS JOIN (SELECT CAST(number AS BIGINT) AS number FROM trial_numbers) AS n"
        " LEFT JOIN seen_trials AS s ON s.id = l.id AND s.trial = n.number"
        f" WHERE s.id IS NULL AND n.number < l.planned + {least}"
    )
    why = f"CAST({literal(NOT_THERE)} AS VARCHAR) AS unjudged"
    missing = f"SELECT id, trial, {why} FROM ({free}) AS free WHERE place <= lacking"
    database.define("missing_trials", missing, materialized=True)


IS_NUMBERED = "(trial IS NULL OR id NOT IN (SELECT id FROM seen_trials GROUP BY id HAVING max(trial) IS NULL))"
"""SQL: whether a trial is not one that is missing beside a single row without a number; needs `seen_trials`.

Nothing was taken from such a scenario: it has its one result, although fewer than were planned.
"""


# --- numbers of trials that nobody planned ----------------------------------------------------

_NO_NUMBER = "CAST(-9223372036854775807 AS BIGINT)"
"""In place of the number of a trial that has none."""


def uneven_trials(rows: Rows, planned: PlannedTrials | None) -> UnevenTrials | None:
    """The numbers of trials of the scenarios, if they differ and it is not planned so; needs `scenarios`, `trials`."""
    if len(rows("SELECT DISTINCT trial_count FROM profile LIMIT 2")) < 2:
        return None
    source = "(SELECT id, trial_count FROM scenarios) AS s"
    if planned is not None and planned.of and not planned.every:
        source += (
            " LEFT JOIN planned_trials AS p ON p.id = s.id WHERE trial_count > coalesce(CAST(p.number AS BIGINT), 0)"
        )
    each = f"SELECT s.id AS id, trial_count FROM {source}"
    found = rows(f"SELECT trial_count, count(*), min(id) FROM ({each}) AS counted GROUP BY trial_count ORDER BY 1 DESC")
    if len(found) < 2:
        return None
    last = f"max_by(is_passed, coalesce(trial, {_NO_NUMBER}))"
    ends = f"SELECT id, {last} AS is_passed FROM trials GROUP BY id"
    early = f"(SELECT id FROM ({each}) AS counted WHERE trial_count < {found[0][0]}) AS early"
    passed = rows(f"SELECT count_if(NOT is_passed) FROM ({ends}) AS ends JOIN {early} USING (id)")[0][0] == 0
    return UnevenTrials(tuple((int(number), scenarios, id_) for number, scenarios, id_ in found), passed)


def first_trials(database: Database, parts: Sequence[SourcePart]) -> tuple[SourcePart, ...]:
    """The parts, restricted to the first trial of each scenario; needs `trials`."""
    first = f"SELECT id AS first_id, coalesce(min(trial), {_NO_NUMBER}) AS first_number FROM trials GROUP BY id"
    database.define("first_trials", first, materialized=True)

    def chosen(part: SourcePart) -> str:
        number = part.typed_sql("trial") if "trial" in part.columns else "CAST(NULL AS BIGINT)"
        is_first = (
            f"({part.id_sql}, coalesce({number}, {_NO_NUMBER})) IN (SELECT first_id, first_number FROM first_trials)"
        )
        return f"({part.chosen}) AND {is_first}" if part.chosen else is_first

    return tuple(
        replace(part, chosen=chosen(part), chosen_by=tuple(dict.fromkeys((*part.chosen_by, "id", "trial"))))
        for part in parts
    )
