"""Replies that are too long, too deep, or no text: an error of the agent, and the rest of the run goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import faulty_server as faulty
from tests.commandline import judged
from tests.faulty_server import Step, serving
from tests.runs.projects import Project, command_project, python_project, scenarios

DEEP = 100_000
LONE = "yes \\ud800 \\udfff"
BODIES: dict[str, tuple[bytes, str]] = {
    "deep lists": (b"[" * DEEP + b"]" * DEEP, "malformed reply: "),
    "deep objects": (b'{"a":' * DEEP + b"1" + b"}" * DEEP, "malformed reply: "),
    "a deep reply": (
        b'{"choices": [{"message": {"content": ' + b"[" * DEEP + b"]" * DEEP + b"}}]}",
        "malformed reply: ",
    ),
    "a lone surrogate": (b'{"choices": [{"message": {"content": "' + LONE.encode() + b'"}}]}', "surrogate"),
    "no UTF-8": (b'{"choices": [{"message": {"content": "yes \xff"}}]}', "malformed reply: "),
    "UTF-16": ('{"choices": [{"message": {"content": "yes"}}]}'.encode("utf-16"), "malformed reply: "),
    "NaN": (b'{"choices": [{"message": {"content": NaN}}]}', "malformed reply: "),
    "a huge number": (
        b'{"choices": [{"message": {"content": "yes"}}], "usage": {"total_tokens": 1' + b"0" * 5000 + b"}}",
        "",
    ),
    "a list of parts": (b'{"choices": [{"message": {"content": [[[["yes"]]]]}}]}', "malformed reply: "),
}


def test_no_body_that_is_no_reply_passes_or_ends_the_run(tmp_path: Path) -> None:
    bodies = [body for body, _ in BODIES.values()]
    suite = scenarios(len(bodies) + 1)

    def plan(_: int, body: Any) -> Step:
        place = int(body["messages"][-1]["content"][1:])
        return faulty.sends(bodies[place]) if place < len(bodies) else faulty.answers("yes")

    with serving(plan) as server:
        project = Project(tmp_path, {"http": server.address, "format": "openai"}, suite)
        judged(project.run(), "fail")
        assert len(server.calls) == len(suite)
        judged(project.check(), "fail")
    assert project.done() == (1, len(bodies), 0)
    for (name, (_, reason)), row in zip(BODIES.items(), project.rows(), strict=False):
        assert row["correct"] is False, name
        assert reason in row["error"], (name, row["error"])


def test_a_megabyte_is_an_answer_and_more_than_max_reply_is_not(tmp_path: Path) -> None:
    def plan(_: int, body: Any) -> Step:
        large = {"S0": 2**20, "S1": 100 * 2**20}[body["messages"][-1]["content"]]
        return faulty.sends(json.dumps(faulty.openai("yes " + "x" * large)).encode())

    with serving(plan) as server:
        project = Project(tmp_path, {"http": server.address, "format": "openai"}, scenarios(2))
        judged(project.run(), "fail")
    assert len(project.row("S0")["output"]) == 2**20 + 4
    assert "larger than 16" in project.row("S1")["error"]
    assert (tmp_path / "out" / "journal").stat().st_size < 3 * 2**20


def large_function(folder: Path) -> Project:
    return python_project(folder, "def answer(said): return 'yes' * (50 * 2**20)\n", scenarios(1))


def large_command(folder: Path) -> Project:
    return command_project(folder, "cat > /dev/null; exec head -c 150000000 /dev/zero", scenarios(1))


@pytest.mark.process
@pytest.mark.parametrize("project_in", [large_function, large_command])
def test_what_a_process_gives_has_a_largest_size_too(tmp_path: Path, project_in: Callable[[Path], Project]) -> None:
    project = project_in(tmp_path)
    judged(project.run(), "fail")
    assert "larger than" in project.row("S0")["error"]
    assert (tmp_path / "out" / "journal").stat().st_size < 2**19


VALUES = [
    "'yes \\ud800'",
    "{'output': 'yes', 'state': {'\\udfff': 1}}",
    "{'output': 'yes', 'state': float('nan')}",
    "{'output': 'yes', 'context': deep(5000)}",
    "deep(100_000)",
    "{'output': 'yes', 'tool_calls': [{'name': 'x', 'arguments': deep(5000)}]}",
    "{'output': 'yes', 'tokens_used': 10**400}",
    "{'output': 'yes', 'cost_usd': -1}",
    "{'output': 'yes', 'messages': 'none'}",
    "b'yes'",
    "object()",
    "None",
    "endless()",
    "Raising()",
]
CODE = f"""
import itertools

def deep(levels):
    value = 1
    for _ in range(levels):
        value = [value]
    return value

def endless():
    value = {{}}
    value["self"] = value
    return value

class Raising(str):
    def __str__(self): raise ValueError("no text")
    def __eq__(self, other): raise ValueError("no text")
    __hash__ = str.__hash__

def answer(said):
    return {{{", ".join(f"{place}: lambda: {value}" for place, value in enumerate(VALUES))}}}[int(said[1:])]()
"""


@pytest.mark.process
def test_no_value_of_a_function_passes_unread_or_ends_the_run(tmp_path: Path) -> None:
    project = python_project(tmp_path, CODE, scenarios(len(VALUES)))
    judged(project.run(), "fail")
    for value, row in zip(VALUES, project.rows(), strict=True):
        assert "error" in row or row.get("unjudged") or not row["correct"], (value, row)
    assert project.document()["done"]["undecided"] == 0
