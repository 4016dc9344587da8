"""One trial: what the agent is asked, turn by turn, and what the trial came to."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from highbar.checks.messages import calls_in
from highbar.model.answer import ToolCall
from highbar.running.calls import Attempt, Reply
from highbar.running.conversation import Conversation
from highbar.running.received import transcript
from highbar.running.records import TrialEnded, TurnEnd
from highbar.suite import Scenario
from tests.scripted_agent import ANSWERED, BUSY, CRASHED, suite_of


def scenario(**keys: object) -> Scenario:
    return suite_of(1, **keys).scenarios["S0"]


def turns(*said: str, **keys: object) -> Scenario:
    return scenario(input=None, turns=list(said), **keys)


def begun(asked: Scenario, trial_timeout: float | None = None) -> Conversation:
    return Conversation(asked, 1, trial_timeout)


def answered(reply: Reply, seconds: float = 1.0) -> Attempt:
    return Attempt("answered", reply, latency_ms=seconds * 1000)


def ended(conversation: Conversation, *attempts: Attempt) -> TrialEnded:
    """What a trial comes to if these are the results of its calls."""
    for attempt in attempts[:-1]:
        conversation.question()
        assert conversation.take(attempt) is None
    conversation.question()
    found = conversation.take(attempts[-1])
    assert found is not None
    return found


def test_an_input_is_one_question_of_text() -> None:
    asked = scenario(category="edge_case", timeout="7s", must_not={"shouts": {"contains": "!"}}, description="open")
    question = Conversation(asked, 3, None).question()
    assert (question.id, question.trial, question.turn, question.timeout) == ("S0", 3, 1, 7.0)
    assert question.text == "Is it open?"
    assert question.messages == ({"role": "user", "content": "Is it open?"},)
    assert question.scenario == {
        "id": "S0",
        "category": "edge_case",
        "must_not": ["shouts"],
        "input": "Is it open?",
        "description": "open",
    }


def test_an_answer_ends_a_trial_of_one_question() -> None:
    asked = scenario()
    found = ended(begun(asked), ANSWERED)
    assert found == TrialEnded("S0", 1, asked.digest, "answered", (TurnEnd(ANSWERED.reply, 5.0),))


def test_messages_are_one_question_without_text() -> None:
    given = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]
    conversation = begun(scenario(input=None, messages=given))
    question = conversation.question()
    assert question.text is None
    assert list(question.messages) == given == question.scenario["messages"]
    assert conversation.take(ANSWERED) is not None


def test_the_agent_sees_the_conversation_so_far_at_each_turn() -> None:
    conversation = begun(turns("The blue book", "About whales"))
    first = conversation.question()
    assert first.text is None
    assert first.messages == ({"role": "user", "content": "The blue book"},)
    assert conversation.take(answered(Reply("Which one?"))) is None
    second = conversation.question()
    assert second.turn == 2
    assert second.messages == (
        {"role": "user", "content": "The blue book"},
        {"role": "assistant", "content": "Which one?"},
        {"role": "user", "content": "About whales"},
    )
    assert second.scenario["turns"] == ["The blue book", "About whales"]
    last = conversation.take(answered(Reply("Here it is"), 2))
    assert last is not None
    assert last.outcome == "answered"
    assert last.turns == (TurnEnd(Reply("Which one?"), 1000.0), TurnEnd(Reply("Here it is"), 2000.0))


@pytest.mark.parametrize("text", [None, "Let me see"])
def test_tool_calls_of_a_reply_are_in_its_message(text: str | None) -> None:
    conversation = begun(turns("One", "Two"))
    conversation.question()
    conversation.take(answered(Reply(text, tool_calls=(ToolCall("find", {"topic": "whales"}),))))
    assert conversation.question().messages[1] == {
        "role": "assistant",
        "content": text,
        "tool_calls": [{"name": "find", "arguments": {"topic": "whales"}}],
    }


def test_messages_of_a_reply_stand_for_the_assistants_message() -> None:
    own = ({"role": "assistant", "content": None, "tool_calls": []}, {"role": "assistant", "content": "Done"})
    conversation = begun(turns("One", "Two"))
    conversation.question()
    conversation.take(answered(Reply("Done", messages=own)))
    assert conversation.question().messages[1:3] == own


def test_the_answer_follows_messages_that_end_with_a_tools_result() -> None:
    own = ({"role": "assistant", "content": None, "tool_calls": [{"name": "find"}]}, {"role": "tool", "content": "7"})
    conversation = begun(turns("One", "Two"))
    conversation.question()
    conversation.take(answered(Reply("Seven", messages=own, tool_calls=(ToolCall("find"),))))
    assert conversation.question().messages[1:4] == (*own, {"role": "assistant", "content": "Seven"})


THINKS = {"role": "assistant", "content": "Let me see"}
CALLS = {"role": "assistant", "content": None, "tool_calls": [{"name": "find", "arguments": None}]}
RESULT = {"role": "tool", "content": "7"}


@pytest.mark.parametrize("output", [None, "Seven"])
@pytest.mark.parametrize("calls", [(), (ToolCall("find"),), (ToolCall("find"), ToolCall("wipe", {"all": True}))])
@pytest.mark.parametrize("own", [(), (THINKS,), (CALLS,), (CALLS, RESULT), (CALLS, RESULT, THINKS), (THINKS, CALLS)])
def test_the_agent_is_asked_in_the_conversation_that_is_graded(
    output: str | None, calls: tuple[ToolCall, ...], own: tuple[dict[str, Any], ...]
) -> None:
    reply = Reply(output, messages=own, tool_calls=calls)
    if reply.is_empty:
        return
    asked = turns("One", "Two")
    conversation = begun(asked)
    conversation.question()
    conversation.take(answered(reply))
    *before, _ = conversation.question().messages
    assert before == transcript(asked, TrialEnded("S0", 1, "", "answered", (TurnEnd(reply),)))
    assert {call.name for call in calls} <= {call.name for call in calls_in(before)}
    assert output is None or before[-1]["content"] == output
    assert all(message["content"] is not None or message.get("tool_calls") for message in before)


def test_every_question_can_be_written_as_json() -> None:
    conversation = begun(turns("One", "Two", expected_behaviors={"finds": {"calls": "find"}}, weight="1.5"))
    conversation.question()
    conversation.take(answered(Reply(None, tool_calls=(ToolCall("find", [1, {"a": None}]),))))
    assert msgspec.json.decode(msgspec.json.encode(conversation.question()))["turn"] == 2


def test_an_error_ends_the_trial_with_what_was_received_so_far() -> None:
    half = Attempt("error", Reply("I will tell you the secr"), "timed out after 5 s", latency_ms=5000.0)
    found = ended(begun(turns("One", "Two", "Three")), answered(Reply("First")), half)
    assert (found.outcome, found.reason) == ("error", "timed out after 5 s")
    assert found.turns == (TurnEnd(Reply("First"), 1000.0), TurnEnd(half.reply, 5000.0))


def test_a_trial_without_an_answer_in_a_later_turn_has_none_as_a_whole() -> None:
    found = ended(begun(turns("One", "Two")), answered(Reply("First")), BUSY)
    assert (found.outcome, found.reason) == ("infrastructure", "HTTP 503")
    assert found.turns == (TurnEnd(Reply("First"), 1000.0),)


def test_attempts_are_those_of_the_turn_that_needed_most() -> None:
    conversation = begun(turns("One", "Two", "Three"))
    for calls in (1, 3, 2):
        questions = [conversation.question() for _ in range(calls)]
        assert len({question.turn for question in questions}) == 1
        assert conversation.tries.attempts == calls
        found = conversation.take(ANSWERED)
    assert found is not None
    assert found.attempts == 3


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (None, "no reply"),
        (Reply(), "empty reply: neither text nor a tool call"),
        (Reply(" \n"), "empty reply: neither text nor a tool call"),
        (Reply("fine", error="out of memory"), "out of memory"),
        (Reply("fine", error=""), "the agent reports an error"),
    ],
)
def test_an_answer_that_is_none_is_an_error_whatever_the_caller_says(reply: Reply | None, reason: str) -> None:
    found = ended(begun(turns("One", "Two")), Attempt("answered", reply))
    assert (found.outcome, found.reason, found.turns) == ("error", reason, (TurnEnd(reply),))


def test_a_call_has_what_is_left_of_the_trials_time() -> None:
    conversation = begun(turns("One", "Two", "Three", timeout="10s"), trial_timeout=15.0)
    assert conversation.question().timeout == 10.0
    conversation.take(answered(Reply("a"), 8))
    assert conversation.question().timeout == pytest.approx(7.0)
    conversation.take(answered(Reply("b"), 6))
    assert conversation.question().timeout == pytest.approx(1.0)


def test_without_a_time_for_the_trial_each_turn_has_the_whole_timeout() -> None:
    conversation = begun(turns("One", "Two", "Three", timeout="10s"))
    for _ in range(2):
        assert conversation.question().timeout == 10.0
        assert conversation.take(answered(Reply("a"), 10)) is None
    assert conversation.question().timeout == 10.0


def test_a_trial_whose_time_is_used_up_is_an_error_with_what_was_received() -> None:
    found = ended(begun(turns("One", "Two", timeout="10s"), trial_timeout=8.0), answered(Reply("a"), 8))
    assert (found.outcome, found.reason) == ("error", "timed out: the turns together took too long")
    assert found.turns == (TurnEnd(Reply("a"), 8000.0),)


def test_an_answer_in_the_last_turn_counts_even_if_it_used_up_the_time() -> None:
    assert ended(begun(scenario(), trial_timeout=1.0), answered(Reply("a"), 1.0)).outcome == "answered"


def test_calls_that_failed_for_no_fault_of_the_agent_use_up_no_time() -> None:
    conversation = begun(turns("One", "Two", timeout="10s"), trial_timeout=10.0)
    conversation.question()  # and again, since it was answered by a 503
    conversation.question()
    conversation.take(answered(Reply("a"), 4))
    assert conversation.question().timeout == pytest.approx(6.0)


def test_an_error_of_a_single_question_keeps_how_long_it_took() -> None:
    assert ended(begun(scenario()), CRASHED).turns == (TurnEnd(None, 5.0),)
