"""Text that is safe inside SQL: the one place where names and values become part of a query."""

from __future__ import annotations

from collections.abc import Iterable


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


def is_pattern(text: str) -> bool:
    """Whether a demand on ids stands for more than one id."""
    return any(character in text for character in "*?")


def matches(pattern: str) -> str:
    """SQL: whether an id is the pattern, `*` and `?` standing for any text and any character."""
    if not is_pattern(pattern):
        return f"id = {literal(pattern)}"
    escaped = pattern.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"id LIKE {literal(escaped.replace('*', '%').replace('?', '_'))} ESCAPE '\\'"


def any_match(patterns: Iterable[str]) -> str:
    """SQL: whether an id is one of the patterns."""
    listed = list(patterns)
    ids = [literal(text) for text in listed if not is_pattern(text)]
    conditions = [f"id IN ({', '.join(ids)})"] if ids else []
    conditions += [matches(text) for text in listed if is_pattern(text)]
    return " OR ".join(conditions) or "false"
