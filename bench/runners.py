"""`highbar run` beside other tools that run agents: `python -m bench.runners` measures, and prints one table.

Inspect, promptfoo, DeepEval and pydantic-evals are installed by the command, each in an environment of its own below
`--environments` (a cache folder unless given). All run the same agent, 20 calls at once, and check its answer for one
word. `--keep` stores the figures in bench/tables/runners.json and writes them into the documentation.
`--only Highbar promptfoo` measures some of them; `--quick` measures once, and a tenth of the trials.

Each figure is the best of several turns, in each of which every tool has one go: what else the machine does can only
make a figure worse. Memory is the highest of one run. A full run takes half an hour on two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from bench.runners_page import TABLE, markdown, write_page
from bench.runners_process import Took, kill_after, read_calls, run
from bench.runners_tools import AT_ONCE, VERSIONS, WAYS, Way, environment, installed

from highbar import __version__

SECONDS = 0.05
Programs = Mapping[str, Path]
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured."""

    turns: int
    trials: int  # of 0 ms, for the time per trial; a tenth of them is subtracted
    slow_trials: int  # of 50 ms
    memory_trials: int


FULL = Size(turns=3, trials=2_000, slow_trials=500, memory_trials=20_000)
QUICK = Size(turns=1, trials=200, slow_trials=100, memory_trials=2_000)


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "highbar-bench"
    parser.add_argument("--environments", type=Path, default=cache, metavar="FOLDER", help="where tools are installed")
    parser.add_argument("--only", nargs="+", metavar="TOOL", help="names of tools, as in the table")
    parser.add_argument("--quick", action="store_true", help="one turn, a tenth of the trials")
    parser.add_argument("--keep", action="store_true", help="store the table, and write it into the pages")
    asked = parser.parse_args()
    if asked.keep and (asked.quick or asked.only):
        parser.error("--keep stores whole measurements only")
    ways = [way for way in WAYS if asked.only is None or way.name.partition(",")[0] in asked.only]
    programs, missing = _programs(ways, asked.environments.resolve())
    table = measure([way for way in ways if way.package in programs], programs, QUICK if asked.quick else FULL)
    table = {**table, "missing": missing}
    print("\n".join(markdown(table)))
    if asked.keep:
        TABLE.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", "utf-8")
        write_page(table)


def measure(ways: Sequence[Way], programs: Programs, size: Size) -> dict[str, object]:
    """Every figure of every way, as it is stored."""
    figures: dict[str, dict[str, object]] = {
        way.name: {"name": way.name, "version": VERSIONS.get(way.package, __version__)} for way in ways
    }
    for stage in (_starts, _trials, _slow_trials, _memory, _kills):
        for name, found in stage(ways, programs, size).items():
            figures[name].update(found)
            print(f"{name}: {found}", file=sys.stderr, flush=True)
    return {
        "machine": f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}{_node()}",
        "size": asdict(size),
        "ways": list(figures.values()),
    }


def _programs(ways: Sequence[Way], folder: Path) -> tuple[Programs, dict[str, str]]:
    """What runs each tool, and why the others are missing."""
    programs, missing = {}, {}
    for package in dict.fromkeys(way.package for way in ways):
        try:
            programs[package] = installed(package, folder)
        except (OSError, subprocess.CalledProcessError) as error:
            missing[package] = str(error)
    return programs, missing


def _starts(ways: Sequence[Way], programs: Programs, size: Size) -> dict[str, dict[str, object]]:
    """The smallest run: one trial of 0 ms. The first turn fills caches and is not counted."""
    runs = _by_turns(ways, 1 + 2 * size.turns, lambda way: _ran(way, programs, 1))
    return {
        name: {
            "start_seconds": round(min(one.seconds for one in took[1:]), 3),
            "start_processor": round(min(one.processor for one in took[1:]), 3),
        }
        for name, took in runs.items()
    }


def _trials(ways: Sequence[Way], programs: Programs, size: Size) -> dict[str, dict[str, object]]:
    """What each further trial of 0 ms takes, whole: called, checked and written."""

    def trials(way: Way) -> int:
        return min(size.trials, way.most or size.trials)

    runs = _by_turns(
        ways,
        size.turns,
        lambda way: (_ran(way, programs, trials(way)), _ran(way, programs, trials(way) // 10)),
    )

    def each(way: Way, figure: Callable[[Took], float]) -> float:
        many, few = (min(map(figure, took)) for took in zip(*runs[way.name], strict=True))
        return round(1e6 * (many - few) / (trials(way) - trials(way) // 10), 1)

    return {
        way.name: {
            "trial_microseconds": each(way, lambda took: took.seconds),
            "trial_processor": each(way, lambda took: took.processor),
            "trials": trials(way),
        }
        for way in ways
    }


def _slow_trials(ways: Sequence[Way], programs: Programs, size: Size) -> dict[str, dict[str, object]]:
    """Trials of 50 ms, from the first question to the last answer, against the least time that they can take."""
    ideal = size.slow_trials * SECONDS / AT_ONCE

    def ratio(way: Way) -> float:
        with _prepared(way, size.slow_trials) as folder:
            log = folder / "calls"
            for command in way.commands(programs[way.package], folder):
                run(command, folder, environment(way, folder, size.slow_trials, SECONDS, log))
            calls = read_calls(log)
        if len({question for question, _ in calls.answered}) != size.slow_trials or calls.at_once > AT_ONCE:
            raise RuntimeError(f"{way.name}: {len(calls.answered)} answers, {calls.at_once} calls at once")
        return calls.seconds / ideal

    return {name: {"of_ideal": round(min(found), 3)} for name, found in _by_turns(ways, size.turns, ratio).items()}


def _memory(ways: Sequence[Way], programs: Programs, size: Size) -> dict[str, dict[str, object]]:
    """The highest resident memory of the whole tree of processes."""
    found: dict[str, dict[str, object]] = {}
    for way in ways:
        if way.most is None:
            took = _ran(way, programs, size.memory_trials, watch=True)
            found[way.name] = {"mebibytes": round(took.mebibytes), "memory_seconds": round(took.seconds, 1)}
    return found


def _kills(ways: Sequence[Way], programs: Programs, size: Size) -> dict[str, dict[str, object]]:
    """How many answers survive a kill when half of the trials are answered, of all turns together."""
    found = _by_turns(ways, size.turns, lambda way: survived(way, programs[way.package], size.slow_trials))
    return {
        way.name: {
            "kept": sum(kept for kept, _ in found[way.name]),
            "answered": sum(answered for _, answered in found[way.name]),
            "resumes": way.resume is not None,
        }
        for way in ways
    }


def survived(way: Way, program: Path, trials: int) -> tuple[int, int]:
    """How many answers are still there after the kill, or not asked for again by a resume; and how many there were."""
    with _prepared(way, trials) as folder:
        before, after = folder / "calls", folder / "calls-again"
        (command,) = way.commands(program, folder)
        spread = {**environment(way, folder, trials, SECONDS, before), "BENCH_SPREAD": "1"}
        kill_after(trials // 2, command, folder, spread)
        answered = {question for question, _ in read_calls(before).answered}
        if way.resume is None:
            return len(answered & way.read(folder)) if way.read else 0, len(answered)
        for again in way.resume(program, folder):
            run(again, folder, environment(way, folder, trials, SECONDS, after), check=False)
        calls = read_calls(after)
    missing = trials - len(answered | {question for question, _ in calls.answered})
    if missing:
        raise RuntimeError(f"{way.name}: {missing} trials have no answer although it was resumed")
    return len(answered - {question for question, _ in calls.asked}), len(answered)


def _ran(way: Way, programs: Programs, trials: int, *, watch: bool = False) -> Took:
    with _prepared(way, trials) as folder:
        (command,) = way.commands(programs[way.package], folder)
        return run(command, folder, environment(way, folder, trials, 0, None), watch=watch)


def _by_turns(ways: Sequence[Way], turns: int, go: Callable[[Way], Found]) -> dict[str, list[Found]]:
    found: dict[str, list[Found]] = {way.name: [] for way in ways}
    for _ in range(turns):
        for way in ways:
            found[way.name].append(go(way))
    return found


@contextmanager
def _prepared(way: Way, trials: int) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="highbar-runners-") as name:
        way.prepare(Path(name), trials)
        yield Path(name)


def _node() -> str:
    node = shutil.which("node")
    if node is None:
        return ""
    return f", Node.js {subprocess.run([node, '--version'], check=True, capture_output=True, text=True).stdout.strip()}"


if __name__ == "__main__":
    main()
