"""Nothing is judged by accident: no policy, results without results, scenarios of the baseline left out (R09)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import highbar
from highbar.report import REPORTERS
from tests.commandline import Run, check, judged, refused, run

GOOD = [{"id": f"S{n}", "passed": True, "latency_ms": 10} for n in range(20)]
HALF = {"thresholds": {"blocking": {"pass_rate": "≥ 50%"}}}


# --- no policy ----------------------------------------------------------------------------------


def test_without_a_policy_nothing_is_judged_and_the_metrics_are_shown(tmp_path: Path) -> None:
    done = check(tmp_path, GOOD, None)
    refused(done, "no policy", "highbar.yaml", "--policy typical", "highbar init")
    found = done.json
    assert found["metrics"]["pass_rate"]["value"] == 1
    assert (found["rules"], found["policy"]) == ([], None)
    assert {(rule["rule"], rule["level"], rule["outcome"]) for rule in found["advice"]} == {
        ("default.pass_rate", "blocking", "pass"),
        ("default.latency_p95", "warning", "pass"),
    }
    jsonschema.validate(found, json.loads(run(tmp_path, "schema", "verdict").out))


def test_without_a_policy_no_report_says_pass(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in GOOD), "utf-8")
    outputs = [argument for name in REPORTERS for argument in ("--output", f"{name}=report.{name}")]
    done = run(tmp_path, "check", "results.jsonl", *outputs)
    assert done.exit == 2, done.err
    assert (tmp_path / "report.text").read_bytes() == done.stdout
    for name in REPORTERS:
        report = (tmp_path / f"report.{name}").read_text("utf-8")
        assert "PASS" not in report, name
        assert "pass_rate" in report, name
        assert "no policy" in report.casefold(), name
        if name in {"text", "markdown", "html", "github-comment"}:
            assert "NO POLICY" in report, name


@pytest.mark.parametrize("name", ["json", "markdown"])
def test_without_a_policy_what_is_printed_is_what_is_written(tmp_path: Path, name: str) -> None:
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in GOOD), "utf-8")
    done = run(tmp_path, "check", "results.jsonl", "--format", name, "--output", f"{name}=report")
    assert done.exit == 2, done.err
    assert (tmp_path / "report").read_text("utf-8") == done.out


def test_without_a_policy_one_line_says_so_and_the_problem_is_on_standard_error(tmp_path: Path) -> None:
    check(tmp_path, GOOD, None)
    done = run(tmp_path, "check", "results.jsonl", "--quiet")
    assert (done.exit, len(done.out.splitlines())) == (2, 1)
    assert done.out.startswith("NO POLICY: nothing was judged")
    assert "there is no highbar.yaml" in done.err


def test_without_a_policy_python_has_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    verdict = highbar.check(GOOD)
    assert (verdict.verdict, verdict.passed, verdict.rules) == (None, False, ())
    assert verdict.metrics["pass_rate"].value == 1
    assert [rule.rule for rule in verdict.advice] == ["default.pass_rate", "default.latency_p95"]
    assert "no policy" in verdict.problems[0].message
    assert "NO POLICY" in verdict._repr_html_()
    assert highbar.check(GOOD, "typical").passed


def test_the_typical_thresholds_judge_if_they_are_named(tmp_path: Path) -> None:
    done = check(tmp_path, GOOD, None, "--policy", "typical")
    judged(done, "pass")
    assert {rule["rule"] for rule in done.json["rules"]} == {"default.pass_rate", "default.latency_p95"}
    assert done.json["policy"] == {"file": "typical", "sha256": None}
    judged(check(tmp_path, [{**row, "passed": False} for row in GOOD], None, "--policy", "typical"), "fail")
    slow = check(tmp_path, [{**row, "latency_ms": 9000} for row in GOOD], None, "--policy", "typical")
    judged(slow, "pass")
    assert slow.rule("default.latency_p95")["outcome"] == "fail"
    (tmp_path / "typical").write_text("pass_criteria: { overall: 1% }\n")
    refused(check(tmp_path, GOOD, None, "--policy", "typical"), "a file of that name", "./typical")
    judged(check(tmp_path, GOOD, None, "--policy", "./typical"), "pass")


@pytest.mark.parametrize(
    "name", ["Highbar.yaml", ".highbar.yml", "policy.yaml", "high-bar.json", "evals/highbar.yaml", "highbar.yaml.txt"]
)
def test_a_file_that_may_be_meant_as_the_policy_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("pass_criteria: { overall: 1% }\n")
    refused(check(tmp_path, GOOD, None), "no policy", f"found {name}")


@pytest.mark.process
def test_a_policy_is_looked_for_upward_and_the_message_says_how_far(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "Highbar.yml").write_text("x")
    (tmp_path / "a" / "b" / "results.jsonl").write_text('{"id": "A", "passed": true}\n')
    command = [sys.executable, "-m", "highbar", "check", "results.jsonl", "--quiet"]
    done = subprocess.run(command, cwd=tmp_path / "a" / "b", capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "up to ../.." in done.stderr
    assert "found ../../Highbar.yml" in done.stderr


@pytest.mark.parametrize("kind", ["link", "folder", "fifo", "loop"])
def test_what_has_the_name_of_a_policy_and_is_no_file_is_an_error(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "highbar.yaml"
    {
        "link": lambda: path.symlink_to("gone.yaml"),
        "folder": path.mkdir,
        "fifo": lambda: os.mkfifo(path),
        "loop": lambda: path.symlink_to("highbar.yaml"),
    }[kind]()
    done = check(tmp_path, GOOD, None)
    found = {"link": "gone.yaml", "folder": "folder", "fifo": "", "loop": "link to highbar.yaml"}[kind]
    refused(done, "highbar.yaml", found, code="policy.missing")
    assert "metrics" not in done.json


def test_a_baseline_is_recorded_only_by_a_policy(tmp_path: Path) -> None:
    check(tmp_path, GOOD, None)
    done = run(tmp_path, "baseline", "record", "results.jsonl", "--force", "because")
    assert (done.exit, "no policy" in done.err) == (2, True)
    assert not (tmp_path / "baseline.json").exists()
    assert run(tmp_path, "baseline", "record", "results.jsonl", "--policy", "typical").exit == 0


# --- results without results --------------------------------------------------------------------

SUITE_ROW: dict[str, Any] = {
    "id": "A",
    "category": "adversarial",
    "input": "x",
    "expected_behaviors": ["b"],
    "must_not": ["m"],
}


EMPTY = [{"id": "A"}, SUITE_ROW, {"id": "A", "expected": "yes"}, {"id": "A", "passed": None}]
EVERY_RULE = {
    "metrics": [{"name": "own", "formula": "mean(rubric)"}],
    "thresholds": {
        "blocking": {
            "pass_rate": "≥ 50%",
            "error_rate": "≤ 5%",
            "violation_rate": "≤ 5%",
            "latency_p95": "< 5s",
            "behavior_coverage": "≥ 1%",
            "own": 1,
        }
    },
    "required_scenarios": {"ids": ["A"]},
    "composite": {"formula": "accuracy × 0.5 + pass_rate × 0.5", "pass": "final_score ≥ 0.1"},
}


@pytest.mark.parametrize("row", EMPTY)
def test_scenarios_without_results_are_refused_whatever_the_rules(tmp_path: Path, row: dict[str, Any]) -> None:
    """If one of the rules could be computed, the row would be judged."""
    refused(check(tmp_path, [row], EVERY_RULE), "id", code="results.nothing-to-judge")


@pytest.mark.parametrize("column", ["pass", "ok", "success", "is_correct", "score", "status"])
def test_a_column_that_looks_like_a_judgment_is_pointed_out(tmp_path: Path, column: str) -> None:
    refused(check(tmp_path, [{"id": "A", column: True}], {**HALF, "allow_columns": [column]}), f"{column} looks like")


def own(column: str, threshold: str) -> dict[str, Any]:
    """A policy that judges by the mean of one column."""
    metric = {"name": "own", "formula": f"mean({column})"}
    return {"metrics": [metric], "rules": [{"metric": "own", "threshold": threshold}]}


@pytest.mark.parametrize(
    ("row", "policy", "verdict"),
    [
        ({"latency_ms": 5}, {"thresholds": {"blocking": {"latency_p95": "< 5s"}}}, "pass"),
        ({"latency_ms": 5, "output": "x"}, {"thresholds": {"blocking": {"error_rate": "≤ 5%"}}}, "pass"),
        ({"rubric": 3}, own("rubric", ">= 2"), "pass"),
        ({"error": "crashed"}, HALF, "fail"),
        ({"violations": ["leak"]}, HALF, "fail"),
        ({"quality_score": 1}, own("quality_score", ">= 0.5"), "pass"),
        ({"must_not": {"leak": False}, "output": "x"}, HALF, "pass"),
        ({"must_not": {"leak": True}, "output": "x"}, HALF, "fail"),
    ],
)
def test_a_gate_on_one_measurement_alone_works(
    tmp_path: Path, row: dict[str, Any], policy: dict[str, Any], verdict: str
) -> None:
    judged(check(tmp_path, [{"id": "A", **row}], policy), verdict)


# --- baselines and comparisons ------------------------------------------------------------------


SCENARIO = st.tuples(st.booleans(), st.booleans(), st.booleans())
"""Whether a scenario passed in the base, passes in the head, and has a result there."""


def compared(folder: Path, base: list[dict[str, Any]], head: list[dict[str, Any]], policy: dict[str, Any]) -> Run:
    for name, results in (("base", base), ("head", head)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in results))
    (folder / "policy.json").write_text(json.dumps(policy))
    return run(folder, "compare", "base.jsonl", "head.jsonl", "--policy", "policy.json", "--format", "json")


def test_r09_a_step_over_fewer_scenarios_does_not_pass(tmp_path: Path) -> None:
    policy = {**HALF, "baseline": {"file": "baseline.json", "step": {"pass_rate": "1%"}}}
    both = [{"id": f"S{n}", "passed": n < 90} for n in range(100)]
    (tmp_path / "base.jsonl").write_text("".join(json.dumps(row) + "\n" for row in both))
    (tmp_path / "policy.json").write_text(json.dumps(policy))
    recorded = run(tmp_path, "baseline", "record", "base.jsonl", "--policy", "policy.json", "--force", "a first one")
    assert recorded.exit == 0, recorded.err
    better = [{**row, "passed": True} for row in both]
    judged(check(tmp_path, better, policy), "pass")
    done = check(tmp_path, better[:90], policy)
    assert done.exit != 0
    step = next(rule for rule in done.json["rules"] if rule["rule"].startswith("baseline"))
    assert step["outcome"] == "inconclusive"
    assert "10 scenarios of the baseline without a result: S90" in step["reason"]
    assert compared(tmp_path, both, better[:90], policy).exit == 3


@pytest.mark.slow
@settings(max_examples=20)  # of three rules each
@given(st.lists(SCENARIO, min_size=2, max_size=12))
def test_r09_leaving_scenarios_out_never_improves_a_rule_about_the_baseline(
    scenarios: list[tuple[bool, bool, bool]],
) -> None:
    base = [{"id": f"S{n}", "passed": before} for n, (before, _, _) in enumerate(scenarios)]
    head = [{"id": f"S{n}", "passed": after} for n, (_, after, _) in enumerate(scenarios)]
    some = [row for row, (_, _, there) in zip(head, scenarios, strict=True) if there]
    assume(0 < len(some) < len(head))
    demands = {"margin": {"pass_rate": "5%"}, "step": {"pass_rate": "5%"}, "new_failures": ["*"]}
    policy = {"baseline": {"file": "b.json", **demands}}
    found = {rule.rule: rule.outcome for rule in highbar.compare(base, some, policy).rules}
    failures = "baseline.new_failures"
    assert set(found) == {"baseline.pass_rate", "baseline.step.pass_rate", failures}
    assert [name for name, outcome in found.items() if outcome == "pass" and name != failures] == []
    # Only what failed before may be left out.
    assert found[failures] != "pass" or not any(before for before, _, there in scenarios if not there)


def test_a_margin_where_a_column_is_no_slice_is_judged(tmp_path: Path) -> None:
    german = {"margin": "1%", "where": {"tags.locale": "de"}}
    policy = {**HALF, "baseline": {"file": "b.json", "margin": {"pass_rate": german}}}
    base = [{"id": f"S{n}", "passed": True, "tags": {"locale": "de" if n % 2 else "en"}} for n in range(40)]
    done = compared(tmp_path, base, base, policy)
    assert done.exit == 0, done.out
    worse = compared(tmp_path, base, [{**row, "passed": row["tags"]["locale"] == "en"} for row in base], policy)
    assert worse.exit == 1
    ruled = {rule["rule"]: rule["outcome"] for rule in worse.json["rules"]}
    assert set(ruled.values()) == {"fail"}, ruled


def test_runs_without_a_common_id_are_not_compared(tmp_path: Path) -> None:
    done = compared(tmp_path, [{"id": "a-1", "passed": True}], [{"id": "b-1", "passed": True}], HALF)
    refused(done, "no scenario is in both runs", "a-1", "b-1")
