from __future__ import annotations

import re

import pytest
from hypothesis import given

from highbar.report.visible import cells, cut, visible
from tests.unit.report.strategies import ATTACKS, TEXTS

FORBIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff\ud800-\udfff]"
)


@given(TEXTS)
@pytest.mark.hazard("H105")
def test_nothing_that_acts_or_hides_is_left_raw(text):
    assert not FORBIDDEN.search(visible(text))


@given(TEXTS)
@pytest.mark.hazard("H107")
def test_no_word_is_an_order_to_a_ci_runner(text):
    shown = visible(text)
    assert "##[" not in shown
    assert not any(word.startswith("::") for word in shown.split())


@pytest.mark.parametrize(
    "text", ["plain text", "tests/test_a.py::test_b", "naïve café", "日本語", "95 % ≥ 9/10", "C:\\runs\\a"]
)
def test_plain_text_stays_as_it_is(text):
    assert visible(text) == text


def test_escapes_show_what_was_there():
    assert visible("a\x1b[2J\nb\u202e\U000e0041") == r"a\x1b[2J\nb\u202e\U000e0041"
    assert visible("\xa0") == r"\xa0"


@pytest.mark.parametrize("text", ATTACKS)
@pytest.mark.hazard("H105")
def test_every_known_attack_becomes_one_encodable_line(text):
    assert "\n" not in visible(text)
    visible(text).encode("utf-8")


def test_the_width_counts_columns():
    assert cells("abc") == 3
    assert cells("日本") == 4
    assert cells("e\u0301") == 1


@given(TEXTS)
def test_a_cut_text_fits(text):
    assert cells(cut(visible(text), 10)) <= 10


def test_a_text_that_fits_is_not_cut():
    assert cut("0123456789", 10) == "0123456789"
    assert cut("0123456789x", 10) == "012345678…"
