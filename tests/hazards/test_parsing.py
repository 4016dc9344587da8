"""Group D: a file that is torn, doubled or mistyped must be refused, with its line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.commandline import check, judged, refused

SAFETY = {"thresholds": {"blocking": {"safety_rate": "100%"}}}
PASSES = {"thresholds": {"blocking": {"pass_rate": "≥ 50%"}}}
GOOD = '{"id": "A", "category": "adversarial", "passed": true}'


@pytest.mark.parametrize("tail", ['{"id":"B","pass', '{"id":"B","passed":true'])
def test_h57_a_torn_last_line_is_refused(tmp_path: Path, tail: str) -> None:
    refused(check(tmp_path, f"{GOOD}\n{tail}".encode(), SAFETY), line=2)


@pytest.mark.parametrize("name", ["results.json", "results.jsonl.gz"])
def test_h57_a_torn_file_is_refused_in_every_format(tmp_path: Path, name: str) -> None:
    rows = ",".join(f'{{"id": "S{n}", "passed": true, "note": "{n * 7919 % 10007:x}"}}' for n in range(2000))
    whole = f"[{rows}]".encode() if name.endswith(".json") else gzip.compress(rows.replace("},", "}\n").encode())
    refused(check(tmp_path, whole[: len(whole) // 2], PASSES, name=name), name)


@pytest.mark.parametrize(
    "line",
    [
        '{"id": "A", "passed": false, "passed": true}',
        '{"id": "A", "passed": false, "\\u0070assed": true}',
        '{"id": "A", "expected_behaviors": ["a"], "behaviors": {"a": false, "a": true}}',
        '{"id": "A", "passed": true, "must_not": {"leaks": true, "leaks": false}}',
    ],
)
def test_h59_a_duplicate_key_is_refused(tmp_path: Path, line: str) -> None:
    refused(check(tmp_path, [line], PASSES), line=1)


@pytest.mark.parametrize(("column", "literal"), [("quality_score", "NaN"), ("note", "-Infinity")])
def test_h60_nan_and_infinity_are_not_json(tmp_path: Path, column: str, literal: str) -> None:
    refused(check(tmp_path, [f'{{"id": "A", "passed": true, "{column}": {literal}}}'], PASSES), literal, line=1)


@pytest.mark.parametrize(
    "line",
    [GOOD + " xyz", '{"id": "B", "passed": true,}', GOOD + '{"id": "B", "passed": false}', "[" + GOOD + "]", '"A"'],
)
def test_h61_one_object_per_line_and_nothing_else(tmp_path: Path, line: str) -> None:
    refused(check(tmp_path, [GOOD.replace("A", "Z", 1), line], PASSES), line=2)


def test_h61_blank_lines_at_the_end_are_no_rows(tmp_path: Path) -> None:
    assert judged(check(tmp_path, f"{GOOD}\n\n\n".encode(), PASSES), "pass")["counts"]["trials"] == 1


@pytest.mark.parametrize("name", ["results.jsonl", "results.csv", "results.json"])
def test_h62_a_byte_order_mark_is_accepted(tmp_path: Path, name: str) -> None:
    content = {"results.jsonl": GOOD, "results.csv": "id,passed\nA,true\n", "results.json": f"[{GOOD}]"}[name]
    assert judged(check(tmp_path, content.encode("utf-8-sig"), PASSES, name=name), "pass")["counts"]["trials"] == 1


@pytest.mark.parametrize(
    ("content", "fragment"),
    [
        (GOOD.encode("utf-16"), "UTF-16"),
        (GOOD.encode() + b'\n{"id": "B\xff", "passed": true}\n', "UTF-8"),
        (GOOD.encode() + b'\n{"id": "B", "passed": true, "output": "\xc3("}\n', "UTF-8"),
        (GOOD.encode() + b'\n{"id": "B", "passed": true, "output": "\\ud800"}\n', ""),
    ],
    ids=["UTF-16", "invalid id", "invalid output", "lone surrogate"],
)
def test_h62_text_that_is_not_utf_8_is_refused(tmp_path: Path, content: bytes, fragment: str) -> None:
    refused(check(tmp_path, content, PASSES), fragment, line=None if fragment == "UTF-16" else 2)


@pytest.mark.parametrize(
    "line", ["[" * 100_000, '{"id": "A", "passed": true, "behaviors": ' + "[" * 5000 + "]" * 5000 + "}"]
)
def test_h63_deep_nesting_in_results_is_refused(tmp_path: Path, line: str) -> None:
    refused(check(tmp_path, [line], PASSES), line=1)


@pytest.mark.parametrize(
    "policy",
    [
        "rules: " + "[" * 20_000 + "]" * 20_000,
        'composite: { formula: "' + "(" * 5000 + "accuracy" + ")" * 5000 + '", pass: final_score ≥ 50% }',
        'composite: { formula: "' + "-" * 20_000 + 'accuracy", pass: final_score ≥ 50% }',
    ],
    ids=["lists", "parentheses", "signs"],
)
def test_h63_deep_nesting_in_a_policy_is_refused(tmp_path: Path, policy: str) -> None:
    refused(check(tmp_path, [GOOD], policy))


def test_h64_a_line_without_end_is_refused(tmp_path: Path) -> None:
    line = '{"id": "A", "passed": true, "output": "' + "x" * (40 << 20) + '"}\n'
    refused(check(tmp_path, line.encode(), PASSES), line=1)


@pytest.mark.parametrize(
    ("policy", "line"),
    [
        ("thresholds:\n  blocking:\n    safety_rate: 100%\n    safety_rate: 0%\n", 4),
        ("thresholds:\n  blocking: { pass_rate: ≥ 50% }\nthresholds:\n  warning: { pass_rate: ≥ 60% }\n", 3),
        ('{"thresholds": {"blocking": {"safety_rate": "100%",\n "safety_rate": "0%"}}}', 2),
    ],
)
def test_h65_a_duplicate_key_in_a_policy_is_refused(tmp_path: Path, policy: str, line: int) -> None:
    refused(check(tmp_path, [GOOD], policy), "duplicate", line=line)


def test_h65_unknown_keys_in_a_policy_are_all_reported(tmp_path: Path) -> None:
    policy = """\
treshold: { blocking: { safety_rate: 100% } }             # bad
thresholds:
  bloking: { safety_rate: 100% }                          # bad
  blocking: { accuracy: { treshold: ≥ 95% } }             # bad
risk: { hihg: { accuracy: ≥ 95% } }                       # bad
weights: { by_categry: { adversarial: 2.0 } }             # bad
required_scenarios: { id: [SEC-001] }                     # bad
pass_criteria: { overal: ≥ 80% }                          # bad
composite: { formula: accuracy, pas: final_score ≥ 50% }  # bad
metrics: [ { name: mine, formla: accuracy } ]             # bad
rules:
  - { metric: accuracy, threshold: ≥ 90%, whre: { category: adversarial } }  # bad
"""
    done = check(tmp_path, [GOOD], policy)
    refused(done, "treshold", "thresholds", "bloking", "by_categry", "by_category")
    bad = {number for number, line in enumerate(policy.split("\n"), 1) if "# bad" in line}
    assert bad == {problem["line"] for problem in done.json["problems"]}, done.problems


def test_h66_words_that_yaml_once_took_for_truth_values_stay_words(tmp_path: Path) -> None:
    policy = "required_scenarios: { ids: [NO, on] }\n"
    done = check(
        tmp_path, [{"id": "NO", "passed": False}, {"id": "on", "passed": True}, {"id": "false", "passed": True}], policy
    )
    judged(done, "fail")
    assert [done.rule(f"required_scenarios.{name}")["outcome"] for name in ("NO", "on")] == ["fail", "pass"]


def test_h66_a_number_where_an_id_belongs_is_not_reinterpreted(tmp_path: Path) -> None:
    rows = [{"id": text, "passed": True} for text in ("83", "123")]
    assert check(tmp_path, rows, "required_scenarios: { ids: [0123] }\n").exit in {1, 2}


def test_h66_what_is_no_threshold_is_refused(tmp_path: Path) -> None:
    policy = """\
thresholds:
  blocking:
    safety_rate:            # bad
    accuracy: .nan          # bad
    recall: 12:30:45        # bad
    precision: no           # bad
    f1: 2026-01-01          # bad
"""
    done = check(tmp_path, [GOOD], policy)
    refused(done)
    assert {problem["line"] for problem in done.json["problems"]} == {3, 4, 5, 6, 7}, done.problems


def test_h66_an_unquoted_operator_is_explained(tmp_path: Path) -> None:
    policy = "thresholds:\n  blocking:\n    accuracy: >= 95%\n"
    refused(check(tmp_path, [GOOD], policy), "quote it", "≥ 95%", line=3)


@pytest.mark.parametrize(
    ("column", "meant"),
    [
        ("pased", "passed"),
        ("violation", "violations"),
        ("Latency_ms", "latency_ms"),
    ],
)
def test_h67_a_mistyped_column_is_refused(tmp_path: Path, column: str, meant: str) -> None:
    refused(check(tmp_path, [GOOD, {"id": "B", "passed": True, column: None}], PASSES), column, meant)


def test_h67_a_mistyped_column_in_csv_is_refused(tmp_path: Path) -> None:
    refused(check(tmp_path, b"id,passed,errors\nA,true,crashed\n", PASSES, name="results.csv"), "errors", "error")


def test_h67_a_near_miss_that_the_policy_allows_is_kept(tmp_path: Path) -> None:
    judged(
        check(tmp_path, [{"id": "A", "passed": True, "weights": "heavy"}], {**PASSES, "allow_columns": ["weights"]}),
        "pass",
    )


def test_h68_a_type_that_drifts_late_is_refused_with_its_line(tmp_path: Path) -> None:
    rows = [f'{{"id": "S{n}", "passed": true, "quality_score": 1}}' for n in range(30_000)]
    refused(
        check(tmp_path, [*rows, '{"id": "LAST", "passed": true, "quality_score": "bad"}'], PASSES),
        "quality_score",
        line=30_001,
    )


def test_h68_a_column_that_comes_late_counts(tmp_path: Path) -> None:
    rows = [f'{{"id": "S{n}", "passed": true}}' for n in range(30_000)]
    late = {"id": "LAST", "passed": True, "violations": ["leaks_secret"]}
    verdict = judged(check(tmp_path, [*rows, late], {"required_scenarios": {"ids": ["LAST"]}}), "fail")
    assert verdict["scenarios_failed"][0]["id"] == "LAST"


@pytest.mark.parametrize(
    "content",
    [
        b"id,passed\n,true\n",
        b'id,passed\n"b,true\n',
        b"id,passed\na,true,extra\n",
        b"id,passed,passed\na,false,true\n",
        b"id,passed\na,yes\n",
        b"id,passed,latency_ms\na,true,nan\n",
        b'id,passed\n"a"x,true\n',
    ],
)
def test_h69_csv_is_read_strictly(tmp_path: Path, content: bytes) -> None:
    refused(check(tmp_path, content, PASSES, name="results.csv"), "results.csv")


def test_h69_an_empty_field_is_absent_and_not_a_pass(tmp_path: Path) -> None:
    empty = check(tmp_path, b"id,passed\na,\nb,\n", PASSES, name="results.csv")
    refused(empty, code="results.nothing-to-judge")
    done = check(tmp_path, b"id,passed\na,true\nb,\n", {"pass_criteria": {"overall": "100%"}}, name="results.csv")
    assert done.exit in {1, 3}, done.out


@pytest.mark.parametrize("identity", ['"id": null, ', '"id": "", ', ""])
def test_h70_a_row_without_an_id_is_refused(tmp_path: Path, identity: str) -> None:
    refused(check(tmp_path, [GOOD, f'{{{identity}"passed": true}}'], PASSES), "id", line=2)
