"""Asks the server as a client does: with the SDK's own client, in memory or over the real process."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import unicodedata
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from highbar.mcp_server.answering import MOST_PROBLEMS, answer_call
from highbar.mcp_server.confinement import Workspace
from highbar.mcp_server.serving import make_server
from highbar.mcp_server.texts import size_of
from highbar.mcp_server.tools import TOOLS

MOST = {tool.name: tool.most for tool in TOOLS}


@dataclass(frozen=True, slots=True)
class Reply:
    """What a client was told: the document, and whether it lists problems."""

    document: dict[str, Any]
    is_error: bool
    size: int

    @property
    def codes(self) -> list[str]:
        """The codes of the problems, in order."""
        assert self.is_error, self.document
        return [one["code"] for one in self.document["problems"]]

    @property
    def problems(self) -> str:
        """Every problem as one text."""
        assert self.is_error, self.document
        return "\n".join(
            f"{one.get('file')}:{one.get('line')}: {one['message']}\nhint: {one.get('hint')}"
            for one in self.document["problems"]
        )


def ask(folder: Path, tool: str, /, workspace: Workspace | None = None, **arguments: Any) -> Reply:
    """One call of a tool in memory; the client checks the answer by the schema that the server has for it."""

    server = make_server(workspace or Workspace(folder.resolve()))

    async def call() -> Reply:
        async with Client(server) as client:
            return await reply(client, tool, arguments)

    with chdir(folder):
        return asyncio.run(call())


def ask_directly(folder: Path, tool: str, /, **arguments: Any) -> Reply:
    """The same without a client, for laws that ask often. In a thread, as the server does: the guard is there only."""
    (wanted,) = (one for one in TOOLS if one.name == tool)
    with chdir(folder), ThreadPoolExecutor(1) as thread:
        found = thread.submit(answer_call, wanted, arguments, Workspace(folder.resolve())).result()
    size = size_of(found.document)
    assert list(raw_characters(found.document)) == []
    assert size <= (MOST_PROBLEMS if found.is_error else wanted.most)
    return Reply(dict(found.document), found.is_error, size)


async def reply(client: Client, tool: str, arguments: Mapping[str, Any]) -> Reply:
    """The answer of a tool, which is the same as values and as text, within its bound, and holds no raw character."""
    found = await client.call_tool(tool, dict(arguments))
    (block,) = found.content
    text = block.text.encode()
    document = json.loads(text)
    assert document == found.structured_content
    assert list(raw_characters(document)) == []
    assert len(text) <= (MOST_PROBLEMS if found.is_error else MOST.get(tool, MOST_PROBLEMS))
    return Reply(document, bool(found.is_error), len(text))


def raw_characters(value: Any) -> Iterator[str]:
    """Characters in any text of a document that are not plainly visible: control, format, surrogates, separators."""
    if isinstance(value, str):
        yield from (char for char in value if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from raw_characters(name)
            yield from raw_characters(each)
    elif isinstance(value, list):
        for each in value:
            yield from raw_characters(each)


def process(*arguments: str, folder: Path) -> StdioServerParameters:
    """The real server, as the configuration of a client names it."""
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "highbar", "mcp", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )


def tree(folder: Path) -> dict[str, tuple[bytes | None, int]]:
    """Every file and folder below a folder, with its content and when it was changed."""
    return {
        str(path.relative_to(folder)): (path.read_bytes() if path.is_file() else None, path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if not path.is_symlink() and not path.is_fifo()
    }
