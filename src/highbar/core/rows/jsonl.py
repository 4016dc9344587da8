"""Lines of JSON → rows: one pass reads and types them, and proves that no row says more than its columns.

msgspec decodes pieces of the file into structs of exactly the keys that the rows before had. It skips unknown keys and
keeps the last of two equal ones, so what it did not see must be proved absent: a piece of text that has as many colons
as the decoded rows account for has no other key. Only where that proof fails are keys looked at one by one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from operator import attrgetter
from typing import IO, Any

import msgspec
from msgspec import UNSET

from highbar.core.rows.row import FIELDS, Observed, Violated, exactly, own_field, says_raw, with_own
from highbar.load.counting import LONGEST_RESULT
from highbar.model.origin import read_origin

PIECE = 1 << 17
MARK = b"\xef\xbb\xbf"
MOST_COLUMNS = 200
"""Columns of the user's own that are read with the rows; keys of further ones are looked at one by one."""
DEEPEST = 64
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ufeff]")
_TEXTS = (
    "output", "input", "error", "expected", "predicted", "id", "unjudged", "cluster", "category", "capability",
    "agent_version", "suite", "judge",
)  # fmt: skip
_MARKED = ("behaviors", "must_not", "tags")
_anything = msgspec.json.Decoder().decode
astuple = msgspec.structs.astuple


class Unread(Exception):
    """A piece that is not made of sound rows; the slow reader says which line is wrong, and why."""


class Lines:
    """The rows of a JSONL stream; `columns` are the keys that were met.

    Rows have the columns `own` of the user's own as their first further fields, and others as they are met.
    """

    def __init__(self, stream: IO[bytes], own: tuple[str, ...]) -> None:
        self.stream, self.own = stream, own
        self.columns: set[str] = set()
        self._vouch = Vouching()
        self._narrow: Callable[[bytes], list[Any]] | None = None
        self._present: tuple[str, ...] = ()
        self._prepare()

    def _prepare(self) -> None:
        self._wide = msgspec.json.Decoder(with_own(self.own)).decode_lines
        self._names = {own_field(at): name for at, name in enumerate(self.own)}
        self._narrow = None

    def pieces_of(self, slowly: Callable[[bytes], list[Any]]) -> Iterator[list[Any]]:
        """The rows, some at a time; a piece that cannot be vouched for is read `slowly`."""
        for text in self._texts():
            try:
                rows = self._rows(text)
            except Unread:
                rows = slowly(text)
            if rows:
                yield rows

    def _texts(self) -> Iterator[bytes]:
        """The stream in pieces of whole lines."""
        left, first = b"", True
        while read := self.stream.read(PIECE):
            if first:
                read, first = read.removeprefix(MARK), False
            cut = read.rfind(b"\n") + 1
            if cut:
                yield left + read[:cut] if left else read[:cut]
                left = read[cut:]
            elif len(left) > LONGEST_RESULT:
                raise Unread
            else:
                left += read
        if left:
            yield left

    def _rows(self, text: bytes) -> list[Any]:
        """Decoded by the keys of the rows before, else by all columns; each proved to hold nothing unseen."""
        lines = text.count(b"\n") + (not text.endswith(b"\n"))
        if self._narrow is not None:
            try:
                rows = self._narrow(text)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                self._narrow = None
            else:
                # Two objects on one line, or one over two lines, are no JSONL, and msgspec reads both.
                whole = len(rows) == lines
                if whole and is_accounted_for(rows, text, len(self._present) * len(rows), self.own):
                    return self._vouched(rows, text)
        return self._rows_by_any_keys(text)

    def _rows_by_any_keys(self, text: bytes) -> list[Any]:
        rows = self._decoded(text)
        keys = count_keys(rows)
        if not is_accounted_for(rows, text, keys, self.own):
            if self._look(text):
                rows = self._decoded(text)  # with the columns that were met just now
                keys = count_keys(rows)
            if len(self.own) < MOST_COLUMNS and not is_accounted_for(rows, text, keys, self.own):
                raise Unread
        if rows:
            self._note(rows, keys)
        return self._vouched(rows, text)

    def _decoded(self, text: bytes) -> list[Any]:
        try:
            rows = self._wide(text)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise Unread from None
        if len(rows) != sum([not line.isspace() and line != b"" for line in text.split(b"\n")]):
            raise Unread
        return rows

    def _vouched(self, rows: list[Any], text: bytes) -> list[Any]:
        if not self._vouch(rows, text, [one for one in self._names if rows and one in rows[0].__struct_fields__]):
            raise Unread
        if any(name.startswith("tags.") for name in self.own) and self._tag_twice(rows):
            raise Unread
        return rows

    def _tag_twice(self, rows: list[Any]) -> bool:
        """Whether a row has a tag in `tags` and as a column of its own."""
        flat = [(at, name.removeprefix("tags.").casefold()) for at, name in enumerate(self.own) if "tags." in name[:5]]
        return any(
            tag in {name.casefold() for name, value in row.tags.items() if value is not None}
            for row in rows
            if row.tags
            for at, tag in flat
            if says_raw(getattr(row, own_field(at)))
        )

    def _note(self, rows: list[Any], keys: int) -> None:
        """Note which columns there are, and decode by them from now on if all rows have the same."""
        fields = rows[0].__struct_fields__
        for place, values in enumerate(zip(*map(astuple, rows), strict=True)):
            if values.count(UNSET) < len(values):
                self.columns.add(self._names.get(fields[place], fields[place]))
        present = tuple(name for name, value in zip(fields, astuple(rows[0]), strict=True) if value is not UNSET)
        if keys == len(present) * len(rows):
            self._present = present
            self._narrow = msgspec.json.Decoder(exactly(present, self.own)).decode_lines

    def _look(self, text: bytes) -> bool:
        """Look at the keys of every line: columns that were not met before are noted, and read from now on."""
        met: dict[str, None] = {}
        for line in text.split(b"\n"):
            if not line.strip():
                continue
            row = _anything(line)
            met |= dict.fromkeys(row)
            if len({name.casefold() for name in row}) < len(row) or line.count(b":") != colons_of(row):
                raise Unread  # perhaps a key that is there twice
        self.columns.update(met)
        new = [name for name in met if name not in FIELDS and name not in self.own]
        if not new or len(self.own) >= MOST_COLUMNS:
            return False
        self.own = (*self.own, *new)[:MOST_COLUMNS]
        self._prepare()
        return True


def count_keys(rows: list[Any]) -> int:
    """How many fields the rows have in all."""
    return sum([len(values) - values.count(UNSET) for values in map(astuple, rows)])


class Vouching:
    """Tells whether decoded rows keep all the rules of results: what types alone do not say.

    Called with rows of one class, their text, and the fields of columns of the user's own that they have.
    """

    def __init__(self) -> None:
        self._sound: set[Any] = set()  # names of objects, and origins, that were looked at before

    def __call__(self, rows: list[Any], text: bytes, own: Sequence[str]) -> bool:
        """Whether the rows keep the rules."""
        if not rows:
            return True
        if MARK in text or not (text.isascii() or is_utf8(text)):
            return False
        fields = rows[0].__struct_fields__
        names = "".join([row.id for row in rows if row.id.__class__ is str])
        if not names.isprintable() and CONTROL.search(names):
            return False
        return (
            all(self._names_are_sound(rows, column) for column in _MARKED if column in fields)
            and ("highbar_run" not in fields or all(map(self._is_origin, rows)))
            and all(is_sound(bytes(raw)) for column in own for raw in map(attrgetter(column), rows) if raw is not UNSET)
        )

    def _names_are_sound(self, rows: list[Any], column: str) -> bool:
        """Whether no name of an object is there twice, in any case, and every tag has a name."""
        values = [value for value in map(attrgetter(column), rows) if value]
        lists = [value for value in values if value.__class__ is list]
        kinds = set(map(type, chain.from_iterable(lists)))
        if kinds == {str} or not values:
            values = [value for value in values if value.__class__ is dict]
        elif any(len(set(map(type, value))) > 1 for value in lists):
            return False  # names with and without marks
        for value in values:
            if value.__class__ is list and value[0].__class__ is str:
                continue
            names = tuple(value) if value.__class__ is dict else tuple([one.name for one in value])
            told = (column == "tags", names)
            if told in self._sound:
                continue
            if len({name.casefold() for name in names}) < len(names):
                return False
            if column == "tags" and not all(name.strip(" ") for name in names):
                return False
            self._sound.add(told)
        return True

    def _is_origin(self, row: Any) -> bool:
        raw = row.highbar_run
        if not says_raw(raw) or bytes(raw) in self._sound:
            return True
        if read_origin(_anything(raw)) is None:
            return False
        self._sound.add(bytes(raw))
        return True


def is_utf8(text: bytes) -> bool:
    """Whether bytes are text."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def is_sound(raw: bytes) -> bool:
    """Whether a value that nobody has read yet keeps the rules: finite numbers, no key twice, not too deep."""
    first = raw[:1]
    if first not in b"[{":
        # A number with few digits and no exponent is finite.
        return first in b'"tfn' or (len(raw) < 40 and b"e" not in raw and b"E" not in raw) or is_number(raw)
    if raw.count(b"[") + raw.count(b"{") > DEEPEST:
        return False
    try:
        value = _anything(raw)
    except (msgspec.MsgspecError, RecursionError):
        return False
    return colons_of(value) == raw.count(b":") and has_unequal_names(value)


def is_number(raw: bytes) -> bool:
    """Whether a number is one that a float can hold."""
    try:
        return math.isfinite(float(raw))
    except (ValueError, OverflowError):
        return False


def has_unequal_names(value: Any) -> bool:
    """Whether the names of each object in a value differ, in any case."""
    if value.__class__ is dict:
        return len({name.casefold() for name in value}) == len(value) and all(map(has_unequal_names, value.values()))
    return all(map(has_unequal_names, value)) if value.__class__ is list else True


def is_accounted_for(rows: list[Any], text: bytes, keys: int, own: tuple[str, ...]) -> bool:
    """Whether every colon of the text is one of the decoded rows': then they have all keys that it has, each once."""
    colons = text.count(b":")
    if keys == colons:
        return True
    if not rows or b"\\u003" in text:  # a colon may be written in another form
        return False
    fields = rows[0].__struct_fields__
    for column in _TEXTS:
        if column in fields:
            keys += "".join([value for value in map(attrgetter(column), rows) if value.__class__ is str]).count(":")
            if keys == colons:
                return True
    for column in (*_MARKED, "expected_behaviors", "violations", "highbar_run", *map(own_field, range(len(own)))):
        if column in fields:
            keys += sum([colons_of(value) for value in map(attrgetter(column), rows) if value])
            if keys == colons:
                return True
    return False


def colons_of(value: Any) -> int:
    """The colons that a decoded value was written with; of one that nobody has read, those that it has."""
    kind = value.__class__
    if kind is str:
        return int(value.count(":"))
    if kind is dict:
        return len(value) + sum([int(name.count(":")) + colons_of(one) for name, one in value.items()])
    if kind is list:
        return int(sum([colons_of(one) for one in value]))
    if kind is msgspec.Raw:
        return int(bytes(value).count(b":"))
    return 2 + int(value.name.count(":")) if isinstance(value, Observed | Violated) else 0
