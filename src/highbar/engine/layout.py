"""A request and some files → which columns take part, and how they are named and laid out in SQL.

`narrow_request` leaves out what the columns of these results cannot answer, and `with_zeros` gives zeros for it: a
report shows every metric of the catalogue, and most files have columns for only a few. Planning the sums of the others
would take a quarter of the time of a small check.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from highbar.columns import DESCRIPTION_COLUMNS, EXTRA, MEASURED, Column, recorded_column
from highbar.engine import scoring
from highbar.engine.protocol import LargeNumbers, Request
from highbar.engine.quantities import QuantitySql, request_quantities, scaled_name
from highbar.engine.sources import SourcePart
from highbar.engine.sql import literal
from highbar.model import Ends, Percentile, Ratio, Term, Weights, Where
from highbar.model.reduction import Group, Rank, RatioTotals, Reduction, Total
from highbar.statistics.bounds import Sums
from highbar.statistics.composite import CrossSums

ONE = (Fraction(1),)
_NOTHING = Total(Fraction(0), 0)
_NO_RANK = Rank(None, 0, 0, 0)
_NO_RATIO = RatioTotals(Sums(0, 0, 0, 0, 0, 0), 0.0, 0.0)
_NO_CROSS = CrossSums(0.0, 0.0, 0.0, 0.0)


class Layout(Struct, frozen=True):
    """Which columns take part in a request over these files, and how they are named in SQL."""

    slices: tuple[str, ...]
    wheres: tuple[Where, ...]
    extras: tuple[str, ...]
    quantities: Mapping[str, QuantitySql]
    weights: tuple[Fraction, ...]  # the distinct products of the policy's weights
    weight_index: str  # SQL for the place of a scenario's weight among them: whole numbers group and add exactly
    columns: frozenset[str]  # those of the results, and those that the suite fills in
    per_k: bool  # whether pass_at_K or pass_hat_K is requested, so that scenarios are grouped by passed trials
    demands: bool  # whether a suite says what its scenarios must be judged by
    ends: Mapping[str, Ends]
    # The bit of a quantity in `lone`: set for a scenario in which no trial is given the quantity, but an error or an
    # open trial has it anyway. 0 if every trial has the quantity.
    lone_bits: Mapping[str, int]

    @property
    def measured(self) -> tuple[Column, ...]:
        """The measured columns that some quantity is computed from."""
        used = {recorded_column(name) for name in self.quantities}
        return tuple(column for column in MEASURED if column.name in used)

    @property
    def large_numbers(self) -> LargeNumbers:
        """The columns whose numbers, or whose sums, may need more than 64 bits."""
        fit = {column.name: column.bounded or column.form == "whole" for column in self.measured}
        return LargeNumbers(
            values=frozenset(
                [scaled_name(name) for name, fits in fit.items() if not fits]
                + [scaled_name(f"extra_{i}") for i in range(len(self.extras))]
            ),
            sums=frozenset(one.total for name, one in self.quantities.items() if fit.get(recorded_column(name))),
        )

    @property
    def bits(self) -> int:
        """The bits of everything that trials of these files can be judged by."""
        found = scoring.ANSWER if self.columns & {"correct", "outcome", "expected"} else 0
        found |= scoring.BEHAVIORS if "expected_behaviors" in self.columns else 0
        found |= scoring.MUST_NOTS if "must_not" in self.columns else 0
        found |= scoring.ANSWER | scoring.BEHAVIORS | scoring.MUST_NOTS if self.demands else 0
        found |= scoring.OWN if "passed" in self.columns else 0
        return found | (scoring.VIOLATIONS if "violations" in self.columns else 0)

    @property
    def may_differ(self) -> bool:
        """Whether a trial can be judged by less than its scenario."""
        return self.demands or (self.repeated and self.bits > 0)

    @property
    def repeated(self) -> bool:
        """Whether a scenario may have several trials."""
        return "trial" in self.columns

    @property
    def clustered(self) -> bool:
        """Whether scenarios may be in clusters, and so not independent."""
        return "cluster" in self.columns

    @property
    def own_weight(self) -> bool:
        """Whether scenarios bring their own weights."""
        return "weight" in self.columns

    def optional_columns(self) -> list[str]:
        """Columns of a scenario that only some results have: the index of its weight, its own weight, its cluster."""
        some = (("weight_index", len(self.weights) > 1), ("own_weight", self.own_weight), ("cluster", self.clustered))
        return [name for name, there in some if there]

    def flag(self, where: Where) -> str:
        """The column that tells whether a filter selects a scenario."""
        return f"where_{self.wheres.index(where)}"


def layout_of(parts: Sequence[SourcePart], request: Request) -> Layout:
    """The columns that take part in this request over these files."""
    wanted: list[Term | Percentile] = [*request.terms, *request.percentiles]
    named = dict.fromkeys(item.column for item in wanted)
    # Columns of the user's own get numbered names in SQL: their real names may be anything.
    extras = tuple(name.removeprefix(EXTRA) for name in named if name.startswith(EXTRA))
    quantities = request_quantities(named, extras, request.ends)
    weights, weight_index = _weight_index(request.weights)
    return Layout(
        slices=request.slices,
        wheres=tuple(dict.fromkeys(where for where in (*_wheres(request), *(item.where for item in wanted)) if where)),
        extras=extras,
        quantities=quantities,
        weights=weights,
        weight_index=weight_index,
        columns=frozenset(name for part in parts for name in part.columns) | _suite_columns(request),
        per_k=any(name.startswith(("pass_at_", "pass_hat_")) for name in named),
        demands=bool(request.suite and request.suite.demands),
        ends=request.ends,
        lone_bits=_lone_bits(quantities),
    )


def _lone_bits(quantities: Mapping[str, QuantitySql]) -> Mapping[str, int]:
    """A bit for every column that counts trials; quantities that share the column share the bit."""
    counts = dict.fromkeys(one.count for one in quantities.values() if not one.of_every_trial)
    bits = {count: 1 << place for place, count in enumerate(counts)}
    return {name: bits.get(one.count, 0) for name, one in quantities.items()}


def _wheres(request: Request) -> Iterator[Where]:
    """The filters of rules that name their undecided trials; the sums of a margin are not requested, but these are."""
    for demand in request.undecided:
        yield from (where for _, where in demand.parts)


def _suite_columns(request: Request) -> frozenset[str]:
    """The columns that the suite fills in for trials that do not have them."""
    fields = request.suite.scenarios.values() if request.suite else ()
    return frozenset({*DESCRIPTION_COLUMNS} & {name for each in fields for name in each})


def _weight_index(weights: Weights) -> tuple[tuple[Fraction, ...], str]:
    """The distinct products of category and capability weights, and SQL for a scenario's place among them."""
    any_other = ("", Fraction(1))
    categories = [*((f"category = {literal(name)}", w) for name, w in weights.by_category.items()), any_other]
    capabilities = [*((f"capability = {literal(name)}", w) for name, w in weights.by_capability.items()), any_other]
    products = sorted({a * b for _, a in categories for _, b in capabilities})
    # Without weights the column would be one more key by which every row is grouped.
    if len(products) == 1:
        return ONE, "0"
    cases = [
        f"WHEN {' AND '.join(filter(None, (first, second)))} THEN {products.index(a * b)}"
        for first, a in categories
        for second, b in capabilities
        if first or second
    ]
    return tuple(products), f"CASE {' '.join(cases)} ELSE {products.index(Fraction(1))} END"


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
