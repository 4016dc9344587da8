"""Fields of a foreign file with sample values in; out comes what each of our columns could be fed from.

Pure, and only a guess: it is shown and never applied. The direction or threshold of a score is never guessed, and
nothing that decides whether a trial passed is settled if two fields disagree about it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from highbar.columns import COLUMN_NAMES, JUDGING
from highbar.errors import InputError
from highbar.importers.mapping import from_cell
from highbar.language.spelling import near_miss
from highbar.language.tool_names import scalar_text
from highbar.load import names
from highbar.load.candidates import Candidate, ColumnGuess, Guess, RowField
from highbar.load.row_faults import CHECKS
from highbar.load.verdict_words import FINISHED_DOUBT, verdict_candidate

LONGEST_LABEL = 60
"""Characters of a category or a label: longer texts are answers."""
MOST_LABEL_WORDS = 3
"""Words of a label that a prediction is compared with: longer texts are rarely the same."""
_TEXTS = frozenset({"category", "capability", "cluster", "input", "output", "agent_version", "suite", "judge", "error"})
_LABELS = ("expected", "predicted")
_EVIDENCE = ("passed", "correct", "outcome", "predicted", "behaviors", "must_not", "violations")
"""Columns of which at least one is needed: otherwise nothing says how a trial ended."""
_OVERRULED = ("correct", "expected_behaviors", "behaviors", "must_not", "violations")
"""Columns that `passed` overrules."""
_MAY_BE_EMPTY = ("error", "violations", "unjudged")
"""Columns that are mapped even if no row of the sample has a value: the next run may have one."""


def guess(found: Sequence[RowField], *, cells: bool = False, has_keys: bool = False) -> Guess:
    """The guess for the fields of a file.

    `cells`: every value is the text of a CSV cell. `has_keys`: the rows are members of an object, each with a key.
    """
    fields = [field for field in found if all(field.path)]  # no path can name an empty key
    # The order matters: labels are dropped beside a verdict, and only then is it known which fields are left over.
    made = _ColumnMeanings(cells=cells)
    for field in fields:
        made.add(field)
    columns = {column: one for column in _BY_VALUE if (one := made.column(column)) is not None}
    columns["id"] = _id(made.fields("id"), has_keys=has_keys)
    columns |= _trial(columns["id"], made.fields("trial"))
    columns |= _times(fields, cells=cells)
    columns |= _tags(fields)
    columns = _pair_labels(columns)
    columns |= _doubt_success(columns, made)
    columns |= made.unfit(columns)
    if not any(column in columns for column in _EVIDENCE):
        note = "No column says if a trial passed. Put what decides it in place of []"
        columns["passed"] = ColumnGuess("passed", (), settled=False, note=note, blocks=True)
    if "must_not" in columns and "output" in columns:  # a blank output leaves a must-not unjudged
        columns["output"] = replace(columns["output"], blocks=not columns["output"].settled)
    order = {column: place for place, column in enumerate(names.NAMES)}
    listed = sorted(columns.values(), key=lambda one: order.get(one.column, len(order)))
    used = _used_paths(columns)
    inside = {path[:length] for path in used for length in range(1, len(path) + 1)}
    unused = [field for field in found if field.path not in inside]
    return Guess(tuple(listed), tuple(field for field in unused if len(field.path) == 1))


def _used_paths(columns: Mapping[str, ColumnGuess]) -> set[tuple[str, ...]]:
    """The paths of all fields that some column may be fed from."""
    return {candidate.field.path for one in columns.values() for candidate in one.candidates if candidate.field}


_BY_VALUE = tuple(column for column in names.NAMES if column not in ("id", "trial"))


class _ColumnMeanings:
    """The fields that may mean each column by their names, and which of them are candidates by their values."""

    def __init__(self, *, cells: bool) -> None:
        self.cells = cells
        self._found: dict[str, list[tuple[int, RowField]]] = {}

    def add(self, field: RowField) -> None:
        """Record what a field may mean by its name. Inside an object a name is less clear."""
        deep = len(field.path) > 1
        name = names.plain_name(field.path[-1])
        meanings = {**names.meanings(names.plain_name("_".join(field.path))), **names.meanings(name)}
        missed = None if deep or meanings else near_miss(field.path[0], COLUMN_NAMES)
        if missed is not None and missed in names.NAMES:
            meanings[missed] = 1
        for column, group in meanings.items():
            if not deep or column not in ("id", "trial") or group == 1:
                self._found.setdefault(column, []).append((group + deep, field))

    def fields(self, column: str) -> list[tuple[int, RowField]]:
        """The fields that may mean a column by their names, the clearest first."""
        return sorted(self._found.get(column, ()), key=lambda one: one[0])

    def column(self, column: str) -> ColumnGuess | None:
        """The guess for a column by names and values; None if no field fits."""
        named = self.fields(column)
        candidates = [one for group, field in named if (one := self._candidate(column, group, field)) is not None]
        return _column_guess(column, candidates) if candidates else None

    def unfit(self, columns: Mapping[str, ColumnGuess]) -> dict[str, ColumnGuess]:
        """Fields with the name of a column that judges, but values that it cannot have: they must not be ignored."""
        used = _used_paths(columns)
        note = "The values do not fit. Put what they mean in place of []"
        return {
            column: ColumnGuess(column, (), settled=False, note=note, blocks=True)
            for column in sorted(JUDGING - {*columns, *_LABELS})
            for group, field in self.fields(column)
            if group == 0 and field.given and field.path not in used
        }

    def _candidate(self, column: str, group: int, field: RowField) -> Candidate | None:
        if not field.given and column not in _MAY_BE_EMPTY:
            return None
        if column in ("passed", "correct"):
            return verdict_candidate(field, group, cells=self.cells)
        if column == "error":
            return _error(field, group, cells=self.cells)
        if column in _LABELS and group and not all(_is_label(value) for value in field.given):
            return None
        if column == "agent_version" and len(set(map(str, field.given))) > 1:
            return None
        if not all(self._fits(column, value) for value in field.given):
            return None
        return Candidate(field, group=group)

    def _fits(self, column: str, value: Any) -> bool:
        """Whether a mapping can put the value into the column."""
        if column in _TEXTS:
            return scalar_text(value) is not None
        try:
            read = from_cell(column, value) if self.cells else value
        except InputError:
            return False
        return read is None or CHECKS[column](read) is None


def _is_label(value: Any) -> bool:
    if isinstance(value, bool):
        return True
    return isinstance(value, str) and len(value) <= LONGEST_LABEL and len(value.split()) <= MOST_LABEL_WORDS


def _are_numbers(values: Sequence[Any], *, cells: bool) -> bool:
    read = (from_cell("weight", value) if cells else value for value in values)
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in read)


def _column_guess(column: str, candidates: list[Candidate]) -> ColumnGuess:
    """The candidates of a column; settled if one has a clearer name than all others; if it judges, if it is alone."""
    candidates = sorted(candidates, key=lambda one: one.doubt is not None)
    if column == "error" and len(candidates) > 1:  # a trial has crashed if any of the fields says so
        return ColumnGuess(column, tuple(candidates), settled=True, together=True)
    rivals = [one for one in candidates if column in JUDGING or one.group == candidates[0].group]
    settled = len(rivals) == 1 and not candidates[0].doubt
    return ColumnGuess(column, tuple(candidates), settled, blocks=not settled and column in JUDGING)


def _doubt_success(columns: Mapping[str, ColumnGuess], made: _ColumnMeanings) -> dict[str, ColumnGuess]:
    """`passed`, no longer settled, if it is a `success` that would overrule other judgments; else empty."""
    passed = columns.get("passed")
    if passed is None or not passed.settled or not _may_be_finished(passed.candidates[0]):
        return {}
    used = _used_paths({"passed": passed})
    if all(field.path in used for column in _OVERRULED for _, field in made.fields(column)):
        return {}
    first = replace(passed.candidates[0], doubt=FINISHED_DOUBT)
    return {"passed": replace(passed, candidates=(first,), settled=False, blocks=True)}


def _may_be_finished(candidate: Candidate) -> bool:
    """Whether a true value may only mean that the run ended, by the name or by the words."""
    words = {text.strip().lower() for text, meaning in dict(candidate.options).get("values", {}).items() if meaning}
    name = names.plain_name(candidate.field.path[-1]).removeprefix("is_") if candidate.field else ""
    return bool({*words, name} & names.FINISHED)


def _error(field: RowField, group: int, *, cells: bool) -> Candidate:
    """The candidate for `error`: any value but false counts as one, since the next run may have another kind."""
    marks = [_is_mark(value, cells=cells) for value in field.given]
    if not any(marks) and all(isinstance(value, str) for value in field.given):
        return Candidate(field, group=group)
    if all(mark or isinstance(value, str) for mark, value in zip(marks, field.given, strict=True)):
        return Candidate(field, (("when", (field, (False,))),), group=group)
    return Candidate(field, constant="crashed", group=group)


def _is_mark(value: Any, *, cells: bool) -> bool:
    return isinstance(value, bool) or (cells and str(value).lower() in ("true", "false"))


def _id(named: list[tuple[int, RowField]], *, has_keys: bool) -> ColumnGuess:
    whole = [
        Candidate(field, group=group)
        for group, field in named
        if all(_is_name(value) for value in field.values) and (group < 3 or _count_repeated(field) == 0)
    ]
    if has_keys:
        whole.insert(0, Candidate(special="@key", group=0))
    if whole:
        first = whole[0]
        alone = sum(one.group == first.group for one in whole) == 1
        # Rows that share an id are trials of one scenario. So an id that repeats is settled only if it has no rival.
        others = [one for one in whole if one.group < 3]
        settled = alone and (len(others) == 1 or first.field is None or _count_repeated(first.field) == 0)
        return ColumnGuess("id", tuple(whole), settled, blocks=not settled)
    partly = tuple(Candidate(field) for group, field in named if group < 3)
    if partly:
        note = "Not every row has one. Put one in place of [], and choose rows at the top: where: { type: … }"
        return ColumnGuess("id", partly, settled=False, note=note, blocks=True)
    note = "No column names the scenario. @number is the position, the same in every run only if the rows are"
    return ColumnGuess("id", (Candidate(special="@number"),), settled=False, note=note, blocks=True)


def _is_name(value: Any) -> bool:
    return (isinstance(value, str) and bool(value.strip())) or (isinstance(value, int) and not isinstance(value, bool))


def _count_repeated(field: RowField) -> int:
    """How many rows have a value that another row also has."""
    return sum(count for count in Counter(map(str, field.values)).values() if count > 1)


def _trial(id_: ColumnGuess, named: list[tuple[int, RowField]]) -> dict[str, ColumnGuess]:
    """The trial: a column of that meaning, or `@repeat` for the user to choose if rows share an id."""
    own = [Candidate(field, group=group) for group, field in named if all(map(_is_whole, field.given))]
    field = id_.candidates[0].field
    if own and (own[0].group == 0 or (field is not None and _count_repeated(field))):
        return {"trial": ColumnGuess("trial", tuple(own), settled=len(own) == 1)}
    if not id_.settled or field is None or not _count_repeated(field):
        return {}
    note = f"{_count_repeated(field)} rows share their id with another. If they are repetitions, delete the first #"
    return {"trial": ColumnGuess("trial", (Candidate(special="@repeat"),), settled=False, note=note)}


def _is_whole(value: Any) -> bool:
    read = from_cell("trial", value) if isinstance(value, str) else value
    return isinstance(read, int) and not isinstance(read, bool)


def _times(fields: Sequence[RowField], *, cells: bool) -> dict[str, ColumnGuess]:
    """The latency. If a name has no unit, both units are shown: seconds read as milliseconds would always pass."""
    found: list[Candidate] = []
    unclear: list[Candidate] = []
    for field in fields:
        unit = names.unit_of(names.plain_name(field.path[-1]))
        if unit is None or not _are_numbers(field.given, cells=cells):
            continue
        thousand = (("times", 1000),)
        if unit == "unknown":
            unclear += [
                Candidate(field, doubt="if it is in milliseconds"),
                Candidate(field, thousand, doubt="if it is in seconds"),
            ]
        else:
            found.append(Candidate(field, thousand if unit == "s" else (), group=len(field.path)))
    if found and not unclear:
        return {"latency_ms": _column_guess("latency_ms", sorted(found, key=lambda one: one.group))}
    return {"latency_ms": ColumnGuess("latency_ms", (*found, *unclear), settled=False)} if unclear else {}


def _tags(fields: Sequence[RowField]) -> dict[str, ColumnGuess]:
    found: dict[str, ColumnGuess] = {}
    for field in fields:
        name = names.plain_name(field.path[-1])
        if len(field.path) == 1 and name in names.TAGS and all(isinstance(value, str) for value in field.given):
            found.setdefault(f"tags.{name}", ColumnGuess(f"tags.{name}", (Candidate(field),), settled=True))
    return found


def _pair_labels(columns: dict[str, ColumnGuess]) -> dict[str, ColumnGuess]:
    """The columns, with `expected` and `predicted` only as a pair, and not beside a verdict, which needs neither."""
    rest = {column: one for column, one in columns.items() if column not in _LABELS}
    if "passed" in columns or "correct" in columns or "expected" not in columns:
        return rest
    if "predicted" in columns or columns["expected"].candidates[0].group == 0:
        return columns
    note = "Nothing is compared with it. Name what is, as predicted; or delete this line"
    return {**rest, "expected": replace(columns["expected"], settled=False, note=note, blocks=True)}
