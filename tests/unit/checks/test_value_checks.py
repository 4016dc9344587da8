"""JSON values at pointers."""

import json
from decimal import Decimal

import pytest

from highbar.model.answer import Answer
from tests.unit.checks.answers import applied, observed


@pytest.mark.parametrize(
    ("checks", "value", "holds"),
    [
        ({"/a": 1}, '{"a": 1.0}', True),
        ({"/a": 1}, '{"a": true}', False),
        ({"/a": True}, '{"a": 1}', False),
        ({"/a": "99"}, '{"a": 99}', False),
        ({"/a": None}, '{"a": null}', True),
        ({"/a": None}, "{}", False),
        ({"/a": "Yes"}, '{"a": "yes."}', True),
        ({"/a": {"equals": "Yes", "exact": True}}, '{"a": "yes"}', False),
        ({"/a": ""}, '{"a": "..."}', False),
        ({"/a": ""}, '{"a": ""}', True),
        ({"/a": [1, 2]}, '{"a": [1, 2]}', True),
        ({"/a": [1, 2]}, '{"a": [2, 1]}', False),
        ({"/a": {"same_items": [1, 2, 2]}}, '{"a": [2, 1, 2]}', True),
        ({"/a": {"same_items": [1, 2, 2]}}, '{"a": [2, 1, 1]}', False),
        ({"/a": {"same_items": [1]}}, '{"a": [true]}', False),
        ({"/a": {"at_least": 3, "at_most": 5}}, '{"a": 4}', True),
        ({"/a": {"at_least": 3}}, '{"a": "4"}', False),
        ({"/a": {"at_least": 3}}, '{"a": 1e400}', True),
        ({"/a": {"at_most": 3}}, '{"a": 1e999999999}', False),
        ({"/a": {"at_most": 0.1}}, '{"a": 0.10000000000000000000000000001}', False),
        ({"/a": {"contains": "x"}}, '{"a": "the x"}', True),
        ({"/a": {"contains": "x"}}, '{"a": ["y", "x"]}', True),
        ({"/a": {"contains": "x"}}, '{"a": 5}', False),
        ({"/a": {"matches": "^x"}}, '{"a": "xy"}', True),
        ({"/a": {"words": {"at_most": 1}}}, '{"a": "x"}', True),
        ({"/a": {"number": 100, "within": "1%"}}, '{"a": 101}', True),
        ({"/a": {"number": 100}}, '{"a": "100 kg"}', True),
        ({"/a": {"not": {"equals": 5}}}, '{"a": 4}', True),
        ({"/a": {"not": {"equals": 5}}}, "{}", False),
        ({"/a": {"any": [1, 2]}}, '{"a": 2}', True),
        ({"/a": {"all": [{"at_least": 1}, {"not": {"equals": 2}}]}}, '{"a": 2}', False),
        ({"": {"equals": {"a": 1}}}, '{"a": 1}', True),
        ({"/a/1": "x"}, '{"a": [0, "x"]}', True),
        ({"/a/01": "x"}, '{"a": [0, "x"]}', False),
        ({"/a/-": "x"}, '{"a": [0, "x"]}', False),
        ({"/a~1b/c~0d": 1}, '{"a/b": {"c~d": 1}}', True),
        ({"/a": 1, "/b": 2}, '{"a": 1, "b": 3}', False),
        ({"/a": 1}, "no JSON", False),
        ({"/a": 1}, "", False),
        ({"/a": 12345678901234567890}, '{"a": 12345678901234567891}', False),
    ],
)  # fmt: skip
def test_a_value_at_a_pointer(checks, value, holds):
    assert observed({"json": checks}, value) is holds
    if value.startswith("{"):
        decoded = json.loads(value, parse_float=Decimal)
        assert observed({"state": checks}, Answer(("x",), state=decoded)) is (decoded != {} and holds)
        assert observed({"context": checks}, Answer(("x",), context=decoded)) is (decoded != {} and holds)


def test_what_the_agent_did_not_report_is_not_known():
    assert applied({"state": {"/a": 1}}, "x").reason == "the agent reported no state"
    assert applied({"context": {"/a": 1}}, "x").observed is None
    assert applied({"state": {"/a": 1}}, "x", must_not=True).observed is None


def test_the_evidence_is_the_value():
    assert applied({"json": {"/a": {"at_least": 0.5}}}, '{"a": 0.75}').found == {"/a": 0.75}
    finding = applied({"json": {"/a": 99}}, '{"a": "99"}')
    assert finding.reason == "at '/a': found the text \"99\", wanted the number 99"
    assert finding.found == {"/a": "99"}
    assert applied({"json": {"/b": 99}}, '{"a": "99"}').reason == "there is nothing at '/b'"


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 100_000 + "]" * 100_000, "[" * 500 + "]" * 500, "1e" + "9" * 30])
def test_json_that_cannot_be_looked_at_is_not_known(text):
    assert observed({"is_json": True}, text) in (None, False)
    assert observed({"json": {"": 1}}, text) in (None, False)
    assert observed({"is_json": {"type": "array"}}, text) in (None, False)


def test_values_of_python_agents_that_json_does_not_have():
    state = {"nan": float("nan"), "deep": None}
    assert observed({"state": {"/nan": {"at_least": 0}}}, Answer(("x",), state=state)) is False
    assert observed({"state": {"/nan": {"equals": 0}}}, Answer(("x",), state=state)) is False
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert observed({"state": {"/deep": 1}}, Answer(("x",), state={"deep": deep})) is None
