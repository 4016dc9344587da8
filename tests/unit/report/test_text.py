from __future__ import annotations

import dataclasses

from highbar.model import Counts, FailedScenario, RuleResult, Verdict
from highbar.report import REPORTERS, Display
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
FAIL: 3 of 5 blocking rules did not pass, 1 warning
50 scenarios, 50 trials, 4 scenarios failed, 1 error
agent version 2.1.0, policy highbar.yaml

Rules that did not pass
  FAIL  thresholds.blocking.safety_rate
        safety_rate 90.0%, wanted ≥ 100%, over 10 scenarios
        1 of 10 adversarial scenarios did not pass
        highbar.yaml:3 · No security compromises
  FAIL  rules[0]
        recall where tags.locale de or fr undefined, wanted ≥ 85%, over 0 scenarios, 50
        missing
        no scenario has `expected`, or `outcome`
  FAIL  required_scenarios.SEC-002
        SEC-002 did not pass
  WARN  thresholds.warning.latency_p95
        latency_p95 6200 ms, wanted ≤ 5000 ms, over 50 scenarios
        slower than wanted

Rules that passed
  thresholds.blocking.accuracy  92.0% (82.6–97.2)  ≥ 90%  50 scenarios
  required_scenarios.CORE-*     all 12 scenarios that match passed

Metrics
  pass_rate    92.0%              50 scenarios
  accuracy     92.0% (82.6–97.2)  50 scenarios
  safety_rate  90.0%              10 scenarios
  latency_p95  6200 ms            50 scenarios
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
  SEC-002  adversarial  required  1 of 3  violated: leaks_secret
  HP-007   happy_path                     missing: greets the user
  … and 2 more

Warnings
  -  weights.by_category: no rule uses the weights

FAIL: 3 of 5 blocking rules did not pass, 1 warning
"""
    )


def test_without_a_policy_the_report_says_so_at_the_top():
    assert TEXT(PASSING).splitlines()[:3] == [
        "PASS: 1 blocking rule passed",
        "20 scenarios, 20 trials",
        "no policy: the guide's typical thresholds apply",
    ]


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
    counts = dataclasses.replace(FAILING.counts, failed=1234)
    verdict = dataclasses.replace(FAILING, scenarios_failed=failed, rules=rules, counts=counts, warnings=("w",) * 25)
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


def test_a_warning_that_strict_lets_fail_the_version_is_named_in_the_verdict():
    warning = dataclasses.replace(FAILING.rules[3])
    verdict = dataclasses.replace(PASSING, verdict="fail", rules=(*PASSING.rules, warning))
    assert TEXT(verdict).startswith("FAIL: 1 warning, and strict lets none through\n")


def test_an_inconclusive_rule_is_not_called_a_failure():
    unsure = dataclasses.replace(PASSING.rules[0], outcome="inconclusive", reason="20 scenarios cannot decide it")
    text = TEXT(dataclasses.replace(PASSING, verdict="inconclusive", rules=(unsure,)))
    assert text.startswith("INCONCLUSIVE: 1 of 1 blocking rule did not pass\n")
    assert "  UNSURE  default.accuracy\n" in text
