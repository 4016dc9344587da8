"""Runs that end before their time, and folders that change under them: nothing is lost, and none looks finished."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.commandline import judged, refused
from tests.patience import PATIENCE, is_waiting, wait_for
from tests.runs.projects import Project, descendants, finished, python_project, scenarios, wait_until_gone

pytestmark = pytest.mark.process

WAITING = """
def answer(said):
    number = note(said)
    while not os.path.exists("GO"):
        time.sleep(0.01)
    return ("no " if said == "S1" else "yes ") + number
"""
"""An agent that answers once the test lets it."""


def waiting_project(folder: Path, count: int = 6, **keys: object) -> Project:
    code = WAITING.replace("GO", str(folder / "go"))
    return python_project(folder, code, scenarios(count), run={"concurrency": 2, **keys})


def make_async(project: Project) -> None:
    file = project.folder / "agent.py"
    code = file.read_text("utf-8").replace("def answer", "import asyncio\nasync def answer")
    file.write_text(code.replace("time.sleep", "await asyncio.sleep"), "utf-8")


def go(project: Project) -> None:
    (project.folder / "go").touch()


def wait_for_calls(project: Project, count: int) -> None:
    wait_for(lambda: len(project.asked()) >= count, f"the agent was not called {count} times")


def wait_until_heard(process: int) -> None:
    """Wait until everyone sleeps: then the signal has reached the run, and what it made of it the agent's process."""
    looks = iter(range(10))
    wait_for(lambda: is_asleep(process) and next(looks, None) is None, "the run never rests")


def is_asleep(process: int) -> bool:
    return all(is_waiting(one) for one in (process, *descendants(process)))


def old_pass(project: Project) -> None:
    """A report of an earlier run, which passed."""
    (project.folder / "verdict.json").write_text('{"verdict": "pass"}', "utf-8")


def no_pass(project: Project) -> bool:
    """Whether the report of the earlier run is gone, and none has taken its place."""
    return json.loads((project.folder / "verdict.json").read_text("utf-8"))["verdict"] is None


LONG = "def answer(said):\n    return 'yes ' + note(said) + 'x' * 10_000\n"
GRADING = """
def holds(given):
    note("graded")
    while not os.path.exists(os.path.join(os.path.dirname(__file__), "go")):
        time.sleep(0.01)
    return True
"""


# --- signals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_async", [False, True], ids=["threads", "a loop"])
def test_h71_the_first_ctrl_c_finishes_what_runs_and_says_how_to_go_on(tmp_path: Path, is_async: bool) -> None:
    project = waiting_project(tmp_path)
    make_async(project) if is_async else None
    with project.started("run", "suite.json", "--output", "out") as process:
        wait_for_calls(project, 2)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does it: to the whole group
        assert process.stderr is not None
        assert b"finishing what runs; press Ctrl-C again" in process.stderr.readline()
        wait_until_heard(process.pid)
        go(project)
        done = finished(process)
    assert (done.exit, done.out) == (130, ""), done.err
    assert "to go on: highbar run --resume out" in done.err
    assert len(project.asked()) == 2, "nothing more begins"
    assert project.done() == (2, 0, 4)
    assert {row["unjudged"] for row in project.rows() if "unjudged" in row} == {"not run: the run was interrupted"}
    refused(project.check(), "interrupted", "--resume out")
    judged(project.resume(), "fail")
    assert sorted(project.counts().items()) == [(f"S{place}", 1) for place in range(6)]


@pytest.mark.parametrize(("signals", "code"), [((signal.SIGINT, signal.SIGINT), 130), ((signal.SIGTERM,), 143)])
def test_h71_h72_the_second_ctrl_c_or_sigterm_stops_at_once(
    tmp_path: Path, signals: tuple[signal.Signals, ...], code: int
) -> None:
    project = waiting_project(tmp_path)
    old_pass(project)
    with project.started("run", "suite.json", "--output", "out", "--report", "verdict.json") as process:
        wait_for_calls(project, 2)
        below = descendants(process.pid)
        assert process.stderr is not None
        os.killpg(process.pid, signals[0])
        if len(signals) > 1:
            process.stderr.readline()  # it has understood the first
            os.killpg(process.pid, signals[1])
        done = finished(process)
    assert (done.exit, done.out) == (code, ""), done.err
    assert "to go on: highbar run --resume out" in done.err
    assert below
    wait_until_gone(below)
    assert no_pass(project)
    assert project.done() == (0, 0, 6)
    refused(project.check(), "--resume out")
    go(project)
    judged(project.resume(), "fail")
    assert project.done() == (6, 0, 0)


def test_h71_a_quiet_run_that_is_interrupted_says_how_to_go_on_too(tmp_path: Path) -> None:
    project = waiting_project(tmp_path)
    with project.started("run", "suite.json", "--output", "out", "--quiet", "--no-check") as process:
        wait_for_calls(project, 2)
        os.killpg(process.pid, signal.SIGTERM)
        done = finished(process)
    assert done.exit == 143
    assert "highbar run --resume out" in done.err


def test_h71_a_signal_before_the_first_call_is_no_success(tmp_path: Path) -> None:
    """While the agent is loaded, there is no folder yet; afterwards there is none, or one that can be resumed."""
    project = python_project(tmp_path, "note('loaded')\ntime.sleep(600)\ndef answer(said): pass\n", scenarios(1))
    with project.started("run", "suite.json", "--output", "out") as process:
        wait_for_calls(project, 1)
        below = descendants(process.pid)
        os.killpg(process.pid, signal.SIGTERM)
        os.killpg(process.pid, signal.SIGINT)
        done = finished(process)
    assert done.exit in (130, 143), done.err
    assert "Traceback" not in done.err
    assert below
    wait_until_gone(below)
    assert not (tmp_path / "out").exists(), "nothing was called"


def test_h71_the_second_ctrl_c_ends_the_grading_and_nothing_is_asked_again(tmp_path: Path) -> None:
    project = python_project(
        tmp_path, LONG + GRADING, [{"id": "S0", "input": "S0", "answer": {"python": "agent:holds"}}]
    )
    with project.started("run", "suite.json", "--output", "out") as process:
        wait_for(lambda: "graded" in project.counts(), "nothing is graded")
        below = descendants(process.pid)
        assert process.stderr is not None
        os.killpg(process.pid, signal.SIGINT)
        process.stderr.readline()
        os.killpg(process.pid, signal.SIGINT)
        done = finished(process)
    assert (done.exit, done.out) == (130, ""), done.err
    assert "to go on: highbar run --resume out" in done.err
    assert below
    wait_until_gone(below)
    refused(project.check(), "--resume out")
    go(project)
    judged(project.resume(), "pass")
    assert project.counts()["S0"] == 1


def test_h71_what_was_handed_over_begins_no_more_when_the_time_is_used_up(tmp_path: Path) -> None:
    project = waiting_project(tmp_path)
    with project.started("run", "suite.json", "--output", "out", "--max-time", "1s", "--no-check") as process:
        wait_for(lambda: project.asked() or process.poll() is not None, "the agent was not called")
        time.sleep(1.2)
        go(project)
        assert finished(process).exit == 3
    asked = len(project.asked())
    assert asked <= 2
    assert project.done() == (asked, 0, 6 - asked)


# --- counts ----------------------------------------------------------------------------------------


def test_h73_a_failure_from_before_the_interruption_still_fails_after_it(tmp_path: Path) -> None:
    project = waiting_project(tmp_path, concurrency=6)
    with project.started("run", "suite.json", "--output", "out") as process:
        wait_for_calls(project, 6)
        os.killpg(process.pid, signal.SIGINT)
        assert process.stderr is not None
        process.stderr.readline()
        go(project)
        assert finished(process).exit == 130
    assert project.row("S1")["correct"] is False
    verdict = judged(project.resume(), "fail")
    assert [one["id"] for one in verdict["scenarios_failed"]] == ["S1"]
    assert len(project.asked()) == 6
    judged(project.check(), "fail")


def test_h72_h75_a_trial_that_was_called_and_not_recorded_counts_once(tmp_path: Path) -> None:
    project = waiting_project(tmp_path)
    old_pass(project)
    with project.started("run", "suite.json", "--output", "out", "--report", "verdict.json") as process:
        wait_for_calls(project, 2)
        process.kill()
        finished(process)
    assert no_pass(project)
    twice = set(project.counts())
    refused(project.check(), "has not ended", "--resume out")
    go(project)
    judged(project.resume(), "fail")
    assert project.counts() == {f"S{place}": 2 if f"S{place}" in twice else 1 for place in range(6)}
    assert [(row["id"], row["trial"], row["attempts"]) for row in project.rows()] == [
        (f"S{place}", 1, 1) for place in range(6)
    ]


# --- disks -----------------------------------------------------------------------------------------


def alone(mount: str) -> list[str]:
    """The beginning of a command that sees this mount; no other process does, and it ends with the command."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        pytest.skip("only root can mount")
    words = ["unshare", "--mount", "sh", "-c"]
    probe = "mount -t tmpfs -o size=64k tmpfs /mnt"
    if subprocess.run([*words, probe], check=False, capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    return [*words, f'{mount} || exit 77; "$@"; code=$?; cp -r disk/. kept; exit $code', "sh"]


def highbar(project: Project, before: list[str], *arguments: str) -> subprocess.CompletedProcess[bytes]:
    (project.folder / ".git").mkdir(exist_ok=True)
    command = [*before, sys.executable, "-m", "highbar", *arguments]
    return subprocess.run(command, cwd=project.folder, capture_output=True, check=False, timeout=PATIENCE)


@pytest.mark.parametrize("size", ["128k", "480k"], ids=["the journal", "the results"])
def test_h78_a_full_disk_ends_the_run_without_a_verdict(tmp_path: Path, size: str) -> None:
    """The answers have 400 kB; their journal fits or not, and beside it results of the same size never do."""
    project = python_project(tmp_path, LONG, scenarios(40), run={"concurrency": 2})
    (tmp_path / "disk").mkdir()
    (tmp_path / "kept").mkdir()
    done = highbar(
        project, alone(f"mount -t tmpfs -o size={size} tmpfs disk"), "run", "suite.json", "--output", "disk/out"
    )
    assert done.returncode == 4, done.stderr
    assert b"could not be written: No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr
    assert done.stdout == b""
    refused(project.check(name="kept/out"), "--resume kept/out")
    recorded = (tmp_path / "kept" / "out" / "journal").read_text("utf-8")
    answered = {said for said, number in project.asked() if number in recorded}
    asked = len(project.asked())
    assert answered
    judged(project.resume(name="kept/out"), "pass")
    assert len(project.rows("kept/out")) == 40
    assert not {said for said, _ in project.asked()[asked:]} & answered


def test_h78_a_file_that_may_not_grow_ends_the_run_without_a_verdict(tmp_path: Path) -> None:
    project = python_project(tmp_path, LONG, scenarios(40))
    limited = ["sh", "-c", 'ulimit -f 512; exec "$@"', "sh"]  # in blocks of 512 bytes, or of 1024
    done = highbar(project, limited, "run", "suite.json", "--output", "out")
    assert done.returncode == 4, done.stderr
    assert b"could not be written: File too large" in done.stderr
    assert done.stdout == b""
    refused(project.check(), "--resume out")
    judged(project.resume(), "pass")


def test_h78_a_folder_that_cannot_be_written_is_refused_before_the_first_call(tmp_path: Path) -> None:
    project = python_project(tmp_path, LONG, scenarios(2))
    judged(project.run(name="disk/out"), "pass")
    asked = len(project.asked())
    (tmp_path / "kept").mkdir()
    before = alone("mount --bind disk disk && mount -o remount,bind,ro disk")
    new = highbar(project, before, "run", "suite.json", "--output", "disk/new")
    assert new.returncode == 2, new.stderr
    assert b"disk/new: the run folder cannot be made: Read-only file system" in new.stderr
    resumed = highbar(project, before, "run", "--resume", "disk/out")
    assert resumed.returncode == 2, resumed.stderr
    assert b"Read-only file system" in resumed.stderr
    checked = highbar(project, before, "check", "disk/out")
    assert checked.returncode == 0, checked.stderr
    assert len(project.asked()) == asked


# --- two at once -----------------------------------------------------------------------------------


def test_h79_a_folder_that_is_being_run_takes_no_second_run(tmp_path: Path) -> None:
    project = waiting_project(tmp_path)
    with project.started("run", "suite.json", "--output", "out") as process:
        wait_for_calls(project, 2)
        refused(project.resume(), str(process.pid), code="run.locked")
        refused(project.run(), code="file.exists")
        refused(project.check(), "still going on")
        assert len(project.asked()) == 2
        go(project)
        assert finished(process).exit == 1
    assert project.done() == (6, 0, 0)
    assert max(project.counts().values()) == 1


def test_h79_of_two_runs_that_begin_together_one_gets_the_folder(tmp_path: Path) -> None:
    project = waiting_project(tmp_path)
    go(project)
    command = ("run", "suite.json", "--output", "out", "--no-check")
    with project.started(*command) as first, project.started(*command) as second:
        ends = sorted([finished(first).exit, finished(second).exit])
    assert ends == [0, 2]
    assert project.done() == (6, 0, 0)
    assert max(project.counts().values()) == 1
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == ["out"], "nothing is left of the other"


def test_h79_a_copy_of_a_folder_that_is_being_run_is_a_run_of_its_own(tmp_path: Path) -> None:
    project = waiting_project(tmp_path, count=8)
    code = (tmp_path / "agent.py").read_text("utf-8")
    (tmp_path / "agent.py").write_text(code.replace("while not", "while said[1] in '4567' and not"), "utf-8")
    with project.started("run", "suite.json", "--output", "out") as process:
        wait_for(lambda: sum(said[1] in "4567" for said, _ in project.asked()) >= 2, "no call waits")
        shutil.copytree(tmp_path / "out", tmp_path / "copy")
        recorded = (tmp_path / "copy" / "journal").read_text("utf-8")
        before = {said: number for said, number in project.asked() if number in recorded}
        refused(project.check(name="copy"), "has not ended")
        go(project)
        assert finished(process).exit == 1
    judged(project.resume(name="copy"), "fail")
    for name in ("out", "copy"):
        assert project.done(name) == (8, 0, 0)
        outputs = {row["id"]: row["output"].split(" ")[1] for row in project.rows(name)}
        assert before.items() <= outputs.items()


# --- cut ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["results.jsonl", "journal"])
def test_h58_a_file_that_was_cut_at_a_line_end_is_refused(tmp_path: Path, name: str) -> None:
    project = python_project(tmp_path, LONG, scenarios(4))
    judged(project.run(), "pass")
    file = tmp_path / "out" / name
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:-1]))
    refused(project.check(), "out")
    if name == "journal":
        refused(project.resume(), "journal")
    else:
        judged(project.resume(), "pass")
        assert file.read_bytes() == b"".join(lines), "results are made from the journal"
        assert len(project.asked()) == 4


def test_h58_results_alone_do_not_stand_for_a_run(tmp_path: Path) -> None:
    project = python_project(tmp_path, LONG, scenarios(4))
    judged(project.run(), "pass")
    (tmp_path / "out" / "run.json").unlink()
    refused(project.check(), "has not ended")
    (tmp_path / "highbar.yaml").write_text("suite: suite.json\npass_criteria: { overall: 100% }\n", "utf-8")
    lines = (tmp_path / "out" / "results.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "some.jsonl").write_bytes(b"".join(lines[:3]))
    assert project.check(name="some.jsonl").exit != 0, "the suite has four scenarios"
