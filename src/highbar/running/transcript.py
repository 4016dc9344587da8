"""A scenario and what was received → the conversation in chat form, as the agent is asked in it and as it is graded."""

from __future__ import annotations

from typing import Any

from highbar.checks.added_messages import is_of_agent, message_calls
from highbar.running.calls import Reply
from highbar.running.records import TrialEnded
from highbar.suite import Scenario


def transcript(scenario: Scenario, ended: TrialEnded) -> list[dict[str, Any]]:
    """All that was said, in order: what the agent was asked, the messages that it added, and its replies."""
    asked = scenario.turns or (() if scenario.messages else (scenario.input or "",))
    messages = [dict(message) for message in scenario.messages]
    for index, turn in enumerate(ended.turns):
        if index < len(asked):
            messages.append({"role": "user", "content": asked[index]})
        if turn.reply is not None:
            messages += reply_messages(turn.reply)
    return messages


def reply_messages(reply: Reply) -> list[dict[str, Any]]:
    """The messages of one reply: those that the agent added, then its output, unless they end with the same text.

    Tool calls that are in the reply but not in its messages are added to the last message, so that none is missing.
    """
    messages = [dict(message) for message in reply.messages]
    known = [call for message in messages if is_of_agent(message) for call in message_calls(message)]
    left = [call for call in reply.tool_calls if call not in known]
    calls = [{"name": call.name, "arguments": call.arguments} for call in left]
    if messages and is_of_agent(messages[-1]) and messages[-1].get("content") == reply.output:
        if calls:
            messages[-1] = {**messages[-1], "tool_calls": [*_as_list(messages[-1].get("tool_calls")), *calls]}
        return messages
    if reply.output is None and messages and not calls:
        return messages
    answer: dict[str, Any] = {"role": "assistant", "content": reply.output}
    if calls:
        answer["tool_calls"] = calls
    return [*messages, answer]


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
