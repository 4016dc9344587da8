"""Rows of an importer → a JSONL file of the canonical columns, and the counts that the report is owed."""

from __future__ import annotations

import gc
import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

import msgspec

from highbar.errors import InputError, Problem
from highbar.importers import Read, Row
from highbar.importers.report import Report

LONGEST_TEXT = 20_000
"""How much of an input, an output or an error is kept: enough to show, and no metric reads more."""

_SELDOM = 1_000_000
_NESTED = frozenset({dict, list, tuple})
_SHOWN = ("input", "output", "error")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_UNSEEN = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What may turn a terminal's text around or start a command of its own; JSON escapes only the rest of its kind."""
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def identifier(text: str) -> str:
    r"""Any text as an id: control characters, which ids must not hold, are written out.

    >>> identifier("two\nlines")
    'two\\nlines'
    """
    return text if text.isprintable() else _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


def convert(read: Read, path: str, name: str, target: IO[bytes], report: Report | None = None) -> Report:
    """Write the rows of a foreign file to `target` and say what became of its records; `name` is the file in messages.

    Nothing is dropped in silence: a record that is neither a row nor merged nor left out is an internal error.
    """
    report = Report() if report is None else report
    shapes: Counter[tuple[str, ...]] = Counter()
    distinct: set[tuple[str, ...]] = set()
    with _cycles_sought_seldom():
        for row in _placed(read, path, name, report):
            kept = _kept(row, report)
            shapes[tuple(kept)] += 1
            report.plain = report.plain and _is_plain(kept, distinct)
            target.write(_line(kept))
    for shape, rows in shapes.items():
        report.columns.update(dict.fromkeys(shape, rows))
    if report.unaccounted:
        raise RuntimeError(f"{name}: {report.unaccounted} records were neither read nor left out for a reason")
    return report


@contextmanager
def _cycles_sought_seldom() -> Iterator[None]:
    """Decoded records hold no cycles, and looking for some among millions of objects takes a tenth of the whole time.

    It is not turned off: an error that was caught may have left one.
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(_SELDOM, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


def _placed(read: Read, path: str, name: str, report: Report) -> Iterator[Row]:
    """The rows; a refusal gets the file's name, and what only a damaged file can raise becomes one."""
    try:
        yield from read(path, report)
    except InputError as error:
        raise InputError(
            *(Problem(p.message, p.file or name, p.line, p.column, p.hint) for p in error.problems)
        ) from error
    except OSError as error:
        raise InputError(Problem(f"cannot be read: {error.strerror or error}", file=name)) from error


def _kept(row: Row, report: Report) -> Row:
    """The row without what is absent, its long texts cut; the report counts it."""
    report.rows += 1
    kept = {column: value for column, value in row.items() if value is not None}
    for column in _SHOWN:
        value = kept.get(column)
        if isinstance(value, str) and len(value) > LONGEST_TEXT:
            kept[column] = value[:LONGEST_TEXT] + "…"
            report.cut += 1
    report.errors += bool(kept.get("error"))
    return kept


def _is_plain(kept: Row, distinct: set[tuple[str, ...]]) -> bool:
    """Whether the engine need not look for keys that stand twice; `distinct` are the keys of objects seen before.

    Only an object directly below a column is looked at. What is nested deeper is left to the engine.
    """
    if type(kept.get("id")) is not str:
        return False
    for value in kept.values():
        if type(value) is dict:
            keys = tuple(value)
            if keys not in distinct:
                # Full case folding equates all that the engine does but the dotted capital I of Turkish.
                if len({key.replace("\u0130", "i").casefold() for key in keys}) < len(keys):
                    return False
                distinct.add(keys)
            if not _NESTED.isdisjoint(map(type, value.values())):
                return False
        elif isinstance(value, list | tuple) and not _NESTED.isdisjoint(map(type, value)):
            return False
    return True


def _line(kept: Row) -> bytes:
    with suppress(UnicodeEncodeError):
        data = msgspec.json.encode(kept)
        if data.isascii() and b"\x7f" not in data:  # nothing below has anything to do, and looking costs more than it
            return data + b"\n"
    text = _encode(kept)
    try:
        return _seen(text).encode() + b"\n"
    except UnicodeEncodeError:
        return _seen(_encode(_without_halves(kept))).encode() + b"\n"


def _seen(text: str) -> str:
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _without_halves(value: Any) -> Any:
    """Half of a surrogate pair is no text; JavaScript writes one where it cut a text. It is shown as U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_without_halves(key): _without_halves(item) for key, item in value.items()}
    return [_without_halves(item) for item in value] if isinstance(value, list | tuple) else value
