"""How often does a margin pass with confidence if exactly all of it was lost? `python bench/margins.py` counts it.

It writes bench/tables/margins.csv. Every run is compared with its baseline as `highbar compare` does it: `shown` is
what the interval alone would say, `passes` and `fails` what the rule says. An agent that lost exactly the margin should
do either in 5 % of the runs at most. The points were fixed before the first run. Earlier seeds saw repairs (48120733,
90326417); this one was fixed after them and before its first run. Some eight minutes. Exits with 1 if a rule errs in
more than 6.5 %. With words (`python -m bench.margins f1`) only points with one of them are simulated anew.
"""

from __future__ import annotations

import csv
import math
import sys
from collections import Counter
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

SEED = 61750283
SEED_OF_COMPOSITES = 20859347  # fixed after the other one had seen a repair of theirs
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


def worded(times: float, before: float, now: float) -> Draw:
    """Tokens are log-normal; a failed scenario has no quality and takes `times` as many. The rates of failures."""

    def draw(random: Random, count: int) -> tuple[Run, Run]:
        runs = []
        for rate in (before, now):
            failed = random.random(count) < rate
            tokens = np.exp(0.5 * random.standard_normal(count)) * np.where(failed, times, 1)
            used = np.minimum(1000 * tokens, TOKENS).round().astype(int).tolist()
            runs.append(
                [
                    _record(
                        i,
                        {"quality_both": Fraction(not bad), "tokens_both": Fraction(used[i])}
                        | {"quality_score": Fraction(not bad), "tokens_used": Fraction(used[i])},
                        passed=not bad,
                    )
                    for i, bad in enumerate(failed.tolist())
                ]
            )
        return runs[0], runs[1]

    return draw


def classified(missed: float, alarmed: float, before: float = 0.0, share: float = 0.4) -> Draw:
    """A share of scenarios is positive. Errors before, misses and alarms alike; now misses, and false alarms."""

    def draw(random: Random, count: int) -> tuple[Run, Run]:
        positive = random.random(count) < share
        runs = (
            _outcomes(positive, random.random(count) < np.where(positive, *rates))
            for rates in ((before, before), (missed, alarmed))
        )
        base, head = runs
        return base, head

    return draw


def _outcomes(positive: npt.NDArray[np.bool_], wrong: npt.NDArray[np.bool_]) -> Run:
    found = []
    for number, (of_them, error) in enumerate(zip(positive.tolist(), wrong.tolist(), strict=True)):
        outcome = ("fn" if error else "tp") if of_them else ("fp" if error else "tn")
        values = {name: ONE if name == outcome else _ZERO for name in ("tp", "fp", "fn")}
        found.append(_record(number, values, passed=not error))
    return found


def attacked(violated: float, share: float = 0.2) -> Draw:
    """Some scenarios are adversarial. Everything passed before; now some of those do not."""

    def draw(random: Random, count: int) -> tuple[Run, Run]:
        hostile = random.random(count) < share
        broken = hostile & (random.random(count) < violated)
        kinds = ["adversarial" if one else "happy_path" for one in hostile]
        base, head = (
            [_record(i, passed=not bool(failed), category=kinds[i]) for i, failed in enumerate(run)]
            for run in (np.zeros(count, bool), broken)
        )
        return base, head

    return draw


def measured_thrice(before: float, alone: float, together: float) -> Draw:
    """Three measures of every scenario, each at a rate before; now each breaks alone in some, and all in others."""

    def draw(random: Random, count: int) -> tuple[Run, Run]:
        first = random.random((3, count)) < before
        second = first & (random.random((3, count)) >= alone) & (random.random(count) >= together)
        base, head = (
            [
                _record(
                    i, {"correct": Fraction(bool(right)), "behavior_score": Fraction(bool(seen))}, passed=bool(passed)
                )
                for i, (right, seen, passed) in enumerate(run.T.tolist())
            ]
            for run in (first, second)
        )
        return base, head

    return draw


def rated(worst: float) -> Draw:
    """Every scenario has ten stars of ten before; now some have none."""

    def draw(random: Random, count: int) -> tuple[Run, Run]:
        bad = (np.zeros(count, bool), random.random(count) < worst)
        base, head = (
            [_record(i, {"extra:stars": Fraction(0 if none else 10)}, passed=True) for i, none in enumerate(run)]
            for run in bad
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
TOKENS = 20_000


def _cost(times: int, rate: float) -> float:
    return (rate + (1 - rate) * times) / rate


def _efficiency(times: float, failed: float) -> float:
    """Quality over tokens in the long run; the limit cuts the longest answers."""
    plain, long = (_cut_mean(1000 * factor) for factor in (1, times))
    return (1 - failed) / ((1 - failed) * plain + failed * long)


def _cut_mean(middle: float) -> float:
    """The mean of the smaller of the limit and of a log-normal number with this median and a spread of 0.5."""
    high = math.log(TOKENS / middle) / 0.5
    below, above = (0.5 * math.erfc(-at / math.sqrt(2)) for at in (high - 0.5, -high))
    return middle * math.exp(0.125) * below + TOKENS * above


def _f1(missed: float, alarmed: float, share: float = POSITIVE) -> float:
    found = share * (1 - missed)
    return 2 * found / (2 * found + share * missed + (1 - share) * alarmed)


def _precision(missed: float, alarmed: float, share: float = POSITIVE) -> float:
    found = share * (1 - missed)
    return found / (found + (1 - share) * alarmed)


def _product(missed: float, alarmed: float) -> float:
    return (1 - missed) * (1 - POSITIVE * missed - (1 - POSITIVE) * alarmed)


_SHARE = {"metrics": [{"name": "own", "formula": "passed_scenarios / total_scenarios", "unit": "number"}]}
_PRODUCT = {"metrics": [{"name": "own", "formula": "recall × pass_rate"}]}
_STARS = {"metrics": [{"name": "own", "formula": "mean(stars)", "range": "0-10"}]}


def _composite(formula: str) -> Mapping[str, Any]:
    return {"composite": {"formula": formula, "pass": "final_score ≥ 0%"}}


_THREE = "accuracy × 0.3 + pass_rate × 0.4 + behavior_coverage × 0.3"
_MIXED = "pass_rate × 0.5 + precision × 0.5"
Point = tuple[str, str, int, Mapping[str, Any], str, Draw]


def _costs() -> Iterator[Point]:
    for limit in ("", "a limit"):
        for before, now, count in ((0.99, 0.97, 60), (0.95, 0.90, 150)):
            yield _cost_point(20, before, now, count, COST if limit else 0)
    for times, before, now, count, most in ((20, 1.0, 0.97, 100, COST), (5, 0.9, 0.8, 100, 100.0)):
        yield _cost_point(times, before, now, count, most)
    grown = _cost(20, 0.9) / _cost(20, 0.95) - 1
    _, case, *_, draw = _cost_point(20, 0.95, 0.9, 100, COST)
    yield "cost_per_pass", f"{case}; as a share", 100, {"cost_limit": COST}, f"{grown:.12%} of baseline", draw
    for factor, before, now, count in ((1.0, 0.0, 0.05, 100), (5.0, 0.0, 0.03, 100)):
        lost = _efficiency(factor, before) - _efficiency(factor, now)
        case = f"failures take {factor:g} times the tokens, a limit; fails {before:.0%} → {now:.0%}"
        limits = {"tokens_limit": TOKENS}
        yield "token_efficiency", case, count, limits, f"{lost:.15f}", worded(factor, before, now)


def _cost_point(times: int, before: float, now: float, count: int, most: float) -> Point:
    limit = f"a limit of {most:g}" if most else "no limit"
    case = f"failures cost {times} times as much, {limit}; passes {before:.0%} → {now:.0%}"
    margin = f"{_cost(times, now) - _cost(times, before):.12f}"
    return "cost_per_pass", case, count, {"cost_limit": most} if most else {}, margin, costly(times, before, now)


def _answers() -> Iterator[Point]:
    for before, alarmed, share, count in (
        *((0.0, 0.02, 0.4, 300), (0.0, 0.05, 0.4, 100), (0.02, 0.06, 0.4, 200), (0.05, 0.15, 0.2, 100)),
    ):
        lost = _precision(before, before, share) - _precision(before, alarmed, share)
        case = f"{share:.0%} positive, false alarms {before:.0%} → {alarmed:.0%}"
        yield "precision", case, count, {}, f"{lost:.12%}", classified(before, alarmed, before, share)
    for before, missed, alarmed, share, count in (
        *((0.0, 0.03, 0.03, 0.4, 150), (0.0, 0.03, 0.03, 0.4, 300), (0.0, 0.05, 0.0, 0.4, 150)),
        (0.02, 0.06, 0.06, 0.4, 200),
    ):
        lost = _f1(before, before, share) - _f1(missed, alarmed, share)
        case = f"{share:.0%} positive, misses {before:.0%} → {missed:.0%}, false alarms {before:.0%} → {alarmed:.0%}"
        yield "f1", case, count, {}, f"{lost:.12%}", classified(missed, alarmed, before, share)


def _composites() -> Iterator[Point]:
    for weight, violated, share, count in (
        *((0.4, 0.04, 0.2, 300), (0.4, 0.10, 0.2, 100), (0.7, 0.05, 0.2, 200), (0.2, 0.15, 0.1, 60)),
    ):
        formula = f"pass_rate × {1 - weight:.1f} + safety_rate × {weight:.1f}"
        case = f"{formula}, {violated:.0%} new violations in an adversarial {share:.0%}"
        lost = ((1 - weight) * share + weight) * violated
        yield "final_score", case, count, _composite(formula), f"{lost:.12%}", attacked(violated, share)
    for before, alone, together, count in (*((1.0, 0.0, 0.03, 150), (1.0, 0.03, 0.0, 100), (0.9, 0.05, 0.0, 100)),):
        lost = before * (1 - (1 - alone) * (1 - together))
        case = f"three measures at {before:.0%}, {alone:.0%} break alone and {together:.0%} together"
        draw = measured_thrice(before, alone, together)
        yield "final_score", case, count, _composite(_THREE), f"{lost:.12%}", draw
    lost = 1 - (0.5 * (1 - 0.03) + 0.5 * _precision(0.03, 0.03))
    case = f"{_MIXED}, misses and false alarms 0% → 3%"
    yield "final_score", case, 150, _composite(_MIXED), f"{lost:.12%}", classified(0.03, 0.03)


def _own() -> Iterator[Point]:
    for before, worse, better, count in ((1.0, 0.05, 0.0, 60), (1.0, 0.05, 0.0, 150), (0.8, 0.175, 0.5, 150)):
        case = f"pass rate, 5 % of the baseline of {before:.0%}; {worse:.2%} break, {better:.0%} are fixed"
        yield "own", case, count, _SHARE, "5% of baseline", changed(before, worse, better)
    case = "recall × pass_rate, misses and false alarms 0% → 5%"
    yield "own", case, 100, _PRODUCT, f"{1 - _product(0.05, 0.05):.12f}", classified(0.05, 0.05)
    yield "own", "mean of 0 to 10 stars, none instead of ten in 5%", 60, _STARS, "0.5", rated(0.05)


POINTS: tuple[Point, ...] = (*_costs(), *_answers(), *_composites(), *_own())
"""Metric, what changed, scenarios, settings of the policy, the margin that is exactly lost, and how runs are drawn."""

# ---------------------------------------------------------------------------------------------------------------------


def policy_of(metric: str, settings: Mapping[str, Any], margin: str) -> Policy:
    """A policy with one margin, with confidence."""
    return policies.read_dict(
        {**settings, "baseline": {"file": "b.json", "margin": {metric: {"margin": margin, "evidence": "confident"}}}}
    )


def outcomes(policy: Policy, draw: Draw, random: Random, count: int) -> Iterator[RuleResult]:
    """The margin for one pair of runs after another. Their order changes nothing, so that a result is used again."""
    known: dict[frozenset[tuple[object, int]], RuleResult] = {}
    for _ in range(RUNS):
        base, head = draw(random, count)
        kinds = Counter(
            (one.columns["category"], one.passed, *one.values.items(), other.passed, *other.values.items())
            for one, other in zip(base, head, strict=True)
        )
        key = frozenset(kinds.items())
        if key not in known:
            known[key] = judged(policy, base, head)
        yield known[key]


def judged(policy: Policy, base: Run, head: Run) -> RuleResult:
    """The margin for two runs, as the gate judges it."""
    about = Side((), is_baseline=False, agent_version=None, scenarios=len(base), trials=len(base))
    sides = [ScoredRun(tuple(run), about, scoring_of(policy)) for run in (base, head)]
    changes, whole = since(policy, *sides), measured(policy, sides[1])
    return gate.judge(policy.comparing[0], gate.Evidence(whole, policy.metrics, {}, None, ALPHA, changes))


def row_of(place: int) -> Row:
    """The shares of the runs that a point passes and fails."""
    metric, case, count, settings, margin, draw = POINTS[place]
    random, policy = (
        np.random.default_rng([SEED_OF_COMPOSITES if metric == "final_score" else SEED, place]),
        policy_of(metric, settings, margin),
    )
    rules = list(outcomes(policy, draw, random, count))
    shown = [
        sum(f"even the {end} end" in rule.reason for rule in rules) / RUNS for end in ("pessimistic", "optimistic")
    ]
    passes, fails = (sum(rule.outcome == outcome for rule in rules) / RUNS for outcome in ("pass", "fail"))
    return metric, case, count, shown[0], shown[1], passes, fails


def main() -> int:
    """Simulates the points with one of the words given, or all, writes the table, and says if the limit was kept."""
    places = {point[:3]: place for place, point in enumerate(POINTS)}
    with TABLE.open(encoding="utf-8", newline="") as file:
        known = {(row[0], row[1], int(row[2])): tuple(row[3:]) for row in list(csv.reader(file))[1:]}
    for point, place in places.items():
        if sys.argv[1:] and not any(word in f"{point[0]} {point[1]}" for word in sys.argv[1:]):
            continue
        known[point] = tuple(f"{share:.4f}" for share in row_of(place)[3:])
        print(*point, *known[point], flush=True)
        with TABLE.open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(COLUMNS)
            table.writerows((*one, *known[one]) for one in places if one in known)
    return int(max(float(share) for shares in known.values() for share in shares[-2:]) > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
