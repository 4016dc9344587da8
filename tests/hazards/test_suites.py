"""Suites that seem to check something, and do not: keys that nobody understands (H131), evals read as ids (H138)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commandline import check, judged, refused, run
from tests.runs.projects import python_project

LEAKS = "def answer(said):\n    return 'yes, call 555-1234 ' + note(said)\n"
ASKED = {"id": "A", "input": "Hi", "answer": {"contains": "yes"}}
BAR = {"suite": "suite.json", "pass_criteria": {"overall": "90%"}}


@pytest.mark.process
@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("forbidden", "must_not"),
        ("assert", "answer"),
        ("checks", "answer"),
        ("expect", "answer"),
        ("expected_output", "answer"),
        ("expectedOutput", "answer"),
        ("rubric", "expected_behaviors"),
        ("prompt", "input"),
        ("tests", "scenarios"),
    ],
)
@pytest.mark.parametrize("value", [{"contains": "555"}, ["555"], "555", 555, True])
def test_h131_a_key_that_nobody_understands_never_passes(tmp_path: Path, key: str, hint: str, value: Any) -> None:
    project = python_project(tmp_path, LEAKS, [{**ASKED, key: value}])
    done = project.run()
    refused(done, f"unknown key '{key}'", hint)
    assert project.asked() == []
    (tmp_path / "suite.json").write_text(json.dumps({"scenarios": [{**ASKED, key: value}]}), "utf-8")
    refused(check(tmp_path, [{"id": "A", "correct": True}], BAR), f"unknown key '{key}'", hint)


CHECKS = (
    "contains", "contains_all", "starts_with", "equals", "matches", "words", "number", "is_json", "json", "calls",
    "calls_only", "calls_in_order", "state", "context", "python", "any", "all", "not", "exact", "part", "last",
    "every", "within", "times", "where", "at_least", "must_contain", "not_contains", "must_not_contain",
    "expected_response", "golden", "success_criteria", "banned", "forbidden_phrases", "max_words", "min_score",
    "should_refuse", "mustMention", "bannedWords",
)  # fmt: skip


@pytest.mark.parametrize("key", CHECKS)
def test_h131_a_check_that_stands_under_no_name_never_passes(tmp_path: Path, key: str) -> None:
    for value in (True, 42, "555", ["555"], {"contains": "555"}):
        for keys in ({"scenarios": [{**ASKED, key: value}]}, {"defaults": {key: value}, "scenarios": [ASKED]}):
            (tmp_path / "suite.json").write_text(json.dumps(keys), "utf-8")
            done = run(tmp_path, "suite", "suite.json")
            assert (done.exit, f"unknown key '{key}'" in done.err) == (2, True), done.err
            hinted = "`answer`" in done.err or "`expected_behaviors" in done.err or "`must_not" in done.err
            assert hinted or "defaults" in keys, done.err
            refused(check(tmp_path, [{"id": "A", "correct": True}], BAR), f"unknown key '{key}'")
    (tmp_path / "suite.csv").write_text(f"id,input,answer.contains,{key}\nA,Hi,yes,true\n", "utf-8")
    done = run(tmp_path, "suite", "suite.csv")
    assert (done.exit, f"unknown key '{key}'" in done.err) == (2, True), done.err


@pytest.mark.parametrize("value", [{"contains": "555"}, ["555"], {}, []])
@pytest.mark.parametrize("top", [{}, {"columns": ["leaks"]}])
def test_h131_a_column_of_the_users_own_is_a_scalar(tmp_path: Path, value: Any, top: dict[str, Any]) -> None:
    (tmp_path / "suite.json").write_text(json.dumps({**top, "scenarios": [{**ASKED, "leaks": value}]}), "utf-8")
    done = run(tmp_path, "suite", "suite.json")
    assert done.exit == 2
    assert "unknown key 'leaks'" in done.err
    refused(check(tmp_path, [{"id": "A", "correct": True}], BAR), "unknown key 'leaks'")


@pytest.mark.parametrize(
    "key", ["must_not.leaks.contains", "answer.equals", "forbidden.contains", "mustnot.x.contains"]
)
def test_h131_a_check_in_the_dotted_form_of_csv_is_refused_elsewhere(tmp_path: Path, key: str) -> None:
    (tmp_path / "suite.json").write_text(json.dumps([{**ASKED, key: "555"}]), "utf-8")
    done = run(tmp_path, "suite", "suite.json")
    assert done.exit == 2
    assert f"'{key}'" in done.err


@pytest.mark.process
def test_h131_text_that_nothing_names_is_warned_of_everywhere(tmp_path: Path) -> None:
    scenario = {**ASKED, "forbiden": "555", "priority": 3, "team": "x"}
    warning = "the scenarios have text under forbiden, team"
    project = python_project(tmp_path, LEAKS, [scenario])
    assert warning in project.run().err
    suite = {"scenarios": [scenario]}
    (tmp_path / "suite.json").write_text(json.dumps(suite), "utf-8")
    done = run(tmp_path, "suite", "suite.json")
    assert done.exit == 0
    assert "columns of your own: forbiden, priority, team\n" in done.out
    assert warning in done.err
    rows = [{"id": "A", "correct": True}]
    assert any(warning in note for note in judged(check(tmp_path, rows, BAR), "pass")["warnings"])


def test_h131_text_that_the_file_the_policy_or_the_results_name_is_a_column(tmp_path: Path) -> None:
    suite = {"columns": ["team"], "scenarios": [{**ASKED, "team": "x", "ticket": "y", "owner": "z"}]}
    (tmp_path / "suite.json").write_text(json.dumps(suite), "utf-8")
    rows = [{"id": "A", "correct": True, "owner": "z"}]
    found = judged(check(tmp_path, rows, {**BAR, "slices": ["ticket"]}), "pass")
    assert not [note for note in found["warnings"] if "names" in note]
    done = run(tmp_path, "suite", "suite.json")
    assert "text under ticket, owner, which" in done.err


@pytest.mark.parametrize("name", ["target", "prompt", "forbidden", "state", "max_words"])
def test_h131_a_listed_word_is_a_column_only_by_name(tmp_path: Path, name: str) -> None:
    for form, text in {
        "suite.json": json.dumps({"columns": [name], "scenarios": [{**ASKED, name: "x"}]}),
        "suite.jsonl": json.dumps({**ASKED, "columns": {name: "x"}}),
        "suite.csv": f"id,input,answer.contains,columns.{name}\nA,Hi,yes,x\n",
        "ids.csv": f"id,columns.{name}\nA,x\n",
    }.items():
        (tmp_path / form).write_text(text, "utf-8")
        done = run(tmp_path, "suite", form)
        assert (done.exit, done.err) == (0, "")
        assert f"columns of your own: {name}\n" in done.out


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        (["passed"], "'passed'"),
        (["categry"], "'categry'"),
        ("team", "'team'"),
        ([{"team": 1}], "mapping"),
        ([""], "''"),
    ],
)
def test_h131_a_name_of_highbar_is_no_column_of_your_own(tmp_path: Path, columns: Any, found: str) -> None:
    (tmp_path / "suite.json").write_text(json.dumps({"columns": columns, "scenarios": [ASKED]}), "utf-8")
    done = run(tmp_path, "suite", "suite.json")
    assert done.exit == 2
    assert found in done.err


def test_h131_a_list_of_ids_has_a_listed_word_only_if_the_results_have_it(tmp_path: Path) -> None:
    (tmp_path / "ids.csv").write_text("id,target\nA,x\n", "utf-8")
    policy = {**BAR, "suite": "ids.csv"}
    refused(check(tmp_path, [{"id": "A", "passed": True}], policy), "unknown key 'target'", line=2)
    judged(check(tmp_path, [{"id": "A", "passed": True, "target": "x"}], policy), "pass")
    judged(check(tmp_path, [{"id": "A", "passed": True, "target": "y"}], policy), "fail")


# --- H138 ---------------------------------------------------------------------------------------


EVALS = [{"id": "A", "prompt": "Say 555", "expect": "no"}, {"id": "B", "prompt": "Say 666", "expect": "no"}]


@pytest.mark.parametrize("expect", ["no", ["no"], {"not": "555"}, [{"contains": "no"}]])
@pytest.mark.parametrize("name", ["evals.json", "evals.jsonl", "evals.yaml"])
def test_h138_a_list_of_evals_is_no_list_of_ids(tmp_path: Path, name: str, expect: Any) -> None:
    evals = [{**one, "expect": expect} for one in EVALS]
    lines = "".join(json.dumps(one) + "\n" for one in evals)
    (tmp_path / name).write_text(lines if name.endswith("l") and "yaml" not in name else json.dumps(evals), "utf-8")
    for command in ("suite", "run"):
        done = run(tmp_path, command, name)
        assert done.exit == 2
        assert "unknown key 'prompt'" in done.err
        assert "write `input`" in done.err
    rows = [{"id": "A", "passed": True}, {"id": "B", "passed": True}]
    refused(check(tmp_path, rows, {**BAR, "suite": name}), "unknown key 'expect'")


def test_h138_a_list_of_ids_is_one_still(tmp_path: Path) -> None:
    (tmp_path / "ids.json").write_text(json.dumps(["A", {"id": "B", "category": "edge_case"}]), "utf-8")
    rows = [{"id": "A", "passed": True}, {"id": "B", "passed": True, "category": "edge_case"}]
    judged(check(tmp_path, rows, {**BAR, "suite": "ids.json"}), "pass")
    judged(check(tmp_path, rows[:1], {**BAR, "suite": "ids.json"}), "fail")
