"""How a whole suite is judged if the noise of its trials is known: `python bench/suite_noise.py`.

It writes docs/concepts/whole-suite.csv. The scenarios are fixed, and their rates follow a law with a known correlation;
only the trials vary. Runs are judged by the product's kernels, all scenarios at once (`confident`) or one after the
other (`sequential`), with and without what repeated trials or earlier runs show; some of each point also by the whole
gate. For an error the suite is exactly at the bar, so that at most 5 % of the runs may pass and at most 5 % fail. The
seed and the points were fixed before the first run.

Some ten minutes; `--quick` makes a tenth of the runs and writes nothing. Exits with 1 if an error exceeds 6.5 %.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
from msgspec import Struct
from scipy import stats

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # its parts are found however it is started

from bench.coverage_grid import LIMIT, Random  # noqa: E402 - needs the line above

from highbar import gate, measure  # noqa: E402 - likewise
from highbar import policy as policies  # noqa: E402 - likewise
from highbar.changes.record_sums import sums_of  # noqa: E402 - likewise
from highbar.changes.scored_run import ScoredRun, scoring_of  # noqa: E402 - likewise
from highbar.model import Policy, ThresholdRule  # noqa: E402 - likewise
from highbar.model.comparison import Side  # noqa: E402 - likewise
from highbar.model.order import RunOrder  # noqa: E402 - likewise
from highbar.model.recall import Recalled  # noqa: E402 - likewise
from highbar.model.records import ScenarioRecord  # noqa: E402 - likewise
from highbar.statistics.noisy_spending import noisy_boundaries  # noqa: E402 - likewise
from highbar.statistics.spending import Boundaries, binomial_boundaries, first_crossing  # noqa: E402 - likewise
from highbar.statistics.trials import (  # noqa: E402 - likewise
    TrialNoise,
    disagreement,
    earlier_noise,
    noisy_suite_bounds,
    own_noise,
)
from highbar.verdicts.earlier_noise import earlier_noise_of  # noqa: E402 - likewise
from highbar.verdicts.replay import Replay  # noqa: E402 - likewise

SEED = 61902741
RUNS = 2_000
CHECKED = 20
"""So many runs of each point are judged by the whole product as well, and must come to the same."""
ALPHA = 0.05
TABLE = ROOT / "docs" / "concepts" / "whole-suite.csv"
COLUMNS = (
    *("judged", "known_from", "law", "scenarios", "trials", "bar", "true"),
    *("passes", "fails", "scenarios_run", "passes_without", "fails_without"),
)
ABOUT = Side((), is_baseline=False, agent_version=None, scenarios=0, trials=0)


class Point(Struct, frozen=True):
    """`before` earlier runs of one trial, or `trials` of each scenario; `bar` is None if the suite is exactly at it.

    `law_before` is the law of the scenarios in earlier runs, if the agent has changed since.
    """

    law: str
    scenarios: int
    rate: float
    trials: int = 1
    before: int = 0
    bar: str | None = None
    law_before: str | None = None
    sequential: bool = False


OWN = (
    *(Point(f"correlation {r}", n, 0.85, 3) for n in (50, 200) for r in (0, 0.2, 0.5, 0.8, 0.95)),
    *(Point("rare passes", n, rate, m) for n, m, rate in ((100, 10, 0.95), (200, 5, 0.98), (100, 2, 0.9))),
    *(Point("some fail, others nearly pass", n, 0.9, m) for n, m in ((20, 10), (50, 2), (200, 3))),
    Point("a tenth by chance", 50, 0.9, 2),
)
EARLIER = (
    *(Point(f"correlation {r}", n, 0.85, before=5) for n in (100, 200) for r in (0, 0.5, 0.8, 0.95)),
    *(Point("correlation 0.8", n, 0.9, before=h) for n, h in ((20, 3), (50, 2), (400, 20))),
    *(Point("rare passes", 100, 0.95, before=5), Point("some fail, others nearly pass", 50, 0.9, before=3)),
    *(Point("correlation 0", n, 0.85, before=5, law_before="steady") for n in (50, 100, 200)),
    Point("correlation 0.5", 200, 0.85, before=5, law_before="steady"),
)
POWER = (
    *(Point("correlation 0.8", 50, 0.95, 3, bar="0.9"), Point("correlation 0.8", 50, 0.9, 3, bar="0.85")),
    *(Point("correlation 0.8", n, rate, before=5, bar="0.85") for n in (100, 200) for rate in (0.88, 0.9)),
)
SEQUENTIAL = (
    *(Point("correlation 0.8", n, 0.85, before=5, sequential=True) for n in (50, 100, 200, 400)),
    *(Point(f"correlation {r}", 200, 0.85, before=5, sequential=True) for r in (0, 0.5, 0.95)),
    Point("correlation 0.8", 200, 0.85, before=2, sequential=True),
    Point("rare passes", 200, 0.95, before=5, sequential=True),
    *(Point("correlation 0", n, 0.85, before=5, law_before="steady", sequential=True) for n in (100, 200)),
    *(Point("correlation 0.8", n, 0.9, before=5, bar="0.85", sequential=True) for n in (100, 200, 400)),
)
POINTS = (*OWN, *EARLIER, *POWER, *SEQUENTIAL)


def rates(law: str, count: int, mean: float) -> np.ndarray:
    """The true rates of the scenarios."""
    failing = (1 - mean) * count
    found = np.ones(count)
    match law.split():
        case ["correlation", "0"]:
            return np.full(count, mean)
        case ["correlation", alike]:
            size = 1 / float(alike) - 1
            places = (np.arange(count) + 0.5) / count
            return np.asarray(stats.beta.ppf(places, mean * size, (1 - mean) * size))
        case ["steady"]:
            found[: round(failing)] = 0
        case ["rare", "passes"]:
            found[: round(failing / 0.9)] = 0.1
        case ["a", "tenth", *_]:
            by_chance = count // 10
            found[:by_chance] = 0.5
            found[by_chance : by_chance + round(failing - by_chance / 2)] = 0
        case _:
            found[:] = 0.97
            found[: round(count * (1 - mean / 0.97))] = 0
    return found


def policy_of(point: Point, mean: float) -> Policy:
    """A pass rate at the bar, of a suite that is all there is."""
    bar = point.bar or f"{mean:.12f}"
    evidence = "sequential" if point.sequential else "confident"
    return policies.read_dict({"thresholds": {"pass_rate": f">= {bar}"}, "population": "suite", "evidence": evidence})


def run_of(policy: Policy, passed: np.ndarray, trials: int) -> ScoredRun:
    """A run in which the scenarios passed so many trials."""
    records = tuple(
        ScenarioRecord(f"{i:04}", trials, int(number), {}, {"error": Fraction(0)}) for i, number in enumerate(passed)
    )
    return ScoredRun(records, ABOUT, scoring_of(policy))


def history(point: Point, random: Random, now: np.ndarray) -> np.ndarray:
    """How many of its earlier trials each scenario passed."""
    law = point.law_before
    then = now if law is None else rates(law, point.scenarios, point.rate)
    return random.binomial(point.before, then)


# --- one run, by the kernels of the product -----------------------------------------------------


def known_noise(point: Point, earlier: np.ndarray, passed: np.ndarray) -> tuple[TrialNoise | None, np.ndarray]:
    """What is known of the noise before a run, or from its own trials; and how it disagrees with earlier runs."""
    n, m = point.scenarios, point.trials
    if point.before:
        noise = earlier_noise([(int(number), point.before) for number in earlier])
        pairs = zip((earlier / point.before).tolist(), (passed / m).tolist(), strict=True)
        return noise, np.array([disagreement(before, now) for before, now in pairs])
    score = passed / m
    within = float((score * (1 - score)).sum()) / (m - 1)
    return own_noise(float(score.mean()), n * m, n, within, 1 / (m * (m - 1))), np.zeros(n)


def bounded(point: Point, bar: Fraction, passed: np.ndarray, noise: TrialNoise | None) -> str:
    """The outcome of a run by its bounds."""
    trials = point.scenarios * point.trials
    low, high = noisy_suite_bounds(Fraction(int(passed.sum()), trials), trials, ALPHA, noise)
    return "pass" if low >= bar else "fail" if high < bar else "inconclusive"


def crossing(boundaries: Boundaries, passed: np.ndarray) -> tuple[str, int | None]:
    """The outcome of a run in its order, and after how many scenarios."""
    found = first_crossing(boundaries, [(bool(one), bool(one)) for one in passed])
    return ("inconclusive", None) if found is None else ("pass" if found.passed else "fail", found.units)


def once(point: Point, bar: Fraction, true: np.ndarray, random: Random, check: Policy | None) -> tuple[str, int, str]:
    """One run: its outcome, how many scenarios it took, and the outcome if nothing was known of the noise."""
    earlier, passed = history(point, random, true), random.binomial(point.trials, true)
    noise, disagrees = known_noise(point, earlier, passed)
    order = random.permutation(point.scenarios) if point.sequential else np.arange(point.scenarios)
    if not point.sequential:
        now = noise and noise.at_least(float(disagrees.mean()))
        outcome, at, without = bounded(point, bar, passed, now), None, bounded(point, bar, passed, None)
    else:
        seen = disagrees[order].cumsum() / np.arange(1, point.scenarios + 1)
        known = noisy_boundaries(bar, point.scenarios, ALPHA, "linear", noise or TrialNoise(0.25, 1.0), seen.tolist())
        outcome, at = crossing(known, passed[order])
        without, _ = crossing(binomial_boundaries(bar, point.scenarios, ALPHA), passed[order])
    if check is not None and (outcome, at) != judge(point, check, earlier, passed, order):
        raise ValueError("the product comes to something else")
    return outcome, at or point.scenarios, without


# --- the same run by the whole product ----------------------------------------------------------


def judge(
    point: Point, policy: Policy, earlier: np.ndarray, passed: np.ndarray, order: np.ndarray
) -> tuple[str, int | None]:
    """The outcome of the rule, and after how many scenarios it was decided."""
    (rule,) = (one for one in policy.rules if isinstance(one, ThresholdRule))
    records = tuple(
        ScenarioRecord(f"{i:04}", point.trials, int(number), {}, {"error": Fraction(0)})
        for i, number in enumerate(passed)
    )
    run = ScoredRun(records, ABOUT, scoring_of(policy))
    recalled = Recalled(runs=({f"{i:04}": (int(one), point.before) for i, one in enumerate(earlier)},))
    noise = earlier_noise_of(recalled, run) if point.before else None
    whole = measure.Measured(policy, sums_of(policy, records).group, earlier_noise=noise)
    ids = tuple(f"{i:04}" for i in order)
    recorded = RunOrder(ids, dict.fromkeys(ids, point.trials), frozenset(ids), len(ids), seed=1)
    replay = Replay(policy, run, recorded, None, noise) if point.sequential else None
    result = gate.judge(rule, gate.Evidence(whole, policy.metrics, {}, None, ALPHA, replay=replay))
    return result.outcome, None if result.stopping is None else result.stopping.decided_at


def measured(place: int, point: Point, number: int) -> tuple[object, ...]:
    """The row of a point."""
    random = np.random.default_rng([SEED, place])
    true = rates(point.law, point.scenarios, point.rate)
    policy = policy_of(point, float(true.mean()))
    (rule,) = (one for one in policy.rules if isinstance(one, ThresholdRule))
    bar = rule.threshold.value
    found = [once(point, bar, true, random, policy if run < CHECKED else None) for run in range(number)]
    shares = [np.mean([one[side] == outcome for one in found]) for side in (0, 2) for outcome in ("pass", "fail")]
    taken = np.mean([at for _, at, _ in found])
    law = point.law if point.law_before is None else f"{point.law}, {point.law_before} before"
    known = f"{point.before} earlier runs" if point.before else "its own trials"
    judged = "sequential" if point.sequential else "confident"
    shown = [f"{share:.4f}" for share in shares]
    return (
        *(judged, known, law, point.scenarios, point.trials, point.bar or "the true rate", f"{true.mean():.4f}"),
        *(*shown[:2], f"{taken:.1f}", *shown[2:]),
    )


def rows(number: int) -> Iterator[tuple[object, ...]]:
    """The whole table."""
    for place, point in enumerate(POINTS):
        row = measured(place, point, number)
        print(*row, flush=True)
        yield row


def main(arguments: list[str]) -> int:
    """Measures, and writes the table."""
    quick = arguments == ["--quick"]
    found = list(rows(RUNS // 10 if quick else RUNS))
    if not quick:
        with TABLE.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows((COLUMNS, *found))
    at_bar = [row for row in found if row[5] == "the true rate"]
    worst = max(float(str(share)) for row in at_bar for share in row[7:9])
    print(f"largest error {worst:.4f}")
    return int(worst > LIMIT and not quick)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
