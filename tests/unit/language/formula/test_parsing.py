"""Formula text, as the guide writes it and as nobody should."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highbar.language.formula import FormulaError, parse, parse_condition, unparse
from highbar.model import Binary, Call, Constant, Logic, Name, Negative, Relation


def fault(text, parser=parse):
    with pytest.raises(FormulaError) as caught:
        parser(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("passed_scenarios / total_scenarios", "passed_scenarios / total_scenarios"),
        ("true_positives ÷ (true_positives + false_positives)", "true_positives / (true_positives + false_positives)"),
        ("2 × a / (2 × a + b)", "2 × a / (2 × a + b)"),
        ("min(latency_p95 / latency_limit, 1)", "min(latency_p95 / latency_limit, 1)"),
        ("(((a)))", "a"),
        ("a - (b - c)", "a - (b - c)"),
        ("a - b - c", "a - b - c"),
        ("-a × b", "-a × b"),
        ("-(a + b)", "-(a + b)"),
        ("a − 1", "a - 1"),
        ("max(a, b, 0.5)", "max(a, b, 0.5)"),
        ("95%", "0.95"),
        ("95 %", "0.95"),
        ("5s - 250ms", "5000 - 250"),
        ("lambda + class", "lambda + class"),
        ("a\n  +\n b", "a + b"),
    ],
)
def test_arithmetic_is_read_as_it_is_written(text, words):
    assert unparse(parse(text)) == words


@pytest.mark.parametrize(
    ("text", "column", "share"),
    [
        ("95th percentile of response times", "latency_ms", Fraction(95, 100)),
        ("50th Percentile of response time", "latency_ms", Fraction(1, 2)),
        ("99.9th percentile of latency", "latency_ms", Fraction(999, 1000)),
        ("91st percentile of tokens_used", "tokens_used", Fraction(91, 100)),
        ("percentile(latency_ms, 95%)", "latency_ms", Fraction(95, 100)),
        ("percentile(latency_ms, 0.95)", "latency_ms", Fraction(95, 100)),
    ],
)
def test_the_words_of_the_guide_for_a_percentile_are_a_percentile(text, column, share):
    assert parse(text) == Call("percentile", (Name(column), Constant(share)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a ≥ 0.85 AND b = 1.0", "a >= 0.85 and b = 1"),
        ("a >= 85% and Not b < 1", "a >= 0.85 and not b < 1"),
        ("a ≠ 0 Or b ≤ 1 and c == 2", "a != 0 or b <= 1 and c = 2"),
        ("(a > 0 or b != 1) and c < 2", "(a > 0 or b != 1) and c < 2"),
        ("not (a > 0 and b > 0)", "not (a > 0 and b > 0)"),
        ("not not a > 0", "not not a > 0"),
        ("latency_p95 < 5000ms", "latency_p95 < 5000"),
    ],
)
def test_conditions_are_read_in_any_case_and_with_any_sign(text, words):
    assert unparse(parse_condition(text)) == words


def test_not_binds_looser_than_a_comparison_and_and_tighter_than_or():
    a, b, c = (Relation(">", Name(name), Constant(Fraction(0))) for name in "abc")
    assert parse_condition("not a > 0 or b > 0 and c > 0") == Logic("or", (Logic("not", (a,)), Logic("and", (b, c))))


def test_a_minus_sign_is_a_tree_of_its_own():
    assert parse("-a") == Negative(Name("a"))
    assert parse("1 - -a") == Binary("-", Constant(Fraction(1)), Negative(Name("a")))


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, "empty"),
        ("   ", 1, "empty"),
        ("a b", 3, "operator is wanted"),
        ("a + ", 4, "ends where a value is wanted"),
        ("a + * b", 5, "value is wanted"),
        ("(a", 1, "never closed"),
        ("a + (b × (c + 1)", 5, "never closed"),
        ("a)", 2, "never opened"),
        ("()", 2, "value is wanted"),
        ("a ** 2", 3, "powers"),
        ("a ^ 2", 3, "powers"),
        ("a // 2", 3, "whole-number division"),
        ("a % 2", 3, "'%' without a number"),
        ("'text'", 1, "quotes"),
        ('a + "text"', 5, "quotes"),
        ("a.b", 2, "found '.'"),
        (".5", 1, "found '.'"),
        ("a[0]", 2, "not part of formulas"),
        ("{a}", 1, "not part of formulas"),
        ("lambda: 1", 7, "not part of formulas"),
        ("a if b else c", 3, "operator is wanted"),
        ("a := 1", 3, "not part of formulas"),
        ("a; b", 2, "not part of formulas"),
        ("a # note", 3, "not part of formulas"),
        ("__import__('os')", 1, "is not a function"),
        ("eval(a)", 1, "is not a function"),
        ("2 (a)", 3, "operator is wanted"),
        ("(a) (b)", 5, "operator is wanted"),
        ("min(a)", 1, "min has 1 arguments, wanted at least 2"),
        ("abs(a, b)", 1, "abs has 2 arguments, wanted 1"),
        ("min(a, b,)", 10, "value is wanted"),
        ("min(*a)", 5, "value is wanted"),
        ("mean(a + b)", 6, "not of a column"),
        ("sum(1)", 5, "not of a column"),
        ("percentile(latency_ms, 95)", 24, "between 0% and 100%"),
        ("percentile(latency_ms, 0)", 24, "between 0% and 100%"),
        ("percentile(latency_ms, a)", 24, "between 0% and 100%"),
        ("101st percentile of response times", 1, "between 0% and 100%"),
        ("5O%", 1, "'5O%' is not a number"),
        ("1_000", 1, "'1_000' is not a number"),
        ("1e3", 1, "'1e3' is not a number"),
        ("007", 1, "'007' is not a number"),
        ("1.", 1, "'1.' is not a number"),
        ("95%%", 1, "'95%%' is not a number"),
        ("a + 0,95", 6, "outside a function"),
        ("(1, 2)", 3, "outside a function"),
        ("１００", 1, "not part of formulas"),
        ("9" * 41, 1, "more than 40 digits"),
        ("a\n+\n\n b c", 4, "operator is wanted"),
        ("a = 1", 1, "condition where a number"),
        ("1 + (a = 1)", 6, "condition where a number"),
        ("1 + not a", 5, "'not' where a number is wanted"),
        ("a not b", 3, "'not' where an operator is wanted"),
    ],
)
def test_what_is_not_arithmetic_is_refused_at_its_column(text, column, message):
    found = fault(text)
    assert found.column == column
    assert message in found.message


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("a", 1, "number where a condition"),
        ("a + 1", 1, "number where a condition"),
        ("a > 0 and b", 11, "number where a condition"),
        ("not a", 5, "number where a condition"),
        ("0 ≤ a ≤ 1", 9, "two comparisons"),
        ("(a > 0) > 1", 2, "condition where a number"),
        ("a => 1", 3, "'=>'"),
        ("a =< 1", 3, "'=<'"),
        ("a <> 1", 3, "'<>'"),
        ("a > 0 && b > 0", 7, "'&&'"),
        ("a > 0 || b > 0", 7, "'||'"),
        ("!a", 1, "'!'"),
        ("a is 1", 3, "operator is wanted"),
        ("a in b", 3, "operator is wanted"),
    ],
)
def test_what_is_not_a_condition_is_refused_at_its_column(text, column, message):
    found = fault(text, parse_condition)
    assert found.column == column
    assert message in found.message


@pytest.mark.parametrize(
    "text",
    ["(" * 65 + "a" + ")" * 65, "-" * 65 + "a", "abs(" * 65 + "a" + ")" * 65, "(-" * 33 + "a" + ")" * 33],
    ids=["brackets", "signs", "functions", "both"],
)
def test_deep_nesting_is_refused_at_its_column(text):
    found = fault(text)
    assert "nested deeper than 64" in found.message
    assert found.column > 60


def test_what_is_just_not_too_deep_or_too_long_is_read():
    assert parse("(" * 64 + "a" + ")" * 64) == Name("a")
    parse("-" * 64 + "a")
    assert unparse(parse("+".join(["a"] * 201))).count("+") == 200


def test_too_many_operators_are_refused():
    found = fault("+".join(["a"] * 202))
    assert "more than 200 operators" in found.message
    assert found.column == 402


def test_a_very_long_text_is_refused():
    assert "10001 characters" in fault("a" * 10_001).message
    assert "10001 characters" in fault("(" * 10_001).message


def read_or_fault(parser, text):
    try:
        return parser(text)
    except FormulaError as error:
        return error


@given(st.text(max_size=60))
def test_no_text_raises_anything_but_a_formula_error_with_a_place(text):
    for parser in (parse, parse_condition):
        found = read_or_fault(parser, text)
        if isinstance(found, FormulaError):
            lines = text.split("\n")
            assert 1 <= found.line <= len(lines)
            assert 1 <= found.column <= len(lines[found.line - 1]) + 1


PIECES = [*"()+-*/=<>,%.", "a", "1", "95%", "and", "NOT", "min", "mean", " ", "\n"]


@given(st.lists(st.sampled_from(PIECES), max_size=80))
def test_what_is_read_from_any_shuffle_of_tokens_reads_back_the_same(pieces):
    for parser in (parse, parse_condition):
        found = read_or_fault(parser, "".join(pieces))
        assert isinstance(found, FormulaError) or parser(unparse(found)) == found


@given(st.integers(0, 10**12), st.integers(0, 12))
def test_a_number_is_exactly_what_its_digits_say(digits, places):
    text = str(digits).rjust(places + 1, "0")
    written = f"{text[:-places]}.{text[-places:]}" if places else text
    assert parse(written) == Constant(Fraction(digits, 10**places))
    assert parse(f"{written}%") == Constant(Fraction(digits, 10**places * 100))
