from __future__ import annotations

import json
from fractions import Fraction

import pytest
from msgspec.structs import replace

import highbar
from highbar.errors import Problem
from highbar.model import Counts, FailedScenario, Repetition, RuleResult, Verdict
from highbar.report import REPORTERS, Display, advice
from tests.commandline import run
from tests.repository import put
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


def whole(verdict, width=80):
    return TEXT(verdict, Display(width=width, verbose=True))


def said(text):
    return " ".join(text.split())


def test_the_report_of_a_failing_version_fits_on_a_screen():
    assert (
        TEXT(replace(FAILING, second_run=0.03), Display(width=90))
        == """\
FAIL: 3 of 6 demands are not met, 1 warning; a re-run very likely fails too
50 scenarios, 50 trials, 4 scenarios failed, 1 error
agent version 2.1.0, policy highbar.yaml

✗ Safety rate is 100%                              90.0%, 10 scenarios
✗ Recall for tags.locale de or fr is at least 85%  undefined: no scenario has `expected`,
                                                   or `outcome`
✗ SEC-002 must pass                                violated: leaks_secret

Warnings
! Latency p95 is at most 5 s  6200 ms, 50 scenarios

Failed scenarios (4), worst first
  SEC-002  adversarial  required  violated: leaks_secret
  HP-007   happy_path             missing: greets the user
  … and 2 more

Notes
  -  weights.by_category: no rule uses the weights

The same verdict is very likely on a re-run (at least 97 in 100). 3 demands are met, 1 of
them narrowly. More: -v, or --output report.html
"""
    )


def test_the_whole_report_of_a_failing_version():
    assert (
        whole(FAILING, 90)
        == """\
FAIL: 3 of 6 demands are not met, 1 warning
50 scenarios, 50 trials, 4 scenarios failed, 1 error
agent version 2.1.0, policy highbar.yaml
50 scenarios: a loss of 5 points of accuracy is missed in up to 8 of 10 runs; 530 would
find it in 8 of 10

Demands that are not met
  FAIL  Safety rate is 100%
        90.0% is not ≥ 100% (over 10 scenarios)
        thresholds.blocking.safety_rate
        No security compromises
  FAIL  Recall for tags.locale de or fr is at least 85%
        recall is undefined: no scenario has `expected`, or `outcome`
        rules[0]
  FAIL  SEC-002 must pass
        SEC-002 did not pass
        required_scenarios.SEC-002
  WARN  Latency p95 is at most 5 s
        6200 ms is not ≤ 5000 ms (over 50 scenarios)
        thresholds.warning.latency_p95

Demands that are met narrowly
  could fail: how likely on a re-run of the same scenarios; settled by: a new run with
  about so many scenarios, if the value stays (see highbar plan)
                            value  could fail  settled by
  Accuracy is at least 90%  92.0%  up to 30%   667
      thresholds.blocking.accuracy

Demands that are met
                                   value  scenarios
  Pass rate is at least 80%        92.0%  50
      rules[1]
  Every scenario CORE-* must pass  all 12 scenarios that match passed
      required_scenarios.CORE-*

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

Failed scenarios (4), worst first
  SEC-002  adversarial  required  violated: leaks_secret
  HP-007   happy_path             missing: greets the user
  … and 2 more

Notes
  -  weights.by_category: no rule uses the weights
"""
    )


def test_the_headline_is_repeated_only_if_it_scrolled():
    lines = TEXT(FAILING).splitlines()
    fits = TEXT(FAILING, Display(height=len(lines) + 1)).splitlines()
    scrolled = TEXT(FAILING, Display(height=len(lines))).splitlines()
    assert fits == lines
    assert scrolled == [*lines, "", lines[0]]


def test_what_nobody_asked_for_is_not_listed():
    assert "token_efficiency" not in TEXT(FAILING)
    assert "precision" not in TEXT(FAILING)


def test_a_note_that_a_threshold_could_be_higher_waits_for_v():
    rule = replace(FAILING.rules[4], slack=Fraction(1, 10))
    verdict = replace(FAILING, rules=(rule,), warnings=("rules[1]: the agent could get worse", "other"))
    assert "could get worse" not in TEXT(verdict)
    assert "other" in TEXT(verdict)
    assert "could get worse" in whole(verdict)


def test_without_a_policy_the_report_says_so_at_the_top():
    advised = replace(
        PASSING,
        verdict=None,
        rules=(),
        advice=PASSING.rules,
        problems=(Problem("policy.missing", "where?", hint="there"),),
    )
    assert TEXT(advised).splitlines()[:4] == [
        "NO POLICY: nothing was judged; of the typical thresholds none would fail",
        "20 scenarios, 20 trials",
        "where? [policy.missing]",
        "hint: there",
    ]
    assert advice.HEADING in TEXT(advised)


@pytest.mark.parametrize("verbose", [False, True])
def test_color_adds_nothing_but_color(verbose):
    displays = (Display(width=90, color=color, verbose=verbose) for color in (False, True))
    plain, colored = (TEXT(FAILING, display) for display in displays)
    assert "\x1b[1;31mFAIL\x1b[0m" in colored
    for code in ("1", "2", "0", "31", "33", "1;31", "1;33"):
        colored = colored.replace(f"\x1b[{code}m", "")
    assert colored == plain


@pytest.mark.parametrize("verbose", [False, True])
def test_lines_keep_to_the_width(verbose):
    for width in (60, 80, 120):
        text = TEXT(FAILING, Display(width, verbose=verbose))
        assert max(len(line) for line in text.splitlines()) <= width


def test_long_lists_are_cut_with_a_count():
    failed = tuple(FailedScenario(f"S-{number}", None, "missing: x", 1, 0) for number in range(100))
    rules = tuple(RuleResult(f"required_scenarios.{number}", "blocking", "pass", "") for number in range(60))
    counts = replace(FAILING.counts, failed=1234)
    verdict = replace(FAILING, scenarios_failed=failed, rules=rules, counts=counts, warnings=("w",) * 25)
    assert {"  … and 1214 more", "  … and 10 more", "  … and 5 more"} <= set(whole(verdict).splitlines())
    assert {"  … and 1224 more", "  … and 22 more"} <= set(TEXT(verdict).splitlines())
    missed = tuple(replace(rule, outcome="fail") for rule in rules)
    assert "  … and 40 more" in TEXT(replace(verdict, rules=missed)).splitlines()


def test_a_required_scenario_comes_first():
    text = TEXT(FAILING)
    assert text.index("  SEC-002  adversarial") < text.index("  HP-007")


def test_slices_show_as_many_metrics_as_fit():
    narrow = whole(FAILING, 38)
    assert "scenarios  pass_rate\n" in narrow
    assert "accuracy" not in narrow.split("By category")[1].split("By tags.locale")[0]


CLOSE = replace(FAILING.rules[0], rule="rules[0]", metric="pass_rate", fragile=True, second_run=0.29)
"""A rule about the pass rate that is missed narrowly."""


def test_a_close_rule_that_did_not_pass_says_what_would_settle_it_and_if_what():
    close = replace(CLOSE, second_run=0.001, more_scenarios=40)
    text = said(whole(replace(FAILING, rules=(close,))))
    stays = "if the value stays at 90.0%, a new run with about 50 scenarios would settle it"
    assert f"close: a re-run may pass (under 1%); {stays}" in text


@pytest.mark.parametrize(
    ("metric", "reason", "may"),
    [
        ("safety_rate", "violated: leaks_secret", "miss the violation"),
        ("violation_rate", "violated: leaks_secret", "miss the violation"),
        ("safety_rate", "missing: refuses", "pass"),
        ("pass_rate", "violated: leaks_secret", "pass"),
    ],
)
def test_a_rerun_that_shows_no_violation_is_not_said_to_undo_one(metric, reason, may):
    failed = (replace(FAILING.scenarios_failed[0], category="adversarial", reason=reason),)
    verdict = replace(FAILING, rules=(replace(CLOSE, metric=metric),), scenarios_failed=failed)
    assert f"90.0%, 10 scenarios; a re-run may {may} (up to 29%)" in said(TEXT(verdict))
    assert f"close: a re-run may {may} (up to 29%)" in said(whole(verdict))


def test_a_violation_of_a_required_scenario_is_not_undone_by_a_rerun():
    rule = RuleResult("required_scenarios.SEC-*", "blocking", "fail", "SEC-002 did not pass", second_run=0.29)
    assert "a re-run may miss the violation (up to 29%)" in said(TEXT(replace(FAILING, rules=(rule,))))
    other = replace(rule, rule="required_scenarios.HP-*")
    assert "a re-run may pass (up to 29%)" in said(TEXT(replace(FAILING, rules=(other,))))


def test_a_value_on_its_threshold_is_settled_by_no_number():
    on_it = replace(CLOSE, outcome="pass", threshold=">= 0.9")
    assert "90% up to 29% no number: on the threshold rules[0]" in said(whole(replace(FAILING, rules=(on_it,))))
    unknown = replace(on_it, threshold=">= baseline - 0.01")
    assert "90.0% up to 29% - rules[0]" in said(whole(replace(FAILING, rules=(unknown,))))


def test_a_value_has_the_digits_of_its_threshold_at_best_and_in_a_condition_too():
    value = replace(ratio(88, 100), undecided=2, best=Fraction(9, 10))
    rule = replace(CLOSE, threshold=">= 0.9", value=value)
    assert "88.0%, 100 scenarios, 2 undecided (at best 90%)" in said(TEXT(replace(FAILING, rules=(rule,))))
    condition = "final_score ≥ 0.9 AND accuracy ≥ 0.8"
    met = replace(CLOSE, outcome="pass", metric="final_score", threshold=condition, value=ratio(9, 10))
    assert "Final score is at least 90% and accuracy is at least 80% 90% up to 29%" in said(
        whole(replace(FAILING, rules=(met,)))
    )


def test_beyond_5000_scenarios_it_is_too_close_to_call():
    close = replace(CLOSE, second_run_low=0.05, more_scenarios=6000)
    verdict = replace(FAILING, rules=(close,))
    assert "close: a re-run may pass (5–29%); too close to call, even with 5,000 scenarios" in said(whole(verdict))
    assert "90.0%, 10 scenarios; a re-run may pass (5–29%)" in said(TEXT(verdict))


AGAIN = [
    (0.0, 0.001, "a re-run almost certainly fails too", "almost certain on a re-run (over 99 in 100)."),
    (0.001, 0.014, "a re-run very likely fails too", "very likely on a re-run (at least 99 in 100)."),
    (0.0, 0.04, "a re-run very likely fails too", "very likely on a re-run (at least 96 in 100)."),
    (0.1, 0.15, "a re-run likely fails too", "likely on a re-run (85 to 90 in 100)."),
    (0.3, 0.3, "a re-run may end differently", "may end differently (the same verdict: about 70 in 100)."),
    (0.23, 0.97, "a re-run may end differently", "may end differently (the same verdict: 3 to 77 in 100)."),
    (0.6, 1.0, "a re-run probably ends differently", "probably end differently (the same verdict: at most 40 in 100)."),
]


@pytest.mark.parametrize(("low", "high", "short", "sentence"), AGAIN)
def test_the_headline_and_the_last_line_say_how_certain_the_verdict_is(low, high, short, sentence):
    text = TEXT(replace(FAILING, second_run=high, second_run_low=low), Display(width=140))
    assert text.splitlines()[0].endswith(f"; {short}")
    assert sentence in said(text)


def test_the_whole_report_says_that_values_were_compared_without_their_intervals():
    rules = tuple(replace(rule, evidence="estimate" if rule.metric else None) for rule in FAILING.rules)
    assert "Values are compared as measured" in said(whole(replace(FAILING, rules=rules)))
    mixed = (replace(rules[0], evidence="confident"), *rules[1:])
    assert "In 3 of 4 demands the value is compared" in said(whole(replace(FAILING, rules=mixed)))


def test_a_comparison_counts_the_notes_that_it_does_not_show():
    rows = [{"id": "a", "passed": True}]
    many = replace(highbar.compare(rows, rows), warnings=tuple(f"note {number}" for number in range(25)))
    text = highbar.render(many)
    assert "note 19" in text
    assert "note 20" not in text
    assert "… and 5 more" in text


def test_a_policy_without_a_blocking_rule_says_so():
    warned = replace(PASSING, rules=(FAILING.rules[3],))
    assert TEXT(warned).startswith("PASS: no demand blocks, 1 warning\n")


def test_an_inconclusive_rule_is_not_called_a_failure():
    unsure = replace(PASSING.rules[0], outcome="inconclusive", reason="20 scenarios cannot decide it")
    text = TEXT(replace(PASSING, verdict="inconclusive", rules=(unsure,)))
    assert text.startswith("INCONCLUSIVE: the only demand is inconclusive\n")
    assert "? Accuracy is at least 95%  inconclusive: 20 scenarios cannot decide it\n" in text


def test_problems_stand_in_place_of_a_verdict():
    problems = [
        Problem("results.unknown-name", "no column x\x1b", "r.jsonl", 3, 8, "try y"),
        Problem("results.empty", "no rows"),
    ]
    first, *others = TEXT.refusal(problems).splitlines()
    assert first.startswith("NO VERDICT: ")
    assert others == [
        "r.jsonl:3:8: no column x\\x1b [results.unknown-name]",
        "hint: try y",
        "no rows [results.empty]",
    ]


def test_slices_say_which_are_worse_than_the_rest_and_which_is_lowest():
    first, second, third = FAILING.slices
    worse = replace(first, worse=True, p_value=0.001, likely=0.51)
    other = replace(second, likely=0.9)
    text = said(whole(replace(FAILING, slices=(other, worse, third))))
    assert "adversarial has a lower pass rate than the rest, by more than chance explains" in text
    assert "lowest" not in text


def test_the_lowest_slice_is_the_one_with_the_lowest_pass_rate_however_chance_evens_them_out():
    slices = tuple(replace(part, by=("category", part.by[1]), likely=0.933) for part in FAILING.slices)
    text = said(whole(replace(FAILING, slices=slices)))
    assert text.count("adversarial has the lowest pass rate, but the gap is small enough to be chance") == 1
    assert text.count("the lowest pass rate") == 1
    equal = tuple(replace(part, metrics=slices[0].metrics) for part in slices)
    assert "lowest" not in whole(replace(FAILING, slices=equal))


def test_repeated_trials_say_what_they_show_and_what_they_cannot():
    found = Repetition(flaky=28, between=0.04, within=0.12, correlation=0.276, fewest=3, still_possible=0.3684)
    text = said(whole(replace(FAILING, repetition=found)))
    assert "- 28 scenarios passed only some of the trials" in text
    assert "a correlation of 0.28" in text
    assert "passing all of 3 trials is no proof: the true pass rate of such a scenario may be 36.8%" in text


def test_one_of_a_thing_is_said_in_the_singular():
    one = replace(PASSING, counts=Counts(1, 1, 1, 0, 0), second_run=0.0)
    assert TEXT(one).splitlines()[:2] == [
        "PASS: the only demand is met; a re-run almost certainly passes too",
        "1 scenario, 1 trial, 1 error",
    ]
    assert "1 demand is met." in said(TEXT(one))


def test_a_rule_whose_name_is_blank_is_shown_all_the_same():
    blank = RuleResult(" ", "blocking", "fail", "it is not met")
    assert "FAIL  \n        it is not met\n" in whole(replace(FAILING, rules=(blank,)))


def _lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize("name", ["text", "markdown"])
def test_the_reason_of_a_rule_is_shown_to_its_end_which_says_what_to_do(tmp_path, name):
    rows = [{"id": f"A{i}", "passed": True, "cost_usd": 0.001 * (1 + i % 3)} for i in range(120)]
    put(tmp_path, {"base.jsonl": _lines(rows), "head.jsonl": _lines([{**row, "cost_usd": 0.0022} for row in rows])})
    margin = "baseline: { file: base.json, margin: { cost_per_pass: 20% of baseline } }\n"
    put(tmp_path, {"highbar.yaml": "evidence: confident\n" + margin})
    assert run(tmp_path, "baseline", "record", "base.jsonl", "--output", "base.json").exit == 0
    out = run(tmp_path, "check", "head.jsonl", "--format", name).out
    assert "`cost_limit` in the policy would give one" in said(out)
