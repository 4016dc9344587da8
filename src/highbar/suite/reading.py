"""A suite file in, a checked Suite out; all problems at once, each with its line.

Files are decoded fast first. Only if something is wrong are they read again, with the position of every value.
"""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from highbar.documents.files import decode_text, read_bytes
from highbar.documents.limits import MOST_SUITE_BYTES
from highbar.documents.problems import ValueCursor, ValuePath, ValueProblem
from highbar.errors import InputError, Problem
from highbar.suite.cut_texts import cut_texts
from highbar.suite.decoding import Format, NotPlain, decode, format_of
from highbar.suite.fixed_columns import FixedColumns, read_fixed_columns
from highbar.suite.identity import listed_scenarios
from highbar.suite.located import Located, OtherFile, locate
from highbar.suite.own_columns import refuse_elsewhere
from highbar.suite.parts import Suite
from highbar.suite.tools.recognition import tool_of_suite

T = TypeVar("T")
Build = Callable[[Any, ValueCursor], T | None]
"""(values, place) → a suite, or the columns that it fixes; None only after noting a problem in `place`."""


class _DecodedFile(Struct, frozen=True):
    path: str
    text: str
    format: Format
    sha256: str


def read(path: Path | str, *, data: bytes | None = None) -> Suite:
    """The suite in a file. Raises InputError with all problems, before anything is run.

    If `data` is given, it is used as the content of the file, and the file itself is not read.
    """
    from highbar.suite.building import build  # the checks take 40 ms to load, and `read_fixed` needs none

    path = Path(path)
    file = _open(path, data)
    return _read(
        file,
        _of_any_tool(lambda values, place: build(values, place, path.parent, (str(path), file.sha256)), path),
    )


def read_values(values: Mapping[str, Any] | Sequence[Any], folder: Path | None = None) -> Suite:
    """The suite in Python values, with the keys of a file; the files that it names are in `folder`.

    Raises InputError with all problems.
    """
    from highbar.documents.python_values import plain_suite  # only for Python values
    from highbar.suite.building import build  # as above

    place = ValueCursor(problems=[])
    suite = build(plain_suite(values), place, folder, (None, None))
    if place.problems or suite is None:
        raise InputError(*(Problem(one.code, _message_of(one, values), hint=one.hint) for one in place.problems))
    return suite


def read_fixed(
    path: Path | str, allow_columns: Collection[str] = (), allow_categories: Collection[str] = ()
) -> FixedColumns:
    """The columns that a suite fixes for its results, which a policy's `suite` needs. Raises InputError.

    The last two have near misses of columns and categories that are meant as written.
    """
    path = Path(path)

    def build(values: Any, place: ValueCursor) -> FixedColumns:
        return read_fixed_columns(values, place, allow_columns, allow_categories)

    return _read(_open(path, None), _of_any_tool(build, path))


def words_elsewhere(path: Path | str, keys: Mapping[str, ValuePath]) -> InputError:
    """An error with the keys of a list that are the words of another tool; each with the path of its first place."""
    place = ValueCursor(problems=[])
    for key, inside in keys.items():
        refuse_elsewhere(key, place.at(*inside))
    return problems_at(path, place.problems)


def problems_at(path: Path | str, found: Sequence[ValueProblem], data: bytes | None = None) -> InputError:
    """An error with problems of a suite that was read before, each with its line in the file."""
    file = _open(Path(path), data)
    return _error(file, _locate(file), found)


def _of_any_tool(build: Build[T], path: Path) -> Build[T]:
    """`build` for suites of any tool: the values of other tools' suites are rewritten first."""

    def built(values: Any, place: ValueCursor) -> T | None:
        tool = tool_of_suite(values)
        if tool is None:
            return build(values, place)
        from highbar.suite.tools.building import build_rewritten  # only for suites of other tools

        return build_rewritten(tool, values, place, path, build)

    return built


def _open(path: Path, data: bytes | None) -> _DecodedFile:
    data = read_bytes(path, MOST_SUITE_BYTES) if data is None else data
    return _DecodedFile(str(path), decode_text(data, path), format_of(path.name), hashlib.sha256(data).hexdigest())


def _read(file: _DecodedFile, build: Build[T]) -> T:
    with _without_collection():
        # Most suites have no problem, and reading with positions is slower: only a suite with a problem needs it.
        found = _read_fast(file, build)
        if found is not None:
            return found
        located = _locate(file)
        place = ValueCursor(problems=[])
        read_again = build(located.values, place)
        if place.problems or located.problems or read_again is None:
            raise _error(file, located, place.problems)
    return read_again


def _read_fast(file: _DecodedFile, build: Build[T]) -> T | None:
    """The result of `build` without positions; None if anything is wrong with the file."""
    if file.format == "csv":
        return None  # CSV has only the slow reader
    place = ValueCursor(problems=[])
    try:
        values = decode(file.text, file.format)
        if file.format == "yaml" and _misread_text(file, tool_of_suite(values)):
            return None
        found = build(values, place)
    except NotPlain:
        return None
    return None if place.problems else found


def _locate(file: _DecodedFile) -> Located:
    if file.format != "csv":
        found = locate(file.text, file.format, file.path)
        odd = _misread_text(file, tool_of_suite(found.values)) if file.format == "yaml" else ()
        return replace(found, problems=(*found.problems, *odd))
    from highbar.suite.csv_rows import read_csv  # few suites are CSV

    return read_csv(file.text, file.path)


def _misread_text(file: _DecodedFile, tool: str | None) -> Sequence[Problem]:
    """Problems with YAML text that people, or the tool that it was written for, read differently than we do."""
    if tool is None:
        return cut_texts(file.text, file.path)
    from highbar.suite.tools.scalars import odd_scalars  # only for suites of other tools

    return odd_scalars(file.text, tool, file.path)


def _error(file: _DecodedFile, located: Located, found: Sequence[ValueProblem]) -> InputError:
    from highbar.documents.excerpts import with_excerpts  # only if something is wrong

    problems = list(located.problems)
    for problem in found:
        # A suite of another tool may name files with prompts and tests: their problems have positions in those files.
        if problem.path and isinstance(problem.path[0], OtherFile):
            problems.append(_in_other_file(problem))
            continue
        line, column = located.position(problem.path, _is_about_key(problem))
        first = None if problem.first is None else located.position(problem.first, False)[0]  # noqa: FBT003  # a field
        before = "" if first is None else f", first on line {first}"
        message = _message_of(problem, located.values) + before
        problems.append(Problem(problem.code, message, file.path, line, column, problem.hint))
    ordered = sorted(problems, key=lambda one: (one.file != file.path, one.line or 0, one.column or 0))
    shown = with_excerpts(InputError(*ordered), {file.path: file.text.encode()})
    # The line of a secret must not be repeated in a log, whatever else is wrong with it.
    secret = {(one.file, one.line) for one in shown.problems if one.code == "suite.key-in-file"}
    return InputError(
        *(replace(one, excerpt=None) if (one.file, one.line) in secret else one for one in shown.problems)
    )


def _in_other_file(problem: ValueProblem) -> Problem:
    from highbar.suite.tools.building import located_elsewhere  # only for suites of other tools

    path, inside = Path(str(problem.path[0])), problem.path[1:]
    line, column = located_elsewhere(path).position(inside, _is_about_key(problem))
    keys = _dotted_path(inside[:-1] if _is_about_key(problem) else inside)
    message = f"{keys}: {problem.text}" if keys else problem.text
    return Problem(problem.code, message, str(path), line, column, problem.hint)


def _is_about_key(problem: ValueProblem) -> bool:
    """Whether a problem is about the last key of its path, not about the value under it."""
    last = problem.path[-1] if problem.path else None
    # By the wording: messages about a key begin with the key, messages about a value do not.
    return isinstance(last, str) and problem.text.startswith(
        (f"unknown key '{last[:60]}'", f"unknown check '{last[:60]}'", f"'{last[:60]}' ")
    )


def _message_of(problem: ValueProblem, values: Any) -> str:
    """The message of a problem, preceded by the scenario and the keys that lead to it."""
    items, start = listed_scenarios(values)
    path: ValuePath = problem.path[:-1] if _is_about_key(problem) else problem.path  # the message names the key
    if path[: len(start)] == start and len(path) > len(start) and isinstance(items, list):
        index = path[len(start)]
        item = items[index] if isinstance(index, int) and index < len(items) else None
        id_ = item.get("id") if isinstance(item, dict) else None
        name = str(id_)[:60] if isinstance(id_, str | int) else f"scenario {int(index) + 1}"
        inside = path[len(start) + 1 :]
        keys = _dotted_path(inside)
        return f"{name}: {keys}: {problem.text}" if keys else f"{name}: {problem.text}"
    keys = _dotted_path(path)
    return f"{keys}: {problem.text}" if keys else problem.text


def _dotted_path(path: ValuePath) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part[:60]}" for part in path)
    return "".join(parts).removeprefix(".")[:160]


@contextmanager
def _without_collection() -> Iterator[None]:
    """Turn garbage collection off: nothing is garbage before the end, and looking for it takes a third of the time."""
    is_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_on:
            gc.enable()
