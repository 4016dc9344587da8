"""What rows say otherwise than the suite, noted while they are read."""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from highbar.core.rows.row import says
from highbar.core.score.limits import MOST_OF_SUITE
from highbar.core.score.trial import marks_of, violations_of

_LISTS = ("expected_behaviors", "must_not")


class SuiteDifferences:
    """What rows say otherwise than the suite, noted while they are read; each once."""

    def __init__(self, suite: Mapping[str, Mapping[str, str]]) -> None:
        self._suite = suite
        self.columns = tuple(dict.fromkeys(column for fields in suite.values() for column in fields))
        self.by_column: dict[str, set[tuple[str, str]]] = {}
        self.forbidden: set[tuple[str, str]] = set()

    def note(self, row: Any, id_: str, text_of: Callable[[Any, str], str | None]) -> None:
        """Compare a row with its scenario of the suite; `text_of` gives the text of a column."""
        fields = self._suite.get(id_)
        if fields is None:
            return
        for column, wanted in fields.items():
            if column == "answer":
                continue
            if column in _LISTS:
                value = getattr(row, column)
                if says(value):
                    missing = set(json.loads(wanted)).difference(marks_of(value).every)
                    self.by_column.setdefault(column, set()).update((id_, name) for name in missing)
            else:
                has = text_of(row, column)
                if has is not None and has != wanted and not (_is_number(row, column, has) and _equal(has, wanted)):
                    self.by_column.setdefault(column, set()).add((id_, has))
        if "must_not" in fields and row.behaviors:
            self._note_forbidden(row, id_, json.loads(fields["must_not"]))

    def _note_forbidden(self, row: Any, id_: str, must_nots: Iterable[str]) -> None:
        """Behaviors that were observed although the suite forbids them, and that the row counts as no violation."""
        seen = set(marks_of(row.behaviors).true).intersection(must_nots)
        counted = row.violations.__class__ is int and row.violations > 0
        if seen and not counted:
            self.forbidden.update((id_, name) for name in seen.difference(violations_of(row)))

    def words(self) -> tuple[str, ...]:
        """The first differences of each column, in words."""
        found: list[str] = []
        for column in self.columns:
            first = heapq.nsmallest(MOST_OF_SUITE, self.by_column.get(column, ()))
            if column in _LISTS:
                found += [f"{id_}: {column} lacks {name!r} of the suite" for id_, name in first]
            else:
                found += [
                    f"{id_}: {column} is {has!r} in the results and {self._suite[id_][column]!r} in the suite"
                    for id_, has in first
                ]
        return tuple(found)

    def forbidden_words(self) -> tuple[str, ...]:
        """The first behaviors that the suite forbids and that were observed, in words."""
        return tuple(
            f"{id_}: {name!r} was observed, which the suite's must_not forbids"
            for id_, name in heapq.nsmallest(MOST_OF_SUITE, self.forbidden)
        )


def _is_number(row: Any, column: str, has: str) -> bool:
    """Whether the results have a number in a column; a tag is always text, and text is never read as a number."""
    if column.startswith("tags."):
        return False
    return getattr(row, column, None).__class__ is not str and has not in ("true", "false")


def _equal(has: str, wanted: str) -> bool:
    """Whether two texts are the same number: 1 in the results and "1.0" in the suite."""
    try:
        return float(has) == float(wanted)
    except ValueError:
        return False
