"""A request → the SQL of the reduction, in three relations: trials, scenarios, profile.

    trials      one row per trial: scored, every number a whole number
    scenarios   one row per scenario: how many of its trials have a measure, and the sum over those
    profile     scenarios counted and summed by slice values and by denominators, so that shares such as 1/3 are exact

Only what the request asks for and the files hold takes part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from highbar.engine import descriptions, per_scenario, ratios, scoring, trials
from highbar.engine.layout import Layout, World, lay_out
from highbar.engine.protocol import Request
from highbar.engine.sources import Part
from highbar.engine.sql import any_match

WEIGHTED = ("kp", "k_score", "kc", "ke", "kv")
"""The sums that a scenario's own weight can be asked to multiply."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The relations, and how to read their columns."""

    layout: Layout
    sides: ratios.Sides
    described: bool  # whether `trials` is joined with what the suite says of its scenarios
    trials: str
    scenarios: str
    settled: str  # for the profile at the best: what the one at the worst has of scenarios that are the same there
    unsettled: str  # the trials of all other scenarios
    scenarios_unsettled: str  # those scenarios
    profile: str
    profile_of_grave: str  # the same, with only the gravest failures among the worst
    worst: Worst
    telling: bool  # whether `worst` has the categories and reasons of scenarios too
    keys: tuple[str, ...]
    sums: tuple[str, ...]
    products: tuple[str, ...]
    world: World
    parse_once: bool  # text is parsed once and kept; Parquet is read again, which is cheaper than keeping it


def make(
    parts: Sequence[Part], request: Request, *, smallest: bool = True, world: World = "worst", fill: bool = False
) -> Plan:
    """The SQL for this request over these files.

    Where the aggregate of the `smallest` values is there, the worst scenarios are found in the same pass as the sums.
    `world` says what undecided trials are taken for. `fill`: what describes a scenario in one trial describes the
    others, which costs a join.
    """
    layout = lay_out(parts, request)
    sides = ratios.Sides(layout)
    keys = _keys(layout)
    sums = _sums(layout, world)
    products = [] if layout.clustered else ratios.aggregates(sides, request, one_pass=True)
    parse_once = any(part.costly or any(file.format != "parquet" for file in part.files) for part in parts)
    telling = not layout.repeated
    worst = Worst(request, "" if not telling else "why" if parse_once else "told")
    totals = [*(f"sum({sql}) AS {name}" for name, sql in sums), *(f"{sql} AS {name}" for name, sql in products)]
    at_worst = smallest and world == "worst"  # the worst scenarios are then known
    aside, grave = (f", {worst.aggregate()}", f", {worst.aggregate(worst.grave())}") if at_worst else ("", "")
    # Whether anything is undecided is a key: the rows in which nothing is are those of the best world too.
    head = f"SELECT {', '.join(keys)}, is_open, count(*) AS scenarios, {', '.join(totals)}"
    scenarios = "scenarios" if world == "worst" else "scenarios WHERE is_open"
    before = "" if world == "worst" else "SELECT * FROM settled UNION ALL "
    return Plan(
        layout=layout,
        sides=sides,
        described=descriptions.in_suite(request.suite, trials.chosen_by(layout)),
        trials=trials.relation(parts, request, layout, telling=worst.reason == "told", fill=fill),
        scenarios=per_scenario.relation(layout, [worst.reason] * telling, world),
        settled=_settled(keys, sums, products),
        unsettled=per_scenario.unsettled(layout),
        scenarios_unsettled=per_scenario.relation(layout, [worst.reason] * telling, world, of="unsettled"),
        profile=f"{before}{head}{aside} FROM {scenarios} GROUP BY ALL",
        profile_of_grave=f"{before}{head}{grave} FROM {scenarios} GROUP BY ALL",
        worst=worst,
        telling=telling,
        keys=keys,
        sums=tuple(name for name, _ in sums),
        products=tuple(name for name, _ in products),
        world=world,
        parse_once=parse_once,
    )


def _settled(keys: Sequence[str], sums: Sequence[tuple[str, str]], products: Sequence[tuple[str, str]]) -> str:
    """SQL for the rows of a profile at the worst in which nothing is undecided, with the columns of one at the best."""
    totals = [f"0 AS {name}" if name.startswith("sum_u_") else name for name, _ in (*sums, *products)]
    return f"SELECT {', '.join([*keys, 'is_open', 'scenarios', *totals])} FROM profile WHERE NOT is_open"


@dataclass(frozen=True, slots=True)
class Worst:
    """SQL for the worst scenarios, the worst first: their ids, whether they are required, and why they failed.

    `reason` has why: in words (`why`), what the words are made from (`told`, which costs nothing where trials are a
    view), or nothing.
    """

    request: Request
    reason: str

    def _order(self) -> dict[str, str]:
        required = any_match(self.request.required)
        return {
            "a": f"NOT ({required})", "b": "violated = 0", "c": "errors = 0",
            "d": "kp / n", "e": "k_score / s_den", "id": "id",
        }  # fmt: skip

    def grave(self) -> str:
        """Whether a scenario is among those that come first: required, violated, or an error."""
        return f"violated > 0 OR errors > 0 OR {any_match(self.request.required)}"

    def aggregate(self, of: str = "true") -> str:
        """Set the worst of a profile row aside."""
        order = f"{{{', '.join(f'{name!r}: {sql}' for name, sql in self._order().items())}}}"
        said = f", 'category': category, 'reason': {self.reason}" if self.reason else ""
        worst = f"arg_min({{'by': {order}{said}}}, {order}, {self.request.failed_limit})"
        return f"{worst} FILTER (kf > 0 AND ({of})) AS worst"

    def set_aside(self) -> str:
        """Those of all profile rows together."""
        limit = f"ORDER BY w.by LIMIT {self.request.failed_limit}"
        each = "(SELECT unnest(worst) AS w FROM profile)"
        if not self.reason:
            return f"SELECT w.by.id, NOT w.by.a FROM {each} {limit}"
        if self.reason == "why":
            return f"SELECT w.by.id, NOT w.by.a, w.category, w.reason FROM {each} {limit}"
        told = f"SELECT w.by.id AS id, NOT w.by.a AS required, w.category, unnest(w.reason) FROM {each} {limit}"
        return f"SELECT id, required, category, {scoring.why_column()} FROM ({told})"

    def sorted(self, violated: int) -> str:
        """The same for a database without that aggregate; so many scenarios are `violated`.

        Those are the worst but for the required ones. If they are enough, the rest need not be looked at.
        """
        columns = ", ".join(f"{sql} AS {name}_" for name, sql in self._order().items())
        order = ", ".join(f"{name}_" for name in self._order())
        said = f", category, {self.reason}" if self.reason else ""
        bad_enough = (
            f"violated > 0 OR {any_match(self.request.required)}" if violated >= self.request.failed_limit else "true"
        )
        found = f"SELECT {columns}{said} FROM scenarios WHERE ({bad_enough}) AND kf > 0"
        worst = (
            f"SELECT id_, NOT a_ AS required{said} FROM ({found}) ORDER BY {order} LIMIT {self.request.failed_limit}"
        )
        if self.reason != "told":
            return worst
        told = f"SELECT id_, required, category, told.* FROM ({worst})"
        return f"SELECT id_, required, category, {scoring.why_column()} FROM ({told})"


def _keys(layout: Layout) -> tuple[str, ...]:
    """What the scenarios of one profile row have in common: slice values, filters, denominators and weight."""
    keys = [f"by_{i}" for i in range(len(layout.slices))] + [f"w_{i}" for i in range(len(layout.wheres))]
    keys += ["n", "s_den", "lone"]
    keys += dict.fromkeys(measure.trials for measure in layout.measures.values() if measure.trials != "n")
    keys += ["wi"] * (len(layout.weights) > 1) + ["kp"] * layout.per_k
    return tuple(keys)


def _sums(layout: Layout, world: World) -> list[tuple[str, str]]:
    """The sums of a profile row: names and what of a scenario is summed."""
    sums = [("bad", "n_bad"), ("failed", "CAST(kf > 0 AS INTEGER)"), ("sum_kf", "kf"), ("sum_errors", "errors")]
    sums += [("sum_violated", "violated"), ("sum_blanks", "blanks"), ("sum_open", "CAST(is_open AS INTEGER)")]
    sums += [(f"sum_{measure.total}", measure.total) for measure in layout.measures.values()]
    for measure in layout.measures.values():
        sums += [(f"sum_{name}", f"CAST({name} > 0 AS INTEGER)") for name in per_scenario.ends_of(measure)]
    if world == "best":
        sums += [(f"sum_u_{measure.total}", f"u_{measure.total}") for measure in layout.measures.values()]
    if layout.repeated:
        sums += [("flaky", "CAST(kp > 0 AND kf > 0 AS INTEGER)"), ("sum_kp_kp", "kp * kp")]
    if layout.own_weight:
        sums += [("sum_w", "own"), *((f"sum_w_{name}", f"own * {name}") for name in WEIGHTED)]
    return sums
