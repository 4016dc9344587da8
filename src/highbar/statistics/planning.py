"""How much evidence a decision takes, and how a gate behaves with less of it."""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction

from highbar.statistics.bounds import Sums, standard_error
from highbar.statistics.distributions import at_most, beta_upper_quantile, normal_quantile
from highbar.statistics.interval import Real
from highbar.statistics.second_run import Outlook

_LOOK_BACK = 24
"""How many candidates to look back for a smaller suite with enough power; at most 11 were ever needed, near 50 %."""


def scenarios_to_pass(threshold: Real, rate: Real, power: float = 0.8, alpha: float = 0.05) -> int | None:
    """The fewest scenarios on which an agent of this true rate passes `≥ threshold` with this probability; exact.

    None if the rate is not above the threshold, or no number up to a billion suffices.
    """
    return _smallest_size(1 - _exact(threshold), 1 - _exact(rate), power, alpha)


def scenarios_to_fail(threshold: Real, rate: Real, power: float = 0.8, alpha: float = 0.05) -> int | None:
    """The fewest scenarios on which an agent of this true rate fails `≥ threshold` with this probability; exact.

    None if the rate is not below the threshold, or no number up to a billion suffices.
    """
    return _smallest_size(_exact(threshold), _exact(rate), power, alpha)


def enough_to_pass(threshold: Real, rate: Real, power: float = 0.8, alpha: float = 0.05) -> int | None:
    """The number of scenarios from which on every larger number passes such an agent with this probability.

    Power is a sawtooth: against 85 %, an agent of 94 % passes with .829 on 76 scenarios and with .761 on 84. None as in
    `scenarios_to_pass`.
    """
    return _stable_size(1 - _exact(threshold), 1 - _exact(rate), power, alpha)


def enough_to_fail(threshold: Real, rate: Real, power: float = 0.8, alpha: float = 0.05) -> int | None:
    """The number of scenarios from which on every larger number fails such an agent with this probability."""
    return _stable_size(_exact(threshold), _exact(rate), power, alpha)


def scenarios_by_formula(threshold: Real, rate: Real, power: float = 0.8, alpha: float = 0.05) -> int | None:
    """The normal approximation, to pass or to fail: ((z_α√(p₀q₀) + z_β√(p₁q₁)) / (p₁ - p₀))²; None if p₀ = p₁."""
    null, truth = float(threshold), float(rate)
    if null == truth:
        return None
    spread = -normal_quantile(alpha) * math.sqrt(null * (1 - null))
    spread += normal_quantile(power) * math.sqrt(truth * (1 - truth))
    return max(1, math.ceil((spread / (truth - null)) ** 2))


def more_scenarios(
    threshold: Real, value: Real, scenarios: int, alpha: float, power: float = 0.8, design: float = 1.0
) -> int | None:
    """About how many more scenarios would settle `≥ threshold` with this probability if `value` were the true rate.

    `design` is how many scenarios are worth one independent pass or fail (`observed_design`). None if the value is
    the threshold itself: then no number would.
    """
    perfect = _exact(value) == 1 and _exact(threshold) < 1  # there the normal approximation asks for too few
    needed = clusters_to_exclude(1 - _exact(threshold), alpha) if perfect else None
    needed = needed or scenarios_by_formula(threshold, value, power, alpha)
    return None if needed is None else max(1, math.ceil(needed * design) - scenarios)


def more_by_width(
    threshold: Real,
    value: Real,
    low: float,
    high: float,
    scenarios: int,
    alpha: float = 0.05,
    power: float = 0.8,
) -> int | None:
    """About how many more scenarios would bring an interval clear of the threshold with this probability.

    If the value is the truth, the width of an interval falls as 1/√n, and half of all runs come out below the value: a
    probability above one half takes more scenarios.

    None if the value is the threshold, or if the end that must clear it is unbounded.
    """
    value, threshold = _exact(value), _exact(threshold)
    end = low if value > threshold else high
    if value == threshold or math.isinf(end):
        return None
    factor = (_strength(power, alpha) / -normal_quantile(alpha)) ** 2
    needed = float(scenarios * ((_exact(end) - value) / (value - threshold)) ** 2) * factor
    # The rounding of a whole number must not cost one more scenario.
    return max(1, math.ceil(needed - 1e-9) - scenarios)


def observed_design(sums: Sums) -> float:
    """The variance of a share divided by that of as many independent passes and fails of the same rate.

    Below 1 for scores that vary little, above 1 for unequal weights; 1 if nothing varied.
    """
    if sums.zz == sums.z and sums.dd == sums.d:
        return 1.0
    error, value = standard_error(sums), float(sums.value)
    if not error or not 0 < value < 1:
        return 1.0
    return sums.clusters * error * error / (value * (1 - value))


def gate_limits(scenarios: int, threshold: Real, alpha: float = 0.05) -> tuple[int | None, int | None]:
    """The fewest passes that pass `≥ threshold` with confidence, and the most that fail it; None if no number does."""
    null = _exact(threshold)
    failures, passes = _critical_count(scenarios, 1 - null, alpha), _critical_count(scenarios, null, alpha)
    return None if failures is None else scenarios - failures, passes


def gate_chances(scenarios: int, threshold: Real, rate: Real, alpha: float = 0.05) -> Outlook:
    """How likely an agent of this true rate passes or fails `≥ threshold` with confidence, or neither; exact."""
    to_pass, to_fail = gate_limits(scenarios, threshold, alpha)
    passes = 0.0 if to_pass is None else at_most(scenarios - to_pass, scenarios, float(1 - _exact(rate)))
    fails = 0.0 if to_fail is None else at_most(to_fail, scenarios, float(rate))
    return Outlook(passes, max(0.0, 1.0 - passes - fails), fails)


def rate_to_pass(scenarios: int, threshold: Real, power: float = 0.8, alpha: float = 0.05) -> float | None:
    """The smallest true rate that passes on `scenarios` with this probability; None if even 100 % could not."""
    failures = _critical_count(scenarios, 1 - _exact(threshold), alpha)
    return None if failures is None else 1.0 - beta_upper_quantile(power, failures + 1, scenarios - failures)


def rate_to_fail(scenarios: int, threshold: Real, power: float = 0.8, alpha: float = 0.05) -> float | None:
    """The largest true rate that fails on `scenarios` with this probability; None if even 0 % could not."""
    passes = _critical_count(scenarios, _exact(threshold), alpha)
    return None if passes is None else beta_upper_quantile(power, passes + 1, scenarios - passes)


def pairs_needed(margin: Real, variance: Real, power: float = 0.8, alpha: float = 0.05) -> int:
    """The number of scenarios that show an unchanged version to be no worse by more than `margin`.

    `variance` is that of the differences between the versions: for passes and fails, the share that differ.
    """
    return math.ceil(_strength(power, alpha) ** 2 * float(variance) / float(margin) ** 2)


def smallest_difference(scenarios: int, variance: Real, power: float = 0.8, alpha: float = 0.05) -> float:
    """The smallest difference between two versions that `scenarios` common ones show with this probability."""
    return _strength(power, alpha) * math.sqrt(float(variance) / scenarios)


def _strength(power: float, alpha: float) -> float:
    """The sum of both critical values; not by 1 - alpha, which a float rounds to 1 for the smallest alphas."""
    return normal_quantile(power) - normal_quantile(alpha)


def _exact(number: Real) -> Fraction:
    """The number as it was written: 0.85 is 85/100, not the nearest binary fraction."""
    return Fraction(str(number)) if isinstance(number, float) else Fraction(number)


def _critical_count(scenarios: int, null: Fraction, alpha: float) -> int | None:
    """The most events that are still significantly few if each has the probability `null`; None if even 0 are not."""
    count = bisect_left(range(scenarios + 1), True, key=lambda k: at_most(k, scenarios, float(null)) > alpha)
    return count - 1 if count > 0 else None


def _smallest_size(null: Fraction, truth: Fraction, power: float, alpha: float) -> int | None:
    """The fewest scenarios that show significantly few events (against `null`) with this power (under `truth`).

    Each further event that is allowed makes the needed size jump; between two jumps, more scenarios only lose power.
    So only the sizes right at a jump are candidates, and their power rises except for small dents.
    """
    if not 0 <= truth < null or null >= 1:
        return None

    def enough(events: int) -> bool:
        size = clusters_to_exclude(null, alpha, events)
        return size >= MOST_TO_EXCLUDE or at_most(events, size, float(truth)) >= power

    most = 1
    while not enough(most):
        most *= 2
    events = bisect_left(range(most), True, key=enough)
    # Because of the dents, bisection may miss smaller sizes that suffice.
    while (earlier := next((e for e in range(max(0, events - _LOOK_BACK), events) if enough(e)), None)) is not None:
        events = earlier
    size = clusters_to_exclude(null, alpha, events)
    return size if size < MOST_TO_EXCLUDE else None


def _stable_size(null: Fraction, truth: Fraction, power: float, alpha: float) -> int | None:
    """The size from which on all larger ones suffice: the one at the last jump before which the power is too low.

    Between two jumps power only falls, so it is lowest right before the next one.
    """
    if not 0 <= truth < null or null >= 1:
        return None

    def lasts(events: int) -> bool:
        following = clusters_to_exclude(null, alpha, events + 1)
        return following >= MOST_TO_EXCLUDE or at_most(events, following - 1, float(truth)) >= power

    most = 1
    while not lasts(most):
        most *= 2
    events = bisect_left(range(most), True, key=lasts)
    while (later := next((e for e in range(events + _LOOK_BACK, events - 1, -1) if not lasts(e)), None)) is not None:
        events = later + 1
    while events > 0 and lasts(events - 1):
        events -= 1
    size = clusters_to_exclude(null, alpha, events)
    return size if size < MOST_TO_EXCLUDE else None


MOST_TO_EXCLUDE = 1_000_000_000
"""A rate that would need this many clusters counts as impossible to exclude."""


def clusters_to_exclude(rate: Real, alpha: float, failures: int = 0) -> int:
    """How many clusters with at most `failures` exclude a failure rate of `rate`: without failures, 59 exclude 5 %.

    (At alpha 0.05.) A rate of 0, or one so small that it would take a billion, gives a billion: it cannot be excluded.
    """
    high = max(16, 2 * (failures + 1))
    while high < MOST_TO_EXCLUDE and at_most(failures, high, float(rate)) > alpha:
        high *= 2
    sizes = range(failures + 1, min(high, MOST_TO_EXCLUDE))
    return failures + 1 + bisect_left(sizes, True, key=lambda size: at_most(failures, size, float(rate)) <= alpha)
