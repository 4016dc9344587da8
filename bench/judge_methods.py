"""How often a corrected pass rate is wrong on made-up runs: ours, and what else is in use.

The bounds of all runs are computed at once, in numpy. The product's bounds are these or wider: they never rise if a
trial breaks, which costs a search. So a run in which these are right is one in which the product's are, and the others
are judged again by the product's own functions, which decide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from bench.judge_runs import OTHER_RATE, JudgedRuns, JudgePoint, Random, Reals, Truths, drawn_runs, true_rates
from scipy.special import betaincinv

from highbar.statistics.distributions import normal_quantile
from highbar.statistics.interval import Estimate, Interval
from highbar.statistics.judges import (
    JudgedCluster,
    LabelStratum,
    judge_rates,
    post_stratified,
    rogan_gladen,
)

ALPHA = 0.05
Z = normal_quantile(1 - ALPHA)
BATCH = 250
COMPARED = 2
"""Runs of each batch in which the product's bounds are compared with these."""
STRATA = (True, False)

Ends = tuple[Reals, Reals]


@dataclass(frozen=True, slots=True)
class Errors:
    """How often one method was wrong, on either side; its mean width; and the share of runs without a value."""

    method: str
    false_pass: float
    false_fail: float
    width: float
    undefined: float


class Tally:
    """Counts the errors of methods over batches of runs."""

    def __init__(self) -> None:
        self._found: dict[str, list[Reals]] = {}

    def add(self, method: str, ends: Ends, truth: float, defined: Truths | None = None) -> None:
        """Bounds of many runs; one without a value is neither a pass nor a fail, and has no width."""
        low, high = ends
        known = ~np.isnan(low) if defined is None else defined & ~np.isnan(low)
        width = np.where(known, np.clip(high, 0, 1) - np.clip(low, 0, 1), 0.0)
        rows = np.stack([known & (low > truth), known & (high < truth), width, ~known], axis=1)
        self._found.setdefault(method, []).append(rows.astype(float))

    def errors(self) -> list[Errors]:
        """The figures of every method."""
        listed = []
        for method, batches in self._found.items():
            passes, fails, width, undefined = np.concatenate(batches).mean(axis=0).tolist()
            listed.append(Errors(method, passes, fails, width / (1 - undefined) if undefined < 1 else 1.0, undefined))
        return listed


def same_run(point: JudgePoint, runs: int, rng: Random) -> list[Errors]:
    """Labels of the run that is judged."""
    tally = Tally()
    for _ in range(runs // BATCH):
        batch = drawn_runs(point, point.rate, BATCH, rng)
        plain, defined = post_stratified_bounds(batch)

        def judged(run: int, batch: JudgedRuns = batch) -> Estimate | None:
            return post_stratified(clusters(batch, run), ALPHA)

        tally.add("Highbar", confirmed(plain, point.rate, judged, defined), point.rate, defined)
        tally.add("independent labels", post_stratified_bounds(batch, by_scenario=False)[0], point.rate, defined)
        tally.add("raw judge", pooled(batch.judge), point.rate)
        for method, ends in prediction_powered(batch, point.labels, rng).items():
            tally.add(method, ends, point.rate)
    return tally.errors()


def other_run(point: JudgePoint, runs: int, rng: Random) -> list[Errors]:
    """Labels of another run, of an agent of another pass rate; also the rates that they give the judge."""
    tally, other = Tally(), OTHER_RATE[point.rate]
    truths = true_rates(point, other)
    for _ in range(runs // BATCH):
        labeled, batch = drawn_runs(point, other, BATCH, rng), drawn_runs(point, point.rate, BATCH, rng)
        rates = [rate_bounds(labeled, side) for side in STRATA]
        plain, defined = rogan_gladen_bounds(batch, rates)

        def judged(run: int, batch: JudgedRuns = batch, labeled: JudgedRuns = labeled) -> Estimate | None:
            found = judge_rates(strata(labeled, run), ALPHA)
            return rogan_gladen(clusters(batch, run), STRATA, found, ALPHA) if found else None

        tally.add("Highbar", confirmed(plain, point.rate, judged, defined), point.rate, defined)
        tally.add("Lang-Reiczigel", lang_reiczigel(batch, labeled, rates), point.rate, defined)
        for name, (_, low, high), truth in zip(("sensitivity", "specificity"), rates, truths, strict=True):
            tally.add(name, confirmed((low, high), truth, _rate_of(labeled, name)), truth)
            tally.add(f"plain {name}", plain_rate(labeled, name), truth)
    return tally.errors()


def _rate_of(labeled: JudgedRuns, name: str) -> Callable[[int], Estimate | None]:
    def rate(run: int) -> Estimate | None:
        found = judge_rates(strata(labeled, run), ALPHA)
        if found is None:
            return None
        return found.sensitivity if name == "sensitivity" else found.specificity

    return rate


def confirmed(
    plain: Ends, truth: float, product: Callable[[int], Estimate | None], defined: Truths | None = None
) -> Ends:
    """The bounds, by the product's functions if these here are wrong, and in some more runs to compare."""
    low, high = (np.clip(end, 0, 1) for end in plain)
    known = np.ones(len(low), bool) if defined is None else defined
    wrong = known & ((low > truth) | (high < truth))
    for run in sorted({*np.flatnonzero(wrong).tolist(), *np.flatnonzero(known)[:COMPARED].tolist()}):
        found = product(run)
        ends = found.bounds if found else Interval(0.0, 1.0)
        if ends.low > low[run] + 1e-7 or ends.high < high[run] - 1e-7:
            raise AssertionError(f"run {run}: {ends} is narrower than {low[run]}, {high[run]}")
        low[run], high[run] = ends
    return low, high


def clusters(runs: JudgedRuns, run: int) -> list[JudgedCluster]:
    """The scenarios of one run as the product wants them, equal ones together."""
    people, judge, asked = runs.people[run], runs.judge[run], runs.asked[run]
    columns = [(judge == side) & chosen for chosen in (True, asked, asked & people) for side in STRATA]
    rows, counts = np.unique(np.stack([column.sum(axis=1) for column in columns], axis=1), axis=0, return_counts=True)
    repeats = judge.shape[1]
    return [
        JudgedCluster(repeats, 0, tuple(row[:2]), tuple(row[2:4]), tuple(row[4:]), count)
        for row, count in zip(rows.tolist(), counts.tolist(), strict=True)
    ]


def strata(runs: JudgedRuns, run: int) -> list[LabelStratum]:
    """The labels of one run as the product wants them if they are of another run."""
    found = []
    for side in STRATA:
        inside = runs.judge[run] == side
        labeled = (inside & runs.asked[run]).sum(axis=1)
        ones = (inside & runs.asked[run] & runs.people[run]).sum(axis=1)
        pairs = tuple((int(z), int(d)) for z, d in zip(ones, labeled, strict=True) if d)
        found.append(LabelStratum(side, int(inside.sum()), pairs))
    return found


def post_stratified_bounds(runs: JudgedRuns, *, by_scenario: bool = True) -> tuple[Ends, Truths]:
    """Bounds of the post-stratified rate, and whether it has a value.

    Not `by_scenario`: as if labels of one scenario were independent of each other and of the judge's share.
    """
    repeats = runs.judge.shape[2]
    weights = np.full(runs.judge.shape[:2], float(repeats))
    found = [people_share(runs, side, by_scenario=by_scenario) for side in STRATA]
    judged = [(runs.judge == side).sum(axis=2) for side in STRATA]
    scores = sum(count * one.rate[:, None] for count, one in zip(judged, found, strict=True))
    value = scores.sum(axis=1) / weights.sum(axis=1)
    shares = [count.sum(axis=1) / weights.sum(axis=1) for count in judged]
    deviations = [scores - value[:, None] * weights, *(one.deviations for one in found)]
    ends = []
    for side, spread in zip((-1, 1), share_ends(scores, weights), strict=True):
        reaches = [abs(spread - value), *(s * one.reach(side) for s, one in zip(shares, found, strict=True))]
        square = sum(reach * reach for reach in reaches)
        for i, j in ((0, 1), (0, 2), (1, 2)) if by_scenario else ():
            square = square + 2 * np.maximum(_correlation(deviations[i], deviations[j]), 0) * reaches[i] * reaches[j]
        ends.append(value + side * np.sqrt(square))
    defined = np.all([one.defined for one in found], axis=0)
    return (ends[0], ends[1]), defined


def _correlation(one: Reals, two: Reals) -> Reals:
    scale = np.sqrt((one * one).sum(axis=1) * (two * two).sum(axis=1))
    return np.asarray((one * two).sum(axis=1) / np.where(scale > 1e-12, scale, np.inf))


@dataclass(frozen=True, slots=True)
class PeopleShare:
    """The people's share of passes within one stratum of every run."""

    rate: Reals
    low: Reals
    high: Reals
    deviations: Reals
    defined: Truths

    def reach(self, side: int) -> Reals:
        """The distance to one end."""
        return self.rate - self.low if side < 0 else self.high - self.rate


def people_share(runs: JudgedRuns, side: bool, *, by_scenario: bool = True) -> PeopleShare:  # noqa: FBT001 - a stratum
    """What people say of what the judge passed, or of the rest."""
    inside = runs.judge == side
    labeled = (inside & runs.asked).sum(axis=2).astype(float)
    ones = np.where(inside & runs.asked, runs.people, 0).sum(axis=2).astype(float)
    total, passed = labeled.sum(axis=1), ones.sum(axis=1)
    some = inside.any(axis=(1, 2))
    rate = passed / np.maximum(total, 1)
    low, high = share_ends(ones, labeled) if by_scenario else count_ends(passed, total)
    low, high = np.where(total > 0, low, 0.0), np.where(total > 0, high, 1.0)
    return PeopleShare(
        rate,
        np.where(some, low, rate),
        np.where(some, high, rate),
        ones - rate[:, None] * labeled,
        (total > 0) | ~some,
    )


def share_ends(scores: Reals, weights: Reals) -> Ends:
    """The pseudo-cluster Beta bounds of every run (a row of scenarios)."""
    d, z = weights.sum(axis=1), scores.sum(axis=1)
    zz, zd, dd = (scores**2).sum(axis=1), (scores * weights).sum(axis=1), (weights**2).sum(axis=1)
    scenarios = (weights > 0).sum(axis=1)
    ends = []
    with np.errstate(divide="ignore", invalid="ignore"):
        typical, share = dd / d, z / d
        for end in (0, 1):
            mean = (z + end * typical) / (d + typical)
            squares = np.maximum(zz - 2 * mean * zd + mean * mean * dd, (z - mean * d) ** 2 / scenarios)
            variance = (squares + (typical * (end - mean)) ** 2) / (d + typical) ** 2
            size = mean * (1 - mean) / (variance * (scenarios + 1) / (scenarios + 2)) - 1
            found = betaincinv(mean * size, (1 - mean) * size, 1 - ALPHA if end else ALPHA)
            found = np.where((size > 0) & (np.abs(share - end) > 1e-12), found, float(end))
            ends.append(np.maximum(found, share) if end else np.minimum(found, share))
    return ends[0], ends[1]


def count_ends(passed: Reals, total: Reals) -> Ends:
    """Clopper and Pearson's bounds."""
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.where(passed > 0, betaincinv(np.maximum(passed, 1e-9), total - passed + 1, ALPHA), 0.0)
        high = np.where(passed < total, betaincinv(passed + 1, np.maximum(total - passed, 1e-9), 1 - ALPHA), 1.0)
    return low, high


def pooled(passed: Truths) -> Ends:
    """The plain bounds of a pass rate by scenario."""
    scores = passed.sum(axis=2).astype(float)
    return share_ends(scores, np.full(scores.shape, float(passed.shape[2])))


def rate_bounds(runs: JudgedRuns, side: bool) -> tuple[Reals, Reals, Reals]:  # noqa: FBT001 - sensitivity, specificity
    """Sensitivity (True) or specificity of the judge and its bounds, from labels by stratum."""
    found = [people_share(runs, stratum) for stratum in (side, not side)]
    rates = [one.rate if side else 1 - one.rate for one in found]
    trials = float(runs.judge[0].size)
    mine = (runs.judge == side).sum(axis=(1, 2)).astype(float)
    share, (least, most) = mine / trials, count_ends(mine, np.full(mine.shape, trials))
    above, below = share * rates[0], (1 - share) * rates[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        value = above / (above + below)
    ends = []
    for sign, reach in ((-1, share - least), (1, most - share)):
        turn = sign if side else -sign
        up, down = share * found[0].reach(turn), (1 - share) * found[1].reach(-turn)
        inside, outside = value, np.full(value.shape, 0.0 if sign < 0 else 1.0)
        for _ in range(40):
            t = (inside + outside) / 2
            moved = np.sqrt(((1 - t) * up) ** 2 + (t * down) ** 2 + (((1 - t) * rates[0] + t * rates[1]) * reach) ** 2)
            possible = sign * (t * below - (1 - t) * above) <= moved
            inside, outside = np.where(possible, t, inside), np.where(possible, outside, t)
        ends.append(outside)
    return value, ends[0], ends[1]


def rogan_gladen_bounds(runs: JudgedRuns, rates: list[tuple[Reals, Reals, Reals]]) -> tuple[Ends, Truths]:
    """Bounds of Rogan and Gladen's rate, and whether the judge clearly tells passes from fails."""
    (sens, sens_low, sens_high), (spec, spec_low, spec_high) = rates
    judged, (low, high) = runs.judge.mean(axis=(1, 2)), pooled(runs.judge)
    with np.errstate(divide="ignore", invalid="ignore"):
        defined = sens + spec - 1 > np.hypot(sens - sens_low, spec - spec_low)
        value = np.clip((judged + spec - 1) / (sens + spec - 1), 0, 1)
    ends = []
    for sign, reach, of_sens, of_spec in (
        (-1, judged - low, sens_high - sens, spec - spec_low),
        (1, high - judged, sens - sens_low, spec_high - spec),
    ):
        inside, outside = value, np.full(value.shape, 0.0 if sign < 0 else 1.0)
        for _ in range(40):
            t = (inside + outside) / 2
            gap = sign * (t * sens + (1 - t) * (1 - spec) - judged)
            possible = gap <= np.sqrt(reach**2 + (t * of_sens) ** 2 + ((1 - t) * of_spec) ** 2)
            inside, outside = np.where(possible, t, inside), np.where(possible, outside, t)
        ends.append(outside)
    return (ends[0], ends[1]), defined


def lang_reiczigel(runs: JudgedRuns, labeled: JudgedRuns, rates: list[tuple[Reals, Reals, Reals]]) -> Ends:
    """Lang and Reiczigel's interval (2014), each of its three samples as large as its variance says."""
    judged = runs.judge.mean(axis=(1, 2))
    means = runs.judge.mean(axis=2)
    scenarios = means.shape[1]
    variance = ((means - judged[:, None]) ** 2).sum(axis=1) / (scenarios * (scenarios - 1))
    trials = float(runs.judge[0].size)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.minimum(np.where(variance > 0, judged * (1 - judged) / variance, scenarios), trials)
        sens, spec = (
            (value * count + 1) / (count + 2) for (value, _, _), count in zip(rates, _sizes(labeled), strict=True)
        )
        sens_size, spec_size = (count + 2 for count in _sizes(labeled))
        share = (judged * size + Z * Z / 2) / (size + Z * Z)
        rate = (share + spec - 1) / (sens + spec - 1)
        of_sens, of_spec = sens * (1 - sens) / sens_size, spec * (1 - spec) / spec_size
        moved = 2 * Z * Z * (rate * of_sens - (1 - rate) * of_spec)
        square = share * (1 - share) / (size + Z * Z) + rate**2 * of_sens + (1 - rate) ** 2 * of_spec
        half = Z * np.sqrt(square) / (sens + spec - 1)
    return rate + moved - half, rate + moved + half


def _sizes(runs: JudgedRuns) -> list[Reals]:
    """As many independent labels as the estimates of sensitivity and specificity are worth, by the delta method."""
    trials = float(runs.judge[0].size)
    shares = [(runs.judge == side).sum(axis=(1, 2)) / trials for side in STRATA]
    counts = [((runs.judge == side) & runs.asked).sum(axis=(1, 2)) + 2.0 for side in STRATA]
    ones = [((runs.judge == side) & runs.asked & runs.people).sum(axis=(1, 2)) + 1.0 for side in STRATA]
    rates = [one / count for one, count in zip(ones, counts, strict=True)]
    sizes = []
    for mine, other, people in ((0, 1, rates), (1, 0, [1 - rate for rate in rates])):
        above, below = shares[mine] * people[mine], shares[other] * people[other]
        value = above / (above + below)
        noise = [share**2 * rate * (1 - rate) / n for share, rate, n in zip(shares, people, counts, strict=True)]
        of_share = (below * people[mine] + above * people[other]) ** 2 * shares[0] * shares[1] / trials
        variance = (below**2 * noise[mine] + above**2 * noise[other] + of_share) / (above + below) ** 4
        sizes.append(value * (1 - value) / variance)
    return sizes


def plain_rate(runs: JudgedRuns, name: str) -> Ends:
    """Sensitivity or specificity as plain counts of labels have it, however these were drawn."""
    side = name == "sensitivity"
    mine = runs.asked & (runs.people == side)
    right = (mine & (runs.judge == side)).sum(axis=(1, 2)).astype(float)
    return count_ends(right, mine.sum(axis=(1, 2)).astype(float))


def prediction_powered(runs: JudgedRuns, labels: int, rng: Random) -> dict[str, Ends]:
    """PPI and PPI++ (asymptotic, trials as if independent), with as many labels of a simple random sample."""
    people = runs.people.reshape(len(runs.people), -1).astype(float)
    judge = runs.judge.reshape(people.shape).astype(float)
    trials = people.shape[1]
    order = rng.random(people.shape)
    asked = order <= np.sort(order, axis=1)[:, labels - 1 : labels]
    rest = trials - labels
    y, x = (_part(values, asked) for values in (people, judge))
    unlabeled = _part(judge, ~asked) if rest else x
    spread = ((y - y.mean(axis=1, keepdims=True)) * (x - x.mean(axis=1, keepdims=True))).sum(axis=1) / (labels - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        best = spread / ((1 + labels / max(rest, 1)) * judge.var(axis=1))
    best = np.nan_to_num(best, nan=0.0, posinf=0.0, neginf=0.0)
    found = {}
    for method, weight in (("PPI", np.ones(len(y))), ("PPI++", best)):
        used = weight * (rest > 0)
        rectified = y - used[:, None] * x
        value = rectified.mean(axis=1) + used * unlabeled.mean(axis=1)
        variance = rectified.var(axis=1, ddof=1) / labels + used**2 * unlabeled.var(axis=1) / max(rest, 1)
        half = Z * np.sqrt(variance)
        found[method] = (value - half, value + half)
    return found


def _part(values: Reals, chosen: Truths) -> Reals:
    """The chosen values of every run, of which each has as many."""
    return values[chosen].reshape(len(values), -1)
