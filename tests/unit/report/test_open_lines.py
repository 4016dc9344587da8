"""What is said about rules that are open while a run goes on, and beforehand about how long that may be."""

from __future__ import annotations

from fractions import Fraction

import pytest

from highbar.model import RuleResult
from highbar.model.stopping import Stopping
from highbar.planning.plans import Chance, EarlyChance
from highbar.report.early_words import expected_line, open_line
from tests.unit.gate.table import value

STANDING = "61 of 75 were good; 63 decide a pass, 41 or fewer a fail; at least 7 more are needed"
SEEN = Stopping("spending", 200, 75, standing=STANDING)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"value": value("61/75"), "stopping": SEEN},
            f"accuracy ≥ 90%: at the last look 81.3%; {STANDING}",
        ),
        (
            {"value": value("61/75"), "stopping": SEEN, "slice": (("category", ("edge_case",)),)},
            f"accuracy of edge_case ≥ 90%: at the last look 81.3%; {STANDING}",
        ),
        ({"value": value(None), "stopping": Stopping("spending", 9, 0, standing="nothing seen")}, "nothing seen"),
        ({"value": value("1/4"), "best": Fraction(3, 4)}, "25.0% if all the rest fails, 75.0% if it passes"),
        ({"value": value("1/4")}, "accuracy ≥ 90%: 25.0%; open"),
        ({"value": value(None)}, "accuracy ≥ 90%: open"),
    ],
)
def test_a_line_has_the_value_what_decides_and_how_far_that_is(fields, said):
    rule = RuleResult(
        "r", "blocking", "inconclusive", "why", metric="accuracy", threshold=">= 0.9", open=True, **fields
    )
    assert open_line(rule).endswith(said)
    assert open_line(rule).startswith("accuracy")


def test_a_rule_without_a_number_is_named():
    assert open_line(RuleResult("required_scenarios.S\x1b", "blocking", "inconclusive", "why")) == (
        "required_scenarios.S\\x1b: open"
    )


def test_what_is_expected_is_said_for_each_true_rate():
    fixed = Chance(Fraction(85, 100), Fraction(9, 10), 200, 0.5, 0.1, 0.4)
    rows = [
        EarlyChance(Fraction(85, 100), Fraction(rate, 1000), 200, 0.5, 0.1, 0.4, expected, fixed, rule="r")
        for rate, expected in ((700, 49.7), (775, 116.8), (850, 190.5))
    ]
    assert expected_line(rows) == "r: of 200 scenarios about 50 if the true rate is 70%, 117 at 77.5%, 190 at 85%"
