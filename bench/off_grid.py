"""Where bounds broke: `python bench/off_grid.py` measures again, and writes bench/tables/off_grid.json and the page.

These are the families that an audit found outside of the grid of `bench/coverage.py`. Every point is judged as the
product judges it, so that a run which is inconclusive by its guards is neither a false pass nor a false fail; `before`
is the bound that was used until then. The points were fixed before the first run and not changed since. The first seed
saw two repairs (20261117); this one was fixed after them and before its first run. Some minutes on one core. Exits
with 1 if an error is above 6.5 %.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # its parts are found however it is started

from bench.by_scenario import ratio_bounds  # noqa: E402 - needs the line above
from bench.coverage_grid import ALPHA, LIMIT, Random, Reals  # noqa: E402 - needs the line above
from bench.off_grid_page import page  # noqa: E402 - likewise

from highbar.measure.limits import FEW_WEIGHTED, HEAVY  # noqa: E402 - likewise
from highbar.statistics.bounded_ratio import BoundedRatio  # noqa: E402 - likewise
from highbar.statistics.bounds import MOST_UNEQUAL, Sums, share_bounds, share_p_value, suite_bounds, unseen_weight  # noqa: E402 - likewise  # noqa: E402 - likewise
from highbar.statistics.paired import bonett_price_units, paired_bounds, single_trial_bounds  # noqa: E402 - likewise
from highbar.statistics.ratio import RatioSums, ThirdSums, skewed_ratio_bounds  # noqa: E402 - likewise
from highbar.statistics.slices import effective_counts, shrink  # noqa: E402 - likewise

# --- fixed before the first run: no point is taken out, and none is drawn again --------------------------------------

SEED = 73109254
REPLICATES = 4_000
UNEQUAL_TRIALS = ((40, 0.5, 1, 10), (40, 0.8, 1, 10), (120, 0.5, 1, 10), (40, 0.5, 10, 1), (40, 0.5, 3, 10))
"""Scenarios; the pass rate of the fifth that is flaky, and its trials; the trials of the rest, which always pass."""
TIED_WEIGHTS = (
    *((0.10, 10, 0.95, 0.15, 75), (0.03, 20, 0.95, 0.15, 150), (0.10, 10, 1.0, 0.15, 150), (0.03, 20, 1.0, 0.15, 300)),
    *((0.05, 10, 0.99, 0.05, 600), (0.10, 4, 0.95, 0.15, 75), (0.20, 4, 1.0, 0.15, 75), (0.10, 2, 1.0, 0.15, 150)),
    *((0.02, 10, 0.85, 0.15, 300), (0.02, 10, 0.97, 0.30, 300), (0.20, 2, 0.90, 0.0, 100)),
)
"""Share of heavy scenarios, their weight, the rate of the others, by how much the heavy ones are harder, scenarios."""
BREAKAGE = ((0.03, 75), (0.03, 150), (0.03, 300), (0.10, 150))
"""Share of scenarios that passed always and now never pass; scenarios."""
WEIGHTED_BREAKAGE = ((0.10, 10, 0.10, 150), (0.20, 4, 0.10, 150), (0.10, 4, 0.10, 300))
"""Share of heavy scenarios, their weight, the share of them that breaks (of the others a fifth of it), scenarios."""
COSTS = ((0.7, 5, 40), (1.2, 5, 150), (0.7, 1, 40), (1.0, 3, 100))
"""Spread of the logarithm of a cost, how many times as much a failed scenario (1 of 10) costs, scenarios."""
COST_LIMIT = 20.0  # of a median cost of 1; what costs more is stopped there
RETRIED = ((10, 23), (10, 75), (3, 75), (3, 150), (3, 300), (2, 150))
"""Trials of the tenth of the scenarios that is slow, one for each other; scenarios."""
ALL_OF_K = ((2, 2, 40, 0.8), (2, 5, 40, 0.9), (3, 3, 120, 0.6), (3, 5, 40, 0.8), (3, 10, 20, 0.95))
"""pass^k of the whole suite: k, the trials of each scenario, scenarios, the pass rate of a trial."""
SLICES = ((10, 10, 5, 0.8), (10, 30, 1, 0.0), (10, 5, 10, 0.5))
"""Slices, clusters in each, scenarios in a cluster, their correlation; the true rate is SLICE_RATE everywhere."""
SLICE_RATE = 0.85

# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Point:
    """How often a bound was wrong at one point: as it was before, and as the product judges now."""

    family: str
    point: str
    scenarios: int
    before_pass: float
    before_fail: float
    false_pass: float
    false_fail: float
    inconclusive: float  # the share of the runs that a guard left open
    width: float | None  # the mean width now over that before; None where only the truth was tried


@dataclass(frozen=True, slots=True)
class Shrunk:
    """The mean of the worst slice's rate, as shown before and now, where all slices have the same true rate."""

    point: str
    truth: float
    raw: float
    before: float
    now: float


Ends = tuple[float, float]


def measured(
    family: str,
    point: str,
    scenarios: int,
    truth: float,
    runs: Sequence[tuple[Ends, Ends, bool]],
    *,
    wide: bool = True,
) -> Point:
    """A point from (bounds before, bounds now, whether a guard leaves it open) of each run.

    Without `wide` the ends are not as far apart as the bounds are: only the side of the truth is known.
    """
    before, now = np.array([run[0] for run in runs]), np.array([run[1] for run in runs])
    open_ = np.array([run[2] for run in runs])
    slack = 1e-9

    def share(wrong: npt.NDArray[np.bool_]) -> float:
        return round(float(np.mean(wrong)), 4)

    widths = [np.mean(np.minimum(ends[:, 1], 1e9) - np.maximum(ends[:, 0], -1e9)) for ends in (before, now)]
    return Point(
        family,
        point,
        scenarios,
        share(before[:, 0] > truth + slack),
        share(before[:, 1] < truth - slack),
        share((now[:, 0] > truth + slack) & ~open_),
        share((now[:, 1] < truth - slack) & ~open_),
        share(open_),
        round(float(widths[1] / widths[0]), 2) if wide else None,
    )


def unequal_trials(count: int, rate: float, few: int, many: int, rng: Random) -> Iterator[Point]:
    """`population: suite`: Clopper and Pearson with Kish's number of trials, and with the one that holds."""
    flaky = count // 5
    truth = (flaky * rate + count - flaky) / count
    passed = rng.binomial(flaky * few, rate, REPLICATES) / few
    kish = count**2 / (flaky / few + (count - flaky) / many)
    worth = count / max(1 / few, 1 / many)
    known: dict[float, tuple[Ends, Ends, bool]] = {}
    for one in passed.tolist():
        value = (one + count - flaky) / count
        if one not in known:
            before, now = (suite_bounds(value, Fraction(n), ALPHA) for n in (kish, worth))
            known[one] = (before, now, False)
    runs = [known[one] for one in passed.tolist()]
    yield measured("unequal trials", f"{few} of the flaky fifth ({rate:.0%}), {many} of the rest", count, truth, runs)


def all_of_k(k: int, trials: int, count: int, rate: float, rng: Random) -> Iterator[Point]:
    """pass^k under `population: suite`: every trial counted as one, and every k of them, none of them twice."""
    passed = rng.binomial(trials, rate, (REPLICATES, count))
    scores = np.array([math.comb(number, k) for number in range(trials + 1)])
    known: dict[int, tuple[Ends, Ends, bool]] = {}
    totals = scores[passed].sum(1).tolist()
    for total in totals:
        if total not in known:
            value = Fraction(total, count * math.comb(trials, k))
            before, now = (suite_bounds(value, count * number, ALPHA) for number in (trials, trials // k))
            known[total] = (before, now, False)
    name = f"k = {k}, {trials} trials that pass with {rate:.0%}"
    yield measured("pass^k of the whole suite", name, count, rate**k, [known[total] for total in totals])


def tied_weights(share: float, weight: int, rate: float, harder: float, count: int, rng: Random) -> Iterator[Point]:
    """A weighted share whose heavy scenarios are harder: the pseudo-cluster of typical weight, and of the largest."""
    heavy = rng.random((REPLICATES, count)) < share
    d = np.where(heavy, weight, 1)
    z = d * (rng.random(d.shape) < np.where(heavy, rate - harder, rate))
    truth = (share * weight * (rate - harder) + (1 - share) * rate) / (share * weight + 1 - share)
    name = f"weight {weight} on {share:.0%}, {harder:.0%} harder than {rate:.0%}"
    yield measured("weights tied to difficulty", name, count, truth, _weighted_runs(z, d))


def _weighted_runs(z: Reals, d: Reals) -> list[tuple[Ends, Ends, bool]]:
    known: dict[tuple[int, ...], tuple[Ends, Ends, bool]] = {}
    runs = []
    columns = (d.sum(1), z.sum(1), (z * z).sum(1), (z * d).sum(1), (d * d).sum(1), d.max(1))
    for row in zip(*(column.tolist() for column in columns), strict=True):
        if row not in known:
            total, *_, squares, largest = row
            sums = Sums(z.shape[1], *row[:-1])
            guarded = total**2 / squares < FEW_WEIGHTED or largest / total > HEAVY
            alike = largest * z.shape[1] == total
            ends = [share_bounds(sums, ALPHA, pseudo) or (0.0, 1.0) for pseudo in (None, largest)]
            known[row] = (ends[0], ends[1], guarded and not alike)
        runs.append(known[row])
    return runs


def breakage(share: float, count: int, rng: Random) -> Iterator[Point]:
    """A paired difference where few deterministic scenarios break: one trial, then scores of several trials."""
    broken = rng.binomial(count, share, REPLICATES).tolist()
    known = {
        worse: (
            _price([(-1, 1)] * worse + [(0, 1)] * (count - worse)),
            single_trial_bounds(0, worse, count, ALPHA),
            False,
        )
        for worse in set(broken)
    }
    name = f"{share:.0%} of deterministic scenarios break"
    yield measured("one-sided breakage, one trial", name, count, -share, [known[worse] for worse in broken])
    runs = []
    for worse in broken[: REPLICATES // 2]:
        units = [(-rng.binomial(5, 0.9) / 5, 1) for _ in range(worse)] + [(0, 1)] * (count - worse)
        runs.append((_price(units), paired_bounds(units, ALPHA) or (-1.0, 1.0), False))
    name = f"{share:.0%} lose nine in ten of their trials"
    yield measured("one-sided breakage, five trials", name, count, -0.9 * share, runs)


def _price(units: Sequence[tuple[float, float]]) -> Ends:
    return bonett_price_units(units, ALPHA) or (-1.0, 1.0)


def weighted_breakage(share: float, weight: int, broken: float, count: int, rng: Random) -> Iterator[Point]:
    """A weighted margin where the heavy scenarios break more."""
    runs = []
    for _ in range(REPLICATES // 2):
        heavy = rng.random(count) < share
        d = np.where(heavy, float(weight), 1.0)
        x = -d * (rng.random(count) < np.where(heavy, broken, broken / 5))
        units = list(zip(x.tolist(), d.tolist(), strict=True))
        guarded = d.sum() ** 2 / (d * d).sum() < FEW_WEIGHTED or d.max() / d.sum() > HEAVY
        runs.append((_price(units), paired_bounds(units, ALPHA) or (-1.0, 1.0), bool(guarded)))
    truth = -(share * weight * broken + (1 - share) * broken / 5) / (share * weight + 1 - share)
    name = f"weight {weight} on {share:.0%}, of which {broken:.0%} break"
    yield measured("one-sided breakage, weighted", name, count, truth, runs)


def skewed_costs(spread: float, times: float, count: int, rng: Random) -> Iterator[Point]:
    """Cost per pass: without a limit always inconclusive (the shown interval is Hall's), with one by its bound."""
    passed = (rng.random((REPLICATES, count)) < 0.9).astype(float)
    costs = np.exp(spread * rng.standard_normal(passed.shape)) * np.where(passed > 0, 1, times)
    truth = math.exp(spread * spread / 2) * (0.9 + 0.1 * times) / 0.9
    name = f"spread {spread}, failures cost {times} times as much"
    shown, now = [], []
    for c, p in zip(costs.tolist(), passed.tolist(), strict=True):
        before = ratio_bounds(list(zip(c, p, strict=True)), ALPHA) or (-math.inf, math.inf)
        shown.append((before, before, True))
        now.append((before, _hall(c, p), False))
    yield measured("skewed costs, no limit: confident", name, count, -truth, _turned(shown))
    yield measured("skewed costs, no limit: as shown", name, count, -truth, _turned(now))
    capped = np.minimum(costs, COST_LIMIT)
    large = 400_000
    drawn = np.exp(spread * rng.standard_normal(large)) * np.where(rng.random(large) < 0.1, times, 1)
    truth = float(np.minimum(drawn, COST_LIMIT).mean()) / 0.9
    limited = [
        (
            (before := ratio_bounds(list(zip(c, p, strict=True)), ALPHA) or (-math.inf, math.inf)),
            _limited(c, p, truth),
            False,
        )
        for c, p in zip(capped.tolist(), passed.tolist(), strict=True)
    ]
    yield measured(
        "skewed costs with a limit", f"{name}, at most {COST_LIMIT:.0f}", count, -truth, _turned(limited), wide=False
    )


def _hall(costs: Sequence[float], passed: Sequence[float]) -> Ends:
    q, t = np.array(costs), np.array(passed)
    sums = RatioSums(len(q), q.sum(), t.sum(), (q * q).sum(), (q * t).sum(), (t * t).sum(), t.max())
    thirds = ThirdSums((q**3).sum(), (q * q * t).sum(), (q * t * t).sum(), (t**3).sum())
    return skewed_ratio_bounds(sums, thirds, ALPHA) or (-math.inf, math.inf)


def _limited(costs: Sequence[float], passed: Sequence[float], truth: float) -> Ends:
    """Ends that are on the side of the truth where the bounds are: whether the truth is rejected needs no search."""
    c, p, count = np.array(costs) / COST_LIMIT, np.array(passed), len(costs)
    of_c, squares, of_p, passes, product = (Fraction(n.sum()) for n in (c, c * c, p, p * p, c * p))
    above, below = Sums(count, count, of_c, squares, of_c, count), Sums(count, count, of_p, passes, of_p, count)
    share = (truth / COST_LIMIT) / (1 + truth / COST_LIMIT)
    mixed = BoundedRatio(above, below, product).at(share)
    value = float(c.sum() / p.sum()) * COST_LIMIT
    if value < truth:
        return value, value if share_p_value(mixed, share) < ALPHA else math.inf
    d, z, zz, zd, dd = mixed.d, mixed.z, mixed.zz, mixed.zd, mixed.dd
    mirrored = Sums(count, d, d - z, dd - 2 * zd + zz, dd - zd, dd)
    return (value if share_p_value(mirrored, 1 - share) < ALPHA else -math.inf), value


def retried(trials: int, count: int, rng: Random) -> Iterator[Point]:
    """The 95th percentile of latencies where slow scenarios were tried more often."""
    slow_share = 0.1
    of_slow = slow_share * trials / (slow_share * trials + 1 - slow_share)
    truth = _percentile_of_mixture(of_slow)
    runs = []
    for _ in range(REPLICATES // 4):
        slow = rng.random(count) < slow_share
        own = np.where(slow, 3000.0, 1000.0) * np.exp(0.3 * rng.standard_normal(count))
        repeats = np.where(slow, trials, 1)
        units = np.repeat(np.arange(count), repeats)
        values = own[units] * np.exp(0.1 * rng.standard_normal(len(units)))
        below = np.bincount(units, values < truth, minlength=count)
        sums = Sums.of(zip(below.astype(int).tolist(), repeats.tolist(), strict=True))
        pseudo = unseen_weight(int(repeats.min()), int(repeats.max()))
        open_ = bool(repeats.max() > MOST_UNEQUAL * repeats.min())
        runs.append((_rejected(sums, None, truth), _rejected(sums, pseudo, truth), open_))
    name = f"slow tenth tried {trials} times"
    yield measured("informative trial counts", name, count, -truth, _turned(runs), wide=False)


def _rejected(sums: Sums, pseudo: int | None, truth: float) -> Ends:
    """Ends on the side of the truth where the bounds of the percentile are.

    The upper bound is below the truth exactly if the share below the truth is surely above 95 %, and so on.
    """
    missing = Sums(sums.clusters, sums.d, sums.d - sums.z, sums.dd - 2 * sums.zd + sums.zz, sums.dd - sums.zd, sums.dd)
    above, below = share_p_value(missing, 0.05, pseudo) < ALPHA, share_p_value(sums, 0.95, pseudo) < ALPHA
    return (truth + 1 if below else 0.0), (truth - 1 if above else 2 * truth)


def _turned(runs: Sequence[tuple[Ends, Ends, bool]]) -> list[tuple[Ends, Ends, bool]]:
    """Where lower is better a rule passes by the upper bound: the errors change sides."""
    return [((-before[1], -before[0]), (-now[1], -now[0]), open_) for before, now, open_ in runs]


def _percentile_of_mixture(of_slow: float) -> float:
    spread = math.hypot(0.3, 0.1)
    low, high = 500.0, 20_000.0
    for _ in range(100):
        middle = (low + high) / 2
        below = sum(
            share * 0.5 * math.erfc(-math.log(middle / typical) / spread / math.sqrt(2))
            for share, typical in ((of_slow, 3000.0), (1 - of_slow, 1000.0))
        )
        low, high = (middle, high) if below < 0.95 else (low, middle)
    return low


def shrunk(slices: int, clusters: int, size: int, correlation: float, rng: Random) -> Shrunk:
    """The worst of equal slices, shrunk by the number of scenarios, and by what their clusters are worth."""
    raw, before, now = [], [], []
    for _ in range(REPLICATES // 4):
        rates = np.full((slices, clusters), SLICE_RATE)
        if correlation:
            total = 1 / correlation - 1
            rates = rng.beta(SLICE_RATE * total, (1 - SLICE_RATE) * total, (slices, clusters))
        passed = rng.binomial(size, rates)
        counts = [(int(row.sum()), clusters * size) for row in passed]
        sums = [Sums.of([(int(z), size) for z in row]) for row in passed]
        raw.append(min(z / d for z, d in counts))
        before.append(min(shrink(counts)))
        now.append(min(shrink(effective_counts(sums))))
    name = f"{slices} slices of {clusters} clusters of {size}, correlation {correlation}"
    return Shrunk(name, SLICE_RATE, *(round(float(np.mean(values)), 3) for values in (raw, before, now)))


def tasks() -> Iterator[Callable[[Random], Iterator[Point]]]:
    """What is to be simulated, in an order that never changes: a task's place in it is part of its seed."""
    for one in UNEQUAL_TRIALS:
        yield partial(unequal_trials, *one)
    for two in TIED_WEIGHTS:
        yield partial(tied_weights, *two)
    for three in BREAKAGE:
        yield partial(breakage, *three)
    for four in WEIGHTED_BREAKAGE:
        yield partial(weighted_breakage, *four)
    for five in COSTS:
        yield partial(skewed_costs, *five)
    for six in RETRIED:
        yield partial(retried, *six)
    for seven in ALL_OF_K:
        yield partial(all_of_k, *seven)


def main() -> int:
    """Simulates, writes the table and the page, and says whether the limit was kept."""
    points: list[Point] = []
    for number, task in enumerate(tasks()):
        points += task(np.random.default_rng([SEED, number]))
        print(f"\r{number + 1} simulated", end="", file=sys.stderr, flush=True)
    slices = [shrunk(*one, np.random.default_rng([SEED, 1000 + at])) for at, one in enumerate(SLICES)]
    table = {
        "seed": SEED,
        "replicates": REPLICATES,
        "limit": LIMIT,
        "points": [asdict(point) for point in points],
        "slices": [asdict(one) for one in slices],
    }
    (ROOT / "bench/tables/off_grid.json").write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    (ROOT / "docs/concepts/off-the-grid.md").write_text(page(table), encoding="utf-8")
    above = [
        point
        for point in points
        if max(point.false_pass, point.false_fail) > LIMIT and not point.family.endswith("as shown")
    ]
    for point in above:
        print(f"\n{point.family}, {point.point}, {point.scenarios}: {point.false_pass:.1%} / {point.false_fail:.1%}")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
