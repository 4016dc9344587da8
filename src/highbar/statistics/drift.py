"""Pass counts of the same scenarios over several runs → how strongly they speak for a decline.

If nothing changes, the passes of a scenario are spread over its trials at random: of all its trials up to a run, those
of the last run are a random draw, whatever its true rate is. Bets that the last run got too few of them multiply to an
e-value: its expectation is at most 1 if nothing changes, so that it reaches 20 with a chance of at most 5 %. That is
exact for any number of runs that is fixed in advance, if scenarios vary independently of each other. That to look after
each run does not raise it is measured (`bench/memory.py`).

A bet says how much smaller the odds to pass have become in the last run than over the runs before it: by a step, or by
a slope that grows with their number. The e-value is the mean over all bets.

The e-value remembers a decline long after it was repaired. So there is no alarm if the newest runs are back at the
level before the decline. That can only take alarms away: false ones do not become more frequent. And from the first run
on that is back, the runs are judged alone, too: a second decline is found as fast as the first.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache, reduce

from msgspec import Struct

ALARM = 20.0
"""The e-value of an alarm: a chance of at most 1 in 20 if nothing changed."""
SLOPES = (0.01, 0.02, 0.04, 0.08)
"""By how much the logarithm of the odds falls from run to run."""
STEPS = (0.1, 0.3)
"""By how much it fell once."""
_LARGEST = 3.0
_EXACT = 200
"""Up to so many trials of a scenario, sums are taken over whole numbers."""
_SHARE_LEFT = 0.25
"""Of the fall of the level; runs that are nearer than that to the level before it are back."""
_NOTHING = -45.0
"""The logarithm of what does not change a sum."""

Cell = tuple[int, int]
"""(passed, trials) of one scenario in one run."""


class Decline(Struct, frozen=True):
    """How strongly runs speak for a decline, and the slope of the pass rate from run to run.

    The slope is that of least squares over the runs of each scenario: a run that lacks some of them, because it stopped
    early, has another pass rate for that reason alone.

    `back`: so many of the newest runs are back at the level before the decline; 0 if there was none, or they are not.
    """

    evidence: float
    slope: float
    runs: int
    back: int = 0

    @property
    def is_alarm(self) -> bool:
        """Whether it is stronger than chance allows once in twenty histories, and was not repaired since."""
        return self.evidence >= ALARM and not self.back


def decline(runs: Sequence[Sequence[Cell]]) -> Decline:
    """From (passed, trials) of each scenario, run by run; the scenarios of all runs are the same, in one order."""
    path = list(_evidence(runs))
    rates = [_rate(cells) for cells in runs]
    evidence, slope = path[-1] if path else 1.0, _slope(runs)
    alarmed = next((place + 1 for place, one in enumerate(path) if one >= ALARM), None)
    if alarmed is None:
        return Decline(evidence, slope, len(runs))
    levels = _levels(runs[:alarmed], rates[:alarmed])
    repaired = next((place for place in range(alarmed, len(runs)) if levels.are_regained(runs[place])), len(runs))
    again = decline(runs[repaired:])
    if again.is_alarm:
        return Decline(max(evidence, again.evidence), slope, len(runs))
    back = _runs_back(runs[alarmed:], levels) if evidence >= ALARM else 0
    return Decline(evidence, slope, len(runs), back)


def _evidence(runs: Sequence[Sequence[Cell]]) -> Iterator[float]:
    """The e-value after each run."""
    wealth = [0.0] * (len(SLOPES) + len(STEPS))
    totals = [(0, 0)] * (len(runs[0]) if runs else 0)
    for number, cells in enumerate(runs):
        totals = _added(totals, cells)
        if number:
            patterns = Counter(zip(totals, cells, strict=True))
            wealth = [old + _gain(patterns, bet) for old, bet in zip(wealth, bets(number), strict=True)]
        top = max(wealth)
        yield math.exp(min(top, 700.0)) * math.fsum(math.exp(one - top) for one in wealth) / len(wealth)


def _added(totals: Sequence[Cell], cells: Sequence[Cell]) -> list[Cell]:
    return [(x + k, n + m) for (x, n), (k, m) in zip(totals, cells, strict=True)]


# --- repaired since ---------------------------------------------------------------------------


class Levels(Struct, frozen=True):
    """How often each scenario passed before a decline, and in its course."""

    before: Sequence[Cell]
    after: Sequence[Cell]

    def are_regained(self, cells: Sequence[Cell]) -> bool:
        """Whether these trials are back at the level before; more passes never make them less so.

        Compared over the scenarios that have a trial in each of the three: else other scenarios would be a repair.
        """
        parts = zip(self.before, self.after, cells, strict=True)
        known = [each for each in parts if all(trials for _, trials in each)]
        if not known:
            return False
        high, low, now = (_rate(part) for part in zip(*known, strict=True))
        return now >= high - _SHARE_LEFT * (high - low)


def _levels(runs: Sequence[Sequence[Cell]], rates: Sequence[float]) -> Levels:
    """Of the runs up to an alarm, which has at least one run before it."""
    fall = _split(rates)
    before, after = (reduce(_added, part[1:], list(part[0])) for part in (runs[:fall], runs[fall:]))
    return Levels(before, after)


def _runs_back(runs: Sequence[Sequence[Cell]], levels: Levels) -> int:
    """How many of the newest runs since an alarm are back at the level before, taken together: as many as can be."""
    since: Sequence[Cell] = [(0, 0)] * len(levels.before)
    found = 0
    for number, cells in enumerate(reversed(runs), 1):
        since = _added(since, cells)
        if levels.are_regained(since):
            found = number
    return found


def _split(rates: Sequence[float]) -> int:
    """Where the level fell: before the run from which on the mean is lower by most, allowing for how many there are."""
    total = len(rates)

    def gap(place: int) -> float:
        first, second = (math.fsum(part) / len(part) for part in (rates[:place], rates[place:]))
        return (first - second) * math.sqrt(place * (total - place))

    return max(range(1, total), key=gap)


def bets(before: int) -> tuple[float, ...]:
    """The bets on a run with so many before it: half of them back lies the middle of what it is compared with."""
    return (*(min(slope * (before + 1) / 2, _LARGEST) for slope in SLOPES), *STEPS)


def _gain(patterns: Counter[tuple[Cell, Cell]], bet: float) -> float:
    """The logarithm of what a bet multiplies by, over all scenarios."""
    return math.fsum(
        times * (-bet * passed - _log_mean(total_passed, total, trials, bet))
        for ((total_passed, total), (passed, trials)), times in patterns.items()
        if 0 < total_passed < total and trials
    )


@lru_cache(maxsize=65536)
def _log_mean(passed: int, total: int, drawn: int, bet: float) -> float:
    """The logarithm of E exp(-bet K), for K passes among trials drawn from all of a scenario; hypergeometric."""
    if drawn == 1:
        return math.log1p(passed / total * math.expm1(-bet))
    least, most = max(0, drawn - (total - passed)), min(drawn, passed)
    if total > _EXACT:
        return _log_sum(passed, total, drawn, bet, least, most)
    ways = math.comb(total, drawn)
    found = math.fsum(
        math.comb(passed, k) * math.comb(total - passed, drawn - k) / ways * math.exp(-bet * k)
        for k in range(least, most + 1)
    )
    return math.log(found)


def _log_sum(passed: int, total: int, drawn: int, bet: float, least: int, most: int) -> float:
    """The same for many trials: from the largest term on to both sides, as long as terms matter."""

    def step(k: int) -> float:  # the logarithm of term k + 1 divided by term k, which falls with k
        up = (passed - k) * (drawn - k) / ((k + 1) * (total - passed - drawn + k + 1))
        return math.log(up) - bet

    low, high = least, most
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if step(middle) > 0 else (low, middle)
    top, terms = low, [0.0]
    for places, sign in ((range(top, most), 1), (range(top - 1, least - 1, -1), -1)):
        term = 0.0
        for k in places:
            term += sign * step(k)
            if term < _NOTHING:
                break
            terms.append(term)
    largest = _log_ways(passed, top) + _log_ways(total - passed, drawn - top) - _log_ways(total, drawn) - bet * top
    return largest + math.log(math.fsum(math.exp(term) for term in terms))


def _log_ways(of: int, some: int) -> float:
    return math.lgamma(of + 1) - math.lgamma(some + 1) - math.lgamma(of - some + 1)


def _rate(cells: Sequence[Cell]) -> float:
    rates = [passed / trials for passed, trials in cells if trials]
    return math.fsum(rates) / len(rates) if rates else 0.0


def _slope(runs: Sequence[Sequence[Cell]]) -> float:
    products = squares = 0.0
    for cells in zip(*runs, strict=True):
        known = [(place, passed / trials) for place, (passed, trials) in enumerate(cells) if trials]
        middle = sum(place for place, _ in known) / max(len(known), 1)
        products += math.fsum((place - middle) * rate for place, rate in known)
        squares += math.fsum((place - middle) ** 2 for place, _ in known)
    return products / squares if squares else 0.0
