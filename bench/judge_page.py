"""The figures of `bench/judges.py`, `old_labels.py` and `judged_coverage.py` as a page of the documentation.

`python bench/judge_page.py` writes it again from the tables; nothing is simulated here, and a test compares the two.
"""

# ruff: noqa: E501 - the sentences stand here as they do in the page

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

CONCEPTS = Path(__file__).resolve().parent.parent / "docs" / "concepts"
TABLE = CONCEPTS / "judge-errors.csv"
TABLES = Path(__file__).resolve().parent / "tables"
PAGE = CONCEPTS / "can-you-trust-the-judge.md"
OURS = ("Highbar", "sensitivity", "specificity")
"""What is promised to keep its level."""
LIMIT = 0.065
SAME = {
    "Highbar": "**Highbar**: post-stratified, by scenario",
    "independent labels": "the same, as if labels were independent",
    "PPI++": "PPI++",
    "PPI": "PPI",
    "raw judge": "the judge's pass rate, uncorrected",
}
ANOTHER = {"Highbar": "**Highbar**: Rogan and Gladen, by scenario", "Lang-Reiczigel": "Lang and Reiczigel's interval"}
RATES = {
    "specificity": "**Highbar**: specificity",
    "plain specificity": "specificity by plain counts of labels",
    "sensitivity": "**Highbar**: sensitivity",
    "plain sensitivity": "sensitivity by plain counts of labels",
}

Rows = list[dict[str, str]]


def column(method: str, figure: str) -> str:
    """The name of a column: `highbar_false_pass`."""
    return f"{method.lower().replace(' ', '_')}_{figure}"


def page(rows: Rows) -> str:
    """The whole page, in Markdown."""
    same, another = ([row for row in rows if row["labels_of"] == of] for of in ("same run", "another run"))
    above = sum(figure > LIMIT for method in OURS for row in rows for figure in _errors(row, method))
    kept = "None of Highbar's figures is" if not above else f"{above} of Highbar's figures are"
    return "\n".join(
        [
            "# Can you trust the judge?",
            "",
            "Not by its word. A judge passes some trials that people would fail, and fails some that they would pass, so the pass rate that",
            "it gives is wrong, and more trials do not make it right. **Labels** do: people judge a sample of the same trials",
            "([label a judge](../how-to/label-a-judge.md)), and the gate uses what they say.",
            "",
            "- **Labels of the same run.** Every trial counts with the share of passes that people gave to trials like it: to those that the judge",
            "  passed, and to those that it failed. The interval has the noise of the labels, of the scenarios, and of both together.",
            "- **Labels of another run** of the same judge. Only its sensitivity (how much of what people pass it passes) and specificity (how much of",
            "  what they fail it fails) carry over, if the judge has not changed. Alone they decide no rule: [a judge that changed](#a-judge-that-changed).",
            "- **No labels.** The rate is the judge's, and the report says that it is not calibrated.",
            "",
            "Not corrected: rules of 100 %, pooled coverage, composites and comparisons. A rule of 100 % needs a judge that misses nothing:",
            "demand `judge.min_specificity`.",
            "",
            "## How often the gate is wrong",
            "",
            "`python bench/judges.py` simulates agents that are exactly at their threshold. A false pass is a lower bound above the truth, a false fail an",
            "upper bound below it; each should happen at most 5 % of the time. The grid was fixed before the first run: pass rates of 80 to 97 %, three",
            "judges (sensitivity/specificity 97/75, 95/90 and 85/95 %), 50 to 200 labeled trials of 200 to 2,000, with 1 to 5 statements and trials.",
            f"{len(same)} points each. {kept} above {_percent(LIMIT)}. All of them are in [judge-errors.csv](judge-errors.csv).",
            "",
            "With labels of the same run:",
            "",
            *_table(same, SAME),
            "",
            "PPI and PPI++ got as many labels of a simple random sample. They are too sure if errors are few, and if trials of a scenario go",
            "together. With labels of another run, of an agent with another pass rate and a judge that has",
            "not changed:",
            "",
            *_table(another, ANOTHER),
            "",
            *_changed(read_from(TABLES / "old_labels.csv"), read_from(TABLES / "canaries.csv")),
            *_coverage(read_from(TABLES / "judged_coverage.csv")),
            "## How many labels",
            "",
            "The mean width of the interval, for judges of one statement and one trial per scenario:",
            "",
            *_widths(rows),
            "",
            "Label 100 trials or more. For the judge's errors, labels decide; for the agent's, scenarios do.",
            "",
            "## Sensitivity and specificity",
            "",
            "Labels are drawn half from what the judge passed, half from what it failed, so they stand for different numbers of trials. Plain counts",
            "forget that, and make a judge look better than it is:",
            "",
            *_table(another, RATES),
            "",
            "A judge that always says yes agrees with people as often as they say yes. So a policy demands lower bounds of both rates, not agreement.",
            "",
            "## What was not measured",
            "",
            "- Judges that err in the same way in all trials of a scenario: the bounds of sensitivity are then too narrow.",
            "- People who err together, and an agent that has learned what its judge likes: label a new sample if the agent or its prompts changed much.",
            "",
        ]
    )


def _changed(rows: Rows, canaries: Rows) -> list[str]:
    """What labels of another run are worth if the judge or the scenarios have changed."""
    lines = [
        (
            f"{row['case']}, pass rate {_percent(float(row['rate']), 0)}",
            f"{int(row['trials']):,}",
            row["labels_here"],
            *(_percent(float(row[f"alone_{word}"])) for word in ("passes", "fails")),
            *(_percent(float(row[word])) for word in ("passes", "fails")),
            _percent(float(row["far"]), 0),
        )
        for row in rows
    ]
    ten, twenty = (
        float(row["noticed"])
        for row in canaries
        if (row["sensitivity"], row["specificity"]) == ("0.9", "0.6") and row["each"] in ("10", "20")
    )
    return [
        "## A judge that changed",
        "",
        "A model changes behind its name. `python -m bench.old_labels` draws 100 labels of a run before, changes the judge or the scenarios, and",
        "draws some labels of this run. *Old labels alone*: a false pass or a false fail by their interval. *The rule*: with at least 20 labeled trials of this",
        "run that do not contradict the others by an exact test, and an interval that also covers that of this run's labels alone. *Far bar*: the share of",
        "runs that pass a bar 20 points below the truth ([table](../../bench/tables/old_labels.csv)).",
        "",
        *table(
            (
                *("what changed", "trials", "labels of this run", "old labels alone: false pass", "false fail"),
                *("the rule: false pass", "false fail", "far bar"),
            ),
            lines,
        ),
        "",
        "So 20 labels guard against a judge that changed, and more of them decide. [Canaries](../how-to/judge.md#several-judges-and-canaries) notice",
        f"specificity that fell from 90 % to 60 % in {_percent(twenty, 0)} of the runs with 20 true and 20 false statements, in {_percent(ten, 0)} with 10 and 10",
        "([table](../../bench/tables/canaries.csv)).",
        "",
    ]


def _coverage(rows: Rows) -> list[str]:
    """How often the gate is wrong about behavior coverage."""
    lines = []
    for judge in dict.fromkeys((row["coverage"], row["sensitivity"], row["specificity"]) for row in rows):
        mine = [row for row in rows if (row["coverage"], row["sensitivity"], row["specificity"]) == judge]
        words = (_percent(float(share), 0) for share in judge)
        columns = ("raw_passes", "raw_fails", "passes", "fails")
        lines.append((*words, *(_percent(max(float(row[name]) for row in mine)) for name in columns)))
    return [
        "## Behavior coverage",
        "",
        "A score between 0 and 1 is corrected by labels of the same run: a trial counts with the mean of people's scores in its stratum (the judge saw",
        f"every behavior, or not). `python -m bench.judged_coverage` simulates {len(rows)} points of 60 to 300 scenarios with 2 to 5 behaviors and 60 to 100",
        "labels ([table](../../bench/tables/judged_coverage.csv)). The worst of them, for each judge:",
        "",
        *table(
            (
                *("true coverage", "sensitivity", "specificity", "as judged: false pass", "false fail"),
                *("corrected: false pass", "false fail"),
            ),
            lines,
        ),
        "",
        "Uncorrected, a rule on it with `evidence: confident` is inconclusive.",
        "",
    ]


def _table(rows: Rows, methods: dict[str, str]) -> list[str]:
    """Each method's errors over all points, and its mean width."""
    names = (
        "",
        "false pass: mean / 95th / max",
        "false fail: mean / 95th / max",
        f"above {_percent(LIMIT)}",
        "mean width",
    )
    lines = []
    for method, title in methods.items():
        errors = [_errors(row, method) for row in rows]
        passes, fails = ([one[side] for one in errors] for side in (0, 1))
        above = sum(max(one) > LIMIT for one in errors) / len(errors)
        width = sum(float(row[column(method, "width")]) for row in rows) / len(rows)
        lines.append((title, _spread(passes), _spread(fails), f"{_percent(above, 0)} of points", f"{width:.3f}"))
    return table(names, lines)


def _widths(rows: Rows) -> list[str]:
    """How wide the interval is, by labels and trials."""
    plain = [row for row in rows if (row["statements"], row["repeats"]) == ("1", "1")]
    lines = []
    for of in ("same run", "another run"):
        for trials in ("200", "1000", "2000"):
            cells = []
            for labels in ("50", "100", "200"):
                mine = [
                    row for row in plain if (row["labels_of"], row["trials"], row["labels"]) == (of, trials, labels)
                ]
                cells.append(f"{sum(float(row['highbar_width']) for row in mine) / len(mine):.3f}")
            lines.append((of, f"{int(trials):,}", *cells))
    return table(("labels of", "trials", "50 labels", "100 labels", "200 labels"), lines)


def table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    return [f"| {' | '.join(cells)} |" for cells in (names, ["---"] * len(names), *rows)]


def _errors(row: dict[str, str], method: str) -> tuple[float, float]:
    """False passes and false fails; none of a method that was not measured there."""
    found = (row[column(method, figure)] for figure in ("false_pass", "false_fail"))
    passes, fails = (float(figure or 0) for figure in found)
    return passes, fails


def _spread(values: Sequence[float]) -> str:
    ordered = sorted(values)
    ends = (sum(values) / len(values), ordered[int(0.95 * (len(ordered) - 1))], ordered[-1])
    return " / ".join(map(_percent, ends))


def _percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f} %"


def read() -> Rows:
    """The rows of the table."""
    return read_from(TABLE)


def read_from(table: Path) -> Rows:
    """The rows of any table."""
    with table.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def main() -> int:
    """Writes the page."""
    PAGE.write_text(page(read()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
