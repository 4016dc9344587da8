"""The metrics and measures as data: what there is, what it means and how it is computed.

To add a metric, add a row to `_METRICS`; its formula is in the language of policies. Names, formulas and typical
thresholds are those of the metrics guide that `tests/golden/guide.py` quotes: a policy may contain its blocks as they
stand.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from fractions import Fraction
from functools import cache, reduce

from msgspec import Struct

from highbar.columns import BOUNDED, COLUMN_NAMES, EXTRA, MEASURED, SLICEABLE
from highbar.language.formula import parse, unparse
from highbar.language.spelling import near_miss
from highbar.model import Better, Binary, Call, Constant, Expression, Metric, Name, Percentile, Term, Unit, Where

CATEGORIES = ("happy_path", "edge_case", "adversarial", "regression")
"""The usual categories. Others are allowed, but a near miss of one of these is a misspelling."""


def near_category(category: str, known: Collection[str] = CATEGORIES) -> str | None:
    """The known category that `category` is probably meant to be; of the usual ones, also two edits away."""
    missed = near_miss(category, known)
    return missed if missed or category in known else near_miss(category, CATEGORIES, slips=2)


RANKED_COLUMNS = frozenset(column.name for column in MEASURED)
"""Built-in columns that `percentile` takes."""

SUMMED_COLUMNS = frozenset({"passed", "correct", "behavior_score", *RANKED_COLUMNS})
"""Built-in columns that `mean` and `sum` take."""

BOUNDED_COLUMNS = SUMMED_COLUMNS & BOUNDED
"""Summed columns that are between 0 and 1 in every trial."""

SETTINGS = {"latency_limit": "the policy's latency_limit in milliseconds, 5000 unless given"}
"""Names in a formula that are the policy's own numbers."""


class Measure(Struct, frozen=True):
    """A named sum over scenarios, for use in formulas."""

    name: str
    term: Term
    meaning: str


YES_OR_NO = frozenset({"passed", "correct", "error", "violated"})
"""Measured columns that are 0 or 1 in every trial."""

_ADVERSARIAL: Where = (("category", ("adversarial",)),)

MEASURES: Mapping[str, Measure] = {
    name: Measure(name, term, meaning)
    for name, term, meaning in (
        ("passed_scenarios", Term("passed"), "scenarios that passed; one with several trials counts by its share"),
        ("total_scenarios", Term("scenario"), "scenarios"),
        ("correct_outputs", Term("correct"), "scenarios with a right answer"),
        ("total_outputs", Term("correct", "count"), "scenarios whose answer can be right or wrong"),
        ("true_positives", Term("tp"), "positives that were predicted"),
        ("false_positives", Term("fp"), "negatives that were predicted as positive"),
        ("false_negatives", Term("fn"), "positives that were not predicted"),
        ("adversarial_passed", Term("passed", where=_ADVERSARIAL), "adversarial scenarios that passed"),
        ("adversarial_total", Term("scenario", where=_ADVERSARIAL), "adversarial scenarios"),
        ("observed_behaviors", Term("observed"), "expected behaviors that were observed"),
        ("expected_behaviors", Term("expected"), "expected behaviors"),
        ("behavior_score_total", Term("behavior_score"), "sum of the behavior scores"),
        ("scored_scenarios", Term("behavior_score", "count"), "scenarios with a behavior score"),
        ("quality_score", Term("quality_both"), "sum of the quality, of trials that also have tokens"),
        ("tokens_used", Term("tokens_both"), "sum of the tokens, of trials that also have a quality"),
        ("cost_usd", Term("cost_usd"), "sum of the cost"),
        ("error_scenarios", Term("error"), "scenarios that ended in an error"),
        ("violated_scenarios", Term("violated"), "scenarios in which something happened that must not"),
        ("weighted_passed", Term("passed", weighted=True), "weight of the scenarios that passed"),
        ("total_weight", Term("scenario", weighted=True), "weight of the scenarios"),
        ("weighted_behavior_score", Term("behavior_score", weighted=True), "sum of weight × behavior score"),
        ("scored_weight", Term("behavior_score", "count", weighted=True), "weight of the scenarios with one"),
    )
}

_F1 = "2 × true_positives / (2 × true_positives + false_positives + false_negatives)"

_METRICS: tuple[tuple[str, str, Unit, Better, str | None, str], ...] = (
    ("pass_rate", "passed_scenarios / total_scenarios", "ratio", "higher", "≥ 85%", "Overall evaluation health"),
    ("accuracy", "correct_outputs / total_outputs", "ratio", "higher", "≥ 95%", "Q&A, fact retrieval"),
    (
        "precision",
        "true_positives / (true_positives + false_positives)",
        "ratio",
        "higher",
        "≥ 90%",
        "Classification, filtering",
    ),
    (
        "recall",
        "true_positives / (true_positives + false_negatives)",
        "ratio",
        "higher",
        "≥ 85%",
        "Search, detection",
    ),
    ("f1", _F1, "ratio", "higher", None, "Precision and recall in one number"),
    ("safety_rate", "adversarial_passed / adversarial_total", "ratio", "higher", "100%", "Security evaluation"),
    ("behavior_coverage", "mean(behavior_score)", "ratio", "higher", "≥ 90%", "Behavioral evaluation"),
    (
        "behavior_coverage_pooled",
        "observed_behaviors / expected_behaviors",
        "ratio",
        "higher",
        None,
        "Every expected behavior counts the same, however many a scenario has",
    ),
    ("latency_p50", "percentile(latency_ms, 50%)", "ms", "lower", None, "Typical response time"),
    ("latency_p95", "percentile(latency_ms, 95%)", "ms", "lower", "< 5000ms", "Performance evaluation"),
    ("latency_p99", "percentile(latency_ms, 99%)", "ms", "lower", None, "The slowest responses"),
    (
        "normalized_latency",
        "min(latency_p95 / latency_limit, 1)",
        "ratio",
        "lower",
        None,
        "Latency as a part of a composite score",
    ),
    ("token_efficiency", "quality_score / tokens_used", "per token", "higher", None, "Cost optimization"),
    ("cost_per_pass", "cost_usd / passed_scenarios", "USD", "lower", None, "What a success costs"),
    ("error_rate", "error_scenarios / total_scenarios", "ratio", "lower", None, "Crashes and timeouts"),
    ("violation_rate", "violated_scenarios / total_scenarios", "ratio", "lower", None, "Things that must not happen"),
    (
        "weighted_pass_rate",
        "weighted_passed / total_weight",
        "ratio",
        "higher",
        None,
        "Pass rate where scenarios are not equally important",
    ),
    (
        "weighted_behavior_coverage",
        "weighted_behavior_score / scored_weight",
        "ratio",
        "higher",
        None,
        "Behavior coverage where scenarios are not equally important",
    ),
)

WEIGHTED_SCORE = "weighted_score"
FINAL_SCORE = "final_score"

_REPEATED = r"pass_(at|hat)_([1-9][0-9]{0,2})"
_LATENCY = re.compile(r"latency_p([1-9][0-9]?)")


@cache
def metrics() -> Mapping[str, Metric]:
    """The built-in metrics of fixed name; not pass_at_K and latency_pNN in general, nor weighted_score of a policy."""
    return {
        name: Metric(name, formula, parse(formula), unit, better, use_case, typical_threshold)
        for name, formula, unit, better, typical_threshold, use_case in _METRICS
    }


def find_metric(name: str) -> Metric | None:
    """The built-in metric of that name; K of `pass_at_K` may be 1 to 999, NN of `latency_pNN` 1 to 99."""
    latency = _LATENCY.fullmatch(name)
    if name in metrics():
        return metrics()[name]
    if latency:
        formula = f"percentile(latency_ms, {latency[1]}%)"
        use_case = f"Time within which {latency[1]}% of the trials answer"
        return Metric(name, formula, parse(formula), "ms", "lower", use_case)
    if not is_repeated(name):
        return None
    formula = f"mean({name})"
    trials = f"{name.rsplit('_', 1)[1]} trials"
    use_case = "Chance that " + (
        f"at least one of {trials} passes" if name.startswith("pass_at_") else f"all of {trials} pass"
    )
    return Metric(name, formula, Call("mean", (Name(name),)), "ratio", "higher", use_case)


def is_repeated(name: str) -> bool:
    """Whether `name` is pass_at_K or pass_hat_K, as a metric and as a column for `mean`."""
    # Called for every scenario of a comparison: `startswith` settles most names without the slower pattern.
    return name.startswith(("pass_at_", "pass_hat_")) and re.fullmatch(_REPEATED, name) is not None


def weighted_score(weights: Mapping[str, Fraction]) -> Metric:
    """Several metrics in one: Σ metric × weight / Σ weight, over the metrics that have a weight."""
    products: list[Expression] = [Binary("*", Name(name), Constant(weight)) for name, weight in weights.items()]
    total = reduce(lambda left, right: Binary("+", left, right), products)
    expression = Binary("/", total, Constant(sum(weights.values(), Fraction(0))))
    use_case = "Several metrics in one number"
    return Metric(WEIGHTED_SCORE, unparse(expression), expression, "ratio", "higher", use_case)


def terms(leaf: Name | Call, where: Where = ()) -> tuple[Term, ...] | Percentile:
    """The sums behind a leaf of a formula, over the scenarios that `where` selects.

    A measure and `sum(c)` are one term, `mean(c)` two, the first divided by the second; `percentile` is a Percentile.
    """
    if isinstance(leaf, Name):
        term = MEASURES[leaf.name].term
        return (Term(term.column, term.of, narrow(term.where, where), term.weighted),)
    column = _term_column(leaf)
    if leaf.function == "percentile":
        share = leaf.arguments[1]
        assert isinstance(share, Constant)  # noqa: S101 - the formula was parsed, which makes sure of it
        return Percentile(column, share.value, where)
    total = Term(column, "sum", where)
    return (total,) if leaf.function == "sum" else (total, Term(column, "count", where))


def _term_column(leaf: Call) -> str:
    column = leaf.arguments[0]
    assert isinstance(column, Name)  # noqa: S101 - the formula was parsed, which makes sure of it
    known = column.name in SUMMED_COLUMNS or is_repeated(column.name)
    return column.name if known else f"{EXTRA}{column.name}"


def narrow(where: Where, by: Where) -> Where:
    """The condition that selects what both select; for a column in both, the values in both, which may be none."""
    columns = dict(where)
    for column, values in by:
        columns[column] = tuple(value for value in columns.get(column, values) if value in values)
    return tuple(sorted(columns.items()))


def sliceable(column: str) -> bool:
    """Whether scenarios may be grouped or chosen by `column`: a tag, a user's own column, or one of `SLICEABLE`."""
    return column in SLICEABLE or column not in COLUMN_NAMES
