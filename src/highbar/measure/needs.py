"""A policy in, the sums that its metrics and conditions need out: what the engine is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import get_args

from highbar import catalogue
from highbar.language.formula import comparisons
from highbar.measure import unknown
from highbar.measure.parts import is_share, is_weighted, of_metric, per_scenario, unweighted
from highbar.measure.parts import ratios as ratios_of
from highbar.model import (
    Better,
    Binary,
    ConditionRule,
    Expression,
    Metric,
    Percentile,
    Policy,
    Ratio,
    Term,
    Where,
)


@dataclass(frozen=True, slots=True)
class Needs:
    """What the engine must sum for the metrics of a policy."""

    terms: tuple[Term, ...]
    percentiles: tuple[Percentile, ...]
    ratios: tuple[Ratio, ...]
    crosses: tuple[tuple[Ratio, Ratio], ...]
    thirds: tuple[Ratio, ...] = ()  # of the ratios, those that have no bounds


def needs(policy: Policy, wheres: Iterable[tuple[str, Where]] = ()) -> Needs:
    """What every metric of the policy needs, and those that `wheres` name over some scenarios."""
    found: dict[Term | Percentile, None] = {}
    ratios: dict[Ratio, None] = {}
    crosses: dict[tuple[Ratio, Ratio], None] = {}
    instances = [*((name, ()) for name in policy.metrics), *wheres]
    for name, where in instances:
        for leaf, narrowed in unknown.leaves(policy, policy.metrics[name], where):
            wanted = catalogue.terms(leaf, narrowed)
            found.update(dict.fromkeys(wanted if isinstance(wanted, tuple) else (wanted,)))
            found[Term("scenario", where=where_of(wanted))] = None
        found.update(
            (Term("error", where=part.where), None) for part in unknown.doubtful(policy, policy.metrics[name], where)
        )
    formulas = [of_metric(policy, policy.metrics[name], where) for name, where in instances]
    for sides in _compared(policy):
        formulas.append(of_metric(policy, difference(*sides)))
        for better in get_args(Better):
            found.update(
                (Term("error", where=p.where), None) for p in unknown.doubtful(policy, difference(*sides, better))
            )
    for tree in formulas:
        ratios.update(dict.fromkeys(ratios_of(tree.root)))
        parts = [part for part in tree.parts() if isinstance(part, Ratio)]
        crosses.update(dict.fromkeys((a, b) for i, a in enumerate(parts) for b in parts[i + 1 :]))
    thirds = tuple(ratio for ratio in ratios if not is_share(ratio) and ratio.z != ratio.d)
    for ratio in tuple(ratios):
        if is_weighted(ratio):
            ratios[unweighted(ratio)] = None
    for ratio in thirds:
        if not _is_mean(ratio):
            means = per_scenario(ratio)
            ratios.update(dict.fromkeys(means))
            crosses[means] = None
    found.update(dict.fromkeys(term for ratio in ratios for term, _ in (*ratio.z, *ratio.d)))
    terms = tuple(term for term in found if isinstance(term, Term))
    percentiles = tuple(wanted for wanted in found if isinstance(wanted, Percentile))
    return Needs(terms, percentiles, tuple(ratios), tuple(crosses), thirds)


def _errors(policy: Policy, metric: Metric, where: Where = ()) -> Iterator[Term]:
    """The errors among the scenarios of a part in which these count at no end that is surely worse."""
    return (Term("error", where=part.where) for part in unknown.doubtful(policy, metric, where))


def _is_mean(ratio: Ratio) -> bool:
    """Whether the lower sum only counts scenarios."""
    return all(term.of == "count" or term.column == "scenario" for term, _ in ratio.d)


def difference(left: Expression, right: Expression, better: Better = "higher") -> Metric:
    """One expression less another, as a metric without a name of its own."""
    return Metric("difference", "", Binary("-", left, right), "number", better)


def _compared(policy: Policy) -> Iterator[tuple[Expression, Expression]]:
    """What the policy's conditions compare with each other."""
    for rule in policy.rules:
        if isinstance(rule, ConditionRule):
            yield from ((comparison.left, comparison.right) for comparison in comparisons(rule.condition))


def where_of(wanted: tuple[Term, ...] | Percentile) -> Where:
    """Which scenarios some terms, or a percentile, are about."""
    return wanted.where if isinstance(wanted, Percentile) else wanted[0].where
