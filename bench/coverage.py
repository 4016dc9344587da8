"""Do the bounds keep their promise? `python bench/coverage.py` measures it and writes docs/concepts/coverage-table.md.

Gates whose truth is known are simulated on a fixed grid. A false pass is a lower bound above the truth, a false fail an
upper bound below it; each should happen at most 5 % of the time. Exits with 1 if one of our bounds exceeds 6.5 % at a
point where a limit is promised. Every point is in docs/concepts/coverage-points.csv. Some ten minutes on two cores.
With names of families (`python bench/coverage.py weights composite`) only these are simulated anew.
"""

from __future__ import annotations

import csv
import itertools
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # its parts are found however it is started

from bench.coverage_formulas import composite_figures, token_figures  # noqa: E402 - needs the line above
from bench.coverage_grid import (  # noqa: E402 - likewise
    COMPOSITE_CORRELATIONS,
    COMPOSITE_LEVELS,
    LIMIT,
    RATES,
    SCENARIOS,
    SEED,
    TOKENS,
    Random,
    points,
)
from bench.coverage_methods import Figure, figures, suite_figure  # noqa: E402 - likewise
from bench.coverage_page import page  # noqa: E402 - likewise

Task = Callable[[Random], Iterator[Figure]]
POINTS = ROOT / "docs/concepts/coverage-points.csv"
UNLIMITED = ("extreme weights", "token efficiency")


def tasks() -> Iterator[tuple[str, Task]]:
    """What is to be simulated, in an order that never changes: a task's place in it is part of its seed."""
    for point in points():
        yield point.family, partial(figures, point)
    for scenarios, rate in itertools.product(SCENARIOS, RATES):
        yield "the suite itself", partial(_suite, scenarios, rate)
    for scenarios, levels, mutual in itertools.product(SCENARIOS, COMPOSITE_LEVELS, COMPOSITE_CORRELATIONS):
        yield "composite", partial(composite_figures, levels, mutual, scenarios)
    for scenarios, (name, times) in itertools.product(SCENARIOS, TOKENS.items()):
        yield "token efficiency", partial(token_figures, name, times, scenarios)


def known_figures() -> Iterator[Figure]:
    """The figures of the last time."""
    with POINTS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            passes, fails, width = (float(row[name]) for name in ("false_pass", "false_fail", "width"))
            limited = row["method"] == "Highbar" and row["what"] not in UNLIMITED
            scenarios = int(row["scenarios"])
            yield Figure(row["what"], row["point"], scenarios, row["method"], passes, fails, width, limited=limited)


def run(numbered: tuple[int, Task]) -> list[Figure]:
    """One task, with a random source of its own."""
    number, task = numbered
    return list(task(np.random.default_rng([SEED, number])))


def main() -> int:
    """Simulates, writes the page and the points, and says whether every limit was kept."""
    only = sys.argv[1:]
    found: list[Figure] = []
    chosen = [(number, task) for number, (family, task) in enumerate(tasks()) if not only or family in only]
    with ProcessPoolExecutor() as pool:
        for number, some in enumerate(pool.map(run, chosen), 1):
            found += some
            print(f"\r{number} simulated", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    if only:
        anew = {(one.family, one.point, one.scenarios, one.method): one for one in found}
        kept = [anew.pop((one.family, one.point, one.scenarios, one.method), one) for one in known_figures()]
        found = [*kept, *anew.values()]
    (ROOT / "docs/concepts/coverage-table.md").write_text(page(found), encoding="utf-8")
    with POINTS.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["what", "point", "scenarios", "method", "false_pass", "false_fail", "width"])
        for one in found:
            numbers = (f"{number:.5f}" for number in (one.false_pass, one.false_fail, one.width))
            table.writerow([one.family, one.point, one.scenarios, one.method, *numbers])
    above = [one for one in found if one.limited and one.worst > LIMIT]
    for one in above:
        print(f"{one.family}, {one.point}, {one.scenarios} scenarios: {one.false_pass:.2%} / {one.false_fail:.2%}")
    print(f"{len(above)} of {sum(one.limited for one in found)} points above {LIMIT:.1%}")
    return 1 if above else 0


def _suite(scenarios: int, rate: float, rng: Random) -> Iterator[Figure]:
    yield suite_figure(scenarios, rate, rng)


if __name__ == "__main__":
    sys.exit(main())
