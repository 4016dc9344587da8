"""A threshold far below the present level is pointed out, and nothing else is."""

from __future__ import annotations

from fractions import Fraction

from highbar.gate.thresholds import slack, slack_notes
from highbar.model import RuleResult, Threshold
from tests.unit.gate.table import value


def at_least(text, unit="ratio"):
    return Threshold(">=", Fraction(text), unit, f">= {text}")


def at_most(text, unit="ratio"):
    return Threshold("<=", Fraction(text), unit, f"<= {text}{'ms' if unit == 'ms' else ''}")


def test_ten_points_between_the_threshold_and_the_worse_end_are_slack():
    present = value("97/100", low=0.9375, high=0.99)
    assert slack(at_least("0.8"), present) == Fraction("0.1375")
    assert slack(at_least("0.8375"), present) == Fraction(1, 10)
    assert slack(at_least("0.8376"), present) is None


def test_a_good_value_of_few_scenarios_is_no_slack():
    assert slack(at_least("0.8"), value("1", low=0.5, high=1.0)) is None
    assert slack(at_least("0.8"), value("1", low=None, high=None)) is None


def test_where_lower_is_better_the_upper_end_counts():
    assert slack(at_most("0.25"), value("1/100", better="lower", low=0.0, high=0.125)) == Fraction(1, 8)
    assert slack(at_most("0.15"), value("1/100", better="lower", low=0.0, high=0.125)) is None


def test_what_has_no_scale_is_slack_by_half_of_the_threshold():
    fast = value(900, unit="ms", better="lower", low=800.0, high=2500.0)
    assert slack(at_most(5000, "ms"), fast) == 2500
    assert slack(at_most(4999, "ms"), fast) is None
    assert slack(at_least("2", "number"), value(4, unit="number", low=3.0, high=5.0)) == 1
    assert slack(at_least("0", "number"), value(0, unit="number", low=0.0, high=0.0)) is None


def test_the_note_names_the_rule_its_threshold_and_what_could_be_lost():
    present = value("97/100", low=0.97, high=0.99)
    loose = RuleResult("rules[0]", "blocking", "pass", "", threshold=">= 0.8", value=present, slack=Fraction("0.17"))
    (note,) = slack_notes([loose, RuleResult("suite", "blocking", "pass", "")])
    assert note == "rules[0]: the agent could get 17.0 points worse and still pass ≥ 80%"
