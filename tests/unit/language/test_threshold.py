"""Thresholds, read exactly and refused where they could mean something else."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highbar.language.threshold import (
    Margin,
    ThresholdError,
    check_threshold,
    read,
    read_duration,
    read_margin,
    read_positive,
    read_share,
)
from highbar.model import Metric, Name, Threshold


def metric(unit="ratio", better="higher", name="accuracy"):
    return Metric(name, "x", Name("x"), unit, better)


ACCURACY = metric()
ERRORS = metric(better="lower", name="error_rate")
LATENCY = metric("ms", "lower", "latency_p95")
COST = metric("USD", "lower", "cost_per_pass")
EFFICIENCY = metric("per token", "higher", "token_efficiency")
PLAIN = metric("number", "higher", "steps")
EVERY = [ACCURACY, ERRORS, LATENCY, COST, EFFICIENCY, PLAIN, metric("number", "lower", "retries")]


@pytest.mark.parametrize(
    ("of", "text", "canonical"),
    [
        (ACCURACY, "≥ 95%", ">= 0.95"),
        (ACCURACY, ">= 0.95", ">= 0.95"),
        (ACCURACY, ">=95 %", ">= 0.95"),
        (ACCURACY, "  > 90%  ", "> 0.9"),
        (ACCURACY, "100%", ">= 1.0"),
        (ACCURACY, "100", ">= 1.0"),
        (ACCURACY, "90", ">= 0.9"),
        (ACCURACY, "1.5", ">= 0.015"),
        (ACCURACY, "0.9", ">= 0.9"),
        (ACCURACY, "0", ">= 0.0"),
        (ACCURACY, "1.0", ">= 1.0"),
        (ACCURACY, "1%", ">= 0.01"),
        (ACCURACY, "= 100%", "= 1.0"),
        (ACCURACY, "== 1.0", "= 1.0"),
        (ERRORS, "2%", "<= 0.02"),
        (ERRORS, "≤ 2%", "<= 0.02"),
        (ERRORS, "< 0.5%", "< 0.005"),
        (ERRORS, "<= 0.02", "<= 0.02"),
        (ERRORS, "= 0%", "= 0.0"),
        (ERRORS, "= 0", "= 0.0"),
        (ERRORS, "≤ 100%", "<= 1.0"),
        (LATENCY, "5000", "<= 5000ms"),
        (LATENCY, "< 5000ms", "< 5000ms"),
        (LATENCY, "< 5s", "< 5000ms"),
        (LATENCY, "≤ 0.25s", "<= 250ms"),
        (LATENCY, "≤ 1", "<= 1ms"),
        (LATENCY, "= 0ms", "= 0ms"),
        (COST, "0.05", "<= 0.05"),
        (COST, "< 1", "< 1"),
        (EFFICIENCY, "≥ 0.002", ">= 0.002"),
        (PLAIN, "≥ 12", ">= 12"),
        (PLAIN, "> -3.5", "> -3.5"),
    ],
)
def test_a_threshold_is_read_exactly(of, text, canonical):
    threshold = read(text, of)
    assert threshold.text == canonical
    assert threshold.unit == of.unit
    assert read(canonical, of) == threshold


@pytest.mark.parametrize(
    ("of", "text", "code", "named"),
    [
        (ACCURACY, "1", "threshold.ambiguous", "1% or 100%"),
        (ACCURACY, "≥ 1", "threshold.ambiguous", "1% or 100%"),
        (ACCURACY, "120", "threshold.out-of-range", "120%"),
        (ACCURACY, "120%", "threshold.out-of-range", "120%"),
        (ACCURACY, "-5%", "threshold.out-of-range", "-5%"),
        (ACCURACY, "> 100%", "threshold.constant", "accuracy > 100%"),
        (ACCURACY, "≤ 95%", "threshold.wrong-direction", "higher"),
        (ACCURACY, "< 95%", "threshold.wrong-direction", "higher"),
        (ACCURACY, "= 95%", "threshold.wrong-direction", "accuracy = 95%"),
        (ACCURACY, "= 0%", "threshold.wrong-direction", "accuracy = 0%"),
        (ACCURACY, "5000ms", "threshold.wrong-unit", "'5000ms'"),
        (ACCURACY, "5s", "threshold.wrong-unit", "'5s'"),
        (ERRORS, "2", "threshold.ambiguous", "lower"),
        (ERRORS, "0.02", "threshold.ambiguous", "lower"),
        (ERRORS, "0", "threshold.ambiguous", "lower"),
        (ERRORS, "≤ 2", "threshold.ambiguous", "lower"),
        (ERRORS, "≤ 1", "threshold.ambiguous", "1% or 100%"),
        (ERRORS, "≥ 2%", "threshold.wrong-direction", "lower"),
        (ERRORS, "> 2%", "threshold.wrong-direction", "lower"),
        (ERRORS, "< 0%", "threshold.constant", "error_rate < 0%"),
        (ERRORS, "= 100%", "threshold.wrong-direction", "error_rate = 100%"),
        (LATENCY, "95%", "threshold.wrong-unit", "'95%'"),
        (LATENCY, "≥ 5000ms", "threshold.wrong-direction", "lower"),
        (LATENCY, "-1", "threshold.out-of-range", "-1ms"),
        (LATENCY, "< 0ms", "threshold.constant", "latency_p95 < 0ms"),
        (LATENCY, "= 5000ms", "threshold.wrong-direction", "latency_p95 = 5000ms"),
        (COST, "5%", "threshold.wrong-unit", "'5%'"),
        (COST, "5ms", "threshold.wrong-unit", "'5ms'"),
        (EFFICIENCY, "= 1", "threshold.wrong-direction", "token_efficiency = 1"),
        (PLAIN, "85%", "threshold.wrong-unit", "'85%'"),
    ],
)
def test_what_the_metric_cannot_be_or_could_also_mean_is_refused(of, text, code, named):
    with pytest.raises(ThresholdError) as caught:
        read(text, of)
    assert caught.value.code == code
    assert named in caught.value.message


@pytest.mark.parametrize(
    "text",
    [
        "",
        "high",
        "5O%",
        "0,95",
        "１００%",
        "1_000",
        "1e2",
        ".95",
        "95.",
        "007",
        "nan",
        ".nan",
        "inf",
        "infinity",
        "≥",
        "≥ ≥ 95%",
        "=> 95%",
        "!= 95%",
        "≠ 95%",
        "95%%",
        "95% ms",
        "$0.05 USD",
        "$0.05%",
        "$ 0.05 ms",
        "95 percent",
        "--5",
        "+5",
        "null",
        "true",
        "9" * 41,
        "0." + "9" * 5000,
        "≥ 95%\n≥ 96%",
    ],
)
def test_a_lenient_number_is_refused_whatever_the_metric(text):
    for of in EVERY:
        with pytest.raises(ThresholdError):
            read(text, of)


@pytest.mark.parametrize("text", ["$0.05", "≤ $0.05", "0.05", "0.05 USD", "<= 0.05USD"])
def test_an_amount_of_dollars_may_have_its_sign(text):
    assert read(text, COST) == Threshold("<=", Fraction(1, 20), "USD", "<= 0.05")
    assert read_margin(text.lstrip("≤<= "), COST).value == Fraction(1, 20)
    for of in EVERY:
        if of.unit != "USD" and ("$" in text or "USD" in text):
            with pytest.raises(ThresholdError):
                read(text, of)


@pytest.mark.parametrize("percent", range(101))
def test_every_whole_percentage_is_met_by_exactly_that_share(percent):
    threshold = read(f"≥ {percent}%", ACCURACY)
    assert threshold.value == Fraction(percent, 100)
    assert threshold.met_by(Fraction(percent, 100))
    assert not threshold.met_by(Fraction(percent, 100) - Fraction(1, 10**30))
    limit = read(f"≤ {percent}%", ERRORS)
    assert limit.met_by(Fraction(percent, 100))
    assert not limit.met_by(Fraction(percent, 100) + Fraction(1, 10**30))


def test_a_strict_bound_is_not_met_by_the_bound_itself():
    assert not read("< 5000ms", LATENCY).met_by(Fraction(5000))
    assert read("< 5000ms", LATENCY).met_by(Fraction(5000) - Fraction(1, 10**30))
    assert read("5000", LATENCY).met_by(Fraction(5000))
    assert not read("> 90%", ACCURACY).met_by(Fraction(9, 10))


operators = st.sampled_from(["", "≥", ">=", ">", "≤", "<=", "<", "=", "=="])
decimals = st.builds(
    lambda digits, places: f"{digits // 10**places}" + (f".{digits % 10**places:0{places}d}" if places else ""),
    st.integers(0, 10**7),
    st.integers(0, 5),
)


def read_or_refuse(reader, *arguments):
    try:
        return reader(*arguments)
    except ThresholdError as error:
        return error


@given(st.sampled_from(EVERY), operators, decimals, st.sampled_from(["", "%", "ms", "s"]))
def test_canonical_text_reads_back_as_the_same_threshold(of, operator, number, unit):
    threshold = read_or_refuse(read, f"{operator} {number}{unit}", of)
    assert isinstance(threshold, ThresholdError) or read(threshold.text, of) == threshold


@given(st.sampled_from(EVERY), st.text(max_size=20))
def test_no_text_raises_anything_but_a_threshold_error(of, text):
    read_or_refuse(read, text, of)
    read_or_refuse(read_margin, text, of)
    for reader in (read_share, read_duration, read_positive):
        read_or_refuse(reader, text)


def test_not_equal_is_only_accepted_at_the_bad_end():
    check_threshold(ACCURACY, "!=", Fraction(0))
    check_threshold(ERRORS, "!=", Fraction(1))
    for of, value in (
        (ACCURACY, Fraction(1)),
        (ACCURACY, Fraction(1, 2)),
        (LATENCY, Fraction(0)),
        (PLAIN, Fraction(0)),
    ):
        with pytest.raises(ThresholdError) as caught:
            check_threshold(of, "!=", value)
        assert caught.value.code == "threshold.wrong-direction"


@pytest.mark.parametrize(
    ("of", "text", "margin"),
    [
        (ACCURACY, "1%", Margin(Fraction(1, 100))),
        (ACCURACY, "0%", Margin(Fraction(0))),
        (ERRORS, "0.5%", Margin(Fraction(5, 1000))),
        (LATENCY, "200ms", Margin(Fraction(200))),
        (LATENCY, "200", Margin(Fraction(200))),
        (LATENCY, "0.2s", Margin(Fraction(200))),
        (LATENCY, "5% of baseline", Margin(Fraction(5, 100), relative=True)),
        (COST, "0.01", Margin(Fraction(1, 100))),
        (PLAIN, "10 % of the Baseline", Margin(Fraction(1, 10), relative=True)),
    ],
)
def test_a_margin_is_in_points_for_a_ratio_and_in_the_unit_or_of_the_baseline_else(of, text, margin):
    assert read_margin(text, of) == margin


@pytest.mark.parametrize(
    ("of", "text"),
    [
        (ACCURACY, "0.01"),
        (ACCURACY, "1"),
        (ACCURACY, "5% of baseline"),
        (ACCURACY, "100%"),
        (ACCURACY, "-1%"),
        (ACCURACY, "≥ 1%"),
        (ACCURACY, "200ms"),
        (LATENCY, "5%"),
        (LATENCY, "-5ms"),
        (LATENCY, "some"),
        (COST, "1s"),
        (LATENCY, "$1"),
        (COST, "9" * 41 + "% of baseline"),
    ],
)
def test_a_margin_that_could_mean_something_else_is_refused(of, text):
    with pytest.raises(ThresholdError):
        read_margin(text, of)


def test_shares_durations_and_weights_are_read_by_the_same_grammar():
    assert read_share("95%") == read_share("0.95") == Fraction(95, 100)
    assert read_share("1.0") == read_share("100%") == 1
    assert read_duration("5s") == read_duration("5000") == read_duration("5000ms") == 5000
    assert read_positive("1.5") == Fraction(3, 2)


@pytest.mark.parametrize("text", ["1", "95", "101%", "-1%", "≥ 5%", "5ms", "nan", ""])
def test_what_is_not_a_share_is_refused(text):
    with pytest.raises(ThresholdError):
        read_share(text)


@pytest.mark.parametrize("text", ["0", "-5", "5%", "< 5s", "5 minutes"])
def test_what_is_not_a_time_above_0_is_refused(text):
    with pytest.raises(ThresholdError):
        read_duration(text)


@pytest.mark.parametrize("text", ["0", "0.0", "-1", "1%", "1ms", "> 1", "inf", "1e3"])
def test_what_is_not_a_weight_above_0_is_refused(text):
    with pytest.raises(ThresholdError):
        read_positive(text)
