"""Texts that contain `{{name}}` → the texts that promptfoo would make from them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from highbar.documents.problems import ValueCursor, shown

_TAG = re.compile(r"\{\{|\{%|\{#")
_NAME = re.compile(r"\{\{[ \t\r\n\xa0]*([A-Za-z_][A-Za-z0-9_]*)[ \t\r\n\xa0]*\}\}")
_WORDS = frozenset({"true", "false", "none", "null", "not", "and", "or", "in", "is", "if", "else"})
"""Words of the template language itself."""
_LARGEST_WHOLE = 2**53
"""JavaScript represents whole numbers exactly up to this."""


def is_template(text: str) -> bool:
    """Whether the text contains the beginning of a template tag."""
    return _TAG.search(text) is not None


def fill_template(
    text: str, variables: Mapping[str, Any], place: ValueCursor, test: ValueCursor | None = None
) -> str | None:
    """The text with every `{{name}}` replaced by that variable; None after noting a problem, such as any other tag.

    `place` is that of the template, `test` that of the test with the variables: many tests may share a template.

    >>> fill_template("Say {{ word }}!", {"word": "hi"}, ValueCursor(problems=[]))
    'Say hi!'
    """
    parts: list[str] = []
    at = 0
    while (tag := _TAG.search(text, at)) is not None:
        name = _NAME.match(text, tag.start())
        if name is None or name[1] in _WORDS:
            hint = "templates are filled in by name only, as in {{name}}: no filters, no tags, no expressions"
            place.refuse(
                "suite.no-counterpart", f"found {shown(text[tag.start() : tag.start() + 40])} in a template", hint
            )
            return None
        value = _value(name[1], variables, place if test is None else test.at("vars"))
        if value is None:
            return None
        parts += [text[at : tag.start()], value]
        at = name.end()
    return "".join([*parts, text[at:]])


def _value(name: str, variables: Mapping[str, Any], place: ValueCursor) -> str | None:
    if name not in variables:
        known = ", ".join(list(variables)[:10])
        hint = f"the variables are {known}" if known else "there are no variables"
        place.refuse(
            "suite.no-counterpart", f"there is no variable '{name[:60]}': promptfoo would put nothing there", hint
        )
        return None
    value = variables[name]
    text = js_text(value)
    if text is None:
        place.refuse(
            "suite.no-counterpart",
            f"the variable '{name[:60]}' is {shown(value)}, which has no text of its own",
            "write it as text",
        )
    return text


def js_text(value: Any) -> str | None:
    """Text, a number or a boolean as JavaScript writes it; None for other values, and for numbers that may differ.

    >>> js_text(Decimal("1.10")), js_text(True), js_text(7), js_text(2**60), js_text(None)
    ('1.1', 'true', '7', None, None)
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, int | Decimal) or not -_LARGEST_WHOLE <= value <= _LARGEST_WHOLE:
        return None
    if value == int(value):
        return str(int(value))
    text = repr(float(value))
    return None if "e" in text else text


def js_value(value: Any) -> Any:
    """A value as in a JSON file that promptfoo wrote, with the numbers of JavaScript."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() and abs(value) <= _LARGEST_WHOLE else float(value)
    if isinstance(value, dict):
        return {key: js_value(inner) for key, inner in value.items()}
    return [js_value(inner) for inner in value] if isinstance(value, list) else value
