"""Text that is safe inside SQL: the one place where names and values become part of a query."""

from __future__ import annotations


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


def matches(pattern: str) -> str:
    """SQL: whether an id is the pattern, `*` and `?` standing for any text and any character."""
    if not any(character in pattern for character in "*?"):
        return f"id = {literal(pattern)}"
    escaped = pattern.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"id LIKE {literal(escaped.replace('*', '%').replace('?', '_'))} ESCAPE '\\'"
