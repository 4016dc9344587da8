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
    ("text", "said"),
    [
        ("", "write python:module:function, an address"),
        ("nonsense", "write python:module:function, an address"),
        ("library_agent:answer", "did you mean python:library_agent:answer?"),
        ("./agent --json", "did you mean 'command: ./agent --json'?"),
        ("python:library_agent", "wanted module:function"),
        ("python:library_agent.answer", "write library_agent:answer"),
        ("python:./agents/library.py:answer", "write python:agents.library:answer"),
        ("python:", "wanted module:function"),
        ("http://", "wanted an address"),
        ("http:// host", "wanted an address"),
        ("https://host/${a b}", "is not the name of a variable"),
        ("command:", "'command:' without a command"),
        ("command: ./agent 'open", "close the quotes"),
        ("command: ''", "found an empty text"),
        ("ftp://host/", "wanted an agent"),
    ],
)
def test_everything_else_is_refused_with_a_hint(text: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        read_agent_text(text)
    assert said in str(refused.value)


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
    ("block", "said"),
    [
        ({}, "wanted one of python, http, command"),
        ({"python": "a:b", "http": "http://x"}, "found python and http"),
        ({"pyton": "a:b"}, "unknown key 'pyton'"),
        ({"http": "http://x", "key": "CANARY-123"}, "a key or password does not belong in a file"),
    ],
)
def test_a_wrong_block_is_refused(block: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        read_agent_values(block)
    assert said in str(refused.value)
    assert "CANARY" not in str(refused.value)
