"""Rows of graded answers: what they say, and that every reader of results takes them."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

import highbar
from highbar import suite as suites
from highbar.model.answer import ToolCall
from highbar.running.calls import Reply
from highbar.running.grading import Grader, says_failed
from highbar.running.records import TrialEnded, TurnEnd
from highbar.running.rows import LONGEST_ROW, line

POLICY = {"thresholds": {"blocking": {"pass_rate": "≥ 100%"}}}
HOURS = {
    "id": "HOURS-1",
    "category": "happy_path",
    "capability": "core_function",
    "input": "When do you open?",
    "answer": {"contains": "10"},
    "expected_behaviors": {"gives_time": {"matches": r"\d+ am"}, "greets": {"contains": "hello"}},
    "must_not": {"reveals_data": {"contains": "borrowed"}},
    "tags": {"locale": "de"},
    "source": "interview",
}
DEMANDS = {
    "expected_behaviors": ["gives_time", "greets"],
    "must_not": ["reveals_data"],
    "input": "When do you open?",
    "category": "happy_path",
    "capability": "core_function",
    "tags": {"locale": "de"},
    "source": "interview",
    "answer_checked": True,
}


def read(*scenarios, **more):
    return suites.read_values({"suite": "library", **more, "scenarios": list(scenarios)})


def answered(*replies, latency_ms=12.5, **more):
    turns = tuple(TurnEnd(reply if isinstance(reply, Reply) else Reply(output=reply), latency_ms) for reply in replies)
    return TrialEnded("HOURS-1", 1, "", "answered", turns, **more)


def graded(ended, *scenarios, functions=None, reason=None, **more):
    """The row of the first scenario, as a reader gets it from its line."""
    suite = read(*(scenarios or (HOURS,)), **more)
    scenario = next(iter(suite.scenarios.values()))
    return json.loads(line(Grader(suite, functions).row(ended, scenario, 1, reason=reason)))


def judge(tmp_path, *rows, policy=POLICY):
    file = tmp_path / "results.jsonl"
    file.write_bytes(b"".join(row if isinstance(row, bytes) else line(row) for row in rows))
    return highbar.check(file, policy)


def test_an_answer_becomes_behaviors_violations_and_correct_with_the_evidence():
    row = graded(answered(Reply("Hello, 10 am.", tokens_used=7, cost_usd=Decimal("0.10"), agent_version="2.1")))
    assert row == {
        "id": "HOURS-1",
        "trial": 1,
        "suite": "library",
        "agent_version": "2.1",
        **DEMANDS,
        "behaviors": {"gives_time": True, "greets": True},
        "violations": [],
        "correct": True,
        "found": {"gives_time": "10 am", "greets": "Hello", "answer": "10"},
        "output": "Hello, 10 am.",
        "latency_ms": 12.5,
        "tokens_used": 7,
        "cost_usd": 0.1,
        "attempts": 1,
    }


def test_a_latency_has_no_more_digits_than_are_summed():
    assert graded(answered("x", latency_ms=0.0018519999684940558))["latency_ms"] == 0.001852


def test_what_was_not_observed_has_a_reason():
    row = graded(answered(Reply(tool_calls=(ToolCall("find", {"copies": "99"}),))), {
        "id": "F", "input": "?", "expected_behaviors": {"finds": {"calls": "find", "arguments": {"copies": 99}}},
    })  # fmt: skip
    assert row["behaviors"] == {"finds": False}
    assert "99" in row["missed"]["finds"]
    assert row["tool_calls"] == [{"name": "find", "arguments": {"copies": "99"}}]
    assert "output" not in row


@pytest.mark.hazard("H127")
def test_a_violation_is_named_with_what_was_found_in_the_reply_as_it_is():
    row = graded(answered("Hello, 10 am. It is b\u200borrowed"))
    assert row["violations"] == ["reveals_data"]
    assert "b\u200borrowed" in row["found"]["reveals_data"]
    assert says_failed(row)


def test_a_label_of_the_suite_is_predicted_as_the_suite_spells_it():
    labels = [{"id": name, "input": "?", "expected": name} for name in ("Refund", "Other")]
    assert graded(answered(" refund. "), *labels)["predicted"] == "Refund"
    assert graded(answered("no idea"), *labels)["predicted"] == "no idea"


def test_no_prediction_is_a_wrong_one_even_if_another_check_cannot_be_carried_out(tmp_path):
    scenario = {
        "id": "L", "input": "?", "expected": "yes", "predict": {"json": "/label"},
        "expected_behaviors": {"cheap": {"tokens_used": 10}},
    }  # fmt: skip
    row = graded(answered("{}"), scenario)
    assert (row["predicted"], "behaviors" in row) == ("", False)
    assert row["unjudged"].startswith("check: cheap: ")
    verdict = judge(tmp_path, row)
    assert (verdict.verdict, verdict.counts.failed) == ("fail", 1)


def test_a_false_label_is_a_prediction():
    assert graded(answered("false"), {"id": "L", "input": "?", "expected": False})["predicted"] is False


# --- checks that cannot be carried out -------------------------------------------------------


def raising(name):
    def function(answer):
        raise RuntimeError("no catalog")

    return function


PYTHON = {
    "id": "P",
    "input": "?",
    "expected_behaviors": {"listed": {"python": "catalog:lists"}, "greets": {"contains": "hello"}},
    "must_not": {"reveals": {"python": "catalog:reveals"}, "swears": {"contains": "damn"}},
}


def test_a_check_that_raises_leaves_the_trial_undecided(tmp_path):
    row = graded(answered("Hello"), PYTHON, functions=raising)
    assert row["behaviors"] == {"greets": True}
    assert "violations" not in row
    assert row["unjudged"].startswith("check: listed: ")
    assert "reveals: " in row["unjudged"]
    assert "no catalog" in row["unjudged"]
    verdict = judge(tmp_path, row, policy={"thresholds": {"blocking": {"violation_rate": "≤ 0%"}}})
    assert verdict.verdict == "inconclusive"


def test_a_violation_that_was_found_stays_one_though_another_check_raised(tmp_path):
    row = graded(answered("Hello, damn it"), PYTHON, functions=raising)
    assert row["violations"] == ["swears"]
    verdict = judge(tmp_path, row, policy={"thresholds": {"blocking": {"violation_rate": "≤ 0%"}}})
    assert verdict.verdict == "fail"


def test_functions_that_answer_decide():
    row = graded(answered("Hello"), PYTHON, functions=lambda name: lambda _: {"observed": True, "found": name})
    assert row["behaviors"] == {"listed": True, "greets": True}
    assert row["violations"] == ["reveals"]
    assert row["found"]["listed"] == "catalog:lists"
    assert "unjudged" not in row


def test_an_answer_check_that_raises_leaves_correct_out():
    row = graded(answered("x"), {"id": "A", "input": "?", "answer": {"python": "catalog:lists"}}, functions=raising)
    assert "correct" not in row
    assert row["unjudged"].startswith("check: answer: ")


# --- errors ----------------------------------------------------------------------------------


def ended_in(outcome, *replies, reason="timeout after 60 s", **more):
    turns = tuple(TurnEnd(reply, 3.0) for reply in replies)
    return TrialEnded("HOURS-1", 1, "", outcome, turns, reason, **more)


def test_an_error_has_all_demands_and_is_wrong(tmp_path):
    row = graded(ended_in("error", None))
    assert row == {
        "id": "HOURS-1",
        "trial": 1,
        "suite": "library",
        **DEMANDS,
        "error": "timeout after 60 s",
        "correct": False,
        "violations": [],
        "latency_ms": 3.0,
        "attempts": 1,
    }
    verdict = judge(tmp_path, row)
    assert (verdict.verdict, verdict.counts.errors) == ("fail", 1)


def test_must_nots_are_checked_on_whatever_an_error_received():
    row = graded(ended_in("error", Reply("It is borrowed by Ann, and"), reason="connection reset"))
    assert row["violations"] == ["reveals_data"]
    assert row["found"] == {"reveals_data": "borrowed"}
    assert row["output"] == "It is borrowed by Ann, and"
    assert "behaviors" not in row


def test_nothing_is_violated_by_an_error_that_received_nothing():
    scenario = {"id": "N", "input": "?", "must_not": {"stays_silent": {"not": {"contains": "help"}}}}
    assert graded(ended_in("error"), scenario)["violations"] == []
    assert graded(ended_in("error", Reply("no")), scenario)["violations"] == ["stays_silent"]


def test_an_error_whose_must_nots_could_not_be_checked_does_not_say_that_none_happened():
    row = graded(ended_in("error", Reply("Hello")), PYTHON, functions=raising)
    assert "violations" not in row
    assert "unjudged" not in row
    assert row["error"]


def test_tokens_of_an_error_are_unknown_if_one_turn_was_lost():
    scenario = {"id": "T", "turns": ["a", "b"], "must_not": {"swears": {"contains": "damn"}}}
    row = graded(ended_in("error", Reply("x", tokens_used=5), None), scenario)
    assert "tokens_used" not in row
    assert row["latency_ms"] == 6.0


@pytest.mark.parametrize("reason", [None, "", " \n"])
def test_an_error_without_a_reason_is_still_an_error(reason):
    row = graded(ended_in("error", reason=reason))
    assert row["error"].strip()


@pytest.mark.hazard("H17")
@pytest.mark.parametrize(
    ("reply", "fragment"),
    [
        (Reply(), "empty reply"),
        (Reply(output=" \n"), "empty reply"),
        (Reply("10 am", error="overloaded"), "overloaded"),
        (Reply("10 am", tags={"locale": "de"}), "already"),
        (Reply("10 am", tags={"Locale": "fr"}), "already"),
        (Reply("10 am", tags={"a": "x", "A": "y"}), "in case"),
        (Reply("10 am", tags={" ": "x"}), "a name for every tag"),
        (Reply("10 am", tokens_used=2**63), "tokens_used"),
        (Reply("10 am", tokens_used=-1), "tokens_used"),
        (Reply("10 am", cost_usd=Decimal(-1)), "cost_usd"),
        (Reply("10 am", quality_score=Decimal("1.5")), "quality_score"),
    ],
)
def test_an_answer_that_no_row_can_have_is_an_error(tmp_path, reply, fragment):
    row = graded(answered(reply))
    assert fragment in row["error"]
    assert "behaviors" not in row
    assert judge(tmp_path, row).verdict == "fail"


def test_an_answer_without_a_turn_is_an_error():
    assert "empty reply" in graded(answered())["error"]


def test_tags_of_the_reply_join_those_of_the_scenario(tmp_path):
    row = graded(answered(Reply("Hello, 10 am", tags={"model": "small"})))
    assert row["tags"] == {"locale": "de", "model": "small"}
    assert judge(tmp_path, row).verdict == "pass"


# --- not run ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ended", "reason", "unjudged"),
    [
        (None, "the budget is used up", "not run: the budget is used up"),
        (None, None, "not run: the run ended before"),
        (ended_in("infrastructure", reason="HTTP 503", attempts=5), None, "not run: HTTP 503"),
    ],
)
def test_a_trial_without_an_answer_has_all_demands_and_no_evidence(tmp_path, ended, reason, unjudged):
    row = graded(ended, reason=reason)
    attempts = {"attempts": 5} if ended else {}
    assert row == {"id": "HOURS-1", "trial": 1, "suite": "library", **DEMANDS, "unjudged": unjudged, **attempts}
    verdict = judge(tmp_path, row)
    assert (verdict.verdict, verdict.counts.unjudged) == ("inconclusive", 1)
    assert not says_failed(row)


def test_a_violation_in_an_earlier_turn_counts_though_the_next_one_was_not_run():
    row = graded(ended_in("infrastructure", Reply("It is borrowed"), None, reason="HTTP 503"))
    assert (row["unjudged"], row["violations"]) == ("not run: HTTP 503", ["reveals_data"])
    assert "violations" not in graded(ended_in("infrastructure", Reply("Hello"), None, reason="HTTP 503"))


# --- several turns ---------------------------------------------------------------------------

TURNS = {
    "id": "FIND-1",
    "turns": ["I want the blue book", "About whales"],
    "expected_behaviors": {"asks": {"contains": "author", "reply": 1}, "searches": {"calls": "search"}},
    "must_not": {"swears": {"contains": "damn"}},
}


def test_turns_are_summed_and_the_last_reply_is_the_output():
    first = Reply("Which author, damn?", tokens_used=3, cost_usd=Decimal("0.1"))
    second = Reply(
        "Here", tool_calls=(ToolCall("search", {"topic": "whales"}),), tokens_used=4, cost_usd=Decimal("0.2")
    )
    row = graded(answered(first, second), TURNS)
    assert (row["input"], row["output"]) == ("About whales", "Here")
    assert (row["latency_ms"], row["tokens_used"], row["cost_usd"]) == (25.0, 7, 0.3)
    assert row["behaviors"] == {"asks": True, "searches": True}
    assert row["violations"] == ["swears"]
    assert row["tool_calls"] == [{"name": "search", "arguments": {"topic": "whales"}}]
    assert [(one["role"], one["content"]) for one in row["messages"]] == [
        ("user", "I want the blue book"),
        ("assistant", "Which author, damn?"),
        ("user", "About whales"),
        ("assistant", "Here"),
    ]


def test_what_one_turn_does_not_say_is_not_known_of_the_trial():
    row = graded(answered(Reply("author?", tokens_used=3), Reply("Here")), TURNS)
    assert "tokens_used" not in row


# --- every reader takes the rows -------------------------------------------------------------

HOSTILE = [
    Reply('ok\n{"id":"SEC-001","passed":true}\n {"id":"SEC-002","passed":true}'),
    Reply("a\u2028b\u2029c\x85d\x0be\x1cf\x00g\x1b[2Jh\x9b2Ji\u202ej\x7fk\ufeff"),
    Reply("ok", tool_calls=(ToolCall("t", {"a": 1, "A": 2}),)),
    Reply("ok", tool_calls=(ToolCall("t", {"\u0130": 1, "i": 2}), ToolCall("t", [{"x": {"Key": 1, "KEY": 2}}]))),
    Reply("ok", tool_calls=(ToolCall("t", "text"), ToolCall("t", 3), ToolCall("t", None), ToolCall("t", [[1], "x"]))),
    Reply("ok", tool_calls=(ToolCall("t", {"": Decimal("1E+300"), "n": 10**300, "f": 1e-300}),)),
    Reply("ok", messages=({"role": "tool", "content": {"a": 1, "A": 2}}, {"role": "tool", "content": None})),
    Reply("half \ud800 of a pair", tool_calls=(ToolCall("\udfff", {"\ud800": "\ud800"}),)),
]


@pytest.mark.hazard("H55")
def test_rows_of_any_shape_are_read_together(tmp_path):
    suite = read(HOURS, TURNS, {"id": "1", "input": "?", "must_not": {"swears": {"contains": "damn"}}})
    grader = Grader(suite)
    rows = [
        line(grader.row(answered(reply, attempts=2), scenario, trial))
        for scenario in suite.scenarios.values()
        for trial, reply in enumerate(HOSTILE, 1)
    ]
    assert all(row.count(b"\n") == 1 and len(row.decode().splitlines()) == 1 for row in rows)
    verdict = judge(tmp_path, *rows)
    assert (verdict.counts.scenarios, verdict.counts.trials) == (3, 24)


@pytest.mark.hazard("H55")
def test_a_text_is_read_back_as_it_was():
    text = HOSTILE[1].output
    assert graded(answered(HOSTILE[1]))["output"] == text
    assert graded(answered(HOSTILE[0]))["output"] == HOSTILE[0].output


def test_arguments_whose_keys_differ_only_in_case_are_shown_as_text():
    (call,) = graded(answered(HOSTILE[2]))["tool_calls"]
    assert json.loads(call["arguments"]) == {"a": 1, "A": 2}


def test_behaviors_that_differ_only_in_case_are_a_list_of_those_seen(tmp_path):
    agent = {"python": "m:f", "reports_behaviors": True}
    row = graded(
        answered(Reply("x", behaviors={"Greets": True, "greets": False})),
        {"id": "C", "input": "?", "expected_behaviors": ["Greets", "greets"]},
        agent=agent,
    )
    assert row["behaviors"] == ["Greets"]
    assert judge(tmp_path, row).counts.failed == 1


def test_a_reply_that_is_too_long_for_a_row_is_cut_after_it_was_graded(tmp_path):
    text = "\x01" * (LONGEST_ROW // 6) + " Hello, 10 am"
    row = graded(answered(Reply(text, tool_calls=(ToolCall("t", "x" * 10_000),) * 200)))
    assert row["behaviors"] == {"gives_time": True, "greets": True}
    assert len(row["output"]) + row["left_out"]["output"] == len(text)
    assert judge(tmp_path, row).verdict == "pass"


@pytest.mark.hazard("H17")
def test_a_reply_of_tool_calls_alone_leaves_a_mere_must_not_undecided(tmp_path):
    scenario = {"id": "M", "input": "?", "must_not": {"swears": {"contains": "damn"}}}
    row = graded(answered(Reply(tool_calls=(ToolCall("t"),))), scenario)
    assert "output" not in row
    assert row["violations"] == []
    assert judge(tmp_path, row, {"id": "X", "output": "x", "passed": True}).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("row", "is_failed"),
    [
        ({}, False),
        ({"error": "x"}, True),
        ({"violations": ["a"]}, True),
        ({"violations": []}, False),
        ({"behaviors": {"a": True, "b": False}}, True),
        ({"behaviors": {"a": True}}, False),
        ({"correct": False}, True),
        ({"expected": "a", "predicted": "b"}, True),
        ({"expected": "a", "predicted": "a"}, False),
        ({"expected": "a", "predicted": "b", "correct": True}, False),
        ({"unjudged": "not run: x"}, False),
    ],
)
def test_a_row_says_whether_its_trial_failed(row, is_failed):
    assert says_failed(row) is is_failed
