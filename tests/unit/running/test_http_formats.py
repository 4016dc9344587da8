"""Three wire formats: what is sent, and how what comes back is read."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from highbar.model.answer import ToolCall
from highbar.running.agents.replies import MalformedReply, read_attempt
from highbar.running.agents.wire_formats import FORMATS
from highbar.running.calls import EMPTY_REPLY, AgentCall, Attempt, Reply
from highbar.suite import Agent, read_values
from tests import faulty_server as faulty
from tests.agent_calls import ask, question
from tests.faulty_server import Received, serving

SYSTEM = {"role": "system", "content": "Be brief."}
TURNS = (
    SYSTEM,
    {"role": "user", "content": "I want the blue book"},
    {"role": "assistant", "content": "Which one?"},
    {"role": "user", "content": "About whales"},
)
CONVERSATION = question(messages=TURNS, text=None, id="FIND-1")


def exchanged(
    document: Any, call: AgentCall | None = None, environment: dict[str, str] | None = None, **keys: Any
) -> tuple[Attempt, Received]:
    """What a call comes to if the server answers with this document, and the request that it got."""
    with serving([faulty.answers(document)]) as server:
        agent = Agent("http", **{"target": server.address, "format": "openai", **keys})
        attempt = ask(agent, call or question(), environment=environment)
    return attempt, server.calls[0]


def reply_to(document: Any, **keys: Any) -> Reply:
    """The reply that a document is."""
    attempt, _ = exchanged(document, **keys)
    assert attempt.outcome == "answered", attempt.reason
    assert attempt.reply is not None
    return attempt.reply


def refused(document: Any, **keys: Any) -> str:
    """Why a document is no answer."""
    attempt, _ = exchanged(document, **keys)
    assert attempt.outcome == "error"
    return attempt.reason or ""


# --- openai ----------------------------------------------------------------------------------


def test_chat_completions_are_asked_with_model_and_messages() -> None:
    _, request = exchanged("ten", CONVERSATION, {"KEY": "CANARY-123"}, model="some-model", key="${KEY}")
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.body == {"model": "some-model", "messages": [dict(turn) for turn in TURNS]}
    assert request.headers["Authorization"] == "Bearer CANARY-123"
    assert request.headers["Content-Type"] == "application/json"
    assert request.headers["User-Agent"].startswith("highbar/")
    assert exchanged("ten")[1].body == {"messages": [{"role": "user", "content": "When do you open?"}]}


def test_headers_of_the_suite_come_last() -> None:
    given = {"authorization": "Token ${KEY}", "X-Team": "library"}
    _, request = exchanged("ten", None, {"KEY": "CANARY-123"}, key="${KEY}", headers=given)
    assert request.headers["Authorization" if "Authorization" in request.headers else "authorization"] == (
        "Token CANARY-123"
    )
    assert request.headers["X-Team"] == "library"


def test_user_and_password_of_an_address_are_sent_as_such() -> None:
    with serving([faulty.answers("ten")]) as server:
        agent = Agent("http", f"http://me:${{PASS}}@127.0.0.1:{server.port}/v1", format="openai")
        assert ask(agent, environment={"PASS": "CANARY-123"}).outcome == "answered"
    assert server.calls[0].headers["Authorization"] == "Basic bWU6Q0FOQVJZLTEyMw=="


def test_chat_completions_are_read() -> None:
    calls = (("search", '{"topic": "whales"}'), ("stop", ""), ("broken", '{"topic": '), ("list", "[1]"))
    assert reply_to(faulty.openai("ten", *calls, tokens=12)) == Reply(
        output="ten",
        tool_calls=(
            ToolCall("search", {"topic": "whales"}),
            ToolCall("stop", {}),
            ToolCall("broken", '{"topic": '),
            ToolCall("list", [1]),
        ),
        tokens_used=12,
    )


@pytest.mark.parametrize(
    ("message", "output"),
    [
        ({"content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]}, "ab"),
        ({"content": ["a", "b"]}, "ab"),
        ({"content": None, "refusal": "I cannot."}, "I cannot."),
        ({"content": "", "refusal": "I cannot."}, "I cannot."),
        ({"content": [{"type": "refusal", "refusal": "I cannot."}]}, "I cannot."),
        ({"content": "ten", "refusal": None}, "ten"),
    ],
)
def test_parts_and_refusals_are_what_the_agent_said(message: dict[str, Any], output: str) -> None:
    assert reply_to({"choices": [{"message": message}]}).output == output


def test_other_forms_of_tool_calls_are_read() -> None:
    old = {"content": None, "function_call": {"name": "search", "arguments": "{}"}}
    assert reply_to({"choices": [{"message": old}]}).tool_calls == (ToolCall("search", {}),)
    custom = {"content": None, "tool_calls": [{"type": "custom", "custom": {"name": "run", "input": "x = 1"}}]}
    assert reply_to({"choices": [{"message": custom}]}).tool_calls == (ToolCall("run", "x = 1"),)


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [({"total_tokens": 5}, 5), ({"prompt_tokens": 2, "completion_tokens": 3}, 5), ({"prompt_tokens": 2}, None),
     ({}, None), (None, None), ({"total_tokens": None}, None)],
)  # fmt: skip
def test_tokens_are_those_that_the_server_counts(usage: Any, tokens: int | None) -> None:
    assert reply_to({**faulty.openai("ten"), "usage": usage}).tokens_used == tokens


@pytest.mark.parametrize(
    "document",
    [
        [],
        "a text of JSON",
        {"choices": []},
        {"choices": [7]},
        {"choices": [{}]},
        {"choices": {"0": {}}},
        {"choices": [{"message": {"content": 7}}]},
        {"choices": [{"message": {"content": [{"type": "text", "text": 7}]}}]},
        {"choices": [{"message": {"content": "x", "refusal": 7}}]},
        {"choices": [{"message": {"content": "x", "tool_calls": {}}}]},
        {"choices": [{"message": {"content": "x", "tool_calls": [7]}}]},
        {"choices": [{"message": {"content": "x", "tool_calls": [{"function": {}}]}}]},
        {"choices": [{"message": {"content": "x"}}], "usage": {"total_tokens": -1}},
        {"choices": [{"message": {"content": "x"}}], "usage": {"total_tokens": True}},
    ],
)
def test_what_is_no_chat_completion_is_malformed(document: Any) -> None:
    sent = faulty.sends(b'"a text of JSON"') if isinstance(document, str) else faulty.answers(document)
    with serving([sent]) as server:
        attempt = ask(Agent("http", server.address, format="openai"))
    assert attempt.outcome == "error"
    assert (attempt.reason or "").startswith("malformed reply: ")


def test_a_choice_without_text_or_call_is_empty() -> None:
    assert refused({"choices": [{"message": {}}]}) == EMPTY_REPLY


def test_tool_calls_of_earlier_turns_are_sent_in_the_form_of_chat_completions() -> None:
    said = {"role": "assistant", "content": "Here.", "tool_calls": [{"name": "search", "arguments": {"a": 1}}]}
    silent = {**said, "content": None}
    written = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {"name": "x"}}]}
    messages = (TURNS[1], said, TURNS[1], silent, TURNS[1], written, TURNS[3])
    _, request = exchanged("ten", question(messages=messages, text=None))
    sent = request.body["messages"]
    assert sent[1] == {"role": "assistant", "content": "Here."}
    assert sent[3]["tool_calls"][0]["function"] == {"name": "search", "arguments": '{"a":1}'}
    assert sent[4] == {"role": "tool", "tool_call_id": sent[3]["tool_calls"][0]["id"], "content": ""}
    assert sent[6] == written


# --- anthropic -------------------------------------------------------------------------------


def test_messages_are_asked_with_the_system_apart() -> None:
    keys = {"format": "anthropic", "model": "some-model", "key": "${KEY}"}
    _, request = exchanged(faulty.anthropic("ten"), CONVERSATION, {"KEY": "CANARY-123"}, **keys)
    assert request.body == {
        "model": "some-model",
        "max_tokens": 4096,
        "system": "Be brief.",
        "messages": [dict(turn) for turn in TURNS[1:]],
    }
    assert request.headers["x-api-key"] == "CANARY-123"
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert "Authorization" not in request.headers


def test_tools_of_the_conversation_become_blocks() -> None:
    called = {"id": "1", "function": {"name": "search", "arguments": '{"a": 1}'}}
    messages = (
        {"role": "developer", "content": [{"type": "text", "text": "Be "}, {"type": "text", "text": "kind."}]},
        {"role": "user", "content": "Find it"},
        {"role": "assistant", "content": "Wait.", "tool_calls": [called, {**called, "id": "2"}]},
        {"role": "tool", "tool_call_id": "1", "content": "nothing"},
        {"role": "tool", "tool_call_id": "2", "content": "a book"},
        {"role": "user", "content": "And?"},
    )
    _, request = exchanged(faulty.anthropic("ten"), question(messages=messages, text=None), format="anthropic")
    assert request.body["system"] == "Be kind."
    asked, used, answered = request.body["messages"]
    assert asked == {"role": "user", "content": "Find it"}
    use = {"type": "tool_use", "id": "1", "name": "search", "input": {"a": 1}}
    assert used == {"role": "assistant", "content": [{"type": "text", "text": "Wait."}, use, {**use, "id": "2"}]}
    assert [block.get("tool_use_id") for block in answered["content"]] == ["1", "2", None]
    assert answered["content"][2] == {"type": "text", "text": "And?"}


def test_messages_are_read() -> None:
    usage = {"input_tokens": 7, "output_tokens": 5, "cache_read_input_tokens": 100}
    document = faulty.anthropic("ten", ("search", {"topic": "whales"}), usage=usage)
    document["content"].insert(0, {"type": "thinking", "thinking": "hm"})
    assert reply_to(document, format="anthropic") == Reply(
        output="ten",
        tool_calls=(ToolCall("search", {"topic": "whales"}),),
        messages=({"role": "assistant", "aside": {"content": [document["content"][0]], "type": "message"}},),
        tokens_used=112,
    )
    alone = reply_to(faulty.anthropic(None, ("search", {})), format="anthropic")
    assert (alone.output, alone.tokens_used) == (None, None)


@pytest.mark.parametrize("kind", ["server_tool_use", "mcp_tool_use"])
def test_a_tool_that_the_server_carries_out_itself_is_called_too(kind: str) -> None:
    document = faulty.anthropic("ten")
    document["content"].insert(0, {"type": kind, "id": "1", "name": "web_search", "input": {"query": "whales"}})
    calls = reply_to(document, format="anthropic").tool_calls
    assert calls == (ToolCall("web_search", {"query": "whales"}),)


def test_a_message_that_was_cut_by_our_own_limit_is_an_error() -> None:
    assert "cut at 4096 tokens" in refused(faulty.anthropic("half", stop_reason="max_tokens"), format="anthropic")


@pytest.mark.parametrize(
    "document",
    [
        [],
        {},
        {"error": {"message": "no"}},
        {"content": "text"},
        {"content": [7]},
        {"content": [{"type": "text"}]},
        {"content": [{"type": "tool_use", "input": {}}]},
        faulty.anthropic("x", usage={"input_tokens": "7", "output_tokens": 1}),
    ],
)
def test_what_is_no_message_is_malformed(document: Any) -> None:
    assert refused(document, format="anthropic").startswith("malformed reply: ")
    assert refused(faulty.anthropic(None), format="anthropic") == EMPTY_REPLY


# --- json ------------------------------------------------------------------------------------

BODY = {"q": "{input}", "chat": ["{messages}", {"id": "{id}"}], "n": Decimal("1.50"), "on": True, "{input}": "{other}"}
JSON = {"format": "json", "body": BODY, "pointers": {"output": "/reply"}}


def test_the_body_is_a_template() -> None:
    _, request = exchanged({"reply": "ten"}, question("Hi", id="HOURS-1"), **JSON)
    says = {"role": "user", "content": "Hi"}
    assert request.body == {
        "q": "Hi",
        "chat": [[says], {"id": "HOURS-1"}],
        "n": 1.5,
        "on": True,
        "{input}": "{other}",
    }


def test_with_several_turns_the_input_is_the_last_one() -> None:
    _, request = exchanged({"reply": "ten"}, CONVERSATION, **JSON)
    assert request.body["q"] == "About whales"
    assert request.body["chat"][0] == [dict(turn) for turn in TURNS]


def test_what_the_user_says_is_never_a_template() -> None:
    _, request = exchanged({"reply": "ten"}, question("{id}"), **JSON)
    assert request.body["q"] == "{id}"


def test_pointers_say_where_things_are() -> None:
    pointers = {
        "output": "/out/0/a~1b",
        "tool_calls": "/did",
        "tokens_used": "/usage/total",
        "cost_usd": "/usage/usd",
    }
    did = [{"name": "search", "arguments": {"a": 1}, "id": "x"}, {"function": {"name": "stop", "arguments": "{}"}}]
    document = {"out": [{"a/b": "ten"}], "did": did, "usage": {"total": 7, "usd": 0.25}}
    assert reply_to(document, **{**JSON, "pointers": pointers}) == Reply(
        output="ten",
        tool_calls=(ToolCall("search", {"a": 1}), ToolCall("stop", {})),
        tokens_used=7,
        cost_usd=Decimal("0.25"),
    )
    assert reply_to({"did": did}, **{**JSON, "pointers": pointers}).output is None


def test_the_whole_reply_may_be_the_text() -> None:
    with serving([faulty.sends(b'"ten"')]) as server:
        attempt = ask(Agent("http", server.address, format="json", body="{input}", pointers={"output": ""}))
    assert attempt.reply == Reply(output="ten")
    assert server.calls[0].body == "When do you open?"


@pytest.mark.parametrize("document", [{}, {"reply": None}, {"reply": 10}, {"reply": ["ten"]}, [], 7])
def test_a_reply_without_its_text_is_malformed(document: Any) -> None:
    assert refused(document, **JSON).startswith("malformed reply: ")


@pytest.mark.parametrize(
    "data",
    [
        b'{"reply": "I refuse", "reply": "Here it is"}',
        b'{"reply": "ten", "usage": {"total": 1, "total": 2}}',
        b'{"reply": "ten", "calls": [{"name": "a", "arguments": {"b": [{"c": 1, "c": 2}]}}]}',
        b'{"reply": "ten", "\\u0072eply": "eleven"}',
        b'{"reply": "ten", "reply": "half of a pair: \\ud800"}',
        '\ufeff{"reply": "ten", "reply": "eleven"}'.encode(),
    ],
)
def test_a_key_that_occurs_twice_makes_a_reply_malformed(data: bytes) -> None:
    with serving([faulty.sends(data)]) as server:
        attempt = ask(Agent("http", server.address, **JSON))
    assert attempt.outcome == "error"
    assert re.fullmatch("malformed reply: an object has the key '(reply|total|c)' twice", attempt.reason or "")
    assert attempt.reply is not None
    assert attempt.reply.output, "must-nots are looked for in all that was received"


def test_a_key_that_occurs_twice_in_the_arguments_of_a_call_makes_a_reply_malformed() -> None:
    call = {"function": {"name": "pay", "arguments": '{"amount": 99, "amount": 1}'}}
    document = {"choices": [{"message": {"content": "done", "tool_calls": [call]}}]}
    assert refused(document) == "malformed reply: tool_calls: the arguments of 'pay': the key 'amount' occurs twice"


def test_the_key_of_a_json_interface_is_a_bearer_token() -> None:
    _, request = exchanged({"reply": "ten"}, None, {"KEY": "CANARY-123"}, key="${KEY}", **JSON)
    assert request.headers["Authorization"] == "Bearer CANARY-123"


def test_a_suite_can_say_all_of_it() -> None:
    with serving([faulty.answers({"reply": "ten"})]) as server:
        block = {"http": "${HOST}/ask", "body": {"q": "{input}"}, "output": "/reply"}
        suite = read_values({"agent": block, "scenarios": [{"id": "A", "input": "x", "answer": "y"}]})
        assert suite.agent is not None
        attempt = ask(suite.agent, environment={"HOST": f"http://127.0.0.1:{server.port}"})
    assert attempt.reply == Reply(output="ten")
    assert server.calls[0].path == "/ask"


# --- all of them -----------------------------------------------------------------------------

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
NAMES = st.sampled_from(
    ["choices", "message", "content", "text", "type", "tool_calls", "function", "name", "arguments", "custom", "input",
     "usage", "total_tokens", "prompt_tokens", "completion_tokens", "input_tokens", "output_tokens", "error", "reply",
     "refusal", "function_call", "stop_reason", "role", "id"]
)  # fmt: skip
DOCUMENTS = st.recursive(
    LEAVES | st.sampled_from(["text", "tool_use", "{}", "user"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=25,
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "developer", "user", "assistant", "tool"])},
        optional={"content": DOCUMENTS, "tool_calls": DOCUMENTS, "tool_call_id": LEAVES},
    ).map(lambda message: {"content": "x", **message}),
    min_size=1,
    max_size=4,
)
WIRED = Agent("http", "http://x/", body=BODY, pointers={"output": "/reply", "tool_calls": "/tool_calls"})


@pytest.mark.parametrize("name", FORMATS)
@given(document=DOCUMENTS)
def test_no_document_makes_a_format_fail(name: str, document: Any) -> None:
    try:
        fields = FORMATS[name].fields(document, WIRED)
    except MalformedReply:
        return
    assert read_attempt(fields, WIRED).outcome in ("answered", "error")


@pytest.mark.parametrize("name", FORMATS)
@given(messages=MESSAGES)
def test_every_conversation_can_be_sent(name: str, messages: list[dict[str, Any]]) -> None:
    body = FORMATS[name].body(question(messages=tuple(messages), text=None), WIRED)
    assert msgspec.json.decode(msgspec.json.Encoder(decimal_format="number").encode(body))
