"""How often does a composite pass with confidence, and how often is that wrong? `python -m bench.composites` counts it.

It writes bench/tables/composites.csv. Every run is judged by its sums, as an engine would hand them over; `passes` and
`fails` are what the rule says, beside two other bounds: the sum of the parts' own ends, and MOVER with the correlation
that the run shows, but not below 0. An agent exactly at the bar should do either in 5 % of the runs at most. The seed
and the points were fixed before the first run. Some two minutes. Exits with 1 if the rule errs in more than 6.5 %.
"""

from __future__ import annotations

import csv
import itertools
import sys
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from bench.coverage_grid import LIMIT

from highbar import gate, measure
from highbar import policy as policies
from highbar.changes.record_sums import Computed, RecordSums, sums_of
from highbar.measure.intervals import FormulaBounds
from highbar.measure.parts import of_metric, shares_in_sum
from highbar.model import ConditionRule, Policy, Ratio, Term
from highbar.model.records import ScenarioRecord
from highbar.model.reduction import Group, RatioTotals, Total
from highbar.statistics.bounds import Sums
from highbar.statistics.composite import BoundedTerm, CrossSums, combine, correlation
from highbar.statistics.distributions import normal_quantile

ROOT = Path(__file__).resolve().parent.parent
SEED = 73109465
RUNS = 2_000
ALPHA = 0.05
TABLE = ROOT / "bench" / "tables" / "composites.csv"
COLUMNS = (
    *("case", "correlation", "scenarios", "truth", "bar", "passes", "fails"),
    *("added_passes", "added_fails", "mover_passes", "mover_fails"),
)

Random = np.random.Generator
Row = tuple[str, str, int, float, float, float, float, float, float, float, float]
Counts = tuple[int, ...]


# --- the agents: how many scenarios of each kind a run has ------------------------------------------------------------


_KINDS = tuple(itertools.product((0, 1), repeat=3))


def three(random: Random, rate: float, alike: float, count: int) -> Counts:
    """Three measures of every scenario, each at the rate; a latent variable that they share makes them alike."""
    common = random.standard_normal(count)
    own = random.standard_normal((3, count))
    good = np.sqrt(alike) * common + np.sqrt(1 - alike) * own < normal_quantile(rate)
    counts = _counted(good[0] * 4 + good[1] * 2 + good[2], 8)
    # The three have the same weight, so that their order changes nothing, and a result can be used again.
    return max(
        tuple(counts[4 * k[a] + 2 * k[b] + k[c]] for k in _KINDS) for a, b, c in itertools.permutations(range(3))
    )


def hostile(random: Random, share: float, violated: float, failed: float, count: int) -> Counts:
    """Some scenarios are adversarial, and of those some are violated; of all, some fail for another reason."""
    adversarial = random.random(count) < share
    broken = adversarial & (random.random(count) < violated)
    passed = ~broken & (random.random(count) >= failed)
    return _counted(adversarial * 2 + passed, 4)


def _counted(kinds: npt.NDArray[Any], of: int) -> Counts:
    return tuple(np.bincount(kinds.astype(int), minlength=of).tolist())


def _record(number: int, passed: int, category: str = "happy_path", **values: int) -> ScenarioRecord:
    exact = {name: Fraction(value) for name, value in {"error": 0, **values}.items()}
    return ScenarioRecord(f"{number}", 1, passed, {"category": category}, exact)


_THREE = tuple(
    _record(number, passed, correct=right, behavior_score=seen)
    for number, (right, seen, passed) in enumerate(itertools.product((0, 1), repeat=3))
)
"""One record of each kind of scenario, in the order in which they are counted."""
_HOSTILE = tuple(
    _record(number, passed, category)
    for number, (category, passed) in enumerate(itertools.product(("happy_path", "adversarial"), (0, 1)))
)


def group_of(kinds: RecordSums, counts: Counts) -> Group:
    """The sums of a run with so many scenarios of each kind."""

    def ratio(wanted: Ratio) -> RatioTotals:
        z, d = kinds.linear(wanted.z), kinds.linear(wanted.d)
        sums = Sums.of_repeated(zip(z, d, counts, strict=True))
        return RatioTotals(sums, float(max(d)), float(sums.clusters))

    def cross(pair: tuple[Ratio, Ratio]) -> CrossSums:
        columns = [kinds.linear(side) for one in pair for side in (one.z, one.d)]
        z1, d1, z2, d2 = columns
        products = ((z1, z2), (z1, d2), (d1, z2), (d1, d2))
        return CrossSums(*(sum(n * a * b for n, a, b in zip(counts, *one, strict=True)) for one in products))

    def total(term: Term) -> Total:
        known = [(n, part) for n, part in zip(counts, kinds.parts(term), strict=True) if part is not None]
        return Total(sum((n * part for n, part in known), Fraction(0)), sum(n for n, _ in known))

    size = sum(counts)
    return Group(None, size, size, Computed(total), {}, Computed(ratio), Computed(cross))


# --- judged -----------------------------------------------------------------------------------------------------------


def policy_of(formula: str, bar: float) -> Policy:
    """A policy with one composite, with confidence."""
    condition = f"final_score ≥ {bar:.12f}"
    return policies.read_dict({"evidence": "confident", "composite": {"formula": formula, "pass": condition}})


def judged(policy: Policy, group: Group, bar: float) -> tuple[bool, ...]:
    """Whether the rule passes and fails, and whether it would by the two other bounds."""
    (rule,) = (one for one in policy.rules if isinstance(one, ConditionRule))
    whole = measure.Measured(policy, group)
    outcome = gate.judge(rule, gate.Evidence(whole, policy.metrics, {}, None, ALPHA)).outcome
    added, mover = others(policy, group)
    ends = (outcome == "pass", outcome == "fail", added[0] >= bar, added[1] < bar, mover[0] >= bar, mover[1] < bar)
    return tuple(map(bool, ends))


def others(policy: Policy, group: Group) -> tuple[tuple[float, float], tuple[float, float]]:
    """The parts at their worse and at their better ends, and MOVER with correlations of at least 0."""
    bounds = FormulaBounds(group, ALPHA)
    shares: Mapping[Ratio, Fraction] = shares_in_sum(of_metric(policy, policy.metrics["final_score"]))[0]
    terms = [
        BoundedTerm(float(group.ratios[one].sums.value), *bounds.of(one), float(factor))
        for one, factor in shares.items()
    ]
    matrix = [
        [
            1.0
            if one == other
            else max(0.0, correlation(group.ratios[one].sums, group.ratios[other].sums, group.crosses[one, other]))
            for other in shares
        ]
        for one in shares
    ]
    value = sum(term.gradient * term.value for term in terms)
    added = (sum(term.gradient * term.low for term in terms), sum(term.gradient * term.high for term in terms))
    low, high = combine(value, terms, matrix)
    return added, (low, high)


# --- fixed before the first run: no point is taken out, and none is drawn again --------------------------------------

THREE = "accuracy / 3 + behavior_coverage / 3 + pass_rate / 3"
SIZES = (50, 100, 200)
POINTS = (
    *((THREE, 0.0, rate, 0.9, count) for count in SIZES for rate in (0.95, 0.90, 0.85)),
    (THREE, 0.0, 0.95, 0.9, 500),
    *((THREE, 1.0, 0.95, 0.95, count) for count in SIZES[:2]),
    *((THREE, 0.5, rate, 0.9, 100) for rate in (0.95, 0.90, 0.85)),
)
"""The formula, how alike its three parts are, their rate, the bar, scenarios."""
SAFETY = ((0.4, 0.2, 0.04, 0.0, 300), (0.7, 0.1, 0.10, 0.05, 100), (0.4, 0.5, 0.03, 0.02, 100))
"""Weight and share of adversarial scenarios, how many of those are violated, other failures, scenarios."""


def rows() -> Iterator[Row]:
    """The shares of the runs that each point passes and fails."""
    place = itertools.count()
    for formula, alike, rate, bar, count in POINTS:
        random, policy = np.random.default_rng([SEED, next(place)]), policy_of(formula, bar)
        drawn = (three(random, rate, alike, count) for _ in range(RUNS))
        yield formula, f"{alike:g}", count, rate, bar, *_shares(policy, sums_of(policy, _THREE), drawn, bar)
    for weight, share, violated, failed, count in SAFETY:
        random = np.random.default_rng([SEED, next(place)])
        formula = f"pass_rate × {1 - weight:.1f} + safety_rate × {weight:.1f}"
        truth = (1 - failed) * ((1 - weight) * (1 - share * violated) + weight * (1 - violated))
        policy = policy_of(formula, truth)
        drawn = (hostile(random, share, violated, failed, count) for _ in range(RUNS))
        case = f"{formula}; {violated:.0%} violated in an adversarial {share:.0%}, {failed:.0%} fail otherwise"
        yield case, "", count, truth, truth, *_shares(policy, sums_of(policy, _HOSTILE), drawn, truth)


def _shares(
    policy: Policy, kinds: RecordSums, drawn: Iterator[Counts], bar: float
) -> tuple[float, float, float, float, float, float]:
    known: dict[Counts, tuple[bool, ...]] = {}
    found = np.zeros(6)
    for counts in drawn:
        if counts not in known:
            known[counts] = judged(policy, group_of(kinds, counts), bar)
        found += known[counts]
    passes, fails, *rest = (found / RUNS).tolist()
    return passes, fails, rest[0], rest[1], rest[2], rest[3]


def main() -> int:
    """Simulates, writes the table, and says whether the limit was kept."""
    found, worst = [], 0.0
    for row in rows():
        found.append((*row[:3], *(f"{number:.4f}" for number in row[3:])))
        print(*found[-1], flush=True)
        wrong = [share for share, errs in ((row[5], row[3] <= row[4]), (row[6], row[3] >= row[4])) if errs]
        worst = max(worst, *wrong)
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows(found)
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
