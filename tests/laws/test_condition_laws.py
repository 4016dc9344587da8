"""Laws of conditions with confidence, for every operator, and at values that equal the number in the condition."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given

import highbar
from tests.oracle.suites import examples, seeded

pytestmark = pytest.mark.slow

OPERATORS = (">=", ">", "<=", "<", "=", "!=")
FORMULAS = {
    "pass_rate - accuracy": lambda passed, correct: passed - correct,
    "pass_rate * accuracy": lambda passed, correct: passed * correct,
    "2 * accuracy - pass_rate": lambda passed, correct: 2 * correct - passed,
    "min(pass_rate, accuracy) - 0.5 * accuracy": lambda passed, correct: min(passed, correct) - correct / 2,
}
SHAPES = ("{left} {operator} {right}", "NOT ({left} {operator} {right})", "{right} {operator} {left}")


@examples(3)
@given(seeded())
def test_confidence_never_decides_otherwise_than_the_estimate_at_any_operator(random):
    scenarios = random.choice((8, 20, 40))  # so that every share is a decimal number
    shares = [random.randrange(scenarios + 1) for _ in range(2)]
    rows = [{"id": f"s{n}", "passed": n < shares[0], "correct": n < shares[1]} for n in range(scenarios)]
    for _ in range(3):
        text = condition(random, *(Decimal(share) / scenarios for share in shares))
        estimate, confident = (outcome(rows, text, evidence) for evidence in ("estimate", "confident"))
        assert confident in (estimate, "inconclusive"), (shares, scenarios, text)


def condition(random, passed, correct):
    """A formula compared with its own value, or with a number just beside it."""
    formula, compute = random.choice(list(FORMULAS.items()))
    number = compute(passed, correct) + random.choice((Decimal(0), Decimal(0), Decimal("0.01"), Decimal("-0.01")))
    shape = random.choice(SHAPES)
    # A formula on both sides: a bare negative number, or one outside the range, would be refused.
    right = f"{number + 2} - 2"
    return shape.format(left=formula, operator=random.choice(OPERATORS), right=right)


def outcome(rows, text, evidence):
    composite = {"formula": "accuracy", "pass": text, "evidence": evidence}
    return highbar.check(rows, {"composite": composite}).rules[0].outcome
