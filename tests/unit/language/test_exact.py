"""Numbers as text: read exactly or not at all, and never shown as another number."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highbar.language.exact import cut_decimal, read_decimal, write_decimal


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(9999, 10000), "0.9999"),
        (Fraction(1) - Fraction(1, 10**9), "0.999999…"),
        (Fraction(1), "1"),
        (Fraction(-1, 2), "-0.5"),
        (Fraction(0), "0"),
        (Fraction(1, 10**9), "0.000000…"),
        (Fraction(120), "120"),
        (Fraction(1000001, 10), "100000.1"),
    ],
)
def test_a_shown_number_never_looks_like_another(value, text):
    assert cut_decimal(value) == text


@pytest.mark.parametrize(
    "text",
    ["", "1.", ".5", "1e2", "1_000", "007", "-1", "+1", " 1", "１", "nan", "inf", "0x10", "1,5", "9" * 41, "1\n"],
)
def test_what_is_not_plain_digits_is_not_a_number(text):
    assert read_decimal(text) is None


@given(st.integers(0, 10**15), st.integers(0, 15))
def test_what_is_written_reads_back_the_same(digits, places):
    value = Fraction(digits, 10**places)
    assert read_decimal(write_decimal(value)) == value
