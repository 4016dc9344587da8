"""Group B: a number that is wrong, rounded, on another scale or not a number at all must not pass."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from tests.commandline import check, judged, refused, run

ACCURACY = {"thresholds": {"blocking": {"accuracy": "≥ 95%"}}}
PASSES = {"thresholds": {"blocking": {"pass_rate": "≥ 50%"}}}


def rates(*passed_of_total: tuple[str, int, int]) -> list[dict[str, object]]:
    """For each (group, passed, total) that many scenarios, with the group as a tag."""
    return [
        {"id": f"{group}-{number}", "passed": number < passed, "tags": {"group": group}}
        for group, passed, total in passed_of_total
        for number in range(total)
    ]


def counted(passed: int, total: int) -> bytes:
    return ("id,passed\n" + "".join(f"S{n},{str(n < passed).lower()}\n" for n in range(total))).encode()


def problem_lines(policy: str, folder: Path) -> tuple[set[int], set[int], str]:
    """The lines that are marked `# bad` in a policy, those that problems name, and all problems as text."""
    done = check(folder, [{"id": "A", "passed": True, "correct": True}], policy)
    refused(done)
    bad = {number for number, line in enumerate(policy.split("\n"), 1) if "# bad" in line}
    return bad, {problem["line"] for problem in done.json["problems"]}, done.problems


@pytest.mark.parametrize("formula", ["accuracy / (total_outputs - total_outputs)", "0 × accuracy / 0"])
def test_h22_a_metric_that_is_not_a_number_is_undefined(tmp_path: Path, formula: str) -> None:
    policy = {"metrics": [{"name": "odd", "formula": formula}], "rules": [{"metric": "odd", "threshold": "≥ 0"}]}
    verdict = judged(check(tmp_path, [{"id": "A", "correct": True}], policy), "fail")
    assert verdict["metrics"]["odd"]["value"] is None
    assert verdict["metrics"]["odd"]["reason"]
    assert verdict["rules"][0]["outcome"] == "undefined"


@pytest.mark.parametrize("value", ["'nan'::DOUBLE", "'inf'::DOUBLE"])
def test_h22_a_parquet_file_does_not_bring_in_nan(tmp_path: Path, value: str) -> None:
    statement = f"COPY (SELECT 'A' AS id, true AS passed, {value} AS latency_ms) TO '{tmp_path / 'made.parquet'}'"
    duckdb.execute(statement)
    content = (tmp_path / "made.parquet").read_bytes()
    refused(check(tmp_path, content, PASSES, name="results.parquet"), "latency_ms")


def test_h23_a_threshold_outside_the_range_of_its_metric_is_refused(tmp_path: Path) -> None:
    policy = """\
rules:
  - { metric: safety_rate, threshold: "≥ nan" }     # bad
  - { metric: safety_rate, threshold: .nan }        # bad
  - { metric: safety_rate, threshold: "≥ inf" }     # bad
  - { metric: safety_rate, threshold: .inf }        # bad
  - { metric: safety_rate, threshold: "≥ -5%" }     # bad
  - { metric: safety_rate, threshold: -5 }          # bad
  - { metric: pass_rate, threshold: "≥ 120%" }      # bad
  - { metric: pass_rate, threshold: 120 }           # bad
  - { metric: pass_rate, threshold: "≥ 500ms" }     # bad
  - { metric: latency_p95, threshold: "< -1ms" }    # bad
  - { metric: latency_p95, threshold: "< 95%" }     # bad
  - { metric: pass_rate, threshold: true }          # bad
  - { metric: pass_rate, threshold: [95] }          # bad
  - { metric: pass_rate, threshold: ≥ 50% }
"""
    bad, found, text = problem_lines(policy, tmp_path)
    assert bad == found, text


def test_h24_nothing_over_nothing_is_undefined(tmp_path: Path) -> None:
    policy = {
        "metrics": [{"name": "german", "formula": "correct_outputs / total_outputs", "where": {"tags.locale": "de"}}],
        "rules": [
            {"metric": "accuracy", "where": {"tags.locale": "de"}, "threshold": "≥ 85%"},
            {"metric": "german", "threshold": "≥ 0"},
        ],
    }
    verdict = judged(check(tmp_path, [{"id": "A", "correct": True, "tags": {"locale": "fr"}}], policy), "fail")
    assert [rule["outcome"] for rule in verdict["rules"]] == ["undefined", "undefined"]


@pytest.mark.parametrize("column", ["quality_score", "latency_ms"])
def test_h25_an_infinite_number_is_refused(tmp_path: Path, column: str) -> None:
    refused(check(tmp_path, [f'{{"id": "A", "passed": true, "{column}": 1e400}}'], PASSES), "1e400", "finite", line=1)


@pytest.mark.parametrize("latency", ["1e300", "1.1e15", "4e22"])
def test_h25_a_number_too_large_to_be_summed_exactly_is_refused_with_its_line(tmp_path: Path, latency: str) -> None:
    rows = [f'{{"id": "{ms}", "passed": true, "latency_ms": {ms}}}\n' for ms in ("1e15", latency)]
    (tmp_path / "results.jsonl").write_text("".join(rows), "utf-8")
    (tmp_path / "highbar.json").write_text('{"thresholds": {"blocking": {"latency_p95": 5000}}}', "utf-8")
    done = run(tmp_path, "check", "results.jsonl")
    assert done.exit == 2
    assert "results.jsonl:2: latency_ms: found" in done.err
    assert "wanted at most 1e15" in done.err


def test_h26_almost_all_is_not_all_and_is_not_shown_as_all(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_bytes(counted(99_996, 100_000))
    (tmp_path / "policy.json").write_text('{"thresholds": {"blocking": {"pass_rate": "= 100%"}}}')
    outputs = ["--output", "json=verdict.json", "--output", "markdown=verdict.md"]
    done = run(tmp_path, "check", "results.csv", "--policy", "policy.json", *outputs)
    assert done.exit == 1, done.out + done.err
    assert json.loads((tmp_path / "verdict.json").read_text())["metrics"]["pass_rate"]["value"] == 0.99996
    assert "99.99" in done.out
    assert "99.99" in (tmp_path / "verdict.md").read_text("utf-8")


def test_h26_a_perfect_run_meets_a_composite_of_one(tmp_path: Path) -> None:
    row = {"category": "adversarial", "correct": True, "expected_behaviors": ["a"], "behaviors": ["a"], "latency_ms": 0}
    formula = "accuracy × 0.3 + safety_rate × 0.4 + behavior_coverage × 0.2 + (1 - normalized_latency) × 0.1"
    policy = {
        "composite": {"formula": formula, "pass": "final_score ≥ 1.0 AND final_score = 100% AND safety_rate = 1.0"}
    }
    verdict = judged(check(tmp_path, [{"id": name, **row} for name in "ABC"], policy), "pass")
    assert verdict["metrics"]["final_score"]["value"] == 1


def test_h27_a_value_is_not_rounded_before_it_is_compared(tmp_path: Path) -> None:
    policy = {"thresholds": {"blocking": {"pass_rate": "≥ 90%"}}}
    verdict = judged(check(tmp_path, counted(89_988, 100_000), policy, name="results.csv"), "fail")
    assert verdict["metrics"]["pass_rate"]["value"] == 0.89988


def test_h28_exactly_on_a_whole_percentage_passes(tmp_path: Path) -> None:
    shares = [7, 14, 28, 29, 35, 55, 56, 57, 58, 69]
    rules = [
        {
            "metric": "pass_rate",
            "where": {"tags.group": f"of{share}"},
            "threshold": f"{operator} {share}%",
            "level": "warning",
        }
        for share in shares
        for operator in ("≥", ">")
    ]
    rows = rates(*((f"of{share}", share, 100) for share in shares))
    verdict = judged(check(tmp_path, rows, {"rules": rules}), "pass")
    assert [rule["outcome"] for rule in verdict["rules"]] == ["pass", "fail"] * len(shares)


def test_h29_a_bare_number_means_the_same_on_both_scales(tmp_path: Path) -> None:
    rules = [{"metric": "accuracy", "threshold": threshold} for threshold in (0.95, 95, "0.95", "95", "≥ 0.95", "≥ 95")]
    rows = [{"id": "A", "correct": True}, {"id": "B", "correct": False}]
    verdict = judged(check(tmp_path, rows, {"rules": rules}), "fail")
    assert {(rule["outcome"], rule["threshold"]) for rule in verdict["rules"]} == {("fail", ">= 0.95")}


def test_h29_a_bare_number_that_could_be_either_is_refused(tmp_path: Path) -> None:
    policy = """\
thresholds:
  blocking:
    accuracy: 1            # bad
    error_rate: 2          # bad
rules:
  - { metric: recall, threshold: "≥ 1" }       # bad
  - { metric: violation_rate, threshold: 0.5 }   # bad
composite:
  formula: accuracy
  pass: final_score ≥ 85   # bad
"""
    bad, found, text = problem_lines(policy, tmp_path)
    assert bad == found, text


def test_h30_only_plain_numbers_are_read(tmp_path: Path) -> None:
    wrong = ["5O%", "0,95", "１００%", "1_000", "٩٥%", "95%%", "0x5F", "9 5%", "ninety", "95 percent", "+95%", "95pct"]
    policy = "rules:\n" + "".join(f'  - {{ metric: accuracy, threshold: "≥ {text}" }}  # bad\n' for text in wrong)
    policy += '  - { metric: accuracy, threshold: "" }  # bad\n  - { metric: accuracy, threshold: ">" }  # bad\n'
    bad, found, text = problem_lines(policy, tmp_path)
    assert bad == found, text
    assert "5O%" in text


def test_h31_the_direction_belongs_to_the_metric(tmp_path: Path) -> None:
    policy = {
        "rules": [
            {"metric": "latency_p95", "where": {"tags.group": "slow"}, "threshold": 5000},
            {"metric": "latency_p95", "where": {"tags.group": "quick"}, "threshold": 5000},
        ]
    }
    rows = [
        {"id": "A", "passed": True, "latency_ms": 60000, "tags": {"group": "slow"}},
        {"id": "B", "passed": True, "latency_ms": 10, "tags": {"group": "quick"}},
    ]
    assert [rule["outcome"] for rule in judged(check(tmp_path, rows, policy), "fail")["rules"]] == ["fail", "pass"]


def test_h31_an_operator_against_the_direction_is_refused(tmp_path: Path) -> None:
    policy = """\
rules:
  - { metric: accuracy, threshold: "≤ 90%" }        # bad
  - { metric: accuracy, threshold: "< 90%" }        # bad
  - { metric: latency_p95, threshold: "> 5000ms" }  # bad
  - { metric: error_rate, threshold: "≥ 5%" }       # bad
"""
    bad, found, text = problem_lines(policy, tmp_path)
    assert bad == found, text


def test_h32_the_operator_is_kept_as_written(tmp_path: Path) -> None:
    latencies = {"below": 4999.999999, "at": 5000, "above": 5000.000001}
    rows = [{"id": name, "passed": True, "latency_ms": ms, "tags": {"group": name}} for name, ms in latencies.items()]
    rules = [
        {"metric": "latency_p95", "where": {"tags.group": name}, "threshold": threshold, "level": "warning"}
        for name in latencies
        for threshold in ("< 5000ms", "≤ 5000ms", "< 5s", "<= 5s")
    ]
    outcomes = [rule["outcome"] for rule in judged(check(tmp_path, rows, {"rules": rules}), "pass")["rules"]]
    assert outcomes == [*["pass"] * 4, *["fail", "pass"] * 2, *["fail"] * 4]


def test_h33_a_percentile_is_by_nearest_rank(tmp_path: Path) -> None:
    rows = [{"id": f"S{ms}", "passed": True, "latency_ms": ms} for ms in (100, 200, 300, 400, 5000)]
    verdict = judged(check(tmp_path, rows, {"thresholds": {"blocking": {"latency_p95": "< 5000ms"}}}), "fail")
    assert verdict["metrics"]["latency_p95"]["value"] == 5000
    assert verdict["metrics"]["latency_p50"]["value"] == 300


def test_h34_a_percentile_of_a_column_that_nothing_has_is_refused(tmp_path: Path) -> None:
    done = check(tmp_path, [{"id": "A", "passed": True}], {"thresholds": {"blocking": {"latency_p95": "< 5000ms"}}})
    refused(done, "id, passed", code="results.nothing-to-judge")


@pytest.mark.parametrize("row", [{"error": "crashed"}, {"error": "crashed", "latency_ms": 1}])
def test_h34_a_percentile_over_nothing_that_completed_is_undefined(tmp_path: Path, row: dict[str, object]) -> None:
    done = check(tmp_path, [{"id": "A", **row}], {"thresholds": {"blocking": {"latency_p95": "< 5000ms"}}})
    judged(done, "fail")
    assert done.rule("thresholds.blocking.latency_p95")["outcome"] == "undefined"


@pytest.mark.parametrize("row", [{"latency_ms": -120.0}, {"tokens_used": -1}])
def test_h35_a_negative_amount_is_refused(tmp_path: Path, row: dict[str, object]) -> None:
    refused(check(tmp_path, [{"id": "A", "passed": True, **row}], PASSES), *row, line=1)


@pytest.mark.parametrize(("column", "value"), [("passed", 2), ("passed", 1), ("passed", "yes"), ("correct", "true")])
def test_h36_only_true_and_false_are_truth_values(tmp_path: Path, column: str, value: object) -> None:
    refused(check(tmp_path, [{"id": "A", column: value}], PASSES), column, line=1)


@pytest.mark.parametrize(
    "row",
    [
        {"quality_score": "0.99"},
        {"latency_ms": "12"},
        {"tokens_used": 1.5},
        {"id": 7.5},
        {"behaviors": {"greets": 1}},
        {"expected_behaviors": "greets"},
        {"must_not": {"leaks": "false"}},
        {"tags": {"locale": 7}},
        {"outcome": "TP!"},
    ],
    ids=str,
)
def test_h37_nothing_is_coerced(tmp_path: Path, row: dict[str, object]) -> None:
    refused(check(tmp_path, [{"id": "A", "passed": True, **row}], PASSES), *row, line=1)


@pytest.mark.parametrize("score", [95, 1.0000001])
def test_h38_a_score_off_its_scale_is_refused(tmp_path: Path, score: float) -> None:
    refused(check(tmp_path, [{"id": "A", "passed": True, "quality_score": score}], PASSES), "quality_score", line=1)


@pytest.mark.parametrize("digits", ["9" * 5000, str(2**63)], ids=["5000 digits", "2 to the 63rd"])
def test_h39_a_huge_integer_is_refused(tmp_path: Path, digits: str) -> None:
    refused(check(tmp_path, [f'{{"id": "A", "passed": true, "tokens_used": {digits}}}'], PASSES), "tokens_used", line=1)


@pytest.mark.parametrize("weight", [0, -1])
def test_h40_h41_a_weight_that_is_not_positive_is_refused(tmp_path: Path, weight: int) -> None:
    policy = f"""\
weights:
  by_category: {{ adversarial: {weight} }}         # bad
  by_capability: {{ core_function: {weight} }}     # bad
  by_metric: {{ accuracy: 2, safety_rate: {weight} }}  # bad
rules:
  - {{ metric: weighted_score, threshold: ≥ 85% }}
"""
    bad, found, text = problem_lines(policy, tmp_path)
    assert bad == found, text
    refused(check(tmp_path, [{"id": "A", "passed": True, "weight": weight}], PASSES), "weight", line=1)


def test_h42_a_weight_for_an_unknown_metric_is_refused(tmp_path: Path) -> None:
    policy = {"weights": {"by_metric": {"acuracy": 1.0}}, "rules": [{"metric": "weighted_score", "threshold": "≥ 85%"}]}
    refused(check(tmp_path, [{"id": "A", "correct": True}], policy), "acuracy", "accuracy")


def test_h42_a_weighted_metric_without_data_leaves_the_score_undefined(tmp_path: Path) -> None:
    weights = {"by_metric": {"accuracy": 1.0, "safety_rate": 3.0}}
    policy = {"weights": weights, "rules": [{"metric": "weighted_score", "threshold": "≥ 85%"}]}
    verdict = judged(check(tmp_path, [{"id": "A", "correct": True}], policy), "fail")
    assert verdict["rules"][0]["outcome"] == "undefined"
    assert "adversarial" in verdict["rules"][0]["reason"]


def test_h43_a_composite_does_not_buy_off_a_safety_failure(tmp_path: Path) -> None:
    policy = {
        "composite": {
            "formula": "accuracy × 0.6 + safety_rate × 0.4",
            "pass": "final_score ≥ 85% AND safety_rate = 100%",
        }
    }
    rows = [{"id": f"SEC-{n}", "category": "adversarial", "correct": True, "passed": n > 0} for n in range(10)]
    done = check(tmp_path, rows, policy)
    assert judged(done, "fail")["metrics"]["final_score"]["value"] == 0.96
    assert "safety_rate" in done.rule("composite.pass")["reason"]


def test_h44_normalized_latency_stays_between_0_and_1(tmp_path: Path) -> None:
    rows = [{"id": "A", "passed": True, "latency_ms": 60000}]
    policy = {"latency_limit": 1000, "composite": {"formula": "1 - normalized_latency", "pass": "final_score ≥ 0.01"}}
    metrics = judged(check(tmp_path, rows, policy), "fail")["metrics"]
    assert (metrics["normalized_latency"]["value"], metrics["final_score"]["value"]) == (1, 0)


@pytest.mark.parametrize("limit", [0, -5000])
def test_h44_a_latency_limit_that_is_not_positive_is_refused(tmp_path: Path, limit: int) -> None:
    refused(check(tmp_path, [{"id": "A", "passed": True}], {"latency_limit": limit, **PASSES}), "latency_limit")


@pytest.mark.parametrize(
    ("column", "value", "threshold", "better"),
    [
        ("quality_score", "0.4999999999999999", "≥ 0.5", "higher"),
        ("quality_score", "0.49999999999999994", "≥ 0.5", "higher"),
        ("rubric", "0.4999999999999999", "≥ 0.5", "higher"),
        ("cost_usd", "0.1000000000000001", "≤ 0.1", "lower"),
        ("cost_usd", "0.10000000000000002", "≤ 0.1", "lower"),
        ("latency_ms", "100.00000000000001", "≤ 100", "lower"),
        ("doubt", "0.10000000000000002", "≤ 0.1", "lower"),
    ],
)
def test_a_number_with_more_digits_than_are_summed_reaches_no_threshold_by_rounding(
    tmp_path, column, value, threshold, better
):
    metric = {"name": "own", "formula": f"mean({column})", "better": better}
    policy = {"metrics": [metric], "rules": [{"metric": "own", "threshold": threshold}]}
    row = f'{{"id": "a", "passed": true, "{column}": %s}}\n'
    judged(check(tmp_path, (row % value).encode(), policy), "fail")
    exactly = threshold.split()[1]
    judged(check(tmp_path, (row % exactly).encode(), policy), "pass")
