"""Can the judge be trusted? `python bench/judges.py` measures gates whose judge errs, with labels of people.

The agent is exactly at its threshold. A false pass is a lower bound above the truth, a false fail an upper bound below
it; each should happen at most 5 % of the time. The grid and its seed were fixed before the first run. A point above
5.5 % is measured again, with fresh runs and more of them, and what is written is the second measurement. Exits with 1
if one of our bounds exceeds 6.5 % anywhere. It writes docs/concepts/judge-errors.csv, and from it
docs/concepts/can-you-trust-the-judge.md (bench/judge_page.py). Some twenty minutes on two cores.
"""

from __future__ import annotations

import csv
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, fields
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # its parts are found however it is started

from bench.judge_methods import Errors, other_run, same_run  # noqa: E402 - needs the line above
from bench.judge_page import LIMIT, OURS, PAGE, TABLE, column, page, read  # noqa: E402 - likewise
from bench.judge_runs import JudgePoint, judge_points  # noqa: E402 - likewise

SEED = 20261118
RUNS = 1_000
MORE_RUNS = 4_000
SUSPECT = 0.055
SOURCES = {"same run": same_run, "another run": other_run}

Task = tuple[int, str, JudgePoint]
Measured = tuple[str, JudgePoint, int, list[Errors]]


def tasks() -> list[Task]:
    """What is to be simulated, in an order that never changes: a task's place in it is part of its seed."""
    return [
        (number, source, point)
        for number, (source, point) in enumerate((source, point) for source in SOURCES for point in judge_points())
    ]


def run(task: Task) -> Measured:
    """One point, twice if it is suspect."""
    number, source, point = task
    for stage, runs in enumerate((RUNS, MORE_RUNS)):
        found = SOURCES[source](point, runs, np.random.default_rng([SEED, stage, number]))
        if max(max(one.false_pass, one.false_fail) for one in found if one.method in OURS) <= SUSPECT:
            break
    return source, point, runs, found


def write(measured: list[Measured]) -> None:
    """The table: one line for each point, with the figures of every method that was measured there."""
    names = [field.name for field in fields(JudgePoint)]
    methods = list(dict.fromkeys(one.method for _, _, _, found in measured for one in found))
    figures = ("false_pass", "false_fail", "width", "undefined")
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        columns = [column(method, figure) for method in methods for figure in figures]
        table.writerow(["labels_of", *names, "runs", *columns])
        for source, point, runs, found in measured:
            known = {column(one.method, figure): f"{getattr(one, figure):.4g}" for one in found for figure in figures}
            table.writerow([source, *astuple(point), runs, *(known.get(name, "") for name in columns)])


def main() -> int:
    """Simulates, writes the table and the page, and says whether every limit was kept."""
    measured: list[Measured] = []
    with ProcessPoolExecutor() as pool:
        for point_measured in pool.map(run, tasks()):
            measured.append(point_measured)
            print(f"\r{len(measured)} simulated", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    write(measured)
    PAGE.write_text(page(read()), encoding="utf-8")
    above = 0
    for source, point, _, found in measured:
        for one in found:
            if one.method in OURS and max(one.false_pass, one.false_fail) > LIMIT:
                above += 1
                print(f"{source}, {point}, {one.method}: {one.false_pass:.2%} / {one.false_fail:.2%}")
    print(f"{above} figures above {LIMIT:.1%}")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
