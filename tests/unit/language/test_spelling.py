"""Words that are nearly right."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highbar.language.spelling import did_you_mean, folded_word, near_miss, nearest

METRICS = ["accuracy", "pass_rate", "precision", "recall", "safety_rate"]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("acuracy", "accuracy"),
        ("Accuracy", "accuracy"),
        ("passrate", "pass_rate"),
        ("recal", "recall"),
        ("percision", "precision"),
        ("latency", None),
        ("x", None),
        ("", None),
        ("a" * 500, None),
    ],
)
def test_the_nearest_word_is_the_one_that_was_meant(word, meant):
    assert nearest(word, METRICS) == meant


def test_a_hint_is_given_only_where_there_is_one():
    assert did_you_mean("acuracy", METRICS) == "did you mean 'accuracy'?"
    assert did_you_mean("latency", METRICS) is None


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("pased", "passed"),
        ("Passed", "passed"),
        ("violation", "violations"),
        ("latencyms", "latency_ms"),
        ("latency-ms", "latency_ms"),
        ("psased", "passed"),
        ("passed", None),
        ("parsed_as", None),
        ("pssed_by", None),
    ],
)
def test_a_near_miss_is_one_edit_or_only_case_plural_or_underscore_apart(word, meant):
    assert near_miss(word, ["passed", "violations", "latency_ms"]) == meant


def test_a_very_short_name_is_missed_only_by_case_plural_or_underscore():
    assert near_miss("in", ["id"]) is None
    assert near_miss("ID", ["id"]) == near_miss("ids", ["id"]) == "id"


@given(st.text(max_size=30), st.lists(st.text(max_size=30), max_size=5))
def test_any_words_can_be_compared(word, candidates):
    assert near_miss(word, [*candidates, word]) is None
    assert nearest(word, candidates) in [None, *candidates]


DISGUISES = (
    str.upper,
    str.capitalize,
    lambda word: "".join(chr(ord(c) + 0xFEE0) if "a" <= c <= "z" else c for c in word),
    "\u200b".join,
    lambda word: word + "\u00a0",
    lambda word: word.replace("a", "\u0430").replace("e", "\u0435"),
    lambda word: word.replace("_", "-"),
    lambda word: word.replace("_", " "),
    lambda word: word.replace("_", ""),
    lambda word: word.removesuffix("s") if folded_word(word).endswith("s") else word + "s",
    lambda word: word + "\ufe0f",
)
"""What leaves a word looking like itself, or nearly so."""


@pytest.mark.parametrize("word", ["adversarial", "edge_case", "violations", "tags", "id"])
def test_any_two_disguises_of_a_word_still_miss_it(word):
    for first in DISGUISES:
        for second in DISGUISES:
            disguised = second(first(word))
            assert disguised == word or near_miss(disguised, [word]) == word, ascii(disguised)


def test_folding_a_folded_word_changes_nothing():
    for word in ("Ｐassed\u200b", "раssеd", "İstanbul", "ǅ", "ﬁle", "Straße", "ͅ", "edge-case"):
        assert folded_word(folded_word(word)) == folded_word(word)
