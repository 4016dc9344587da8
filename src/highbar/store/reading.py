"""A document in a file: read whole, or refused with the line."""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from highbar.errors import InputError, Problem
from highbar.store import forms

if TYPE_CHECKING:  # the places of a document are needed only if it is refused
    from highbar.documents.tree import Node

MOST_BYTES = 512 * 1024 * 1024
"""A document is small; the limit keeps a wrong file name from filling the memory."""
MOST_PROBLEMS = 20
"""Problems in one message: a document with more is probably of another kind, and a longer list does not help."""

_AGAIN = "highbar check --output verdict.json and Verdict.save write one"
_Read = TypeVar("_Read")


class StoredDocument(NamedTuple):
    """A document that was read from a file, before its content is checked."""

    file: str
    text: str
    content: Mapping[str, Any]
    hint: str = _AGAIN

    def read(self, read_stored: Callable[[Mapping[str, Any]], _Read]) -> _Read:
        """What `read_stored` returns for the content. Raises InputError with the faults that it raises."""
        try:
            return read_stored(self.content)
        except forms.DamagedError as error:
            raise self.refusal(*error.faults[:MOST_PROBLEMS]) from None

    def refusal(
        self, *faults: tuple[forms.Path, str], code: str = "document.damaged", hint: str | None = None
    ) -> InputError:
        """The faults as problems, each with the line and column of its value."""
        tree = _tree(self.text)
        advice = hint or self.hint
        return InputError(
            *(
                Problem(code, path_text(path) + message, self.file, *_place(tree, path), advice)
                for path, message in faults
            )
        )


def read_stored(path: str | PathLike[str], schema: str, hint: str = _AGAIN) -> StoredDocument:
    """The document in a file. Raises InputError if it is not JSON, or has another schema.

    `hint` tells users how to get a valid one.
    """
    file = os.fspath(path)
    text = _text(file)
    try:
        content = json.loads(text, parse_constant=refuse_constant, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise InputError(
            Problem("document.damaged", f"not JSON: {error.msg}", file, error.lineno, error.colno, hint)
        ) from None
    except _RefusedError as error:
        raise InputError(Problem("document.damaged", str(error), file, _line_of(text, error.text), hint=hint)) from None
    except (ValueError, RecursionError) as error:
        raise InputError(Problem("document.damaged", f"not a document of Highbar: {error}", file, hint=hint)) from None
    found = StoredDocument(file, text, content if isinstance(content, dict) else {}, hint)
    named = found.content.get("schema")
    if named != schema:
        raise _other_schema(found, forms.document_value(named if isinstance(content, dict) else content), schema)
    return found


def _other_schema(found: StoredDocument, named: str, schema: str) -> InputError:
    """The error for a document of another schema, or of a newer version of this one."""
    kind, _, version = schema.rpartition("/")
    other = re.fullmatch(f"'{re.escape(kind)}/([0-9]{{1,9}})'", named)
    if other and int(other[1]) > int(version):
        message = f"found {named}, which a newer version of Highbar wrote"
        return found.refusal(
            (("schema",), message),
            code="document.other-schema",
            hint=f"update Highbar: this version reads {schema}",
        )
    message = f"found {named}, wanted a document of schema {schema}"
    return found.refusal((("schema",), message), code="document.other-schema")


def _text(file: str) -> str:
    try:
        return read_document_bytes(file).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(Problem("document.damaged", "not JSON: the bytes are not UTF-8", file)) from None


def read_document_bytes(file: str) -> bytes:
    """The bytes of a document. Raises InputError if it cannot be read, or is too large to be one."""
    try:
        with Path(file).open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(Problem("file.unreadable", f"cannot be read: {reason}", file)) from None
    # Before parsing: a file that is named by mistake can have any size.
    if len(data) > MOST_BYTES:
        raise InputError(Problem("file.too-large", f"larger than {MOST_BYTES // 2**20} MiB", file))
    return data


class _RefusedError(ValueError):
    """Something that JSON or Python's JSON reader allows, but that no document of ours has."""

    def __init__(self, message: str, text: str) -> None:
        super().__init__(message)
        self.text = text


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The members of an object. Raises ValueError if a key occurs twice."""
    members = dict(pairs)
    if len(members) < len(pairs):
        # Counted once: an object of a large document has a hundred thousand members.
        twice = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
        raise _RefusedError(f"the key {forms.document_value(twice)} is there twice", json.dumps(twice))
    return members


def refuse_constant(name: str) -> float:
    """Raise ValueError for NaN and Infinity, which JSON does not have."""
    raise _RefusedError(f"found the number {name}, wanted plain digits", name)


def finite_float(text: str) -> float:
    """A number with a point or an exponent. Raises ValueError for 1e400, which would be written as Infinity."""
    number = float(text)
    if math.isinf(number):
        raise _RefusedError(f"found the number {text[: forms.MOST_SHOWN]}, wanted one within ±1e308", text)
    return number


def _line_of(text: str, part: str) -> int | None:
    """The line of the last occurrence of `part`; None if the text spells it differently (with escapes)."""
    at = text.rfind(part)
    return None if at < 0 else text.count("\n", 0, at) + 1


def _tree(text: str) -> Node | None:
    """The document with the place of every value; None if `parse_json` refuses it: it has half of a surrogate pair."""
    from highbar.documents.json_tree import parse_json  # only for a document that is refused

    try:
        return parse_json(text, "")
    except InputError:
        return None


def _place(tree: Node | None, path: forms.Path) -> tuple[int | None, int | None]:
    """The line and column of the value at `path`, or of the innermost existing value around it."""
    if tree is None:
        return None, None
    node: Node = tree
    for step in path:
        named = ((key.text, value) for key, value in node.entries)
        members: Iterable[tuple[str | int, Node]] = named if isinstance(step, str) else enumerate(node.items)
        following = next((value for name, value in members if name == step), None)
        if following is None:
            break
        node = following
    return node.line, node.column


def path_text(path: forms.Path) -> str:
    """A path as the prefix of a message: `rules[0].level: `; empty for the whole document."""
    steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")
    return f"{steps}: " if steps else ""
