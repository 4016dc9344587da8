"""JSON values: read, reached, compared."""

from decimal import Decimal

import pytest

from highbar.checks.values import (
    ABSENT,
    NotJson,
    Unreadable,
    at_pointer,
    decode_json,
    fenced_blocks,
    json_of_reply,
    read_pointer,
    refuse_depth,
    same,
    texts_within,
)


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [
        (1, 1.0, True),
        (1, Decimal("1.00"), True),
        (0.1, Decimal("0.1"), True),
        (True, 1, False),
        (False, 0, False),
        ("99", 99, False),
        (None, 0, False),
        (None, False, False),
        (None, None, True),
        ([], {}, False),
        ([1, [2]], (1, (2,)), True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"a": 1, "b": None}, False),
        (10**30, 10**30 + 1, False),
        (2**53, 2**53 + 1, False),
        (float("nan"), float("nan"), False),
        (float("inf"), float("inf"), True),
        (Decimal("1e400"), Decimal("1e401"), False),
    ],
)
def test_equal_as_json(first, second, equal):
    assert same(first, second, str.__eq__) is equal
    assert same(second, first, str.__eq__) is equal


@pytest.mark.parametrize(
    "text", ["", "{", "nan", "NaN", "-Infinity", "01", "[1,]", "{'a': 1}", '{"a": 1, "a": 1}', "1 2", "\ufeff1"]
)
def test_what_is_not_json(text):
    with pytest.raises(NotJson):
        decode_json(text)


def test_numbers_are_exact():
    assert decode_json("[1e400, 0.1, 12345678901234567890123]") == [
        Decimal("1e400"),
        Decimal("0.1"),
        12345678901234567890123,
    ]
    assert decode_json("9" * 10_000) == Decimal("9" * 10_000)
    with pytest.raises(Unreadable):
        decode_json("1e" + "9" * 40)


def test_what_is_nested_too_deeply_cannot_be_read():
    for text in ("[" * 100_000 + "]" * 100_000, "[" * 300 + "]" * 300):
        with pytest.raises(Unreadable):
            decode_json(text)
    assert decode_json("[" * 100 + "]" * 100)
    itself: list[object] = []
    itself.append(itself)
    with pytest.raises(Unreadable):
        refuse_depth(itself)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("```\n1\n```", ["1\n"]),
        ("~~~json\n1\n~~~", ["1\n"]),
        ("````\n```\n1\n```\n````", ["```\n1\n```\n"]),
        ("```\n1", []),
        ("```\n1\n```\n```\n2\n```", ["1\n", "2\n"]),
        ("`1`", []),
    ],
)
def test_fenced_blocks(text, found):
    assert fenced_blocks(text) == found


def test_the_one_fenced_block_is_read():
    assert json_of_reply("So:\n```json\n[1]\n```\nDone.") == [1]
    assert json_of_reply('"```"') == "```"
    with pytest.raises(NotJson, match="2 fenced blocks"):
        json_of_reply("```\n1\n```\n```\n2\n```")


def test_pointers():
    value = {"a": [{"b/c": 1, "~": 2, "": 3}], "-": 4}
    assert at_pointer(value, read_pointer("/a/0/b~1c")) == 1
    assert at_pointer(value, read_pointer("/a/0/~0")) == 2
    assert at_pointer(value, read_pointer("/a/0/")) == 3
    assert at_pointer(value, read_pointer("/-")) == 4
    assert at_pointer(value, read_pointer("")) is value
    for pointer in ("/a/1", "/a/-1", "/a/00", "/a/x", "/a/0/b~1c/d", "/a/" + "9" * 30, "/a/١"):
        assert at_pointer(value, read_pointer(pointer)) is ABSENT
    assert read_pointer("a") == "a JSON pointer starts with /"


def test_every_text_in_a_value():
    assert list(texts_within({"a": ["b", {"c": 1.5}], "d": None, "e": True, "f": 10**9})) == [
        "a",
        "d",
        "e",
        "f",
        "b",
        "c",
        "1.5",
        "1000000000",
    ]
    assert next(texts_within(10**9000)).startswith("1.0")
