"""The oracle's reading of thresholds, versions and patterns, on examples worked by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.oracle.judging import matches, read_threshold, step_for


@pytest.mark.parametrize(
    ("given", "unit", "lower", "bound"),
    [
        (95, "ratio", False, (">=", "0.95")),
        (0.95, "ratio", False, (">=", "0.95")),
        (1.0, "ratio", False, (">=", "1")),
        ("1%", "ratio", False, (">=", "0.01")),
        ("> 0.5", "ratio", False, (">", "0.5")),
        ("2%", "ratio", True, ("<=", "0.02")),
        (5000, "ms", True, ("<=", "5000")),
        ("< 5s", "ms", True, ("<", "5000")),
        ({"threshold": "≤ 1.5 s"}, "ms", True, ("<=", "1500")),
    ],
)
def test_thresholds_are_read_exactly(given, unit, lower, bound):
    read = read_threshold(given, unit, lower=lower)
    assert (read.operator, read.value) == (bound[0], Fraction(bound[1]))


@pytest.mark.parametrize(
    ("version", "step"),
    [
        ("0.9", "one"),
        ("1.0", "one"),
        ("v1.10", "one"),
        ("2", "two"),
        ("2.9.9", "two"),
        ("v3.0.0", "three"),
        ("9", "three"),
    ],
)
def test_the_highest_step_at_or_below_the_version_holds(version, step):
    assert step_for(version, {"v3.0": "three", "v1.0": "one", "v2.0": "two", "target": "never"}) == step


def test_only_stars_and_question_marks_are_patterns():
    assert matches("SEC-001", "SEC-*")
    assert matches("SEC-1", "SEC-?")
    assert not matches("SEC-12", "SEC-?")
    assert matches("[a]", "[a]")
    assert not matches("a", "[a]")
