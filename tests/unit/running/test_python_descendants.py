"""What an agent prints, reads, starts and leaves behind disturbs nothing, and does not outlive the run."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import wait_for
from tests.unit.running.python_agents import answers, called, is_running, output, python_agent

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]


def test_what_an_agent_prints_goes_to_standard_error_and_disturbs_nothing(tmp_path, capfd):
    code = """
import os, sys
print("at import")
def answer(input):
    print("printed", input)
    os.write(1, b"written\\n")
    os.system("echo by a command")
    sys.stderr.write("complained\\n")
    return "done"
"""
    assert output(answers(python_agent(tmp_path, code), "x")[0]) == "done"
    printed, complained = capfd.readouterr()
    assert printed == ""
    assert complained.splitlines() == ["at import", "printed x", "written", "by a command", "complained"]


def test_standard_input_of_an_agent_is_empty(tmp_path):
    code = "import sys\ndef answer(input): return 'read ' + repr(sys.stdin.read())"
    assert output(answers(python_agent(tmp_path, code), "x")[0]) == "read ''"


@pytest.mark.parametrize(
    "disturbance",
    [
        "os.chdir('/')",
        "os.closerange(0, 3)",
        "sys.stdout = sys.stderr = sys.stdin = None",
        "threading.Thread(target=time.sleep, args=(10**6,)).start()",
        "signal.raise_signal(signal.SIGINT)",
        "os.kill(os.getpid(), signal.SIGINT)",
        "gc.collect()",
        "sys.modules.clear()",
    ],
)
def test_an_agent_that_disturbs_its_own_process_still_answers(tmp_path, disturbance):
    code = f"""
import gc, os, signal, sys, threading, time
def answer(input):
    if input == "disturb": {disturbance}
    return "done"
"""
    agent = python_agent(tmp_path, code)

    async def run():
        async with agent:
            return [*await called(agent, "disturb"), *await called(agent, "a", "b", "c")]

    assert [output(attempt) for attempt in asyncio.run(run())] == ["done"] * 4


def test_a_task_that_raises_system_exit_does_not_end_the_loop(tmp_path):
    code = """
import asyncio, sys
async def leave(): sys.exit(0)
async def answer(input):
    if input == "await": await asyncio.create_task(leave())
    if input == "forget": asyncio.create_task(leave())
    await asyncio.sleep(0.05)
    return "done"
"""
    waited, forgot, other = answers(python_agent(tmp_path, code), "await", "forget", "other")
    assert waited.reason == "SystemExit: 0 (agent.py:3)"
    assert [output(forgot), output(other)] == ["done", "done"]


def test_what_an_agent_starts_has_neither_our_pipes_nor_our_terminal(tmp_path):
    code = """
import os, subprocess, sys
def files():
    for name in os.listdir("/proc/self/fd"):
        try: yield os.readlink("/proc/self/fd/" + name)
        except OSError: pass
def answer(input):
    if input == "session": return f"{os.getsid(0)} {os.getpgid(0)}"
    if input == "spawn":
        command = ["ls", "-l", "/proc/self/fd"]
        return subprocess.run(command, close_fds=False, stdout=subprocess.PIPE, text=True).stdout
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.write(writing, " ".join(files()).encode())
        os._exit(0)
    os.close(writing)
    return os.fdopen(reading).read()
"""
    session, spawned, forked = answers(python_agent(tmp_path, code), "session", "spawn", "fork", at_once=1)
    assert str(os.getsid(0)) not in output(session).split()
    assert str(os.getpgid(0)) not in output(session).split()
    for found in (spawned, forked):  # the pipe to the agent; standard error, if that is one
        assert len(set(re.findall(r"pipe:\[\d+\]", output(found)))) <= 2


@pytest.mark.parametrize("begin", ["def", "async def"])
def test_a_copy_of_the_process_that_returns_as_well_does_not_answer(tmp_path, begin):
    code = f"import os\n{begin} answer(input): return 'copy' if os.fork() == 0 else 'original'"
    assert {output(attempt) for attempt in answers(python_agent(tmp_path, code), *"abcdefgh", at_once=2)} == {
        "original"
    }


# --- the end ---------------------------------------------------------------------------------

LEAVING = """
import os, subprocess, sys, time
def daemon():
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(writing, str(os.getpid()).encode())
            time.sleep(10**6)
        os._exit(0)
    return os.read(reading, 100).decode()
def answer(input):
    if input == "die": os._exit(1)
    group = subprocess.Popen(["sleep", "1000000"])
    session = subprocess.Popen(["sleep", "1000000"], start_new_session=True)
    return f"{os.getpid()} {os.getppid()} {group.pid} {session.pid} {daemon()}"
"""


def processes_of(text: str) -> list[int]:
    return [int(number) for number in text.split()]


def test_everything_that_an_agent_started_is_gone_when_it_is_closed(tmp_path):
    (attempt,) = answers(python_agent(tmp_path, LEAVING), "start")
    started = processes_of(output(attempt))
    assert len(started) == 5
    assert not any(is_running(process) for process in started)


def test_everything_that_an_agent_started_is_gone_when_its_process_has_died(tmp_path):
    async def run():
        async with python_agent(tmp_path, LEAVING) as agent:
            started = processes_of(output((await called(agent, "start"))[0]))
            assert all(is_running(process) for process in started)
            await called(agent, "die")
            return [process for process in started if is_running(process)]

    assert asyncio.run(run()) == []


@pytest.mark.parametrize("blocked", ["time.sleep(10**6)", "re.match('(a+)+$', 'a' * 60 + '!')"])
def test_everything_is_gone_when_our_own_process_is_killed(tmp_path, blocked):
    note = tmp_path / "started"
    (tmp_path / "leaving.py").write_text(LEAVING)
    (tmp_path / "agent.py").write_text(
        f"import leaving, re, time\ndef answer(input):\n"
        f"    open({str(note)!r}, 'w').write(leaving.answer(input) + '\\n')\n    {blocked}"
    )
    program = f"""
import asyncio
from pathlib import Path
from highbar.running.agents.python import PythonAgent
from highbar.suite.parts import Agent
from tests.unit.running.python_agents import called
async def run():
    async with PythonAgent(Agent("python", "agent:answer"), Path({str(tmp_path)!r})) as agent:
        await called(agent, "start")
asyncio.run(run())
"""
    ours = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT)
    wait_for(lambda: note.exists() and note.read_text().endswith("\n"), "the agent was not called")
    started = processes_of(note.read_text())
    ours.send_signal(signal.SIGKILL)
    ours.wait()
    wait_for(lambda: not any(is_running(process) for process in started), f"some of {started} still run")


def test_an_agent_that_kills_its_guardian_dies_with_it(tmp_path):
    code = (
        "import os, signal, time\ndef answer(input):\n    os.kill(os.getppid(), signal.SIGKILL)\n    time.sleep(10**6)"
    )
    (attempt,) = answers(python_agent(tmp_path, code), "x")
    assert attempt.reason == "the agent's process ended: killed by SIGKILL"


def test_an_agent_runs_without_standard_streams(tmp_path):
    (tmp_path / "agent.py").write_text("def answer(input):\n    print('printed')\n    return 'done'")
    program = f"""
import asyncio, os
from pathlib import Path
os.closerange(0, 3)
from highbar.running.agents.python import PythonAgent
from highbar.suite.parts import Agent
from tests.unit.running.python_agents import answers, output
(attempt,) = answers(PythonAgent(Agent("python", "agent:answer"), Path({str(tmp_path)!r})), "x")
Path({str(tmp_path / "done")!r}).write_text(output(attempt))
"""
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)
    assert (tmp_path / "done").read_text() == "done"
