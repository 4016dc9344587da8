"""An agent that is a command: one JSON object on its standard input, text or one JSON object on its standard output.

The command runs in the suite's folder. A program whose name has a slash (`./agent`) is searched from there, any other
on the PATH. There is no shell. A keeper process (see `keeper`) runs each command, and ends everything it leaves behind.
"""

from __future__ import annotations

import asyncio
import errno
import math
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import msgspec

from highbar.errors import InputError, Problem
from highbar.report.visible import cut, visible
from highbar.running.agents import keeper
from highbar.running.agents.json_text import decode_reply
from highbar.running.agents.replies import MOST_OF_AN_ERROR, MalformedReply, read_attempt
from highbar.running.calls import AgentCall, Attempt, Reply
from highbar.running.standing_still import StandingStill
from highbar.scarcity import SCARCE, fewer_at_once
from highbar.suite.parts import Agent

LINGER = 1.0
"""Seconds for which pipes are read after the command has ended, if one of its descendants keeps them open."""
_PATIENCE = 10.0
"""Seconds beyond the call's own timeout after which the keeper counts as stuck."""
_LONGEST_LINE = 200
"""Characters that a reason quotes of the last line of standard error."""
_MARK = "HIGHBAR_COMMAND"
"""The environment variable that all descendants of a keeper inherit, to find them if the keeper was killed."""
_TO_BE_KILLED = 2.0
"""Seconds to find and kill leftover processes."""
_BUFFER = 2**20
_encode = msgspec.json.Encoder(decimal_format="number").encode


class CommandEnd(msgspec.Struct, frozen=True):
    """How a command ended, as the keeper reports it.

    `failed` is the errno if it could not be started. `size` is that of the output. `escaped` names processes that could
    not be ended. `refused`: it failed, and the system refused a process meanwhile, or would refuse one now.
    """

    size: int
    exit: int | None = None
    timed_out: bool = False
    too_large: bool = False
    latency_ms: float | None = None
    errors: str = ""
    escaped: tuple[str, ...] = ()
    failed: int | None = None
    refused: bool = False


_decode_end = msgspec.json.Decoder(CommandEnd).decode


class CommandAgent:
    """Runs a command for each call. `escaped` names the processes that could not be ended."""

    ahead = False

    def __init__(self, agent: Agent, folder: Path, environment: Mapping[str, str]) -> None:
        self.agent = agent
        self.start = os.cpu_count() or 1
        self.most = 2 * self.start
        self.escaped: list[str] = []
        self._environment = dict(environment)
        self._request = {
            "words": _command_words(agent.target, folder.resolve(), self._environment),
            "folder": str(folder.resolve()),
            "max_reply": agent.max_reply,
            "linger": LINGER,
        }
        self._idle: list[_Keeper] = []
        self._keepers: list[_Keeper] = []
        self._still = StandingStill()
        self._in_use, self._most_in_use = 0, math.inf
        self._freed = asyncio.Event()

    async def __aenter__(self) -> Self:
        await self._still.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._still.__aexit__()
        await asyncio.gather(*(one.end() for one in self._keepers))

    def allow(self, at_once: int) -> None:
        """Do nothing: no question is handed over ahead."""

    async def call(self, call: AgentCall) -> Attempt:
        """Make one attempt: run the command once."""
        try:
            one = await self._free_keeper()
        except OSError as error:
            return _not_started(error.errno)
        self._in_use += 1
        try:
            return await self._ask(one, call)
        finally:
            self._in_use -= 1
            self._freed.set()

    async def _ask(self, one: _Keeper, call: AgentCall) -> Attempt:
        try:
            async with self._still.timeout(call.timeout + _PATIENCE):
                end, output = await one.ask({**self._request, "timeout": call.timeout}, _input_of(call))
        except asyncio.CancelledError:
            one.close()
            raise
        except TimeoutError:
            one.close()
            return Attempt("error", reason=f"timed out after {call.timeout:g} s")
        except (OSError, EOFError, msgspec.MsgspecError):  # for lack of memory, for example
            self.escaped += await one.kill()
            return Attempt("infrastructure", reason="the process that ran the command was killed")
        self.escaped += end.escaped
        if not end.escaped:  # otherwise the keeper has exited
            self._idle.append(one)
        if end.refused or end.failed in SCARCE:
            self._most_in_use = (min(self._in_use, self._most_in_use) + 1) // 2
        return _attempt(end, output, self.agent, call.timeout)

    async def _free_keeper(self) -> _Keeper:
        """An idle keeper, or a new one; if this system allows no more of them, wait for one.

        Raises OSError if there is none at all.
        """
        while True:
            while self._idle and self._in_use < self._most_in_use:
                one = self._idle.pop()
                if one.process.poll() is None:  # not killed in the meantime, for example for lack of memory
                    return one
            try:
                if self._in_use < self._most_in_use:
                    return await self._start_keeper()
            except OSError:
                if not self._in_use:
                    raise
                # Half of them, because each command is a process, too, and may need more of them.
                self._most_in_use = (self._in_use + 1) // 2
            self._freed.clear()
            await self._freed.wait()

    @property
    def shortage(self) -> str | None:
        """What this system allows too little of, and what that led to."""
        return None if self._most_in_use == math.inf else fewer_at_once("processes", int(self._most_in_use))

    async def _start_keeper(self) -> _Keeper:
        """Start a keeper, in a session of its own, so that Ctrl-C reaches neither it nor any command."""
        mark = uuid.uuid4().hex
        # Not by asyncio, which may start a thread for each process.
        process = subprocess.Popen(  # noqa: ASYNC220, S603 - it returns at once, and starts our own script
            (sys.executable, "-I", "-S", keeper.__file__),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**self._environment, _MARK: mark},
            start_new_session=True,
        )
        one = _Keeper(process, mark)
        self._keepers.append(one)
        await one.connect()
        return one


class _Keeper:
    """The process that runs commands, one at a time."""

    def __init__(self, process: subprocess.Popen[bytes], mark: str) -> None:
        self.process = process
        self.mark = mark
        self._reader = asyncio.StreamReader(_BUFFER)
        self._files: list[asyncio.BaseTransport] = []
        self._writer: asyncio.StreamWriter | None = None

    async def connect(self) -> None:
        """Connect its pipes to the loop."""
        loop, protocol = asyncio.get_running_loop(), asyncio.StreamReaderProtocol(self._reader)
        reading, _ = await loop.connect_read_pipe(lambda: protocol, self.process.stdout)
        writing, flow = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, self.process.stdin)
        self._files += [reading, writing]
        self._writer = asyncio.StreamWriter(writing, flow, None, loop)

    async def ask(self, request: Mapping[str, Any], given: bytes) -> tuple[CommandEnd, bytes]:
        """Run a command, and return how it ended and its output. Raises EOFError or OSError if the keeper is gone."""
        reader, writer = self._reader, self._writer
        if writer is None:
            raise EOFError
        head = _encode({**request, "size": len(given)})
        writer.write(keeper.LENGTH.pack(len(head)) + head + given)
        await writer.drain()
        (length,) = keeper.LENGTH.unpack(await reader.readexactly(keeper.LENGTH.size))
        end = _decode_end(await reader.readexactly(length))
        return end, await reader.readexactly(min(end.size, request["max_reply"]))

    def close(self) -> None:
        """Tell the keeper to end everything and exit, without waiting for it."""
        if self._writer is not None:
            self._writer.close()
        elif self.process.stdin is not None:
            self.process.stdin.close()

    async def end(self) -> None:
        """Tell the keeper to end everything and exit, and wait for that."""
        self.close()
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._wait()
        except TimeoutError:
            await self.kill()
            await self._wait()
        for file in self._files:
            file.close()

    async def _wait(self) -> None:
        pause = 0.001
        while self.process.poll() is None:
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.05)

    async def kill(self) -> list[str]:
        """Kill the keeper and everything that it started. Returns the ids of processes that could not be ended."""
        self.close()
        self.process.kill()
        try:
            return await asyncio.to_thread(_end_marked, self.mark)
        except RuntimeError:  # this system allows no more threads
            return _end_marked(self.mark)


def _end_marked(mark: str) -> list[str]:
    """Kill every process with this mark, on Linux. Returns the ids of those that are left after two seconds."""
    end = time.monotonic() + _TO_BE_KILLED
    while True:
        left = list(_marked(f"{_MARK}={mark}".encode()))
        if not left or time.monotonic() > end:
            return [str(pid) for pid in left]
        for pid in left:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _marked(entry: bytes) -> Iterator[int]:
    """The ids of processes with this entry in their environment. Zombies have none, so they are not found."""
    processes = Path("/proc")
    for process in processes.iterdir() if processes.is_dir() else ():
        if process.name.isdigit():
            with suppress(OSError):  # it belongs to another user, or has ended
                if entry in (process / "environ").read_bytes().split(b"\0"):
                    yield int(process.name)


def _command_words(target: str | tuple[str, ...], folder: Path, environment: Mapping[str, str]) -> list[str]:
    """The words of the command, with the absolute path of the program. Raises InputError if it cannot be run."""
    if os.name != "posix":
        raise InputError(
            Problem("machine.unsupported", "an agent that is a command needs Linux or macOS", hint="use python or http")
        )
    name, *rest = (target,) if isinstance(target, str) else target
    if "/" not in name:
        found = shutil.which(name, path=environment.get("PATH", os.defpath))
        if found is None:
            hint = f"write ./{name} for the one beside the suite" if (folder / name).exists() else "is it installed?"
            raise InputError(Problem("agent.no-program", f"there is no program '{name[:60]}' on the PATH", hint=hint))
        return [str(Path(found).absolute()), *rest]
    path = folder / name
    if not path.is_file():
        raise InputError(
            Problem(
                "agent.no-program",
                f"there is no program '{name[:60]}'",
                hint="it is looked for from the suite's folder",
            )
        )
    if not os.access(path, os.X_OK):
        raise InputError(Problem("agent.no-program", f"'{name[:60]}' is not executable", hint=f"chmod +x {name[:60]}"))
    return [str(path), *rest]


def _input_of(call: AgentCall) -> bytes:
    """The JSON object for standard input, with a line end, which programs that read lines wait for."""
    question = {
        "input": call.text,
        "messages": call.messages,
        "id": call.id,
        "trial": call.trial,
        "scenario": call.scenario,
    }
    return _encode(question) + b"\n"


def _attempt(end: CommandEnd, output: bytes, agent: Agent, timeout: float) -> Attempt:
    if end.failed is not None:
        return _not_started(end.failed)
    reason = _failure(end, timeout, agent)
    if end.refused:
        return Attempt("infrastructure", reason=f"this system allows no more processes: {reason}")
    if reason is None:
        try:
            return read_attempt(_read_output(output), agent, end.latency_ms)
        except MalformedReply as error:
            reason = f"malformed reply: {error}"
    text = output.decode("utf-8", "replace")[:MOST_OF_AN_ERROR]
    return Attempt("error", Reply(output=text) if text.strip() else None, reason, end.latency_ms)


def _not_started(number: int | None) -> Attempt:
    """Too little memory or too many processes are not the agent's fault; a program that cannot be run is an error."""
    reason = f"the command could not be started: {os.strerror(number or errno.EINVAL)}"
    if number in SCARCE:
        return Attempt("infrastructure", reason=reason, limited=True)
    if number == errno.ENOEXEC:
        reason += " (a script needs a first line such as #!/bin/sh)"
    return Attempt("error", reason=reason)


def _failure(end: CommandEnd, timeout: float, agent: Agent) -> str | None:
    """Why the command gave no answer; None if it did."""
    if end.too_large:
        return f"the output is larger than {agent.max_reply} bytes (max_reply)"
    if end.timed_out:
        return f"timed out after {timeout:g} s"
    if end.exit == 0:
        return None
    code = end.exit if end.exit is not None else 0
    what = f"ended by {_signal_name(-code)}" if code < 0 else f"exit code {code}"
    last = next((line for line in reversed(end.errors.splitlines()) if line.strip()), "")
    return f"{what}: {cut(visible(last.strip()), _LONGEST_LINE)}" if last else what


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _read_output(output: bytes) -> Any:
    """The output as a mapping if it is a JSON object, else as text without the line end that programs write.

    Output that begins like an object but is not valid JSON was probably cut. It is malformed, and not taken for text.
    """
    try:
        text = output.decode("utf-8-sig")  # some programs begin with a byte order mark
    except UnicodeDecodeError as error:
        raise MalformedReply(f"standard output is not UTF-8 (byte {error.start})") from None
    if not text.lstrip().startswith("{"):
        return text.rstrip("\r\n")
    try:
        return decode_reply(text)
    except MalformedReply as error:
        raise MalformedReply(f"standard output begins with {{, and {error}") from None
