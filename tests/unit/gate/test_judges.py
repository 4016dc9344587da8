"""Rules about the judge: what is known passes or fails, what is not known stays open."""

from __future__ import annotations

from fractions import Fraction

import pytest

from highbar.gate.evidence import JudgeKnown
from highbar.gate.judges import NOTHING_RESTS, judge_the_judge
from highbar.model import JudgeRule, RuleResult
from highbar.model.judge_quality import JudgeRate, JudgeReport, LabelsUsed
from highbar.model.rules import JudgeKey

REPORT = JudgeReport(("j",), 10, 20, 0, 0, calibrated=True, labels=LabelsUsed("l", 50, 2, "same run"))
UNKNOWN = JudgeReport(("j",), 10, 20, 0, 0, why="there are none")


def judged(key: JudgeKey, bound: Fraction | None, known: JudgeKnown | None) -> RuleResult:
    return judge_the_judge(JudgeRule(f"judge.{key}", "blocking", key, bound), known)


def rated(low: float, high: float) -> JudgeKnown:
    rate = JudgeRate(Fraction(9, 10), low, high)
    return JudgeKnown(
        JudgeReport(("j",), 1, 1, 0, 0, calibrated=True, labels=REPORT.labels, sensitivity=rate, specificity=rate)
    )


@pytest.mark.parametrize("key", ["min_sensitivity", "min_specificity"])
@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (0.8, 0.95, "pass"),
        (0.85, 0.95, "pass"),
        (0.79999, 0.95, "inconclusive"),
        (0.5, 0.8, "inconclusive"),
        (0.5, 0.79999, "fail"),
    ],
)
def test_a_rate_passes_by_its_lower_bound_and_fails_by_its_upper_one(
    key: JudgeKey, low: float, high: float, outcome: str
) -> None:
    found = judged(key, Fraction(4, 5), rated(low, high))
    assert found.outcome == outcome
    assert key.removeprefix("min_") in found.reason


@pytest.mark.parametrize(("bound", "outcome"), [(49, "pass"), (50, "pass"), (51, "inconclusive")])
def test_fewer_labels_than_demanded_leave_it_open(bound: int, outcome: str) -> None:
    found = judged("min_labels", Fraction(bound), JudgeKnown(REPORT))
    assert found.outcome == outcome
    assert "people labeled 50 trials" in found.reason


@pytest.mark.parametrize("key", ["min_labels", "min_sensitivity", "min_specificity", "uncalibrated"])
def test_a_judge_without_labels_passes_nothing(key: JudgeKey) -> None:
    bound = None if key == "uncalibrated" else Fraction(1, 2)
    found = judged(key, bound, JudgeKnown(UNKNOWN))
    assert found.outcome == "inconclusive"
    assert "there are none" in found.reason


@pytest.mark.parametrize("key", ["min_labels", "min_sensitivity", "min_specificity", "uncalibrated"])
def test_what_could_not_be_looked_at_passes_nothing(key: JudgeKey) -> None:
    bound = None if key == "uncalibrated" else Fraction(1, 2)
    assert judged(key, bound, None).outcome == "inconclusive"
    assert judged(key, bound, JudgeKnown(problem="out of reach")).outcome == "inconclusive"


@pytest.mark.parametrize("key", ["min_labels", "min_sensitivity", "min_specificity", "uncalibrated"])
def test_if_nothing_rests_on_a_judge_the_rules_pass_and_say_so(key: JudgeKey) -> None:
    found = judged(key, None if key == "uncalibrated" else Fraction(1, 2), JudgeKnown())
    assert (found.outcome, found.reason) == ("pass", NOTHING_RESTS)


def test_a_calibrated_judge_is_one() -> None:
    assert judged("uncalibrated", None, JudgeKnown(REPORT)).outcome == "pass"
