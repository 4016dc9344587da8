"""Pass counts of the same scenarios over several runs → how strong the evidence for a decline is.

If nothing changes, the passes of a scenario are spread over its trials at random: of all its trials up to a run, those
of the last run are a random draw, whatever its true rate is. Bets that the last run got too few passes multiply to an
e-value: its expectation is at most 1 if nothing changes, so it reaches 20 with a probability of at most 5 %. That is
exact for any number of runs that is fixed in advance, if scenarios vary independently of each other. Looking after
each run does not raise that probability; this is measured (`bench/memory.py`), not proven.

Whole runs vary too, for example with the load of a model server. So each bet pays what such noise would win it on
average, exp(bet² variance / 2), and is smaller if that is much. The variance is estimated from the runs before, so that
failures of a run cannot pass for noise.

A bet says how much smaller the odds of passing are in the last run than over the runs before it: by a step, or by a
slope that grows with the number of runs. The e-value is the mean over all bets.

The e-value stays high long after a decline was repaired. So there is no alarm if the newest runs are back at the level
before the decline. This can only remove alarms, so it does not make false ones more frequent. From the first run that
is back, the runs are also judged on their own: a second decline is found as fast as the first.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache, reduce

from msgspec import Struct

from highbar.statistics.between_runs import Cell, RunNoise
from highbar.statistics.distributions import log_ways

ALARM = 20.0
"""The e-value of an alarm: a chance of at most 1 in 20 if nothing changed."""
SLOPES = (0.01, 0.02, 0.04, 0.08)
"""Bets on how much the logarithm of the odds falls from run to run."""
STEPS = (0.1, 0.3)
"""Bets on how much it fell once."""
_LARGEST = 3.0
_EXACT = 200
"""Up to this many trials of a scenario, sums use exact binomial coefficients."""
_SHARE_LEFT = 0.25
"""Runs are back at the level before a fall if at most this share of the fall is left."""
_NOTHING = -45.0
"""The logarithm of a term that is too small to change a sum whose largest term is 1."""


class Decline(Struct, frozen=True):
    """How strong the evidence for a decline is, and the slope of the pass rate from run to run.

    The slope is fitted by least squares within each scenario: a run that lacks some scenarios, because it stopped
    early, has a different pass rate for that reason alone.

    `back` is how many of the newest runs are back at the level before the decline; 0 if they are not, or there was no
    decline.
    """

    evidence: float
    slope: float
    runs: int
    back: int = 0

    @property
    def is_alarm(self) -> bool:
        """Whether the evidence is stronger than chance gives in one of twenty histories, and the decline persists."""
        return self.evidence >= ALARM and not self.back


def decline(runs: Sequence[Sequence[Cell]]) -> Decline:
    """The evidence in (passed, trials) of each scenario, run by run; all runs list the same scenarios in one order."""
    path = list(_evidence(runs))
    rates = [_rate(cells) for cells in runs]
    evidence, slope = path[-1] if path else 1.0, _slope(runs)
    alarm = next((place + 1 for place, one in enumerate(path) if one >= ALARM), None)
    if alarm is None:
        return Decline(evidence, slope, len(runs))
    levels = _levels(runs[:alarm], rates[:alarm])
    repaired = next((place for place in range(alarm, len(runs)) if levels.is_back(runs[place])), len(runs))
    again = decline(runs[repaired:])
    if again.is_alarm:
        return Decline(max(evidence, again.evidence), slope, len(runs))
    back = _runs_back(runs[alarm:], levels) if evidence >= ALARM else 0
    return Decline(evidence, slope, len(runs), back)


def _evidence(runs: Sequence[Sequence[Cell]]) -> Iterator[float]:
    """The e-value after each run; a run without trials changes nothing."""
    wealth = [0.0] * (len(SLOPES) + len(STEPS))
    totals: Sequence[Cell] = [(0, 0)] * (len(runs[0]) if runs else 0)
    last, noise, found = totals, RunNoise(), 1.0
    for number, cells in enumerate(runs):
        before, totals = totals, _add_cells(totals, cells)
        if number and any(trials for _, trials in cells):
            patterns = Counter(zip(totals, cells, strict=True))
            size = sum(trials for (_, trials), (_, earlier) in zip(cells, before, strict=True) if earlier)
            # The mean of the runs before it varies, too, with this run among them.
            spread = size * math.sqrt(noise.variance * number / (number + 1))
            for place, bet in enumerate(bets(number)):
                paid = min(bet, 1 / spread) if spread else bet
                wealth[place] += _gain(patterns, paid) - (paid * spread) ** 2 / 2
            noise = noise.after(last, cells)
            top = max(wealth)
            found = math.exp(min(top, 700.0)) * math.fsum(math.exp(one - top) for one in wealth) / len(wealth)
        last = cells if any(trials for _, trials in cells) else last
        yield found


def _add_cells(totals: Sequence[Cell], cells: Sequence[Cell]) -> list[Cell]:
    return [(x + k, n + m) for (x, n), (k, m) in zip(totals, cells, strict=True)]


# --- repaired since ---------------------------------------------------------------------------


class Levels(Struct, frozen=True):
    """(passed, trials) of each scenario before a decline, and from the decline to the alarm."""

    before: Sequence[Cell]
    after: Sequence[Cell]

    def is_back(self, cells: Sequence[Cell]) -> bool:
        """Whether these trials are back at the level before the decline; more passes never turn a yes into a no.

        Only scenarios that have trials in all three are compared: otherwise a different mix of scenarios could look
        like a repair.
        """
        parts = zip(self.before, self.after, cells, strict=True)
        known = [each for each in parts if all(trials for _, trials in each)]
        if not known:
            return False
        high, low, now = (_rate(part) for part in zip(*known, strict=True))
        return now >= high - _SHARE_LEFT * (high - low)


def _levels(runs: Sequence[Sequence[Cell]], rates: Sequence[float]) -> Levels:
    """The levels of the runs up to an alarm, which are at least two."""
    fall = _split(rates)
    before, after = (reduce(_add_cells, part[1:], list(part[0])) for part in (runs[:fall], runs[fall:]))
    return Levels(before, after)


def _runs_back(runs: Sequence[Sequence[Cell]], levels: Levels) -> int:
    """The largest number of newest runs since an alarm that, pooled, are back at the level before the decline."""
    since: Sequence[Cell] = [(0, 0)] * len(levels.before)
    found = 0
    for number, cells in enumerate(reversed(runs), 1):
        since = _add_cells(since, cells)
        if levels.is_back(since):
            found = number
    return found


def _split(rates: Sequence[float]) -> int:
    """The first run of the lower level: the cut with the largest fall of the mean × √(runs before × runs after)."""
    total = len(rates)

    def gap(place: int) -> float:
        earlier, later = (math.fsum(part) / len(part) for part in (rates[:place], rates[place:]))
        return (earlier - later) * math.sqrt(place * (total - place))

    return max(range(1, total), key=gap)


def bets(before: int) -> tuple[float, ...]:
    """The bets on a run that follows `before` others; a slope counts from their middle, (before + 1) / 2 runs back."""
    return (*(min(slope * (before + 1) / 2, _LARGEST) for slope in SLOPES), *STEPS)


def _gain(patterns: Counter[tuple[Cell, Cell]], bet: float) -> float:
    """The logarithm of the factor by which one bet multiplies its money, over all scenarios."""
    return math.fsum(
        times * (-bet * passed - _log_mean(total_passed, total, trials, bet))
        for ((total_passed, total), (passed, trials)), times in patterns.items()
        if 0 < total_passed < total and trials
    )


@lru_cache(maxsize=65536)
def _log_mean(passed: int, total: int, drawn: int, bet: float) -> float:
    """The logarithm of E exp(-bet K), for K passes among `drawn` trials out of all of a scenario (hypergeometric)."""
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
    """The same for many trials: a sum from the largest term outward in both directions, as long as terms matter."""

    def step(k: int) -> float:  # the logarithm of term k + 1 divided by term k, which falls with k
        up = (passed - k) * (drawn - k) / ((k + 1) * (total - passed - drawn + k + 1))
        return math.log(up) - bet

    top, terms = least + bisect_left(range(least, most), True, key=lambda k: step(k) <= 0), [0.0]
    for places, sign in ((range(top, most), 1), (range(top - 1, least - 1, -1), -1)):
        term = 0.0
        for k in places:
            term += sign * step(k)
            if term < _NOTHING:
                break
            terms.append(term)
    largest = log_ways(passed, top) + log_ways(total - passed, drawn - top) - log_ways(total, drawn) - bet * top
    return largest + math.log(math.fsum(math.exp(term) for term in terms))


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
