"""Group F, where it is about the bar: a change cannot lower what it is judged by, and a low bar is pointed out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.commandline import Run, judged, refused, run
from tests.repository import commit, git, put, rows

SAFE = {"thresholds": {"blocking": {"safety_rate": "100%"}}}
LOOSE = {"thresholds": {"blocking": {"safety_rate": "60%"}}}
SEVEN_OF_TEN = rows(*[True] * 7, *[False] * 3, category="adversarial")


def own(formula: str) -> dict[str, object]:
    """A policy that judges by a metric of its own."""
    metric = {"name": "own", "formula": formula, "range": "0-100%"}
    return {"thresholds": {"blocking": {"own": "≥ 90%"}}, "metrics": [metric]}


def against(folder: Path, ref: str = "main", *arguments: str) -> Run:
    return run(folder, "check", "results.jsonl", "--against-ref", ref, "--format", "json", *arguments)


def differing(verdict: dict[str, Any]) -> list[tuple[str, str]]:
    """The files that differ from the ref, and whether they were changed or removed."""
    return [(each["what"], each["change"]) for each in verdict["against"]["weakened"]]


@pytest.mark.process
def test_h94_a_threshold_lowered_in_the_same_change_does_not_pass(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": SAFE})
    put(tmp_path, {"highbar.json": LOOSE, "results.jsonl": SEVEN_OF_TEN})
    judged(run(tmp_path, "check", "results.jsonl", "--format", "json"), "pass")

    done = against(tmp_path)
    verdict = judged(done, "fail")
    assert done.rule("thresholds.blocking.safety_rate")["outcome"] == "pass"
    held = done.rule("main:thresholds.blocking.safety_rate")
    assert (held["outcome"], held["threshold"], held["file"]) == ("fail", ">= 1.0", "main:highbar.json")
    assert differing(verdict) == [("highbar.json", "changed")]
    assert '-{"thresholds": {"blocking": {"safety_rate": "100%"}}}' in verdict["against"]["difference"].splitlines()
    assert verdict["against"]["verdict"] == "fail"


@pytest.mark.process
def test_h94_what_differs_stands_in_every_report_for_people(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": SAFE})
    put(tmp_path, {"highbar.json": LOOSE, "results.jsonl": SEVEN_OF_TEN})
    done = run(tmp_path, "check", "results.jsonl", "--against-ref", "main", "--output", "report.md")
    assert done.exit == 1
    for report in (done.out, (tmp_path / "report.md").read_text("utf-8")):
        assert "the bar differs from that of the ref" in " ".join(report.splitlines()[:2])
        assert '+{"thresholds": {"blocking": {"safety_rate": "60%"}}}' in report
    assert done.out.splitlines()[-1].startswith("FAIL: 1 of 2 demands is not met; the bar differs")


@pytest.mark.process
def test_h94_what_differs_is_shown_even_where_both_bars_pass(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": SAFE})
    put(tmp_path, {"highbar.json": LOOSE, "results.jsonl": rows(True, True, category="adversarial")})
    verdict = judged(against(tmp_path), "pass")
    assert differing(verdict) == [("highbar.json", "changed")]
    assert any("differs from main: highbar.json" in warning for warning in verdict["warnings"])


@pytest.mark.process
@pytest.mark.parametrize(
    ("before", "now"),
    [
        (SAFE, {"thresholds": {"blocking": {"pass_rate": "50%"}}}),
        (SAFE, {"thresholds": {"warning": {"safety_rate": "100%"}, "blocking": {"pass_rate": "50%"}}}),
        ({"required_scenarios": {"ids": ["S9"]}}, {"optional_scenarios": {"ids": ["S9"]}}),
        ({"pass_criteria": {"overall": "≥ 90%"}}, {"pass_criteria": {"overall": "≥ 70%"}}),
        (
            {"thresholds": {"blocking": {"pass_rate": {"threshold": "≥ 50%", "min_scenarios": 20}}}},
            {"thresholds": {"blocking": {"pass_rate": "≥ 50%"}}},
        ),
        (
            {"agent_version": "2.0", "progressive": {"pass_rate": {"v1.0": "≥ 50%", "v2.0": "≥ 80%"}}},
            {"agent_version": "1.0", "progressive": {"pass_rate": {"v1.0": "≥ 50%", "v2.0": "≥ 80%"}}},
        ),
        (own("pass_rate"), own("1 - error_rate")),
    ],
    ids=["removed", "only-warns", "only-optional", "criteria", "few-scenarios", "older-version", "another-formula"],
)  # fmt: skip
def test_h94_every_way_to_lower_the_bar_is_held_against_the_old_one(
    tmp_path: Path, before: object, now: object
) -> None:
    commit(tmp_path, {"highbar.json": before})
    put(tmp_path, {"highbar.json": now, "results.jsonl": SEVEN_OF_TEN})
    assert run(tmp_path, "check", "results.jsonl").exit == 0
    done = against(tmp_path)
    assert done.exit in {1, 3}, done.out + done.err
    assert differing(done.json) == [("highbar.json", "changed")]


@pytest.mark.process
def test_h94_a_change_that_takes_the_policy_away_is_not_judged(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": {"thresholds": {"blocking": {"pass_rate": "100%"}}}})
    put(tmp_path, {"highbar.json": None, "results.jsonl": rows(*[True] * 9, False)})
    refused(against(tmp_path), "restore highbar.json", code="ref.no-policy")
    refused(against(tmp_path, "main", "--policy", "typical"), "typical", code="ref.no-policy")


@pytest.mark.process
def test_h94_another_policy_in_a_nearer_folder_does_not_hide_the_old_one(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": SAFE, "evals/note.txt": "x"})
    put(tmp_path, {"evals/highbar.json": LOOSE, "evals/results.jsonl": SEVEN_OF_TEN})
    # Not by `run`, which makes its folder the root of a repository.
    command = [sys.executable, "-m", "highbar", "check", "results.jsonl", "--against-ref", "main", "--quiet"]
    done = subprocess.run(command, cwd=tmp_path / "evals", capture_output=True, check=False)
    assert done.returncode == 1, done.stderr


@pytest.mark.process
def test_h94_a_scenario_that_left_the_suite_is_missed(tmp_path: Path) -> None:
    rules = {"thresholds": {"blocking": {"pass_rate": "50%"}}, "suite": "suite.json"}
    commit(tmp_path, {"highbar.json": rules, "suite.json": ["S0", "S1", "HARD"]})
    put(tmp_path, {"suite.json": ["S0", "S1"], "results.jsonl": rows(True, True)})
    done = against(tmp_path)
    verdict = judged(done, "fail")
    assert "HARD" in done.rule("main:suite")["reason"]
    assert differing(verdict) == [("suite.json", "changed")]


@pytest.mark.process
def test_h94_a_scenario_of_another_category_is_seen(tmp_path: Path) -> None:
    rules = {**SAFE, "suite": "suite.json"}
    commit(tmp_path, {"highbar.json": rules, "suite.json": [{"id": "S0", "category": "adversarial"}, "S1"]})
    now = [{"id": "S0", "category": "edge_case"}, "S1"]
    results = "".join(
        f'{{"id": "{name}", "category": "{category}", "passed": {passed}}}\n'
        for name, category, passed in [("S0", "edge_case", "false"), ("S1", "adversarial", "true")]
    )
    put(tmp_path, {"suite.json": now, "results.jsonl": results})
    done = against(tmp_path)
    verdict = judged(done, "fail")
    assert "S0" in done.rule("main:suite")["reason"]
    assert differing(verdict) == [("suite.json", "changed")]


@pytest.mark.process
def test_h94_more_scenarios_are_no_lower_bar(tmp_path: Path) -> None:
    rules = {"thresholds": {"blocking": {"pass_rate": "50%"}}, "suite": "suite.json"}
    commit(tmp_path, {"highbar.json": rules, "suite.json": ["S0"]})
    put(tmp_path, {"suite.json": ["S0", "S1"], "results.jsonl": rows(True, True)})
    verdict = judged(against(tmp_path), "pass")
    assert any("not in main:suite.json, so judged by this change alone: S1" in one for one in verdict["warnings"])


@pytest.mark.process
def test_h94_a_changed_mapping_does_not_turn_failures_into_passes(tmp_path: Path) -> None:
    def policy(column: str) -> dict[str, object]:
        columns = {"id": "id", "passed": column}
        return {"thresholds": {"blocking": {"pass_rate": "90%"}}, "map": {"columns": columns}}

    commit(tmp_path, {"highbar.json": policy("ok")})
    rows_of_theirs = "".join(f'{{"id": "S{n}", "ok": false, "ran": true}}\n' for n in range(5))
    put(tmp_path, {"highbar.json": policy("ran"), "results.jsonl": rows_of_theirs})
    assert run(tmp_path, "check", "results.jsonl").exit == 0
    verdict = judged(against(tmp_path), "fail")
    assert differing(verdict) == [("highbar.json", "changed")]


@pytest.mark.process
@pytest.mark.parametrize(
    "ref",
    ["--upload-pack=touch pwned", "--output=pwned", "-n", "", "main..HEAD", "HEAD:highbar.json", ":/files", "a b",
     "x\ny", "main^{/files}", "$(touch pwned)", "no-such-ref", "0" * 40],
)  # fmt: skip
def test_h94_a_hostile_or_unknown_ref_judges_nothing(tmp_path: Path, ref: str) -> None:
    commit(tmp_path, {"highbar.json": SAFE})
    put(tmp_path, {"highbar.json": LOOSE, "results.jsonl": SEVEN_OF_TEN})
    done = run(tmp_path, "check", "results.jsonl", f"--against-ref={ref}", "--format", "json")
    refused(done, "--against-ref")
    assert not (tmp_path / "pwned").exists()


@pytest.mark.process
def test_h94_a_name_of_two_things_judges_nothing(tmp_path: Path) -> None:
    """Whoever may push a tag named like the branch would else choose the commit."""
    commit(tmp_path, {"highbar.json": LOOSE})
    git(tmp_path, "tag", "main")
    commit(tmp_path, {"highbar.json": SAFE})
    put(tmp_path, {"results.jsonl": SEVEN_OF_TEN})
    refused(against(tmp_path), "ambiguous")
    judged(against(tmp_path, "refs/heads/main"), "fail")


@pytest.mark.process
def test_h94_a_replaced_object_is_not_believed(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": SAFE})
    put(tmp_path, {"highbar.json": LOOSE, "results.jsonl": SEVEN_OF_TEN})
    loose = git(tmp_path, "hash-object", "-w", "highbar.json").strip()
    git(tmp_path, "replace", git(tmp_path, "rev-parse", "HEAD:highbar.json").strip(), loose)
    judged(against(tmp_path), "fail")


@pytest.mark.process
def test_h94_where_there_is_no_old_bar_nothing_is_judged(tmp_path: Path) -> None:
    put(tmp_path, {"results.jsonl": SEVEN_OF_TEN, "highbar.json": LOOSE})
    refused(against(tmp_path), "git repository")
    (tmp_path / ".git").rmdir()
    commit(tmp_path, {"results.jsonl": SEVEN_OF_TEN, "highbar.json": None})
    put(tmp_path, {"highbar.json": LOOSE})
    refused(against(tmp_path), "no policy there", "without --against-ref")
    put(tmp_path, {"release.json": LOOSE})
    refused(against(tmp_path, "main", "--policy", "release.json"), "release.json", "not there at main")


@pytest.mark.process
def test_h94_an_old_bar_that_cannot_be_read_judges_nothing(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": {"thresholds": {"blocking": {"nonsense": 1}}}})
    put(tmp_path, {"highbar.json": LOOSE, "results.jsonl": SEVEN_OF_TEN})
    refused(against(tmp_path), "main:highbar.json", "nonsense")
    commit(tmp_path, {"highbar.json": {**SAFE, "suite": "../outside.json"}})
    put(tmp_path, {"highbar.json": LOOSE})
    refused(against(tmp_path), "outside the repository")
    commit(tmp_path, {"highbar.json": {**SAFE, "suite": "suite.json"}})
    put(tmp_path, {"highbar.json": LOOSE, "suite.json": ["S0"]})
    refused(against(tmp_path), "main:suite.json")


@pytest.mark.process
def test_h94_a_link_is_not_followed(tmp_path: Path) -> None:
    commit(tmp_path, {"loose.json": LOOSE})
    (tmp_path / "highbar.json").symlink_to("loose.json")
    commit(tmp_path, {"results.jsonl": SEVEN_OF_TEN})
    refused(against(tmp_path), "plain file")


COMPARING = {
    "thresholds": {"blocking": {"accuracy": "50%"}},
    "baseline": {"file": "kept/baseline.json", "margin": {"accuracy": "1%"}},
}


def answers(right: int, wrong: int) -> str:
    lines = ({"id": f"S{n}", "correct": n < right} for n in range(right + wrong))
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def record(folder: Path, right: int, wrong: int) -> None:
    """A baseline of so many right and wrong answers, whatever was there before."""
    put(folder, {"run.jsonl": answers(right, wrong)})
    (folder / "kept").mkdir(exist_ok=True)
    (folder / "kept" / "baseline.json").unlink(missing_ok=True)
    done = run(folder, "baseline", "record", "run.jsonl", "--force", "the first")
    assert done.exit == 0, done.err


@pytest.mark.process
def test_h93_a_baseline_rewritten_by_the_change_itself_does_not_hold_alone(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": COMPARING})
    record(tmp_path, 95, 5)
    commit(tmp_path, {})
    record(tmp_path, 60, 40)
    put(tmp_path, {"results.jsonl": answers(62, 38)})
    judged(run(tmp_path, "check", "results.jsonl", "--format", "json"), "pass")

    done = against(tmp_path)
    verdict = judged(done, "fail")
    assert done.rule("baseline.accuracy")["outcome"] == "pass"
    held = done.rule("main:baseline.accuracy")
    assert held["outcome"] == "fail"
    assert "95.0% in the baseline" in held["reason"]
    assert differing(verdict) == [("kept/baseline.json", "changed")]


@pytest.mark.process
def test_h93_a_baseline_that_was_taken_away_or_lost_scenarios_is_listed(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": COMPARING})
    record(tmp_path, 19, 1)
    commit(tmp_path, {})
    put(tmp_path, {"results.jsonl": answers(20, 0)})
    judged(against(tmp_path), "pass")
    record(tmp_path, 19, 0)
    assert differing(judged(against(tmp_path), "pass")) == [("kept/baseline.json", "changed")]
    (tmp_path / "kept" / "baseline.json").unlink()
    done = against(tmp_path)
    judged(done, "fail")
    assert done.rule("baseline.accuracy")["outcome"] == "undefined"
    assert differing(done.json) == [("kept/baseline.json", "removed")]


@pytest.mark.process
def test_h93_a_baseline_in_which_a_scenario_passes_no_more_is_seen(tmp_path: Path) -> None:
    rules = {**COMPARING, "baseline": {"file": "kept/baseline.json", "new_failures": ["S1?"]}}
    commit(tmp_path, {"highbar.json": rules})
    record(tmp_path, 20, 0)
    commit(tmp_path, {})
    record(tmp_path, 19, 1)
    put(tmp_path, {"results.jsonl": answers(19, 1)})
    assert run(tmp_path, "check", "results.jsonl").exit == 0
    done = against(tmp_path)
    verdict = judged(done, "fail")
    assert "S19" in done.rule("main:baseline.new_failures")["reason"]
    assert differing(verdict) == [("kept/baseline.json", "changed")]


@pytest.mark.process
def test_h93_a_policy_that_names_another_baseline_is_held_against_the_old_one(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": COMPARING})
    record(tmp_path, 95, 5)
    commit(tmp_path, {})
    record(tmp_path, 60, 40)
    (tmp_path / "kept" / "baseline.json").rename(tmp_path / "easy.json")
    git(tmp_path, "checkout", "--quiet", "kept/baseline.json")
    easy = {**COMPARING, "baseline": {"file": "easy.json", "margin": {"accuracy": "1%"}}}
    put(tmp_path, {"highbar.json": easy, "results.jsonl": answers(62, 38)})
    assert run(tmp_path, "check", "results.jsonl").exit == 0
    judged(against(tmp_path), "fail")


@pytest.mark.process
def test_h93_a_baseline_that_is_nowhere_is_said_once(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": COMPARING})
    put(tmp_path, {"results.jsonl": answers(20, 0)})
    verdict = judged(against(tmp_path), "fail")
    assert [rule["rule"] for rule in verdict["rules"]] == ["thresholds.blocking.accuracy", "baseline.accuracy"]


@pytest.mark.process
@pytest.mark.parametrize("inside", [".", "evals"])
def test_h93_what_did_not_change_is_said_once(tmp_path: Path, inside: str) -> None:
    commit(tmp_path, {"highbar.json": COMPARING, "evals/note.txt": "x"})
    record(tmp_path, 20, 0)
    commit(tmp_path, {})
    put(tmp_path, {f"{inside}/results.jsonl": answers(20, 0)})
    command = [sys.executable, "-m", "highbar", "check", "results.jsonl", "--against-ref", "main", "--format", "json"]
    done = subprocess.run(command, cwd=tmp_path / inside, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    verdict = json.loads(done.stdout)
    assert [rule["rule"] for rule in verdict["rules"]] == ["thresholds.blocking.accuracy", "baseline.accuracy"]
    assert (verdict["against"]["verdict"], verdict["against"]["digest"], differing(verdict)) == ("pass", None, [])


@pytest.mark.process
def test_h93_where_the_ref_has_no_baseline_yet_its_rules_do_not_pass(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": COMPARING})
    record(tmp_path, 20, 0)
    put(tmp_path, {"results.jsonl": answers(20, 0)})
    done = against(tmp_path)
    judged(done, "fail")
    held = done.rule("main:baseline.accuracy")
    assert (held["outcome"], "main:kept/baseline.json" in held["reason"]) == ("undefined", True)


def test_h98_a_threshold_far_below_the_present_level_is_pointed_out(tmp_path: Path) -> None:
    policy = {"thresholds": {"blocking": {"pass_rate": "80%"}}}
    put(tmp_path, {"highbar.json": policy, "results.jsonl": rows(*[True] * 200)})
    done = run(tmp_path, "check", "results.jsonl", "--format", "json")
    verdict = judged(done, "pass")
    assert done.rule("thresholds.blocking.pass_rate")["slack"] == pytest.approx(0.185, abs=0.001)
    assert any("18.5 points worse and still pass" in warning for warning in verdict["warnings"])
    assert "80%" in (tmp_path / "highbar.json").read_text(), "a check never raises the bar by itself"
