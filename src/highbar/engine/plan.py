"""A request → the SQL of the reduction, in three relations: trials, scenarios, profile.

    trials      one row per trial: scored, every number a whole number
    scenarios   one row per scenario: how many of its trials have a measure, and the sum over those
    profile     scenarios counted and summed by slice values and by denominators, so that shares such as 1/3 add up exactly

Only what the request asks for and the files hold takes part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from highbar.engine import ratios, scoring
from highbar.engine.protocol import Request
from highbar.engine.sources import Part
from highbar.engine.sql import identifier, literal, pointer
from highbar.engine.typed import EMPTY, READERS, Raw, Typed, number
from highbar.model import Percentile, Term, Weights, Where

COMMON_DENOMINATOR = 5_342_931_457_063_200
"""The least common multiple of 1 to 40: trials of one scenario that expect different numbers of behaviors meet here."""
FINEST = 10**15
"""Where even that is not a multiple (more than 40 expected behaviors, and not the same number in each trial)."""

MEASURES: dict[str, tuple[str, str, str]] = {
    "passed": ("n", "kp", "count_if(p)"),
    "error": ("n", "ke", "count_if(e)"),
    "violated": ("n", "kv", "count_if(v)"),
    "unjudged": ("n", "ku", "count_if(u)"),
    "correct": ("n_c", "kc", "count_if(c)"),
    "tp": ("n_o", "k_tp", "count_if(tp)"),
    "fp": ("n_o", "k_fp", "count_if(fp)"),
    "fn": ("n_o", "k_fn", "count_if(fn)"),
    "observed": ("n_e", "k_seen", "sum(k)"),
    "expected": ("n_e", "k_wanted", "sum(m)"),
    "behavior_score": ("n_s", "k_score", ""),
    "quality_both": ("n_b", "k_qb", "sum(q) FILTER (q IS NOT NULL AND tokens IS NOT NULL)"),
    "tokens_both": ("n_b", "k_tb", "sum(tokens) FILTER (q IS NOT NULL AND tokens IS NOT NULL)"),
    "quality_score": ("n_q", "k_q", "sum(q)"),
    "tokens_used": ("n_t", "k_t", "sum(tokens)"),
    "cost_usd": ("n_d", "k_d", "sum(cost)"),
    "latency_ms": ("n_l", "k_l", "sum(latency) FILTER (latency_known)"),
}
"""A column that a term can name: how many trials have it, the sum's name, and the sum over a scenario's trials."""

COUNTS: dict[str, str] = {
    "n": "count(*)",
    "n_c": "count_if(c_has)",
    "n_bare": "count_if(bare)",
    "n_o": "count_if(o_has)",
    "n_e": "count_if(m > 0)",
    "n_s": "count_if(s_has)",
    "n_b": "count_if(q IS NOT NULL AND tokens IS NOT NULL)",
    "n_q": "count(q)",
    "n_t": "count(tokens)",
    "n_d": "count(cost)",
    "n_l": "count_if(latency_known)",
    "n_bad": "count_if(bad)",
}


@dataclass(frozen=True, slots=True)
class Plan:
    """The relations, and how to read their columns."""

    trials: str
    scenarios: str
    profile: str
    keys: tuple[str, ...]
    sums: tuple[str, ...]
    sides: ratios.Sides
    clustered: bool
    wheres: tuple[Where, ...]
    weights: tuple[Fraction, ...]
    own_weight: bool
    extras: tuple[str, ...]
    repeated: bool
    parse_once: bool  # text is parsed once and kept; Parquet is read again, which is cheaper than keeping it


def make(parts: Sequence[Part], request: Request) -> Plan:
    """The SQL for this request over these files."""
    held = {name for part in parts for name in part.columns}
    wanted: list[Term | Percentile] = [*request.terms, *request.percentiles]
    wheres = tuple(dict.fromkeys(item.where for item in wanted if item.where))
    extras = tuple(
        dict.fromkeys(item.column.removeprefix("extra:") for item in wanted if item.column.startswith("extra:"))
    )
    weights, weight_index = _weight_index(request.weights)
    own_weight = "weight" in held
    repeated = "trial" in held
    per_k = any(t.column.startswith(("pass_at_", "pass_hat_")) for t in request.terms)
    keys = _keys(request, wheres, extras, held, weights, per_k)
    clustered = "cluster" in held
    measures = {name: (having, total) for name, (having, total, _) in MEASURES.items()}
    measures |= {f"extra:{name}": (f"n_x{i}", f"k_x{i}") for i, name in enumerate(extras)}
    sides = ratios.Sides(wheres, weights, own_weight, measures, frozenset(keys), repeated)
    sums = [(name, f"sum({sql})") for name, sql in _sums(extras, held, own_weight, repeated)]
    if not clustered:
        sums += ratios.aggregates(sides, request.ratios, request.crosses, one_pass=True)
    aggregates = ", ".join(f"{sql} AS {name}" for name, sql in sums)
    return Plan(
        trials=_trials(parts, request, wheres, extras, weight_index, held),
        scenarios=_scenarios(request, wheres, extras, repeated),
        profile=f"SELECT {', '.join(keys)}, count(*) AS scenarios, {aggregates} FROM scenarios GROUP BY ALL",
        keys=keys,
        sums=tuple(name for name, _ in sums),
        sides=sides,
        clustered=clustered,
        wheres=wheres,
        weights=weights,
        own_weight=own_weight,
        extras=extras,
        repeated=repeated,
        parse_once=any(file.format != "parquet" for part in parts for file in part.files),
    )


def _weight_index(weights: Weights) -> tuple[tuple[Fraction, ...], str]:
    """The distinct products of category and capability weights, and SQL for a scenario's place among them."""
    categories = [(f"category = {literal(name)}", weight) for name, weight in weights.by_category.items()]
    capabilities = [(f"capability = {literal(name)}", weight) for name, weight in weights.by_capability.items()]
    products = sorted(
        {a * b for _, a in [*categories, ("", Fraction(1))] for _, b in [*capabilities, ("", Fraction(1))]}
    )
    if len(products) == 1:
        return (Fraction(1),), "0"
    cases = [
        f"WHEN {' AND '.join(filter(None, (first, second)))} THEN {products.index(a * b)}"
        for first, a in [*categories, ("", Fraction(1))]
        for second, b in [*capabilities, ("", Fraction(1))]
        if first or second
    ]
    return tuple(products), f"CASE {' '.join(cases)} ELSE {products.index(Fraction(1))} END"


def _keys(
    request: Request,
    wheres: tuple[Where, ...],
    extras: tuple[str, ...],
    held: set[str],
    weights: tuple[Fraction, ...],
    per_k: bool,
) -> tuple[str, ...]:
    keys = [f"by_{i}" for i in range(len(request.slices))] + [f"w_{i}" for i in range(len(wheres))]
    keys += ["n", "n_c", "n_bare", "n_o", "n_e", "n_s", "s_den"]
    keys += ["n_q"] + (["n_t", "n_b"] if "tokens_used" in held else [])
    keys += ["n_d"] * ("cost_usd" in held) + ["n_l"] * ("latency_ms" in held)
    keys += [f"n_x{i}" for i in range(len(extras))]
    keys += ["wi"] * (len(weights) > 1) + ["kp"] * per_k
    return tuple(keys)


def _sums(extras: tuple[str, ...], held: set[str], own_weight: bool, repeated: bool) -> list[tuple[str, str]]:
    absent = {"tokens_used": ("k_t", "k_tb", "k_qb"), "cost_usd": ("k_d",), "latency_ms": ("k_l",)}
    left_out = {name for column, names in absent.items() if column not in held for name in names}
    names = [name for _, name, _ in MEASURES.values() if name not in left_out]
    names += [f"k_x{i}" for i in range(len(extras))]
    sums = [("bad", "n_bad"), ("failed", "CAST(kp < n AS INTEGER)"), *((f"sum_{name}", name) for name in names)]
    if repeated:
        sums += [("flaky", "CAST(kp > 0 AND kp < n AS INTEGER)"), ("sum_kp_kp", "kp * kp")]
    if own_weight:
        sums += [("sum_w", "own")] + [
            (f"sum_w_{name}", f"CAST(own AS HUGEINT) * {name}") for name in ("kp", "k_score", "kc", "ke", "kv")
        ]
    return sums


# --- trials ----------------------------------------------------------------------------------


def _trials(
    parts: Sequence[Part],
    request: Request,
    wheres: tuple[Where, ...],
    extras: tuple[str, ...],
    weight_index: str,
    held: set[str],
) -> str:
    columns = dict.fromkeys([*request.slices, *(column for where in wheres for column, _ in where)])
    typed = " UNION ALL ".join(_typed(part, tuple(columns), extras) for part in parts)
    evidence = _select(typed, scoring.evidence_columns(request.positive))
    answers = _select(evidence, scoring.answer_columns())
    passing = _select(answers, scoring.passing_columns(request.pass_score))
    places = {column: f"col_{i}" for i, column in enumerate(columns)}
    quality = "CASE WHEN e THEN 0 ELSE CAST(round(quality_score * 1e12) AS BIGINT) END"
    last: list[tuple[str, str]] = [
        ("id", "id"),
        *([("trial", "trial")] if "trial" in held else []),
        ("category", "category"),
        ("capability", "capability"),
        ("cluster", "cluster"),
        ("agent_version", "agent_version"),
        *[(f"by_{i}", places[column]) for i, column in enumerate(request.slices)],
        *[(f"w_{i}", _lets_through(where, places)) for i, where in enumerate(wheres)],
        ("wi", f"CAST({weight_index} AS INTEGER)"),
        (
            "own",
            f"CAST(round(coalesce(weight, 1) * {scoring.FIXED['weight']}) AS HUGEINT)" if "weight" in held else "NULL",
        ),
        *[(name, name) for name in ("e", "v", "p", "u", "c_has", "c", "o_has", "tp", "fp", "fn", "bare", "s_has")],
        *[(name, f"CAST({name} AS INTEGER)") for name in ("m", "k", "s_m", "s_k")],
        ("q", quality),
        ("tokens", "tokens_used"),
        ("cost", "CAST(round(cost_usd * 1e12) AS HUGEINT)"),
        ("latency_known", "latency_ms IS NOT NULL"),
        ("latency", "CAST(round(latency_ms * 1e6) AS HUGEINT)"),
        ("latency_rank", "CASE WHEN e THEN CAST('Infinity' AS DOUBLE) ELSE latency_ms END"),
        *[(f"x{i}", f"CAST(round(extra_{i} * {scoring.EXTRA_SCALE}) AS HUGEINT)") for i in range(len(extras))],
        scoring.why_column(),
        ("bad", "bad"),
    ]
    return f"SELECT {', '.join(f'{expression} AS {name}' for name, expression in last)} FROM ({passing})"


def _select(relation: str, columns: Sequence[tuple[str, str]]) -> str:
    added = ", ".join(f"({expression}) AS {name}" for name, expression in columns)
    return f"SELECT *, {added} FROM ({relation})"


def _typed(part: Part, columns: tuple[str, ...], extras: tuple[str, ...]) -> str:
    """One part's rows with the typed columns, the columns that slices and filters name, and the user's own numbers."""
    values = {name: f"CAST(NULL AS {type_})" for name, type_ in EMPTY.items()}
    bad: list[str] = ["id IS NULL"] if "id" not in part.columns else []
    wanted = [name for name in READERS if name in part.columns]
    for name in wanted:
        read = READERS[name](name, part.columns[name])
        values.update({column: f"CAST({sql} AS {EMPTY[column]})" for column, sql in read.columns})
        bad.append(read.bad)
    for i, column in enumerate(columns):
        read = column_value(f"col_{i}", column, part)
        values[f"col_{i}"] = read.columns[0][1]
        bad.append(read.bad)
    for i, column in enumerate(extras):
        raw = part.columns.get(column)
        read = (
            number(">= -1e18", "1e18")(f"extra_{i}", raw) if raw else Typed(((f"extra_{i}", "CAST(NULL AS DOUBLE)"),))
        )
        values[f"extra_{i}"] = read.columns[0][1]
        bad.append(read.bad)
    needed = [*wanted, *(c for c in (*columns, *extras) if c in part.columns and c not in wanted)]
    selected = ", ".join(f"{sql} AS {name}" for name, sql in values.items())
    verdict = " OR ".join(f"coalesce({condition}, false)" for condition in bad if condition != "false") or "false"
    return f"SELECT {selected}, {verdict} AS bad FROM {part.relation(needed)}"


def column_value(name: str, column: str, part: Part) -> Typed:
    """The value of any column as text, to slice or to filter by."""
    raw = part.columns.get(column)
    if column.startswith("tags.") and "tags" in part.columns:
        tag = f"json_extract_string({part.columns['tags'].as_json()}, {pointer(column.removeprefix('tags.'))})"
        flat = _scalar_text(raw)[0] if raw else "NULL"
        return Typed(((name, f"coalesce({tag}, {flat})"),))
    if raw is None:
        return Typed(((name, "CAST(NULL AS VARCHAR)"),))
    value, bad = _scalar_text(raw)
    return Typed(((name, value),), bad)


def _scalar_text(raw: Raw) -> tuple[str, str]:
    if raw.type != "JSON":
        return f"CAST({raw.sql} AS VARCHAR)", "true" if raw.type.endswith(("]", ")")) and not raw.is_number else "false"
    json = raw.sql
    quoted = f"starts_with({json}, '\"')"
    return (
        f"CASE WHEN {quoted} THEN json_extract_string({json}, '$') ELSE {json} END",
        f"left({json}, 1) IN ('[', '{{')",
    )


def _lets_through(where: Where, places: dict[str, str]) -> str:
    if not all(values for _, values in where):
        return "false"
    conditions = [
        f"coalesce({places[column]} IN ({', '.join(literal(v) for v in values)}), false)" for column, values in where
    ]
    return " AND ".join(conditions)


# --- scenarios -------------------------------------------------------------------------------


def _scenarios(request: Request, wheres: tuple[Where, ...], extras: tuple[str, ...], repeated: bool) -> str:
    agreed = [
        "category",
        "wi",
        "own",
        *(f"by_{i}" for i in range(len(request.slices))),
        *(f"w_{i}" for i in range(len(wheres))),
    ]
    agreed += ["cluster"]
    counts = {**COUNTS, **{f"n_x{i}": f"count(x{i})" for i in range(len(extras))}}
    sums = {name: sql for _, name, sql in MEASURES.values() if sql} | {
        f"k_x{i}": f"sum(x{i})" for i in range(len(extras))
    }
    if not repeated:
        return _one_trial_each(agreed, counts, sums)
    columns = ["id", *(f"any_value({name}) AS {name}" for name in agreed)]
    columns += [f"{sql} AS {name}" for name, sql in counts.items()]
    columns += [f"coalesce({sql}, 0) AS {name}" for name, sql in sums.items()]
    level = "FILTER (NOT v AND m > 0)"
    same = f"coalesce(min(s_m) {level} = max(s_m) {level}, true)"
    divides = f"bool_and({COMMON_DENOMINATOR} % s_m = 0)"
    columns.append(
        f"CASE WHEN {same} THEN coalesce(min(s_m) {level}, 1) WHEN {divides} THEN {COMMON_DENOMINATOR} ELSE {FINEST} END AS s_den"
    )
    columns.append(
        f"CASE WHEN {same} THEN sum(s_k) WHEN {divides} THEN sum(s_k * ({COMMON_DENOMINATOR} // s_m))"
        f" ELSE sum(CAST(round(s_k * {FINEST} / s_m) AS BIGINT)) END AS k_score"
    )
    return f"SELECT {', '.join(columns)} FROM trials GROUP BY id"


def _one_trial_each(agreed: list[str], counts: dict[str, str], sums: dict[str, str]) -> str:
    """Without a `trial` column a scenario is its one trial: the same columns, and nothing to group."""

    def of_one(sql: str) -> str:
        if sql == "count(*)":
            return "1"
        if sql.startswith("count_if("):
            return f"CAST({sql.removeprefix('count_if')} AS INTEGER)"
        if sql.startswith("count("):
            return f"CAST({sql[6:-1]} IS NOT NULL AS INTEGER)"
        value, _, condition = sql.removeprefix("sum(").partition(") FILTER ")
        return (
            f"coalesce(CASE WHEN {condition} THEN {value} END, 0)"
            if condition
            else f"coalesce({value.removesuffix(')')}, 0)"
        )

    columns = ["id", *agreed, *(f"{of_one(sql)} AS {name}" for name, sql in {**counts, **sums}.items())]
    columns += ["s_m AS s_den", "s_k AS k_score"]
    return f"SELECT {', '.join(columns)} FROM trials"
