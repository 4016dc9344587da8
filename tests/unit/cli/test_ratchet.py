"""`highbar baseline ratchet` through the command line: what it prints, what it writes, and what survives a kill."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from highbar.bar import raising
from highbar.store.writing import replace_policy
from tests.commandline import run
from tests.killed_writers import Kill, run_killing
from tests.patience import PATIENCE
from tests.repository import put

POLICY = """\
# The bar of the support agent.
thresholds:
  blocking: { accuracy: ≥ 85%, safety_rate: 100 }   # was 80% in spring
  warning:
    latency_p95: 5s
    error_rate: "< 10%"
pass_criteria: { by_category: { adversarial: 0.5 } }
"""
RAISED = """\
# The bar of the support agent.
thresholds:
  blocking: { accuracy: ≥ 91%, safety_rate: 100 }   # was 80% in spring
  warning:
    latency_p95: 0.98s
    error_rate: "< 3%"
pass_criteria: { by_category: { adversarial: 0.86 } }
"""
RESULTS = "".join(
    json.dumps(
        {
            "id": f"S{n}",
            "category": "adversarial" if n % 5 == 0 else "happy_path",
            "correct": n % 25 != 1,
            "latency_ms": 10 * n,
        }
    )
    + "\n"
    for n in range(100)
)


@pytest.fixture
def project(made, tmp_path):
    made(tmp_path, record)
    return tmp_path


def record(folder):
    put(folder, {"highbar.yaml": POLICY, "results.jsonl": RESULTS})
    done = run(folder, "baseline", "record", "results.jsonl")
    assert done.exit == 0, done.err


def ratchet(folder, *arguments):
    done = run(folder, "baseline", "ratchet", *arguments)
    assert done.exit == 0, done.err
    return done


def test_it_proposes_and_writes_nothing(project):
    done = ratchet(project)
    assert done.out.startswith("highbar.yaml: 4 of 5 thresholds raised, not written: --write does that\n")
    assert "\n  thresholds.blocking.accuracy: ≥ 85% -> ≥ 91%\n    the lower bound of the baseline, 96" in done.out
    assert "\n  thresholds.blocking.safety_rate: ≥ 100% stays\n" in done.out
    assert (project / "highbar.yaml").read_text("utf-8") == POLICY


def test_what_it_writes_passes_the_run_that_it_came_from_and_is_at_rest(project):
    assert ", written\n" in ratchet(project, "--write").out
    assert (project / "highbar.yaml").read_text("utf-8") == RAISED
    assert run(project, "check", "results.jsonl", "--strict").exit == 0
    again = ratchet(project, "--write").out
    assert "0 of 5 thresholds raised\n" in again
    assert (project / "highbar.yaml").read_text("utf-8") == RAISED


def test_by_a_step_the_run_that_it_came_from_no_longer_passes(project):
    """The guide's rule as it stands; the help and the reasons say what it does."""
    assert "misses it more often than not" in " ".join(ratchet(project, "--rule", "step", "--write").out.split())
    assert "accuracy: ≥ 97%" in (project / "highbar.yaml").read_text("utf-8")
    assert run(project, "check", "results.jsonl").exit == 1


def test_json_has_every_threshold(project):
    found = json.loads(ratchet(project, "--format", "json").out)
    assert (found["schema"], found["written"], found["forced"]) == ("highbar/ratchet/1", False, None)
    assert found["thresholds"][0]["before"] == ">= 0.85"
    assert found["thresholds"][0]["after"] == ">= 0.91"
    assert found["thresholds"][1]["after"] is None


def test_a_policy_in_json_keeps_its_form(project):
    text = '{"thresholds": {\n\t"blocking": {"accuracy": 85},\n\t"warning": {"error_rate": "\\u2264 10%"}\n}}\n'
    put(project, {"highbar.yaml": None, "highbar.json": text})
    ratchet(project, "--write")
    changed = text.replace("85", "91").replace("10%", "3%")
    assert (project / "highbar.json").read_text("utf-8") == changed


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--step", "1%"], "--rule step"),
        (["--rule", "step", "--step", "0%"], "above 0"),
        (["--rule", "step", "--step", "lots"], "lots"),
        (["--baseline", "absent.json"], "absent.json"),
        (["--policy", "absent.yaml"], "absent.yaml"),
        (["--rule", "luck"], "luck"),
    ],
)
def test_what_cannot_be_meant_is_exit_2_and_changes_nothing(project, arguments, told):
    done = run(project, "baseline", "ratchet", "--write", *arguments)
    assert done.exit == 2
    assert told in done.err
    assert (project / "highbar.yaml").read_text("utf-8") == POLICY


def test_without_a_policy_or_a_baseline_nothing_can_be_raised(tmp_path):
    done = run(tmp_path, "baseline", "ratchet")
    assert (done.exit, "no policy" in done.err) == (2, True)
    put(tmp_path, {"highbar.yaml": POLICY})
    done = run(tmp_path, "baseline", "ratchet")
    assert (done.exit, "baseline.json" in done.err) == (2, True)


@pytest.mark.process
def test_a_policy_that_cannot_be_written_is_exit_4_and_stays_as_it_was(project):
    """No file may grow: as on a full disk, writing the new policy fails."""
    command = f"ulimit -f 0; exec {sys.executable} -m highbar baseline ratchet --write"
    done = subprocess.run(["bash", "-c", command], cwd=project, capture_output=True, text=True, check=False)
    assert (done.returncode, "could not be written" in done.stderr) == (4, True)
    assert (project / "highbar.yaml").read_text("utf-8") == POLICY
    assert [path.name for path in project.iterdir() if path.name.endswith(".tmp")] == []


@pytest.mark.process
def test_of_several_at_once_each_writes_the_same_or_says_that_it_did_not(project):
    command = [sys.executable, "-m", "highbar", "baseline", "ratchet", "--write"]
    pipe = subprocess.PIPE
    running = [subprocess.Popen(command, cwd=project, stdout=pipe, stderr=pipe) for _ in range(6)]
    for process in running:
        _, told = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0 or (process.returncode == 2 and b"changed while it was read" in told)
    assert (project / "highbar.yaml").read_text("utf-8") == RAISED
    assert [path.name for path in project.iterdir() if path.name.endswith(".tmp")] == []


def write_until_killed(folder: Path) -> None:
    os.chdir(folder)
    policy = Path("highbar.yaml")
    while True:
        found = policy.read_bytes()
        if found == POLICY.encode():
            raising.ratchet(policy, write=True)
        else:  # the writer before this one was killed after it had raised the policy
            replace_policy(policy, found, POLICY.encode())


def kill_at_any_moment(folder: Path, kill: Kill) -> None:
    moments = random.Random(4)
    whole = {POLICY.encode(), RAISED.encode()}
    found = set()
    kills = 0
    while kills < 200 or (found != whole and kills < 2000):
        kills += 1
        kill(partial(write_until_killed, folder), moments.uniform(0, 0.05 * (1 + kills // 200)))
        data = (folder / "highbar.yaml").read_bytes()
        assert data in whole, data
        found.add(data)
    assert found == whole, "the kills came too early or too late to show anything"


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_kill_at_any_moment_leaves_the_old_policy_or_the_new_one(project):
    """200 writers, each killed at a moment of its own while it ratchets and puts the old policy back, over and over.

    On a busy machine a writer gets less done before it is killed: then there are more of them, and they live longer.
    """
    run_killing(kill_at_any_moment, project)
    put(project, {"highbar.yaml": POLICY})
    ratchet(project, "--write")
    assert sorted(path.name for path in project.iterdir() if path.name.endswith(".tmp")) == []


@pytest.mark.process
@pytest.mark.slow
def test_a_kill_of_the_command_leaves_the_old_policy_or_the_new_one(project):
    moments = random.Random(5)
    command = [sys.executable, "-m", "highbar", "baseline", "ratchet", "--write"]
    start = time.monotonic()
    subprocess.run(command, cwd=project, capture_output=True, check=True)
    usual = time.monotonic() - start
    for _ in range(20):
        put(project, {"highbar.yaml": POLICY})
        with subprocess.Popen(command, cwd=project, stdout=subprocess.DEVNULL) as writer:
            time.sleep(moments.uniform(usual * 0.3, usual * 1.2))
            writer.kill()
        assert (project / "highbar.yaml").read_text("utf-8") in (POLICY, RAISED)
    assert Path(project / "baseline.json").exists()
