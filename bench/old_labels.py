"""What labels of another run are worth if the judge has changed. `python -m bench.old_labels` counts it.

It writes bench/tables/old_labels.csv, and bench/tables/canaries.csv (exact). The agent is exactly at its threshold. 100
trials of a run before were labeled, and some of this run. `alone` is what the interval by the older labels says;
`passes` and `fails` what the rule says, which may do either in 5 % of the runs at most. `far` is the share of 200 runs
that pass a bar 20 points below the truth, and `contradicted` of those in which this run's labels reject the others. The
seed and the points were fixed before the first run. Half an hour. Exits with 1 if a rule errs in more than 6.5 %.
"""

from __future__ import annotations

import csv
import itertools
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import binom

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # its parts are found however it is started

from bench.coverage_grid import LIMIT, Random  # noqa: E402 - needs the line above
from bench.judge_methods import STRATA, post_stratified_bounds, rate_bounds, rogan_gladen_bounds  # noqa: E402 - likewise
from bench.judge_runs import JudgedRuns, drawn_labels  # noqa: E402 - likewise
from bench.judged_trials import JudgedTrials, judged, labels_of  # noqa: E402 - likewise

from highbar import policy as policies  # noqa: E402 - likewise
from highbar.model import Policy, RuleResult  # noqa: E402 - likewise
from highbar.running.judging.canaries import ASSUMED, SUSPICIOUS, p_value_of  # noqa: E402 - likewise

SEED = 70425119
RUNS = 2_000
SOME = 200
"""Runs by which power and contradictions are measured."""
COMPARED = 5
BEFORE = 100
FAR = 0.2
TABLE = ROOT / "bench" / "tables" / "old_labels.csv"
CANARIES = ROOT / "bench" / "tables" / "canaries.csv"
COLUMNS = (
    "case",
    "rate",
    "trials",
    "labels_here",
    "alone_passes",
    "alone_fails",
    "passes",
    "fails",
    "far",
    "contradicted",
)

Judge = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Case:
    """A judge (sensitivity, specificity) before and now; with other rates, and another agent, on hard scenarios."""

    name: str
    rate: float
    before: Judge
    now: Judge
    hard_before: float = 0.0
    hard_now: float = 0.0


_GOOD = (0.95, 0.9)
_HARD: Judge = (0.85, 0.6)
HARD_RATE = 0.75
"""The pass rate of hard scenarios, on which the judge is worse, too."""
CASES = {
    "same": Case("nothing changed", 0.9, _GOOD, _GOOD),
    "spec 90": Case("specificity 90 % to 60 %", 0.9, _GOOD, (0.95, 0.6)),
    "spec 80": Case("specificity 90 % to 60 %", 0.8, _GOOD, (0.95, 0.6)),
    "sens": Case("sensitivity 95 % to 88 %", 0.9, _GOOD, (0.88, 0.9)),
    "hard": Case("10 % to 40 % hard scenarios", 0.9, _GOOD, _GOOD, 0.1, 0.4),
}
POINTS = tuple((case, 300, here) for case in CASES for here in (0, 20, 60))


def drawn(case: Case, judge: Judge, hard: float, size: tuple[int, int], random: Random) -> JudgedRuns:
    """Runs of scenarios with one trial and one statement; `size` is how many trials and labels they have."""
    trials, labels = size
    is_hard = random.random((RUNS, trials, 1)) < hard
    people = random.random(is_hard.shape) < np.where(is_hard, HARD_RATE, _easy_rate(case, hard))
    sens, spec = (np.where(is_hard, worse, usual) for worse, usual in zip(_HARD, judge, strict=True))
    said = random.random(is_hard.shape)
    seen = np.where(people, said < sens, said >= spec)
    return JudgedRuns(people, seen, drawn_labels(seen, labels, random))


def _easy_rate(case: Case, hard: float) -> float:
    """The pass rate of the other scenarios, so that the whole has the rate of the case."""
    return (case.rate - hard * HARD_RATE) / (1 - hard)


def one_of(runs: JudgedRuns, name: str, place: int) -> JudgedTrials:
    """One of the runs, for the product."""
    people, judge = (each[place].astype(int) for each in (runs.people, runs.judge))
    return JudgedTrials(name, 1, people, judge, runs.asked[place])


def policy_of(bar: float) -> Policy:
    """A pass rate at the bar, with confidence, corrected."""
    return policies.read_dict(
        {"thresholds": {"pass_rate": f">= {bar:.12f}"}, "evidence": "confident", "judge": {"correct": True}}
    )


def rows() -> Iterator[tuple[object, ...]]:
    """What each point passes and fails."""
    for place, (key, trials, here) in enumerate(POINTS):
        random, case = np.random.default_rng([SEED, place]), CASES[key]
        before = drawn(case, case.before, case.hard_before, (trials, BEFORE), random)
        now = drawn(case, case.now, case.hard_now, (trials, here), random)
        (low, high), told = rogan_gladen_bounds(now, [rate_bounds(before, side) for side in STRATA])
        alone = [(told & missed).mean() for missed in (low > case.rate, high < case.rate)]
        yield case.name, case.rate, trials, here, *alone, *_by_the_product(case, before, now)


def _by_the_product(case: Case, before: JudgedRuns, now: JudgedRuns) -> list[float]:
    """What the rule passes and fails. It can do neither unless the labels of this run alone are wrong."""
    (low, high), defined = post_stratified_bounds(now)
    policy, far = policy_of(case.rate), policy_of(case.rate - FAR)

    def rule(place: int, policy: Policy) -> RuleResult:
        return judged(policy, one_of(now, "now", place), labels_of(one_of(before, "before", place)))

    missed = defined & ((low > case.rate) | (high < case.rate))
    wrong = [rule(place, policy) for place in np.flatnonzero(missed).tolist()]
    some = [rule(place, far) for place in range(SOME)]
    if any(rule(place, policy).outcome in ("pass", "fail") for place in np.flatnonzero(~defined)[:COMPARED].tolist()):
        raise AssertionError("labels that do not show a rate decide a rule")
    return [
        *(sum(one.outcome == outcome for one in wrong) / RUNS for outcome in ("pass", "fail")),
        sum(one.outcome == "pass" for one in some) / SOME,
        sum("contradict" in one.reason for one in some) / SOME,
    ]


def noticed(each: int, judge: Judge) -> float:
    """How often canaries, `each` of them good and as many bad, notice such a judge; exact."""
    chances = [binom.pmf(np.arange(each + 1), each, 1 - rate) for rate in judge]
    found = 0.0
    for good, bad in itertools.product(range(each + 1), repeat=2):
        if p_value_of((good, each), (bad, each), ASSUMED) < SUSPICIOUS:
            found += float(chances[0][good] * chances[1][bad])
    return found


def canaries() -> Iterator[tuple[object, ...]]:
    """How often canaries notice a judge that is as assumed, and two that are worse."""
    for judge in ((0.9, 0.9), (0.9, 0.6), (0.88, 0.9), (0.7, 0.9)):
        for each in (2, 10, 20, 40):
            yield *judge, each, noticed(each, judge)


def write(table: Path, columns: Iterable[str], rows: Iterable[tuple[object, ...]]) -> None:
    """A table of the rows, whose shares have four digits."""
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def _written(row: tuple[object, ...]) -> tuple[object, ...]:
    return tuple(f"{cell:.4f}" if isinstance(cell, float) and place > 2 else cell for place, cell in enumerate(row))


def main() -> int:
    """Simulates, writes the tables, and says whether the limit was kept."""
    write(CANARIES, ("sensitivity", "specificity", "each", "noticed"), map(_written, canaries()))
    found = []
    for row in rows():
        found.append(row)
        print(*_written(row), flush=True)
    write(TABLE, COLUMNS, map(_written, found))
    return int(max(float(str(share)) for row in found for share in row[6:8]) > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
