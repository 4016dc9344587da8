"""Which way formulas go, and between which values they lie: against their values at many points."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from highbar.language.formula import parse
from highbar.model import Binary, Call, Constant, Metric, Name, Negative
from highbar.policy.directions import always_holds, linear, rewards, slopes, value_range

METRICS = {
    name: Metric(name, name, Name(name), "ratio", better)
    for name, better in (("good", "higher"), ("fine", "higher"), ("bad", "lower"))
}
SHARES = st.fractions(0, 1, max_denominator=8)
LEAVES = st.sampled_from([Name(name) for name in METRICS]) | st.builds(Constant, st.fractions(-2, 2, max_denominator=4))
FORMULAS = st.recursive(
    LEAVES,
    lambda inner: (
        st.builds(Negative, inner)
        | st.builds(Binary, st.sampled_from("+-*/"), inner, inner)
        | st.builds(Call, st.sampled_from(["min", "max"]), st.tuples(inner, inner))
        | st.builds(Call, st.just("abs"), st.tuples(inner))
    ),
    max_leaves=6,
)


def value(node, at):
    """The value of a formula where its names have these values; None where it is over 0."""
    match node:
        case Constant(number):
            return number
        case Name(name):
            return at[name]
        case Negative(operand):
            inner = value(operand, at)
            return None if inner is None else -inner
        case Call(function, arguments):
            inner = [value(argument, at) for argument in arguments]
            return None if None in inner else {"min": min, "max": max, "abs": lambda one: abs(one[0])}[function](inner)
        case Binary(operator, left, right):
            a, b = value(left, at), value(right, at)
            if a is None or b is None or (operator == "/" and b == 0):
                return None
            return {"+": a + b, "-": a - b, "*": a * b}[operator] if operator != "/" else a / b
    raise AssertionError(node)


@given(FORMULAS, st.fixed_dictionaries(dict.fromkeys(METRICS, SHARES)), st.sampled_from(sorted(METRICS)), SHARES)
def test_a_formula_goes_the_way_that_is_said_of_it(formula, at, name, other):
    low, high = sorted((at[name], other))
    first, second = (value(formula, {**at, name: end}) for end in (low, high))
    slope = slopes(formula, METRICS).get(name, 0)
    if first is not None and second is not None and slope is not None:
        assert (second - first) * slope >= 0
        assert slope != 0 or first == second


@given(FORMULAS, st.fixed_dictionaries(dict.fromkeys(METRICS, SHARES)))
def test_a_formula_lies_within_its_range_and_is_its_linear_parts(formula, at):
    found = value(formula, at)
    if found is None:
        return
    low, high = value_range(formula, METRICS)
    assert low is None or low <= found
    assert high is None or found <= high
    parts = linear(formula)
    assert parts is None or found == sum((share * at.get(name, 1) for name, share in parts.items()), Fraction(0))


@given(
    FORMULAS, FORMULAS, st.sampled_from([">=", ">", "<=", "<"]), st.fixed_dictionaries(dict.fromkeys(METRICS, SHARES))
)
def test_what_always_holds_holds(left, right, operator, at):
    a, b = value(left, at), value(right, at)
    if a is not None and b is not None and always_holds(left, operator, right, METRICS):
        assert {">=": a >= b, ">": a > b, "<=": a <= b, "<": a < b}[operator]


def test_what_a_demand_gets_easier_by_is_told():
    found = rewards(parse("good + bad - fine"), ">=", METRICS)
    assert (found.better, found.worse, found.only_worse) == (("good",), ("bad", "fine"), False)
    assert rewards(parse("good + bad - fine"), "<", METRICS).worse == ("good",)
    found = rewards(parse("good × (bad - fine)"), ">=", METRICS)
    assert (found.worse, found.undecided, found.only_worse) == (("bad", "fine"), ("good",), False)
    assert rewards(parse("1 - good"), ">", METRICS).only_worse
    assert rewards(parse("passed_scenarios / total_scenarios"), ">", METRICS) == rewards(Constant(Fraction(1)), ">", {})
