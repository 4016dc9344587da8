"""Commands other than `check` on a run that stopped when it was decided: what was not run is no failure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commandline import Run, judged, run
from tests.runs.deciding import looking_often
from tests.runs.test_until_decided import PLANNED, SEQUENTIAL, not_run, project

pytestmark = [pytest.mark.slow, pytest.mark.process]

RUN_ALL = "highbar run --resume out --run-all"


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A project with a run that was stopped early, and how many of its scenarios were run."""
    folder = tmp_path_factory.mktemp("stopped")
    with looking_often():
        made = project(folder)
        judged(made.run("--until-decided"), "pass")
    return folder, PLANNED - len(not_run(made))


def compared(folder: Path, base: str, head: str, *arguments: str) -> Run:
    return run(folder, "compare", base, head, "--format", "json", *arguments)


def refused(done: Run, message: str) -> None:
    assert done.exit == 2
    assert message in done.err
    assert RUN_ALL in " ".join(done.err.split())


def test_a_comparison_is_over_the_scenarios_that_both_runs_finished(stopped: tuple[Path, int]) -> None:
    folder, ran = stopped
    done = compared(folder, "out", "out")
    found = done.json
    assert (done.exit, found["pairs"]) == (0, ran)
    assert found["metrics"]["pass_rate"]["difference"] == 0
    assert (found["base"]["scenarios"], found["head"]["scenarios"], found["head"]["trials"]) == (ran, ran, ran)
    assert (found["only_in_base"], found["only_in_head"]) == ([], [])
    left_out = f"{PLANNED - ran} scenarios are left out because they were not run"
    (note,) = [one for one in found["warnings"] if left_out in one]
    assert note.endswith("so that a difference seems clear a little too often")
    assert not any("undecided" in one for one in found["warnings"])
    text = run(folder, "compare", "out", "out").out
    assert left_out in " ".join(text.split())
    assert "crashed" not in text


def test_what_only_one_of_two_runs_did_is_left_out_on_both_sides(stopped: tuple[Path, int]) -> None:
    folder, ran = stopped
    whole = "".join(json.dumps({"id": f"S{place}", "passed": place % 2 == 0}) + "\n" for place in range(PLANNED))
    (folder / "whole.jsonl").write_text(whole)
    for base, head in (("whole.jsonl", "out"), ("out", "whole.jsonl")):
        found = compared(folder, base, head).json
        assert found["pairs"] == ran
        assert (found["only_in_base"], found["only_in_head"]) == ([], [])
        assert len(found["broken"] + found["fixed"]) == found["passes"]["broken"] + found["passes"]["fixed"] < ran


def test_a_rule_about_the_baseline_is_not_judged_by_a_part(stopped: tuple[Path, int]) -> None:
    folder, _ = stopped
    (folder / "margin.json").write_text('{"baseline": {"file": "b.json", "margin": {"pass_rate": "1%"}}}')
    refused(run(folder, "compare", "out", "out", "--policy", "margin.json"), "stopped early")


def test_a_plan_is_from_the_scenarios_that_finished(stopped: tuple[Path, int]) -> None:
    folder, ran = stopped
    plan = run(folder, "plan", "out", "--format", "json").json
    assert plan["counts"]["scenarios"] == ran
    (rule,) = [one for one in plan["rules"] if one["metric"] == "pass_rate"]
    assert (rule["value"], rule["outcome"]) == (1, "pass")


def test_a_plan_by_a_policy_that_looks_at_all_scenarios_is_refused(stopped: tuple[Path, int]) -> None:
    folder, _ = stopped
    policy = {"thresholds": SEQUENTIAL["thresholds"]}
    (folder / "whole.json").write_text(json.dumps(policy))
    refused(run(folder, "plan", "out", "--policy", "whole.json"), "stopped early")


def test_a_refused_baseline_says_how_to_run_the_rest(stopped: tuple[Path, int]) -> None:
    folder, _ = stopped
    (folder / "bar.json").write_text(
        json.dumps({**SEQUENTIAL, "baseline": {"file": "b.json", "margin": {"pass_rate": "1%"}}})
    )
    refused(run(folder, "baseline", "record", "out", "--policy", "bar.json"), "undecided")
