"""A process that dies is replaced: the call that ended it is the error, and all others are answered."""

from __future__ import annotations

import asyncio
import time
from collections import Counter

import pytest

from tests.patience import wait_for
from tests.unit.running.python_agents import answers, called, is_running, noted, output, python_agent, until

pytestmark = pytest.mark.process

DEADLY = """
import asyncio, ctypes, os, pathlib, signal, sys, threading, time

def note(input):
    with open({log!r}, "a") as file: file.write(input + "\\n")

def pipes():
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{{name}}").startswith("pipe:") and int(name) > 2: yield int(name)
        except OSError: pass

def garbage(data):
    for file in pipes():
        try: os.write(file, data)
        except OSError: pass

def never_asked():
    sys.path_importer_cache.clear()
    from highbar.running.child import frames
    garbage(frames.encoded(frames.ANSWERED, 5, 0.0, "forged"))

ways = {{
    "exit 0": lambda: os._exit(0),
    "exit 3": lambda: os._exit(3),
    "crash": lambda: ctypes.string_at(0),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "abort": lambda: os.abort(),
    "garbage": lambda: garbage(b"\\xff" * 100),
    "torn": lambda: (garbage(b"\\x10\\0\\0\\0abc"), os._exit(1)),
    "forged": never_asked,
    "close": lambda: os.closerange(3, 1000),
}}

def answer(input):
    note(input)
    if input in ways: ways[input]()
    time.sleep(0.1)
    return input + " answered"

async def later(input):
    note(input)
    await asyncio.sleep(0.01)
    if input in ways: ways[input]()
    await asyncio.sleep(0.1)
    return input + " answered"
"""
ENDS = {
    "exit 0": "the agent's process ended: exit code 0",
    "exit 3": "the agent's process ended: exit code 3",
    "crash": "the agent's process ended: killed by SIGSEGV",
    "kill": "the agent's process ended: killed by SIGKILL",
    "abort": "the agent's process ended: killed by SIGABRT",
    "garbage": "the agent's process ended: something else than replies was written into its pipe",
    "torn": "the agent's process ended: exit code 1",
    "forged": "the agent's process ended: something else than replies was written into its pipe",
    "close": "the agent's process ended: it closed its pipe",
}
OTHER_ENDS = {"close": "the agent's process ended: exit code 1"}
"""A loop cannot go on without its files."""


@pytest.mark.parametrize(
    ("function", "way"),
    [*(("answer", way) for way in ENDS), ("later", "exit 0"), ("later", "forged"), ("later", "close")],
)
def test_the_call_with_which_the_process_dies_is_the_error_and_all_others_are_answered(tmp_path, function, way):
    code = DEADLY.format(log=str(tmp_path / "log"))
    agent = python_agent(tmp_path, code, f"agent:{function}")
    innocent = ["a", "b", "c", "d", "e"]

    async def run():
        async with agent:
            agent.allow(3)
            during = await called(agent, *innocent[:2], way, *innocent[2:])
            return during, await called(agent, "after")

    during, after = asyncio.run(run())
    assert during[2].outcome == "error"
    assert during[2].reason in (ENDS[way], OTHER_ENDS.get(way))
    assert [output(attempt) for attempt in (*during[:2], *during[3:])] == [f"{text} answered" for text in innocent]
    assert output(after[0]) == "after answered"
    made = Counter((tmp_path / "log").read_text().split("\n"))
    assert made[way] == 2  # once among others, and once alone in a fresh process
    assert made["after"] == 1
    assert all(made[text] in (1, 2) for text in innocent)


def test_a_call_is_known_to_have_run_although_nobody_looked_before_its_process_was_gone(tmp_path):
    agent = python_agent(tmp_path, DEADLY.format(log=str(tmp_path / "log")), "agent:later")

    async def run():
        async with agent:
            agent.allow(3)
            calls = asyncio.ensure_future(called(agent, "a", "close", "b"))
            await until(noted(tmp_path / "log", "close"), "the call did not begin")
            time.sleep(1)  # noqa: ASYNC251 - a busy machine: the process has died long before anybody reads its pipe
            return await calls

    attempts = asyncio.run(run())
    assert [attempt.outcome for attempt in attempts] == ["answered", "error", "answered"]
    assert Counter((tmp_path / "log").read_text().split("\n"))["close"] == 2


def test_every_call_that_ends_the_process_is_an_error(tmp_path):
    agent = python_agent(tmp_path, "import os\ndef answer(input): os._exit(int(input))")
    attempts = answers(agent, "0", "1", "2", "3")
    assert [attempt.reason for attempt in attempts] == [
        f"the agent's process ended: exit code {code}" for code in range(4)
    ]


def test_a_process_that_died_of_what_earlier_calls_left_behind_makes_no_error(tmp_path):
    code = """
import os, threading, time
def answer(input):
    if input == "leave":
        threading.Timer(0.2, os._exit, [1]).start()
        return "left"
    time.sleep(0.5)
    return "done"
"""
    assert [output(attempt) for attempt in answers(python_agent(tmp_path, code), "leave", "a", "b")] == [
        "left",
        "done",
        "done",
    ]


def test_a_process_that_dies_while_nothing_runs_is_replaced(tmp_path):
    code = """
import os, threading
def answer(input):
    threading.Timer(0.05, os._exit, [1]).start()
    return str(os.getpid())
"""

    async def run():
        async with python_agent(tmp_path, code) as agent:
            found = []
            for _ in range(5):
                (attempt,) = await called(agent, "?")
                found.append(output(attempt))
                await until(lambda: not is_running(int(found[-1])), "the process did not end")
            return found

    assert len(set(asyncio.run(run()))) == 5


def test_a_process_that_cannot_be_started_again_makes_errors_and_no_endless_loop(tmp_path):
    code = f"""
import os, pathlib
started = pathlib.Path({str(tmp_path / "started")!r})
with started.open("a") as file: file.write("x")
if len(started.read_text()) > 1: raise OSError("the database is gone")
def answer(input): os._exit(1)
"""

    async def run():
        async with python_agent(tmp_path, code) as agent:
            return await called(agent, "a", "b"), await called(agent, "c")

    during, after = asyncio.run(run())
    for attempt in (*during, *after):
        assert attempt.outcome == "error"
        assert attempt.reason == (
            "the agent's process could not be started again:"
            " agent cannot be imported: OSError: the database is gone (agent.py:5)"
        )
    assert (tmp_path / "started").read_text() == "xxxx"


def test_processes_that_die_before_any_call_begins_are_no_errors_and_no_endless_loop(tmp_path):
    code = f"""
import os, pathlib, threading
died = pathlib.Path({str(tmp_path / "died")!r})
def answer(input):
    died.touch()
    os._exit(1)
if died.exists():  # before the first message about a call is read
    import highbar.running.child.threads as threads
    threads.ThreadCalls.receive = lambda *_: os._exit(7)
"""
    for attempt in answers(python_agent(tmp_path, code), "a", "b", "c"):
        assert attempt.outcome == "infrastructure"
        assert attempt.reason == "the agent's process ended: exit code 7, before the function was called"


def test_calls_that_are_canceled_before_the_process_dies_are_not_run_again(tmp_path):
    code = "import os, time\ndef answer(input):\n    time.sleep(0.2)\n    os._exit(1)"

    async def run():
        async with python_agent(tmp_path, code) as agent:
            first = asyncio.create_task(called(agent, "a", "b"))
            await asyncio.sleep(0.1)
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            return await called(agent, "c")

    (attempt,) = asyncio.run(run())
    assert attempt.reason == "the agent's process ended: exit code 1"


def test_closing_while_calls_run_ends_them(tmp_path):
    code = "import os, time\ndef answer(input):\n    print(os.getpid(), file=open(input, 'w'))\n    time.sleep(10**6)"
    note = tmp_path / "process"

    async def run():
        async with python_agent(tmp_path, code) as agent:
            call = asyncio.create_task(called(agent, str(note)))
            await until(noted(note, "\n"), "the agent was not called")
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(run())
    wait_for(lambda: not is_running(int(note.read_text())), "the process still runs")
