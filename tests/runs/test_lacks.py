"""What the machine lacks for Highbar itself ends a command with exit code 4 and one line that says what to do."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.patience import PATIENCE, wait_for
from tests.runs.limits import run_limited
from tests.runs.projects import finished, python_project, scenarios

pytestmark = [pytest.mark.process, pytest.mark.slow]
AGENT = "def answer(said):\n    note(said)\n    time.sleep(0.2)\n    return 'yes'\n"
RUN = ("run", "suite.json", "--output", "out")


@pytest.mark.parametrize(
    ("kind", "most", "words"),
    [
        ("memory", 160_000_000, "out of memory"),
        ("memory", 270_000_000, "out of memory"),
        ("memory", 400_000_000, "out of memory"),
        ("data", 80_000_000, "out of memory"),
        ("data", 120_000_000, "out of memory"),
        ("processes", 1, "no more threads or processes"),
    ],
)
def test_a_check_with_too_little_says_so_in_one_line(tmp_path: Path, kind: str, most: int, words: str) -> None:
    (tmp_path / "results.jsonl").write_text('{"id": "A", "correct": true}\n', "utf-8")
    (tmp_path / "highbar.yaml").write_text("thresholds: { blocking: { pass_rate: 50% } }\n", "utf-8")
    done = run_limited(tmp_path, kind, most, "check", "results.jsonl")
    assert (done.exit, done.out) == (4, "")
    assert done.err.count("\n") == 1
    assert words in done.err
    assert "raise the limit" in done.err
    assert "internal error" not in done.err


@pytest.mark.parametrize("most", [1, 3])
def test_a_run_without_a_thread_of_its_own_says_so(tmp_path: Path, most: int) -> None:
    """The process of the agent comes first: a module that cannot be loaded leaves no folder. With 3 it has all."""
    python_project(tmp_path, AGENT, scenarios(2))
    done = run_limited(tmp_path, "processes", most, *RUN, "--quiet")
    assert (done.exit, done.out, done.err.count("\n")) == (4, "", 1)
    assert "no more threads or processes; raise the limit" in done.err
    assert not (tmp_path / "out").exists()


def test_with_too_little_memory_for_the_verdict_the_answers_are_kept(tmp_path: Path) -> None:
    project = python_project(tmp_path, AGENT, scenarios(2))
    done = run_limited(tmp_path, "memory", 300_000_000, *RUN)
    assert done.exit == 4
    assert done.err.splitlines()[-1].startswith("highbar: out of memory; ")
    assert project.check().exit == 0


def test_on_a_full_disk_the_line_ends_with_how_to_go_on(tmp_path: Path) -> None:
    project = python_project(tmp_path, AGENT, scenarios(40))
    with project.started(*RUN, environment={}) as process:
        wait_for(project.asked, "nothing was called")
        journal = tmp_path / "out" / "journal"
        wait_for(journal.exists, "there is no journal")
        # As on a full disk, a write fails: the file may have no more bytes than it has.
        subprocess.run(["prlimit", f"--pid={process.pid}", f"--fsize={journal.stat().st_size}"], check=True)
        done = finished(process)
    assert done.exit == 4, done.err
    assert done.err.splitlines()[-1].endswith("; to go on: highbar run --resume out")
    assert "out/journal could not be written: " in done.err
    assert project.resume().exit == 0


def test_a_hang_up_stops_a_run_and_a_check_as_sigterm_does(tmp_path: Path) -> None:
    project = python_project(tmp_path, AGENT, scenarios(40))
    with project.started(*RUN) as process:
        wait_for(project.asked, "nothing was called")
        os.kill(process.pid, signal.SIGHUP)
        done = finished(process)
    assert done.exit == 128 + signal.SIGHUP
    assert done.err.splitlines()[-1] == "to go on: highbar run --resume out"
    assert project.document()["state"] == "interrupted"
    assert project.resume().exit == 0


def test_below_nohup_a_hang_up_stops_nothing(tmp_path: Path) -> None:
    project = python_project(tmp_path, AGENT, scenarios(10))
    command = ["nohup", sys.executable, "-m", "highbar", *RUN]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_for(project.asked, "nothing was called")
        os.kill(process.pid, signal.SIGHUP)
        assert process.wait(PATIENCE) == 0


def test_the_line_of_ctrl_c_begins_on_a_line_of_its_own(tmp_path: Path) -> None:
    project = python_project(tmp_path, AGENT, scenarios(40))
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "highbar", *RUN]
    (tmp_path / ".git").mkdir(exist_ok=True)
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        wait_for(project.asked, "nothing was called")
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)
    os.close(theirs)
    shown = os.read(ours, 2**20).decode()
    os.close(ours)
    assert "\r\nhighbar: finishing what runs" in shown
    assert shown.count("cost unknown") <= shown.count(" done, ")


@pytest.mark.parametrize("after", [0.7, 1.5, 3.0])
def test_ctrl_c_in_a_check_does_not_wait_for_the_query(tmp_path: Path, after: float) -> None:
    """The whole check takes several times as long as the rest of it after the signal may take."""
    rows = "".join(f'{{"id": "S{place}", "correct": true, "output": "{"x" * 80}"}}\n' for place in range(100_000))
    with (tmp_path / "results.jsonl").open("w", encoding="utf-8") as stream:
        for part in range(30):
            stream.write(rows.replace('"S', f'"S{part}-'))
    (tmp_path / "highbar.yaml").write_text("thresholds: { blocking: { pass_rate: 50% } }\n", "utf-8")
    project = python_project(tmp_path, AGENT, scenarios(1))
    with project.started("check", "results.jsonl", "--policy", "highbar.yaml") as process:
        time.sleep(after)
        if process.poll() is None:
            spent = processor_time(process.pid)
            process.send_signal(signal.SIGINT)
            while process.poll() is None:
                spent = (spent[0], processor_time(process.pid)[0] or spent[-1])
                time.sleep(0.02)
            assert process.returncode == 130
            assert spent[-1] - spent[0] < 2.0, spent


def processor_time(process: int) -> tuple[float, ...]:
    """The seconds of processor time that a process has used; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return (0.0,)
    return ((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"),)
