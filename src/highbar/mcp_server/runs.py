"""`run`, if whoever started the server has allowed it: the suite's own agent is run, within one budget for all calls.

The command line runs it, in a process of its own: what the agent prints, and how it ends, is kept from the protocol,
and a call that the client gives up can be stopped before it costs more.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import anyio
from anyio.abc import Process
from msgspec import Meta, Struct, field

from highbar.errors import InputError, Problem
from highbar.mcp_server.arguments import IS_PATH, RecordedAnswer, ToolArguments, Word
from highbar.mcp_server.confinement import Workspace
from highbar.mcp_server.texts import UNTRUSTED
from highbar.store.run_document import RESULTS, read_run_document

FOLDER = "runs"
_PATIENCE = 30.0
"""Seconds for a run to end what it has begun, once the client has given up."""
_MOST_SAID = 2000
"""Bytes from the end of what a run printed: enough for its last message."""
_SMALLEST = 10**9
"""Parts of a dollar in which the command line reads a budget."""
_UNKNOWN = "what this run cost is not known, so the budget counts as used up"


class RunArguments(ToolArguments, frozen=True, kw_only=True):
    """What `run` is asked."""

    suite: Annotated[str, Meta(extra=IS_PATH, description="The suite file. Its own agent is run.")] = "suite.yaml"
    only: Annotated[
        tuple[Word, ...],
        Meta(max_length=50, description="Only these scenarios; * matches any text. check judges whole runs only."),
    ] = ()
    trials: Annotated[
        Annotated[int, Meta(ge=1, le=100)] | None, Meta(description="How often each scenario; else as the suite says.")
    ] = None


class RunAnswer(RecordedAnswer, frozen=True, omit_defaults=True, kw_only=True):
    """What a run did. The folder is what `check`, `list_failures` and `show_trial` read."""

    folder: str
    state: Annotated[str, Meta(description="complete, or what ended it: budget, time, interrupted.")]
    whole: Annotated[bool, Meta(description="Whether all scenarios of the suite were run: only then check judges it.")]
    answered: int
    errors: int
    undecided: int
    cost_usd: Annotated[float | None, Meta(description="Of agent and judge; absent if it is not known.")] = None
    budget_left_usd: float
    notes: tuple[str, ...] = ()


class Allowance(Struct):
    """What runs may still cost, over the whole life of a server. One run at a time: two could spend it twice."""

    left: Fraction
    is_running: bool = False
    is_cut: bool = False  # a run was ended in the middle of calls, of which nobody knows what they cost
    process: Process | None = None
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))  # while no other tool is at work

    async def stop(self) -> None:
        """End the run that is under way, so that what was answered is recorded."""
        if self.process is not None:
            await _stop(self.process)


async def answer_run(asked: RunArguments, workspace: Workspace, allowance: Allowance) -> RunAnswer:
    """Run the suite's agent with what is left of the budget, and take what it cost from that. Raises InputError."""
    _refuse_beyond(workspace, allowance)
    name = f"{FOLDER}/mcp-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.urandom(2).hex()}"
    folder = workspace.root / name
    allowance.is_running = True
    before, allowance.left = allowance.left, Fraction(0)  # if what it cost is never counted, nothing is left
    try:
        said = await _carried_out(_command(asked, name, before), workspace.root, allowance)
    finally:
        cost = _cost(folder)
        allowance.left = Fraction(0) if cost is None or allowance.is_cut else max(before - cost, Fraction(0))
        allowance.is_running = False
    if not folder.exists():
        raise InputError(Problem("the run could not begin", asked.suite, hint=said))
    document = read_run_document(folder)
    return RunAnswer(
        untrusted=UNTRUSTED,
        folder=name,
        state=document.state,
        whole=document.whole,
        answered=document.done.answered,
        errors=document.done.errors,
        undecided=document.done.undecided,
        cost_usd=None if cost is None else float(cost),
        budget_left_usd=float(allowance.left),
        notes=() if cost is not None else (_UNKNOWN,),
    )


def _refuse_beyond(workspace: Workspace, allowance: Allowance) -> None:
    """Refuse a run beside another one, without money, or into a folder that is elsewhere."""
    if allowance.is_running:
        raise InputError(Problem("a run is under way", hint="one at a time: wait for its answer"))
    if _money(allowance.left) is None:
        hint = "whoever started the server can start it again; check, list_failures and show_trial cost nothing"
        raise InputError(Problem("the budget of this server is used up", hint=hint))
    workspace.inside(FOLDER)


def _money(amount: Fraction) -> str | None:
    """An amount as the command line reads it, rounded down; None if nothing is left."""
    parts = amount.numerator * _SMALLEST // amount.denominator
    return f"${Decimal(parts) / _SMALLEST:f}" if parts > 0 else None


def _command(asked: RunArguments, folder: str, budget: Fraction) -> list[str]:
    """The command line. The agent is the suite's own; no text of the client can be an option."""
    command = [sys.executable, "-P", "-m", "highbar", "run", "--no-check", "--quiet"]
    command += [f"--output={folder}", f"--budget={_money(budget)}", *(f"--only={one}" for one in asked.only)]
    command += [] if asked.trials is None else [f"--trials={asked.trials}"]
    return [*command, "--", asked.suite]


async def _carried_out(command: list[str], root: Path, allowance: Allowance) -> str:
    """Wait for the end of a run; the end of what it said. If the client gives up, it begins nothing more."""
    process = await anyio.open_process(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=root,
        env=allowance.environment,
    )
    allowance.process = process
    said = b""
    try:
        async for block in process.stdout or ():  # type: ignore[union-attr] # a pipe, as asked for above
            said = (said + block)[-_MOST_SAID:]
        await process.wait()
    finally:
        allowance.process = None
        with anyio.CancelScope(shield=True):  # not `async with process`, which would kill it
            allowance.is_cut = await _stop(process)
            await process.aclose()
    return said.decode("utf-8", "replace")


async def _stop(process: Process) -> bool:
    """End a run so that what was answered is recorded: first as Ctrl-C does, then at once; whether that was needed."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        if process.returncode is not None:
            return number == signal.SIGKILL
        with suppress(ProcessLookupError):
            process.send_signal(number)
        with anyio.move_on_after(_PATIENCE):
            await process.wait()
    return True


def _cost(folder: Path) -> Fraction | None:
    """What agent and judge cost; None if that is not known: an unknown price is not 0."""
    if not folder.exists():  # it appears before the first call
        return Fraction(0)
    try:
        judge, agent = read_run_document(folder).judge, _cost_of_agent(folder)
    except (InputError, OSError, ValueError):
        return None
    if agent is None or judge is None:
        return agent
    return None if judge.cost_usd is None else agent + Fraction(judge.cost_usd)


def _cost_of_agent(folder: Path) -> Fraction | None:
    """The sum over the rows of a run; None if an answer has no cost, or if there are only errors without one.

    An error may have been paid for, so that one without a cost counts as much as the costliest row.
    """
    known: list[Fraction] = []
    errors = 0
    with (folder / RESULTS).open(encoding="utf-8") as stream:
        for text in stream:
            row: dict[str, Any] = json.loads(text, parse_float=Decimal)
            cost = row.get("cost_usd")
            if cost is not None:
                known.append(Fraction(cost))
            elif row.get("error"):
                errors += 1
            elif not str(row.get("unjudged", "")).startswith("not run"):
                return None
    if errors and not known:
        return None
    return sum(known, Fraction(0)) + errors * max(known, default=Fraction(0))
