"""What a request needs of these files: which columns take part, and how the relations are laid out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from highbar.engine.protocol import Request
from highbar.engine.sources import Part
from highbar.engine.sql import literal
from highbar.model import Percentile, Term, Weights, Where

ONE = (Fraction(1),)
MOST_SLICES = 1000
"""Slice values beyond these, the largest first, are counted and warned of, not measured."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A number that a trial may have: whether it does, and how much; and what its sums over a scenario are called."""

    trials: str
    has: str
    total: str
    amount: str  # a whole number, 0 where the trial has none


BOTH = "q_known AND tokens IS NOT NULL"

MEASURES = {
    "passed": Measure("n", "true", "kp", "CAST(p AS INTEGER)"),
    "error": Measure("n", "true", "ke", "CAST(e AS INTEGER)"),
    "violated": Measure("n", "true", "kv", "CAST(v AS INTEGER)"),
    "unjudged": Measure("n", "true", "ku", "CAST(u AS INTEGER)"),
    "correct": Measure("n_c", "c_has", "kc", "CAST(c AS INTEGER)"),
    "tp": Measure("n_o", "o_has", "k_tp", "CAST(tp AS INTEGER)"),
    "fp": Measure("n_o", "o_has", "k_fp", "CAST(fp AS INTEGER)"),
    "fn": Measure("n_o", "o_has", "k_fn", "CAST(fn AS INTEGER)"),
    "observed": Measure("n_e", "m > 0", "k_seen", "k"),
    "expected": Measure("n_e", "m > 0", "k_wanted", "m"),
    "behavior_score": Measure("n_s", "s_has", "k_score", "s_k"),
    "quality_both": Measure("n_b", BOTH, "k_qb", f"if({BOTH}, q, 0)"),
    "tokens_both": Measure("n_b", BOTH, "k_tb", f"if({BOTH}, tokens, 0)"),
    "quality_score": Measure("n_q", "q IS NOT NULL", "k_q", "coalesce(q, 0)"),
    "tokens_used": Measure("n_t", "tokens IS NOT NULL", "k_t", "coalesce(tokens, 0)"),
    "cost_usd": Measure("n_d", "cost IS NOT NULL", "k_d", "coalesce(cost, 0)"),
    "latency_ms": Measure("n_l", "latency IS NOT NULL", "k_l", "coalesce(latency, 0)"),
}
"""The columns that a term can name."""

BARE_AND_VIOLATED = "n_bare_v"
"""Trials that are bare but have a behavior_score, 0, by being violated: where scenarios repeat they must count once."""

ALWAYS = ("passed", "error", "violated", "unjudged", "correct", "behavior_score")


@dataclass(frozen=True, slots=True)
class Layout:
    """The parts of a request that the files can serve."""

    slices: tuple[str, ...]
    wheres: tuple[Where, ...]
    extras: tuple[str, ...]
    measures: dict[str, Measure]
    weights: tuple[Fraction, ...]
    weight_index: str
    held: frozenset[str]
    per_k: bool

    @property
    def repeated(self) -> bool:
        """Whether a scenario may have several trials."""
        return "trial" in self.held

    @property
    def clustered(self) -> bool:
        """Whether scenarios may stand or fall together."""
        return "cluster" in self.held

    @property
    def own_weight(self) -> bool:
        """Whether scenarios bring their own weights."""
        return "weight" in self.held

    def flag(self, where: Where) -> str:
        """The column that says whether a scenario is let through."""
        return f"w_{self.wheres.index(where)}"


def lay_out(parts: Sequence[Part], request: Request) -> Layout:
    """What takes part in this request over these files."""
    wanted: list[Term | Percentile] = [*request.terms, *request.percentiles]
    named = dict.fromkeys(item.column for item in wanted)
    extras = tuple(name.removeprefix("extra:") for name in named if name.startswith("extra:"))
    measures = {name: measure for name, measure in MEASURES.items() if name in named or name in ALWAYS}
    measures |= {
        f"extra:{name}": Measure(f"n_x{i}", f"x{i} IS NOT NULL", f"k_x{i}", f"coalesce(x{i}, 0)")
        for i, name in enumerate(extras)
    }
    weights, weight_index = _weight_index(request.weights)
    return Layout(
        slices=request.slices,
        wheres=tuple(dict.fromkeys(item.where for item in wanted if item.where)),
        extras=extras,
        measures=measures,
        weights=weights,
        weight_index=weight_index,
        held=frozenset(name for part in parts for name in part.columns),
        per_k=any(name.startswith(("pass_at_", "pass_hat_")) for name in named),
    )


def _weight_index(weights: Weights) -> tuple[tuple[Fraction, ...], str]:
    """The distinct products of category and capability weights, and SQL for a scenario's place among them."""
    any_other = ("", Fraction(1))
    categories = [*((f"category = {literal(name)}", w) for name, w in weights.by_category.items()), any_other]
    capabilities = [*((f"capability = {literal(name)}", w) for name, w in weights.by_capability.items()), any_other]
    products = sorted({a * b for _, a in categories for _, b in capabilities})
    if len(products) == 1:
        return ONE, "0"
    cases = [
        f"WHEN {' AND '.join(filter(None, (first, second)))} THEN {products.index(a * b)}"
        for first, a in categories
        for second, b in capabilities
        if first or second
    ]
    return tuple(products), f"CASE {' '.join(cases)} ELSE {products.index(Fraction(1))} END"
