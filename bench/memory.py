"""What a history is good for, for an agent that stays as it is, and for one that gets worse: `python bench/memory.py`.

The ratchet from pooled runs, `new_failures` by a test, a pooled baseline, and the drift detector: each beside what is
done without a history (`bench/rising_bars.py`). The product's own functions decide. It writes
docs/concepts/drift-luck-and-flakiness.csv, from which the page beside it is read (`bench/memory_page.py`). The seed was
fixed before the first run. Some ten minutes; `python bench/memory.py drift` simulates one part.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # its parts are found however it is started

from bench.by_scenario import count_bounds  # noqa: E402 - needs the line above
from bench.rising_bars import bound, outcome  # noqa: E402 - likewise

from highbar.gate.baseline import Excess, weigh_excess  # noqa: E402 - likewise
from highbar.gate.history import Explained, explain_failures  # noqa: E402 - likewise
from highbar.model.recall import Recalled  # noqa: E402 - likewise
from highbar.statistics.between_runs import KNOWN, SPREAD  # noqa: E402 - likewise
from highbar.statistics.drift import ALARM, SLOPES, STEPS, bets, decline  # noqa: E402 - likewise
from highbar.statistics.paired import paired_bounds, single_trial_bounds  # noqa: E402 - likewise
from highbar.statistics.pooled import RUNS, pooled_end, pooled_share  # noqa: E402 - likewise

SEED = 20261118
ALPHA = 0.05
VERSIONS = (2, 5, 10, 30)
CORRELATIONS = (0.0, 0.6)
TABLE = ROOT / "docs" / "concepts" / "drift-luck-and-flakiness.csv"
COLUMNS = ("what", "case", "method", "measured", "share")

FLAKY_SUITES = ((0.92, 0.3, 200), (0.92, 0.3, 60), (0.85, 0.0, 100), (0.85, 0.6, 100), (0.98, 0.6, 100))
"""The true rate, the correlation and the number of scenarios."""

Random = np.random.Generator
Row = tuple[str, str, str, str, float]
Rates = Callable[[Random], np.ndarray]


def alike(rate: float, correlation: float, scenarios: int) -> Rates:
    """True rates of scenarios whose trials have this intraclass correlation."""

    def draw(random: Random) -> np.ndarray:
        if not correlation:
            return np.full(scenarios, rate)
        size = 1 / correlation - 1
        return random.beta(rate * size, (1 - rate) * size, scenarios)

    return draw


# --- the ratchet ------------------------------------------------------------------------------


@cache
def pooled_bar(passes: tuple[tuple[int, int], ...], runs: int, *, is_confident: bool = False) -> int:
    """Where the pooled ratchet puts a threshold, in tenths of a percent; from how many scenarios passed how often."""
    units = [(Fraction(passed, runs), 1) for passed, times in passes for _ in range(times)]
    share = pooled_share(units, ALPHA)
    return 0 if share is None else int((share.confident if is_confident else share.threshold) * 1000)


def bar_from_ends(counts: list[int], scenarios: int) -> int:
    """The same if only the values and bounds of the runs are known."""
    bar = pooled_end((count / scenarios, count_bounds(count, scenarios, ALPHA)[0]) for count in counts)
    return 0 if bar is None else int(bar.threshold * 1000)


def climb(runs: np.ndarray, method: str) -> Iterator[tuple[int, bool]]:
    """Whether each version fails, if the threshold rises after every run that passes, from 70 %."""
    scenarios, bar = runs.shape[1], 700
    for place, run in enumerate(runs):
        passed = int(run.sum())
        fails = outcome(passed, scenarios, bar, "estimate") != "pass"
        yield place + 1, fails
        last = runs[max(0, place + 1 - RUNS) : place + 1]
        if not fails and method == "one run that passed":
            bar = max(bar, bound(passed, scenarios))
        elif not fails and method == "five runs, by scenario":
            counted = Counter(last.sum(axis=0).tolist())
            bar = max(bar, pooled_bar(tuple(sorted(counted.items())), len(last)))
        elif not fails:
            bar = max(bar, bar_from_ends(last.sum(axis=1).tolist(), scenarios))


def ratchets(random: Random) -> Iterator[Row]:
    """100 scenarios at 85 %: how often a version of an unchanged agent fails."""
    methods = ("one run that passed", "five runs, by scenario", "five runs, by their bounds")
    for correlation in CORRELATIONS:
        draw, times = alike(0.85, correlation, 100), 2000
        fails: Counter[tuple[str, int]] = Counter()
        for _ in range(times):
            runs = random.random((max(VERSIONS), 100)) < draw(random)
            for method in methods:
                fails.update((method, version) for version, failed in climb(runs, method) if failed)
        for method in methods:
            for version in VERSIONS:
                share = fails[method, version] / times
                yield "ratchet", f"correlation {correlation:g}", method, f"version {version}: fail", share


def confident_ratchets(random: Random) -> Iterator[Row]:
    """The same with `evidence: confident`: a run must prove the bar. What a version comes to, and the last bar."""
    methods = {"room for its noise": False, "room for its noise and its bound": True}
    for correlation in CORRELATIONS:
        draw, times = alike(0.85, correlation, 100), 2000
        outcomes: Counter[tuple[str, int, str]] = Counter()
        bars: Counter[str] = Counter()
        for _ in range(times):
            runs = random.random((max(VERSIONS), 100)) < draw(random)
            for method, is_confident in methods.items():
                bar = 600
                for place, run in enumerate(runs):
                    word = outcome(int(run.sum()), 100, bar, "confident")
                    outcomes[method, place + 1, word] += 1
                    last = runs[max(0, place + 1 - RUNS) : place + 1]
                    counted = tuple(sorted(Counter(last.sum(axis=0).tolist()).items()))
                    mean = float(last.mean())  # no bar is above it less the noise of a run, so most need no computing
                    if word == "pass" and 1000 * (mean - 1.64 * (mean * (1 - mean) / 100) ** 0.5) > bar:
                        bar = max(bar, pooled_bar(counted, len(last), is_confident=is_confident))
                bars[method] += bar
        for method in methods:
            case = f"correlation {correlation:g}"
            for version in VERSIONS:
                for word in ("fail", "inconclusive"):
                    share = outcomes[method, version, word] / times
                    yield "confident ratchet", case, method, f"version {version}: {word}", share
            yield "confident ratchet", case, method, "bar after 30 versions", bars[method] / times / 1000


# --- new failures -----------------------------------------------------------------------------


def suites() -> Iterator[tuple[str, Rates]]:
    """Agents whose scenarios fail in different ways."""
    yield "100 scenarios that always pass", lambda _: np.ones(100)
    yield "5 of 100 scenarios at 0.9, the rest always pass", lambda _: np.r_[np.full(5, 0.9), np.ones(95)]
    yield "100 scenarios at 0.85, correlation 0", alike(0.85, 0.0, 100)
    yield "100 scenarios at 0.85, correlation 0.6", alike(0.85, 0.6, 100)
    yield "100 scenarios at 0.98, correlation 0.6", alike(0.98, 0.6, 100)


def explained(history: np.ndarray, now: np.ndarray, trials: int) -> Explained:
    """What the rule makes of the scenarios that fail, of those that passed in the last run, which is the baseline."""
    runs = [{str(place): (int(passed), trials) for place, passed in enumerate(run)} for run in (*history, now)]
    steady = [str(place) for place in np.flatnonzero(history[-1] == trials)]
    broken = [id_ for id_ in steady if runs[-1][id_][0] < trials]
    return explain_failures(steady, broken, Recalled(excusing=tuple(runs[:-1]), now=runs[-1]))


def new_failures(random: Random) -> Iterator[Row]:
    """`new_failures: all`: how often it fails an unchanged agent, and how often it finds scenarios that broke."""
    for name, draw in suites():
        for trials in (1, 3):
            case = f"{name}; {'1 trial' if trials == 1 else f'{trials} trials'}"
            yield "new_failures", case, "as in the baseline", "fails", today(random, draw, trials)
            for runs in (1, 3, 5, 20):
                method = f"test, {runs} run{'' if runs == 1 else 's'}"
                yield "new_failures", case, method, "fails", false_alarms(random, draw, trials, runs)
                for broke in (1, 5):
                    found = detection(random, draw, trials, runs, broke)
                    yield "new_failures", case, method, f"finds {broke} broken", found


def today(random: Random, draw: Rates, trials: int) -> float:
    """How often some scenario passed all trials in the baseline and not now."""
    failed = 0
    for _ in range(4000):
        base, now = random.binomial(trials, draw(random), (2, 100))
        failed += bool(((base == trials) & (now < trials)).any())
    return failed / 4000


def false_alarms(random: Random, draw: Rates, trials: int, runs: int, times: int = 800) -> float:
    """How often the test of each scenario fails an unchanged agent."""
    failed = 0
    for _ in range(times):
        *history, now = random.binomial(trials, draw(random), (runs + 1, 100))
        failed += bool(explained(np.array(history), now, trials).failing)
    return failed / times


def detection(random: Random, draw: Rates, trials: int, runs: int, broke: int, times: int = 120) -> float:
    """The share of scenarios that the test finds, of those that passed in the baseline and always fail now."""
    found = all_ = 0
    for _ in range(times):
        rates = draw(random)
        history = random.binomial(trials, rates, (runs, 100))
        passed = np.flatnonzero(history[-1] == trials)
        chosen = random.permutation(passed)[:broke]
        rates[chosen] = 0
        failing = explained(history, random.binomial(trials, rates), trials).failing
        found += len({str(place) for place in chosen}.intersection(failing))
        all_ += len(chosen)
    return found / all_


def many_failures(random: Random) -> Iterator[Row]:
    """How often the rule fails after five runs if nothing, 5 % or 10 % of a flaky suite broke for good; one trial."""
    for rate, correlation, scenarios in FLAKY_SUITES:
        draw = alike(rate, correlation, scenarios)
        case = f"{scenarios} scenarios at {rate:g}, correlation {correlation:g}"
        for broken in (0.0, 0.05, 0.1):
            fails: Counter[str] = Counter()
            for _ in range(2000):
                rates = draw(random)
                history = random.binomial(1, rates, (RUNS, scenarios))
                rates[random.permutation(scenarios)[: round(broken * scenarios)]] = 0
                found = explained(history, random.binomial(1, rates), 1)
                fails["each scenario"] += bool(found.failing)
                fails["their number"] += found.too_many
                fails["both tests"] += bool(found.failing) or found.too_many
            for method, number in fails.items():
                yield "many failures", case, method, f"{broken:.0%} broken: fails", number / 2000


# --- a baseline -------------------------------------------------------------------------------


def baselines(random: Random) -> Iterator[Row]:
    """Margin 0, 50 scenarios: what is recorded after 30 versions of an agent at 90 %, and what the next one gets."""
    methods = ("the run of each pass", "five runs pooled at each pass", "five runs pooled after each run")
    for correlation in CORRELATIONS:
        draw, times, case = alike(0.9, correlation, 50), 1000, f"correlation {correlation:g}"
        recorded: dict[str, list[float]] = {method: [] for method in methods}
        outcomes: Counter[tuple[str, str, str]] = Counter()
        for _ in range(times):
            rates = draw(random)
            runs = random.random((31, 50)) < rates
            worse = random.random(50) < rates * (1 - 0.1 / rates.mean())
            for method in methods:
                base = rolled(runs[:30], method)
                recorded[method].append(base.mean() - rates.mean())
                outcomes[method, "unchanged", compared(base, runs[30])] += 1
                outcomes[method, "10 points worse", compared(base, worse)] += 1
        for method in methods:
            yield "baseline", case, method, "recorded less true", float(np.mean(recorded[method]))
            for kind in ("unchanged", "10 points worse"):
                for word in ("fail", "inconclusive"):
                    yield "baseline", case, method, f"{kind}: {word}", outcomes[method, kind, word] / times


def rolled(runs: np.ndarray, method: str) -> np.ndarray:
    """The share of trials that each scenario of the baseline passed, recorded again and again."""
    base: np.ndarray = runs[0].astype(float)
    for place in range(1, len(runs)):
        passes = compared(base, runs[place]) == "pass"
        if method == "the run of each pass":
            base = runs[place].astype(float) if passes else base
        elif passes or method == "five runs pooled after each run":
            pool = runs[max(0, place + 1 - RUNS) : place + 1].mean(axis=0)
            # The command refuses runs that are surely worse than the present baseline.
            base = pool if compared(base, pool) != "fail" else base
    return base


def compared(base: np.ndarray, head: np.ndarray, margin: float = 0.0, evidence: str = "estimate") -> str:
    """What a rule with a margin makes of a run, or of several pooled ones, against a baseline of one run or several."""
    differences = np.round(head - base, 9)
    if set(np.unique(np.r_[base, head])) <= {0.0, 1.0}:
        better, worse = int((differences > 0).sum()), int((differences < 0).sum())
        ends: tuple[float, float] = single_trial_bounds(better, worse, len(head), ALPHA)
    else:
        single = [set(np.unique(side)) <= {0.0, 1.0} for side in (base, head)]
        pooled = "base" if single[1] else "head" if single[0] else None
        ends = bounds_of(tuple(sorted(Counter(differences.tolist()).items())), pooled)
    low, high = (Fraction(end + margin) for end in ends)
    return weigh_excess(Excess(Fraction(float(differences.mean()) + margin), low, high), evidence, "")[0]


@cache
def bounds_of(
    differences: tuple[tuple[float, int], ...], pooled: Literal["base", "head"] | None
) -> tuple[float, float]:
    """The bounds of the mean difference, from how often each one occurs."""
    found = paired_bounds([(difference, 1) for difference, times in differences for _ in range(times)], ALPHA, pooled)
    return (-1.0, 1.0) if found is None else (found.low, found.high)


def margins(random: Random) -> Iterator[Row]:
    """Exactly at the margin: how often a version passes, with confidence, that is as much worse as is allowed."""
    for correlation in CORRELATIONS:
        for scenarios in (50, 200):
            draw = alike(0.9, correlation, scenarios)
            passed: Counter[str] = Counter()
            for _ in range(1000):
                rates = draw(random)
                runs = random.random((RUNS, scenarios)) < rates
                head = random.random(scenarios) < rates * (1 - 0.05 / rates.mean())
                for method, base in (("one run", runs[0].astype(float)), ("five runs pooled", runs.mean(axis=0))):
                    passed[method] += compared(base, head, 0.05, "confident") == "pass"
            for method, number in passed.items():
                case = f"correlation {correlation:g}, {scenarios} scenarios"
                yield "margin", case, method, "5 points worse, margin 5: passes with confidence", number / 1000


def declines(random: Random) -> Iterator[Row]:
    """Margins against five pooled runs: how often they fail an agent at the margin, and one that is 10 points worse.

    *Even*: every scenario passes less often. *Fixed*: 4 % of them are fixed, and the others lose what these gain, and
    the margin.
    """
    for scenarios in (60, 120):
        draw, case = alike(0.9, 0.3, scenarios), f"correlation 0.3, {scenarios} scenarios"
        fails: Counter[str] = Counter()
        for _ in range(2000):
            rates = draw(random)
            base = random.binomial(RUNS, rates, scenarios) / RUNS
            for margin in (0.0, 0.05):
                head = rates * (1 - margin / rates.mean())
                fails[f"even, margin {margin * 100:g}: at it"] += failed(random, base, head, margin)
            fails["even, margin 0: 10 points worse"] += failed(random, base, rates * (1 - 0.1 / rates.mean()), 0.0)
            hard = random.random(scenarios) < 0.04
            rates = np.where(hard, 0.02, rates)
            base = random.binomial(RUNS, rates, scenarios) / RUNS
            gained = 0.98 * 0.04 / (0.9 * 0.96)
            fails["fixed, margin 0: at it"] += failed(random, base, np.where(hard, 1, rates * (1 - gained)), 0.0)
        for method, number in fails.items():
            yield "decline", case, method, "fails", number / 2000


def failed(random: Random, base: np.ndarray, rates: np.ndarray, margin: float) -> bool:
    """Whether one run of an agent with these true rates fails the margin."""
    return compared(base, (random.random(len(base)) < rates).astype(float), margin) == "fail"


# --- drift ------------------------------------------------------------------------------------


def drifts(random: Random) -> Iterator[Row]:
    """100 versions of an unchanged agent at 85 %; and of one that loses half a point per version, and its delay."""
    for correlation in CORRELATIONS:
        for scenarios in (100, 400):
            draw, case = alike(0.85, correlation, scenarios), f"correlation {correlation:g}, {scenarios} scenarios"
            yield "drift", case, "unchanged", "alarm within 100 versions", quick_alarms(random, draw, 0.0, 2000)[0]
            share, delay, late = quick_alarms(random, draw, 0.005, 500)
            yield "drift", case, "half a point per version", "alarm within 100 versions", share
            yield "drift", case, "half a point per version", "mean versions to the alarm", delay
            yield "drift", case, "half a point per version", "versions to 9 of 10 alarms", late
            for words, noise in (("one point", 0.01), ("two points", 0.02)):
                share = quick_alarms(random, draw, 0.0, 1000, noise=noise)[0]
                yield "drift", case, f"{words} of noise per run", "alarm within 100 versions", share


def noisy_runs(random: Random) -> Iterator[Row]:
    """30 versions of an unchanged agent whose whole runs vary: how often there is an alarm after any of them."""
    for correlation in CORRELATIONS:
        draw, alarms = alike(0.85, correlation, 400), 0
        for _ in range(2000):
            level = np.clip(1 + random.normal(0, 0.02, (30, 1)), 0, None)
            runs = random.random((30, 400)) < np.clip(draw(random) * level, 0, 1)
            alarms += bool((paths(runs) >= np.log(ALARM)).any())
        case = f"correlation {correlation:g}, 400 scenarios"
        yield "noisy runs", case, "two points of noise per run", "alarm within 30 versions", alarms / 2000


def quick_alarms(
    random: Random, draw: Rates, slope: float, times: int, noise: float = 0.0
) -> tuple[float, float, float]:
    """The share of histories with an alarm, and the mean and the 90th percentile of its version."""
    found = []
    for _ in range(times):
        rates, versions = draw(random), np.arange(100)[:, None]
        level = np.clip(1 - slope * versions / rates.mean() + random.normal(0, noise, (100, 1)), 0, None)
        path = paths(random.random((100, len(rates))) < np.clip(rates * level, 0, 1))
        hits = np.flatnonzero(path >= np.log(ALARM))
        found.append(hits[0] + 1 if len(hits) else np.inf)
    alarmed = np.array([one for one in found if np.isfinite(one)])
    if not len(alarmed):
        return 0.0, 0.0, 0.0
    return len(alarmed) / times, float(alarmed.mean()), float(np.percentile(alarmed, 90))


def paths(runs: np.ndarray) -> np.ndarray:
    """The logarithm of the evidence after each run: `statistics.drift` for one trial each, over whole arrays.

    A test holds the two together.
    """
    totals, wealth, found = np.cumsum(runs, axis=0), np.zeros(len(SLOPES) + len(STEPS)), [0.0]
    size, excess = runs.shape[1], 0.0
    for before in range(1, len(runs)):
        pairs = before - 1 + KNOWN
        variance = max((2 * excess / size**2 + KNOWN * SPREAD**2) / pairs, 0.0)
        spread = size * np.sqrt(variance * before / (before + 1))
        bet = np.minimum(bets(before), 1 / spread if spread else np.inf)
        means = np.log1p(np.outer(totals[before] / (before + 1), np.expm1(-bet))).sum(axis=0)
        wealth = wealth - bet * runs[before].sum() - means - (bet * spread) ** 2 / 2
        changed = runs[before].astype(int) - runs[before - 1]
        excess += max(changed.sum(), 0) ** 2 / 2 - np.abs(changed).sum() / 4
        top = wealth.max()
        found.append(top + np.log(np.exp(wealth - top).mean()))
    return np.array(found)


def repairs(random: Random) -> Iterator[Row]:
    """The run in which a decline of half a point per version is repaired, and the one in which it goes on instead."""
    for correlation in CORRELATIONS:
        for scenarios in (100, 400):
            draw, case = alike(0.85, correlation, scenarios), f"correlation {correlation:g}, {scenarios} scenarios"
            for later in (1, 10):
                found = [outcomes_after(random, draw, later) for _ in range(80_000 // scenarios)]
                names = [(kind, method) for kind in ("repaired", "goes on") for method in ("evidence alone", "levels")]
                for (kind, method), alarms in zip(names, np.mean(found, axis=0), strict=True):
                    yield "repair", case, f"{kind}: {method}", f"{later} after the alarm: alarm", float(alarms)


def outcomes_after(random: Random, draw: Rates, later: int) -> list[bool]:
    """Whether there is an alarm so many versions after the first one: repaired or not, by the evidence or as judged."""
    rates, versions = draw(random), np.arange(100)[:, None]
    runs = random.random((100, len(rates))) < np.clip(rates * (1 - 0.005 * versions / rates.mean()), 0, 1)
    first = int(np.flatnonzero(paths(runs) >= np.log(ALARM))[0])
    before, repaired = runs[: first + later], random.random(len(rates)) < rates
    found = []
    for last in (repaired, runs[first + later]):
        judged = decline([[(int(passed), 1) for passed in run] for run in (*before, last)])
        found += [judged.evidence >= ALARM, judged.is_alarm]
    return found


PARTS: dict[str, Callable[[Random], Iterator[Row]]] = {
    "ratchet": ratchets,
    "new_failures": new_failures,
    "baseline": baselines,
    "drift": drifts,
    "repair": repairs,
    "margin": margins,
    "many failures": many_failures,
    "noisy runs": noisy_runs,
    "confident ratchet": confident_ratchets,
    "decline": declines,
}
"""By their name in the first column. The place of each is a part of its seed, so that it can be simulated alone."""


def simulated(name: str) -> list[tuple[str, ...]]:
    """The rows of one part, as they are written."""
    random = np.random.default_rng([SEED, list(PARTS).index(name)])
    return [(*words, f"{share:.4f}") for *words, share in PARTS[name](random)]


def main(*names: str) -> int:
    """Simulates these parts, or all, and writes the table; the rows of other parts stay."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        before = [tuple(row) for row in csv.reader(file)][1:]
    found = {name: [row for row in before if row[0] == name] for name in PARTS}
    for name in names or PARTS:
        found[name] = simulated(name)
        with TABLE.open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerows([COLUMNS, *(row for part in found.values() for row in part)])
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
