"""Speed and memory: `python bench/run.py` prints one table; `--quick` measures a tenth of the rows.

`--large` adds a hundred million rows, and the libraries that need ten gigabytes for ten million. `--before FOLDER` adds
how much more processor time a check takes than with the version that is checked out there; `--only LETTERS` measures
some lines alone.

Everything measured is a process of its own, from its start to its end. A ratio is between the medians of two commands
that were run by turns, so that a machine that is slow for a while is slow for both. The made-up data goes into a
temporary folder.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).resolve().parent
MEBIBYTE = 1024 * 1024
LIMIT = "600MB"
POLICY = {
    "thresholds": {
        "blocking": {"pass_rate": "≥ 10%", "accuracy": "≥ 10%", "safety_rate": "≥ 10%"},
        "warning": {
            **dict.fromkeys(("precision", "recall", "f1", "behavior_coverage", "behavior_coverage_pooled"), "≥ 10%"),
            **dict.fromkeys(("latency_p50", "latency_p95", "latency_p99"), "< 60s"),
            **dict.fromkeys(("error_rate", "violation_rate"), "≤ 90%"),
            "token_efficiency": "≥ 0.000001",
            "cost_per_pass": "≤ 10",
        },
    }
}


@dataclass(frozen=True, slots=True)
class Run:
    """What one process took, and what it printed."""

    seconds: float
    mebibytes: float
    output: str
    processor: float  # seconds of all threads, which other work on the machine moves less


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table: what was measured, in the units said there, and the bound if there is one."""

    what: str
    measured: str
    against: str = ""
    ratio: str = ""
    bound: str = ""


def run(command: Sequence[str], source: Path | None = None) -> Run:
    """Runs the command, with the package in `source` if given, and asks the system for its time and peak memory."""
    environment = {**os.environ, "PYTHONPATH": str(source)} if source else None
    with tempfile.TemporaryFile("w+") as output:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise subprocess.CalledProcessError(process.returncode, command)
        output.seek(0)
        # Linux counts kibibytes, macOS bytes.
        unit = MEBIBYTE if platform.system() == "Darwin" else 1024
        return Run(seconds, usage.ru_maxrss / unit, output.read(), usage.ru_utime + usage.ru_stime)


def seconds(one: Run) -> float:
    """From start to end."""
    return one.seconds


def processor(one: Run) -> float:
    """Of all threads."""
    return one.processor


def median(runs: Sequence[Run], key: Callable[[Run], float]) -> Run:
    """The run of median time."""
    return sorted(runs, key=key)[len(runs) // 2]


def by_turns(times: int, *commands: Sequence[str], key: Callable[[Run], float] = seconds) -> list[Run]:
    """The run of median time of each command."""
    rounds = [[run(command) for command in commands] for _ in range(times)]
    return [median(runs, key) for runs in zip(*rounds, strict=True)]


def made(folder: Path, rows: int, form: str, first: int = 0) -> Path:
    """A file of that many rows, made once."""
    file = folder / f"{rows}-{first}.{form}"
    if not file.exists():
        run([sys.executable, str(BENCH / "data.py"), str(rows), str(file), str(first)])
    return file


def check(folder: Path, file: Path) -> list[str]:
    """The command that is measured: every metric that the others compute too, with a rule on each."""
    policy = folder / "highbar.json"
    policy.write_text(json.dumps(POLICY), "utf-8")
    return [sys.executable, "-m", "highbar", "check", str(file), "--policy", str(policy), "--format", "json"]


def peer(way: str, file: Path) -> list[str]:
    """The same by other means."""
    return [sys.executable, str(BENCH / "peers.py"), way, str(file)]


def compared(what: str, runs: Sequence[Run], bound: float) -> Line:
    """Ours against the least that can be done."""
    ours, base = runs
    ratio = ours.seconds / base.seconds
    return Line(what, shown(ours), shown(base), f"{ratio:.2f}", f"≤ {bound:g} {'✓' if ratio <= bound else '✗'}")


def shown(one: Run) -> str:
    """Seconds and peak memory."""
    return f"{one.seconds:.2f} s, {one.mebibytes:.0f} MiB"


def counted(rows: int) -> str:
    """`1,000,000 rows`."""
    return f"{rows:,} rows"


def lines(folder: Path, million: int, *, large: bool, before: Path | None, only: str | None) -> Iterator[Line]:
    """Every line of the table, as it is measured; `million` is 1,000,000 unless it is a quick run."""
    if only is None or "j" in only:
        yield from counts_and_earlier(folder, million, before)
    if only is None or "s" in only:
        yield from suites(folder, million)
    if only is None:
        yield from against_others(folder, million, large=large)


def counts_and_earlier(folder: Path, million: int, before: Path | None) -> Iterator[Line]:
    """What it costs that every line is counted beside the engine, and what a check costs beside an earlier version."""
    file = made(folder, million, "jsonl")
    whole = by_turns(5, check(folder, file), key=processor)[0]
    counted_in, read = json.loads(run([sys.executable, str(BENCH / "counting.py"), str(file)]).output)
    share = (counted_in - read) / (whole.processor - counted_in + read)
    yield Line(
        f"(j) {counted(million)}, JSONL, lines counted beside the engine, of a check's processor time",
        f"{counted_in - read:.2f} s",
        f"{whole.processor:.2f} s",
        f"{1 + share:.2f}",
        f"≤ 1.15 {'✓' if share <= 0.15 else '✗'}",
    )
    if before is None:
        return
    for rows in (50, million):
        file = made(folder, rows, "jsonl")
        times = 11 if rows == 50 else 5
        rounds = [[run(check(folder, file), source) for source in (None, before / "src")] for _ in range(times)]
        now, then = (median(runs, processor) for runs in zip(*rounds, strict=True))
        ratio = now.processor / then.processor
        bound = f"≤ 1.15 {'✓' if ratio <= 1.15 else '✗'}"
        what = f"(j) {counted(rows)}, JSONL, against an earlier version, processor time"
        yield Line(what, f"{now.processor:.2f} s", f"{then.processor:.2f} s", f"{ratio:.2f}", bound)


def suites(folder: Path, million: int) -> Iterator[Line]:
    """A suite that says what every scenario is judged by."""
    for scenarios in (million // 50, million // 10):
        place = folder / f"suite-{scenarios}"
        place.mkdir()
        run([sys.executable, str(BENCH / "suites.py"), str(scenarios), str(place)])
        command = [sys.executable, "-m", "highbar", "check", str(place / "results.jsonl"), "--format", "json"]
        one = by_turns(3, [*command, "--policy", str(place / "policy.json")])[0]
        bound = ""
        if scenarios == 20_000:
            bound = f"≤ 3 s, 300 MB {'✓' if one.seconds <= 3 and one.mebibytes * MEBIBYTE <= 300e6 else '✗'}"
        yield Line(f"(s) a suite of {scenarios:,} scenarios with demands, one trial each", shown(one), bound=bound)


def against_others(folder: Path, million: int, *, large: bool) -> Iterator[Line]:
    """Beside DuckDB's own scan and other libraries."""
    small = made(folder, 50, "jsonl")
    start_up = by_turns(11, check(folder, small), [sys.executable, "-c", "import duckdb"])
    yield compared("(a) 50 rows, JSONL, against `import duckdb`", start_up, 4)
    for letter, form, bound in (("b", "jsonl", 2.5), ("c", "parquet", 4)):
        file = made(folder, million, form)
        ours, base = by_turns(5, check(folder, file), peer("scan", file))
        name = {"jsonl": "JSONL", "parquet": "Parquet"}[form]
        yield compared(f"({letter}) {counted(million)}, {name}, against DuckDB's own scan", [ours, base], bound)
        ways = ["polars" if form == "parquet" else "msgspec", "pandas", "scikit-learn"]
        for way in ways:
            yield beside(way, ours, run(peer(way, file)))
    yield intervals(folder, made(folder, million, "parquet"), million)
    yield from growth(folder, million, start_up[0], large=large)


def beside(way: str, ours: Run, other: Run) -> Line:
    """Another way to the same metrics, once it is sure that they are the same."""
    metrics = json.loads(ours.output)["metrics"]
    for name, value in json.loads(other.output).items():
        if not math.isclose(metrics[name]["value"], value, rel_tol=1e-9):
            raise AssertionError(f"{name}: {metrics[name]['value']} is not what {way} gets, {value}")
    return Line(f"    the same metrics with {way}", shown(other), shown(ours), f"{other.seconds / ours.seconds:.1f}")


def intervals(folder: Path, file: Path, rows: int) -> Line:
    """What the sums for the intervals cost on top of the plain ones."""
    check(folder, file)  # writes the policy
    one = run([sys.executable, str(BENCH / "intervals.py"), str(file), str(folder / "highbar.json")])
    with_sums, without = json.loads(one.output)
    cost = with_sums / without - 1
    fits = "✓" if cost <= 0.25 else "✗"
    what = f"(i) {counted(rows)}, Parquet, intervals on top of plain sums"
    return Line(what, f"{with_sums:.2f} s", f"{without:.2f} s", f"+{cost:.0%}", f"≤ 25% {fits}")


def growth(folder: Path, million: int, start_up: Run, *, large: bool) -> Iterator[Line]:
    """Ten million rows: time, memory, others; and the cost per row from ten thousand on."""
    per_row = {}
    for rows in (million // 100, million // 10, million):
        (ours,) = by_turns(5, check(folder, made(folder, rows, "parquet")))
        per_row[rows] = (ours.seconds - start_up.seconds) / rows
    rows = million * 10
    file = made(folder, rows, "parquet")
    ours, base = by_turns(3, check(folder, file), peer("scan", file))
    per_row[rows] = (ours.seconds - start_up.seconds) / rows
    yield compared(f"(d) {counted(rows)}, Parquet, against DuckDB's own scan", [ours, base], 3)
    fits = "✓" if ours.mebibytes * MEBIBYTE <= 600e6 else "✗"
    yield Line(f"(d) {counted(rows)}, Parquet, memory", f"{ours.mebibytes:.0f} MiB", bound=f"≤ 600 MB {fits}")
    for way in ("polars", "pandas", "scikit-learn") if large else ("polars",):
        yield beside(way, ours, run(peer(way, file)))
    if large:
        whole = hundred_million(folder, million)
        per_row[million * 100] = (whole.seconds - start_up.seconds) / (million * 100)
        yield Line(f"(h) {counted(million * 100)}, Parquet in ten files, --memory-limit {LIMIT}", shown(whole))
    for rows, seconds in per_row.items():
        ratio = seconds / per_row[million // 100]
        last = rows == max(per_row)
        bound = f"does not grow {'✓' if ratio <= 1 else '✗'}" if last else ""
        yield Line(f"(e) {counted(rows)}, per row", f"{seconds * 1e6:.2f} µs", "", f"{ratio:.2f}", bound)


def hundred_million(folder: Path, million: int) -> Run:
    """Checks a folder of ten files of ten million rows each."""
    parts = folder / "parts"
    parts.mkdir()
    for place in range(10):
        made(parts, million * 10, "parquet", place * million * 10)
    return run([*check(folder, parts), "--memory-limit", LIMIT])


def machine() -> str:
    """What it ran on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3
    return f"{os.cpu_count()} cores, {memory:.0f} GiB of memory, Python {platform.python_version()}"


def main() -> None:
    """Prints the table, line by line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--large", action="store_true", help="a hundred million rows too; takes ten minutes")
    parser.add_argument("--before", type=Path, help="a checkout of an earlier version")
    parser.add_argument("--only", help="j: what counting costs, and an earlier version; s: suites")
    options = parser.parse_args()
    million = 100_000 if options.quick else 1_000_000
    print(f"{machine()}; medians of whole processes: seconds, peak memory\n")
    print("| what | measured | against | ratio | bound |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for line in lines(Path(folder), million, large=options.large, before=options.before, only=options.only):
            cells = (line.what, line.measured, line.against, line.ratio, line.bound)
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
