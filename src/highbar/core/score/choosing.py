"""Which trials take part: rows that a policy selects, scenarios of the suite, planned trials, first trials alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from highbar.columns import OF_THE_RUN
from highbar.core.rows.row import FIELDS, with_own
from highbar.core.score.asked import WHY
from highbar.core.score.limits import MOST_EXAMPLES
from highbar.core.score.refusals import refuse_agent_tags
from highbar.core.score.scores import NO_NUMBER, NOT_THERE, Scores
from highbar.core.score.settled import Settled
from highbar.errors import InputError, Problem
from highbar.language.phrases import count
from highbar.language.spelling import did_you_mean
from highbar.model import Where
from highbar.model.judging import Selection
from highbar.model.reduction import MissingTrials, UnevenTrials
from highbar.model.requests import PlannedTrials, Request

MISSING_ROW = with_own(WHY)(id="", unjudged=NOT_THERE)
"""What is read again of a planned trial that no row has."""
_SHOWN_VALUES = 1000
Reread = Callable[[Collection[int]], Mapping[int, Any]]
"""From the places of trials to their rows, with all their texts."""


# --- rows that a policy selects --------------------------------------------------------------


def select(scores: Scores, request: Request) -> tuple[Scores, Selection]:
    """The trials that take part, and what is left out.

    A row without one of the columns has the value of its scenario's other trials. Raises InputError if those differ, if
    a column is not text, if the agent gave a tag, or if a scenario loses all its rows.
    """
    where = request.select
    refuse_agent_tags(scores, [column for column, _ in where])
    _refuse_numbers(scores, where)
    agreed = _agreed_values(scores, where)
    _refuse_unknown(scores, where, agreed)
    taken: list[int] = []
    left: list[int] = []
    for at in range(len(scores)):
        fits = all((_value(scores, at, column) or agreed(at, column)) in wanted for column, wanted in where)
        (taken if fits else left).append(at)
    return scores.subset(taken), _selection(scores, request, taken, left)


def _value(scores: Scores, at: int, column: str) -> str | None:
    return scores.descriptions[scores.description[at]].values[scores.asked.columns.index(column)]


def _agreed_values(scores: Scores, where: Where) -> Any:
    """A function for the value of a column on which the trials of a trial's scenario agree; None if they do not."""
    found: dict[str, dict[int, set[str]]] = {column: {} for column, _ in where}
    for at in range(len(scores)):
        for column, values in found.items():
            value = _value(scores, at, column)
            if value is not None:
                values.setdefault(scores.scenario[at], set()).add(value)

    def agreed(at: int, column: str) -> str | None:
        values = found[column].get(scores.scenario[at], set())
        return next(iter(values)) if len(values) == 1 else None

    agreed.values = found  # type: ignore[attr-defined]
    return agreed


def _refuse_unknown(scores: Scores, where: Where, agreed: Any) -> None:
    """Refuse rows that may or may not be chosen, unless another column leaves them out in any case."""
    # A row that does not say to which agent it belongs must not be dropped silently: it may be a failed trial.
    ids = list(scores.ids)
    found = []
    for at in range(len(scores)):
        mixed = None
        for column, wanted in where:
            value = _value(scores, at, column) or agreed(at, column)
            values = agreed.values[column].get(scores.scenario[at], set())
            if value is not None and value not in wanted:
                break
            if value is None and len(values) > 1 and mixed is None:
                mixed = (column, min(values), max(values))
        else:
            if mixed is not None:
                number = scores.number[at]
                found.append((ids[scores.scenario[at]], number, mixed))
    if found:
        found.sort()
        raise InputError(*(_unknown_problem(*one) for one in found[:MOST_EXAMPLES]))


def _unknown_problem(id_: str, number: int, mixed: tuple[str, str, str]) -> Problem:
    column, least, most = mixed
    which = f"the scenario {id_!r}" + ("" if number == NO_NUMBER else f", trial {number}")
    message = f"{which} has no {column}, and the other trials of the scenario differ in it ({least!r}, {most!r})"
    hint = f"record {column} in every row: rows are chosen by it, and this one may not be left out unseen"
    return Problem("select.partly", message, hint=hint)


def _refuse_numbers(scores: Scores, where: Where) -> None:
    """Refuse to choose rows by anything but text: whether 1 equals "1" must not be left to chance."""
    for column, _ in where:
        if column in scores.not_text:
            message = f"rows cannot be chosen by {column!r}: some of its values are not text"
            raise InputError(
                Problem("select.column", message, hint="rows are chosen by text: write the value in quotes")
            )


def _selection(scores: Scores, request: Request, taken: Sequence[int], left: Sequence[int]) -> Selection:
    """What is left out. Raises InputError if a scenario loses all its rows, without `subset`."""
    where, ids = request.select, list(scores.ids)
    if left and not taken:
        raise InputError(_nothing_fits(scores, where))
    there = {scores.scenario[at] for at in taken}
    lost = sorted(ids[place] for place in {scores.scenario[at] for at in left} - there)
    first = tuple(lost[:MOST_EXAMPLES])
    if lost and not request.subset:
        more = f" and {len(lost) - len(first)} more" if len(lost) > len(first) else ""
        message = f"there is no row with {_where_words(where)} in {count(len(lost), 'scenario')}: {', '.join(first)}"
        raise InputError(
            Problem("select.partly", f"{message}{more}", hint="--subset judges the other scenarios without them")
        )
    return Selection(where, len(left), first, len(lost))


def _nothing_fits(scores: Scores, where: Where) -> Problem:
    """The problem if no row is left, with the values or columns that there are instead."""
    for column, wanted in where:
        place = scores.asked.columns.index(column)
        found = sorted({one.values[place] for one in scores.descriptions} - {None})[:_SHOWN_VALUES]  # type: ignore[type-var]
        if not found:
            message = f"no row has a value for {column!r}, by which rows are chosen"
            return Problem("select.nothing", message, hint=_hint(column, _selectable(scores)))
        if not set(wanted) & set(found):
            return Problem(
                "select.nothing", f"no row has {_where_words(((column, wanted),))}", hint=_hint(wanted[0], found)
            )
    return Problem("select.nothing", f"no row has {_where_words(where)} together")


def _selectable(scores: Scores) -> list[str]:
    """The tags and columns by which the rows can be chosen."""
    names = {name for part in scores.parts for name in part.columns}
    return sorted(
        {name for name in names if name in OF_THE_RUN or name not in FIELDS} | {f"tags.{name}" for name in scores.tags}
    )


def _hint(word: str, found: Sequence[Any]) -> str | None:
    """The names or values that there are instead, and the one that was probably meant."""
    if not found:
        return None
    shown = ", ".join(repr(value) for value in found[:MOST_EXAMPLES]) + (", …" if len(found) > MOST_EXAMPLES else "")
    meant = f"did you mean 'tags.{word}'?" if f"tags.{word}" in found else did_you_mean(word, found)
    return f"{meant} found {shown}" if meant else f"found {shown}"


def _where_words(where: Where) -> str:
    return " and ".join(f"{column} {' or '.join(map(repr, values))}" for column, values in where)


# --- scenarios of the suite ------------------------------------------------------------------


def within_suite(scores: Scores) -> tuple[Scores, tuple[str, ...], int]:
    """The trials of scenarios of the suite; the first ids of others, and how many rows these have."""
    suite = scores.asked.suite
    others = {place: id_ for id_, place in scores.ids.items() if id_ not in suite}
    inside = [at for at in range(len(scores)) if scores.scenario[at] not in others]
    return scores.subset(inside), tuple(sorted(others.values())[: MOST_EXAMPLES + 1]), len(scores) - len(inside)


# --- planned trials --------------------------------------------------------------------------


def with_missing(scores: Scores, planned: PlannedTrials) -> tuple[Scores, MissingTrials | None, set[str]]:
    """The trials with one for each that was planned and is not there, which is undecided like any unjudged one.

    Deleting the rows of failed trials must not help. Also returns the ids of scenarios whose only result has no number.
    """
    numbers: dict[int, set[int]] = {}
    there = Counter(scores.scenario)
    for at in range(len(scores)):
        numbers.setdefault(scores.scenario[at], set()).add(scores.number[at])
    known = [number for each in numbers.values() for number in each if number != NO_NUMBER]
    least = min(known, default=1)
    lacking = []
    for id_, place in scores.ids.items():
        most = max(planned.every, planned.of.get(id_, 0))
        if there[place] < most:
            lacking.append((id_, most - there[place], most))
    if not lacking:
        return scores, None, set()
    whole = scores.subset(range(len(scores)))
    begin = len(whole)
    for id_, missing, most in lacking:
        used = numbers[scores.ids[id_]]
        free = [number for number in range(least, least + most) if number not in used][:missing]
        whole.add(whole.row(id=id_, trial=number, unjudged=NOT_THERE) for number in free)
    whole.end_part(begin, ("id", "trial", "unjudged"), of=NOT_THERE)
    lacking.sort()
    alone = {id_ for id_, *_ in lacking if numbers[scores.ids[id_]] == {NO_NUMBER}}
    trials = sum(missing for _, missing, _ in lacking)
    return whole, MissingTrials(trials, len(lacking), tuple(lacking[:MOST_EXAMPLES])), alone


def reader_with_missing(begin: int, reread: Reread) -> Reread:
    """`reread`, which also gives the rows of trials that are not there, from `begin` on."""

    def read(positions: Collection[int]) -> Mapping[int, Any]:
        found = dict(reread([at for at in positions if at < begin]))
        return found | {at: MISSING_ROW for at in positions if at >= begin}

    return read


# --- numbers of trials that nobody planned ----------------------------------------------------


def uneven_trials(settled: Settled, planned: PlannedTrials | None) -> UnevenTrials | None:
    """The numbers of trials of the scenarios, if they differ and it is not planned so."""
    of_suite = planned.of if planned is not None and not planned.every else {}
    by: dict[int, list[str]] = {}
    for id_, positions in zip(settled.ids, settled.positions, strict=True):
        if not of_suite or len(positions) > of_suite.get(id_, 0):
            by.setdefault(len(positions), []).append(id_)
    if len(by) < 2:
        return None
    most = max(by)
    early = [settled.scores.ids[id_] for number, ids in by.items() if number < most for id_ in ids]
    passed = all(settled.trial(_last(settled, place)).passed for place in early)
    return UnevenTrials(tuple((n, len(by[n]), min(by[n])) for n in sorted(by, reverse=True)), passed)


def _last(settled: Settled, place: int) -> int:
    return max(settled.positions[place], key=lambda at: settled.scores.number[at])


def first_trials(settled: Settled) -> Scores:
    """The first trial of each scenario."""
    number = settled.scores.number

    def order(at: int) -> tuple[bool, int]:
        return number[at] == NO_NUMBER, number[at]

    return settled.scores.subset([min(positions, key=order) for positions in settled.positions])
