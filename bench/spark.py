"""Spark beside hand-written PySpark: `python -m bench.spark` prints one table; `--quick` measures up to 1e6 rows.

The session is a cluster on this machine (`local-cluster`), with one worker of one core, then with two. The rows are
made in place, so that no disk takes part. Both ways run by turns in one session, once unmeasured, and must give the
same values. What returns to the driver is what Spark counts as the results of all tasks of a check.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from bench.run import POLICY, Line, counted, machine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from highbar import Verdict

MEGABYTES = 2048
BOUND = 1.5
TURNS = 3
Found = dict[str, Any]


def session(workers: int) -> SparkSession:
    """A cluster on this machine; pip's pyspark holds all that it needs to start the workers."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local-cluster[{workers},1,{MEGABYTES}]")
    settings = {
        "spark.executor.memory": f"{MEGABYTES}m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": str(2 * workers),
        "spark.default.parallelism": str(2 * workers),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def measure(workers: int, sizes: Sequence[int]) -> Iterator[Found]:
    """What each number of rows took, in one session."""
    from bench.spark_data import by_hand, made

    import highbar

    cluster = session(workers)
    try:
        for rows in (sizes[0], *sizes):  # the first time nobody looks: Java has not compiled anything yet
            frame = made(cluster, rows)
            ways: dict[str, Callable[[], Any]] = {
                "ours": partial(highbar.check, frame, POLICY),
                "hand": partial(by_hand, frame, distinct=True),
                "lenient": partial(by_hand, frame, distinct=False),
            }
            seconds: dict[str, list[float]] = {way: [] for way in ways}
            for _ in range(TURNS if rows < 10**7 else 1):
                found = {}
                for way, run in ways.items():
                    before = _stages(cluster)
                    start = time.perf_counter()
                    found[way] = run()
                    seconds[way].append(time.perf_counter() - start)
                    if way == "ours":
                        told = _since(before, _stages(cluster))
            compare(found["ours"], found["hand"])
            yield {"rows": rows, **{way: statistics.median(times) for way, times in seconds.items()}, **told}
    finally:
        cluster.stop()


def compare(verdict: Verdict, values: dict[str, float]) -> None:
    """Both ways must have found the same."""
    for name, value in values.items():
        ours = verdict.metrics[name].value
        if ours is None or not math.isclose(float(ours), value, rel_tol=1e-9):
            raise AssertionError(f"{name}: {ours} is not what the other way gets, {value}")


def _stages(cluster: SparkSession) -> dict[str, int]:
    """What the tasks of all stages together returned and wrote, by Spark's own count."""
    context: Any = cluster.sparkContext
    store = context._jsc.sc().statusStore()  # noqa: SLF001 - pyspark has no other way to these numbers
    jobs = store.jobsList(None)
    none = context._gateway.new_array(context._jvm.double, 0)  # noqa: SLF001
    stages = store.stageList(None, False, False, none, None)  # noqa: FBT003 - a method of Java
    found = {"jobs": jobs.size(), "tasks": 0, "returned": 0, "moved": 0}
    for place in range(stages.size()):
        stage = stages.apply(place)
        found["tasks"] += stage.numCompleteTasks()
        found["returned"] += stage.resultSize()
        found["moved"] += stage.shuffleWriteBytes()
    return found


def _since(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    return {name: after[name] - before[name] for name in after}


def lines(workers: int, found: Sequence[Found]) -> Iterator[Line]:
    """The lines of the table for one number of workers."""
    who = f"{workers} worker{'s' * (workers > 1)}"
    last = found[-1]
    for one in found:
        ratio = one["ours"] / one["hand"]
        bound = f"≤ {BOUND:g} {'✓' if ratio <= BOUND else '✗'}" if one is last else ""
        what = f"{who}, {counted(one['rows'])}, against PySpark by hand that refuses ids which stand twice"
        yield Line(what, f"{one['ours']:.1f} s", f"{one['hand']:.1f} s", f"{ratio:.2f}", bound)
        ratio = one["ours"] / one["lenient"]
        yield Line("    the same by hand without a look at ids", "", f"{one['lenient']:.1f} s", f"{ratio:.2f}")
    least = min(one["returned"] / one["tasks"] for one in found)  # Spark makes fewer tasks of fewer rows
    for one in found:
        ratio = one["returned"] / one["tasks"] / least
        bound = f"the same a task {'✓' if ratio <= 1.1 else '✗'}" if one is last else ""
        what = f"{who}, {counted(one['rows'])}, returned to the driver in {one['jobs']} jobs, {one['tasks']} tasks"
        moved = f"{one['moved'] / 1024:,.0f} KiB moved between tasks"
        yield Line(what, f"{one['returned'] / 1024:.0f} KiB", moved, f"{ratio:.2f}", bound)
    large = [one for one in found if one["rows"] >= 10**6]
    for one in large:
        ratio = one["ours"] / one["rows"] / (large[0]["ours"] / large[0]["rows"])
        bound = f"does not grow {'✓' if ratio <= 1 else '✗'}" if one is large[-1] and len(large) > 1 else ""
        each = f"{one['ours'] / one['rows'] * 1e6:.2f} µs"
        yield Line(f"{who}, {counted(one['rows'])}, per row", each, "", f"{ratio:.2f}", bound)


def main() -> None:
    """Prints the table, line by line; every number of workers is a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="1e4 to 1e6 rows, in place of 1e4 to 1e8")
    parser.add_argument("--rows", metavar="N,…", help="other numbers of rows, the fewest first")
    parser.add_argument("--workers", default="1,2", metavar="N,…", help="numbers of workers")
    parser.add_argument("--within", type=int, metavar="N", help=argparse.SUPPRESS)
    given = parser.parse_args()
    rows = given.rows or ("1e4,1e5,1e6" if given.quick else "1e4,1e5,1e6,1e7,1e8")
    if given.within:
        warnings.simplefilter("ignore")  # pyspark's own, of the versions of what it uses
        for one in measure(given.within, [int(float(number)) for number in rows.split(",")]):
            print(json.dumps(one), flush=True)
        return
    print(f"{machine()}; local-cluster, one core and {MEGABYTES} MB a worker; medians of seconds\n")
    print("| what | measured | against | ratio | bound |\n|---|---|---|---|---|")
    for workers in given.workers.split(","):
        command = [sys.executable, "-m", "bench.spark", "--within", workers, "--rows", rows]
        told = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        found = [json.loads(line) for line in told.splitlines()][1:]
        for line in lines(int(workers), found):
            cells = (line.what, line.measured, line.against, line.ratio, line.bound)
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
