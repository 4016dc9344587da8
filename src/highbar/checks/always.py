"""Finds checks that always hold, or never, whatever the agent does."""

from __future__ import annotations

from collections.abc import Iterator

from highbar.checks.tree import All, AnyOf, Called, Check, JsonAt, Not

_Path = tuple[str | int, ...]


def always_faults(check: Check, *, must_not: bool) -> Iterator[tuple[_Path, str]]:
    """The places where a combination of checks always holds, or never; the readers refuse single checks that do."""
    if is_constant(check, holds=True):
        yield (), "this check always holds"
    elif is_constant(check, holds=False) and must_not:
        yield (), "this check never holds, so nothing could violate it"
    else:
        for inner in _inside(check):
            yield from always_faults(inner, must_not=False)


def is_constant(check: Check, *, holds: bool) -> bool:
    """Whether a check holds for every answer (or, with `holds=False`, for none), whatever its parts find."""
    if isinstance(check, Not):
        return is_constant(check.check, holds=not holds)
    if isinstance(check, All | AnyOf):
        if isinstance(check, All) != holds:  # one constant part is enough, and so are two that contradict each other
            parts = _flat(check)
            written = {repr(part) for part in parts}
            opposed = any(isinstance(part, Not) and repr(part.check) in written for part in parts)
            return opposed or any(is_constant(part, holds=holds) for part in parts)
        return all(is_constant(part, holds=holds) for part in check.checks)
    return False


def _flat(check: All | AnyOf) -> list[Check]:
    """The parts of a check; a part that is combined in the same way is replaced by its own parts."""
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
