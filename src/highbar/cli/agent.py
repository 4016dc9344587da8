"""`highbar agent try`: ask the agent one question, and show the reply, how it was read, and what a run makes of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from highbar.cli import streams
from highbar.cli.app import CommandGroup, help_of_group
from highbar.cli.guard import REFUSED
from highbar.errors import InputError, Problem
from highbar.language.phrases import count
from highbar.report import Display
from highbar.report.layout import columns, paint, paragraph, title
from highbar.report.visible import cut, visible

if TYPE_CHECKING:  # see try_
    from highbar.running.calls import AgentCall, Attempt, Reply
    from highbar.suite import Agent, Scenario, Suite

_SUITE = "suite.yaml"
_MOST_LINES = 40
"""Lines of a reply that are shown: enough for a quick look."""
_LONGEST_VALUE = 400
"""Characters of one value that are shown."""
_EXAMPLES = """\b
Examples:
  highbar agent try "When do you open on Saturday?"
  highbar agent try "Hello" --agent python:my_agent:answer
  highbar agent try "Hello" --agent "command: ./agent --json"
  highbar agent try --scenario HOURS-1 --suite suite.yaml
"""
_MEANING = {
    "error": "This is an error of the agent: in a run, this trial would fail and would not be retried.",
    "infrastructure": "This is a failure of the infrastructure, not of the agent: a run tries again, as often as its"
    " retries say. If nothing helps, the trial is undecided.",
}
_REFUSED = "A wrong key or a wrong address does this: if the first five trials of a run all end so, it stops."


_COMMANDS = {"try": "highbar.cli.agent:try_"}


@click.group(
    "agent",
    cls=CommandGroup,
    table=_COMMANDS,
    short_help="Try the agent on one question.",
    epilog=_EXAMPLES,
)
@click.pass_context
def command(context: click.Context) -> int:
    """Call the agent once, before a run calls it many times (try)."""
    return help_of_group(context)


@click.command("try", short_help="Ask the agent one question, and show what came back.", epilog=_EXAMPLES)
@click.argument("question", required=False)
@click.option(
    "--suite", "file", type=click.Path(), metavar="FILE", help=f"The suite that names the agent; else {_SUITE}."
)
@click.option("--agent", "named", metavar="AGENT", help="python:module:function, an address, or 'command: words'.")
@click.option(
    "--scenario", metavar="ID", help="Ask what this scenario of the suite asks, its first turn if it has several."
)
@click.option("--timeout", metavar="TIME", help="How long to wait, such as 60s; else as the suite says.")
def try_(question: str | None, file: str | None, named: str | None, scenario: str | None, timeout: str | None) -> int:
    """Ask the agent QUESTION, once, and show what came back, how it was read, and how long it took.

    Nothing is judged or recorded. The exit code is 0 if the agent answered, and 2 if it did not.
    """
    from highbar.running.loops import run_in_loop  # not needed for help

    suite = _suite(file, needed=named is None or scenario is not None)
    agent = _agent(suite, named)
    chosen = _scenario(suite, scenario)
    call = _call(question, chosen, _seconds(timeout, suite, chosen))
    folder = Path(file or _SUITE).parent
    started_ms, attempt = run_in_loop(_ask(agent, folder, call))
    streams.print_text("\n".join(_lines(attempt, started_ms, streams.display(sys.stdout))) + "\n")
    return 0 if attempt.outcome == "answered" else REFUSED


def _suite(file: str | None, *, needed: bool) -> Suite | None:
    from highbar.suite import read  # see try_

    if file is None and not Path(_SUITE).exists():
        if needed:
            hint = "name the suite with --suite, or the agent with --agent"
            raise InputError(Problem("suite.missing", f"there is no {_SUITE} here", hint=hint))
        return None
    return read(file or _SUITE) if needed else None


def _agent(suite: Suite | None, named: str | None) -> Agent:
    from highbar.suite.agent_text import read_agent_text  # as above

    if named is not None:
        return read_agent_text(named)
    if suite is None or suite.agent is None:
        hint = "add an agent block, such as agent: {python: module:function}, or use --agent"
        raise InputError(
            Problem("agent.missing", "the suite names no agent", file=suite.file if suite else None, hint=hint)
        )
    return suite.agent


def _scenario(suite: Suite | None, id_: str | None) -> Scenario | None:
    from highbar.language.spelling import did_you_mean  # as above

    if id_ is None or suite is None:
        return None
    found = suite.scenarios.get(id_)
    if found is None:
        raise InputError(
            Problem(
                "suite.unknown-scenario",
                f"the suite has no scenario '{id_[:60]}'",
                hint=did_you_mean(id_, suite.scenarios),
            )
        )
    if found.asked is None and not found.messages:
        raise InputError(
            Problem(
                "suite.no-question",
                f"{id_}: there is nothing to ask the agent",
                hint="give it an input, turns or messages",
            )
        )
    return found


def _call(question: str | None, scenario: Scenario | None, seconds: float) -> AgentCall:
    from msgspec.structs import replace  # as above

    from highbar.running.calls import AgentCall  # as above
    from highbar.running.conversation import Conversation  # as above

    if (question is None) == (scenario is None):
        hint = 'highbar agent try "a question", or --scenario ID'
        raise InputError(Problem("option.missing", "wanted either a question or a scenario", hint=hint))
    if scenario is not None:
        return replace(Conversation(scenario, 1, None).question(), timeout=seconds)
    says = {"role": "user", "content": question}
    return AgentCall("try", 1, (says,), question, {"id": "try", "input": question}, seconds)


def _seconds(text: str | None, suite: Suite | None, scenario: Scenario | None) -> float:
    from highbar.suite import RunSettings  # as above
    from highbar.suite.amounts import seconds  # as above

    if text is None:
        run = RunSettings() if suite is None else suite.run
        return float(run.timeout if scenario is None else scenario.timeout)
    found = seconds(text)
    if not found:
        raise InputError(
            Problem(
                "option.bad-value",
                f"--timeout: found '{text[:60]}', wanted a time such as 60s",
                hint="write the unit: 60s",
            )
        )
    return float(found)


async def _ask(agent: Agent, folder: Path, call: AgentCall) -> tuple[float, Attempt]:
    """The milliseconds until the agent could be called, and the result of the call."""
    from time import perf_counter  # as above

    from highbar.running.agents import opened  # as above

    began = perf_counter()
    async with opened(agent, folder=folder, environment=os.environ) as caller:
        return (perf_counter() - began) * 1000, await caller.call(call)


# --- output ----------------------------------------------------------------------------------


def _lines(attempt: Attempt, started_ms: float, screen: Display) -> Iterator[str]:
    if attempt.outcome == "answered":
        yield paint("The agent answered.", "bold green", screen)
    else:
        yield paint("The agent did not answer.", "bold red", screen)
        yield from paragraph(visible(attempt.reason or "no reason was given"), 2, screen)
        yield from paragraph(_MEANING[attempt.outcome], 2, screen)
        yield from paragraph(_REFUSED, 2, screen) if attempt.refusal else ()
    if attempt.reply is not None:
        yield from _reply(attempt.reply, screen)
    rows = [("startup", f"{started_ms:,.1f} ms")]
    if attempt.latency_ms is not None:
        rows.append(("the call", f"{attempt.latency_ms:,.1f} ms"))
    if attempt.retry_after is not None:
        rows.append(("asks to wait", f"{attempt.retry_after:g} s"))
    yield from [*title("Time", screen), *columns(rows, 2, screen)]


def _reply(reply: Reply, screen: Display) -> Iterator[str]:
    if reply.output is not None:
        yield from [*title("Output", screen), *_text(reply.output, screen)]
    if reply.tool_calls:
        calls = [(visible(call.name), _json(call.arguments)) for call in reply.tool_calls]
        yield from [*title("Tool calls", screen), *columns(calls, 2, screen)]
    yield from [*title("How it was read", screen), *columns(list(_fields(reply)), 2, screen)]


def _text(text: str, screen: Display) -> Iterator[str]:
    """The first lines of the text, made harmless for a terminal, and how many more there are."""
    lines = text.split("\n")
    for line in lines[:_MOST_LINES]:
        yield from paragraph(visible(line), 2, screen) or [""]
    if len(lines) > _MOST_LINES:
        yield f"  … {count(len(lines) - _MOST_LINES, 'more line')}"


def _fields(reply: Reply) -> Iterator[tuple[str, str]]:
    """Each key of the reply and how its value was read; tokens and cost even if not reported."""
    yield "output", "none" if reply.output is None else f"text of {count(len(reply.output), 'character')}"
    yield "tool_calls", str(len(reply.tool_calls)) if reply.tool_calls else "none"
    for key in ("tokens_used", "cost_usd"):
        value = getattr(reply, key)
        yield key, "not reported" if value is None else f"{value:f}" if isinstance(value, Decimal) else str(value)
    for key in ("messages", "state", "context", "agent_version", "tags", "behaviors", "quality_score", "error"):
        value = getattr(reply, key)
        if value is not None and value not in ((), {}):
            yield key, visible(value) if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    from msgspec.json import Encoder  # see try_

    return cut(visible(Encoder(decimal_format="number").encode(value).decode()), _LONGEST_VALUE)
