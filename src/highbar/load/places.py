"""Results that occur twice, or a text → their files and lines. Slow: the files are read again, in Python."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from highbar.documents.csv_fields import fields_up_to
from highbar.errors import Problem
from highbar.load import unpacking
from highbar.load.counting import LONGEST_RESULT
from highbar.load.explain import open_file
from highbar.model import Place, ResultsFile

MOST_PLACES = 5
"""Lines in one message."""

Key = tuple[str, int | None]
"""A scenario and its trial; None if it has no trial."""


def locate_duplicates(
    problems: Sequence[Problem], keys: Sequence[Key], files: Sequence[ResultsFile]
) -> tuple[Problem, ...]:
    """The problems, each about the results of one key, with files and lines; unchanged if a file is Parquet."""
    if any(file.format == "parquet" for file in files):
        return tuple(problems)
    found: dict[Key, list[tuple[ResultsFile, int]]] = {key: [] for key in keys}
    try:
        for file in files:
            for place, key in _keys(file):
                if key in found:
                    found[key].append((file, place))
    # A value that the engine reads and Python does not: too deep, or too long.
    except (ValueError, RecursionError, csv.Error):
        return tuple(problems)
    return tuple(
        _with_lines(problem, found[key]) if found[key] else problem for problem, key in zip(problems, keys, strict=True)
    )


def _with_lines(problem: Problem, places: list[tuple[ResultsFile, int]]) -> Problem:
    file, line = places[min(1, len(places) - 1)]  # the second: the first alone would be valid
    message = f"{problem.message}: {_list_places(places)}"
    return Problem(problem.code, message, file.name, None if file.imported else line, hint=problem.hint)


def _list_places(places: list[tuple[ResultsFile, int]]) -> str:
    """`lines 1 and 4` of one file, `a.jsonl:1 and b.jsonl:2` of several."""
    files = {file.name: file for file, _ in places}
    numbers = [str(place) if len(files) == 1 else f"{file.name}:{place}" for file, place in places]
    more = len(numbers) - MOST_PLACES
    named = [*numbers[:MOST_PLACES], f"{more} more"] if more > 0 else numbers
    what = "" if len(files) > 1 else "rows " if next(iter(files.values())).imported else "lines "
    return what + " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))


def _keys(file: ResultsFile) -> Iterator[tuple[int, Key]]:
    """Every result of a file that the engine has read before, with its line."""
    with open_file(file) as stream:
        if file.format == "jsonl":
            rows = _of_lines(stream)
        else:
            text = stream.read().decode("utf-8-sig")
            rows = _of_table(text) if file.format == "csv" else _of_array(text)
        for place, row in rows:
            id_, trial = row.get("id"), row.get("trial")
            yield place, (str(id_), None if trial in (None, "") else int(trial))  # type: ignore[call-overload] # sound


def _of_lines(lines: Iterable[bytes]) -> Iterator[tuple[int, Mapping[str, object]]]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield number, json.loads(line)


def _of_array(text: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    decoder = json.JSONDecoder()
    place, line, seen = text.index("[") + 1, 1, 0
    while (place := _skip(text, place)) < len(text) and text[place] != "]":
        line, seen = line + text.count("\n", seen, place), place
        row, place = decoder.raw_decode(text, place)
        yield line, row


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place] in " \t\r\n,":
        place += 1
    return place


def _of_table(text: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    with fields_up_to(LONGEST_RESULT):
        reader = csv.reader(io.StringIO(text, newline=""))
        header, line = next(reader), reader.line_num + 1
        for cells in reader:
            yield line, dict(zip(header, cells, strict=False))
            line = reader.line_num + 1


def locate_text(files: Sequence[ResultsFile], text: str) -> Place:
    """The place where a key or a value first occurs: its file, and its line if the file has lines."""
    # Both as JSON escapes it and as it is: a writer may do either.
    wanted = json.dumps(text)[1:-1].encode(), text.encode("utf-8", "backslashreplace")
    for file in files:
        if file.format == "parquet":
            continue
        with open_file(file) as stream, suppress(unpacking.Damaged):
            for number, line in enumerate(stream, 1):
                if any(form in line for form in wanted):
                    return Place(file.name, None if file.imported else number)
    return Place(files[0].name if files else None)
