"""How often is the bound of a paired difference wrong, for one trial on either side? `python bench/paired_exact.py`.

Every outcome is enumerated, nothing is drawn. It writes bench/tables/paired_exact.csv: Tango's interval, that of Bonett
and Price, and the product's, at their worst over the shares of scenarios that get better and worse. Some two minutes.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # its parts are found however it is started

from bench.planned import outcomes  # noqa: E402 - needs the line above

from highbar.statistics.interval import Interval  # noqa: E402 - likewise
from highbar.statistics.paired import bonett_price, single_trial_bounds, tango_interval  # noqa: E402 - likewise

ALPHA = 0.05
TABLE = ROOT / "bench" / "tables" / "paired_exact.csv"
COLUMNS = ("method", "scenarios", "changes", "worst", "better", "worse")
SCENARIOS = (30, 60, 100, 150, 200, 300)
SHARES = (0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3)

Bounds = Callable[[int, int, int], Interval]
METHODS: dict[str, Bounds] = {
    "Highbar": lambda better, worse, n: single_trial_bounds(better, worse, n, ALPHA),
    "Tango": lambda better, worse, n: tango_interval(better, worse, n, ALPHA),
    "Bonett and Price": lambda better, worse, n: bonett_price(n, better - worse, better + worse, ALPHA),
}


def error(bounds: Bounds, scenarios: int, better: float, worse: float) -> float:
    """How often the lower end lies above the true difference: a false pass of a margin of that size."""
    truth = better - worse
    return sum(
        share
        for up, down, share in outcomes(scenarios, better, worse)
        if bounds(up, down, scenarios).low > truth + 1e-12
    )


def rows() -> Iterator[tuple[str, int, str, float, float, float]]:
    """The worst point of each method and size, if changes go both ways and if they go one way."""
    for method, bounds in METHODS.items():
        for scenarios in SCENARIOS:
            known: dict[tuple[int, int], Interval] = {}

            def once(up: int, down: int, n: int, known: dict[tuple[int, int], Interval] = known) -> Interval:
                if (up, down) not in known:
                    known[up, down] = bounds(up, down, n)  # noqa: B023 - called within this turn of the loop
                return known[up, down]

            for changes in ("both ways", "one way"):
                points = [(b, w) for b in SHARES for w in SHARES if b + w and (b * w > 0) == (changes == "both ways")]
                worst, better, worse = max((error(once, scenarios, b, w), b, w) for b, w in points)
                yield method, scenarios, changes, worst, better, worse


def main() -> int:
    """Enumerates and writes the table."""
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        for *names, worst, better, worse in rows():
            table.writerow((*names, f"{worst:.4f}", better, worse))
            file.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
