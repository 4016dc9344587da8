"""Regular expressions in linear time."""

import time

import pytest

from highbar.checks import patterns
from tests.unit.checks.answers import observed


@pytest.mark.hazard("H126")
def test_no_pattern_takes_more_than_linear_time():
    start = time.process_time()
    assert observed({"matches": "(a+)+$"}, "a" * 100_000 + "!") is False
    assert observed({"matches": "(a|a)*b"}, "a" * 100_000, must_not=True) is False
    assert observed({"is_json": {"pattern": "^(a+)+$"}}, '"' + "a" * 100_000 + '!"') is False
    assert time.process_time() - start < 10


@pytest.mark.parametrize("pattern", [".*", "a*", "^", "$", "x?", "(?s).*", r"[\s\S]*", "a|", "()", r"^\s*"])
def test_a_pattern_that_matches_everything(pattern):
    assert patterns.always_matches(pattern)


@pytest.mark.parametrize("pattern", [".", r"\S", "^$", "^[^@]*$", r"^\D*$", "(?s)^.{0,1000}$", "^.*$", r"\w"])
def test_a_pattern_that_does_not(pattern):
    assert not patterns.always_matches(pattern)


def test_a_place_is_counted_in_characters():
    assert patterns.search("b+", "éé\U0001f600bb") == (3, 5)
    assert patterns.search("b", "\ud800b") == (1, 2)
    assert patterns.search("b", "\0b") == (1, 2)
    assert patterns.search("B", "b") is None
    assert patterns.search("B", "b", any_case=True) == (0, 1)


def test_what_is_searched_in_a_folded_text_is_no_pattern():
    assert patterns.search_folded("a.b\ufdd0", "a.b") == (0, 3)
    assert patterns.search_folded("axb\ufdd0", "a.b") is None
    assert patterns.search_folded("a\0[b\ufdd0", "\0[b") == (1, 4)
