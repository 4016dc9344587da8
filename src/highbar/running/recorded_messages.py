"""The messages in a result row → what was given to the agent, and what the agent added in each turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from highbar.checks.added_messages import OTHER_ROLES, is_of_agent, message_calls, message_texts, role_of
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
        return RecordedConversation(tuple(messages[: start or 0]), (tuple(messages[start or 0 :]),), start is not None)
    asked = [index for index, message in enumerate(messages) if _side(message) == "user"]
    if not asked:  # only new messages were recorded
        return RecordedConversation((), (tuple(messages),))
    ends = (*asked[1:], None) if scenario.turns else (None,)
    parts = [tuple(messages[start + 1 : end]) for start, end in zip(asked, ends, strict=False)]
    # The suite gives a question alone. What an agent says or calls before it is the agent's: nothing else excuses it.
    early = tuple(message for message in messages[: asked[0]] if _side(message) == "agent")
    given = tuple(message for message in messages[: asked[0] + 1] if _side(message) != "agent")
    return RecordedConversation(given, ((*early, *parts[0]), *parts[1:]))


def _end_of_given(messages: Sequence[Message], given: Sequence[Message]) -> int | None:
    """Where the messages of the scenario end in recorded ones: 0 if only new messages were recorded.

    None if they are of another conversation. System messages are not compared: tools add their own.
    """
    # Tools split messages in two, or leave out results of calls. Only a question marks for certain where that ends.
    together = _side(given[-1]) == "user"
    wanted, found = _spoken(given, together=together), _spoken(messages, together=together)
    pairs = zip(found, wanted, strict=False)
    if len(found) >= len(wanted) and all(_is_same(recorded, one) for recorded, one in pairs):
        return found[len(wanted) - 1].end
    return None if any(_side(message) == "user" for message in messages) else 0


class _Spoken(Struct, frozen=True):
    """One message, or several of the same side in a row; `end` is the index after the last one."""

    side: str
    words: tuple[str, ...]
    calls: tuple[ToolCall, ...]
    end: int


def _spoken(messages: Sequence[Message], *, together: bool) -> list[_Spoken]:
    """The messages without those of the system; `together`: without results of calls, and joined if of one side."""
    found: list[_Spoken] = []
    for index, message in enumerate(messages):
        side = _side(message)
        if side == "system" or (together and side == "tool"):
            continue
        one = _Spoken(side, _words(message), _calls([message]), index + 1)
        if together and found and found[-1].side == side:
            before = found.pop()
            one = _Spoken(side, before.words + one.words, before.calls + one.calls, one.end)
        found.append(one)
    return found


def _is_same(recorded: _Spoken, given: _Spoken) -> bool:
    """Whether both are the same question, or the same calls: tools reword other texts, but a call is an act."""
    if recorded.side != given.side or recorded.calls != given.calls:
        return False
    return given.side != "user" or not given.words or recorded.words == given.words


def _side(message: Message) -> str:
    role = role_of(message)
    if role in _SYSTEM:
        return "system"
    if role in _USER:
        return "tool" if _has_results_alone(message) else "user"
    return "tool" if role in OTHER_ROLES else "agent"


def _has_results_alone(message: Message) -> bool:
    """Whether a message of the user only has results of tools, as in Anthropic's form."""
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return bool(parts) and all(isinstance(part, Mapping) and part.get("type") == "tool_result" for part in parts)


def _words(message: Message) -> tuple[str, ...]:
    return tuple(" ".join(message_texts(message.get("content"))).split())


def _calls(messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    own = [message for message in messages if is_of_agent(message)]
    return tuple(call for message in own for call in message_calls(message))
