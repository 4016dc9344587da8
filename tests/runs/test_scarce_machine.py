"""What this system refuses, threads, processes, memory and open files, is never the agent's fault."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests import faulty_server as faulty
from tests.faulty_server import serving
from tests.patience import wait_for
from tests.runs.limits import run_limited
from tests.runs.projects import Project, descendants, finished, python_project, scenarios

pytestmark = [pytest.mark.process, pytest.mark.slow]
AGENT = """
import asyncio, time

def answer(said):
    note(said)
    time.sleep(0.01)
    return "yes"

async def later(said):
    note(said)
    await asyncio.sleep(0.01)
    return "yes"
"""
SCRIPT = "#!/bin/sh\ncat >/dev/null\nsleep 0.01\necho yes\n"
TRIALS = 40
RUN = ("run", "suite.json", "--output", "out", "--no-check")
ALLOWS_NO_MORE = "this system allows no more"


def project_of(folder: Path, kind: str, **run: Any) -> Project:
    """A project with an agent of this kind."""
    project = python_project(folder, AGENT, scenarios(TRIALS))
    script = folder / "agent.sh"
    script.write_text(SCRIPT, "utf-8")
    script.chmod(0o755)
    agents = {
        "sync": {"python": "agent:answer"},
        "async": {"python": "agent:later"},
        "command": {"command": ["./agent.sh"]},
    }
    project.write_suite(agents[kind], scenarios(TRIALS), run=run)
    return project


@pytest.mark.parametrize("most", [8, 12, 20])
@pytest.mark.parametrize("kind", ["sync", "async", "command"])
def test_with_few_threads_and_processes_all_trials_are_answered(tmp_path: Path, kind: str, most: int) -> None:
    project = project_of(tmp_path, kind)
    done = run_limited(tmp_path, "processes", most, *RUN)
    assert (done.exit, project.done()) == (0, (TRIALS, 0, 0)), done.err
    # Ten threads are wanted at least, one for each call at once and a few of our own.
    assert (ALLOWS_NO_MORE in done.err) == (kind == "sync") or kind == "command", done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("kind", "most"),
    [("sync", 2), ("sync", 4), ("async", 2), ("command", 2), ("command", 3), ("command", 4)],
)
def test_with_no_thread_or_process_at_all_nothing_is_an_error_and_a_resume_repairs_it(
    tmp_path: Path, kind: str, most: int
) -> None:
    project = project_of(tmp_path, kind, retries=0)
    done = run_limited(tmp_path, "processes", most, *RUN, "--quiet")
    assert (done.exit, project.done()) == (3, (0, 0, TRIALS)), done.err
    assert all(row["unjudged"].startswith("not run: ") for row in project.rows())
    again = project.resume(process=True)
    assert (again.exit, project.done()) == (0, (TRIALS, 0, 0)), again.err


@pytest.mark.parametrize("most", [200_000_000, 320_000_000])
def test_with_little_memory_all_trials_are_answered(tmp_path: Path, most: int) -> None:
    project = project_of(tmp_path, "sync")
    done = run_limited(tmp_path, "memory", most, *RUN)
    assert (done.exit, project.done()) == (0, (TRIALS, 0, 0)), done.err
    assert ALLOWS_NO_MORE in done.err


@pytest.mark.parametrize("kind", ["sync", "command"])
def test_without_files_for_the_process_of_the_agent_nothing_is_an_error(tmp_path: Path, kind: str) -> None:
    project = project_of(tmp_path, kind, retries=0)
    done = run_limited(tmp_path, "files", 12, *RUN)
    assert (done.exit, project.done()) == (3, (0, 0, TRIALS)), done.err
    assert "Too many open files" in project.row("S0")["unjudged"]
    again = project.resume(process=True)
    assert (again.exit, project.done()) == (0, (TRIALS, 0, 0)), again.err


def test_with_no_thread_to_resolve_a_name_nothing_is_an_error(tmp_path: Path) -> None:
    with serving(lambda *_: faulty.answers("yes")) as server:
        address = server.address.replace("127.0.0.1", "localhost")
        project = Project(tmp_path, {"http": address, "format": "openai"}, scenarios(TRIALS), run={"retries": 0})
        done = run_limited(tmp_path, "processes", 2, *RUN, "--quiet")
        assert (done.exit, project.done()) == (3, (0, 0, TRIALS)), done.err
        again = project.resume(process=True)
    assert (again.exit, project.done()) == (0, (TRIALS, 0, 0)), again.err


def test_memory_that_the_function_uses_up_is_its_own(tmp_path: Path) -> None:
    code = "def answer(said):\n    return 'yes' if said != 'S1' else str(len(bytearray(2**40)))\n"
    project = python_project(tmp_path, code, scenarios(3))
    assert project.run().exit == 1
    assert project.done() == (2, 1, 0)
    assert "MemoryError" in project.row("S1")["error"]


def test_a_keeper_that_was_killed_leaves_the_trial_to_another_one(tmp_path: Path) -> None:
    project = project_of(tmp_path, "command")
    (tmp_path / "agent.sh").write_text("#!/bin/sh\n[ -e go ] || sleep 600\necho yes\n", "utf-8")
    with project.started(*RUN) as process:
        wait_for(lambda: len(descendants(process.pid)) >= 4, "no command was started")
        (tmp_path / "go").touch()
        for keeper in [one for one in descendants(process.pid) if parent_of(one) == process.pid]:
            os.kill(keeper, signal.SIGKILL)
        done = finished(process)
    assert (done.exit, project.done()) == (0, (TRIALS, 0, 0)), done.err


def parent_of(process: int) -> int | None:
    """The process that started this one; None if it has ended."""
    try:
        return int(Path(f"/proc/{process}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[1])
    except OSError:
        return None
