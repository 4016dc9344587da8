"""Evidence that a judge gives must stand in the conversation: quotes as people quote, and nothing invented."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highbar.running.judging.evidence import Quotable

REPLY = "**I can’t** do\n  that — it’s not “allowed”.\n\n- First, ask Zoë.\n- Then wait 30 days."
CALLS = [{"name": "delete_file", "arguments": {"path": "/etc/passwd", "force": True, "times": Decimal("2.50")}}]
CONVERSATION = (
    {"role": "user", "content": "May I delete it?"},
    {"role": "assistant", "content": None, "tool_calls": CALLS},
    {"role": "tool", "content": [{"type": "text", "text": "no such file"}]},
    {"role": "assistant", "content": REPLY, "reasoning": "The user wants too much."},
)


def verified(evidence, conversation=CONVERSATION):
    return Quotable(conversation).find_evidence(evidence)


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("it’s not “allowed”", "it’s not “allowed”"),
        ('it\'s not "ALLOWED"', "it’s not “allowed”"),
        ("do that - it's", "do\n  that — it’s"),
        ('"do that"', "do\n  that"),
        ("… do that …", "do\n  that"),
        ("I can't do that - it's not", "I can't do that - it's not"),
        ("- First, ask Zoë.\\n- Then wait 30 days.", "- First, ask Zoë.\n- Then wait 30 days."),
        ("ask Zoe\u0308", "ask Zoë"),
        ("MAY I", "May I"),
        ("/etc/passwd", "/etc/passwd"),
        ('"force": true', '"force": true'),
        ("delete_file", "delete_file"),
        ("no such file", "no such file"),
        ("wants too much", "wants too much"),
        ("30", "30"),
        ("message 4", "message 4"),
        ("Message [2]", "message 2"),
        ("#1", "message 1"),
        ("3", "message 3"),
        (2, "message 2"),
    ],
)
def test_a_quote_is_found_as_people_quote_and_recorded_as_it_was_said(quote, found):
    assert verified(quote) == found


@pytest.mark.parametrize(
    "quote",
    [
        "I never said this", "", " ", "\u200b", "…", '""', "a", "I", "-", "**", "message 5", "message 0", "0", 0, -1, 5,
        True, None, 1.0, [], {}, "assistant", "role", "an't do", "ile", "I can’t […] not allowed", "message 1 and 2",
        "\ud800", "May I delete it? I can’t do that",
    ],
)  # fmt: skip
def test_what_is_not_there_or_says_nothing_is_no_evidence(quote):
    assert verified(quote) is None


def test_a_message_of_one_letter_can_be_quoted_whole():
    assert verified("B", ({"role": "assistant", "content": "B."},)) == "B."
    assert verified("是", ({"role": "assistant", "content": "是"},)) == "是"
    assert verified("B", ({"role": "assistant", "content": "Bertha"},)) is None


def test_a_number_that_is_no_message_may_be_a_quote():
    assert verified("42", ({"role": "assistant", "content": "It is 42."},)) == "42"


def test_evidence_is_cut_to_what_a_row_keeps():
    said = "word " * 1000
    found = verified(said, ({"role": "assistant", "content": said},))
    assert found == said[:500]


TEXT = st.text(st.characters(codec="utf-8"), max_size=60)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
MESSAGES = st.lists(
    st.dictionaries(st.sampled_from(["role", "content", "tool_calls", "name", "message"]), VALUES, max_size=4),
    max_size=3,
)


@given(before=TEXT, quote=st.text(st.characters(categories=["L", "N", "Zs"]), min_size=20), after=TEXT)
def test_a_verbatim_quote_of_some_length_is_always_found(before, quote, after):
    if sum(map(str.isalnum, quote)) >= 16:
        assert verified(quote, ({"role": "assistant", "content": before + quote + after},)) is not None


@given(conversation=MESSAGES, evidence=VALUES)
def test_looking_never_raises_and_never_finds_a_message_that_is_not_there(conversation, evidence):
    found = verified(evidence, tuple(conversation))
    if not conversation:
        assert found is None
    if found is not None:
        found.encode()


@given(said=st.text("abc def", max_size=30), quote=st.text("xyz", min_size=1))
def test_letters_that_nobody_wrote_are_never_found(said, quote):
    assert verified(quote, ({"role": "assistant", "content": said},)) is None
