"""Tables that `second_run.py`, `rising_bars.py`, `false_alarms.py` and `suite_noise.py` wrote, as pages of the documentation.

`python bench/measured_pages.py` writes docs/concepts/second-run.md, rising-bars.md, false-alarms.md and whole-suite.md;
nothing is simulated here, and a test compares the pages with the tables.
"""

# ruff: noqa: E501 - the sentences stand here as they do in the pages

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

CONCEPTS = Path(__file__).resolve().parent.parent / "docs" / "concepts"

Rows = list[dict[str, str]]


def read(name: str) -> Rows:
    """The rows of a table."""
    with (CONCEPTS / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def measured(rows: Rows, what: str, case: str, measure: str) -> str:
    """One share of the table of rising bars, in whole percent: `24 %`."""
    (found,) = [row["share"] for row in rows if (row["what"], row["case"], row["measured"]) == (what, case, measure)]
    return f"{100 * float(found):.0f} %"


def rising_bars(rows: Rows) -> str:
    """The page about bars that follow the agent's own runs."""
    versions = [f"version {number}" for number in (2, 5, 10, 30)]
    cases = list(dict.fromkeys(row["case"] for row in rows if row["what"] == "ratchet"))
    ratchet = []
    for case in cases:
        words = ("fail", "inconclusive") if case.startswith("confident") else ("fail",)
        ratchet += [
            (case, word, *(measured(rows, "ratchet", case, f"{version}: {word}") for version in versions))
            for word in words
        ]
    rolling = [row for row in rows if row["what"] == "rolling baseline"]
    failures = [row for row in rows if row["what"] == "new_failures"]
    looking = [row for row in rows if row["what"] == "looking again"]
    accepted = [row for row in rows if row["what"] == "acceptance number"]
    cases_of = list(dict.fromkeys(row["case"] for row in accepted))
    measures = list(dict.fromkeys(row["measured"] for row in accepted))
    return "\n".join(
        [
            "# What a rising bar does to an unchanged agent",
            "",
            "A bar that is raised after every pass selects lucky runs, so an agent that does not change fails more and more",
            "often. `python bench/rising_bars.py` simulates this; the figures are in [rising-bars.csv](rising-bars.csv).",
            "",
            "## The ratchet",
            "",
            "100 scenarios, a true pass rate of 85 %. After each pass, [the ratchet](../how-to/raise-the-bar.md) raises the",
            "threshold to the run's lower bound. Correlation 0: every scenario is equally likely to pass; 0.6: most",
            "scenarios always pass or always fail. The share of runs that fail or are inconclusive:",
            "",
            *table(("policy", "outcome", *versions), ratchet),
            "",
            "So raise the bar rarely, by hand, and from several runs, including failed ones. With `evidence: confident`, a",
            "threshold at the agent's own bound makes most later runs inconclusive; the command warns about that.",
            "",
            "## A baseline that is recorded again at each pass",
            "",
            *table(
                ("baseline", "measured", "rate"), ((r["case"], r["measured"], _percent(r["share"], 1)) for r in rolling)
            ),
            "",
            "The recorded rate is too high, because only runs at least as good as the last record replace it. [Pool the last",
            "runs](drift-luck-and-flakiness.md#luck-the-baseline) instead, or give the rule a margin.",
            "",
            "## `new_failures: all`",
            "",
            "How often it fails an unchanged agent:",
            "",
            *table(("suite", "fails"), ((r["case"], _percent(r["share"])) for r in failures)),
            "",
            "More trials make it worse, because every trial of every scenario must pass again. Name the scenarios that must",
            "never fail, and use a margin for the others.",
            "",
            "## Looking again at pooled data",
            "",
            "A `confident` rule should pass at most 5 % of the runs of an agent exactly at the threshold. If scenarios are",
            "added to an inconclusive run until it is decided, it passes more often:",
            "",
            *table(
                ("run", "measured", "passes"), ((r["case"], r["measured"], _percent(r["share"], 1)) for r in looking)
            ),
            "",
            "So do a new run of the size that `highbar plan` gives, and judge only that one.",
            "",
            "## Acceptance numbers",
            "",
            "A threshold of 100 % with `tolerate: 5%` and `failures`; exact, from the binomial distribution:",
            "",
            *table(
                ("", *measures),
                (
                    (
                        case,
                        *(
                            _percent(row["share"], 1)
                            for measure in measures
                            for row in accepted
                            if (row["case"], row["measured"]) == (case, measure)
                        ),
                    )
                    for case in cases_of
                ),
            ),
            "",
        ]
    )


def second_run(rows: Rows) -> str:
    """The page about what is said of a second run, beside what happens."""
    whole = [row for row in rows if (row["stated_from"], row["stated_to"]) == ("0.00", "1.00")]
    grouped = [row for row in rows if row not in whole and row["rule"] in ("estimate 85%", "confident 85%")]
    shown = [row for row in grouped if (row["trials"], row["correlation"]) == ("1", "0")]
    return "\n".join(
        [
            "# Would a second run differ?",
            "",
            "A report says how likely a re-run of the same agent *on the same scenarios* would give a different outcome (pass,",
            "fail or inconclusive), for a rule and for the whole verdict. Two such runs differ only by the noise of their",
            "trials, and repeated trials show how large that noise is. The report gives a range instead of a number",
            "",
            "- if fewer than about ten scenarios, or less than a tenth of the suite, were repeated: the range covers",
            "  correlations from 0 to 0.9. For an agent that always answers alike, the chance is below it;",
            "- if trials are undecided;",
            "- for a margin to a baseline, whose difference may be all noise;",
            "- for the whole verdict, because rules may change independently or together.",
            "",
            "No chance is stated for thresholds of 100 %, required scenarios and new failures, because how often a rare failure",
            "comes back cannot be seen in one run; for a latency percentile with `confident`; and if the trials of every scenario",
            "agreed. A verdict with such a blocking rule has no chance either.",
            "",
            "## What to do about it",
            "",
            "- **Decide before the run** which run counts. Running again after a fail gives a bad agent extra chances.",
            "- **More trials of the same scenarios** lower the chance, but say no more about other scenarios.",
            "- **Repeat part of the suite** if the range is wide: two trials of ten or more scenarios turn it into a number.",
            "- **`evidence: confident`** makes a run near the threshold inconclusive: a wrong pass or fail is rare.",
            "- **Move the threshold** away from what the agent usually reaches, if you can accept either side of it.",
            "",
            "## Stated and real",
            "",
            "`python bench/second_run.py` simulates agents with true rates from 60 % to 99.5 % that run 20 to 300 scenarios",
            "twice. `stated` is the mean chance stated after the first run, `real` the share of second runs that differed. The",
            "table shows the correlation with the largest gap for each rule; [second-run.csv](second-run.csv) has all of them.",
            "",
            *table(("rule", "trials", "correlation", "stated", "real"), _stated(_widest_gaps(whole))),
            "",
            "The chance is stated too low by up to 6 points for latency percentiles of very similar latencies, by up to 4 for",
            "clusters and for `population: suite` with one trial, and by up to 3 otherwise. Grouped by the stated chance, for",
            "one trial and correlation 0:",
            "",
            *table(("rule", "runs", "stated", "real"), ((row["rule"], row["runs"], *_shares(row)) for row in shown)),
            "",
            "The chance is right on average. An agent exactly at its threshold differs in up to half of all second runs, and",
            "no first run can tell that it is one.",
            "",
        ]
    )


def _widest_gaps(rows: Rows) -> Rows:
    """For each rule and number of trials, the row whose real share is furthest outside of the stated range."""
    groups: dict[tuple[str, str], Rows] = {}
    for row in rows:
        name = row["rule"].partition(" that share")[0]
        groups.setdefault((name, row["trials"]), []).append(row)
    return [max(group, key=_gap) for group in groups.values()]


def _gap(row: dict[str, str]) -> float:
    ends = [float(end) for end in row["stated"].split(" to ")]
    return max(min(ends) - float(row["real"]), float(row["real"]) - max(ends))


def false_alarms(rows: Rows) -> str:
    """The page about gates that compare with a baseline."""
    return "\n".join(
        [
            "# How often an unchanged agent fails",
            "",
            "`python bench/false_alarms.py` records a run as the baseline and judges a second one of the same agent, 20,000",
            "times for each number. The figures are in [false-alarms.csv](false-alarms.csv).",
            "",
            "**A step above the baseline** (`baseline.step`) demands more than the baseline's value. An unchanged agent fails:",
            "",
            *_by_size(rows, "step", ("agent", "step"), "fails"),
            "",
            "**A margin** (`baseline.margin`) uses the paired difference. The same agent fails, or (in parentheses) the rule",
            "is inconclusive:",
            "",
            *_by_size(rows, "margin", ("agent", "margin"), "fails", "inconclusive"),
            "",
            "**An agent that is 5 points worse**, with a margin of exactly 5 points, passes:",
            "",
            *_by_size(rows, "worse by 5 points", ("agent", "evidence"), "passes"),
            "",
            "With `estimate` this is a coin toss; with `confident` it passes at most about 5 % of the runs.",
            "",
            "**Other metrics** of an unchanged agent, without a margin, are called worse (2,000 runs for each number):",
            "",
            *_by_size(rows, "metric", ("metric", "rule"), "fails"),
            "",
        ]
    )


def whole_suite(rows: Rows) -> str:
    """The page about suites that are all there is."""
    at_bar = [row for row in rows if row["bar"] == "the true rate"]
    changed = [row for row in at_bar if "before" in row["law"]]
    usual = [row for row in at_bar if row not in changed]
    power = [row for row in rows if row not in at_bar]

    def largest(some: Rows) -> str:
        return _percent(str(max(float(row[side]) for row in some for side in ("passes", "fails"))), 1)

    return "\n".join(
        [
            "# A suite that is all there is",
            "",
            "With `population: suite` a rule is about the scenarios of the suite alone, not about others like them. Then only the",
            "answers vary: a scenario may pass in one run and fail in the next. Without further knowledge the bounds assume the",
            "most that trials can vary, as if every scenario passed equally often. Most suites vary much less: nearly all scenarios",
            "always pass, or always fail. How much less can be seen if the same scenarios were repeated:",
            "",
            "| known from | needed | used for |",
            "| --- | --- | --- |",
            "| the trials of this run | several trials of each scenario; one with a single trial counts as the noisiest | `confident`: rates of trials (pass rate, accuracy, safety, …) and mean scores |",
            "| earlier runs | a [history](../how-to/history.md) that the policy names (`history: { drift: warn }`), with two or more trials of the same scenarios (same text, scoring, judge and agent); a scenario without them counts as the noisiest | runs of one trial: `pass_rate`, with `confident` and with `sequential` |",
            "",
            "If neither is known, or a record of the history is damaged, nothing changes. A run that disagrees with its history by",
            "more than the history explains is as noisy as it looks. Nothing needs to be written in the policy for it.",
            "",
            "## How the bound is computed",
            "",
            "Of the variance of a trial, the share 1 - r is noise; r is the correlation of trials of one scenario. So n trials are",
            "worth n / (1 - r), and the bounds are those of Clopper and Pearson for so many, from half a trial to the safe side. The",
            "noise is not taken as smaller than it was at the suite's earlier rate, and pairs of trials that disagree are added to it:",
            "four if it comes from the run that is judged, one if it comes from earlier runs.",
            "",
            "A run that [stops early](early-stopping.md#only-this-suite) has two chances to err, each with half of the error: that",
            "all of its scenarios come out luckier than they are, and that the first ones do. The bar is moved by what the first allows, and half",
            "a scenario; exact (hypergeometric) boundaries then decide on which side of it the whole run would end. The noise must be",
            "known before the run. If the run shows more, it has to cross the boundaries for that much noise as well.",
            "",
            "## What it brings",
            "",
            f"`python bench/suite_noise.py` judges suites whose scenarios stay the same, {2_000:,} runs for each row. *Without* is the",
            "same run if the noise is not known. All figures are in [whole-suite.csv](whole-suite.csv).",
            "",
            *table(
                ("suite", "true rate, bar", "known from", "passes", "without", "scenarios"),
                (
                    (
                        f"{row['scenarios']} scenarios, {_trials(row)}, {row['law']}, {row['judged']}",
                        f"{_percent(row['true'])}, {_percent(row['bar'])}",
                        row["known_from"],
                        _percent(row["passes"], 1),
                        _percent(row["passes_without"], 1),
                        row["scenarios_run"],
                    )
                    for row in power
                ),
            ),
            "",
            "## How often it is wrong",
            "",
            "For suites exactly at their bar, of which at most 5 % may pass and at most 5 % fail:",
            "",
            *table(
                ("judged", "known from", "suites", "wrong passes, at most", "wrong fails, at most"),
                (
                    (
                        judged,
                        known,
                        str(len(some)),
                        *(_percent(str(max(float(row[side]) for row in some)), 1) for side in ("passes", "fails")),
                    )
                    for judged, known, some in _grouped(usual)
                ),
            ),
            "",
            f"If earlier runs were steady and the agent has since become noisy, its noise is seen only in this run: {largest(changed)} at most.",
            "In 2,000 runs a share of 5 % may come out as 6 % by chance; without any correlation the boundaries are the exact ones.",
            "",
        ]
    )


def _trials(row: dict[str, str]) -> str:
    return "1 trial" if row["trials"] == "1" else f"{row['trials']} trials"


def _grouped(rows: Rows) -> Iterable[tuple[str, str, Rows]]:
    """The rows by how a run was judged, and from what the noise was known."""
    groups: dict[tuple[str, str], Rows] = {}
    for row in rows:
        own = row["known_from"] == "its own trials"
        groups.setdefault((row["judged"], "its own trials" if own else "earlier runs"), []).append(row)
    return [(*key, found) for key, found in groups.items()]


def _by_size(rows: Rows, what: str, names: Sequence[str], measure: str, beside: str | None = None) -> list[str]:
    """A table with a column for each number of scenarios; a second measure stands in brackets."""
    mine = [row for row in rows if row["what"] == what]
    sizes = list(dict.fromkeys(row["scenarios"] for row in mine))
    shares = {(row["agent"], row["setting"], row["scenarios"], row["measured"]): row["share"] for row in mine}

    def cell(agent: str, setting: str, size: str) -> str:
        found = _percent(shares[agent, setting, size, measure], 1)
        return found if beside is None else f"{found} ({_percent(shares[agent, setting, size, beside])})"

    lines = dict.fromkeys((row["agent"], row["setting"]) for row in mine)
    header = (*names, *(f"{size} scenarios" for size in sizes))
    ordered = sorted(lines, key=lambda line: list(dict.fromkeys(agent for agent, _ in lines)).index(line[0]))
    return table(header, ((*line, *(cell(*line, size) for size in sizes)) for line in ordered))


def _stated(rows: Iterable[dict[str, str]]) -> Iterable[Sequence[str]]:
    for row in rows:
        yield row["rule"], row["trials"], row["correlation"], *_shares(row)


def _shares(row: dict[str, str]) -> tuple[str, str]:
    ends = dict.fromkeys(_percent(end, 1) for end in row["stated"].split(" to "))
    return " to ".join(ends), _percent(row["real"], 1)


def _percent(share: str, digits: int = 0) -> str:
    return f"{100 * float(share):.{digits}f} %"


def table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    return [f"| {' | '.join(cells)} |" for cells in (names, ["---"] * len(names), *rows)]


PAGES = {"rising-bars": rising_bars, "second-run": second_run, "false-alarms": false_alarms, "whole-suite": whole_suite}
"""By the name of the table and of its page."""


def main() -> int:
    """Writes the pages."""
    for name, page in PAGES.items():
        (CONCEPTS / f"{name}.md").write_text(page(read(f"{name}.csv")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
