"""`highbar suite` says in words what a suite checks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from highbar import checks
from highbar.suite.check_words import check_in_words
from tests.commandline import Run, run
from tests.unit.suite.test_reading import LIBRARY


def said(folder: Path, text: str, name: str = "suite.yaml") -> Run:
    (folder / name).write_text(text, "utf-8")
    done = run(folder, "suite", name)
    assert (done.exit, done.err) == (0, "")
    return done


def test_a_suite_is_said_in_words(tmp_path: Path) -> None:
    out = said(tmp_path, LIBRARY).out
    assert out.startswith("suite.yaml is valid: 2 scenarios, 8 trials\ncolumns of your own: difficulty\n")
    assert "  happy_path  1 scenario, 3 trials\n  edge_case   1 scenario, 5 trials\n" in out
    assert "gives_opening_time\n      The reply matches the pattern" in out
    assert "Expected in 1" in out
    assert "Python function library_agent:answer." in out
    assert "some-model at https://example.com/v1. 2 statements in " in " ".join(out.split())
    assert "at most $5." in out
    assert "named by no scenario: refuses." in out


def test_checks_of_answers_are_said(tmp_path: Path) -> None:
    scenarios = [
        {"id": f"S{number}", "input": "?", "answer": {"contains": "ten" if number < 2 else f"{number}"}}
        for number in range(24)
    ]
    scenarios.append({"id": "L", "input": "?", "expected": "spam"})
    (tmp_path / "suite.json").write_text(json.dumps({"scenarios": scenarios}))
    out = " ".join(run(tmp_path, "suite", "suite.json").out.split())
    assert "Answers, and how each is checked S0, S1 The reply contains 'ten'. S2 The reply contains '2'." in out
    assert "… And 4 other checks, in 4 scenarios." in out


def test_weak_entries_are_marked(tmp_path: Path) -> None:
    out = said(tmp_path, "- {id: A, input: a, expected_behaviors: [refuses]}").out
    assert "refuses\n      Weak, by a list of English phrases" in out


def test_what_almost_any_answer_passes_is_told(tmp_path: Path) -> None:
    out = said(tmp_path, "- {id: A, input: a, must_not: [refuses]}\n- {id: B, input: b, answer: x}").out
    assert "These have only must-nots, so an answer that does not help passes too: A." in " ".join(out.split())
    assert "(no category)  2 scenarios" in out


def test_a_list_of_ids_is_a_plan(tmp_path: Path) -> None:
    out = said(tmp_path, "- A\n- B\n").out
    assert "2 scenarios" in out
    assert "asks nothing and checks nothing" in " ".join(out.split())


def test_statements_without_a_judge_are_told(tmp_path: Path) -> None:
    out = said(tmp_path, "- {id: A, input: a, expected_behaviors: {kind: The reply is kind.}}").out
    words = " ".join(out.split())
    assert "1 statement in 1 trial, " in words
    assert "--judge" in words


def test_hostile_names_are_made_visible(tmp_path: Path) -> None:
    out = said(tmp_path, 'scenarios: [{id: A, input: a, answer: x, category: "a\\e[31mb"}]').out
    assert "\x1b" not in out


def test_several_files_tell_all_their_problems(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("[]", "utf-8")
    (tmp_path / "b.yaml").write_text("- {id: A, input: x}", "utf-8")
    done = run(tmp_path, "suite", "a.yaml", "b.yaml")
    assert (done.exit, done.out, done.codes) == (2, "", ["suite.no-scenario", "suite.no-check"])
    assert "a.yaml:1:1: " in done.err
    assert "b.yaml:1:3: A: " in done.err


@pytest.mark.parametrize(
    ("check", "words"),
    [
        ({"contains": ["a", "b"]}, "the reply contains 'a' or 'b'"),
        ({"contains_all": ["a", "b"]}, "the reply contains 'a' and 'b'"),
        ({"starts_with": "a", "reply": 1}, "reply 1 starts with 'a'"),
        ({"equals": [1, "b"]}, "the reply is 1 or 'b'"),
        ({"number": 5, "within": "1%"}, "the reply has the number 5, give or take"),
        ({"is_json": True}, "the reply is JSON"),
        ({"json": {"/a": {"contains": "x"}, "/b": 5}}, "in the reply as JSON, /a contains 'x', and /b is 5"),
        ({"state": {"/a": {"at_least": 1}}}, "in the reported state, /a is at least 1"),
        ({"calls": "t", "times": 2}, "the tool t is called exactly 2 times"),
        ({"calls": "t", "where": {"/a": 1}, "every": True}, "with arguments of which /a is 1, in every call"),
        ({"calls_in_order": ["a", "b"]}, "the tools a, b are called in this order"),
        ({"calls_only": ["a"]}, "no tools are called but a"),
        ({"latency_ms": 5}, "latency_ms is at most 5"),
        ({"python": "a:b"}, "the Python function a:b says so"),
        ({"not": {"contains": "x"}}, "not: the reply contains 'x'"),
        ({"any": [{"contains": "x"}, "It is kind."]}, "one of these: the reply contains 'x'; a judge finds"),
        ({"words": {"at_least": 2, "at_most": 3}}, "at least 2 and at most 3 words"),
    ],
)
def test_every_check_has_words(check: object, words: str) -> None:
    found = checks.read(check).check
    assert found is not None
    assert words in check_in_words(found)
