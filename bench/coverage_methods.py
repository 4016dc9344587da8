"""How often the bounds of a share are wrong on drawn samples: ours, and those that are in use elsewhere."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from bench.by_scenario import count_bounds
from bench.coverage_grid import (
    ALPHA,
    BOOTSTRAP_REPLICATES,
    REPLICATES,
    RESAMPLES,
    SUITE_TRIALS,
    WIDTHS,
    Integers,
    Point,
    Random,
    Reals,
    Sample,
)

from highbar.statistics.bounds import Sums, share_bounds, share_p_value
from highbar.statistics.distributions import normal_quantile
from highbar.statistics.ratio import student_quantile

BATCH = 1_000


@dataclass(frozen=True, slots=True)
class Figure:
    """How often one method was wrong at one point, on either side, and how wide it was."""

    family: str
    point: str
    scenarios: int
    method: str
    false_pass: float
    false_fail: float
    width: float
    limited: bool = False

    @property
    def worst(self) -> float:
        """The larger of the two errors."""
        return max(self.false_pass, self.false_fail)


def figures(point: Point, rng: Random) -> Iterator[Figure]:
    """Every method at one point of the grid."""
    sample = point.draw(rng, REPLICATES)
    sums = six_sums(sample)
    largest = sample.d.max(axis=1) if point.weighted else None
    found = ours(sums, sample.truth, largest)
    yield Figure(point.family, point.name, point.scenarios, "Highbar", *found, limited=point.limited)
    for method, (low, high) in rivals(sums, sample.trials, binary=point.binary).items():
        yield Figure(point.family, point.name, point.scenarios, method, *errors(low, high, sample.truth))
    low, high = bootstrap(sample, rng)
    yield Figure(point.family, point.name, point.scenarios, "bootstrap", *errors(low, high, sample.truth))


def six_sums(sample: Sample) -> Integers:
    """The sums that our bounds need, one row for each replicate."""
    z, d = sample.z, sample.d
    columns = ((d > 0).sum(axis=1), d.sum(axis=1), z.sum(axis=1))
    return np.stack([*columns, (z * z).sum(axis=1), (z * d).sum(axis=1), (d * d).sum(axis=1)], axis=1)


def ours(sums: Integers, truth: float, largest: Integers | None = None) -> tuple[float, float, float]:
    """False passes, false fails and mean width of the pseudo-cluster Beta bound; `largest` is the largest weight.

    A bound is beyond the truth exactly when its p-value there is below alpha; each distinct row is judged once.
    """
    passes = fails = 0
    pseudo = np.zeros(len(sums), np.int64) if largest is None else largest
    rows, counts = np.unique(np.column_stack([sums, pseudo]), axis=0, return_counts=True)
    for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
        clusters, d, z, zz, zd, dd, most = row
        if z > truth * d:
            mirrored = Sums(clusters, d, d - z, dd - 2 * zd + zz, dd - zd, dd)
            passes += count * (share_p_value(mirrored, 1 - truth, most or None) < ALPHA)
        elif clusters:
            fails += count * (share_p_value(Sums(clusters, d, z, zz, zd, dd), truth, most or None) < ALPHA)
    bounds = [
        share_bounds(Sums(*row), ALPHA, most or None) or (0.0, 1.0)
        for row, most in zip(sums[:WIDTHS].tolist(), pseudo[:WIDTHS].tolist(), strict=True)
    ]
    width = math.fsum(high - low for low, high in bounds) / len(bounds)
    return passes / len(sums), fails / len(sums), width


def rivals(sums: Integers, trials: Integers, *, binary: bool) -> dict[str, tuple[Reals, Reals]]:
    """Wald and Wilson on all trials as if independent (for passes and fails), and t on the scenarios (Miller 2024)."""
    clusters, d, z, zz, zd, dd = (column.astype(float) for column in sums.T)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = z / d
        squares = np.maximum(zz - 2 * share * zd + share * share * dd, 0.0)
        deviation = np.sqrt(clusters / (clusters - 1) * squares) / d
        quantile = np.array([_student(int(count)) for count in sums[:, 0]])
        found = {"t": (share - quantile * deviation, share + quantile * deviation)}
        if binary:
            z_alpha, n = normal_quantile(1 - ALPHA), trials.astype(float)
            half = z_alpha * np.sqrt(share * (1 - share) / n)
            found["Wald"] = (share - half, share + half)
            scale, extra = 1 + z_alpha**2 / n, z_alpha**2 / (4 * n * n)
            middle = (share + z_alpha**2 / (2 * n)) / scale
            half = z_alpha * np.sqrt(share * (1 - share) / n + extra) / scale
            found["Wilson"] = (middle - half, middle + half)
    return found


def bootstrap(sample: Sample, rng: Random) -> tuple[Reals, Reals]:
    """The percentiles of the share over resampled scenarios; a batch of replicates shares its resamples."""
    lows, highs = [], []
    for start in range(0, BOOTSTRAP_REPLICATES, BATCH):
        z, d = (part[start : start + BATCH].astype(np.float32) for part in (sample.z, sample.d))
        scenarios = z.shape[1]
        drawn = rng.multinomial(scenarios, np.full(scenarios, 1 / scenarios), RESAMPLES).astype(np.float32)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.sort((z @ drawn.T) / (d @ drawn.T), axis=1)
        lows.append(shares[:, math.ceil(ALPHA * RESAMPLES) - 1])
        highs.append(shares[:, math.floor((1 - ALPHA) * RESAMPLES)])
    return np.concatenate(lows).astype(float), np.concatenate(highs).astype(float)


def errors(low: Reals, high: Reals, truth: float) -> tuple[float, float, float]:
    """False passes, false fails and mean width of bounds; an undefined bound is no error."""
    # A share in single precision may exceed a truth that it equals.
    slack = 1e-6
    return float(np.mean(low > truth + slack)), float(np.mean(high < truth - slack)), float(np.nanmean(high - low))


def suite_figure(scenarios: int, rate: float, rng: Random) -> Figure:
    """The bounds for the suite as the whole population: fixed scenarios, half of which always pass, pooled trials."""
    steady = scenarios // 2
    total = scenarios * SUITE_TRIALS
    flaky = rng.binomial((scenarios - steady) * SUITE_TRIALS, 2 * rate - 1, REPLICATES)
    truth = (steady + (scenarios - steady) * (2 * rate - 1)) / scenarios
    counts = flaky + steady * SUITE_TRIALS
    ends = np.array([_counted(passed, total) for passed in counts.tolist()])
    name = f"half always pass, {SUITE_TRIALS} trials, rate {rate}"
    figure = errors(ends[:, 0], ends[:, 1], truth)
    return Figure("the suite itself", name, scenarios, "Highbar", *figure, limited=True)


@cache
def _counted(passed: int, total: int) -> tuple[float, float]:
    return count_bounds(passed, total, ALPHA)


@cache
def _student(clusters: int) -> float:
    return student_quantile(1 - ALPHA, clusters - 1) if clusters > 1 else math.nan
