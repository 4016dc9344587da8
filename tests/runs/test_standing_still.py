"""Time in which Highbar stood still, stopped by Ctrl-Z or in a paused container, is taken from no call."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import faulty_server as faulty
from tests.faulty_server import serving
from tests.judge_server import Asked, JudgeStep, judging, slow
from tests.patience import PATIENCE, wait_for
from tests.runs.projects import Project, descendants, finished, python_project, scenarios

pytestmark = [pytest.mark.process, pytest.mark.slow]
STOPPED = 4.0
TRIALS = 4
AGENT = """
import asyncio, time

def answer(said):
    note(said)
    time.sleep(1.2)
    return "yes"

async def later(said):
    note(said)
    await asyncio.sleep(1.2)
    return "yes"
"""


def stop(processes: set[int]) -> None:
    """Stop the processes for a while, longer than any call may take."""
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    time.sleep(STOPPED)
    for process in processes:
        os.kill(process, signal.SIGCONT)


def stopped(project: Project, begun: Callable[[], object], *, whole: bool) -> None:
    """Run it, and stop it once the calls have begun: our own process, or the whole tree as a paused container is."""
    with project.started("run", "suite.json", "--output", "out", "--no-check") as process:
        wait_for(begun, "nothing was called")
        time.sleep(0.3)
        stop({process.pid, *(descendants(process.pid) if whole else ())})
        done = finished(process)
    assert (done.exit, project.done()) == (0, (TRIALS, 0, 0)), (done.err, project.rows())


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("function", ["answer", "later"])
def test_calls_of_a_function_get_the_time_back(tmp_path: Path, function: str, whole: bool) -> None:
    project = python_project(tmp_path, AGENT, scenarios(TRIALS))
    settings = {"timeout": "2s", "retries": 0}
    project.write_suite({"python": f"agent:{function}"}, scenarios(TRIALS), run=settings)
    stopped(project, project.asked, whole=whole)
    assert set(project.counts().values()) == {1}


@pytest.mark.parametrize("whole", [False, True])
def test_calls_of_a_command_get_the_time_back(tmp_path: Path, whole: bool) -> None:
    script = tmp_path / "agent.sh"
    script.write_text("#!/bin/sh\necho x >> begun\nsleep 1.2\necho yes\n", "utf-8")
    script.chmod(0o755)
    settings = {"timeout": "2s", "retries": 0, "concurrency": TRIALS}
    project = Project(tmp_path, {"command": ["./agent.sh"]}, scenarios(TRIALS), run=settings)
    stopped(project, (tmp_path / "begun").exists, whole=whole)


@pytest.mark.parametrize("delay", [0.0, 1.2, STOPPED + 0.8])
def test_calls_over_http_get_the_time_back_and_answers_that_came_meanwhile_are_read(
    tmp_path: Path, delay: float
) -> None:
    begun = threading.Event()

    def step(*_: object) -> faulty.Step:
        begun.set()
        return faulty.waits(max(delay, 0.5), faulty.answers("yes " * 100_000))

    with serving(step) as server:
        settings = {"timeout": "2s", "retries": 0, "concurrency": TRIALS}
        project = Project(tmp_path, {"http": server.address, "format": "openai"}, scenarios(TRIALS), run=settings)
        stopped(project, begun.is_set, whole=True)
        assert len(server.calls) == TRIALS


def test_a_call_that_takes_longer_than_that_is_still_late(tmp_path: Path) -> None:
    begun = threading.Event()

    def step(*_: object) -> faulty.Step:
        begun.set()
        return faulty.hangs()

    with serving(step) as server:
        settings = {"timeout": "2s", "retries": 0}
        project = Project(tmp_path, {"http": server.address, "format": "openai"}, scenarios(TRIALS), run=settings)
        with project.started("run", "suite.json", "--output", "out", "--no-check") as process:
            wait_for(begun.is_set, "nothing was called")
            stop({process.pid})
            finished(process)
    assert project.done() == (0, TRIALS, 0)
    assert {row["error"] for row in project.rows()} == {"timed out after 2 s"}


CHECKS = """
import sys, time
from pathlib import Path
from highbar.running.functions import CheckFunctions
with CheckFunctions(Path("."), limit=2.0) as functions:
    functions("own:is_polite")({})
    print(functions("own:takes")(float(sys.argv[1])))
"""
FUNCTIONS = """
import pathlib, time
def is_polite(answer): return True
def takes(seconds):
    pathlib.Path("begun").touch()
    time.sleep(seconds)
    return True
"""


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(("seconds", "said"), [(1.2, "True"), (600, "FunctionFailed: took longer than 2 s")])
def test_functions_of_checks_get_the_time_back_once(tmp_path: Path, seconds: float, said: str, whole: bool) -> None:
    (tmp_path / "own.py").write_text(FUNCTIONS, "utf-8")
    command = [sys.executable, "-c", CHECKS, str(seconds)]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        wait_for((tmp_path / "begun").exists, "nothing was called")
        time.sleep(0.3)
        stop({process.pid, *(descendants(process.pid) if whole else ())})
        assert process.communicate(timeout=PATIENCE)[0].strip().endswith(said)


def test_calls_of_a_judge_get_the_time_back(tmp_path: Path) -> None:
    begun = threading.Event()

    def step(asked: Asked) -> JudgeStep:
        begun.set()
        return slow(1.2)

    said = {"polite": "It is polite."}
    suite = [{"id": f"S{place}", "input": "x", "expected_behaviors": said} for place in range(TRIALS)]
    with judging(step) as server:
        project = python_project(tmp_path, "def answer(said): return 'yes'\n", suite)
        judge = {"model": "m", "base_url": server.base_url, "timeout": "2s", "retries": 0}
        project.write_suite({"python": "agent:answer"}, suite, judge=judge)
        stopped(project, begun.is_set, whole=True)
        assert len(server.calls) == TRIALS
