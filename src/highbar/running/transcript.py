"""A scenario and what was received → the conversation in chat form, as a row shows it."""

from __future__ import annotations

from typing import Any

from highbar.running.calls import Reply
from highbar.running.records import Ended
from highbar.suite import Scenario


def transcript(scenario: Scenario, ended: Ended) -> list[dict[str, Any]]:
    """All that was said, in order: what the agent was asked, the messages that it added, and its replies."""
    asked = scenario.turns or (() if scenario.messages else (scenario.input or "",))
    said = [dict(message) for message in scenario.messages]
    for index, turn in enumerate(ended.turns):
        if index < len(asked):
            said.append({"role": "user", "content": asked[index]})
        if turn.reply is not None:
            said += _replied(turn.reply)
    return said


def _replied(reply: Reply) -> list[dict[str, Any]]:
    """The messages of one reply: those that the agent added, then its answer, unless they end with the same words."""
    said = [dict(message) for message in reply.messages]
    if said and said[-1].get("content") == reply.output:
        return said
    answer: dict[str, Any] = {"role": "assistant", "content": reply.output}
    if reply.tool_calls:
        answer["tool_calls"] = [{"name": call.name, "arguments": call.arguments} for call in reply.tool_calls]
    return [*said, answer]
