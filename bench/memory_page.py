"""The table that `memory.py` wrote, as a page: `python bench/memory_page.py`. Nothing is simulated here."""

# ruff: noqa: E501 - the sentences stand here as they do in the page

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # its parts are found however it is started

from bench.measured_pages import CONCEPTS, Rows, read, table  # noqa: E402 - needs the line above

NAME = "drift-luck-and-flakiness"
NEXT = (
    ("unchanged: fails", "unchanged: fail"),
    ("inconclusive", "unchanged: inconclusive"),
    ("worse: fails", "10 points worse: fail"),
    ("worse: inconclusive", "10 points worse: inconclusive"),
)
MARGIN = "5 points worse, margin 5: passes with confidence"


def share(rows: Rows, what: str, case: str, method: str, measured: str) -> str:
    """One share of the table, in percent."""
    wanted = (what, case, method, measured)
    (found,) = [row["share"] for row in rows if (row["what"], row["case"], row["method"], row["measured"]) == wanted]
    return f"{100 * float(found):.1f} %".replace("-0.0 %", "0.0 %")


def number(rows: Rows, case: str, measured: str) -> str:
    """How many versions the detector needs."""
    wanted = (case, "half a point per version", measured)
    (found,) = [row["share"] for row in rows if (row["case"], row["method"], row["measured"]) == wanted]
    return f"{float(found):.0f}"


def _not_passed(rows: Rows, case: str, method: str, version: str) -> str:
    """The share of runs of a version that fail or are inconclusive, in percent."""
    wanted = {f"{version}: fail", f"{version}: inconclusive"}
    found = [
        float(row["share"])
        for row in rows
        if (row["case"], row["method"]) == (case, method) and row["measured"] in wanted
    ]
    return f"{100 * sum(found):.1f} %"


def page(rows: Rows) -> str:
    """The whole page."""
    versions = [f"version {number}" for number in (2, 5, 10, 30)]
    found = {what: [row for row in rows if row["what"] == what] for what in {row["what"] for row in rows}}
    climbs = list(dict.fromkeys((row["case"], row["method"]) for row in found["ratchet"]))
    suites = [
        (case, method)
        for case, method in dict.fromkeys((row["case"], row["method"]) for row in found["new_failures"])
        if method != "test, 3 runs" and case != "100 scenarios that always pass; 3 trials"  # they add nothing
    ]
    bases = list(dict.fromkeys((row["case"], row["method"]) for row in found["baseline"]))
    sizes = list(dict.fromkeys(row["case"] for row in found["margin"]))
    drifts = list(dict.fromkeys(row["case"] for row in found["drift"]))
    broken = [f"finds {count} broken" for count in (1, 5)]
    flaky = list(dict.fromkeys((row["case"], row["method"]) for row in found["many failures"]))
    broken_shares = [f"{percent}% broken" for percent in (0, 5, 10)]
    proofs = list(dict.fromkeys((row["case"], row["method"]) for row in found["confident ratchet"]))
    declines = list(dict.fromkeys(row["method"] for row in found["decline"]))
    suites_of = list(dict.fromkeys(row["case"] for row in found["decline"]))
    noisy = list(dict.fromkeys((row["case"], row["method"]) for row in found["noisy runs"]))
    return "\n".join(
        [
            "# Drift, luck and flakiness",
            "",
            "A single run cannot tell luck from quality, a flaky scenario from a broken one, or a slow decline from noise. So keep a",
            "[history of runs](../how-to/history.md), pool several runs before you raise a threshold or record a baseline, give",
            "`baseline` a `history`, and let `history: { drift: fail }` watch for a slow decline. This page measures what that is",
            f"worth: `python bench/memory.py` simulates it, and the figures are in [{NAME}.csv]({NAME}.csv). *Correlation 0*: every",
            "scenario is equally likely to pass; *0.6*: most scenarios always pass or always fail.",
            "",
            "## Luck: the ratchet",
            "",
            "`highbar baseline ratchet --history history/` pools the last five runs, including those that failed, and raises",
            "a threshold to their lower bound less the noise of one run. Only runs with the same suite, scoring and judge",
            "count, of commits before the one that is checked out. Metrics other than the pass rate go by the bounds of the runs.",
            "How often a version of an unchanged agent fails (100 scenarios, 85 %):",
            "",
            *table(
                ("", "raised to", *versions),
                [(c, m, *(share(rows, "ratchet", c, m, f"{v}: fail") for v in versions)) for c, m in climbs],
            ),
            "",
            "With `evidence: confident`, a run must prove the bar. So the threshold is lowered further, to the lower bound of a",
            "run that only just reaches the bar above; else many runs of an unchanged agent are inconclusive. How often a version",
            "does not pass (2,000 histories), and the bar in the end:",
            "",
            *table(
                ("", "lower bound less", *versions, "bar"),
                [
                    (
                        c,
                        m,
                        *(_not_passed(rows, c, m, v) for v in versions),
                        share(rows, "confident ratchet", c, m, "bar after 30 versions"),
                    )
                    for c, m in proofs
                ],
            ),
            "",
            "## Luck: the baseline",
            "",
            "A baseline that is recorded again at each pass is too high: the runs that pass are the lucky ones. `highbar",
            "baseline record --history history/` [pools the last five runs](../how-to/history.md#a-baseline-of-several-runs),",
            "passed or not. How far the recorded rate exceeds the true one after 30 versions (margin 0, 50 scenarios, 90 %), and",
            "what becomes of the next version, unchanged or 10 points worse:",
            "",
            *table(
                ("", "recorded", "too high by", *(kind for kind, _ in NEXT)),
                [
                    (
                        c,
                        m,
                        share(rows, "baseline", c, m, "recorded less true"),
                        *(share(rows, "baseline", c, m, measured) for _, measured in NEXT),
                    )
                    for c, m in bases
                ],
            ),
            "",
            "With a margin of 5 points and `evidence: confident`,",
            "about 5 % of versions pass that are 5 points worse, as promised, with either baseline:",
            "",
            *table(
                ("", "one run", "five runs pooled"),
                [(c, *(share(rows, "margin", c, m, MARGIN) for m in ("one run", "five runs pooled"))) for c in sizes],
            ),
            "",
            "A rule fails if even the better end of the interval is beyond the margin. Against pooled runs this end is Bonett and",
            "Price's alone, if it excludes 0. How often one run fails against five (2,000 times for each number). *Even*: every",
            "scenario got worse; *fixed*: 4 % of them were fixed, and the others lost as much:",
            "",
            *table(
                ("", *suites_of), [(m, *(share(rows, "decline", c, m, "fails") for c in suites_of)) for m in declines]
            ),
            "",
            "## Flakiness: new failures",
            "",
            "With `history: history/` in the `baseline` block, a failure is new only if a test of the scenario's trials against its",
            "earlier runs (of the same text, judged and scored alike) says so. The test allows for how flaky the scenarios of the",
            "suite are, and for how many scenarios are tested (Benjamini and Hochberg, q = 0.10).",
            "",
            "Only failures that were seen can excuse a failure. If a scenario never failed before, its failure is new without any",
            "test if no scenario of the suite was seen both to pass and to fail, or if it has fewer than 4 earlier trials (2 if it is",
            "run several times).",
            "",
            "How often this test fails an unchanged agent, and what share of scenarios it finds that passed before and always",
            "fail now:",
            "",
            *table(
                ("suite", "new failure", "fails", *broken),
                [
                    (
                        c,
                        m,
                        share(rows, "new_failures", c, m, "fails"),
                        *((share(rows, "new_failures", c, m, b) for b in broken) if m.startswith("test") else ("", "")),
                    )
                    for c, m in suites
                ],
            ),
            "",
            "In a flaky suite, a single failure of one trial may always be chance, but many at once are not. So the rule also",
            "tests their number: if nothing changed, the failures of a scenario are spread over its earlier trials and those of",
            "this run at random. A failure of a scenario that seldom failed counts more. How often the rule fails after five",
            "runs of one trial, if nothing broke, or if scenarios always fail from now on (2,000 histories for each number):",
            "",
            *table(
                ("suite", "test", *broken_shares),
                [(c, m, *(share(rows, "many failures", c, m, f"{b}: fails") for b in broken_shares)) for c, m in flaky],
            ),
            "",
            "With one trial per scenario in a flaky suite, neither test finds a single broken scenario. Run three trials, or",
            "put scenarios that must never fail into `required_scenarios`. With `--against-ref`, only runs before the change",
            "count, so a change cannot excuse its own failures.",
            "",
            "## Drift",
            "",
            "`highbar history trend --fail-on drift`, and the rule `history.drift` (`history: { drift: fail }`), look for",
            "scenarios that pass less and less often. If nothing changes, the passes of a scenario are spread over its runs at",
            "random. Bets against that multiply to an e-value, which reaches 20 with a chance of at most 5 %, if the number of",
            "runs was fixed in advance. If you look after every run: alarms within 100 versions of an agent at 85 %, and after how",
            "many versions it finds one that loses half a point per version:",
            "",
            *table(
                ("", "unchanged", "runs vary by 1 point", "by 2 points", "mean versions", "9 of 10 within"),
                [
                    (
                        c,
                        share(rows, "drift", c, "unchanged", "alarm within 100 versions"),
                        share(rows, "drift", c, "one point of noise per run", "alarm within 100 versions"),
                        share(rows, "drift", c, "two points of noise per run", "alarm within 100 versions"),
                        number(rows, c, "mean versions to the alarm"),
                        number(rows, c, "versions to 9 of 10 alarms"),
                    )
                    for c in drifts
                ],
            ),
            "",
            "Whole runs vary too, for example with the load of a model server. How much is estimated from the rises between",
            "runs; until the history shows another number, 2 points are assumed, with the weight of ten runs. Every bet pays",
            "for this noise. Alarms within 30 versions of an unchanged agent whose runs vary by 2 points (2,000 histories):",
            "",
            *table(("", "alarm"), [(c, share(rows, "noisy runs", c, m, "alarm within 30 versions")) for c, m in noisy]),
            "",
            "If runs vary by much more, false alarms become more frequent until the history shows it. A damaged or missing",
            "history makes these rules inconclusive.",
            "",
            "The e-value remembers a decline long after its repair. So there is no alarm if the newest runs are back at the level",
            "before the decline, within a quarter of the fall. From then on the runs are also judged alone: a second decline is",
            "found as fast. How often there is an alarm after a decline of half a point per version that was repaired, or goes on:",
            "",
            *table(
                (
                    "",
                    "versions after the alarm",
                    "repaired",
                    "goes on",
                    "repaired: e-value alone",
                    "goes on: e-value alone",
                ),
                [
                    (
                        c,
                        str(later),
                        *(
                            share(rows, "repair", c, f"{kind}: {method}", f"{later} after the alarm: alarm")
                            for method in ("levels", "evidence alone")
                            for kind in ("repaired", "goes on")
                        ),
                    )
                    for c in drifts
                    for later in (1, 10)
                ],
            ),
            "",
        ]
    )


def main() -> int:
    """Writes the page."""
    (CONCEPTS / f"{NAME}.md").write_text(page(read(f"{NAME}.csv")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
