"""The messages in a result row → what was given to the agent, and what the agent added in each turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from highbar.checks.added_messages import OF_OTHERS, message_calls, message_texts, role_of
from highbar.model.answer import ToolCall
from highbar.suite import Scenario

Message = Mapping[str, Any]
_USER = frozenset({"user", "human"})
_SYSTEM = frozenset({"system", "developer"})


class RecordedConversation(Struct, frozen=True):
    """The messages `given` to the agent, and by turn those that followed.

    `is_asked` is False if the messages are not of the conversation in the suite. Then all of them may be the agent's.
    """

    given: tuple[Message, ...]
    turns: tuple[tuple[Message, ...], ...]
    is_asked: bool = True

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls in the agent's own messages."""
        return tuple(call for turn in self.turns for call in _calls(turn))

    @property
    def given_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls in the messages given to the agent. It did not make them."""
        return _calls(self.given)


def split_messages(messages: Sequence[Message], scenario: Scenario) -> RecordedConversation:
    """Split the messages of a row: after those of the scenario, and with several turns at the questions of the user."""
    if scenario.messages:
        start = _end_of_given(messages, scenario.messages)
        return _split_at(messages, start or 0, is_asked=start is not None)
    asked = [index for index, message in enumerate(messages) if role_of(message) in _USER]
    if not scenario.turns:
        return _split_at(messages, asked[0] + 1 if asked else 0)
    parts = [tuple(messages[start + 1 : end]) for start, end in zip(asked, (*asked[1:], None), strict=False)]
    return RecordedConversation(tuple(messages[: asked[0]] if asked else messages), tuple(parts))


def _split_at(messages: Sequence[Message], start: int, *, is_asked: bool = True) -> RecordedConversation:
    return RecordedConversation(tuple(messages[:start]), (tuple(messages[start:]),), is_asked)


def _end_of_given(messages: Sequence[Message], given: Sequence[Message]) -> int | None:
    """Where the messages of the scenario end in recorded ones: 0 if only new messages were recorded.

    None if they are of another conversation. System messages are not compared: tools add their own.
    """
    wanted = [message for message in given if role_of(message) not in _SYSTEM]
    found = [index for index, message in enumerate(messages) if role_of(message) not in _SYSTEM]
    pairs = zip(found, wanted, strict=False)
    if len(found) >= len(wanted) and all(_is_same(messages[index], message) for index, message in pairs):
        return found[len(wanted) - 1] + 1
    return None if any(role_of(message) in _USER for message in messages) else 0


def _is_same(recorded: Message, given: Message) -> bool:
    """Whether both are of the same side; of the user also whether the text is the same. Tools reword the others."""
    if _side(recorded) != _side(given):
        return False
    return _side(given) != "user" or not (text := _words(given)) or _words(recorded) == text


def _side(message: Message) -> str:
    role = role_of(message)
    return "user" if role in _USER else "tool" if role in OF_OTHERS else "agent"


def _words(message: Message) -> list[str]:
    return " ".join(message_texts(message.get("content"))).split()


def _calls(messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    own = [message for message in messages if role_of(message) not in OF_OTHERS]
    return tuple(call for message in own for call in message_calls(message))
