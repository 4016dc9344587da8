"""Refuses rows that no sum may be trusted over, and warns of others.

What must hold: unique (id, trial), one description in all trials of a scenario, one agent version, and nothing chosen
by a tag that the agent gave: reports may group by those tags, but they never decide what is judged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from highbar.columns import DESCRIPTION_COLUMNS, OF_THE_RUN
from highbar.core.score.asked import OF_AGENTS
from highbar.core.score.limits import MOST_EXAMPLES, MOST_REFUSED
from highbar.core.score.scores import NO_NUMBER, Scores
from highbar.core.score.settled import Settled
from highbar.errors import DuplicateResults, InputError, Problem
from highbar.language.phrases import some
from highbar.language.spelling import near_miss
from highbar.policy.scenario_ids import is_pattern, matches

_SAME = "these belong to the scenario: give every trial of it the same"
_INVISIBLE = re.compile("[\\s\xad\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]", re.ASCII)
NO_ROW = Problem("results.empty", "the results hold no row: nothing to judge", hint="did the run write its results?")


def refuse_or_warn(settled: Settled) -> tuple[str, ...]:
    """Raise InputError for rows that cannot be judged together; return warnings about others."""
    scores = settled.scores
    if not len(scores):
        raise InputError(NO_ROW)
    refuse_mixed_ids(scores)
    refuse_agent_tags(scores, [column for where in settled.wheres for column, _ in where])
    refuse_duplicates(settled)
    warnings = look_alike_ids(settled.ids)
    refuse_disagreement(settled)
    return (
        *warnings,
        *contradictions(settled),
        *near_values(settled),
        *required_and_optional(settled),
        *pooled_variants(settled),
    )


def refuse_mixed_ids(scores: Scores) -> None:
    """Refuse an id that is a number in one row and text in another: `1` and `"1"` become the same text."""
    both = sorted(scores.whole_ids & scores.text_digits)[:MOST_EXAMPLES]
    if both:
        hint = "write ids in one way: all as numbers, or all in quotes (a CSV file has only text)"
        message = "the id {0} is a number in some results and the text {0!r} in others"
        raise InputError(*(Problem("results.mixed-ids", message.format(id_), hint=hint) for id_ in both))


def refuse_agent_tags(scores: Scores, columns: Iterable[str]) -> None:
    """Raise InputError if rows or scenarios are chosen by a tag that the agent gave in any trial of a run."""
    names = [column.removeprefix("tags.") for column in dict.fromkeys(columns) if column.startswith("tags.")]
    problems = []
    for name in names:
        ids = sorted(scores.agent_tags.get(name, ()))[: MOST_EXAMPLES + 1]
        if ids:
            given = some(ids, MOST_EXAMPLES)
            message = f"nothing can be chosen by 'tags.{name}': the agent itself gave this tag, in {given}"
            hint = "an agent must not decide what is judged: give the scenarios this tag in the suite"
            problems.append(Problem("select.column", message, hint=hint))
    if problems:
        raise InputError(*problems)


def refuse_duplicates(settled: Settled) -> None:
    """Refuse two rows with the same (id, trial), or two without a trial: they are never merged."""
    scores = settled.scores
    if len(scores) == len(settled.ids):
        return
    twice: list[tuple[str, int | None, int]] = []
    for id_, positions in zip(settled.ids, settled.positions, strict=True):
        numbers = [scores.number[at] for at in positions]
        if len(set(numbers)) < len(numbers):
            several = sorted(number for number in set(numbers) if numbers.count(number) > 1)
            twice += [(id_, None if one == NO_NUMBER else one, numbers.count(one)) for one in several]
    if not twice:
        return
    twice = sorted(twice, key=lambda one: one[0])[:MOST_REFUSED]
    hint = _variants_hint(settled, twice[0]) or "give each repetition its own `trial`; each result counts once"
    problems = [
        Problem(
            "results.duplicate-trial",
            f"scenario {id_!r} has {count} results{_for_trial(number, settled.repeated)}",
            hint=hint,
        )
        for id_, number, count in twice
    ]
    raise DuplicateResults(problems, [(id_, number) for id_, number, _ in twice])


def _for_trial(number: int | None, repeated: bool) -> str:  # noqa: FBT001
    """The end of the message: which trial."""
    if not repeated:
        return " and no trial tells them apart"
    return " without a trial" if number is None else f" for trial {number}"


def _variants_hint(settled: Settled, twice: tuple[str, int | None, int]) -> str | None:
    """The hint if the results of one key differ in what names an agent: several agents ran."""
    id_, number, _ = twice
    place = settled.scores.ids[id_]
    positions = [
        at for at in settled.positions[place] if settled.scores.number[at] == (NO_NUMBER if number is None else number)
    ]
    found = _differences(settled, [positions])
    if not found:
        return None
    column, values = found[0]
    named = ", ".join(f"{name} ({', '.join(each[:MOST_EXAMPLES])})" for name, each in found)
    return f"they differ in {named}: judge one with --where {column}={values[0]}, or pool them with a `trial` each"


def refuse_disagreement(settled: Settled) -> None:
    """Refuse trials of one scenario that describe it differently.

    The suite speaks for a trial that does not, unless some trial of the run must be described by others.
    """
    scores = settled.scores
    if len(scores) == len(settled.ids):
        return
    several: dict[str, list[Mapping[str, Any]]] = {}
    for id_, positions in zip(settled.ids, settled.positions, strict=True):
        kinds = {scores.description[at] for at in positions}
        if len(kinds) > 1:
            several[id_] = [_told(scores, kind) for kind in kinds]
    suite = scores.asked.suite
    by_suite = {id_: [_or_suite(one, suite.get(id_, {})) for one in told] for id_, told in several.items()}
    if not any(map(_omits, by_suite.values())):
        several = by_suite
    found = {id_: differing for id_, told in several.items() if (differing := _differing(told))}
    if found:
        raise InputError(*(_disagreement(id_, found[id_]) for id_ in sorted(found)[:MOST_REFUSED]))


def _omits(told: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a trial omits a description that another one of its scenario has."""
    return any(len({one[column] is None for one in told}) > 1 for column in told[0])


def _differing(told: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    values = {column: {one[column] for one in told} - {None} for column in told[0]}
    return {column: sorted(each, key=str) for column, each in values.items() if len(each) > 1}


def _disagreement(id_: str, differing: Mapping[str, Sequence[str]]) -> Problem:
    message = f"the trials of scenario {id_!r} do not agree on {', '.join(differing)}"
    return Problem("results.disagree", message, hint=_versions_hint(differing) or _SAME)


def _told(scores: Scores, kind: int) -> Mapping[str, Any]:
    """What a trial says of its scenario."""
    one = scores.descriptions[kind]
    own = {name: getattr(one, name) for name in DESCRIPTION_COLUMNS}
    return own | dict(zip(scores.asked.columns, one.values, strict=True))


def _or_suite(told: Mapping[str, Any], fields: Mapping[str, str]) -> Mapping[str, Any]:
    """The same; what it does not say is what the suite says."""
    return {name: fields.get(name) if value is None else value for name, value in told.items()}


def _versions_hint(differing: Mapping[str, Sequence[str]]) -> str | None:
    """The hint if the trials of a scenario differ only in columns that may name their agents."""
    if not all(name.startswith("tags.") or name in (*OF_AGENTS, *OF_THE_RUN) for name in differing):
        return None
    name, values = next(iter(differing.items()))
    difference = f"they differ in {name} ({', '.join(values[:MOST_EXAMPLES])})"
    return f"{difference}: judge one with --where {name}={values[0]}, or give every trial of a scenario the same"


def one_agent_version(scores: Scores) -> str | None:
    """The agent version of the results, None if no row has one. Refuses more than one."""
    found = sorted(scores.versions)[:MOST_EXAMPLES]
    if len(found) > 1:
        versions = ", ".join(map(repr, found))
        raise InputError(
            Problem(
                "agent.several-versions",
                f"the results are of more than one agent version: {versions}",
                hint="check one version at a time",
            )
        )
    return found[0] if found else None


def plain(id_: str) -> str:
    """An id without case, spaces and invisible characters."""
    return (id_ if id_.isascii() and " " not in id_ else _INVISIBLE.sub("", id_)).lower()


def look_alike_ids(ids: Sequence[str]) -> tuple[str, ...]:
    """A warning for each pair of ids that differ only in case, spaces or invisible characters; they count as two."""
    plains = list(map(plain, ids))
    if len(set(plains)) == len(plains):
        return ()
    alike: dict[str, list[str]] = {}
    for id_, one in zip(ids, plains, strict=True):
        alike.setdefault(one, []).append(id_)
    found = sorted((min(each), max(each)) for each in alike.values() if len(each) > 1)[:MOST_EXAMPLES]
    return tuple(
        f"the ids {first!r} and {second!r} differ only in case, spaces or invisible characters"
        for first, second in found
    )


def contradictions(settled: Settled) -> tuple[str, ...]:
    """A warning that names the results that say two things about their answer."""
    kinds = {place for place, trial in enumerate(settled.trials) if trial.contradicts}
    scores = settled.scores
    found = (
        [
            (settled.ids[scores.scenario[at]], settled.number(at))
            for at in range(len(scores))
            if scores.kind[at] in kinds
        ]
        if kinds
        else []
    )
    if not found:
        return ()
    found.sort(key=lambda one: (one[0], one[1] is None, one[1] or 0))
    named = [id_ if number is None else f"{id_} (trial {number})" for id_, number in found[:MOST_EXAMPLES]]
    says = "1 result says" if len(found) == 1 else f"{len(found)} results say"
    message = f"{says} two things about the answer, of which the worse counts: `correct`, `outcome` and the labels"
    return (f"{message} do not agree in {some(named, MOST_EXAMPLES, len(found))}",)


def near_values(settled: Settled) -> tuple[str, ...]:
    """A warning for each value that is nearly one by which the policy chooses scenarios: it is not chosen."""
    request, scores = settled.request, settled.scores
    named: dict[str, set[str]] = {"capability": set(request.weights.by_capability)}
    for column, chosen in (pair for where in settled.wheres for pair in where if pair[0] != "category"):
        named.setdefault(column, set()).update(chosen)
    found: list[tuple[str, str, str]] = []
    for column, values in named.items():
        if not values:
            continue
        of_suite = {one[column] for one in scores.asked.suite.values() if column in one}  # two that it uses are two
        read = _value_of(scores, column)
        texts = sorted({text for one in scores.descriptions if (text := read(one)) is not None})
        near = [(text, near_miss(text, values)) for text in texts if text not in of_suite]
        found += [(column, text, meant) for text, meant in near if meant]
    return tuple(
        f"{column} {text!r} is nearly {meant!r}, by which the policy chooses: it is not chosen"
        for column, text, meant in found[:MOST_EXAMPLES]
    )


def _value_of(scores: Scores, column: str) -> Callable[[Any], str | None]:
    if column in scores.asked.columns:
        place = scores.asked.columns.index(column)
        return lambda one: one.values[place]
    return lambda one: getattr(one, column, None)


def required_and_optional(settled: Settled) -> tuple[str, ...]:
    """A warning about ids that both a required and an optional pattern match."""
    required, optional = (list(filter(is_pattern, of)) for of in (settled.request.required, settled.request.optional))
    if not (required and optional):
        return ()
    both = sorted(
        id_
        for id_ in settled.ids
        if any(matches(one, id_) for one in required) and any(matches(one, id_) for one in optional)
    )
    if not both:
        return ()
    first = both[:MOST_EXAMPLES]
    ids = ", ".join(first) + (f" and {len(both) - len(first)} more" if len(both) > len(first) else "")
    are, counted = ("is", "it counts") if len(both) == 1 else ("are", "they count")
    return (f"{ids} {are} required and optional by the policy's patterns: {counted} as required",)


# --- several agents in one file --------------------------------------------------------------

_NAMES = tuple(name for column in OF_AGENTS for name in (f"tags.{column}", column))
Differing = list[tuple[str, list[str]]]


def _differences(settled: Settled, units: Iterable[Sequence[int]]) -> Differing:
    """The columns that name an agent in which the trials of one unit differ, with the values of the whole run."""
    of_agents = settled.scores.of_agents
    if not of_agents:
        return []
    differ: set[int] = set()
    for positions in units:
        named = [of_agents[at] for at in positions if at in of_agents]
        for place in range(len(_NAMES)):
            if len({one[place] for one in named} - {None}) > 1:
                differ.add(place)
    return [
        (_NAMES[place], sorted({name for one in of_agents.values() if (name := one[place])}))
        for place in sorted(differ)
    ]


def pooled_variants(settled: Settled) -> tuple[str, ...]:
    """A warning if the results of several agents are judged together."""
    if not settled.scores.of_agents:
        return ()
    units: dict[tuple[str, bool], list[int]] = {}
    for place, positions in enumerate(settled.positions):
        units.setdefault(settled.unit(place), []).extend(positions)
    found = _differences(settled, units.values())
    if not found:
        return ()
    names = [f"{column} ({some(values[: MOST_EXAMPLES + 1], MOST_EXAMPLES)})" for column, values in found]
    column, values = found[0]
    warning = (
        f"the results of one scenario differ in {' and '.join(names)}: they are pooled, and count as one cluster;"
        f" --where {column}={values[0]} judges one of them, with --subset if its scenarios have ids of their own"
    )
    return (warning,)
