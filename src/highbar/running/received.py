"""All that was received in a trial → what a row can contain of it, and the conversation in chat form."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from msgspec import Struct

from highbar.checks.messages import calls_in, is_aside, is_of_agent, merged_calls, read_message
from highbar.columns import MEASURED
from highbar.load.row_faults import CHECKS
from highbar.running.calls import Reply
from highbar.running.records import TrialEnded, TurnEnd
from highbar.running.rows import LONGEST_SHOWN, are_distinct, with_distinct_keys
from highbar.suite import Scenario

_MEASURED = tuple(
    (column.name, column.name in TurnEnd.__struct_fields__, column.bounded, CHECKS[column.name]) for column in MEASURED
)
"""For each column that measures something: its name, whether it is a field of the turn (else of its reply), whether it
is a score, and the function that says what is wrong with a value."""

_PLACES = 6
"""Decimal places of a latency: the engine sums no more of them, and no clock is that accurate."""


class Received(Struct, frozen=True):
    """The replies of a trial, and what they say together.

    `measured` has the columns that measure something, over all turns; a value that one turn does not report is unknown
    for the trial. `wrong` names a value that a row cannot contain, which `measured` leaves out.
    """

    ended: TrialEnded
    replies: tuple[Reply, ...]
    measured: Mapping[str, Any]
    tags: Mapping[str, str]
    wrong: str | None = None

    @property
    def last(self) -> Reply | None:
        """The last reply."""
        return self.replies[-1] if self.replies else None

    @property
    def tool_calls(self) -> list[dict[str, Any]]:
        """The tool calls of all turns, in order."""
        return [
            {"name": call.name, "arguments": with_distinct_keys(call.arguments)}
            for reply in self.replies
            for call in reply.calls
        ]


def receive(ended: TrialEnded) -> Received:
    """Collect what was received in a trial."""
    replies = tuple([turn.reply for turn in ended.turns if turn.reply is not None])
    measured: dict[str, Any] = {}
    wrong = None
    for name, is_of_turn, is_score, fault_of in _MEASURED:
        of = ended.turns if is_of_turn else [turn.reply for turn in ended.turns]
        value = _over_turns([getattr(one, name, None) for one in of], is_score=is_score)
        if value is None:
            continue
        fault = fault_of(float(value) if isinstance(value, Decimal) else value)
        if fault is None:
            measured[name] = round(value, _PLACES) if isinstance(value, float) else value
        else:
            wrong = f"{name}: {fault}"
    tags = {name: tag for reply in replies if reply.tags for name, tag in reply.tags.items()}
    return Received(ended, replies, measured, tags, wrong)


def _over_turns(values: list[Any], *, is_score: bool) -> Any:
    """The sum over all turns, or the last value of a score; None if it is not known."""
    if is_score or len(values) < 2:
        return values[-1] if values else None
    return None if None in values else sum(values)


def version_of(ended: TrialEnded) -> str | None:
    """The version that the agent reports in its last reply that has one; None if no reply has one."""
    versions = (turn.reply.agent_version for turn in reversed(ended.turns) if turn.reply is not None)
    return next((version for version in versions if version), None)


def tag_fault(tags: Mapping[str, str], scenario: Scenario) -> str | None:
    """Why a row cannot have these tags in addition to those of its scenario; None if it can."""
    wanted = CHECKS["tags"](tags)
    if wanted is not None:
        return f"tags: {wanted}"
    # Tags select rows, so that they cannot be cut as other texts are.
    if sum(len(name) + len(tag) for name, tag in tags.items()) > LONGEST_SHOWN:
        return f"tags: more than {LONGEST_SHOWN} characters"
    flat = (name.removeprefix("tags.") for name in scenario.columns if name.startswith("tags."))
    own = {**scenario.columns.get("tags", {}), **dict.fromkeys(flat)}
    for name in tags:
        if name in own or not are_distinct({**own, name: ""}):
            return f"the scenario has the tag {name[:60]!r} already"
    return None if are_distinct(tags) else "two tags differ only in case"


# --- the conversation, as the agent is asked in it and as it is graded ------------------------


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
    known = calls_in(messages)
    left = merged_calls(known, reply.tool_calls)[len(known) :]
    calls = [{"name": call.name, "arguments": call.arguments} for call in left]
    last = messages[-1] if messages and is_of_agent(messages[-1]) and not is_aside(messages[-1]) else None
    if last is not None and read_message(last).text == reply.output:
        if calls:
            messages[-1] = {**last, "tool_calls": [*_as_list(last.get("tool_calls")), *calls]}
        return messages
    if reply.output is None and messages and not calls:
        return messages
    answer: dict[str, Any] = {"role": "assistant", "content": reply.output}
    if calls:
        answer["tool_calls"] = calls
    return [*messages, answer]


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
