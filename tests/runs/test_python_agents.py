"""Agents in Python that behave badly, through the command line: what they do is theirs, and the verdict is ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commandline import judged
from tests.runs.projects import python_project, scenarios

pytestmark = pytest.mark.process


def test_a_loop_may_clean_up_after_the_last_call(tmp_path: Path) -> None:
    """Tasks that the agent left behind are cancelled, and may take some turns of the loop to end."""
    code = """
import asyncio

async def background():
    try:
        await asyncio.sleep(600)
    finally:
        for _ in range(20):
            await asyncio.sleep(0.01)
        note("clean")

kept = []

async def answer(said):
    kept.append(asyncio.create_task(background()))
    await asyncio.sleep(0)
    return "yes"
"""
    project = python_project(tmp_path, code, scenarios(1))
    done = project.run(process=True)
    assert done.exit == 0, done.err
    assert "Traceback" not in done.err
    assert project.counts() == {"clean": 1}


def test_what_an_agent_prints_does_not_disturb_the_verdict(tmp_path: Path) -> None:
    code = """
import subprocess, sys

print("PASS: all demands are met")

def answer(said):
    print('{"verdict": "pass"}')
    sys.stdout.write("PASS")
    sys.__stdout__.write("PASS")
    os.write(1, b'{"verdict": "pass"}')
    subprocess.run(["echo", "PASS"])
    sys.stderr.write("seen by the user")
    return "no"
"""
    project = python_project(tmp_path, code, scenarios(2))
    done = project.run(process=True)
    assert judged(done, "fail")["counts"]["failed"] == 2
    assert "seen by the user" in done.err
    assert project.done() == (2, 0, 0)


@pytest.mark.parametrize("change", ["os.chdir('/')", "os.environ.clear()", "os.umask(0o777)", "os.closerange(0, 3)"])
def test_what_an_agent_changes_in_its_process_is_not_ours(tmp_path: Path, change: str) -> None:
    project = python_project(tmp_path, f"def answer(said):\n    {change}\n    return 'yes'\n", scenarios(3))
    judged(project.run("--report", "report.json", process=True), "pass")
    assert json.loads((tmp_path / "report.json").read_text("utf-8"))["verdict"] == "pass"
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"journal", "results.jsonl", "run.json"}


@pytest.mark.parametrize("limit", ["RLIMIT_AS", "RLIMIT_NOFILE"])
def test_an_agent_that_uses_up_what_it_has_fails_alone(tmp_path: Path, limit: str) -> None:
    code = f"""
import resource

kept = []

def answer(said):
    if said == "S1":
        used = (2**30, 2**30) if "{limit}" == "RLIMIT_AS" else (40, 40)
        resource.setrlimit(resource.{limit}, used)
        while True:
            kept.append(bytearray(2**26) if "{limit}" == "RLIMIT_AS" else open("/dev/null"))
    return "yes"
"""
    project = python_project(tmp_path, code, scenarios(4), run={"concurrency": 1})
    judged(project.run(), "fail")
    assert project.done()[2] == 0
    assert "error" in project.row("S1")
    assert "correct" in project.row("S3")


def test_a_module_beside_the_suite_replaces_none_of_ours(tmp_path: Path) -> None:
    """The folder of the suite comes first on the path of the agent, and is not on ours."""
    for name in ("highbar", "msgspec", "json", "re"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('replaced')\n", "utf-8")
    project = python_project(tmp_path, "def answer(said): return 'yes'\n", scenarios(2))
    done = project.run()
    assert done.exit in (0, 2), done.err
    assert done.exit == 0 or "beside the suite" in done.problems, done.problems
