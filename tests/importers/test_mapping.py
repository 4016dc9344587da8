"""A mapping over home-grown JSON, JSONL and CSV, and over real files of formats that have no importer of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import highbar
from highbar.errors import InputError, Problem
from highbar.importers.mapping import reader
from highbar.importers.report import Report
from highbar.policy import read_dict
from highbar.policy.mapping import read_map_file
from tests.commandline import Run, check, run
from tests.commandline import refused as refused_check
from tests.importers.imported import SAMPLES, Row, imported, problems_of, samples, written

RULES: dict[str, Any] = {"thresholds": {"blocking": {"pass_rate": "≥ 50%"}}}


def mapped(path: Path, mapping: dict[str, Any]) -> tuple[list[Row], Report]:
    """The rows of a file by a mapping."""
    found = read_dict({**RULES, "map": mapping}).mapping
    assert found is not None
    return imported("map", path, reader(found))


def refused(path: Path, mapping: dict[str, Any]) -> Problem:
    """Why a mapping does not fit a file."""
    found = read_dict({**RULES, "map": mapping}).mapping
    assert found is not None
    (problem,) = problems_of("map", path, reader(found))
    return problem


def one(folder: Path, record: object, columns: dict[str, Any], name: str = "results.json") -> Row:
    """The row of the only record of a file."""
    (row,), _ = mapped(written(folder, name, [record]), {"columns": {"id": {"value": "a"}, **columns}})
    return row


@pytest.mark.parametrize(
    ("feed", "expected"),
    [
        ("status", "ok"),
        ("usage.total", 12),
        ("steps[0].tool", "search"),
        ("steps[-1].tool", "answer"),
        ("steps[9].tool", None),
        ("steps[].tool", ["search", "answer"]),
        ('"a.b"', 3),
        ("usage.@keys", ["total", "in"]),
        ("nothing.here", None),
        ({"value": "nightly"}, "nightly"),
        ({"value": 0.5}, 0.5),
        ({"path": "status", "is": "ok"}, True),
        ({"path": "status", "is": ["ok", "fine"]}, True),
        ({"path": "status", "is_not": "ok"}, False),
        ({"path": "nothing", "is": "ok"}, None),
        ({"path": "labels", "is": "redteam"}, True),
        ({"path": "usage.total", "at_least": 12}, True),
        ({"path": "usage.total", "at_most": 11.9}, False),
        ({"path": "status", "exists": True}, True),
        ({"path": "nothing", "exists": True}, False),
        ({"path": "nothing", "exists": False}, True),
        ({"path": "status", "values": {"ok": 1, "bad": 0}}, 1),
        ({"path": "nothing", "default": "none"}, "none"),
        ({"path": "seconds", "times": 1000}, 250),
        ({"path": "percent", "times": 0.01}, 0.29),
        ({"path": "text_number", "as": "number"}, 7788.3),
        ({"path": "usage.total", "as": "text"}, "12"),
        ({"path": "truth", "as": "boolean"}, True),
        ({"value": "x", "when": {"status": "ok"}}, "x"),
        ({"value": "x", "when": {"status": "ok", "usage.total": {"at_least": 13}}}, None),
        (["nothing", "status"], "ok"),
        ({"path": "nothing", "each": "tool"}, None),
        ({"path": "status", "at_least": 3}, False),
        ({"path": "steps", "each": "tool"}, ["search", "answer"]),
        ({"path": "steps", "each": "tool", "where": {"ok": True}}, ["search"]),
        ({"path": "steps", "each": {"name": {"path": "tool"}, "observed": {"path": "ok", "is": True}}},
         [{"name": "search", "observed": True}, {"name": "answer", "observed": False}]),
        ("@number", 0),
    ],
)  # fmt: skip
def test_a_feed_gives_what_it_says(tmp_path: Path, feed: object, expected: object) -> None:
    record = {
        "status": "ok",
        "usage": {"total": 12, "in": 5},
        "steps": [{"tool": "search", "ok": True}, {"tool": "answer", "ok": False}],
        "a.b": 3,
        "labels": ["nightly", "redteam"],
        "seconds": 0.25,
        "percent": 29,
        "text_number": "7788.3",
        "truth": "TRUE",
    }
    assert one(tmp_path, record, {"found": feed}).get("found") == expected


@pytest.mark.parametrize(
    ("value", "wanted", "same"),
    [(1, True, False), (True, 1, False), ("1", 1, False), (1, 1, True), (1.0, 1, True), ("true", True, False)],
)
def test_true_is_not_one_and_one_is_not_text(tmp_path: Path, value: object, wanted: object, same: bool) -> None:
    assert one(tmp_path, {"v": value}, {"found": {"path": "v", "is": wanted}})["found"] is same


def test_labels_and_objects_of_tags_are_taken_as_they_are(tmp_path: Path) -> None:
    record = {"truth": True, "said": "spam", "n": 3, "about": {"locale": "de", "turns": 2, "docs": []}}
    columns = {"expected": "truth", "predicted": "said", "tags": "about", "tags.locale": "said"}
    row = one(tmp_path, record, columns)
    assert (row["expected"], row["predicted"]) == (True, "spam")
    assert row["tags"] == {"locale": "spam", "turns": "2"}
    assert one(tmp_path, record, {"expected": "n"})["expected"] == "3"


def test_records_in_records_know_what_is_around_them(tmp_path: Path) -> None:
    document = {
        "model": "rote-1",
        "cases": [{"name": "a", "runs": [{"ok": True}, {"ok": False}]}, {"name": "b", "runs": [{"ok": True}]}],
    }
    columns = {"id": "^.name", "trial": "@number", "passed": "ok", "agent_version": "$.model"}
    rows, report = mapped(written(tmp_path, "r.json", document), {"rows": "cases[].runs[]", "columns": columns})
    found = [(row["id"], row["trial"], row["passed"]) for row in rows]
    assert found == [("a", 0, True), ("a", 1, False), ("b", 0, True)]
    assert {row["agent_version"] for row in rows} == {"rote-1"}
    assert report.records == 3


def test_an_object_of_records_gives_their_keys(tmp_path: Path) -> None:
    document = {"meta": {"suite": "nightly"}, "by_id": {"T-1": {"ok": True}, "T.2": {"ok": False}}}
    mapping = {"rows": "by_id{}", "columns": {"id": "@key", "passed": "ok", "suite": "$.meta.suite"}}
    rows, _ = mapped(written(tmp_path, "r.json", document), mapping)
    found = [(row["id"], row["passed"], row["suite"]) for row in rows]
    assert found == [("T-1", True, "nightly"), ("T.2", False, "nightly")]
    top = {"rows": "{}", "columns": {"id": "@key", "passed": "ok"}}
    assert len(mapped(written(tmp_path, "t.json", document["by_id"]), top)[0]) == 2


def test_every_line_may_be_a_document_of_its_own(tmp_path: Path) -> None:
    runs = [
        {"suite": "a", "cases": {"x": {"ok": True}, "y": {"ok": False}}},
        {"suite": "b", "cases": {"z": {"ok": True}}},
    ]
    text = "".join(json.dumps(run) + "\n" for run in runs)
    mapping = {"rows": "cases{}", "columns": {"id": "@key", "passed": "ok", "suite": "$.suite"}}
    for name in ("runs.jsonl", "runs.json"):
        rows, _ = mapped(written(tmp_path, name, text), mapping)
        assert [(row["id"], row["passed"], row["suite"]) for row in rows] == [
            ("x", True, "a"),
            ("y", False, "a"),
            ("z", True, "b"),
        ]


def test_lines_that_are_no_result_are_left_out_and_counted(tmp_path: Path) -> None:
    events = [
        {"type": "start", "suite": "nightly"},
        {"type": "result", "case": "a", "data": {"correct": True}},
        {"type": "result", "case": "a", "data": {"correct": False}},
        {"type": "end", "accuracy": 0.5},
    ]
    text = "".join(json.dumps(event) + "\n" for event in events)
    columns = {"id": "case", "trial": "@repeat", "correct": "data.correct"}
    rows, report = mapped(written(tmp_path, "log.jsonl", text), {"where": {"type": "result"}, "columns": columns})
    assert [(row["id"], row["trial"], row["correct"]) for row in rows] == [("a", 0, True), ("a", 1, False)]
    assert report.left_out.total() == 2


def test_the_cells_of_a_csv_are_turned_into_what_their_columns_take(tmp_path: Path) -> None:
    text = "\ufeffcase,status,seconds,grade,checks,n,right\n7,OK,1.5,85,a; b,3,TRUE\n8,broken,,,,4,false\n"
    columns = {
        "id": "case",
        "passed": {"path": "status", "is": "OK"},
        "latency_ms": {"path": "seconds", "times": 1000},
        "quality_score": {"path": "grade", "times": 0.01},
        "expected_behaviors": "checks",
        "tokens_used": "n",
        "correct": "right",
        "tags.right": {"path": "right", "is": True},
        "tags.many": {"path": "n", "at_least": 4},
    }
    rows, report = mapped(written(tmp_path, "r.csv", text), {"columns": columns})
    assert rows == [
        {"id": "7", "passed": True, "latency_ms": 1500, "quality_score": 0.85, "expected_behaviors": ["a", "b"],
         "tokens_used": 3, "correct": True, "tags": {"right": "true", "many": "false"}},
        {"id": "8", "passed": False, "tokens_used": 4, "correct": False, "tags": {"right": "false", "many": "true"}},
    ]  # fmt: skip
    assert report.records == 2


def test_a_table_in_columns_and_data_is_read_by_the_names_of_its_columns() -> None:
    if not SAMPLES.exists():
        pytest.skip("the samples are not at hand")
    (path,) = (path for path in samples("mlflow") if "table_eval_data" in path.name)
    columns = {"id": "company_name", "output": "output", "latency_ms": {"path": "MLFLOW_latency", "as": "number"}}
    rows, report = mapped(path, {"columns": columns})
    assert [row["id"] for row in rows] == ["Abc", "XYZ Company"]
    assert report.unscored == 2


@pytest.mark.parametrize("path", [p for p in samples("ctrf") if "retries" in p.name or "reporter" in p.name])
def test_real_ctrf_reports_are_read_by_a_mapping(path: Path) -> None:
    tests = json.loads(path.read_text("utf-8"))["results"]["tests"]
    columns = {
        "id": "name",
        "passed": {"path": "status", "is": "passed"},
        "error": {"value": "did not run", "when": {"status": ["skipped", "pending"]}},
        "latency_ms": "duration",
        "tags.tool": "$.results.tool.name",
    }
    rows, report = mapped(path, {"rows": "results.tests[]", "columns": columns})
    assert len(rows) == report.records == len(tests)
    assert sum(row["passed"] for row in rows) == sum(test["status"] == "passed" for test in tests)
    assert report.unread["retries"] == sum("retries" in test for test in tests)


def test_what_no_path_leads_into_is_counted(tmp_path: Path) -> None:
    path = written(tmp_path, "r.json", [{"name": "a", "ok": True, "note": 1}, {"name": "b", "ok": True, "extra": {}}])
    _, report = mapped(path, {"columns": {"id": "name", "passed": "ok"}})
    assert dict(report.unread) == {"note": 1, "extra": 1}


@pytest.mark.parametrize(
    ("record", "columns", "code", "named"),
    [
        ({"ok": "yes"}, {"passed": "ok"}, "map.wrong-value", "passed: found 'yes'"),
        ({"ok": 1}, {"passed": "ok"}, "map.wrong-value", "passed: found 1"),
        ({"t": "12"}, {"latency_ms": "t"}, "map.wrong-value", "latency_ms: found '12'"),
        ({"t": float("nan")}, {"latency_ms": "t"}, "import.wrong-value", "t: found nan"),
        ({"t": float("inf")}, {"anything": "t"}, "import.wrong-value", "t: found inf"),
        ({"t": [float("nan")]}, {"anything": "t"}, "import.wrong-value", "t: found nan"),
        ({"s": "odd"}, {"passed": {"path": "s", "values": {"ok": True}}}, "map.wrong-value", "s: found 'odd'"),
        ({"t": "x"}, {"latency_ms": {"path": "t", "times": 2}}, "map.wrong-value", "t: found 'x'"),
        ({"t": "x"}, {"latency_ms": {"path": "t", "as": "number"}}, "map.wrong-value", "t: found 'x'"),
        ({"t": 3}, {"behaviors": {"path": "t", "each": "name"}}, "map.wrong-value", "t: found 3"),
        ({"t": {"a": 1}}, {"category": "t"}, "map.wrong-value", "category: "),
        ({"t": 3}, {"tags": "t"}, "map.wrong-value", "tags: found 3"),
        ({"t": []}, {"expected": "t"}, "map.wrong-value", "expected: "),
        ({"t": "x"}, {"x": {"path": "t", "as": "boolean"}}, "map.wrong-value", "t: found 'x'"),
        ({"t": []}, {"x": {"path": "t", "as": "text"}}, "map.wrong-value", "t: "),
        ({"t": ["a"]}, {"tags.x": "t"}, "map.wrong-value", ""),
        ({}, {"id": "name"}, "map.path-not-found", ""),
        ({"name": ""}, {"id": "name"}, "map.wrong-value", "id: "),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(
    tmp_path: Path, record: dict[str, object], columns: dict[str, Any], code: str, named: str
) -> None:
    path = written(tmp_path, "r.json", [record])
    problem = refused(path, {"columns": {"id": {"value": "a"}, **columns}})
    assert problem.code == code
    assert problem.message.startswith(f"record[0]: {named}")


@pytest.mark.parametrize(
    ("record", "columns", "named"),
    [
        ({"ok": "yes"}, {"passed": "ok"}, "passed: { path: …, is: … }"),
        ({"t": "12"}, {"latency_ms": "t"}, "{ path: …, as: number }"),
        ({}, {"id": "name"}, "name"),
    ],
)
def test_a_hint_names_the_feed_that_would_do_or_the_path_that_does_not(
    tmp_path: Path, record: dict[str, object], columns: dict[str, Any], named: str
) -> None:
    problem = refused(written(tmp_path, "r.json", [record]), {"columns": {"id": {"value": "a"}, **columns}})
    assert (problem.hint or "").endswith(named)


@pytest.mark.parametrize(
    ("content", "rows", "code", "place"),
    [
        ({"results": {"a": 1}}, "results[]", "import.wrong-value", "results: "),
        ({"results": []}, "results[]", "results.empty", "results[]"),
        ({"other": []}, "results[]", "results.empty", "results[]"),
        ({"cases": [{"runs": {}}]}, "cases[].runs[]", "import.wrong-value", "cases[0].runs: "),
        ({"cases": [{}]}, "cases[].runs[]", "import.wrong-value", "cases[0].runs: found nothing"),
        ({"by_id": []}, "by_id{}", "import.wrong-value", "by_id: "),
    ],
)
def test_rows_that_are_not_there_are_no_empty_suite(
    tmp_path: Path, content: object, rows: str, code: str, place: str
) -> None:
    problem = refused(written(tmp_path, "r.json", content), {"rows": rows, "columns": {"id": "name"}})
    assert problem.code == code
    assert place in problem.message


@pytest.mark.parametrize(
    ("text", "code", "line", "named"),
    [
        ("", "file.empty", None, ""),
        ("a,a\n1,2\n", "row.duplicate-key", 1, "'a'"),
        ("a,b\n1\n", "row.field-count", 2, "found 1 "),
        ('a,b\n"1,2\n', "file.not-csv", 2, ""),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "file.git-lfs", None, ""),
    ],
)
def test_csv_that_is_not_sound_is_refused_with_its_line(
    tmp_path: Path, text: str, code: str, line: int | None, named: str
) -> None:
    problem = refused(written(tmp_path, "r.csv", text), {"columns": {"id": "a"}})
    assert (problem.code, problem.line) == (code, line)
    assert named in problem.message


def test_a_cell_cannot_claim_a_number_that_takes_all_memory(tmp_path: Path) -> None:
    path = written(tmp_path, "r.csv", "id,t\na,1e999999999\n")
    problem = refused(path, {"columns": {"id": "id", "latency_ms": "t"}})
    assert problem.code == "map.wrong-value"
    assert "'1e999999999'" in problem.message


def test_the_policy_brings_the_mapping_and_a_file_replaces_it(tmp_path: Path) -> None:
    written(tmp_path, "r.json", {"results": [{"name": "a", "ok": True, "fine": False}]})
    columns = {"id": "name", "passed": "ok"}
    written(tmp_path, "highbar.json", {**RULES, "map": {"rows": "results[]", "columns": columns}})
    written(tmp_path, "map.yaml", "rows: results[]\ncolumns: { id: name, passed: fine }\n")
    assert run(tmp_path, "check", "r.json").exit == 0
    assert run(tmp_path, "check", "r.json", "--map", "map.yaml").exit == 1
    assert run(tmp_path, "import", "map", "r.json").out == '{"id":"a","passed":true}\n'
    assert run(tmp_path, "check", "r.json", "--input-format", "jsonl").exit == 2
    assert highbar.check(tmp_path / "r.json", tmp_path / "highbar.json").verdict == "pass"


def test_without_a_mapping_the_format_asks_for_one(tmp_path: Path) -> None:
    written(tmp_path, "r.json", [{"name": "a"}])
    refused_run = run(tmp_path, "check", "r.json", "--input-format", "map")
    assert refused_run.exit == 2
    assert refused_run.codes == ["map.incomplete"]


def test_a_file_of_a_mapping_may_be_a_policy(tmp_path: Path) -> None:
    block = {"columns": {"id": "name"}}
    plain, inside = written(tmp_path, "map.json", block), written(tmp_path, "policy.json", {**RULES, "map": block})
    assert read_map_file(plain).columns == read_map_file(inside).columns
    with pytest.raises(InputError) as caught:
        read_map_file(written(tmp_path, "none.json", {}))
    assert [problem.code for problem in caught.value.problems] == ["map.incomplete"]


POLICY = {"thresholds": {"blocking": {"pass_rate": "50%"}}}


def checked(folder: Path, content: object, mapping: dict[str, Any], *, name: str = "r.json", **policy: Any) -> Run:
    """`highbar check` of one file by a mapping in the policy."""
    written(folder, name, content)
    written(folder, "highbar.json", {**POLICY, "map": mapping, **policy})
    return run(folder, "check", name, "--format", "json")


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ({"cases": [{"name": "a", "runs": [{"ok": True}]}, {"name": "b"}]}, "cases[1].runs: found nothing"),
        ({"cases": [{"name": "a", "runs": [{"ok": True}]}, {"name": "b", "runs": None}]}, "cases[1].runs"),
        ({"cases": [{"name": "a", "runs": [{"ok": True}]}, {"name": "b", "runs": []}]}, "cases[1].runs: "),
    ],
)
def test_a_group_without_its_records_does_not_vanish(tmp_path: Path, content: object, place: str) -> None:
    mapping = {"rows": "cases[].runs[]", "columns": {"id": "^.name", "passed": "ok"}}
    refused_check(checked(tmp_path, content, mapping), place, code="import.wrong-value")


def test_nor_does_a_document_among_lines(tmp_path: Path) -> None:
    lines = '{"id": "a", "runs": [{"ok": true}]}\n{"id": "b"}\n'
    mapping = {"rows": "runs[]", "columns": {"id": "$.id", "passed": "ok"}}
    refused_check(checked(tmp_path, lines, mapping, name="r.jsonl"), "line 2.runs: ", code="import.wrong-value")


@pytest.mark.parametrize(
    ("columns", "path", "column"),
    [
        ({"passed": "ok", "error": "eror"}, "eror", "error"),
        ({"passed": "okay"}, "okay", "passed"),
        ({"passed": {"path": "status", "is": "Done"}}, "'Done' at status", "passed"),
        ({"passed": "ok", "error": {"value": "x", "when": {"state": "crashed"}}}, "state", "error"),
        ({"passed": "ok", "violations": {"path": "checks", "each": "nam"}}, "nam", "violations"),
        (
            {"passed": "ok", "violations": {"path": "checks", "each": "name", "where": {"kin": "bad"}}},
            "kin",
            "violations",
        ),
    ],
)
def test_what_no_record_has_is_not_read_as_nothing(
    tmp_path: Path, columns: dict[str, Any], path: str, column: str
) -> None:
    records = [
        {"id": "a", "ok": True, "status": "done", "checks": [{"name": "leak", "kind": "fine"}]},
        {"id": "b", "ok": True, "status": "failed", "checks": []},
    ]
    done = checked(tmp_path, records, {"columns": {"id": "id", **columns}})
    refused_check(done, f" {path}, ", f" decides {column}\n", code="map.path-not-found")


@pytest.mark.parametrize(
    "columns",
    [
        {"passed": "ok", "error": "error"},  # null is there
        {"passed": "ok", "error": {"path": "crash", "default": ""}},
        {"passed": {"path": "crash", "exists": False}},
        {"passed": ["okay", "ok"]},
        {"passed": [{"path": "okay"}, {"value": True}]},
        {"passed": "ok", "error": {"value": "x", "when": {"crash": {"exists": True}}}},
        {"passed": "ok", "category": "kind"},  # a rule that needs it is undefined
        {"passed": "ok", "violations": {"path": "checks", "each": "name"}},  # nothing to look into
    ],
)
def test_what_may_be_absent_is_declared_so(tmp_path: Path, columns: dict[str, Any]) -> None:
    record = {"id": "a", "ok": True, "error": None, "checks": []}
    done = checked(tmp_path, [record], {"columns": {"id": "id", **columns}})
    assert done.exit == 0, done.out


def test_a_condition_that_never_holds_is_noted_with_what_was_found(tmp_path: Path) -> None:
    columns = {"id": "id", "passed": "ok", "error": {"value": "x", "when": {"state": "crashed"}}}
    done = checked(tmp_path, [{"id": "a", "ok": True, "state": "fine"}], {"columns": columns})
    assert done.exit == 0
    assert any("'crashed' at state" in note and "'fine'" in note for note in done.json["warnings"])


def test_a_verdict_without_a_fallback_leaves_the_others_undecided(tmp_path: Path) -> None:
    columns = {"id": "id", "passed": {"value": True, "when": {"state": "fine"}}, "correct": "right"}
    records = [{"id": "a", "state": "fine", "right": True}, {"id": "b", "state": "odd", "right": True}]
    done = checked(tmp_path, records, {"columns": columns}, thresholds={"blocking": {"pass_rate": "90%"}})
    assert done.exit == 3, done.out
    assert done.json["counts"]["undecided"] == 1
    assert done.json["scenarios_undecided"][0]["reason"].endswith(" passed")


def test_cells_say_what_cells_of_our_own_say(tmp_path: Path) -> None:
    text = 'id,v,m,b,t\na,0,"{""leak"": false}",x;;y;,"{""k"": ""v""}"\nb,2,"[""leak""]","[""x""]",\n'
    mapping = {"columns": {"id": "id", "violations": "v", "must_not": "m", "behaviors": "b", "tags": "t"}}
    rows, _ = mapped(written(tmp_path, "r.csv", text), mapping)
    assert rows == [
        {"id": "a", "violations": 0, "must_not": {"leak": False}, "behaviors": ["x", "y"], "tags": {"k": "v"}},
        {"id": "b", "violations": 2, "must_not": ["leak"], "behaviors": ["x"]},
    ]


def test_nan_is_refused_with_a_word_about_the_mapping(tmp_path: Path) -> None:
    mapping = {"columns": {"id": "id", "passed": "ok", "latency_ms": "ms"}}
    done = checked(tmp_path, '[{"id": "a", "ok": true, "ms": NaN}]', mapping)
    refused_check(done, "ms: found nan,", "mapping", code="import.wrong-value")


# --- on top of what a tool's reader makes ---------------------------------------------------------

REPORT = (
    '<testsuite name="s"><testcase classname="c" name="one" time="0.1"/>'
    '<testcase classname="c" name="two" time="0.1"><failure message="no"/></testcase></testsuite>'
)


def on_top(folder: Path, columns: dict[str, Any], *arguments: str, **mapping: Any) -> Run:
    written(folder, "report.xml", REPORT)
    written(folder, "highbar.json", {**POLICY, "map": {"columns": columns, **mapping}})
    return run(folder, "check", "report.xml", "--format", "json", *arguments)


def test_a_mapping_describes_the_rows_of_a_tool_further(tmp_path: Path) -> None:
    columns = {
        "category": [{"value": "adversarial", "when": {"id": {"is_not": "c::one"}}}, {"value": "happy_path"}],
        "capability": {"value": "search"}, "weight": {"value": 2}, "tags.team": {"value": "red"},
        "cost_usd": {"value": 0.5},
    }  # fmt: skip
    done = on_top(tmp_path, columns)
    assert done.exit == 0, done.out
    assert done.json["scenarios_failed"][0]["category"] == "adversarial"
    assert done.json["metrics"]["safety_rate"]["value"] == 0
    assert done.json["metrics"]["cost_per_pass"]["value"] == 1
    done = run(tmp_path, "import", "junit", "report.xml")
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [row["tags"]["team"] for row in rows] == ["red", "red"]
    assert [row["passed"] for row in rows] == [True, False]


def test_it_may_name_the_scenarios(tmp_path: Path) -> None:
    columns = {"id": {"path": "id", "values": {"c::one": "ONE", "c::two": "TWO"}}}
    ids = [row["id"] for row in on_top(tmp_path, columns, "--input-format", "junit").json["scenarios_failed"]]
    assert ids == ["TWO"]


@pytest.mark.parametrize("column", ["error", "violations", "passed", "correct"])
def test_it_never_says_what_happened(tmp_path: Path, column: str) -> None:
    columns = {"id": "id", column: {"value": True}}
    done = on_top(tmp_path, columns, "--input-format", "junit")
    refused_check(done, f" set {column}\n", code="map.beside-a-tool")


def test_it_does_not_replace_what_the_tool_measured(tmp_path: Path) -> None:
    refused_check(on_top(tmp_path, {"latency_ms": {"value": 1}}), "latency_ms", code="map.beside-a-tool")


def test_a_path_that_no_row_has_is_a_problem_there_too(tmp_path: Path) -> None:
    refused_check(on_top(tmp_path, {"category": "tags.kind"}), "tags.kind", code="map.path-not-found")


def test_rows_of_a_document_are_not_for_a_mapping_on_top(tmp_path: Path) -> None:
    done = on_top(tmp_path, {"id": "id"}, "--input-format", "junit", rows="cases[]")
    refused_check(done, "rows", code="map.beside-a-tool")


def test_a_mapping_that_only_describes_needs_a_file_that_a_tool_reads(tmp_path: Path) -> None:
    done = checked(tmp_path, [{"name": "a"}], {"columns": {"category": "name"}})
    refused_check(done, " id,", code="map.incomplete")


@pytest.mark.parametrize("column", ["outcome", "quality_score", "passed"])
def test_a_mapping_that_judges_a_file_of_a_tool_and_cannot_read_it_says_how_the_tool_is_named(
    tmp_path: Path, column: str
) -> None:
    log = {
        "version": 2, "status": "success", "eval": {"task": "t"},
        "samples": [{"id": "a", "epoch": 1, "scores": {}}],
    }  # fmt: skip
    policy = {**POLICY, "map": {"columns": {"id": "id", column: "x"}}}
    done = check(tmp_path, json.dumps(log).encode(), policy, name="log.json")
    refused_check(
        done,
        " id\n",
        "(Inspect AI log)",
        "--input-format inspect",
        f"sets {column}",
        code="map.path-not-found",
    )


def test_a_mapping_without_an_id_is_refused_with_a_word_about_tools(tmp_path: Path) -> None:
    policy = {**POLICY, "map": {"columns": {"quality_score": "x"}}}
    done = check(tmp_path, b"{}", policy, name="log.json")
    refused_check(done, " id,", "id: id", "--input-format", line=1, code="map.incomplete")
