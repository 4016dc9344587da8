"""The table that `bench.gates` stored, as a page of the documentation; nothing is simulated here.

`python -m bench.gates_page` writes docs/concepts/gates.md. Every figure in its sentences is read from the table.
"""

# ruff: noqa: E501 - the sentences are here as they are on the page

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from math import sqrt

from bench.measured_pages import CONCEPTS, table

Rows = Sequence[dict[str, str]]
TABLE = CONCEPTS / "gates.csv"
PAGE = CONCEPTS / "gates.md"
COLUMNS = ("gate", "version", "question", "setting", "wrong", "runs", "pass", "fail", "inconclusive", "contradiction")

PLAIN = "Plain percentage"
PROMPTFOO = "promptfoo, pass rate threshold"
CI = "Inspect, `ci()`"
WILSON = "Inspect, `ci_wilson()`"
AGENTRIAL = "agentrial, threshold"
COMPARE = "agentrial, `compare`"
SNAPSHOT = "agentrial, `snapshot check`"
AGENTASSAY = "AgentAssay"
MAIDA = "Maida, `task_pass_rate` alone"
BY_CASE = "signaltest, `run_suite`"
PAIRED = "signaltest, `compare_scores(paired=True)`"
ESTIMATE = "Highbar, `estimate`"
CONFIDENT = "Highbar, `confident`"
LABELED = "Highbar, `confident`, with labels"

BELOW, AT, ABOVE, FAR_ABOVE = "5 points below", "at the threshold", "5 points above", "10 points above"
CRASHES = "10 % crash, 90 % of the rest pass"
FLAKY_BELOW, FLAKY_AT, FLAKY_ABOVE = "flaky, 5 points below", "flaky, at the threshold", "flaky, 5 points above"
SAME, WORSE, BROKEN, CRASHES_NOW = (
    "unchanged",
    "10 points worse",
    "5 of 50 scenarios break",
    "10 % of calls crash now",
)
WRONG_AT_RANDOM = "a judge that is wrong one time in ten, 10 points above"
MISSES_FAILURES = "a judge that misses half of the failures, 5 points below"

Cells = Mapping[str, tuple[str, str]]
"""By the head of a column: a setting, and the share that is shown of it."""

THRESHOLD_COLUMNS: Cells = {
    "false pass, 5 points below": (BELOW, "pass"),
    "false fail, 5 points above": (ABOVE, "fail"),
    "contradiction, at the threshold": (AT, "contradiction"),
    "false pass, 10 % crash": (CRASHES, "pass"),
    "false pass, flaky": (FLAKY_BELOW, "pass"),
    "false fail, flaky": (FLAKY_ABOVE, "fail"),
    "contradiction, flaky": (FLAKY_AT, "contradiction"),
    "pass, 10 points above": (FAR_ABOVE, "pass"),
}
CHANGE_COLUMNS: Cells = {
    "false fail, unchanged": (SAME, "fail"),
    "false pass, 10 points worse": (WORSE, "pass"),
    "false pass, 5 of 50 break": (BROKEN, "pass"),
    "false pass, 10 % crash now": (CRASHES_NOW, "pass"),
    "contradiction, unchanged": (SAME, "contradiction"),
    "contradiction, 10 points worse": (WORSE, "contradiction"),
    "inconclusive, unchanged": (SAME, "inconclusive"),
    "inconclusive, 10 points worse": (WORSE, "inconclusive"),
}
JUDGE_COLUMNS: Cells = {
    "false fail, first judge": (WRONG_AT_RANDOM, "fail"),
    "false pass, second judge": (MISSES_FAILURES, "pass"),
    "contradiction, first": (WRONG_AT_RANDOM, "contradiction"),
    "contradiction, second": (MISSES_FAILURES, "contradiction"),
    "inconclusive, first": (WRONG_AT_RANDOM, "inconclusive"),
    "inconclusive, second": (MISSES_FAILURES, "inconclusive"),
}


def stored() -> list[dict[str, str]]:
    """The rows of the stored table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def share(rows: Rows, gate: str, setting: str, name: str) -> float:
    """One figure of the table, from 0 to 1."""
    (found,) = [float(row[name]) for row in rows if (row["gate"], row["setting"]) == (gate, setting)]
    return found


def largest_error(rows: Rows, gate: str, question: str) -> float:
    """The largest share of wrong passes or wrong fails of a gate, over all settings of a question."""
    wrong = [row for row in rows if (row["gate"], row["question"]) == (gate, question) and row["wrong"]]
    return max(float(row[row["wrong"]]) for row in wrong)


def _percent(found: float) -> str:
    percent = 100 * found
    return (
        "0" if percent == 0 else "< 0.1" if percent < 0.05 else f"{percent:.1f}" if percent < 9.95 else f"{percent:.0f}"
    )


def _table(rows: Rows, question: str, columns: Cells) -> list[str]:
    mine = [row for row in rows if row["question"] == question]

    def lines() -> Iterable[Sequence[str]]:
        for gate in dict.fromkeys(row["gate"] for row in mine):
            yield gate, *(_percent(share(mine, gate, setting, name)) for setting, name in columns.values())

    return table(("gate", *columns), lines())


def _runs(rows: Rows, *settings: str) -> str:
    """How many runs a figure counts, and how far chance can move it: two standard errors, in points."""
    (count,) = {int(row["runs"]) for row in rows if row["setting"] in settings}
    most, near_five = (200 * sqrt(rate * (1 - rate) / count) for rate in (0.5, 0.05))
    return f"{count:,} runs, ± {most:.1f} points at 50 % and ± {near_five:.1f} at 5 %"


def tables(rows: Rows) -> list[str]:
    """The tables alone, of the questions that were asked."""
    asked = {row["question"] for row in rows}
    columns = {"threshold": THRESHOLD_COLUMNS, "change": CHANGE_COLUMNS, "judge": JUDGE_COLUMNS}
    return [line for name, one in columns.items() if name in asked for line in (*_table(rows, name, one), "")]


def page(rows: Rows) -> str:
    """The whole page."""
    versions = dict.fromkeys(f"{row['gate'].partition(',')[0]} {row['version']}" for row in rows)
    named = ", ".join(name for name in versions if not name.startswith(("Plain", "Highbar")))

    def of(gate: str, setting: str, name: str) -> str:
        return f"{_percent(share(rows, gate, setting, name))} %"

    return "\n".join(
        [
            "# Gates compared",
            "",
            "How often does a gate pass an agent that is not good enough, fail one that is, or contradict itself when the same",
            "agent runs again? `python -m bench.gates` asks several gates about the same simulated agents, with a fixed seed; the",
            "figures are in [gates.csv](gates.csv). The true pass rates are known, so every pass and every fail is right or wrong.",
            "Each gate is called through its own interface with its own defaults:",
            f"{named}.",
            "",
            "Figures are percent of runs. **Contradiction**: the same agent runs twice on the same scenarios; one run passes, the",
            "other fails. **Inconclusive** is no error, because the gate says that it cannot tell. Highbar then blocks (exit code 3),",
            "AgentAssay's gate warns (exit code 2), Maida and signaltest end with exit code 0.",
            "",
            "## A threshold of 85 %",
            "",
            f"100 scenarios with one trial ({_runs(rows, BELOW, AT, ABOVE, FAR_ABOVE, CRASHES)}). **10 % crash**: every tenth call",
            "raises an exception, and 90 % of the others pass, so only 81 % of all calls succeed. **Flaky**: 20 scenarios with five",
            "trials; most nearly always pass, some nearly always fail (correlation 0.6), and they are a sample of all scenarios",
            f"that the true rate is about ({_runs(rows, FLAKY_BELOW, FLAKY_AT, FLAKY_ABOVE)}).",
            "",
            *_table(rows, "threshold", THRESHOLD_COLUMNS),
            "",
            "- A **plain percentage**, **promptfoo**'s `PROMPTFOO_PASS_RATE_THRESHOLD` and **agentrial**'s `threshold` compare the",
            f"  measured rate. They always decide: an agent 5 points below passes in {of(PLAIN, BELOW, 'pass')} of runs, and two runs of one exactly at",
            f"  the threshold contradict each other in {of(PLAIN, AT, 'contradiction')}. A script that divides by the answers that it has drops",
            f"  crashes, and passes {of(PLAIN, CRASHES, 'pass')} of the agents that crash; promptfoo and agentrial count them as failures.",
            "- **Inspect** is a framework for evaluations and has no gate. Here its interval is compared with the threshold: pass if",
            "  it is above, fail if it is below. With `fail_on_error=False` it leaves crashed samples out of its metrics (by default",
            f"  the first crash ends the evaluation), so `ci()` passes {of(CI, CRASHES, 'pass')} of the agents that crash.",
            "- **AgentAssay** and **Maida** were built for many trials of one task, which are independent. Here all trials of the",
            "  suite go into one verdict; trials of the same scenario are not independent, so flaky agents 5 points below pass in",
            f"  {of(AGENTASSAY, FLAKY_BELOW, 'pass')} and {of(MAIDA, FLAKY_BELOW, 'pass')} of runs.",
            "- **Maida** compares how an agent works (steps, tools, loops, cost) with a baseline, and does not ask whether answers",
            "  are right. The table has only `task_pass_rate` of its policy. The whole verdict of `maida run` is a fail as soon as one",
            "  trial fails, whatever the threshold: the benchmark asks it with 39 of 40 trials that pass.",
            "- **Highbar** with `evidence: estimate` is a plain percentage in which crashes count as failures. With `evidence:",
            f"  confident` its largest error is {_percent(largest_error(rows, CONFIDENT, 'threshold'))} %, also with several trials. The price: of agents that are 10 points above,",
            f"  {of(CONFIDENT, FAR_ABOVE, 'pass')} pass, and the rest is inconclusive.",
            "",
            "## Two versions",
            "",
            f"50 scenarios with ten trials each, 90 % of which pass in the first version ({_runs(rows, SAME, WORSE, BROKEN, CRASHES_NOW)}).",
            "The second version is unchanged, 10 points worse in all scenarios alike, fails five scenarios always, or crashes in",
            "every tenth call. For a contradiction, the second version runs again. Highbar accepts a loss of 5 points (`baseline: {",
            "margin: { pass_rate: 5% } }`); a plain percentage fails if it is lower.",
            "",
            *_table(rows, "change", CHANGE_COLUMNS),
            "",
            "- **signaltest**'s `run_suite` was built to find single cases that broke, and finds them. A loss that is spread over all",
            "  cases is too small in each. Its paired comparison of the cases' rates finds that, but passes",
            f"  {of(PAIRED, BROKEN, 'pass')} of the versions in which five cases broke. Both drop samples that crashed.",
            "- **agentrial**'s `compare` fails if the rate of one case fell by more than 10 points, which chance does too:",
            f"  {of(COMPARE, SAME, 'fail')} of unchanged versions fail. Its `snapshot check` tests each case, as `run_suite` does.",
            "- **AgentAssay** tests all trials together (Fisher's exact test), and makes no error here. If nothing changed, it",
            "  mostly estimates that its power is low, and is inconclusive.",
            "- **Highbar** asks another question, scenario by scenario: is the loss more than 5 points? Of versions 10 points worse,",
            f"  `estimate` passes {of(ESTIMATE, WORSE, 'pass')} and `confident` {of(CONFIDENT, WORSE, 'pass')}; most are inconclusive, which blocks. `confident` passes only if a",
            f"  larger loss is excluded, which 50 scenarios rarely allow: {of(CONFIDENT, SAME, 'inconclusive')} of unchanged versions are inconclusive.",
            "  For single scenarios that break it has [`new_failures`](comparing.md).",
            "- **promptfoo**, **Inspect** and **Maida** do not compare the pass rates of two runs.",
            "",
            "## A judge that is 90 % right",
            "",
            f"300 scenarios with one trial, judged by a model ({_runs(rows, WRONG_AT_RANDOM, MISSES_FAILURES)}).",
            "Two judges, both right about 90 % of the trials. The first is wrong one time in ten, whatever is true, and the true",
            "rate is 95 %; the second misses half of the failures, and the true rate is 80 %. Every gate believes the judge, unless",
            "it is given labels: people's judgments of 100 trials.",
            "",
            *_table(rows, "judge", JUDGE_COLUMNS),
            "",
            "If the judge is wrong and nobody checks, no gate can be right about the agent.",
            "[Labels](can-you-trust-the-judge.md) make the judge's errors known. Highbar then corrects the rate, with an interval",
            f"that allows for them: {of(LABELED, MISSES_FAILURES, 'pass')} of the agents that are not good enough pass.",
            "",
            "## What this does not show",
            "",
            "The agents are simulated: scenarios are independent of each other, and nothing drifts. Speed, usability, tracing and",
            "the quality of checks are not compared; most of these tools were built for more than a gate. No defaults were tuned.",
            "",
        ]
    )


if __name__ == "__main__":
    PAGE.write_text(page(stored()), "utf-8")
