"""What people see of a trial: all that was said, in order, and nothing that could act."""

from __future__ import annotations

from typing import Any

import pytest

from highbar.labeling.conversation import ShownMessage, shown_messages


def test_a_question_and_its_answer_are_two_messages() -> None:
    row = {"input": "hi", "output": "hello", "tool_calls": [{"name": "look", "arguments": {"a": 1}}]}
    assert shown_messages(row) == (
        ShownMessage("user", "hi"),
        ShownMessage("assistant", "", (("look", '{\n "a": 1\n}'),)),
        ShownMessage("assistant", "hello"),
    )


def test_messages_are_shown_as_they_were() -> None:
    messages: list[Any] = [
        {"role": "system", "content": "be kind"},
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "content": "42", "tool_call_id": "c1"},
        {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
        {"role": "user", "content": [{"type": "image"}]},
        "cut short",
    ]
    assert shown_messages({"messages": messages, "input": "not shown twice"}) == (
        ShownMessage("system", "be kind"),
        ShownMessage("assistant", "", (("f", "{}"),)),
        ShownMessage("tool c1", "42"),
        ShownMessage("user", "one\ntwo"),
        ShownMessage("user", '[\n {\n  "type": "image"\n }\n]'),
        ShownMessage("message", "cut short"),
    )


def said(*messages: tuple[str, Any]) -> list[Any]:
    return [{"role": role, "content": content} for role, content in messages]


@pytest.mark.parametrize(
    "messages",
    [
        said(("user", "hi")),
        said(("user", "hi"), ("assistant", "let me think")),
        said(("user", "hi"), ("assistant", "hello"), ("tool", "7")),
        said(("user", "hi"), ("assistant", "hello"), ("assistant", "let me think")),
        said(("user", "hi"), ("tool", "hello")),
        '[{"role": "user", "content": "hi"}]',
        ['{"role": "user", "content": "hi'],
    ],
)
def test_the_answer_is_shown_although_the_messages_do_not_end_with_it(messages: Any) -> None:
    row = {"input": "hi", "messages": messages, "output": "hello"}
    *_, last = shown_messages(row)
    assert last == ShownMessage("assistant", "hello")


@pytest.mark.parametrize("content", ["hello", " hello\n", [{"type": "text", "text": "hello"}]])
def test_an_answer_that_ends_the_messages_is_shown_once(content: Any) -> None:
    row = {"input": "hi", "messages": said(("user", "hi"), ("assistant", content)), "output": "hello"}
    assert [message.text.strip() for message in shown_messages(row)] == ["hi", "hello"]


def test_calls_that_no_message_has_are_shown_before_the_answer() -> None:
    calls = [{"name": "look", "arguments": {}}, {"name": "wipe", "arguments": {}}]
    looked = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "look", "arguments": "{}"}}]}
    row = {"messages": [*said(("user", "hi")), looked], "tool_calls": calls, "output": "hello"}
    assert shown_messages(row)[1:] == (
        ShownMessage("assistant", "", (("look", "{}"),)),
        ShownMessage("assistant", "", (("wipe", "{}"),)),
        ShownMessage("assistant", "hello"),
    )


def test_the_question_is_shown_although_only_the_agents_messages_were_recorded() -> None:
    row = {"input": "hi", "messages": said(("assistant", "hello")), "output": "hello"}
    assert shown_messages(row) == (ShownMessage("user", "hi"), ShownMessage("assistant", "hello"))


def test_what_was_left_out_is_said() -> None:
    *_, last = shown_messages({"output": "a", "left_out": {"output": 12}})
    assert "only the beginning of this conversation" in last.text
    assert '"output": 12' in last.text


@pytest.mark.parametrize("text", ["\x1b[2J", "\u202eabc", "\u200b", "\x07", "\u2028"])
def test_what_could_act_or_hide_is_written_out(text: str) -> None:
    call = {"name": text, "arguments": text}
    row = {"messages": [{"role": text, "name": text, "content": text, "tool_calls": [call]}]}
    (message,) = shown_messages(row)
    shown = [message.role, message.text, *message.calls[0]]
    assert not any(text in part for part in shown)
    assert all(text.encode("unicode_escape").decode() in part for part in shown)


def test_lines_and_tabs_stay() -> None:
    assert shown_messages({"output": "a\r\n\tb"})[0].text == "a\n\tb"


def test_what_stands_beside_the_text_of_a_message_is_shown_too() -> None:
    aside = {"role": "assistant", "aside": {"reasoning_content": "hm"}}
    row = {"input": "hi", "messages": [{"role": "user", "content": "hi"}, aside], "output": "hello"}
    assert shown_messages(row) == (
        ShownMessage("user", "hi"),
        ShownMessage("assistant", '{\n "aside": {\n  "reasoning_content": "hm"\n }\n}'),
        ShownMessage("assistant", "hello"),
    )
