"""The name of a check where none can be, or one that negates a check → how to write what was meant."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from highbar.checks.names import CHECKS, MODIFIERS, OTHER_NAMES, VALUE_CHECKS
from highbar.language.spelling import near_miss, negated

_WRITTEN = frozenset({*CHECKS, *VALUE_CHECKS, *MODIFIERS, *OTHER_NAMES})
_OF_TEXTS = frozenset({"equals", "contains", "contains_all", "starts_with", "matches"})
_LONGEST_EXAMPLE = 60
"""The most characters of a text that an example repeats."""


def negated_hint(key: str, value: Any, checks: Mapping[str, tuple[str, ...]]) -> str | None:
    """How to write what a name such as `not_contains` says; None if it says no such thing."""
    meant = _negated(key)
    if meant not in checks:
        return None
    forbidden = f"{{not: {{{meant}: {in_example(value)}}}}}"
    return (
        f"write `{forbidden}`"
        if checks is VALUE_CHECKS
        else f"write `{example('must_not', key, value)}`, or `{forbidden}`"
    )


def _negated(key: str) -> str | None:
    """The check that a name negates: `contains` if it says none, as `excludes` does."""
    meant = negated(key, _WRITTEN)
    return meant if meant is None else OTHER_NAMES.get(meant, meant or "contains")


def meant_check(name: str) -> str | None:
    """The check or modifier that a name is, or nearly is, or the check of a text that it negates; else None."""
    meant = _plain(name)
    other = None if meant else _negated(name)
    return meant or (other if other in _OF_TEXTS else None)


def _plain(name: str) -> str | None:
    if name[:1] in ("!", "~", "¬"):
        return None
    spelled = name.lower().replace("-", "_")
    meant = spelled if spelled in _WRITTEN else near_miss(spelled, _WRITTEN)
    return meant and OTHER_NAMES.get(meant, meant)


def example(field: str, name: str, value: Any) -> str:
    """A behavior of a scenario as it is written, for somebody who wrote a check or its value in its place."""
    is_forbidden = field == "must_not" or name.lower() == "not" or (_plain(name) is None and _negated(name) is not None)
    check = meant_check(name)
    if check not in CHECKS or check in ("all", "any", "not"):
        check = "contains"
    if isinstance(value, dict) and len(value) == 1:
        check, value = next(iter(value.items()))
    field, behavior = ("must_not", "leaks") if is_forbidden else (field, "says")
    return f"{field}: {{{behavior}: {{{check}: {in_example(value)}}}}}"


def in_example(value: Any) -> str:
    """A text or a number as YAML has a text; anything else is left out."""
    value = str(value) if isinstance(value, int | float | Decimal) and not isinstance(value, bool) else value
    if not isinstance(value, str) or not value.isprintable() or len(value) > _LONGEST_EXAMPLE:
        return "…"
    return value if re.fullmatch(r"[A-Za-z]\w*-[\w-]*\d", value) else json.dumps(value, ensure_ascii=False)
