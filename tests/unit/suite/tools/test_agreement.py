"""The tools themselves and Highbar say the same of the same answers: recorded by `tests/importers/recipes`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from highbar import checks, suite
from highbar.documents.problems import ValueCursor
from highbar.documents.python_values import plain_suite
from highbar.model.answer import Answer
from highbar.suite import Scenario
from highbar.suite.tools.promptfoo_assertions import SUPPORTED, AssertionReader
from tests.commandline import judged, run
from tests.importers.imported import SAMPLES, imported, samples
from tests.importers.remake import SUITES

PROMPTFOO, PYDANTIC_EVALS = SUITES / "promptfoo", SUITES / "pydantic_evals"
MEASURED = {"latency_ms": 5}


def load(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def answer_to(scenario: Scenario, answers: list[str]) -> str:
    assert scenario.input is not None
    return answers[int(scenario.input.strip("[]"))]


def passes(scenario: Scenario, reply: str) -> bool:
    """Whether a reply has every behavior that is expected, and none that must not be."""
    answer = Answer((reply,), measured=MEASURED)
    expected = [checks.apply(one.check, answer).observed for one in scenario.expected_behaviors.values()]
    forbidden = [checks.apply(one.check, answer, must_not=True).observed for one in scenario.must_not.values()]
    assert None not in (*expected, *forbidden)
    return all(expected) and not any(forbidden)


# --- promptfoo -------------------------------------------------------------------------------


def test_every_assertion_passes_for_the_answers_for_which_promptfoo_lets_it_pass():
    answers, said = load(PROMPTFOO / "answers.json"), load(PROMPTFOO / "totals.json")
    scenarios = suite.read(PROMPTFOO / "matrix.json").scenarios.values()
    found = {name: ["?"] * len(answers) for name in said}
    for scenario in scenarios:
        number = int(str(scenario.input).strip("[]"))
        found[str(scenario.description)][number] = str(int(passes(scenario, answers[number])))
    assert len(scenarios) == len(said) * len(answers) > 6000
    assert {name: "".join(row) for name, row in found.items()} == said


def test_the_matrix_has_every_assertion_that_has_a_counterpart():
    tests = load(PROMPTFOO / "matrix.json")["tests"]
    used = {assertion["type"].removeprefix("not-") for test in tests for assertion in test["assert"]}
    # A judge and a price are not the same in two runs.
    assert {*SUPPORTED} - used == {"llm-rubric", "model-graded-closedqa", "cost"}


def test_the_matrix_tells_assertions_apart():
    rows = load(PROMPTFOO / "totals.json").values()
    assert all("1" in row for row in rows if row.count("0") < len(row))
    assert sum("0" in row and "1" in row for row in rows) > 150


def test_a_run_and_an_import_have_the_same_ids_questions_names_and_labels():
    read = suite.read(PROMPTFOO / "project" / "promptfooconfig.yaml")
    rows = {row["id"]: row for row in imported("promptfoo", PROMPTFOO / "project.json")[0]}
    assert rows.keys() == read.scenarios.keys()
    assert len(rows) == 8
    for id_, row in rows.items():
        scenario = read.scenarios[id_]
        assert scenario.input == row["input"]
        assert scenario.columns.get("category") == row.get("category")
        assert scenario.columns["tags"].items() <= row["tags"].items()
        assert [*scenario.must_not] == [*row["must_not"]]
        in_set = {"contains: PLEASE", "contains: nothing"}  # a set of which one part is enough
        assert [*scenario.expected_behaviors] == [name for name in row["expected_behaviors"] if name not in in_set]
        assert passes(scenario, row["output"]) == row["passed"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The project that promptfoo evaluated, with the same agent in Python, and a policy."""
    shutil.copytree(PROMPTFOO / "project", tmp_path, dirs_exist_ok=True)
    shutil.copy(PROMPTFOO / "project.json", tmp_path / "export.json")
    (tmp_path / "agent.py").write_text("def answer(input):\n    return input.upper()\n")
    policy = "suite: promptfooconfig.yaml\nthresholds: { blocking: { pass_rate: 100% } }\n"
    (tmp_path / "highbar.yaml").write_text(policy)
    return tmp_path


@pytest.mark.process
def test_the_same_agent_gets_the_same_verdict(project: Path):
    done = run(project, "run", "promptfooconfig.yaml", "--agent", "python:agent:answer", "--output", "out")
    assert done.exit == 1
    assert "note: promptfooconfig.yaml: the providers are not called (the agent)" in done.err
    for results in ("out", "export.json"):
        verdict = judged(run(project, "check", results, "--format", "json"), "fail")
        assert verdict["counts"]["scenarios"] == 8
        assert verdict["metrics"]["pass_rate"]["value"] == 0.875
    compared = run(project, "compare", "export.json", "out")
    assert "0 broke, 0 fixed" in compared.out


def recorded() -> Iterator[tuple[Any, Any, Any]]:
    """Every assertion that promptfoo checked in a real file: what was answered, the assertion, and its result."""
    for path in samples("promptfoo"):
        document = load(path) if path.suffix == ".json" else {}
        results = document.get("results")
        for result in (results["results"] if isinstance(results, dict) else results) or ():
            output = (result.get("response") or {}).get("output")
            for part in (result.get("gradingResult") or {}).get("componentResults") or ():
                if isinstance(output, str) and output and part and "type" in (part.get("assertion") or {}):
                    yield result, output, part


@pytest.mark.skipif(not SAMPLES.exists(), reason="the real files are not at hand")
def test_assertions_of_real_files_come_to_what_promptfoo_recorded():
    compared = 0
    for result, output, part in recorded():
        reader = AssertionReader(plain_suite(result.get("vars") or {}), None)
        asserted = reader.read(plain_suite(part["assertion"]), ValueCursor(problems=[]))
        if asserted is None or "judge" in asserted.check:
            continue
        check_ = checks.read(asserted.demanded).check
        assert check_ is not None
        measured = {"latency_ms": result.get("latencyMs") or 0, "cost_usd": result.get("cost") or 0}
        assert checks.apply(check_, Answer((output,), measured=measured)).observed is part["pass"]
        compared += 1
    assert compared > 140


# --- pydantic-evals --------------------------------------------------------------------------


def observed(scenario: Scenario, reply: str) -> dict[str, bool | None]:
    answer = Answer((reply,), measured=MEASURED)
    return {name: checks.apply(one.check, answer).observed for name, one in scenario.expected_behaviors.items()}


def test_every_evaluator_says_what_pydantic_evals_says():
    answers, said = load(PYDANTIC_EVALS / "answers.json"), load(PYDANTIC_EVALS / "totals.json")["matrix"]
    scenarios = suite.read(PYDANTIC_EVALS / "matrix.yaml").scenarios
    found = {id_: observed(scenario, answer_to(scenario, answers)) for id_, scenario in scenarios.items()}
    found["Case 16"] = found.pop("[0]")  # it has no name, and a position is no identity
    assert found == said
    assert sum(map(len, found.values())) > 180


def test_values_of_python_are_compared_as_json():
    said = load(PYDANTIC_EVALS / "totals.json")["typed"]
    read = suite.read(PYDANTIC_EVALS / "typed.yaml")
    rows = {row["id"]: row for row in imported("pydantic-evals", PYDANTIC_EVALS / "typed.report.json")[0]}
    assert rows.keys() == read.scenarios.keys()
    assert read.name == rows["sum"]["suite"] == "typed"
    for id_, scenario in read.scenarios.items():
        assert scenario.input == rows[id_]["input"]
        assert observed(scenario, rows[id_]["output"]) == said[id_]
        assert (scenario.answer is not None) == ("correct" in rows[id_])
