"""The normal and the Beta distribution, and the binomial tails that follow from the latter.

Accurate to about 1e-12 relative for real parameters from 0.5 to 1e9 and tails down to 1e-300; the tests compare it with
scipy and mpmath. Importing scipy would take longer than the rest of a check.

A point of a Beta is passed as the pair (x, y) with y = 1 - x: if one of them is tiny, the other rounds to 1 and loses
it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache
from typing import NamedTuple

_ROOT_TWO_PI = math.sqrt(2 * math.pi)
_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
_SPLIT = 134217729.0  # 2**27 + 1: splits a double into halves whose products are exact (Dekker)
_SMOOTH = 300.0  # if both parameters are above it, the density is close enough to normal for 32 points to integrate it
_NEGLIGIBLE = 45.0  # exp(-45) is below the last digit of a double
_LARGEST_LOGIT = 700.0  # beyond it x would no longer be a normal double
_MOST_STEPS = 100  # five or six are usual
_NEAR = 0.5  # Halley's correction is applied only below this
_CLOSE = 1e-5  # Halley's method triples the digits: the step after one this small would be below a double's last digit
_SERIES_FROM, _SERIES_TO = -0.4, 0.7  # between these the series of e - log(1 + e) is short
_STIRLING_FROM = 16.0  # from here on Stirling's series has all the digits of a double
_LAST_DIGIT = 2.0**-52
_NODES = 32  # of the Gauss–Legendre integration, which is then exact for polynomials of degree 63


def normal_cdf(z: float) -> float:
    """P(Z ≤ z), accurate in the lower tail, where the standard library's NormalDist is not."""
    return 0.5 * math.erfc(-z / math.sqrt(2))


@lru_cache(maxsize=256)
def normal_quantile(p: float) -> float:
    """The z with P(Z ≤ z) = p; infinite at p = 0 and p = 1."""
    if p <= 0.0 or p >= 1.0:
        return -math.inf if p <= 0.0 else math.inf
    # Only the lower half is solved for, because `normal_cdf` is accurate in the lower tail.
    if p > 1.0 - p:
        return -normal_quantile(1.0 - p)
    r = math.sqrt(-2.0 * math.log(p))
    z = (2.515517 + r * (0.802853 + r * 0.010328)) / (1 + r * (1.432788 + r * (0.189269 + r * 0.001308))) - r
    for _ in range(3):
        # The rational start (Abramowitz & Stegun 26.2.23) is good to 4.5e-4; each of Halley's steps triples the digits.
        step = (normal_cdf(z) - p) * _ROOT_TWO_PI * math.exp(0.5 * z * z)
        z -= step / (1 + 0.5 * z * step)
    return z


def beta_cdf(x: float, a: float, b: float) -> float:
    """P(X ≤ x) of a Beta(a, b) variable: the regularized incomplete beta function I_x(a, b)."""
    return beta_pair_tails(x, 1.0 - x, a, b)[0]


def beta_survival(x: float, a: float, b: float) -> float:
    """P(X > x) of a Beta(a, b) variable, accurate even if it is tiny."""
    return beta_pair_tails(x, 1.0 - x, a, b)[1]


def beta_quantile(p: float, a: float, b: float) -> float:
    """The x with P(X ≤ x) = p."""
    return beta_pair_quantile(p, a, b)[0]


def beta_upper_quantile(p: float, a: float, b: float) -> float:
    """The x with P(X > x) = p, accurate for small p."""
    return beta_pair_quantile(p, b, a)[1]


@lru_cache(maxsize=4096)  # rules, slices and the second run ask for the same points again
def beta_pair_tails(x: float, y: float, a: float, b: float) -> tuple[float, float]:
    """P(X ≤ x) and P(X > x), for a point whose complement y is known better than 1 - x."""
    if x <= 0.0 or y <= 0.0:
        return (0.0, 1.0) if x <= 0.0 else (1.0, 0.0)
    lower, upper = _tail(x, y, a, b).logarithms()
    return math.exp(lower), math.exp(upper)


@lru_cache(maxsize=4096)  # metrics with the same counts have the same bounds
def beta_pair_quantile(p: float, a: float, b: float) -> tuple[float, float]:
    """The x with P(X ≤ x) = p and its complement 1 - x, each to its own last digits."""
    if p > 1.0 - p:
        y, x = beta_pair_quantile(1.0 - p, b, a)
        return x, y
    if p <= 0.0:
        return 0.0, 1.0
    return expit(_solve(math.log(p), a, b))


def _solve(target: float, a: float, b: float) -> float:
    """The logit of the x at which the logarithm of the lower tail is `target`, by Halley's method.

    The logarithm of the tail is concave in the logit, so Newton's method converges from any start; Halley's correction
    is applied only near the end.
    """
    u = _start(target, a, b)
    for _ in range(_MOST_STEPS):
        x, y = expit(u)
        value, slope = _tail(x, y, a, b).log_lower_and_slope()
        step = (target - value) / slope
        bend = 0.5 * step * (a * y - b * x - slope)
        if abs(bend) < _NEAR:
            step /= 1.0 + bend
        before, u = u, min(max(u + step, -_LARGEST_LOGIT), _LARGEST_LOGIT)
        if u == before or (abs(step) < _CLOSE and abs(bend) < _CLOSE):
            break
    return u


def _start(target: float, a: float, b: float) -> float:
    """A first guess of the logit: the normal approximation, or log(a / b) if a parameter below 1 makes that useless."""
    if min(a, b) < 1.0:
        return math.log(a / b)
    z = normal_quantile(math.exp(target))
    return math.log((a - 0.5) / (b - 0.5)) + z * math.sqrt(1.0 / a + 1.0 / b)


def expit(u: float) -> tuple[float, float]:
    """The x with logit u, and 1 - x."""
    power = math.exp(-abs(u))
    small, large = power / (1.0 + power), 1.0 / (1.0 + power)
    return (small, large) if u < 0.0 else (large, small)


class _Tail(NamedTuple):
    """One tail at a point: `ratio` times exp(`log_kernel`), the kernel being x^a y^b / B(a, b)."""

    log_kernel: float
    ratio: float
    lower: bool

    def logarithms(self) -> tuple[float, float]:
        """The logarithms of the lower and of the upper tail."""
        near = self.log_kernel + math.log(self.ratio)
        # Rounding can bring a tail of nearly 1 above 1.
        share = math.exp(min(near, 0.0))
        far = math.log1p(-share) if share < 1.0 else -math.inf
        return (near, far) if self.lower else (far, near)

    def log_lower_and_slope(self) -> tuple[float, float]:
        """The logarithm of the lower tail and its derivative by the logit (kernel over tail, safe from underflow)."""
        value = self.logarithms()[0]
        return value, 1.0 / self.ratio if self.lower else math.exp(self.log_kernel - value)


def _tail(x: float, y: float, a: float, b: float) -> _Tail:
    """The tail that converges faster: the lower one up to about the mean, the upper one beyond it."""
    log_kernel = beta_pair_log_kernel(x, y, a, b)
    ratio = _integrated_ratio if min(a, b) > _SMOOTH else _fraction_ratio
    if x * (a + b + 2.0) <= a + 1.0:
        return _Tail(log_kernel, ratio(x, y, a, b), lower=True)
    return _Tail(log_kernel, ratio(y, x, b, a), lower=False)


def beta_pair_log_kernel(x: float, y: float, a: float, b: float) -> float:
    """log(x^a y^b / B(a, b)) by Loader's deviances, which avoid the huge logarithms that cancel at large a and b."""
    n = a + b
    excess = _product_minus(n, x, a, b) if x <= y else -_product_minus(n, y, b, a)
    deviance = a * _deficit(excess / a, n * x / a) + b * _deficit(-excess / b, n * y / b)
    stirling = _stirling_error(n) - _stirling_error(a) - _stirling_error(b)
    return stirling - deviance + 0.5 * math.log(a / n * b) - _HALF_LOG_TWO_PI


def _product_minus(n: float, x: float, a: float, b: float) -> float:
    """n·x - a for n = a + b, with twice the digits of a double: at large n all accuracy depends on this difference."""
    # `lost` is the rounding error of a + b (Fast2Sum), `error` that of n·x (Dekker's product).
    lost = (a - (n - b)) if b >= a else (b - (n - a))
    product = n * x
    n_high = n * _SPLIT - (n * _SPLIT - n)
    x_high = x * _SPLIT - (x * _SPLIT - x)
    n_low, x_low = n - n_high, x - x_high
    error = ((n_high * x_high - product) + n_high * x_low + n_low * x_high) + n_low * x_low
    return (product - a) + (error + lost * x)


def _deficit(e: float, whole: float) -> float:
    """The difference e - log(1 + e), to full precision; `whole` is 1 + e, whose digits an e near -1 has lost."""
    if not _SERIES_FROM < e < _SERIES_TO:
        return e - math.log(whole)
    # log(1 + e) = 2 artanh(r) = 2 (r + r³/3 + r⁵/5 + …) for r = e / (2 + e), and e - 2r = r·e: nothing cancels.
    r = e / (2.0 + e)
    square, power, total = r * r, 1.0, 0.0
    for odd in range(3, 39, 2):
        term = power / odd
        total += term
        if term < _LAST_DIGIT / 16:
            break
        power *= square
    return r * (e - 2.0 * square * total)


@lru_cache(maxsize=1024)
def _stirling_error(z: float) -> float:
    """lgamma(z) minus Stirling's approximation of it."""
    if z < _STIRLING_FROM:
        return math.lgamma(z) - (z - 0.5) * math.log(z) + z - _HALF_LOG_TWO_PI
    s = 1.0 / (z * z)
    return (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s * (1 / 1188 - s * 691 / 360360))))) / z


def _fraction_ratio(x: float, y: float, a: float, b: float) -> float:
    """The lower tail over the kernel, by the even part of the continued fraction of DLMF 8.17.22 (modified Lentz).

    It takes about the square root of min(a, b) steps.
    """
    drift = a * y - b * x + 1.0
    value = c = a * drift / (a + 1.0)
    d = 0.0
    for m in range(1, 10_000):
        low = a + 2 * m - 1.0
        numerator = (m * (a + m - 1.0) / low) * ((a + b + m - 1.0) / low) * (b - m) * x * x
        denominator = m + m * (b - m) * x / low + (a + m) * (drift + m * (1.0 + y)) / (low + 2.0)
        d = 1.0 / (denominator + numerator * d)
        c = denominator + numerator / c
        step = c * d
        value *= step
        if abs(step - 1.0) < _LAST_DIGIT:
            break
    return 1.0 / value


def _integrated_ratio(x: float, y: float, a: float, b: float) -> float:
    """The lower tail over the kernel, by integrating the density leftward from x relative to its height there."""
    down, up = (a - 1.0) / x, (b - 1.0) / y
    slope = (_product_minus(a + b, y, b, a) if y < x else -_product_minus(a + b, x, a, b)) / (x * y) + (x - y) / (x * y)
    curvature = down / x + up / y
    # At this distance slope·t + curvature·t²/2 is 45: the positive root, in the form that does not cancel.
    reach = 2.0 * _NEGLIGIBLE / (slope + math.sqrt(slope * slope + 2.0 * _NEGLIGIBLE * curvature))

    def height(distance: float) -> float:
        left = (a - 1.0) * _deficit(-distance / x, (x - distance) / x)
        right = (b - 1.0) * _deficit(distance / y, (y + distance) / y)
        return math.exp(-slope * distance - left - right)

    return _integrate(height, 0.0, reach) / (x * y)


def _integrate(function: Callable[[float], float], start: float, stop: float) -> float:
    """∫ function over [start, stop], exact for polynomials of degree 63."""
    middle, half = 0.5 * (start + stop), 0.5 * (stop - start)
    return half * sum(weight * function(middle + half * node) for node, weight in legendre_nodes())


@cache
def legendre_nodes() -> tuple[tuple[float, float], ...]:
    """The 32 zeros of the Legendre polynomial and their weights on [-1, 1], by Newton's method; made on first use."""
    pairs = []
    for index in range(_NODES):
        x = math.cos(math.pi * (index + 0.75) / (_NODES + 0.5))
        for _ in range(6):
            value, slope = _legendre(x)
            x -= value / slope
        slope = _legendre(x)[1]
        pairs.append((x, 2.0 / ((1.0 - x * x) * slope * slope)))
    return tuple(pairs)


def _legendre(x: float) -> tuple[float, float]:
    """The Legendre polynomial of degree `_NODES` at x, and its derivative."""
    before, value = 1.0, x
    for degree in range(2, _NODES + 1):
        before, value = value, ((2 * degree - 1) * x * value - (degree - 1) * before) / degree
    return value, _NODES * (x * value - before) / (x * x - 1.0)


def at_most(k: int, n: int, p: float) -> float:
    """P(X ≤ k) for n trials that pass with probability p."""
    if k < 0:
        return 0.0
    return beta_survival(p, k + 1, n - k) if k < n else 1.0


def at_least(k: int, n: int, p: float) -> float:
    """P(X ≥ k) for n trials that pass with probability p."""
    if k <= 0:
        return 1.0
    return beta_cdf(p, k, n - k + 1) if k <= n else 0.0


def log_ways(of: int, some: int) -> float:
    """The logarithm of how many ways there are to choose `some` `of` so many; -∞ if there is none."""
    if not 0 <= some <= of:
        return -math.inf
    return math.lgamma(of + 1) - math.lgamma(some + 1) - math.lgamma(of - some + 1)
