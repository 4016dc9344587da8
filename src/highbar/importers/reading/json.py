"""JSON of any size, one value at a time.

`json_parts` walks through a document and yields its values in order, the elements of chosen arrays one by one, so that
a log of a gigabyte takes only the memory of its largest sample. `members` splits one object without decoding its
values, and `decode_value` decodes. All three refuse duplicate keys and values that are nested too deep.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import IO, Any, NoReturn

import msgspec

from highbar.importers.limits import LARGEST_VALUE
from highbar.importers.record import duplicate, refuse

Bytes = bytes | memoryview

_STARTS = (b"{", b"[")
_KEY_END, _INSIDE, _EITHER = b'":', b'\\":', b'\\\\"'
LFS_POINTER = b"version https://git-lfs"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""The byte order marks of UTF-16."""

_WINDOW = 1024 * 1024
_SPACE = re.compile(rb"[ \t\r\n]*")
_AFTER = re.compile(r"trailing characters \(byte (\d+)\)")
_TOO_DEEP = "nested too deep to be read"
_TOO_LONG = "a whole number has more digits than can be read"
_BARE = ("true", "false", "null", "NaN", "-Infinity", "Infinity")
_CUT_OFF = "the file is cut off: it ends in the middle of a value"


def decode_value(data: Bytes, line: int | None = None) -> Any:
    """Decode a value; `line` is its line number in the file, for messages.

    NaN and infinities, which some tools write, become floats.
    """
    with suppress(*_BROKEN, RecursionError):
        value = msgspec.json.decode(data)
        # The fast decoder drops the first of two equal keys. Nothing was dropped if the value, encoded again, gives the
        # same text, or a text with as many keys: numbers and strings can be spelled in several ways.
        if data[:1] not in _STARTS or as_many_keys(msgspec.json.encode(value), msgspec.json.format(data, indent=-1)):
            return value
    try:
        return _STRICT.decode(str(data, "utf-8-sig"))
    except UnicodeDecodeError:
        refuse("file.not-utf8", "this is not UTF-8 text", line=line, hint=encoding_hint(bytes(memoryview(data)[:200])))
    except json.JSONDecodeError as error:
        refuse("file.not-json", _message(error), line=line or error.lineno)
    except RecursionError:
        refuse("file.too-deep", _TOO_DEEP, line=line)
    except _DuplicateKey as duplicate:
        refuse("import.duplicate", f"duplicate key {duplicate.key!r}", line=line)
    except ValueError:  # Python's limit on the digits of an integer
        refuse("file.too-many-digits", _TOO_LONG, line=line)


def as_many_keys(one: bytes, other: bytes) -> bool:
    """Whether two JSON texts without spaces are equal or have the same number of keys; False if that is unclear.

    Counts `":`. Within a string, a quotation mark follows a backslash. After two backslashes it may be inside of the
    string or end it, so that such texts are unclear.
    """
    if one == other:
        return True
    if _EITHER in one or _EITHER in other:
        return False
    return one.count(_KEY_END) - one.count(_INSIDE) == other.count(_KEY_END) - other.count(_INSIDE)


def members(data: Bytes, line: int | None = None) -> dict[str, Bytes]:
    """The values of an object by key, not decoded, so that unused values cost nothing."""
    try:
        found = _members(data)
    except RecursionError:
        refuse("file.too-deep", _TOO_DEEP, line=line)
    except _BROKEN:
        # NaN, half of a surrogate pair, or a syntax error: the slower decoder accepts the first two and names the last.
        value = decode_value(data, line)
        if not isinstance(value, dict):
            refuse("import.wrong-value", "wanted an object", line=line)
        return {key: json.dumps(item).encode() for key, item in value.items()}
    named: dict[str, Bytes] = {key.text: memoryview(value) for key, value in found.items()}
    if len(named) != len(found):
        refuse("import.duplicate", f"duplicate key {duplicate([key.text for key in found])!r}", line=line)
    return named


def items(data: Bytes) -> list[Bytes]:
    """The elements of an array, not decoded."""
    try:
        return [memoryview(element) for element in _elements(data)]
    except RecursionError:
        refuse("file.too-deep", _TOO_DEEP)
    except _BROKEN:
        value = decode_value(data)  # NaN, half of a surrogate pair, or a syntax error, as in `members`
        return (
            [json.dumps(item).encode() for item in value]
            if isinstance(value, list)
            else refuse("import.wrong-value", "wanted an array")
        )


def is_null(data: Bytes | None) -> bool:
    """Whether this is `null` or absent."""
    return data is None or data == b"null"


def numbered_lines(stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines of JSONL that are not blank, with their numbers."""
    for number, line in enumerate(iter(lambda: stream.readline(LARGEST_VALUE + 1), b""), 1):
        if len(line) > LARGEST_VALUE:
            refuse("file.too-large", f"this line is longer than {LARGEST_VALUE >> 20} MiB", line=number)
        if not line.isspace():  # unlike strip(), this does not copy the line
            yield number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line


def json_parts(stream: IO[bytes], arrays: Collection[str]) -> Iterator[tuple[str, Bytes]]:
    """The parts of one document: (path, text) for every member of its top object, in the order of the file.

    An object that contains one of `arrays` is split into its members too, and each element of such an array has the
    path `path[]`: with arrays={"results.results"} the paths are `version`, `results.stats`, `results.results[]` …
    The path of a top-level array is "". An empty one of `arrays` has no parts. Refuses text after the document.
    """
    window = _ReadWindow(stream)
    window.refuse_other_text()
    yield from _walk(window, None, frozenset(arrays))
    if window.next_byte() is not None:
        refuse("file.not-json", f"text after the end of the document, at byte {window.offset}")


def _walk(window: _ReadWindow, path: str | None, arrays: frozenset[str]) -> Iterator[tuple[str, Bytes]]:
    first = window.next_byte()
    # The path of the top-level array is None here; "" is that of a member with an empty key, which is never split.
    if first == b"[" and (path or "") in arrays and path != "":
        for _ in window.separated(b"]"):
            yield f"{path or ''}[]", window.value()
    elif first == b"{" and (path is None or any(name.startswith(f"{path}.") for name in arrays)):
        seen: set[str] = set()
        for _ in window.separated(b"}"):
            key = window.key()
            if key in seen:
                refuse("import.duplicate", f"duplicate key {key!r}, at byte {window.offset}")
            seen.add(key)
            step = key.replace(".", "\\.")  # so that a key with a dot cannot be mistaken for a path
            yield from _walk(window, step if path is None else f"{path}.{step}", arrays)
    elif path is None:
        refuse("file.not-json", "this is not JSON: wanted an object" + (" or an array" if "" in arrays else ""))
    else:
        yield path, window.value()


class _ReadWindow:
    """A section of the file that moves forward and grows until it contains the whole next value."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._data = stream.read(_WINDOW)
        self._position = 3 if self._data.startswith(b"\xef\xbb\xbf") else 0
        self._before = 0

    def refuse_other_text(self) -> None:
        """Refuse a file that is not JSON at all, with a message that says what it is."""
        if self.next_byte() is None:
            refuse("file.empty", "the file is empty")
        refuse_pointer(self._data)
        if self._data.startswith(UTF_16) or b"\x00" in self._data[:200]:
            refuse("file.not-utf8", "this is not UTF-8 text", hint=encoding_hint(self._data[:200]))

    @property
    def offset(self) -> int:
        """The current position in the file."""
        return self._before + self._position

    def next_byte(self) -> bytes | None:
        """The next byte that is not a space, without moving past it; None at the end of the file."""
        while True:
            match = _SPACE.match(self._data, self._position)
            self._position = match.end() if match else self._position
            if self._position < len(self._data):
                return self._data[self._position : self._position + 1]
            if not self._more():
                return None

    def separated(self, end: bytes) -> Iterator[None]:
        """Move to each item of the object or array that starts here; the caller reads the item before the next step."""
        self._position += 1
        if self.next_byte() == end:
            self._position += 1
            return
        while True:
            yield
            found = self.next_byte()
            if found not in (end, b","):
                self._refuse_missing("comma")
            self._position += 1
            if found == end:
                return

    def _refuse_missing(self, sign: str) -> NoReturn:
        """Refuse the file, in which another byte or nothing follows."""
        if self.next_byte() is None:
            refuse("file.cut-off", _CUT_OFF)
        refuse("file.not-json", f"this is not JSON: wanted a {sign} at byte {self.offset}")

    def key(self) -> str:
        """Read a key and its colon."""
        if self.next_byte() not in (b'"', None):
            refuse("file.not-json", f"this is not JSON: wanted a key at byte {self.offset}")
        key = decode_value(self.value())
        if self.next_byte() != b":":
            self._refuse_missing("colon")
        self._position += 1
        return str(key)

    def value(self) -> Bytes:
        """Read the text of one value."""
        if self.next_byte() is None:
            refuse("file.cut-off", _CUT_OFF)
        while True:
            end = _end_of_value(self._data, self._position)
            # A value that ends where the data ends may continue: 12 may be the start of 123.
            if end is not None and (end < len(self._data) or not self._more()):
                text = memoryview(self._data)[self._position : end]
                self._position = end
                return text
            if end is None and not self._more():
                refuse("file.cut-off", f"{_CUT_OFF}, which starts at byte {self.offset}")

    def _more(self) -> bool:
        """Read on, and drop everything before the current position.

        The unread rest at least doubles, so that a long value is scanned only a few times.
        """
        rest = len(self._data) - self._position
        if rest > LARGEST_VALUE:
            refuse("file.too-large", f"a value larger than {LARGEST_VALUE >> 20} MiB, at byte {self.offset}")
        added = self._stream.read(max(_WINDOW, rest))
        self._before += self._position
        self._data = self._data[self._position :] + added
        self._position = 0
        return bool(added)


def _end_of_value(data: bytes, start: int) -> int | None:
    """Where the value that starts here ends, including trailing spaces; None if the data ends first."""
    # msgspec has no function that decodes a prefix, so the end is read from its error message. The alternatives are
    # slower: json.raw_decode builds every object and takes ten times as long (3.7 against 0.4 ms for 1 MB of messages),
    # a loop over brackets in Python a hundred times. If a version of msgspec changes the message, nothing breaks:
    # _end_by_decoding finds the same end.
    try:
        _skip(memoryview(data)[start:])
    except RecursionError:
        refuse("file.too-deep", _TOO_DEEP)
    except msgspec.DecodeError as error:
        after = _AFTER.search(str(error))
        return start + int(after[1]) - 1 if after else _end_by_decoding(data, start)
    return len(data)


def _end_by_decoding(data: bytes, start: int) -> int | None:
    """As `_end_of_value`, with the slower decoder, which accepts NaN and halves of surrogate pairs.

    Tries longer and longer sections: the decoder needs decoded text, and most values are short.
    """
    length = 64 * 1024
    while True:
        section = data[start : start + length]
        text = section.decode("utf-8", "surrogateescape")
        try:
            _, end = _STRICT.raw_decode(text)
        except RecursionError:
            refuse("file.too-deep", _TOO_DEEP)
        except _DuplicateKey as duplicate:
            refuse("import.duplicate", f"duplicate key {duplicate.key!r}, in the value at byte {start}")
        except json.JSONDecodeError as error:
            if start + length < len(data):
                length *= 4
                continue
            # Near the end, or in an open string, more data may complete the value; anywhere else it is a syntax error.
            if error.pos < len(text) - 32 and not error.msg.startswith("Unterminated string"):
                place = start + len(text[: error.pos].encode(errors="surrogateescape"))
                refuse("file.not-json", f"{_message(error)}, at byte {place}")
            return None
        except ValueError:  # Python's limit on the digits of an integer
            refuse("file.too-many-digits", f"{_TOO_LONG}, in the value at byte {start}")
        return start + len(text[:end].encode("utf-8", "surrogateescape"))


def refuse_pointer(start: bytes) -> None:
    """Refuse a Git LFS pointer, which git writes in place of a file that was not pulled."""
    if start.startswith(LFS_POINTER):
        refuse("file.git-lfs", "this is a Git LFS pointer, not the file", hint="run `git lfs pull`")


def encoding_hint(start: bytes) -> str:
    """How to correct text that is not UTF-8."""
    if start.startswith(UTF_16) or b"\x00" in start:
        return "the file looks like UTF-16 (PowerShell's `>` writes that): save it as UTF-8"
    return "save the file as UTF-8"


def _message(error: json.JSONDecodeError) -> str:
    if error.msg == "Extra data":
        return "text after the end of the value"
    rest = error.doc[error.pos :].strip()
    at_end = any(word.startswith(rest) for word in _BARE) or error.msg.startswith("Unterminated string")
    return "this is cut off" if at_end else f"this is not JSON: {error.msg[0].lower()}{error.msg[1:]}"


class _DuplicateKey(ValueError):
    """An object has the same key twice."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _DuplicateKey(str(duplicate([name for name, _ in pairs])))
    return found


_STRICT = json.JSONDecoder(object_pairs_hook=_unique)


class _Key:
    """A key that equals no other key, so that a decoded object has both of two keys with the same text."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


_BROKEN = (msgspec.DecodeError, UnicodeDecodeError)
_members = msgspec.json.Decoder(dict[_Key, msgspec.Raw], dec_hook=lambda _, text: _Key(text)).decode
_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode
_skip = msgspec.json.Decoder(msgspec.Raw).decode
