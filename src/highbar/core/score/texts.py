"""Values of a row → the text by which scenarios are grouped, chosen and compared."""

from __future__ import annotations

from typing import Any

import msgspec

from highbar.core.rows.row import says
from highbar.language.blank import is_blank


def seen(text: Any) -> str | None:
    """A text of which a reader sees something; None for any other, which describes nothing."""
    return text if text.__class__ is str and not is_blank(text) else None


def scalar_text(value: Any) -> str | None:
    """A value of one of our columns as text."""
    if not says(value):
        return None
    return value if value.__class__ is str else msgspec.json.encode(value).decode()


def raw_text(raw: bytes) -> str | None:
    """A scalar of JSON as text: a number as it is written."""
    if raw[:1] == b'"':
        return str(msgspec.json.decode(raw))
    return None if raw == b"null" else raw.decode()
