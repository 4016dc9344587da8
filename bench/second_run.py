"""Is "a second run would differ" true? `python bench/second_run.py` measures it: docs/concepts/second-run.csv.

Agents of many true rates run the same suite twice. The product's own functions judge the first run and say how likely
the second is judged differently; the second run shows whether it is. For each group of stated chances the table has
their mean beside the share that did differ. The grid and its seed were fixed before the first run; so were the kinds of
rules in `bench/second_run_kinds.py` before theirs, with seeds after those of the grid. Some five minutes.
"""

from __future__ import annotations

import csv
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache, partial
from pathlib import Path

import numpy as np
from msgspec.structs import replace

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # its parts are found however it is started

from bench.by_scenario import variance_split  # noqa: E402 - needs the line above
from bench.second_run_kinds import (  # noqa: E402 - needs the line above
    Pair,
    cluster_pairs,
    known,
    margin_pairs,
    suite_pairs,
)

from highbar.gate.outlook import ValueSupport, second_run  # noqa: E402 - likewise
from highbar.gate.thresholds import ThresholdOutcome, judge_value  # noqa: E402 - likewise
from highbar.model import Demand, RuleResult, Threshold, Value  # noqa: E402 - likewise
from highbar.statistics.bounds import Sums, nearest_rank, percentile_ranks, share_bounds  # noqa: E402 - likewise  # noqa: E402 - likewise
from highbar.statistics.second_run import NOT_REPEATED, Noise, trial_noise  # noqa: E402 - likewise

SEED = 20261117
ALPHA = 0.05
RUNS = 1_000
REPEATED_RUNS = 300  # of these each is judged by itself, where runs of one trial are often alike
SCENARIOS = (20, 50, 100, 300)
ALIKE = (0.0, 0.3, 0.6, 0.83, 0.95)
TRIALS = (1, 3)
RATES = (0.6, 0.995)
BARS = (Fraction(85, 100), Fraction(95, 100))
EDGES = (0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 1.01)
TABLE = ROOT / "docs" / "concepts" / "second-run.csv"
COLUMNS = ("rule", "trials", "correlation", "stated_from", "stated_to", "runs", "stated", "real")

Random = np.random.Generator


def runs(random: Random, scenarios: int, trials: int, alike: float) -> tuple[np.ndarray, np.ndarray]:
    """The passes of each scenario in two runs of agents whose rates are spread evenly; their trials are so alike."""
    number = RUNS if trials == 1 else REPEATED_RUNS
    rate = random.uniform(*RATES, (number, 1))
    if alike:
        size = 1 / alike - 1
        rate = random.beta(rate * size, (1 - rate) * size, (number, scenarios))
    first, second = (random.binomial(trials, rate, (number, scenarios)) for _ in range(2))
    return first, second


def demand_of(rule: str) -> tuple[Threshold, Demand]:
    """The threshold and the demand of a rule of the grid."""
    kind, _, bar = rule.partition(" ")
    value = Fraction(bar.removesuffix("%")) / 100
    return Threshold(">=", value, "ratio", f">= {float(value)}"), Demand(
        "confident" if kind == "confident" else "estimate"
    )


@cache
def judged(rule: str, scenarios: int, trials: int, total: int, squares: int, noise: Noise) -> ThresholdOutcome:
    """What the gate makes of a run with so many passes, and so large a sum of squares of its scenarios' passes."""
    value = Fraction(total, scenarios * trials)
    sums = Sums(
        scenarios, scenarios, value * scenarios, Fraction(squares, trials * trials), value * scenarios, scenarios
    )
    low, high = share_bounds(sums, ALPHA) or (0.0, 1.0)
    threshold, demand = demand_of(rule)
    support = ValueSupport(sums, scenarios, noise)
    return judge_value(
        "pass_rate", Value(value, scenarios, 0, "ratio", "higher", None, low, high), threshold, demand, ALPHA, support
    )


def noise_of(counts: np.ndarray, trials: int) -> Noise:
    """The trial noise that one run shows, rounded so that what follows from it is computed once."""
    if trials == 1:
        return NOT_REPEATED
    split = variance_split((int(count), trials) for count in counts)
    found = trial_noise(split, len(counts) * (trials - 1), float(trials))
    return replace(found, least=round(found.least, 2), most=round(found.most, 2))


def pairs(random: Random, rule: str, scenarios: int, trials: int, alike: float, *, stated: str) -> Iterator[Pair]:
    """Each of many pairs of runs, judged."""
    first, second = runs(random, scenarios, trials, alike)
    for one, two in zip(first, second, strict=True):
        noise = known(trials, alike) if stated == "known" else noise_of(one, trials)
        before, after = (
            judged(rule, scenarios, trials, int(run.sum()), int((run * run).sum()), noise) for run in (one, two)
        )
        if before.second_run is not None and before.second_run_low is not None:
            yield Pair(before.second_run_low, before.second_run, before.outcome != after.outcome)


def rules() -> tuple[str, ...]:
    """Every rule of the grid; of those of 100 % nothing is stated, and they give no rows."""
    shares = [f"{kind} {100 * bar}%" for kind in ("estimate", "confident") for bar in BARS]
    return (*shares, "estimate 100%", "confident 100%")


def grouped(found: list[Pair], label: tuple[str, str, str]) -> Iterator[tuple[object, ...]]:
    """The rows of the table: pairs by what was stated at most, and all of them."""
    for start, stop in (*itertools.pairwise(EDGES), (0.0, 1.01)):
        mine = [pair for pair in found if start <= pair.high < stop]
        if len(mine) >= 200:
            stated = f"{np.mean([pair.high for pair in mine]):.3f}"
            if any(pair.low != pair.high for pair in mine):
                stated = f"{np.mean([pair.low for pair in mine]):.3f} to {stated}"
            real = float(np.mean([pair.differed for pair in mine]))
            yield *label, f"{start:.2f}", f"{min(stop, 1.0):.2f}", len(mine), stated, f"{real:.3f}"


# --- latency ----------------------------------------------------------------------------------


def latency_value(times: np.ndarray) -> Value:
    """The 95th percentile of one run, with its bounds."""
    ordered = np.sort(times)
    count = len(ordered)
    ranks = percentile_ranks(count, Fraction(95, 100), ALPHA)
    low, high = (None if rank is None else float(ordered[rank - 1]) for rank in ranks)
    value = Fraction(str(round(float(ordered[nearest_rank(count, Fraction(95, 100)) - 1]), 3)))
    return Value(value, count, 0, "ms", "lower", None, low, high)


def latency_pairs(random: Random, scenarios: int, alike: float, kind: str) -> Iterator[Pair]:
    """Runs whose log latencies have this correlation, held against limits around their own 95th percentile."""
    demand = Demand("confident" if kind == "confident" else "estimate")
    for _ in range(RUNS // 2):
        center = random.normal(0, np.sqrt(alike), scenarios)
        one, two = (1000 * np.exp(0.5 * (center + random.normal(0, np.sqrt(1 - alike), scenarios))) for _ in range(2))
        limit = Fraction(int(1000 * np.exp(0.5 * 1.645) * random.uniform(0.7, 1.6)))
        threshold = Threshold("<", limit, "ms", f"< {limit}ms")
        support = ValueSupport(noise=known(1, alike), percentile=Fraction(95, 100))
        before, after = (
            judge_value("latency_p95", latency_value(run), threshold, demand, ALPHA, support) for run in (one, two)
        )
        if before.second_run is not None and before.second_run_low is not None:
            yield Pair(before.second_run_low, before.second_run, before.outcome != after.outcome)


# --- the whole verdict ------------------------------------------------------------------------


def verdict_pairs(random: Random, scenarios: int, alike: float, kind: str, mutual: float) -> Iterator[Pair]:
    """Three rules at once, whose trials agree with each other in so many cases, against the whole verdict."""
    noise = known(1, alike)
    bars = ("85%", "90%", "95%")
    for _ in range(RUNS // 2):
        level = random.uniform(0.8, 0.99)
        rates = np.full(scenarios, level)
        if alike:
            size = 1 / alike - 1
            rates = random.beta(level * size, (1 - level) * size, scenarios)
        verdicts = []
        for _run in range(2):
            common = random.random(scenarios)
            results = []
            for bar in bars:
                own = np.where(random.random(scenarios) < mutual, common, random.random(scenarios))
                total = int((own < rates).sum())
                found = judged(f"{kind} {bar}", scenarios, 1, total, total, noise)
                results.append(RuleResult(bar, "blocking", found.outcome, "", outlooks=found.outlooks))
            outcomes = {result.outcome for result in results}
            word = "fail" if "fail" in outcomes else "inconclusive" if "inconclusive" in outcomes else "pass"
            verdicts.append((word, second_run(results)))
        stated = verdicts[0][1]
        if stated is not None:
            yield Pair(stated.low, stated.high, verdicts[0][0] != verdicts[1][0])


def rows() -> Iterator[tuple[object, ...]]:
    """Every row of the table; each configuration has a random source of its own."""
    place = 0
    for trials in TRIALS:
        for alike in ALIKE if trials == 1 else ALIKE[1:4]:
            for rule in rules() if trials == 1 else ("estimate 85%", "confident 85%"):
                place += 1
                source = np.random.default_rng([SEED, place])
                stated = "known" if trials == 1 else "observed"
                found = [p for n in SCENARIOS for p in pairs(source, rule, n, trials, alike, stated=stated)]
                yield from grouped(found, (rule, str(trials), f"{alike:g}"))
    for alike in ALIKE[:4]:
        place += 1
        source = np.random.default_rng([SEED, place])
        found = [p for n in SCENARIOS for p in pairs(source, "estimate 85%", n, 1, alike, stated="observed")]
        yield from grouped(found, ("estimate 85%, correlation not known", "1", f"{alike:g}"))
    for kind in ("estimate", "confident"):
        for alike in (0.0, 0.6, 0.9):
            place += 1
            source = np.random.default_rng([SEED, place])
            found = [p for n in (30, 100) for p in latency_pairs(source, n, alike, kind)]
            yield from grouped(found, (f"{kind} latency_p95", "1", f"{alike:g}"))
            for mutual in (0.0, 1.0):
                place += 1
                source = np.random.default_rng([SEED, place])
                whole = [p for n in (50, 200) for p in verdict_pairs(source, n, alike, kind, mutual)]
                name = "independent" if mutual == 0 else "moving together"
                yield from grouped(whole, (f"{kind}, verdict of three rules, {name}", "1", f"{alike:g}"))


def other_kinds() -> Iterator[tuple[object, ...]]:
    """Rows for margins, clusters and the suite as a whole."""
    found: list[tuple[tuple[str, str, str], Callable[[Random], Iterable[Pair]]]] = []
    for kind in ("estimate", "confident"):
        for alike in (0.0, 0.6, 0.9):
            name = (f"{kind}, margin of 5 points", "1", f"{alike:g}")
            found.append((name, partial(_of_sizes, margin_pairs, (50, 200), (alike, kind))))
        for shared, alike in ((0.2, 0.0), (0.5, 0.0), (0.3, 0.5), (0.6, 0.6)):
            name = (f"{kind} 85%, clusters of 5 that share {shared:g}", "1", f"{shared + (1 - shared) * alike:.2g}")
            found.append((name, partial(_of_sizes, cluster_pairs, (10, 40), (shared, alike, kind))))
        for trials, alike in itertools.product(TRIALS, (0.0, 0.6)):
            name = (f"{kind} 85%, population: suite", str(trials), f"{alike:g}")
            found.append((name, partial(_of_sizes, suite_pairs, (20, 100), (trials, alike, kind))))
    for place, (name, take) in enumerate(found):
        yield from list(grouped(list(take(np.random.default_rng([SEED, 1000 + place]))), name))[-1:]


def _of_sizes(
    take: Callable[..., Iterable[Pair]], sizes: Iterable[int], settings: Sequence[object], random: Random
) -> list[Pair]:
    """The pairs of runs of all these sizes."""
    return [pair for size in sizes for pair in take(random, size, *settings)]


def main() -> int:
    """Simulates and writes the table."""
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        for row in itertools.chain(rows(), other_kinds()):
            table.writerow(row)
            file.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
