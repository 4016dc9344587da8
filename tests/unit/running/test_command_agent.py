"""Agents that are commands: what they are given, how their output is read, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
import uuid
from pathlib import Path
from typing import Any

import pytest

from highbar.errors import InputError
from highbar.model.answer import ToolCall
from highbar.running.agents import command_agent, opened
from highbar.running.agents.command_agent import CommandEnd, _attempt
from highbar.running.calls import EMPTY_REPLY, Attempt, Reply
from highbar.suite import Agent
from tests.agent_calls import ask, question
from tests.architecture.repository import ROOT
from tests.patience import PATIENCE, wait_for

pytestmark = pytest.mark.process
SHORT = 0.3
"""Seconds of a call that must time out."""


def shell(
    script: str, *, seconds: float = PATIENCE, text: str = "hello", folder: Path = Path(), **keys: Any
) -> Attempt:
    """What a call of a shell script comes to."""
    call = question(text, seconds=seconds)
    return ask(Agent("command", ("sh", "-c", script), **keys), call, folder=folder, environment=os.environ)


def said(attempt: Attempt) -> str | None:
    return attempt.reply.output if attempt.reply else None


@pytest.fixture
def nap() -> str:
    """A command that sleeps for long, and that no other test has."""
    return f"sleep {10**6 + uuid.uuid4().int % 10**9}"


def alive(command: str) -> bool:
    """Whether a process with these words runs, zombies aside."""
    wanted = command.replace(" ", "\0").encode() + b"\0"
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "cmdline").read_bytes() == wanted:
                    return True
            except OSError:
                continue
    return False


# --- what it is given and gives --------------------------------------------------------------


def test_text_is_the_output_without_the_line_end() -> None:
    attempt = shell("echo '  ten'; echo pm")
    assert (attempt.outcome, said(attempt)) == ("answered", "  ten\npm")
    assert (attempt.latency_ms or 0) > 0


def test_an_object_of_json_is_a_mapping() -> None:
    reply = {"output": "ten", "tool_calls": [{"name": "search", "arguments": {"a": 1}}], "tokens_used": 7}
    assert shell(f"echo '{json.dumps(reply)}'").reply == Reply(
        "ten", tool_calls=(ToolCall("search", {"a": 1}),), tokens_used=7
    )


def test_it_gets_one_object_on_standard_input() -> None:
    messages = ({"role": "user", "content": "zwölf"},)
    call = question(messages=messages, text=None, id="B", trial=2, scenario={"id": "B", "weight": 2})
    script = "import json, sys; given = json.loads(sys.stdin.readline()); print('GOT', json.dumps(given))"
    agent = Agent("command", (sys.executable, "-c", script))
    attempt = ask(agent, call, environment=os.environ)
    assert json.loads((said(attempt) or "").removeprefix("GOT ")) == {
        "input": None,
        "messages": [{"role": "user", "content": "zwölf"}],
        "id": "B",
        "trial": 2,
        "scenario": {"id": "B", "weight": 2},
    }


def test_it_runs_in_the_folder_of_the_suite_with_the_environment_that_was_given(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "agent"
    program.write_text('#!/bin/sh\necho "$PWD $NAME $1"\n', "utf-8")
    program.chmod(0o755)
    words = ("./bin/agent", "two words; $(rm)")
    attempt = ask(Agent("command", words), folder=tmp_path, environment={"NAME": "highbar", "PATH": os.defpath})
    assert said(attempt) == f"{tmp_path.resolve()} highbar two words; $(rm)"
    found = ask(Agent("command", ("agent", "x")), folder=tmp_path, environment={"PATH": str(tmp_path / "bin")})
    assert (said(found) or "").endswith(" x")


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 3", "exit code 3"),
        ("echo one >&2; echo 'two \x1b[2J ' >&2; echo >&2; echo answer; exit 1", r"exit code 1: two \x1b[2J"),
        ("kill -SEGV $$", "ended by SIGSEGV"),
        ("true", EMPTY_REPLY),
        ("printf '\\377 ten'", "malformed reply: standard output is not UTF-8 (byte 0)"),
        ('echo \'{"output": "I ref\'', "malformed reply: standard output begins with {, and it is not JSON"),
        ('echo \'{"output": "a", "output": "b"}\'', "an object has the key 'output' twice"),
        ('echo \'{"output": "a"} {"output": "b"}\'', "malformed reply: standard output begins with {"),
        ('echo \'{"label": "spam"}\'', "malformed reply: unknown key 'label'"),
        ('echo \'{"error": "no books"}\'', "no books"),
        ('printf \'\\357\\273\\277{"error": "no books"}\'', "no books"),
        ('echo \'{"output": "\\ud800"}\'', "malformed reply: output: the text"),
        ("printf '%0100000d' 0 | tr 0 '{'", "malformed reply: standard output begins with {"),
    ],
)
def test_everything_else_is_an_error(script: str, reason: str) -> None:
    attempt = shell(script)
    assert attempt.outcome == "error"
    assert reason in (attempt.reason or "")
    assert (attempt.reason or "").isprintable()


def test_what_a_failed_command_wrote_is_kept() -> None:
    assert said(shell("echo the secret; exit 1")) == "the secret\n"
    waits = (said(shell("echo the secret; exec sleep 10000", seconds=SHORT * 4**more)) for more in range(5))
    assert next(filter(None, waits)) == "the secret\n"  # a busy machine takes its time to start a shell


def test_one_that_never_reads_its_input_is_not_waited_for() -> None:
    assert said(shell("echo ten", text="x" * 10**6)) == "ten"
    assert said(shell("exec <&-; echo ten; sleep 0.1", text="x" * 10**6)) == "ten"


def test_a_large_input_arrives() -> None:
    assert said(shell("wc -c | tr -d ' '", text="x" * 10**6)) == str(
        len('{"input":"","messages":[{"role":"user","content":""}],"id":"A","trial":1,"scenario":{"id":"A"}}\n')
        + 2 * 10**6
    )


def test_output_has_a_largest_size() -> None:
    attempt = shell("yes", max_reply=10**6)
    assert (attempt.outcome, attempt.reason) == ("error", "the output is larger than 1000000 bytes (max_reply)")
    assert 0 < len(said(attempt) or "") <= 2**16
    assert len(said(shell("printf '%01000d' 0", max_reply=1000)) or "") == 1000


def test_errors_are_read_and_forgotten() -> None:
    attempt = shell("head -c 5000000 /dev/zero >&2; echo last >&2; echo ten")
    assert said(attempt) == "ten"
    assert (shell("head -c 5000000 /dev/zero >&2; echo; exit 2").reason or "").startswith(r"exit code 2: \x00")


# --- what is left of it ----------------------------------------------------------------------


@pytest.mark.hazard("H88")
@pytest.mark.parametrize(
    "script",
    [
        "{nap} & echo ten",
        "setsid {nap} & echo ten",
        "setsid sh -c '{nap} & setsid {nap} & {nap}' & echo ten",
        "env -i setsid sh -c 'setsid {nap} & exit 0' & wait; echo ten",
        "(trap '' TERM HUP INT; {nap}) & echo ten",
        "(exec >/dev/null 2>&1; setsid {nap}) & echo ten",
    ],
)
def test_descendants_that_hold_the_pipe_are_ended(script: str, nap: str) -> None:
    attempt = shell(script.replace("{nap}", nap))
    assert (attempt.outcome, said(attempt)) == ("answered", "ten")
    assert not alive(nap)


@pytest.mark.hazard("H88")
@pytest.mark.parametrize(
    "script",
    [
        "echo ten; {nap}",
        "setsid {nap} & echo ten; {nap}",
        "trap '' TERM; setsid {nap} & echo ten; while :; do {nap}; done",
        "kill -STOP $$",
    ],
)
def test_a_command_whose_time_is_up_is_ended_with_all_its_descendants(script: str, nap: str) -> None:
    attempt = shell(script.replace("{nap}", nap), seconds=SHORT)
    assert (attempt.outcome, attempt.reason) == ("error", "timed out after 0.3 s")
    assert (attempt.latency_ms or 0) >= 300
    assert not alive(nap)


def test_what_is_written_shortly_after_the_end_still_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_agent, "LINGER", PATIENCE)  # not a second: the machine may be busy
    assert said(shell("(sleep 0.2; echo late) & echo ten")) == "ten\nlate"


@pytest.mark.parametrize("script", ["kill -9 $PPID; {nap}", "{nap} & setsid {nap} & kill -9 $PPID; {nap}; exit 0"])
def test_a_command_that_kills_the_process_that_runs_it_has_no_answer_and_is_killed(script: str, nap: str) -> None:
    attempt = shell(script.replace("{nap}", nap))
    assert (attempt.outcome, attempt.reason) == ("infrastructure", "the process that ran the command was killed")
    assert not alive(nap)


def test_a_process_that_runs_commands_is_used_again_and_after_a_death_another_one_is() -> None:
    async def parents() -> list[str | None]:
        agent = Agent("command", ("sh", "-c", 'read line; case $line in *die*) kill -9 $PPID;; esac; echo "$PPID"'))
        async with opened(agent, folder=Path(), environment=os.environ) as caller:
            return [said(await caller.call(question(text))) for text in ("a", "b", "die", "c")]

    first, second, died, last = asyncio.run(parents())
    assert first == second
    assert died is None
    assert last not in (None, first)


def test_a_cancelled_call_leaves_nothing(nap: str) -> None:
    async def cancelled() -> None:
        agent = Agent("command", ("sh", "-c", f"setsid {nap} & {nap}"))
        async with opened(agent, folder=Path(), environment=os.environ) as caller:
            task = asyncio.create_task(caller.call(question()))
            await asyncio.to_thread(wait_for, lambda: alive(nap), "the command does not run")
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert not alive(nap)

    asyncio.run(cancelled())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_if_we_are_killed_nothing_of_the_command_is_left(number: int, nap: str) -> None:
    program = f"""
        import os
        from highbar.suite import Agent
        from tests.agent_calls import ask
        ask(Agent("command", ("sh", "-c", "setsid {nap} & {nap}")), environment=os.environ)
    """
    ours = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], cwd=ROOT, stderr=subprocess.DEVNULL)
    wait_for(lambda: alive(nap), "the command does not run")
    ours.send_signal(number)
    assert ours.wait(PATIENCE) != 0
    wait_for(lambda: not alive(nap), "the command still runs")


def test_commands_that_run_at_once_are_not_mixed_up() -> None:
    async def all_at_once() -> list[str | None]:
        agent = Agent("command", (sys.executable, "-S", "-c", "import json, sys; print(json.load(sys.stdin)['input'])"))
        async with opened(agent, folder=Path(), environment=os.environ) as caller:
            assert (caller.start, caller.most) == (os.cpu_count(), 2 * (os.cpu_count() or 1))
            found = await asyncio.gather(*(caller.call(question(f"number {i}")) for i in range(12)))
            return [said(attempt) for attempt in found]

    assert asyncio.run(all_at_once()) == [f"number {i}" for i in range(12)]


# --- what cannot be run ----------------------------------------------------------------------


def test_a_program_that_does_not_exist_is_refused_before_the_first_call(tmp_path: Path) -> None:
    (tmp_path / "beside").write_text("#!/bin/sh\n", "utf-8")
    for name, named, hint in (
        ("no-such-program", "'no-such-program' on the PATH", "installed"),
        ("beside", "'beside' on the PATH", " ./beside "),
        ("./no-such-program", "'./no-such-program'", "the suite's folder"),
        ("./beside", "'./beside'", "chmod +x ./beside"),
        ("/", "'/'", "the suite's folder"),
    ):
        with pytest.raises(InputError) as refused:
            ask(Agent("command", (name,)), folder=tmp_path, environment={"PATH": "/usr/bin:/bin"})
        (problem,) = refused.value.problems
        assert problem.code == "agent.no-program"
        assert named in problem.message
        assert hint in (problem.hint or "")


def test_a_script_without_a_first_line_is_an_error(tmp_path: Path) -> None:
    program = tmp_path / "agent"
    program.write_text("echo ten\n", "utf-8")
    program.chmod(0o755)
    attempt = ask(Agent("command", ("./agent",)), folder=tmp_path, environment=os.environ)
    assert attempt.outcome == "error"
    assert "a script needs a first line such as #!/bin/sh" in (attempt.reason or "")


@pytest.mark.parametrize(("number", "outcome"), [(errno.EAGAIN, "infrastructure"), (errno.EACCES, "error")])
def test_a_machine_that_is_full_is_not_the_agents_fault(number: int, outcome: str) -> None:
    attempt = _attempt(CommandEnd(0, failed=number), b"", Agent("command", ("x",)), 1.0)
    assert attempt.outcome == outcome
