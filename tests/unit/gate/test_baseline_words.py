"""What a rule about the baseline says, to the word, and what its result carries."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.unit.gate.test_baseline import compared, judged, rows


def broke(number, total):
    return [{"id": f"S{i:03}", "passed": i >= number, "error": float(i < number)} for i in range(total)]


def slow(milliseconds):
    return rows(9, 10, latency_ms=milliseconds)


STEPS = [
    (rows(90, 100), rows(95, 100), {"pass_rate": "2%"}, "pass", ">= baseline + 0.02",
     "95.0% (89.8–98.0) is ≥ baseline + 2 points (over 100 scenarios); the baseline is 90.0%"),
    (rows(90, 100), rows(95, 100), {"pass_rate": {"step": "2%", "evidence": "confident"}}, "inconclusive",
     ">= baseline + 0.02", ("95.0% (89.8–98.0) is ≥ baseline + 2 points (over 100 scenarios); the interval reaches"
                            " across the threshold; the baseline is 90.0%")),
    (broke(10, 100), broke(5, 100), {"error_rate": "2%"}, "pass", "<= baseline - 0.02",
     "5.0% (2.0–10.2) is ≤ baseline - 2 points (over 100 scenarios); the baseline is 10.0%"),
    (broke(10, 100), broke(9, 100), {"error_rate": "2%"}, "fail", "<= baseline - 0.02",
     "9.0% (4.8–15.2) is not ≤ baseline - 2 points (over 100 scenarios); the baseline is 10.0%"),
    (slow(300), slow(270), {"latency_p50": "10% of baseline"}, "pass", "<= baseline - 10%",
     "270 ms (270–270) is ≤ baseline - 10% (over 10 scenarios); the baseline is 300 ms"),
    (slow(300), slow(271), {"latency_p50": "10% of baseline"}, "fail", "<= baseline - 10%",
     "271 ms (271–271) is not ≤ baseline - 10% (over 10 scenarios); the baseline is 300 ms"),
    (slow(300), slow(150), {"latency_p50": "150ms"}, "pass", "<= baseline - 150ms",
     "150 ms (150–150) is ≤ baseline - 150 ms (over 10 scenarios); the baseline is 300 ms"),
    (slow(300), slow(151), {"latency_p50": "150ms"}, "fail", "<= baseline - 150ms",
     "151 ms (151–151) is not ≤ baseline - 150 ms (over 10 scenarios); the baseline is 300 ms"),
    (slow(0), slow(0), {"latency_p50": "10% of baseline"}, "undefined", "<= baseline - 10%",
     "a share of the baseline says nothing if the baseline is 0 ms"),
    (rows(99, 100), rows(100, 100), {"pass_rate": "5%"}, "pass", ">= baseline + 0.05",  # more than all is not demanded
     "100% (97.0–100) is ≥ baseline + 5 points (over 100 scenarios); the baseline is 99.0%"),
    (broke(1, 100), broke(0, 100), {"error_rate": "5%"}, "pass", "<= baseline - 0.05",
     "0% (0–3.0) is ≤ baseline - 5 points (over 100 scenarios); the baseline is 1.0%"),
    (rows(99, 100), rows(100, 100), {"accuracy": "5%"}, "undefined", ">= baseline + 0.05",
     "accuracy is undefined in the baseline: no scenario has `correct`, `expected` or `outcome`"),
]  # fmt: skip


@pytest.mark.parametrize(("base", "head", "step", "outcome", "threshold", "reason"), STEPS)
def test_a_step_says_what_it_demands_and_what_was_reached(base, head, step, outcome, threshold, reason):
    rule = judged(base, head, step=step)
    assert (rule.outcome, rule.threshold, rule.reason) == (outcome, threshold, reason)
    assert (rule.metric, rule.level, rule.slice) == (next(iter(step)), "blocking", ())


def test_a_step_hands_on_how_far_it_can_be_trusted():
    rule = judged(rows(90, 100), rows(95, 100), step={"pass_rate": "2%"})
    assert (rule.value.value, rule.fragile, rule.more_scenarios) == (Fraction(19, 20), True, 341)
    assert rule.second_run == pytest.approx(0.16011176068268118)


MARGINS = [
    (rows(95, 100), rows(90, 100), "pass_rate", "5%", "pass",
     ("90.0% against 95.0% in the baseline, -5.0 points (-9.9 to -0.7) over 100 pairs; "
     "at most the allowed 5 points worse than the baseline")),
    (rows(95, 100), rows(89, 100), "pass_rate", "5%", "inconclusive",
     ("89.0% against 95.0% in the baseline, -6.0 points (-11.2 to -1.4) over 100 pairs; the interval does not say"
      " whether it is at most the allowed 5 points worse than the baseline")),
    (broke(10, 100), broke(14, 100), "error_rate", "5%", "pass",
     ("14.0% against 10.0% in the baseline, +4.0 points (+0.023 to +8.6) over 100 pairs; "
     "at most the allowed 5 points worse than the baseline")),
    (rows(1, 1), rows(1, 1), "pass_rate", "5%", "pass",
     ("100% against 100% in the baseline, 0 points (-77.5 to +77.5) over 1 pair; "
     "at most the allowed 5 points worse than the baseline")),
    (rows(90, 100), rows(95, 100), "pass_rate", "0%", "pass",
     ("95.0% against 90.0% in the baseline, +5.0 points (+0.7 to +9.9) over 100 pairs; even the pessimistic end of the"
      " interval is no worse than the baseline")),
]  # fmt: skip


@pytest.mark.parametrize(("base", "head", "metric", "margin", "outcome", "reason"), MARGINS)
def test_a_margin_says_both_values_and_what_is_accepted(base, head, metric, margin, outcome, reason):
    rule = judged(base, head, margin={metric: margin})
    assert (rule.outcome, rule.reason, rule.metric) == (outcome, reason, metric)


@pytest.mark.parametrize(
    ("base", "head", "metric", "second_run", "more"),
    [
        (rows(95, 100), rows(89, 100), "pass_rate", 0.4589704724353024, 4688),
        (broke(10, 100), broke(14, 100), "error_rate", 0.36077340543683334, 4768),
        (rows(1, 1), rows(1, 1), "pass_rate", 0.45776498668836163, 549),
    ],
)
def test_a_margin_that_the_interval_reaches_across_says_how_unsure_it_is(base, head, metric, second_run, more):
    rule = judged(base, head, margin={metric: "5%"})
    assert (rule.fragile, rule.more_scenarios) == (True, more)
    assert rule.second_run == pytest.approx(second_run)


def test_a_margin_as_a_share_is_judged_by_its_own_interval():
    base = [{"id": f"S{i:03}", "passed": True, "latency_ms": 100 + i} for i in range(40)]
    head = [{"id": f"S{i:03}", "passed": True, "latency_ms": 104 + i * 1.1} for i in range(40)]
    rule = judged(base, head, margin={"latency_p50": "9% of baseline"})
    assert (rule.outcome, rule.threshold, rule.fragile) == ("pass", "<= baseline + 9%", False)
    assert rule.reason.endswith(
        "even the pessimistic end of the interval is at most the allowed 9% worse than the baseline"
    )
    assert judged(base, head, margin={"latency_p50": "4% of baseline"}).outcome != "pass"


def test_of_many_new_failures_ten_are_named():
    everything = {"baseline": {"file": "b.json", "new_failures": {"ids": "all"}}}
    ids = ", ".join(f"S{i:03}" for i in range(10))
    rule = compared(rows(12, 12), rows(0, 12), everything).rules[0]
    assert rule.reason == f"12 scenarios passed in the baseline and not now: {ids}, …"
    rule = compared(rows(10, 10), rows(0, 10), everything).rules[0]
    assert rule.reason == f"10 scenarios passed in the baseline and not now: {ids}"
    rule = compared(rows(12, 12), rows(1, 1), everything).rules[0]
    absent = ", ".join(f"S{i:03}" for i in range(1, 11))
    assert rule.reason == f"11 scenarios passed in the baseline, with no result now: {absent}, …"
    rule = compared(rows(1, 1), rows(1, 1), everything).rules[0]
    assert rule.reason == "each of the 1 scenario that passed in the baseline passes"
    assert (rule.metric, rule.slice) == (None, ())
