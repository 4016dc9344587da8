"""Refuses rows that no sum may be trusted over.

What must hold: no bad rows, unique (id, trial), one description in all trials of a scenario, one agent version, and
nothing chosen by a tag that the agent gave: reports may group by those tags, but they never decide what is judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from typing import Any

from msgspec.structs import replace

from highbar.columns import DESCRIPTION_COLUMNS, OF_THE_RUN
from highbar.engine.column_readers import INTEGERS
from highbar.engine.layout import Layout
from highbar.engine.limits import MOST_EXAMPLES, MOST_REFUSED, MOST_RUNS
from highbar.engine.protocol import Query, Request, Rows
from highbar.engine.scoring import may_contradict
from highbar.engine.sources import SourcePart
from highbar.engine.sql import any_match, literal, pointer
from highbar.engine.trials import column_text, named_columns
from highbar.errors import DuplicateResults, InputError, Problem
from highbar.language.phrases import some
from highbar.language.spelling import near_miss
from highbar.model.origin import RunOrigin
from highbar.policy.scenario_ids import is_pattern

_SAME = "these belong to the scenario: give every trial of it the same"
INVISIBLE = r"[\s\x{ad}\x{200b}-\x{200f}\x{2028}-\x{202f}\x{2060}-\x{206f}\x{feff}]"
"""A character of an id that a reader does not see."""

PLAIN = (
    "CASE WHEN strlen(id) = length(id) AND NOT contains(id, ' ') THEN lower(id)"
    f" ELSE lower(regexp_replace(id, '{INVISIBLE}', '', 'g')) END"
)
"""SQL: an id without case, spaces and invisible characters. Most ids are plain ASCII, and need no pattern."""


_ORIGIN = "highbar_run"
_AGENT_TAGS = "agent_tags"
"""The column in which a run records the tags that came from the agent, as `{name: text}`."""
NO_ROW = Problem("results.empty", "the results hold no row: nothing to judge", hint="did the run write its results?")


class BadRows(InputError):
    """Some rows do not have the declared form; `load.explain` finds out which, and why.

    `among` is the relation in which they are found: `trials`, or SQL for it if the rows are refused before that exists.
    """

    def __init__(self, *problems: Problem, among: str = "trials") -> None:
        super().__init__(*problems)
        self.among = among


def refuse_bad_rows(trials: int, bad: int) -> None:
    """Raise if a row is bad, or if there is no row at all."""
    if bad:
        raise BadRows(Problem("results.unreadable", f"{bad} of {trials} results do not have the declared form"))
    if not trials:
        raise InputError(NO_ROW)


def refuse_or_warn_of_ids(
    rows: Rows, *, repeated: bool, turns: int = 1, parts: Sequence[SourcePart] = ()
) -> tuple[str, ...]:
    """Refuse two results for one (id, trial); warn of ids that look alike.

    If all ids differ even without case and spaces, neither can happen, so one count answers both questions. With
    several `turns`, only a part of the ids is in memory at a time.
    """
    # Hashes, not ids: those of millions of long ids fit into memory. Equal hashes only lead to a closer look.
    if not repeated and all(_all_differ(rows, PLAIN, "trials", turn, turns) for turn in range(turns)):
        return ()
    key = "id, trial" if repeated else "id"
    if not _all_differ(rows, key, "trials"):
        refuse_duplicates(rows, key, parts)
    return look_alike_ids(rows)


def _all_differ(rows: Rows, key: str, relation: str, turn: int = 0, turns: int = 1) -> bool:
    """Whether no two rows have the same hash. Rows with the same hash may still differ: the caller looks closer."""
    hashes = f"(SELECT hash({key}) AS hashed FROM {relation}) AS hashes"
    condition = f" WHERE hashed % {turns} = {turn}" if turns > 1 else ""
    counted = f"SELECT max(equal) FROM (SELECT count(*) AS equal FROM {hashes}{condition} GROUP BY hashed)"
    return rows(Query(counted, spread=("hashes",)))[0][0] in (None, 1)  # None: this turn has no row


def refuse_duplicates(rows: Rows, key: str, parts: Sequence[SourcePart] = ()) -> None:
    """Refuse two rows with the same (id, trial), or two without a trial: they are never merged."""
    twice = rows(
        f"SELECT {key}, count(*) FROM trials GROUP BY ALL HAVING count(*) > 1 ORDER BY id LIMIT {MOST_REFUSED}"
    )
    if not twice:
        return
    hint = _variants_hint(rows, parts, twice[0]) or "give each repetition its own `trial`; each result counts once"
    problems = [
        Problem("results.duplicate-trial", f"scenario {row[0]!r} has {row[-1]} results{_for_trial(row)}", hint=hint)
        for row in twice
    ]
    raise DuplicateResults(problems, [(row[0], row[1] if len(row) > 2 else None) for row in twice])


def _variants_hint(rows: Rows, parts: Sequence[SourcePart], key: Sequence[Any]) -> str | None:
    """The hint if the results of one key differ in a tag or in a column that names an agent: several agents ran."""
    from highbar.engine.variants import find_differences  # only for results that are refused

    found = find_differences(rows, parts, key[0], key[1] if len(key) > 2 else None, repeated=len(key) > 2)
    if not found:
        return None
    column, values = found[0]
    named = ", ".join(f"{name} ({', '.join(each)})" for name, each in found)
    return f"they differ in {named}: judge one with --where {column}={values[0]}, or pool them with a `trial` each"


def _for_trial(row: Sequence[Any]) -> str:
    """The end of the message: which trial. A row is (id, trial, count), or (id, count) if no result has a trial."""
    if len(row) == 2:
        return " and no trial tells them apart"
    return " without a trial" if row[1] is None else f" for trial {row[1]}"


def refuse_mixed_ids(rows: Rows, parts: Sequence[SourcePart]) -> None:
    """Refuse an id that is a number in one row and text in another: `1` and `"1"` become the same text.

    Files whose ids are all of one kind need no query.
    """
    parts = [part for part in parts if not part.is_missing]
    if len({kind for part in parts for kind in part.id_kinds}) < 2:
        return
    ids = " UNION ALL ".join(
        f"SELECT {part.id_sql} AS id, {_is_number_id(part)} AS is_number FROM {part.relation(['id'])}" for part in parts
    )
    kinds = "max(CAST(is_number AS INTEGER)) > min(CAST(is_number AS INTEGER))"
    found = rows(f"SELECT id FROM ({ids}) AS kinds GROUP BY id HAVING {kinds} ORDER BY id LIMIT {MOST_EXAMPLES}")
    if found:
        hint = "write ids in one way: all as numbers, or all in quotes (a CSV file has only text)"
        message = "the id {0} is a number in some results and the text {0!r} in others"
        raise InputError(*(Problem("results.mixed-ids", message.format(id_), hint=hint) for (id_,) in found))


def _is_number_id(part: SourcePart) -> str:
    raw = part.columns["id"]
    return f"NOT starts_with({raw.sql}, '\"')" if raw.type == "JSON" else str(raw.type in INTEGERS).lower()


def omits_descriptions(rows: Rows, layout: Layout) -> bool:
    """Whether a trial omits a description that another trial of its scenario has, so that it must be filled in."""
    columns = _descriptions(layout)
    if not columns:
        return False
    some_absent = " OR ".join(f"count({name}) NOT IN (0, count(*))" for name in columns)
    query = f"SELECT {some_absent} AS partly FROM trials GROUP BY id"
    return bool(rows(f"SELECT count(*) FROM ({query}) WHERE partly")[0][0])


def refuse_disagreement(rows: Rows, layout: Layout) -> None:
    """Refuse trials of one scenario that describe it differently."""
    columns = _descriptions(layout)
    if not columns:
        return
    # min and max instead of count(DISTINCT …), which would hold every value of every scenario in memory.
    differs = [f"coalesce(min({name}) <> max({name}), false) AS c{i}" for i, name in enumerate(columns)]
    query = f"SELECT id, {', '.join(differs)} FROM trials GROUP BY id"
    flags = " OR ".join(f"c{i}" for i in range(len(columns)))
    found = rows(f"SELECT * FROM ({query}) WHERE {flags} ORDER BY id LIMIT {MOST_REFUSED}")
    problems = []
    for id_, *each in found:
        differing = dict(compress(columns.items(), each))
        message = f"the trials of scenario {id_!r} do not agree on {', '.join(differing.values())}"
        hint = _versions_hint(rows, id_, differing) or _SAME
        problems.append(Problem("results.disagree", message, hint=hint))
    if problems:
        raise InputError(*problems)


def _descriptions(layout: Layout) -> dict[str, str]:
    """The columns of trials that describe their scenario, and their names; empty if each scenario has one trial."""
    if not layout.repeated:
        return {}
    columns = {name: name for name in DESCRIPTION_COLUMNS if name in layout.columns}
    others = enumerate(named_columns(layout))
    return columns | {f"col_{i}": column for i, column in others if column not in columns}


def _versions_hint(rows: Rows, id_: str, differing: Mapping[str, str]) -> str | None:
    """The hint if the trials of a scenario differ only in columns that may name their agents."""
    from highbar.engine.variants import NAMES  # only for results that are refused

    if not all(name.startswith("tags.") or name in (*NAMES, *OF_THE_RUN) for name in differing.values()):
        return None
    place, name = next(iter(differing.items()))
    query = f"SELECT DISTINCT {place} FROM trials WHERE id = {literal(id_)} AND {place} IS NOT NULL"
    values = [value for (value,) in rows(f"{query} ORDER BY {place} LIMIT {MOST_EXAMPLES}")]
    difference = f"they differ in {name} ({', '.join(values)})"
    return f"{difference}: judge one with --where {name}={values[0]}, or give every trial of a scenario the same"


def one_agent_version(rows: Rows) -> str | None:
    """The agent version of the results, None if no row has one. Refuses more than one."""
    found = rows(
        f"SELECT DISTINCT agent_version FROM trials WHERE agent_version IS NOT NULL ORDER BY 1 LIMIT {MOST_EXAMPLES}"
    )
    if len(found) > 1:
        versions = ", ".join(repr(row[0]) for row in found)
        raise InputError(
            Problem(
                "agent.several-versions",
                f"the results are of more than one agent version: {versions}",
                hint="check one version at a time",
            )
        )
    return found[0][0] if found else None


def look_alike_ids(rows: Rows) -> tuple[str, ...]:
    """A warning for each pair of ids that differ only in case, spaces or invisible characters; they count as two."""
    if _all_differ(rows, PLAIN, "scenarios"):
        return ()
    found = rows(
        f"SELECT min(id), max(id) FROM scenarios GROUP BY {PLAIN} HAVING count(*) > 1 ORDER BY 1 LIMIT {MOST_EXAMPLES}"
    )
    return tuple(
        f"the ids {first!r} and {second!r} differ only in case, spaces or invisible characters"
        for first, second in found
    )


def contradictions(rows: Rows, layout: Layout) -> tuple[str, ...]:
    """A warning that names the results that say two things about their answer."""
    if not may_contradict(layout.columns):
        return ()
    number = rows("SELECT count_if(contradicts) FROM trials")[0][0]
    if not number:
        return ()
    trial = "trial" if "trial" in layout.columns else "CAST(NULL AS BIGINT)"
    found = rows(f"SELECT id, {trial} AS trial FROM trials WHERE contradicts ORDER BY 1, 2 LIMIT {MOST_EXAMPLES}")
    named = [id_ if trial is None else f"{id_} (trial {trial})" for id_, trial in found]
    says = "1 result says" if number == 1 else f"{number} results say"
    message = f"{says} two things about the answer, of which the worse counts: `correct`, `outcome` and the labels"
    return (f"{message} do not agree in {some(named, MOST_EXAMPLES, number)}",)


def near_values(rows: Rows, parts: Sequence[SourcePart], layout: Layout, request: Request) -> tuple[str, ...]:
    """A warning for each value that is nearly one by which the policy chooses scenarios: it is not chosen."""
    named: dict[str, set[str]] = {"capability": set(request.weights.by_capability)}
    for column, chosen in (pair for where in layout.wheres for pair in where if pair[0] != "category"):
        named.setdefault(column, set()).update(chosen)
    found = []
    for column, values in named.items():
        fields = request.suite.scenarios.values() if request.suite and values else ()
        of_suite = {one[column] for one in fields if column in one}  # two names that the suite uses are two
        texts = _values_of(rows, parts, column) if values else []
        near = [(text, near_miss(text, values)) for text in texts if text not in of_suite]
        found += [(column, text, meant) for text, meant in near if meant]
    return tuple(
        f"{column} {text!r} is nearly {meant!r}, by which the policy chooses: it is not chosen"
        for column, text, meant in found[:MOST_EXAMPLES]
    )


def _values_of(rows: Rows, parts: Sequence[SourcePart], column: str) -> list[str]:
    each = " UNION ALL ".join(
        f"SELECT {column_text('', column, part).sql} AS text FROM {part.relation([column, 'tags'])}"
        for part in parts
        if column in part.columns or (column.startswith("tags.") and "tags" in part.columns)
    )
    wanted = f"SELECT DISTINCT text FROM ({each}) AS each_text WHERE text IS NOT NULL ORDER BY 1"
    return [text for (text,) in rows(wanted)] if each else []


def required_and_optional(rows: Rows, request: Request) -> tuple[str, ...]:
    """A warning about ids that both a required and an optional pattern match.

    A plain id that is required and optional was already refused with the policy.
    """
    required, optional = list(filter(is_pattern, request.required)), list(filter(is_pattern, request.optional))
    if not (required and optional):
        return ()
    both = f"({any_match(required)}) AND ({any_match(optional)})"
    found = rows(f"SELECT count(*) FROM scenarios WHERE {both}")[0][0]
    if not found:
        return ()
    first = [row[0] for row in rows(f"SELECT id FROM scenarios WHERE {both} ORDER BY id LIMIT {MOST_EXAMPLES}")]
    ids = ", ".join(first) + (f" and {found - len(first)} more" if found > len(first) else "")
    are, counted = ("is", "it counts") if found == 1 else ("are", "they count")
    return (f"{ids} {are} required and optional by the policy's patterns: {counted} as required",)


def refuse_agent_tags(rows: Rows, parts: Sequence[SourcePart], columns: Iterable[str]) -> None:
    """Raise InputError if rows or scenarios are chosen by a tag that the agent gave in any trial of a run."""
    names = [column.removeprefix("tags.") for column in dict.fromkeys(columns) if column.startswith("tags.")]
    problems = [problem for name in names if (problem := _tag_problem(rows, parts, name))]
    if problems:
        raise InputError(*problems)


def _tag_problem(rows: Rows, parts: Sequence[SourcePart], name: str) -> Problem | None:
    """The problem if the agent gave the tag in any trial, else None."""
    # Every row counts, left out or not: an agent could tag exactly the trials that are to be left out.
    found = [_ids_with_tag(replace(part, chosen="", chosen_by=()), name) for part in parts]
    each = " UNION ALL ".join(query for query in found if query)
    if not each:
        return None
    ids = [id_ for (id_,) in rows(f"SELECT DISTINCT id FROM ({each}) ORDER BY id LIMIT {MOST_EXAMPLES + 1}")]
    message = f"nothing can be chosen by 'tags.{name}': the agent itself gave this tag, in {some(ids, MOST_EXAMPLES)}"
    hint = "an agent must not decide what is judged: give the scenarios this tag in the suite"
    return Problem("select.column", message, hint=hint) if ids else None


def origins(rows: Rows, parts: Sequence[SourcePart]) -> tuple[tuple[str | None, int], ...]:
    """The values of `highbar_run` as JSON text, None for rows without one, with their rows; empty if there is none."""
    if not any(_origin_sql(part) for part in parts):
        return ()
    # Every row counts, chosen or not: rows that are left out are there.
    each = " UNION ALL ".join(
        f"SELECT {_origin_sql(part) or 'CAST(NULL AS VARCHAR)'} AS origin"
        f" FROM {replace(part, chosen='', chosen_by=()).relation(['id', *_origin_columns(part)])}"
        for part in parts
    )
    found = rows(f"SELECT origin, count(*) FROM ({each}) AS origins GROUP BY origin ORDER BY origin LIMIT {MOST_RUNS}")
    return tuple((text, number) for text, number in found)


def _origin_sql(part: SourcePart) -> str:
    """SQL for the JSON text of `highbar_run`, which may be spread over columns such as `highbar_run.id`."""
    columns = _origin_columns(part)
    if not columns or _ORIGIN in columns:
        return part.columns[_ORIGIN].as_json() if columns else ""
    values = {name.removeprefix(f"{_ORIGIN}."): part.columns[name].as_json() for name in columns}
    members = " || ',' || ".join(f"'\"{name}\":' || coalesce({sql}, 'null')" for name, sql in values.items())
    return f"CASE WHEN coalesce({', '.join(values.values())}) IS NOT NULL THEN '{{' || {members} || '}}' END"


def _origin_columns(part: SourcePart) -> list[str]:
    flat = [name for name in (f"{_ORIGIN}.{key}" for key in RunOrigin.__struct_fields__) if name in part.columns]
    return [_ORIGIN] if _ORIGIN in part.columns else flat


def _ids_with_tag(part: SourcePart, name: str) -> str:
    """SQL for the ids of the rows in which the agent gave the tag; empty if the part has no such column."""
    marks, flat = part.columns.get(_AGENT_TAGS), part.columns.get(f"{_AGENT_TAGS}.{name}")
    given = [] if marks is None else [f"json_extract_string({marks.as_json()}, {pointer(name)}) IS NOT NULL"]
    given += [] if flat is None else [f"{flat.sql} IS NOT NULL"]
    if not given or "id" not in part.columns:
        return ""
    id_ = part.id_sql
    source = part.relation(["id", _AGENT_TAGS, f"{_AGENT_TAGS}.{name}"])
    return f"SELECT ({id_}) AS id FROM {source} WHERE {' OR '.join(given)}"
