"""Whether a rule has no value for one reason alone: trials say `unjudged`, so that nobody knows what they would add.

A run that was cut short, or that nobody answered, is no fault of the agent. A crash without the value, and an answer
that does not say it, are.
"""

from __future__ import annotations

from collections.abc import Callable

from highbar import catalogue
from highbar.language.formula import Lookup, Undefined
from highbar.measure.needs import leaves_of, where_of
from highbar.model import Call, Name, Percentile, Policy, Rule, Term, Where
from highbar.model.reduction import Group


def is_unjudged(rule: Rule, policy: Policy, group: Group, lookup: Callable[[Where], Lookup]) -> bool:
    """Whether a measure of the rule has no value in a group with undecided trials at best, and each for that reason."""
    leaves = leaves_of(rule, policy)
    lacking = [(leaf, where) for leaf, where in leaves if isinstance(lookup(where)(leaf), Undefined)]
    return bool(lacking) and all(_lacks_judgments(leaf, where, group) for leaf, where in lacking)


def _lacks_judgments(leaf: Name | Call, where: Where, group: Group) -> bool:
    wanted = catalogue.terms(leaf, where)
    found = group.ranks[wanted] if isinstance(wanted, Percentile) else group.totals[wanted[0]]
    at = where_of(wanted)
    unjudged, errors = group.totals.get(Term("unjudged", where=at)), group.totals.get(Term("error", where=at))
    is_repeated = not isinstance(wanted, Percentile) and catalogue.is_repeated(wanted[0].column)
    # Fail closed: what was not summed has another reason. With too few trials there never is a value.
    if unjudged is None or errors is None or errors.value > 0 or is_repeated:
        return False
    if not found.scenarios:
        return 0 < unjudged.value == group.totals[Term("scenario", where=at)].scenarios
    return 0 < found.undecided <= unjudged.undecided
