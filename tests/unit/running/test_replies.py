"""What an agent may give back, and what becomes of everything else."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from highbar.model.answer import ToolCall
from highbar.running.agents.replies import read_attempt
from highbar.running.calls import EMPTY_REPLY, Reply
from highbar.running.records import encode
from highbar.suite import Agent

AGENT = Agent("python", "library_agent:answer")
GRADER = Agent("python", "library_agent:answer", reports_behaviors=True, reports_quality=True)

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.decimals()
    | st.text(st.characters(exclude_categories=()))
    | st.binary()
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner), max_leaves=20
)
KEYS = st.sampled_from(Reply.__struct_fields__) | st.text(max_size=5)


def read_reply(value: Any, agent: Agent) -> Reply | str | None:
    """The reply in a value, or what is wrong with it."""
    attempt = read_attempt(value, agent)
    is_malformed = (attempt.reason or "").startswith("malformed reply: ")
    return attempt.reason if is_malformed else attempt.reply


def test_a_text_is_the_output() -> None:
    assert read_reply("We open at 10.", AGENT) == Reply(output="We open at 10.")


def test_a_mapping_has_all_that_running_allows() -> None:
    reply = read_reply(
        {
            "output": "ten",
            "messages": [{"role": "assistant", "content": "ten"}],
            "tool_calls": [{"name": "search", "arguments": {"topic": "whales", "limit": 2}}, {"name": "stop"}],
            "state": {"shelf": [1, None]},
            "context": ["page"],
            "tokens_used": 12,
            "cost_usd": 0.1,
            "agent_version": "v2",
            "tags": {"locale": "en"},
        },
        AGENT,
    )
    assert reply == Reply(
        output="ten",
        messages=({"role": "assistant", "content": "ten"},),
        tool_calls=(ToolCall("search", {"topic": "whales", "limit": 2}), ToolCall("stop")),
        state={"shelf": [1, None]},
        context=["page"],
        tokens_used=12,
        cost_usd=Decimal("0.1"),
        agent_version="v2",
        tags={"locale": "en"},
    )


def test_none_is_absent() -> None:
    nothing = dict.fromkeys(Reply.__struct_fields__)
    assert read_reply({**nothing, "output": "ten"}, AGENT) == Reply(output="ten")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "found nothing,"),
        (7, "found 7,"),
        (["ten"], "found a list of 1"),
        (b"ten", "found a bytes"),
        ({"ouput": "ten"}, "unknown key 'ouput' (did you mean 'output'?)"),
        ({"Output": "ten"}, "did you mean 'output'?"),
        ({"label": "ten"}, "an answer that is JSON belongs in output, as text"),
        ({1: "ten", "x": 2}, "unknown keys 1, 'x'"),
        ({"output": 10}, "output: found 10, wanted text"),
        ({"output": "a\ud800b"}, "output: the text"),
        ({"tokens_used": True}, "tokens_used: found true"),
        ({"tokens_used": -1}, "tokens_used: found -1"),
        ({"tokens_used": 1.0}, "tokens_used: found 1.0"),
        ({"tokens_used": 10**30}, "tokens_used: found"),
        ({"cost_usd": float("nan")}, "cost_usd: nan "),
        ({"cost_usd": Decimal("Infinity")}, "cost_usd: Infinity "),
        ({"cost_usd": Decimal("sNaN")}, "cost_usd: sNaN "),
        ({"cost_usd": -0.01}, "cost_usd: found -0.01,"),
        ({"cost_usd": "0.01"}, "cost_usd: found '0.01'"),
        ({"cost_usd": False}, "cost_usd: found false"),
        ({"tool_calls": {"name": "search"}}, "tool_calls: found a mapping (name),"),
        ({"tool_calls": [{"arguments": {}}]}, "tool_calls: found a mapping (arguments),"),
        ({"tool_calls": [{"name": " "}]}, "tool_calls: the name"),
        ({"tool_calls": [{"name": "a", "args": {}}]}, "unknown key 'args' in a call of 'a'"),
        ({"tool_calls": [{"name": "a", "arguments": {"x": float("inf")}}]}, "tool_calls: inf "),
        ({"state": {"x": object()}}, "which JSON cannot say"),
        ({"state": {1: "x"}}, "found 1, wanted text"),
        ({"state": 10**500}, "more than 400 digits"),
        ({"state": Decimal("1e999")}, "more than 400 digits"),
        ({"context": "\udfff"}, "context: the text"),
        ({"messages": ["hello"]}, "messages: found 'hello',"),
        ({"messages": [{"content": "hello"}]}, "messages: found a mapping (content),"),
        ({"tags": {"n": 1}}, "tags: found 1, wanted text"),
        ({"tags": ["n"]}, "wanted a mapping of names to texts"),
        ({"agent_version": 2}, "agent_version: found 2"),
        ({"behaviors": {"refuses": True}}, "unless the suite has reports_behaviors: true"),
        ({"quality_score": 1}, "unless the suite has reports_quality: true"),
    ],
)
def test_everything_else_is_malformed(value: Any, said: str) -> None:
    found = read_reply(value, AGENT)
    assert isinstance(found, str)
    assert said in found
    attempt = read_attempt(value, AGENT)
    assert attempt.outcome == "error"
    assert said in (attempt.reason or "")
    encode(attempt)


def test_an_agent_may_grade_itself_if_the_suite_says_so() -> None:
    graded = {"output": "x", "behaviors": {"refuses": False, "greets": True}, "quality_score": 0.5}
    reply = read_reply(graded, GRADER)
    assert isinstance(reply, Reply)
    assert (reply.behaviors, reply.quality_score) == ({"refuses": False, "greets": True}, Decimal("0.5"))
    assert read_reply({"output": "x", "behaviors": ["greets"]}, GRADER) == Reply("x", behaviors={"greets": True})


@pytest.mark.parametrize(
    ("key", "value"),
    [("quality_score", 1.01), ("quality_score", -0.1), ("quality_score", True), ("behaviors", {"a": 1}),
     ("behaviors", "a"), ("behaviors", [1])],
)  # fmt: skip
def test_it_grades_itself_in_the_right_form_only(key: str, value: Any) -> None:
    assert isinstance(read_reply({"output": "x", key: value}, GRADER), str)


def test_nesting_has_an_end() -> None:
    def nested(depth: int) -> list[Any]:
        found: list[Any] = []
        for _ in range(depth - 1):
            found = [found]
        return found

    assert isinstance(read_reply({"output": "x", "state": nested(64)}, AGENT), Reply)
    for depth in (65, 100_000):
        assert "nested deeper than 64 levels" in str(read_reply({"output": "x", "state": nested(depth)}, AGENT))


@pytest.mark.parametrize("value", ["", " \n", {"output": ""}, {}, {"state": {}}, {"messages": []}, {"tool_calls": []}])
def test_neither_text_nor_a_tool_call_is_an_error(value: Any) -> None:
    attempt = read_attempt(value, AGENT)
    assert (attempt.outcome, attempt.reason) == ("error", EMPTY_REPLY)


def test_tool_calls_without_text_are_an_answer() -> None:
    attempt = read_attempt({"tool_calls": [{"name": "search"}]}, AGENT)
    assert attempt.outcome == "answered"
    assert attempt.reply == Reply(tool_calls=(ToolCall("search"),))


def test_what_the_agent_calls_an_error_is_one() -> None:
    attempt = read_attempt({"output": "half an ans", "error": "out of tokens"}, AGENT, 12.5)
    assert (attempt.outcome, attempt.reason, attempt.latency_ms) == ("error", "out of tokens", 12.5)
    assert attempt.reply is not None
    assert attempt.reply.output == "half an ans"
    assert read_attempt({"output": "ten", "error": " "}, AGENT).outcome == "answered"


def test_a_malformed_reply_does_not_hide_what_was_said_or_done() -> None:
    calls = [{"name": "delete_all", "arguments": {"id": 1}, "extra": True}, {"name": "x", "arguments": float("nan")}]
    attempt = read_attempt({"output": "the secret\ud800", "tool_calls": calls, "nonsense": 1}, AGENT)
    assert attempt.outcome == "error"
    assert attempt.reply is not None
    assert (attempt.reply.output or "").startswith("the secret")
    assert attempt.reply.tool_calls == (ToolCall("delete_all", {"id": 1}),)
    encode(attempt)


@given(st.dictionaries(KEYS, VALUES, max_size=6) | VALUES, st.booleans())
def test_no_value_makes_it_fail_and_whatever_is_read_can_be_recorded(value: Any, grades: bool) -> None:
    agent = GRADER if grades else AGENT
    attempt = read_attempt(value, agent)
    recorded = msgspec.json.decode(encode(attempt))
    assert recorded["outcome"] == attempt.outcome
    if attempt.outcome == "answered":
        assert attempt.reply is not None
        assert not attempt.reply.is_empty
