"""How often does a weighted rate pass with confidence if heavy scenarios are rare? `python bench/weight_classes.py`.

It writes bench/tables/weight_classes.csv. Scenarios are drawn from a population in which a few are heavy and harder;
the agent is exactly at the threshold, so that at most 5 % of the runs may pass, and at most 5 % fail. `bound_passes` is
what the interval alone would say. The seed and the points were fixed before the first run. A minute on one core. Exits
with 1 if a rule errs in more than 6.5 %.
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
from highbar.model import Policy, ThresholdRule  # noqa: E402 - likewise
from highbar.model.comparison import Side  # noqa: E402 - likewise
from highbar.model.records import ScenarioRecord  # noqa: E402 - likewise

SEED = 55190284
RUNS = 2_000
ALPHA = 0.05
TABLE = ROOT / "bench" / "tables" / "weight_classes.csv"
COLUMNS = ("case", "scenarios", "bound_passes", "bound_fails", "passes", "fails", "inconclusive")
POINTS = (
    *((0.01, 15, 0.98, 0.30, 150), (0.01, 15, 0.98, 0.30, 300), (0.02, 10, 0.97, 0.20, 150)),
    *((0.03, 10, 0.95, 0.15, 150), (0.05, 5, 0.97, 0.20, 300), (0.10, 4, 0.95, 0.15, 150)),
)
"""Share of heavy scenarios, their weight, the rate of the others, by how much the heavy ones are harder, scenarios."""

Row = tuple[str, int, float, float, float, float, float]


def policy_of(weight: int, bar: float) -> Policy:
    """A weighted rate at the bar, with confidence, where adversarial scenarios are heavy."""
    return policies.read_dict(
        {
            "thresholds": {"blocking": {"weighted_pass_rate": f">= {bar:.12f}"}},
            "weights": {"by_category": {"adversarial": weight}},
            "evidence": "confident",
        }
    )


def drawn(policy: Policy, share: float, rate: float, harder: float, count: int, random: Random) -> ScoredRun:
    """A run of scenarios that were drawn from the population."""
    heavy = random.random(count) < share
    passed = random.random(count) < np.where(heavy, rate - harder, rate)
    records = tuple(
        ScenarioRecord(
            f"{i:04}", 1, int(ok), {"category": "adversarial" if of_them else "happy_path"}, {"error": Fraction(0)}
        )
        for i, (of_them, ok) in enumerate(zip(heavy.tolist(), passed.tolist(), strict=True))
    )
    about = Side((), is_baseline=False, agent_version=None, scenarios=count, trials=count)
    return ScoredRun(records, about, scoring_of(policy))


def rows() -> Iterator[Row]:
    """The shares of the runs that each point passes, fails and leaves open."""
    for place, (share, weight, rate, harder, count) in enumerate(POINTS):
        random = np.random.default_rng([SEED, place])
        bar = (share * weight * (rate - harder) + (1 - share) * rate) / (share * weight + 1 - share)
        policy = policy_of(weight, bar)
        (rule,) = (one for one in policy.rules if isinstance(one, ThresholdRule))
        found = [0.0] * 5
        for _ in range(RUNS):
            whole = measured(policy, drawn(policy, share, rate, harder, count, random))
            outcome = gate.judge(rule, gate.Evidence(whole, policy.metrics, {}, None, ALPHA)).outcome
            value = whole.value(rule.metric)
            low, high = value.low or 0.0, 1.0 if value.high is None else value.high
            for at, counts in enumerate(
                (low >= bar, high < bar, *(outcome == o for o in ("pass", "fail", "inconclusive")))
            ):
                found[at] += counts / RUNS
        case = f"weight {weight} on {share:.0%}, {harder:.0%} harder than {rate:.0%}"
        yield case, count, found[0], found[1], found[2], found[3], found[4]


def main() -> int:
    """Simulates, writes the table, and says whether the limit was kept."""
    found = []
    for row in rows():
        found.append(row)
        print(*row[:2], *(f"{share:.4f}" for share in row[2:]), flush=True)
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows((*row[:2], *(f"{share:.4f}" for share in row[2:])) for row in found)
    return int(max(max(row[4:6]) for row in found) > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
