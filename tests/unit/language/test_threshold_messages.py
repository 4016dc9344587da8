"""What a reader is told about a threshold that was refused: what was found, and what to write instead."""

from __future__ import annotations

from fractions import Fraction

import pytest

from highbar.language.threshold import (
    ThresholdError,
    check_threshold,
    read,
    read_duration,
    read_margin,
    read_positive,
    read_share,
)
from highbar.model import Metric, Name


def metric(name, unit="ratio", better="higher"):
    return Metric(name, "x", Name("x"), unit, better)


ACCURACY = metric("accuracy")
ERRORS = metric("error_rate", better="lower")
LATENCY = metric("latency_p95", "ms", "lower")
COST = metric("cost_per_pass", "USD", "lower")
EFFICIENCY = metric("token_efficiency", "per token")
STEPS = metric("steps", "number")


def refusal(reader, *arguments):
    with pytest.raises(ThresholdError) as caught:
        reader(*arguments)
    assert str(caught.value) == caught.value.message
    return caught.value.message, caught.value.hint


@pytest.mark.parametrize(
    ("of", "text", "message", "hint"),
    [
        (ACCURACY, "high", "cannot read 'high' as a ratio", "write 95%, or 0.95"),
        (LATENCY, "high", "cannot read 'high' as a time in milliseconds", "write 5000ms, 5s, or 5000"),
        (COST, "high", "cannot read 'high' as an amount in US dollars", "write $0.05"),
        (EFFICIENCY, "high", "cannot read 'high' as a number per token", "write 0.002"),
        (STEPS, "high", "cannot read 'high' as a plain number", "write 12.5"),
        (ACCURACY, "x" * 99, f"cannot read '{'x' * 60}' as a ratio", "write 95%, or 0.95"),
        (ACCURACY, "at least 90%", "cannot read 'at least 90%' as a ratio", "write ≥ 90%"),
        (ACCURACY, "90 percent", "cannot read '90 percent' as a ratio", "write 90%"),
        (ACCURACY, "90,5%", "cannot read '90,5%' as a ratio", "write 90.5%"),
        (ACCURACY, ".9", "cannot read '.9' as a ratio", "write 90%"),
        (ACCURACY, "$90", "accuracy is a ratio, found '$90'", "write 90%"),
        (ACCURACY, "80 to 90%", "cannot read '80 to 90%' as a ratio", "write 95%, or 0.95"),
        (LATENCY, "5 seconds", "cannot read '5 seconds' as a time in milliseconds", "write 5s"),
        (LATENCY, "under 2 min", "cannot read 'under 2 min' as a time in milliseconds", "write ≤ 120s"),
        (LATENCY, "1,500 ms", "cannot read '1,500 ms' as a time in milliseconds", "write 1500ms"),
        (COST, "5 dollars", "cannot read '5 dollars' as an amount in US dollars", "write $5"),
        (COST, "$0.05 USD", "cannot read '$0.05 USD' as an amount in US dollars", "write $0.05"),
        (ACCURACY, "9" * 41 + "%", "the number has more than 40 digits", None),
        (ACCURACY, "1", "1 could be 1% or 100%", "write 1%, 100% or 1.0"),
        (ACCURACY, "-1", "-1 is outside the range of accuracy, which is from 0% to 100%", None),
        (ACCURACY, "-0.5", "-0.5 is outside the range of accuracy, which is from 0% to 100%", None),
        (ACCURACY, "-50%", "-50% is outside the range of accuracy, which is from 0% to 100%", None),
        (ACCURACY, "120%", "120% is outside the range of accuracy, which is from 0% to 100%", None),
        (LATENCY, "-1", "-1ms is outside the range of latency_p95, which is 0 or more", None),
        (COST, "-1", "-1 is outside the range of cost_per_pass, which is 0 or more", None),
        (ACCURACY, "> 100%", "accuracy > 100% can never hold", "write ≥ 100%"),
        (LATENCY, "< 0ms", "latency_p95 < 0ms can never hold", "write ≤ 0ms"),
        (ACCURACY, "≤ 95%", "accuracy is better when higher, found '<='", "write ≥ 95%"),
        (ACCURACY, "< 95%", "accuracy is better when higher, found '<'", "write ≥ 95%"),
        (LATENCY, "≥ 5s", "latency_p95 is better when lower, found '>='", "write ≤ 5000ms"),
        (LATENCY, "> 5s", "latency_p95 is better when lower, found '>'", "write ≤ 5000ms"),
        (
            ACCURACY,
            "= 95%",
            "accuracy = 95% would refuse better values too; only = 100% can be demanded",
            "write ≥ 95%",
        ),
        (
            LATENCY,
            "= 5000",
            "latency_p95 = 5000ms would refuse better values too; only = 0ms can be demanded",
            "write ≤ 5000ms",
        ),
        (STEPS, "= 3", "steps = 3 would refuse better values too; no value is the best one", "write ≥ 3"),
        (ACCURACY, "5s", "accuracy is a ratio, found '5s'", "write 5%"),
        (LATENCY, "95%", "latency_p95 is a time in milliseconds, found '95%'", "write 95ms or 95s"),
        (COST, "5%", "cost_per_pass is an amount in US dollars, found '5%'", "write $5"),
        (EFFICIENCY, "5ms", "token_efficiency is a number per token, found '5ms'", "write 5"),
        (STEPS, "5ms", "steps is a plain number, found '5ms'", "write 5"),
        (STEPS, "85%", "steps is a plain number, found '85%'", "add 'range: 0-100%' to the metric if it is a ratio"),
        (ERRORS, "2", "2 could be a percentage or a fraction, and error_rate is better when lower", "write 2%"),
        (ERRORS, "0.02", "0.02 could be a percentage or a fraction, and error_rate is better when lower", "write 2%"),
        (ERRORS, "1.0", "1.0 could be a percentage or a fraction, and error_rate is better when lower", "write 100%"),
        (ERRORS, "≤ 1.5", "1.5 could be a percentage or a fraction, and error_rate is better when lower", "write 1.5%"),
    ],
)
def test_a_refused_threshold_says_what_was_found_and_what_to_write(of, text, message, hint):
    assert refusal(read, text, of) == (message, hint)


@pytest.mark.parametrize(
    ("of", "value", "message", "hint"),
    [
        (ACCURACY, "1/2", "accuracy ≠ 50% would accept worse values", "write ≥ and the least that is accepted"),
        (LATENCY, "5", "latency_p95 ≠ 5ms would accept worse values", "write ≤ and the least that is accepted"),
    ],
)
def test_a_refused_inequality_says_what_to_write(of, value, message, hint):
    assert refusal(check_threshold, of, "!=", Fraction(value)) == (message, hint)


@pytest.mark.parametrize(
    ("of", "text", "message", "hint"),
    [
        (
            ACCURACY,
            "5% of baseline",
            "found '5% of baseline' for accuracy, which is a ratio",
            "write 1%, in percentage points",
        ),
        (ACCURACY, "5", "found '5' as a margin of accuracy, a ratio", "write 1%, in percentage points"),
        (ACCURACY, "≥ 5%", "found '≥ 5%' as a margin of accuracy, a ratio", "write 1%, in percentage points"),
        (ACCURACY, "100%", "a margin of 100% accepts everything", "write 1%, in percentage points"),
        (ACCURACY, "much", "cannot read 'much' as a ratio", "write 1%, in percentage points"),
        (
            LATENCY,
            "-5ms",
            "found '-5ms' as a margin of latency_p95, a time in milliseconds",
            "write 5000ms, 5s, or 5000, or 5% of baseline",
        ),
        (COST, "much", "cannot read 'much' as an amount in US dollars", "write $0.05, or 5% of baseline"),
    ],
)
def test_a_refused_margin_says_what_was_found_and_what_to_write(of, text, message, hint):
    assert refusal(read_margin, text, of) == (message, hint)


def test_a_margin_may_be_large_but_not_everything():
    assert read_margin("99.9%", ACCURACY).value == Fraction(999, 1000)
    assert read_margin("0", LATENCY).value == 0
    assert read_margin("1", COST).value == 1
    assert read_margin("2s", LATENCY).relative is False


@pytest.mark.parametrize(
    ("reader", "text", "message", "hint"),
    [
        (read_share, "much", "cannot read 'much' as a ratio", "write 5%, or 0.05"),
        (read_share, "≥ 5%", "found '≥ 5%', wanted a share", "write 5%"),
        (read_share, "≥ 0.8", "found '≥ 0.8', wanted a share", "write 0.8"),
        (read_share, "≥ 80", "found '≥ 80', wanted a share", "write 80% or 0.8"),
        (read_share, "5ms", "found '5ms', wanted a share", "write 5% or 0.05"),
        (read_share, "0.5s", "found '0.5s', wanted a share", "write 5% or 0.05"),
        (read_share, "1", "1 could be 1% or 100%", "write 1%, 100% or 1.0"),
        (read_share, "80", "found 80, wanted a share from 0 to 1", "write 80% or 0.8"),
        (read_share, "99.5", "found 99.5, wanted a share from 0 to 1", "write 99.5% or 0.995"),
        (read_share, "100", "found 100, wanted a share from 0 to 1", "write 100% or 1.0"),
        (read_share, "101", "found 101, wanted a share from 0 to 1", "write 5% or 0.05"),
        (read_share, "-1", "found -1, wanted a share from 0 to 1", "write 5% or 0.05"),
        (read_share, "-0.5", "found -0.5, wanted a share from 0 to 1", "write 5% or 0.05"),
        (read_share, "101%", "found 101%, wanted a share from 0 to 1", "write 5% or 0.05"),
        (read_share, "-1%", "found -1%, wanted a share from 0 to 1", "write 5% or 0.05"),
        (read_duration, "soon", "cannot read 'soon' as a time in milliseconds", "write 5000ms, 5s, or 5000"),
        (read_duration, "< 5s", "found '< 5s', wanted a time above 0", "write 5000ms, 5s, or 5000"),
        (read_duration, "5%", "found '5%', wanted a time above 0", "write 5000ms, 5s, or 5000"),
        (read_duration, "0", "found '0', wanted a time above 0", "write 5000ms, 5s, or 5000"),
        (read_positive, "heavy", "cannot read 'heavy' as a plain number", "write 2.0"),
        (read_positive, "0", "found 0, wanted a number above 0", "for example 2.0"),
        (read_positive, "2%", "found 2%, wanted a number above 0", "for example 2.0"),
        (read_positive, "≥ 2", "found ≥ 2, wanted a number above 0", "for example 2.0"),
    ],
)
def test_a_refused_share_duration_or_weight_says_what_was_found_and_what_to_write(reader, text, message, hint):
    assert refusal(reader, text) == (message, hint)


def test_a_number_may_have_forty_digits():
    assert read("≥ 0." + "9" * 38, ACCURACY).value == 1 - Fraction(1, 10**38)


def test_the_ends_of_a_share_are_shares():
    assert [read_share(text) for text in ("0", "0%", "1%", "1.0", "100%")] == [0, 0, Fraction(1, 100), 1, 1]


def test_a_small_duration_and_a_small_weight_are_read():
    assert read_duration("1") == 1
    assert read_duration("0.5ms") == Fraction(1, 2)
    assert read_positive("0.5") == Fraction(1, 2)
    assert read_positive("1") == 1
