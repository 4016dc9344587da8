"""What becomes of a rule about the baseline."""

from __future__ import annotations

from fractions import Fraction

import pytest
from msgspec.structs import replace

from highbar import policy as policies
from highbar.changes.comparison import comparison_of
from highbar.changes.scored_run import ScoredRun, scoring_of
from highbar.model.baseline import Scoring
from highbar.model.comparison import Side
from highbar.model.records import ScenarioRecord

COLUMNS = ("category",)
MEASURES = ("correct", "error", "latency_ms", "cost_usd")


def rows(passes, total, **more):
    return [{"id": f"S{i:03}", "passed": i < passes, **more} for i in range(total)]


def record(row):
    return ScenarioRecord(
        row["id"],
        1,
        int(row["passed"]),
        columns={name: row[name] for name in COLUMNS if name in row},
        values={name: Fraction(str(float(row[name]))) for name in MEASURES if name in row},
    )


def kept(rows, policy):
    named = {column: tuple({row[column] for row in rows if column in row}) for column in ("judge", "suite")}
    about = Side((), is_baseline=False, agent_version=None, scenarios=len(rows), trials=len(rows))
    records = tuple(sorted(map(record, rows), key=lambda one: one.id))
    return ScoredRun(records, about, scoring_of(policy), named["judge"], named["suite"])


def compared(base, head, policy):
    read = policies.read_dict(policy)
    return comparison_of(read, kept(base, read), kept(head, read))


def judged(base, head, **block):
    return compared(base, head, {"baseline": {"file": "baseline.json", **block}}).rules[0]


@pytest.mark.parametrize(
    ("before", "after", "margin", "estimate", "confident"),
    [
        (95, 95, "1%", "pass", "inconclusive"),
        (95, 95, "5%", "pass", "pass"),
        (95, 96, "0%", "pass", "inconclusive"),
        (95, 90, "5%", "pass", "inconclusive"),
        (95, 89, "5%", "inconclusive", "inconclusive"),
        (95, 75, "5%", "fail", "fail"),
        (90, 99, "0%", "pass", "pass"),
    ],
)
def test_a_margin_is_judged_by_the_difference_and_its_bounds(before, after, margin, estimate, confident):
    for evidence, outcome in (("estimate", estimate), ("confident", confident)):
        rule = judged(
            rows(before, 100), rows(after, 100), margin={"pass_rate": {"margin": margin, "evidence": evidence}}
        )
        assert (rule.outcome, rule.rule, rule.level) == (outcome, "baseline.pass_rate", "blocking"), rule.reason


def test_the_reason_has_both_values_the_difference_and_the_margin():
    rule = judged(rows(95, 100), rows(75, 100), margin={"pass_rate": "5%"})
    assert rule.reason.startswith("75.0% against 95.0% in the baseline, -20.0 points (")
    assert (
        "over 100 pairs; even the optimistic end of the interval is more than the allowed 5 points worse" in rule.reason
    )
    assert rule.threshold == ">= baseline - 0.05"
    assert rule.value.value == Fraction(3, 4)
    assert rule.metric == "pass_rate"


def test_where_lower_is_better_a_rise_is_worse():
    base = [{"id": f"S{i:03}", "passed": True, "latency_ms": 1000 + i} for i in range(100)]
    head = [{**row, "latency_ms": row["latency_ms"] * 2} for row in base]
    rule = judged(base, head, margin={"latency_p50": "100ms"})
    assert (rule.outcome, rule.threshold) == ("fail", "<= baseline + 100ms")
    assert judged(head, base, margin={"latency_p50": "100ms"}).outcome == "pass"


@pytest.mark.parametrize(
    ("before", "after", "margin", "estimate", "confident"),
    [(5, 9, "3%", "inconclusive", "inconclusive"), (5, 6, "3%", "pass", "inconclusive"), (5, 40, "3%", "fail", "fail")],
)
def test_where_lower_is_better_the_interval_counts_too(before, after, margin, estimate, confident):
    base, head = (
        [{"id": f"S{i:03}", "passed": i >= errors, **({"error": 1} if i < errors else {})} for i in range(100)]
        for errors in (before, after)
    )
    for evidence, outcome in (("estimate", estimate), ("confident", confident)):
        rule = judged(base, head, margin={"error_rate": {"margin": margin, "evidence": evidence}})
        assert rule.outcome == outcome, rule.reason


@pytest.mark.parametrize(("factor", "outcome"), [(1.0, "pass"), (1.04, "pass"), (1.2, "fail"), (0.5, "pass")])
def test_a_margin_may_be_a_share_of_the_baseline(factor, outcome):
    base = [{"id": f"S{i:03}", "passed": True, "cost_usd": 0.01 + i / 10**5} for i in range(60)]
    head = [{**row, "cost_usd": row["cost_usd"] * factor} for row in base]
    rule = judged(base, head, margin={"cost_per_pass": "5% of baseline"})
    assert rule.outcome == outcome, rule.reason
    assert rule.threshold == "<= baseline + 5%"


def test_a_share_of_nothing_is_undefined():
    base = [{"id": f"S{i:03}", "passed": True, "cost_usd": 0} for i in range(60)]
    rule = judged(base, base, margin={"cost_per_pass": "5% of baseline"})
    assert rule.outcome == "undefined"
    assert "says nothing if the baseline is $0" in rule.reason


def test_a_slice_and_a_level_can_be_said():
    base = rows(100, 100, category="edge_case")
    head = rows(50, 100, category="edge_case")
    block = {"pass_rate": [{"margin": "1%", "where": {"category": "edge_case"}, "level": "warning"}, "60%"]}
    found = compared(base, head, {"baseline": {"file": "b.json", "margin": block}})
    assert [(rule.rule, rule.level, rule.outcome) for rule in found.rules] == [
        ("baseline.pass_rate", "warning", "fail"),
        ("baseline.pass_rate[1]", "blocking", "pass"),
    ]
    assert found.rules[0].slice == (("category", ("edge_case",)),)
    assert found.verdict == "pass"


def test_scenarios_of_the_baseline_without_a_result_keep_a_rule_from_passing():
    rule = judged(rows(100, 100), rows(99, 99), margin={"pass_rate": "5%"})
    assert rule.outcome == "inconclusive"
    assert "1 scenario of the baseline without a result: S099" in rule.reason
    assert judged(rows(99, 99), rows(100, 100), margin={"pass_rate": "5%"}).outcome == "pass"


def test_a_metric_that_the_head_does_not_have_any_more_keeps_its_rule_from_passing():
    base = [{"id": f"S{i:03}", "passed": True, "correct": True} for i in range(100)]
    head = [{"id": f"S{i:03}", "passed": True, **({"correct": True} if i else {})} for i in range(100)]
    rule = judged(base, head, margin={"accuracy": "5%"})
    assert rule.outcome == "inconclusive"
    assert "had it and have it no more" in rule.reason


def test_too_few_pairs_are_inconclusive():
    rule = judged(rows(20, 20), rows(20, 20), margin={"pass_rate": {"margin": "20%", "min_scenarios": 30}})
    assert (rule.outcome, "at least 30 pairs are demanded" in rule.reason) == ("inconclusive", True)
    enough = judged(rows(30, 30), rows(30, 30), margin={"pass_rate": {"margin": "20%", "min_scenarios": 30}})
    assert enough.outcome == "pass"


def test_other_settings_make_every_rule_undefined():
    read = policies.read_dict({"baseline": {"file": "b", "margin": {"pass_rate": "5%"}}})
    base, head = kept(rows(9, 9), read), kept(rows(9, 9), read)
    other = replace(base, scoring=Scoring(Fraction(1, 2)))
    rule = comparison_of(read, other, head).rules[0]
    assert (rule.outcome, "pass_score 0.5 in the baseline, pass_score 1 now" in rule.reason) == ("undefined", True)


@pytest.mark.parametrize(
    ("before", "after", "step", "outcome"),
    [(90, 91, "1%", "pass"), (90, 90, "1%", "fail"), (100, 100, "1%", "pass"), (90, 90, "0%", "pass")],
)
def test_a_step_is_the_guides_rule(before, after, step, outcome):
    rule = judged(rows(before, 100), rows(after, 100), step={"pass_rate": step})
    assert (rule.rule, rule.outcome) == ("baseline.step.pass_rate", outcome), rule.reason
    assert "the baseline is " in rule.reason


def test_a_step_over_fewer_scenarios_is_inconclusive():
    rule = judged(rows(90, 100), rows(90, 90), step={"pass_rate": "1%"})
    assert rule.outcome == "inconclusive"
    assert rule.reason.startswith("100% ")
    assert "; the baseline is 90.0%; but 10 scenarios of the baseline without a result: S090, S091" in rule.reason
    assert judged(rows(90, 100), rows(80, 90), step={"pass_rate": "1%"}).outcome == "fail"
    optional = {"optional_scenarios": {"ids": ["S09?"]}, "baseline": {"file": "b.json", "step": {"pass_rate": "1%"}}}
    assert compared(rows(90, 100), rows(90, 90), optional).rules[0].outcome == "pass"


def test_a_step_of_a_metric_that_some_scenarios_do_not_have_any_more_is_inconclusive():
    base = [{**row, "correct": row["passed"]} for row in rows(90, 100)]
    head = [{**row, "correct": True} for row in rows(90, 90)] + rows(100, 100)[90:]
    rule = judged(base, head, step={"accuracy": "1%"})
    assert rule.outcome == "inconclusive"
    assert "but 10 scenarios of the baseline had it and have it no more" in rule.reason


def test_no_scenario_may_newly_fail():
    required = {"required_scenarios": {"ids": ["S00*"]}}
    block = {"baseline": {"file": "b.json", "new_failures": "required"}}
    base = rows(100, 100)
    head = [{**row, "passed": row["id"] not in ("S003", "S050")} for row in base]
    rule = compared(base, head, {**required, **block}).rules[0]
    assert (rule.rule, rule.outcome) == ("baseline.new_failures", "fail")
    assert rule.reason == "1 scenario passed in the baseline and not now: S003"
    everything = {"baseline": {"file": "b.json", "new_failures": {"ids": "all", "level": "warning"}}}
    rule = compared(base, head, everything).rules[0]
    assert (rule.level, rule.reason) == ("warning", "2 scenarios passed in the baseline and not now: S003, S050")
    rule = compared(base, head[:5], everything).rules[0]
    assert "95 scenarios passed in the baseline, with no result now" in rule.reason
    assert compared(base, base, everything).rules[0].outcome == "pass"
    assert compared(rows(0, 5), rows(0, 5), everything).rules[0].outcome == "undefined"


@pytest.mark.parametrize("column", ["judge", "suite"])
def test_another_judge_or_suite_makes_every_rule_undefined(column):
    base, head = rows(10, 10, **{column: "one"}), rows(10, 10, **{column: "two"})
    rule = judged(base, head, margin={"pass_rate": "90%"})
    assert rule.outcome == "undefined"
    assert f"another {column}: one in the baseline, two now" in rule.reason


def test_nothing_in_common_is_undefined():
    head = [{"id": "other", "passed": True}]
    assert judged(rows(5, 5), head, margin={"pass_rate": "90%"}).outcome == "undefined"
