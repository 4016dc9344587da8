"""A call that takes too long is ended and is an error; the calls beside it are answered."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from highbar.running.agents import python
from tests.patience import PATIENCE
from tests.unit.running.python_agents import answers, asked, called, is_running, noted, output, python_agent, until

pytestmark = pytest.mark.process

SHORT = 0.4
SLOW = """
import asyncio, os, re, time

def note(input):
    with open({log!r}, "a") as file: file.write(input + "\\n")

def spin():
    while True: pass

async def stubborn():
    while True:
        try: await asyncio.sleep(10**6)
        except asyncio.CancelledError: pass

ways = {{
    "sleep": lambda: time.sleep(10**6),
    "spin": spin,
    "lock": lambda: re.match("(a+)+$", "a" * 60 + "!"),  # it never lets another thread run
}}
later_ways = {{
    "await": lambda: asyncio.sleep(10**6),
    "stubborn": stubborn,
}}

def answer(input):
    note(input)
    if input in ways: ways[input]()
    time.sleep(0.1)
    return str(os.getpid())

async def later(input):
    note(input)
    if input in ways: ways[input]()
    if input in later_ways: await later_ways[input]()
    await asyncio.sleep(0.1)
    return str(os.getpid())
"""


@pytest.mark.parametrize(
    ("function", "way"),
    [
        ("answer", "sleep"),
        ("answer", "spin"),
        ("answer", "lock"),
        ("later", "sleep"),
        ("later", "lock"),
        ("later", "await"),
        ("later", "stubborn"),
    ],
)
def test_a_call_that_never_ends_is_an_error_and_all_others_are_answered(tmp_path, monkeypatch, function, way):
    is_blocked = way == "lock" or (function, way) == ("later", "sleep")
    if not is_blocked:
        monkeypatch.setattr(python, "GRACE", PATIENCE)  # the process says at once that it gave the call up
    agent = python_agent(tmp_path, SLOW.format(log=str(tmp_path / "log")), f"agent:{function}")

    async def run():
        async with agent:
            agent.allow(3)
            during = await called(agent, "a", "b", asked(way, SHORT), "c", "d")
            return during, await called(agent, "after")

    during, after = asyncio.run(run())
    assert during[2].outcome == "error"
    assert during[2].reason == f"timed out after {SHORT:g} s"
    processes = {output(attempt) for attempt in (*during[:2], *during[3:], *after)}
    if way in ("await", "stubborn"):
        assert len(processes) == 1  # it was canceled, and nothing was replaced
    made = Counter((tmp_path / "log").read_text().split())
    assert made["after"] == 1
    assert made[way] == (2 if is_blocked else 1)  # again, alone in a fresh process


def test_calls_that_all_hang_time_out_together_and_not_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.setattr(python, "GRACE", PATIENCE)
    monkeypatch.setattr(python, "_LONGEST_DRAIN", PATIENCE)
    code = (
        f"import time\ndef answer(input):\n    open({str(tmp_path / 'log')!r}, 'a').write('x')\n    time.sleep(10**6)"
    )
    agent = python_agent(tmp_path, code)
    attempts = answers(agent, *[asked("?", 1.0)] * 16, at_once=8)
    assert {attempt.reason for attempt in attempts} == {"timed out after 1 s"}
    # Every call once: none was run again because another one was given up.
    assert (tmp_path / "log").read_text() == "x" * 16


def test_a_call_whose_end_is_not_reported_yet_is_not_run_again(tmp_path, monkeypatch):
    """What the process says about a call comes late, as on a busy machine: it is awaited, for the call has ended."""
    monkeypatch.setattr(python, "GRACE", PATIENCE)
    monkeypatch.setattr(python, "_LONGEST_DRAIN", PATIENCE)
    code = f"""
import time
from highbar.running.child.threads import ThreadWriter

write = ThreadWriter.write

def late(writer, message):
    time.sleep(0.3)
    write(writer, message)

ThreadWriter.write = late

def answer(input):
    open({str(tmp_path / "log")!r}, "a").write(input)
    time.sleep(10**6 if input == "h" else 0)
    return "done"
"""
    agent = python_agent(tmp_path, code)
    *hung, last = answers(agent, *[asked("h", 0.5)] * 3, "w", at_once=3)
    assert {attempt.reason for attempt in hung} == {"timed out after 0.5 s"}
    assert output(last) == "done"
    assert (tmp_path / "log").read_text() == "hhhw"


def test_calls_that_run_beside_one_that_hangs_may_end_before_the_process_is_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr(python, "GRACE", PATIENCE)
    monkeypatch.setattr(python, "_LONGEST_DRAIN", PATIENCE)
    log, go = tmp_path / "log", tmp_path / "go"
    code = f"""
import os, time
def answer(input):
    open({str(log)!r}, "a").write(input)
    while input == "h" or not os.path.exists({str(go)!r}): time.sleep(0.01)
    return str(os.getpid())
"""
    agent = python_agent(tmp_path, code)

    async def run():
        async with agent:
            agent.allow(3)
            calls = asyncio.create_task(called(agent, asked("h", 0.5), "a", "b", "c"))
            await until(lambda: log.exists() and {*log.read_text()} == {*"hab"}, "the calls did not begin")
            waiting = agent._newest.given.values()
            await until(lambda: any(call.is_withdrawn for call in waiting), "the call that hangs was not noticed")
            go.touch()
            return await calls

    hung, *others = asyncio.run(run())
    assert hung.outcome == "error"
    first, second, third = (output(attempt) for attempt in others)
    assert first == second != third  # what had not begun began in the next process
    assert sorted((tmp_path / "log").read_text()) == ["a", "b", "c", "h"]


def test_calls_that_take_longer_than_that_run_again(tmp_path, monkeypatch):
    monkeypatch.setattr(python, "_LONGEST_DRAIN", 0.2)
    code = f"""
import os, time
def answer(input):
    open({str(tmp_path / "log")!r}, "a").write(input)
    while input == "h" or not os.path.exists({str(tmp_path / "go")!r}): time.sleep(0.01)
    return "done"
"""
    agent = python_agent(tmp_path, code)

    log = tmp_path / "log"  # in which either of the two may come first

    async def run():
        async with agent:
            both = asyncio.create_task(called(agent, asked("h", 0.5), "a"))
            await until(lambda: log.exists() and log.read_text().count("a") == 2, "the call did not run again")
            (tmp_path / "go").touch()
            return await both

    hung, long = asyncio.run(run())
    assert hung.reason == "timed out after 0.5 s"
    assert output(long) == "done"


def test_a_reply_that_comes_too_late_is_an_error_that_still_has_it(tmp_path):
    code = "import time\ndef answer(input):\n    time.sleep(0.5)\n    return 'SECRET'"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(python.PythonAgent, "_check_process", lambda *_: 60.0)  # nobody looks before the reply comes
        (attempt,) = answers(python_agent(tmp_path, code), asked("?", 0.1))
    assert attempt.outcome == "error"
    assert attempt.reason == "timed out after 0.1 s"
    assert attempt.reply.output == "SECRET"


def test_a_loop_that_is_blocked_by_what_no_call_runs_is_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr(python, "_LONGEST_IDLE", 2.0)
    code = """
import asyncio, time
async def answer(input):
    if input == "block": asyncio.get_running_loop().call_later(0.05, time.sleep, 10**6)
    return "done"
"""

    async def run():
        async with python_agent(tmp_path, code) as agent:
            first = await called(agent, "block")
            await asyncio.sleep(0.5)
            return [*first, *await called(agent, "a", "b")]

    assert [output(attempt) for attempt in asyncio.run(run())] == ["done"] * 3


# --- canceled by the caller -----------------------------------------------------------------

HELD = """
import asyncio, os, time
def note(text):
    with open({log!r}, "a") as file: file.write(text + "\\n")
def answer(input):
    note("begin " + input)
    while input == "held" and not os.path.exists({go!r}): time.sleep(0.01)
    return "done"
async def later(input):
    note("begin " + input)
    try:
        while input == "held" and not os.path.exists({go!r}): await asyncio.sleep(0.01)
    except asyncio.CancelledError:
        note("canceled")
        raise
    return "done"
"""


@pytest.mark.parametrize("function", ["answer", "later"])
def test_calls_that_are_canceled_leave_nothing_behind(tmp_path, function):
    log, go = tmp_path / "log", tmp_path / "go"
    agent = python_agent(tmp_path, HELD.format(log=str(log), go=str(go)), f"agent:{function}")

    async def run():
        async with agent:
            agent.allow(1)
            running = asyncio.create_task(agent.call(asked("held")))
            waiting = asyncio.create_task(agent.call(asked("waiting")))
            await until(noted(log, "begin held"), "the call did not begin")
            running.cancel()
            waiting.cancel()
            for call in (running, waiting):
                with pytest.raises(asyncio.CancelledError):
                    await call
            if function == "later":
                await until(noted(log, "canceled"), "the call was not canceled")
            else:
                go.touch()  # what runs in a thread goes on until it ends
            return await called(agent, "next", "last")

    assert [output(attempt) for attempt in asyncio.run(run())] == ["done", "done"]
    assert "begin waiting" not in log.read_text()


def test_a_thread_that_was_canceled_and_never_ends_is_ended_when_its_time_is_over(tmp_path):
    log, go = tmp_path / "log", tmp_path / "go"
    agent = python_agent(tmp_path, HELD.format(log=str(log), go=str(go)))

    async def run():
        async with agent:
            agent.allow(1)
            running = asyncio.create_task(agent.call(asked("held", 1.0)))
            await until(noted(log, "begin held"), "the call did not begin")
            running.cancel()
            return await called(agent, "next")

    assert output(asyncio.run(run())[0]) == "done"


def test_an_agent_that_is_opened_and_canceled_leaves_no_process_behind(tmp_path):
    note = tmp_path / "process"
    code = f"import os, time\nopen({str(note)!r}, 'w').write(f'{{os.getpid()}}\\n')\ntime.sleep(10**6)"
    agent = python_agent(tmp_path, code)

    async def run():
        opening = asyncio.create_task(agent.__aenter__())
        await until(noted(note, "\n"), "the process did not start")
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening

    asyncio.run(run())
    assert not is_running(int(note.read_text()))
