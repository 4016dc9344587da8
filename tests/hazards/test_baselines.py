"""Group F and what of group C needs a baseline: a run must not be held against another than the one that is meant."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.commandline import Run, check, judged, refused, run
from tests.docs import forking
from tests.patience import PATIENCE

POLICY: dict[str, Any] = {
    "thresholds": {"blocking": {"pass_rate": "≥ 50%"}},
    "baseline": {"file": "baseline.json", "margin": {"pass_rate": "20%"}},
}


def rows(passes: int = 100, total: int = 100, **more: Any) -> list[dict[str, Any]]:
    return [{"id": f"S{i:03}", "passed": i < passes, **more} for i in range(total)]


def recorded(folder: Path, results: list[dict[str, Any]], *arguments: str, policy: dict[str, Any] = POLICY) -> Run:
    (folder / "policy.json").write_text(json.dumps(policy))
    (folder / "base.jsonl").write_text("".join(json.dumps(row) + "\n" for row in results))
    return run(folder, "baseline", "record", "base.jsonl", "--policy", "policy.json", *arguments)


def started(folder: Path, results: list[dict[str, Any]], *arguments: str, **options: Any) -> None:
    done = recorded(folder, results, *arguments, **options)
    assert done.exit == 0, done.err


@pytest.fixture
def begun(made: Callable[..., None], tmp_path: Path) -> Path:
    """A folder with a baseline of `rows()` by `POLICY`."""
    made(tmp_path, started, rows())
    return tmp_path


# --- another population -------------------------------------------------------------------------


@pytest.mark.parametrize("column", ["suite", "judge"])
def test_h49_h96_results_of_another_suite_or_judge_do_not_pass(tmp_path: Path, column: str) -> None:
    started(tmp_path, rows(**{column: "S1"}))
    judged(check(tmp_path, rows(**{column: "S1"}), POLICY), "pass")
    done = check(tmp_path, rows(**{column: "S2"}), POLICY)
    judged(done, "fail")
    assert done.rule("baseline.pass_rate")["outcome"] == "undefined"
    assert "S1 in the baseline, S2 now" in done.rule("baseline.pass_rate")["reason"]
    assert any("S1 in the baseline, S2 now" in warning for warning in done.json["warnings"])


def test_h49_results_that_are_not_the_suite_fail_whatever_the_baseline_says(tmp_path: Path) -> None:
    (tmp_path / "suite.txt").write_text("".join(f"S{i:03}\n" for i in range(100)))
    policy = {**POLICY, "suite": "suite.txt"}
    started(tmp_path, rows(), policy=policy)
    judged(check(tmp_path, rows(total=100), policy), "pass")
    judged(check(tmp_path, rows(total=101), policy), "fail")
    judged(check(tmp_path, rows(total=99), policy), "fail")


def test_h96_scenarios_that_are_not_in_both_are_named(begun: Path) -> None:
    done = check(begun, [*rows()[3:], {"id": "NEW", "passed": True}], POLICY)
    verdict = judged(done, "inconclusive")
    assert "3 scenarios of the baseline without a result: S000, S001, S002" in done.rule("baseline.pass_rate")["reason"]
    assert any("only in the head" in warning and "NEW" in warning for warning in verdict["warnings"])


def test_h96_a_baseline_of_other_scenarios_does_not_pass(begun: Path) -> None:
    done = check(begun, [{"id": "OTHER", "passed": True}], POLICY)
    judged(done, "fail")
    assert "no scenario is in both" in done.rule("baseline.pass_rate")["reason"]


def test_h96_a_baseline_that_was_scored_by_other_settings_does_not_pass(tmp_path: Path) -> None:
    results = [{"id": f"S{i}", "expected_behaviors": ["a", "b"], "behaviors": ["a", "b"]} for i in range(30)]
    started(tmp_path, results)
    done = check(tmp_path, results, {**POLICY, "pass_score": 0.5})
    judged(done, "fail")
    assert "scored by other settings" in done.rule("baseline.pass_rate")["reason"]


def test_h96_a_comparison_of_other_categories_says_so(tmp_path: Path) -> None:
    for name, category in (("base", "adversarial"), ("head", "happy_path")):
        lines = "".join(json.dumps(row) + "\n" for row in rows(total=5, category=category))
        (tmp_path / f"{name}.jsonl").write_text(lines)
    done = run(tmp_path, "compare", "base.jsonl", "head.jsonl", "--format", "json")
    assert any("another category in the base" in warning for warning in done.json["warnings"])


def test_h50_the_version_of_either_run_is_said(tmp_path: Path) -> None:
    started(tmp_path, rows(agent_version="1.0"))
    results = "".join(json.dumps(row) + "\n" for row in rows(agent_version="1.0"))
    (tmp_path / "results.jsonl").write_text(results)
    done = run(tmp_path, "compare", "baseline.json", "results.jsonl", "--format", "json")
    assert (done.json["base"]["agent_version"], done.json["head"]["agent_version"]) == ("1.0", "1.0")
    assert any("the same agent version, 1.0" in warning for warning in done.json["warnings"])


def test_h51_two_runs_in_one_comparison_are_refused(begun: Path) -> None:
    folder = begun / "runs"
    folder.mkdir()
    for name, version, first in (("new", "2.0", 0), ("old", "1.0", 50)):
        lines = (json.dumps({**row, "agent_version": version}) + "\n" for row in rows()[first : first + 50])
        (folder / f"{name}.jsonl").write_text("".join(lines))
    done = run(begun, "compare", "baseline.json", "runs", "--format", "json")
    refused(done, "agent version", "1.0", "2.0")
    assert done.json["schema"] == "highbar/comparison/1"


def test_h51_a_stale_file_beside_the_new_one_is_refused(begun: Path) -> None:
    folder = begun / "runs"
    folder.mkdir()
    for name in ("r1", "r1-old"):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows()))
    refused(run(begun, "check", "runs", "--policy", "policy.json", "--format", "json"), "S000")


def test_h53_a_shard_that_is_missing_does_not_pass(begun: Path) -> None:
    for number in range(4):
        shard = rows()[25 * number : 25 * (number + 1)]
        (begun / f"s{number}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in shard))
    whole = ("check", "--policy", "policy.json", "--format", "json")
    judged(run(begun, *whole, "s0.jsonl", "s1.jsonl", "s2.jsonl", "s3.jsonl"), "pass")
    done = run(begun, *whole, "s0.jsonl", "s1.jsonl", "s3.jsonl")
    judged(done, "inconclusive")
    assert "25 scenarios of the baseline without a result" in done.rule("baseline.pass_rate")["reason"]


# --- no baseline, or a bad one ------------------------------------------------------------------


def test_h96_what_broke_since_the_baseline_is_named(tmp_path: Path) -> None:
    started(tmp_path, rows(passes=99))
    verdict = judged(check(tmp_path, [*rows(passes=98)[:99], {"id": "S099", "passed": True}], POLICY), "pass")
    assert "since the baseline, of 100 scenarios 1 broke: S098; 1 was fixed: S099" in verdict["warnings"]


def test_h91_without_a_baseline_the_rule_is_undefined_and_none_is_made(tmp_path: Path) -> None:
    done = check(tmp_path, rows(), POLICY)
    judged(done, "fail")
    assert done.rule("baseline.pass_rate")["outcome"] == "undefined"
    assert not (tmp_path / "baseline.json").exists()


def test_h91_a_first_run_may_be_without_one_and_says_so(tmp_path: Path) -> None:
    done = check(tmp_path, rows(), POLICY, "--allow-missing-baseline")
    verdict = judged(done, "pass")
    rule = done.rule("baseline.pass_rate")
    assert (rule["outcome"], rule["level"]) == ("undefined", "warning")
    assert "--allow-missing-baseline accepts" in rule["reason"]
    assert any("nothing was compared" in warning for warning in verdict["warnings"])
    assert not (tmp_path / "baseline.json").exists()


def test_h91_a_margin_over_a_slice_is_undefined_without_a_baseline(tmp_path: Path) -> None:
    margin = {"margin": "5%", "where": {"category": "edge_case"}}
    policy = {**POLICY, "baseline": {"file": "baseline.json", "margin": {"pass_rate": margin}}}
    found = [{**row, "category": "edge_case"} for row in rows()]
    judged(done := check(tmp_path, found, policy), "fail")
    assert done.rule("baseline.pass_rate")["outcome"] == "undefined"


def test_h91_a_baseline_that_is_named_must_be_there(tmp_path: Path) -> None:
    refused(check(tmp_path, rows(), POLICY, "--baseline", "absent.json"), "absent.json")


def test_h91_a_baseline_that_no_rule_asks_for_is_refused(begun: Path) -> None:
    policy = {"thresholds": {"blocking": {"pass_rate": "≥ 50%"}}}
    refused(check(begun, rows(), policy, "--baseline", "baseline.json"), "--baseline", code="baseline.no-rule")


def test_h91_a_baseline_that_was_cut_off_is_refused_even_on_a_first_run(begun: Path) -> None:
    text = (begun / "baseline.json").read_text()
    (begun / "baseline.json").write_text(text[: len(text) // 2])
    refused(check(begun, rows(), POLICY, "--allow-missing-baseline"), "baseline.json", "not JSON")


@pytest.mark.parametrize(
    ("results", "said"),
    [
        (rows(passes=10), "the run failed: thresholds.blocking.pass_rate"),
        ([*rows(), {"id": "SILENT"}], "undecided trials in 1 scenario: SILENT"),
    ],
    ids=["failed", "undecided"],
)
def test_h92_only_a_complete_run_that_passes_is_recorded(
    tmp_path: Path, results: list[dict[str, Any]], said: str
) -> None:
    done = recorded(tmp_path, results)
    assert done.exit == 2
    assert said in done.err
    assert not (tmp_path / "baseline.json").exists()


def test_h92_a_run_with_fewer_scenarios_does_not_replace_the_baseline(begun: Path) -> None:
    before = (begun / "baseline.json").read_bytes()
    policy = {"thresholds": POLICY["thresholds"]}
    done = recorded(begun, rows(total=60), policy=policy)
    assert done.exit == 2
    assert "40 of the present baseline without a result" in done.err
    assert (begun / "baseline.json").read_bytes() == before


def test_h92_a_scenario_that_left_the_suite_is_not_missed(tmp_path: Path) -> None:
    policy = {**POLICY, "suite": "suite.txt"}
    (tmp_path / "suite.txt").write_text("".join(f"S{i:03}\n" for i in range(100)))
    started(tmp_path, rows(), policy=policy)
    (tmp_path / "suite.txt").write_text("".join(f"S{i:03}\n" for i in range(99)))
    judged(check(tmp_path, rows(total=99), policy), "pass")
    started(tmp_path, rows(total=99), policy=policy)


def test_h92_a_suite_that_did_not_run_whole_is_not_recorded(tmp_path: Path) -> None:
    (tmp_path / "suite.txt").write_text("".join(f"S{i:03}\n" for i in range(100)))
    done = recorded(tmp_path, rows(total=99), policy={**POLICY, "suite": "suite.txt"})
    assert done.exit == 2
    assert "suite" in done.err


@pytest.mark.parametrize(
    "arguments", [("--force", "the judge was down"), ("--force", "--reason", "the judge was down")]
)
def test_h92_force_needs_a_reason_which_every_report_shows(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    for nothing in (("--force",), ("--force", " "), ("--reason", "x")):
        assert recorded(tmp_path, rows(passes=10), *nothing).exit == 2
    assert not (tmp_path / "baseline.json").exists()
    started(tmp_path, rows(passes=10), *arguments)
    assert json.loads((tmp_path / "baseline.json").read_text())["forced"] == "the judge was down"
    assert "the judge was down" in run(tmp_path, "baseline", "show").out
    done = run(tmp_path, "check", "base.jsonl", "--policy", "policy.json", "--output", "v.md", "--output", "v.json")
    for report in (done.out, *((tmp_path / name).read_text("utf-8") for name in ("v.md", "v.json"))):
        assert "by force: the judge was down" in " ".join(report.split()), report


def test_h92_force_that_was_not_needed_leaves_no_mark(tmp_path: Path) -> None:
    started(tmp_path, rows(), "--force", "to be sure")
    assert json.loads((tmp_path / "baseline.json").read_text())["forced"] is None


@pytest.mark.process
def test_h95_of_twenty_writers_at_once_each_is_kept_or_told(tmp_path: Path) -> None:
    started(tmp_path, rows(total=5))
    (tmp_path / ".git").mkdir(exist_ok=True)
    program = tmp_path / "highbar"
    program.write_text(forking.command())  # all start at once: nothing is left to load
    command = ["sh", program, "baseline", "record", "base.jsonl", "--policy", "policy.json", "--date"]
    processes = [
        subprocess.Popen([*command, str(n)], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for n in range(20)
    ]
    told = [process.communicate(timeout=PATIENCE)[1].decode() for process in processes]
    codes = [process.returncode for process in processes]
    assert set(codes) <= {0, 2}
    assert 0 in codes
    assert all("changed by someone else" in text for code, text in zip(codes, told, strict=True) if code == 2)
    last = json.loads((tmp_path / "baseline.json").read_text())["date"]
    assert codes[int(last)] == 0
    assert not [path.name for path in tmp_path.iterdir() if path.name.endswith((".tmp", ".lock"))]


@pytest.mark.parametrize("cost", [0, 0.0])
def test_h97_a_share_of_a_baseline_of_zero_is_undefined(tmp_path: Path, cost: float) -> None:
    policy = {**POLICY, "baseline": {"file": "baseline.json", "margin": {"cost_per_pass": "5% of baseline"}}}
    started(tmp_path, rows(cost_usd=cost), policy=policy)
    done = check(tmp_path, rows(cost_usd=1e-9), policy)
    judged(done, "fail")
    assert done.rule("baseline.cost_per_pass")["outcome"] == "undefined"


def test_h97_a_share_of_a_negative_baseline_is_undefined(tmp_path: Path) -> None:
    metric = {"name": "gain", "formula": "mean(gain)", "unit": "number"}
    policy = {
        **POLICY,
        "metrics": [metric],
        "baseline": {"file": "baseline.json", "margin": {"gain": "5% of baseline"}},
    }
    started(tmp_path, rows(gain=-1.0), policy=policy)
    done = check(tmp_path, rows(gain=-1.04), policy)
    judged(done, "fail")
    assert done.rule("baseline.gain")["outcome"] == "undefined"


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e400", "-1"])
def test_h97_a_baseline_with_a_number_that_is_none_is_refused(tmp_path: Path, number: str) -> None:
    started(tmp_path, rows(cost_usd=0.01))
    text = (tmp_path / "baseline.json").read_text()
    (tmp_path / "baseline.json").write_text(text.replace('"cost_usd": 0.01', f'"cost_usd": {number}', 1))
    refused(check(tmp_path, rows(cost_usd=0.01), POLICY), "baseline.json")


def test_h99_a_date_is_a_label_and_never_decides_which_baseline_counts(tmp_path: Path) -> None:
    policy = {**POLICY, "baseline": {"file": "baseline.json", "margin": {"pass_rate": "1%"}}}
    started(tmp_path, rows(passes=90), "--date", "2099-01-01", policy=policy)
    started(tmp_path, rows(passes=100), "--date", "2026-01-01", policy=policy)
    assert json.loads((tmp_path / "baseline.json").read_text())["date"] == "2026-01-01"
    judged(check(tmp_path, rows(passes=80), policy), "fail")


def test_h104_a_judge_that_changed_since_the_baseline_does_not_pass(tmp_path: Path) -> None:
    started(tmp_path, rows(judge="rubric-1"))
    judged(check(tmp_path, rows(judge="rubric-2"), POLICY), "fail")
