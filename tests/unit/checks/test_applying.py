"""Combinations, functions, limits: true, false, or not carried out."""

from decimal import Decimal

import pytest

from highbar import checks
from highbar.model.answer import Answer, ToolCall
from tests.unit.checks.answers import applied, observed, read, said

YES, NO, UNKNOWN = {"contains": "x"}, {"contains": "z"}, {"tokens_used": 5}


@pytest.mark.parametrize(
    ("check", "holds"),
    [
        ({"all": [YES, YES]}, True),
        ({"all": [YES, NO]}, False),
        ({"all": [UNKNOWN, NO]}, False),
        ({"all": [YES, UNKNOWN]}, None),
        ({"any": [NO, YES]}, True),
        ({"any": [UNKNOWN, YES]}, True),
        ({"any": [NO, NO]}, False),
        ({"any": [NO, UNKNOWN]}, None),
        ({"not": YES}, False),
        ({"not": NO}, True),
        ({"not": UNKNOWN}, None),
        ({**YES, **UNKNOWN}, None),
    ],
)
def test_three_values(check, holds):
    assert observed(check, "x") is holds


def test_the_evidence_of_a_combination():
    assert applied({"all": [YES, {"contains": "y"}]}, "x y").found == ["x", "y"]
    assert applied({"any": [NO, YES]}, "x").found == "x"
    assert applied({"not": YES}, "x").found == "x"
    assert applied({"all": [YES, UNKNOWN]}, "x").reason == "tokens_used is not known"


@pytest.mark.parametrize(
    ("most", "holds"), [(800, True), (799.5, False), (Decimal("800.0"), True), ({"at_most": 900}, True)]
)
def test_a_measured_column_is_at_most_so_much(most, holds):
    answer = Answer(("x",), measured={"latency_ms": 800})
    finding = applied({"latency_ms": most}, answer)
    assert (finding.observed, finding.found) == (holds, 800)
    assert applied({"cost_usd": 1}, answer).reason == "cost_usd is not known"
    assert observed({"cost_usd": 0.1}, Answer(("x",), measured={"cost_usd": 0.1})) is True
    assert observed({"cost_usd": 0.1}, Answer(("x",), measured={"cost_usd": float("nan")})) is None


def test_a_statement_is_for_a_judge():
    assert applied("The reply is kind.", "x").observed is None
    assert "judge" in applied("The reply is kind.", "x").reason
    judged = {"The reply is kind.": checks.Finding(observed=True, found="x")}
    assert observed("The reply is kind.", "x", judged=judged) is True
    assert observed({"not": {"judge": "The reply is kind."}}, "x", judged=judged) is False


def test_a_behavior_that_the_agent_reports():
    check = checks.Reported("refuses")
    assert checks.apply(check, said("x")).reason == "the agent reported no behaviors"
    assert checks.apply(check, Answer(("x",), behaviors={"refuses": True})).observed is True
    assert checks.apply(check, Answer(("x",), behaviors={})).observed is False


def resolver(function):
    def find(name):
        assert name == "my.module:check"
        return function

    return find


def fail(answer):
    raise KeyError("gone")


def leave(answer):
    raise SystemExit(0)


WANTED = "wanted true, false or {observed, found}"


@pytest.mark.parametrize(
    ("function", "holds", "found", "reason"),
    [
        (lambda answer: answer["output"] == "x", True, None, None),
        (lambda answer: answer["tool_calls"][0]["name"] == "y", False, None, None),
        (lambda answer: {"observed": True, "found": answer["replies"]}, True, ["x"], None),
        (lambda answer: {"observed": answer["latency_ms"] < 5}, False, None, None),
        (lambda answer: len(answer["replies"]), None, None, f"my.module:check returned a int, {WANTED}"),
        (lambda answer: answer["state"], None, None, f"my.module:check returned a NoneType, {WANTED}"),
        (
            lambda answer: {"observed": answer != {}, "fuond": 1},
            None,
            None,
            f"my.module:check returned a dict, {WANTED}",
        ),
        (fail, None, None, "my.module:check raised KeyError: 'gone'"),
        (leave, None, None, "my.module:check raised SystemExit: 0"),
    ],
)
def test_a_function_of_the_answer(function, holds, found, reason):
    answer = Answer(("x",), ((ToolCall("t", {}),),), measured={"latency_ms": 7})
    finding = applied({"python": "my.module:check"}, answer, functions=resolver(function))
    assert (finding.observed, finding.found, finding.reason) == (holds, found, reason)


def test_a_function_that_was_not_loaded_or_found_is_not_carried_out():
    assert applied({"python": "a:b"}, "x").reason == "the function a:b was not loaded"

    def missing(name):
        raise ImportError(f"no {name}")

    assert applied({"python": "a:b"}, "x", functions=missing).reason == "a:b raised ImportError: no a:b"


def test_what_a_check_needs_can_be_asked_for():
    check = read({"any": ["A.", {"not": {"python": "a:b"}}, {"all": ["B.", "A."]}]})
    assert checks.statements(check) == ("A.", "B.")
    assert checks.function_names(check) == ("a:b",)


def test_a_function_cannot_change_what_later_checks_see():
    def function(answer):
        answer["state"]["paid"] = False
        answer["tool_calls"][0]["arguments"].clear()
        return True

    answer = Answer(("x",), ((ToolCall("pay", {"to": "me"}),),), state={"paid": True})
    assert applied({"python": "a:b"}, answer, functions=lambda _: function).observed
    assert answer.state == {"paid": True}
    assert answer.calls[0].arguments == {"to": "me"}
