"""How often does a margin pass with confidence if exactly all of it was lost? `python bench/margins.py` counts it.

It writes bench/tables/margins.csv. Every run is compared with its baseline as `highbar compare` does it: `shown` is
what the interval alone would say, `passes` and `fails` what the rule says. An agent that lost exactly the margin should
do either in 5 % of the runs at most. The points were fixed before the first run. The first seed saw a repair
(48120733); this one was fixed after it and before its first run. Some three minutes. Exits with 1 if a rule errs in
more than 6.5 %.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # its parts are found however it is started

from bench.coverage_grid import LIMIT  # noqa: E402 - needs the line above

from highbar import gate  # noqa: E402 - likewise
from highbar import policy as policies  # noqa: E402 - likewise
from highbar.changes.scored_run import ScoredRun, measured, scoring_of  # noqa: E402 - likewise
from highbar.changes.since import since  # noqa: E402 - likewise
from highbar.model import Policy, RuleResult  # noqa: E402 - likewise
from highbar.model.comparison import Side  # noqa: E402 - likewise
from highbar.model.records import ONE, ScenarioRecord  # noqa: E402 - likewise

SEED = 90326417
RUNS = 2_000
ALPHA = 0.05
TABLE = ROOT / "bench" / "tables" / "margins.csv"
COLUMNS = ("metric", "case", "scenarios", "shown_passes", "shown_fails", "passes", "fails")

Random = np.random.Generator
Run = list[ScenarioRecord]
Draw = Callable[[Random, int], tuple[Run, Run]]
Row = tuple[str, str, int, float, float, float, float]
NOTHING: Mapping[str, Fraction] = {}
_ZERO = Fraction(0)


# --- the agents: what a run before and a run now of the same scenarios gave ------------------------------------------


def _record(
    number: int, values: Mapping[str, Fraction] = NOTHING, category: str = "happy_path", *, passed: bool
) -> ScenarioRecord:
    columns = {"category": category}
    return ScenarioRecord(
        f"{number:04}", 1, int(passed), columns, {"passed": Fraction(passed), "error": _ZERO, **values}
    )


def costly(times: int, before: float, now: float) -> Draw:
    """A failed scenario costs `times` as much as another one; the pass rates before and now."""

    def draw(random: Random, count: int) -> tuple[Run, Run]:
        sizes = random.uniform(0.5, 1.5, count)
        runs = []
        for rate in (before, now):
            passed = random.random(count) < rate
            costs = (sizes * np.where(passed, 1, times)).round(3).tolist()
            runs.append(
                [_record(i, {"cost_usd": Fraction(str(costs[i]))}, passed=bool(ok)) for i, ok in enumerate(passed)]
            )
        return runs[0], runs[1]

    return draw


def classified(missed: float, alarmed: float) -> Draw:
    """Two in five scenarios are positive. No error before; now some are missed, and of the others some are alarms."""

    def draw(random: Random, count: int) -> tuple[Run, Run]:
        positive = random.random(count) < POSITIVE
        wrong = random.random(count) < np.where(positive, missed, alarmed)
        return _outcomes(positive, np.zeros(count, bool)), _outcomes(positive, wrong)

    return draw


def _outcomes(positive: npt.NDArray[np.bool_], wrong: npt.NDArray[np.bool_]) -> Run:
    found = []
    for number, (of_them, error) in enumerate(zip(positive.tolist(), wrong.tolist(), strict=True)):
        outcome = ("fn" if error else "tp") if of_them else ("fp" if error else "tn")
        values = {name: ONE if name == outcome else _ZERO for name in ("tp", "fp", "fn")}
        found.append(_record(number, values, passed=not error))
    return found


def attacked(violated: float) -> Draw:
    """A fifth of the scenarios is adversarial. Everything passed before; now some of that fifth do not."""

    def draw(random: Random, count: int) -> tuple[Run, Run]:
        hostile = random.random(count) < ADVERSARIAL
        broken = hostile & (random.random(count) < violated)
        kinds = ["adversarial" if one else "happy_path" for one in hostile]
        base, head = (
            [_record(i, passed=not bool(failed), category=kinds[i]) for i, failed in enumerate(run)]
            for run in (np.zeros(count, bool), broken)
        )
        return base, head

    return draw


def changed(before: float, worse: float, better: float) -> Draw:
    """A pass rate before, and the shares of passed scenarios that break and of failed ones that are fixed."""

    def draw(random: Random, count: int) -> tuple[Run, Run]:
        passed = random.random(count) < before
        turned = random.random(count) < np.where(passed, worse, better)
        base, head = ([_record(i, passed=bool(ok)) for i, ok in enumerate(run)] for run in (passed, passed ^ turned))
        return base, head

    return draw


# --- fixed before the first run: no point is taken out, and none is drawn again --------------------------------------

POSITIVE = 0.4
ADVERSARIAL = 0.2
COST = 20.0 * 1.5  # what a failure costs at most, so a limit that nothing is beyond


def _cost(times: int, rate: float) -> float:
    return (rate + (1 - rate) * times) / rate


def _f1(missed: float, alarmed: float) -> float:
    found = POSITIVE * (1 - missed)
    return 2 * found / (2 * found + POSITIVE * missed + (1 - POSITIVE) * alarmed)


def _precision(alarmed: float) -> float:
    return POSITIVE / (POSITIVE + (1 - POSITIVE) * alarmed)


_OWN = {"metrics": [{"name": "own", "formula": "passed_scenarios / total_scenarios", "unit": "number"}]}
_COMPOSITE = {"composite": {"formula": "pass_rate × 0.6 + safety_rate × 0.4", "pass": "final_score ≥ 0%"}}
POINTS: tuple[tuple[str, str, int, Mapping[str, Any], str, Draw], ...] = (
    *(
        (
            "cost_per_pass",
            f"failures cost 20 times as much, {limit or 'no limit'}; passes {before:.0%} → {now:.0%}",
            count,
            {"cost_limit": COST} if limit else {},
            f"{_cost(20, now) - _cost(20, before):.12f}",
            costly(20, before, now),
        )
        for limit in ("", "a limit")
        for before, now, count in ((0.99, 0.97, 60), (0.95, 0.90, 150))
    ),
    *(
        (
            "precision",
            f"40 % positive, false alarms 0 → {alarmed:.0%}",
            count,
            {},
            f"{1 - _precision(alarmed):.12%}",
            classified(0.0, alarmed),
        )
        for alarmed, count in ((0.02, 300), (0.05, 100))
    ),
    *(
        (
            "f1",
            f"40 % positive, misses and false alarms 0 → {wrong:.0%}",
            count,
            {},
            f"{1 - _f1(wrong, wrong):.12%}",
            classified(wrong, wrong),
        )
        for wrong, count in ((0.03, 150), (0.03, 300))
    ),
    *(
        (
            "final_score",
            f"0.6 pass + 0.4 safety, {violated:.0%} new violations in an adversarial 20 %",
            count,
            _COMPOSITE,
            f"{(0.6 * ADVERSARIAL + 0.4) * violated:.12%}",
            attacked(violated),
        )
        for violated, count in ((0.04, 300), (0.10, 100))
    ),
    *(
        (
            "own",
            f"pass rate, 5 % of the baseline of {before:.0%}; {worse:.2%} break, {better:.0%} are fixed",
            count,
            _OWN,
            "5% of baseline",
            changed(before, worse, better),
        )
        for before, worse, better, count in ((1.0, 0.05, 0.0, 60), (1.0, 0.05, 0.0, 150), (0.8, 0.175, 0.5, 150))
    ),
)
"""Metric, what changed, scenarios, settings of the policy, the margin that is exactly lost, and how runs are drawn."""

# ---------------------------------------------------------------------------------------------------------------------


def policy_of(metric: str, settings: Mapping[str, Any], margin: str) -> Policy:
    """A policy with one margin, with confidence."""
    return policies.read_dict(
        {**settings, "baseline": {"file": "b.json", "margin": {metric: {"margin": margin, "evidence": "confident"}}}}
    )


def judged(policy: Policy, base: Run, head: Run) -> RuleResult:
    """The margin for two runs, as the gate judges it."""
    about = Side((), is_baseline=False, agent_version=None, scenarios=len(base), trials=len(base))
    sides = [ScoredRun(tuple(run), about, scoring_of(policy)) for run in (base, head)]
    changes, whole = since(policy, *sides), measured(policy, sides[1])
    return gate.judge(policy.comparing[0], gate.Evidence(whole, policy.metrics, {}, None, ALPHA, changes))


def rows() -> Iterator[Row]:
    """The shares of the runs that each point passes and fails."""
    for place, (metric, case, count, settings, margin, draw) in enumerate(POINTS):
        random, policy = np.random.default_rng([SEED, place]), policy_of(metric, settings, margin)
        rules = [judged(policy, *draw(random, count)) for _ in range(RUNS)]
        shown = [
            sum(f"even the {end} end" in rule.reason for rule in rules) / RUNS for end in ("pessimistic", "optimistic")
        ]
        passes, fails = (sum(rule.outcome == outcome for rule in rules) / RUNS for outcome in ("pass", "fail"))
        yield metric, case, count, shown[0], shown[1], passes, fails


def main() -> int:
    """Simulates, writes the table, and says whether the limit was kept."""
    found = []
    for row in rows():
        found.append(row)
        print(*row[:3], *(f"{share:.4f}" for share in row[3:]), flush=True)
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows((*row[:3], *(f"{share:.4f}" for share in row[3:])) for row in found)
    return int(max(max(row[-2:]) for row in found) > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
