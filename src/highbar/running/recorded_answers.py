"""A result row that a run or another tool wrote → the end of a trial, to be graded as if it had just ended.

Nothing is made up: what is missing from the row is unknown, and a check that needs it cannot be carried out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from highbar.checks.messages import (
    OTHER_ROLES,
    calls_in,
    merged_calls,
    own_messages,
    read_message,
    role_of,
)
from highbar.checks.values import NotJson, Unreadable, decode_json
from highbar.model.answer import ToolCall
from highbar.running.calls import Reply
from highbar.running.records import TrialEnded, TurnEnd
from highbar.running.rows import with_recorded_keys
from highbar.suite import Scenario

NOT_RUN = "not run"
NO_ANSWER = "no recorded answer"
OTHER_QUESTION = "the recorded answer is to another question"
CUT = "only a part of the answer was recorded"
_OF_ANSWERS = ("output", "tool_calls", "messages")
_Message = Mapping[str, Any]
_USER = frozenset({"user", "human"})
_SYSTEM = frozenset({"system", "developer"})


class RowFault(Exception):
    """A column of a row is invalid; the message says why."""


def has_answer(row: Mapping[str, Any]) -> bool:
    """Whether a row has any part of an answer."""
    return any(name in row for name in _OF_ANSWERS)


def names_calls(row: Mapping[str, Any], scenario: Scenario) -> bool:
    """Whether the agent's own messages in a row have tool calls: then its file records calls.

    A row without calls in such a file made none. Calls in a conversation that the suite does not have prove nothing.
    """
    try:
        said = _split_messages(_messages(row), scenario)
        return said.is_asked and bool(said.calls)
    except RowFault:  # it is refused with its place when the row is graded
        return False


def needs_answer(row: Mapping[str, Any]) -> bool:
    """Whether a row should have an answer: it is neither an error nor a trial that was not run."""
    return not row.get("error") and not _is_not_run(row)


def answer_in(row: Mapping[str, Any], scenario: Scenario, trial: int, *, calls_recorded: bool) -> TrialEnded | str:
    """The recorded trial of a row, or why its answer cannot be graded. Raises RowFault if a column is invalid.

    `calls_recorded`: its file records tool calls, so a row without any made none.
    """
    said = _split_messages(_messages(row), scenario)
    outcome: Any = "error" if row.get("error") else "infrastructure" if _is_not_run(row) else "answered"
    is_whole = _is_whole(said, scenario, ended_early=outcome != "answered")
    calls, known = _calls(row, said, is_whole=is_whole, calls_recorded=calls_recorded or "highbar_run" in row)
    turns = _turns(row, said, calls, is_whole=is_whole, ended_early=outcome != "answered")
    lacks = (*(() if known else ("tool_calls",)), *(() if is_whole else ("replies",)))
    if outcome == "answered":
        unjudged = _why_undecided(row, scenario, turns, calls_known=known, is_asked=said.is_asked)
        if unjudged is not None:
            return unjudged
    reason = row.get("error") or _reason(row)
    return TrialEnded(scenario.id, trial, scenario.digest, outcome, turns, reason, unrecorded=lacks)


def recorded_violations(row: Mapping[str, Any], scenario: Scenario) -> dict[str, Any]:
    """The must-nots of the scenario that a row says were violated, with the evidence, if it has any."""
    listed, demanded = _decode_text(row.get("violations")), _decode_text(row.get("must_not"))
    names = set(scenario.must_not) if isinstance(listed, int) and listed else set()
    names.update(listed if isinstance(listed, list) else ())
    if isinstance(demanded, Mapping):
        names.update(name for name, happened in demanded.items() if happened)
    elif isinstance(demanded, list):
        names.update(one["name"] for one in demanded if isinstance(one, Mapping) and one.get("violated"))
    found = _decode_text(row.get("found"))
    evidence = found if isinstance(found, Mapping) else {}
    return {name: evidence.get(name) for name in scenario.must_not if name in names}


def _why_undecided(
    row: Mapping[str, Any], scenario: Scenario, turns: Sequence[TurnEnd], *, calls_known: bool, is_asked: bool
) -> str | None:
    """Why the answer in a row cannot be graded; None if it can. An empty text may hide a call that was not recorded."""
    reply = turns[-1].reply
    if not has_answer(row) or (reply is not None and reply.is_empty and not calls_known):
        return f"check: {NO_ANSWER}"
    if isinstance(row.get("left_out"), Mapping) and any(name in row["left_out"] for name in (*_OF_ANSWERS, "reported")):
        return f"check: {CUT}"
    asked, recorded = scenario.asked, row.get("input")
    if not is_asked or (asked is not None and recorded is not None and recorded.split() != asked.split()):
        return f"check: {OTHER_QUESTION}"
    return None


def _is_not_run(row: Mapping[str, Any]) -> bool:
    return str(row.get("unjudged", "")).startswith(NOT_RUN)


def _reason(row: Mapping[str, Any]) -> str | None:
    """Why a trial was not run; None if it was run, or if no reason is recorded."""
    return str(row["unjudged"]).removeprefix(NOT_RUN).lstrip(": ") or None if _is_not_run(row) else None


def _is_whole(said: _RecordedConversation, scenario: Scenario, *, ended_early: bool) -> bool:
    """Whether every turn of the trial is in its messages: all of the scenario, or the first ones if it ended early."""
    if len(scenario.turns) < 2 or len(said.turns) == len(scenario.turns):
        return True
    first = tuple(tuple(turn.split()) for turn in scenario.turns[: len(said.questions)])
    return ended_early and bool(first) and said.questions == first


def _turns(
    row: Mapping[str, Any],
    said: _RecordedConversation,
    calls: tuple[ToolCall, ...],
    *,
    is_whole: bool,
    ended_early: bool,
) -> tuple[TurnEnd, ...]:
    """The recorded turns; only the last one if not every turn was recorded.

    A row measures all turns together, so the last turn gets the measured values and earlier ones get 0.
    """
    parts = said.turns or ((),)
    earlier = [TurnEnd(Reply(_last_text(part), part, tokens_used=0, cost_usd=Decimal(0)), 0.0) for part in parts[:-1]]
    before = [call for part in parts[:-1] for call in calls_in(part)] if is_whole else []
    calls = tuple(merged_calls(before, calls)[len(before) :])  # the column has those of all turns
    added = parts[-1]
    output = row.get("output")
    if (
        ended_early
        and not added
        and output == (_output_of(earlier[-1]) if earlier else None)
        and (earlier or not calls)
    ):
        # Nothing was received in the last turn: the row shows the reply before it.
        unanswered = TurnEnd(None, row.get("latency_ms"))
        if not earlier:
            return (unanswered,)
        answered = replace(earlier[-1], reply=_last_reply(row, output, parts[-2], calls))
        return (*(earlier[:-1] if is_whole else ()), answered, unanswered)
    last = _last_reply(row, _last_text(added) if output is None else output, added, calls)
    return (*(earlier if is_whole else ()), TurnEnd(last, row.get("latency_ms")))


def _output_of(turn: TurnEnd) -> str | None:
    return turn.reply.output if turn.reply is not None else None


def _last_reply(
    row: Mapping[str, Any], output: str | None, added: tuple[_Message, ...], calls: tuple[ToolCall, ...]
) -> Reply:
    """The last reply of a trial, with all that its row says of all turns."""
    reported = _decode_text(row.get("reported"))
    reported = reported if isinstance(reported, Mapping) else {}
    return Reply(
        output,
        added,
        calls,
        state=reported.get("state"),
        context=reported.get("context"),
        behaviors=reported.get("behaviors"),
        tokens_used=row.get("tokens_used"),
        cost_usd=_decimal(row.get("cost_usd")),
        quality_score=_decimal(row.get("quality_score")),
    )


def _last_text(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """The text of the agent's last message; None if it has none."""
    own = [*own_messages(messages)]
    return own[-1].text if own else None


def _decimal(value: float | None) -> Decimal | None:
    return None if value is None else Decimal(repr(value))


def _messages(row: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    found = with_recorded_keys(_decode_text(row.get("messages", [])))
    if not isinstance(found, list) or not all(isinstance(message, Mapping) for message in found):
        if isinstance(row.get("left_out"), Mapping):
            return ()
        raise RowFault("messages: wanted a list of messages in chat form")
    return tuple(found)


def _calls(
    row: Mapping[str, Any], said: _RecordedConversation, *, is_whole: bool, calls_recorded: bool
) -> tuple[tuple[ToolCall, ...], bool]:
    """The agent's tool calls in a row, and whether they are all of its calls."""
    listed = _listed_calls(row)
    if listed is None:
        # Messages without calls do not mean that there were none: many tools record only texts.
        known = (bool(said.calls) or calls_recorded) and (is_whole or "messages" not in row)
        return said.calls, known
    if said.given_calls and listed == (*said.given_calls, *said.calls):
        # The list has the given calls too. If that is all, the agent may have made none, or the same ones again.
        return (said.calls, True) if said.calls else (listed, False)
    return listed, True


def _listed_calls(row: Mapping[str, Any]) -> tuple[ToolCall, ...] | None:
    """The calls in the column `tool_calls`; None if the row does not have it, or only a part of it."""
    if "tool_calls" not in row:
        return None
    found = with_recorded_keys(_decode_text(row["tool_calls"]))
    calls = read_message({"tool_calls": found}).calls
    if isinstance(found, list) and len(calls) == len(found):
        return calls
    if isinstance(row.get("left_out"), Mapping):
        return None
    raise RowFault("tool_calls: wanted a list of {name, arguments}")


def _decode_text(value: Any) -> Any:
    """The value, decoded if it is JSON text, as in a cell of a CSV file."""
    if not isinstance(value, str):
        return value
    try:
        return decode_json(value)
    except (NotJson, Unreadable):
        return value


# --- the messages of a row: what was given to the agent, and what it added in each turn -------


class _RecordedConversation(Struct, frozen=True):
    """The messages `given` to the agent, and by turn those that followed, with the words of the `questions`.

    `is_asked` is False if the messages are not of the conversation in the suite. Then all of them may be the agent's.
    """

    given: tuple[_Message, ...]
    turns: tuple[tuple[_Message, ...], ...]
    is_asked: bool = True
    questions: tuple[tuple[str, ...], ...] = ()

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls in the agent's own messages."""
        return tuple(call for turn in self.turns for call in calls_in(turn))

    @property
    def given_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls in the messages given to the agent. It did not make them."""
        return tuple(calls_in(self.given))


def _split_messages(messages: Sequence[_Message], scenario: Scenario) -> _RecordedConversation:
    """Split the messages of a row: after those of the scenario, and with several turns at the questions of the user."""
    if scenario.messages:
        start = _end_of_given(messages, scenario.messages)
        return _RecordedConversation(tuple(messages[: start or 0]), (tuple(messages[start or 0 :]),), start is not None)
    asked = [index for index, message in enumerate(messages) if _side(message) == "user"]
    if not asked:  # only new messages were recorded
        return _RecordedConversation((), (tuple(messages),))
    ends = (*asked[1:], None) if scenario.turns else (None,)
    parts = [tuple(messages[start + 1 : end]) for start, end in zip(asked, ends, strict=False)]
    # The suite gives a question alone. What an agent says or calls before it is the agent's: nothing else excuses it.
    early = tuple(message for message in messages[: asked[0]] if _side(message) == "agent")
    given = tuple(message for message in messages[: asked[0] + 1] if _side(message) != "agent")
    questions = tuple(_words(messages[index]) for index in asked)
    return _RecordedConversation(given, ((*early, *parts[0]), *parts[1:]), questions=questions)


def _end_of_given(messages: Sequence[_Message], given: Sequence[_Message]) -> int | None:
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


def _spoken(messages: Sequence[_Message], *, together: bool) -> list[_Spoken]:
    """The messages without those of the system; `together`: without results of calls, and joined if of one side."""
    found: list[_Spoken] = []
    for index, message in enumerate(messages):
        side = _side(message)
        if side == "system" or (together and side == "tool"):
            continue
        one = _Spoken(side, _words(message), tuple(calls_in([message])), index + 1)
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


def _side(message: _Message) -> str:
    role = role_of(message)
    if role in _SYSTEM:
        return "system"
    if role in _USER:
        return "tool" if _has_results_alone(message) else "user"
    return "tool" if role in OTHER_ROLES else "agent"


def _has_results_alone(message: _Message) -> bool:
    """Whether a message of the user only has results of tools, as in Anthropic's form."""
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return bool(parts) and all(isinstance(part, Mapping) and part.get("type") == "tool_result" for part in parts)


def _words(message: _Message) -> tuple[str, ...]:
    return tuple((read_message(message).text or "").split())
