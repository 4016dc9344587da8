"""pydantic-evals datasets: what is read, and what is refused with its line and a hint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from highbar import suite
from highbar.checks.tree import AtMost
from highbar.errors import InputError
from highbar.suite import Suite


def read(folder: Path, content: Any, name: str = "cases.json") -> Suite:
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return suite.read(folder / name)


def problems(folder: Path, content: Any, name: str = "cases.json") -> list[tuple[str, str | None]]:
    with pytest.raises(InputError) as caught:
        read(folder, content, name)
    return [(problem.message, problem.hint) for problem in caught.value.problems]


def case(**keys: Any) -> dict[str, Any]:
    return {"name": "one", "inputs": "hi", "expected_output": "hello", **keys}


def dataset(*cases: Any, **keys: Any) -> dict[str, Any]:
    return {"cases": list(cases), "evaluators": ["EqualsExpected"], **keys}


def test_a_case_is_a_scenario(tmp_path):
    metadata = {"category": "happy_path", "locale": "de", "turns": 2, "docs": ["a"], "blank": ""}
    read_ = read(tmp_path, {"$schema": "./x.json", "name": "greetings", **dataset(case(metadata=metadata))})
    (scenario,) = read_.scenarios.values()
    assert (read_.name, scenario.id, scenario.input) == ("greetings", "one", "hi")
    assert scenario.columns == {"category": "happy_path", "tags": {"locale": "de", "turns": "2"}}
    assert [*scenario.expected_behaviors] == ["EqualsExpected"]
    assert scenario.answer == scenario.expected_behaviors["EqualsExpected"].check


def test_a_case_without_a_name_has_an_id_of_what_it_asks(tmp_path):
    asked = [case(inputs=text, name=None) for text in ("a", "b", "b" * 100)]
    same = [case(inputs="c", name=None, expected_output=text) for text in ("x", "y")]
    ids = [*read(tmp_path, dataset(*asked, *same)).scenarios]
    assert ids[:2] == ["a", "b"]
    assert ids[2].startswith("bbb")
    assert "#" in ids[2]
    assert {id_[:2] for id_ in ids[3:]} == {"c#"}
    assert [*read(tmp_path, dataset(*same, *asked)).scenarios] == ids[3:] + ids[:3]


def test_evaluators_of_the_case_come_first_and_names_are_numbered(tmp_path):
    own = [
        {"Contains": "a"},
        {"name": "Contains", "arguments": ["b"]},
        {"Contains": {"value": "c", "evaluation_name": "see"}},
    ]
    read_ = read(tmp_path, dataset(case(evaluators=own), evaluators=[{"Contains": "d"}, {"MaxDuration": 1.5}]))
    behaviors = read_.scenarios["one"].expected_behaviors
    assert [*behaviors] == ["Contains", "Contains_2", "see", "Contains_3", "MaxDuration"]
    assert behaviors["MaxDuration"].check == AtMost("latency_ms", 1500)


def test_a_judge_is_asked_once_there_is_one(tmp_path):
    judged = {"LLMJudge": {"rubric": "It is kind.", "model": "openai:gpt-4o", "include_input": True}}
    read_ = read(tmp_path, dataset(case(), evaluators=[judged]))
    (problem,) = suite.unmet_needs(read_, {}, agent=False)
    assert problem.message == "evaluators[0]: this is a statement for a judge, and no judge is configured"
    assert problem.hint == "name one on the command line: --judge 'openai:MODEL@https://host/v1'"
    assert read_.rewritten is not None
    assert read_.rewritten.notes == ("the models that an LLMJudge names are not asked; the judge of the run is",)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({}, "LLMJudge"),
        ({"assertion": {"include_reason": True}}, "LLMJudge"),
        ({"assertion": {"evaluation_name": ""}}, "LLMJudge"),
        ({"assertion": {"evaluation_name": "polite"}}, "polite"),
        ({"score": {"include_reason": True}}, "LLMJudge_pass"),
        ({"score": False}, "LLMJudge"),
        ({"score": {"evaluation_name": "how"}, "assertion": {"evaluation_name": "polite"}}, "polite"),
    ],
)
def test_a_judgment_has_the_name_that_it_has_in_a_report(tmp_path, arguments, name):
    read_ = read(tmp_path, dataset(case(), evaluators=[{"LLMJudge": {"rubric": "It is kind.", **arguments}}]))
    assert [*read_.scenarios["one"].expected_behaviors] == [name]


def test_inputs_that_are_no_text_are_asked_as_json(tmp_path):
    read_ = read(tmp_path, dataset(case(inputs={"city": "Köln", "n": 1.5})))
    assert read_.scenarios["one"].input == '{"city": "Köln", "n": 1.5}'
    assert read_.rewritten is not None
    assert read_.rewritten.notes == ("the inputs of 1 cases are no text; the agent gets them as JSON",)


@pytest.mark.parametrize(
    ("evaluator", "message"),
    [
        ("IsInstance", "'IsInstance' has no counterpart"),
        ({"HasMatchingSpan": {"query": {}}}, "'HasMatchingSpan' has no counterpart"),
        ("MyEvaluator", "'MyEvaluator' has no counterpart"),
        ({"Contains": 5}, "an answer is text"),
        ({"Contains": {"value": "a", "case": True}}, "Contains has no argument 'case'"),
        ({"Contains": ""}, "always holds"),
        ({"Equals": {}}, "Equals without a value"),
        ("MaxDuration", "MaxDuration wants a number"),
        ({"MaxDuration": "fast"}, "MaxDuration wants a number"),
        ("LLMJudge", "without a rubric"),
        ({"LLMJudge": {"rubric": "Kind.", "assertion": False}}, "only gives a score"),
        ({"LLMJudge": {"rubric": "Kind.", "assertion": True}}, "wanted an assertion such as {evaluation_name: kind}"),
        ({"LLMJudge": {"rubric": "Kind.", "include_expected_output": True}}, "does not see the expected output"),
        ({"a": 1, "b": 2}, "wanted an evaluator"),
        (5, "wanted an evaluator"),
    ],
)
def test_an_evaluator_without_a_counterpart_is_named_once(tmp_path, evaluator, message):
    two = [case(), case(name="two")]
    ((told, _),) = problems(tmp_path, dataset(*two, evaluators=[evaluator, "EqualsExpected"]))
    assert told.startswith("evaluators[0]")
    assert message in told


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"expected_output": None}, "no evaluator judges this case"),
        ({"inputs": None}, "nothing to ask"),
        ({"inputs": " "}, "empty text"),
        ({"input": "hi"}, "unknown key 'input'"),
        ({"evaluators": "Equals"}, "wanted a list of evaluators"),
        ({"metadata": {"category": "happy_pth"}}, "is nearly the category"),
    ],
)
def test_a_case_without_a_counterpart_is_named(tmp_path, keys, message):
    assert any(message in told and "cases[0]" in told for told, _ in problems(tmp_path, dataset(case(**keys))))


def test_an_empty_case_is_not_left_out(tmp_path):
    (told, *_) = [text for text, _ in problems(tmp_path, dataset(case(), {}))]
    assert told == "cases[1]: a case without inputs: there is nothing to ask"


def test_names_that_are_there_twice_are_refused(tmp_path):
    ((told, _),) = problems(tmp_path, dataset(case(), case(inputs="other")))
    assert "the scenario 'one' is listed twice" in told


def test_a_report_is_no_dataset(tmp_path):
    ((told, hint),) = problems(tmp_path, {"name": "x", "cases": [{"name": "a"}], "failures": []})
    assert told == "failures: this is a report of pydantic-evals, not a dataset"
    assert hint == "check it as results: highbar check FILE"


@pytest.mark.parametrize(
    ("written", "kind"),
    [("yes", "true or false"), ("10:30", "a number"), ("0123", "a number"), ("2026-01-02", "a date"), ("1e3", "text")],
)
def test_a_scalar_that_yaml_1_1_reads_otherwise_must_be_quoted(tmp_path, written, kind):
    text = "cases: [{{name: a, inputs: hi, expected_output: {}}}]\nevaluators: [EqualsExpected]\n"
    found = problems(tmp_path, text.format(written), "cases.yaml")
    assert found[0][0] == f"pydantic-evals reads the unquoted '{written}' as {kind}"
    assert read(tmp_path, text.format(f"'{written}'"), "cases.yaml").scenarios
