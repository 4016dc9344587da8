"""JSON of any size, one value at a time.

`parts` walks a document and gives its values in the order in which they stand, with the elements of the named arrays
one by one, so that a log of a gigabyte is read in the memory that its largest sample takes. `members` opens one object
without decoding what is in it, and `decode` decodes. A key that stands twice is refused by all three, and so is a
value that is nested too deep.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import IO, Any

import msgspec

from highbar.importers.record import refuse

Bytes = bytes | memoryview

LARGEST_VALUE = 256 * 1024 * 1024
"""The most bytes of one value, and of one line: several of them fit into the memory that an import may take."""

_CONTAINERS = (b"{", b"[")
_KEY_END, _INSIDE, _EITHER = b'":', b'\\":', b'\\\\"'
LFS_POINTER = b"version https://git-lfs"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""How text in UTF-16 starts."""

_WINDOW = 1024 * 1024
_SPACE = re.compile(rb"[ \t\r\n]*")
_AFTER = re.compile(r"trailing characters \(byte (\d+)\)")
_TOO_DEEP = "nested too deep to be read"
_BARE = ("true", "false", "null", "NaN", "-Infinity", "Infinity")
_CUT_OFF = "the file is cut off: it ends in the middle of a value"


def decode(data: Bytes, line: int | None = None) -> Any:
    """The value that the text stands for, which is one `line` of a file if that is given.

    NaN and infinities, which some tools write, become floats.
    """
    with suppress(*_BROKEN, RecursionError):
        value = msgspec.json.decode(data)
        # The fast decoder keeps the last of two equal keys. That there were none is certain where the value, written
        # again, is what was read, or has as many keys: numbers and texts may be spelled in another way.
        if data[:1] not in _CONTAINERS or as_many_keys(
            msgspec.json.encode(value), msgspec.json.format(data, indent=-1)
        ):
            return value
    try:
        return _STRICT.decode(str(data, "utf-8-sig"))
    except UnicodeDecodeError:
        refuse("this is not UTF-8 text", line=line, hint=encoding_hint(_start(data)))
    except json.JSONDecodeError as error:
        refuse(_message(error), line=line or error.lineno)
    except RecursionError:
        refuse(_TOO_DEEP, line=line)
    except _Twice as twice:
        refuse(f"duplicate key {twice.key!r}", line=line)


def as_many_keys(one: bytes, other: bytes) -> bool:
    """Whether two texts without spaces are the same, or have as many keys; False if only a closer look could say.

    A quotation mark inside of a text has a backslash before it, and after a backslash one may be of either kind.
    """
    if one == other:
        return True
    if _EITHER in one or _EITHER in other:
        return False
    return one.count(_KEY_END) - one.count(_INSIDE) == other.count(_KEY_END) - other.count(_INSIDE)


def members(data: Bytes, line: int | None = None) -> dict[str, Bytes]:
    """The values of an object by key, not decoded: what is not asked for costs nothing."""
    try:
        found = _members(data)
    except RecursionError:
        refuse(_TOO_DEEP, line=line)
    except _BROKEN:
        # NaN, half of a surrogate pair, or a fault: the slower reader takes the first two and can name the third.
        value = decode(data, line)
        if not isinstance(value, dict):
            refuse("wanted an object", line=line)
        return {key: json.dumps(item).encode() for key, item in value.items()}
    named: dict[str, Bytes] = {key.text: memoryview(value) for key, value in found.items()}
    if len(named) != len(found):
        names = [key.text for key in found]
        refuse(f"duplicate key {next(name for name in names if names.count(name) > 1)!r}", line=line)
    return named


def elements(data: Bytes) -> list[Bytes]:
    """The elements of an array, not decoded."""
    try:
        return [memoryview(element) for element in _elements(data)]
    except RecursionError:
        refuse(_TOO_DEEP)
    except _BROKEN:
        value = decode(data)  # as above
        return [json.dumps(item).encode() for item in value] if isinstance(value, list) else refuse("wanted an array")


def is_null(data: Bytes | None) -> bool:
    """Whether this is `null`, or nothing at all."""
    return data is None or data == b"null"


def lines(stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines of JSONL that are not blank, each with its number."""
    for number, line in enumerate(iter(lambda: stream.readline(LARGEST_VALUE + 1), b""), 1):
        if len(line) > LARGEST_VALUE:
            refuse(f"this line is longer than {LARGEST_VALUE >> 20} MiB", line=number)
        if not line.isspace():  # which copies nothing
            yield number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line


def parts(stream: IO[bytes], arrays: Collection[str]) -> Iterator[tuple[str, Bytes]]:
    """The parts of one document: (path, text) for every member of its top object, in the order of the file.

    The members of an object that holds one of the named `arrays` come one by one too, and of a named array each element
    comes as `path[]`: with arrays={"results.results"} the paths are `version`, `results.stats`, `results.results[]` …
    The array of a document that is one is named "". An empty array gives nothing. What follows the document is refused.
    """
    window = _Window(stream)
    window.refuse_other_text()
    yield from _walk(window, None, frozenset(arrays))
    if window.next_byte() is not None:
        refuse(f"text after the end of the document, at byte {window.offset}")


def _walk(window: _Window, path: str | None, arrays: frozenset[str]) -> Iterator[tuple[str, Bytes]]:
    first = window.next_byte()
    if first == b"[" and (path or "") in arrays and path != "":
        for _ in window.separated(b"]"):
            yield f"{path or ''}[]", window.value()
    elif first == b"{" and (path is None or any(name.startswith(f"{path}.") for name in arrays)):
        seen: set[str] = set()
        for _ in window.separated(b"}"):
            key = window.key()
            if key in seen:
                refuse(f"duplicate key {key!r}, at byte {window.offset}")
            seen.add(key)
            step = key.replace(".", "\\.")  # so that no key can pretend to be a path
            yield from _walk(window, step if path is None else f"{path}.{step}", arrays)
    elif path is None:
        refuse("this is not JSON: wanted an object" + (" or an array" if "" in arrays else ""))
    else:
        yield path, window.value()


class _Window:
    """A stretch of the file that moves on; a value is taken from it when it is there as a whole."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._data = stream.read(_WINDOW)
        self._position = 3 if self._data.startswith(b"\xef\xbb\xbf") else 0
        self._before = 0

    def refuse_other_text(self) -> None:
        """Say it plainly where this is no JSON at all."""
        if self.next_byte() is None:
            refuse("the file is empty")
        if self._data.startswith(LFS_POINTER):
            refuse("this is a Git LFS pointer, not the file", hint="run `git lfs pull`")
        if self._data.startswith(UTF_16) or b"\x00" in self._data[:200]:
            refuse("this is not UTF-8 text", hint=encoding_hint(self._data[:200]))

    @property
    def offset(self) -> int:
        """Where in the file we are."""
        return self._before + self._position

    def next_byte(self) -> bytes | None:
        """The next byte that is no space, which is not taken; None at the end."""
        while True:
            match = _SPACE.match(self._data, self._position)
            self._position = match.end() if match else self._position
            if self._position < len(self._data):
                return self._data[self._position : self._position + 1]
            if not self._more():
                return None

    def separated(self, closing: bytes) -> Iterator[None]:
        """Stand at each item of the object or array that opens here; its items are taken by the caller."""
        self._position += 1
        if self.next_byte() == closing:
            self._position += 1
            return
        while True:
            yield
            found = self.next_byte()
            if found not in (closing, b","):
                refuse(_CUT_OFF if found is None else f"this is not JSON: wanted a comma at byte {self.offset}")
            self._position += 1
            if found == closing:
                return

    def key(self) -> str:
        """The key that stands here, with its colon."""
        if self.next_byte() not in (b'"', None):
            refuse(f"this is not JSON: wanted a key at byte {self.offset}")
        key = decode(self.value())
        if self.next_byte() != b":":
            refuse(_CUT_OFF if self.next_byte() is None else f"this is not JSON: wanted a colon at byte {self.offset}")
        self._position += 1
        return str(key)

    def value(self) -> Bytes:
        """The text of the value that stands here, whole."""
        if self.next_byte() is None:
            refuse(_CUT_OFF)
        while True:
            end = _end_of_value(self._data, self._position)
            if end is not None and (end < len(self._data) or not self._more()):
                text = memoryview(self._data)[self._position : end]
                self._position = end
                return text
            if end is None and not self._more():
                refuse(f"{_CUT_OFF}, which starts at byte {self.offset}")

    def _more(self) -> bool:
        """Read on, at least as much again as is kept, so that a long value is scanned seldom; forget what was taken."""
        kept = len(self._data) - self._position
        if kept > LARGEST_VALUE:
            refuse(f"a value larger than {LARGEST_VALUE >> 20} MiB, at byte {self.offset}")
        added = self._stream.read(max(_WINDOW, kept))
        self._before += self._position
        self._data = self._data[self._position :] + added
        self._position = 0
        return bool(added)


def _end_of_value(data: bytes, start: int) -> int | None:
    """Where the value that starts here ends (the spaces after it included); None where the data ends before it does."""
    try:
        _skip(memoryview(data)[start:])
    except RecursionError:
        refuse(_TOO_DEEP)
    except msgspec.DecodeError as error:
        after = _AFTER.search(str(error))
        return start + int(after[1]) - 1 if after else _end_by_decoding(data, start)
    return len(data)


def _end_by_decoding(data: bytes, start: int) -> int | None:
    """The same by the slower reader, which takes NaN and halves of surrogate pairs. Ever longer stretches are tried."""
    length = 64 * 1024
    while True:
        stretch = data[start : start + length]
        text = stretch.decode("utf-8", "surrogateescape")
        try:
            _, end = _STRICT.raw_decode(text)
        except RecursionError:
            refuse(_TOO_DEEP)
        except _Twice as twice:
            refuse(f"duplicate key {twice.key!r}, in the value at byte {start}")
        except json.JSONDecodeError as error:
            if start + length < len(data):
                length *= 4
                continue
            if error.pos < len(text) - 32 and not error.msg.startswith("Unterminated string"):
                refuse(f"{_message(error)}, at byte {start + len(text[: error.pos].encode(errors='surrogateescape'))}")
            return None
        return start + len(text[:end].encode("utf-8", "surrogateescape"))


def encoding_hint(start: bytes) -> str:
    """What to do about text that is not UTF-8."""
    if start.startswith(UTF_16) or b"\x00" in start:
        return "the file looks like UTF-16 (PowerShell's `>` writes that): save it as UTF-8"
    return "save the file as UTF-8"


def _start(data: Bytes) -> bytes:
    return bytes(memoryview(data)[:200])


def _message(error: json.JSONDecodeError) -> str:
    if error.msg == "Extra data":
        return "text after the end of the value"
    rest = error.doc[error.pos :].strip()
    at_end = any(word.startswith(rest) for word in _BARE) or error.msg.startswith("Unterminated string")
    return "this is cut off" if at_end else f"this is not JSON: {error.msg[0].lower()}{error.msg[1:]}"


class _Twice(ValueError):
    """A key that stands twice in one object."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise _Twice(next(name for name in names if names.count(name) > 1))
    return found


_STRICT = json.JSONDecoder(object_pairs_hook=_unique)


class _Key:
    """A key that equals no other, so that a decoded object keeps both of two that are spelled alike."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


_BROKEN = (msgspec.DecodeError, UnicodeDecodeError)
_members = msgspec.json.Decoder(dict[_Key, msgspec.Raw], dec_hook=lambda _, text: _Key(text)).decode
_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode
_skip = msgspec.json.Decoder(msgspec.Raw).decode
