"""A request → the part of it that the columns of these results can answer; and the sums, with zeros for the rest.

A report shows every metric of the catalogue, and most files have columns for only a few. Planning the sums of the
others would take a quarter of the time of a small check.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from msgspec.structs import replace

from highbar.engine.layout import layout_of
from highbar.engine.protocol import Request
from highbar.engine.sources import SourcePart
from highbar.model import Percentile, Ratio, Term
from highbar.model.reduction import Group, Rank, RatioTotals, Reduction, Total
from highbar.statistics.bounds import Sums
from highbar.statistics.composite import CrossSums

_NOTHING = Total(Fraction(0), 0)
_NO_RANK = Rank(None, 0, 0, 0)
_NO_RATIO = RatioTotals(Sums(0, 0, 0, 0, 0, 0), 0.0, 0.0)
_NO_CROSS = CrossSums(0.0, 0.0, 0.0, 0.0)


def narrow_request(request: Request, parts: Sequence[SourcePart]) -> Request:
    """The request without the sums of quantities that no trial of these files can be given."""
    layout = layout_of(parts, request)
    # A rule lists the trials that are undecided for it even if no trial has what it needs.
    needed = {column for demand in request.undecided for column, _ in demand.parts}
    absent = {
        name
        for name, quantity in layout.quantities.items()
        if name not in needed and not quantity.can_be_given(layout.columns, demanded=layout.demands)
    }
    if not absent:
        return request

    def is_given(item: Term | Percentile) -> bool:
        return item.column not in absent

    def is_measured(ratio: Ratio) -> bool:
        return all(is_given(term) for term, _ in (*ratio.z, *ratio.d))

    return replace(
        request,
        terms=tuple(filter(is_given, request.terms)),
        percentiles=tuple(filter(is_given, request.percentiles)),
        ratios=tuple(filter(is_measured, request.ratios)),
        thirds=tuple(filter(is_measured, request.thirds)),
        crosses=tuple(pair for pair in request.crosses if all(map(is_measured, pair))),
    )


def with_zeros(reduction: Reduction, request: Request) -> Reduction:
    """The reduction with everything that the request asks for: what was left out is zero over no scenarios."""
    return replace(
        reduction,
        whole=_with_zeros(reduction.whole, request),
        slices=tuple(_with_zeros(group, request) for group in reduction.slices),
        best=reduction.best and _with_zeros(reduction.best, request),
        best_slices=tuple(_with_zeros(group, request) for group in reduction.best_slices),
    )


def _with_zeros(group: Group, request: Request) -> Group:
    return replace(
        group,
        totals={term: group.totals.get(term, _NOTHING) for term in request.terms},
        ranks={percentile: group.ranks.get(percentile, _NO_RANK) for percentile in request.percentiles},
        ratios={ratio: group.ratios.get(ratio, _NO_RATIO) for ratio in request.ratios},
        crosses={pair: group.crosses.get(pair, _NO_CROSS) for pair in request.crosses},
    )
