"""No answer makes a row that is longer than readers accept: it would keep all other rows from being judged."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec
import pytest

from highbar.load.counting import LONGEST_RESULT
from highbar.model.answer import ToolCall
from highbar.running.calls import Reply
from highbar.running.grading import Grader
from highbar.running.records import TrialEnded, TurnEnd
from highbar.running.rows import line
from highbar.suite import read

SUITE = b"scenarios: [{id: A, turns: [Hi, Bye], answer: {contains: x}, must_not: {wipes: {calls: wipe}}}]"
LARGE = "\x01" * 3_000_000  # each takes six bytes in JSON
VALUES: dict[str, Any] = {
    "output": LARGE,
    "messages": ({"role": "assistant", "content": LARGE, LARGE: 1},),
    "tool_calls": (ToolCall("wipe", {LARGE: LARGE}), ToolCall(LARGE)),
    "state": {LARGE: LARGE},
    "context": [LARGE],
    "tokens_used": 10**15,
    "cost_usd": Decimal(1),
    "agent_version": LARGE,
    "error": LARGE,
    "tags": {LARGE: LARGE},
    "behaviors": {LARGE: True},
    "quality_score": Decimal(1),
}


@pytest.mark.parametrize("field", Reply.__struct_fields__)
def test_no_part_of_a_reply_makes_a_row_that_is_too_long(field):
    reply = Reply(**{"output": "x", field: VALUES[field]})
    suite = read("suite.yaml", data=SUITE)
    turns = (TurnEnd(Reply("x", tags={"turn": "1"})), TurnEnd(reply))
    ended = TrialEnded("A", 1, "", "answered", turns)
    row = line(Grader(suite).row(ended, suite.scenarios["A"], 1))
    assert len(row) < LONGEST_RESULT // 2
    found = msgspec.json.decode(row)
    assert field != "tool_calls" or found["violations"] == ["wipes"]
    assert field != "tags" or found["error"].startswith("malformed reply: tags: more than 100000 characters")


def test_columns_of_another_program_are_cut_in_a_row_that_is_too_long():
    row = line({"id": "A", "trace": {"spans": ["x" * 9_000_000]}, "agent_tags": {"a": "b"}, "judged": {"x": 1}})
    assert len(row) < LONGEST_RESULT // 2
    found = msgspec.json.decode(row)
    assert (found["agent_tags"], found["judged"]) == ({"a": "b"}, {"x": 1})
    assert found["trace"].startswith('{"spans":["')
    assert found["left_out"]["trace"] > 0
