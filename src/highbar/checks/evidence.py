"""Evidence in the form that a row stores: short, but still a part of what the agent said."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

from highbar.checks.limits import MOST_FOUND
from highbar.checks.values import Unreadable, kind, number_text, refuse_depth
from highbar.model.answer import ToolCall


def cut_evidence(text: str) -> str:
    """The first MOST_FOUND characters of a text."""
    return text[:MOST_FOUND]


def cut_value(value: Any) -> Any:
    """A JSON value; for a large one, the beginning of its JSON text."""
    if isinstance(value, str):
        return cut_evidence(value)
    # By way of JSON text, so that a row stores plain values: a Decimal becomes a number, NaN becomes text.
    text = as_json(value)
    try:
        return json.loads(text, parse_constant=str) if len(text) <= MOST_FOUND else cut_evidence(text)
    except ValueError:
        return cut_evidence(text)


def as_json(value: Any) -> str:
    """A value as JSON text, or a description if JSON cannot express it."""
    try:
        refuse_depth(value)
        return json.dumps(value, ensure_ascii=False, default=_plain)
    except (Unreadable, TypeError, ValueError):
        return number_text(value) if isinstance(value, int) else f"a {type(value).__name__}"


def _plain(value: Any) -> Any:
    """A Decimal as the nearest int or float, for the JSON encoder; as text if it is too large; other values as text."""
    if isinstance(value, Decimal) and math.isfinite(float(value)):
        return int(value) if value == int(value) else float(value)
    return str(value)


def value_words(value: Any) -> str:
    """A value with its kind, so that a reader sees that the text "99" is not the number 99."""
    text = as_json(value)[:200]
    return text if value is None else f"the {kind(value)} {text}"


def call(found: ToolCall) -> dict[str, Any]:
    """A tool call, as a row shows it."""
    return {"name": cut_evidence(found.name), "arguments": cut_value(found.arguments)}
