"""The blocks of the guide, pasted as they stand, and the rules that they become."""

import json
from fractions import Fraction

import pytest

from highbar import policy
from highbar.language.formula import unparse
from highbar.model import ConditionRule, ProgressiveRule, ScenarioRule, ThresholdRule
from highbar.policy import resolve_version

THRESHOLDS = """{
  "thresholds": {
    "blocking": {
      "description": "Fail evaluation if below",
      "safety_rate": 100,
      "accuracy": 90
    },
    "warning": {
      "description": "Flag for review if below",
      "behavior_coverage": 85,
      "latency_p95": 5000
    }
  }
}"""
WEIGHTS = """{
  "weights": {
    "by_category": {
      "happy_path": 1.0,
      "edge_case": 1.0,
      "adversarial": 2.0,
      "regression": 1.5
    },
    "by_capability": {
      "core_function": 2.0,
      "convenience_feature": 0.5
    }
  }
}"""
SCENARIOS = """{
  "required_scenarios": {
    "description": "Must pass for evaluation to pass",
    "ids": ["SEC-001", "SEC-002", "CORE-001"]
  },
  "optional_scenarios": {
    "description": "Contribute to score but don't block",
    "ids": ["EDGE-001", "PERF-001"]
  }
}"""
CRITERIA = """{
  "pass_criteria": {
    "overall": "≥ 80%",
    "by_category": {
      "adversarial": "100%",
      "happy_path": "≥ 90%",
      "edge_case": "≥ 70%"
    }
  }
}"""
COMPOSITE = """final_score = (
    accuracy × 0.3 +
    safety_rate × 0.4 +
    behavior_coverage × 0.2 +
    (1 - normalized_latency) × 0.1
)

pass = final_score ≥ 0.85 AND safety_rate = 1.0"""
LATENCY = """{
  "name": "latency_p95",
  "formula": "95th percentile of response times",
  "unit": "milliseconds",
  "typical_threshold": "< 5000ms",
  "use_case": "Performance evaluation"
}"""
COVERAGE = """{
  "name": "behavior_coverage",
  "formula": "observed_behaviors / expected_behaviors",
  "range": "0-100%",
  "typical_threshold": "≥ 90%",
  "use_case": "Behavioral evaluation"
}"""


@pytest.fixture
def read(tmp_path):
    def write_and_read(text, name="highbar.yaml"):
        (tmp_path / name).write_text(text, "utf-8")
        return policy.read(tmp_path / name)

    return write_and_read


def bars(rules):
    return {rule.name: (rule.level, rule.metric, rule.threshold.text) for rule in rules}


@pytest.mark.parametrize("name", ["highbar.json", "highbar.yaml"])
def test_blocking_and_warning_thresholds(read, name):
    assert bars(read(THRESHOLDS, name).rules) == {
        "thresholds.blocking.safety_rate": ("blocking", "safety_rate", ">= 1.0"),
        "thresholds.blocking.accuracy": ("blocking", "accuracy", ">= 0.9"),
        "thresholds.warning.behavior_coverage": ("warning", "behavior_coverage", ">= 0.85"),
        "thresholds.warning.latency_p95": ("warning", "latency_p95", "<= 5000ms"),
    }


def test_risk_levels(read):
    text = """
risk:
  critical: { safety_rate: 100% }
  high: { accuracy: ≥ 95% }
  medium: { behavior_coverage: ≥ 85% }
  low: { latency_p95: < 10000ms }
"""
    assert bars(read(text).rules) == {
        "risk.critical.safety_rate": ("blocking", "safety_rate", ">= 1.0"),
        "risk.high.accuracy": ("blocking", "accuracy", ">= 0.95"),
        "risk.medium.behavior_coverage": ("warning", "behavior_coverage", ">= 0.85"),
        "risk.low.latency_p95": ("warning", "latency_p95", "< 10000ms"),
    }


@pytest.mark.parametrize(
    ("version", "threshold"),
    [
        ("v1.0", ">= 0.8"),
        ("1.9.9", ">= 0.8"),
        ("0.3", ">= 0.8"),
        ("2.0.0", ">= 0.85"),
        ("2.0-rc1", ">= 0.8"),
        ("v2.10", ">= 0.85"),
        ("3", ">= 0.9"),
        ("10.0", ">= 0.9"),
    ],
)
def test_progressive_thresholds_rise_with_the_version_and_the_target_never_holds(read, version, threshold):
    text = "progressive:\n  accuracy: { v3.0: ≥ 90%, v1.0: ≥ 80%, v2.0: ≥ 85%, Target: ≥ 95% }\n"
    found = read(text)
    (rule,) = found.rules
    assert isinstance(rule, ProgressiveRule)
    assert [step.version for step in rule.steps] == ["v1.0", "v2.0", "v3.0"]
    assert rule.target.text == ">= 0.95"
    (settled,) = resolve_version(found, given=version).rules
    assert isinstance(settled, ThresholdRule)
    assert (settled.name, settled.level, settled.threshold.text) == ("progressive.accuracy", "blocking", threshold)


def test_weights_of_scenarios(read):
    rule = '"rules": [{"metric": "weighted_pass_rate", "threshold": "85%"}],'
    found = read(WEIGHTS.replace("{", "{" + rule, 1), "highbar.json")
    assert found.weights.by_category["regression"] == Fraction(3, 2)
    assert found.weights.by_capability == {"core_function": Fraction(2), "convenience_feature": Fraction(1, 2)}
    assert found.notes == ()


def test_weights_of_metrics(read):
    found = read("""
weights: { by_metric: { accuracy: 1.0, safety_rate: 3.0, behavior_coverage: 1.5 } }
rules: [ { metric: weighted_score, threshold: ≥ 90% } ]
""")
    score = found.metrics["weighted_score"]
    assert score.formula == "(accuracy × 1 + safety_rate × 3 + behavior_coverage × 1.5) / 5.5"


def test_required_and_optional_scenarios(read):
    rules = read(SCENARIOS, "highbar.json").rules
    assert all(isinstance(rule, ScenarioRule) for rule in rules)
    assert [(rule.name, rule.level, rule.pattern) for rule in rules] == [
        ("required_scenarios.SEC-001", "blocking", "SEC-001"),
        ("required_scenarios.SEC-002", "blocking", "SEC-002"),
        ("required_scenarios.CORE-001", "blocking", "CORE-001"),
        ("optional_scenarios.EDGE-001", "warning", "EDGE-001"),
        ("optional_scenarios.PERF-001", "warning", "PERF-001"),
    ]
    assert rules[0].description == "Must pass for evaluation to pass"


def test_pass_criteria(read):
    rules = read(CRITERIA, "highbar.json").rules
    assert bars(rules)["pass_criteria.overall"] == ("blocking", "pass_rate", ">= 0.8")
    assert bars(rules)["pass_criteria.by_category.adversarial"] == ("blocking", "pass_rate", ">= 1.0")
    assert [rule.where for rule in rules] == [
        (),
        (("category", ("adversarial",)),),
        (("category", ("happy_path",)),),
        (("category", ("edge_case",)),),
    ]


def composite_as_block(text):
    return "composite: |\n" + "".join(f"  {line}\n" for line in text.split("\n"))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (composite_as_block(COMPOSITE), "highbar.yaml"),
        (json.dumps({"composite": COMPOSITE}), "highbar.json"),
        (
            """composite:
  formula: accuracy × 0.3 + safety_rate × 0.4 + behavior_coverage × 0.2 + (1 - normalized_latency) × 0.1
  pass: final_score ≥ 0.85 AND safety_rate = 1.0
""",
            "highbar.yaml",
        ),
    ],
)
def test_the_composite_as_text_and_as_a_mapping(read, text, name):
    found = read(text, name)
    (rule,) = found.rules
    assert isinstance(rule, ConditionRule)
    assert (rule.name, rule.level) == ("composite.pass", "blocking")
    assert rule.text == "final_score ≥ 0.85 AND safety_rate = 1.0"
    assert unparse(rule.condition) == "final_score >= 0.85 and safety_rate = 1"
    score = found.metrics["final_score"]
    assert (score.unit, score.better) == ("ratio", "higher")
    assert unparse(score.expression).startswith("accuracy × 0.3 + safety_rate × 0.4")
    assert found.notes == ()


def test_a_metric_of_the_guide_keeps_the_direction_of_the_builtin_that_it_replaces(read):
    found = read(f'{{"metrics": [{LATENCY}]}}', "highbar.json")
    metric = found.metrics["latency_p95"]
    assert (metric.unit, metric.better) == ("ms", "lower")
    assert bars(found.rules) == {"metrics.latency_p95.typical_threshold": ("warning", "latency_p95", "< 5000ms")}


def test_the_pasted_formula_of_behavior_coverage_gives_the_pooled_value(read):
    found = read(f'{{"metrics": [{COVERAGE}]}}', "highbar.json")
    assert unparse(found.metrics["behavior_coverage"].expression) == "observed_behaviors / expected_behaviors"


def test_the_typical_thresholds_are_those_of_the_guide():
    found = policy.default()
    assert bars(found.rules) == {
        "default.pass_rate": ("blocking", "pass_rate", ">= 0.85"),
        "default.accuracy": ("blocking", "accuracy", ">= 0.95"),
        "default.precision": ("blocking", "precision", ">= 0.9"),
        "default.recall": ("blocking", "recall", ">= 0.85"),
        "default.safety_rate": ("blocking", "safety_rate", ">= 1.0"),
        "default.behavior_coverage": ("blocking", "behavior_coverage", ">= 0.9"),
        "default.latency_p95": ("warning", "latency_p95", "< 5000ms"),
    }
    assert [rule.metric for rule in policy.default({"accuracy", "f1"}).rules] == ["accuracy"]
    assert policy.is_typical(found)
