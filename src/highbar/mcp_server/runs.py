"""`run`, if the server was started with it: runs the suite's own agent, within one budget for all calls.

It starts the command line as a process of its own: so nothing that the agent prints or breaks affects the protocol, and
a call that the client gives up can be stopped before it costs more.
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
from typing import Annotated

import anyio
from anyio.abc import Process
from msgspec import Meta, Struct, field

from highbar.errors import InputError, Problem
from highbar.mcp_server.arguments import IS_PATH, ToolArguments, UntrustedAnswer, Word
from highbar.mcp_server.confinement import Workspace
from highbar.mcp_server.texts import UNTRUSTED
from highbar.store.run_document import RESULTS, read_run_document

FOLDER = "runs"
_PATIENCE = 30.0
"""Seconds that a run has, after each signal, to finish the calls that it has begun."""
_MOST_SAID = 2000
"""Bytes of a run's output, from its end: enough for the last message."""
_SMALLEST = 10**9
"""The parts of a dollar that the command line can read in a budget."""
_MOST_PLACES = 30
"""Decimal places of an amount in USD, before or after the point."""
_UNKNOWN = "what this run cost is not known, so the budget counts as used up"


class RunArguments(ToolArguments, frozen=True, kw_only=True):
    """The arguments of `run`."""

    suite: Annotated[str, Meta(extra=IS_PATH, description="The suite file. Its own agent is run.")] = "suite.yaml"
    only: Annotated[
        tuple[Word, ...],
        Meta(max_length=50, description="Only these scenarios; * matches any text. check judges whole runs only."),
    ] = ()
    trials: Annotated[
        Annotated[int, Meta(ge=1, le=100)] | None, Meta(description="How often each scenario; else as the suite says.")
    ] = None


class RunAnswer(UntrustedAnswer, frozen=True, omit_defaults=True, kw_only=True):
    """What a run did, and the folder for `check`, `list_failures` and `show_trial`."""

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
    """What runs may still cost in the whole life of a server. One run at a time: two could spend the same money."""

    left: Fraction
    is_running: bool = False
    is_cut: bool = False  # the run was killed during calls whose cost is not known
    process: Process | None = None
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))  # at the start: `confined` changes it

    async def stop(self) -> None:
        """Stop the current run, so that the answers it has are recorded."""
        if self.process is not None:
            await _stop(self.process)


async def answer_run(asked: RunArguments, workspace: Workspace, allowance: Allowance) -> RunAnswer:
    """Run the suite's agent with the rest of the budget, and subtract what it cost. Raises InputError."""
    _refuse_beyond(workspace, allowance)
    name = f"{FOLDER}/mcp-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.urandom(2).hex()}"
    folder = workspace.root / name
    allowance.is_running = True
    before, allowance.left = allowance.left, Fraction(0)  # fail closed: if the cost is never known, nothing is left
    try:
        said = await _run_process(_command(asked, name, before), workspace.root, allowance)
    finally:
        allowance.is_running = False  # first: whatever happens below, the next run is not refused because of this one
        cost = _cost(folder)
        allowance.left = Fraction(0) if cost is None or allowance.is_cut else max(before - cost, Fraction(0))
    if not folder.exists():
        raise InputError(Problem("mcp.run-refused", "the run could not begin", asked.suite, hint=said))
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
    """Raise InputError if another run is going on, if no budget is left, or if the run folder would be outside."""
    if allowance.is_running:
        raise InputError(Problem("mcp.run-refused", "a run is under way", hint="one at a time: wait for its answer"))
    if _money(allowance.left) is None:
        hint = "whoever started the server can start it again; check, list_failures and show_trial cost nothing"
        raise InputError(Problem("mcp.run-refused", "the budget of this server is used up", hint=hint))
    workspace.inside(FOLDER)


def _money(amount: Fraction) -> str | None:
    """An amount as the command line reads it, rounded down; None if that is 0."""
    parts = amount.numerator * _SMALLEST // amount.denominator
    return f"${Decimal(parts) / _SMALLEST:f}" if parts > 0 else None


def _command(asked: RunArguments, folder: str, budget: Fraction) -> list[str]:
    """The command line. It names no agent, so that the suite's own is run; no text of the client becomes an option."""
    # `-P` keeps the folder off the module path: a file `highbar.py` in it must not be run instead of Highbar.
    command = [sys.executable, "-P", "-m", "highbar", "run", "--no-check", "--quiet"]
    command += [f"--output={folder}", f"--budget={_money(budget)}", *(f"--only={one}" for one in asked.only)]
    command += [] if asked.trials is None else [f"--trials={asked.trials}"]
    return [*command, "--", asked.suite]


async def _run_process(command: list[str], root: Path, allowance: Allowance) -> str:
    """Carry out a run, and return the end of its output. If the client gives up, the run is stopped."""
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
        with anyio.CancelScope(shield=True):  # not `async with process`, which would kill it at once
            allowance.is_cut = await _stop(process)
            await process.aclose()
    return said.decode("utf-8", "replace")


async def _stop(process: Process) -> bool:
    """Stop a run, first as Ctrl-C does, so that its answers are recorded; then by force. Whether force was needed."""
    # On SIGINT a run waits for the calls that it has begun; on SIGTERM it stops at once.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        if process.returncode is not None:
            return number == signal.SIGKILL
        with suppress(ProcessLookupError):
            process.send_signal(number)
        with anyio.move_on_after(_PATIENCE):
            await process.wait()
    return True


def _cost(folder: Path) -> Fraction | None:
    """What agent and judge cost; None if that is not known: an unknown cost is not 0."""
    if not folder.exists():  # the folder is created before the first call, so that nothing was called
        return Fraction(0)
    try:
        judge, agent = read_run_document(folder).judge, _cost_of_agent(folder)
    except (InputError, OSError, ValueError, ArithmeticError, RecursionError):
        return None
    if agent is None or judge is None:
        return agent
    return None if judge.cost_usd is None or judge.cost_usd < 0 else agent + Fraction(judge.cost_usd)


def _cost_of_agent(folder: Path) -> Fraction | None:
    """The sum over the rows of a run; None if an answer has no cost, or if there are errors and no row has a cost.

    An error may have cost something, too: without a recorded cost it counts as much as the costliest row.
    """
    known: list[Fraction] = []
    errors = 0
    with (folder / RESULTS).open(encoding="utf-8") as stream:
        for text in stream:
            row = json.loads(text, parse_float=Decimal)
            if not isinstance(row, dict):
                return None
            cost = row.get("cost_usd")
            if cost is not None:
                if not _is_amount(cost):
                    return None
                known.append(Fraction(cost))
            elif row.get("error"):
                errors += 1
            elif not str(row.get("unjudged", "")).startswith("not run"):
                return None
    if errors and not known:
        return None
    return sum(known, Fraction(0)) + errors * max(known, default=Fraction(0))


def _is_amount(cost: object) -> bool:
    """Whether this is an amount in USD. An agent can write into the folder: a negative cost would add to the budget."""
    if isinstance(cost, Decimal) and (not cost.is_finite() or abs(cost.adjusted()) > _MOST_PLACES):
        return False  # 1e-999999999 as a fraction would fill the memory
    return isinstance(cost, int | Decimal) and not isinstance(cost, bool) and cost >= 0
