"""The workflow of the docs that runs a suite in several jobs: its commands and its gate, run for real."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.architecture.repository import ROOT
from tests.ci.runner import Done, Runner

pytestmark = pytest.mark.process

ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
PAGE = (ROOT / "docs" / "how-to" / "run-in-ci.md").read_text("utf-8")
(TEXT,) = re.findall(r"^```yaml \.github/workflows/agent-shards\.yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
JOBS: dict[str, Any] = yaml.safe_load(TEXT)["jobs"]
SHARDS: list[int] = JOBS["run"]["strategy"]["matrix"]["shard"]


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the jobs of the matrix leave behind: each runs the command of the page, and none sees what others did."""
    folder = tmp_path_factory.mktemp("artifacts")
    (command,) = [step["run"] for step in JOBS["run"]["steps"] if "highbar run" in step.get("run", "")]
    upload = JOBS["run"]["steps"][-1]["with"]
    for shard in SHARDS:
        job = Runner(tmp_path_factory.mktemp("job"), forked=True)
        shutil.copytree(ROOT / "examples" / "library-agent", job.workspace, dirs_exist_ok=True)
        highbar = f"{job.folder / 'temp/highbar/bin/python'} -m highbar"
        ready = filled(command, shard).replace("highbar run", f"{highbar} run", 1)
        done = subprocess.run(["bash", "-e", "-c", ready], cwd=job.workspace, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        shutil.copytree(job.workspace / filled(upload["path"], shard), folder / filled(upload["name"], shard))
    return folder


def filled(text: str, shard: int) -> str:
    return text.replace("${{ matrix.shard }}", str(shard))


def judge(folder: Path, artifacts: Path) -> Done:
    """The gate, after it has downloaded all artifacts that its pattern names."""
    gate = Runner(folder, forked=True)
    shutil.copytree(ROOT / "examples" / "library-agent", gate.workspace, dirs_exist_ok=True)
    download, action = (JOBS["gate"]["steps"][place]["with"] for place in (1, 2))
    for artifact in artifacts.glob(download["pattern"]):
        shutil.copytree(artifact, gate.workspace / download["path"] / artifact.name)
    given = {name: str(value) for name, value in action.items() if name != "arguments"}
    return gate.run(ACTION, given)


def test_the_workflow_keeps_to_the_schema_of_its_system(tmp_path: Path) -> None:
    (tmp_path / "workflow.yaml").write_text(TEXT)
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", "workflow.yaml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_gate_runs_whatever_became_of_the_shards() -> None:
    assert JOBS["gate"]["if"] == JOBS["run"]["steps"][-1]["if"] == "always()"
    assert [*range(1, len(SHARDS) + 1)] == SHARDS
    assert f"/{len(SHARDS)} " in next(step["run"] for step in JOBS["run"]["steps"] if "--shard" in step.get("run", ""))
    assert JOBS["run"]["strategy"]["fail-fast"] is False
    assert set(JOBS["gate"]["steps"][2]["with"]) <= set(ACTION["inputs"])


def test_the_gate_judges_all_shards_as_one_run(artifacts: Path, tmp_path: Path) -> None:
    done = judge(tmp_path, artifacts)
    assert done.succeeded, done.log
    assert (done.outputs["verdict"], done.outputs["scenarios"]) == ("pass", "12")


@pytest.mark.hazard("H53")
def test_the_gate_fails_if_a_job_left_no_artifact(artifacts: Path, tmp_path: Path) -> None:
    some = tmp_path / "some"
    shutil.copytree(artifacts, some)
    shutil.rmtree(some / "shard-3")
    done = judge(tmp_path / "gate", some)
    assert not done.succeeded
    assert (done.outputs["verdict"], done.outputs["exit_code"]) == ("none", "2")
    assert "shard 3 of 4 is missing" in done.summary


@pytest.mark.hazard("H53")
def test_the_gate_fails_if_no_job_left_anything(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    assert not judge(tmp_path / "gate", tmp_path / "none").succeeded
