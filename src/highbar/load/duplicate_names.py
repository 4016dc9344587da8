"""Names of keys, columns or fields → what to say about one that occurs twice; case makes no difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from highbar.errors import InputError, Problem
from highbar.load import hints


def first_duplicate(names: Sequence[str]) -> tuple[str, str] | None:
    """The first name that repeats an earlier one, after that one; None if all differ."""
    seen: dict[str, str] = {}
    for name in names:
        earlier = seen.get(name.casefold())
        if earlier is not None:
            return earlier, name
        seen[name.casefold()] = name
    return None


def duplicate_message(names: Sequence[str], kind: str = "key") -> str | None:
    """The message about names that are the same; None if all differ. `kind` is what they are the names of."""
    found = first_duplicate(names)
    if found is None:
        return None
    earlier, name = found
    return (
        f"duplicate {kind} {name!r}" if earlier == name else f"the {kind}s {earlier!r} and {name!r} differ only in case"
    )


def refuse_duplicate_columns(names: Sequence[str], file: str | None = None, line: int | None = None) -> None:
    """Refuse columns, or fields of one column, that have the same name."""
    message = duplicate_message(names, "column")
    if message:
        raise InputError(Problem("row.duplicate-key", message, file=file, line=line, hint=hints.DUPLICATE))


def refuse_duplicate_fields(rows: Iterator[tuple[str, int | None]], file: str | None = None) -> str:
    """Refuse fields of one level of a Parquet file that have the same name, which DuckDB would rename.

    Consumes one field and those below it from `rows`, which have names and numbers of children in depth-first order,
    and returns the field's name.
    """
    name, children = next(rows)
    refuse_duplicate_columns([refuse_duplicate_fields(rows, file) for _ in range(children or 0)], file)
    return name
