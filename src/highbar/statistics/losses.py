"""How likely a comparison of two runs of the same scenarios shows a loss of the rate at which they pass.

Shown: the upper bound of the paired difference is below 0 (`paired`). `bench/unseen.py` compares these chances with
what the product says of simulated agents.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from itertools import pairwise

from highbar.statistics.bounds import Sums, lower_beta
from highbar.statistics.distributions import at_most, beta_cdf, normal_cdf, normal_quantile
from highbar.statistics.paired import bonett_price
from highbar.statistics.planning import MOST_TO_EXCLUDE

_EXACT = 500
"""Up to so many scenarios the chance is summed exactly; beyond it, the normal law is as good."""
_EVEN = 0.5
"""The share of (1 - difference) / 2 that stands for no difference."""
_TAIL = 5.0
"""Standard deviations beyond which numbers of changed scenarios are left out."""
_STEPS, _PLACES = 4096, 8
"""How finely the loss is searched that is just shown, and for how many numbers of broken scenarios: it is smooth."""

Chance = Callable[[int], float]
"""The chance that a loss is shown, by the number of scenarios."""


def single_trial_chance(rate: float, loss: float, alpha: float, *, clustered: bool = False) -> Chance:
    """The chance with one trial each, if all pass independently at this rate, and then at one lower by `loss`.

    That is the hardest case: if answers vary less between two runs, the same loss is shown more often. `clustered`: the
    numbers are of clusters, which are compared by other bounds.
    """
    after = rate - loss
    broken, fixed = rate * (1 - after), (1 - rate) * after
    changed, critical = broken + fixed, normal_quantile(1 - alpha)

    def chance(scenarios: int) -> float:
        if scenarios > _EXACT:
            gap = loss * math.sqrt(scenarios) - critical * math.sqrt(changed)
            return normal_cdf(gap / math.sqrt(changed - loss * loss))
        listed = _likely(scenarios, changed)
        share = broken / changed
        if clustered:
            shown = [_shown_by_clusters(number, scenarios, share, alpha) for number in listed]
        else:
            shown = [_shown(number, scenarios, share, critical, alpha) for number in listed]
        chances = _probabilities(listed, scenarios, changed)
        return math.fsum(one * other for one, other in zip(shown, chances, strict=True))

    return chance


def _likely(scenarios: int, share: float) -> range:
    """The numbers of scenarios that change, each with this probability, but for those that hardly occur."""
    middle, spread = scenarios * share, _TAIL * math.sqrt(scenarios * share)
    return range(max(1, math.floor(middle - spread)), min(scenarios, math.ceil(middle + spread)) + 1)


def _probabilities(listed: range, scenarios: int, share: float) -> list[float]:
    below = [at_most(number, scenarios, share) for number in range(listed[0] - 1, listed[-1] + 1)]
    return [after - before for before, after in pairwise(below)]


def _shown(changed: int, scenarios: int, broken: float, critical: float, alpha: float) -> float:
    """That so many changed scenarios show a loss, if each of them broke with this probability."""
    # Tango's score of no difference is (broken - fixed) / √changed.
    enough = math.floor((changed + critical * math.sqrt(changed)) / 2) + 1
    if enough > changed:
        return 0.0
    chance = 1 - at_most(enough - 1, changed, broken)
    # If nothing was fixed, Bonett and Price's bound must be below 0, too.
    one_sided = bonett_price(scenarios, -changed, changed, alpha).high >= 0
    return float(chance - broken**changed) if one_sided else chance


def _shown_by_clusters(changed: int, clusters: int, broken: float, alpha: float) -> float:
    """The same for clusters, of which so many changed."""
    enough = math.ceil((changed + _critical_loss(clusters, changed, alpha)) / 2)
    return 1 - at_most(enough - 1, changed, broken) if enough <= changed else 0.0


def repeated_trials_chance(rate: float, loss: float, between: float, noise: float, alpha: float) -> Chance:
    """The chance with several trials of each scenario, if so many scenarios break for good that `loss` is lost.

    `between` is the variance of the scenarios' true rates, `noise` that of their means around these rates. If more
    scenarios break, but only partly, the same loss is shown more often.
    """
    broke, kept = between + noise, 2 * noise  # the variance of the difference of a scenario that broke, or did not

    def squares(broken: int, scenarios: int) -> float:
        return broken * (rate * rate + broke) + (scenarios - broken) * kept

    def chance(scenarios: int) -> float:
        listed = _likely(scenarios, loss / rate)
        places = sorted({listed[0] + (len(listed) - 1) * place // _PLACES for place in range(_PLACES + 1)})
        shown_from = {place: _critical_loss(scenarios, squares(place, scenarios), alpha) for place in places}
        found = 0.0
        for number, share in zip(listed, _probabilities(listed, scenarios, loss / rate), strict=True):
            after = places[bisect_left(places, number)]
            before = places[max(0, bisect_left(places, number) - 1)]
            part = (number - before) / (after - before) if after > before else 0.0
            gap = number * rate - shown_from[before] - part * (shown_from[after] - shown_from[before])
            deviation = math.sqrt(number * broke + (scenarios - number) * kept)
            found += share * (normal_cdf(gap / deviation) if deviation else float(gap > 0))
        return found

    return chance


def _critical_loss(scenarios: int, squares: float, alpha: float) -> float:
    """How much all scenarios together must lose so that it is shown, given the sum of squares of their differences."""

    def is_shown(lost: float) -> bool:
        if bonett_price(scenarios, -lost, squares, alpha).high >= 0:
            return False
        # The bound of (1 + loss) / 2 is above one half, without the bound itself.
        better, good = (scenarios + lost) / 2, (scenarios + 2 * lost + squares) / 4
        beta = lower_beta(Sums(scenarios, scenarios, better, good, better, scenarios), 1.0)
        return beta is not None and beta_cdf(_EVEN, beta.a, beta.b) < alpha

    step = math.sqrt(scenarios * squares) / _STEPS  # no sum of differences is larger than all steps
    found = bisect_left(range(_STEPS + 1), True, key=lambda number: is_shown(number * step))
    return found * step


def scenarios_for(chance: Chance, power: float) -> int | None:
    """About the fewest scenarios with this chance; None if it takes a billion."""
    high = 8
    while high < MOST_TO_EXCLUDE and chance(high) < power:
        high *= 2
    sizes = range(high // 2, high)
    return high // 2 + bisect_left(sizes, power, key=chance) if high < MOST_TO_EXCLUDE else None
