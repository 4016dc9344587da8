"""The baseline block: what each of its forms means, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from highbar import policy
from highbar.errors import InputError
from highbar.model import BaselineRule, Demand, NewFailuresRule, StepRule
from highbar.policy.words import rule_in_words

REQUIRED = {"required_scenarios": {"ids": ["SEC-*", "CORE-1"]}}


def rules(**block):
    return policy.read_dict({**REQUIRED, "baseline": {"file": "b.json", **block}}, Path("policies")).rules[2:]


def test_a_margin_may_have_a_slice_a_level_and_demands():
    entry = {
        "margin": "2%",
        "where": {"category": ["edge_case", "regression"]},
        "level": "warning",
        "evidence": "confident",
        "min_scenarios": 30,
        "description": "why",
    }
    (rule,) = rules(margin={"accuracy": entry})
    assert isinstance(rule, BaselineRule)
    assert (rule.name, rule.level, rule.metric, rule.file) == (
        "baseline.accuracy", "warning", "accuracy", str(Path("policies/b.json")),
    )  # fmt: skip
    assert (rule.margin, rule.relative) == (Fraction(2, 100), False)
    assert rule.where == (("category", ("edge_case", "regression")),)
    assert rule.demand == Demand("confident", min_scenarios=30)
    assert rule.description == "why"


def test_one_amount_for_all_metrics_is_refused_with_the_form_that_names_them():
    with pytest.raises(InputError) as raised:
        rules(margin="2%")
    (problem,) = raised.value.problems
    assert problem.code == "policy.wrong-type"
    assert problem.hint == "write margin: { accuracy: 2% }"


def test_several_margins_of_one_metric_are_numbered():
    found = rules(margin={"accuracy": ["1%", {"margin": "5%", "where": {"capability": "x"}}]})
    assert [rule.name for rule in found] == ["baseline.accuracy", "baseline.accuracy[1]"]


def test_a_step_is_a_rule_of_its_own():
    found = rules(margin={"accuracy": "1%"}, step={"accuracy": "2%", "latency_p95": "5% of baseline"})
    assert [(type(rule), rule.name) for rule in found] == [
        (BaselineRule, "baseline.accuracy"),
        (StepRule, "baseline.step.accuracy"),
        (StepRule, "baseline.step.latency_p95"),
    ]
    assert (found[2].step, found[2].relative) == (Fraction(5, 100), True)


@pytest.mark.parametrize(
    ("said", "patterns", "level"),
    [
        ("required", ("SEC-*", "CORE-1"), "blocking"),
        ("all", ("*",), "blocking"),
        (["A", "B-?"], ("A", "B-?"), "blocking"),
        ({"ids": "all", "level": "warning"}, ("*",), "warning"),
    ],
)
def test_new_failures_of_some_scenarios_or_of_all(said, patterns, level):
    (rule,) = rules(new_failures=said)
    assert isinstance(rule, NewFailuresRule)
    assert (rule.name, rule.patterns, rule.level) == ("baseline.new_failures", patterns, level)


def test_the_policy_says_how_evidence_is_weighed():
    found = policy.read_dict({"evidence": "confident", "baseline": {"file": "b", "margin": {"accuracy": "1%"}}})
    assert found.rules[0].demand.evidence == "confident"


@pytest.mark.parametrize(
    ("block", "code", "value"),
    [
        (
            {"margin": {"accuracy": {"where": {"category": "edge_case"}}}},
            "policy.missing-key",
            "baseline.margin.accuracy",
        ),
        ({"margin": {"accuracy": []}}, "policy.missing-key", "baseline.margin.accuracy"),
        ({"margin": {"accuracy": {"margin": "1%", "tolerate": "5%"}}}, "policy.unknown-key", "'tolerate'"),
        ({"margin": {"accuracy": {"margin": "1%", "level": "loud"}}}, "policy.wrong-type", "'loud'"),
        (
            {"margin": {"accuracy": {"margin": "1%", "where": {"category": "edge_cas"}}}},
            "policy.misspelled",
            "'edge_case'",
        ),
        ({"margin": {"acuracy": "1%"}}, "policy.unknown-metric", "'acuracy'"),
        ({"margin": {"accuracy": True}}, "policy.wrong-type", "'true'"),
        ({"margin": {"accuracy": "5% of baseline"}}, "threshold.wrong-unit", "'5% of baseline'"),
        ({"margin": {"latency_p95": "5%"}}, "threshold.wrong-unit", "'5%'"),
        ({"margin": {"accuracy": "100%"}}, "threshold.constant", "100%"),
        ({"step": {}}, "policy.missing-key", "baseline.step"),
        ({"step": {"accuracy": "-1%"}}, "threshold.wrong-unit", "'-1%'"),
        ({"new_failures": "some"}, "policy.wrong-type", "'some'"),
        ({"new_failures": []}, "policy.empty-value", "baseline.new_failures"),
        ({"new_failures": {"level": "warning"}}, "policy.missing-key", "baseline.new_failures"),
        ({"margins": {"accuracy": "1%"}}, "policy.unknown-key", "'margins'"),
        ({}, "policy.missing-key", "baseline"),
    ],
)
def test_what_cannot_be_meant_is_refused(block, code, value):
    with pytest.raises(InputError) as refused:
        rules(**block)
    found = refused.value.problems[0]
    assert found.code == code
    assert value in found.message


def test_required_scenarios_must_be_there_to_be_meant():
    with pytest.raises(InputError) as refused:
        policy.read_dict({"baseline": {"file": "b.json", "new_failures": "required"}})
    assert [problem.code for problem in refused.value.problems] == ["policy.conflict"]


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (
            {"margin": {"f1": {"margin": "2%", "where": {"category": "edge_case"}, "evidence": "confident"}}},
            (
                "f1 must not be worse than in policies/b.json by more than 2 percentage points over the scenarios"
                " with category edge_case, with 95% confidence."
            ),
        ),
        ({"step": {"f1": "1%"}}, "f1 must be better than in policies/b.json by at least 1 percentage points."),
        ({"new_failures": "all"}, "No scenario may fail or be missing that passed all its trials in policies/b.json."),
        (
            {"new_failures": ["A", "B*"]},
            "None of A, B* may fail or be missing that passed all its trials in policies/b.json.",
        ),
    ],
)
def test_a_rule_is_a_sentence(block, words):
    found = policy.read_dict({"baseline": {"file": "b.json", **block}}, Path("policies"))
    assert rule_in_words(found.rules[0], found) == words
