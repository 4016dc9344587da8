"""What becomes of an agent that stays as it is, if its bar follows its own runs? `python bench/rising_bars.py`.

Three ways: the ratchet (record on a pass, raise to the bound, run again), a baseline that is recorded anew at each
pass, and `new_failures: all`; then looking again at pooled data, and an acceptance number. The product's own functions
judge. It writes docs/concepts/rising-bars.csv, from which docs/concepts/rising-bars.md is read. The seed was fixed
before the first run. Some two minutes.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # its parts are found however it is started

from bench.by_scenario import count_bounds  # noqa: E402 - needs the line above

from highbar.gate.baseline import Excess, weigh_excess  # noqa: E402 - needs the line above
from highbar.gate.outlook import ValueSupport  # noqa: E402 - likewise
from highbar.gate.thresholds import judge_value  # noqa: E402 - likewise
from highbar.model import Demand, Threshold, Value  # noqa: E402 - likewise
from highbar.statistics.paired import single_trial_bounds  # noqa: E402 - likewise
from highbar.statistics.planning import more_scenarios  # noqa: E402 - likewise
from highbar.statistics.second_run import Noise  # noqa: E402 - likewise

SEED = 20261117
ALPHA = 0.05
RUNS = 4_000
VERSIONS = (5, 10, 30)
TABLE = ROOT / "docs" / "concepts" / "rising-bars.csv"
COLUMNS = ("what", "case", "measured", "share")
QUIET = ValueSupport(noise=Noise(1.0, 1.0))

Random = np.random.Generator
Row = tuple[str, str, str, float]


@cache
def outcome(passed: int, scenarios: int, per_mille: int, evidence: str) -> str:
    """What the gate makes of a pass rate, against a threshold in tenths of a percent."""
    bar = Fraction(per_mille, 1000)
    low, high = count_bounds(passed, scenarios, ALPHA)
    value = Value(Fraction(passed, scenarios), scenarios, 0, "ratio", "higher", None, low, high)
    demand = Demand("confident" if evidence == "confident" else "estimate")
    return judge_value("pass_rate", value, Threshold(">=", bar, "ratio", ">= x"), demand, ALPHA, QUIET).outcome


@cache
def bound(passed: int, scenarios: int) -> int:
    """Where the ratchet puts a threshold: the lower bound, cut to tenths of a percent."""
    return int(count_bounds(passed, scenarios, ALPHA)[0] * 1000)


def passes(random: Random, rate: float, alike: float, scenarios: int, versions: int) -> np.ndarray:
    """The passes of several runs of one agent over the same scenarios."""
    rates = np.full(scenarios, rate)
    if alike:
        rates = random.beta(rate * (1 / alike - 1), (1 - rate) * (1 / alike - 1), scenarios)
    return np.asarray((random.random((versions, scenarios)) < rates).sum(axis=1))


def climb(random: Random, evidence: str, alike: float, thresholds: int) -> Iterator[tuple[int, str]]:
    """The outcome of each version of one agent whose thresholds rise with every run that passes, from 70 %."""
    scenarios = 100
    runs = [passes(random, 0.85, alike, scenarios, max(VERSIONS)) for _ in range(thresholds)]
    bars = [700] * thresholds
    for version in range(max(VERSIONS)):
        counts = [int(run[version]) for run in runs]
        outcomes = {outcome(count, scenarios, bar, evidence) for count, bar in zip(counts, bars, strict=True)}
        word = "fail" if "fail" in outcomes else "inconclusive" if "inconclusive" in outcomes else "pass"
        if version + 1 in (2, *VERSIONS):
            yield version + 1, word
        if word == "pass":
            bars = [max(bar, bound(count, scenarios)) for count, bar in zip(counts, bars, strict=True)]


def ratchets(random: Random) -> Iterator[Row]:
    """The ratchet: n = 100, a true rate of 85 %."""
    cases = (("estimate", 0.0, 1), ("estimate", 0.6, 1), ("estimate", 0.0, 6), ("confident", 0.0, 1))
    for evidence, alike, thresholds in cases:
        runs = RUNS // (4 if thresholds > 1 else 1)
        found = [pair for _ in range(runs) for pair in climb(random, evidence, alike, thresholds)]
        counted = "1 threshold" if thresholds == 1 else f"{thresholds} thresholds"
        case = f"{evidence}, {counted}, correlation {alike:g}"
        for version in (2, *VERSIONS):
            words = [word for number, word in found if number == version]
            for word in ("fail", "inconclusive") if evidence == "confident" else ("fail",):
                yield "ratchet", case, f"version {version}: {word}", words.count(word) / len(words)


def rolling(random: Random) -> Iterator[Row]:
    """A baseline recorded anew at each pass, margin 0: the rate that is recorded in the end, n = 50, true rate 90 %."""
    scenarios, recorded = 50, []
    for _ in range(RUNS):
        base = random.random(scenarios) < 0.9
        for _version in range(30):
            head = random.random(scenarios) < 0.9
            better, worse = int((head & ~base).sum()), int((base & ~head).sum())
            low, high = single_trial_bounds(better, worse, scenarios, ALPHA)
            excess = Excess(Fraction(better - worse, scenarios), Fraction(low), Fraction(high))
            if weigh_excess(excess, "estimate", "")[0] == "pass":
                base = head
        recorded.append(float(base.mean()))
    yield (
        "rolling baseline",
        "margin 0, 50 scenarios, true rate 0.9",
        "recorded after 30 versions",
        float(np.mean(recorded)),
    )


def new_failures(random: Random) -> Iterator[Row]:
    """`new_failures: all` of an unchanged agent: 100 scenarios, 5 % of them pass nine times of ten, the rest always."""
    flaky = np.full(5, 0.9)
    for trials in (1, 3):
        alarms = 0
        for _ in range(RUNS * 5):
            base, head = ((random.random((trials, 5)) < flaky).all(axis=0) for _ in range(2))
            alarms += bool((base & ~head).any())
        counted = "1 trial" if trials == 1 else f"{trials} trials"
        yield "new_failures", f"100 scenarios, 5 of them at 0.9, {counted}", "fails", alarms / (RUNS * 5)


def looking_again(random: Random) -> Iterator[Row]:
    """A confident rule at the true rate: judged once, and again after adding what would settle it, up to five times."""
    start, rate, bar = 40, 0.85, Fraction(85, 100)
    once = several = 0
    for _ in range(RUNS * 2):
        size, passed = start, int(random.binomial(start, rate))
        first = True
        for _look in range(6):
            low, high = count_bounds(passed, size, ALPHA)
            found = "pass" if low >= bar else "fail" if high < bar else "inconclusive"
            once += first and found == "pass"
            first = False
            if found != "inconclusive":
                several += found == "pass"
                break
            more = min(more_scenarios(bar, Fraction(passed, size), size, ALPHA) or 100, 2000)
            passed, size = passed + int(random.binomial(more, rate)), size + more
    yield "looking again", "40 scenarios, true rate at the threshold", "false pass, one look", once / (RUNS * 2)
    yield (
        "looking again",
        "40 scenarios, true rate at the threshold",
        "false pass, up to five extensions",
        several / (RUNS * 2),
    )


def acceptance(_random: Random) -> Iterator[Row]:
    """A threshold of 100 % with `tolerate: 5%`: how often agents fail it, and how often a bad one passes; exact."""
    from highbar.statistics.distributions import at_most

    for failures, scenarios in ((0, 59), (1, 93), (2, 124), (3, 153), (0, 299)):
        case = f"{failures} accepted in {scenarios}"
        yield "acceptance number", case, "fails an agent with 1 % failures", 1 - at_most(failures, scenarios, 0.01)
        yield "acceptance number", case, "passes an agent with 5 % failures", at_most(failures, scenarios, 0.05)


def rows() -> Iterator[Row]:
    """Every row of the table; each part has a random source of its own."""
    for place, part in enumerate((ratchets, rolling, new_failures, looking_again, acceptance)):
        yield from part(np.random.default_rng([SEED, place]))


def main() -> int:
    """Simulates and writes the table."""
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        for what, case, measured, share in rows():
            table.writerow((what, case, measured, f"{share:.4f}"))
            file.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
