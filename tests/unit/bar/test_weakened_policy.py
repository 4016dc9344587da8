"""What a policy demands less of than it did."""

from __future__ import annotations

import pytest

from highbar import policy
from highbar.bar.weakened_policy import weakened

BEFORE = {
    "agent_version": "2.0",
    "confidence": 0.95,
    "thresholds": {
        "blocking": {"safety_rate": "100%", "accuracy": "≥ 90%", "latency_p95": "< 5000ms"},
        "warning": {"recall": "≥ 80%"},
    },
    "progressive": {"f1": {"v1.0": "≥ 80%", "v2.0": "≥ 85%", "target": "≥ 95%"}},
    "required_scenarios": {"ids": ["SEC-001", "CORE-*"]},
    "composite": {"formula": "accuracy × 0.5 + safety_rate × 0.5", "pass": "final_score ≥ 0.85"},
    "rules": [
        {"metric": "pass_rate", "where": {"category": "adversarial"}, "threshold": "≥ 70%", "min_scenarios": 30},
        {"metric": "error_rate", "threshold": "≤ 2%", "evidence": "confident"},
    ],
    "baseline": {
        "file": "baseline.json",
        "margin": {"accuracy": {"margin": "1%", "min_scenarios": 20}},
        "step": {"latency_p95": "5% of baseline"},
        "new_failures": ["SEC-001", "CORE-*"],
    },
    "weights": {"by_category": {"adversarial": 2.0}},
    "metrics": [{"name": "brevity", "formula": "passed_scenarios / total_scenarios", "range": "0-100%"}],
}


def found(before, now):
    return [(each.what, each.change, each.before, each.now) for each in weakened(*map(policy.read_dict, (before, now)))]


def changed(*path, to):
    """`BEFORE` with another value at one place; without that place where it is None."""

    def copy(part, keys):
        first, *rest = keys
        if isinstance(part, list):
            return [copy(item, rest) if place == first else item for place, item in enumerate(part)]
        if rest:
            return {**part, first: copy(part[first], rest)}
        kept = {key: value for key, value in part.items() if key != first}
        return kept if to is None else {**kept, first: to}

    return copy(BEFORE, path)


def test_the_same_policy_is_not_weakened():
    assert found(BEFORE, BEFORE) == []


@pytest.mark.parametrize(
    ("path", "to", "expected"),
    [
        (("thresholds", "blocking", "safety_rate"), "60%",
         [("thresholds.blocking.safety_rate", "lowered", "≥ 100%", "≥ 60%")]),
        (("thresholds", "blocking", "latency_p95"), "< 6s",
         [("thresholds.blocking.latency_p95", "lowered", "< 5000 ms", "< 6000 ms")]),
        (("thresholds", "blocking", "latency_p95"), "≤ 5000ms",
         [("thresholds.blocking.latency_p95", "lowered", "< 5000 ms", "≤ 5000 ms")]),
        (("thresholds", "blocking", "accuracy"), None,
         [("thresholds.blocking.accuracy", "removed", "≥ 90%", None)]),
        (("progressive", "f1", "v2.0"), "≥ 82%", [("progressive.f1.v2.0", "lowered", "≥ 85%", "≥ 82%")]),
        (("progressive", "f1", "v2.0"), None, [("progressive.f1.v2.0", "lowered", "≥ 85%", "≥ 80%")]),
        (("progressive", "f1", "target"), "≥ 90%", [("progressive.f1.target", "lowered", "≥ 95%", "≥ 90%")]),
        (("progressive", "f1", "target"), None, [("progressive.f1.target", "removed", "≥ 95%", None)]),
        (("progressive",), None,
         [("progressive.f1.v1.0", "removed", "≥ 80%", None), ("progressive.f1.v2.0", "removed", "≥ 85%", None)]),
        (("agent_version",), "1.9", [("agent_version", "lowered", "2.0", "1.9")]),
        (("agent_version",), None, [("agent_version", "lowered", "2.0", None)]),
        (("confidence",), 0.9, [("confidence", "lowered", "95.0%", "90.0%")]),
        (("pass_score",), 0.8, [("pass_score", "lowered", "100%", "80.0%")]),
        (("latency_limit",), "10s", [("latency_limit", "changed", "5000 ms", "10000 ms")]),
        (("positive",), "spam", [("positive", "changed", "None", "spam")]),
        (("allow_columns",), ["pased"], [("allow_columns", "changed", "not allowed", "pased")]),
        (("weights", "by_category", "adversarial"), 0.5,
         [("weights.by_category.adversarial", "changed", "2", "0.5")]),
        (("composite", "pass"), "final_score ≥ 0.80",
         [("composite.pass", "changed", "final_score ≥ 0.85", "final_score ≥ 0.80")]),
        (("composite", "formula"), "accuracy × 0.9 + safety_rate × 0.1",
         [("metrics.final_score", "changed", "accuracy × 0.5 + safety_rate × 0.5",
           "accuracy × 0.9 + safety_rate × 0.1")]),
        (("baseline", "margin", "accuracy", "margin"), "5%",
         [("baseline.accuracy", "lowered", "1.0 points", "5.0 points")]),
        (("baseline", "margin", "accuracy"), "5%",
         [("baseline.accuracy", "lowered", "1.0 points (min_scenarios: 20)", "5.0 points (min_scenarios: none)")]),
        (("baseline", "step", "latency_p95"), "1% of baseline",
         [("baseline.step.latency_p95", "lowered", "5% of baseline", "1% of baseline")]),
        (("baseline", "new_failures"), ["CORE-*"],
         [("baseline.new_failures", "lowered", "SEC-001, CORE-*", "CORE-*")]),
        (("baseline",), None,
         [("baseline.accuracy", "removed", "1.0 points", None),
          ("baseline.step.latency_p95", "removed", "5% of baseline", None),
          ("baseline.new_failures", "removed", "SEC-001, CORE-*", None)]),
        (("rules", 0, "threshold"), "≥ 60%", [("rules[0]", "lowered", "≥ 70%", "≥ 60%")]),
        (("rules", 0, "level"), "warning", [("rules[0]", "lowered", "blocking ≥ 70%", "warning ≥ 70%")]),
        (("rules", 0, "where"), {"category": "edge_case"}, [("rules[0]", "removed", "≥ 70%", None)]),
    ],
)  # fmt: skip
def test_each_way_to_demand_less_is_listed(path, to, expected):
    assert found(BEFORE, changed(*path, to=to)) == expected


@pytest.mark.parametrize(
    ("path", "to", "what"),
    [
        (("rules", 0, "min_scenarios"), 10, "rules[0]"),
        (("rules", 0, "min_scenarios"), None, "rules[0]"),
        (("rules", 1, "evidence"), "estimate", "rules[1]"),
        (("rules", 1, "margin"), "1%", "rules[1]"),
        (("rules", 1, "tolerate"), "10%", "rules[1]"),
        (("baseline", "margin", "accuracy"), {"margin": "1%", "min_scenarios": 5}, "baseline.accuracy"),
    ],
)
def test_less_evidence_or_more_margin_is_listed_with_words_that_differ(path, to, what):
    ((name, change, before, now),) = found(BEFORE, changed(*path, to=to))
    assert (name, change) == (what, "lowered")
    assert before != now


@pytest.mark.parametrize(
    ("path", "to"),
    [
        (("thresholds", "blocking", "accuracy"), "≥ 95%"),
        (("thresholds", "warning", "recall"), "≥ 90%"),
        (("progressive", "f1", "v3.0"), "≥ 90%"),
        (("progressive", "f1", "v1.0"), "≥ 81%"),
        (("agent_version",), "3.0"),
        (("confidence",), 0.99),
        (("rules", 0, "min_scenarios"), 50),
        (("rules", 0, "evidence"), "confident"),
        (("baseline", "margin", "accuracy"), {"margin": "0.5%", "min_scenarios": 20}),
        (("description",), "higher now"),
        (("slices",), ["category"]),
    ],
)
def test_more_is_not_less(path, to):
    assert found(BEFORE, changed(*path, to=to)) == []


@pytest.mark.parametrize(
    ("before", "now", "first", "second"),
    [
        ({"evidence": "sequential"}, {}, "(evidence: sequential)", "(evidence: estimate)"),
        ({"evidence": "sequential"}, {"evidence": "confident"}, "(evidence: sequential)", "(evidence: confident)"),
        ({"evidence": "confident"}, {"evidence": "sequential"}, "(evidence: confident)", "(evidence: sequential)"),
        ({}, {"spending": "late"}, "(spending: linear)", "(spending: late)"),
        ({"spending": "late"}, {}, "(spending: late)", "(spending: linear)"),
        ({"horizon": 300}, {"horizon": 200}, "(horizon: 300)", "(horizon: 200)"),
        ({"horizon": 200}, {"horizon": 300}, "(horizon: 200)", "(horizon: 300)"),
        ({}, {"horizon": 300}, "(horizon: none)", "(horizon: 300)"),
    ],
)
def test_another_chance_to_decide_is_listed(before, now, first, second):
    def policy_with(demand):
        sequential = {} if "evidence" in before else {"evidence": "sequential"}
        return {"rules": [{"metric": "accuracy", "threshold": "≥ 90%", **sequential, **demand}]}

    ((what, change, *texts),) = found(policy_with(before), policy_with(now))
    assert (what, change) == ("rules[0]", "lowered")
    assert texts == [f"≥ 90% {first}", f"≥ 90% {second}"]


def test_sequential_instead_of_the_estimate_is_no_lower_bar():
    rule = {"metric": "accuracy", "threshold": "≥ 90%"}
    assert found({"rules": [rule]}, {"rules": [{**rule, "evidence": "sequential", "spending": "late"}]}) == []


def test_a_required_scenario_that_is_only_optional_now_is_listed():
    now = {**BEFORE, "required_scenarios": {"ids": ["CORE-*"]}, "optional_scenarios": {"ids": ["SEC-001"]}}
    ((what, change, before, after),) = found(BEFORE, now)
    assert (what, change, before, after) == ("required_scenarios.SEC-001", "lowered", "blocking", "warning")


def test_a_rule_that_stands_elsewhere_now_is_not_lost():
    """The order of `rules`, or the block that a threshold stands in, is no part of the bar."""
    assert found(BEFORE, {**BEFORE, "rules": BEFORE["rules"][::-1]}) == []
    blocking = {key: text for key, text in BEFORE["thresholds"]["blocking"].items() if key != "accuracy"}
    moved = {"thresholds": {**BEFORE["thresholds"], "blocking": blocking}, "risk": {"high": {"accuracy": "≥ 90%"}}}
    assert found(BEFORE, {**BEFORE, **moved}) == []
    rising = {"thresholds": {**BEFORE["thresholds"], "blocking": blocking}}
    steps = {**BEFORE["progressive"], "accuracy": {"v1.0": "≥ 90%", "v2.0": "≥ 95%"}}
    assert found(BEFORE, {**BEFORE, **rising, "progressive": steps}) == []
    lower = {**steps, "accuracy": {"v1.0": "≥ 80%", "v2.0": "≥ 95%"}}
    ((what, change, before, now),) = found(BEFORE, {**BEFORE, **rising, "progressive": lower})
    assert (what, change) == ("thresholds.blocking.accuracy", "lowered")
    assert (before, now) == ("≥ 90%", "≥ 80% from v1.0, ≥ 95% from v2.0")


def test_scenarios_that_leave_the_suite_or_change_their_category_are_listed(tmp_path):
    suites = {
        "before.json": '["A", {"id": "B", "category": "adversarial"}, "C"]',
        "now.json": '["A", {"id": "B", "category": "edge_case"}, "D"]',
    }
    for name, text in suites.items():
        (tmp_path / name).write_text(text)
    rules = {"thresholds": {"blocking": {"pass_rate": "≥ 50%"}}}
    before, now = (policy.read_dict({**rules, "suite": name}, tmp_path) for name in suites)
    assert [each.sentence for each in weakened(before, now)] == [
        "suite: C, removed",
        "suite.B: category adversarial → category edge_case",
    ]
    (gone,) = weakened(before, policy.read_dict(rules))
    assert (gone.what, gone.change) == ("suite", "removed")
