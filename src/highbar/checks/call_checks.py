"""Checks of tool calls, over all turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from highbar.checks import value_checks
from highbar.checks.evidence import call, cut_evidence, value_words
from highbar.checks.found_json import find_json
from highbar.checks.tree import Called, CalledInOrder, CalledOnly, Equal, Finding, no, unclear, yes
from highbar.checks.value_checks import PLAIN, ValueReading
from highbar.checks.values import SameText, Unreadable, refuse_depth
from highbar.model.answer import Answer, ToolCall


def find(
    check: Called | CalledInOrder | CalledOnly,
    answer: Answer,
    same_name: SameText = str.__eq__,
    reading: ValueReading = PLAIN,
) -> Finding:
    """The finding of a check of calls. The functions define what is equal, which differs in the strict reading."""
    if isinstance(check, CalledInOrder):
        return _in_order(check.names, answer.calls, same_name)
    if isinstance(check, CalledOnly):
        other = next((c for c in answer.calls if not any(same_name(c.name, name) for name in check.names)), None)
        return yes() if other is None else no(cut_evidence(f"{other.name} was called"), call(other))
    calls = [found for found in answer.calls if same_name(found.name, check.name)]
    if not calls:
        return no(cut_evidence(f"{check.name} was not called"))
    met = [_meets(check, found, reading) for found in calls]
    return _enough_calls(check, calls, met)


def _enough_calls(check: Called, calls: Sequence[ToolCall], met: Sequence[Finding]) -> Finding:
    """Whether enough calls met the check, and not too many; if that depends on unclear calls, it is unclear."""
    good = [found for found, finding in zip(calls, met, strict=True) if finding.observed]
    unknown = [finding for finding in met if finding.observed is None]
    bad = next(((found, one.reason) for found, one in zip(calls, met, strict=True) if one.observed is False), None)
    if check.every and bad is not None:
        return no(bad[1], call(bad[0]))
    least, most = len(good), len(good) + len(unknown)
    if most < check.at_least or (check.at_most is not None and least > check.at_most):
        if not good and bad is not None:
            return no(bad[1], call(bad[0]))
        return no(cut_evidence(f"{least} calls of {check.name} matched"), call(calls[0]))
    if least < check.at_least or (check.at_most is not None and most > check.at_most) or (check.every and unknown):
        return unknown[0]
    return yes(call(good[0]))


def _meets(check: Called, found: ToolCall, reading: ValueReading) -> Finding:
    """Whether one call has the wanted arguments, and not the unwanted ones."""
    try:
        refuse_depth(found.arguments)
    except Unreadable as error:
        return unclear(str(error))
    names_values = check.arguments is not None or check.where
    if names_values and reading is not PLAIN and _may_meet(check, found, reading):
        return unclear(f"the arguments of {cut_evidence(found.name)} look like JSON and cannot be read")
    compared = yes()
    if check.arguments is not None:
        compared = _compare(check.arguments, found.arguments, reading, exact=check.exact)
        if compared.observed is False:
            return compared
    # Unwanted arguments are always compared plainly: a strict comparison would exclude more calls and miss violations.
    if check.not_arguments is not None and _compare(check.not_arguments, found.arguments, PLAIN).observed:
        return no("every call has these arguments")
    where = value_checks.find_at(check.where, found.arguments, reading) if check.where else yes()
    return where if compared.observed or where.observed is False else compared


def _may_meet(check: Called, found: ToolCall, reading: ValueReading) -> bool:
    """Whether arguments are a text with JSON in it that the tool may have read, and that then meets the check."""
    if not isinstance(found.arguments, str):
        return False
    inside = find_json(found.arguments)
    objects = [value for value, _ in inside.values if isinstance(value, dict | list)]
    return inside.broken is not None or any(
        _meets(check, ToolCall(found.name, value), reading).observed is not False for value in objects
    )


def _compare(wanted: Mapping[str, Any], found: Any, reading: ValueReading, *, exact: bool = False) -> Finding:
    """Whether the arguments of a call are the wanted ones, and if not, how they differ."""
    if not isinstance(found, Mapping):
        return no(cut_evidence(f"the arguments are {value_words(found)}, wanted a mapping"))
    unknown: Finding | None = None
    for name, value in wanted.items():
        values, _ = reading.values_at(found, (name,))
        if not values:
            return no(cut_evidence(f"the argument '{name}' is missing"))
        findings = [reading.equal(Equal(value), one) for one in values]
        if all(one.observed is False for one in findings):
            return no(cut_evidence(f"the argument '{name}' is {value_words(values[-1])}, wanted {value_words(value)}"))
        if not any(one.observed for one in findings):
            unknown = next(one for one in findings if one.observed is None)
    more = [name for name in found if name not in wanted] if exact else []
    return no(cut_evidence(f"the argument '{more[0]}' is not wanted")) if more else unknown or yes()


def _in_order(names: Sequence[str], calls: Sequence[ToolCall], same_name: SameText) -> Finding:
    met: list[ToolCall] = []
    for found in calls:
        if len(met) < len(names) and same_name(found.name, names[len(met)]):
            met.append(found)
    if len(met) == len(names):
        return yes([call(found) for found in met])
    return no(cut_evidence(f"{names[len(met)]} was not called after {len(met)} of {len(names)}"))
