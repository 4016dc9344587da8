"""H162, H166: DeepEval metrics that gave no verdict, and the file of an earlier run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.commandline import Run, check, run
from tests.docs.pages import blocks
from tests.importers.imported import FIXTURES

ROOT = Path(__file__).parents[2]
POLICY = {"thresholds": {"blocking": {"pass_rate": "80%"}}}
GOOD = {"name": "Relevancy", "score": 0.9, "success": True, "threshold": 0.5}


def checked(folder: Path, *metrics: dict[str, Any], policy: dict[str, Any] | None = None, **case: Any) -> Run:
    """A run of two cases, of which the first has these metrics."""
    cases = [
        {"name": name, "input": name, "actualOutput": "hi", "success": True, "metricsData": list(own)}
        for name, own in (("one", metrics), ("two", [GOOD]))
    ]
    cases[0] |= case
    return check(folder, json.dumps({"testCases": cases}).encode(), {**POLICY, **(policy or {})}, name="run.json")


@pytest.mark.parametrize(
    "silent",
    [
        {"name": "Safety", "score": 0},
        {"name": "Safety", "score": 0.0, "success": None, "threshold": None},
        {"name": "Safety", "score": 0.0, "success": None, "threshold": 0.5},
        {"name": "Safety", "score": 0.0, "success": None, "threshold": 0},
        {"name": "Safety", "score": 0.8, "success": None, "threshold": 0.5},
        {"name": "Safety", "score": None, "success": None, "threshold": 0.5},
    ],
)
def test_h162_a_deepeval_metric_without_a_verdict_never_passes(tmp_path: Path, silent: dict[str, Any]) -> None:
    done = checked(tmp_path, GOOD, silent)
    assert done.exit == 3, done.out
    assert done.json["counts"]["unjudged"] == 1
    assert "judge: Safety: " in " ".join(run(tmp_path, "check", "run.json", "--policy", "policy.json").out.split())


def test_h162_a_metric_of_a_span_without_a_verdict_never_passes(tmp_path: Path) -> None:
    span = {"name": "search", "metricsData": [{"name": "Safety", "score": 0}]}
    assert checked(tmp_path, GOOD, trace={"toolSpans": [span]}).exit == 3


def test_h162_a_case_that_failed_stays_failed_beside_a_metric_without_a_verdict(tmp_path: Path) -> None:
    silent = {"name": "Safety", "score": 0}
    assert checked(tmp_path, {**GOOD, "success": False}, silent).exit == 1
    assert checked(tmp_path, GOOD, silent, success=False).exit == 1


def test_h162_a_score_without_a_threshold_decides_nothing_and_the_policy_can_say_who_judges(tmp_path: Path) -> None:
    assert checked(tmp_path, GOOD, {"name": "Length", "score": 0.3}).exit == 0
    judged_by = {"judged_by": {"deepeval": [{"scorer": "Relevancy"}]}}
    assert checked(tmp_path, GOOD, {"name": "Length", "score": 0}, policy=judged_by).exit == 0
    assert checked(tmp_path, GOOD, {"name": "Tone", "score": 0, "success": None, "flaky": True}).exit == 0


@pytest.mark.process
def test_h166_the_file_of_an_earlier_deepeval_run_never_passes(tmp_path: Path) -> None:
    """The commands of the page, with a DeepEval that raises and so writes no file."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "deepeval").write_text("#!/bin/sh\necho 'RuntimeError: down' >&2\nexit 1\n")
    (programs / "highbar").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m highbar "$@"\n')
    for program in programs.iterdir():
        program.chmod(0o755)
    (tmp_path / ".deepeval").mkdir()
    (tmp_path / ".git").mkdir()
    shutil.copy(FIXTURES / "deepeval" / "test_run.json", tmp_path / ".deepeval" / ".latest_run_full.json")
    (tmp_path / "highbar.yaml").write_text("thresholds: { blocking: { pass_rate: 40% } }\n")
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    page = (ROOT / "docs" / "how-to" / "deepeval.md").read_text("utf-8")
    commands = next(block.text for block in blocks(page) if block.language == "sh")

    def exit_code(script: str) -> int:
        return subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, check=False).returncode

    assert exit_code(commands.splitlines()[-1]) == 0, "the file of the run before would pass"
    assert exit_code(commands) == 2
