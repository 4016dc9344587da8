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
    ("text", "column", "code", "named"),
    [
        ("", 1, "formula.syntax", ""),
        ("   ", 1, "formula.syntax", ""),
        ("a b", 3, "formula.syntax", ""),
        ("a + ", 4, "formula.syntax", ""),
        ("a + * b", 5, "formula.syntax", "'*'"),
        ("(a", 1, "formula.syntax", ""),
        ("a + (b × (c + 1)", 5, "formula.syntax", ""),
        ("a)", 2, "formula.syntax", ""),
        ("()", 2, "formula.syntax", "')'"),
        ("a ** 2", 3, "formula.syntax", "x × x"),
        ("a ^ 2", 3, "formula.syntax", "x × x"),
        ("a // 2", 3, "formula.syntax", "÷ or /"),
        ("a % 2", 3, "formula.syntax", "'%'"),
        ("'text'", 1, "formula.syntax", ""),
        ('a + "text"', 5, "formula.syntax", ""),
        ("a.b", 2, "formula.syntax", "'.'"),
        (".5", 1, "formula.syntax", "'.'"),
        ("a[0]", 2, "formula.syntax", "'['"),
        ("{a}", 1, "formula.syntax", "'{'"),
        ("lambda: 1", 7, "formula.syntax", "':'"),
        ("a if b else c", 3, "formula.syntax", ""),
        ("a := 1", 3, "formula.syntax", "':'"),
        ("a; b", 2, "formula.syntax", "';'"),
        ("a # note", 3, "formula.syntax", "'#'"),
        ("__import__('os')", 1, "formula.syntax", "'__import__'"),
        ("eval(a)", 1, "formula.syntax", "'eval'"),
        ("2 (a)", 3, "formula.syntax", "'('"),
        ("(a) (b)", 5, "formula.syntax", "'('"),
        ("min(a)", 1, "formula.wrong-operand", "min has 1"),
        ("abs(a, b)", 1, "formula.wrong-operand", "abs has 2"),
        ("min(a, b,)", 10, "formula.syntax", "')'"),
        ("min(*a)", 5, "formula.syntax", "'*'"),
        ("mean(a + b)", 6, "formula.wrong-operand", "mean"),
        ("sum(1)", 5, "formula.wrong-operand", "sum"),
        ("percentile(latency_ms, 95)", 24, "formula.wrong-operand", "percentile(latency_ms, 95%)"),
        ("percentile(latency_ms, 0)", 24, "formula.wrong-operand", "percentile(latency_ms, 95%)"),
        ("percentile(latency_ms, a)", 24, "formula.wrong-operand", "percentile(latency_ms, 95%)"),
        ("101st percentile of response times", 1, "formula.wrong-operand", "percentile(latency_ms, 95%)"),
        ("5O%", 1, "formula.syntax", "'5O%'"),
        ("1_000", 1, "formula.syntax", "'1_000'"),
        ("1e3", 1, "formula.syntax", "'1e3'"),
        ("007", 1, "formula.syntax", "'007'"),
        ("1.", 1, "formula.syntax", "'1.'"),
        ("95%%", 1, "formula.syntax", "'95%%'"),
        ("a + 0,95", 6, "formula.syntax", "','"),
        ("(1, 2)", 3, "formula.syntax", "','"),
        ("１００", 1, "formula.syntax", "'１'"),
        ("9" * 41, 1, "formula.too-large", "40"),
        ("a\n+\n\n b c", 4, "formula.syntax", ""),
        ("a = 1", 1, "formula.wrong-operand", ""),
        ("1 + (a = 1)", 6, "formula.wrong-operand", ""),
        ("1 + not a", 5, "formula.syntax", "'not'"),
        ("a not b", 3, "formula.syntax", "'not'"),
    ],
)
def test_what_is_not_arithmetic_is_refused_at_its_column(text, column, code, named):
    found = fault(text)
    assert (found.column, found.code) == (column, code)
    assert named in f"{found.message}\n{found.hint}"


@pytest.mark.parametrize(
    ("text", "column", "code", "named"),
    [
        ("a", 1, "formula.wrong-operand", ""),
        ("a + 1", 1, "formula.wrong-operand", ""),
        ("a > 0 and b", 11, "formula.wrong-operand", ""),
        ("not a", 5, "formula.wrong-operand", ""),
        ("0 ≤ a ≤ 1", 9, "formula.wrong-operand", ""),
        ("(a > 0) > 1", 2, "formula.wrong-operand", ""),
        ("a => 1", 3, "formula.syntax", "'=>'"),
        ("a =< 1", 3, "formula.syntax", "'=<'"),
        ("a <> 1", 3, "formula.syntax", "'<>'"),
        ("a > 0 && b > 0", 7, "formula.syntax", "'&&'"),
        ("a > 0 || b > 0", 7, "formula.syntax", "'||'"),
        ("!a", 1, "formula.syntax", "'!'"),
        ("a is 1", 3, "formula.syntax", ""),
        ("a in b", 3, "formula.syntax", ""),
    ],
)
def test_what_is_not_a_condition_is_refused_at_its_column(text, column, code, named):
    found = fault(text, parse_condition)
    assert (found.column, found.code) == (column, code)
    assert named in found.message


@pytest.mark.parametrize(
    "text",
    ["(" * 65 + "a" + ")" * 65, "-" * 65 + "a", "abs(" * 65 + "a" + ")" * 65, "(-" * 33 + "a" + ")" * 33],
    ids=["brackets", "signs", "functions", "both"],
)
def test_deep_nesting_is_refused_at_its_column(text):
    found = fault(text)
    assert found.code == "formula.too-large"
    assert "64" in found.message
    assert found.column > 60


def test_what_is_just_not_too_deep_or_too_long_is_read():
    assert parse("(" * 64 + "a" + ")" * 64) == Name("a")
    parse("-" * 64 + "a")
    assert unparse(parse("+".join(["a"] * 201))).count("+") == 200


def test_too_many_operators_are_refused():
    found = fault("+".join(["a"] * 202))
    assert (found.column, found.code) == (402, "formula.too-large")
    assert "200" in found.message


def test_a_very_long_text_is_refused():
    for text in ("a" * 10_001, "(" * 10_001):
        found = fault(text)
        assert found.code == "formula.too-large"
        assert "10001" in found.message


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
