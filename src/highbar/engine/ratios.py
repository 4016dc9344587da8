"""The sums of products that bounds are made from: Σz², Σzd, Σd² of a ratio, and the same across two ratios.

For the skewness of a ratio there are also Σz³, Σz²d, Σzd² and Σd³; if only trials vary, the weight of the heaviest one.

A unit is a scenario, or, with a `cluster` column, all scenarios of a cluster. Units that are scenarios are summed in
the profile, in the same pass as everything else; with clusters each group is summed by cluster first. If every z and d
is 0 or 1, nothing needs to be summed: then Σz² and Σzd are Σz, and Σd² is Σd.
"""

from __future__ import annotations

from fractions import Fraction

from msgspec import Struct

from highbar.catalogue import is_repeated
from highbar.columns import BY_NAME, quantities_of
from highbar.engine.layout import Layout
from highbar.engine.protocol import Request
from highbar.engine.quantities import EVERY_TRIAL, contribution, pass_k_sql
from highbar.model import Linear, Ratio, Term

COUNTED = quantities_of("counted") | {"scenario"}
"""Quantities that are 0 or 1 in a scenario of one trial."""

ONE = "1e0"
THIRDS = ("zzz", "zzd", "zdd", "ddd")
"""The columns with the sums of three factors."""


def double(number: Fraction) -> str:
    """A number as an SQL double: without an exponent DuckDB would read a decimal."""
    return f"CAST({float(number)!r} AS DOUBLE)"


class Sides(Struct, frozen=True):
    """SQL for what a scenario adds to each sum."""

    layout: Layout

    def is_plain(self, ratio: Ratio) -> bool:
        """Whether z and d can only be 0 or 1 in every scenario, and each scenario is a unit."""
        terms = [term for term, _ in (*ratio.z, *ratio.d)]
        counted = all(t.column in COUNTED or t.of == "count" for t in terms) and all(
            factor == 1 for _, factor in (*ratio.z, *ratio.d)
        )
        single = not self.layout.repeated and not self.layout.clustered and not self._is_weighted(ratio)
        return counted and single and _never_both(ratio.z) and _never_both(ratio.d)

    def is_mean(self, ratio: Ratio) -> bool:
        """Whether d only tells which scenarios have a value: then Σzd is Σz, and Σd² is Σd."""
        (term, factor), *more = ratio.d
        counts_scenarios = term.of == "count" or term.column == "scenario"
        return (
            counts_scenarios and factor == 1 and not more and not self.layout.clustered and not self._is_weighted(ratio)
        )

    def _is_weighted(self, ratio: Ratio) -> bool:
        has_weights = self.layout.own_weight or len(self.layout.weights) > 1
        return has_weights and any(term.weighted for term, _ in (*ratio.z, *ratio.d))

    def linear(self, linear: Linear) -> str:
        """SQL for what a scenario adds to a weighted sum of terms."""
        parts = (self.term(term) if factor == 1 else f"{double(factor)} * {self.term(term)}" for term, factor in linear)
        return " + ".join(parts)

    def term(self, term: Term) -> str:
        """SQL for what a scenario adds to one term, as a double; 0 if it has no value."""
        # Doubles are enough for bounds, which are estimates; values come from exact sums (`totals.py`).
        conditions = [self.layout.flag(term.where)] if term.where else []
        trials, value = self._value(term)
        if trials:
            conditions.append(f"{trials} > 0")
        weight = self._weight() if term.weighted else ONE
        part = weight if term.of == "count" or value == ONE else value if weight == ONE else f"{value} * {weight}"
        return f"(CASE WHEN {' AND '.join(conditions)} THEN {part} ELSE 0e0 END)" if conditions else f"({part})"

    def trials(self, ratio: Ratio) -> str:
        """SQL for the number of a scenario's trials that a ratio rests on.

        For pass@k and pass^k this is how many groups of k trials there are that share no trial: the mean over all
        groups varies no more than the mean over these (Hoeffding 1963), and up to k times as much as a mean of trials.
        """
        column = ratio.z[0][0].column
        if is_repeated(column):
            return f"floor({EVERY_TRIAL} / {column.rpartition('_')[2]}e0)"
        return self._value(ratio.z[0][0])[0] or EVERY_TRIAL

    def heaviest_trial(self, ratio: Ratio) -> str:
        """SQL for the most that one of a scenario's trials can add to the lower sum of a ratio.

        If the lower sum is random (precision), a trial can add its whole weight, whatever the scenario's mean is.
        """
        d = self.linear(ratio.d)
        weight = self._weight() if any(term.weighted for term, _ in ratio.d) else ONE
        return f"CASE WHEN ({d}) > 0 THEN greatest({d}, {weight}) / nullif({self.trials(ratio)}, 0) END"

    def _weight(self) -> str:
        by_policy = ONE
        if len(self.layout.weights) > 1:
            cases = " ".join(f"WHEN {i} THEN {double(weight)}" for i, weight in enumerate(self.layout.weights))
            by_policy = f"(CASE weight_index {cases} END)"
        own = f"(CAST(own_weight AS DOUBLE) / {BY_NAME['weight'].scale}e0 * {by_policy})"
        return own if self.layout.own_weight else by_policy

    def _value(self, term: Term) -> tuple[str, str]:
        """The column that counts the trials with the quantity, empty if every scenario has it; and SQL for the mean."""
        column = term.column
        if column == "scenario":
            return "", ONE
        if is_repeated(column):
            return "", pass_k_sql(column)
        of_scenario = contribution(self.layout.quantities, column)
        return of_scenario.count, of_scenario.sql


def _never_both(linear: Linear) -> bool:
    """Whether at most one of the terms can be 1: tp and fp, or tp and fn. An undecided trial may be both fp and fn."""
    columns = {term.column for term, _ in linear}
    return len(linear) == 1 or (columns in ({"tp", "fp"}, {"tp", "fn"}) and all(term.of == "sum" for term, _ in linear))


def side_columns(sides: Sides, request: Request) -> list[tuple[str, str]]:
    """Names and SQL of z and d of every ratio that `aggregates` over scenarios names."""
    crossed = {ratio for pair in request.crosses for ratio in pair}
    named = [(i, ratio) for i, ratio in enumerate(request.ratios) if ratio in crossed or not sides.is_plain(ratio)]
    return [(f"{side}_{i}", sides.linear(of)) for i, ratio in named for side, of in (("z", ratio.z), ("d", ratio.d))]


def aggregates(sides: Sides, request: Request, *, one_pass: bool) -> list[tuple[str, str]]:
    """Names and SQL of the sums over scenarios in `one_pass`, or over clusters; each row has columns z_i and d_i."""
    found: list[tuple[str, str]] = []
    for i, ratio in enumerate(request.ratios):
        if one_pass and sides.is_plain(ratio):
            continue
        z, d = f"z_{i}", f"d_{i}"
        found.append((f"zz_{i}", f"sum({z} * {z})"))
        if not (one_pass and sides.is_mean(ratio)):
            found += [
                (f"units_{i}", f"sum(CAST({d} > 0 AS INTEGER))"),
                (f"zd_{i}", f"sum({z} * {d})"),
                (f"dd_{i}", f"sum({d} * {d})"),
                (f"largest_{i}", f"max({d})"),
            ]
        if ratio in request.thirds:
            cubes = ((z, z, z), (z, z, d), (z, d, d), (d, d, d))
            found += [(f"{kind}_{i}", f"sum({' * '.join(cube)})") for kind, cube in zip(THIRDS, cubes, strict=True)]
        if request.count_failures:
            found += [
                (f"imperfect_{i}", f"sum(CAST({z} < {d} AS INTEGER))"),
                (f"nonzero_{i}", f"sum(CAST({z} > 0 AS INTEGER))"),
            ]
        if request.trial_noise:
            found.append((f"heaviest_{i}", f"max({sides.heaviest_trial(ratio) if one_pass else f'heaviest_{i}'})"))
    for j, (first, second) in enumerate(request.crosses):
        a, b = request.ratios.index(first), request.ratios.index(second)
        found += [(f"cross_{kind}_{j}", f"sum({kind[0]}_{a} * {kind[1]}_{b})") for kind in ("zz", "zd", "dz", "dd")]
    return found


def profile_aggregate(name: str) -> str:
    """SQL for how a sum is combined from profile rows."""
    return f"max({name})" if name.startswith(("largest_", "heaviest_")) else f"sum({name})"


def by_cluster(sides: Sides, request: Request, groups: str) -> str:
    """SQL for the sums over clusters in each group, in one query: planning one per slice takes longer than running it.

    `groups` is SQL for the names of the groups that a scenario is in, one row for each. A scenario without a cluster is
    a cluster of its own.
    """
    parts, sums = [], []
    for i, ratio in enumerate(request.ratios):
        parts.append(f"{sides.linear(ratio.z)} AS z_{i}, {sides.linear(ratio.d)} AS d_{i}")
        sums.append(f"sum(z_{i}) AS z_{i}, sum(d_{i}) AS d_{i}")
        if request.trial_noise:
            parts.append(f"{sides.heaviest_trial(ratio)} AS heaviest_{i}")
            sums.append(f"max(heaviest_{i}) AS heaviest_{i}")
    # `CASE … THEN id`: scenarios without a cluster must not fall together into the one group of NULL.
    alone = "CASE WHEN cluster IS NULL THEN id END AS alone"
    scenarios = f"SELECT {groups} AS group_name, cluster, {alone}, {', '.join(parts)} FROM scenarios"
    clusters = (
        f"SELECT group_name, {', '.join(sums)} FROM ({scenarios}) WHERE group_name IS NOT NULL"
        " GROUP BY group_name, cluster, alone"
    )
    products = ", ".join(f"{sql} AS {name}" for name, sql in aggregates(sides, request, one_pass=False))
    return f"SELECT group_name, {products} FROM ({clusters}) GROUP BY group_name"
