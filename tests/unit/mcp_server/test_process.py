"""The real server over standard input and output, asked by the SDK's own client; and what it runs if it may."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.commandline import run
from tests.mcp_calls import Reply, process, reply
from tests.patience import PATIENCE, wait_for
from tests.repository import put, rows

pytestmark = pytest.mark.process

POLICY = {"thresholds": {"blocking": {"pass_rate": "80%"}}, "suite": "suite.json"}
AGENT = """\
import os, sys, time
from pathlib import Path

def answer(input):
    print("to standard output"); sys.stdout.flush(); os.write(1, b"and to its descriptor")
    return {"output": f"hello, {input}", "cost_usd": 0.25}

def free(input):
    return "hello"

def crashes(input):
    raise RuntimeError("after it was paid for")

def odd(input):
    return {"output": "hello", "cost_usd": "0.25"}

def partly(input):
    if Path(__file__).with_name("second").exists():
        raise RuntimeError("after it was paid for")
    Path(__file__).with_name("second").touch()
    return {"output": "hello", "cost_usd": 0.25}

def slow(input):
    Path(__file__).with_name("began").touch()
    time.sleep(1)
    return {"output": "hello", "cost_usd": 0.25}
"""
ASK = """{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},\
"clientInfo":{"name":"t","version":"1"}}}
"""


def suite(function: str = "answer", scenarios: int = 4) -> dict[str, Any]:
    behaviors = {"greets": {"contains": "hello"}}
    return {
        "agent": {"python": f"own_agent:{function}"},
        "run": {"concurrency": 1},
        "scenarios": [{"id": f"S{n}", "input": "you", "expected_behaviors": behaviors} for n in range(scenarios)],
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    put(tmp_path, {"highbar.json": POLICY, "suite.json": suite(), "own_agent.py": AGENT})
    (tmp_path / ".git").mkdir()
    return tmp_path


def session(
    folder: Path, talk: Callable[[Callable[..., Awaitable[Reply]]], Awaitable[None]], *arguments: str
) -> list[str]:
    """Talk to the real server; the tools that it has."""

    async def connected() -> list[str]:
        async with Client(process(*arguments, folder=folder)) as client:

            async def ask(tool: str, **asked: Any) -> Reply:
                return await reply(client, tool, asked)

            await talk(ask)
            return [tool.name for tool in (await client.list_tools()).tools]

    return asyncio.run(asyncio.wait_for(connected(), PATIENCE))


def test_a_client_asks_the_real_server(folder: Path) -> None:
    put(folder, {"r.jsonl": rows(True, True, True, False)})

    async def talk(ask: Callable[..., Awaitable[Reply]]) -> None:
        assert (await ask("list_failures", results=["r.jsonl"])).document["failed"] == 1
        assert (await ask("check", results=["r.jsonl"])).document["verdict"] == "fail"
        assert (await ask("check", results=["/etc/passwd"])).codes == ["mcp.outside-folder"]
        both = await asyncio.gather(ask("check", results=["r.jsonl"]), ask("read_policy"))
        assert [one.is_error for one in both] == [False, False]

    assert "run" not in session(folder, talk)


def test_standard_output_has_nothing_but_the_protocol(folder: Path) -> None:
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "read_policy", "arguments": {}}}
    asked = ASK + "this is no message\n" + json.dumps(call) + "\n"
    done = run(folder, "mcp", stdin=asked.encode(), process=True)
    assert done.exit == 0
    answers = [json.loads(line) for line in done.out.splitlines()]
    assert all(one["jsonrpc"] == "2.0" for one in answers)
    assert {one.get("id") for one in answers} >= {1}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_at_once(folder: Path, number: signal.Signals) -> None:
    started = subprocess.Popen(
        [sys.executable, "-m", "highbar", "mcp"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with started as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(ASK.encode())
        server.stdin.flush()
        assert server.stdout.readline()
        server.send_signal(number)
        assert server.wait(PATIENCE) == 128 + number


def test_a_run_is_recorded_and_judged_and_all_runs_share_one_budget(folder: Path) -> None:
    async def talk(ask: Callable[..., Awaitable[Reply]]) -> None:
        first = (await ask("run", suite="suite.json")).document
        assert (first["state"], first["answered"], first["whole"]) == ("complete", 4, True)
        assert (first["cost_usd"], first["budget_left_usd"]) == (1.0, 0.6)
        assert (await ask("check", results=[first["folder"]])).document["verdict"] == "pass"
        part = (await ask("run", suite="suite.json", only=["S1"])).document
        assert (part["whole"], part["budget_left_usd"]) == (False, 0.35)
        assert "filtered" in (await ask("check", results=[part["folder"]])).problems
        assert (await ask("list_failures", results=[part["folder"]])).document["scenarios"] == 1
        last = (await ask("run", suite="suite.json")).document
        assert (last["state"], last["answered"], last["budget_left_usd"]) == ("budget", 2, 0.0)
        assert "used up" in (await ask("run", suite="suite.json")).problems

    assert "run" in session(folder, talk, "--allow-run", "--budget", "$1.60")


def test_a_run_whose_cost_is_not_known_uses_the_budget_up(folder: Path) -> None:
    put(folder, {"suite.json": suite("free")})

    async def talk(ask: Callable[..., Awaitable[Reply]]) -> None:
        found = (await ask("run", suite="suite.json")).document
        assert (found["state"], found["budget_left_usd"]) == ("budget", 0.0)
        assert "cost_usd" not in found
        assert "used up" in (await ask("run", suite="suite.json")).problems

    session(folder, talk, "--allow-run", "--budget", "$5")


@pytest.mark.parametrize("function", ["crashes", "odd"])
def test_errors_are_not_free(folder: Path, function: str) -> None:
    """Else an agent that calls its model and then crashes could be run without end."""
    put(folder, {"suite.json": suite(function)})

    async def talk(ask: Callable[..., Awaitable[Reply]]) -> None:
        found = (await ask("run", suite="suite.json")).document
        assert (found["errors"], found["budget_left_usd"]) == (4, 0.0)
        assert "cost_usd" not in found
        assert "used up" in (await ask("run", suite="suite.json")).problems

    session(folder, talk, "--allow-run", "--budget", "$5")


def test_an_error_counts_as_much_as_the_costliest_answer(folder: Path) -> None:
    put(folder, {"suite.json": suite("partly")})

    async def talk(ask: Callable[..., Awaitable[Reply]]) -> None:
        found = (await ask("run", suite="suite.json")).document
        assert (found["answered"], found["errors"]) == (1, 3)
        assert (found["cost_usd"], found["budget_left_usd"]) == (1.0, 4.0)

    session(folder, talk, "--allow-run", "--budget", "$5")


def test_a_run_that_cannot_begin_costs_nothing_and_no_text_is_an_option(folder: Path) -> None:
    async def talk(ask: Callable[..., Awaitable[Reply]]) -> None:
        for name in ("none.json", "--agent=command: touch traces", "--help"):
            assert "could not begin" in (await ask("run", suite=name)).problems
        assert "could not begin" in (await ask("run", only=["--agent=command: touch traces"])).problems
        assert "unknown field `agent`" in (await ask("run", agent="command: touch traces")).problems
        assert (await ask("run", suite="suite.json", only=["S0"])).document["budget_left_usd"] == 4.75

    session(folder, talk, "--allow-run", "--budget", "5 usd")
    assert not (folder / "traces").exists()


def test_a_run_that_the_client_gives_up_is_stopped(folder: Path) -> None:
    put(folder, {"suite.json": suite("slow", 500)})
    spent: list[float] = []

    async def connected() -> None:
        async with Client(process("--allow-run", "--budget", "$500", folder=folder)) as client:
            call = asyncio.create_task(client.call_tool("run", {"suite": "suite.json"}))
            while not (folder / "began").exists():  # noqa: ASYNC110 - of another process
                await asyncio.sleep(0.05)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            put(folder, {"suite.json": suite("answer", 1)})
            while (found := await reply(client, "run", {"suite": "suite.json"})).is_error:
                assert found.codes == ["mcp.run-refused"]
                await asyncio.sleep(0.05)
            spent.append(500 - found.document["budget_left_usd"])

    asyncio.run(asyncio.wait_for(connected(), PATIENCE))
    documents = [json.loads(one.read_text()) for one in sorted(folder.glob("runs/*/run.json"))]
    assert [one["state"] for one in documents] == ["interrupted", "complete"]
    assert spent == [0.25 * sum(one["done"]["answered"] for one in documents)]


def test_the_end_of_the_server_stops_a_run(folder: Path) -> None:
    put(folder, {"suite.json": suite("slow", 500)})
    server = subprocess.Popen(
        [sys.executable, "-m", "highbar", "mcp", "--allow-run", "--budget", "$500"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    call = {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "run", "arguments": {"suite": "suite.json"}},
    }
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert server.stdin is not None
    server.stdin.write(f"{ASK}{json.dumps(ready)}\n{json.dumps(call)}\n".encode())
    server.stdin.flush()
    wait_for((folder / "began").exists, "the run does not begin")
    server.send_signal(signal.SIGTERM)
    assert server.wait(PATIENCE) == 128 + signal.SIGTERM
    server.stdin.close()
    (document,) = folder.glob("runs/*/run.json")
    assert json.loads(document.read_text())["state"] == "interrupted"


@pytest.mark.parametrize(
    ("options", "code", "wanted"),
    [
        (["--allow-run"], "option.bad-value", "found no budget"),
        (["--allow-run", "--budget", "5"], "option.bad-value", "'5'"),
        (["--allow-run", "--budget", "$0"], "option.bad-value", "'$0'"),
        (["--budget", "$5"], "option.needs-another", "--allow-run"),
        (["nowhere"], "file.missing", "nowhere"),
        (["highbar.json"], "file.missing", "highbar.json"),
        (["--policy", "../x.yaml"], "mcp.outside-folder", "../x.yaml"),
    ],
)
def test_a_server_that_cannot_be_started_says_why(folder: Path, options: list[str], code: str, wanted: str) -> None:
    before = Path.cwd()
    done = run(folder, "mcp", *options)
    assert done.exit == 2
    assert done.codes == [code]
    assert wanted in done.err
    assert done.out == ""
    assert Path.cwd() == before


def test_without_the_extra_one_line_says_how_to_install_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    for name in [name for name in sys.modules if name.startswith(("highbar.mcp_server", "mcp."))]:
        monkeypatch.delitem(sys.modules, name)
    done = run(folder, "mcp")
    assert done.exit == 2
    assert done.codes == ["machine.missing-package"]
    assert len(done.err.splitlines()) == 2
    assert "'highbar[mcp]'" in done.err
