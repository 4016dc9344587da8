"""Exact early stopping for passes and fails: the boundaries of a run that is looked at after every unit.

A unit is a scenario that passes or fails as a whole. The units are looked at one after the other in a random order,
at most `units` of them, a number that is known before the first look. By look n at most alpha·(n/units)^rho of the
error may be spent, on each side separately. The boundaries come from a walk over the binomial lattice at the threshold
itself: at every look the most extreme counts decide as long as their probability fits the allowed error, and the paths
that end there are removed. So an agent that does not meet the threshold reaches the pass boundary first with a
probability of at most alpha, and so does an agent that meets it with the fail boundary.

Rounding never spends too much: the comparison has a margin far above what the walk can lose.

>>> from fractions import Fraction
>>> boundaries = binomial_boundaries(Fraction(85, 100), 200, 0.05)
>>> boundaries.at(30), boundaries.at(31)
(Boundary(to_pass=None, to_fail=19), Boundary(to_pass=31, to_fail=19))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from threading import Lock
from typing import Literal, NamedTuple

from highbar.statistics.interval import Real
from highbar.statistics.planning import clusters_to_exclude

Spending = Literal["linear", "late"]
"""How the error is spread over the looks: evenly, or mostly on the last ones (alpha·(n/units)³)."""

POWERS: dict[Spending, int] = {"linear": 1, "late": 3}
"""The exponent rho of each kind of spending."""

Step = Callable[[int, int, list[float]], list[float]]
"""(draw, lowest count, probabilities of the counts from the lowest on) → their probabilities after this draw."""

FIRST_LOOK = 5
"""Before this look only certainty decides: the little error that a fail after three or four units costs is better spent
later."""

_ROUNDING = 1 + 1e-9
"""Each step of the walk loses a few of the last digits (2⁻⁵³), all sums being of positive numbers: 1e-9 covers a
million looks."""


class Boundary(NamedTuple):
    """One look: the fewest passes that decide "pass", and the most that decide "fail"; None if no count does.

    A count that only a run decided earlier can have is on the side of that decision.
    """

    to_pass: int | None
    to_fail: int | None

    def decides(self, passes: int) -> bool | None:
        """Whether this number of passes means a pass (True) or a fail (False); None if this look leaves it open."""
        # Fail closed: a count within both boundaries is a fail.
        if self.to_fail is not None and passes <= self.to_fail:
            return False
        return True if self.to_pass is not None and passes >= self.to_pass else None


class Crossing(NamedTuple):
    """The look at which a run is decided, and for what."""

    units: int
    passed: bool


class Boundaries:
    """The boundaries of a design, computed only up to the latest look that was asked for."""

    def __init__(self, units: int, looks: Iterator[Boundary]) -> None:
        """Take the boundaries from `looks`, which yields those of all `units` looks in order."""
        self.units = units
        self._looks = looks
        self._known: list[Boundary] = []
        self._lock = Lock()  # designs are cached, and checks may run in several threads

    def at(self, looked: int) -> Boundary:
        """The boundary after `looked` units, from 1 to `units`."""
        if not 1 <= looked <= self.units:
            raise ValueError(f"look {looked} of {self.units}")
        if len(self._known) < looked:
            with self._lock:
                while len(self._known) < looked:
                    self._known.append(next(self._looks))
        return self._known[looked - 1]


def first_crossing(boundaries: Boundaries, outcomes: Iterable[tuple[bool, bool]]) -> Crossing | None:
    """The first look that decides; None if the outcomes end before that, or nothing can decide any more.

    An outcome says whether a unit passed, at worst and at best: (False, True) if that is undecided. Outcomes after the
    crossing are not read.
    """
    return first_decided(_looks(boundaries, outcomes))


def _looks(
    boundaries: Boundaries, outcomes: Iterable[tuple[bool, bool]]
) -> Iterator[tuple[int, bool | None, bool | None]]:
    worst = best = 0
    for looked, (at_worst, at_best) in enumerate(outcomes, 1):
        worst, best = worst + at_worst, best + at_best
        boundary = boundaries.at(looked)
        yield looked, boundary.decides(worst), boundary.decides(best)


def first_decided(looks: Iterable[tuple[int, bool | None, bool | None]]) -> Crossing | None:
    """The first crossing, from looks (units so far, what their worst reading decides, what their best one decides).

    It is a pass if the worst reading passes and did not fail at an earlier look, and a fail if the best reading fails
    and did not pass at an earlier one. Then every reading in between comes to the same at its own first crossing.
    """
    failed_at_worst = passed_at_best = False
    for looked, at_worst, at_best in looks:
        if at_worst is True and not failed_at_worst:
            return Crossing(looked, passed=True)
        if at_best is False and not passed_at_best:
            return Crossing(looked, passed=False)
        failed_at_worst = failed_at_worst or at_worst is False
        passed_at_best = passed_at_best or at_best is True
        if failed_at_worst and passed_at_best:
            return None
    return None


@lru_cache(maxsize=64)  # rules over the same set share it, and so do the looks of a run that goes on
def binomial_boundaries(
    threshold: Fraction, units: int, alpha: float, spending: Spending = "linear", places: tuple[int, ...] = ()
) -> Boundaries:
    """The boundaries of `rate ≥ threshold` if the units are a sample of all that could have been.

    They also apply to `rate > threshold`: the error is bounded at the threshold itself. If lower is better, count the
    good units: `error_rate ≤ t` is `rate of units without an error ≥ 1 - t`. If the `horizon` is beyond the suite, pass
    it as `units`.

    If some of the planned `units` turn out not to count (scenarios without the metric), `places` has the positions of
    the others in the plan: the error is spent by how far the plan has come. Which units count must not depend on their
    outcomes.
    """
    looks = _walk(units, alpha, POWERS[spending], [independent(threshold)], places)
    return Boundaries(len(places) or units, looks)


@lru_cache(maxsize=64)
def suite_boundaries(
    threshold: Fraction, units: int, alpha: float, spending: Spending = "linear", *, strict: bool = False
) -> Boundaries:
    """The boundaries of `rate ≥ threshold` (`strict`: `>`) if the `units` are all there are.

    They are about the share that passes when all have run. Units are drawn without replacement, so the lattice is
    hypergeometric: once with the most passes that do not meet the threshold, and once with the fewest that do. A count
    that settles the share decides at once, and the last look always does.
    """
    least = least_to_meet(threshold, units, strict=strict)
    return Boundaries(units, _walk(units, alpha, POWERS[spending], [drawn(least - 1, units), drawn(least, units)]))


@lru_cache(maxsize=64)
def moved_boundaries(least: int, fewest: int, units: int, alpha: float, spending: Spending = "linear") -> Boundaries:
    """The boundaries of two shares of the `units`, drawn without replacement: one to pass, a smaller one not to fail.

    A pass at `least` passes among all units, a fail below `fewest`; what is between is left open. `alpha` is accepted
    on each side.
    """
    return Boundaries(units, _walk(units, alpha, POWERS[spending], [drawn(least - 1, units), drawn(fewest, units)]))


def tolerance_boundaries(tolerate: Real, units: int, alpha: float, failures: int = 0) -> Boundaries:
    """The boundaries of a threshold of 100 %: one failure beyond `failures` fails it at once.

    It passes at the look at which `failures` or fewer exclude a failure rate of `tolerate`. If there are too few units
    for that, it passes at the last look, with at most as many failures as still exclude that rate there.
    """
    enough = clusters_to_exclude(tolerate, alpha, failures)
    excluded = (count for count in range(failures, -1, -1) if clusters_to_exclude(tolerate, alpha, count) <= units)
    at_last = next(excluded, None)

    def look(looked: int) -> Boundary:
        to_fail = looked - failures - 1 if looked > failures else None
        if looked < min(enough, units) or at_last is None:
            return Boundary(None, to_fail)
        return Boundary(looked - at_last, to_fail)

    return Boundaries(units, map(look, range(1, units + 1)))


def least_to_meet(threshold: Fraction, units: int, *, strict: bool = False) -> int:
    """The fewest passes among all units that meet the threshold."""
    return math.floor(threshold * units) + 1 if strict else math.ceil(threshold * units)


def _walk(units: int, alpha: float, power: int, steps: list[Step], places: tuple[int, ...] = ()) -> Iterator[Boundary]:
    """The boundaries look by look, from the lattice of the likeliest false pass and that of the likeliest false fail.

    `steps` has one step for each of the two lattices, or a single one if both are the same.
    """
    lowest, lattices = 0, [[1.0] for _ in steps]
    spent_on_pass = spent_on_fail = 0.0
    for looked, place in enumerate(places or range(1, units + 1), 1):
        lattices = [step(looked, lowest, masses) for step, masses in zip(steps, lattices, strict=True)]
        allowed = alpha * (place / units) ** power if looked >= FIRST_LOOK or place == units else 0.0
        least, most = 0, len(lattices[0])
        # With an allowance of 0, counts of probability 0 still decide: they are certain. The fails are taken first, so
        # that a count that both sides could claim never becomes a pass.
        while least < most and (spent_on_fail + lattices[-1][least]) * _ROUNDING <= allowed:
            spent_on_fail += lattices[-1][least]
            least += 1
        while most > least and (spent_on_pass + lattices[0][most - 1]) * _ROUNDING <= allowed:
            spent_on_pass += lattices[0][most - 1]
            most -= 1
        to_pass, to_fail = lowest + most, lowest + least - 1
        lowest, lattices = lowest + least, [masses[least:most] for masses in lattices]
        yield Boundary(to_pass if to_pass <= looked else None, to_fail if to_fail >= 0 else None)


# --- how likely each number of passes is, updated unit by unit --------------------------------


def independent(rate: Fraction) -> Step:
    """Every unit passes with this probability."""
    hit, miss = float(rate), float(1 - rate)

    def step(_draw: int, _lowest: int, masses: list[float]) -> list[float]:
        return _after_draw([mass * miss for mass in masses], [mass * hit for mass in masses])

    return step


def drawn(passes: int, units: int) -> Step:
    """`passes` of the units pass, drawn without replacement; all probabilities are 0 if that is impossible."""
    possible = 0 <= passes <= units

    def step(draw: int, lowest: int, masses: list[float]) -> list[float]:
        left = units - draw + 1
        if not possible:
            return _after_draw([0.0] * len(masses), [0.0] * len(masses))
        # Clamped only for counts that no draw can have: their probability is 0.
        rising = [min(max(passes - count, 0), left) for count in range(lowest, lowest + len(masses))]
        return _after_draw(
            [mass * ((left - rise) / left) for mass, rise in zip(masses, rising, strict=True)],
            [mass * (rise / left) for mass, rise in zip(masses, rising, strict=True)],
        )

    return step


def _after_draw(stays: list[float], rises: list[float]) -> list[float]:
    """The probabilities after a draw, from the part that stays at its count and the part that rises to the next one."""
    return [stay + rise for stay, rise in zip([*stays, 0.0], [0.0, *rises], strict=True)] if stays else []
