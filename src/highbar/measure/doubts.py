"""Finds metrics for which no interval is known to hold, and says why. `bench/coverage.py` has the measurements.

Sums without a limit (cost, tokens) may miss a scenario that costs more than all others. Weights may correlate with
difficulty: the bound for that needs enough scenarios of equal worth. And if slow scenarios were tried more often than
others, the trials of a percentile are not a sample of the trials that users see.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from msgspec import Struct

from highbar.columns import BOUNDED, EXTRA, recorded_column
from highbar.measure.limits import FEW_WEIGHTED, HEAVY, ROUNDING
from highbar.measure.parts import Formula, Part, counts_scenarios, is_share, is_weighted, unweighted
from highbar.measure.unknown import LIMITS
from highbar.model import Doubt, Ends, Percentile, Ratio, Term
from highbar.model.reduction import Group, Rank, Total
from highbar.statistics.bounds import MOST_UNEQUAL, effective_clusters

ONE_SIDED = 1.645
_UNIT = (Fraction(0), Fraction(1))

Span = tuple[Fraction, Fraction]
"""The smallest and the largest value that a scenario can have in a column."""


class Spans(Struct, frozen=True):
    """The range of what one scenario can add to a sum, if it has one by nature or by the policy."""

    ends: Mapping[str, Ends]
    totals: Mapping[Term, Total]

    def __call__(self, term: Term) -> Span | None:
        """The smallest and the largest value; None if nothing bounds it, or if a recorded value is beyond the limit."""
        if counts_scenarios(term):
            return Fraction(1), Fraction(1)
        if term.column in BOUNDED or term.column.startswith(("pass_at_", "pass_hat_")):
            return _UNIT
        ends = self.ends.get(recorded_column(term.column))
        if ends is None or ends.worst is None or ends.best is None or self.is_beyond(term):
            return None
        return min(ends.worst, ends.best), max(ends.worst, ends.best)

    def is_beyond(self, term: Term) -> bool:
        """Whether a recorded value is beyond the limit in the policy."""
        total = self.totals.get(term)
        return total is not None and total.beyond > 0


def doubt(formula: Formula, group: Group, spans: Callable[[Term], Span | None], *, sampled: bool) -> Doubt | None:
    """The first reason to doubt the interval of a formula; None if there is none.

    `sampled`: its scenarios are a sample of a larger population.
    """
    found = (_doubt_of_part(part, group, spans, sampled=sampled) for part in formula.parts())
    return next((one for one in found if one is not None), None)


def _doubt_of_part(part: Part, group: Group, spans: Callable[[Term], Span | None], *, sampled: bool) -> Doubt | None:
    if isinstance(part, Percentile):
        return doubt_of_trials(group.ranks[part])
    if not is_share(part):
        return _doubt_of_sums(part, spans)
    if sampled and is_weighted(part) and weights_differ(part, group):
        totals = group.ratios[part]
        return doubt_of_weights(effective_clusters(totals.sums), totals.largest / float(totals.sums.d))
    return None


def weights_differ(ratio: Ratio, group: Group) -> bool:
    """Whether the weights make a difference: without them, the units would have other shares of the total."""
    weighted = group.ratios[ratio]
    if not weighted.sums.d:
        return False
    plain = group.ratios.get(unweighted(ratio))
    if plain is None or not plain.sums.d:
        return not math.isclose(effective_clusters(weighted.sums), weighted.sums.clusters, rel_tol=ROUNDING)
    scenarios, largest = ((effective_clusters(one.sums), one.largest / float(one.sums.d)) for one in (weighted, plain))
    return not all(math.isclose(a, b, rel_tol=ROUNDING) for a, b in zip(scenarios, largest, strict=True))


def doubt_of_weights(scenarios: float, share: float) -> Doubt | None:
    """The doubt from weights, by the effective number of `scenarios` and the largest `share` of the weight."""
    if share > HEAVY:
        reason = f"one scenario carries {share:.0%} of the weight, and above {HEAVY:.0%} no interval is known to hold"
        return Doubt("weights", reason)
    if scenarios < FEW_WEIGHTED:
        below = f"below {FEW_WEIGHTED} no interval is known to hold"
        return Doubt("weights", f"the weights leave the worth of {scenarios:.0f} scenarios, and {below}")
    return None


def heavier_fail_more(ratio: Ratio, group: Group) -> bool:
    """Whether, beyond chance, the heavier scenarios of a weighted share score less than the others."""
    weighted, plain = group.ratios[ratio].sums, group.ratios[unweighted(ratio)].sums
    count = plain.clusters
    if count <= 2 or plain.d != count or weighted.clusters != count:
        return False  # too few, or clusters of several scenarios
    w, ww, x, xx, wx = (float(n) for n in (weighted.d, weighted.dd, plain.z, plain.zz, weighted.z))
    squares = (count * ww - w * w) * (count * xx - x * x)
    if squares <= 0:
        return False
    # The t test of the correlation between weight and score, with the normal quantile.
    correlation = (count * wx - w * x) / math.sqrt(squares)
    rest = max(1 - correlation * correlation, ROUNDING)
    return correlation * math.sqrt((count - 2) / rest) < -ONE_SIDED


def doubt_of_trials(rank: Rank) -> Doubt | None:
    """The doubt from unequal numbers of trials: those of a percentile may not be a sample of all trials."""
    if rank.most <= MOST_UNEQUAL * rank.fewest:
        return None
    counts = f"scenarios have from {rank.fewest} to {rank.most} trials"
    return Doubt("trials", f"{counts}, and if these differ more than threefold no interval is known to hold")


def _doubt_of_sums(ratio: Ratio, spans: Callable[[Term], Span | None]) -> Doubt | None:
    for term, _ in (*ratio.z, *ratio.d):
        if spans(term) is None:
            return Doubt("sums", _without_limit(term, spans))
    if len(ratio.z) > 1 or len(ratio.d) > 1:
        return Doubt("sums", "no interval is known to hold for a ratio of such sums")
    return None


def _without_limit(term: Term, spans: Callable[[Term], Span | None]) -> str:
    column = recorded_column(term.column)
    name = column.removeprefix(EXTRA)
    limit = LIMITS.get(column, f"the `range` of a metric that is mean({name})")
    if isinstance(spans, Spans) and spans.is_beyond(term):
        return f"a recorded `{name}` is beyond {limit}, so no interval is known to hold"
    return f"`{name}` has no limit, so no interval is known to hold; {limit} would give one"
