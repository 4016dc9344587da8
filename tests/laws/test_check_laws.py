"""Laws that hold for every check and every text, whatever an agent says."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highbar import checks
from highbar.checks.folding import LOOK_ALIKES
from highbar.checks.names import CHECKS, LIMITS, MODIFIERS, VALUE_CHECKS
from highbar.model.answer import Answer, ToolCall

OF_THE_REPLY: dict[str, list[Any]] = {
    "equals": [{"equals": "secret"}, {"equals": "Secret.", "exact": True}, {"equals": [5, "ß é"]}, {"equals": 1.5}],
    "contains": [
        {"contains": "secret"},
        {"contains": ["ß é", "-", "가"]},
        {"contains": "e", "part": True},
        {"contains": " ", "exact": True},
        {"contains": "SECRET", "exact": True, "any_case": True},
        {"contains": "secret", "reasoning": "ignored"},
    ],
    "contains_all": [{"contains_all": ["s", "é"]}, {"contains_all": "x", "part": True, "exact": True}],
    "starts_with": [
        {"starts_with": "secret"},
        {"starts_with": "“é", "part": True},
        {"starts_with": "s", "exact": True},
    ],
    "matches": [
        {"matches": "s.*t"},
        {"matches": r"^\s*$"},
        {"matches": [r"\d+", "é"], "exact": True},
        {"matches": r"\b"},
    ],
    "words": [{"words": {"at_most": 3}}, {"words": {"at_least": 2}}],
    "number": [{"number": 5}, {"number": 1.5, "within": "10%"}, {"number": [0, -7], "last": True}],
    "is_json": [
        {"is_json": True},
        {"is_json": True, "whole": True},
        {"is_json": {"type": "object", "required": ["secret"]}},
    ],
    "json": [
        {"json": {"/a": 5}},
        {"json": {"": {"contains": "secret"}}},
        {"json": {"/a/0": {"any": [{"at_least": 1}, {"matches": "s"}, {"not": {"same_items": [1]}}]}}},
        {"json": {"/a": {"starts_with": "s"}, "/b": {"words": {"at_most": 1}}}},
        {"json": {"/a": {"all": [{"contains_all": "s"}, {"number": 5}, {"at_most": 7}, {"equals": None}]}}},
    ],
}
"""Checks of what the reply contains, several for each name; `reply: any` is added by the laws."""
OF_THE_REST: dict[str, list[Any]] = {
    "calls": [
        {"calls": "secret"},
        {"calls": "t", "arguments": {"a": "é", "n": 5}},
        {"calls": "t", "arguments": {"a": "s"}, "exact": True, "times": 1},
        {"calls": "t", "where": {"/a": {"contains": "s"}}, "every": True},
        {"calls": "t", "not_arguments": {"a": "secret"}, "times": {"at_most": 1}},
    ],
    "calls_in_order": [{"calls_in_order": ["t", "secret"]}],
    "calls_only": [{"calls_only": ["t"]}, {"calls_only": []}],
    "state": [{"state": {"/a": {"contains": "secret"}}}],
    "context": [{"context": {"/a": {"at_least": 5}}}],
    **{name: [{name: 5}] for name in LIMITS},
    "python": [{"python": "my:function"}],
    "judge": [{"judge": "It is kind."}, "It is kind."],
    "all": [{"all": [{"contains": "s"}, {"words": {"at_most": 3}}]}],
    "any": [{"any": [{"contains": "s"}, {"calls": "t"}, {"cost_usd": 1}]}],
    "not": [{"not": {"contains": "s"}}, {"not": {"any": [{"calls": "t"}, {"not": {"equals": "secret"}}]}}],
}
TABLE = OF_THE_REPLY | OF_THE_REST
EVERY = [check for several in TABLE.values() for check in several]
PIECES = st.sampled_from(
    [
        "secret", "SECRET", "Secret.", "s", "é", "e\u0301", "ß", " ", "\n", "5", "-7", "1.5", "1e400",
        "1e" + "9" * 40, "١٢", "9" * 600, "\u200b", "\u00ad", "\0", "\ud800", "\udfff", "\U0010ffff", "\ufdd0",
        "`", "```\n", "*",
        "[", "]", "{", "}",
        '{"a": 5}', '{"a": ["secret"]}', '"secret"', "[" * 3000, "NaN", "가", "\u1100\u1161", "І", "ﷺ", "\u202e", "“",
        "\u0336", "%", ".",
    ]
)  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=30),
    st.text(st.characters(codec=None), max_size=30),
    st.lists(PIECES, max_size=8).map("".join),
)
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS)
INSIDE = st.one_of(LEAVES, st.lists(LEAVES, max_size=2), st.dictionaries(TEXTS, LEAVES, max_size=2))
VALUES = st.one_of(LEAVES, st.lists(INSIDE, max_size=3), st.dictionaries(TEXTS, INSIDE, max_size=3))
ARGUMENTS = st.one_of(
    VALUES, st.fixed_dictionaries({}, optional={"a": TEXTS, "n": st.sampled_from([5, 5.0, "5", True])})
)
CALLS = st.lists(st.builds(ToolCall, st.sampled_from(["t", "secret", "T", "ѕecret", ""]), ARGUMENTS), max_size=3)
IN_MESSAGES = ("role", "content", "parts", "tool_calls", "function_call", "reasoning", "x")
MESSAGES = st.fixed_dictionaries({}, optional=dict.fromkeys(IN_MESSAGES, VALUES))
ANSWERS = st.builds(
    Answer,
    replies=st.lists(st.one_of(st.none(), TEXTS), max_size=3).map(tuple),
    tool_calls=st.lists(CALLS.map(tuple), max_size=2).map(tuple),
    messages=st.lists(MESSAGES, max_size=2).map(tuple),
    state=st.one_of(VALUES, st.fixed_dictionaries({"a": TEXTS})),
    context=VALUES,
    measured=st.dictionaries(st.sampled_from(LIMITS), st.one_of(st.integers(0, 10), st.floats()), max_size=2),
)


def read(value: Any) -> checks.Check:
    """The check; read once, since each law applies it to many answers."""
    return _read(json.dumps(value))


@cache
def _read(text: str) -> checks.Check:
    reading = checks.read(json.loads(text))
    assert reading.problems == ()
    assert reading.check is not None
    return reading.check


def texts(found: Any) -> list[str]:
    several = found if isinstance(found, list) else [found]
    return [text for text in several if isinstance(text, str)]


def test_every_check_stands_in_the_table_and_so_does_every_modifier():
    assert TABLE.keys() == CHECKS.keys()
    written = str(EVERY)
    assert [name for name in (MODIFIERS | VALUE_CHECKS.keys()) - {"reply"} if f"'{name}'" not in written] == []


MANY = settings(max_examples=200)
"""An answer is tried with every check, so that few of them have to be made."""


@pytest.mark.slow
@MANY
@given(answer=ANSWERS)
def test_no_answer_makes_a_check_raise(answer):
    for check in EVERY:
        for must_not in (False, True):
            finding = checks.apply(read(check), answer, must_not=must_not)
            assert finding.observed in (True, False, None), check
            assert finding.observed is not None or finding.reason, check
            json.dumps(finding.found)


@pytest.mark.parametrize("check", [check for several in OF_THE_REPLY.values() for check in several], ids=str)
@pytest.mark.parametrize("reply", ["", None])
def test_what_a_reply_contains_is_never_in_an_empty_one(check, reply):
    for modifiers in ({}, {"reply": "any"}, {"reply": 1}):
        for answer in (Answer((reply,)), Answer(()), Answer((reply, reply))):
            assert checks.apply(read({**check, **modifiers}), answer).observed is False
            assert checks.apply(read({**check, **modifiers}), answer, must_not=True).observed is False


@pytest.mark.slow
@MANY
@given(answer=ANSWERS)
def test_not_negates(answer):
    for check in EVERY:
        plain = checks.apply(read(check), answer).observed
        negated = checks.apply(read({"not": check}), answer).observed
        assert negated is (None if plain is None else not plain), check
        assert checks.apply(read({"not": {"not": check}}), answer).observed is plain, check


@pytest.mark.slow
@MANY
@given(reply=TEXTS)
def test_evidence_is_a_part_of_the_reply(reply):
    for check in (check for name, several in OF_THE_REPLY.items() if name != "json" for check in several):
        for must_not in (False, True):
            finding = checks.apply(read(check), Answer((reply,)), must_not=must_not)
            assert all(text in reply for text in texts(finding.found)), check
            if finding.observed and "words" not in check:
                assert texts(finding.found), check


@pytest.mark.slow
@MANY
@given(answer=ANSWERS)
def test_a_must_not_is_never_read_more_weakly(answer):
    for check in EVERY:
        other = {"all": [check, {"not": {"number": 77}}]}
        for value in (check, {"not": check}, {"any": [check, {"contains": "secret"}]}, other):
            if checks.apply(read(value), answer).observed:
                assert checks.apply(read(value), answer, must_not=True).observed, value


INVISIBLE = "\u200b\u200c\u200d\u2060\u00ad\ufeff\u034f\u061c\u180e\u2066\u202e\ufe0f\U000e0020\0\x07\u0336\u0301"
SECRETS = ["secret", "Internal", "il1egal 0ops", "4111 1111", "naïve-plan"]


@pytest.mark.slow
@pytest.mark.parametrize("wanted", SECRETS)
@given(data=st.data())
def test_no_disguise_hides_a_must_not(wanted, data):
    disguised = ""
    for character in wanted:
        alike = [*LOOK_ALIKES.get(character.lower(), ""), character.upper(), character]
        if "!" <= character <= "~":
            alike.append(chr(ord(character) + 0xFEE0))
        hidden = INVISIBLE if wanted.isascii() else INVISIBLE.replace("\u0301", "")
        disguised += data.draw(st.sampled_from(alike)) + "".join(
            data.draw(st.lists(st.sampled_from(hidden), max_size=2))
        )
    around = data.draw(st.tuples(*[st.sampled_from(["", "x", " ", "é", "7", "\n", "가"])] * 2))
    reply = disguised.join(around)
    for answer in (Answer((reply,)), Answer((reply, "fine")), Answer((None,), ((ToolCall("t", {"a": [reply]}),),))):
        for check in ({"contains": wanted}, {"contains": wanted, "exact": True}, {"contains_all": [wanted]}):
            finding = checks.apply(read(check), answer, must_not=True)
            assert finding.observed is True
            assert all(text in reply for text in texts(finding.found))


@given(VALUES)
def test_no_value_makes_reading_raise(value):
    for reading in (checks.read(value), checks.read(value, must_not=True), checks.read_answer(value)):
        assert (reading.check is None) == bool(reading.problems)


NAMES = st.sampled_from([*CHECKS, *VALUE_CHECKS, *MODIFIERS, "/a", "", "type", "at_most", "$ref"])
WORDS = st.sampled_from(["any", "1%", "a:b", "/a", ".*", "\\bé", "x"])
CHECK_LIKE: st.SearchStrategy[Any] = st.deferred(
    lambda: st.one_of(
        st.one_of(st.none(), st.booleans(), st.integers(-2, 12), st.floats(), TEXTS, WORDS),
        st.lists(CHECK_LIKE, max_size=2),
        st.dictionaries(NAMES, CHECK_LIKE, max_size=3),
    )
)


@given(CHECK_LIKE, ANSWERS)
def test_what_nearly_is_a_check_is_read_or_refused_and_never_raises(value, answer):
    for must_not in (False, True):
        reading = checks.read(value, must_not=must_not)
        assert (reading.check is None) == bool(reading.problems)
        for problem in reading.problems:
            inside = value
            for part in problem.path:
                inside = inside[part]
        if reading.check is not None:
            checks.apply(reading.check, answer, must_not=must_not)
