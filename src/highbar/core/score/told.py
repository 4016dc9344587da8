"""A row → what it says in the columns that judge it, in as few forms as their meaning allows.

Rows that say the same are scored once: this is a key to look their facts up by.
"""

from __future__ import annotations

from types import NoneType
from typing import Any

from msgspec import UNSET, UnsetType

from highbar.core.rows.row import says
from highbar.core.score.trial import marks_of
from highbar.language.blank import is_blank


def told_by(row: Any, positive: str | None) -> tuple[Any, ...]:
    """What a row says in the columns that judge it, in as few forms as their meaning allows."""
    wanted, seen_, must_nots, violations = row.expected_behaviors, row.behaviors, row.must_not, row.violations
    if _is_plain(seen_) and _is_plain(must_nots):
        names = set(wanted) if wanted else ()
        how: tuple[Any, ...] = (
            len(names),
            len(names.intersection(seen_)) if names and seen_ else 0,
            seen_.__class__,
            bool(must_nots),
            bool(must_nots and seen_ and not set(must_nots).isdisjoint(seen_)),
        )
    else:
        how = (frozenset(wanted or ()), _marked(seen_), _marked(must_nots))
    expected, predicted = row.expected, row.predicted
    return (
        *how,
        expected if expected.__class__ is not str else expected == positive,
        expected.__class__,
        predicted if predicted.__class__ is not str else predicted == positive,
        predicted.__class__,
        expected == predicted,
        *_judged_by(row, violations),
    )


def _judged_by(row: Any, violations: Any) -> tuple[Any, ...]:
    output, raw = row.output, row.highbar_run
    return (
        violations.__class__ if violations.__class__ is not NoneType else UnsetType,
        bool(violations),
        row.passed.__class__, row.passed is True,
        row.correct.__class__, row.correct is True,
        row.outcome,
        row.answer_checked is True,
        bool(row.error),
        bool(row.unjudged),
        None if output.__class__ is not str else not is_blank(output),
        raw is not UNSET and bytes(raw) != b"null",
    )  # fmt: skip


def _is_plain(names: Any) -> bool:
    """Whether names have no marks."""
    return (
        not names or (names.__class__ is list and names[0].__class__ is str) if names.__class__ is not dict else False
    )


def _marked(entries: Any) -> tuple[Any, ...]:
    marks = marks_of(entries)
    return (marks.plain, says(entries), *map(frozenset, marks[:4]))
