"""What promptfoo asserted of one result: the assertions that its test declares, and the components of its grade.

A component that does not say what it is takes the place that it stands at, if there are as many as were declared, and
may have been a must-not otherwise.
"""

from __future__ import annotations

import hashlib
import json as json_text
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from highbar.importers.naming import as_text
from highbar.importers.record import Record, is_number

RED_TEAM = "promptfoo:redteam:"
_UNKNOWN = "assertion"
_SET = "assert-set"
_LONGEST_NAME = 60
_FILLED_IN = ("{{", "{%", "file://", "package:")

_Assertion = dict[str, Any]
_Key = tuple[str, str | None, str]


class Checked(NamedTuple):
    """One assertion that was checked."""

    kind: str
    name: str
    label: str  # its metric or its type: what `judged_by` may call it, whatever it looks for
    held: bool
    score: float | None
    broken: str | None  # why its judge could not say


def declared_in(assertions: object) -> Iterator[_Assertion]:
    """The assertions that a test declares, each set followed by its parts."""
    for assertion in assertions if isinstance(assertions, list) else ():
        declared = as_object(assertion)
        yield declared
        if declared.get("type") == _SET:
            yield from declared_in(declared.get("assert"))


def each_checked(grading: dict[str, Any], declared: list[_Assertion], place: str) -> Iterator[Checked]:
    """Each assertion that was checked. A part of a set stands in the set and beside it; both count."""
    for component, assertion in _placed(grading, declared, place):
        yield from _parts_of(component, assertion, place)


def unchecked(grading: dict[str, Any], declared: list[_Assertion], place: str) -> list[_Assertion]:
    """The declared assertions that no component is about, each component standing for one of them.

    One that is exactly what another assertion declares stands for that one alone. A value may differ only if promptfoo
    fills it in. What does not say what it is may be any.
    """
    if not declared:
        return []
    placed = list(_placed(grading, declared, place))
    if [component.get("assertion") for component, _ in placed] == declared:
        return []
    exact = Counter(_key(one) for one in declared)
    found = Counter(_key(one) for one in _standing(placed, declared))
    left = []
    for one in declared:
        if found[_key(one)]:
            found[_key(one)] -= 1
        else:
            left.append(one)
    anything = found[_key({})]
    alike = Counter(key[:2] for key in found.elements() if key not in exact)
    missing = []
    for one in left:
        if alike[_key(one)[:2]] and _is_filled_in(one):
            alike[_key(one)[:2]] -= 1
        elif anything:
            anything -= 1
        else:
            missing.append(one)
    return missing


def _standing(placed: list[tuple[dict[str, Any], _Assertion]], declared: list[_Assertion]) -> Iterator[_Assertion]:
    """What the components say they are, the parts of a set once."""
    has_sets = any(kind_of(one) == _SET for one in declared)
    beside: Counter[_Key] = Counter()
    for component, assertion in placed:
        own = as_object(component.get("assertion"))
        if beside[_key(own)]:
            beside[_key(own)] -= 1
            continue
        inner = component.get("componentResults")
        parts = [as_object(as_object(one).get("assertion")) for one in inner] if isinstance(inner, list) else []
        beside.update(_key(part) for part in parts)
        if kind_of(own) != _UNKNOWN:
            yield own
        elif isinstance(inner, list) and has_sets:
            yield {"type": _SET}
            yield from parts
        else:
            yield assertion


def _key(assertion: _Assertion) -> _Key:
    """What tells an assertion from others; of a set only that it is one, since its component may say no more."""
    kind = kind_of(assertion)
    if kind == _SET:
        return kind, None, ""
    value = assertion.get("value")
    return kind, as_text(assertion.get("metric")), value if isinstance(value, str) else digest(value)


def _is_filled_in(assertion: _Assertion) -> bool:
    value = assertion.get("value")
    return value is None or (isinstance(value, str) and any(sign in value for sign in _FILLED_IN))


def _placed(
    grading: dict[str, Any], declared: list[_Assertion], place: str
) -> Iterator[tuple[dict[str, Any], _Assertion]]:
    """Each component, and what the test declares at its place."""
    components = grading.get("componentResults")
    if components is None:
        return
    if not isinstance(components, list):
        Record(grading, place).items("componentResults")
    found = [one for one in components if one is not None]
    # promptfoo lists them as the test declares them, so that one which does not say what it is can be known.
    for number, component in enumerate(found):
        if type(component) is not dict:
            Record(component, f"{place}: componentResults")
        yield component, declared[number] if len(found) == len(declared) else {}


def _parts_of(part: dict[str, Any], declared: _Assertion, place: str) -> Iterator[Checked]:
    assertion = as_object(part.get("assertion"))
    inner = part.get("componentResults")
    metadata = part.get("metadata")
    known = kind_of(assertion) != _UNKNOWN
    if not known and isinstance(inner, list):
        assertion = {**as_object(as_object(metadata).get("assertionSet")), "type": _SET}
        for one, nothing in _placed(part, [], place):
            yield from _parts_of(one, nothing, place)
    elif not known:
        assertion = {**declared, **assertion, "type": declared.get("type")}
    held, score = part.get("pass"), part.get("score")
    if type(held) is not bool and held is not None:
        Record(part, f"{place}: componentResults").flag("pass")
    broken = type(metadata) is dict and metadata.get("graderError") is True
    yield Checked(
        kind_of(assertion),
        name_of(assertion),
        label_of(assertion),
        held is True,
        score if is_number(score) else None,
        (as_text(part.get("reason")) or "it gave no reason") if broken and held is not True else None,
    )


def kind_of(assertion: _Assertion) -> str:
    """The type of an assertion, or a word for one that does not say it."""
    kind = assertion.get("type")
    return kind if isinstance(kind, str) and kind else _UNKNOWN


def forbids(kind: str) -> bool:
    """Whether what is asserted must not happen, or may be of that kind."""
    return kind.startswith(("not-", RED_TEAM)) or kind == _UNKNOWN


def label_of(assertion: _Assertion) -> str:
    """The metric of an assertion, else its type."""
    return as_text(assertion.get("metric")) or kind_of(assertion)


def name_of(assertion: _Assertion) -> str:
    """The metric that the assertion names, else its type and what it looks for."""
    metric = assertion.get("metric")
    if metric:
        return as_text(metric) or _UNKNOWN
    plain = kind_of(assertion).removeprefix(RED_TEAM).removeprefix("not-")
    value = as_text(assertion.get("value"))
    return f"{plain}: {cut(value)}" if value else plain


def as_object(value: object) -> dict[str, Any]:
    """An object; an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def digest(value: object) -> str:
    """A short mark of a value, the same in whatever order its keys stand."""
    try:
        text = msgspec.json.encode(value, order="sorted")
    except UnicodeEncodeError:  # half of a surrogate pair
        text = json_text.dumps(value, sort_keys=True).encode()
    return hashlib.sha256(text).hexdigest()[:8]


def cut(text: str) -> str:
    """A text as long as a name may be."""
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"
