"""Behavior coverage that a judge decides: how often the gate is wrong. `python -m bench.judged_coverage` counts it.

It writes bench/tables/judged_coverage.csv. The agent is exactly at its threshold. `raw_passes` and `raw_fails` are what
the judge's own coverage would say, `passes` and `fails` what the rule says with labels of this run, which may do either
in 5 % of the runs at most. The bounds of all runs are computed in numpy; those that are wrong, and some others, are
judged by the product. The seed and the points were fixed before the first run. Some fifteen minutes. Exits with 1 if a
rule errs in more than 6.5 %.
"""

from __future__ import annotations

import csv
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # its parts are found however it is started

from bench.coverage_grid import LIMIT, Random  # noqa: E402 - needs the line above
from bench.judge_methods import post_stratified_bounds, share_ends  # noqa: E402 - likewise
from bench.judge_runs import JudgedRuns, Reals, drawn_labels  # noqa: E402 - likewise
from bench.judged_trials import JudgedTrials, judged  # noqa: E402 - likewise

from highbar import policy as policies  # noqa: E402 - likewise
from highbar.model import Policy  # noqa: E402 - likewise

SEED = 33871906
RUNS = 2_000
BATCH = 250
COMPARED = 2
"""Runs of each batch that the product judges although these bounds are right."""
TABLE = ROOT / "bench" / "tables" / "judged_coverage.csv"
COLUMNS = (
    *("coverage", "sensitivity", "specificity", "scenarios", "labels", "statements", "trials", "correlation"),
    *("raw_passes", "raw_fails", "passes", "fails", "undefined", "width"),
)
JUDGES = ((0.8, 0.98, 0.7), (0.95, 0.95, 0.9), (0.9, 0.85, 0.95), (0.97, 0.97, 0.75))
"""The true coverage, and the judge's sensitivity and specificity for single statements."""
SIZES = ((60, 60), (150, 60), (300, 100))
LAYOUTS = ((2, 1, 0.3), (4, 1, 0.1), (5, 1, 0.8), (3, 3, 0.5))
"""Statements of a trial, trials of a scenario, and how strongly what is seen in one scenario goes together."""
POINTS = tuple((*judge, *size, *layout) for judge, size, layout in itertools.product(JUDGES, SIZES, LAYOUTS))

Point = tuple[float, float, float, int, int, int, int, float]


def drawn(point: Point, random: Random) -> tuple[JudgedRuns, Reals]:
    """Runs whose scenarios have behaviors of one probability each, from a Beta law; and the judge's scores."""
    coverage, sens, spec, scenarios, labels, statements, trials, correlation = point
    size = 1 / correlation - 1
    rates = random.beta(coverage * size, (1 - coverage) * size, (BATCH, scenarios, 1, 1))
    true = random.random((BATCH, scenarios, trials, statements)) < rates
    said = random.random(true.shape)
    seen = np.where(true, said < sens, said >= spec)
    passed = np.asarray(seen.all(axis=3))
    return JudgedRuns(true.mean(axis=3), passed, drawn_labels(passed, labels, random)), seen.mean(axis=3)


def one_of(runs: JudgedRuns, scores: Reals, statements: int, place: int) -> JudgedTrials:
    """One of the runs, for the product."""
    people, judge = (np.rint(each[place] * statements).astype(int) for each in (runs.people, scores))
    return JudgedTrials("now", statements, people, judge, runs.asked[place])


def policy_of(bar: float) -> Policy:
    """A coverage at the bar, with confidence, corrected."""
    return policies.read_dict(
        {"thresholds": {"behavior_coverage": f">= {bar:.12f}"}, "evidence": "confident", "judge": {"correct": True}}
    )


def rows() -> Iterator[tuple[float, ...]]:
    """What each point passes and fails."""
    for place, point in enumerate(POINTS):
        random, bar = np.random.default_rng([SEED, place]), point[0]
        found = np.zeros(6)
        for _ in range(RUNS // BATCH):
            runs, scores = drawn(point, random)
            raw = share_ends(scores.sum(axis=2), np.full(scores.shape[:2], float(scores.shape[2])))
            (low, high), defined = post_stratified_bounds(runs)
            wrong = defined & ((low > bar) | (high < bar))
            outcomes = _by_the_product(point, runs, scores, [*np.flatnonzero(wrong), *range(COMPARED)])
            width = np.where(defined, np.clip(high, 0, 1) - np.clip(low, 0, 1), 1.0)
            found += [(raw[0] > bar).sum(), (raw[1] < bar).sum(), *outcomes, (~defined).sum(), width.sum()]
        yield *point, *(found / RUNS).tolist()


def _by_the_product(point: Point, runs: JudgedRuns, scores: Reals, places: list[int]) -> tuple[int, int]:
    """How many of the runs at these places the product passes and fails. In all others it cannot decide."""
    policy = policy_of(point[0])
    outcomes = [judged(policy, one_of(runs, scores, point[5], place)).outcome for place in dict.fromkeys(places)]
    return outcomes.count("pass"), outcomes.count("fail")


def _written(row: tuple[float, ...]) -> tuple[object, ...]:
    return *row[:8], *(f"{share:.4f}" for share in row[8:])


def main() -> int:
    """Simulates, writes the table, and says whether the limit was kept."""
    found = []
    for row in rows():
        found.append(row)
        print(*_written(row), flush=True)
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows(map(_written, found))
    return int(max(max(row[10], row[11]) for row in found) > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
