"""Gates beside each other, on the same simulated agents: `python -m bench.gates` measures, and prints the tables.

Every agent's true pass rate is known, so every pass and fail is right or wrong. Each gate is asked through its own
interface, with its own defaults and a threshold of 85 %. The other tools are installed by the command, each in an
environment of its own below `--environments` (a cache folder unless given). `--keep` stores the figures in
docs/concepts/gates.csv and writes the page beside it; `--quick` simulates a twentieth of the runs.

The seed is fixed: the same command gives the same table. A full run takes about 20 minutes on two cores.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from bench.gates_judge import JUDGED, corrected, draw_run
from bench.gates_page import COLUMNS, PAGE, TABLE, page, tables
from bench.gates_runs import CHANGES, SETTINGS
from bench.gates_tools import GATES, Gate, environment_of, version_of

SEED = 20261117
Row = dict[str, str]
Case = TypeVar("Case", bound=Hashable)


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
    gates = [gate for gate in GATES if asked.only is None or gate.name in asked.only]
    share = 20 if asked.quick else 1
    rows: list[Row] = []
    for gate in gates:
        print(gate.name, file=sys.stderr, flush=True)
        rows += measure(gate, environment_of(gate, asked.environments.resolve()), share)
    if asked.only is None:
        rows += list(_corrected(share))
    print("\n".join(tables(rows)))
    if asked.keep:
        with TABLE.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        PAGE.write_text(page(rows), "utf-8")


def measure(gate: Gate, program: Path, share: int = 1) -> Iterator[Row]:
    """Every row of one gate, over the n-th part of the runs. All gates see the same runs."""
    about = {"gate": gate.name, "version": version_of(gate.package)}
    ask, compare = gate.ask, gate.compare
    if ask is not None:
        for setting in SETTINGS:
            draw = random.Random(f"{SEED} {setting.name}")
            # No gate looks at which scenario is which, so equal runs are asked about once.
            runs = [tuple(sorted(setting.make(draw))) for _ in range(max(20, setting.runs // share))]
            outcomes = _asked_once(lambda some: ask(program, some), runs)
            yield _row(about, "threshold", setting.name, setting.wrong, outcomes)
        for judged in JUDGED:
            draw = random.Random(f"{SEED} {judged.name}")
            seen = [draw_run(judged, draw) for _ in range(max(10, judged.runs // share))]
            outcomes = _asked_once(lambda some: ask(program, some), [tuple(sorted(one.judged)) for one in seen])
            yield _row(about, "judge", judged.name, judged.wrong, outcomes)
    if compare is not None:
        for change in CHANGES:
            draw = random.Random(f"{SEED} {change.name}")
            pairs = [change.make(draw) for _ in range(max(10, change.runs // share))]
            yield _row(about, "change", change.name, change.wrong, compare(program, pairs))


def _corrected(share: int) -> Iterator[Row]:
    about = {"gate": "Highbar, `confident`, with labels", "version": version_of("highbar")}
    for judged in JUDGED:
        draw = random.Random(f"{SEED} {judged.name}")
        seen = [draw_run(judged, draw) for _ in range(max(10, judged.runs // share))]
        yield _row(about, "judge", judged.name, judged.wrong, corrected(seen, SEED))


def _asked_once(ask: Callable[[Sequence[Case]], list[str]], cases: Sequence[Case]) -> list[str]:
    different = list(dict.fromkeys(cases))
    known = dict(zip(different, ask(different), strict=True))
    return [known[case] for case in cases]


def _row(about: Row, question: str, setting: str, wrong: str | None, outcomes: Sequence[str]) -> Row:
    counts = Counter(outcomes)
    shares = {word: counts[word] / len(outcomes) for word in ("pass", "fail", "inconclusive")}
    again = 2 * shares["pass"] * shares["fail"]  # two independent runs of the same agent
    figures = {**shares, "contradiction": again}
    return {
        **about,
        "question": question,
        "setting": setting,
        "wrong": wrong or "",
        "runs": str(len(outcomes)),
        **{name: f"{figure:.4f}" for name, figure in figures.items()},
    }


if __name__ == "__main__":
    main()
