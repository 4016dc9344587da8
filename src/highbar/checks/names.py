"""The names of all checks and modifiers: which modifier belongs to which check."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from highbar.columns import MEASURED

LIMITS = tuple(column.name for column in MEASURED if column.better == "lower")
"""Checks that limit a measured column and have its name."""

_TEXT = ("exact", "reply", "reasoning")
_EQUAL = ("exact", "any_case", "reply", "reasoning")
_PART = ("exact", "any_case", "part", "reply", "reasoning")
CHECKS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "equals": _EQUAL,
        "contains": _PART,
        "contains_all": _PART,
        "starts_with": _PART,
        "matches": _TEXT,
        "words": ("reply",),
        "number": ("within", "last", "reply", "reasoning"),
        "is_json": ("whole", "reply"),
        "json": ("whole", "reply", "reasoning"),
        "calls": ("arguments", "exact", "where", "times", "every", "not_arguments"),
        "calls_in_order": (),
        "calls_only": (),
        "state": (),
        "context": (),
        **dict.fromkeys(LIMITS, ()),
        "python": (),
        "judge": (),
        "all": (),
        "any": (),
        "not": (),
    }
)
"""Every check of an answer, with the modifiers that it takes."""
VALUE_CHECKS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "equals": ("exact",),
        "same_items": ("exact",),
        "at_least": (),
        "at_most": (),
        "contains": ("exact", "part"),
        "contains_all": ("exact", "part"),
        "starts_with": ("exact", "part"),
        "matches": ("exact",),
        "words": (),
        "number": ("within", "last"),
        "all": (),
        "any": (),
        "not": (),
    }
)
"""Every check of a JSON value at a pointer, with the modifiers that it takes."""
MODIFIERS = frozenset(name for taken in (*CHECKS.values(), *VALUE_CHECKS.values()) for name in taken)
OTHER_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "icontains": "contains",
        "contains_any": "contains",
        "icontains_any": "contains",
        "icontains_all": "contains_all",
        "includes": "contains",
        "regex": "matches",
        "pattern": "matches",
        "llm_rubric": "judge",
        "statement": "judge",
        "exact_match": "equals",
        "is": "equals",
        "tool": "calls",
        "tool_call": "calls",
        "tool_calls": "calls",
        "json_schema": "is_json",
        "or": "any",
        "and": "all",
        "min": "at_least",
        "max": "at_most",
    }
)
"""What other tools call them, for hints."""
