"""What formulas are worth: exact, with undefined as a value."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highbar.language.formula import (
    Undefined,
    evaluate,
    evaluate_condition,
    leaves,
    names,
    parse,
    parse_condition,
    unparse,
)
from highbar.model import Binary, Call, Constant, Logic, Name, Negative, Relation

NO_DATA = Undefined("no scenario has it")
VALUES = {"one": Fraction(1), "third": Fraction(1, 3), "zero": Fraction(0), "lost": NO_DATA, "gone": Undefined("gone")}


def lookup(leaf):
    if isinstance(leaf, Call):
        return Fraction(7)
    return VALUES[leaf.name]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("third + third + third", Fraction(1)),
        ("0.1 + 0.2", Fraction(3, 10)),
        ("one / 3 - third", Fraction(0)),
        ("-third × 3", Fraction(-1)),
        ("min(one, third)", Fraction(1, 3)),
        ("max(one, third, 2)", Fraction(2)),
        ("abs(third - one)", Fraction(2, 3)),
        ("mean(latency_ms) - sum(cost_usd)", Fraction(0)),
        ("percentile(latency_ms, 95%)", Fraction(7)),
    ],
)
def test_values_are_exact(text, value):
    assert evaluate(parse(text), lookup) == value


@pytest.mark.parametrize("text", ["lost", "-lost", "lost × 0", "0 × lost", "min(lost, 0)", "abs(lost)", "lost / lost"])
def test_an_undefined_part_makes_the_whole_undefined_for_its_reason(text):
    assert evaluate(parse(text), lookup) == NO_DATA


def test_the_first_undefined_part_gives_the_reason():
    assert evaluate(parse("one + gone × lost"), lookup) == Undefined("gone")


@pytest.mark.parametrize("text", ["one / zero", "zero / zero", "one / (third - third)", "1 / 0"])
def test_anything_over_0_is_undefined(text):
    value = evaluate(parse(text), lookup)
    assert isinstance(value, Undefined)
    assert value.reason.startswith("0 in the denominator: ")


def test_the_reason_names_what_is_0():
    assert evaluate(parse("one / (zero × 2)"), lookup) == Undefined("0 in the denominator: zero × 2 is 0")


@pytest.mark.parametrize(
    ("text", "outcome", "reason"),
    [
        ("one ≥ 1", "pass", "one 1 is ≥ 1"),
        ("third ≥ 0.5", "fail", "third 0.333333… is not ≥ 0.5"),
        ("third = 1 / 3", "pass", "third 0.333333… is 1 / 3 0.333333…"),
        ("lost ≥ 0", "undefined", "lost is undefined: no scenario has it"),
        ("0 ≤ lost", "undefined", "lost is undefined: no scenario has it"),
        ("lost ≠ 1", "undefined", "lost is undefined: no scenario has it"),
        ("one = 1 and third > 0", "pass", "one 1 is 1; third 0.333333… is > 0"),
        ("one = 1 and third > 1 and lost > 0", "fail", "third 0.333333… is not > 1"),
        ("one = 1 and lost > 0", "undefined", "lost is undefined: no scenario has it"),
        ("third > 1 or one = 1", "pass", "one 1 is 1"),
        ("lost > 1 or one = 1", "pass", "one 1 is 1"),
        ("lost > 1 or one = 0", "undefined", "lost is undefined: no scenario has it"),
        ("third > 1 or one = 0", "fail", "third 0.333333… is not > 1; one 1 is not 0"),
        ("not one = 1", "fail", "one 1 is 1"),
        ("not one = 0", "pass", "one 1 is not 0"),
        ("not lost = 1", "undefined", "lost is undefined: no scenario has it"),
    ],
)
def test_a_condition_has_an_outcome_and_a_reason(text, outcome, reason):
    assert evaluate_condition(parse_condition(text), lookup) == (outcome, reason)


def test_the_caller_decides_how_numbers_are_shown():
    def show(expression, value, beside):
        return f"<{unparse(expression)}|{value} beside {unparse(beside)}>"

    condition = parse_condition("third ≥ 0.5")
    assert (
        evaluate_condition(condition, lookup, show)[1] == "third <third|1/3 beside 0.5> is not ≥ <0.5|1/2 beside third>"
    )


def test_names_are_told_apart_from_functions_of_a_column():
    tree = parse_condition("a / total > 0 and min(mean(latency_ms), -a) < percentile(tokens_used, 5%) or not b > 1")
    assert names(tree) == {"a", "total", "b"}
    assert [unparse(leaf) for leaf in leaves(tree)] == [
        "a",
        "total",
        "mean(latency_ms)",
        "percentile(tokens_used, 5%)",
        "b",
    ]


numbers = st.builds(
    lambda digits, places: Constant(Fraction(digits, 10**places)), st.integers(0, 10**6), st.integers(0, 6)
)
identifiers = st.sampled_from(["a", "b", "pass_rate", "ands", "Not_a", "mean"])
columns_of = st.builds(
    lambda function, column: Call(function, (Name(column),)), st.sampled_from(["mean", "sum"]), identifiers
)
percentiles = st.builds(
    lambda column, share: Call("percentile", (Name(column), Constant(Fraction(share, 1000)))),
    identifiers,
    st.integers(1, 1000),
)
expressions = st.recursive(
    numbers | st.builds(Name, identifiers) | columns_of | percentiles,
    lambda inner: (
        st.builds(Binary, st.sampled_from("+-*/"), inner, inner)
        | st.builds(Negative, inner)
        | st.builds(lambda argument: Call("abs", (argument,)), inner)
        | st.builds(lambda function, a, b: Call(function, (a, b)), st.sampled_from(["min", "max"]), inner, inner)
    ),
    max_leaves=12,
)
conditions = st.recursive(
    st.builds(Relation, st.sampled_from([">=", ">", "<=", "<", "=", "!="]), expressions, expressions),
    lambda inner: (
        st.builds(
            lambda operator, operands: Logic(operator, tuple(operands)),
            st.sampled_from(["and", "or"]),
            st.lists(inner, min_size=2, max_size=3),
        )
        | st.builds(lambda operand: Logic("not", (operand,)), inner)
    ),
    max_leaves=6,
)


@given(expressions)
def test_the_words_of_an_expression_read_back_as_the_same_tree(tree):
    assert parse(unparse(tree)) == tree


@given(conditions)
def test_the_words_of_a_condition_read_back_as_the_same_tree(tree):
    assert parse_condition(unparse(tree)) == tree


@given(expressions, st.dictionaries(identifiers, st.fractions(), min_size=6))
def test_an_expression_is_a_fraction_or_undefined_for_a_reason(tree, values):
    value = evaluate(tree, lambda leaf: values[leaf.name] if isinstance(leaf, Name) else Fraction(3))
    assert isinstance(value, Fraction) or value.reason.startswith("0 in the denominator")


def comparisons(tree):
    return [tree] if isinstance(tree, Relation) else [found for part in tree.operands for found in comparisons(part)]


@given(conditions)
def test_a_condition_over_nothing_but_undefined_values_is_undefined(tree):
    if all(leaves(comparison) for comparison in comparisons(tree)):
        assert evaluate_condition(tree, lambda _: NO_DATA)[0] == "undefined"


def test_a_number_without_an_end_is_written_as_a_quotient():
    assert unparse(Constant(Fraction(1, 3))) == "(1 / 3)"
    assert evaluate(parse(unparse(Constant(Fraction(1, 3)))), lookup) == Fraction(1, 3)
