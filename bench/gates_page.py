"""The table that `bench.gates` stored, as a page of the documentation; nothing is simulated here."""

# ruff: noqa: E501 - the sentences are here as they are on the page

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence

from bench.measured_pages import CONCEPTS, table

Rows = Sequence[dict[str, str]]
TABLE = CONCEPTS / "gates.csv"
PAGE = CONCEPTS / "gates.md"
COLUMNS = ("gate", "version", "question", "setting", "wrong", "runs", "pass", "fail", "inconclusive", "contradiction")


def stored() -> list[dict[str, str]]:
    """The rows of the stored table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _of(rows: Rows, question: str) -> list[dict[str, str]]:
    return [row for row in rows if row["question"] == question]


def _percent(row: dict[str, str], name: str) -> str:
    share = 100 * float(row[name])
    return "0" if share == 0 else f"{share:.1f}" if share < 10 else f"{share:.0f}"


def _shown(rows: Rows, columns: Sequence[tuple[str, str]]) -> Iterable[Sequence[str]]:
    """A line per gate with a cell per setting: the share of its errors, in percent."""
    cells = {(row["gate"], row["setting"]): row for row in rows}
    for gate in dict.fromkeys(row["gate"] for row in rows):
        yield (
            gate,
            *(_percent(cells[gate, setting], name) if (gate, setting) in cells else "–" for setting, name in columns),
        )


THRESHOLD_COLUMNS = {
    "false pass, 5 points below": ("5 points below", "pass"),
    "false fail, 5 points above": ("5 points above", "fail"),
    "contradiction, at the threshold": ("at the threshold", "contradiction"),
    "false pass, 10 % crash": ("10 % crash, 90 % of the rest pass", "pass"),
    "false pass, flaky": ("flaky, 5 points below", "pass"),
    "false fail, flaky": ("flaky, 5 points above", "fail"),
    "contradiction, flaky": ("flaky, at the threshold", "contradiction"),
    "pass, 10 points above": ("10 points above", "pass"),
}
CHANGE_COLUMNS = {
    "fail, unchanged": ("unchanged", "fail"),
    "pass, 10 points worse": ("10 points worse", "pass"),
    "pass, 10 % crash now": ("10 % of calls crash now", "pass"),
    "inconclusive, unchanged": ("unchanged", "inconclusive"),
    "inconclusive, 10 points worse": ("10 points worse", "inconclusive"),
}
JUDGE_COLUMNS = {
    "false fail: wrong one time in ten": ("a judge that is wrong one time in ten, 10 points above", "fail"),
    "false pass: misses half of the failures": ("a judge that misses half of the failures, 5 points below", "pass"),
    "inconclusive, of the first": ("a judge that is wrong one time in ten, 10 points above", "inconclusive"),
    "inconclusive, of the second": ("a judge that misses half of the failures, 5 points below", "inconclusive"),
}


def _threshold(rows: Rows) -> list[str]:
    return table(("gate", *THRESHOLD_COLUMNS), _shown(_of(rows, "threshold"), list(THRESHOLD_COLUMNS.values())))


def _change(rows: Rows) -> list[str]:
    return table(("gate", *CHANGE_COLUMNS), _shown(_of(rows, "change"), list(CHANGE_COLUMNS.values())))


def _judge(rows: Rows) -> list[str]:
    return table(("gate", *JUDGE_COLUMNS), _shown(_of(rows, "judge"), list(JUDGE_COLUMNS.values())))


def tables(rows: Rows) -> list[str]:
    """The tables alone."""
    return [*_threshold(rows), "", *_change(rows), "", *_judge(rows)]


def page(rows: Rows) -> str:
    """The whole page."""
    versions = dict.fromkeys(f"{row['gate'].partition(',')[0]} {row['version']}" for row in rows)
    named = ", ".join(name for name in versions if not name.startswith(("Plain", "Highbar")))
    return "\n".join(
        [
            "# Gates compared",
            "",
            "How often does a gate pass an agent that is not good enough, fail one that is, or contradict itself when the same",
            "agent runs again? `python -m bench.gates` asks several gates about the same simulated agents. Their true pass rates",
            "are known, so every pass and every fail is right or wrong. Each gate is called through its own interface with its",
            f"own defaults: {named}. The seed is fixed; the figures are in [gates.csv](gates.csv). All",
            "figures are percent of runs. `inconclusive` is no error: the gate says that it cannot tell.",
            "",
            "## A threshold of 85 %",
            "",
            "100 scenarios with one trial, or, for **flaky**, 20 scenarios with five trials whose outcomes resemble each other",
            "(correlation 0.6). **10 % crash**: every tenth call raises an exception, and 90 % of the others pass, so 81 % of",
            "all calls succeed.",
            "",
            *_threshold(rows),
            "",
            "- A **plain percentage**, **promptfoo**'s `PROMPTFOO_PASS_RATE_THRESHOLD` and **agentrial**'s `threshold` compare the",
            "  measured rate. They always decide, and are often wrong near the threshold. A script that divides by the answers",
            "  that it has drops crashes; promptfoo and agentrial count them as failures.",
            "- **Inspect** is a framework for evaluations and has no gate. The usual way is to compare its interval with the",
            "  threshold: pass if it is above, fail if it is below. With `fail_on_error=False` it leaves crashed samples out of its",
            "  metrics; by default the evaluation ends with the first crash. `ci()` is a t interval, which is too narrow for few",
            "  scenarios that nearly all pass.",
            "- **AgentAssay** asks about many trials of one scenario. Here all trials of the suite go into one verdict, as a user",
            "  with a suite would do; its interval treats trials of the same scenario as independent, which they are not.",
            "- **Highbar** with `evidence: estimate` is a plain percentage in which crashes count as failures. With `evidence:",
            "  confident` both errors are at most 5 %, also with several trials. The price is in the last column: with 100",
            "  scenarios it cannot always pass an agent that is 10 points above.",
            "",
            "## Two versions",
            "",
            "50 scenarios with ten trials each, 90 % of which pass in the first version. For Highbar, a loss of up to 5 points is",
            "accepted (`baseline: { margin: { pass_rate: 5% } }`). **10 % crash now**: every tenth call of the second version",
            "raises an exception.",
            "",
            *_change(rows),
            "",
            "- **signaltest** was built for this question, case by case: it asks whether one of the cases got worse by more than",
            "  chance, with a correction for the number of cases. It drops samples that crashed.",
            "- **agentrial**'s `compare` calls a case a regression if its pass rate fell by more than 10 points, and does not ask",
            "  whether that is chance.",
            "- **AgentAssay** tests all trials together (Fisher's exact test). It is inconclusive if its estimated power is low.",
            "- **Highbar** compares scenario by scenario. `confident` passes only if a loss of more than 5 points is excluded,",
            "  which 50 scenarios rarely allow.",
            "",
            "## A judge that is 90 % right",
            "",
            "300 scenarios with one trial, judged by a model. Two judges, both right about 90 % of the trials: one is wrong one",
            "time in ten, whatever is true (the agent's true rate is 95 %); the other misses half of the failures (the true rate",
            "is 80 %). Every gate believes the judge, unless it is given labels: people's judgments of 100 trials.",
            "",
            *_judge(rows),
            "",
            "No gate can be right about an agent if its judge is wrong and nobody checks. [Labels](can-you-trust-the-judge.md) make",
            "the judge's errors known; Highbar then corrects the rate, with an interval that is honestly wide.",
            "",
            "## What this does not show",
            "",
            "The agents are simulated: scenarios are independent of each other, and nothing drifts. Speed, usability, tracing and",
            "the quality of checks are not compared; most of these tools were built for more than a gate, and Inspect for",
            "something else. Defaults were not tuned for any of them.",
            "",
        ]
    )
