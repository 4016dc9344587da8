"""A harness that tries until the first pass and records every attempt as a trial. `python -m bench.tried_again`.

It writes bench/tables/tried_again.csv. `all_passes` is what all trials would say, `passes` and `fails` what the rule
says: the worse of all trials and of first trials alone. An agent that is exactly at the bar may do either in 5 % of the
runs at most. The seed and the points were fixed before the first run. Some minutes. Exits with 1 if such an agent does
so in more than 6.5 %.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # its parts are found however it is started

from bench.coverage_grid import LIMIT, Random  # noqa: E402 - needs the line above

from highbar import gate  # noqa: E402 - likewise
from highbar import policy as policies  # noqa: E402 - likewise
from highbar.changes.scored_run import ScoredRun, measured, scoring_of  # noqa: E402 - likewise
from highbar.model import Policy, RuleResult  # noqa: E402 - likewise
from highbar.model.comparison import Side  # noqa: E402 - likewise
from highbar.model.records import ScenarioRecord  # noqa: E402 - likewise

SEED = 61840273
RUNS = 2_000
ALPHA = 0.05
MOST = 6
"""Attempts after which the harness gives up."""
TABLE = ROOT / "bench" / "tables" / "tried_again.csv"
COLUMNS = ("rate", "bar", "scenarios", "all_passes", "passes", "fails")
POINTS = ((0.7, 0.7, 60), (0.85, 0.85, 120), (0.9, 0.9, 200), (0.85, 0.7, 60), (0.95, 0.85, 120))
"""The true rate of first attempts, the bar, and the scenarios; the last two agents are good."""


def judged(policy: Policy, attempts: list[int], passed: list[bool]) -> RuleResult:
    """What the rule says of scenarios with so many attempts, of which the last one passed or not."""
    records = tuple(
        ScenarioRecord(f"{i}", trials, int(ok), {}, {"error": Fraction(0)})
        for i, (trials, ok) in enumerate(zip(attempts, passed, strict=True))
    )
    about = Side((), is_baseline=False, agent_version=None, scenarios=len(records), trials=sum(attempts))
    whole = measured(policy, ScoredRun(records, about, scoring_of(policy)))
    return gate.judge(policy.rules[0], gate.Evidence(whole, policy.metrics, {}, None, ALPHA))


def drawn(rate: float, scenarios: int, random: Random) -> tuple[list[int], list[bool]]:
    """How many attempts each scenario took, and whether the last one passed."""
    needed = random.geometric(rate, scenarios)
    return np.minimum(needed, MOST).tolist(), (needed <= MOST).tolist()


def rows() -> Iterator[tuple[float, ...]]:
    """What each point passes and fails."""
    for place, (rate, bar, scenarios) in enumerate(POINTS):
        random = np.random.default_rng([SEED, place])
        policy = policies.read_dict({"thresholds": {"pass_rate": f">= {bar}"}, "evidence": "confident"})
        found = np.zeros(3)
        for _ in range(RUNS):
            attempts, passed = drawn(rate, scenarios, random)
            every = judged(policy, attempts, passed)
            first = judged(policy, [1] * scenarios, [number == 1 for number in attempts])
            rule = gate.worse_of(every, first)
            found += [every.outcome == "pass", rule.outcome == "pass", rule.outcome == "fail"]
        yield rate, bar, scenarios, *(found / RUNS).tolist()


def main() -> int:
    """Simulates, writes the table, and says whether the limit was kept."""
    found = []
    for row in rows():
        found.append(row)
        print(*row, flush=True)
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows((*row[:3], *(f"{share:.4f}" for share in row[3:])) for row in found)
    return int(max(max(row[4:]) for row in found if row[0] == row[1]) > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
