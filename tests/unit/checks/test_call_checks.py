"""Tool calls, over all turns."""

from decimal import Decimal

import pytest

from highbar.model.answer import Answer, ToolCall
from tests.unit.checks.answers import applied, called, observed

SEARCH = ("search", {"topic": "Whales", "limit": 5})
OTHER = ("search", {"topic": "bears"})


@pytest.mark.parametrize(
    ("check", "calls", "holds"),
    [
        ({"calls": "search"}, [SEARCH], True),
        ({"calls": "search"}, ["read"], False),
        ({"calls": "search"}, [], False),
        ({"calls": "Search"}, [SEARCH], False),
        ({"calls": "search", "arguments": {"topic": "whales"}}, [SEARCH], True),
        ({"calls": "search", "arguments": {"topic": "whales"}, "exact": True}, [SEARCH], False),
        ({"calls": "search", "arguments": {}, "exact": True}, ["search"], True),
        ({"calls": "search", "arguments": {"limit": 5.0}}, [SEARCH], True),
        ({"calls": "search", "arguments": {"limit": "5"}}, [SEARCH], False),
        ({"calls": "search", "arguments": {"limit": True}}, [("search", {"limit": 1})], False),
        ({"calls": "search", "arguments": {"a": {"b": ["X"]}}}, [("search", {"a": {"b": ["x"]}})], True),
        ({"calls": "search", "arguments": {"a": {"b": 1}}}, [("search", {"a": {"b": 1, "c": 2}})], False),
        ({"calls": "search", "arguments": {"n": 10**30}}, [("search", {"n": 10**30 + 1})], False),
        ({"calls": "search", "arguments": {"n": 0.1}}, [("search", {"n": Decimal("0.1")})], True),
        ({"calls": "search", "arguments": {"n": None}}, ["search"], False),
        ({"calls": "search", "where": {"/limit": {"at_most": 5}}}, [SEARCH], True),
        ({"calls": "search", "where": {"/limit": {"at_most": 4}}}, [SEARCH], False),
        ({"calls": "search", "where": {"/limit": {"not": {"equals": 3}}}}, [OTHER], False),
        ({"calls": "search", "times": 2}, [SEARCH, OTHER], True),
        ({"calls": "search", "times": 1}, [SEARCH, OTHER], False),
        ({"calls": "search", "times": {"at_most": 1}}, [], False),
        ({"calls": "search", "arguments": {"topic": "bears"}, "times": 1}, [SEARCH, OTHER], True),
        ({"calls": "search", "arguments": {"topic": "bears"}, "every": True}, [SEARCH, OTHER], False),
        ({"calls": "search", "arguments": {"topic": "bears"}, "every": True}, [OTHER, "read"], True),
        ({"calls": "search", "arguments": {"topic": "bears"}, "every": True}, ["read"], False),
        ({"calls": "search", "not_arguments": {"topic": "bears"}}, [OTHER], False),
        ({"calls": "search", "not_arguments": {"topic": "bears"}}, [SEARCH, OTHER], True),
        ({"calls": "search", "not_arguments": {"topic": "bears"}}, [], False),
        ({"calls_in_order": ["a", "b"]}, ["a", "x", "b"], True),
        ({"calls_in_order": ["a", "b"]}, ["b", "a"], False),
        ({"calls_in_order": ["a", "a"]}, ["a"], False),
        ({"calls_only": ["a", "b"]}, ["a", "a"], True),
        ({"calls_only": ["a", "b"]}, ["a", "c"], False),
        ({"calls_only": []}, [], True),
        ({"calls_only": []}, ["a"], False),
    ],
)  # fmt: skip
def test_a_check_of_calls(check, calls, holds):
    assert observed(check, called(*calls)) is holds


def test_calls_of_all_turns_are_read():
    answer = Answer(("a", "b"), ((ToolCall("one"),), (ToolCall("two"),)))
    assert observed({"calls_in_order": ["one", "two"]}, answer) is True


def test_the_evidence_is_the_call():
    assert applied({"calls": "search"}, called(SEARCH)).found == {"name": "search", "arguments": SEARCH[1]}
    large = applied({"calls": "search"}, called(("search", {"text": "x" * 9999}))).found
    assert large["arguments"].startswith('{"text": "xxx')
    assert len(large["arguments"]) == 500


def test_the_reason_names_the_types():
    finding = applied({"calls": "pay", "arguments": {"amount": 99}}, called(("pay", {"amount": "99"})))
    assert finding.reason == "the argument 'amount' is the text \"99\", wanted the number 99"
    assert finding.found == {"name": "pay", "arguments": {"amount": "99"}}


def test_arguments_that_are_no_mapping():
    assert applied({"calls": "a", "arguments": {"b": 1}}, called(("a", "b=1"))).reason == (
        'the arguments are the text "b=1", wanted a mapping'
    )


def test_arguments_that_are_too_deep_are_not_known():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert observed({"calls": "a", "arguments": {"b": 1}}, called(("a", {"b": deep}))) is None
    assert (
        observed(
            {"calls": "a", "arguments": {"b": 1}, "times": 1}, called(("a", {"b": 1}), ("a", {"b": 1}), ("a", deep))
        )
        is False
    )
    assert observed({"calls": "a", "arguments": {"b": 1}, "times": 1}, called(("a", {"b": 1}), ("a", deep))) is None
    assert observed({"contains": "x"}, called(("a", {"b": deep, "c": "x"})), must_not=True) is True
