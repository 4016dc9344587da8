"""Small suites on which the product and the oracle once differed, kept so that they never do again."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

import highbar
from tests.oracle.comparing import as_json, differences
from tests.oracle.judging import judge

ANY = {"thresholds": {"blocking": {"pass_rate": "≥ 50%", "latency_p95": "≤ 5s"}, "warning": {"pass_at_1": "≥ 50%"}}}

CASES = {
    "an error without a latency anywhere still ranks": [{"id": "a", "error": "x"}],
    "a null quality is no quality": [{"id": "a", "error": "x", "tokens_used": 5, "quality_score": None}],
    "an output of spaces is blank": [
        {"id": str(at), "must_not": {"x": False}, "output": output}
        for at, output in enumerate(("\u00a0", "\u3000", "\u2003", "\x0b", "\x0c", "\x85", "\u2028", "\x1c", "ok"))
    ],
    "a violated error that asks for nothing counts once": [
        {"id": "a", "trial": 1, "violations": 3, "error": "crash"},
        {"id": "a", "trial": 2, "expected_behaviors": ["x"], "behaviors": ["x"]},
    ],
    "an error that records no quality has the quality 0": [
        {"id": "a", "trial": 1, "quality_score": 0.25, "tokens_used": 1234},
        {"id": "a", "trial": 2, "tokens_used": 1, "error": "crash"},
        {"id": "b", "quality_score": 1, "tokens_used": 7},
    ],
    "pass_at_K says how many trials are undecided, and its value at best": [{"id": "a", "trial": 1}],
    "a blank trial has no latency where nobody has": [{"id": "a", "trial": 1}],
    "an empty mapping of must-nots says nothing": [{"id": "a", "must_not": {}}, {"id": "b", "correct": True}],
    "quality in one trial and tokens in another are both there": [
        {"id": "a", "trial": 1, "quality_score": 0.5},
        {"id": "a", "trial": 2, "tokens_used": 9},
        {"id": "b", "quality_score": 1, "tokens_used": 1},
    ],
    "a blank trial lacks as many behaviors as its sibling expects": [
        {"id": "a", "trial": 1, "expected_behaviors": ["x", "y"], "behaviors": ["x"]},
        {"id": "a", "trial": 2},
    ],
}


@pytest.mark.parametrize("case", sorted(CASES))
def test_they_agree_now(case):
    rows = [*CASES[case], {"id": "judged", "violations": []}]
    assert differences(as_json(highbar.check(rows, ANY)), judge(rows, ANY), ANY) == []


def test_an_error_lacks_the_behaviors_that_only_the_suite_expects(tmp_path):
    rows = [
        {"id": "a", "trial": 1, "error": "crash"},
        {"id": "b", "expected_behaviors": ["x"], "behaviors": ["x"]},
    ]
    suite = [{"id": "a", "expected_behaviors": ["x"]}, "b"]
    (tmp_path / "suite.json").write_text(json.dumps(suite))
    policy = {**ANY, "suite": str(tmp_path / "suite.json")}
    judged = judge(rows, policy, suite)
    assert differences(as_json(highbar.check(rows, policy)), judged, policy) == []
    assert judged.whole["behavior_coverage_pooled"] == Fraction(1, 2)


def test_the_absence_of_an_optional_scenario_of_the_suite_only_warns(tmp_path):
    rows, suite = [{"id": "a", "passed": True}], ["a", "b"]
    (tmp_path / "suite.json").write_text(json.dumps(suite))
    policy = {"suite": str(tmp_path / "suite.json"), "optional_scenarios": {"ids": ["b"]}}
    judged = judge(rows, policy, suite)
    assert differences(as_json(highbar.check(rows, policy)), judged, policy) == []
    assert judged.verdict == "pass"
