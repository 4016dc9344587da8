"""Text that is safe inside SQL: only this module quotes names and values for queries; and patterns of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from highbar.language import blank
from highbar.policy.scenario_ids import is_pattern


def literal(text: str) -> str:
    """`text` as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """`name` as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literals(texts: list[str] | tuple[str, ...]) -> str:
    """A list of SQL strings."""
    return "[" + ", ".join(literal(text) for text in texts) + "]"


def pointer(name: str) -> str:
    """`name` as a JSON pointer to a key, inside an SQL string."""
    return literal("/" + name.replace("~", "~0").replace("/", "~1"))


def matches_sql(pattern: str) -> str:
    """SQL: whether an id matches the pattern, in which `*` is any text and `?` any character."""
    if not is_pattern(pattern):
        return f"id = {literal(pattern)}"
    escaped = pattern.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"id LIKE {literal(escaped.replace('*', '%').replace('?', '_'))} ESCAPE '\\'"


def group_names(by: Sequence[str]) -> str:
    """SQL for the names of the groups that a row is in, one row for each; `by` is SQL for the value of each slice.

    The whole is '', a slice is its place and value. A row without a value for a slice has the name NULL there.
    """
    named = [literal(""), *(f"'{place}:' || {value}" for place, value in enumerate(by))]
    return f"unnest([{', '.join(named)}])" if by else named[0]


def any_match(patterns: Iterable[str]) -> str:
    """SQL: whether an id matches any of the patterns."""
    listed = list(patterns)
    ids = [literal(text) for text in listed if not is_pattern(text)]
    conditions = [f"id IN ({', '.join(ids)})"] if ids else []
    conditions += [matches_sql(text) for text in listed if is_pattern(text)]
    return " OR ".join(conditions) or "false"


TEXT_LIST = literal(r'\[("([^"\\]|\\.)*"(,"([^"\\]|\\.)*")*)?\]')
CLEAN_TEXT = literal('"[^\\x00-\\x1f\\x7f-\\x{9f}\\\\"]*"')
NOT_TEXT = literal(r"^(true|false|-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?|-?(?i:nan|inf|infinity)|[\[{](.|\n)*)$")
CONTROL = literal("[\\x00-\\x1f\\x7f-\\x{9f}]")
SEEN = literal(blank.SEEN)
