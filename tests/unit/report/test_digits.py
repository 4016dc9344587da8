from __future__ import annotations

import math
import re
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from highbar.language.digits import amount, as_float, bounds_by_metric, show, show_threshold
from highbar.model import RuleResult, Value
from tests.unit.report.strategies import HUNDREDTHS, SHARES


def side(value, mark):
    return (value > mark) - (value < mark)


@given(SHARES, HUNDREDTHS)
@example(Fraction(89988, 100000), Fraction(9, 10))
@example(Fraction(10**40 - 1, 10**40), Fraction(1))
@pytest.mark.hazard("H27")
def test_a_shown_percentage_stands_on_its_side_of_the_threshold(value, threshold):
    text = amount(value, "ratio", [threshold])
    just = re.fullmatch(r"just (under|over) ([0-9.]+)%", text)
    if just:
        assert side(value, Fraction(just[2]) / 100) == (-1 if just[1] == "under" else 1)
    else:
        shown = Fraction(text.removesuffix("%")) / 100
        assert side(shown, threshold) == side(value, threshold)
        assert abs(shown - value) <= Fraction(5, 10_000)


@given(SHARES)
@example(Fraction(99_996, 100_000))
@pytest.mark.hazard("H26")
def test_only_all_is_shown_as_100_percent_and_only_nothing_as_0(value):
    text = amount(value, "ratio")
    assert (text == "100%") == (value == 1)
    assert (text == "0%") == (value == 0)
    assert not re.fullmatch(r"100\.0+%|0\.0+%", text)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (Fraction(92, 100), "ratio", "92.0%"),
        (Fraction(2, 3), "ratio", "66.7%"),
        (Fraction(9999, 10000), "ratio", "99.99%"),
        (Fraction(4210), "ms", "4210 ms"),
        (Fraction(42107, 10), "ms", "4210.7 ms"),
        (Fraction(12), "USD", "$12.00"),
        (Fraction(-1, 3), "USD", "-$0.333"),
        (Fraction(123, 100_000), "per token", "0.00123 per token"),
        (Fraction(123_456), "number", "123456"),
        (Fraction(1, 7), "number", "0.143"),
        (Fraction(10) ** 400, "number", "1.79769e+308"),
        (Fraction(1, 10**30), "number", "just over 0"),
    ],
)
def test_a_value_is_shown_in_its_unit(value, unit, text):
    assert amount(value, unit) == text


def test_a_value_on_its_threshold_is_shown_as_the_threshold_is():
    assert amount(Fraction(7, 8), "ratio", [Fraction(7, 8)]) == "87.5%"
    assert amount(Fraction(9, 10), "ratio", [Fraction(9, 10)]) == "90%"


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.826, 0.972, "92.0% (82.6–97.2)"),
        (0.826, None, "92.0% (≥ 82.6)"),
        (None, 0.972, "92.0% (≤ 97.2)"),
        (None, None, "92.0%"),
        (-math.inf, math.inf, "92.0%"),
    ],
)
def test_an_interval_stands_behind_its_value(low, high, text):
    assert show(Value(Fraction(92, 100), 50, 0, "ratio", "higher", low=low, high=high)) == text


def test_an_end_of_an_interval_is_not_rounded_across_the_threshold():
    value = Value(Fraction(92, 100), 50, 0, "ratio", "higher", low=0.89996, high=0.972)
    assert show(value, [Fraction(9, 10)]) == "92.0% (89.996–97.2)"


def test_undefined_is_a_word():
    assert show(Value(None, 0, 5, "ratio", "higher", "nothing to score")) == "undefined"


@pytest.mark.parametrize(
    ("threshold", "unit", "text"),
    [
        (">= 0.9", "ratio", "≥ 90%"),
        (">= 1.0", "ratio", "≥ 100%"),
        ("= 1.0", "ratio", "= 100%"),
        (">= 0.9995", "ratio", "≥ 99.95%"),
        ("< 5000ms", "ms", "< 5000 ms"),
        ("<= 0.05", "USD", "≤ $0.05"),
        ("!= 3", "number", "≠ 3"),
        ("final_score >= 0.85 AND safety_rate = 1.0", "ratio", None),
        (">= 0.9\x1b", "ratio", None),
    ],
)
def test_a_threshold_is_shown_as_a_reader_writes_it(threshold, unit, text):
    assert show_threshold(threshold, unit) == text


def test_the_thresholds_of_a_metric_are_gathered_over_all_its_rules():
    rules = [
        RuleResult("a", "blocking", "pass", "", metric="accuracy", threshold=">= 0.9"),
        RuleResult("b", "warning", "fail", "", metric="accuracy", threshold=">= 0.95"),
        RuleResult("c", "blocking", "fail", "", threshold="final_score >= 0.85"),
    ]
    assert bounds_by_metric(rules) == {"accuracy": (Fraction(9, 10), Fraction(19, 20))}


def test_the_thresholds_inside_a_condition_count_for_each_metric_in_it():
    condition = "0.85 <= final_score AND (safety_rate = 1.0 OR accuracy ≥ 0.9) AND accuracy > recall"
    rule = RuleResult("composite.pass", "blocking", "fail", "", metric="final_score", threshold=condition)
    assert bounds_by_metric([rule]) == {
        "final_score": (Fraction(17, 20),),
        "safety_rate": (Fraction(1),),
        "accuracy": (Fraction(9, 10),),
    }


@given(st.fractions(-10, 10), HUNDREDTHS)
@example(Fraction(10**40 - 1, 10**40), Fraction(1, 2))
@example(Fraction(9 * 10**39 - 1, 10**40), Fraction(9, 10))
def test_the_float_of_a_value_stands_on_its_side_of_the_threshold(value, threshold):
    found = as_float(value, [threshold])
    assert side(found, float(threshold)) == side(value, threshold)
    assert side(found, 1.0) == side(value, 1)
    assert math.isclose(found, value, rel_tol=1e-12, abs_tol=1e-300)


def test_a_float_is_finite_however_large_the_value():
    assert as_float(Fraction(10) ** 400, [Fraction(10) ** 399]) == pytest.approx(1.7976931348623157e308)
    assert as_float(-(Fraction(10) ** 400)) == -1.7976931348623157e308
