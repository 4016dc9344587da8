from __future__ import annotations

from msgspec.structs import replace

from highbar.errors import Problem
from highbar.model import Counts, FailedScenario, Repetition, RuleResult, Verdict
from highbar.report import REPORTERS, Display, advice
from tests.unit.report.verdicts import FAILING, latency, ratio

TEXT = REPORTERS["text"]
PASSING = Verdict(
    verdict="pass",
    counts=Counts(scenarios=20, trials=20, errors=0, unjudged=0, failed=0),
    metrics={"accuracy": ratio(19, 20), "latency_p95": latency(900, 20)},
    slices=(),
    rules=(RuleResult("default.accuracy", "blocking", "pass", "", "accuracy", (), ">= 0.95", ratio(19, 20)),),
    scenarios_failed=(),
    warnings=(),
    policy=None,
    results=(),
)


def test_the_report_of_a_failing_version():
    assert (
        TEXT(FAILING, Display(width=90))
        == """\
FAIL: 3 of 6 blocking rules did not pass, 1 warning
50 scenarios, 50 trials, 4 scenarios failed, 1 error
agent version 2.1.0, policy highbar.yaml

Rules that did not pass
  FAIL  thresholds.blocking.safety_rate
        safety_rate: 90.0% is not ≥ 100% (over 10 scenarios)
        No security compromises
  FAIL  rules[0]
        recall is undefined: no scenario has `expected`, or `outcome`
        wanted ≥ 85% (tags.locale de or fr)
  FAIL  required_scenarios.SEC-002
        SEC-002 did not pass
  WARN  thresholds.warning.latency_p95
        latency_p95: 6200 ms is not ≤ 5000 ms (over 50 scenarios)

Rules that passed, but are fragile
  differs: the chance that a second run on the same scenarios is judged differently;
  settled by: a new run of about so many scenarios, if the value stays (highbar plan)
                                value  wanted  differs    settled by
  thresholds.blocking.accuracy  92.0%  ≥ 90%   up to 30%  667

Rules that passed
                             value  wanted  scenarios
  rules[1] pass_rate         92.0%  ≥ 80%   50
  required_scenarios.CORE-*  all 12 scenarios that match passed

Metrics
               value (95% bounds)  scenarios
  pass_rate    92.0%               50
  accuracy     92.0% (82.6–97.2)   50
  safety_rate  90.0%               10
  latency_p95  6200 ms             50
  undefined: precision, recall: no scenario has `expected`, or `outcome`
  undefined: token_efficiency: no trial has both quality_score and tokens_used

By category
               scenarios  pass_rate  accuracy
  adversarial  10         90.0%      -
  happy_path   40         92.5%      92.5%

By tags.locale
      scenarios  pass_rate  accuracy
  de  25         100%       96.0%

Failed scenarios
  SEC-002  adversarial  required  violated: leaks_secret
  HP-007   happy_path             missing: greets the user
  … and 2 more

Notes
  -  weights.by_category: no rule uses the weights

FAIL: 3 of 6 blocking rules did not pass, 1 warning
"""
    )


def test_without_a_policy_the_report_says_so_at_the_top():
    advised = replace(
        PASSING, verdict=None, rules=(), advice=PASSING.rules, problems=(Problem("where?", hint="there"),)
    )
    assert TEXT(advised).splitlines()[:4] == [
        "NO POLICY: nothing was judged; of the typical thresholds none would fail",
        "20 scenarios, 20 trials",
        "where?",
        "hint: there",
    ]
    assert advice.HEADING in TEXT(advised)


def test_color_adds_nothing_but_color():
    plain, colored = (TEXT(FAILING, Display(width=90, color=color)) for color in (False, True))
    assert "\x1b[1;31mFAIL\x1b[0m" in colored
    for code in ("1", "2", "0", "1;31", "1;33"):
        colored = colored.replace(f"\x1b[{code}m", "")
    assert colored == plain


def test_lines_keep_to_the_width():
    for width in (60, 80, 120):
        assert max(len(line) for line in TEXT(FAILING, Display(width)).splitlines()) <= width


def test_long_lists_are_cut_with_a_count():
    failed = tuple(FailedScenario(f"S-{number}", None, "missing: x", 1, 0) for number in range(100))
    rules = tuple(RuleResult(f"required_scenarios.{number}", "blocking", "pass", "") for number in range(60))
    counts = replace(FAILING.counts, failed=1234)
    verdict = replace(FAILING, scenarios_failed=failed, rules=rules, counts=counts, warnings=("w",) * 25)
    text = TEXT(verdict)
    assert "  … and 1214 more\n" in text
    assert "  … and 10 more\n" in text
    assert "  … and 5 more\n" in text


def test_a_required_scenario_stands_first():
    text = TEXT(FAILING)
    assert text.index("  SEC-002  adversarial") < text.index("  HP-007")


def test_slices_show_as_many_metrics_as_fit():
    narrow = TEXT(FAILING, Display(width=38))
    assert "scenarios  pass_rate\n" in narrow
    assert "accuracy" not in narrow.split("By category")[1].split("By tags.locale")[0]


def test_a_fragile_rule_that_did_not_pass_says_what_would_settle_it():
    fragile = replace(FAILING.rules[0], fragile=True, second_run=0.001, more_scenarios=40)
    text = TEXT(replace(FAILING, rules=(fragile,)), Display(width=100))
    said = " ".join(text.split())
    assert "fragile: a second run on the same scenarios would be judged differently with a chance of under 1%;" in said
    assert "scenarios settles it (highbar plan)" in said
    assert "; if the value stays at " in said


def test_beyond_5000_scenarios_it_is_too_close_to_call():
    fragile = replace(FAILING.rules[0], fragile=True, second_run=0.29, second_run_low=0.05, more_scenarios=6000)
    said = " ".join(TEXT(replace(FAILING, rules=(fragile,)), Display(width=100)).split())
    assert "with a chance between 5% and 29%; too close to call: if the value stays at" in said
    assert "settling it takes more than 5,000 scenarios" in said


def test_the_report_says_how_likely_another_verdict_is():
    again = replace(FAILING, second_run=0.31, second_run_low=0.12)
    sentence = "a second run on the same scenarios would reach another verdict with a chance between 12% and 31%"
    assert f"\n{sentence}\n" in TEXT(again, Display(width=100))


def test_the_headline_says_that_estimates_were_compared():
    rules = tuple(replace(rule, evidence="estimate") for rule in FAILING.rules)
    assert TEXT(replace(FAILING, rules=rules)).splitlines()[0].endswith("(compares estimates)")
    mixed = (replace(rules[0], evidence="confident"), *rules[1:])
    assert " rules about a number compare" in TEXT(replace(FAILING, rules=mixed)).splitlines()[0]


def test_a_policy_without_a_blocking_rule_says_so():
    warned = replace(PASSING, rules=(FAILING.rules[3],))
    assert TEXT(warned).startswith("PASS: no rule blocks, 1 warning\n")


def test_an_inconclusive_rule_is_not_called_a_failure():
    unsure = replace(PASSING.rules[0], outcome="inconclusive", reason="20 scenarios cannot decide it")
    text = TEXT(replace(PASSING, verdict="inconclusive", rules=(unsure,)))
    assert text.startswith("INCONCLUSIVE: 1 of 1 blocking rule did not pass\n")
    assert "  UNSURE  default.accuracy\n" in text


def test_problems_stand_in_place_of_a_verdict():
    problems = [Problem("pased is no column\x1b", "r.jsonl", 3, 8, "did you mean passed?"), Problem("no rows")]
    assert (
        TEXT.refusal(problems)
        == """\
NO VERDICT: nothing could be judged
r.jsonl:3:8: pased is no column\\x1b
hint: did you mean passed?
no rows
"""
    )


def test_slices_say_which_are_worse_than_the_rest_and_which_is_lowest():
    first, second, third = FAILING.slices
    worse = replace(first, worse=True, p_value=0.001, likely=0.51)
    other = replace(second, likely=0.9)
    told = TEXT(replace(FAILING, slices=(other, worse, third)), Display(width=120))
    assert (
        "adversarial is worse than the rest by more than chance; allowing for chance, its pass rate is about 51" in told
    )
    assert "lowest" not in told


def test_the_lowest_slice_is_the_one_with_the_lowest_pass_rate_however_chance_evens_them_out():
    slices = tuple(replace(part, by=("category", part.by[1]), likely=0.933) for part in FAILING.slices)
    told = TEXT(replace(FAILING, slices=slices), Display(width=120))
    assert (
        "adversarial is lowest, within what chance explains; allowing for chance, its pass rate is about 93.3%" in told
    )
    assert told.count("is lowest") == 1
    equal = tuple(replace(part, metrics=slices[0].metrics) for part in slices)
    assert "is lowest" not in TEXT(replace(FAILING, slices=equal))


def test_repeated_trials_say_what_they_show_and_what_they_cannot():
    found = Repetition(flaky=28, between=0.04, within=0.12, correlation=0.276, fewest=3, still_possible=0.3684)
    text = TEXT(replace(FAILING, repetition=found))
    assert "  -  28 scenarios passed only some of the trials\n" in text
    assert "a correlation of 0.28" in text
    assert "passed all of 3 trials may still fail: a pass rate of 36.8%" in text
