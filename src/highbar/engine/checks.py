"""What the rows as a whole must keep to before any sum is trusted: sound, told apart, agreeing, of one agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from typing import Any

from highbar.engine.descriptions import DESCRIBING
from highbar.engine.layout import Layout
from highbar.engine.protocol import Request
from highbar.engine.sources import Part
from highbar.engine.sql import any_match, is_pattern, literal
from highbar.engine.trials import chosen_by
from highbar.errors import InputError, Problem, Twice

Rows = Callable[[str], list[Any]]
_SAME = "these belong to the scenario: give every trial of it the same"
INVISIBLE = r"[\s\x{ad}\x{200b}-\x{200f}\x{2028}-\x{202f}\x{2060}-\x{206f}\x{feff}]"

PLAIN = (
    "CASE WHEN strlen(id) = length(id) AND NOT contains(id, ' ') THEN lower(id)"
    f" ELSE lower(regexp_replace(id, '{INVISIBLE}', '', 'g')) END"
)
"""An id without case, spaces and invisible characters."""


NO_ROW = Problem("the results hold no row: nothing to judge", hint="did the run write its results?")


class BadRows(InputError):
    """Some rows do not have the declared form; which, and how, is for the reader of the files to say."""


def refuse_bad_rows(trials: int, bad: int) -> None:
    """Raise where a row is bad, or where there is no row at all."""
    if bad:
        raise BadRows(Problem(f"{bad} of {trials} results do not have the declared form"))
    if not trials:
        raise InputError(NO_ROW)


def refuse_or_warn_of_ids(rows: Rows, *, repeated: bool, turns: int = 1, parts: Sequence[Part] = ()) -> tuple[str, ...]:
    """Two results for one (id, trial) are refused; ids that look alike are warned of.

    Where every id differs from every other even without case and spaces, neither can be: one count shows both. In
    several `turns`, each has a part of the ids in memory.
    """
    if not repeated and all(_all_differ(rows, PLAIN, "trials", turn, turns) for turn in range(turns)):
        return ()
    key = "id, trial" if repeated else "id"
    if not _all_differ(rows, key, "trials"):
        refuse_duplicates(rows, key, parts)
    return look_alike_ids(rows)


def _all_differ(rows: Rows, key: str, relation: str, turn: int = 0, turns: int = 1) -> bool:
    """Whether no two rows have the same hash; where two have, they may differ all the same."""
    hashes = f"(SELECT hash({key}) AS h FROM {relation}) AS spread"  # the name has Spark spread them by their values
    these = f" WHERE h % {turns} = {turn}" if turns > 1 else ""
    most = rows(f"SELECT max(n) FROM (SELECT count(*) AS n FROM {hashes}{these} GROUP BY h)")[0][0]
    return most in (None, 1)  # None: this turn has no row


def refuse_duplicates(rows: Rows, key: str, parts: Sequence[Part] = ()) -> None:
    """Two rows with the same (id, trial), or two without a trial, are never merged."""
    twice = rows(f"SELECT {key}, count(*) FROM trials GROUP BY ALL HAVING count(*) > 1 ORDER BY id LIMIT 20")
    if not twice:
        return
    hint = _told_apart(rows, parts, twice[0]) or "give each repetition its own `trial`; each result counts once"
    problems = [
        Problem(
            f"scenario {row[0]!r} has {row[-1]} results{_for_trial(row)}",
            hint=hint,
        )
        for row in twice
    ]
    raise Twice(problems, [(row[0], row[1] if len(row) > 2 else None) for row in twice])


def _told_apart(rows: Rows, parts: Sequence[Part], key: Sequence[Any]) -> str | None:
    """The hint if a tag or a text of the user's own tells the results of one key apart: they are of several agents."""
    from highbar.engine.variants import differing  # only for results that are refused

    found = differing(rows, parts, key[0], key[1] if len(key) > 2 else None, repeated=len(key) > 2)
    if not found:
        return None
    column, values = found[0]
    named = ", ".join(f"{name} ({', '.join(each)})" for name, each in found)
    return f"they differ in {named}: judge one with --where {column}={values[0]}, or pool them with a `trial` each"


def _for_trial(row: Sequence[Any]) -> str:
    """Of which trial, from a row of id, trial and count, or of id and count."""
    if len(row) == 2:
        return " and no trial tells them apart"
    return " without a trial" if row[1] is None else f" for trial {row[1]}"


def refuse_disagreement(rows: Rows, layout: Layout) -> bool:
    """The trials of one scenario agree on what belongs to the scenario.

    Returns whether one of them leaves out what another says: then it is to be filled in.
    """
    if not layout.repeated:
        return False
    columns: dict[str, str] = {str(name): str(name) for name in DESCRIBING if name in layout.held}
    columns |= {f"col_{i}": column for i, column in enumerate(chosen_by(layout))}
    if not columns:
        return False
    differs = [f"coalesce(min({name}) <> max({name}), false) AS c{i}" for i, name in enumerate(columns)]
    partly = " OR ".join(f"count({name}) NOT IN (0, count(*))" for name in columns)
    query = f"SELECT id, {', '.join(differs)}, {partly} AS partly FROM trials GROUP BY id"
    flags = " OR ".join(f"c{i}" for i in range(len(columns)))
    found = rows(f"SELECT * FROM ({query}) WHERE {flags} ORDER BY id LIMIT 20")
    problems = []
    for id_, *each, _ in found:
        differing = dict(compress(columns.items(), each))
        told = f"the trials of scenario {id_!r} do not agree on {', '.join(differing.values())}"
        hint = _of_several_agents(rows, id_, differing) or _SAME
        problems.append(Problem(told, hint=hint))
    if problems:
        raise InputError(*problems)
    return bool(rows(f"SELECT count(*) FROM ({query}) WHERE partly")[0][0])


def _of_several_agents(rows: Rows, id_: str, differing: Mapping[str, str]) -> str | None:
    """The hint if the trials of a scenario differ in nothing but what may name their agents."""
    from highbar.engine.variants import CHOOSABLE, MOST_VALUES, NAMES  # only for results that are refused

    if not all(name.startswith("tags.") or name in (*NAMES, *CHOOSABLE) for name in differing.values()):
        return None
    place, name = next(iter(differing.items()))
    query = f"SELECT DISTINCT {place} FROM trials WHERE id = {literal(id_)} AND {place} IS NOT NULL"
    values = [value for (value,) in rows(f"{query} ORDER BY {place} LIMIT {MOST_VALUES}")]
    told = f"they differ in {name} ({', '.join(values)})"
    return f"{told}: judge one with --where {name}={values[0]}, or give every trial of a scenario the same"


def one_agent_version(rows: Rows) -> str | None:
    """The version of the agent that ran; more than one is refused."""
    found = rows("SELECT DISTINCT agent_version FROM trials WHERE agent_version IS NOT NULL ORDER BY 1 LIMIT 5")
    if len(found) > 1:
        versions = ", ".join(repr(row[0]) for row in found)
        raise InputError(
            Problem(f"the results are of more than one agent version: {versions}", hint="check one version at a time")
        )
    return found[0][0] if found else None


def look_alike_ids(rows: Rows) -> tuple[str, ...]:
    """Ids that differ only in case, spaces or invisible characters: told apart, but warned of."""
    if _all_differ(rows, PLAIN, "scenarios"):
        return ()
    found = rows(f"SELECT min(id), max(id) FROM scenarios GROUP BY {PLAIN} HAVING count(*) > 1 ORDER BY 1 LIMIT 5")
    return tuple(
        f"the ids {first!r} and {second!r} differ only in case, spaces or invisible characters"
        for first, second in found
    )


def required_and_optional(rows: Rows, request: Request) -> tuple[str, ...]:
    """Ids that a pattern of either kind matches; where one of the two is a plain id, the policy was refused."""
    required, optional = list(filter(is_pattern, request.required)), list(filter(is_pattern, request.optional))
    if not (required and optional):
        return ()
    both = f"({any_match(required)}) AND ({any_match(optional)})"
    found = rows(f"SELECT count(*) FROM scenarios WHERE {both}")[0][0]
    if not found:
        return ()
    first = [row[0] for row in rows(f"SELECT id FROM scenarios WHERE {both} ORDER BY id LIMIT 5")]
    ids = ", ".join(first) + (f" and {found - len(first)} more" if found > len(first) else "")
    are, they_count = ("is", "it counts") if found == 1 else ("are", "they count")
    return (f"{ids} {are} required and optional by the policy's patterns: {they_count} as required",)
