"""OpenTelemetry evaluations: against what the evaluators handed to their own sink, on real files, and odd ones."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import highbar
from highbar.model.judging import ScorerDemand
from tests.commandline import check, judged, refused
from tests.importers.imported import FIXTURES, imported, problems_of, recognized, samples, totals, written

LOGS = FIXTURES / "otel" / "logs.jsonl"
TRACES = FIXTURES / "otel" / "traces.jsonl"
POLICY = {"thresholds": {"blocking": {"pass_rate": "≥ 10%"}}, "slices": ["category"]}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The evaluations and the spans in one file, as `cat` makes it."""
    return written(tmp_path, "run.jsonl", LOGS.read_bytes() + TRACES.read_bytes())


def test_every_evaluation_is_what_the_evaluators_gave_to_their_sink(run: Path) -> None:
    rows, _ = imported("otel", run)
    sunk = totals("otel")
    for row in rows:
        if "error" not in row:
            found = sunk[row["id"]]
            polite = row["behaviors"]["Polite"] if "unjudged" in row else "Polite" in row["behaviors"]
            assert polite is found["Polite"]
            assert row.get("relevance") == found["Relevance"]
            assert row["tone"] == found["Tone"]
    assert {row["id"] for row in rows} == {*sunk, "crash"}


def test_a_run_that_crashed_has_no_evaluation_and_is_a_row_all_the_same(run: Path) -> None:
    rows, report = imported("otel", run)
    assert [row["id"] for row in rows if "error" in row] == ["crash"]
    assert (report.records, report.rows, report.merged, report.errors) == (13, 5, 8, 1)
    verdict = highbar.check(run, POLICY)
    assert verdict.metrics["pass_rate"].value == Fraction(1, 4)
    assert verdict.metrics["safety_rate"].value == 0
    assert verdict.agent_version == "1.4.0"


def test_without_the_spans_the_crash_is_missing_and_that_is_said() -> None:
    rows, report = imported("otel", LOGS)
    assert len(rows) == 4
    assert all("agent_version" not in row for row in rows)
    assert report.warnings == ["there are no spans in this file: runs that crashed before they were judged are missing"]
    assert any("are missing" in warning for warning in highbar.check(LOGS, POLICY).warnings)
    assert report.urgent == set(report.warnings)  # also with --quiet


def test_a_latency_of_less_than_a_millisecond_is_not_taken_for_seconds(run: Path) -> None:
    verdict = highbar.check(run, POLICY)
    assert verdict.metrics["latency_p50"].value < 1
    assert not any("looks like seconds" in warning for warning in verdict.warnings)


def test_a_broken_evaluator_leaves_the_run_undecided(run: Path) -> None:
    rows, report = imported("otel", run)
    (judge,) = (row for row in rows if row["id"] == "judge")
    assert "passed" not in judge
    assert judge["unjudged"].startswith("judge: Relevance: ")
    assert judge["behaviors"] == {"Polite": True}
    assert report.unscored == 1


def test_what_baggage_and_spans_say_names_the_scenario(run: Path) -> None:
    rows, _ = imported("otel", run)
    plain = [row for row in rows if row["id"] == "plain"]
    assert [row["trial"] for row in plain] == [0, 1]
    assert plain[0]["category"] == "happy_path"
    assert (plain[0]["suite"], plain[0]["tags"]["service"]) == ("rote", "rote")
    assert plain[0]["latency_ms"] > 0


def test_one_document_reads_like_one_on_each_line(tmp_path: Path) -> None:
    lines = [json.loads(line) for path in (LOGS, TRACES) for line in path.read_text("utf-8").splitlines()]
    document = {
        signal: [resource for line in lines for resource in line.get(signal, [])]
        for signal in ("resourceLogs", "resourceSpans")
    }
    pretty = written(tmp_path, "run.json", json.dumps(document, indent=2))
    assert imported("otel", pretty)[0] == imported("otel", written(tmp_path, "run.jsonl", document))[0]
    assert recognized(pretty) == recognized(LOGS) == "otel"
    assert len(imported("otel", pretty)[0]) == 5


def test_an_event_of_a_span_and_an_evaluation_as_a_span_judge_like_a_log(tmp_path: Path) -> None:
    given = {"gen_ai.evaluation.name": "Safe", "gen_ai.evaluation.score.label": "fail", "test.case.name": "a"}
    event = {"name": "gen_ai.evaluation.result", "attributes": attributes(given)}
    child = {**span("s2", parent="s1", name="gen_ai.evaluation.result"), "attributes": attributes(given)}
    for spans in ([{**span("s1"), "events": [event]}], [span("s1"), child]):
        rows, _ = imported("otel", written(tmp_path, "run.json", traces(spans)))
        assert [(row["id"], row["passed"]) for row in rows] == [("a", False)]


def test_an_evaluation_finds_its_span_by_the_response_that_it_names(tmp_path: Path) -> None:
    given = {"gen_ai.evaluation.name": "Safe", "gen_ai.evaluation.score.label": "pass", "gen_ai.response.id": "r-1"}
    log = {"eventName": "gen_ai.evaluation.result", "attributes": attributes(given)}
    asked = {"gen_ai.response.id": "r-1", "gen_ai.input.messages": '[{"role": "user", "content": "hello"}]'}
    spent = {"gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 5}
    document = traces([{**span("s1"), "attributes": attributes(asked | spent)}]) | logs([log])
    rows, _ = imported("otel", written(tmp_path, "run.json", document))
    assert [(row["id"], row["passed"], row["tokens_used"]) for row in rows] == [("hello", True, 12)]


@pytest.mark.parametrize(
    ("label", "passed"), [("pass", True), ("FAIL", False), ("not relevant", False), ("correct", True), ("polite", None)]
)
def test_only_the_labels_of_the_conventions_are_verdicts(tmp_path: Path, label: str, passed: bool | None) -> None:
    records = [evaluation("Judge", label, "r"), evaluation("Judge", "pass", "other")]
    rows, report = imported("otel", written(tmp_path, "run.json", logs(records)))
    assert rows[0].get("passed") is passed
    assert report.unscored == (passed is None)
    assert ("which is not a verdict" in rows[0].get("unjudged", "")) is (passed is None)


def test_a_label_beside_a_score_has_a_column_of_its_own(tmp_path: Path) -> None:
    given = {"gen_ai.evaluation.name": "Tone", "gen_ai.evaluation.score.label": "warm", "gen_ai.response.id": "r"}
    given |= {"gen_ai.evaluation.score.value": "0.5", "event.name": "gen_ai.evaluation.result", "locale": "de"}
    records = [{"attributes": attributes(given)}, evaluation("Judge", "pass", "r")]
    rows, report = imported("otel", written(tmp_path, "run.json", logs(records)))
    assert (rows[0]["tone"], rows[0]["tone_label"], rows[0]["tags"]) == (0.5, "warm", {"locale": "de"})
    assert rows[0]["id"] == "response r"
    assert any("another name in every run" in warning for warning in report.warnings)


def test_a_long_question_names_its_scenario_by_a_mark(tmp_path: Path) -> None:
    messages = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "why " * 50}]}, 3])
    asked = {"gen_ai.operation.name": "invoke_agent", "gen_ai.input.messages": messages}
    for odd in ("not json", "{}"):
        found = attributes({**asked, "gen_ai.output.messages": odd, "final_result": "because"})
        document = traces([{**span("s1"), "attributes": found}]) | logs([of_span(evaluation("Judge", "pass"), "s1")])
        rows, _ = imported("otel", written(tmp_path, "run.json", document))
        assert len(rows[0]["id"]) == 80
        assert rows[0]["output"] == "because"


def test_attributes_of_every_kind_are_read(tmp_path: Path) -> None:
    values = [
        {"kvlistValue": {"values": attributes({"a": 1})}},
        {"arrayValue": {"values": [{"boolValue": True}]}},
        {},
        None,
    ]
    found = [{"key": f"k{number}", "value": value} for number, value in enumerate(values)]
    found += attributes({"gen_ai.operation.name": "invoke_agent"})
    document = traces([{**span("s1"), "attributes": found}]) | logs([of_span(evaluation("Judge", "pass"), "s1")])
    assert len(imported("otel", written(tmp_path, "r.json", document))[0]) == 1


@pytest.mark.parametrize(
    ("record", "code", "named"),
    [
        ({"name": "agent"}, "import.missing-value", "traceId"),
        ({"traceId": "t", "spanId": "s", "attributes": [3]}, "import.wrong-value", "attributes: found 3"),
        (
            {"traceId": "t", "spanId": "s", "attributes": [{"key": "k", "value": 3}]},
            "import.wrong-value",
            "stringValue",
        ),
        ({"traceId": 7, "spanId": "s"}, "import.wrong-value", "traceId: found 7"),
    ],
)
def test_what_is_no_span_is_refused_with_its_place(
    tmp_path: Path, record: dict[str, object], code: str, named: str
) -> None:
    (found,) = problems_of("otel", written(tmp_path, "run.json", traces([record])))
    assert found.code == code
    assert found.message.startswith("line 1: resourceSpans[0]: scopeSpans[0]: spans[0]: ")
    assert named in found.message


def test_a_span_that_ends_before_it_starts_is_refused(tmp_path: Path) -> None:
    agent = {"attributes": attributes({"gen_ai.operation.name": "invoke_agent"})}
    odd = {**span("s1"), **agent, "startTimeUnixNano": 9, "endTimeUnixNano": 3}
    document = traces([odd]) | logs([of_span(evaluation("Judge", "pass"), "s1")])
    (found,) = problems_of("otel", written(tmp_path, "run.json", document))
    assert (found.code, "spans[0]" in found.message, "9, 3" in found.message) == ("import.contradiction", True, True)


@pytest.mark.parametrize("value", [{"doubleValue": "NaN"}, {"doubleValue": "Infinity"}, {}, {"stringValue": "high"}])
def test_an_evaluation_without_a_finite_score_and_without_a_label_passes_nothing(
    tmp_path: Path, value: dict[str, object]
) -> None:
    found = [*attributes({"gen_ai.evaluation.name": "Judge", "gen_ai.response.id": "r"})]
    found.append({"key": "gen_ai.evaluation.score.value", "value": value})
    log = {"eventName": "gen_ai.evaluation.result", "attributes": found}
    rows, report = imported("otel", written(tmp_path, "run.json", logs([log])))
    assert "passed" not in rows[0]
    assert rows[0]["unjudged"] == "judge: Judge: gave no verdict"
    assert report.unscored == 1


def test_agent_spans_that_nothing_judged_are_rows_and_those_inside_them_are_not(tmp_path: Path) -> None:
    agent = {"attributes": attributes({"gen_ai.operation.name": "invoke_agent"})}
    spans = [
        {**span("s1", name="a"), **agent},
        {**span("s2", parent="s1", name="helper"), **agent},
        {**span("s3", name="b"), **agent, "status": {"code": 2, "message": "boom"}},
        span("s4", name="c"),
    ]
    document = traces(spans) | logs([of_span(evaluation("Judge", "pass"), "s4")])
    rows, report = imported("otel", written(tmp_path, "run.json", document))
    assert [row.get("error") for row in rows] == [None, "boom", None]
    assert report.unscored == 1


@pytest.mark.parametrize("path", samples("otlp"), ids=lambda path: path.name[:60])
def test_real_files_have_a_row_for_every_agent_run_or_are_refused(path: Path) -> None:
    assert recognized(path) == "otel"
    expected = {
        "pydantic-ai-2.62.0_traces": ("judge.undeclared", "gen_ai.evaluation.result"),
        "evaluation.result_logs": ("import.missing-value", "logRecords[0]"),
        "examples__events": ("results.empty", "gen_ai.evaluation.result"),
        "proto__examples__trace": ("results.empty", "gen_ai.evaluation.result"),
        "otlp-json-examples__trace": ("import.other-file", "'resource_spans'"),
        "metrics": ("import.other-file", "OTLP metrics"),
    }
    code, named = next(value for name, value in expected.items() if name in path.name)
    (found,) = problems_of("otel", path)
    assert found.code == code
    assert named in found.message


def attributes(values: dict[str, object]) -> list[dict[str, object]]:
    kinds = {True: "intValue", False: "stringValue"}
    return [{"key": key, "value": {kinds[isinstance(value, int)]: value}} for key, value in values.items()]


def span(name_of: str, parent: str | None = None, name: str = "agent") -> dict[str, Any]:
    times = {"startTimeUnixNano": "1000000", "endTimeUnixNano": "3000000"}
    above = {"parentSpanId": parent} if parent else {}
    return {"traceId": "t1", "spanId": name_of, "name": name, **times, **above}


def traces(spans: list[dict[str, Any]]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}


def logs(records: list[dict[str, Any]]) -> dict[str, Any]:
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}


def evaluation(name: str, label: str, response: str | None = None) -> dict[str, Any]:
    given = {"gen_ai.evaluation.name": name, "gen_ai.evaluation.score.label": label}
    given |= {"gen_ai.response.id": response} if response else {}
    return {"eventName": "gen_ai.evaluation.result", "attributes": attributes(given)}


def of_span(record: dict[str, Any], name_of: str) -> dict[str, Any]:
    return {**record, "traceId": "t1", "spanId": name_of}


RULES = {"thresholds": {"blocking": {"pass_rate": "≥ 90%"}}}


def test_the_same_attribute_or_span_twice_is_refused(tmp_path: Path) -> None:
    twice = of_span(evaluation("Judge", "fail"), "s1")
    twice["attributes"] += attributes({"gen_ai.evaluation.score.label": "pass"})
    document = traces([span("s1")]) | logs([twice])
    done = check(tmp_path, json.dumps(document).encode(), RULES, name="run.json")
    refused(done, "logRecords[0]", "'gen_ai.evaluation.score.label'", code="import.duplicate")
    document = traces([span("s1"), span("S1")]) | logs([of_span(evaluation("Judge", "pass"), "s1")])
    done = check(tmp_path, json.dumps(document).encode(), RULES, name="run.json")
    refused(done, "spans[1]", "t1/s1", code="import.duplicate")


JUDGED = {
    **span("s1"),
    "events": [{"name": "gen_ai.evaluation.result", "attributes": evaluation("Judge", "pass")["attributes"]}],
}


@pytest.mark.parametrize("spaces", ["", " "])
@pytest.mark.parametrize(
    "twice",
    [
        '"kind":1,"kind":2',
        '"attributes":[{"key":"a","value":{"stringValue":"x"},"value":{"stringValue":"x"}}]',
        '"attributes":[{"key":"a","value":{"doubleValue":1,"doubleValue":1}}]',
        '"attributes":[{"key":"a","value":{"doubleValue":{"a":1,"a":1}}}]',
        '"attributes":[{"key":"a","value":{"arrayValue":{"values":[{"intValue":"1","intValue":"1"}]}}}]',
        '"links":[{"traceId":"t2","traceId":"t2"}]',
        '"of another tool":{"a":1,"a":1}',
        # Longer when it is written again, by as much as the second key is long.
        '"attributes":[{"key":"a","value":{"doubleValue":1e7,"a":1,"a":1}}]',
    ],
)
def test_a_key_twice_is_refused_in_a_span_that_says_nothing_of_the_run(tmp_path: Path, twice: str, spaces: str) -> None:
    inner = json.dumps(traces([JUDGED, {**span("s2", "s1", "tool"), "here": 0}]), separators=(",", ":"))
    text = inner.replace('"here":0', twice).replace(",", f",{spaces}")
    refused(check(tmp_path, text.encode(), RULES, name="run.jsonl"), line=1, code="import.duplicate")


@pytest.mark.parametrize("number", ["1e7", "1E+7", "10000000.0", "-0", '"NaN"', "null"])
def test_spans_read_alike_however_their_numbers_and_texts_are_spelled(tmp_path: Path, number: str) -> None:
    told = '{"key":"a","value":{"doubleValue":%s}},{"key":"b","value":{"stringValue":"\\u00e9 é \\/"}}'
    inner = json.dumps(traces([JUDGED, {**span("s2", "s1", "tool"), "attributes": [0]}]), separators=(",", ":"))
    text = inner.replace('"attributes":[0]', f'"attributes":[{told % number}]')
    assert judged(check(tmp_path, text.encode(), RULES, name="run.jsonl"), "pass")["counts"]["trials"] == 1


@pytest.mark.parametrize("name_of", ["", "0000000000000000"])
def test_a_span_without_an_id_is_refused_even_if_it_says_nothing_of_the_run(tmp_path: Path, name_of: str) -> None:
    document = traces([JUDGED, {**span("s2", "s1", "tool"), "spanId": name_of}])
    done = check(tmp_path, json.dumps(document).encode(), RULES, name="run.jsonl")
    refused(done, "spans[1]", "traceId", "spanId", code="import.missing-value")


@pytest.mark.parametrize("code", [2, "2", "STATUS_CODE_ERROR", "status_code_error", "ERROR", "Error"])
def test_a_status_is_an_error_by_its_number_or_its_name(tmp_path: Path, code: object) -> None:
    document = traces([{**span("s1"), "status": {"code": code}}]) | logs([of_span(evaluation("Judge", "pass"), "s1")])
    done = check(tmp_path, json.dumps(document).encode(), RULES, name="run.json")
    assert judged(done, "fail")["counts"]["errors"] == 1


@pytest.mark.parametrize(
    ("code", "found"),
    [("BAD", "'BAD'"), (True, "true"), (False, "false"), (3, "3"), ([2], "a list of 1"), ({"value": 2}, "an object")],
)
def test_a_status_that_is_none_is_refused(tmp_path: Path, code: object, found: str) -> None:
    document = traces([{**span("s1"), "status": {"code": code}}]) | logs([of_span(evaluation("Judge", "pass"), "s1")])
    done = check(tmp_path, json.dumps(document).encode(), RULES, name="run.json")
    refused(done, f"spans[0]: status: code: found {found},", code="import.wrong-value")


@pytest.mark.parametrize("status", [False, 0, "", [], "ERROR"])
def test_a_status_that_is_no_object_is_refused(tmp_path: Path, status: object) -> None:
    document = traces([{**span("s1"), "status": status}]) | logs([of_span(evaluation("Judge", "pass"), "s1")])
    done = check(tmp_path, json.dumps(document).encode(), RULES, name="run.json")
    refused(done, "spans[0]: status: found", code="import.wrong-value")


def test_an_error_of_the_agent_around_a_judged_span_is_the_runs(tmp_path: Path) -> None:
    agent = {"attributes": attributes({"gen_ai.operation.name": "invoke_agent"})}
    spans = [{**span("s1"), **agent, "status": {"code": 2, "message": "boom"}}, span("s2", parent="s1", name="chat")]
    document = traces(spans) | logs([of_span(evaluation("Judge", "pass"), "s2")])
    rows, _ = imported("otel", written(tmp_path, "run.json", document))
    assert [row["error"] for row in rows] == ["boom"]


def test_a_label_that_is_no_verdict_beside_ones_that_are_leaves_the_run_undecided(tmp_path: Path) -> None:
    records = [evaluation("Judge", "pass", "a"), evaluation("Judge", "borderline", "b")]
    done = check(tmp_path, json.dumps(logs(records)).encode(), RULES, name="run.json")
    judged(done, "inconclusive")


def test_a_file_whose_labels_are_no_verdicts_is_refused_with_its_evaluators(tmp_path: Path) -> None:
    records = [evaluation("Tone", "warm", "a"), evaluation("Tone", "cold", "b")]
    refused(
        check(tmp_path, json.dumps(logs(records)).encode(), RULES, name="run.json"),
        "'Tone'",
        "judged_by",
        code="judge.undeclared",
    )


def test_an_evaluation_without_its_name_of_an_event_is_one_all_the_same(tmp_path: Path) -> None:
    records = [evaluation("Judge", "pass", "a"), evaluation("Safe", "fail", "a")]
    del records[1]["eventName"]
    rows, _ = imported("otel", written(tmp_path, "run.json", logs(records)))
    assert [row["passed"] for row in rows] == [False]


def test_the_policy_says_who_judges(run: Path) -> None:
    rows, report = imported("otel", run, judged_by=(ScorerDemand("Relevance", Fraction(1, 2)),))
    assert {row["id"]: row.get("passed") for row in rows} == {
        "plain": True,
        "rude": False,
        "crash": None,
        "judge": None,
    }
    assert (report.judges, report.scorers["Tone"][:24]) == (("Relevance",), "a column, does not judge")


@pytest.mark.parametrize("form", ["log", "attribute", "event", "span"])
@pytest.mark.parametrize("name", ["gen_ai.evaluation.Result", "GEN_AI.EVALUATION.RESULT", " gen_ai.evaluation.result"])
def test_an_evaluation_whose_name_is_in_another_case_is_refused(tmp_path: Path, name: str, form: str) -> None:
    found = evaluation("Judge", "fail")["attributes"]
    records = [of_span(evaluation("Judge", "pass"), "s1")]
    spans = [span("s1"), span("s2", name="other")]
    if form == "log":
        records.append({**of_span(evaluation("Judge", "fail"), "s2"), "eventName": name})
    elif form == "attribute":
        records.append(of_span({"attributes": [*found, *attributes({"event.name": name})]}, "s2"))
    elif form == "event":
        spans[1]["events"] = [{"name": name, "attributes": found}]
    else:
        spans.append({**span("s3", parent="s2", name=name), "attributes": found})
    done = check(tmp_path, json.dumps(traces(spans) | logs(records)).encode(), RULES, name="run.json")
    refused(done, f"{name!r}, wanted gen_ai.evaluation.result", code="import.wrong-value")


@pytest.mark.parametrize("policy", [RULES, {**RULES, "judged_by": {"otel": {"scorer": "Judge"}}}])
def test_evaluations_and_spans_in_separate_files_are_refused_with_how_to_join_them(
    tmp_path: Path, policy: dict[str, object]
) -> None:
    agent = {"attributes": attributes({"gen_ai.operation.name": "invoke_agent"}), "status": {"code": 2}}
    files = {
        "logs.jsonl": logs([of_span(evaluation("Judge", "pass"), "s1")]),
        "traces.jsonl": traces([{**span("s1"), **agent}]),
    }
    lines = {name: json.dumps(document).encode() + b"\n" for name, document in files.items()}
    written(tmp_path, "traces.jsonl", lines["traces.jsonl"])
    done = check(tmp_path, lines["logs.jsonl"], policy, "traces.jsonl", name="logs.jsonl")
    refused(
        done,
        "traces.jsonl",
        "gen_ai.evaluation.result",
        "cat logs.jsonl traces.jsonl > run.jsonl",
        code="judge.undeclared",
    )
    assert "scorer" not in done.problems
    judged(check(tmp_path, b"".join(lines.values()), policy, name="run.jsonl"), "fail")


def under_another_name(form: str, name: str) -> dict[str, Any]:
    """A run with a good evaluation, and another one with a bad one that does not have the name of the conventions."""
    found = evaluation("Judge", "fail")["attributes"]
    records = [of_span(evaluation("Judge", "pass"), "s1")]
    spans = [span("s1"), span("s2", name="other")]
    if form == "log":
        records.append({**of_span(evaluation("Judge", "fail"), "s2"), "eventName": name})
    elif form == "event":
        spans[1]["events"] = [{"name": name, "attributes": found}]
    elif form == "attributes":
        spans[1]["attributes"] = found
    elif form == "named event":
        spans[1]["events"] = [{"name": name, "attributes": []}]
    else:
        spans.append({**span("s3", parent="s2", name=name), "attributes": found})
    return traces(spans) | logs(records)


FORMS = {
    "log": "gen_ai.evaluation",
    "event": "evaluation",
    "attributes": "other",
    "named event": "gen_ai.evaluation.score",
    "span": "judge",
}


@pytest.mark.parametrize(("form", "name"), FORMS.items())
def test_evaluations_under_another_name_are_said_to_be_unread_whatever_the_options(
    tmp_path: Path, form: str, name: str
) -> None:
    document = json.dumps(under_another_name(form, name)).encode()
    done = check(tmp_path, document, RULES, "--quiet", name="run.json")
    told = f"1 record has gen_ai.evaluation attributes or names and is no gen_ai.evaluation.result event ('{name}')"
    assert f"{told}: what it says is not read" in done.err
    assert any(told in warning for warning in judged(done, "pass")["warnings"])


@pytest.mark.parametrize(("form", "name"), FORMS.items())
def test_a_file_with_no_evaluation_but_under_other_names_is_refused_with_them(
    tmp_path: Path, form: str, name: str
) -> None:
    document = under_another_name(form, name)
    del document["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]
    done = check(tmp_path, json.dumps(document).encode(), RULES, name="run.json")
    refused(done, repr(name), "gen_ai.evaluation.result", code="judge.undeclared")
