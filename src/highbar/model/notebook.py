"""How a notebook shows a verdict or a comparison. The model knows no report: the API says how, when it is loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_SHOWN: dict[str, Callable[[Any], str]] = {}


def show(kind: str, by: Callable[[Any], str]) -> None:
    """Have notebooks show values of a class, by its name, as the HTML that `by` makes of them."""
    _SHOWN[kind] = by


def shown(value: object) -> str | None:
    """The HTML of a value; None if nothing said how it is shown, and notebooks then fall back to its text."""
    by = _SHOWN.get(type(value).__name__)
    return None if by is None else by(value)
