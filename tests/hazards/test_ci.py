"""Groups E and F, where they touch `check`: what a build sees must be the verdict, whatever else goes wrong."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.architecture.repository import ROOT
from tests.commandline import check, judged, refused, run, wait_until_read
from tests.patience import PATIENCE

PASSES = {"thresholds": {"blocking": {"pass_rate": "≥ 50%"}}}
PASSED = {"id": "A", "passed": True}
FAILED = {"id": "A", "passed": False}


@pytest.mark.process
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_h71_an_interrupted_check_says_so_by_its_exit_code(tmp_path: Path, number: signal.Signals, code: int) -> None:
    """Standard input stays open, and holds more than a pipe does: once it is written, the check is reading."""
    (tmp_path / "policy.yaml").write_text("pass_criteria: { overall: 50% }\n")
    arguments = [sys.executable, "-m", "highbar", "check", "-", "--input-format", "jsonl", "--policy", "policy.yaml"]
    pipe = subprocess.PIPE
    with subprocess.Popen(arguments, cwd=tmp_path, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(b"".join(b'{"id": "S%d", "passed": true}\n' % n for n in range(10_000)))
        process.stdin.flush()
        wait_until_read(process)
        process.send_signal(number)
        assert process.wait(timeout=PATIENCE) == code
        assert b"Traceback" not in process.stderr.read()


@pytest.mark.parametrize(("row", "code"), [(PASSED, 4), (FAILED, 4)])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_h78_a_report_that_cannot_be_written_is_exit_4(tmp_path: Path, row: dict[str, object], code: int) -> None:
    done = check(tmp_path, [row], PASSES, "--output", "markdown=/dev/full")
    assert done.exit == code, done.err
    assert "/dev/full" in done.err
    assert "Traceback" not in done.err


def test_h78_a_folder_that_is_not_there_is_exit_4_and_leaves_the_verdict_on_the_screen(tmp_path: Path) -> None:
    done = check(tmp_path, [PASSED], PASSES, "--output", "markdown=absent/report.md")
    assert done.exit in {2, 4}, done.err
    assert "absent" in done.err + done.out
    assert "Traceback" not in done.err


@pytest.mark.process
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("row", [PASSED, FAILED])
def test_h78_a_screen_that_cannot_be_written_is_exit_4(tmp_path: Path, row: dict[str, object]) -> None:
    check(tmp_path, [row], PASSES)
    arguments = [sys.executable, "-m", "highbar", "check", "results.jsonl", "--policy", "policy.json"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            arguments, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, timeout=PATIENCE, check=False
        )
    assert done.returncode == 4, done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.process
def test_h78_a_reader_that_went_away_does_not_look_like_a_verdict(tmp_path: Path) -> None:
    check(tmp_path, [PASSED], PASSES)
    arguments = [sys.executable, "-m", "highbar", "check", "results.jsonl", "--policy", "policy.json"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        arguments, cwd=tmp_path, stdout=writing, stderr=subprocess.PIPE, timeout=PATIENCE, check=False
    )
    os.close(writing)
    assert done.returncode == 4, done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["results.jsonl", "policy.json"])
def test_h78_a_report_does_not_overwrite_what_was_judged(tmp_path: Path, name: str) -> None:
    done = check(tmp_path, [PASSED], PASSES, "--output", f"json={name}")
    assert done.exit == 2, done.out + done.err
    assert '"schema"' not in (tmp_path / name).read_text()


def test_h80_exit_codes_cannot_be_configured_away(tmp_path: Path) -> None:
    check(tmp_path, [FAILED], PASSES)
    changed = dict.fromkeys(("FAILED_EXIT_CODE", "HIGHBAR_EXIT_CODE", "HIGHBAR_CHECK_EXIT_CODE"), "256")
    done = run(tmp_path, "check", "results.jsonl", "--policy", "policy.json", environment=changed)
    assert done.exit == 1, done.out + done.err


def test_h80_a_thousand_failures_do_not_wrap_the_exit_code(tmp_path: Path) -> None:
    rows = [{"id": f"S{n}", "passed": False} for n in range(256)]
    judged(check(tmp_path, rows, {"required_scenarios": {"ids": [f"S{n}" for n in range(256)]}}), "fail")


@pytest.mark.parametrize(
    "arguments",
    [
        ["check"],
        ["check", "results.jsonl", "--no-such-option"],
        ["check", "results.jsonl", "--format", "pdf"],
    ],
)
def test_h80_wrong_usage_is_exit_2(tmp_path: Path, arguments: list[str]) -> None:
    done = run(tmp_path, *arguments)
    assert done.exit == 2, done.out + done.err
    assert "Traceback" not in done.err


def test_h81_a_verdict_file_is_bound_to_what_it_judged(tmp_path: Path) -> None:
    verdict = judged(check(tmp_path, [FAILED], PASSES), "fail")
    for name, source in [("policy.json", verdict["policy"]), ("results.jsonl", verdict["results"][0])]:
        assert source["file"].endswith(name)
        assert source["sha256"] == hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()


@pytest.mark.process
@pytest.mark.parametrize("result", ["success", "failure", "cancelled", "skipped"])
def test_h82_the_shipped_gate_is_never_skipped_and_fails_unless_the_evaluation_succeeded(result: str) -> None:
    workflow, action = (
        yaml.safe_load((ROOT / name).read_text("utf-8")) for name in ("ci/github/workflow.yaml", "action.yml")
    )
    gate = workflow["jobs"]["gate"]
    assert (gate["needs"], gate["if"]) == ("evaluate", "always()")
    assert not [step for step in [gate, *gate["steps"], *action["runs"]["steps"]] if "continue-on-error" in step]
    first = gate["steps"][0]
    assert first["env"] == {"EVALUATE": "${{ needs.evaluate.result }}"}
    done = subprocess.run(["bash", "-e", "-c", first["run"]], env={**os.environ, "EVALUATE": result}, check=False)
    assert (done.returncode == 0) is (result == "success")


@pytest.mark.parametrize("level", ["blokcing", None])
def test_h83_a_level_is_blocking_or_warning(tmp_path: Path, level: object) -> None:
    policy = {"rules": [{"metric": "pass_rate", "threshold": "100%", "level": level}]}
    refused(check(tmp_path, [FAILED], policy), "level", "blocking", "warning")


def test_h83_rules_that_did_not_block_are_listed(tmp_path: Path) -> None:
    done = check(
        tmp_path, [FAILED], {"thresholds": {"warning": {"pass_rate": "100%"}, "blocking": {"error_rate": "≤ 5%"}}}
    )
    judged(done, "pass")
    assert done.rule("thresholds.warning.pass_rate")["outcome"] == "fail"
    text = run(tmp_path, "check", "results.jsonl", "--policy", "policy.json")
    assert text.exit == 0
    assert "! Pass rate is 100%" in text.out


def test_h94_a_policy_beside_the_results_is_not_used(tmp_path: Path) -> None:
    """Whoever writes the results must not set the bar: a policy is found from the working folder upward."""
    artifact = tmp_path / "artifact"
    artifact.mkdir()
    (artifact / "results.jsonl").write_text('{"id": "A", "passed": false}\n')
    (artifact / "highbar.yaml").write_text("thresholds: { warning: { pass_rate: 50% } }\n")
    for path in ("artifact/results.jsonl", "artifact"):
        done = run(tmp_path, "check", path, "--format", "json")
        refused(done, "no policy", "found artifact/highbar.yaml")
        assert done.json["policy"] is None


def test_h91_a_baseline_rule_without_a_baseline_does_not_pass(tmp_path: Path) -> None:
    policy = {**PASSES, "baseline": {"file": "baseline.json", "margin": {"pass_rate": "1%"}}}
    done = check(tmp_path, [PASSED], policy)
    assert done.exit in {1, 2}, done.out + done.err
    assert "baseline" in done.out
    assert not (tmp_path / "baseline.json").exists()
