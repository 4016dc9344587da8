"""The tools as a server of the official SDK. Standard output is for the protocol: nothing else is written there."""

from __future__ import annotations

import logging
import signal
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import anyio
import mcp_types as types
import msgspec
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

import highbar
from highbar.errors import HighbarError
from highbar.mcp_server.answering import Answered, answer_call, problems_answer, read_arguments
from highbar.mcp_server.confinement import Workspace
from highbar.mcp_server.runs import Allowance, RunAnswer, RunArguments, answer_run
from highbar.mcp_server.texts import as_document
from highbar.mcp_server.tools import INSTRUCTIONS, TOOLS, tool_schema
from highbar.report.visible import visible

RUN = "run"
MOST_OF_RUN = 3000
"""Bytes of the answer about a run."""
_READS = types.ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_RUNS = types.ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=True)
RUN_DESCRIPTION = (
    "Run the suite's own agent on its scenarios, and record the answers in a new run folder. It executes the code that"
    " the suite names and costs money: the server has one budget for all calls. Then ask check about the folder."
)
_log = logging.getLogger(__name__)
Context = ServerRequestContext[Any]


def make_server(workspace: Workspace, allowance: Allowance | None = None) -> Server[Any]:
    """A server for a folder. With an `allowance` it also has the tool `run`."""
    tools = {tool.name: tool for tool in TOOLS}

    async def list_tools(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools_for_client(with_run=allowance is not None))

    async def call_tool(_: Context, asked: types.CallToolRequestParams) -> types.CallToolResult:
        arguments = asked.arguments or {}
        is_run = asked.name == RUN and allowance is not None
        if asked.name not in tools and not is_run:
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {asked.name[:100]!a}")
        try:
            if is_run and allowance is not None:
                return _result(await _run(arguments, workspace, allowance))
            # In a thread: the guard of the folder does not watch the main thread, which runs the protocol.
            call = anyio.to_thread.run_sync(answer_call, tools[asked.name], arguments, workspace)
            return _result(await call)
        except Exception as error:  # noqa: BLE001 - the server must outlive a fault, and the client be told of it
            return _crash_result(asked.name, error)

    return Server(
        "highbar",
        version=highbar.__version__,
        title="Highbar: a quality gate for AI agents",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def serve_stdio(workspace: Workspace, allowance: Allowance | None, end: Callable[[int], None]) -> None:
    """Answer on standard input and output until the client closes them.

    On a signal, the current run is stopped, and `end` is called with the number of the signal. `end` must end the
    process, because a thread that waits for standard input cannot be stopped.
    """
    server = make_server(workspace, allowance)

    async def wait_for_signal() -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as received:
            async for number in received:
                if allowance is not None:
                    await allowance.stop()
                end(number)

    async with anyio.create_task_group() as tasks, stdio_server() as (read, write):
        tasks.start_soon(wait_for_signal)
        await server.run(read, write, server.create_initialization_options())
        tasks.cancel_scope.cancel()


def tools_for_client(*, with_run: bool) -> list[types.Tool]:
    """The descriptions of the tools for a client."""
    found = [_tool(tool.name, tool.title, tool.description, tool.arguments, tool.answer, _READS) for tool in TOOLS]
    if with_run:
        found.append(_tool(RUN, "Run the agent", RUN_DESCRIPTION, RunArguments, RunAnswer, _RUNS))
    return found


def _tool(
    name: str,
    title: str,
    description: str,
    arguments: type[msgspec.Struct],
    answer: type[msgspec.Struct],
    annotations: types.ToolAnnotations,
) -> types.Tool:
    return types.Tool(
        name=name,
        title=title,
        description=description,
        input_schema=tool_schema(arguments),
        output_schema=tool_schema(answer),
        annotations=annotations,
    )


async def _run(arguments: Mapping[str, Any], workspace: Workspace, allowance: Allowance) -> Answered:
    try:
        asked = read_arguments(RunArguments, arguments, workspace)
        return Answered(as_document(await answer_run(asked, workspace, allowance), MOST_OF_RUN, {}))
    except HighbarError as error:
        return problems_answer(error)


def _result(found: Answered) -> types.CallToolResult:
    """The document twice, as the protocol demands: as values, and as text for clients that do not read values."""
    text = types.TextContent(type="text", text=msgspec.json.encode(found.document).decode())
    return types.CallToolResult(content=[text], structured_content=dict(found.document), is_error=found.is_error)


def _crash_result(tool: str, error: Exception) -> types.CallToolResult:
    """The answer for a bug of ours. Its message goes only to the log, escaped: it may contain texts of the agent."""
    for line in "".join(traceback.format_exception(error)).splitlines():
        _log.error("%s: %s", tool, visible(line))
    message = f"internal error: {type(error).__name__}; the log of the server says where"
    return _result(Answered({"problems": [{"message": message}]}, is_error=True))
