"""pydantic-evals datasets: what is read, and what is refused with its line and a hint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from highbar import suite
from highbar.checks.tree import AtMost
from highbar.errors import InputError, Problem
from highbar.suite import Suite


def read(folder: Path, content: Any, name: str = "cases.json") -> Suite:
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return suite.read(folder / name)


def problems(folder: Path, content: Any, name: str = "cases.json") -> tuple[Problem, ...]:
    with pytest.raises(InputError) as caught:
        read(folder, content, name)
    return caught.value.problems


def only_problem(folder: Path, content: Any, code: str) -> Problem:
    (problem,) = problems(folder, content)
    assert problem.code == code
    return problem


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
    assert problem.code == "judge.missing"
    assert problem.message.startswith("evaluators[0]: ")
    assert "--judge 'openai:MODEL@https://host/v1'" in (problem.hint or "")
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
    ("evaluator", "code", "named"),
    [
        ("IsInstance", "suite.no-counterpart", "'IsInstance'"),
        ({"HasMatchingSpan": {"query": {}}}, "suite.no-counterpart", "'HasMatchingSpan'"),
        ("MyEvaluator", "suite.no-counterpart", "'MyEvaluator'"),
        ({"Contains": 5}, "suite.wrong-type", "Contains"),
        ({"Contains": {"value": "a", "case": True}}, "suite.unknown-key", "'case'"),
        ({"Contains": ""}, "check.constant", ""),
        ({"Equals": {}}, "suite.missing-key", "Equals"),
        ("MaxDuration", "suite.wrong-type", "MaxDuration"),
        ({"MaxDuration": "fast"}, "suite.wrong-type", "MaxDuration"),
        ("LLMJudge", "suite.missing-key", "LLMJudge"),
        ({"LLMJudge": {"rubric": "Kind.", "assertion": False}}, "suite.no-check", "LLMJudge"),
        ({"LLMJudge": {"rubric": "Kind.", "assertion": True}}, "suite.wrong-type", "{evaluation_name: kind}"),
        ({"LLMJudge": {"rubric": "Kind.", "include_expected_output": True}}, "suite.no-counterpart", ""),
        ({"a": 1, "b": 2}, "suite.wrong-type", "found a mapping (a, b)"),
        (5, "suite.wrong-type", "found 5"),
    ],
)
def test_an_evaluator_without_a_counterpart_is_named_once(tmp_path, evaluator, code, named):
    two = [case(), case(name="two")]
    problem = only_problem(tmp_path, dataset(*two, evaluators=[evaluator, "EqualsExpected"]), code)
    assert problem.message.startswith("evaluators[0]")
    assert named in problem.message


@pytest.mark.parametrize(
    ("keys", "code", "named"),
    [
        ({"expected_output": None}, "suite.no-check", "cases[0]: "),
        ({"inputs": None}, "suite.no-question", "cases[0]: "),
        ({"inputs": " "}, "suite.wrong-type", "cases[0].inputs: "),
        ({"input": "hi"}, "suite.unknown-key", "'input'"),
        ({"evaluators": "Equals"}, "suite.wrong-type", "cases[0].evaluators: found 'Equals'"),
        ({"metadata": {"category": "happy_pth"}}, "suite.misspelled", "'happy_pth'"),
    ],
)
def test_a_case_without_a_counterpart_is_named(tmp_path, keys, code, named):
    problem = only_problem(tmp_path, dataset(case(**keys)), code)
    assert problem.message.startswith("cases[0]")
    assert named in problem.message


def test_an_empty_case_is_not_left_out(tmp_path):
    first, *_ = problems(tmp_path, dataset(case(), {}))
    assert first.code == "suite.no-question"
    assert first.message.startswith("cases[1]: ")


def test_names_that_are_there_twice_are_refused(tmp_path):
    problem = only_problem(tmp_path, dataset(case(), case(inputs="other")), "suite.listed-twice")
    assert "'one'" in problem.message


def test_a_report_is_no_dataset(tmp_path):
    report = {"name": "x", "cases": [{"name": "a"}], "failures": []}
    problem = only_problem(tmp_path, report, "import.other-file")
    assert problem.message.startswith("failures: ")
    assert "highbar check FILE" in (problem.hint or "")


@pytest.mark.parametrize(
    ("written", "kind"),
    [("yes", "true or false"), ("10:30", "a number"), ("0123", "a number"), ("2026-01-02", "a date"), ("1e3", "text")],
)
def test_a_scalar_that_yaml_1_1_reads_otherwise_must_be_quoted(tmp_path, written, kind):
    text = "cases: [{{name: a, inputs: hi, expected_output: {}}}]\nevaluators: [EqualsExpected]\n"
    first, *_ = problems(tmp_path, text.format(written), "cases.yaml")
    assert first.code == "yaml.unquoted"
    assert f"'{written}' as {kind}" in first.message
    assert read(tmp_path, text.format(f"'{written}'"), "cases.yaml").scenarios
