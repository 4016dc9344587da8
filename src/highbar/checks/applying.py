"""A check and an answer → a finding. Nothing here raises, whatever the agent said.

A must-not is read more strictly than an expected behavior: case never counts, text inside of words counts, and every
reply and every argument of every call is read, as it is and as a reader would see it. The strict reading finds
everything that the plain one finds. Under `not` the plain reading applies, because the strict one could miss a
violation there: it would find more, and `not` reverses that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from typing import Any

from highbar.checks import call_checks, reply_checks, strict_checks, value_checks
from highbar.checks.evidence import cut_evidence, cut_value
from highbar.checks.tree import (
    All,
    AnyOf,
    AtMost,
    Bounds,
    Called,
    CalledInOrder,
    CalledOnly,
    Check,
    Equal,
    Finding,
    Function,
    IsJson,
    JsonAt,
    Matches,
    Not,
    NumberIs,
    Reported,
    Statement,
    Texts,
    Words,
    check_parts,
    negated,
    no,
    unclear,
    yes,
)
from highbar.checks.values import json_number
from highbar.model.answer import Answer

Functions = Callable[[str], Callable[[Mapping[str, Any]], Any]]
"""From `module:function` to that function."""
_NO_JUDGE: Mapping[str, Finding] = {}
_ONLY_LAST = "only the last reply was recorded"


class FunctionFailed(Exception):
    """A user's function gave no answer. The message says what it did instead: "raised ValueError: …"."""


def apply(
    check: Check,
    answer: Answer,
    *,
    must_not: bool = False,
    functions: Functions | None = None,
    judged: Mapping[str, Finding] = _NO_JUDGE,
) -> Finding:
    """The finding of a check on an answer; with `must_not` by the strict reading.

    `functions` finds the functions of `python` checks. `judged` has the judge's findings by statement. A check whose
    function or finding is absent could not be carried out.
    """
    if isinstance(check, All | AnyOf):
        findings = (apply(part, answer, must_not=must_not, functions=functions, judged=judged) for part in check.checks)
        return _all(findings) if isinstance(check, All) else _any(findings)
    if isinstance(check, Not):
        # The strict reading finds more, which `not` would turn into less: it must not excuse an agent.
        return negated(apply(check.check, answer, must_not=False, functions=functions, judged=judged))
    if isinstance(check, Function):
        return _call_function(check.name, answer, functions)
    if isinstance(check, Statement):
        return judged.get(check.text) or unclear("no judge is configured")
    if answer.unrecorded and (reason := _unrecorded_reason(check, answer)) is not None:
        return unclear(reason)
    try:
        found = _leaf(check, answer)
        # The plain reading first: the strict one would find the same, and the plain evidence is easier to read.
        if must_not and found.observed is not True:
            strict_finding = strict_checks.find(check, answer)
            found = found if strict_finding.observed is False else strict_finding
            # Fail closed: a reply that was not recorded may have violated it.
            if found.observed is False and "replies" in answer.unrecorded:
                return unclear(_ONLY_LAST)
    except RecursionError:
        return unclear("what the agent reported is nested too deeply")
    except (ValueError, TypeError, LookupError, ArithmeticError) as error:  # one answer must not end the grading of all
        return unclear(cut_evidence(f"what the agent reported cannot be read: {type(error).__name__}: {error}"))
    return found


def _unrecorded_reason(check: Check, answer: Answer) -> str | None:
    """Why a check cannot be carried out on a recorded answer; None if it can.

    What was not recorded may still have happened, so that its absence proves nothing.
    """
    if isinstance(check, Called | CalledInOrder | CalledOnly):
        if "tool_calls" not in answer.unrecorded:
            return None
        some = answer.calls and "replies" in answer.unrecorded  # those of some turns
        return "not all tool calls were recorded" if some else "no tool calls were recorded"
    if "replies" in answer.unrecorded and getattr(check, "reply", "last") != "last":
        return _ONLY_LAST
    return None


def statements(check: Check) -> tuple[str, ...]:
    """The statements in a check that a judge has to decide, each once."""
    if isinstance(check, Statement):
        return (check.text,)
    return tuple(dict.fromkeys(text for part in check_parts(check) for text in statements(part)))


def function_names(check: Check) -> tuple[str, ...]:
    """The Python functions that a check calls, each once."""
    if isinstance(check, Function):
        return (check.name,)
    return tuple(dict.fromkeys(name for part in check_parts(check) for name in function_names(part)))


def reads_calls(check: Check) -> bool:
    """Whether a check, or a part of it, is about tool calls."""
    if isinstance(check, Called | CalledInOrder | CalledOnly):
        return True
    return any(map(reads_calls, check_parts(check)))


def _leaf(check: Check, answer: Answer) -> Finding:
    match check:
        case Texts() | Matches() | Words() | NumberIs() | IsJson():
            return reply_checks.find(check, answer)
        case JsonAt():
            return value_checks.find(check, answer)
        case Called() | CalledInOrder() | CalledOnly():
            return call_checks.find(check, answer)
        case AtMost():
            return _at_most(check, answer)
        case Reported():
            return _reported(check.name, answer)
        case Equal() | Bounds():
            return unclear("a check of a JSON value needs a pointer")
    return unclear("this check cannot be carried out here")


def _at_most(check: AtMost, answer: Answer) -> Finding:
    found = json_number(answer.measured.get(check.column))
    if found is None:
        return unclear(f"{check.column} is not known")
    return Finding(found <= check.most, answer.measured[check.column])


def _reported(name: str, answer: Answer) -> Finding:
    if answer.behaviors is None:
        return unclear("the agent reported no behaviors")
    return Finding(answer.behaviors.get(name) is True)


def _call_function(name: str, answer: Answer, functions: Functions | None) -> Finding:
    """The finding of a user's function, which returns true, false, or {observed, found}."""
    if functions is None:
        return unclear(f"the function {name} was not loaded")
    try:
        # A copy, so that no function can change what later checks see.
        returned = functions(name)(deepcopy(as_mapping(answer)))
    except FunctionFailed as error:
        return unclear(cut_evidence(f"{name} {error}"))
    except (Exception, SystemExit) as error:  # noqa: BLE001  # it is the user's code: whatever it raises is a reason
        return unclear(cut_evidence(f"{name} raised {type(error).__name__}: {error}"))
    found = None
    if isinstance(returned, Mapping) and returned.keys() <= {"observed", "found"}:
        found = returned.get("found")
        returned = returned.get("observed")
    if not isinstance(returned, bool):
        return Finding(
            None, reason=f"{name} returned a {type(returned).__name__}, wanted true, false or {{observed, found}}"
        )
    return Finding(returned, cut_value(found))


def as_mapping(answer: Answer) -> dict[str, Any]:
    """An answer in the form that users' functions get; what was not recorded is None."""
    calls = [{"name": call.name, "arguments": call.arguments} for call in answer.calls]
    return {
        "output": answer.output,
        "replies": None if "replies" in answer.unrecorded else list(answer.replies),
        "messages": [dict(message) for message in answer.messages],
        "tool_calls": None if "tool_calls" in answer.unrecorded else calls,
        "state": answer.state,
        "context": answer.context,
        **answer.measured,
    }


def _all(findings: Iterable[Finding]) -> Finding:
    """False if one part is false; otherwise None if one was not carried out; otherwise true."""
    found, unknown = [], None
    for part in findings:
        if part.observed is False:
            return part
        if part.observed is None:
            unknown = unknown or part
        elif part.found is not None:
            found.append(part.found)
    return unknown or yes(found[0] if len(found) == 1 else found or None)


def _any(findings: Iterable[Finding]) -> Finding:
    """True if one part is true; otherwise None if one was not carried out; otherwise false."""
    unknown, missed = None, None
    for part in findings:
        if part.observed:
            return part
        if part.observed is None:
            unknown = unknown or part
        else:
            missed = missed or part
    return unknown or no(missed.reason if missed else None)
