"""Are the chances that `highbar plan` states those that happen? `python bench/planned.py` writes a table of both.

It is bench/tables/planned.csv. With repeated trials the plan rests on a Beta law: scenarios are drawn and judged by the
gate's own bound. For two versions on the same scenarios it rests on a normal law: outcomes are enumerated and judged
by the bound of the comparison. The seed and the points were fixed before the first run. Some two minutes.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # its parts are found however it is started

from highbar.planning import gate_chance, scenarios_to_show, size_needed  # noqa: E402 - needs the line above
from highbar.planning.plans import Assumptions  # noqa: E402 - likewise
from highbar.statistics.bounds import Sums, share_bounds  # noqa: E402 - likewise
from highbar.statistics.interval import Interval  # noqa: E402 - likewise
from highbar.statistics.paired import single_trial_bounds  # noqa: E402 - likewise

SEED = 20261117
ALPHA = 0.05
RUNS = 4_000
TABLE = ROOT / "bench" / "tables" / "planned.csv"
COLUMNS = ("what", "case", "scenarios", "stated", "real")
REPEATED = tuple(
    (bar, rate, trials, alike)
    for bar, rate in ((85, 90), (85, 95), (85, 75), (90, 97), (70, 80))
    for trials, alike in ((3, 10), (3, 30), (3, 60), (5, 30), (10, 30))
)
"""Threshold and true rate, trials of each scenario, correlation of these; all but the trials in percent."""
PAIRED = ((2, 5), (3, 10), (5, 10), (5, 20), (10, 20), (10, 40))
"""Difference of two versions and the share of scenarios on which they differ, in percent."""

Row = tuple[str, str, int, float, float]


def repeated(number: int, bar: int, rate: int, trials: int, alike: int) -> Row:
    """Scenarios of several trials, on the number of them that the plan names."""
    random = np.random.default_rng([SEED, number])
    assumed = Assumptions(trials=trials, correlation=Fraction(alike, 100))
    threshold, truth = Fraction(bar, 100), Fraction(rate, 100)
    scenarios = size_needed(threshold, truth, assumed).scenarios or 0  # each of these points has a number
    stated = gate_chance(scenarios, threshold, truth, assumed)
    size = 100 / alike - 1
    clear = 0
    for _ in range(RUNS):
        levels = random.beta(rate / 100 * size, (1 - rate / 100) * size, scenarios)
        shares = random.binomial(trials, levels) / trials
        n, z = scenarios, float(shares.sum())
        bounds = share_bounds(Sums(n, n, z, float((shares**2).sum()), z, n), ALPHA) or Interval(0.0, 1.0)
        clear += bounds.low >= threshold if rate > bar else bounds.high < threshold
    case = f"bar {bar} %, true rate {rate} %, {trials} trials, correlation {alike / 100:g}"
    return "repeated trials", case, scenarios, stated.passes if rate > bar else stated.fails, clear / RUNS


def paired(points: int, differing: int) -> Row:
    """Two versions on as many scenarios as the plan names; exact."""
    planned = scenarios_to_show(Fraction(points, 100), Fraction(differing, 100), Assumptions())
    scenarios = planned.scenarios
    better, worse = (differing + points) / 200, (differing - points) / 200
    real = sum(
        share
        for up, down, share in outcomes(scenarios, better, worse)
        if single_trial_bounds(up, down, scenarios, ALPHA).low > 0
    )
    case = f"difference of {points} points, {differing} % differ"
    return "two versions", case, scenarios, float(Assumptions().power), real


def outcomes(scenarios: int, better: float, worse: float) -> Iterator[tuple[int, int, float]]:
    """How many get better and worse, with the probability; without what is rarer than one in a billion."""
    rest = 1 - better - worse
    logs = [math.log(share) if share > 0 else -math.inf for share in (better, worse, rest)]
    for up in range(scenarios + 1):
        for down in range(scenarios + 1 - up):
            counts = (up, down, scenarios - up - down)
            if any(count and math.isinf(log) for count, log in zip(counts, logs, strict=True)):
                continue
            found = math.lgamma(scenarios + 1) - sum(math.lgamma(count + 1) for count in counts)
            share = math.exp(found + sum(count * log for count, log in zip(counts, logs, strict=True) if count))
            if share > 1e-9:
                yield up, down, share


def main() -> int:
    """Simulates, enumerates and writes the table."""
    rows = [repeated(number, *point) for number, point in enumerate(REPEATED)] + [paired(*point) for point in PAIRED]
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows((*row[:-2], f"{row[-2]:.4f}", f"{row[-1]:.4f}") for row in rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
