"""Reads which rows are judged, from the block `select` or from `--where`."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from highbar.columns import COLUMN_NAMES
from highbar.errors import InputError, Problem
from highbar.language.spelling import near_miss
from highbar.model import Policy, Where
from highbar.policy.cursor import Cursor

SELECTABLE = ("agent_version", "suite", "judge")
"""The built-in columns that can select rows. Tags and text columns of the user's own can too."""
_WANTED = f"wanted {', '.join(SELECTABLE)}, tags.NAME, or a text column of your own"


def read_select(cursor: Cursor, allowed: Collection[str]) -> Where:
    """`{column: value or values}`, sorted by column."""
    entries = cursor.entries(keep_description=True)
    if not entries and cursor.is_kind("mapping"):
        cursor.refuse("policy.empty-value", "found no column", "leave it out to judge every row")
    found: list[tuple[str, tuple[str, ...]]] = []
    for column, entry in entries.items():
        fault = _select_fault(column, allowed)
        if fault:
            entry.refuse(fault.code, fault.message, fault.hint, at=cursor.key_place(column))
        elif entry.is_kind("list"):
            found.append((column, tuple(text for text, _ in entry.texts())))
            if not entry.node.items:
                entry.refuse("policy.empty-value", "found no value", f"leave '{column}' out to judge every row")
        elif (text := entry.text()) is not None:
            found.append((column, (text,)))
    return tuple(sorted(found))


def read_where_options(texts: Sequence[str], allowed: Collection[str] = ()) -> Where:
    """The rows that all `--where COLUMN=VALUE` options select: all columns must match, each with any of its values.

    >>> read_where_options(["tags.model=a", "tags.model=b"])
    (('tags.model', ('a', 'b')),)
    """
    found: dict[str, list[str]] = {}
    problems: list[Problem] = []
    for text in texts:
        column, equals, value = text.partition("=")
        fault = _select_fault(column, allowed) if equals else None
        if not equals or not column or not value:
            problems.append(
                Problem("option.bad-value", f"--where {text}: wanted COLUMN=VALUE", hint="--where tags.model=NAME")
            )
        elif fault:
            problems.append(Problem(fault.code, f"--where {text}: {fault.message}", hint=fault.hint))
        elif value in found.setdefault(column, []):
            problems.append(Problem("option.twice", f"--where {text}: given twice"))
        else:
            found[column].append(value)
    if problems:
        raise InputError(*problems)
    return tuple(sorted((column, tuple(values)) for column, values in found.items()))


def with_rows(policy: Policy, where: Sequence[str]) -> Policy:
    """The policy for the rows that `--where` selects. Raises InputError if the policy has a `select` of its own."""
    if policy.select:
        message = f"--where: the policy already selects the rows to judge: {say_select(policy.select)}"
        raise InputError(
            Problem("option.conflict", message, policy.file, hint="remove --where, or select from the policy")
        )
    return replace(policy, select=read_where_options(where, policy.allow_columns))


def _select_fault(column: str, allowed: Collection[str]) -> Problem | None:
    """The problem with selecting rows by a column; None if it is allowed."""
    if column in SELECTABLE or (column.startswith("tags.") and column != "tags."):
        return None
    if column in COLUMN_NAMES or column == "tags.":
        hint = "name one of them: tags.model" if column in ("tags", "tags.") else None
        if column in ("category", "capability"):
            rule = f"{{ metric: pass_rate, where: {{ {column}: NAME }}, threshold: 80% }}"
            hint = f"a rule can be about a part: rules: [{rule}]"
        return Problem("select.column", f"rows cannot be chosen by '{column}', {_WANTED}", hint=hint)
    name = column.partition(".")[0]
    missed = None if column in allowed or name in allowed else near_miss(name, COLUMN_NAMES)
    if missed:
        return Problem(
            "policy.misspelled",
            f"'{column}' is nearly the column '{missed}'",
            hint="if it is your own, add it to allow_columns",
        )
    return None


def say_select(where: Where) -> str:
    """In words: `tags.model a or b and suite nightly`."""
    return " and ".join(f"{column} {' or '.join(values)}" for column, values in where)
