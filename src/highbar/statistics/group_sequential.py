"""Early stopping in five looks, for nearly normal values such as a margin between two versions or a composite.

What a look adds to the statistic does not depend on the looks before (Lan and DeMets). By look k of five at most
alpha·(k/5)^rho may be spent, on each side separately. The critical value of each look spends what is left, by an
integral over the paths that no earlier look ended. A rule is judged at each look by its interval at that level: for a
margin between versions with one binary trial each, that is Tango's interval.

Unlike the boundaries of counts this is not exact: below about 60 scenarios the normal distribution is a rough guide.

>>> [round(z, 3) for z in critical_values(0.05)]
[2.326, 2.219, 2.12, 2.033, 1.956]
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

from highbar.statistics.distributions import legendre_nodes, normal_cdf
from highbar.statistics.search import turning_point
from highbar.statistics.spending import POWERS, Spending

LOOKS = 5
"""The number of looks, equally spaced over the scenarios."""

_FAR = 7.5  # standard deviations, beyond which the probability is below 1e-13
_PANELS = 4  # of 32 points each: the widest density then has about five for each standard deviation
_HEIGHT = 1 / math.sqrt(2 * math.pi)


def look_sizes(scenarios: int) -> tuple[int, ...]:
    """After how many scenarios each look is taken; some looks coincide if there are fewer than five scenarios."""
    return tuple(-(-look * scenarios // LOOKS) for look in range(1, LOOKS + 1))


@lru_cache(maxsize=16)
def critical_values(alpha: float, spending: Spending = "linear") -> tuple[float, ...]:
    """The standard normal values that decide at each of the looks."""
    return tuple(_critical(alpha, POWERS[spending]))


def _critical(alpha: float, power: int) -> Iterator[float]:
    """The critical values, look by look: a walk of independent normal steps ends at the first look above its value."""
    # The walk so far: (value, weight) nodes of the density of the paths that no earlier look ended.
    points, spent = [(0.0, 1.0)], 0.0
    for look in range(1, LOOKS + 1):
        reach = _FAR * math.sqrt(look)
        top = _upper_quantile(points, alpha * (look / LOOKS) ** power - spent, reach)
        yield top / math.sqrt(look)
        spent += _beyond(points, top)
        points = [(x, weight * _density(points, x)) for x, weight in _nodes(-reach, top)]


def _upper_quantile(points: list[tuple[float, float]], chance: float, reach: float) -> float:
    """The value beyond which the next step ends with this probability."""
    return turning_point(-reach, reach, lambda at: _beyond(points, at) > chance)


def _beyond(points: list[tuple[float, float]], at: float) -> float:
    """How likely the next step ends at or beyond a value, from the weighted nodes at which the last one ended."""
    return math.fsum(weight * normal_cdf(x - at) for x, weight in points)


def _density(points: list[tuple[float, float]], at: float) -> float:
    return _HEIGHT * math.fsum(weight * math.exp(-0.5 * (x - at) ** 2) for x, weight in points)


def _nodes(start: float, stop: float) -> Iterator[tuple[float, float]]:
    """The nodes of an integral between two values, each with its weight (Gauss–Legendre on equal panels)."""
    half = 0.5 * (stop - start) / _PANELS
    for panel in range(_PANELS):
        middle = start + (2 * panel + 1) * half
        for node, weight in legendre_nodes():
            yield middle + half * node, half * weight
