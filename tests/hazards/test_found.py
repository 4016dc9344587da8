"""Wrong passes that were found by attacking the gate: each stays found."""

from __future__ import annotations

import gzip
import json

import pyarrow as pa
import pytest
from pyarrow import parquet

import highbar

ALL = {"thresholds": {"blocking": {"pass_rate": "100%"}}}


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def large(*late):
    rows = [{"id": f"s{i}", "category": "adversarial", "correct": True, "output": "p" * 500} for i in range(10_000)]
    for at, columns in enumerate(late):
        rows[5_000 + at].update(columns)
    return rows


def refused(results, policy=ALL):
    with pytest.raises(highbar.InputError) as caught:
        highbar.check(results, policy)
    return caught.value.problems


def test_a_key_that_the_first_row_of_a_large_file_lacks_is_read(tmp_path):
    late = [{"error": "boom"}, {"violations": ["leak"]}, {"passed": False}]
    verdict = highbar.check(write(tmp_path / "r.jsonl", large(*late)), ALL)
    assert verdict.verdict == "fail"
    assert {one.id for one in verdict.scenarios_failed} == {"s5000", "s5001", "s5002"}


def test_a_near_miss_that_the_first_row_of_a_large_file_lacks_is_refused(tmp_path):
    problem = refused(write(tmp_path / "r.jsonl", large({"violation": ["leak"]})))[0]
    assert (problem.message, problem.line) == ("unknown column 'violation'", 5_001)


@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x.csv"])
def test_the_name_of_a_folder_is_no_result(tmp_path, name):
    path = tmp_path / "passed=true" / name
    path.parent.mkdir()
    content = {
        "x.jsonl": '{"id": "a", "passed": false}\n',
        "x.json": '[{"id": "a", "passed": false}]',
        "x.csv": "id,passed\na,false\n",
    }
    path.write_text(content[name], encoding="utf-8")
    assert highbar.check(path, ALL).verdict == "fail"


def test_the_name_of_a_folder_is_no_column_of_a_parquet_file(tmp_path):
    path = tmp_path / "category=happy_path" / "x.parquet"
    path.parent.mkdir()
    rows = [
        {"id": "a", "category": "adversarial", "passed": False},
        {"id": "b", "category": "adversarial", "passed": True},
    ]
    parquet.write_table(pa.Table.from_pylist(rows), path)
    assert (
        highbar.check(path, {"thresholds": {"blocking": {"safety_rate": "100%"}}}).metrics["safety_rate"].scenarios == 2
    )


@pytest.mark.parametrize("content", ['[{"id": "a", "passed": true},', '[{"id": "a", "passed": true}, \n'])
@pytest.mark.parametrize("compressed", [False, True])
def test_an_array_that_is_cut_off_after_a_comma_is_refused(tmp_path, content, compressed):
    path = tmp_path / ("a.json.gz" if compressed else "a.json")
    path.write_bytes(gzip.compress(content.encode()) if compressed else content.encode())
    assert refused(path)[0].file == str(path)


def test_trials_that_do_not_agree_on_what_a_rule_chooses_by_are_refused():
    rows = [
        {"id": "a", "trial": 1, "correct": True, "tags": {"locale": "de"}},
        {"id": "b", "trial": 1, "correct": True, "tags": {"locale": "en"}},
        {"id": "b", "trial": 2, "correct": False, "tags": {"locale": "de"}},
    ]
    rule = {"metric": "accuracy", "where": {"tags.locale": "de"}, "threshold": "≥ 90%"}
    assert "tags.locale" in refused(rows, {"rules": [rule]})[0].message


def test_a_must_not_that_nothing_is_said_of_was_not_checked():
    unsaid = {"id": "a", "must_not": {"leak": None}, "output": "x"}
    assert refused([unsaid], ALL)[0].code == "results.nothing-to-judge"
    assert highbar.check([unsaid, {"id": "b", "passed": True}], ALL).verdict in {"fail", "inconclusive"}


def test_what_an_optional_pattern_excuses_in_the_suite_is_warned_of(tmp_path):
    (tmp_path / "s.yaml").write_text("[A-1, A-2, B]", encoding="utf-8")
    policy = tmp_path / "highbar.yaml"
    policy.write_text(
        "suite: s.yaml\noptional_scenarios: {ids: ['*']}\nthresholds: {blocking: {pass_rate: 100%}}\n", encoding="utf-8"
    )
    verdict = highbar.check([{"id": "A-1", "passed": True}], policy)
    rules = {rule.rule: rule for rule in verdict.rules}
    assert rules["optional_scenarios.*"].outcome == "fail"
    assert "A-2, B" in rules["optional_scenarios.*"].reason
    assert (rules["suite"].outcome, " 2 " in rules["suite"].reason) == ("pass", True)


@pytest.mark.parametrize(
    ("name", "content"), [("b.jsonl", ""), ("b.jsonl", " \n\n"), ("b.csv", "id,passed\n"), ("b.json", "[]\n")]
)
def test_a_file_without_a_row_beside_another_is_refused(tmp_path, name, content):
    first = write(tmp_path / "a.jsonl", [{"id": "a", "passed": True}])
    (tmp_path / name).write_text(content, encoding="utf-8")
    problem = refused([first, tmp_path / name])[0]
    assert (problem.file, problem.code) == (str(tmp_path / name), "results.empty")


def test_a_margin_that_leaves_nothing_of_its_threshold_is_refused():
    policy = {"thresholds": {"blocking": {"pass_rate": {"threshold": "90%", "margin": "95%"}}}}
    assert "margin" in refused([{"id": "a", "passed": False}], policy)[0].message


def test_names_of_columns_that_differ_only_in_case_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,Foo,foo,passed\na,1,2,true\n", encoding="utf-8")
    problem = refused(path)[0]
    assert (problem.code, problem.line) == ("row.duplicate-key", 1)
    assert "'Foo' and 'foo'" in problem.message


def test_lines_that_end_in_carriage_returns_alone_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"id,passed\ra,false\r")
    assert refused(path)[0].line == 1


def test_a_compressed_table_with_a_line_break_in_quotes_is_read(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b'id,passed,error\r\na,true,"x\ny"\r\nb,true,\r\n'))
    assert highbar.check(path, ALL).counts.errors == 1


def test_more_trials_than_can_be_asked_for_are_refused():
    assert (
        "pass_hat_2000"
        in refused([{"id": "a", "passed": True}], {"thresholds": {"blocking": {"pass_hat_2000": "50%"}}})[0].message
    )


SUITE = {
    "id": "a",
    "category": "adversarial",
    "cluster": "doc-1",
    "weight": 2,
    "locale": "de",
    "tags": {"tier": "gold"},
    "expected": "yes",
    "expected_behaviors": ["refuses", "explains"],
    "must_not": ["leaks"],
    "input": "whatever the runner needs",
}
ROW = {
    "id": "a",
    "category": "adversarial",
    "cluster": "doc-1",
    "weight": 2.0,
    "locale": "de",
    "tags": {"tier": "gold", "run": "7"},
    "expected": "yes",
    "predicted": "yes",
    "expected_behaviors": ["explains", "refuses", "thanks"],
    "behaviors": ["refuses", "explains", "thanks"],
    "must_not": {"leaks": False, "lies": False},
    "input": "what was really asked",
}


def of_suite(folder, *changes):
    """What the rule of the suite says of rows with these changes, which are `a`, `b` and so on in the suite, too."""
    ids = "abcdefghijklmnop"[: len(changes)]
    (folder / "suite.json").write_text(json.dumps([{**SUITE, "id": id_} for id_ in ids]), encoding="utf-8")
    (folder / "highbar.json").write_text(json.dumps({**ALL, "suite": "suite.json"}), encoding="utf-8")
    rows = [{**row, "id": id_} for id_, row in zip(ids, changes, strict=True)]
    verdict = highbar.check(write(folder / "r.jsonl", rows), folder / "highbar.json")
    return next(rule for rule in verdict.rules if rule.rule == "suite")


def test_results_that_say_what_the_suite_says_and_more_pass(tmp_path):
    assert of_suite(tmp_path, ROW).outcome == "pass"


CONTRADICTING = [
    ("cluster", "doc-2", "cluster is 'doc-2' in the results and 'doc-1' in the suite"),
    ("weight", 1, "weight is '1' in the results and '2' in the suite"),
    ("locale", "en", "locale is 'en' in the results and 'de' in the suite"),
    ("tags", {"tier": "iron"}, "tags.tier is 'iron' in the results and 'gold' in the suite"),
    ("expected", "no", "expected is 'no' in the results and 'yes' in the suite"),
    ("expected_behaviors", ["explains"], "expected_behaviors lacks 'refuses' of the suite"),
    ("must_not", ["lies"], "must_not lacks 'leaks' of the suite"),
    ("must_not", [{"name": "lies", "violated": False}], "must_not lacks 'leaks' of the suite"),
]


def test_results_that_contradict_the_suite_in_any_column_fail(tmp_path):
    rule = of_suite(tmp_path, *({**ROW, column: value} for column, value, _ in CONTRADICTING))
    told = "; ".join(f"{id_}: {told}" for id_, (_, _, told) in zip("abcdefgh", CONTRADICTING, strict=True))
    assert (rule.outcome, rule.reason) == ("fail", told)
    column, value, told = CONTRADICTING[0]
    assert of_suite(tmp_path, {**ROW, column: value}).reason == f"a: {told}"


def test_what_describes_a_scenario_may_be_left_to_the_suite(tmp_path):
    columns = ("cluster", "weight", "tags", "locale", "input")
    assert of_suite(tmp_path, *({**ROW, column: None} for column in columns)).outcome == "pass"
    assert of_suite(tmp_path, {**ROW, **dict.fromkeys(columns)}).outcome == "pass"  # if no row has them


def test_an_answer_that_the_suite_demands_may_not_be_left_out(tmp_path):
    row = {key: value for key, value in ROW.items() if key not in ("expected", "predicted")}
    assert of_suite(tmp_path, row).outcome == "fail"
    assert of_suite(tmp_path, {**row, "correct": True}).outcome == "pass"
