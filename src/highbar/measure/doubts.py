"""Weights for which no interval is known to hold, and the reason in words.

Classes of weight: whether a run has enough of the scenarios that weigh more than the others. No bound allows for a
weight that no scenario of the run has, and one or two such scenarios say little about the others. The policy, its suite
and the baseline tell which weights there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

from msgspec import Struct

from highbar.language.exact import write_decimal
from highbar.language.phrases import count
from highbar.measure.limits import FEW_WEIGHTED, FEWEST_OF_A_WEIGHT, HEAVY
from highbar.measure.parts import Node, is_weighted, parts_of
from highbar.model import Doubt, Policy, Ratio, Where
from highbar.model.records import ScenarioRecord
from highbar.policy.sequential import is_chosen

_COLUMNS = ("category", "capability")


class Weighed(Struct, frozen=True):
    """The scenarios of a run, and those of its baseline, with their weights."""

    seen: Sequence[ScenarioRecord]
    before: Sequence[ScenarioRecord] = ()


def doubt_of_classes(policy: Policy, formula: Node, run: Weighed, where: Where) -> Doubt | None:
    """Why too few of the scenarios that `where` selects are heavy ones; None for a formula that uses no weights.

    A class has the scenarios of one weight, or of one category or capability that the policy weighs. One that weighs no
    more than the mean may be absent: it cannot outweigh what was seen.
    """
    uses_weights = any(isinstance(part, Ratio) and is_weighted(part) for part in parts_of(formula))
    if policy.population == "suite" or not uses_weights:
        return None  # if the suite is all there is, no scenario is missing
    chosen = [record for record in run.seen if is_chosen(record.columns, where)]
    if not chosen:
        return None
    weights = Counter(policy.weights.of(record) for record in chosen)
    mean = sum(weight * number for weight, number in weights.items()) / len(chosen)
    own = sum((record.weight for record in chosen), Fraction(0)) / len(chosen)
    selected = dict(where)
    for column, by_value in zip(_COLUMNS, (policy.weights.by_category, policy.weights.by_capability), strict=True):
        for value, weight in by_value.items():
            number = sum(record.columns.get(column) == value for record in chosen)
            named = value in selected.get(column, (value,))
            if named and weight * own > mean and number < FEWEST_OF_A_WEIGHT:
                return _too_few(number, f"of the {column} {value}, which weighs {write_decimal(weight)}")
    known = {
        policy.weights.of(record) for record in (*run.before, *_of_suite(policy)) if is_chosen(record.columns, where)
    }
    for weight in sorted(known | weights.keys(), reverse=True):
        if weight > mean and weights[weight] < FEWEST_OF_A_WEIGHT:
            return _too_few(weights[weight], f"with the weight {write_decimal(weight)}")
    return None


def _too_few(number: int, which: str) -> Doubt:
    found = count(number, "scenario") if number else "no scenario"
    few = f"with fewer than {FEWEST_OF_A_WEIGHT} no interval is known to hold"
    return Doubt("weights", f"the run has {found} {which}, and {few}")


def _of_suite(policy: Policy) -> Iterator[ScenarioRecord]:
    """The scenarios of the suite, with their weights."""
    for id_, fields in (policy.suite.scenarios if policy.suite else {}).items():
        yield ScenarioRecord(id_, 1, 0, fields, weight=Fraction(fields.get("weight", "1")))


def doubt_of_weights(scenarios: float, share: float) -> Doubt | None:
    """The doubt from weights, by the effective number of `scenarios` and the largest `share` of the weight."""
    if share > HEAVY:
        reason = f"one scenario carries {share:.0%} of the weight, and above {HEAVY:.0%} no interval is known to hold"
        return Doubt("weights", reason)
    if scenarios < FEW_WEIGHTED:
        below = f"below {FEW_WEIGHTED} no interval is known to hold"
        return Doubt("weights", f"the weights leave the worth of {scenarios:.0f} scenarios, and {below}")
    return None
