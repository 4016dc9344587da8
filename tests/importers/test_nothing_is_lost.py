"""What a file of another tool says against a test is heard, in whatever words and at whatever place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from highbar.errors import InputError
from highbar.importers.mapping import reader
from highbar.importers.otel_spans import span_calls, span_columns
from highbar.importers.reading.otlp import Item
from highbar.importers.tool_calls import parsed_arguments
from highbar.importers.verdicts import Verdicts
from highbar.importers.writing import convert
from highbar.model.judging import ScorerDemand
from highbar.policy import read_dict
from tests.importers.imported import imported, problems_of, written
from tests.importers.test_inspect import log


def suite(*cases: str) -> str:
    return f"<testsuite>{''.join(cases)}</testsuite>"


def case(name: str, attributes: str = "", inside: str = "") -> str:
    return f'<testcase name="{name}" classname="c" {attributes}>{inside}</testcase>'


BAD_ATTRIBUTES = [
    'failed="true"', 'skipped="true"', 'disabled="1"', 'executed="false"', 'completed="no"', 'error="boom"',
    'failures="1"', 'verdict="FAIL"', 'conclusion="failure"', 'ok="false"', 'not-run="true"', 'exception="IOError"',
    'timeout="true"', 'grade="FAILED"', 'flaky="true"',
]  # fmt: skip
GOOD_ATTRIBUTES = [
    'failed="false"', 'skipped=""', 'errors="0"', 'executed="2026-05-12"', 'verdict="PASS"', 'timeout="30"',
    'type="error"', 'value_param="false"', 'cached="false"', 'severity="error"', 'ok="true"',
]  # fmt: skip


def test_an_attribute_of_a_test_that_says_it_did_not_pass_is_heard(tmp_path):
    bad = [case(f"bad {i}", attribute) for i, attribute in enumerate(BAD_ATTRIBUTES)]
    good = [case(f"good {i}", attribute) for i, attribute in enumerate(GOOD_ATTRIBUTES)]
    rows, _ = imported("junit", written(tmp_path, "report.xml", suite(*bad, *good)))
    told = {attribute: row.get("passed") for attribute, row in zip(BAD_ATTRIBUTES, rows, strict=False)}
    assert [attribute for attribute, passed in told.items() if passed] == []
    assert all(row["passed"] for row in rows[len(bad) :])


@pytest.mark.parametrize("inside", ["<verdict>FAIL</verdict>", "<a><conclusion/></a>", '<x result="1"/>'])
def test_a_tag_that_is_named_after_an_outcome_is_refused(tmp_path, inside):
    problems = problems_of("junit", written(tmp_path, "report.xml", suite(case("a", inside=inside))))
    assert [problem.code for problem in problems] == ["import.unknown-key"]


def test_a_test_is_undecided_if_something_in_it_may_say_that_it_failed(tmp_path):
    inside = ["<x>Failed</x>", "<x><y/> ERROR </x>", '<steps><step failed="true"/></steps>', '<x word="skipped"/>']
    bad = [case(str(i), inside=one) for i, one in enumerate(inside)]
    good = [case("good", inside="<x>fine</x><x/><system-err>error</system-err>")]
    rows, report = imported("junit", written(tmp_path, "report.xml", suite(*bad, *good)))
    assert ["unjudged" in row for row in rows] == [True, True, True, True, False]
    assert "not read: <x> in a test case" in report.warnings


def test_an_empty_time_does_not_hide_a_duration(tmp_path):
    rows, _ = imported("junit", written(tmp_path, "report.xml", suite(case("a", 'time="" duration="99"'))))
    assert rows[0]["latency_ms"] == 99_000


# --- cells -------------------------------------------------------------------------------------

COLUMNS = {"id": "name", "passed": "ok", "latency_ms": "ms", "violations": "v", "must_not": "mn", "tags": "t"}


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        ({"mn": '{"leak": true, "leak": false}'}, ["must_not", '{"leak": true, "leak": false}', "'leak'"]),
        ({"t": '{"a": 1, "a": 2}'}, ["tags", "'a'"]),
        ({"t": '{"a": NaN}'}, ["tags", '{"a": NaN}']),
        ({"mn": "[NaN]"}, ["must_not", "'[NaN]'"]),
        ({"mn": "[" * 200_000}, ["must_not", "'[[[["]),
        ({"ms": "1" + "0" * 390 + ".5"}, ["latency_ms", "'1000"]),
        ({"v": "9" * 5000}, ["violations", "'9999"]),
    ],
)
def test_a_cell_that_cannot_be_read_as_it_is_written_is_refused(tmp_path, cells, values):
    mapping = read_dict({"map": {"columns": COLUMNS}, "thresholds": {"pass_rate": "1%"}}).mapping
    assert mapping
    texts = {"name": "a", "ok": "true", "ms": "1", "v": "", "mn": "", "t": "", **cells}
    row = ",".join('"' + value.replace('"', '""') + '"' for value in texts.values())
    path = written(tmp_path, "rows.csv", f"{','.join(texts)}\n{row}\n")
    (problem,) = problems_of("map", path, reader(mapping))
    assert problem.code == "map.wrong-value"
    assert not [value for value in ("line 2", *values) if value not in problem.message], problem.message


# --- DeepEval ----------------------------------------------------------------------------------


def test_of_two_results_of_a_must_not_the_worse_counts():
    for first in (True, False, None):
        for second in (True, False, None):
            verdicts = Verdicts()
            verdicts.add("polite", verdict=True)
            verdicts.add_must_not("leak", happened=first)
            verdicts.add_must_not("leak", happened=second)
            both = {first, second}
            assert verdicts.passed is (False if True in both else None if None in both else True)
            assert bool(verdicts.columns()["unjudged"]) == (None in both and True not in both)


def run_of(**more: Any) -> dict[str, Any]:
    metric = {"name": "Relevancy", "score": 1, "threshold": 0.5, "success": True}
    return {"testCases": [{"name": "t", "input": "x", "success": True, "metricsData": [metric], **more}]}


@pytest.mark.parametrize("kind", ["MUST_NOT", "must_not", "MUST NOT"])
def test_a_must_not_that_nobody_evaluated_leaves_a_trial_undecided_whoever_judges(tmp_path, kind):
    verdicts = [{"kind": kind, "condition": "leaks", "status": "error"}]
    run = run_of(expectationsData={"success": False, "verdicts": verdicts})
    demands = (ScorerDemand("Relevancy"),)
    rows, report = imported("deepeval", written(tmp_path, "run.json", run), judged_by=demands)
    assert rows[0]["unjudged"] == "judge: leaks: could not be evaluated"
    assert "passed" not in rows[0]
    assert report.unscored == 1


def test_a_time_with_a_zone_and_one_without_are_refused(tmp_path):
    run = run_of(trace={"startTime": "2026-05-12T03:01:00Z", "endTime": "2026-05-12T03:01:05"})
    (problem,) = problems_of("deepeval", written(tmp_path, "run.json", run))
    assert problem.code == "import.contradiction"
    assert "2026-05-12T03:01:00Z, 2026-05-12" in problem.message


# --- calls and rows ----------------------------------------------------------------------------


@pytest.mark.parametrize("text", ['{"to": "attacker", "to": "me"}', '{"n": NaN}', "[" * 5000, "9" * 5000, "\ud800"])
def test_arguments_stay_text_if_decoding_would_lose_something(text):
    assert parsed_arguments(text) == text


def span(**attributes: str) -> Item:
    listed = [{"key": key.replace("__", "."), "value": {"stringValue": text}} for key, text in attributes.items()]
    return Item("span", {}, {"attributes": listed, "startTimeUnixNano": "1"}, ("spans", 0))


def test_messages_that_cannot_be_read_are_not_replaced_by_others():
    call = [{"role": "assistant", "parts": [{"type": "tool_call", "name": "search", "arguments": {}}]}]
    twice = '[{"role": "assistant", "role": "user", "parts": []}]'
    known = span(gen_ai__output__messages=json.dumps(call))
    assert span_calls(known) == {"tool_calls": [{"name": "search", "arguments": {}}]}
    assert span_calls(span(gen_ai__output__messages=json.dumps(call), pydantic_ai__all_messages=twice)) == {}


@pytest.mark.parametrize("end", ["1" + "0" * 400, 10**400])
def test_a_time_of_hundreds_of_digits_is_refused(end):
    item = Item("span", {}, {"attributes": [], "startTimeUnixNano": 1, "endTimeUnixNano": end}, ("spans", 0))
    with pytest.raises(InputError) as caught:
        span_columns(item)
    (problem,) = caught.value.problems
    assert problem.code == "import.wrong-value"
    assert "spans[0]" in problem.message


def test_a_count_of_tokens_is_exact():
    value = {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "9007199254740993"}}
    assert Item("span", {}, {"attributes": [value]}, ("spans", 0)).get(value["key"]) == 9007199254740993


@pytest.mark.parametrize("name", ["a", "é", "\ud800"])
def test_a_value_that_is_no_number_is_null_in_any_row(tmp_path, name):
    def read(path: str, report: Any):
        report.records += 1
        yield {"id": f"{path[:0]}{name}", "passed": True, "tool_calls": [{"name": "x", "arguments": [float("nan")]}]}

    target = (tmp_path / "rows.jsonl").open("wb")
    with target:
        convert(read, "x", "x", target)
    row = json.loads((tmp_path / "rows.jsonl").read_text("utf-8"))
    assert row["tool_calls"] == [{"name": "x", "arguments": [None]}]


def test_a_value_too_deep_for_an_importer_is_refused(tmp_path):
    def endless(path: str, report: Any):
        yield from endless(path, report)

    problems = problems_of("plugin", written(tmp_path, "file.txt", "x"), endless)
    assert [problem.code for problem in problems] == ["file.too-deep"]


# --- wrong refusals ----------------------------------------------------------------------------


def test_a_variable_called_results_does_not_make_a_document_of_promptfoo_lines(tmp_path):
    check = {"pass": True, "score": 1, "assertion": {"type": "equals", "value": "a"}}
    line = {
        "promptIdx": 0, "testIdx": 0, "vars": {"results": "x"}, "testCase": {"vars": {"results": "x"}}, "success": True,
        "score": 1, "gradingResult": {"pass": True, "score": 1, "componentResults": [check]},
    }  # fmt: skip
    lines = "".join(json.dumps({**line, "testIdx": i}) + "\n" for i in range(2))
    rows, _ = imported("promptfoo", written(tmp_path, "results.jsonl", lines))
    assert [row["passed"] for row in rows] == [True, True]


def test_the_nameless_score_of_an_old_log_is_refused_above_1_as_any_other(tmp_path):
    sample = {"epoch": 1, "input": "?", "target": "a", "score": {"value": 5}}
    changed = log(samples=[{"id": "1", **sample}, {"id": "2", **sample}])
    (problem,) = problems_of("inspect", written(tmp_path, "log.json", changed))
    assert problem.code == "judge.undeclared"
    for value in ("scorer match", "gave 5", "above 1"):
        assert value in problem.message


def test_the_role_of_a_model_may_be_anything(tmp_path):
    event = {"event": "model", "timestamp": "2026-05-12T03:01:00Z", "completed": "2026-05-12T03:01:05"}
    whole = log()
    whole["eval"]["model_roles"] = {"grader": {"model": "m"}}
    for sample in whole["samples"]:
        sample["total_time"] = 9
        sample["events"] = [{**event, "role": role} for role in ([], {}, "grader", None)]
    rows, _ = imported("inspect", written(tmp_path, "log.json", whole))
    # A time without a zone says nothing beside one with a zone, so that no time of the judge is taken away.
    assert [row["latency_ms"] for row in rows] == [9000, 9000]
