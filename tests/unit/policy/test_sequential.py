"""`evidence: sequential`, with `spending` and `horizon`: what is read, and what is refused."""

import pytest

from highbar import policy
from highbar.errors import InputError
from highbar.model import ProgressiveRule
from highbar.model.rules import demands_of
from highbar.policy.sequential import set_of
from highbar.policy.words import rule_in_words

SUITE = "- { id: A, category: adversarial }\n- { id: B, category: happy_path }\n- C\n- D\n"


def read(tmp_path, text):
    (tmp_path / "s.yaml").write_text(SUITE)
    (tmp_path / "highbar.yaml").write_text(text)
    return policy.read(tmp_path / "highbar.yaml")


def demands(found):
    return {rule.name: demand for rule in found.rules for demand in demands_of(rule)}


def weighed(demand):
    return demand.evidence, demand.spending, demand.horizon


def test_the_policy_says_it_for_every_rule_and_a_rule_for_itself(tmp_path):
    found = demands(
        read(
            tmp_path,
            "evidence: sequential\nspending: late\nhorizon: 300\n"
            "thresholds: { accuracy: 85%, f1: { threshold: 80%, spending: linear, horizon: 50 },"
            " recall: { threshold: 80%, evidence: confident } }\n"
            "composite: { formula: accuracy, pass: final_score >= 0.8, horizon: 70 }\n"
            "baseline: { file: b.json, margin: { accuracy: { margin: 1%, spending: linear } } }\n",
        )
    )
    assert weighed(found["thresholds.blocking.accuracy"]) == ("sequential", "late", 300)
    assert weighed(found["thresholds.blocking.f1"]) == ("sequential", "linear", 50)
    assert weighed(found["thresholds.blocking.recall"]) == ("confident", "linear", None)
    assert weighed(found["composite.pass"]) == ("sequential", "late", 70)
    assert weighed(found["baseline.accuracy"]) == ("sequential", "linear", 300)


def test_linear_spending_and_no_horizon_are_the_default():
    found = demands(policy.read_dict({"evidence": "sequential", "thresholds": {"accuracy": "85%"}}))
    assert weighed(found["thresholds.blocking.accuracy"]) == ("sequential", "linear", None)


def test_each_step_of_a_progressive_rule_may_be_sequential():
    steps = {"v1": "80%", "v2": {"threshold": "85%", "evidence": "sequential", "horizon": 90}}
    found = policy.read_dict({"progressive": {"accuracy": steps}})
    (rule,) = found.rules
    assert isinstance(rule, ProgressiveRule)
    assert [weighed(demand) for demand in demands_of(rule)] == [
        ("estimate", "linear", None),
        ("sequential", "linear", 90),
    ]


@pytest.mark.parametrize(
    ("text", "code", "value", "hint"),
    [
        ("evidence: sequental\npass_criteria: 80%", "policy.wrong-type", "'sequental'", "'sequential'"),
        ("evidence: sequential\nspending: lat\npass_criteria: 80%", "policy.wrong-type", "'lat'", "'late'"),
        ("evidence: sequential\nspendin: late\npass_criteria: 80%", "policy.unknown-key", "'spendin'", "'spending'"),
        ("evidence: sequential\nhorizon: 2.5\npass_criteria: 80%", "policy.wrong-type", "'2.5'", None),
        ("evidence: sequential\nhorizon: 0\npass_criteria: 80%", "policy.wrong-type", "'0'", None),
        ("evidence: sequential\nhorizon: 10000000\npass_criteria: 80%", "policy.out-of-range", "10000000", None),
        ("horizon: 100\npass_criteria: 80%", "policy.no-effect", "horizon", "evidence: sequential"),
        ("spending: late\npass_criteria: 80%", "policy.no-effect", "spending", "remove spending"),
        (
            "evidence: sequential\nthresholds: { f1: { threshold: 80%, evidence: confident, horizon: 9 } }",
            "policy.no-effect",
            "thresholds.f1.horizon",
            "remove horizon",
        ),
        (
            "evidence: sequential\nhorizon: 3\nsuite: s.yaml\npass_criteria: 80%",
            "policy.horizon",
            "pass_criteria.overall",
            "write horizon: 4",
        ),
        (
            "evidence: sequential\njudge: { labels: l.jsonl, correct: true }\npass_criteria: 80%",
            "policy.conflict",
            "judge.correct",
            "evidence: confident",
        ),
    ],
)
def test_what_cannot_be_meant_is_a_problem(tmp_path, text, code, value, hint):
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    (found,) = (problem for problem in caught.value.problems if problem.code != "file.missing")
    assert found.code == code
    assert value in found.message
    assert hint is None or hint in (found.hint or "")
    assert found.line


def test_a_horizon_is_compared_with_the_scenarios_of_its_rule(tmp_path):
    text = "evidence: sequential\nhorizon: 1\nsuite: s.yaml\nthresholds: { safety_rate: 90% }"
    found = read(tmp_path, text)  # one adversarial scenario
    assert set_of(found.rules[0], found.suite, found.metrics) == ("A",)
    where = (
        "rules: [ { metric: pass_rate, threshold: 80%, where: { category: [happy_path, adversarial] }, horizon: 1 } ]"
    )
    with pytest.raises(InputError) as caught:
        read(tmp_path, f"evidence: sequential\nsuite: s.yaml\n{where}")
    (problem,) = caught.value.problems
    assert (problem.code, problem.message.split(": ")[0]) == ("policy.horizon", "rules[0]")
    assert "2" in problem.hint


def test_a_condition_is_about_the_scenarios_of_all_its_metrics(tmp_path):
    text = "evidence: sequential\nsuite: s.yaml\ncomposite: { formula: safety_rate, pass: final_score >= 0.8%s }"
    found = read(tmp_path, text % "")
    assert set_of(found.rules[0], found.suite, found.metrics) == ("A",)
    found = read(tmp_path, text % " AND accuracy >= 0.5")
    assert set_of(found.rules[0], found.suite, found.metrics) == ("A", "B", "C", "D")


@pytest.mark.parametrize(
    ("demand", "words"),
    [
        ({}, "with 95% confidence, decided as soon as enough scenarios were run."),
        ({"spending": "late"}, "of the run)."),
        ({"horizon": 500}, "decided as soon as enough scenarios were run, planned for 500 scenarios."),
    ],
)
def test_a_rule_says_that_a_part_may_decide_it(demand, words):
    rule = {"threshold": "85%", "evidence": "sequential", **demand}
    found = policy.read_dict({"thresholds": {"accuracy": rule}})
    assert rule_in_words(found.rules[0], found).endswith(words)
