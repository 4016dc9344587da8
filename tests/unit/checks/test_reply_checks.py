"""What a reply says: texts, patterns, words, numbers, JSON."""

import pytest

from highbar.checks.limits import MOST_FOUND, MOST_TEXT
from tests.unit.checks.answers import applied, observed, said

BLOCK = "Here it is:\n```json\n{}\n```\nDone."


@pytest.mark.parametrize(
    ("check", "reply", "holds"),
    [
        ({"equals": "yes"}, "Yes.", True),
        ({"equals": "yes"}, "**Yes!**", True),
        ({"equals": "yes"}, "“yes”", True),
        ({"equals": "yes"}, "- yes", True),
        ({"equals": "a  b"}, "A\n b", True),
        ({"equals": "yes"}, "yes it is", False),
        ({"equals": "5"}, "-5", False),
        ({"equals": "50"}, "50%", False),
        ({"equals": "5"}, ".5", False),
        ({"equals": "A"}, "A*", False),
        ({"equals": "C"}, "C#", False),
        ({"equals": "b"}, "(b)", True),
        ({"equals": "b"}, "b)", True),
        ({"equals": "café"}, "cafe\u0301", True),
        ({"equals": "yes", "exact": True}, "Yes", False),
        ({"equals": "yes", "exact": True}, "yes", True),
        ({"equals": ["yes", "no"]}, "No", True),
        ({"equals": 42}, "42.", True),
        ({"equals": 42}, "42.0", True),
        ({"equals": 1000}, "1,000", True),
        ({"equals": 42}, "42 apples", False),
        ({"equals": 42}, "-42", False),
        ({"equals": True}, "True", True),
        ({"contains": "10"}, "at 10 am", True),
        ({"contains": "10"}, "at 10am", False),
        ({"contains": "10", "part": True}, "at 10am", True),
        ({"contains": "500"}, "It costs $1,500.", False),
        ({"contains": "500"}, "It costs $500, not 600.", True),
        ({"contains": "500", "part": True}, "It costs $1,500.", True),
        ({"contains": "500", "exact": True}, "It costs 1\u2019500 francs.", False),
        ({"contains": "5"}, "It takes 1.5 days", False),
        ({"contains": "5"}, "It takes 5.5 days", False),
        ({"contains": "5"}, "It takes 1.5 days, or 5.", True),
        ({"contains": "1.5"}, "11.5, 1.55 and 1.5.1", False),
        ({"contains": "1.5"}, "11.5, and 1.5.", True),
        ({"contains_all": ["5", "7"]}, "5 and 1.7", False),
        ({"starts_with": "5"}, "5.5 days", False),
        ({"starts_with": "5"}, "5. Five days", True),
        ({"not": {"contains": "500"}}, "It costs $1,500.", True),
        ({"contains": "blue book"}, "The BLUE\n  book", True),
        ({"contains": "blue", "exact": True}, "The BLUE", False),
        ({"contains": "BLU", "exact": True, "any_case": True, "part": True}, "The blue", True),
        ({"contains": "the  blue", "exact": True, "any_case": True}, "The blue", False),
        ({"contains_all": ["A", "B"], "exact": True, "any_case": True}, "b a", True),
        ({"starts_with": "THE", "exact": True, "any_case": True}, "the blue", True),
        ({"equals": "İs", "exact": True, "any_case": True}, "i\u0307S", True),
        ({"equals": "yes", "exact": True, "any_case": True}, "Yes.", False),
        ({"is_json": True, "whole": True}, " {} ", True),
        ({"is_json": True, "whole": True}, BLOCK, False),
        ({"json": {"": {"equals": {}}}, "whole": True}, "{}", True),
        ({"json": {"": {"equals": {}}}, "whole": True}, BLOCK, False),
        ({"contains": "it's"}, "It’s", True),
        ({"contains": "a - b"}, "a — b", True),
        ({"contains": "cat"}, "concatenate", False),
        ({"contains": "cat"}, "_cat_", True),
        ({"contains": "?"}, "Why?", True),
        ({"contains": "cafe"}, "cafe\u0301", False),
        ({"contains": "鯨"}, "鯨の本", True),
        ({"contains": "도서관"}, "도서관은", True),
        ({"contains": ["on loan", "borrowed"]}, "It is borrowed.", True),
        ({"contains_all": ["a", "b"]}, "b and a", True),
        ({"contains_all": ["a", "b"]}, "b", False),
        ({"starts_with": "yes"}, "**Yes**, we do", True),
        ({"starts_with": "yes"}, "  Yes", True),
        ({"starts_with": "yes"}, "Yesterday", False),
        ({"starts_with": "yes", "part": True}, "Yesterday", True),
        ({"starts_with": "yes"}, "Oh yes", False),
        ({"starts_with": "Yes", "exact": True}, "**Yes**", False),
        ({"matches": r"\d{2} ?am"}, "at 10\u00a0am", True),
        ({"matches": r"\d{2} ?am", "exact": True}, "at 10\u00a0am", False),
        ({"matches": "yes"}, "Yes", False),
        ({"matches": "(?i)yes"}, "Yes", True),
        ({"matches": ["x", "y"]}, "y", True),
        ({"matches": "^b$"}, "a\nb", False),
        ({"matches": "(?m)^b$"}, "a\nb", True),
        ({"matches": r"^\s*$"}, "", False),
        ({"words": {"at_most": 2}}, "two words", True),
        ({"words": {"at_most": 2}}, "that is three - no four", False),
        ({"words": {"at_least": 3}}, "two words", False),
        ({"words": {"at_most": 2}}, "", False),
        ({"number": 12}, "It is 12.", True),
        ({"number": 12}, "It is 12.0", True),
        ({"number": 12}, "١٢", True),
        ({"number": 12}, "B12", False),
        ({"number": 12}, "10-12", True),
        ({"number": -12}, "10-12", False),
        ({"number": -12}, "it is −12", True),
        ({"number": 1250.5}, "1,250.50 in all", True),
        ({"number": 1250.5}, "1.250,50 in all", True),
        ({"number": 100, "within": "1%"}, "101", True),
        ({"number": 100, "within": "1%"}, "101.1", False),
        ({"number": 100, "within": 0.5}, "99.5", True),
        ({"number": 100, "within": 0.5}, "99.4", False),
        ({"number": 0.1, "within": 0.2}, "0.3", True),
        ({"number": -(10**40) - 1}, f"-{10**40 + 1}", True),
        ({"number": -(10**40) - 1}, f"-{10**40 + 2}", False),
        ({"number": 1, "within": "0.1%"}, "1.001", True),
        ({"number": 1, "within": "0.1%"}, f"1.001{'0' * 40}1", False),
        ({"number": -100, "within": "1%"}, "-101", True),
        ({"number": 5, "within": "1%"}, "1e400", False),
        ({"number": 5, "last": True}, "5 of 6", False),
        ({"number": 6, "last": True}, "5 of 6", True),
        ({"number": [5, 7]}, "7", True),
        ({"number": 3}, "1.2.3", False),
        ({"is_json": True}, ' {"a": 1} ', True),
        ({"is_json": True}, BLOCK, True),
        ({"is_json": True}, BLOCK + BLOCK, False),
        ({"is_json": True}, '{"a": 1', False),
        ({"is_json": True}, '{"a": 1, "a": 2}', False),
        ({"is_json": True}, "NaN", False),
        ({"is_json": {"type": "object", "required": ["a"]}}, '{"a": 1}', True),
        ({"is_json": {"type": "object", "required": ["a"]}}, "{}", False),
    ],
)  # fmt: skip
def test_a_check_of_the_reply(check, reply, holds):
    assert observed(check, reply) is holds


@pytest.mark.parametrize(
    ("check", "reply", "found"),
    [
        ({"contains": "strasse 5"}, "In der Straße  5.", "Straße  5"),
        ({"contains": "cafe\u0301"}, "Our CAFÉ is open", "CAFÉ"),
        ({"matches": r"\d+ am"}, "at 10\u00a0am", "10\u00a0am"),
        ({"number": 1250}, "It costs $1,250.", "1,250"),
        ({"number": -3}, "(−3)", "−3"),
        ({"equals": "yes"}, "Yes.", "Yes."),
        ({"contains_all": ["a", "B"]}, "b A", ["A", "b"]),
        ({"words": {"at_most": 5}}, "one two", 2),
    ],
)
def test_the_evidence_is_what_the_agent_wrote(check, reply, found):
    assert applied(check, reply).found == found


def test_evidence_is_short():
    assert applied({"matches": "(?s)a.*b"}, "a" * 9999 + "b").found == "a" * MOST_FOUND


def test_a_check_reads_the_last_reply_unless_it_names_another():
    answer = said("first", None, "last")
    assert observed({"contains": "last"}, answer) is True
    assert observed({"contains": "first"}, answer) is False
    assert observed({"contains": "first", "reply": 1}, answer) is True
    assert observed({"contains": "first", "reply": "any"}, answer) is True
    assert observed({"contains": "last", "reply": 4}, answer) is False
    assert observed({"contains": "last", "reply": 2}, answer) is False


def test_what_is_missing_is_said():
    assert applied({"contains_all": ["a", "b"]}, "b").reason == "'a' is missing"
    assert applied({"is_json": {"type": "object"}}, "[]").reason == '[] is not of type "object"'
    assert applied({"number": 1}, "one").reason == "there is no number"


@pytest.mark.slow
def test_of_a_reply_that_is_too_long_only_what_was_found_is_known():
    long = "needle " + "x " * (MOST_TEXT // 2)
    assert observed({"contains": "needle"}, long) is True
    assert applied({"contains": "thread"}, long).reason == f"the reply is longer than {MOST_TEXT} characters"
    for check in ({"equals": "x"}, {"matches": "y"}, {"words": {"at_most": 2}}, {"number": 1}, {"is_json": True}):
        assert observed(check, long) is None
    assert observed({"contains": "EEDL"}, long, must_not=True) is True
    assert observed({"contains": "thread"}, long, must_not=True) is None


def test_the_evidence_of_any_case_is_the_stretch_of_the_reply():
    check = {"contains": "blue BOOK", "exact": True, "any_case": True}
    assert applied(check, "The Blue Book.").found == "Blue Book"
    assert applied(check, "İn the Blue Book.").found == "blue book"  # a letter has become two: no place is known
