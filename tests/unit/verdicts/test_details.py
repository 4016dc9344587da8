"""The comparisons that a condition consists of, as a report draws them."""

from __future__ import annotations

import pytest

from highbar.language import formula
from highbar.model import ConditionRule, Demand
from highbar.verdicts.details import condition_parts
from tests.unit.gate.table import evidence, value
from tests.unit.gate.test_rules import ACCURACY


def parts(condition):
    rule = ConditionRule("composite.pass", "blocking", formula.parse_condition(condition), condition, Demand())
    known = evidence({"accuracy": value("9/10"), "safety_rate": value("1")})
    return [(one.rule, one.metric, one.threshold, one.value.value) for one in condition_parts([ACCURACY, rule], known)]


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("accuracy >= 0.8", [("accuracy", ">= 0.8")]),
        ("0.8 <= accuracy", [("accuracy", ">= 0.8")]),
        ("0.8 < accuracy", [("accuracy", "> 0.8")]),
        ("1 >= accuracy", [("accuracy", "<= 1")]),
        ("1 > accuracy", [("accuracy", "< 1")]),
        ("accuracy >= 0.8 AND safety_rate == 1", [("accuracy", ">= 0.8"), ("safety_rate", "= 1")]),
        ("accuracy >= 0.8 OR (safety_rate >= 1 AND accuracy > 0.5)",
         [("accuracy", ">= 0.8"), ("safety_rate", ">= 1"), ("accuracy", "> 0.5")]),
        ("NOT accuracy >= 0.8", []),
        ("accuracy >= safety_rate", []),
    ],
)  # fmt: skip
def test_every_comparison_with_a_number_is_found(condition, found):
    assert [(metric, threshold) for _, metric, threshold, _ in parts(condition)] == found


def test_a_part_has_its_rule_and_its_value():
    (part,) = parts("accuracy >= 0.8")
    assert part == ("composite.pass", "accuracy", ">= 0.8", value("9/10").value)
