"""How well a judge did on the canaries: answers that people know to be good or bad, and that every run has judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from highbar.model.judge_quality import CanaryReport
from highbar.model.judgments import JudgeAnswer, LabeledTrial
from highbar.statistics.judges import canary_test
from highbar.suite import Canary

SUSPICIOUS = 0.01
"""The p-value below which a judge has failed its canaries: with its calibrated error rates, this would be too rare."""
ASSUMED = (0.9, 0.9)
"""Sensitivity and specificity of a judge that was never calibrated."""
Rates = tuple[float, float]


def canary_result(
    canaries: Iterable[Canary], answers: Mapping[str, JudgeAnswer], rates: Rates | None = None
) -> CanaryReport | None:
    """How many statements about canaries the judge got wrong, and whether chance explains it; None if there are none.

    `cannot_tell` counts as wrong, and so does every statement of a canary without a usable answer. `rates` are
    sensitivity and specificity for single statements.
    """
    counts = {True: [0, 0], False: [0, 0]}
    for canary in canaries:
        answer = answers.get(canary.id) or JudgeAnswer(failure="it was not asked")
        for name, observed in canary.observed.items():
            judgment = answer.statements[name].judgment if name in answer.statements else "cannot_tell"
            counts[observed][0] += judgment != ("observed" if observed else "not_observed")
            counts[observed][1] += 1
    (wrong_true, true), (wrong_false, false) = counts[True], counts[False]
    if not true + false:
        return None
    p_value = p_value_of((wrong_true, true), (wrong_false, false), rates or ASSUMED)
    return CanaryReport(true + false, wrong_true + wrong_false, p_value, failed=p_value < SUSPICIOUS)


def p_value_of(true: tuple[int, int], false: tuple[int, int], rates: Rates) -> float:
    """The smallest p-value of three tests, times three (Bonferroni), at most 1.

    The tests are of all statements, of the true ones and of the false ones: a judge that always says the same is wrong
    on one side only.
    """
    tests = ((true, false), (true, (0, 0)), ((0, 0), false))
    return min(1.0, len(tests) * min(canary_test(*one, *other, *rates) for one, other in tests))


def distrust(result: CanaryReport | None) -> str | None:
    """Why a judge is not believed; None if it is believed."""
    if result is None or not result.failed:
        return None
    return f"it failed its canaries: {result.wrong} of {result.statements} statements wrong"


def statement_rates(trials: Iterable[LabeledTrial]) -> Rates | None:
    """Sensitivity and specificity for single statements, from people's labels; None if either cannot be computed."""
    right, all_ = {True: 0, False: 0}, {True: 0, False: 0}
    for trial in trials:
        for judgment, observed in trial.statements.values():
            if observed is not None:
                all_[observed] += 1
                right[observed] += judgment == ("observed" if observed else "not_observed")
    if not all(all_.values()):
        return None
    # With a rate of exactly 1, a single wrong canary would have probability 0. So one more label, half right, is added.
    sensitivity, specificity = ((right[one] + 0.5) / (all_[one] + 1) for one in (True, False))
    return sensitivity, specificity
