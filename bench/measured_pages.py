"""Tables that `second_run.py`, `rising_bars.py` and `false_alarms.py` wrote, as pages of the documentation.

`python bench/measured_pages.py` writes docs/concepts/second-run.md, rising-bars.md and false-alarms.md; nothing is
simulated here, and a test compares the pages with the tables.
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
            "# What a bar that follows the agent does to an unchanged agent",
            "",
            "Written by `python bench/measured_pages.py` from [rising-bars.csv](rising-bars.csv), which",
            "`python bench/rising_bars.py` simulates with the gate's own functions and a seed that was fixed first.",
            "",
            "A bar that is raised after every run that passes selects the lucky runs. An agent that does not change fails",
            "it more and more often.",
            "",
            "## The ratchet",
            "",
            "100 scenarios, a true pass rate of 85 %. Each run that passes is recorded, and",
            "[the ratchet](../how-to/raise-the-bar.md) raises the threshold to its lower bound. The correlation is that of",
            "the trials of one scenario: 0 if every scenario is as likely to pass, 0.6 if most always pass or always fail.",
            "How many of the runs fail, or are inconclusive:",
            "",
            *table(("policy", "outcome", *versions), ratchet),
            "",
            "So raise a bar seldom, by hand, and from several runs, failed ones included. With `evidence: confident` a",
            "threshold at the agent's own bound leaves most later runs inconclusive; the command warns of that.",
            "",
            "## A baseline that is recorded anew at each pass",
            "",
            *table(
                ("baseline", "measured", "rate"), ((r["case"], r["measured"], _percent(r["share"], 1)) for r in rolling)
            ),
            "",
            "The recorded rate is too high, because only runs that were at least as good as the last record replace it.",
            "Record on a schedule, not on a pass, or give the rule a margin.",
            "",
            "## `new_failures: all`",
            "",
            "How often it fails an agent that did not change:",
            "",
            *table(("suite", "fails"), ((r["case"], _percent(r["share"])) for r in failures)),
            "",
            "More trials make it worse: every trial of every scenario has to pass again. Name the scenarios that must",
            "never fail, and leave the others to a margin.",
            "",
            "## Looking again at pooled data",
            "",
            "A `confident` rule whose truth is exactly the threshold should pass in at most 5 % of the runs. If scenarios",
            "are added to an inconclusive run until it is decided, it passes more often:",
            "",
            *table(
                ("run", "measured", "passes"), ((r["case"], r["measured"], _percent(r["share"], 1)) for r in looking)
            ),
            "",
            "So plan a new run of the size that `highbar plan` names, and judge that one.",
            "",
            "## Acceptance numbers",
            "",
            "A threshold of 100 % with `tolerate: 5%` and `failures`; exact, from the binomial law:",
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
    return "\n".join(
        [
            "# Would a second run differ?",
            "",
            "Written by `python bench/measured_pages.py` from [second-run.csv](second-run.csv), which",
            "`python bench/second_run.py` simulates with the gate's own functions and a seed that was fixed first.",
            "",
            "A report says how likely a second run of the same agent *on the same scenarios* gives a rule another outcome",
            "(pass, fail or inconclusive), and the whole verdict another one. Two such runs differ by the noise of their",
            "trials alone. How much of what varies is noise follows from the intraclass correlation that repeated trials",
            "show. If no scenario was repeated it cannot be known, and the report gives a range: for correlations from 0 to",
            "0.9. For an agent that always answers alike the chance is below that range. The range stays if fewer than about",
            "ten scenarios or a tenth of the suite were repeated, and if trials are undecided: whether these agree with the",
            "others is not known. A margin to a baseline has a range too: what scenarios have in common cancels in a",
            "difference, which may then be all noise.",
            "",
            "For the whole verdict, rules may change independently or together, so that is a range too.",
            "",
            "## What to do about it",
            "",
            "- **Decide before the run** which run counts. A second run after a fail, and none after a pass, gives a bad",
            "  agent one more chance each time.",
            "- **More trials of the same scenarios** lower the chance: it is trial noise. They do not make the suite say more",
            "  about other scenarios; [more scenarios](../how-to/plan-a-suite.md) do.",
            "- **Repeat a part of the suite** if the report gives a wide range: two trials of ten scenarios or more turn it",
            "  into a number.",
            "- **`evidence: confident`** leaves a run near the threshold inconclusive. The chance of another outcome is not",
            "  smaller, as the table shows, but a wrong pass or fail is rare.",
            "- **Move the bar** away from what the agent does, if both sides of it are fine; an agent at its threshold stays a",
            "  coin toss.",
            "",
            "## Stated and real",
            "",
            "Agents whose true rates are spread from 60 % to 99.5 % run 20 to 300 scenarios twice. `stated` is the mean of",
            "what is said after the first run, `real` the share of second runs that differ. With one trial, the correlation",
            "is given to the formula; with several, it is observed. 1,000 pairs of runs for each size; 300 with several",
            "trials, 500 for latencies, verdicts, margins and required scenarios, 250 for clusters and whole suites.",
            "",
            *table(("rule", "trials", "correlation", "stated", "real"), _stated(whole)),
            "",
            "A percentile of latencies is stated too low by up to 6 points if latencies are very alike: what is beyond the limit",
            "is less alike than the latencies are. Of clusters and of `population: suite` with one trial, the chance is stated",
            "too low by up to 4 points; of everything else by up to 3.",
            "",
            "## By what was stated",
            "",
            "The same runs of two rules, grouped by the stated chance:",
            "",
            *table(
                ("rule", "trials", "correlation", "runs", "stated", "real"),
                ((row["rule"], row["trials"], row["correlation"], row["runs"], *_shares(row)) for row in grouped),
            ),
            "",
            "It is a prediction: it is right on average over agents whose true rates are not known. An agent that stands",
            "exactly at its threshold differs in up to half of all second runs, and no first run can tell that it is one.",
            "",
        ]
    )


def false_alarms(rows: Rows) -> str:
    """The page about gates that compare with a baseline."""
    return "\n".join(
        [
            "# How often an unchanged agent fails",
            "",
            "Written by `python bench/measured_pages.py` from [false-alarms.csv](false-alarms.csv). For that,",
            "`python bench/false_alarms.py` runs the same agent twice, records the first run as the baseline and judges the",
            "second as the gate does: 20,000 times for each number, with a fixed seed.",
            "",
            "**A step above the baseline** (`baseline.step`) demands the baseline's value and more. An agent that did not",
            "change fails:",
            "",
            *_by_size(rows, "step", ("agent", "step"), "fails"),
            "",
            "**A margin** (`baseline.margin`) looks at the paired difference. The same agent fails, or (in brackets) the",
            "rule is inconclusive:",
            "",
            *_by_size(rows, "margin", ("agent", "margin"), "fails", "inconclusive"),
            "",
            "**An agent that got worse by 5 points** under a margin of 5 points, the edge of what is accepted, passes:",
            "",
            *_by_size(rows, "worse by 5 points", ("agent", "evidence"), "passes"),
            "",
            "By the estimate that is a coin toss, as it must be; `evidence: confident` lets it pass in about 5 % of the",
            "runs at most.",
            "",
            "**Other metrics** of an unchanged agent, without a margin, are called worse (2,000 times for each number):",
            "",
            *_by_size(rows, "metric", ("metric", "rule"), "fails"),
            "",
        ]
    )


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


PAGES = {"rising-bars": rising_bars, "second-run": second_run, "false-alarms": false_alarms}
"""By the name of the table and of its page."""


def main() -> int:
    """Writes the pages."""
    for name, page in PAGES.items():
        (CONCEPTS / f"{name}.md").write_text(page(read(f"{name}.csv")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
