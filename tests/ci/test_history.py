"""The jobs of the docs that keep the history on a branch of its own, run for real against a repository."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from highbar import history
from tests.architecture.repository import ROOT
from tests.docs import forking

pytestmark = pytest.mark.process

PAGE = (ROOT / "docs" / "how-to" / "history.md").read_text("utf-8")


def block(file: str) -> str:
    (text,) = re.findall(rf"^```yaml {re.escape(file)}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(text)


GITHUB, GITLAB = block(".github/workflows/history.yaml"), block(".gitlab-ci.yml")
STEPS: list[dict[str, Any]] = yaml.safe_load(GITHUB)["jobs"]["remember"]["steps"]


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    """A repository with a policy, and a program that makes results."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "highbar.yaml").write_text("thresholds: {blocking: {pass_rate: 80%}}\n")
    git(work, "init", "-q", "-b", "main")
    git(work, "add", ".")
    git(work, "commit", "-q", "-m", "first")
    git(tmp_path, "clone", "-q", "--bare", "work", "origin.git")
    return tmp_path / "origin.git"


def checked_out(origin: Path, name: str, passed: int) -> Path:
    """The checkout of a job, with the results of its own run."""
    folder = origin.parent / name
    folder.mkdir()
    git(folder, "clone", "-q", str(origin), "repository")
    rows = [{"id": f"A-{number}", "passed": number < passed, "note": name} for number in range(10)]
    (folder / "repository" / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "repository"


def shell(folder: Path, script: str, **environment: str) -> int:
    programs = folder.parent / "bin"
    programs.mkdir(exist_ok=True)
    (programs / "highbar").write_text(forking.command())
    (programs / "highbar").chmod(0o755)
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("GITHUB_", "CI_"))}
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", script], cwd=folder, env={**inherited, "PATH": path, **environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode


def github_job(folder: Path) -> bool:
    """Run the steps that are ours, as GitHub does: after a failure only those that always run."""
    sha = git(folder, "rev-parse", "HEAD")
    failed = False
    for step in STEPS:
        script = step.get("run", "")
        if script.startswith(("pip", "./run-scenarios")) or not script or (failed and step.get("if") != "always()"):
            continue
        failed = shell(folder, script, GITHUB_SHA=sha, GITHUB_REF_NAME="main", GITHUB_REF_TYPE="branch") != 0 or failed
    return not failed


def kept(origin: Path) -> history.History:
    folder = origin.parent / f"kept-{os.urandom(4).hex()}"
    git(origin.parent, "clone", "-q", "--branch", "highbar-history", str(origin), str(folder))
    return history.read_history(folder)


def test_the_workflow_keeps_to_the_schema_of_its_system(tmp_path: Path) -> None:
    for text, schema in ((GITHUB, "github-workflows"), (GITLAB, "gitlab-ci")):
        (tmp_path / "file.yaml").write_text(text)
        command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", "file.yaml"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_runs_of_main_arrive_on_a_branch_of_their_own_the_failed_ones_too(origin: Path) -> None:
    assert github_job(checked_out(origin, "one", 10))
    assert not github_job(checked_out(origin, "two", 3))
    found = kept(origin)
    assert [run.verdict for run in found.runs] == ["pass", "fail"]
    assert {(run.commit, run.branch) for run in found.runs} == {(git(origin, "rev-parse", "main"), "main")}
    assert git(origin, "ls-tree", "--name-only", "highbar-history").count("\n") == 1  # two records and no file of main
    assert git(origin, "rev-list", "--count", "highbar-history") == "2"


def test_jobs_at_the_same_time_lose_nothing(origin: Path) -> None:
    github_job(checked_out(origin, "one", 10))
    late = checked_out(origin, "late", 9)
    opened, check, keep = (step["run"] for step in STEPS if "history" in step.get("run", ""))
    for script in (opened, check):
        assert shell(late, script) == 0
    assert github_job(checked_out(origin, "early", 8))  # pushes while the other one is at work
    assert shell(late, keep, GITHUB_SHA="x") == 0
    assert len(kept(origin).runs) == 3


def gitlab_job(folder: Path, origin: Path) -> int:
    lines = yaml.safe_load(GITLAB)["remember"]["script"]
    script = "\n".join(line for line in lines if not line.startswith(("pip", "./run-scenarios")))
    sha = git(folder, "rev-parse", "HEAD")
    return shell(folder, script, HISTORY=str(origin), CI_COMMIT_SHA=sha, CI_COMMIT_BRANCH="main")


def test_the_job_of_gitlab_does_the_same(origin: Path) -> None:
    assert gitlab_job(checked_out(origin, "one", 10), origin) == 0
    assert gitlab_job(checked_out(origin, "two", 3), origin) == 1
    found = kept(origin)
    assert [run.verdict for run in found.runs] == ["pass", "fail"]
    assert {run.branch for run in found.runs} == {"main"}
    assert git(origin, "ls-tree", "--name-only", "highbar-history").count("\n") == 1
