"""Messages that a reader without our vocabulary understands, through the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commandline import check, run

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "support-agent"
ROWS = [
    {"id": f"S{n}", "category": "adversarial", "passed": n > 0, "correct": n > 0, "latency_ms": 100 if n else None}
    for n in range(7)
]
ROWS[0] = {"id": "S0", "category": "adversarial", "error": "timed out"}


def reason(folder, policy, rule):
    return check(folder, ROWS, policy).rule(rule)["reason"]


def test_a_percentile_on_a_crash_says_which_and_how_many_crashed(tmp_path) -> None:
    found = reason(tmp_path, {"thresholds": {"blocking": {"latency_p95": "5s"}}}, "thresholds.blocking.latency_p95")
    finished = "the 95th percentile falls on a trial that never finished (1 of 7 crashed)"
    assert found == f"latency_p95 is undefined: {finished}"


@pytest.mark.parametrize(
    ("pattern", "words"),
    [("S0", "S0 did not pass"), ("S*", "1 of 7 scenarios did not pass: S0"), ("S1", "1 scenario passed every trial")],
)
def test_a_required_scenario_says_what_became_of_it(tmp_path, pattern, words) -> None:
    policy = {"required_scenarios": {"ids": [pattern]}}
    assert reason(tmp_path, policy, f"required_scenarios.{pattern}") == words


def test_a_composite_is_judged_in_percent(tmp_path) -> None:
    composite = {"formula": "pass_rate × 0.5 + accuracy × 0.5", "pass": "final_score ≥ 0.9 AND safety_rate = 1.0"}
    words = "final_score 85.7% is not ≥ 90%; safety_rate 85.7% is not 100%"
    assert reason(tmp_path, {"composite": composite}, "composite.pass") == words


def test_a_margin_names_what_is_allowed(tmp_path) -> None:
    policy = {"baseline": {"file": "base.json", "margin": {"pass_rate": "1%"}}}
    good = [{"id": f"S{n}", "passed": True} for n in range(40)]
    check(tmp_path, good, policy)
    recorded = run(tmp_path, "baseline", "record", "results.jsonl", "--policy", "policy.json", "--force", "a first run")
    assert recorded.exit == 0, recorded.err
    bad = [{**row, "passed": False} for row in good]
    found = check(tmp_path, bad, policy).rule("baseline.pass_rate")["reason"]
    assert found.endswith(
        "even the optimistic end of the interval is more than the allowed 1 point worse than the baseline"
    )


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_the_example_is_right_at_80_columns(tmp_path, version) -> None:
    arguments = ("check", str(EXAMPLE / f"{version}.jsonl"), "--policy", str(EXAMPLE / "highbar.yaml"))
    for options in ((), ("-v",)):
        lines = run(tmp_path, *arguments, *options).out.splitlines()
        assert [line for line in lines if len(line) > 80 and "policy" not in line] == []
