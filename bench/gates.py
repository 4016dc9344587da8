"""Gates beside each other, on the same simulated agents: `python -m bench.gates` measures, and prints the tables.

Every agent's true pass rate is known, so every pass and fail is right or wrong. Each gate is asked through its own
interface, with its own defaults and a threshold of 85 %. Each agent runs twice: the first run counts for the errors,
the second for contradictions. The other tools are installed by the command, each in an environment of its own below
`--environments` (a cache folder unless given). `--keep` stores the figures in docs/concepts/gates.csv and writes the
page beside it; `--quick` simulates a twentieth of the runs.

The seed is fixed: the same command gives the same table. A full run takes about 20 minutes on two idle cores.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

from bench.gates_judge import JUDGED, corrected, draw_run
from bench.gates_page import COLUMNS, LABELED, PAGE, TABLE, page, tables
from bench.gates_runs import CHANGES, SETTINGS, Run, alike, changed_twice, twice
from bench.gates_tools import GATES, Asked, Gate, environment_of, version_of

SEED = 20261117
BY_NAME = {gate.name: gate for gate in GATES}
Row = dict[str, str]
Case = TypeVar("Case")


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "highbar-bench"
    parser.add_argument("--environments", type=Path, default=cache, metavar="FOLDER", help="where tools are installed")
    parser.add_argument("--only", nargs="+", metavar="GATE", help="names of gates, as in the table")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the runs")
    parser.add_argument("--keep", action="store_true", help="store the table, and write the page")
    asked = parser.parse_args()
    if asked.keep and (asked.quick or asked.only):
        parser.error("--keep stores whole measurements only")
    share = 20 if asked.quick else 1
    folder = asked.environments.resolve()
    names = [name for name in (*BY_NAME, LABELED) if asked.only is None or name in asked.only]
    if asked.only and set(asked.only) - set(names):
        parser.error(f"no such gate; there are: {', '.join((*BY_NAME, LABELED))}")
    for name in names:
        if name in BY_NAME:
            environment_of(BY_NAME[name], folder)  # installed one after the other
    # Spawned, because a fork would take DuckDB's locks along.
    with ProcessPoolExecutor(max_workers=os.cpu_count(), mp_context=get_context("spawn")) as pool:
        found = {name: pool.submit(_measured, name, folder, share) for name in reversed(names)}  # the slowest are last
        rows = [row for name in names for row in found[name].result()]
    print("\n".join(tables(rows)))
    if asked.keep:
        with TABLE.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        PAGE.write_text(page(rows), "utf-8")


def _measured(name: str, folder: Path, share: int) -> list[Row]:
    gate = BY_NAME.get(name)
    rows = list(_with_labels(share) if gate is None else measure(gate, environment_of(gate, folder), share))
    print(name, file=sys.stderr, flush=True)
    return rows


def measure(gate: Gate, program: Path, share: int = 1) -> Iterator[Row]:
    """Every row of one gate, over the n-th part of the runs. All gates see the same runs."""
    about = {"gate": gate.name, "version": version_of(gate.package)}
    if gate.ask is not None:
        for setting in SETTINGS:
            draw = random.Random(f"{SEED} {setting.name}")
            runs = [twice(setting, draw) for _ in range(max(10, setting.runs // share))]
            outcomes = _asked_once(gate.ask, program, _flat(runs))
            yield _row(about, "threshold", setting.name, setting.wrong, outcomes)
        for judged in JUDGED:
            draw = random.Random(f"{SEED} {judged.name}")
            seen = [draw_run(judged, draw).judged for _ in range(2 * max(10, judged.runs // share))]
            yield _row(about, "judge", judged.name, judged.wrong, _asked_once(gate.ask, program, seen))
    if gate.compare is not None:
        for change in CHANGES:
            draw = random.Random(f"{SEED} {change.name}")
            pairs = [changed_twice(change, draw) for _ in range(max(10, change.runs // share))]
            yield _row(about, "change", change.name, change.wrong, gate.compare(program, _flat(pairs)))


def _with_labels(share: int) -> Iterator[Row]:
    about = {"gate": LABELED, "version": version_of("highbar")}
    for judged in JUDGED:
        draw = random.Random(f"{SEED} {judged.name}")
        seen = [draw_run(judged, draw) for _ in range(2 * max(10, judged.runs // share))]
        yield _row(about, "judge", judged.name, judged.wrong, corrected(seen, SEED))


def _flat(twos: Sequence[tuple[Case, Case]]) -> list[Case]:
    return [one for two in twos for one in two]


def _asked_once(ask: Asked, program: Path, runs: Sequence[Run]) -> list[str]:
    """What a gate says of each run; it is asked only once about runs that are alike."""
    cases = [alike(run) for run in runs]
    different = list(dict.fromkeys(cases))
    known = dict(zip(different, ask(program, different), strict=True))
    return [known[case] for case in cases]


def _row(about: Row, question: str, setting: str, wrong: str | None, outcomes: Sequence[str]) -> Row:
    """The shares of the first runs, and how often the second run of the same agent contradicts: a pass and a fail."""
    first, second = outcomes[::2], outcomes[1::2]
    counts = Counter(first)
    against = sum({*two} == {"pass", "fail"} for two in zip(first, second, strict=True))
    numbers = {**{word: counts[word] for word in ("pass", "fail", "inconclusive")}, "contradiction": against}
    return {
        **about,
        "question": question,
        "setting": setting,
        "wrong": wrong or "",
        "runs": str(len(first)),
        **{name: f"{number / len(first):.5f}" for name, number in numbers.items()},
    }


if __name__ == "__main__":
    main()
