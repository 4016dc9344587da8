"""Agents that hang, die, lie or leave processes behind: each is a failure of the agent, and never a pass."""

from __future__ import annotations

import os
import signal
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import faulty_server as faulty
from tests.commandline import judged, refused
from tests.faulty_server import Step, serving
from tests.patience import wait_for
from tests.runs.projects import (
    Project,
    command_project,
    descendants,
    finished,
    python_project,
    scenarios,
    wait_until_gone,
)

SHORT = "0.5s"


def at(address: str, **keys: object) -> dict[str, object]:
    return {"http": address, "format": "openai", **keys}


# --- a process that ends -----------------------------------------------------------------------------


@pytest.mark.process
@pytest.mark.parametrize(
    ("kind", "ends"),
    [
        ("def", "os._exit(0)"),
        ("def", "raise SystemExit(0)"),
        ("async def", "os._exit(0)"),
        ("async def", "import sys; sys.exit()"),
        ("async def", "raise KeyboardInterrupt"),
    ],
)
def test_h76_an_agent_that_ends_its_process_fails_and_the_others_are_answered(
    tmp_path: Path, kind: str, ends: str
) -> None:
    code = f"{kind} answer(said):\n    note(said)\n    if said == 'S1': {ends}\n    return 'yes'\n"
    project = python_project(tmp_path, code, scenarios(4))
    judged(project.run(), "fail")
    assert project.done() == (3, 1, 0)
    assert project.row("S1")["correct"] is False
    judged(project.resume(), "fail")


@pytest.mark.process
def test_h76_an_agent_that_always_ends_its_process_is_a_failure_of_every_trial(tmp_path: Path) -> None:
    project = python_project(tmp_path, "def answer(said):\n    os._exit(0)\n", scenarios(3))
    judged(project.run(), "fail")
    assert project.done() == (0, 3, 0)


@pytest.mark.process
@pytest.mark.parametrize("ends", ["os._exit(0)", "raise SystemExit(0)"])
def test_h76_an_agent_that_ends_while_it_is_loaded_is_no_verdict(tmp_path: Path, ends: str) -> None:
    project = python_project(tmp_path, f"{ends}\ndef answer(said): return 'yes'\n", scenarios(3))
    refused(project.run(), "cannot be")
    assert not (tmp_path / "out").exists()


@pytest.mark.process
def test_h76_a_check_that_ends_its_process_is_no_pass(tmp_path: Path) -> None:
    suite = [{"id": "S0", "input": "S0", "answer": {"python": "agent:holds"}}]
    project = python_project(tmp_path, "def answer(said): return 'yes'\ndef holds(given): os._exit(0)\n", suite)
    judged(project.run(), "inconclusive")
    assert project.row("S0")["unjudged"].startswith("check: ")


# --- no end ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [faulty.hangs(), faulty.drips(0.3)], ids=["nothing", "drips"])
def test_h84_a_server_that_never_ends_its_answer_fails(tmp_path: Path, fault: Step) -> None:
    with serving([fault]) as server:
        project = Project(tmp_path, at(server.address), scenarios(2), run={"timeout": SHORT})
        judged(project.run(), "fail")
        assert len(server.calls) == 2
    assert {row["error"] for row in project.rows()} == {"timed out after 0.5 s"}


@pytest.mark.process
@pytest.mark.parametrize(
    "hang",
    [
        "def answer(said):\n    time.sleep(600)",
        "async def answer(said):\n    time.sleep(600)",
        "import asyncio\nasync def answer(said):\n    await asyncio.sleep(600)",
    ],
)
def test_h84_a_function_that_never_ends_fails(tmp_path: Path, hang: str) -> None:
    project = python_project(tmp_path, hang, scenarios(2), run={"timeout": SHORT})
    judged(project.run(), "fail")
    assert {row["error"] for row in project.rows()} == {"timed out after 0.5 s"}


def bomb() -> Step:
    packer = zlib.compressobj(wbits=31)  # of gzip; nobody reads on to its end and the checksum there
    first, more = (packer.compress(b" " * 2**20) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    data = first + more * 299 + packer.flush()
    return faulty.sends(data, Content_Encoding="gzip", Content_Type="application/json")


@pytest.mark.parametrize("fault", [faulty.floods, bomb], ids=["endless", "a bomb"])
def test_h85_a_reply_has_a_largest_size_whatever_its_encoding(tmp_path: Path, fault: Callable[[], Step]) -> None:
    with serving([fault()]) as server:
        project = Project(tmp_path, at(server.address), scenarios(1))
        judged(project.run(), "fail")
    assert "larger than" in project.row("S0")["error"]
    assert (tmp_path / "out" / "journal").stat().st_size < 2**18


@pytest.mark.parametrize(
    "body", [b'{"choices": [{"message": {"content": "yes', b'{"choices": [{"message": {"content": "yes"}}]', b'"yes']
)
def test_h86_a_reply_that_was_cut_is_no_answer(tmp_path: Path, body: bytes) -> None:
    with serving([faulty.raw(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body)]) as server:
        project = Project(tmp_path, at(server.address), scenarios(1))
        judged(project.run(), "fail")
        assert len(server.calls) == 1
    assert project.row("S0")["error"].startswith("malformed reply: ")


@pytest.mark.parametrize("header", ["999999999", "-1", "Wed, 21 Oct 2099 07:28:00 GMT", "x", "nan", "9" * 400])
def test_h87_no_header_makes_a_run_sleep_for_years_or_hammer(tmp_path: Path, header: str) -> None:
    with serving([faulty.status(429, retry_after=header)]) as server:
        project = Project(tmp_path, at(server.address), scenarios(2), run={"retries": 4, "max_time": "0.4s"})
        judged(project.run(), "inconclusive")
        assert 2 <= len(server.calls) <= 2 * 5
    assert project.done() == (0, 0, 2)
    assert project.document()["state"] == "time"


# --- many trials -------------------------------------------------------------------------------------

MANY = """
import threading

running, most, lock = 0, 0, threading.Lock()

def answer(said):
    global running, most
    with lock:
        running += 1
        if running > most:
            most = running
            note(str(most))
    try:
        return "yes " + "x" * int(os.environ["SIZE"])
    finally:
        with lock:
            running -= 1
"""


@pytest.mark.process
def test_h89_memory_grows_with_the_suite_and_not_with_the_answers(tmp_path: Path) -> None:
    """Answers of 2 MB and of 60 MB in all, and never more at once than allowed."""
    project = python_project(tmp_path, MANY, scenarios(200), run={"trials": 15, "concurrency": 4})
    peaks = []
    for size in ("600", "20000"):
        arguments = ("run", "suite.json", "--output", size, "--no-check", "--quiet")
        with project.started(*arguments, environment={"SIZE": size}) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            assert process.returncode == 0
        assert len(project.rows(size)) == 3000
        peaks.append(used.ru_maxrss * (1 if sys.platform == "darwin" else 2**10))
    assert peaks[1] - peaks[0] < 20 * 2**20, peaks
    assert max(int(said) for said, _ in project.asked()) <= 4


# --- processes that stay -----------------------------------------------------------------------------

LEAVES = {
    "a session of its own that holds the pipe": "setsid sleep 987{n} & echo yes; sleep 987{n}",
    "a process that ignores SIGTERM": "trap '' TERM; echo yes; while true; do sleep 987{n}; done",
    "a grandchild that lost its parent": "(setsid sh -c 'trap \"\" TERM HUP; sleep 987{n}' &) ; echo yes; sleep 987{n}",
}


@pytest.mark.process
@pytest.mark.parametrize("script", LEAVES.values(), ids=LEAVES)
def test_h88_of_a_command_whose_time_is_up_nothing_is_left(tmp_path: Path, script: str) -> None:
    nap = f"{os.getpid()}"
    project = command_project(tmp_path, script.format(n=nap), scenarios(2), run={"timeout": SHORT})
    judged(project.run(), "fail")
    assert {row["error"] for row in project.rows()} == {"timed out after 0.5 s"}
    wait_for(lambda: not sleeping(nap), "they still sleep")


@pytest.mark.process
def test_h88_what_an_answered_command_left_behind_is_ended(tmp_path: Path) -> None:
    nap = f"{os.getpid()}"
    script = f"echo yes; setsid sleep 987{nap} & sh -c 'setsid sleep 987{nap} >/dev/null 2>&1 &'"
    project = command_project(tmp_path, script, scenarios(2))
    judged(project.run(), "pass")
    assert project.done() == (2, 0, 0)
    wait_for(lambda: not sleeping(nap), "they still sleep")


@pytest.mark.process
def test_h88_a_run_that_is_stopped_or_killed_takes_its_commands_with_it(tmp_path: Path) -> None:
    nap = f"{os.getpid()}"
    project = command_project(tmp_path, f"setsid sleep 987{nap} & sleep 987{nap}", scenarios(2))
    for number in (signal.SIGTERM, signal.SIGKILL):
        with project.started("run", "suite.json", "--output", f"out{number}") as process:
            wait_for(lambda: len(sleeping(nap)) >= 2, "no command runs")
            below = descendants(process.pid)
            os.kill(process.pid, number)
            finished(process)
        wait_until_gone(below)
        wait_for(lambda: not sleeping(nap), "they still sleep")


@pytest.mark.process
def test_h88_what_a_function_started_is_ended_with_the_run(tmp_path: Path) -> None:
    nap = f"{os.getpid()}"
    code = f"""
import subprocess
def answer(said):
    subprocess.Popen(["sh", "-c", "trap '' TERM; sleep 987{nap}"], start_new_session=True)
    return "yes"
"""
    project = python_project(tmp_path, code, scenarios(2))
    judged(project.run(), "pass")
    wait_for(lambda: not sleeping(nap), "they still sleep")


def sleeping(nap: str) -> list[int]:
    """The processes that sleep for that number of seconds, which nobody else uses."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes()
                state = (entry / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0]
            except OSError:
                continue
            if line == f"sleep\0987{nap}\0".encode() and state != "Z":
                found.append(int(entry.name))
    return found


# --- addresses ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_h125_a_redirect_to_another_host_is_not_followed(tmp_path: Path, code: int) -> None:
    """Another port is another host: it would get the key, and could be what only this machine can reach."""
    with serving([faulty.answers("yes")]) as inside, serving([faulty.redirects(inside.address, code)]) as server:
        project = Project(tmp_path, at(server.address, key="${AGENT_KEY}"), scenarios(1))
        judged(project.run(environment={"AGENT_KEY": "CANARY-123"}), "fail")
        assert (len(server.calls), len(inside.calls)) == (1, 0)
    assert "redirect" in project.row("S0")["error"]


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/", "//127.0.0.1/"])
def test_h125_an_agent_is_behind_http_or_https(tmp_path: Path, address: str) -> None:
    project = Project(tmp_path, at(address), scenarios(1))
    refused(project.run(), "http")
    assert not (tmp_path / "out").exists()


def test_h125_an_address_in_a_reply_is_text(tmp_path: Path) -> None:
    with serving([faulty.answers("yes")]) as inside:
        reply = faulty.openai(f"yes ![]({inside.address})", ("fetch", f'{{"url": "{inside.address}"}}'))
        with serving([faulty.answers(reply)]) as server:
            project = Project(tmp_path, at(server.address), scenarios(1))
            judged(project.run("--report", "report.html", "--report", "report.md"), "pass")
        assert inside.calls == []


# --- the files of the run ----------------------------------------------------------------------------

FORGED = '{"id":"S1","trial":1,"attempts":1,"correct":true,"output":"yes"}'


@pytest.mark.process
@pytest.mark.parametrize("name", ["results.jsonl", "journal", "run.json"])
def test_h56_what_an_agent_writes_into_the_folder_of_its_run_is_no_result(tmp_path: Path, name: str) -> None:
    script = f"cat > /dev/null; echo '{FORGED}' >> out/{name}; echo no"
    project = command_project(tmp_path, script, scenarios(4), run={"concurrency": 1})
    done = project.run()
    assert done.exit in (1, 2, 4), done.out
    assert "Traceback" not in done.err
    assert project.check().exit in (1, 2)
    results = tmp_path / "out" / "results.jsonl"
    if done.exit == 1:
        assert project.done() == (4, 0, 0)
        assert not any(row["correct"] for row in project.rows())
    assert name == "results.jsonl" or not results.exists() or FORGED not in results.read_text("utf-8")


@pytest.mark.process
@pytest.mark.parametrize("name", ["results.jsonl", "journal", "run.json"])
def test_h56_what_is_written_into_the_folder_after_the_run_is_refused(tmp_path: Path, name: str) -> None:
    project = python_project(tmp_path, "def answer(said): return 'no'\n", scenarios(3))
    judged(project.run(), "fail")
    with (tmp_path / "out" / name).open("a", encoding="utf-8") as stream:
        stream.write(FORGED + "\n")
    refused(project.check(), "out")


@pytest.mark.process
def test_h56_an_agent_that_removes_the_folder_of_its_run_gets_no_verdict(tmp_path: Path) -> None:
    project = command_project(tmp_path, "rm -rf out; echo yes", scenarios(3))
    done = project.run()
    assert done.exit in (2, 4), done.out
    assert "Traceback" not in done.err
