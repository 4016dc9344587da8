"""A rule that passes at both ends of what undecided trials can be, and may fail in between, is inconclusive."""

from __future__ import annotations

from fractions import Fraction

import pytest
from msgspec.structs import replace

from highbar.gate import judge
from highbar.gate.conditions import could_fail
from highbar.language import formula
from highbar.model import BaselineRule, ConditionRule, StepRule
from tests.unit.gate.table import Span, Table, Then, evidence, value
from tests.unit.gate.test_rules import ACCURACY

GERMAN = (("tags.locale", ("de",)),)


def between(spans):
    """Evidence that knows the least and the most of each difference, by its two sides in words."""
    known = {sides: Span(*(None if end is None else Fraction(end) for end in ends)) for sides, ends in spans.items()}
    return replace(evidence(), measured=Table({}, spans=known))


SIGNS = [
    # operator, low, high, whether it can fail
    (">=", 0, 1, False), (">=", "-1/100", 1, True), (">=", None, 1, True), (">=", 1, None, False),
    (">=", 0, 0, False), (">=", -2, -1, True),
    (">", 0, 1, True), (">", "1/100", 1, False), (">", "1/100", None, False), (">", None, None, True),
    ("<=", -1, 0, False), ("<=", -1, "1/100", True), ("<=", None, 0, False), ("<=", 0, None, True),
    ("<", -1, 0, True), ("<", -1, "-1/100", False), ("<", None, "-1/100", False),
    ("=", 0, 0, False), ("=", 0, 1, True), ("=", -1, 0, True), ("=", 1, 2, True),
    ("!=", 1, 2, False), ("!=", -2, -1, False), ("!=", -1, 1, True), ("!=", 0, 0, True), ("!=", 0, None, True),
]  # fmt: skip


@pytest.mark.parametrize(("operator", "low", "high", "expected"), SIGNS)
def test_a_comparison_can_fail_if_some_difference_between_the_bounds_fails_it(operator, low, high, expected):
    found = between({("a", "b"): (low, high)})
    assert could_fail(formula.parse_condition(f"a {operator} b"), found) is expected
    opposite = {">=": "<", "<": ">=", ">": "<=", "<=": ">", "=": "!=", "!=": "="}[operator]
    assert could_fail(formula.parse_condition(f"NOT a {opposite} b"), found) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sure >= 0 AND open >= 0", True),
        ("sure >= 0 AND sure >= 0", False),
        ("sure >= 0 OR open >= 0", False),
        ("open >= 0 OR open >= 0", True),
        ("never >= 0 OR open >= 0", True),
        ("never >= 0 OR never >= 0", True),
        ("NOT (never >= 0 OR open >= 0)", True),
        ("NOT (never >= 0 OR never >= 0)", False),
        ("NOT (sure >= 0 AND never >= 0)", False),
        ("NOT (sure >= 0 AND open >= 0)", True),
        ("NOT (open >= 0 AND open >= 0)", True),
    ],
)
def test_parts_of_a_condition_vary_independently(text, expected):
    found = between({("sure", "0"): (1, 2), ("open", "0"): (-1, 1), ("never", "0"): (-2, -1)})
    assert could_fail(formula.parse_condition(text), found) is expected


def both(rule, worst, best, baselines=(None, None)):
    at_best = replace(best, at_best=True, baseline=baselines[1])
    return judge(rule, replace(worst, best=at_best, baseline=baselines[0], undecided={rule.name: (("A", None),)}))


def test_a_condition_that_holds_at_both_ends_and_can_fail_in_between_is_inconclusive():
    text = "a >= 0.5"
    rule = ConditionRule("composite.pass", "blocking", formula.parse_condition(text), text)
    for low, outcome in ((0, "pass"), ("-1/10", "inconclusive")):
        worst, best = evidence({"a": value("6/10")}), evidence({"a": value("1")})
        worst = replace(worst, measured=replace(worst.measured, spans={("a", "0.5"): Span(Fraction(low), None)}))
        result = both(rule, worst, best)
        assert result.outcome == outcome, low
        sentence = "but between the worst and the best of undecided trials it could fail"
        assert (sentence in result.reason) is (outcome == "inconclusive")
        if outcome == "inconclusive":
            assert result.reason.startswith("a 60.0% is ≥ 50%; but between")
            assert (result.second_run, result.more_scenarios) == (None, None)


def then(*unordered):
    now = value("9/10", low=0.8, high=0.95)
    return Then(value("5/10"), now, low=0.3, high=0.5, unordered=unordered)


STEP = StepRule("baseline.step.m", "blocking", "m", Fraction(1, 10), relative=False, file="b.json", where=GERMAN)
MARGIN = BaselineRule("baseline.m", "blocking", "m", Fraction(1, 10), relative=False, file="b.json", where=GERMAN)


@pytest.mark.parametrize("rule", [STEP, MARGIN])
def test_a_rule_about_the_baseline_is_inconclusive_if_either_run_or_either_end_cannot_be_ordered(rule):
    now = evidence({("m", GERMAN): value("9/10", low=0.8, high=0.95)})
    ordered, other = then(), then(("m", ()), ("n", GERMAN))
    assert both(rule, now, now, (ordered, other)).outcome == "pass"
    assert both(rule, now, now, (then(("m", GERMAN)), ordered)).outcome == "inconclusive"
    assert both(rule, now, now, (ordered, then(("m", GERMAN)))).outcome == "inconclusive"
    for unordered, outcome in ((("m", GERMAN), "inconclusive"), (("m", ()), "pass"), (("n", GERMAN), "pass")):
        odd = replace(now, measured=replace(now.measured, unordered=frozenset({unordered})))
        assert both(rule, odd, odd, (ordered, ordered)).outcome == outcome


def test_a_threshold_is_a_bound_already_and_never_open_in_between():
    unordered = frozenset({("accuracy", ())})
    found = [evidence({"accuracy": value(number)}) for number in ("96/100", "1")]
    worst, best = (replace(one, measured=replace(one.measured, unordered=unordered)) for one in found)
    assert both(ACCURACY, worst, best).outcome == "pass"
