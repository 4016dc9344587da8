"""What becomes of each kind of rule, and what its result carries."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from msgspec.structs import replace

from highbar.gate import judge
from highbar.gate.evidence import Evidence
from highbar.gate.rules import count
from highbar.language import formula
from highbar.model import (
    BaselineRule,
    ConditionRule,
    Place,
    ProgressiveRule,
    ScenarioRule,
    SuiteRule,
    Threshold,
    ThresholdRule,
)
from highbar.statistics.planning import more_scenarios, observed_design
from tests.unit.gate.table import Difference, Ids, Table, evidence, share, value

HERE = Place("highbar.yaml", 3, 5)
GERMAN = (("tags.locale", ("de",)),)
ACCURACY = ThresholdRule(
    name="thresholds.blocking.accuracy",
    level="blocking",
    metric="accuracy",
    threshold=Threshold(">=", Fraction(95, 100), "ratio", ">= 0.95"),
    description="Trust",
    place=HERE,
)


def test_a_threshold_rule_carries_everything_that_it_rests_on():
    accuracy, sums = share(19, 20)
    result = judge(ACCURACY, evidence({"accuracy": accuracy}, shares={"accuracy": sums}))
    assert result.outcome == "pass"
    assert result.reason == "95% (78.4–99.7) is ≥ 95% (over 20 scenarios)"
    assert (result.rule, result.level, result.metric) == ("thresholds.blocking.accuracy", "blocking", "accuracy")
    assert (result.threshold, result.value, result.slice) == (">= 0.95", accuracy, ())
    assert (result.description, result.place) == ("Trust", HERE)
    assert result.fragile
    assert result.second_run is not None
    assert result.more_scenarios is None  # on the threshold itself, none would settle it


def test_a_threshold_rule_hands_on_how_far_it_can_be_trusted():
    accuracy, sums = share(49, 50)
    result = judge(ACCURACY, evidence({"accuracy": accuracy}, shares={"accuracy": sums}))
    assert (result.outcome, result.fragile) == ("pass", True)
    assert 0 < result.second_run_low < result.second_run < 0.5
    assert result.evidence == "estimate"
    design = observed_design(sums)
    assert result.more_scenarios == more_scenarios(Fraction(95, 100), Fraction(49, 50), 50, 0.05, design=design)


def test_a_threshold_rule_names_the_metric_that_is_undefined():
    result = judge(ACCURACY, evidence({"accuracy": value(None, reason="no data")}))
    assert (result.outcome, result.reason) == ("undefined", "accuracy is undefined: no data")


def test_a_rule_over_a_slice_looks_at_the_slice_alone():
    rule = replace(ACCURACY, where=GERMAN)
    whole, of_whole = share(100, 100)
    part, of_part = share(5, 10)
    found = evidence(
        {"accuracy": whole, ("accuracy", GERMAN): part}, shares={"accuracy": of_whole, ("accuracy", GERMAN): of_part}
    )
    result = judge(rule, found)
    assert (result.outcome, result.slice, result.value) == ("fail", GERMAN, part)
    looser = replace(rule, threshold=Threshold(">=", Fraction(6, 10), "ratio", ">= 0.6"))
    # From the sums of the slice, not of the whole.
    expected = more_scenarios(Fraction(6, 10), Fraction(5, 10), 10, 0.05, design=observed_design(of_part))
    assert judge(looser, found).more_scenarios == expected


def test_the_accepted_error_is_the_one_of_the_evidence():
    accuracy, sums = share(49, 50)
    found = evidence({"accuracy": accuracy}, shares={"accuracy": sums})
    stricter = replace(found, alpha=0.01)
    assert judge(ACCURACY, stricter).more_scenarios > judge(ACCURACY, found).more_scenarios
    assert Evidence(Table({}), {}, {}, None).alpha == 0.05


COMPOSITE = ConditionRule(
    name="composite.pass",
    level="blocking",
    condition=formula.parse_condition("final_score ≥ 0.85 AND safety_rate = 1.0"),
    text="final_score ≥ 0.85 AND safety_rate = 1.0",
    description="All in all",
    place=HERE,
)


def test_a_condition_rule_carries_the_composite_score_and_how_far_it_can_be_trusted():
    final, safety = value("9/10", low=0.8, high=0.95), value(1, low=0.9, high=1.0)
    result = judge(COMPOSITE, evidence({"final_score": final, "safety_rate": safety}))
    assert (result.rule, result.level, result.outcome) == ("composite.pass", "blocking", "pass")
    assert result.reason == "final_score 90.0% is ≥ 85%; safety_rate 100% is 100%"
    assert (result.metric, result.value, result.threshold) == ("final_score", final, COMPOSITE.text)
    assert (result.description, result.place) == ("All in all", HERE)
    assert result.fragile
    assert (result.second_run_low, result.second_run) == (None, None)  # of the safety rate nothing is stated
    assert result.more_scenarios > 39  # what the safety rate alone would need


def test_a_condition_without_the_composite_score_has_no_value_of_its_own():
    rule = replace(COMPOSITE, condition=formula.parse_condition("safety_rate = 1.0"), text="safety_rate = 1.0")
    result = judge(rule, evidence({"safety_rate": value(1)}))
    assert (result.outcome, result.metric, result.value) == ("pass", None, None)


@pytest.mark.parametrize(
    ("pattern", "found", "outcome", "reason"),
    [
        ("SEC-1", Ids(1), "pass", "1 scenario passed every trial"),
        ("SEC-*", Ids(3), "pass", "3 scenarios passed every trial"),
        ("SEC-1", Ids(0), "fail", "no result has the id SEC-1"),
        ("X-1", Ids(0), "fail", "no result has the id X-1"),
        ("SEC-*", Ids(0), "fail", "no id matches SEC-*"),
        ("SEC-?", Ids(0), "fail", "no id matches SEC-?"),
        ("SEC-1", Ids(1, 1, ("SEC-1",)), "fail", "SEC-1 did not pass"),
        ("SEC-*", Ids(5, 2, ("SEC-1", "SEC-4")), "fail", "2 of 5 scenarios did not pass: SEC-1, SEC-4"),
        ("SEC-*", Ids(9, 3, ("SEC-1", "SEC-4")), "fail", "3 of 9 scenarios did not pass: SEC-1, SEC-4, …"),
        (
            "SEC-*",
            Ids(9, undecided=2, undecided_examples=("SEC-1", "SEC-4")),
            "fail",
            "2 of 9 scenarios have an undecided trial: SEC-1, SEC-4",
        ),
        (
            "SEC-1",
            Ids(1, undecided=1, undecided_examples=("SEC-1",)),
            "fail",
            "SEC-1 has an undecided trial",
        ),
    ],
)
def test_named_scenarios_must_be_there_and_pass(pattern, found, outcome, reason):
    rule = ScenarioRule(f"required_scenarios.{pattern}", "blocking", pattern, "Never again", HERE)
    result = judge(rule, evidence(patterns={pattern: found}))
    assert (result.outcome, result.reason) == (outcome, reason)
    assert (result.rule, result.level, result.metric) == (rule.name, "blocking", None)
    assert (result.description, result.place) == ("Never again", HERE)


def test_undecided_trials_of_a_named_scenario_pass_at_their_best():
    rule = ScenarioRule("required_scenarios.SEC-1", "blocking", "SEC-1", None, HERE)
    found = Ids(1, undecided=1, undecided_examples=("SEC-1",))
    at_best = replace(evidence(patterns={"SEC-1": found}), at_best=True)
    assert judge(rule, at_best).outcome == "pass"


@pytest.mark.parametrize(
    ("absent", "outcome", "many", "named"),
    [
        (("SEC-2",), "fail", "1 scenario ", ": SEC-2"),
        (("A-1", "SEC-2", "SEC-3"), "fail", "2 scenarios ", ": SEC-2, SEC-3"),
        (tuple(f"SEC-{i}" for i in range(10, 22)), "fail",
         "12 scenarios ", f": {', '.join(f'SEC-{i}' for i in range(10, 20))}, …"),
        (("A-1",), "pass", "3 scenarios ", ""),
    ],
)  # fmt: skip
def test_a_named_scenario_of_the_suite_that_is_absent_fails_though_it_is_optional(absent, outcome, many, named):
    rule = ScenarioRule("required_scenarios.SEC-*", "blocking", "SEC-*", None, HERE)
    found = evidence(patterns={"SEC-*": Ids(3)}, suite=Difference(excused_ids=absent))
    result = judge(rule, found)
    assert result.outcome == outcome
    assert result.reason.startswith(many)
    assert result.reason.endswith(named)


@pytest.mark.parametrize(
    ("difference", "outcome", "parts"),
    [
        (Difference(excused_ids=("A", "B")), "pass", [r".*\b2\b.*"]),
        (Difference(), "pass", [r"\D+"]),
        (Difference(missing=1, missing_ids=("C",)), "fail", ["1 scenario .* without .*: C"]),
        (Difference(missing=3, missing_ids=("C", "D")), "fail", ["3 scenarios .* without .*: C, D, …"]),
        (Difference(extra=1, extra_ids=("Z",)), "fail", ["1 scenario not .*: Z"]),
        (Difference(extra=2, extra_ids=("Y", "Z")), "fail", ["2 scenarios not .*: Y, Z"]),
        (Difference(different=("A is another category",)), "fail", ["A is another category"]),
        (
            Difference(1, ("C",), 1, ("Z",), ("A differs",)),
            "fail",
            ["1 scenario .* without .*: C", "1 scenario not .*: Z", "A differs"],
        ),
        (None, "undefined", [".+"]),
    ],
)
def test_the_results_must_be_the_whole_suite_and_nothing_else(difference, outcome, parts):
    result = judge(SuiteRule("suite", "blocking", HERE), evidence(suite=difference))
    assert result.outcome == outcome
    assert re.fullmatch("; ".join(parts), result.reason)
    assert (result.rule, result.level, result.metric, result.place) == ("suite", "blocking", None, HERE)


def test_what_has_nothing_to_be_compared_with_is_undefined():
    baseline = BaselineRule(
        "baseline.accuracy", "blocking", "accuracy", Fraction(0), relative=False, file="base.json", place=HERE
    )
    result = judge(baseline, evidence({"accuracy": value("9/10")}))
    assert (result.rule, result.level, result.outcome) == ("baseline.accuracy", "blocking", "undefined")
    assert (result.threshold, result.value) == (">= baseline", None)
    assert (result.metric, result.place) == ("accuracy", HERE)
    assert result.reason == "there is no baseline at base.json; `highbar baseline record` makes one"
    progressive = ProgressiveRule("progressive.accuracy", "blocking", "accuracy", (), None, place=HERE)
    result = judge(progressive, evidence())
    assert (result.rule, result.level, result.outcome) == ("progressive.accuracy", "blocking", "undefined")
    assert (result.metric, result.place) == ("accuracy", HERE)
    assert result.reason == "the agent's version is not known"


def test_one_is_not_a_plural():
    assert [count(number, "scenario") for number in (0, 1, 2)] == ["0 scenarios", "1 scenario", "2 scenarios"]
