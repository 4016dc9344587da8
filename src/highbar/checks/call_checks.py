"""Checks of tool calls, over all turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from highbar.checks import reply_checks, texts, value_checks
from highbar.checks.evidence import call, cut_evidence, value_words
from highbar.checks.tree import Called, CalledInOrder, CalledOnly, Finding, no, unclear, yes
from highbar.checks.values import SameText, Unreadable, refuse_depth, same
from highbar.model.answer import Answer, ToolCall


def find(
    check: Called | CalledInOrder | CalledOnly,
    answer: Answer,
    same_name: SameText = str.__eq__,
    in_text: value_checks.InText = reply_checks.in_text,
    same_text: SameText | None = None,
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
    met = [_meets(check, found, in_text, same_text) for found in calls]
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


def _meets(check: Called, found: ToolCall, in_text: value_checks.InText, same_text: SameText | None) -> Finding:
    """Whether one call has the wanted arguments, and not the unwanted ones. `same_text` is given for must-nots."""
    try:
        refuse_depth(found.arguments)
    except Unreadable as error:
        return unclear(str(error))
    names_values = check.arguments is not None or check.where
    if names_values and same_text is not None and _is_broken_json(found.arguments):
        return unclear(f"the arguments of {cut_evidence(found.name)} look like JSON and cannot be read")
    if check.arguments is not None:
        difference = _difference(check.arguments, found.arguments, same_text or _same_text, exact=check.exact)
        if difference is not None:
            return no(cut_evidence(difference))
    # Unwanted arguments are always compared plainly: a strict comparison would exclude more calls and miss violations.
    if check.not_arguments is not None and _difference(check.not_arguments, found.arguments, _same_text) is None:
        return no("every call has these arguments")
    return value_checks.find_at(check.where, found.arguments, in_text, same_text) if check.where else yes()


def _is_broken_json(arguments: Any) -> bool:
    """Whether arguments are a text that begins like an object or a list: if it could be read, it would be one."""
    return isinstance(arguments, str) and arguments.lstrip("\ufeff \t\r\n")[:1] in ("{", "[")


def _difference(wanted: Mapping[str, Any], found: Any, same_text: SameText, *, exact: bool = False) -> str | None:
    """How the arguments of a call differ from the wanted ones; None if they do not."""
    if not isinstance(found, Mapping):
        return f"the arguments are {value_words(found)}, wanted a mapping"
    for name, value in wanted.items():
        if name not in found:
            return f"the argument '{name}' is missing"
        if not same(found[name], value, same_text):
            return f"the argument '{name}' is {value_words(found[name])}, wanted {value_words(value)}"
    more = [name for name in found if name not in wanted] if exact else []
    return f"the argument '{more[0]}' is not wanted" if more else None


def _same_text(one: str, other: str) -> bool:
    return texts.is_equal(one, other, exact=False)


def _in_order(names: Sequence[str], calls: Sequence[ToolCall], same_name: SameText) -> Finding:
    met: list[ToolCall] = []
    for found in calls:
        if len(met) < len(names) and same_name(found.name, names[len(met)]):
            met.append(found)
    if len(met) == len(names):
        return yes([call(found) for found in met])
    return no(cut_evidence(f"{names[len(met)]} was not called after {len(met)} of {len(names)}"))
