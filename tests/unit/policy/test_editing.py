"""New numbers in a policy's text: only the digits change, in the style that the file has."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from msgspec.structs import replace

from highbar import policy
from highbar.language.threshold import canonical
from highbar.model import ThresholdRule
from highbar.policy.editing import PolicyText

YAML, JSON = Path("highbar.yaml"), Path("highbar.json")


def raised(text, *values, path=YAML):
    """The text with its thresholds, in their order, at these values."""
    data = text.encode("utf-8")
    rules = [rule for rule in policy.read(path, data).rules if isinstance(rule, ThresholdRule)]
    text_ = PolicyText(data)
    edits = [
        (text_.written(rule.threshold_place, rule.threshold), at(rule, value))
        for rule, value in zip(rules, values, strict=True)
    ]
    return text_.edited(edits).decode("utf-8")


def at(rule, value):
    value = Fraction(value)
    return replace(rule.threshold, value=value, text=canonical(rule.threshold.operator, value, rule.threshold.unit))


@pytest.mark.parametrize(
    ("metric", "before", "value", "after"),
    [
        ("accuracy", "≥ 85%", "0.931", "≥ 93.1%"),
        ("accuracy", "'>= 85%'", "0.931", "'>= 93.1%'"),
        ("accuracy", '"≥85 %"', "0.9", '"≥90 %"'),
        ("accuracy", '"\\u2265 85%"', "0.9", '"\\u2265 90%"'),
        ("accuracy", "85", "0.931", "93.1"),
        ("accuracy", "85.0", "0.9", "90"),
        ("accuracy", "0.85", "0.931", "0.931"),
        ("accuracy", "0.85", "1", "1.0"),
        ("accuracy", "0", "1", "1.0"),
        ("accuracy", "85%", "1", "100%"),
        ("accuracy", "≥  0.85", "0.9", "≥  0.9"),
        ("error_rate", "≤ 0.05", "0.02", "≤ 0.02"),
        ("error_rate", "< 5%", "0.005", "< 0.5%"),
        ("latency_p95", "< 5000ms", "4820", "< 4820ms"),
        ("latency_p95", "5s", "3420", "3.42s"),
        ("latency_p95", "5000", "4999.5", "4999.5"),
        ("cost_per_pass", "0.05", "0.0322", "0.0322"),
        ("token_efficiency", "{ threshold: 0.002, evidence: confident }", "0.0021",
         "{ threshold: 0.0021, evidence: confident }"),
    ],
)  # fmt: skip
def test_a_threshold_keeps_its_style(metric, before, value, after):
    text = "# top\nthresholds:\n  blocking:   # why\n    {metric}: {threshold}   # said 85% before\n"
    assert raised(text.format(metric=metric, threshold=before), value) == text.format(metric=metric, threshold=after)


def test_several_thresholds_of_one_line_are_changed_at_once():
    text = "thresholds: { blocking: { accuracy: 85%, recall: 0.8, f1: 85 }, warning: { precision: ≥ 9% } }\n"
    assert raised(text, "0.901", "0.9", "1", "0.1") == (
        "thresholds: { blocking: { accuracy: 90.1%, recall: 0.9, f1: 100 }, warning: { precision: ≥ 10% } }\n"
    )


def test_json_keeps_its_layout():
    text = (
        '{"thresholds": {"blocking":\t{"accuracy": 85,\n "recall":"≥ 80%"}},\n'
        '"rules": [{"metric":"f1","threshold":0.5}]}'
    )
    changed = text.replace("85", "90").replace("80", "85").replace("0.5", "0.6")
    assert raised(text, "0.9", "0.85", "0.6", path=JSON) == changed


@pytest.mark.parametrize(
    "text",
    [
        "thresholds: { description: '🦊é́ naïve ＡＢ', blocking: { accuracy: ≥ 85% } }\n",
        "thresholds:\n  blocking:\n    ? accuracy\n    : 85%\n",
        "thresholds:\n  blocking:\n    accuracy:\n      85%\n",
        "%YAML 1.2\n---\nthresholds:\n  'blocking': {\"accuracy\" : 85%}\n...\n",
    ],
    ids=["wide-characters", "complex-key", "next-line", "directives"],
)
def test_the_place_is_right_whatever_stands_around_it(text):
    assert raised(text, "0.9") == text.replace("85%", "90%")


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_and_the_byte_order_mark_stay(mark, end):
    lines = ["thresholds:", "  blocking:", "    accuracy: 85%  # naïve ✓", "    recall: 80%", "# end"]
    after = [*lines[:2], "    accuracy: 90%  # naïve ✓", "    recall: 85%", "# end"]
    assert raised(mark + end.join(lines), "0.9", "0.85") == mark + end.join(after)


def test_every_kind_of_rule_has_the_place_of_its_threshold():
    text = """\
risk: { low: { latency_p95: < 10000ms } }
pass_criteria:
  overall: ≥ 80%
  by_category: { adversarial: 90% }
metrics:
  - { name: mine, formula: passed_scenarios / total_scenarios, range: 0-100%, typical_threshold: ≥ 50% }
rules:
  - metric: pass_rate
    where: { category: edge_case }
    threshold: 0.7
"""
    found = raised(text, "9000", "0.81", "0.95", "0.75", "0.6")
    for old, new in [("10000ms", "9000ms"), ("80%", "81%"), ("adversarial: 90%", "adversarial: 95%"), ("0.7", "0.75")]:
        text = text.replace(old, new)
    assert found == text.replace("≥ 50%", "≥ 60%")


def test_a_step_of_a_progressive_rule_has_its_place_too():
    text = "progressive:\n  accuracy: { v1.0: ≥ 80%, v2.0: { threshold: 85% }, target: ≥ 95% }\n"
    (rule,) = policy.read(YAML, text.encode()).rules
    text_ = PolicyText(text.encode())
    edits = [
        (text_.written(step.threshold_place, step.threshold), replace(step.threshold, value=Fraction(9, 10)))
        for step in rule.steps
    ]
    found = text_.edited(edits).decode()
    assert found == "progressive:\n  accuracy: { v1.0: ≥ 90%, v2.0: { threshold: 90% }, target: ≥ 95% }\n"


@pytest.mark.parametrize(
    "text",
    [
        'thresholds: { blocking: { accuracy: "\\\n 85%" } }\n',
        'thresholds: { blocking: { accuracy: "8\\x35%" } }\n',
    ],
    ids=["folded", "escaped"],
)
def test_what_cannot_be_changed_for_certain_has_no_number(text):
    (rule,) = policy.read(YAML, text.encode()).rules
    assert PolicyText(text.encode()).written(rule.threshold_place, rule.threshold) is None


def test_a_threshold_that_is_not_what_stands_there_has_no_number():
    (rule,) = policy.read(YAML, b"thresholds: { blocking: { accuracy: 85% } }\n").rules
    other = PolicyText(b"thresholds: { blocking: { accuracy: 86% } }\n")
    assert other.written(rule.threshold_place, rule.threshold) is None
