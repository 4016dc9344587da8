"""The trials of one scenario → what it adds to each measure, at worst and at best.

If one trial of a scenario has a measure, or the suite demands it, all trials of the scenario have it. So a scenario's
sum adds what the trials with a value have, and what the trials without one count as.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import comb

from msgspec import Struct

from highbar.core.score.measures import PASSED, SCORE, VIOLATED, TrialMeasure, World
from highbar.core.score.trial import MUST_NOTS, VIOLATIONS, Trial


class MeasurePart(Struct, frozen=True):
    """What a scenario has of one measure, beside the numbers of a column: sums over the trials that have it.

    `trials` counts those; 0 if the scenario does not have the measure. `lone`: it has it only by errors, violations and
    open trials, which count if another scenario is given it. `adds` says, for each of its trials, whether the number of
    that trial counts.
    """

    trials: int
    worst: Fraction | int
    best: Fraction | int
    undecided: int  # trials
    lone: bool
    valueless: bool
    adds: tuple[bool, ...] | None = None  # None: all of them

    def end(self, world: World) -> Fraction | int:
        """The sum at one end."""
        return self.worst if world == "worst" else self.best


class ScoredScenario(Struct, frozen=True):
    """All scenarios whose trials say the same: how many trials passed, failed and so on, and their part in measures."""

    trials: tuple[Trial, ...]
    demanded: int  # the bits of the suite's demands
    passed: int
    passed_at_best: int
    failed: int
    errors: int
    violated: int
    undecided: bool  # whether anything is
    bits: int  # of what any of its trials is judged by
    parts: Mapping[str, MeasurePart]

    @property
    def all_passed(self) -> bool:
        """Whether every trial passed for certain."""
        return self.passed == len(self.trials)

    def passed_in(self, world: World) -> int:
        """How many trials passed, with undecided ones at one end."""
        return self.passed if world == "worst" else self.passed_at_best


def score_scenario(trials: Sequence[Trial], demanded: int, measures: Mapping[str, TrialMeasure]) -> ScoredScenario:
    """Score the trials of a scenario together; `demanded` are the bits of what the suite demands of it."""
    bits = demanded
    for t in trials:
        bits |= t.given
    failed = sum([t.failed for t in trials])
    passed = sum([t.passed and not t.lacking & bits for t in trials])
    unrecorded = sum([is_unrecorded(t, bits) for t in trials])
    asks_known = bool(demanded) or any(t.asks_known for t in trials)
    parts = {
        name: _part(
            name, measure, trials, demanded, unrecorded=unrecorded, passed=passed, failed=failed, asks=asks_known
        )
        for name, measure in measures.items()
    }
    lacking = any(
        not m.every and has(m, trials, demanded) and any(lacks(m, t) for t in trials) for m in measures.values()
    )
    return ScoredScenario(
        trials=tuple(trials),
        demanded=demanded,
        passed=passed,
        passed_at_best=len(trials) - failed,
        failed=failed,
        errors=sum([t.error for t in trials]),
        violated=sum([t.violated for t in trials]),
        undecided=lacking or unrecorded > 0 or passed + failed < len(trials) or any(map(_is_undecided, trials)),
        bits=bits,
        parts=parts,
    )


def _is_undecided(t: Trial) -> bool:
    """Whether a trial is undecided for any measure, by its own row alone."""
    return t.open or not t.violation_known or t.unknown > 0 or (t.has_answer and not t.answer_known)


def has(measure: TrialMeasure, trials: Sequence[Trial], demanded: int) -> bool:
    """Whether the scenario has the measure: a trial is given it, or the suite demands it.

    A demand counts even if no trial answers it: else leaving an answer out would help.
    """
    if demanded & measure.bit:
        return True
    return all(any(map(given, trials)) for given in measure.given_separately or (measure.given,))


def lacks(measure: TrialMeasure, t: Trial) -> bool:
    """Whether a trial lacks what its scenario has, for no error."""
    return not (t.error or measure.given(t) or measure.anyway(t))


def is_unrecorded(t: Trial, bits: int) -> bool:
    """Whether a trial does not say what was violated, although another trial does, or the suite demands it."""
    if not t.violation_known or t.violated or t.facts.violations:
        return False
    return bool(bits & VIOLATIONS) or (bool(bits & MUST_NOTS) and not t.facts.must_nots)


def is_undecided_for(name: str, measure: TrialMeasure, t: Trial, of: ScoredScenario) -> bool:
    """Whether a trial is undecided for a measure, in its scenario."""
    if measure.unknown(t):
        return True
    if name == PASSED:
        return t.passed and bool(t.lacking & of.bits)
    if name == VIOLATED:
        return is_unrecorded(t, of.bits)
    return not measure.every and lacks(measure, t) and has(measure, of.trials, of.demanded)


def _part(
    name: str,
    measure: TrialMeasure,
    trials: Sequence[Trial],
    demanded: int,
    *,
    unrecorded: int,
    passed: int,
    failed: int,
    asks: bool,
) -> MeasurePart:
    n = len(trials)
    if name == PASSED:
        return MeasurePart(n, passed, n - failed, n - failed - passed, lone=False, valueless=False)
    unknown = sum(map(measure.unknown, trials))
    worst: Fraction | int = sum(map(measure.worst, trials))
    best: Fraction | int = sum(map(measure.best, trials))
    if measure.every:
        more = unrecorded if name == VIOLATED else 0
        return MeasurePart(n, worst + more, best, unknown + more, lone=False, valueless=False)
    if name == SCORE:
        worst, best = _scores(trials)
    if has(measure, trials, demanded):
        lacking = [t for t in trials if not (measure.given(t) or measure.anyway(t))]
        if measure.of_behaviors:
            without = [t for t in trials if not t.expected]
            most = max([1, *(t.expected for t in trials)])
            worst += most * sum(map(measure.lack_worst, without))
            best += most * sum(map(measure.lack_best, without))
        else:
            worst += sum(map(measure.lack_worst, lacking))
            best += sum(map(measure.lack_best, lacking))
        valueless = measure.valueless is not None and any(map(measure.valueless, trials))
        undecided = unknown + sum([not t.error for t in lacking])
        return MeasurePart(n, worst, best, undecided, lone=False, valueless=valueless)
    anyway = sum(map(measure.anyway, trials))
    crashes = 0
    if measure.crash is not None and not asks:
        crashes = sum([t.error and not measure.anyway(t) for t in trials])
        worst += measure.crash * crashes
        best += measure.crash * crashes
    if measure.of_behaviors:
        counted = sum([measure.anyway(t) and not t.expected for t in trials])
        opened = sum([t.open and not t.expected for t in trials])
        if measure.crash:  # what is expected: one behavior of an open trial, and of a crashed one
            worst, best = worst + counted, best + counted
        else:
            best += opened
    adds = None
    if measure.numbers is not None and measure.numbers.if_not_given is not None:
        adds = tuple(map(measure.numbers.if_not_given, trials))
    valueless = measure.valueless is not None and any(measure.anyway(t) and measure.valueless(t) for t in trials)
    return MeasurePart(
        anyway + crashes, worst, best, unknown, lone=anyway + crashes > 0, valueless=valueless, adds=adds
    )


def _scores(trials: Sequence[Trial]) -> tuple[Fraction | int, Fraction | int]:
    """The sum of behavior_score. At best an open trial without expectations may have met them all."""
    worst: Fraction | int = 0
    best: Fraction | int = 0
    for t in trials:
        if t.score_observed:
            worst += Fraction(t.score_observed, t.score_expected)
        if t.open and not t.expected and not t.violated:
            best += 1
        elif t.score_observed or t.score_unknown:
            best += Fraction(t.score_observed + t.score_unknown, t.score_expected)
    return worst, best


def pass_k(name: str, trials: int, passed: int) -> Fraction | None:
    """Unbiased pass@k = 1 - C(n-c, k) / C(n, k) or pass^k = C(c, k) / C(n, k), c of n trials passed; None if n < k."""
    k = int(name.rpartition("_")[2])
    if trials < k:
        return None
    if name.startswith("pass_at_"):
        return 1 - Fraction(comb(trials - passed, k), comb(trials, k))
    return Fraction(comb(passed, k), comb(trials, k))
