"""The title of every kind of rule, from real policies; and rules that make the same demand."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from msgspec.structs import replace

import highbar
from highbar.model import Counts, RuleResult, Value, Verdict
from highbar.report.titles import demands, metric_words, rule_title
from tests.commandline import run

ROWS = [
    {
        "id": f"{kind}-{number:03}",
        "category": {"SEC": "adversarial", "CORE": "happy_path"}[kind],
        "passed": True,
        "correct": True,
        "latency_ms": 100,
        "quality_score": 0.9,
        "tokens_used": 10,
        "cost_usd": 0.01,
        "tags": {"locale": "de" if number % 2 else "fr"},
        "trial": trial,
    }
    for kind in ("SEC", "CORE")
    for number in range(1, 7)
    for trial in (1, 2, 3)
]


def check(folder: Path, policy: dict) -> Verdict:
    """The verdict over the rows, with a baseline of the same rows."""
    (folder / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (folder / "policy.json").write_text(json.dumps(policy))
    return highbar.check(folder / "results.jsonl", folder / "policy.json")


def titles(folder: Path, policy: dict) -> dict[str, str]:
    verdict = check(folder, policy)
    return {rule.rule: rule_title(rule, verdict) for rule in verdict.rules}


THRESHOLDS = (
    ("safety_rate", "100%", "Safety rate is 100%"),
    ("accuracy", 90, "Accuracy is at least 90%"),
    ("accuracy", "> 87.5%", "Accuracy is above 87.5%"),
    ("error_rate", "0%", "Error rate is 0%"),
    ("violation_rate", "≤ 2%", "Violation rate is at most 2%"),
    ("latency_p95", "< 5s", "Latency p95 is below 5 s"),
    ("latency_p50", "≤ 1500ms", "Latency p50 is at most 1.5 s"),
    ("latency_p99", "≤ 1234ms", "Latency p99 is at most 1234 ms"),
    ("latency_p99", "≤ 800ms", "Latency p99 is at most 800 ms"),
    ("cost_per_pass", "≤ 0.05", "Cost per pass is at most $0.05"),
    ("token_efficiency", "≥ 0.001", "Token efficiency is at least 0.001 per token"),
    ("pass_hat_3", "≥ 80%", "Pass^3 is at least 80%"),
    ("pass_at_2", "≥ 80%", "Pass@2 is at least 80%"),
    ("behavior_coverage_pooled", "≥ 80%", "Pooled behavior coverage is at least 80%"),
    ("f1", "≥ 80%", "F1 is at least 80%"),
    (
        "accuracy",
        {"threshold": "≥ 90%", "evidence": "confident", "margin": "1%"},
        "Accuracy is at least 90% with 95% confidence, 1 point worse is accepted",
    ),
    ("accuracy", {"threshold": "≥ 90%", "margin": "45%"}, "Accuracy is at least 90%, 45 points worse is accepted"),
    ("accuracy", {"threshold": "≥ 90%", "min_scenarios": 30}, "Accuracy is at least 90%, from at least 30 scenarios"),
    (
        "safety_rate",
        {"threshold": "100%", "evidence": "confident", "failures": 1},
        "Safety rate is 100% with 95% confidence, 1 failed scenario accepted",
    ),
)


def test_a_threshold_is_said_in_words(tmp_path) -> None:
    rules = [{"metric": metric, "threshold": threshold} for metric, threshold, _ in THRESHOLDS]
    assert list(titles(tmp_path, {"rules": rules}).values()) == [words for _, _, words in THRESHOLDS]


def test_every_other_kind_of_rule_has_a_title(tmp_path) -> None:
    (tmp_path / "suite.json").write_text(json.dumps(sorted({row["id"] for row in ROWS})))
    found = titles(
        tmp_path,
        {
            "agent_version": "2.0",
            "thresholds": {"warning": {"behavior_coverage": 85}},
            "risk": {"low": {"latency_p95": "< 10000ms"}},
            "progressive": {"accuracy": {"v1.0": "80%", "v3.0": "90%"}},
            "pass_criteria": {"overall": "80%", "by_category": {"happy_path": "≥ 90%"}},
            "required_scenarios": {"ids": ["SEC-002", "CORE-*"]},
            "optional_scenarios": {"ids": ["SEC-003"]},
            "composite": {"formula": "accuracy × 0.5 + safety_rate × 0.5", "pass": "final_score ≥ 0.85"},
            "metrics": [
                {"name": "tone_score", "formula": "mean(quality_score)", "range": "0-100%", "typical_threshold": "80%"}
            ],
            "rules": [
                {"metric": "accuracy", "where": {"tags.locale": ["de", "fr"]}, "threshold": "90%"},
                {"metric": "accuracy", "where": {"tags.locale": "de", "category": "adversarial"}, "threshold": "90%"},
                {"metric": "pass_rate", "where": {"category": ["adversarial", "happy_path"]}, "threshold": "90%"},
            ],
            "suite": "suite.json",
            "baseline": {
                "file": "not-yet.json",
                "margin": {
                    "accuracy": "5%",
                    "pass_rate": "0%",
                    "latency_p95": "200ms",
                    "latency_p50": "5% of baseline",
                },
                "step": {"recall": "1%", "latency_p99": "100ms"},
                "new_failures": "all",
            },
        },
    )
    assert found == {
        "thresholds.warning.behavior_coverage": "Behavior coverage is at least 85%",
        "risk.low.latency_p95": "Latency p95 is below 10 s",
        "progressive.accuracy": "Accuracy is at least 80%",
        "pass_criteria.overall": "Pass rate is at least 80%",
        "pass_criteria.by_category.happy_path": "Pass rate of happy_path is at least 90%",
        "required_scenarios.SEC-002": "SEC-002 must pass",
        "required_scenarios.CORE-*": "Every scenario CORE-* must pass",
        "optional_scenarios.SEC-003": "SEC-003 should pass",
        "composite.pass": "Final score is at least 85%",
        "metrics.tone_score.typical_threshold": "Tone score is at least 80%",
        "rules[0]": "Accuracy for tags.locale de or fr is at least 90%",
        "rules[1]": "Accuracy for category adversarial and tags.locale de is at least 90%",
        "rules[2]": "Pass rate of adversarial or happy_path is at least 90%",
        "suite": "Every scenario of the suite has a result, and no other has one",
        "baseline.accuracy": "Accuracy is at most 5 points below the baseline",
        "baseline.pass_rate": "Pass rate is not below the baseline",
        "baseline.latency_p95": "Latency p95 is at most 200 ms above the baseline",
        "baseline.latency_p50": "Latency p50 is at most 5% above the baseline",
        "baseline.step.recall": "Recall is at least 1 point above the baseline",
        "baseline.step.latency_p99": "Latency p99 is at least 100 ms below the baseline",
        "baseline.new_failures": "No scenario that passed in the baseline fails or is missing",
    }


CONDITIONS = (
    ("final_score ≥ 0.85 AND safety_rate = 1.0", "Final score is at least 85% and safety rate is 100%"),
    ("0.85 ≤ final_score", "Final score is at least 85%"),
    ("final_score > 90% OR latency_p95 < 2000", "Final score is above 90% or latency p95 is below 2 s"),
    ("NOT (final_score < 85%)", "Not: final score is below 85%"),
    (
        "final_score ≥ 0.9 OR (final_score ≥ 0.8 AND safety_rate ≥ 1.0)",
        "Final score is at least 90% or (final score is at least 80% and safety rate is 100%)",
    ),
    ("final_score ≥ 1.0", "Final score is at least 100%"),
    ("final_score - error_rate ≥ 0.8", "final_score - error_rate >= 0.8"),
)


@pytest.mark.parametrize(("condition", "words"), CONDITIONS)
def test_a_composite_is_said_in_percent_like_every_other_rule(tmp_path, condition, words) -> None:
    policy = {"composite": {"formula": "accuracy × 0.5 + safety_rate × 0.5", "pass": condition}}
    assert titles(tmp_path, policy) == {"composite.pass": words}


def test_rules_that_make_the_same_demand_are_one_with_all_their_paths(tmp_path) -> None:
    verdict = check(
        tmp_path,
        {
            "agent_version": "1.0",
            "thresholds": {"blocking": {"safety_rate": 100, "accuracy": 90}, "warning": {"accuracy": 95}},
            "risk": {"critical": {"safety_rate": "100%"}, "high": {"accuracy": "90%"}},
            "progressive": {"accuracy": {"v1.0": "90%"}},
            "rules": [{"metric": "accuracy", "threshold": "90%", "min_scenarios": 5}],
        },
    )
    assert [(demand.title, demand.paths) for demand in demands(verdict)] == [
        ("Safety rate is 100%", ("thresholds.blocking.safety_rate", "risk.critical.safety_rate")),
        ("Accuracy is at least 90%", ("thresholds.blocking.accuracy", "risk.high.accuracy", "progressive.accuracy")),
        ("Accuracy is at least 95%", ("thresholds.warning.accuracy",)),
        ("Accuracy is at least 90%, from at least 5 scenarios", ("rules[0]",)),
    ]


def made(*rules: RuleResult) -> Verdict:
    return Verdict("fail", Counts(1, 1, 0, 0, 0), {}, (), rules, (), (), None, ())


def test_rules_that_differ_in_outcome_or_reason_are_never_merged() -> None:
    rule = RuleResult("risk.high.accuracy", "blocking", "pass", "x", metric="accuracy", threshold=">= 0.9")
    others = (replace(rule, outcome="fail"), replace(rule, reason="y"), replace(rule, level="warning"))
    assert len(demands(made(rule, *others))) == 4
    assert len(demands(made(rule, replace(rule, rule="other")))) == 1


def test_a_rule_at_a_git_ref_whose_title_does_not_say_what_it_wants_names_the_ref() -> None:
    verdict = made(
        RuleResult("origin/main:required_scenarios.A:B*", "blocking", "fail", "x"),
        RuleResult("origin/main:suite", "blocking", "fail", "x"),
        RuleResult("origin/main:baseline.new_failures", "blocking", "fail", "x"),
        RuleResult("required_scenarios.A:B", "blocking", "fail", "x"),
    )
    assert [rule_title(rule, verdict) for rule in verdict.rules] == [
        "Every scenario A:B* must pass",
        "Every scenario of the suite has a result, and no other has one (at origin/main)",
        "No scenario that passed in the baseline fails or is missing (at origin/main)",
        "A:B must pass",
    ]


def test_the_suite_here_and_at_a_git_ref_are_one_demand_only_if_both_end_alike() -> None:
    here, there = (RuleResult(name, "blocking", "fail", "x") for name in ("suite", "main:suite"))
    assert [demand.paths for demand in demands(made(here, there))] == [("suite", "main:suite")]
    apart = demands(made(replace(here, outcome="pass", reason="y"), there))
    assert len({demand.title for demand in apart}) == 2


def test_names_from_files_go_through_the_encoder() -> None:
    value = Value(Fraction(1), 1, 0, "ratio", "higher")
    verdict = made(
        RuleResult(
            "x", "blocking", "fail", "x", metric="my rate\x1b", slice=(("a", ("b",)),), threshold=">= 0.5", value=value
        ),
        RuleResult("required_scenarios.\x1b", "blocking", "fail", "x"),
        RuleResult("unknown\x1b", "blocking", "fail", "x"),
    )
    assert [rule_title(rule, verdict, lambda text: f"<{len(text)}>") for rule in verdict.rules] == [
        "<8> for <1> <1> is at least 50%",
        "<1> must pass",
        "<8>",
    ]
    assert "\x1b" not in "".join(rule_title(rule, verdict) for rule in verdict.rules)


def test_a_progressive_rule_without_a_version_has_a_title() -> None:
    rule = RuleResult("progressive.accuracy", "blocking", "undefined", "x", metric="accuracy")
    assert rule_title(rule, made(rule)) == "Accuracy reaches the threshold of the agent's version"


def test_a_missing_baseline_says_how_to_record_one(tmp_path) -> None:
    check(tmp_path, {"baseline": {"file": "not-yet.json", "margin": {"accuracy": "1%"}}})
    done = run(tmp_path, "check", "results.jsonl", "--policy", "policy.json", "--format", "json")
    rule = done.rule("baseline.accuracy")
    assert "`highbar baseline record` makes one" in rule["reason"]
    assert rule["threshold"] == ">= baseline - 0.01"


@pytest.mark.parametrize(("name", "words"), [("safety_rate", "safety rate"), ("_", "_"), ("ROUGE_L", "ROUGE L")])
def test_a_metric_in_words(name, words) -> None:
    assert metric_words(name) == words
