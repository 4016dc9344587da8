from __future__ import annotations

from fractions import Fraction

import pytest

import highbar
from highbar.planning import Assumptions, plan_policy, plan_verdict
from highbar.planning.repeated import lower_bound, spread
from highbar.policy import read_dict, resolve_version
from highbar.statistics.distributions import at_most

USUAL = Assumptions()


def needs(policy, scenarios=None, assumptions=USUAL):
    """By rule, what the policy's plan says."""
    return {need.rule: need for need in plan_policy(read_dict(policy), assumptions, scenarios).rules}


def rows(passed, total, trials=1, **columns):
    """So many scenarios, of which the first so many pass; a float is a share of the trials of one more."""
    whole = int(passed)
    counts = [trials] * whole + ([round((passed - whole) * trials)] if passed != whole else [])
    counts += [0] * (total - len(counts))
    return [
        {"id": f"s{at}", "trial": trial, "passed": trial < count, **columns}
        for at, count in enumerate(counts)
        for trial in range(trials)
    ]


def standings(results, policy):
    """By rule, how far the results have settled it."""
    return {standing.rule: standing for standing in plan_verdict(highbar.check(results, policy)).standings}


# --- from a policy ---------------------------------------------------------------------------


def test_a_rule_needs_the_scenarios_that_pass_if_all_do_and_those_of_an_agent_halfway_to_perfection():
    need = needs({"thresholds": {"blocking": {"pass_rate": 90}}})["thresholds.blocking.pass_rate"]
    assert (need.fewest, need.supposed, need.scenarios) == (29, Fraction(95, 100), 203)
    assert (need.rate_to_pass, need.rate_to_fail, need.reason) == (None, None, None)


def test_all_blocking_rules_pass_between_the_product_and_the_minimum():
    policy = read_dict({"thresholds": {"blocking": {"pass_rate": 90, "accuracy": 90}, "warning": {"error_rate": "5%"}}})
    plan = plan_policy(policy, Assumptions(), 203)
    one, other, _ = (rule.chance for rule in plan.rules)
    assert (plan.joint.rules, plan.joint.low, plan.joint.high) == (2, one * other, min(one, other))
    assert one >= 0.8 > plan.joint.low
    together = plan.rules[0].together
    assert plan_policy(policy, Assumptions(), together).joint.low >= 0.8
    assert together > plan.rules[0].scenarios
    alone = read_dict({"thresholds": {"blocking": {"pass_rate": 90}}})
    assert plan_policy(alone, Assumptions()).joint is None


def test_an_acceptance_number_needs_as_many_scenarios_as_exclude_the_rate_with_it():
    demand = {"threshold": "100%", "evidence": "confident", "failures": 1}
    need = needs({"thresholds": {"blocking": {"safety_rate": demand}}})["thresholds.blocking.safety_rate"]
    assert (need.fewest, need.scenarios) == (59, 93)


@pytest.mark.parametrize(("scenarios", "passing"), [(58, None), (70, 0), (92, 0), (93, 1), (100, 1)])
def test_an_acceptance_number_counts_in_what_a_suite_of_a_given_size_can_show(scenarios, passing):
    demand = {"threshold": "100%", "evidence": "confident", "failures": 1}
    policy = {"thresholds": {"blocking": {"safety_rate": demand}}}
    need = needs(policy, scenarios)["thresholds.blocking.safety_rate"]
    assert need.chance == (0 if passing is None else 1)  # the supposed agent is perfect
    if passing is None:
        assert need.rate_to_pass is None
    else:
        assert at_most(passing, scenarios, 1 - need.rate_to_pass) == pytest.approx(0.8)
    assert at_most(1, scenarios, 1 - need.rate_to_fail) == pytest.approx(0.2)


def test_the_confidence_is_the_policys_and_the_power_is_asked_for():
    policy = {"confidence": 0.99, "thresholds": {"blocking": {"pass_rate": 90}}}
    need = needs(policy, assumptions=Assumptions(power=Fraction(9, 10)))["thresholds.blocking.pass_rate"]
    assert need.fewest == 44
    assert need.scenarios > 179


@pytest.mark.parametrize(("tolerate", "published"), [("5%", 59), ("1%", 299), ("10%", 29)])
def test_100_percent_needs_what_excludes_the_tolerated_rate(tolerate, published):
    demand = {"threshold": "100%", "tolerate": tolerate}
    need = needs({"thresholds": {"blocking": {"safety_rate": demand}}})["thresholds.blocking.safety_rate"]
    assert (need.fewest, need.supposed, need.scenarios) == (published, 1, published)


def test_a_rate_where_lower_is_better_is_planned_as_the_share_of_the_good_and_told_as_it_is():
    need = needs({"thresholds": {"blocking": {"error_rate": "≤ 5%"}}}, 100)["thresholds.blocking.error_rate"]
    good = needs({"thresholds": {"blocking": {"pass_rate": "≥ 95%"}}}, 100)["thresholds.blocking.pass_rate"]
    assert (need.fewest, need.scenarios) == (good.fewest, good.scenarios)
    assert need.supposed == 1 - good.supposed
    assert need.rate_to_pass == 1 - good.rate_to_pass
    assert need.rate_to_fail == 1 - good.rate_to_fail


def test_a_percentile_is_a_share_of_trials_within_the_limit():
    found = needs({"thresholds": {"warning": {"latency_p95": "< 5000ms", "latency_p99": "< 8000ms"}}})
    assert found["thresholds.warning.latency_p95"].fewest == 59
    assert found["thresholds.warning.latency_p99"].fewest == 299
    assert found["thresholds.warning.latency_p95"].supposed == Fraction(975, 1000)


def test_a_margin_lowers_the_bar_and_min_scenarios_raises_the_need():
    plain = needs({"thresholds": {"blocking": {"pass_rate": "≥ 85%"}}})
    demand = {"threshold": "≥ 90%", "margin": "5%"}
    eased = needs({"thresholds": {"blocking": {"pass_rate": demand}}})
    assert eased["thresholds.blocking.pass_rate"].fewest == plain["thresholds.blocking.pass_rate"].fewest
    many = needs({"thresholds": {"blocking": {"pass_rate": {"threshold": "≥ 85%", "min_scenarios": 500}}}})
    found = many["thresholds.blocking.pass_rate"]
    assert (found.fewest, found.scenarios) == (500, 500)


def test_what_only_results_can_tell_says_so():
    found = needs(
        {
            "thresholds": {"blocking": {"token_efficiency": 0.001, "cost_per_pass": 0.5}},
            "weights": {"by_metric": {"pass_rate": 1.0, "accuracy": 2.0}},
            "rules": [{"metric": "weighted_score", "threshold": "≥ 90%"}],
            "composite": {"formula": "pass_rate × 0.5 + accuracy × 0.5", "pass": "final_score ≥ 0.85"},
            "progressive": {"accuracy": {"v1.0": "≥ 80%", "v2.0": "≥ 85%"}},
        }
    )
    assert len(found) == 5
    assert all(need.fewest is None and need.scenarios is None and need.reason for need in found.values())
    assert "--agent-version" in found["progressive.accuracy"].reason
    assert "results" in found["composite.pass"].reason


def test_a_progressive_rule_is_planned_for_its_version():
    policy = resolve_version(read_dict({"progressive": {"accuracy": {"v1.0": "≥ 80%", "v2.0": "≥ 95%"}}}), given="2.3")
    (need,) = plan_policy(policy, USUAL).rules
    assert (need.rule, need.fewest) == ("progressive.accuracy", 59)


def test_rules_that_are_not_about_a_number_are_left_out_and_the_order_is_the_policys():
    policy = {
        "thresholds": {"blocking": {"pass_rate": 90}},
        "required_scenarios": {"ids": ["A"]},
        "composite": {"formula": "pass_rate × 1.0", "pass": "final_score ≥ 0.85"},
        "rules": [{"metric": "accuracy", "threshold": "≥ 90%", "where": {"category": "edge_case"}}],
    }
    names = [rule.name for rule in read_dict(policy).rules]
    planned = list(needs(policy))
    assert planned == [name for name in names if name in planned]
    assert set(planned) == {"thresholds.blocking.pass_rate", "composite.pass", "rules[0]"}


def test_a_threshold_that_everything_reaches_needs_nothing():
    need = needs({"thresholds": {"blocking": {"pass_rate": "≥ 0%"}}})["thresholds.blocking.pass_rate"]
    assert (need.fewest, need.reason) == (None, "every value reaches it")


# --- from results ----------------------------------------------------------------------------


def test_a_rule_whose_interval_is_clear_of_the_threshold_is_settled():
    policy = {"rules": [{"metric": "pass_rate", "threshold": text} for text in ("≥ 50%", "≥ 99%", "≥ 85%")]}
    clear, missed, open_ = standings(rows(45, 50), policy).values()
    assert [(one.settled, one.outcome) for one in (clear, missed, open_)] == [
        (True, "pass"),
        (True, "fail"),
        (False, "pass"),
    ]
    assert (clear.more_scenarios, missed.more_scenarios) == (0, 0)
    assert open_.more_scenarios > 200


@pytest.mark.parametrize("evidence", ["estimate", "confident"])
def test_the_needs_are_those_of_the_verdict(evidence):
    policy = {"evidence": evidence, "thresholds": {"blocking": {"pass_rate": "≥ 85%", "safety_rate": "100%"}}}
    results = rows(45, 50, category="adversarial")[:45]
    verdict = highbar.check(results, policy)
    found = standings(results, policy)
    for rule in verdict.rules:
        if rule.more_scenarios is not None:
            assert found[rule.rule].more_scenarios == rule.more_scenarios
    assert found["thresholds.blocking.safety_rate"].more_scenarios == 59 - 45


def test_a_sequential_rule_that_is_open_is_planned_as_a_confident_one():
    def open_rule(evidence, passed=166):
        policy = {"evidence": evidence, "thresholds": {"blocking": {"pass_rate": "≥ 85%", "error_rate": "≤ 1%"}}}
        return standings(rows(passed, 200), policy)["thresholds.blocking.pass_rate"]

    found = open_rule("sequential")
    assert (found.settled, found.outcome) == (False, "inconclusive")
    assert found.more_scenarios == open_rule("confident").more_scenarios > 1000
    assert open_rule("sequential", 170).more_scenarios is None  # on the threshold


def test_an_open_sequential_rule_that_accepts_failures_is_planned_as_a_confident_one():
    def more(evidence, passed, failures):
        demand = {"threshold": "100%", "evidence": evidence, "failures": failures}
        found = standings(rows(passed, 50), {"thresholds": {"blocking": {"pass_rate": demand}}})
        return found["thresholds.blocking.pass_rate"].more_scenarios

    for passed, failures, expected in ((50, 0, 59 - 50), (50, 1, 59 - 50), (49, 1, 93 - 50), (49, 2, 93 - 50)):
        assert more("sequential", passed, failures) == more("confident", passed, failures) == expected


def test_a_value_on_the_threshold_is_settled_by_no_number():
    policy = {"evidence": "confident", "thresholds": {"blocking": {"pass_rate": "≥ 90%"}}}
    found = standings(rows(45, 50), policy)["thresholds.blocking.pass_rate"]
    assert (found.settled, found.more_scenarios) == (False, None)


def test_an_undefined_rule_is_not_settled():
    policy = {"thresholds": {"blocking": {"accuracy": 90, "pass_rate": 50}}}
    found = standings(rows(5, 5), policy)["thresholds.blocking.accuracy"]
    assert (found.settled, found.more_scenarios, found.outcome) == (False, None, "undefined")
    assert "undefined" in found.reason


def test_rules_about_scenarios_have_no_plan():
    assert standings(rows(5, 5), {"required_scenarios": {"ids": ["s1"]}}) == {}


# --- repeated trials -------------------------------------------------------------------------


FLAKY = [
    {"id": f"s{at}", "trial": trial, "passed": (at + trial) % 4 != 0 or at < 20}
    for at in range(40)
    for trial in range(4)
]


def test_one_trial_per_scenario_says_nothing_about_trials():
    assert plan_verdict(highbar.check(rows(5, 9), {"thresholds": {"blocking": {"pass_rate": 50}}})).repeats is None


def test_other_suites_bound_the_pass_rate_as_closely_as_this_one():
    verdict = highbar.check(FLAKY, {"thresholds": {"blocking": {"pass_rate": 80}}})
    repeats, rate = plan_verdict(verdict).repeats, verdict.metrics["pass_rate"]
    assert (repeats.trials, repeats.flaky) == (4, 20)
    low = lower_bound(40, rate.value, spread(4, repeats.correlation), 0.05)
    assert low == pytest.approx(rate.low, abs=0.01)
    for budget in repeats.equal:
        varies = spread(budget.trials, repeats.correlation)
        assert lower_bound(budget.scenarios, rate.value, varies, 0.05) >= low
        assert lower_bound(budget.scenarios - 1, rate.value, varies, 0.05) < low
        assert budget.runs == budget.scenarios * budget.trials
    assert [budget.trials for budget in repeats.equal] == [1, 2, 3, 5, 10]
    fewer = [budget.scenarios for budget in repeats.equal]
    assert fewer == sorted(fewer, reverse=True)
    endless = lower_bound(40, rate.value, spread(10**9, repeats.correlation), 0.05)
    assert repeats.narrowest == pytest.approx(1 - (float(rate.value) - endless) / (float(rate.value) - low), abs=1e-6)


@pytest.mark.parametrize("passed", [True, False])
def test_where_nothing_varies_trials_buy_nothing_that_is_known(passed):
    results = [{**row, "passed": passed} for row in FLAKY]
    assert plan_verdict(highbar.check(results, {"thresholds": {"blocking": {"pass_rate": 80}}})).repeats is None


def test_trials_that_always_agree_are_worth_one():
    same = [{**row, "passed": int(row["id"][1:]) % 5 > 0} for row in FLAKY]
    repeats = plan_verdict(highbar.check(same, {"thresholds": {"blocking": {"pass_rate": 80}}})).repeats
    assert (repeats.correlation, repeats.narrowest, repeats.flaky) == (1, 0, 0)
    assert {budget.scenarios for budget in repeats.equal} == {40}
