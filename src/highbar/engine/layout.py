"""What a request needs of these files: which columns take part, and how the relations are laid out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from highbar.engine import scoring
from highbar.engine.protocol import Request
from highbar.engine.sources import Part
from highbar.engine.sql import literal
from highbar.model import Ends, Percentile, Term, Weights, Where

ONE = (Fraction(1),)
NO_ENDS = Ends()
MOST_SLICES = 1000
"""Slice values beyond these, the largest first, are counted and warned of, not measured."""


World = Literal["worst", "best"]
"""What undecided trials are taken for: every check is made at the worst, and once more at the best if there are any."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A number that a trial may have, as SQL over `trials`, and what its sums over a scenario are called.

    A trial that is `given` the number by its columns, or whose columns demand it, has it; so has every other trial of
    that scenario. `alone` says which trials have it all the same: what an error, a violation or an unjudged trial comes
    to wherever other scenarios have the number. `worst` and `best` are whole numbers, 0 for any other trial; those of a
    trial that lacks what its scenario has are `lack_worst` and `lack_best`, each times `unit`, SQL over a scenario.
    """

    trials: str
    total: str
    given: str
    alone: str
    worst: str
    best: str
    lack_worst: str = "0"
    lack_best: str = "0"
    unit: str = "1"
    unknown: str = "false"  # of a trial that is given it or has it alone: whether it is undecided
    bit: int = 0  # of what a suite can demand
    apart: tuple[str, ...] = ()  # the scenario has it if each of these is given by some trial, not by the same one
    valueless: str = ""  # of a trial that has it: whether it has no value of its own, in a column without bounds
    above: str = ""  # of a trial whose value is beyond the end at which trials without a value count

    def amount(self, world: World) -> str:
        """The amount of a trial that has the number."""
        return self.worst if world == "worst" else self.best

    def lack(self, world: World) -> str:
        """The amount of a trial that lacks it, in a scenario that has it."""
        return self.lack_worst if world == "worst" else self.lack_best


def _integer(condition: str) -> str:
    return f"CAST({condition} AS INTEGER)"


_NO_ANSWER = "(open AND NOT c_has)"
_NO_OUTCOME = "(open AND NOT o_has)"
_CRASHED = "(bare AND NOT o_has)"  # nothing was expected of it: wrong, as it is in accuracy
_NO_SCORE = "(open AND m = 0 AND NOT v)"
_OUTCOME_UNKNOWN = f"(o_has AND NOT o_known) OR {_NO_OUTCOME}"
BOTH = "(q_known AND tokens IS NOT NULL AND NOT e)"
_PAIR = ("q_known", "tokens IS NOT NULL")
_PERFECT = str(scoring.QUALITY)


def _of_every_trial(total: str, worst: str, best: str, unknown: str = "false") -> Measure:
    return Measure("n", total, "true", "false", _integer(worst), _integer(best), unknown=unknown)


def _outcome(total: str, worst: str, best: str, *, lack_worst: str, lack_best: str) -> Measure:
    return Measure(
        "n_o",
        total,
        "o_has",
        "bare OR open",
        _integer(worst),
        _integer(best),
        lack_worst,
        lack_best,
        unknown=_OUTCOME_UNKNOWN,
    )


MEASURES = {
    "passed": _of_every_trial("kp", "p", "NOT f", "NOT p AND NOT f"),
    "error": _of_every_trial("ke", "e OR lost", "e", "lost"),
    "violated": _of_every_trial("kv", "NOT v_known OR v", "v", "NOT v_known"),
    "unjudged": _of_every_trial("ku", "j", "j", "j AND NOT e"),
    "correct": Measure(
        "n_c", "kc", "c_has", "bare OR open", _integer("c"),
        _integer(f"c OR (c_has AND NOT c_known) OR {_NO_ANSWER}"), lack_best=_integer("NOT e"),
        unknown=f"(c_has AND NOT c_known) OR {_NO_ANSWER}", bit=scoring.ANSWER,
    ),
    # What no prediction would have been is not known either: a false positive in precision, a false negative in recall.
    "tp": _outcome("k_tp", "tp", f"tp OR (fn AND NOT o_known) OR {_NO_OUTCOME}",
                   lack_worst="0", lack_best=_integer("NOT e")),
    "fp": _outcome("k_fp", f"fp OR {_NO_OUTCOME}", "fp AND o_known", lack_worst=_integer("NOT e"), lack_best="0"),
    "fn": _outcome("k_fn", f"fn OR {_NO_OUTCOME} OR {_CRASHED}", f"(fn AND o_known) OR {_CRASHED}",
                   lack_worst="1", lack_best=_integer("e")),
    "observed": Measure(
        "n_e", "k_seen", "m > 0", "bare OR open", "k", "k + k_open",
        lack_best=_integer("NOT e"), unit="max(m)", unknown="k_open > 0 OR (open AND m = 0)", bit=scoring.BEHAVIORS,
    ),
    "expected": Measure(
        "n_e", "k_wanted", "m > 0", "bare OR open", "m", "m",
        lack_worst="1", lack_best="1", unit="max(m)", bit=scoring.BEHAVIORS,
    ),
    "behavior_score": Measure(
        "n_s", "k_score", "m > 0", "v OR bare OR open", "s_k", "s_k + s_open", lack_best=_integer("NOT e"),
        unit="s_den", unknown=f"s_open > 0 OR {_NO_SCORE}", bit=scoring.BEHAVIORS,
    ),
    "quality_both": Measure(
        "n_b", "k_qb", BOTH, "e OR open", f"if({BOTH} OR open, coalesce(q, 0), 0)",
        f"if({BOTH} OR open, coalesce(q, {_PERFECT}), 0)", "coalesce(q, 0)", f"coalesce(q, {_PERFECT})",
        unknown=f"open AND NOT {BOTH}", apart=_PAIR,
    ),
    "quality_score": Measure(
        "n_q", "k_q", "q_known", "e OR open", "coalesce(q, 0)", f"coalesce(q, if(open, {_PERFECT}, 0))",
        lack_best=_PERFECT, unknown="open AND NOT q_known",
    ),
}  # fmt: skip
"""The columns that a term can name, but for those without bounds."""

UNBOUNDED = {
    "tokens_used": ("n_t", "k_t", "tokens", 1),
    "cost_usd": ("n_d", "k_d", "cost", scoring.COST),
    "latency_ms": ("n_l", "k_l", "latency", scoring.LATENCY),
}
"""Columns that have no worst value of their own: names of their sums, SQL of a trial's value, and its scale."""
COLUMNS = (*MEASURES, "tokens_both", *UNBOUNDED)
"""Every column of ours that a term can name."""

ALWAYS = ("passed", "error", "violated", "unjudged", "correct", "behavior_score")


def _unbounded(trials: str, total: str, value: str, scale: int, ends: Ends) -> Measure:
    """The measure of a column without bounds: trials without a value count at the end that the policy gives."""
    known = ends.worst is not None and ends.best is not None
    worst, best = (str(int((end or 0) * scale)) for end in (ends.worst, ends.best))
    beyond = "<" if ends.higher else ">"
    return Measure(
        trials,
        total,
        f"{value} IS NOT NULL",
        "e OR open",
        f"CASE WHEN {value} IS NOT NULL THEN {value} WHEN e OR open THEN {worst} ELSE 0 END",
        f"CASE WHEN {value} IS NOT NULL THEN {value} WHEN e THEN {worst} WHEN open THEN {best} ELSE 0 END",
        worst,
        best,
        unknown=f"open AND {value} IS NULL",
        valueless=f"{value} IS NULL",
        above=f"{value} {beyond} {worst}" if known else "",
    )


def _tokens_both(ends: Ends) -> Measure:
    """The tokens of trials that have a quality too; an error has none, and its tokens count all the same."""
    known = ends.worst is not None
    worst = str(int(ends.worst or 0))
    return Measure(
        "n_b",
        "k_tb",
        BOTH,
        "e OR open",
        f"CASE WHEN {BOTH} OR e OR open THEN coalesce(tokens, {worst}) ELSE 0 END",
        f"CASE WHEN {BOTH} OR e OR open THEN coalesce(tokens, if(e, {worst}, 0)) ELSE 0 END",
        f"coalesce(tokens, {worst})",
        "coalesce(tokens, 0)",
        unknown="open AND tokens IS NULL",
        valueless="tokens IS NULL",
        apart=_PAIR,
        above=f"tokens > {worst}" if known else "",
    )


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
    demands: bool  # whether a suite says what its scenarios must be judged by
    ends: Mapping[str, Ends]

    def lone_bit(self, column: str) -> int:
        """The bit in `lone` of a scenario in which only trials count that have the measure alone; 0 if none can."""
        names = list(dict.fromkeys(measure.trials for measure in self.measures.values() if measure.trials != "n"))
        trials = self.measures[column].trials
        return 0 if trials == "n" else 1 << names.index(trials)

    @property
    def bits(self) -> int:
        """What a trial here can be judged by at all, as bits."""
        found = scoring.ANSWER if self.held & {"correct", "outcome", "expected"} else 0
        found |= scoring.BEHAVIORS if "expected_behaviors" in self.held else 0
        found |= scoring.MUST_NOTS if "must_not" in self.held else 0
        found |= scoring.ANSWER | scoring.BEHAVIORS | scoring.MUST_NOTS if self.demands else 0
        found |= scoring.OWN if "passed" in self.held else 0
        return found | (scoring.VIOLATIONS if "violations" in self.held else 0)

    @property
    def may_differ(self) -> bool:
        """Whether a trial can be judged by less than its scenario is."""
        return self.demands or (self.repeated and self.bits > 0)

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
    if "tokens_both" in named:
        measures["tokens_both"] = _tokens_both(request.ends.get("tokens_used", NO_ENDS))
    for column, form in UNBOUNDED.items():
        if column in named:
            measures[column] = _unbounded(*form, request.ends.get(column, NO_ENDS))
    for i, name in enumerate(extras):
        ends = request.ends.get(f"extra:{name}", NO_ENDS)
        measures[f"extra:{name}"] = _unbounded(f"n_x{i}", f"k_x{i}", f"x{i}", scoring.EXTRA, ends)
    weights, weight_index = _weight_index(request.weights)
    return Layout(
        slices=request.slices,
        wheres=tuple(dict.fromkeys(item.where for item in wanted if item.where)),
        extras=extras,
        measures=measures,
        weights=weights,
        weight_index=weight_index,
        held=frozenset(name for part in parts for name in part.columns) | _described(request),
        per_k=any(name.startswith(("pass_at_", "pass_hat_")) for name in named),
        demands=bool(request.suite and request.suite.demands),
        ends=request.ends,
    )


def _described(request: Request) -> frozenset[str]:
    """What the suite says of its scenarios, and so of every trial that does not say it."""
    fields = request.suite.scenarios.values() if request.suite else ()
    return frozenset({"category", "capability", "cluster", "weight"} & {name for each in fields for name in each})


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
