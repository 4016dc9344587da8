"""Evals of an Agent Skill: what is read, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from highbar import suite
from highbar.checks.tree import Statement
from highbar.errors import InputError
from highbar.suite import Suite


def read(folder: Path, *evals: Any, **keys: Any) -> Suite:
    (folder / "evals.json").write_text(json.dumps({"skill_name": "csv", "evals": list(evals), **keys}), "utf-8")
    return suite.read(folder / "evals.json")


def one(**keys: Any) -> dict[str, Any]:
    return {"id": 1, "prompt": "Plot it.", "assertions": ["The axes are labeled."], **keys}


@pytest.mark.parametrize("spelling", ["assertions", "expectations"])
def test_an_eval_is_a_scenario_in_both_spellings(tmp_path, spelling):
    statements = ["The axes are labeled.", {"id": "A2", "text": "x" * 100}]
    item = {"id": 1, "prompt": "Plot it.", "expected_output": "A chart.", "files": ["a.csv"], spelling: statements}
    read_ = read(tmp_path, item)
    (scenario,) = read_.scenarios.values()
    assert (read_.name, scenario.id, scenario.input) == ("csv", "1", "Plot it.")
    assert scenario.description == "A chart."
    assert scenario.columns == {"files": ("a.csv",)}
    assert [found.check for found in scenario.expected_behaviors.values()] == [
        Statement("The axes are labeled."),
        Statement("x" * 100),
    ]
    assert "The axes are labeled." in scenario.expected_behaviors
    assert read_.rewritten is not None
    assert read_.rewritten.notes[0].startswith("1 evals have files")


def test_statements_need_a_judge(tmp_path):
    problems = suite.unmet_needs(read(tmp_path, one(), one(id=2)), {}, agent=False)
    assert [problem.message.partition(":")[0] for problem in problems] == [
        "evals[0].assertions[0]",
        "evals[1].assertions[0]",
    ]


@pytest.mark.parametrize(
    ("item", "codes", "named"),
    [
        ({"id": 1, "prompt": "a", "expected_output": "A chart."}, "suite.no-check", "evals[0]: "),
        (one(assertions=[]), "suite.no-check", "evals[0]: "),
        (one(expectations=["Other."]), "suite.conflict", "evals[0]: 'expectations' beside 'assertions'"),
        (one(assertions="The axes are labeled."), "suite.wrong-type", "evals[0].assertions: "),
        (one(assertions=[{"text": "a", "passed": True}]), "suite.wrong-type", "evals[0].assertions[0]: "),
        (one(assertions=[""]), "suite.wrong-type", "evals[0].assertions[0]: found ''"),
        (one(scorers=[]), "suite.unknown-key", "'scorers'"),
        ({"prompt": "a", "assertions": ["b"]}, "suite.bad-id", "evals[0]: "),
        ({"id": 1, "assertions": ["b"]}, "suite.no-question", "evals[0]: "),
        (one(prompt=""), "suite.wrong-type", "evals[0].prompt: "),
        (one(id=1.5), "suite.bad-id", "evals[0].id: found 1.5"),
        ("Plot it.", "suite.wrong-type", "evals[0]: found 'Plot it.'"),
        ({}, "suite.no-question suite.bad-id", "evals[0]: "),
    ],
)
def test_an_eval_without_a_counterpart_is_named(tmp_path, item, codes, named):
    with pytest.raises(InputError) as caught:
        read(tmp_path, item, one(id=2))
    problems = caught.value.problems
    assert [problem.code for problem in problems] == codes.split()
    assert all(named in problem.message and "evals[0]" in problem.message for problem in problems)


def test_keys_of_the_file_that_are_not_known_are_refused(tmp_path):
    with pytest.raises(InputError, match="'threshold'") as caught:
        read(tmp_path, one(), threshold=1)
    assert [problem.code for problem in caught.value.problems] == ["suite.unknown-key"]
