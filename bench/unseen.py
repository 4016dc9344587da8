"""Does a suite miss losses as often as reports say? `python -m bench.unseen` writes a table of both.

It is bench/tables/unseen.csv. An agent runs a suite, loses five points, and runs it again. Stated: what the report of
the first run says, on average (`planning.unseen_loss`). Real: how often the bounds of the comparison see no loss.
Where no trials are repeated, the report says "up to": the agents below vary as much as they can (correlation 0), or
less. The seed and the points were fixed before the first run. Some five minutes.
"""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path
from statistics import fmean

import numpy as np
from msgspec import Struct

from highbar.measure.repeated_trials import repetition
from highbar.model import Counts, Repetition, Value, Verdict
from highbar.model.reduction import RepetitionSums
from highbar.planning import UnseenLoss, unseen_loss
from highbar.statistics.bounds import Sums, share_bounds
from highbar.statistics.paired import paired_bounds, single_trial_bounds

SEED, ALPHA, LOSS = 20261119, 0.05, 0.05
RUNS, STATED_RUNS = 4_000, 100
TABLE = Path(__file__).resolve().parent / "tables" / "unseen.csv"
COLUMNS = ("rate", "scenarios", "trials", "correlation", "in_clusters_of", "stated", "real", "often_enough")


class Suite(Struct, frozen=True):
    """An agent of this rate on so many scenarios: alike are its trials of one scenario, and scenarios of a cluster."""

    rate: float
    scenarios: int
    trials: int = 1
    alike: float = 0.0
    cluster: int = 1


SUITES = (
    *(Suite(rate, scenarios) for rate in (0.8, 0.9, 0.95, 0.98) for scenarios in (30, 60, 120)),
    *(Suite(0.9, 60, alike=alike) for alike in (0.3, 0.8)),
    *(Suite(rate, 60, trials, alike) for rate in (0.85, 0.95) for trials, alike in ((3, 0.1), (3, 0.5), (5, 0.8))),
    *(Suite(0.9, scenarios, 3, 0.3) for scenarios in (30, 120)),
    *(Suite(rate, 120, cluster=cluster) for rate in (0.85, 0.95) for cluster in (2, 4)),
)


def runs_of(suite: Suite, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The share of passed trials of each scenario before and after the loss; clusters stand side by side.

    With trials that are alike, a part of the scenarios breaks for good. Otherwise all pass a little less often.
    """
    count, rate = suite.scenarios, suite.rate
    if suite.cluster > 1:
        drawn = [random.random(count // suite.cluster).repeat(suite.cluster) < p for p in (rate, rate - LOSS)]
        return drawn[0].astype(float), drawn[1].astype(float)
    if not suite.alike:
        before, after = (random.binomial(suite.trials, p, count) / suite.trials for p in (rate, rate - LOSS))
        return before, after
    size = 1 / suite.alike - 1
    levels = random.beta(rate * size, (1 - rate) * size, count)
    left = np.where(random.random(count) < LOSS / rate, 0.0, levels)
    before, after = (random.binomial(suite.trials, p) / suite.trials for p in (levels, left))
    return before, after


def is_seen(suite: Suite, before: np.ndarray, after: np.ndarray) -> bool:
    """Whether the bounds of a comparison say that the rate fell."""
    change = after - before
    if suite.trials == suite.cluster == 1:
        better, worse = int((change > 0).sum()), int((change < 0).sum())
        return single_trial_bounds(better, worse, suite.scenarios, ALPHA).high < 0
    units = change.reshape(-1, suite.cluster).sum(axis=1)
    found = paired_bounds([(float(unit), suite.cluster) for unit in units], ALPHA)
    return found is not None and found.high < 0


def said(suite: Suite, before: np.ndarray) -> UnseenLoss | None:
    """What the report of the first run says."""
    units = before.reshape(-1, suite.cluster).sum(axis=1)
    count, d = len(units), suite.cluster
    sums = Sums(count, count * d, float(units.sum()), float((units**2).sum()), float(units.sum()) * d, count * d * d)
    bounds = share_bounds(sums, ALPHA)
    if bounds is None:
        return None
    rate = Fraction(round(before.sum() * suite.trials), suite.scenarios * suite.trials)
    value = Value(rate, suite.scenarios, 0, "ratio", "higher", low=bounds.low, high=bounds.high)
    verdict = Verdict(
        "pass",
        Counts(suite.scenarios, suite.scenarios * suite.trials, 0, 0, 0),
        {"pass_rate": value},
        (), (), (), (), None, (),
        repetition=_repetition(suite, before),
    )  # fmt: skip
    return unseen_loss(verdict)


def _repetition(suite: Suite, before: np.ndarray) -> Repetition | None:
    if suite.trials == 1:
        return None
    m, n = suite.trials, suite.scenarios
    sums = RepetitionSums(
        flaky=0,
        freedom=n * (m - 1),
        within=Fraction(float((m * before * (1 - before)).sum())),
        rate=Fraction(float(before.sum())),
        rate_squares=Fraction(float((before**2).sum())),
        inverse_trials=Fraction(n, m),
        fewest=m,
        scenarios_flaky=(),
    )
    return repetition(sums, n, ALPHA)


def measured(number: int, suite: Suite) -> tuple[float, float, float]:
    """The stated share of runs that miss the loss, the real one, and how often it is missed with enough scenarios."""
    random = np.random.default_rng([SEED, number])
    missed = sum(not is_seen(suite, *runs_of(suite, random)) for _ in range(RUNS)) / RUNS
    told = [found for _ in range(STATED_RUNS) if (found := said(suite, runs_of(suite, random)[0])) is not None]
    told = [found for found in told if found.loss == LOSS]
    enough = round(fmean(found.enough or 0 for found in told) / suite.cluster) * suite.cluster
    larger = Suite(suite.rate, enough, suite.trials, suite.alike, suite.cluster)
    seen = sum(is_seen(larger, *runs_of(larger, random)) for _ in range(RUNS // 4)) / (RUNS // 4)
    return fmean(found.missed for found in told), missed, seen


def main() -> None:
    """Writes the table."""
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        for number, suite in enumerate(SUITES):
            shares = (f"{share:.3f}" for share in measured(number, suite))
            row = (suite.rate, suite.scenarios, suite.trials, suite.alike, suite.cluster, *shares)
            table.writerow(row)
            print(*row, flush=True)


if __name__ == "__main__":
    main()
