"""Which way a formula goes with each name in it, and which values it can have, by its text alone, without results.

A name is *wanted* upward if its metric is better when higher, downward if lower. A measure has no direction of
its own. The direction of a factor is undecided if the sign of the other factor is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import assert_never

from msgspec import Struct, field

from highbar import catalogue
from highbar.catalogue import MEASURES, SETTINGS
from highbar.columns import EXTRA, UNBOUNDED_NAMES, WORSE_IF_HIGHER, recorded_column
from highbar.language.formula import COLUMN_FUNCTIONS, fold, unparse
from highbar.language.formula.operations import direction, range_of
from highbar.model import (
    COMPARE,
    Binary,
    Call,
    Constant,
    Ends,
    Expression,
    Metric,
    Name,
    Negative,
    Operator,
    Policy,
    Where,
)
from highbar.model.requests import LARGEST_END

Slopes = dict[str, int | None]
"""By name: 1 if the formula rises with it, -1 if it falls, None if undecided."""


class Rewards(Struct, frozen=True):
    """The names that make a demand easier to meet: when they get better, when they get worse, or undecided."""

    better: tuple[str, ...]
    worse: tuple[str, ...]
    undecided: tuple[str, ...] = ()

    @property
    def only_worse(self) -> bool:
        """Whether only worse results make the demand easier to meet."""
        return bool(self.worse) and not self.better and not self.undecided


def rewards(node: Expression, operator: Operator, metrics: Mapping[str, Metric]) -> Rewards:
    """What makes `node operator 0` easier to meet; nothing if the operator is = or !=."""
    way = 1 if operator in (">=", ">") else -1 if operator in ("<=", "<") else 0
    found = slopes(node, metrics) if way else {}
    wanted = {name: _better_direction(name, metrics) for name in found}
    return Rewards(
        better=tuple(name for name, slope in found.items() if slope and slope * way == wanted[name]),
        worse=tuple(name for name, slope in found.items() if slope and slope * way == -wanted[name]),
        undecided=tuple(name for name, slope in found.items() if slope is None and wanted[name]),
    )


class ImputedPart(Struct, frozen=True):
    """A mean, sum or percentile in which a trial without a value counts at the worse end of the column."""

    leaf: Name | Call
    column: str  # as terms call it: `extra:NAME` for a column of the user's own
    where: Where
    ends: Ends


def ends_by_column(policy: Policy) -> Mapping[str, Ends]:
    """For each column without bounds, what a trial without a value counts as, at worst and at best.

    The policy's limits give the ends for built-in columns. A metric that is only the mean or a percentile of a column
    gives them by its `range`, which replaces a limit, and says by `better` which end is the worse one.
    """
    found = {column: Ends(limit, Fraction(0)) for column, limit in policy.limits.items()}
    for metric in policy.metrics.values():
        match metric.expression:
            case Call("mean" | "percentile", (Name(name), *_)) if name not in catalogue.BOUNDED_COLUMNS:
                column = name if name in catalogue.SUMMED_COLUMNS else f"{EXTRA}{name}"
                if metric.range is not None:
                    low, high = metric.range
                    worst, best = (low, high) if metric.better == "higher" else (high, low)
                    found[column] = Ends(worst, best, metric.better == "higher")
                elif column not in found:
                    found[column] = Ends(higher=metric.better == "higher")
    return found


def helped_by_crashes(
    node: Expression, operator: Operator, policy: Policy, where: Where = ()
) -> tuple[tuple[ImputedPart, ...], tuple[ImputedPart, ...]]:
    """The parts of `node` in which crashes surely, and perhaps, make `node operator 0` easier to meet.

    A crash counts at the same end of a column in every formula. If that is the lower end, `1 - mean(hallucinated)`
    rises with every crash.
    """
    flat = _FlatFormula(policy.metrics, ends_by_column(policy))
    written = flat.expand(node, where)
    if not flat.imputed:
        return (), ()
    found = rewards(written, operator, flat.parts)
    either = found.undecided if operator not in ("=", "!=") else tuple(flat.imputed)
    return (
        tuple(flat.imputed[name] for name in found.worse if name in flat.imputed),
        tuple(flat.imputed[name] for name in either if name in flat.imputed),
    )


class _FlatFormula(Struct):
    """Expands a formula into measures and columns, and makes a metric of each part that counts crashes at an end."""

    metrics: Mapping[str, Metric]
    ends: Mapping[str, Ends]
    imputed: dict[str, ImputedPart] = field(default_factory=dict)
    parts: dict[str, Metric] = field(default_factory=dict)

    def expand(self, node: Expression, where: Where) -> Expression:
        """The expanded formula, with the name of such a metric in place of each of those parts."""
        match node:
            case Name(name) if name in self.metrics:
                metric = self.metrics[name]
                inside = _FlatFormula(self.metrics, self.ends)
                formula = inside.expand(metric.expression, catalogue.narrow(where, metric.where))
                # A metric that counts no crash at an end is not expanded: the parts of a share have no range of 0 to 1.
                self.parts.update(inside.parts if inside.imputed else {name: metric})
                self.imputed.update(inside.imputed)
                return formula if inside.imputed else node
            case Name() | Call("mean" | "sum" | "percentile", _):
                return self._leaf(node, where)
            case Call(function, arguments):
                return Call(function, tuple(self.expand(argument, where) for argument in arguments))
            case Negative(operand):
                return Negative(self.expand(operand, where))
            case Binary(operator, left, right):
                return Binary(operator, self.expand(left, where), self.expand(right, where))
            case _:
                return node

    def _leaf(self, leaf: Name | Call, where: Where) -> Expression:
        if isinstance(leaf, Name) and leaf.name in SETTINGS:
            return leaf
        wanted = catalogue.terms(leaf, where)
        term = wanted[0] if isinstance(wanted, tuple) else wanted
        column = recorded_column(term.column)
        if column not in UNBOUNDED_NAMES and not column.startswith(EXTRA):
            return leaf
        ranked = isinstance(leaf, Call) and leaf.function == "percentile"
        ends = self.ends.get(column, Ends())
        # A percentile needs no end: it ranks a crash beyond every number, on the worse side.
        if ends.worst is None and not ranked:
            return leaf  # without an end to count at, a crash makes it undefined
        key = f"{unparse(leaf)} where {term.where}"
        self.imputed[key] = ImputedPart(leaf, column, term.where, ends)
        better = "higher" if ends.higher else "lower"
        summed = isinstance(leaf, Name) or leaf.function == "sum"
        range_ = _part_range(column, ends, summed=summed)
        self.parts[key] = Metric(key, "", leaf, "number", better, "", range=range_)  # type: ignore[arg-type]
        return Name(key)


def _part_range(column: str, ends: Ends, *, summed: bool) -> tuple[Fraction, Fraction] | None:
    """The range of a sum (`summed`), or of a mean or percentile, of a column; None if unknown."""
    if column in UNBOUNDED_NAMES:
        return Fraction(0), LARGEST_END
    if ends.worst is None or ends.best is None:
        return None
    low, high = sorted((ends.worst, ends.best))
    if not summed:
        return low, high
    # A sum has one term per trial, however many there are, so only its sign is known.
    return (Fraction(0), LARGEST_END) if low >= 0 else (-LARGEST_END, Fraction(0)) if high <= 0 else None


def slopes(node: Expression, metrics: Mapping[str, Metric]) -> Slopes:
    """Whether the formula rises or falls with each name in it."""
    # Coefficients first: names that cancel out, as in `a + b - a`, have no slope.
    parts = linear(node)
    if parts is not None:
        return {name: (share > 0) - (share < 0) for name, share in parts.items() if name and share}
    match node:
        case Negative(operand):
            return _of_operation("-", (Constant(Fraction(0)), operand), metrics)
        case Call(function, arguments) if function not in COLUMN_FUNCTIONS:
            return _of_operation(function, arguments, metrics)
        case Binary(operator, left, right):
            return _of_operation(operator, (left, right), metrics)
        case _:
            return {}


def _of_operation(operator: str, operands: tuple[Expression, ...], metrics: Mapping[str, Metric]) -> Slopes:
    inside = [slopes(operand, metrics) for operand in operands]
    signs = [_sign(operand, metrics) for operand in operands]
    found = dict.fromkeys(name for each in inside for name in each)
    return {name: direction(operator, [each.get(name, 0) for each in inside], signs.__getitem__) for name in found}


def linear(node: Expression) -> dict[str, Fraction] | None:
    """The coefficient of each name, with the constant under the empty name; None if the formula is not linear."""
    match node:
        case Constant(value):
            return {"": value}
        case Name(name):
            return {name: Fraction(1)}
        case Call(function, (Name(column),)) if function in ("mean", "sum"):
            return {unparse(node): Fraction(1)} if column else None
        case Negative(operand):
            return _times(linear(operand), Fraction(-1))
        case Binary(operator, left, right):
            return _linear_binary(operator, linear(left), linear(right))
        case _:
            return None


def _linear_binary(
    operator: str, first: dict[str, Fraction] | None, second: dict[str, Fraction] | None
) -> dict[str, Fraction] | None:
    if first is None or second is None:
        return None
    if operator in ("+", "-"):
        turned = second if operator == "+" else _times(second, Fraction(-1)) or {}
        return {name: first.get(name, Fraction(0)) + turned.get(name, Fraction(0)) for name in {**first, **turned}}
    constant = second.get("", Fraction(0)) if set(second) <= {""} else None
    if operator == "/":
        return _times(first, 1 / constant) if constant else None
    if constant is not None:
        return _times(first, constant)
    return _times(second, first.get("", Fraction(0))) if set(first) <= {""} else None


def _times(parts: dict[str, Fraction] | None, factor: Fraction) -> dict[str, Fraction] | None:
    return None if parts is None else {name: share * factor for name, share in parts.items()}


def _better_direction(name: str, metrics: Mapping[str, Metric]) -> int:
    """The direction in which a name is better: 1 up, -1 down, 0 neither."""
    if name in MEASURES or name in SETTINGS:
        return 0
    if name in metrics:
        return 1 if metrics[name].better == "higher" else -1
    column = name.partition("(")[2].rstrip(")")
    return 0 if column not in catalogue.SUMMED_COLUMNS else -1 if column in WORSE_IF_HIGHER else 1


def _sign(node: Expression, metrics: Mapping[str, Metric]) -> int | None:
    """The sign that the formula always has; None if it may have either."""
    low, high = value_range(node, metrics)
    return 1 if low is not None and low >= 0 else -1 if high is not None and high <= 0 else None


# --- its range -------------------------------------------------------------------------------

Bounds = tuple[Fraction | None, Fraction | None]
"""The least and the greatest value; None if there is no bound."""

_ANY: Bounds = (None, None)
_SHARE: Bounds = (Fraction(0), Fraction(1))
_NOT_NEGATIVE: Bounds = (Fraction(0), None)


def value_range(expression: Expression, metrics: Mapping[str, Metric]) -> Bounds:
    """The range that contains the value of `expression` for any results."""

    def combine(node: Expression, operands: Iterator[Bounds]) -> Bounds:
        match node:
            case Constant(value):
                return value, value
            case Name(name):
                return _of_name(name, metrics)
            case Negative():
                return _difference((Fraction(0), Fraction(0)), next(operands))
            case Binary(operator):
                return _of_binary(operator, *operands)
            case Call("abs"):
                return _NOT_NEGATIVE
            case Call(function, arguments) if function in COLUMN_FUNCTIONS:
                return _of_column(function, arguments[0])
            case Call(function):
                return _of_choice(function, list(operands))
        assert_never(node)

    return fold(expression, combine)


def _of_name(name: str, metrics: Mapping[str, Metric]) -> Bounds:
    if name in MEASURES or name in SETTINGS:
        return _NOT_NEGATIVE
    metric = metrics.get(name)
    if metric is not None and metric.range is not None:
        return metric.range
    unit = metric.unit if metric else "number"
    return _SHARE if unit == "ratio" else _ANY if unit == "number" else _NOT_NEGATIVE


def _of_choice(function: str, ranges: list[Bounds]) -> Bounds:
    """The range of min or max: one upper bound is enough to bound a min, one lower bound to bound a max."""
    choose = min if function == "min" else max
    least, most = [low for low, _ in ranges if low is not None], [high for _, high in ranges if high is not None]
    low_known = len(least) == len(ranges) or (function == "max" and least)
    high_known = len(most) == len(ranges) or (function == "min" and most)
    return choose(least) if low_known else None, choose(most) if high_known else None


def _of_column(function: str, argument: Expression) -> Bounds:
    column = argument.name if isinstance(argument, Name) else ""
    if column not in catalogue.SUMMED_COLUMNS and not catalogue.is_repeated(column):
        return _ANY
    shares = column in catalogue.BOUNDED_COLUMNS or catalogue.is_repeated(column)
    return _SHARE if shares and function != "sum" else _NOT_NEGATIVE


def _of_binary(operator: str, left: Bounds, right: Bounds) -> Bounds:
    (a, b), (c, d) = left, right
    if operator == "-":
        return _difference(left, right)
    if operator == "+":
        return None if a is None or c is None else a + c, None if b is None or d is None else b + d
    known = None
    if a is not None and b is not None and c is not None and d is not None:
        known = range_of(operator, [(a, b), (c, d)])
    # Products and quotients of values that are never negative are not negative either, even without upper bounds.
    return known or (_NOT_NEGATIVE if a is not None and c is not None and min(a, c) >= 0 else _ANY)


def _difference(left: Bounds, right: Bounds) -> Bounds:
    (a, b), (c, d) = left, right
    return None if a is None or d is None else a - d, None if b is None or c is None else b - c


def are_disjoint(left: Bounds, right: Bounds) -> bool:
    """Whether the two ranges have no value in common."""
    (a, b), (c, d) = left, right
    return (b is not None and c is not None and b < c) or (d is not None and a is not None and d < a)


def always_holds(left: Expression, operator: Operator, right: Expression, metrics: Mapping[str, Metric]) -> bool:
    """Whether a comparison is true for all values that its sides can have; False for = and !=."""
    (a, b), (c, d) = value_range(left, metrics), value_range(right, metrics)
    ends = (a, d) if operator in (">=", ">") else (b, c) if operator in ("<=", "<") else (None, None)
    return None not in ends and COMPARE[operator](*ends)
