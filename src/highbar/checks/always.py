"""Checks that always hold, or never: nothing that an agent does would change what they say."""

from __future__ import annotations

from collections.abc import Iterator

from highbar.checks.tree import All, AnyOf, Called, Check, JsonAt, Not

_Path = tuple[str | int, ...]


def always_faults(check: Check, *, must_not: bool) -> Iterator[tuple[_Path, str]]:
    """Where a combination of checks always holds, or never; that a single one does is found when it is read."""
    if is_constant(check, holds=True):
        yield (), "this check always holds"
    elif is_constant(check, holds=False) and must_not:
        yield (), "this check never holds, so nothing could violate it"
    else:
        for inner in _inside(check):
            yield from always_faults(inner, must_not=False)


def is_constant(check: Check, *, holds: bool) -> bool:
    """Whether a check holds for every answer (or for none), whatever its parts come to."""
    if isinstance(check, Not):
        return is_constant(check.check, holds=not holds)
    if isinstance(check, All | AnyOf):
        if isinstance(check, All) != holds:  # one part decides; two that contradict each other do, too
            parts = _flat(check)
            written = {repr(part) for part in parts}
            opposed = any(isinstance(part, Not) and repr(part.check) in written for part in parts)
            return opposed or any(is_constant(part, holds=holds) for part in parts)
        return all(is_constant(part, holds=holds) for part in check.checks)
    return False


def _flat(check: All | AnyOf) -> list[Check]:
    """The parts of a check, and the parts of those that are combined in the same way."""
    return [
        part
        for inner in check.checks
        for part in (_flat(inner) if isinstance(inner, All | AnyOf) and type(inner) is type(check) else [inner])
    ]


def _inside(check: Check) -> Iterator[Check]:
    if isinstance(check, All | AnyOf):
        yield from check.checks
    elif isinstance(check, Not):
        yield check.check
    elif isinstance(check, JsonAt):
        yield from (at.check for at in check.values)
    elif isinstance(check, Called):
        yield from (at.check for at in check.where)
