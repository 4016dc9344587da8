"""A server may send any JSON in any place of its reply. It is read, or it is a malformed reply: nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from highbar.checks.messages import read_message
from highbar.running.agents import anthropic, openai
from highbar.running.agents.http_outcomes import message_in
from highbar.running.agents.replies import MalformedReply, read_attempt
from highbar.running.calls import AgentCall
from highbar.running.judging.wire import read_judge_reply
from highbar.suite import Agent

AGENT = Agent("http", "http://localhost")
CALL = {"id": "1", "function": {"name": "search", "arguments": "{}"}}
OPENAI = {
    "model": "m",
    "choices": [
        {
            "finish_reason": "stop",
            "message": {
                "content": [{"text": "Hi", "refusal": "No"}],
                "refusal": "No",
                "tool_calls": [CALL, {"custom": {"name": "x", "input": "y"}}],
                "function_call": CALL["function"],
            },
        }
    ],
    "usage": {"total_tokens": 3, "prompt_tokens": 1, "completion_tokens": 2, "cost": 0.1},
    "error": {"message": "m"},
}
ANTHROPIC = {
    "model": "m",
    "stop_reason": "end_turn",
    "content": [{"type": "text", "text": "Hi"}, {"type": "tool_use", "name": "search", "input": {}}],
    "usage": {"input_tokens": 1, "output_tokens": 2, "cost": 0.1},
    "error": {"message": "m"},
}
HOSTILE: tuple[Any, ...] = (
    None, True, -1, 10**400, -(10**400), 10**4299, 1e308, "", "x", "\ud800", [], {}, [None], [[]], [{}], {"x": 1},
    {"name": None}, {"text": None}, {"text": 10**400}, {"function": []}, {"function": {"name": {}}},
)  # fmt: skip
FORMATS = ((openai, "openai", OPENAI), (anthropic, "anthropic", ANTHROPIC))


def changed(value: Any, hostile: Any) -> Iterator[Any]:
    """The value with each of its parts replaced, one at a time."""
    yield hostile
    if isinstance(value, dict):
        for key, inner in value.items():
            yield {name: other for name, other in value.items() if name != key}
            yield from ({**value, key: one} for one in changed(inner, hostile))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from ([*value[:place], one, *value[place + 1 :]] for one in changed(inner, hostile))


@pytest.mark.parametrize(("reader", "name", "document"), FORMATS)
def test_any_value_in_any_place_is_read_or_malformed(reader, name, document):
    for hostile in HOSTILE:
        for one in changed(document, hostile):
            with suppress(MalformedReply):
                read_attempt(reader.fields(one, AGENT), AGENT)
            try:
                found = read_judge_reply(name, one)
            except MalformedReply:
                continue
            assert found.cost is None or 0 <= found.cost <= 10**9


@pytest.mark.parametrize("nothing", [None, ""])
def test_a_part_without_text_is_read_for_its_refusal(nothing):
    content = [{"text": nothing, "refusal": "No."}]
    assert openai.content_text(content) == "No."


def test_a_text_that_a_refusal_follows_is_read_with_it():
    content = [{"text": "Sure, the code is 1234.", "refusal": "No."}]
    said = read_message({"content": content})
    assert (said.text, [aside.text for aside in said.asides]) == ("Sure, the code is 1234.", ["No."])


@pytest.mark.parametrize("depth", [3, 60, 900])
def test_the_message_of_an_error_is_found_in_any_depth_that_can_be_decoded(depth):
    data = b'{"error":' * depth + b'"down"' + b"}" * depth
    assert message_in(data) == "down"


def test_nothing_is_not_sent_as_the_word_none():
    call = AgentCall("A", 1, ({"role": "system", "content": None}, {"role": "user", "content": "Hi"}), None, {}, 1.0)
    assert "None" not in str(anthropic.body(call, AGENT))
