"""A pydantic-evals dataset → a suite of ours: one scenario for each case.

A task there takes and returns any Python value; an agent here takes and returns text. So inputs that are not text are
asked as JSON, and an expected output that is not text is compared with the JSON of the reply.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import Struct

from highbar.documents.problems import ValueCursor, ValuePath
from highbar.language.promptfoo_names import id_of_test
from highbar.language.spelling import did_you_mean
from highbar.language.tool_names import means_correct, scenario_id, text_or_json, value_digest
from highbar.suite.tools.rewritten import Draft, Rewritten, columns_and_tags
from highbar.suite.tools.templates import js_value
from highbar.suite.tools.thresholds import joined_checks
from highbar.suite.values import entries, refuse_unknown

_KEYS = ("$schema", "name", "cases", "evaluators", "report_evaluators")
_CASE_KEYS = ("name", "inputs", "metadata", "expected_output", "evaluators")
_OF_REPORTS = ("failures", "trace_id", "span_id", "experiment_metadata", "averages", "analyses")
_MILLISECONDS = 1000
_SPANS = "record the tool calls of the agent, and write `calls` checks in a suite of Highbar"
_REFUSED = {
    "IsInstance": "an agent here always answers with text",
    "GEval": "write a rubric for an LLMJudge",
    **dict.fromkeys(
        (
            "HasMatchingSpan", "ToolCorrectness", "TrajectoryMatch", "ArgumentCorrectness", "MaxToolCalls",
            "MaxModelRequests",
        ),
        _SPANS,
    ),
}  # fmt: skip


class _Evaluator(Struct, frozen=True):
    """An evaluator: its class, its arguments by name, and the path to it."""

    name: str
    arguments: Mapping[str, Any]
    path: ValuePath


def rewrite(values: Mapping[str, Any], place: ValueCursor, path: Path) -> Rewritten:
    """The dataset as a suite of ours. Anything without a counterpart is noted in `place`."""
    of_report = next((key for key in _OF_REPORTS if key in values), None)
    if of_report is not None:
        hint = "check it as results: highbar check FILE"
        place.at(of_report).refuse("import.other-file", "this is a report of pydantic-evals, not a dataset", hint)
        return Rewritten("pydantic-evals", {"scenarios": []})
    refuse_unknown(values, _KEYS, place)
    shared = list(_evaluators(values.get("evaluators"), place.at("evaluators")))
    draft, structured = Draft(), 0
    keys = [_key(case) for case in values["cases"] if isinstance(case, dict)]
    names = Counter(name for name, _ in {*keys})
    for index, case in enumerate(values["cases"]):
        inside = place.at("cases", index)
        fields = entries(case, inside, "a case: {name: …, inputs: …}")
        if isinstance(case, dict) and _add(fields, shared, inside, names, draft):
            structured += not isinstance(fields.get("inputs"), str)
    made = {"suite": values.get("name") or path.stem, "scenarios": draft.scenarios}
    paths = {**draft.paths, ("suite",): ("name",)}
    return Rewritten("pydantic-evals", made, paths, tuple(_notes(values, structured)))


def _notes(values: Mapping[str, Any], structured: int) -> Iterator[str]:
    lists = [values.get("evaluators"), *(case.get("evaluators") for case in values["cases"] if isinstance(case, dict))]
    found = (one for listed in lists for one in _evaluators(listed, ValueCursor(problems=[])))
    if any({"model", "model_settings"} & one.arguments.keys() for one in found if one.name == "LLMJudge"):
        yield "the models that an LLMJudge names are not asked; the judge of the run is"
    if structured:
        yield f"the inputs of {structured} cases are no text; the agent gets them as JSON"
    if values.get("report_evaluators"):
        yield "report_evaluators are not used: they judge no case"


def _key(case: Mapping[str, Any]) -> tuple[str, str]:
    """The name of a case, or its inputs if it has no name; and a digest, because a position is no identity."""
    digest = value_digest(js_value([case.get("inputs"), case.get("expected_output"), case.get("evaluators")]))
    name = case.get("name")
    return (name if isinstance(name, str) and name else _question(case.get("inputs"))), digest


def _question(inputs: Any) -> str:
    """The question to the agent: text as it is, anything else as JSON."""
    return text_or_json(js_value(inputs)) or ""


def _add(
    case: Mapping[str, Any], shared: Sequence[_Evaluator], place: ValueCursor, names: Mapping[str, int], draft: Draft
) -> bool:
    before = len(place.problems)
    refuse_unknown(case, _CASE_KEYS, place)
    if case.get("inputs") is None:
        place.refuse("suite.no-question", "a case without inputs: there is nothing to ask")
    own = list(_evaluators(case.get("evaluators"), place.at("evaluators")))
    behaviors: dict[str, Any] = {}
    paths: dict[Sequence[str], ValuePath] = {}
    for evaluator in (*own, *shared):
        read = _read_evaluator(evaluator, case, place)
        if read is not None:
            name = _unique_name(read[0], behaviors)
            behaviors[name] = read[1]
            paths["expected_behaviors", name] = evaluator.path
    if not behaviors and len(place.problems) == before:
        place.refuse(
            "suite.no-check",
            "no evaluator judges this case: every answer would do",
            "give it one, or an expected_output",
        )
    if len(place.problems) > before:
        return False
    right = [name for name in behaviors if means_correct(name)]
    if right:
        paths["answer",] = paths["expected_behaviors", right[0]]
    metadata = case.get("metadata")
    known = js_value(metadata if isinstance(metadata, dict) else {} if metadata is None else {"metadata": metadata})
    columns, tags = columns_and_tags(known, known)
    answer = joined_checks([behaviors[name] for name in right]) if right else None
    made = {"id": _id(case, names), "input": _question(case["inputs"]), **columns, "tags": tags or None}
    inside: dict[Sequence[str], ValuePath] = {("input",): (*place.path, "inputs"), ("tags",): (*place.path, "metadata")}
    inside |= {(name,): (*place.path, "metadata", name) for name in columns}
    draft.add({**made, "expected_behaviors": behaviors or None, "answer": answer}, place.path, {**inside, **paths})
    return True


def _id(case: Mapping[str, Any], names: Mapping[str, int]) -> str:
    name = case.get("name")
    if isinstance(name, str) and name:
        return scenario_id(name)
    key = _key(case)
    return id_of_test(key, alone=names[key[0]] == 1)


def _unique_name(name: str, taken: Mapping[str, Any]) -> str:
    """The name, with a number after it if it is already taken."""
    number, found = 2, name
    while found in taken:
        found, number = f"{name}_{number}", number + 1
    return found


# --- evaluators ------------------------------------------------------------------------------


def _evaluators(value: Any, place: ValueCursor) -> Iterator[_Evaluator]:
    """Each evaluator, from any of the forms that a dataset may use."""
    if value is None:
        return
    if not isinstance(value, list):
        place.refuse_value(value, "a list of evaluators")
        return
    for index, item in enumerate(value):
        inside = place.at(index)
        if isinstance(item, str):
            yield _Evaluator(item, {}, inside.path)
        elif isinstance(item, dict) and {"name", "arguments"} == item.keys() and isinstance(item["name"], str):
            yield _Evaluator(item["name"], _arguments(item["name"], item["arguments"]), inside.path)
        elif isinstance(item, dict) and len(item) == 1:
            ((name, argument),) = item.items()
            given = argument if isinstance(argument, dict) else [argument]
            yield _Evaluator(name, _arguments(name, given), inside.path)
        else:
            inside.refuse_value(item, "an evaluator such as EqualsExpected, or {Contains: …}")


def _arguments(name: str, given: Any) -> Mapping[str, Any]:
    """Arguments by name; an argument without a name is the first parameter of its class."""
    if isinstance(given, dict):
        return given
    first = _PARAMETERS.get(name, ("value",))[0]
    return {first: given[0]} if isinstance(given, list) and given else {}


def _read_evaluator(evaluator: _Evaluator, case: Mapping[str, Any], place: ValueCursor) -> tuple[str, Any] | None:
    """The name and the check of an evaluator; None if it judges nothing here, or after noting a problem."""
    at = ValueCursor(evaluator.path, place.problems)
    reader = _READERS.get(evaluator.name)
    if reader is None:
        hint = _REFUSED.get(evaluator.name)
        hint = hint or did_you_mean(evaluator.name, _READERS) or "write a check in Python: python: module:function"
        _once(at, "suite.no-counterpart", f"the evaluator '{evaluator.name[:60]}' has no counterpart", hint)
        return None
    unknown = [key for key in evaluator.arguments if key not in _PARAMETERS[evaluator.name]]
    if unknown:
        _once(at, "suite.unknown-key", f"{evaluator.name} has no argument '{unknown[0][:60]}'", None)
        return None
    check = reader(evaluator.arguments, case, at)
    return None if check is None else (_name(evaluator), check)


def _name(evaluator: _Evaluator) -> str:
    """The name that the result of an evaluator has in a report."""
    given = evaluator.arguments
    if evaluator.name == "LLMJudge":
        both = given.get("score", False) is not False
        return given.get("assertion", {}).get("evaluation_name") or ("LLMJudge_pass" if both else "LLMJudge")
    named = given.get("evaluation_name")
    return named if isinstance(named, str) else evaluator.name


def _once(place: ValueCursor, code: str, text: str, hint: str | None) -> None:
    """Note a problem of an evaluator once, although every case has it."""
    if not any(one.path == place.path and one.text == text for one in place.problems):
        place.refuse(code, text, hint)


_Reader = Callable[[Mapping[str, Any], Mapping[str, Any], ValueCursor], Any]


def _equality_check(value: Any) -> Any:
    """The check that the reply is this text or, for other values, that the reply read as JSON is this value."""
    if isinstance(value, str):
        return {"equals": value, "exact": True}
    return {"json": {"": {"equals": value, "exact": True}}, "whole": True}


def _equals(arguments: Mapping[str, Any], _: Mapping[str, Any], place: ValueCursor) -> Any:
    if arguments.get("value") is None:
        _once(place, "suite.missing-key", "Equals without a value", None)
        return None
    return _equality_check(arguments["value"])


def _equals_expected(_: Mapping[str, Any], case: Mapping[str, Any], __: ValueCursor) -> Any:
    expected = case.get("expected_output")
    return None if expected is None else _equality_check(expected)  # without an expected output, it judges nothing


def _contains(arguments: Mapping[str, Any], _: Mapping[str, Any], place: ValueCursor) -> Any:
    value = arguments.get("value")
    if isinstance(value, int) and not isinstance(value, bool) and arguments.get("as_strings") is True:
        value = str(value)
    if not isinstance(value, str):
        _once(place, "suite.wrong-type", "Contains looks for text here: an answer is text", "quote the value")
        return None
    check = {"contains": value, "exact": True, "part": True}
    return check if arguments.get("case_sensitive", True) is True else {**check, "any_case": True}


def _max_duration(arguments: Mapping[str, Any], _: Mapping[str, Any], place: ValueCursor) -> Any:
    seconds = arguments.get("seconds")
    if isinstance(seconds, bool) or not isinstance(seconds, int | Decimal):
        _once(place, "suite.wrong-type", "MaxDuration wants a number of seconds", None)
        return None
    return {"latency_ms": {"at_most": seconds * _MILLISECONDS}}


def _llm_judge(arguments: Mapping[str, Any], _: Mapping[str, Any], place: ValueCursor) -> Any:
    rubric = arguments.get("rubric")
    if not isinstance(rubric, str) or not rubric.strip():
        _once(place, "suite.missing-key", "an LLMJudge without a rubric", None)
    elif arguments.get("assertion") is False:
        message = "an LLMJudge that only gives a score judges nothing"
        _once(place, "suite.no-check", message, "leave `assertion` as it is")
    elif not _is_output(arguments.get("assertion", {})):
        _once(place, "suite.wrong-type", "wanted an assertion such as {evaluation_name: kind}", None)
    elif arguments.get("include_expected_output") is True:
        message = "a judge here does not see the expected output"
        _once(place, "suite.no-counterpart", message, "write it into the rubric")
    else:
        return {"judge": rubric}
    return None


def _is_output(value: Any) -> bool:
    """Whether a value says how a judgment appears in a report."""
    return isinstance(value, dict) and isinstance(value.get("evaluation_name", ""), str)


_READERS: Mapping[str, _Reader] = {
    "Equals": _equals,
    "EqualsExpected": _equals_expected,
    "Contains": _contains,
    "MaxDuration": _max_duration,
    "LLMJudge": _llm_judge,
}
_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "Equals": ("value", "evaluation_name"),
    "EqualsExpected": ("evaluation_name",),
    "Contains": ("value", "case_sensitive", "as_strings", "evaluation_name"),
    "MaxDuration": ("seconds",),
    "LLMJudge": (
        "rubric", "model", "include_input", "include_expected_output", "model_settings", "score", "assertion",
    ),
}  # fmt: skip
