"""The sums of products that bounds are made from: Σz², Σzd, Σd² of a ratio, and the same across two ratios.

For the skewness of a ratio there are also Σz³, Σz²d, Σzd² and Σd³; if only trials vary, the weight of the heaviest one.

A unit is a scenario, or, with a `cluster` column, all scenarios of a cluster. Units that are scenarios are summed in
the profile, in the same pass as everything else; with clusters each group is summed by cluster first. If every z and d
is 0 or 1, nothing needs to be summed: then Σz² and Σzd are Σz, and Σd² is Σd.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from highbar.catalogue import is_repeated
from highbar.columns import BY_NAME, quantities_of
from highbar.engine.layout import Layout
from highbar.engine.protocol import Request
from highbar.engine.quantities import EVERY_TRIAL, contribution, is_mean_of_trials, pass_k_sql
from highbar.model import Linear, Ratio, Term
from highbar.model.reduction import RatioTotals, Total
from highbar.statistics.bounds import Sums, effective_trials
from highbar.statistics.composite import CrossSums
from highbar.statistics.ratio import ThirdSums
from highbar.statistics.trials import own_noise

COUNTED = quantities_of("counted") | {"scenario"}
"""Quantities that are 0 or 1 in a scenario of one trial."""

ONE = "1e0"
THIRDS = ("zzz", "zzd", "zdd", "ddd")
"""The columns with the sums of three factors."""


def _double(number: Fraction) -> str:
    """A number as an SQL double: without an exponent DuckDB would read a decimal."""
    return f"CAST({float(number)!r} AS DOUBLE)"


def _is_plain(layout: Layout, ratio: Ratio) -> bool:
    """Whether z and d can only be 0 or 1 in every scenario, and each scenario is a unit."""
    terms = [term for term, _ in (*ratio.z, *ratio.d)]
    counted = all(t.column in COUNTED or t.of == "count" for t in terms) and all(
        factor == 1 for _, factor in (*ratio.z, *ratio.d)
    )
    single = not layout.repeated and not layout.clustered and not _is_weighted(layout, ratio)
    return counted and single and _never_both(ratio.z) and _never_both(ratio.d)


def _is_mean(layout: Layout, ratio: Ratio) -> bool:
    """Whether d only tells which scenarios have a value: then Σzd is Σz, and Σd² is Σd."""
    (term, factor), *more = ratio.d
    counts_scenarios = term.of == "count" or term.column == "scenario"
    return counts_scenarios and factor == 1 and not more and not layout.clustered and not _is_weighted(layout, ratio)


def _is_weighted(layout: Layout, ratio: Ratio) -> bool:
    has_weights = layout.own_weight or len(layout.weights) > 1
    return has_weights and any(term.weighted for term, _ in (*ratio.z, *ratio.d))


def _linear_sql(layout: Layout, linear: Linear) -> str:
    """SQL for what a scenario adds to a weighted sum of terms."""
    parts = (
        _term_sql(layout, term) if factor == 1 else f"{_double(factor)} * {_term_sql(layout, term)}"
        for term, factor in linear
    )
    return " + ".join(parts)


def _term_sql(layout: Layout, term: Term) -> str:
    """SQL for what a scenario adds to one term, as a double; 0 if it has no value."""
    # Doubles are enough for bounds, which are estimates; values come from exact sums (`totals.py`).
    conditions = [layout.flag(term.where)] if term.where else []
    trials, value = _value_sql(layout, term)
    if trials:
        conditions.append(f"{trials} > 0")
    weight = _weight_sql(layout) if term.weighted else ONE
    part = weight if term.of == "count" or value == ONE else value if weight == ONE else f"{value} * {weight}"
    return f"(CASE WHEN {' AND '.join(conditions)} THEN {part} ELSE 0e0 END)" if conditions else f"({part})"


def _trials_sql(layout: Layout, ratio: Ratio) -> str:
    """SQL for the number of a scenario's trials that a ratio rests on.

    For pass@k and pass^k this is how many groups of k trials there are that share no trial: the mean over all
    groups varies no more than the mean over these (Hoeffding 1963), and up to k times as much as a mean of trials.
    """
    column = ratio.z[0][0].column
    if is_repeated(column):
        return f"floor({EVERY_TRIAL} / {column.rpartition('_')[2]}e0)"
    return _value_sql(layout, ratio.z[0][0])[0] or EVERY_TRIAL


def _heaviest_trial(layout: Layout, ratio: Ratio) -> str:
    """SQL for the most that one of a scenario's trials can add to the lower sum of a ratio.

    If the lower sum is random (precision), a trial can add its whole weight, whatever the scenario's mean is.
    """
    d = _linear_sql(layout, ratio.d)
    weight = _weight_sql(layout) if any(term.weighted for term, _ in ratio.d) else ONE
    return f"CASE WHEN ({d}) > 0 THEN greatest({d}, {weight}) / nullif({_trials_sql(layout, ratio)}, 0) END"


def _trial_columns(layout: Layout, ratio: Ratio, z: str, d: str) -> list[tuple[str, str, str]]:
    """What only the noise of trials needs of a scenario: a name, how it is added up, and its SQL, from its z and d."""
    found = [("heaviest", "max", _heaviest_trial(layout, ratio))]
    if layout.repeated and is_mean_of_trials(ratio):
        trials = _trials_sql(layout, ratio)
        several = f"WHEN {d} > 0 AND {trials} > 1 THEN"
        # A scenario with one trial does not show its variance: the largest counts.
        within = f"CASE {several} {z} * ({d} - {z}) / ({trials} - 1e0) WHEN {d} > 0 THEN {d} * {d} / 4e0 ELSE 0e0 END"
        found.append(("within", "sum", within))
        found.append(("pair", "max", f"CASE {several} {d} * {d} / ({trials} * ({trials} - 1e0)) END"))
    return found


def _weight_sql(layout: Layout) -> str:
    by_policy = ONE
    if len(layout.weights) > 1:
        cases = " ".join(f"WHEN {i} THEN {_double(weight)}" for i, weight in enumerate(layout.weights))
        by_policy = f"(CASE weight_index {cases} END)"
    own = f"(CAST(own_weight AS DOUBLE) / {BY_NAME['weight'].scale}e0 * {by_policy})"
    return own if layout.own_weight else by_policy


def _value_sql(layout: Layout, term: Term) -> tuple[str, str]:
    """The column that counts the trials with the quantity, empty if every scenario has it; and SQL for the mean."""
    column = term.column
    if column == "scenario":
        return "", ONE
    if is_repeated(column):
        return "", pass_k_sql(column)
    of_scenario = contribution(layout.quantities, column)
    return of_scenario.count, of_scenario.sql


def _never_both(linear: Linear) -> bool:
    """Whether at most one of the terms can be 1: tp and fp, or tp and fn. An undecided trial may be both fp and fn."""
    columns = {term.column for term, _ in linear}
    return len(linear) == 1 or (columns in ({"tp", "fp"}, {"tp", "fn"}) and all(term.of == "sum" for term, _ in linear))


def side_columns(layout: Layout, request: Request) -> list[tuple[str, str]]:
    """Names and SQL of z and d of every ratio that `aggregates` over scenarios names."""
    crossed = {ratio for pair in request.crosses for ratio in pair}
    named = [(i, ratio) for i, ratio in enumerate(request.ratios) if ratio in crossed or not _is_plain(layout, ratio)]
    return [
        (f"{side}_{i}", _linear_sql(layout, of)) for i, ratio in named for side, of in (("z", ratio.z), ("d", ratio.d))
    ]


def aggregates(layout: Layout, request: Request, *, one_pass: bool) -> list[tuple[str, str]]:
    """Names and SQL of the sums over scenarios in `one_pass`, or over clusters; each row has columns z_i and d_i."""
    found: list[tuple[str, str]] = []
    for i, ratio in enumerate(request.ratios):
        if one_pass and _is_plain(layout, ratio):
            continue
        z, d = f"z_{i}", f"d_{i}"
        found.append((f"zz_{i}", f"sum({z} * {z})"))
        if not (one_pass and _is_mean(layout, ratio)):
            found += [
                (f"units_{i}", f"sum(CAST({d} > 0 AS INTEGER))"),
                (f"zd_{i}", f"sum({z} * {d})"),
                (f"dd_{i}", f"sum({d} * {d})"),
                (f"largest_{i}", f"max({d})"),
            ]
        if ratio in request.thirds:
            cubes = ((z, z, z), (z, z, d), (z, d, d), (d, d, d))
            found += [(f"{kind}_{i}", f"sum({' * '.join(of)})") for kind, of in zip(THIRDS, cubes, strict=True)]
        if request.count_failures:
            found += [
                (f"imperfect_{i}", f"sum(CAST({z} < {d} AS INTEGER))"),
                (f"nonzero_{i}", f"sum(CAST({z} > 0 AS INTEGER))"),
            ]
        if request.trial_noise:
            for name, add_up, sql in _trial_columns(layout, ratio, z, d):
                found.append((f"{name}_{i}", f"{add_up}({sql if one_pass else f'{name}_{i}'})"))
    for j, (first, second) in enumerate(request.crosses):
        a, b = request.ratios.index(first), request.ratios.index(second)
        found += [(f"cross_{kind}_{j}", f"sum({kind[0]}_{a} * {kind[1]}_{b})") for kind in ("zz", "zd", "dz", "dd")]
    return found


def profile_aggregate(name: str) -> str:
    """SQL for how a sum is combined from profile rows."""
    return f"max({name})" if name.startswith(("largest_", "heaviest_", "pair_")) else f"sum({name})"


def by_cluster(layout: Layout, request: Request, groups: str) -> str:
    """SQL for the sums over clusters in each group, in one query: planning one per slice takes longer than running it.

    `groups` is SQL for the names of the groups that a scenario is in, one row for each. A scenario without a cluster is
    a cluster of its own.
    """
    parts, sums = [], []
    for i, ratio in enumerate(request.ratios):
        z, d = _linear_sql(layout, ratio.z), _linear_sql(layout, ratio.d)
        parts.append(f"{z} AS z_{i}, {d} AS d_{i}")
        sums.append(f"sum(z_{i}) AS z_{i}, sum(d_{i}) AS d_{i}")
        if request.trial_noise:
            for name, add_up, sql in _trial_columns(layout, ratio, f"({z})", f"({d})"):
                parts.append(f"{sql} AS {name}_{i}")
                sums.append(f"{add_up}({name}_{i}) AS {name}_{i}")
    # `CASE … THEN id`: scenarios without a cluster must not fall together into the one group of NULL.
    alone = "CASE WHEN cluster IS NULL THEN id END AS alone"
    scenarios = f"SELECT {groups} AS group_name, cluster, {alone}, {', '.join(parts)} FROM scenarios"
    clusters = (
        f"SELECT group_name, {', '.join(sums)} FROM ({scenarios}) WHERE group_name IS NOT NULL"
        " GROUP BY group_name, cluster, alone"
    )
    products = ", ".join(f"{sql} AS {name}" for name, sql in aggregates(layout, request, one_pass=False))
    return f"SELECT group_name, {products} FROM ({clusters}) GROUP BY group_name"


def ratio_totals(
    layout: Layout, place: int, ratio: Ratio, totals: Mapping[Term, Total], row: Mapping[str, Any]
) -> RatioTotals:
    """The sums of one ratio in one group, from the sums of products in `row`."""
    z = sum((factor * totals[term].value for term, factor in ratio.z), Fraction(0))
    d = sum((factor * totals[term].value for term, factor in ratio.d), Fraction(0))
    if _is_plain(layout, ratio):
        return RatioTotals(Sums(int(d), d, z, z, z, d), 1.0, float(d), None, int(d - z), int(z))
    heaviest = row.get(f"heaviest_{place}")
    trials = float(effective_trials(d, heaviest)) if heaviest else 0.0
    thirds = None
    if row.get(f"{THIRDS[0]}_{place}") is not None:
        thirds = ThirdSums(*(row[f"{kind}_{place}"] for kind in THIRDS))
    within, pair = row.get(f"within_{place}"), row.get(f"pair_{place}")
    noise = None if within is None or pair is None or not d else own_noise(z / d, trials, float(d), within, pair)
    others = thirds, row.get(f"imperfect_{place}"), row.get(f"nonzero_{place}"), noise
    if _is_mean(layout, ratio):
        return RatioTotals(Sums(int(d), d, z, row[f"zz_{place}"], z, d), 1.0, trials, *others)
    squares = (row[f"{kind}_{place}"] for kind in ("zz", "zd", "dd"))
    return RatioTotals(Sums(row[f"units_{place}"], d, z, *squares), row[f"largest_{place}"], trials, *others)


def cross_totals(place: int, row: Mapping[str, Any]) -> CrossSums:
    """The sums of products across two ratios."""
    return CrossSums(*(row[f"cross_{kind}_{place}"] for kind in ("zz", "zd", "dz", "dd")))
