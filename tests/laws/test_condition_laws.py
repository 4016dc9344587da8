"""Laws of conditions with confidence, for every operator, and at values that equal the number in the condition."""

from __future__ import annotations

import operator
from decimal import Decimal

import pytest
from hypothesis import given

import highbar
from tests.oracle.suites import examples, seeded

pytestmark = pytest.mark.slow

OPERATORS = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
    "=": operator.eq,
    "!=": operator.ne,
}
FORMULAS = {  # each rises with one metric and falls with another: what only worse results meet would be refused
    "pass_rate - accuracy": lambda passed, correct: passed - correct,
    "pass_rate - accuracy * accuracy": lambda passed, correct: passed - correct * correct,
    "2 * accuracy - pass_rate": lambda passed, correct: 2 * correct - passed,
    "min(pass_rate, accuracy) - 0.5 * accuracy": lambda passed, correct: min(passed, correct) - correct / 2,
}
BESIDE = (Decimal(0), Decimal(0), Decimal("0.01"), Decimal("-0.01"))


@examples(3)
@given(seeded())
def test_confidence_never_decides_otherwise_than_the_estimate_at_any_operator(random):
    scenarios = random.choice((8, 20, 40))  # so that every share is a decimal number
    shares = [random.randrange(1, scenarios) for _ in range(2)]
    rows = [{"id": f"s{n}", "passed": n < shares[0], "correct": n < shares[1]} for n in range(scenarios)]
    formula, compute = random.choice(list(FORMULAS.items()))
    value = compute(*(Decimal(share) / scenarios for share in shares))
    for sign, holds in OPERATORS.items():
        number = value + random.choice(BESIDE)
        text = f"{formula} {sign} {number + 2} - 2"  # a negative number alone cannot be written
        is_negated = random.random() < 0.5
        estimate = "pass" if holds(value, number) != is_negated else "fail"
        found = judged(rows, f"NOT ({text})" if is_negated else text)
        assert found in (estimate, "inconclusive"), (shares, scenarios, text, is_negated)


def judged(rows, text):
    composite = {"formula": "accuracy", "pass": text, "evidence": "confident"}
    return highbar.check(rows, {"composite": composite}).rules[0].outcome
