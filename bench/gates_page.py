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
WITH_INTERVAL = (CI, WILSON, AGENTASSAY, MAIDA, CONFIDENT)

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


def largest_plain_error(rows: Rows) -> float:
    """The largest error of all gates with an interval, of agents 5 points off without crashes or flakiness."""
    settings = ((BELOW, "pass"), (ABOVE, "fail"))
    return max(share(rows, gate, *cell) for gate in WITH_INTERVAL for cell in settings)


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
    """How many runs a figure counts, and how far chance can move one of 50 %: two standard errors, in points."""
    (count,) = {int(row["runs"]) for row in rows if row["setting"] in settings}
    return f"{count:,} runs, ± {200 * sqrt(0.25 / count):.1f} points"


def tables(rows: Rows) -> list[str]:
    """The tables alone, of the questions that were asked."""
    asked = {row["question"] for row in rows}
    columns = {"threshold": THRESHOLD_COLUMNS, "change": CHANGE_COLUMNS, "judge": JUDGE_COLUMNS}
    return [line for name, one in columns.items() if name in asked for line in (*_table(rows, name, one), "")]


BUILT_FOR = (
    (PLAIN, "", "passes / answers ≥ 85 %, or at least that of the first version; a crash left no answer", "never"),
    (PROMPTFOO, "comparing prompts and models, and testing them", "`PROMPTFOO_PASS_RATE_THRESHOLD`; its command is asked at the border, and its rule applied to all runs", "never"),
    (CI, "evaluations; it has no gate", "pass if the interval is above the threshold, fail if below; crashed samples have no score with `fail_on_error=False` (by default the first crash ends the evaluation)", "the interval contains the threshold"),
    (AGENTRIAL, "repeated trials of a suite", "`threshold` on the rate of all trials; `compare`: a case fell by more than 10 points; `snapshot check`: Fisher's test of each case", "never"),
    (AGENTASSAY, "many trials of one scenario, 30 or more", "all trials of the suite in one verdict; Fisher's test of two versions", "warns (exit code 2)"),
    (MAIDA, "how an agent works: steps, tools, loops and cost against a baseline; not whether answers are right, nor two pass rates", "the check `task_pass_rate` alone; the verdict of `maida run` is a fail as soon as one trial fails, whatever the threshold (asked with 39 of 40)", "exit code 0"),
    (BY_CASE, "two versions, case by case", "`run_suite` with ten samples, its default; `compare_scores` of the rates of all cases; crashed samples are dropped", "exit code 0"),
    (CONFIDENT, "suites with a policy", "`pass_rate: 85%`; a loss of up to 5 points (`baseline: { margin: { pass_rate: 5% } }`); for single scenarios that break there is `new_failures`", "blocks (exit code 3)"),
)  # fmt: skip
"""By one gate of each tool: what the tool is for, how it is asked, and what it does if it is inconclusive."""


def _built_for(rows: Rows) -> Iterable[Sequence[str]]:
    versions = {row["gate"]: row["version"] for row in rows}
    for gate, *words in BUILT_FOR:
        name = gate.partition(",")[0]
        yield name if gate == PLAIN else f"{name} {versions[gate]}", *words


def page(rows: Rows) -> str:
    """The whole page."""

    def of(gate: str, setting: str, name: str) -> str:
        return f"{_percent(share(rows, gate, setting, name))} %"

    return "\n".join(
        [
            "# Gates compared",
            "",
            "How often does a gate pass an agent that is not good enough, fail one that is, or contradict itself on a re-run?",
            "`python -m bench.gates` asks gates about the same simulated agents, whose true pass rates are known. Each is called",
            "through its own interface with its own defaults; the figures are in [gates.csv](gates.csv).",
            "",
            *table(("gate", "built for", "asked here", "inconclusive"), _built_for(rows)),
            "",
            "Figures are percent of runs, ± two standard errors. **Contradiction**: the same agent runs twice on the same scenarios;",
            "one run passes, the other fails. **Inconclusive** is no error.",
            "",
            "## A threshold of 85 %",
            "",
            f"100 scenarios with one trial ({_runs(rows, BELOW, AT, ABOVE, FAR_ABOVE, CRASHES)}). **10 % crash**: every tenth call",
            "raises an exception, and 90 % of the others pass: 81 % of all. **Flaky**: 20 scenarios with five trials; most nearly",
            "always pass, some nearly always fail (correlation 0.6)",
            f"({_runs(rows, FLAKY_BELOW, FLAKY_AT, FLAKY_ABOVE)}).",
            "",
            *_table(rows, "threshold", THRESHOLD_COLUMNS),
            "",
            f"- Gates that compare the **measured rate** pass {of(PLAIN, BELOW, 'pass')} of agents 5 points below, and contradict themselves in",
            f"  {of(PLAIN, AT, 'contradiction')} of re-runs at the threshold. Those with an **interval** err in at most {_percent(largest_plain_error(rows))} %, if nothing crashes or is flaky.",
            f"- A plain percentage drops **crashes**, and passes {of(PLAIN, CRASHES, 'pass')}. So does Inspect: `ci()` passes {of(CI, CRASHES, 'pass')}.",
            "- **Flaky**: AgentAssay and Maida treat trials of one scenario as independent, and err in up to",
            f"  {_percent(max(largest_error(rows, AGENTASSAY, 'threshold'), largest_error(rows, MAIDA, 'threshold')))} %.",
            f"- **Highbar** with `evidence: confident` errs in at most {_percent(largest_error(rows, CONFIDENT, 'threshold'))} %. The price: of agents 10 points above, {of(CONFIDENT, FAR_ABOVE, 'pass')} pass,",
            "  and the rest is inconclusive.",
            "",
            "## Two versions",
            "",
            "50 scenarios with ten trials each, 90 % of which pass in the first version",
            f"({_runs(rows, SAME, WORSE, BROKEN, CRASHES_NOW)}). The second version is unchanged, 10 points worse",
            "in all scenarios alike, fails five scenarios always, or crashes in every tenth call. For a contradiction, it runs again.",
            "",
            *_table(rows, "change", CHANGE_COLUMNS),
            "",
            "- Tests of **each case** (`run_suite`, `snapshot check`) find cases that broke, but no loss that is spread over all.",
            f"  signaltest's **paired** test finds that, but passes {of(PAIRED, BROKEN, 'pass')} of versions with five broken cases.",
            "- **AgentAssay** makes no error here. If nothing changed, it is mostly inconclusive, and so is **Highbar** with `confident`:",
            f"  50 scenarios rarely exclude a loss of 5 points. Highbar passes at most {_percent(largest_error(rows, ESTIMATE, 'change'))} % (`estimate`) and {_percent(largest_error(rows, CONFIDENT, 'change'))} % (`confident`) of",
            "  versions that got worse.",
            "",
            "## A judge that is 90 % right",
            "",
            f"300 scenarios with one trial ({_runs(rows, WRONG_AT_RANDOM, MISSES_FAILURES)}).",
            "The first judge is wrong one time in ten, and the true rate is 95 %. The second misses half of the failures, and the",
            "true rate is 80 %. Every gate believes them, unless it is given people's labels of 100 trials.",
            "",
            *_table(rows, "judge", JUDGE_COLUMNS),
            "",
            "Unless somebody checks the second judge, every gate passes most of its agents. With",
            f"[labels](can-you-trust-the-judge.md) Highbar corrects the rate: {of(LABELED, MISSES_FAILURES, 'pass')} pass, {of(LABELED, MISSES_FAILURES, 'inconclusive')} are inconclusive.",
            "",
            "## What this does not show",
            "",
            "Simulated scenarios are independent of each other, and nothing drifts. Most of these tools were built for more than gates.",
            "",
        ]
    )


if __name__ == "__main__":
    PAGE.write_text(page(stored()), "utf-8")
