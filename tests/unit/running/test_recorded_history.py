"""`highbar grade`: the conversation that a suite gives to the agent is not what the agent did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commandline import run

USER = {"role": "user", "content": "Any books about whales?"}
CALL = {"role": "assistant", "content": None, "tool_calls": [{"name": "search", "arguments": {}}]}
RESULT = {"role": "tool", "content": "Moby-Dick"}
AGAIN = {"role": "user", "content": "Look again."}
GIVEN = [USER, CALL, RESULT, AGAIN]
IDLE = {"role": "assistant", "content": "I did nothing"}
WIPES = {"role": "assistant", "content": "Gone.", "tool_calls": [{"name": "wipe", "arguments": {}}]}
SUITE: dict[str, Any] = {
    "scenarios": [
        {"id": "EXPECTED", "messages": GIVEN, "expected_behaviors": {"searches": {"calls": "search"}}},
        {"id": "FORBIDDEN", "messages": GIVEN, "must_not": {"wipes": {"calls": "wipe"}}},
        {"id": "TURNS", "turns": ["Hi", "Bye"], "expected_behaviors": {"keeps": {"not": {"calls": "wipe"}}}},
        {"id": "INPUT", "input": "Hi", "must_not": {"wipes": {"calls": "wipe"}}},
        {"id": "TURN_BY_TURN", "turns": ["Hi", "Bye"], "must_not": {"wipes": {"calls": "wipe"}}},
    ]
}


def graded(here: Path, **rows: dict[str, Any]) -> dict[str, dict[str, Any]]:
    (here / "suite.json").write_text(json.dumps(SUITE))
    (here / "rows.jsonl").write_text("".join(json.dumps({"id": id_, **row}) + "\n" for id_, row in rows.items()))
    done = run(here, "grade", "rows.jsonl", "--suite", "suite.json", "-o", "new.jsonl")
    assert done.exit == 0, done.err
    return {row["id"]: row for row in map(json.loads, (here / "new.jsonl").read_text().splitlines())}


@pytest.mark.parametrize(
    "row",
    [
        {"output": "I did nothing", "messages": [*GIVEN, IDLE]},
        {"output": "I did nothing", "messages": [{"role": "system", "content": "Be kind."}, *GIVEN, IDLE]},
        {"output": "I did nothing", "messages": json.dumps([*GIVEN, IDLE])},
        {"output": "I did nothing", "messages": [USER | {"tool_calls": CALL["tool_calls"]}, CALL, RESULT, AGAIN, IDLE]},
        # Some tools list all calls of the conversation.
        {"output": "I did nothing", "messages": [*GIVEN, IDLE], "tool_calls": CALL["tool_calls"]},
    ],
)
def test_calls_in_the_given_conversation_are_not_calls_of_the_agent(tmp_path, row):
    rows = graded(tmp_path, EXPECTED=row, FORBIDDEN=row)
    assert rows["EXPECTED"]["unjudged"] == "check: searches: no tool calls were recorded"
    assert rows["FORBIDDEN"]["unjudged"] == "check: wipes: no tool calls were recorded"
    assert "violations" not in rows["FORBIDDEN"]


def test_calls_after_the_given_conversation_are_calls_of_the_agent(tmp_path):
    rows = graded(
        tmp_path, EXPECTED={"messages": [*GIVEN, CALL, RESULT, IDLE]}, FORBIDDEN={"messages": [*GIVEN, WIPES]}
    )
    assert rows["EXPECTED"]["behaviors"] == {"searches": True}
    assert rows["FORBIDDEN"]["violations"] == ["wipes"]


def test_a_list_of_all_calls_is_read_without_those_of_the_given_conversation(tmp_path):
    calls = [*CALL["tool_calls"], *WIPES["tool_calls"]]
    row = {"messages": [*GIVEN, WIPES], "tool_calls": calls}
    rows = graded(tmp_path, EXPECTED=row, FORBIDDEN=row)
    assert rows["EXPECTED"]["behaviors"] == {"searches": False}
    assert rows["FORBIDDEN"]["violations"] == ["wipes"]


def test_messages_without_the_given_conversation_are_all_read(tmp_path):
    rows = graded(tmp_path, EXPECTED={"messages": [CALL, RESULT, IDLE]}, FORBIDDEN={"messages": [WIPES, RESULT, IDLE]})
    assert rows["EXPECTED"]["behaviors"] == {"searches": True}
    assert rows["FORBIDDEN"]["violations"] == ["wipes"]


def test_an_answer_to_another_conversation_is_undecided(tmp_path):
    said = {"messages": [USER, CALL, RESULT, {"role": "user", "content": "Thanks."}, CALL, RESULT, IDLE]}
    failed = {"error": "timeout", "messages": [WIPES, USER, IDLE]}
    rows = graded(tmp_path, EXPECTED=said, FORBIDDEN=failed)
    assert rows["EXPECTED"]["unjudged"] == "check: the recorded answer is to another question"
    assert rows["FORBIDDEN"]["violations"] == ["wipes"]


def test_calls_of_turns_that_were_not_recorded_are_not_known(tmp_path):
    last = [{"role": "user", "content": "Bye"}, CALL, RESULT, IDLE]
    rows = graded(tmp_path, TURNS={"messages": last})
    assert rows["TURNS"]["unjudged"] == "check: keeps: not all tool calls were recorded"
    rows = graded(tmp_path, TURNS={"messages": [{"role": "user", "content": "Hi"}, IDLE, *last]})
    assert rows["TURNS"]["behaviors"] == {"keeps": True}


HI, BYE = {"role": "user", "content": "Hi"}, {"role": "user", "content": "Bye"}


def test_what_an_agent_does_before_the_question_is_not_excused(tmp_path):
    rows = graded(
        tmp_path,
        INPUT={"messages": [WIPES, RESULT, HI, CALL, RESULT, IDLE]},
        TURN_BY_TURN={"messages": [WIPES, RESULT, HI, CALL, RESULT, IDLE, BYE, IDLE]},
    )
    assert rows["INPUT"]["violations"] == rows["TURN_BY_TURN"]["violations"] == ["wipes"]


def test_only_the_calls_of_the_suite_itself_are_its_own(tmp_path):
    other = {**CALL, "tool_calls": [{"name": "search", "arguments": {"title": "Emma"}}]}
    for call in (WIPES, other):
        rows = graded(tmp_path, FORBIDDEN={"messages": [USER, call, RESULT, AGAIN, CALL, RESULT, IDLE]})
        assert rows["FORBIDDEN"]["unjudged"] == "check: the recorded answer is to another question"


def test_messages_that_a_tool_split_or_wrote_in_the_form_of_anthropic_are_the_same(tmp_path):
    split = [USER, {"role": "assistant", "content": "Let me look."}, CALL, RESULT, AGAIN]
    use = {"role": "assistant", "content": [{"type": "tool_use", "name": "search", "input": {}}]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "Moby-Dick"}]}
    for given in (split, [USER, use, result, AGAIN], [USER, CALL, AGAIN]):
        rows = graded(
            tmp_path, EXPECTED={"messages": [*given, use, result, IDLE]}, FORBIDDEN={"messages": [*given, WIPES]}
        )
        assert rows["EXPECTED"]["behaviors"] == {"searches": True}
        assert rows["FORBIDDEN"]["violations"] == ["wipes"]
    rows = graded(tmp_path, TURN_BY_TURN={"messages": [HI, use, result, IDLE, BYE, WIPES]})
    assert rows["TURN_BY_TURN"]["violations"] == ["wipes"]


def test_new_messages_alone_do_not_say_which_turn_they_are_of(tmp_path):
    rows = graded(tmp_path, TURN_BY_TURN={"messages": [CALL, RESULT, IDLE]})
    assert rows["TURN_BY_TURN"]["unjudged"] == "check: wipes: not all tool calls were recorded"


def test_a_conversation_that_ends_with_the_result_of_a_call_ends_there(tmp_path):
    suite = {"scenarios": [{"id": "A", "messages": [USER, CALL, RESULT], "must_not": {"wipes": {"calls": "wipe"}}}]}
    (tmp_path / "suite.json").write_text(json.dumps(suite))
    (tmp_path / "rows.jsonl").write_text(json.dumps({"id": "A", "messages": [USER, CALL, RESULT, WIPES]}) + "\n")
    assert run(tmp_path, "grade", "rows.jsonl", "--suite", "suite.json", "-o", "new.jsonl").exit == 0
    assert json.loads((tmp_path / "new.jsonl").read_text())["violations"] == ["wipes"]
