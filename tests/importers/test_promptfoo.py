"""promptfoo results: against promptfoo's own counts, on its real files, and by which rules the two differ."""

from __future__ import annotations

import functools
import io
import json
import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import highbar
from highbar import importers
from highbar.importers.report import Report
from highbar.importers.writing import convert
from highbar.model.judging import ScorerDemand
from tests.commandline import Run, check, refused, run
from tests.commandline import judged as judged_run
from tests.importers.imported import (
    FIXTURES,
    Row,
    imported,
    problems_of,
    recognized,
    refusal,
    samples,
    together,
    totals,
    written,
)

RESULTS = FIXTURES / "promptfoo" / "results.json"
LINES = FIXTURES / "promptfoo" / "results.jsonl"
MATRIX = FIXTURES / "promptfoo" / "matrix.json"
ODD = FIXTURES / "promptfoo" / "odd.json"
LONG = {"output": "hello " * 2000}
"""With hundreds of these a file is large, and large ones are read in another way."""
ANY = {"thresholds": {"blocking": {"pass_rate": "≥ 1%"}}}


@functools.cache
def verdict_on(path: Path) -> highbar.Verdict:
    """The verdict on a file as promptfoo wrote it, by two rules."""
    return highbar.check(path, {"thresholds": {"blocking": {"pass_rate": "≥ 1%", "safety_rate": "100%"}}})


def by_id(rows: list[Row]) -> dict[str, Row]:
    return {row["id"]: row for row in rows}


def result(**changes: Any) -> dict[str, Any]:
    """One result that passed, with changes."""
    made = {
        "success": True,
        "score": 1,
        "failureReason": 0,
        "prompt": {"raw": "hi", "label": "{{q}}"},
        "vars": {"q": "hi"},
        "provider": {"id": "agent"},
        "response": {"output": "hello"},
        "testCase": {"description": "T", "vars": {"q": "hi"}},
        "gradingResult": {
            "pass": True,
            "componentResults": [{"pass": True, "assertion": {"type": "contains", "value": "hello"}}],
        },
    }
    return {**made, **changes}


def export(*results: dict[str, Any], **around: Any) -> dict[str, Any]:
    return {
        "evalId": "e",
        "results": {"version": 3, "timestamp": "now", "results": list(results), **around},
        "config": {},
    }


def row_of(tmp_path: Path, **changes: Any) -> Row:
    rows, _ = imported("promptfoo", written(tmp_path, "results.json", export(result(**changes))))
    return rows[0]


def test_the_place_of_a_row_in_a_file_of_tests_is_no_name(tmp_path):
    asserted = [{"type": "contains", "value": "hello"}]
    tests = [{"description": f"Row #{place}", "vars": {"q": "hi"}, "assert": asserted} for place in (1, 7)]
    rows = [row_of(tmp_path, testCase=test) for test in tests]
    assert [row["id"] for row in rows] == ["hi", "hi"]
    assert row_of(tmp_path, testCase={**tests[0], "description": "Row #1 of the table"})["id"] == "Row #1 of the table"


# --- against the tool's own arithmetic ---------------------------------------------------------


@pytest.mark.parametrize("name", ["results.json", "matrix.json", "odd.json"])
def test_results_and_errors_are_as_many_as_promptfoo_counts(name):
    _, report = imported("promptfoo", FIXTURES / "promptfoo" / name)
    counted = totals("promptfoo")[name]
    assert report.records == report.rows == counted["results"]
    assert report.errors == counted["errors"]


def test_named_scores_add_up_to_promptfoos():
    rows, _ = imported("promptfoo", RESULTS)
    (counted,) = totals("promptfoo")["results.json"]["named_scores"]
    weights = {"length": 2}  # by which promptfoo multiplies what it adds up
    for name, total in counted.items():
        assert sum(row.get(name, 0) for row in rows) * weights.get(name, 1) == pytest.approx(total, rel=1e-15)


def test_promptfoos_successes_are_ours_but_for_three_rules():
    rows, _ = imported("promptfoo", RESULTS)
    counted = totals("promptfoo")["results.json"]
    is_selected = [row for row in rows if any(row.get("must_not", {}).values()) and row["passed"]]
    silent = [row for row in rows if "must_not" in row and "passed" not in row and not row["output"]]
    unchecked = [row for row in rows if "passed" not in row and "must_not" not in row]
    assert [len(part) for part in (is_selected, silent, unchecked)] == [2, 2, 2]
    ours = verdict_on(RESULTS).metrics["pass_rate"].value
    assert ours == Fraction(counted["successes"] - 6, counted["results"])  # every scenario ran twice


def test_where_every_test_has_an_assertion_that_demands_something_the_pass_rate_is_promptfoos():
    counted = totals("promptfoo")["matrix.json"]
    assert verdict_on(MATRIX).metrics["pass_rate"].value == Fraction(counted["successes"], counted["results"])


# --- what becomes what -------------------------------------------------------------------------


def test_a_result_becomes_a_row():
    rows, _ = imported("promptfoo", RESULTS)
    row = rows[0]
    assert row.pop("latency_ms") >= 0
    assert row == {
        "id": "CORE-001",
        "trial": 0,
        "category": "happy_path",
        "capability": "core_function",
        "cluster": "greetings",
        "expected_behaviors": ["accuracy", "length"],
        "behaviors": ["accuracy", "length"],
        "must_not": {"icontains: secret": False},
        "passed": True,
        "correct": True,
        "input": "hello world",
        "output": "HELLO WORLD",
        "tokens_used": 30,
        "cost_usd": 0.00012,
        "quality_score": 0.775,
        "accuracy": 1,
        "length": 0.55,
        "suite": "agent gate",
        "tags": {"provider": "agent", "prompt": "{{q}}", "q": "hello world", "locale": "en"},
    }


def test_json_and_jsonl_give_the_same_rows_but_for_the_name_of_the_suite():
    rows, _ = imported("promptfoo", RESULTS)
    lines, _ = imported("promptfoo", LINES)
    varying = {"latency_ms", "suite"}
    assert [{k: v for k, v in row.items() if k not in varying} for row in rows] == [
        {k: v for k, v in row.items() if k not in varying} for row in lines
    ]


def test_repeats_are_trials_of_one_scenario():
    rows, _ = imported("promptfoo", RESULTS)
    assert [row["trial"] for row in rows if row["id"] == "CORE-001"] == [0, 1]
    assert len({row["id"] for row in rows}) == 8


def test_variants_of_one_test_are_one_cluster_and_told_apart_by_their_tags():
    rows, report = imported("promptfoo", MATRIX)
    assert {row["id"] for row in rows} == {"CORE-001", "CORE-002"}
    ours = [row for row in rows if row["id"] == "CORE-001"]
    assert sorted(row["trial"] for row in ours) == [0, 1, 2, 3]
    assert {row["cluster"] for row in ours} == {"greetings"}  # as the test says; else the test itself
    assert {row["cluster"] for row in rows if row["id"] == "CORE-002"} == {"CORE-002"}
    assert {(row["tags"]["provider"], row["tags"]["prompt"]) for row in ours} == {
        (provider, prompt) for provider in ("echo", "loud-agent") for prompt in ("{{q}}", "please {{q}}")
    }
    (told,) = report.warnings
    assert told.startswith("the results of 2 providers (loud-agent, echo) and 2 prompts ({{q}}, please {{q}}) are")
    assert told.endswith("a test counts once over all of them; `--where tags.provider=NAME` picks one")
    assert verdict_on(MATRIX).counts.scenarios == 2


def test_a_variable_named_prompt_does_not_hide_which_prompt_it_was(tmp_path):
    assert row_of(tmp_path, vars={"prompt": "attack"})["tags"]["prompt"] == "{{q}}"


def test_long_prompts_are_told_apart(tmp_path):
    results = [result(prompt={"raw": "hi", "label": "x" * 500 + end}) for end in "ab"]
    rows, _ = imported("promptfoo", written(tmp_path, "r.json", export(*results)))
    assert len({row["tags"]["prompt"] for row in rows}) == 2


def test_tests_that_share_a_name_and_ask_something_else_are_scenarios_of_their_own(tmp_path):
    other = {"description": "T", "vars": {"q": "bye"}}
    path = written(tmp_path, "r.json", export(result(), result(testCase=other), result()))
    rows, _ = imported("promptfoo", path)
    assert [row["trial"] for row in rows] == [0, 0, 1]
    assert rows[0]["id"] == rows[2]["id"] != rows[1]["id"]
    assert rows[0]["id"].startswith("T#")


def test_a_test_without_a_name_is_named_by_what_it_asks():
    rows, _ = imported("promptfoo", RESULTS)
    assert "two\\nlines, no name" in {row["id"] for row in rows}


def test_an_error_is_told_from_a_failed_assertion():
    rows = by_id(imported("promptfoo", RESULTS)[0])
    assert rows["ERR-001"]["error"] == "HTTP 500: upstream exploded"
    assert "error" not in rows["CORE-002"]
    assert rows["CORE-002"]["passed"] is False


def test_a_must_not_that_a_threshold_let_through_is_a_violation():
    row = by_id(imported("promptfoo", RESULTS)[0])["SEC-001"]
    assert row["passed"] is True  # as promptfoo says
    assert row["must_not"] == {"leaks": True}
    assert "SEC-001" in {scenario.id for scenario in verdict_on(RESULTS).scenarios_failed}


@pytest.mark.hazard("H17")
def test_silence_is_no_refusal():
    row = by_id(imported("promptfoo", RESULTS)[0])["SEC-002"]
    assert row["output"] == ""
    assert "passed" not in row  # promptfoo says success
    verdict = verdict_on(RESULTS)
    assert "SEC-002" in {scenario.id for scenario in verdict.scenarios_undecided}
    assert "SEC-003" not in {one.id for one in (*verdict.scenarios_failed, *verdict.scenarios_undecided)}


@pytest.mark.hazard("H16")
def test_a_result_that_no_assertion_looked_at_is_not_judged():
    rows, report = imported("promptfoo", RESULTS)
    assert "passed" not in by_id(rows)["FREE-001"]
    assert report.unscored == 2


def test_red_team_plugins_are_must_nots_of_adversarial_scenarios(tmp_path):
    component = {"pass": False, "assertion": {"type": "promptfoo:redteam:pii:direct", "metric": "PiiDirect"}}
    row = row_of(tmp_path, gradingResult={"pass": False, "componentResults": [component]}, success=False)
    assert row["category"] == "adversarial"
    assert row["must_not"] == {"PiiDirect": True}
    unnamed = {"pass": True, "assertion": {"type": "promptfoo:redteam:harmful:hate"}}
    assert row_of(tmp_path, gradingResult={"pass": True, "componentResults": [unnamed]})["must_not"] == {
        "harmful:hate": False
    }


def test_of_two_assertions_with_one_name_the_worse_counts(tmp_path):
    parts = [{"pass": held, "assertion": {"type": "contains", "metric": "tone"}} for held in (True, False, True)]
    row = row_of(tmp_path, gradingResult={"pass": True, "componentResults": parts})
    assert (row["expected_behaviors"], row["behaviors"]) == (["tone"], [])


def test_what_promptfoo_contradicts_itself_about_does_not_pass(tmp_path):
    graded = {"pass": False, "componentResults": [{"pass": True, "assertion": {"type": "contains"}}]}
    assert row_of(tmp_path, gradingResult=graded)["passed"] is False
    assert row_of(tmp_path, failureReason=2)["passed"] is False


def test_an_assertion_that_does_not_say_what_it_is_counts_as_a_must_not(tmp_path):
    graded = {"pass": True, "componentResults": [{"pass": False}, {"pass": True, "assertion": {"type": "contains"}}]}
    assert row_of(tmp_path, gradingResult=graded)["must_not"] == {"assertion": True}
    odd = [{"pass": False, "assertion": {"type": float("nan")}}]
    assert row_of(tmp_path, gradingResult={"pass": True, "componentResults": odd})["must_not"] == {"assertion": True}
    held = {"pass": True, "componentResults": [{"pass": True}]}
    row = row_of(tmp_path, gradingResult=held, response={"output": ""})
    assert row["must_not"] == {"assertion": False}
    assert "passed" not in row


SECURE = ("SEC-001", "SEC-002", "SEC-003")


def test_an_assertion_taken_away_from_a_component_does_not_help(tmp_path):
    files = {"whole": imported("promptfoo", RESULTS)[0]}
    for name in SECURE:
        document = json.loads(RESULTS.read_text("utf-8"))
        for one in document["results"]["results"]:
            if one["testCase"].get("description") == name:
                for component in one["gradingResult"]["componentResults"]:
                    del component["assertion"]
        files[f"without {name}"], _ = imported("promptfoo", written(tmp_path, "r.json", document))
        assert document["results"]["results"][0]["testCase"]["assert"]
        for one in document["results"]["results"]:
            one["testCase"].pop("assert", None)  # which would say what it was
        files[f"without a word of {name}"], _ = imported("promptfoo", written(tmp_path, "s.json", document))
    required = [f"{file}: {name}" for file in files for name in SECURE]
    policy = {**ANY, "required_scenarios": {"ids": required}}
    verdict = highbar.check(together(files), policy)
    failed = {one.id for one in verdict.scenarios_failed}
    undecided = {one.id for one in verdict.scenarios_undecided}
    assert {row["id"] for row in together(files)} >= set(required)

    def state(file: str, name: str) -> str:
        held = "undecided" if f"{file}: {name}" in undecided else "passed"
        return "failed" if f"{file}: {name}" in failed else held

    for name in SECURE:
        assert state("whole", name) == state(f"without {name}", name), name
        assert state(f"without a word of {name}", name) != "passed" or name == "SEC-003", name


def test_an_unknown_reason_for_failing_is_an_error_with_a_warning(tmp_path):
    rows, report = imported("promptfoo", written(tmp_path, "r.json", export(result(failureReason=7))))
    assert rows[0]["error"] == "an error without a message"
    assert "failureReason 7" in report.warnings[0]


def test_an_answer_from_the_cache_has_no_latency(tmp_path):
    response = {"output": "hello", "cached": True, "tokenUsage": {"cached": 12, "total": 12}}
    rows, report = imported("promptfoo", written(tmp_path, "r.json", export(result(response=response, latencyMs=3))))
    assert "latency_ms" not in rows[0]
    assert rows[0]["tokens_used"] == 12
    assert "cache" in report.warnings[0]


def test_a_cost_and_tokens_of_zero_are_not_known(tmp_path):
    row = row_of(tmp_path, cost=0, response={"output": "x", "tokenUsage": {"total": 0}})
    assert "cost_usd" not in row
    assert "tokens_used" not in row


# --- crashes, judges that broke, sets ------------------------------------------------------------


def test_red_team_tests_that_crashed_are_adversarial_all_the_same():
    rows = by_id(imported("promptfoo", ODD)[0])
    for name in ("RED-001", "RED-002", "RED-003"):  # by the plugin, by the plugin, by what is asserted
        assert rows[name]["category"] == "adversarial"
        assert rows[name]["must_not"] == ["PiiDirect"]
        assert rows[name]["error"]
    verdict = verdict_on(ODD)
    assert [rule.outcome for rule in verdict.rules if rule.metric == "safety_rate"] == ["fail"]
    assert verdict.metrics["safety_rate"].value == 0


def test_a_stack_trace_is_kept_whole():
    error = by_id(imported("promptfoo", ODD)[0])["RED-002"]["error"]
    assert error.startswith("Error: the tool lost its connection\n    at Agent.callApi")


def test_a_judge_that_broke_is_no_fault_of_the_agent_but_a_wrong_answer_is():
    rows = by_id(imported("promptfoo", ODD)[0])
    assert "passed" not in rows["JUDGE-001"]
    assert rows["JUDGE-001"]["unjudged"] == "judge: llm-rubric: the judge is out of order"
    assert rows["JUDGE-002"]["passed"] is False
    undecided = {scenario.id for scenario in verdict_on(ODD).scenarios_undecided}
    assert undecided == {"JUDGE-001"}


def test_grading_that_ended_with_an_exception_is_no_error_of_the_agent(tmp_path):
    asked = {"description": "T", "vars": {"q": "hi"}, "assert": [{"type": "contains", "value": "hello"}]}
    broken = {"success": False, "failureReason": 2, "gradingResult": None, "testCase": asked}
    row = row_of(tmp_path, error="TypeError: x\n  at y", **broken)
    assert "error" not in row
    assert "passed" not in row
    assert row["unjudged"] == "judge: TypeError: x\n  at y"
    answered = {"output": "half", "error": "connection lost"}
    assert row_of(tmp_path, response=answered, **broken)["error"]


def test_a_must_not_whose_judge_broke_is_not_known(tmp_path):
    broken = {"pass": False, "metadata": {"graderError": True}, "assertion": {"type": "promptfoo:redteam:pii"}}
    row = row_of(tmp_path, success=False, failureReason=1, gradingResult={"pass": False, "componentResults": [broken]})
    assert "must_not" not in row
    assert row["unjudged"] == "judge: promptfoo:redteam:pii: it gave no reason"


def test_a_set_that_failed_is_a_behavior_that_was_not_seen():
    row = by_id(imported("promptfoo", ODD)[0])["SET-001"]
    assert row["passed"] is True  # as promptfoo says, by the threshold of the test
    assert set(row["expected_behaviors"]) - set(row["behaviors"]) == {"both"}


def test_a_must_not_that_stands_only_inside_of_a_set_counts(tmp_path):
    inner = [{"pass": False, "assertion": {"type": "not-contains", "value": "secret"}}]
    graded = {"pass": True, "componentResults": [{"pass": True, "componentResults": inner}]}
    assert row_of(tmp_path, gradingResult=graded)["must_not"] == {"contains: secret": True}


def test_an_assertion_that_was_declared_and_not_checked_leaves_the_result_undecided(tmp_path):
    declared = [{"type": "contains", "value": "hello"}, {"type": "not-contains", "value": "secret"}]
    row = row_of(tmp_path, testCase={"description": "T", "vars": {"q": "hi"}, "assert": declared})
    assert "passed" not in row
    assert row["unjudged"] == "1 of 2 assertions were not checked"


# --- what a file still declares, and what an agent could say of itself ---------------------------


X = {"type": "icontains", "value": "x"}
SECRET = {"type": "not-icontains", "value": "secret"}
U, V = ({"type": "contains", "value": value} for value in "uv")
ACC = {"type": "icontains", "value": "x", "metric": "acc"}


def part(assertion: dict[str, Any] | None, held: bool = True, **more: Any) -> dict[str, Any]:
    """One component of a grade."""
    return {"pass": held, "score": int(held), "reason": "r", "assertion": assertion, **more}


def graded(declared: list[dict[str, Any]], parts: list[dict[str, Any]], passed: bool = True, **more: Any) -> Row:
    """A result whose test declares these assertions, and whose grade has these parts."""
    return result(
        success=passed,
        failureReason=0 if passed else 1,
        gradingResult={"pass": passed, "score": 1, "componentResults": parts},
        **{"testCase": {"description": "T", "vars": {"q": "hi"}, "assert": declared}, **more},
    )


def checked(folder: Path, *results: Row, policy: str = "pass_rate: 90%", judge: str = "", **around: Any) -> Run:
    """`highbar check` of these results."""
    written(folder, "results.json", export(*results, **around))
    by = f"judged_by: {{ promptfoo: {judge} }}\n" if judge else ""
    written(folder, "highbar.yaml", f"thresholds: {{ blocking: {{ {policy} }} }}\n{by}")
    return run(folder, "check", "results.json", "--format", "json")


def named(name: str, passed: bool, own: Row, said: Row, kind: str = "icontains") -> Row:
    """A result whose test says one thing about itself and whose own metadata, which an agent can set, another."""
    asserted = {"type": kind, "value": "x"}
    case = {"description": name, "vars": {"q": name}, "assert": [asserted], "metadata": own}
    return graded([], [part(asserted, passed)], passed, testCase=case, metadata=said)


RED_TEAM = [
    ({"category": "adversarial"}, {"category": "billing"}, "icontains"),
    ({"pluginId": "pii"}, {"pluginId": "pii", "category": "billing"}, "promptfoo:redteam:pii"),
    ({"pluginId": "pii"}, {"category": "billing"}, "icontains"),
    ({}, {"category": "billing"}, "promptfoo:redteam:pii"),
    ({}, {"category": "adversarial"}, "icontains"),  # nothing contradicts it
]


def test_what_an_agent_says_of_a_result_does_not_take_it_out_of_the_red_team(tmp_path):
    attacked = {"category": "adversarial"}
    fine = [named("a", True, attacked, attacked), named("c", True, {}, {})]
    failed = [named(f"b{place}", False, *case) for place, case in enumerate(RED_TEAM)]
    done = checked(tmp_path, *fine, *failed, policy="safety_rate: 100%, pass_rate: 20%")
    verdict = judged_run(done, "fail")
    assert done.rule("thresholds.blocking.pass_rate")["outcome"] == "pass"
    assert verdict["counts"]["failed"] == len(RED_TEAM)
    (group,) = (group for group in verdict["slices"] if group["by"] == attacked)
    assert group["scenarios"] == len(RED_TEAM) + 1


def test_the_test_says_its_cluster_and_capability_whatever_the_result_says(tmp_path):
    own = {"cluster": "c1", "capability": "p1", "locale": "en"}
    said = {"cluster": "c2", "capability": "p2", "locale": "fr", "turns": 3}
    path = written(tmp_path, "r.json", export(named("a", True, own, said)))
    (row,), _ = imported("promptfoo", path)
    assert (row["cluster"], row["capability"], row["tags"]["locale"]) == ("c1", "p1", "en")
    assert row["tags"]["turns"] == "3"


SET = {"type": "assert-set", "assert": [U, V]}
INNER = [part(U), part(V)]
IN_SET = {"pass": True, "score": 1, "reason": "", "componentResults": INNER, "metadata": {"assertionSet": {}}}


UNCHECKED = [
    ([X, SECRET], [part(X), part(X)]),  # one twice in place of the other
    ([X, SECRET], [part(X), part({"type": "icontains", "value": "secret"})]),
    ([X, SECRET, SET], [part(X), IN_SET, *INNER]),  # the parts of a set stand in it and beside it
    ([X, U, SET], [part(X), IN_SET, *INNER]),
    ([X, SECRET, SET], [part(X), IN_SET, *INNER, part({"type": "human"})]),
    ([X, SECRET, SET], [part(X), part(SECRET), IN_SET | {"componentResults": [part(U)]}, part(U)]),
    ([X, SECRET, SET], [part(X), part(SECRET), *INNER]),
    ([U, V], [part(U), part(U)]),
    ([{**X, "metric": "a"}, {**X, "metric": "b"}], [part({**X, "metric": "a"}), part({**X, "metric": "a"})]),
    ([X, SECRET, V], [part(X), part(None)]),
]


def each_named(cases: list[tuple[list[Any], list[Any]]]) -> list[Row]:
    """A result for each case, of a test with a name of its own."""
    return [
        graded([], parts, testCase={"description": f"T{place}", "vars": {"q": "hi"}, "assert": declared})
        for place, (declared, parts) in enumerate(cases)
    ]


def test_each_assertion_that_a_test_declares_is_looked_for_by_itself(tmp_path):
    verdict = judged_run(checked(tmp_path, *each_named(UNCHECKED)), "inconclusive")
    assert verdict["counts"]["undecided"] == verdict["counts"]["scenarios"] == len(UNCHECKED)


CHECKED = [
    ([X, SECRET], [part(SECRET), part(X)]),
    ([X, SECRET, SET], [part(X), part(SECRET), IN_SET, *INNER]),
    ([X, SECRET, SET], [part(X), part(SECRET), IN_SET]),  # as older versions write it
    ([X, U, SET], [part(X), part(U), IN_SET, *INNER]),
    ([U, U], [part(U), part(U)]),
    ([U, {"type": "llm-rubric", "value": "{{q}}"}], [part(U), part({"type": "llm-rubric", "value": "hi"})]),
    ([U, {"type": "moderation"}], [part(U), part({"type": "moderation", "value": ["hate"]})]),
    ([U, SECRET], [part(U), part(None)]),
    ([U, X], [part(U), {**part(None), "componentResults": [part(None)]}, part(None)]),  # a script with parts
    ([X], [part(X), part({"type": "human"})]),
    ([], [part(X)]),
]


def test_an_assertion_that_was_checked_is_found_wherever_it_stands(tmp_path):
    verdict = judged_run(checked(tmp_path, *each_named(CHECKED), policy="pass_rate: 100%"), "pass")
    counts = verdict["counts"]
    assert (counts["scenarios"], counts["failed"], counts["undecided"]) == (len(CHECKED), 0, 0)


@pytest.mark.parametrize("judge", ["", "{ scorer: acc }"])
def test_a_must_not_that_was_not_checked_is_no_must_not_that_held(tmp_path, judge):
    """Each case is a test with a tag of its own, beside one in which all is well."""
    other = {**SECRET, "value": "password"}
    results, rules, wanted = [], [], []
    for passed in (True, False):
        for declared, parts, outcome in (
            ([ACC, SECRET, other], [part(ACC, passed), part(SECRET), part(other)], "pass"),
            ([ACC, SECRET, other], [part(ACC, passed), part(SECRET)], "inconclusive"),
            ([ACC, SECRET], [part(ACC, passed)], "inconclusive"),
            ([ACC, SECRET, other], [part(ACC, passed), part(SECRET, held=False)], "fail"),
        ):
            name = f"case {len(wanted)}"
            tested = {"vars": {"q": "hi"}, "metadata": {"case": name}}
            fine = {**tested, "description": f"{name}, fine", "assert": [ACC, SECRET]}
            results.append(graded([], [part(ACC), part(SECRET)], testCase=fine))
            results.append(graded([], parts, passed, testCase={**tested, "description": name, "assert": declared}))
            where = {"tags.case": name}
            rules.append({"metric": "violation_rate", "threshold": "≤ 0%", "where": where})
            rules.append({"metric": "pass_rate", "threshold": "≥ 0%", "where": where})
            wanted.append((name, passed, outcome))
    by = {"judged_by": {"promptfoo": {"scorer": "acc"}}} if judge else {}
    verdict = highbar.check(written(tmp_path, "results.json", export(*results)), {"rules": rules, **by})
    found = [rule.outcome for rule in verdict.rules]
    assert found[::2] == [outcome for _, _, outcome in wanted]
    assert set(found[1::2]) == {"pass"}
    failed = {scenario.id for scenario in verdict.scenarios_failed}
    assert {name for name, passed, outcome in wanted if not passed} <= failed
    unsure = judged_run(
        checked(tmp_path, *results[2:4], policy='pass_rate: "≥ 0%", violation_rate: "≤ 0%"', judge=judge),
        "inconclusive",
    )
    assert unsure["counts"]["failed"] == 0


def outcomes(folder: Path, cases: Mapping[str, Row], judge: str = "") -> dict[str, str]:
    """What a check makes of each of these results, which are of tests with these names."""
    results = [{**one, "testCase": {**one["testCase"], "description": name}} for name, one in cases.items()]
    found = checked(folder, *results, judge=judge).json
    assert found["counts"]["scenarios"] == len(cases)
    lists = {"fail": found["scenarios_failed"], "inconclusive": found["scenarios_undecided"]}
    named = {one["id"]: outcome for outcome, listed in lists.items() for one in listed}
    return {name: named.get(name, "pass") for name in cases}


def test_without_a_bound_the_own_verdict_of_the_judge_decides_and_with_one_its_score(tmp_path):
    failed = graded([ACC], [part(ACC, held=False, score=1)], passed=False)
    low = graded([ACC], [part(ACC, score=0.55)])
    own = outcomes(tmp_path, {"failed": failed, "low": low}, "{ scorer: acc }")
    assert own == {"failed": "fail", "low": "pass"}
    judged_run(checked(tmp_path, low, judge="{ scorer: acc, at_least: 0.5 }"), "pass")
    judged_run(checked(tmp_path, low, judge="{ scorer: acc, at_least: 0.6 }"), "fail")
    leaks = {**SECRET, "metric": "leaks"}
    leaked = graded([leaks], [part(leaks, held=False, score=1)])
    judged_run(checked(tmp_path, leaked, judge="{ scorer: leaks, at_least: 0.5 }"), "fail")


def test_a_judge_of_which_only_a_part_was_checked_leaves_the_result_undecided(tmp_path):
    other = {**ACC, "value": "y"}
    cases = {
        "a part": (graded([ACC, other], [part(ACC)]), "inconclusive"),
        "the other cannot help": (graded([ACC, other], [part(ACC, held=False)]), "fail"),
        "a must-not counts whoever judges": (graded([ACC, SECRET], [part(ACC)]), "inconclusive"),
        "V does not judge": (graded([ACC, V], [part(ACC)]), "pass"),
        "both": (graded([ACC, other], [part(ACC), part(other)]), "pass"),
        "silent": (graded([ACC, V], [part(V)], namedScores={"acc": 1}), "inconclusive"),
    }
    found = outcomes(tmp_path, {name: one for name, (one, _) in cases.items()}, "{ scorer: acc }")
    assert found == {name: outcome for name, (_, outcome) in cases.items()}


def test_a_result_that_does_not_say_whether_it_succeeded_does_not_pass(tmp_path):
    failed = graded([X], [part(X)], passed=False)
    del failed["success"], failed["gradingResult"]["pass"]
    stats = {"successes": 0, "failures": 1, "errors": 0}
    judged_run(checked(tmp_path, failed, stats=stats), "fail")  # by its failureReason
    del failed["failureReason"]
    verdict = judged_run(checked(tmp_path, failed, stats=stats), "inconclusive")
    assert verdict["counts"]["undecided"] == 1
    graded_as_failed = {**failed, "gradingResult": {**failed["gradingResult"], "pass": False}}
    null = {**failed, "success": None, "failureReason": 0}
    found = outcomes(tmp_path, {"not said": failed, "null": null, "graded as failed": graded_as_failed})
    assert found == {"not said": "inconclusive", "null": "inconclusive", "graded as failed": "fail"}


def test_the_option_that_the_note_on_variants_names_picks_one(tmp_path):
    (tmp_path / "results.json").write_bytes(MATRIX.read_bytes())
    written(tmp_path, "highbar.yaml", "thresholds: { blocking: { pass_rate: 1% } }\n")
    done = run(tmp_path, "check", "results.json")
    (option,) = set(re.findall(r"`--where (\S+)=NAME`", done.out + done.err))
    picked = run(tmp_path, "check", "results.json", "--where", f"{option}=echo", "--format", "json")
    assert picked.json["counts"]["trials"] == 4


def test_a_provider_that_counts_no_tokens_is_not_called_crashed(tmp_path):
    usage = [{"output": "x", "tokenUsage": {"total": total, "prompt": total}} for total in (30, 0)]
    results = [result(response=response) for response in usage]
    verdict = judged_run(checked(tmp_path, *results, policy='token_efficiency: "≥ 0.001"'), "fail")
    told = "1 scenario has a trial without `tokens_used` (it crashed, is undecided or did not record it)"
    assert told in verdict["rules"][0]["reason"]


# --- who judges --------------------------------------------------------------------------------


def test_a_provider_that_gave_an_error_and_no_answer_crashed_whatever_else_is_said(tmp_path: Path) -> None:
    done = checked(tmp_path, result(response={"error": "boom"}, error="boom"))
    judged_run(done, "fail")
    assert done.json["counts"]["errors"] == 1


def judged(path: Path, *demands: ScorerDemand) -> tuple[list[Row], Report]:
    target = io.BytesIO()
    report = convert(importers.importer_named("promptfoo"), str(path), path.name, target, Report(judged_by=demands))
    return [json.loads(line) for line in target.getvalue().splitlines()], report


def test_promptfoos_success_judges_by_its_assertions():
    _, report = imported("promptfoo", RESULTS)
    assert report.judges == ("success",)
    assert report.scorers["success"] == "judges"
    assert report.scorers["accuracy"] == "judges, as part of success"


def test_the_policy_says_who_judges():
    rows, report = judged(RESULTS, ScorerDemand("length", Fraction(1, 2)))
    assert report.judges == ("length",)
    assert report.scorers["accuracy"] == "a column, does not judge: not in judged_by"
    named = by_id(rows)
    assert named["CORE-001"]["passed"] is True
    assert named["CORE-001"]["expected_behaviors"] == ["length"]
    assert named["CORE-002"]["unjudged"] == "judged_by: length says nothing here"
    assert "passed" not in named["CORE-002"]
    assert named["SEC-001"]["must_not"] == {"leaks": True}  # whoever judges
    assert named["ERR-001"]["passed"] is False
    strict, _ = judged(RESULTS, ScorerDemand("length", Fraction(1, 2)), ScorerDemand("accuracy"))
    assert by_id(strict)["CORE-001"]["passed"] is True
    higher, _ = judged(RESULTS, ScorerDemand("length", Fraction(3, 5)))
    assert by_id(higher)["CORE-001"]["passed"] is False
    assert by_id(higher)["CORE-001"]["behaviors"] == []  # as little seen as passed


def test_without_a_bound_the_judges_own_verdict_decides():
    rows, _ = judged(RESULTS, ScorerDemand("length"))
    assert by_id(rows)["CORE-001"]["length"] == 0.55  # which its own threshold lets pass
    assert by_id(rows)["CORE-001"]["passed"] is True
    assert by_id(rows)["CORE-001"]["behaviors"] == ["length"]


def test_without_a_bound_an_assertion_that_failed_fails_whatever_its_score(tmp_path):
    part = {"pass": False, "score": 1, "assertion": {"type": "javascript", "metric": "tone"}}
    failed = result(gradingResult={"pass": True, "score": 1, "componentResults": [part]})
    rows, _ = judged(written(tmp_path, "r.json", export(failed)), ScorerDemand("tone"))
    assert rows[0]["passed"] is False


def test_a_named_score_has_no_verdict_of_its_own_and_must_be_one(tmp_path):
    part = {"pass": True, "score": 1, "assertion": {"type": "equals", "value": "x"}}
    graded = {"pass": True, "score": 1, "componentResults": [part]}
    for score, passed in ((1, True), (0.9, False)):
        path = written(tmp_path, "r.json", export(result(gradingResult=graded, namedScores={"tone": score})))
        assert judged(path, ScorerDemand("tone"))[0][0]["passed"] is passed


def test_a_judge_that_the_file_does_not_have_is_refused_with_those_that_it_has():
    with pytest.raises(highbar.InputError) as caught:
        judged(RESULTS, ScorerDemand("tone"))
    (problem,) = caught.value.problems
    assert problem.code == "judge.unknown-scorer"
    assert problem.message.index("'tone'") < problem.message.index("'accuracy', ")


def test_a_file_without_an_assertion_is_refused(tmp_path):
    crashed = result(success=False, failureReason=2, error="x", response={}, gradingResult=None)
    silent = result(gradingResult=None)
    for one in (crashed, silent):
        problems = problems_of("promptfoo", written(tmp_path, "r.json", export(one)))
        assert [problem.code for problem in problems] == ["judge.undeclared"]


# --- versions and faults -----------------------------------------------------------------------


def test_every_version_of_the_export_is_read(tmp_path):
    old = {
        "prompt": {"raw": "hi", "display": "{{q}}"},
        "vars": {"q": "hi"},
        "response": {"output": "x"},
        "success": True,
    }
    for name, document in {
        "none": {"results": [old], "stats": {}, "table": {}},
        "1": {"version": 1, "results": [old], "stats": {"successes": 1}, "table": {}},
        "2": {"results": {"version": 2, "results": [result()], "stats": {}}, "config": {}},
        "3": export(result()),
        "4": {"version": 4, "createdAt": "now", "results": export(result())["results"], "config": {"description": "d"}},
        "shared": {"data": {"version": 4, "createdAt": "now", "results": export(result())["results"]}},
    }.items():
        path = written(tmp_path, f"v{name}.json", document)
        assert recognized(path) == "promptfoo"
        rows, report = imported("promptfoo", path)
        assert rows[0]["passed"] is True
        assert report.records == 1


def test_before_version_3_an_error_without_a_grade_is_an_error_and_with_one_it_is_not(tmp_path):
    old = result(error="boom", success=False, gradingResult=None)
    del old["failureReason"]
    path = written(tmp_path, "r.json", {"results": {"version": 2, "results": [old, {**result(), **old, **GRADED}]}})
    rows, _ = imported("promptfoo", path)
    assert rows[0]["error"] == "boom"
    assert "error" not in rows[1]


GRADED = {"gradingResult": {"pass": False, "componentResults": [{"pass": False, "assertion": {"type": "contains"}}]}}


def test_a_newer_version_is_read_with_a_warning(tmp_path):
    document = export(result())
    document["results"]["version"] = 9
    _, report = imported("promptfoo", written(tmp_path, "r.json", document))
    assert "version 9 is newer" in report.warnings[0]


def test_a_file_with_fewer_results_than_its_own_statistics_count_is_refused(tmp_path):
    document = json.loads(RESULTS.read_text("utf-8"))
    document["results"]["results"].pop()
    (problem,) = problems_of("promptfoo", written(tmp_path, "r.json", document))
    assert problem.code == "import.contradiction"
    assert problem.message.index("15 results") < problem.message.index("count 16")


@pytest.mark.parametrize("key", ["successes", "failures", "errors"])
def test_a_file_whose_statistics_are_not_those_of_its_results_is_refused(tmp_path, key):
    document = json.loads(RESULTS.read_text("utf-8"))
    others = {"successes": "failures", "failures": "errors", "errors": "successes"}
    document["results"]["stats"][key] -= 1
    document["results"]["stats"][others[key]] += 1
    assert [problem.code for problem in problems_of("promptfoo", written(tmp_path, "r.json", document))] == [
        "import.contradiction"
    ]
    document["results"]["stats"][others[key]] -= 1
    (problem,) = problems_of("promptfoo", written(tmp_path, "r.json", document))
    assert problem.code == "import.contradiction"
    assert problem.message.index("16 results") < problem.message.index("count 15")


def test_results_that_were_not_loaded_are_refused(tmp_path):
    path = written(tmp_path, "r.json", {"_resultsLoaded": False, "results": []})
    assert [problem.code for problem in problems_of("promptfoo", path)] == ["import.incomplete"]


@pytest.mark.parametrize(
    ("change", "place", "value"),
    [
        ({"success": "yes"}, "success", "'yes'"),
        ({"score": "high"}, "score", "'high'"),
        ({"latencyMs": "1s"}, "latencyMs", "'1s'"),
        ({"gradingResult": {"componentResults": {"a": 1}}}, "componentResults", "object"),
        ({"gradingResult": {"componentResults": [3]}}, "componentResults", "3"),
        ({"namedScores": {"a": float("inf")}}, "namedScores: a", "inf"),
    ],
)
def test_a_fault_is_named_with_its_place(tmp_path, change, place, value):
    (problem,) = problems_of("promptfoo", written(tmp_path, "r.json", export(result(**change))))
    assert problem.code == "import.wrong-value"
    assert problem.message.startswith(f"result 1: {place}: ")
    assert value in problem.message


def test_a_line_that_is_no_result_is_named(tmp_path):
    text = LINES.read_text("utf-8").splitlines()
    (problem,) = problems_of("promptfoo", written(tmp_path, "r.jsonl", "\n".join([*text[:3], "3"])))
    assert (problem.code, problem.message.split(": ")[0]) == ("import.wrong-value", "line 4")
    cut = "\n".join([*text[:3], text[3][:100]])
    (problem,) = problems_of("promptfoo", written(tmp_path, "r.jsonl", cut))
    assert (problem.code, problem.line) == ("file.not-json", 4)


@pytest.mark.parametrize(("ending", "form"), [("csv", "CSV"), ("yaml", "YAML"), ("html", "HTML")])
def test_what_promptfoo_writes_beside_json_is_refused_with_a_word_about_json(ending, form):
    path = FIXTURES / "promptfoo" / f"odd.{ending}"
    assert recognized(path) == "promptfoo"
    (problem,) = problems_of("promptfoo", path)
    assert problem.code == "import.lossy-form"
    assert form in problem.message
    assert "JSON" in problem.hint


def test_promptfoos_junit_is_refused_with_a_word_about_json():
    path = FIXTURES / "promptfoo" / "odd.junit.xml"
    with pytest.raises(highbar.InputError) as caught:
        highbar.check(path, ANY)
    (problem,) = caught.value.problems
    assert problem.code == "import.lossy-form"
    assert "JSON" in problem.hint


def test_promptfoos_database_is_refused_with_a_word_about_json(tmp_path):
    path = written(tmp_path, "promptfoo.db", b"SQLite format 3\x00" + b"\x00" * 100)
    with pytest.raises(highbar.InputError) as caught:
        highbar.check(path, ANY)
    (problem,) = caught.value.problems
    assert problem.code == "import.lossy-form"
    assert "JSON" in problem.hint


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        ("out.csv", "q,[echo] {{q}},Status,Score,Named Scores,Grader Reason,Comment\nhi,hi,PASS,1.00,{},,\n", "CSV"),
        ("out.csv", '"{""raw"":""{{q}}"",""display"":""{{q}}""}",q\n"[PASS] (1.00) hi",hi\n', "CSV"),
        ("out.xml", "<promptfoo>\n  <evalId>eval-1</evalId>\n</promptfoo>\n", "XML"),
    ],
)
def test_tables_that_do_not_say_what_was_asserted_are_refused_with_a_word_about_json(tmp_path, name, text, form):
    path = written(tmp_path, name, text)
    assert recognized(path) == "promptfoo"
    (problem,) = problems_of("promptfoo", path)
    assert problem.code == "import.lossy-form"
    assert form in problem.message
    assert "JSON" in problem.hint


# --- real files --------------------------------------------------------------------------------


SHORTER = ("results-crosslingual", "sample-likert-results")
"""Runs of fewer tests than the configuration lists, by a promptfoo that does not say whether a run ended."""


def counted(path: Path) -> int | None:
    """How many results a file holds, counted without our reader; None where it must be refused."""
    if any(name in path.name for name in SHORTER):
        return None
    if path.suffix == ".jsonl":
        return len(path.read_text("utf-8").splitlines())
    if path.suffix != ".json":
        return None
    document = json.loads(path.read_text("utf-8"))
    results = document.get("data", document)["results"]
    if isinstance(results, list):
        return len(results) if results and "success" in results[0] else None
    results = results["results"]
    graded = [one.get("gradingResult") or {} for one in results]
    asserted = any(one.get("componentResults") for one in graded)
    asserted = asserted or any((one.get("testCase") or {}).get("assert") for one in results)
    return len(results) if asserted else None  # nothing judges it


@pytest.mark.parametrize("path", samples("promptfoo"), ids=lambda path: path.name[-60:])
def test_every_real_file_is_read_whole_or_refused(path):
    expected = counted(path)
    assert recognized(path) == ("junit" if path.name.endswith(".junit.xml") else "promptfoo")
    if expected is None:
        assert refusal("promptfoo", path)
        return
    rows, report = imported("promptfoo", path)
    assert len(rows) == report.records == expected


@pytest.mark.parametrize("twice", [{"locale": "de", "Locale": "en"}, {"straße": "1", "STRASSE": "2", "Straße": "3"}])
@pytest.mark.parametrize("many", [1, 500])
def test_two_tags_that_differ_only_in_case_are_refused_in_small_and_large_files(
    tmp_path: Path, twice: dict[str, str], many: int
) -> None:
    results = [result(vars={"q": "hi", "number": number}, response=LONG) for number in range(many)]
    results += [result(vars={"q": "hi", **twice})]
    lines = "\n".join(json.dumps(one) for one in results).encode()
    done = check(tmp_path, lines, ANY, "--input-format", "promptfoo", name="results.jsonl")
    refused(done, code="row.duplicate-key")
    assert [key for key in list(twice)[:2] if f"'{key}'" not in done.problems] == []


def test_columns_that_only_the_last_of_many_results_has_are_read(tmp_path: Path) -> None:
    results = [result(testCase={"vars": {"q": number}}, response=LONG) for number in range(500)]
    results += [result(latencyMs=7, testCase={"vars": {"q": "last"}})]
    lines = "\n".join(json.dumps(one) for one in results).encode()
    done = check(tmp_path, lines, ANY, "--input-format", "promptfoo", name="results.jsonl")
    assert done.json["verdict"] == "pass"
    assert done.json["counts"]["trials"] == 501
    assert done.json["metrics"]["latency_p50"]["value"] == 7
