"""What a judge made of the canaries: answers that people know to be good or bad, judged in every run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from highbar.model.judgments import JudgeAnswer, LabeledTrial
from highbar.statistics.judges import canary_test
from highbar.store.run_judge import CanariesOfRun
from highbar.suite import Canary

SUSPICIOUS = 0.01
"""A judge with its calibrated error rates gets so many canaries wrong at most that often."""
ASSUMED = (0.9, 0.9)
"""Sensitivity and specificity of a judge that was never calibrated."""
Rates = tuple[float, float]


def canary_result(
    canaries: Iterable[Canary], answers: Mapping[str, JudgeAnswer], rates: Rates | None = None
) -> CanariesOfRun | None:
    """How many statements about canaries the judge got wrong, and whether chance explains it; None if it judged none.

    What it cannot tell is wrong, and so is a canary about which it gave no usable answer. `rates` are sensitivity and
    specificity for single statements.
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
    p_value = _p_value((wrong_true, true), (wrong_false, false), rates or ASSUMED)
    return CanariesOfRun(true + false, wrong_true + wrong_false, p_value, failed=p_value < SUSPICIOUS)


def _p_value(true: tuple[int, int], false: tuple[int, int], rates: Rates) -> float:
    """Of all of them, of the true and of the false ones: a judge that always says the same is wrong on one side."""
    tests = ((true, false), (true, (0, 0)), ((0, 0), false))
    return min(1.0, len(tests) * min(canary_test(*one, *other, *rates) for one, other in tests))


def distrust(result: CanariesOfRun | None) -> str | None:
    """Why a judge is not believed; None if it is."""
    if result is None or not result.failed:
        return None
    return f"it failed its canaries: {result.wrong} of {result.statements} statements wrong"


def statement_rates(trials: Iterable[LabeledTrial]) -> Rates | None:
    """Sensitivity and specificity for single statements, as people labeled them; None if one of them is not known."""
    right, all_ = {True: 0, False: 0}, {True: 0, False: 0}
    for trial in trials:
        for judgment, observed in trial.statements.values():
            if observed is not None:
                all_[observed] += 1
                right[observed] += judgment == ("observed" if observed else "not_observed")
    if not all(all_.values()):
        return None
    # A rate of exactly 1 would make a single wrong canary impossible: one more label, half right, is added.
    sensitivity, specificity = ((right[one] + 0.5) / (all_[one] + 1) for one in (True, False))
    return sensitivity, specificity
