"""Rules about the baseline at the ends of their intervals, and all that their results carry."""

from __future__ import annotations

from fractions import Fraction

import pytest
from msgspec.structs import replace

from highbar.gate import judge
from highbar.gate.outlook import certain_outlooks, outlooks_of_difference
from highbar.model import BaselineRule, Demand, NewFailuresRule, Outlook, Place, StepRule
from highbar.model.recall import Recalled
from highbar.statistics.planning import more_by_width
from highbar.statistics.second_run import Noise
from tests.unit.gate.table import Then, evidence, share, value

HERE = Place("highbar.yaml", 3, 5)
GERMAN = (("tags.locale", ("de",)),)
FIVE = Fraction(1, 20)
CONFIDENT, ESTIMATE = Demand("confident"), Demand("estimate")
NOISE = Noise(0.2, 0.8)


def margin(size=FIVE, *, relative=False, demand=CONFIDENT, where=()):
    return BaselineRule(
        "baseline.m", "blocking", "m", size, relative=relative, file="b.json", where=where, demand=demand,
        description="No worse", place=HERE,
    )  # fmt: skip


def step(size=FIVE, *, relative=False, demand=ESTIMATE, where=()):
    return StepRule(
        "baseline.step.m", "blocking", "m", size, relative=relative, file="b.json", where=where, demand=demand,
        description="Better", place=HERE,
    )  # fmt: skip


def judged(rule, then, now=None, **more):
    values = {("m", rule.where): now or then.head} if not isinstance(rule, NewFailuresRule) else {}
    return judge(rule, replace(evidence({**values, "pass_rate": value("9/10")}), baseline=then, noise=NOISE, **more))


def then(base, head, low, high, **more):
    unit = {"unit": more.pop("unit", "ratio"), "better": more.pop("better", "higher")}
    return Then(value(base, **unit), value(head, **unit), low, high, **more)


ENDS = [
    # base, head, low, high, outcome: five points worse are accepted
    ("1/2", "1/2", -0.05, 0.05, "inconclusive"),  # 0.05 as a float is above 1/20
    ("1/2", "1/2", -0.04, 0.05, "pass"),
    ("1/2", "3/10", -0.3, -0.06, "fail"),
    ("1/2", "3/10", -0.3, -0.04, "inconclusive"),
    ("1/2", "1/2", None, 0.05, "inconclusive"),
    ("1/2", "3/10", -0.3, None, "inconclusive"),
    ("1/2", "0", -0.6, -0.4, "fail"),
    ("0", "1/2", 0.4, 0.6, "pass"),
    ("0", "0", 0.0, 0.0, "pass"),
]


@pytest.mark.parametrize(("base", "head", "low", "high", "outcome"), ENDS)
def test_a_margin_holds_if_the_worse_end_is_within_it_and_fails_if_the_better_end_is_not(
    base, head, low, high, outcome
):
    result = judged(margin(), then(base, head, low, high))
    assert result.outcome == outcome, result.reason
    shown = {"1/2": "50.0%", "3/10": "30.0%", "0": "0%"}
    assert result.reason.startswith(f"{shown[head]} against {shown[base]} in the baseline")
    mirrored = then(base, head, None if high is None else -high, None if low is None else -low, better="lower")
    swapped = replace(mirrored, base=mirrored.head, head=mirrored.base)
    assert judged(margin(), swapped).outcome == outcome


@pytest.mark.parametrize(
    ("size", "low", "high", "outcome", "fragile"),
    [
        (Fraction(1, 4), -0.25, 0.5, "pass", False),  # exactly at the margin
        (Fraction(1, 4), -0.5, -0.25, "inconclusive", True),  # the better end exactly at the margin
        (Fraction(1, 4), -0.5, 0.5, "inconclusive", True),
    ],
)
def test_an_end_exactly_at_the_margin_is_within_it(size, low, high, outcome, fragile):
    result = judged(margin(size), then("1/2", "1/4" if high < 0 else "1/2", low, high))
    assert (result.outcome, result.fragile) == (outcome, fragile)


def test_a_share_of_the_baseline_takes_its_own_bounds_and_may_have_none():
    relative = margin(Fraction(1, 10), relative=True)
    base = then("1/2", "1/2", None, None)
    for ends, outcome in [
        ((0.01, 0.1), "pass"),
        ((-0.01, 0.1), "inconclusive"),
        ((float("-inf"), 0.1), "inconclusive"),
        ((0.01, float("inf")), "pass"),
    ]:
        assert judged(relative, replace(base, ends=ends)).outcome == outcome
    bad = then("1/2", "1/10", None, None)
    assert judged(relative, replace(bad, ends=(-0.5, -0.1))).outcome == "fail"
    lower = then(100, 150, None, None, unit="ms", better="lower")
    assert judged(relative, replace(lower, ends=(10.0, 60.0))).outcome == "fail"
    assert judged(relative, replace(lower, ends=(10.0, float("inf")))).outcome == "fail"
    assert judged(relative, replace(lower, ends=(float("-inf"), 60.0))).outcome == "inconclusive"


def test_a_margin_that_is_settled_says_no_more_and_hands_on_its_outlooks():
    found = then("1/2", "1/2", -0.04, 0.05)
    result = judged(margin(), found)
    excess = (Fraction(1, 20), Fraction(-0.04) + FIVE, Fraction(0.05) + FIVE)
    expected = outlooks_of_difference(*excess, CONFIDENT, 0.05, NOISE)
    assert (result.fragile, result.more_scenarios, result.outlooks) == (False, None, expected)
    differs = [1 - each.passes for each in expected]
    assert (result.second_run_low, result.second_run) == pytest.approx((min(differs), max(differs)))
    assert (result.description, result.place, result.evidence) == ("No worse", HERE, "confident")
    strict = judged(margin(), then("1/2", "1/2", -0.06, 0.05), alpha=0.01)
    low, high = float(Fraction(-0.06) + FIVE), float(Fraction(0.05) + FIVE)
    assert strict.more_scenarios == more_by_width(0, FIVE, low, high, 20, 0.01)


def test_a_margin_over_a_slice_asks_for_the_slice():
    class Sliced(Then):
        def difference(self, _metric, where=()):
            assert where == GERMAN
            return super().difference(_metric, where)

    one = then("1/2", "1/2", -0.04, 0.05)
    found = Sliced(one.base, one.head, one.low, one.high)
    assert judged(margin(where=GERMAN), found).slice == GERMAN


def test_a_margin_that_cannot_be_compared_says_why():
    result = judged(margin(), Then(value("1/2"), value(None, reason="x"), reason="no pair has it"))
    assert (result.outcome, result.reason) == ("undefined", "m cannot be compared: no pair has it")
    assert result.outlooks == certain_outlooks("undefined")
    result = judged(margin(), Then(value(None, reason="x"), value("1/2"), reason="no pair has it"))
    assert result.outcome == "undefined"
    broken = then("1/2", "1/2", -0.04, 0.05, problem="another judge: one in the baseline, two now")
    result = judged(margin(), broken)
    assert (result.outcome, result.reason, result.level) == ("undefined", broken.problem, "blocking")


def test_a_margin_that_too_few_pairs_or_lost_scenarios_hold_up_cannot_pass_again():
    good = then("1/2", "1/2", -0.04, 0.05)
    few = judged(margin(demand=Demand("confident", min_scenarios=21)), good)
    lost = judged(margin(), replace(good, lost=2))
    absent = judged(margin(), replace(good, missing_ids=frozenset({"B", "A"})))
    for result, why in (
        (few, "; but at least 21 pairs are demanded"),
        (lost, "; but 2 scenarios of the baseline had it and have it no more"),
        (absent, "; but 2 scenarios of the baseline without a result: A, B"),
    ):
        assert result.outcome == "inconclusive"
        assert result.reason.startswith("50.0% against 50.0%")
        assert result.reason.endswith(why)
        assert all(each.passes == 0.0 for each in result.outlooks)
        assert result.outlooks != ()
    assert judged(margin(demand=Demand("confident", min_scenarios=20)), good).outcome == "pass"
    lacking = judged(margin(), replace(good, missing=3))
    assert "over 20 pairs, 3 lack it" in lacking.reason


def test_without_a_baseline_a_rule_blocks_unless_that_is_allowed():
    found = evidence({"m": value("1/2")})
    result = judge(margin(), found)
    assert (result.level, result.outcome, result.outlooks) == ("blocking", "undefined", certain_outlooks("undefined"))
    allowed = judge(margin(), replace(found, allow_missing_baseline=True))
    assert (allowed.level, allowed.outcome) == ("warning", "undefined")
    where, hint = "there is no baseline at", "`highbar baseline record` makes one"
    assert allowed.reason == f"{where} b.json, which --allow-missing-baseline accepts; {hint}"
    assert judge(margin(), replace(found, baseline_file="other.json")).reason == f"{where} other.json; {hint}"


# --- steps ------------------------------------------------------------------------------------


def test_a_step_over_a_slice_asks_for_the_slice_in_both_runs():
    class Sliced(Then):
        def base_value(self, _metric, where=()):
            assert where == GERMAN
            return self.base

        def difference(self, _metric, where=()):
            assert where == GERMAN
            return super().difference(_metric, where)

    (now, sums), rule = share(18, 20), step(where=GERMAN)
    found = evidence({("m", GERMAN): now, "m": value(0)}, shares={("m", GERMAN): sums})
    result = judge(rule, replace(found, baseline=Sliced(value("1/2"), now)))
    assert (result.outcome, result.slice, result.evidence) == ("pass", GERMAN, "estimate")
    near = judge(step(Fraction(35, 100), where=GERMAN), replace(found, baseline=Sliced(value("1/2"), now)))
    assert near.more_scenarios is not None


def test_a_step_as_a_share_of_a_small_baseline_is_judged():
    result = judged(step(Fraction(1, 10), relative=True), then("1/2", "3/5", 0.0, 0.2))
    assert (result.outcome, result.threshold) == ("pass", ">= baseline + 10%")
    assert judged(step(Fraction(1, 10), relative=True), then("0", "3/5", 0.0, 0.2)).outcome == "undefined"


def test_a_step_of_nothing_demands_the_baseline_itself():
    assert judged(step(Fraction(0)), then("1/2", "1/2", 0.0, 0.0)).threshold == ">= baseline"
    assert judged(margin(Fraction(0)), then("1/2", "1/2", 0.0, 0.0)).threshold == ">= baseline"
    lower = then(100, 100, 0.0, 0.0, unit="ms", better="lower")
    assert judged(step(Fraction(0)), lower).threshold == "<= baseline"


def test_a_step_beside_scenarios_that_are_gone_cannot_pass_again():
    good = then("1/2", "9/10", 0.3, 0.5)
    good = replace(good, head=value("9/10", low=0.8, high=0.95))
    assert judged(step(), good).outlooks[0].passes > 0
    gone = judged(step(), replace(good, missing_ids=frozenset({"A"})))
    assert gone.outcome == "inconclusive"
    assert gone.reason.endswith("; but 1 scenario of the baseline without a result: A")
    assert all(each.passes == 0.0 for each in gone.outlooks)


def test_a_step_of_an_undefined_metric_names_it():
    undefined = Then(value("1/2"), value(None, reason="no data"))
    result = judged(step(), undefined)
    assert result.reason.startswith("m is undefined: no data; the baseline is 50.0%")


# --- new failures -----------------------------------------------------------------------------

NEW = NewFailuresRule("baseline.new_failures", "blocking", ("S*",), "b.json", HERE)


def test_of_new_failures_no_chance_is_stated():
    held = then("1/2", "1/2", 0.0, 0.0, passed_in_base=("S1", "S2", "S3", "T1"))
    result = judged(NEW, held)
    assert (result.outcome, result.outlooks) == ("pass", ())
    broken = judged(NEW, replace(held, broken=frozenset({"S2", "T1"})))
    assert (broken.outcome, broken.outlooks) == ("fail", ())
    assert broken.evidence is None


def test_a_scenario_that_is_gone_stays_gone():
    held = then("1/2", "1/2", 0.0, 0.0, passed_in_base=("S1", "S2"), missing_ids=frozenset({"S1"}))
    result = judged(NEW, replace(held, broken=frozenset({"S2"})))
    assert result.outlooks == (Outlook(0.0, 0.0, 1.0),) * 4
    assert result.reason == (
        "1 scenario passed in the baseline and not now: S2; 1 scenario passed in the baseline, with no result now: S1"
    )
    nothing = judged(NEW, replace(held, passed_in_base=("T1",)))
    assert nothing.reason == "no scenario that it is about passed all its trials in the baseline"
    assert (nothing.outcome, nothing.outlooks) == ("undefined", certain_outlooks("undefined"))


def test_a_baseline_of_several_runs_is_called_one_and_is_tested_against():
    one = then("1/2", "1/2", -0.04, 0.05)
    assert "in the baseline of 5 runs" in judged(margin(), replace(one, runs_in_base=5)).reason
    before = {f"S{n}": (10, 10) for n in range(20)} | {"F0": (8, 10), "F1": (9, 10), "F2": (9, 10), "F3": (9, 10)}
    now = dict.fromkeys(before, (1, 1)) | {"F0": (0, 1), "S3": (0, 1)}
    clean = tuple(f"S{n}" for n in range(20))
    pool = Recalled(excusing=(before,), now=now)
    flaky = NewFailuresRule("baseline.new_failures", "blocking", ("*",), "b.json", HERE)
    found = replace(one, runs_in_base=10, pooled=pool, passed_in_base=clean, broken=frozenset({"S3"}))
    explained = judged(flaky, found)
    assert explained.outcome == "pass"
    assert "S3 (10 of 10 before), F0 (8 of 10 before)" in explained.reason
    steady = {id_: counts for id_, counts in before.items() if id_.startswith("S")}
    alone = replace(found, pooled=Recalled(excusing=(steady,), now=now))
    assert judged(flaky, alone).outcome == "fail"
