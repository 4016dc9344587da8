"""Finds the paths of a mapping that no record of a file has: a misspelled path must not look like an absent value.

A record may lack a field, and then its path gives nothing. But if no record has the field, the path may be wrong, and
an error, a violation or a verdict may be in another field.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from msgspec import Struct, field

from highbar.columns import JUDGING
from highbar.errors import InputError, Problem
from highbar.importers.limits import MOST_NAMED
from highbar.importers.record import shown
from highbar.importers.report import Report
from highbar.importers.scopes import Scope, reaches, value_at
from highbar.model.mapping import Check, Feed, Path, RowMap, When

Passes = Callable[[Check, object, Scope], bool]
"""Whether a value passes a check of the mapping."""


class _WatchedPath(Struct):
    """A path of the mapping, for a column or in a condition, and what the records have had there so far."""

    path: Path
    column: str
    check: Check | None = None  # the check of the value
    condition: bool = False  # whether it is in a `when` or a `where`
    inside: Path | None = None  # the list in whose elements it starts
    optional: bool = False  # whether the mapping allows that it is absent
    looked: bool = False
    reached: bool = False
    equal: bool = False
    values: list[str] = field(default_factory=list)

    @property
    def is_found(self) -> bool:
        return self.reached and (self.equal or self.check is None or self.check.operator != "is")


class PathWatch:
    """Watches for the paths of a mapping that no record has had so far."""

    def __init__(self, mapping: RowMap, *, strict: bool = False) -> None:
        self._strict = strict  # whether a column that judges nothing is a problem too
        self._all = list(_mapping_paths(mapping))
        self._open = [place for place in self._all if place.path.base not in ("key", "number", "repeat")]

    def look(self, scope: Scope, passes: Passes) -> None:
        """Look in one record for the paths that no record has had so far."""
        if not self._open:
            return
        for place in self._open:
            for inner in _scopes(place, scope):
                _look_at(place, inner, passes)
        self._open = [place for place in self._open if not place.is_found]

    def report_unused(self, report: Report) -> None:
        """Refuse the file, or warn, if no record has a path. Call it at the end of a file that has records."""
        problems: list[Problem] = []
        for place in self._open:
            if not place.looked or place.optional:
                continue
            if place.reached:
                found = _missing_value(place)
            elif not place.condition and place.inside is None and self._given_by_other(place.column):
                continue
            else:
                found = _missing_path(place)
            blocks = not place.reached if place.condition else self._strict or place.column in JUDGING
            # For any other column a warning is enough: the rules that need it are then undefined, and never pass.
            if blocks:
                problems.append(found)
            else:
                report.warn(f"{found.message}; {found.hint}" if found.hint else found.message)
        if problems:
            raise InputError(*problems)

    def _given_by_other(self, column: str) -> bool:
        """Whether any feed of the column gives a value."""
        feeds = (one for one in self._all if one.column == column and not one.condition and one.inside is None)
        return any(one.reached or one.optional for one in feeds)


def _scopes(place: _WatchedPath, scope: Scope) -> Iterator[Scope]:
    if place.inside is None:
        yield scope
        return
    found = value_at(place.inside, scope)
    for number, element in enumerate(found if isinstance(found, list) else ()):
        yield scope.inside(element, number)


def _look_at(place: _WatchedPath, scope: Scope, passes: Passes) -> None:
    place.looked = True
    place.reached = place.reached or reaches(place.path, scope)
    if place.check is None or place.check.operator != "is" or place.equal:
        return
    value = value_at(place.path, scope)
    place.equal = passes(place.check, value, scope)
    text = shown(value)
    if value is not None and text not in place.values and len(place.values) < MOST_NAMED:
        place.values.append(text)


def _missing_path(place: _WatchedPath) -> Problem:
    what = "a condition" if place.condition else "the mapping"
    message = f"no record has {place.path.text}, by which {what} decides {place.column}"
    if place.condition:
        return Problem(
            "map.path-not-found",
            message,
            hint=f"correct the path; if it may be absent: {{ {place.path.text}: {{ exists: … }} }}",
        )
    return Problem(
        "map.path-not-found",
        message,
        hint=f"correct the path; if it may be absent: {place.column}: {{ path: …, default: … }}",
    )


def _missing_value(place: _WatchedPath) -> Problem:
    wanted = " or ".join(shown(value) for value in place.check.values) if place.check else ""
    found = ", ".join(place.values) or "no value"
    message = f"no record has {wanted} at {place.path.text}, which decides {place.column}"
    return Problem("map.path-not-found", message, hint=f"found {found}")


def _mapping_paths(mapping: RowMap) -> Iterator[_WatchedPath]:
    for column, feeds in mapping.columns:
        for feed in feeds:
            yield from _feed_paths(feed, column, None, constant=any(one.path is None and not one.when for one in feeds))
    yield from _condition_paths(mapping.where, "which records count", None)


def _feed_paths(feed: Feed, column: str, inside: Path | None, *, constant: bool = False) -> Iterator[_WatchedPath]:
    if feed.path is not None and inside is None:
        exists = feed.check is not None and feed.check.operator == "exists"
        optional = constant or exists or feed.default is not None
        yield _WatchedPath(feed.path, column, feed.check, inside=inside, optional=optional)
    yield from _condition_paths(feed.when, column, inside)
    if feed.each is not None and inside is None:
        yield from _condition_paths(feed.where, column, feed.path)
        inner: Collection[Feed] = [feed.each] if isinstance(feed.each, Feed) else [part for _, part in feed.each]
        for part in inner:
            if part.path is not None:
                exists = part.check is not None and part.check.operator == "exists"
                yield _WatchedPath(
                    part.path, column, None, inside=feed.path, optional=exists or part.default is not None
                )


def _condition_paths(when: When | None, column: str, inside: Path | None) -> Iterator[_WatchedPath]:
    for path, check in when.checks if when else ():
        yield _WatchedPath(path, column, check, condition=True, inside=inside, optional=check.operator == "exists")
