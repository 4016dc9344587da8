"""A file that people write, as a tree of nodes with their places and raw texts, in YAML and JSON alike.

Nothing is converted here: `1.0` and `1` stay different texts, so that a threshold can be read exactly.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from msgspec import Struct

from highbar.documents.limits import MOST_BITS, MOST_EXPONENT, MOST_NESTING
from highbar.errors import InputError, Problem
from highbar.language.exact import write_decimal
from highbar.model import Place

Kind = Literal["mapping", "list", "text", "number", "boolean", "null"]

KIND_NAMES: dict[Kind, str] = {
    "mapping": "a mapping",
    "list": "a list",
    "text": "text",
    "number": "a number",
    "boolean": "true or false",
    "null": "nothing",
}


class Node(Struct, frozen=True):
    """One value of such a file: its kind, its text if it is a scalar, and where it begins."""

    kind: Kind
    text: str = ""
    items: tuple[Node, ...] = ()
    entries: tuple[tuple[Node, Node], ...] = ()
    line: int | None = None
    column: int | None = None
    text_at: tuple[int, int] | None = None
    """Line and column of the text's first character; None if places in the text cannot be mapped to the file."""
    block: bool = False
    """Whether YAML read it as a block of text, as it does with anything after a `>` or `|`."""

    def place(self, file: str | None, line: int = 1, column: int = 1) -> Place:
        """The place in `file` of a character of this node's text; the node's own place if `text_at` is None."""
        if self.text_at is None or (line, column) == (1, 1):
            return Place(file, self.line, self.column)
        first_line, first_column = self.text_at
        return Place(file, first_line + line - 1, first_column + column - 1)

    def place_at(self, file: str | None, offset: int) -> Place:
        """The place in `file` of the character at `offset` in this node's text."""
        return self.place(file, self.text.count("\n", 0, offset) + 1, offset - self.text.rfind("\n", 0, offset))


_NULL = re.compile(r"|~|null|Null|NULL")
_BOOLEAN = re.compile(r"true|True|TRUE|false|False|FALSE")
_NUMBER = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)


def plain_kind(text: str) -> Kind:
    """The kind of an unquoted scalar by YAML's core schema, in which `yes`, `no`, `on` and `12:30` are text."""
    if _NULL.fullmatch(text):
        return "null"
    if _BOOLEAN.fullmatch(text):
        return "boolean"
    return "number" if _NUMBER.fullmatch(text) else "text"


def from_values(value: object, depth: int = 0) -> Node:
    """The tree of a policy given as Python values. Raises InputError for a value that no file can have."""
    if depth > MOST_NESTING:
        raise InputError(Problem(f"the policy is nested deeper than {MOST_NESTING}"))
    if isinstance(value, Mapping):
        return Node(
            "mapping", entries=tuple((_key(key), from_values(inner, depth + 1)) for key, inner in value.items())
        )
    if isinstance(value, list | tuple):
        return Node("list", items=tuple(from_values(inner, depth + 1) for inner in value))
    return _scalar(value)


def _key(key: object) -> Node:
    if not isinstance(key, str):
        raise InputError(Problem(f"the key {key!r} is not text", hint="put it in quotes"))
    return Node("text", _clean(key))


def _scalar(value: object) -> Node:
    if value is None:
        return Node("null")
    if isinstance(value, bool):
        return Node("boolean", "true" if value else "false")
    if isinstance(value, str):
        return Node("text", _clean(value))
    if isinstance(value, int | float | Decimal | Fraction):
        return Node("number", _digits(value))
    wanted = "wanted text, numbers, true or false, lists and dicts"
    raise InputError(Problem(f"found a {type(value).__name__} in the policy, {wanted}"))


def _digits(value: float | Decimal | Fraction) -> str:
    """The digits without an exponent, which only a number above MOST_EXPONENT keeps. Refuses very long integers."""
    if isinstance(value, Fraction):
        return write_decimal(value)
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise InputError(Problem("a number in the policy has too many digits"))
    # `float.__repr__`, because a subclass may have another repr: it is the shortest text that reads back as this float.
    number = Decimal(float.__repr__(value)) if isinstance(value, float) else Decimal(value)
    if not number.is_finite() or abs(number.adjusted()) > MOST_EXPONENT:
        return str(number)
    return format(number, "f")


def _clean(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(Problem(f"the text {text!a} is not Unicode: it has half of a surrogate pair")) from None
    return text
