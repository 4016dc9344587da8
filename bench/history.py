"""How long a history of many runs takes to list, and its scenarios to pool: `python -m bench.history`.

A folder is made for it, and removed at the end. A few runs are written by the product; the other records are copies of
them with another name, commit and time, which have as many bytes. Processor time is measured, since the machine may be
busy; each command line is a process of its own.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
from bench.history_runs import counts, new_run
from msgspec.structs import replace

from highbar import history
from highbar.model.history import NewRun, RunRecord
from highbar.store import history as store

RUNS, SCENARIOS, WRITTEN = 10_000, 1_000, 10
AT_MOST = 2.0


def _run(number: int) -> NewRun:
    random_ = random.Random(number)
    passed = {f"SCENARIO-{place:04}": int(random_.random() < 0.9) for place in range(SCENARIOS)}
    rows = [
        replace(row, latency_ms=random_.uniform(200, 3000), cost_usd=random_.uniform(0.001, 0.1))
        for row in counts(passed)
    ]
    new = new_run(number, rows)
    # As many metrics as the policy of an example has.
    metrics = {f"metric_number_{place}": new.run.metrics["pass_rate"] for place in range(20)}
    return replace(new, run=replace(new.run, metrics={**new.run.metrics, **metrics}))


@contextmanager
def _folder(runs: int) -> Iterator[Path]:
    """A history of so many runs."""
    with tempfile.TemporaryDirectory(prefix="highbar-history-") as name:
        folder = Path(name)
        for number in range(WRITTEN):
            new = _run(number)
            file = Path(store.write(folder, new).file)
            data = file.read_bytes()
            for copy in range(number + WRITTEN, runs, WRITTEN):
                _copy(folder, data, new.run, copy)
        yield folder


def _copy(folder: Path, data: bytes, run: RunRecord, number: int) -> None:
    """The record of a run under another name, with a commit, a time and results of its own."""
    other = new_run(number, ()).run
    for before, after in (
        (run.record, f"{number:032x}"),
        (run.time, f"2025{other.time[4:]}"),  # none may be of the future
        (str(run.commit), str(other.commit)),
        (json.dumps(run.results[0]), json.dumps(other.results[0])),
    ):
        data = data.replace(before.encode(), after.encode())
    (folder / f"{number:032x}.parquet").write_bytes(data)


def _timed(what: str, measured: Callable[[], object], *, again: int = 3) -> float:
    """The least processor time of a few calls; the first one warms up."""
    found = []
    for _ in range(again + 1):
        start, wall = time.process_time(), time.perf_counter()
        measured()
        found.append((time.process_time() - start, time.perf_counter() - wall))
    least = min(found[1:])
    print(f"{what:<52} {least[0]:6.2f} s of processor time, {least[1]:6.2f} s passed")
    return least[0]


def _command(folder: Path, *arguments: str) -> float:
    """The processor time of `highbar history …`, start-up included."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "highbar", "history", *arguments, "--history", str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
    print(f"{'highbar history ' + ' '.join(arguments):<52} {seconds:6.2f} s of processor time")
    return seconds


def _footers_by_duckdb(folder: Path) -> None:
    with duckdb.connect(config={"threads": 1}) as connection:
        query = "SELECT file_name, value FROM parquet_kv_metadata(?) WHERE key = 'highbar'"
        connection.execute(query, [f"{folder}/*.parquet"]).fetchall()


def main(runs: int = RUNS) -> int:
    """Make the folder, measure, and say whether a list takes at most two seconds."""
    with _folder(runs) as folder:
        size = sum(file.stat().st_size for file in folder.iterdir())
        print(f"{runs:,} runs of {SCENARIOS:,} scenarios, {size / 2**20:,.0f} MiB")
        read = history.read_history(folder)
        if len(read.runs) != runs or read.damaged:
            raise SystemExit(f"only {len(read.runs)} of {runs} records can be read")
        _timed("history.read_history", lambda: history.read_history(folder))
        _timed("DuckDB's parquet_kv_metadata, one thread", lambda: _footers_by_duckdb(folder), again=1)
        _timed("scenarios of the last 50 runs, pooled", lambda: read.scenarios(read.runs[-50:]))
        _timed("scenarios of all runs, pooled", read.scenarios, again=1)
        slowest = max(_command(folder, *words) for words in (("list",), ("trend",), ("list", "--last", "20")))
    print(f"a list takes {'at most' if slowest <= AT_MOST else 'MORE than'} {AT_MOST:g} s")
    return 0 if slowest <= AT_MOST else 1


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS))
