"""The table of `bench/runners.py` as a page of the documentation, and in one sentence of the README."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "bench" / "tables" / "runners.json"
PAGE = ROOT / "docs" / "concepts" / "run-speed.md"
README = ROOT / "README.md"

OPENING = """# Running agents: Highbar beside other tools

`python -m bench.runners` installs Inspect AI, promptfoo, DeepEval and pydantic-evals, each in an environment of its
own, and lets all of them run the same agent: a function that waits and says hello. Each tool runs 20 calls at once,
checks the answer for one word, and saves its results in its usual way. Telemetry and update checks are off.
"""
COLUMNS = """
- **Per trial**: what each further trial of 0 ms takes: {trials:,} trials less {few:,}.
- **× ideal**: {slow_trials} trials of 50 ms, from the first question to the last answer, divided by the least that they
  can take ({ideal:g} s).
- **Start**: the smallest run, of one trial, from the start of the process to its end.
- **Memory**: the highest resident memory of all processes of the tool, for {memory_trials:,} trials of 0 ms.
- **After `kill -9`**: all processes are killed when half of {slow_trials} trials are answered. So many of the answers
  were not asked for again by the tool's own resume, or could be read from its files if it has none.

Processor time is of all cores. Each figure is the best of {turns} turns (start: {double}); memory is of one run, and
the kills of {turns} turns are added up.

Machine: {machine}. It was busy with other work: small differences mean nothing, processor times are more exact than
times, and × ideal may be too high for tools that need much processor time or the disk.
"""
NOTES = """
What to bear in mind:

- Most agents take seconds to answer. Then every tool mostly waits, and the time per trial hardly matters.
- The tools were built for different things. Inspect records every event for its viewer. promptfoo fills a database for
  its web page; with `--no-write` it writes JSONL. DeepEval grades answers, and never calls an agent: here its metric
  does. pydantic-evals keeps its report in memory; our program writes it at the end. Highbar also judges by a policy,
  but not with `--no-check`.
- promptfoo gets the agent in JavaScript, so that it needs no other process. It warns that it no longer supports
  Node.js 20.
- DeepEval writes its whole cache after each case, so trials take longer the more there are: that line has {most:,}
  trials, and no memory.
- Inspect's resume is `inspect log recover` and `inspect eval-retry`; promptfoo's is `promptfoo eval --resume`.

All figures are in [runners.json](../../bench/tables/runners.json).
"""


def page(table: Mapping[str, Any]) -> str:
    """The whole page, in Markdown."""
    size = table["size"]
    facts = {
        **size,
        "few": size["trials"] // 10,
        "ideal": size["slow_trials"] * 0.05 / 20,
        "double": 2 * size["turns"],
        "machine": table["machine"],
        "most": min(way["trials"] for way in table["ways"]),
    }
    return "\n".join([OPENING, *markdown(table), (COLUMNS + NOTES).format(**facts)])


def markdown(table: Mapping[str, Any]) -> list[str]:
    """Every figure; a tool that could not be installed says why."""
    head = ("", "version", "per trial", "processor", "× ideal", "start", "processor", "memory", "after `kill -9`")
    rows = [(way["name"], way["version"], *_figures(way)) for way in table["ways"]]
    return [*_rows(head, rows), *(f"\nNot measured: {name}: {why}" for name, why in table["missing"].items())]


def in_short(table: Mapping[str, Any]) -> str:
    """The figures in a sentence of the README: processor time, which other work on the machine moves less than time."""
    own, *others = sorted(table["ways"], key=lambda way: way["name"] != "Highbar")
    trials = [way["trial_processor"] for way in others if not way["name"].startswith("Highbar")]
    least, most = (_microseconds(end).removesuffix(" µs") for end in (min(trials), max(trials)))
    own_trial = _microseconds(own["trial_processor"])
    page = f"docs/concepts/{PAGE.name}"
    return f"{own_trial} of processor time per trial, [other tools]({page}) {least} to {most} µs"


def write_page(table: Mapping[str, Any]) -> None:
    """Write the page. A test says if the sentence of the README is no longer right."""
    PAGE.write_text(page(table), "utf-8")


def stored() -> dict[str, Any]:
    """The table that was stored last."""
    found: dict[str, Any] = json.loads(TABLE.read_text("utf-8"))
    return found


def _figures(way: Mapping[str, Any]) -> tuple[str, ...]:
    kept = "none" if way["kept"] == 0 else f"{way['kept']:,} of {way['answered']:,}"
    return (
        _microseconds(way["trial_microseconds"]),
        _microseconds(way["trial_processor"]),
        f"{way['of_ideal']:.2f}",
        f"{way['start_seconds']:.2f} s",
        f"{way['start_processor']:.2f} s",
        f"{way['mebibytes']:,} MiB" if "mebibytes" in way else "–",
        kept + ("" if way["resumes"] else ", no resume"),
    )


def _microseconds(value: float) -> str:
    return f"{value:,.0f} µs"


def _rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


if __name__ == "__main__":
    write_page(stored())
