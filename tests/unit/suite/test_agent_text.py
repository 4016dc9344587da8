"""Agents that are named by a text, as `--agent` has it, or by values of Python."""

from __future__ import annotations

from typing import Any

import pytest

from highbar.errors import InputError
from highbar.suite import Agent
from highbar.suite.agent_text import read_agent_text, read_agent_values


@pytest.mark.parametrize(
    ("text", "agent"),
    [
        ("python:library_agent:answer", Agent("python", "library_agent:answer")),
        (" python: package.module:Class.method ", Agent("python", "package.module:Class.method")),
        ("http://localhost:8000/chat", Agent("http", "http://localhost:8000/chat", format="openai")),
        ("https://host/v1?a=b:c", Agent("http", "https://host/v1?a=b:c", format="openai")),
        ("${HOST}/v1", Agent("http", "${HOST}/v1", format="openai")),
        ("command: ./agent --json", Agent("command", ("./agent", "--json"))),
        ('command:sh -c \'echo "$1"\' "two words"', Agent("command", ("sh", "-c", 'echo "$1"', "two words"))),
        ("command: ./agent $HOME *.txt | tee", Agent("command", ("./agent", "$HOME", "*.txt", "|", "tee"))),
    ],
)
def test_each_kind_has_its_form(text: str, agent: Agent) -> None:
    assert read_agent_text(text) == agent


@pytest.mark.parametrize(
    ("text", "codes", "value"),
    [
        ("", "agent.unreadable", "python:module:function"),
        ("nonsense", "agent.unreadable", "python:module:function"),
        ("library_agent:answer", "agent.unreadable", "python:library_agent:answer"),
        ("./agent --json", "agent.unreadable", "'command: ./agent --json'"),
        ("python:library_agent", "suite.wrong-type", "module:function"),
        ("python:library_agent.answer", "suite.wrong-type", "library_agent:answer"),
        ("python:./agents/library.py:answer", "agent.unreadable", "python:agents.library:answer"),
        ("python:", "suite.wrong-type", "module:function"),
        ("http://", "suite.wrong-type", "https://"),
        ("http:// host", "suite.wrong-type", "https://"),
        ("https://host/${a b}", "suite.wrong-type agent.bad-body", "'${a b}'"),
        ("command:", "agent.unreadable", "'command: ./agent"),
        ("command: ./agent 'open", "agent.unreadable", "./agent 'open"),
        ("command: ''", "suite.wrong-type", "the agent: "),
        ("ftp://host/", "agent.unreadable", "'ftp://host/'"),
    ],
)
def test_everything_else_is_refused_with_a_hint(text: str, codes: str, value: str) -> None:
    with pytest.raises(InputError) as refused:
        read_agent_text(text)
    assert [problem.code for problem in refused.value.problems] == codes.split()
    assert value in str(refused.value)


def test_values_of_python_are_read_as_a_suites_block() -> None:
    block = {"http": "https://host/ask", "body": {"q": "{input}"}, "output": "/reply", "headers": {"X": "${Y}"}}
    assert read_agent_values(block) == Agent(
        "http",
        "https://host/ask",
        format="json",
        headers={"X": "${Y}"},
        body={"q": "{input}"},
        pointers={"output": "/reply"},
    )
    assert read_agent_values({"command": ("./agent", "x")}).target == ("./agent", "x")


@pytest.mark.parametrize(
    ("block", "codes", "value"),
    [
        ({}, "suite.missing-key", "python, http, command"),
        ({"python": "a:b", "http": "http://x"}, "suite.missing-key", "python and http"),
        ({"pyton": "a:b"}, "suite.unknown-key suite.missing-key", "'pyton'"),
        ({"http": "http://x", "key": "CANARY-123"}, "suite.key-in-file", "${AGENT_KEY}"),
    ],
)
def test_a_wrong_block_is_refused(block: dict[str, Any], codes: str, value: str) -> None:
    with pytest.raises(InputError) as refused:
        read_agent_values(block)
    assert [problem.code for problem in refused.value.problems] == codes.split()
    assert value in str(refused.value)
    assert "CANARY" not in str(refused.value)
