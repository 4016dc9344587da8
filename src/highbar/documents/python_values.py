"""Python values in, what a file with them would give out: a tree for a policy, plain values for a suite.

In a tree, numbers become text, so that a threshold can be read exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from highbar.documents.limits import MOST_BITS, MOST_EXPONENT, MOST_NESTING
from highbar.documents.tree import Node
from highbar.errors import InputError, Problem
from highbar.language.exact import write_decimal


def from_values(value: object, depth: int = 0) -> Node:
    """The tree of a policy given as Python values. Raises InputError for a value that no file can have."""
    if depth > MOST_NESTING:
        raise InputError(Problem("file.too-deep", f"the policy is nested deeper than {MOST_NESTING}"))
    if isinstance(value, Mapping):
        return Node(
            "mapping", entries=tuple((_key(key), from_values(inner, depth + 1)) for key, inner in value.items())
        )
    if isinstance(value, list | tuple):
        return Node("list", items=tuple(from_values(inner, depth + 1) for inner in value))
    return _scalar(value)


def _key(key: object) -> Node:
    if not isinstance(key, str):
        raise InputError(Problem("file.key-not-text", f"the key {key!r} is not text", hint="put it in quotes"))
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
    raise InputError(Problem("policy.wrong-type", f"found a {type(value).__name__} in the policy, {wanted}"))


def _digits(value: float | Decimal | Fraction) -> str:
    """The digits without an exponent, which only a number above MOST_EXPONENT keeps. Refuses very long integers."""
    if isinstance(value, Fraction):
        return write_decimal(value)
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise InputError(Problem("file.too-many-digits", "a number in the policy has too many digits"))
    # `float.__repr__`, because a subclass may have another repr: it is the shortest text that reads back as this float.
    number = Decimal(float.__repr__(value)) if isinstance(value, float) else Decimal(value)
    if not number.is_finite() or abs(number.adjusted()) > MOST_EXPONENT:
        return str(number)
    return format(number, "f")


def _clean(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(
            Problem("file.bad-character", f"the text {text!a} is not Unicode: it has half of a surrogate pair")
        ) from None
    return text


def plain_suite(value: Any, depth: int = 0) -> Any:
    """Lists for tuples, dicts for mappings, exact numbers for floats. Raises InputError for what a file cannot hold."""
    if depth > MOST_NESTING + 1:
        raise InputError(Problem("file.too-deep", f"the suite is nested deeper than {MOST_NESTING}"))
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise InputError(Problem("file.key-not-text", "a key of the suite is not text", hint="put it in quotes"))
        return {key: plain_suite(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain_suite(inner, depth + 1) for inner in value]
    if isinstance(value, float):
        number = Decimal(float.__repr__(value))
        if not number.is_finite():
            raise InputError(Problem("suite.wrong-type", f"the suite has {value}, which is not a number"))
        return number
    if value is None or isinstance(value, str | bool | int | Decimal):
        return value
    raise InputError(
        Problem(
            "suite.wrong-type", f"found a {type(value).__name__} in the suite, wanted text, numbers, lists and dicts"
        )
    )
