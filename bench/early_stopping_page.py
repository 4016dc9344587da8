"""The figures of `bench/early_stopping.py` as a page of the documentation.

`python -m bench.early_stopping_page` writes it again from the table; nothing is computed here, and a test compares the
two.
"""

# ruff: noqa: E501 - the sentences stand here as they do in the page

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import NamedTuple

from bench.measured_pages import CONCEPTS, Rows, read, table

NAME = "early-stopping"
PAGE = CONCEPTS / f"{NAME}.md"
ONCE, PEEKING, LINEAR, LATE, BETS = (
    "all scenarios, judged once",
    "an ordinary interval after every scenario",
    "spending: linear",
    "spending: late",
    "bets",
)
RATES = ("70%", "80%", "85%", "90%", "95%", "99%")
BROKEN = "an agent at the threshold"


class Figures:
    """The table, by what was measured."""

    def __init__(self, rows: Rows) -> None:
        """From its rows."""
        self.rows = rows
        self._values = {(row["what"], row["case"], row["measured"]): float(row["value"]) for row in rows}

    def of(self, what: str, case: str, measured: str) -> float:
        """One figure."""
        return self._values[what, case, measured]

    def cases(self, what: str) -> list[str]:
        """What was measured of something, in order."""
        return list(dict.fromkeys(row["case"] for row in self.rows if row["what"] == what))

    def largest(self, what: str, *measured: str) -> float:
        """The largest of some figures."""
        return max(value for (found, _, name), value in self._values.items() if found == what and name in measured)


def percent(share: float, digits: int = 0) -> str:
    """`5 %`; below half a percent `under 1 %`."""
    return "under 1 %" if digits == 0 and 0 < share < 0.005 else f"{100 * share:.{digits}f} %"


def at_rates(figures: Figures) -> Iterator[tuple[str, ...]]:
    """For each true rate: fixed and linear side by side, and what is saved."""
    for rate in RATES:
        case, good = f"true rate {rate}", "fails" if rate < "85%" else "passes"
        verdict = "passes or fails wrongly" if rate == "85%" else good
        shown = []
        for design in (ONCE, LINEAR):
            found = [figures.of(design, case, side) for side in ("passes", "fails")]
            shown.append(
                " / ".join(percent(share, 1) for share in found)
                if rate == "85%"
                else percent(figures.of(design, case, good), 1)
            )
        runs = f"{figures.of(LINEAR, case, 'scenarios'):.0f}"
        equal = "-" if rate == "85%" else f"{figures.of(LINEAR, case, 'as good as'):.0f}"
        saved = "-" if rate == "85%" else percent(figures.of(LINEAR, case, "saved"))
        yield rate.replace("%", " %"), verdict, *shown, runs, equal, saved


def designs(figures: Figures) -> Iterator[tuple[str, ...]]:
    """Every design: wrong verdicts at the threshold, power and scenarios at 90 %."""
    names = {PEEKING: f"{PEEKING} (invalid)", BETS: "bets (scores, several trials, weights, ratios)"}
    for design in (ONCE, PEEKING, LINEAR, LATE, BETS):
        at, above, far = "true rate 85%", "true rate 90%", "true rate 95%"
        yield (
            names.get(design, design),
            percent(figures.of(design, at, "passes"), 1),
            percent(figures.of(design, at, "fails"), 1),
            percent(figures.of(design, above, "passes")),
            f"{figures.of(design, above, 'scenarios'):.0f}",
            f"{figures.of(design, far, 'scenarios'):.0f}",
        )


class KnownNoise(NamedTuple):
    """What an agent of 90 % comes to at a bar of 85 %, with and without what earlier runs show."""

    share: str
    scenarios: str
    without: str


def known_noise() -> KnownNoise:
    """The figures of `bench/suite_noise.py`."""
    wanted = {"judged": "sequential", "scenarios": "200", "bar": "0.85"}
    (row,) = [row for row in read("whole-suite.csv") if {key: row[key] for key in wanted} == wanted]
    shares = [percent(float(row[name]), 1) for name in ("passes", "passes_without")]
    return KnownNoise(shares[0], f"{float(row['scenarios_run']):.0f}", shares[1])


def page(rows: Rows) -> str:
    """The whole page, in Markdown."""
    figures, known = Figures(rows), known_noise()
    saved = [figures.of(LINEAR, f"true rate {rate}", "saved") for rate in RATES if rate != "85%"]
    return "\n".join(
        [
            "# Early stopping",
            "",
            "Most runs are decided long before their last scenario. A policy with `evidence: sequential` can be judged on a part of its suite,",
            "and `highbar run --until-decided` stops there. The promise of [`confident`](confidence.md) stays: an agent below the threshold passes at",
            "most one time in twenty, and one above it fails at most one time in twenty. [Thresholds of 100 %](#how-a-rule-is-decided) and",
            "[`answers: fixed`](#only-this-suite) promise less.",
            "",
            "![Two runs of up to 200 scenarios: the passes above or below 85 % of the scenarios so far, up to the boundary that each run crosses](early-stopping.svg)",
            "",
            "Two runs of 200 planned scenarios. One agent gets 7 % wrong: after 103 scenarios, 96",
            "passes decide a pass. The other gets 25 % wrong, and is decided after 108. What comes later changes nothing.",
            "",
            "## What is saved, and what is lost",
            "",
            "Up to 500 scenarios, a threshold of 85 %, exact. *As good as* is the smallest fixed suite with the same chance of the right verdict:",
            "",
            *table(
                (
                    "true rate",
                    "verdict",
                    "all 500, judged once",
                    "stopped early",
                    "scenarios on average",
                    "as good as",
                    "saved against that suite",
                ),
                at_rates(figures),
            ),
            "",
            f"At equal power, {percent(min(saved))} to {percent(max(saved))} of the scenarios are saved; near the threshold, and in suites of fewer than a hundred, little or nothing.",
            "What is lost is power: judged once on all 500 scenarios, a few more agents near the threshold get a clear verdict.",
            "Compare for your suite: [`highbar plan --sequential`](../how-to/plan-a-suite.md#if-the-run-stops-early).",
            "",
            "| | wrong pass at 85 % | wrong fail at 85 % | passes at 90 % | scenarios at 90 % | at 95 % |",
            "| --- | --- | --- | --- | --- | --- |",
            *table(("",) * 6, designs(figures))[2:],
            "",
            "`spending: linear` (the default) saves most; `spending: late` decides later and loses less power.",
            "The usual mistake is to stop when an ordinary interval is clear: every look adds to the error.",
            "",
            "## How a rule is decided",
            "",
            *table(
                ("rule", "method", "what it needs"),
                (
                    (
                        "a share of scenarios with one trial each, a latency percentile",
                        "exact binomial boundaries; hypergeometric with `answers: fixed`, or if the noise of a [whole suite](#only-this-suite) is known",
                        "the number of scenarios, known before the run",
                    ),
                    (
                        "scores, several trials, weights, precision, recall, F1",
                        "bets against the threshold (an e-process)",
                        "the largest weight, known before the run",
                    ),
                    (
                        "a threshold of 100 %",
                        "fails at the first failure too many; passes when the `tolerate` rate is excluded",
                        "59 scenarios for 5 %",
                    ),
                    (
                        "a margin to the baseline, composites",
                        "five looks, with wider intervals at the early ones",
                        "about 60 scenarios at the first look",
                    ),
                ),
            ),
            "",
            "The number of scenarios is that of the suite, or the policy's `horizon`, declared before the first look. Adding scenarios to a rule",
            "that is open at the end, and judging again, would be a second chance to pass.",
            "",
            "A threshold of 100 % may pass before the whole suite was run; a failure in the rest no longer counts. If every scenario has to",
            "pass, list them as [required](../reference/policy.md), or give the rule `evidence: confident`.",
            "",
            "### Only this suite",
            "",
            "With `population: suite` and `answers: fixed` the question is what all planned scenarios come to *in this run*: stopped early, the verdict is wrong about that at",
            "most one time in twenty, and at the end nothing is left open. Chance in the answers does not count: an agent that",
            "gets 84 % of the answers right, each by chance, passes 85 % of 200 scenarios in about four of ten runs, and in 2.6 % without",
            "`answers: fixed`. Say it only if a scenario comes to the same in every run.",
            "",
            "Without `answers: fixed` the boundaries are binomial, as if every scenario passed equally often. If the policy names a",
            "[history](../how-to/history.md) with two or more trials of the same scenarios, it is known [how much they vary](whole-suite.md):",
            f"then {known.share} of the runs of an agent of 90 % pass a bar of 85 % in a suite of 200 (correlation 0.8), after {known.scenarios} scenarios on average;",
            f"without that, {known.without} pass.",
            "",
            "## What breaks the guarantee",
            "",
            "An agent exactly at the threshold of 85 %, 200 scenarios, 4,000 runs for each row. At most 5 % may pass, and at most 5 % fail:",
            "",
            *table(
                ("what is looked at", "passes", "fails"),
                (
                    (
                        case,
                        percent(figures.of(BROKEN, case, "passes"), 1),
                        percent(figures.of(BROKEN, case, "fails"), 1),
                    )
                    for case in figures.cases(BROKEN)
                ),
            ),
            "",
            "So in Highbar:",
            "",
            "- **One random order** of all scenarios is recorded before the first call, new in each run. A rule looks at the longest part of it, from its",
            "  start, that has finished: slow failures cannot hide. Under `--seed`, which somebody could choose, and for shards, rules look only at the end.",
            "- **A unit is a scenario with all its trials.**",
            "- **Every look counts.** `highbar check` replays the run from its journal and comes to the same verdict.",
            "",
            "A run stops when its value is far from the threshold, so the value tends to be too far: reports mark it *at stopping*.",
            "",
            "## How exact it is",
            "",
            "`python -m bench.early_stopping` computes the error of every design of up to 300 scenarios, for 12 thresholds, 3 confidences, both kinds of",
            f"spending and both populations: the largest is {percent(figures.largest('largest error', 'of alpha'), 4)} of what is accepted. In simulations, bets on six kinds of scores, ratios and weights",
            f"were wrong in at most {percent(figures.largest('bets, at the threshold', 'passes', 'fails'), 1)} of the runs at the threshold, and five looks at a margin of 5 points, which are not exact, in at most {percent(figures.largest('a margin, exactly lost', 'passes', 'fails'), 1)}; 5 % is accepted.",
            "All figures are in [early-stopping.csv](early-stopping.csv).",
            "",
        ]
    )


def main() -> int:
    """Writes the page."""
    PAGE.write_text(page(read(f"{NAME}.csv")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
