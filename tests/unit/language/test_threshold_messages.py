"""What a reader is told about a threshold that was refused: what was found, and what to write instead."""

from __future__ import annotations

import re
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


FIGURE = re.compile(r"(?:[<>≤≥=≠] )?[^\s,;']*\d[^\s,;']*(?: of baseline)?")
"""A number with its sign and its unit: what a hint says to write."""


def refuses(reader, *arguments, code, named, written):
    """It is refused with this code; the message names these values, and the hint has exactly these figures."""
    with pytest.raises(ThresholdError) as caught:
        reader(*arguments)
    assert str(caught.value) == caught.value.message
    assert caught.value.code == code
    assert [value for value in named if value not in caught.value.message] == []
    assert (caught.value.hint and ", ".join(FIGURE.findall(caught.value.hint))) == written


@pytest.mark.parametrize(
    ("of", "text", "code", "named", "written"),
    [
        (ACCURACY, "high", "threshold.unreadable", ("'high'", "ratio"), "95%, 0.95"),
        (LATENCY, "high", "threshold.unreadable", ("'high'", "milliseconds"), "5000ms, 5s, 5000"),
        (COST, "high", "threshold.unreadable", ("'high'", "US dollars"), "$0.05"),
        (EFFICIENCY, "high", "threshold.unreadable", ("'high'", "per token"), "0.002"),
        (STEPS, "high", "threshold.unreadable", ("'high'", "plain number"), "12.5"),
        (ACCURACY, "x" * 99, "threshold.unreadable", (f"'{'x' * 60}'", "ratio"), "95%, 0.95"),
        (ACCURACY, "at least 90%", "threshold.unreadable", ("'at least 90%'", "ratio"), "≥ 90%"),
        (ACCURACY, "90 percent", "threshold.unreadable", ("'90 percent'", "ratio"), "90%"),
        (ACCURACY, "90,5%", "threshold.unreadable", ("'90,5%'", "ratio"), "90.5%"),
        (ACCURACY, ".9", "threshold.unreadable", ("'.9'", "ratio"), "90%"),
        (ACCURACY, "$90", "threshold.wrong-unit", ("accuracy", "'$90'", "ratio"), "90%"),
        (ACCURACY, "80 to 90%", "threshold.unreadable", ("'80 to 90%'", "ratio"), "95%, 0.95"),
        (LATENCY, "5 seconds", "threshold.unreadable", ("'5 seconds'", "milliseconds"), "5s"),
        (LATENCY, "under 2 min", "threshold.unreadable", ("'under 2 min'", "milliseconds"), "≤ 120s"),
        (LATENCY, "1,500 ms", "threshold.unreadable", ("'1,500 ms'", "milliseconds"), "1500ms"),
        (COST, "5 dollars", "threshold.unreadable", ("'5 dollars'", "US dollars"), "$5"),
        (COST, "$0.05 USD", "threshold.unreadable", ("'$0.05 USD'", "US dollars"), "$0.05"),
        (ACCURACY, "9" * 41 + "%", "file.too-many-digits", ("40",), None),
        (ACCURACY, "1", "threshold.ambiguous", ("1%", "100%"), "1%, 100%, 1.0"),
        (ACCURACY, "-1", "threshold.out-of-range", ("-1", "accuracy", "0%", "100%"), None),
        (ACCURACY, "-0.5", "threshold.out-of-range", ("-0.5", "accuracy", "0%", "100%"), None),
        (ACCURACY, "-50%", "threshold.out-of-range", ("-50%", "accuracy", "0%", "100%"), None),
        (ACCURACY, "120%", "threshold.out-of-range", ("120%", "accuracy", "0%", "100%"), None),
        (LATENCY, "-1", "threshold.out-of-range", ("-1ms", "latency_p95", "0 or more"), None),
        (COST, "-1", "threshold.out-of-range", ("-1", "cost_per_pass", "0 or more"), None),
        (ACCURACY, "> 100%", "threshold.constant", ("accuracy > 100%",), "≥ 100%"),
        (LATENCY, "< 0ms", "threshold.constant", ("latency_p95 < 0ms",), "≤ 0ms"),
        (ACCURACY, "≤ 95%", "threshold.wrong-direction", ("accuracy", "'<='", "higher"), "≥ 95%"),
        (ACCURACY, "< 95%", "threshold.wrong-direction", ("accuracy", "'<'", "higher"), "≥ 95%"),
        (LATENCY, "≥ 5s", "threshold.wrong-direction", ("latency_p95", "'>='", "lower"), "≤ 5000ms"),
        (LATENCY, "> 5s", "threshold.wrong-direction", ("latency_p95", "'>'", "lower"), "≤ 5000ms"),
        (ACCURACY, "= 95%", "threshold.wrong-direction", ("accuracy = 95%", "= 100%"), "≥ 95%"),
        (LATENCY, "= 5000", "threshold.wrong-direction", ("latency_p95 = 5000ms", "= 0ms"), "≤ 5000ms"),
        (STEPS, "= 3", "threshold.wrong-direction", ("steps = 3",), "≥ 3"),
        (ACCURACY, "5s", "threshold.wrong-unit", ("accuracy", "'5s'", "ratio"), "5%"),
        (LATENCY, "95%", "threshold.wrong-unit", ("latency_p95", "'95%'", "milliseconds"), "95ms, 95s"),
        (COST, "5%", "threshold.wrong-unit", ("cost_per_pass", "'5%'", "US dollars"), "$5"),
        (EFFICIENCY, "5ms", "threshold.wrong-unit", ("token_efficiency", "'5ms'", "per token"), "5"),
        (STEPS, "5ms", "threshold.wrong-unit", ("steps", "'5ms'", "plain number"), "5"),
        (STEPS, "85%", "threshold.wrong-unit", ("steps", "'85%'", "plain number"), "0-100%"),
        (ERRORS, "2", "threshold.ambiguous", ("2", "error_rate", "lower"), "2%"),
        (ERRORS, "0.02", "threshold.ambiguous", ("0.02", "error_rate", "lower"), "2%"),
        (ERRORS, "1.0", "threshold.ambiguous", ("1.0", "error_rate", "lower"), "100%"),
        (ERRORS, "≤ 1.5", "threshold.ambiguous", ("1.5", "error_rate", "lower"), "1.5%"),
    ],
)
def test_a_refused_threshold_says_what_was_found_and_what_to_write(of, text, code, named, written):
    refuses(read, text, of, code=code, named=named, written=written)


@pytest.mark.parametrize(
    ("of", "value", "found", "sign"),
    [(ACCURACY, "1/2", "accuracy ≠ 50%", "≥"), (LATENCY, "5", "latency_p95 ≠ 5ms", "≤")],
)
def test_a_refused_inequality_says_what_to_write(of, value, found, sign):
    with pytest.raises(ThresholdError) as caught:
        check_threshold(of, "!=", Fraction(value))
    assert caught.value.code == "threshold.wrong-direction"
    assert found in caught.value.message
    assert sign in caught.value.hint


@pytest.mark.parametrize(
    ("of", "text", "code", "named", "written"),
    [
        (ACCURACY, "5% of baseline", "threshold.wrong-unit", ("'5% of baseline'", "accuracy", "ratio"), "1%"),
        (ACCURACY, "5", "threshold.wrong-unit", ("'5'", "accuracy", "ratio"), "1%"),
        (ACCURACY, "≥ 5%", "threshold.wrong-unit", ("'≥ 5%'", "accuracy", "ratio"), "1%"),
        (ACCURACY, "100%", "threshold.constant", ("100%",), "1%"),
        (ACCURACY, "much", "threshold.unreadable", ("'much'", "ratio"), "1%"),
        (
            LATENCY,
            "-5ms",
            "threshold.wrong-unit",
            ("'-5ms'", "latency_p95", "milliseconds"),
            "5000ms, 5s, 5000, 5% of baseline",
        ),
        (COST, "much", "threshold.unreadable", ("'much'", "US dollars"), "$0.05, 5% of baseline"),
    ],
)
def test_a_refused_margin_says_what_was_found_and_what_to_write(of, text, code, named, written):
    refuses(read_margin, text, of, code=code, named=named, written=written)


def test_a_margin_may_be_large_but_not_everything():
    assert read_margin("99.9%", ACCURACY).value == Fraction(999, 1000)
    assert read_margin("0", LATENCY).value == 0
    assert read_margin("1", COST).value == 1
    assert read_margin("2s", LATENCY).relative is False


@pytest.mark.parametrize(
    ("reader", "text", "code", "named", "written"),
    [
        (read_share, "much", "threshold.unreadable", ("'much'", "ratio"), "5%, 0.05"),
        (read_share, "≥ 5%", "threshold.unreadable", ("'≥ 5%'", "share"), "5%"),
        (read_share, "≥ 0.8", "threshold.unreadable", ("'≥ 0.8'", "share"), "0.8"),
        (read_share, "≥ 80", "threshold.unreadable", ("'≥ 80'", "share"), "80%, 0.8"),
        (read_share, "5ms", "threshold.unreadable", ("'5ms'", "share"), "5%, 0.05"),
        (read_share, "0.5s", "threshold.unreadable", ("'0.5s'", "share"), "5%, 0.05"),
        (read_share, "1", "threshold.ambiguous", ("1%", "100%"), "1%, 100%, 1.0"),
        (read_share, "80", "threshold.out-of-range", ("80", "share"), "80%, 0.8"),
        (read_share, "99.5", "threshold.out-of-range", ("99.5", "share"), "99.5%, 0.995"),
        (read_share, "100", "threshold.out-of-range", ("100", "share"), "100%, 1.0"),
        (read_share, "101", "threshold.out-of-range", ("101", "share"), "5%, 0.05"),
        (read_share, "-1", "threshold.out-of-range", ("-1", "share"), "5%, 0.05"),
        (read_share, "-0.5", "threshold.out-of-range", ("-0.5", "share"), "5%, 0.05"),
        (read_share, "101%", "threshold.out-of-range", ("101%", "share"), "5%, 0.05"),
        (read_share, "-1%", "threshold.out-of-range", ("-1%", "share"), "5%, 0.05"),
        (read_duration, "soon", "threshold.unreadable", ("'soon'", "milliseconds"), "5000ms, 5s, 5000"),
        (read_duration, "< 5s", "threshold.unreadable", ("'< 5s'", "time"), "5000ms, 5s, 5000"),
        (read_duration, "5%", "threshold.unreadable", ("'5%'", "time"), "5000ms, 5s, 5000"),
        (read_duration, "0", "threshold.unreadable", ("'0'", "time"), "5000ms, 5s, 5000"),
        (read_positive, "heavy", "threshold.unreadable", ("'heavy'", "plain number"), "2.0"),
        (read_positive, "0", "threshold.unreadable", ("found 0", "number"), "2.0"),
        (read_positive, "2%", "threshold.unreadable", ("2%", "number"), "2.0"),
        (read_positive, "≥ 2", "threshold.unreadable", ("≥ 2", "number"), "2.0"),
    ],
)
def test_a_refused_share_duration_or_weight_says_what_was_found_and_what_to_write(reader, text, code, named, written):
    refuses(reader, text, code=code, named=named, written=written)


def test_a_number_may_have_forty_digits():
    assert read("≥ 0." + "9" * 38, ACCURACY).value == 1 - Fraction(1, 10**38)


def test_the_ends_of_a_share_are_shares():
    assert [read_share(text) for text in ("0", "0%", "1%", "1.0", "100%")] == [0, 0, Fraction(1, 100), 1, 1]


def test_a_small_duration_and_a_small_weight_are_read():
    assert read_duration("1") == 1
    assert read_duration("0.5ms") == Fraction(1, 2)
    assert read_positive("0.5") == Fraction(1, 2)
    assert read_positive("1") == 1
