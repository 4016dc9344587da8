"""The assertions of one promptfoo result: those that its test declares, and the components of its grade.

If a component has no assertion, it gets the declared one at its position, provided that there are as many components as
declared assertions. Otherwise it may be a must-not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from highbar.importers.record import Record, as_object, is_number
from highbar.language.promptfoo_names import UNKNOWN, assertion_kind, assertion_name
from highbar.language.tool_names import text_or_json, value_digest

_SET = "assert-set"
_GRADED = frozenset({"factuality", "model-graded-factuality", "model-graded-closedqa", "llm-rubric", "g-eval"})
_UNREAD = (
    "Factuality checker output did not match expected format",
    "Invalid category value:",
    "Model grader produced a malformed response",
    "Error parsing output:",
    "Could not extract JSON from",
    "LLM-proposed evaluation",
)
"""What promptfoo writes if a grader answered in prose. Only some of its graders set `graderError` then."""
_NO_ANSWER = "No output"
_FILLED_IN = ("{{", "{%", "file://", "package:")

_Assertion = dict[str, Any]
_Key = tuple[str, str | None, str]


class CheckedAssertion(NamedTuple):
    """An assertion with its result."""

    kind: str
    name: str
    label: str  # its metric or its type, by which `judged_by` can name it
    passed: bool
    score: float | None
    broken: str | None  # why its judge broke


def declared_assertions(assertions: object) -> Iterator[_Assertion]:
    """The assertions that a test declares, each set followed by its parts."""
    for assertion in assertions if isinstance(assertions, list) else ():
        declared = as_object(assertion)
        yield declared
        if declared.get("type") == _SET:
            yield from declared_assertions(declared.get("assert"))


def checked_assertions(grading: dict[str, Any], declared: list[_Assertion], place: str) -> Iterator[CheckedAssertion]:
    """Each assertion with a result. promptfoo lists the parts of a set in the set and beside it, and both count."""
    for component, assertion in _components(grading, declared, place):
        yield from _parts_of(component, assertion, place)


def unchecked_assertions(grading: dict[str, Any], declared: list[_Assertion], place: str) -> list[_Assertion]:
    """The declared assertions that have no component. Each component matches one assertion at most.

    A component that equals an assertion matches only that one. Its value may differ only if promptfoo fills it in. A
    component without an assertion matches any.
    """
    if not declared:
        return []
    placed = list(_components(grading, declared, place))
    # The usual case, which needs no keys.
    if [component.get("assertion") for component, _ in placed] == declared:
        return []
    exact = Counter(_key(one) for one in declared)
    found = Counter(_key(one) for one in _component_assertions(placed, declared))
    rest = []
    for one in declared:
        if found[_key(one)]:
            found[_key(one)] -= 1
        else:
            rest.append(one)
    unknown = found[_key({})]
    alike = Counter(key[:2] for key in found.elements() if key not in exact)
    missing = []
    for one in rest:
        if alike[_key(one)[:2]] and _is_filled_in(one):
            alike[_key(one)[:2]] -= 1
        elif unknown:
            unknown -= 1
        else:
            missing.append(one)
    return missing


def _component_assertions(
    placed: list[tuple[dict[str, Any], _Assertion]], declared: list[_Assertion]
) -> Iterator[_Assertion]:
    """The assertions of the components; the parts of a set count once, though they are in the set and beside it."""
    has_set = any(assertion_kind(one) == _SET for one in declared)
    beside: Counter[_Key] = Counter()
    for component, assertion in placed:
        own = as_object(component.get("assertion"))
        if beside[_key(own)]:
            beside[_key(own)] -= 1
            continue
        inner = component.get("componentResults")
        parts = [as_object(as_object(one).get("assertion")) for one in inner] if isinstance(inner, list) else []
        beside.update(_key(part) for part in parts)
        if assertion_kind(own) != UNKNOWN:
            yield own
        elif isinstance(inner, list) and has_set:
            yield {"type": _SET}
            yield from parts
        else:
            yield assertion


def _key(assertion: _Assertion) -> _Key:
    """What distinguishes assertions. All sets have the same key, since the component of a set may have nothing else."""
    kind = assertion_kind(assertion)
    if kind == _SET:
        return kind, None, ""
    value = assertion.get("value")
    return kind, text_or_json(assertion.get("metric")), value if isinstance(value, str) else value_digest(value)


def _is_filled_in(assertion: _Assertion) -> bool:
    value = assertion.get("value")
    return value is None or (isinstance(value, str) and any(sign in value for sign in _FILLED_IN))


def _components(
    grading: dict[str, Any], declared: list[_Assertion], place: str
) -> Iterator[tuple[dict[str, Any], _Assertion]]:
    """Each component, and the declared assertion at its position."""
    components = grading.get("componentResults")
    if components is None:
        return
    if not isinstance(components, list):
        Record(grading, place).items("componentResults")
    found = [one for one in components if one is not None]
    # promptfoo lists components in the order of the declared assertions, so the position identifies them.
    for number, component in enumerate(found):
        if type(component) is not dict:
            Record(component, f"{place}: componentResults")
        yield component, declared[number] if len(found) == len(declared) else {}


def _parts_of(part: dict[str, Any], declared: _Assertion, place: str) -> Iterator[CheckedAssertion]:
    assertion = as_object(part.get("assertion"))
    inner = part.get("componentResults")
    metadata = part.get("metadata")
    known = assertion_kind(assertion) != UNKNOWN
    if not known and isinstance(inner, list):
        assertion = {**as_object(as_object(metadata).get("assertionSet")), "type": _SET}
        for one, nothing in _components(part, [], place):
            yield from _parts_of(one, nothing, place)
    elif not known:
        assertion = {**declared, **assertion, "type": declared.get("type")}
    passed, score = part.get("pass"), part.get("score")
    if type(passed) is not bool and passed is not None:
        Record(part, f"{place}: componentResults").flag("pass")
    kind, reason = assertion_kind(assertion), text_or_json(part.get("reason")) or "it gave no reason"
    broken = type(metadata) is dict and metadata.get("graderError") is True and passed is not True
    yield CheckedAssertion(
        kind,
        assertion_name(assertion),
        assertion_label(assertion),
        passed is True,
        score if is_number(score) else None,
        reason if broken or _is_unread(kind, reason) else None,  # of a must-not, no answer may have become a pass
    )


def _is_unread(kind: str, reason: str) -> bool:
    """Whether promptfoo could not read what the grader answered, and wrote that in place of the grader's reason."""
    return kind.removeprefix("not-") in _GRADED and (reason == _NO_ANSWER or reason.startswith(_UNREAD))


def assertion_label(assertion: _Assertion) -> str:
    """The metric of an assertion, else its type."""
    return text_or_json(assertion.get("metric")) or assertion_kind(assertion)
