"""What becomes of each kind of rule, with the reason that a reader sees."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import pytest

from highbar import formula
from highbar.gate import judge
from highbar.gate.rules import Evidence, count, percent, show
from highbar.model import (
    BaselineRule,
    ConditionRule,
    Demand,
    Metric,
    Name,
    Place,
    ProgressiveRule,
    ScenarioRule,
    SuiteRule,
    Threshold,
    ThresholdRule,
    Value,
)

HERE = Place("highbar.yaml", 3, 5)
GERMAN = (("tags.locale", ("de",)),)


@dataclass(frozen=True)
class Table:
    """Metrics as they were measured, by name and scenarios."""

    values: dict

    def value(self, name, where=()):
        return self.values[name, where]

    def lookup(self, where=()):
        def found(leaf):
            value = self.values[leaf.name, where]
            return formula.Undefined(value.reason) if value.value is None else value.value

        return found


@dataclass(frozen=True)
class Ids:
    scenarios: int
    failed: int = 0
    examples: tuple = ()


@dataclass(frozen=True)
class Difference:
    missing: int = 0
    missing_ids: tuple = ()
    extra: int = 0
    extra_ids: tuple = ()
    different: tuple = ()


def value(number, *, scenarios=20, missing=0, unit="ratio", better="higher", reason=None):
    return Value(None if number is None else Fraction(number), scenarios, missing, unit, better, reason)


def metric(name, unit="ratio"):
    return Metric(name, "x", Name("x"), unit, "higher")


def evidence(values=None, patterns=None, suite=None):
    values = {key if isinstance(key, tuple) else (key, ()): of for key, of in (values or {}).items()}
    return Evidence(
        Table(values), {name: metric(name, of.unit) for (name, _), of in values.items()}, patterns or {}, suite
    )


ACCURACY = ThresholdRule(
    name="thresholds.blocking.accuracy",
    level="blocking",
    metric="accuracy",
    threshold=Threshold(">=", Fraction(95, 100), "ratio", ">= 0.95"),
    description="Trust",
    place=HERE,
)
LATENCY = ThresholdRule(
    name="thresholds.warning.latency_p95",
    level="warning",
    metric="latency_p95",
    threshold=Threshold("<", Fraction(5000), "ms", "< 5000ms"),
)


def test_a_threshold_rule_says_everything_that_it_rests_on():
    accuracy = value("19/20")
    result = judge(ACCURACY, evidence({"accuracy": accuracy}))
    assert result.outcome == "pass"
    assert result.reason == "95% is >= 95% (over 20 scenarios)"
    assert (result.rule, result.level, result.metric) == ("thresholds.blocking.accuracy", "blocking", "accuracy")
    assert (result.threshold, result.value, result.slice) == (">= 0.95", accuracy, ())
    assert (result.description, result.place) == ("Trust", HERE)


def test_a_value_below_its_threshold_fails_and_the_missing_are_counted():
    result = judge(ACCURACY, evidence({"accuracy": value("18/20", missing=3)}))
    assert (result.outcome, result.reason) == ("fail", "90% is not >= 95% (over 20 scenarios, 3 lack it)")


def test_a_value_just_below_its_threshold_does_not_read_as_if_it_met_it():
    result = judge(ACCURACY, evidence({"accuracy": value(Fraction(949999, 1000000), scenarios=1)}))
    assert (result.outcome, result.reason) == ("fail", "94.9% is not >= 95% (over 1 scenario)")
    result = judge(LATENCY, evidence({"latency_p95": value(5000, unit="ms", better="lower")}))
    assert (result.outcome, result.reason) == ("fail", "5000 ms is not < 5000 ms (over 20 scenarios)")


def test_a_value_just_above_a_threshold_that_it_must_stay_below_does_not_read_as_if_it_met_it():
    errors = replace(ACCURACY, metric="error_rate", threshold=Threshold("<=", Fraction(1, 100), "ratio", "<= 0.01"))
    result = judge(errors, evidence({"error_rate": value(Fraction(1001, 100000), better="lower")}))
    assert (result.outcome, result.reason) == ("fail", "1.001% is not <= 1% (over 20 scenarios)")


def test_an_undefined_value_never_passes():
    undefined = value(None, reason="no scenario says whether its answer was correct")
    result = judge(ACCURACY, evidence({"accuracy": undefined}))
    assert result.outcome == "undefined"
    assert result.reason == "accuracy is undefined: no scenario says whether its answer was correct"


def test_a_rule_over_a_slice_looks_at_the_slice_alone():
    rule = replace(ACCURACY, where=GERMAN)
    result = judge(rule, evidence({"accuracy": value(1), ("accuracy", GERMAN): value("1/2", scenarios=4)}))
    assert (result.outcome, result.slice) == ("fail", GERMAN)
    assert result.reason == "50% is not >= 95% (over 4 scenarios)"


@pytest.mark.parametrize(("scenarios", "outcome"), [(29, "inconclusive"), (30, "pass"), (31, "pass")])
def test_fewer_scenarios_than_demanded_are_inconclusive(scenarios, outcome):
    rule = replace(ACCURACY, demand=Demand(min_scenarios=30))
    result = judge(rule, evidence({"accuracy": value(1, scenarios=scenarios)}))
    assert result.outcome == outcome
    if outcome == "inconclusive":
        assert result.reason == "100% is >= 95%, but rests on 29 scenarios of at least 30 wanted"


def test_a_miss_on_few_scenarios_is_still_a_miss():
    rule = replace(ACCURACY, demand=Demand(min_scenarios=30))
    assert judge(rule, evidence({"accuracy": value(0, scenarios=1)})).outcome == "fail"


COMPOSITE = ConditionRule(
    name="composite.pass",
    level="blocking",
    condition=formula.parse_condition("final_score ≥ 0.85 AND latency_p95 < 5000"),
    text="final_score ≥ 0.85 AND latency_p95 < 5000",
    description="All in all",
    place=HERE,
)


def test_a_condition_shows_each_of_its_values_in_its_own_unit():
    final = value("9/10")
    result = judge(COMPOSITE, evidence({"final_score": final, "latency_p95": value(4000, unit="ms")}))
    assert result.outcome == "pass"
    assert "90%" in result.reason
    assert "4000" in result.reason
    assert "%" not in result.reason.partition("4000")[2]
    assert (result.rule, result.level, result.metric, result.value) == (
        "composite.pass",
        "blocking",
        "final_score",
        final,
    )
    assert (result.threshold, result.description, result.place) == (COMPOSITE.text, "All in all", HERE)


def test_a_condition_fails_with_one_of_its_sides_and_is_undefined_with_an_undefined_one():
    slow = evidence({"final_score": value("9/10"), "latency_p95": value(5000, unit="ms")})
    assert judge(COMPOSITE, slow).outcome == "fail"
    unknown = evidence({"final_score": value(None, reason="no data"), "latency_p95": value(1, unit="ms")})
    result = judge(COMPOSITE, unknown)
    assert result.outcome == "undefined"
    assert "no data" in result.reason


def test_a_condition_without_the_composite_score_has_no_value_of_its_own():
    rule = replace(COMPOSITE, condition=formula.parse_condition("safety_rate = 1.0"), text="safety_rate = 1.0")
    result = judge(rule, evidence({"safety_rate": value(1)}))
    assert (result.outcome, result.metric, result.value) == ("pass", None, None)
    assert "100%" in result.reason


def test_a_condition_over_sums_shows_them_as_plain_numbers():
    rule = replace(COMPOSITE, condition=formula.parse_condition("a + a ≥ 1"), text="a + a ≥ 1")
    result = judge(rule, evidence({"a": value("3/4")}))
    assert result.outcome == "pass"
    assert "1.5" in result.reason
    assert "%" not in result.reason


@pytest.mark.parametrize(
    ("pattern", "found", "outcome", "reason"),
    [
        ("SEC-1", Ids(1), "pass", "1 scenario passed every trial"),
        ("SEC-*", Ids(3), "pass", "3 scenarios passed every trial"),
        ("SEC-1", Ids(0), "fail", "no result has the id SEC-1"),
        ("X-1", Ids(0), "fail", "no result has the id X-1"),
        ("SEC-*", Ids(0), "fail", "no id matches SEC-*"),
        ("SEC-?", Ids(0), "fail", "no id matches SEC-?"),
        ("SEC-1", Ids(1, 1, ("SEC-1",)), "fail", "1 of 1 scenario did not pass every trial: SEC-1"),
        ("SEC-*", Ids(5, 2, ("SEC-1", "SEC-4")), "fail", "2 of 5 scenarios did not pass every trial: SEC-1, SEC-4"),
        ("SEC-*", Ids(9, 3, ("SEC-1", "SEC-4")), "fail", "3 of 9 scenarios did not pass every trial: SEC-1, SEC-4, …"),
    ],
)
def test_named_scenarios_must_be_there_and_pass(pattern, found, outcome, reason):
    rule = ScenarioRule(f"required_scenarios.{pattern}", "blocking", pattern, place=HERE)
    result = judge(rule, evidence(patterns={pattern: found}))
    assert (result.outcome, result.reason) == (outcome, reason)
    assert (result.rule, result.level, result.metric, result.place) == (rule.name, "blocking", None, HERE)


@pytest.mark.parametrize(
    ("difference", "outcome", "reason"),
    [
        (Difference(), "pass", "every scenario of the suite has a result, and no other has"),
        (Difference(missing=1, missing_ids=("C",)), "fail", "1 scenario of the suite without a result: C"),
        (
            Difference(missing=3, missing_ids=("C", "D")),
            "fail",
            "3 scenarios of the suite without a result: C, D, …",
        ),
        (Difference(extra=1, extra_ids=("Z",)), "fail", "1 scenario not in the suite: Z"),
        (Difference(extra=2, extra_ids=("Y", "Z")), "fail", "2 scenarios not in the suite: Y, Z"),
        (Difference(different=("A is another category",)), "fail", "A is another category"),
        (
            Difference(1, ("C",), 1, ("Z",), ("A differs",)),
            "fail",
            "1 scenario of the suite without a result: C; 1 scenario not in the suite: Z; A differs",
        ),
        (None, "undefined", "the results were not compared with the suite"),
    ],
)
def test_the_results_must_be_the_whole_suite_and_nothing_else(difference, outcome, reason):
    result = judge(SuiteRule("suite", "blocking", HERE), evidence(suite=difference))
    assert (result.outcome, result.reason) == (outcome, reason)
    assert (result.rule, result.level, result.metric, result.place) == ("suite", "blocking", None, HERE)


def test_what_has_nothing_to_be_compared_with_is_undefined():
    baseline = BaselineRule("baseline.accuracy", "blocking", "accuracy", Fraction(0), relative=False, file="base.json")
    result = judge(baseline, evidence())
    assert (result.outcome, result.metric) == ("undefined", "accuracy")
    assert result.reason == "there is no baseline to compare with at base.json"
    progressive = ProgressiveRule("progressive.accuracy", "blocking", "accuracy", (), None)
    result = judge(progressive, evidence())
    assert (result.outcome, result.metric) == ("undefined", "accuracy")
    assert result.reason == "the agent's version is not known"


@pytest.mark.parametrize(
    ("number", "beside", "text"),
    [
        ("1", None, "100%"),
        ("0", None, "0%"),
        ("19/20", None, "95%"),
        ("1/3", None, "33.3%"),
        ("2/3", None, "66.6%"),
        ("1/1000", None, "0.1%"),
        ("9999/10000", None, "99.9%"),
        ("9999/10000", "1", "99.9%"),
        ("19/20", "19/20", "95%"),
        ("1/3", "1/3", "33.3%"),
        ("90001/100000", "9/10", "90.001%"),
        ("900000000001/1000000000000", "9/10", "90%"),
        ("90000000001/100000000000", "9/10", "90.000000001%"),
        ("1001/100000", "1/100", "1.001%"),
    ],
)
def test_a_share_is_cut_never_rounded_up_and_told_from_what_stands_beside_it(number, beside, text):
    assert percent(Fraction(number), Fraction(beside) if beside else None) == text


@pytest.mark.parametrize(
    ("unit", "text"),
    [("ms", "2.5 ms"), ("USD", "2.5 USD"), ("per token", "2.5 per token"), ("number", "2.5"), ("ratio", "250%")],
)
def test_a_number_is_shown_in_its_unit(unit, text):
    assert show(Fraction(5, 2), value(0, unit=unit)) == text


def test_one_is_not_a_plural():
    assert [count(number, "scenario") for number in (0, 1, 2)] == ["0 scenarios", "1 scenario", "2 scenarios"]
