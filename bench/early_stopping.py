"""What does stopping early save, what does it cost, and what breaks it? `python -m bench.early_stopping`.

Exact: how likely each verdict is and how many scenarios it takes, beside a fixed suite and beside looking at an
ordinary interval after every scenario; and the largest error of every design up to 300 scenarios, for thresholds and
confidences off the grid on which the method was chosen. Simulated, with a seed that was fixed before the first run:
bets on scores, ratios and weights, margins, and runs that break a condition. The product's own boundaries decide.

It writes docs/concepts/early-stopping.csv, from which docs/concepts/early-stopping.md is read. Some six minutes;
`--quick` tries every tenth size, and writes nothing.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path

from bench.early_broken import broken_rules
from bench.early_exact import drawn, sampled
from bench.early_scores import margins, scores

from highbar.statistics.betting import bet_boundaries
from highbar.statistics.planning import gate_limits, scenarios_to_fail, scenarios_to_pass
from highbar.statistics.spending import (
    Boundaries,
    Boundary,
    Spending,
    binomial_boundaries,
    least_to_meet,
    suite_boundaries,
)

TABLE = Path(__file__).resolve().parent.parent / "docs" / "concepts" / "early-stopping.csv"
COLUMNS = ("what", "case", "measured", "value")
ALPHA = 0.05
THRESHOLD = Fraction(85, 100)
SIZE = 500
RATES = (0.70, 0.80, 0.85, 0.90, 0.95, 0.99)
LARGEST = 300
THRESHOLDS = (7, 37, 50, 63, 72, 81, 85, 88, 93, 95, 97, 99)
ALPHAS = (0.01, 0.05, 0.1)
SPENDINGS: tuple[Spending, ...] = ("linear", "late")

Row = tuple[str, str, str, float]


def once(size: int) -> Boundaries:
    """All scenarios are judged once, by their interval."""
    last = Boundary(*gate_limits(size, THRESHOLD, ALPHA))
    return Boundaries(size, iter([Boundary(None, None)] * (size - 1) + [last]))


def peeking(size: int) -> Boundaries:
    """The ordinary interval is looked at after every scenario."""
    return Boundaries(size, (Boundary(*gate_limits(looked, THRESHOLD, ALPHA)) for looked in range(1, size + 1)))


def spending(kind: Spending) -> Callable[[int], Boundaries]:
    """The error is spent as a policy says."""
    return lambda size: binomial_boundaries(THRESHOLD, size, ALPHA, kind)


DESIGNS: dict[str, Callable[[int], Boundaries]] = {
    "all scenarios, judged once": once,
    "an ordinary interval after every scenario": peeking,
    "spending: linear": spending("linear"),
    "spending: late": spending("late"),
    "bets": lambda size: bet_boundaries(THRESHOLD, size, ALPHA),
}


def outcomes() -> Iterator[Row]:
    """Each design at each true rate, and the fixed suite with the same power."""
    for name, design in DESIGNS.items():
        boundaries = design(SIZE)
        for rate in RATES:
            ends = sampled(boundaries, rate)
            case = f"true rate {rate:.0%}"
            yield name, case, "passes", ends.passes
            yield name, case, "fails", ends.fails
            yield name, case, "scenarios", ends.units
            valid = name not in ("all scenarios, judged once", "an ordinary interval after every scenario")
            if valid and rate != float(THRESHOLD):
                yield from savings(name, case, rate, ends.passes if rate > THRESHOLD else ends.fails, ends.units)


def savings(name: str, case: str, rate: float, power: float, units: float) -> Iterator[Row]:
    """How large a fixed suite with the same power is (of at most 99.99 %), and how much of it is saved."""
    needed = scenarios_to_pass if rate > THRESHOLD else scenarios_to_fail
    equal = needed(THRESHOLD, Fraction(str(rate)), min(power, 0.9999), ALPHA)
    if equal is not None:
        yield name, case, "as good as", equal
        yield name, case, "saved", 1 - units / equal


def errors(step: int) -> Iterator[Row]:
    """The largest error of all sizes up to 300, as a share of the accepted one: each design and threshold, exactly."""
    for kind, alpha, percent in product(SPENDINGS, ALPHAS, THRESHOLDS):
        threshold = Fraction(percent, 100)
        worst = {"sample": 0.0, "suite": 0.0}
        for size in range(1, LARGEST + 1, step):
            ends = sampled(binomial_boundaries(threshold, size, alpha, kind), percent / 100)
            worst["sample"] = max(worst["sample"], ends.passes / alpha, ends.fails / alpha)
            boundaries, least = suite_boundaries(threshold, size, alpha, kind), least_to_meet(threshold, size)
            found = max(drawn(boundaries, least - 1).passes, drawn(boundaries, least).fails)
            worst["suite"] = max(worst["suite"], found / alpha)
        for population, share in worst.items():
            yield "largest error", f"{population}, {kind}, alpha {alpha}, threshold {percent}%", "of alpha", share


def rows(step: int) -> Iterator[Row]:
    """The whole table."""
    yield from outcomes()
    yield from broken_rules()
    yield from scores()
    yield from margins()
    yield from errors(step)


def shown(found: Iterable[Row]) -> Iterator[Row]:
    """The rows, printed as they come."""
    for what, case, measured, value in found:
        print(f"{what:45} {case:60} {measured:12} {value:.4f}")
        yield what, case, measured, value


def written(measured: str, value: float) -> str:
    """A figure in the table; of an error that comes close to the accepted one, enough digits to tell them apart."""
    return f"{value:.{6 if measured == 'of alpha' else 4}f}"


def main(arguments: list[str]) -> int:
    """Measures, and writes the table."""
    quick = arguments == ["--quick"]
    found = list(shown(rows(10 if quick else 1)))
    if not quick:
        with TABLE.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows((*row[:3], written(*row[2:])) for row in found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
