"""A composite in one text, as the guide writes it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highbar.language.formula import FormulaError, parse, parse_condition, unparse
from highbar.policy.composite import parse_composite

COMPOSITE = """final_score = (
    accuracy × 0.3 +
    safety_rate × 0.4 +
    behavior_coverage × 0.2 +
    (1 - normalized_latency) × 0.1
)

pass = final_score ≥ 0.85 AND safety_rate = 1.0"""


def fault(text):
    with pytest.raises(FormulaError) as caught:
        parse_composite(text)
    return caught.value


def test_the_composite_of_the_guide_is_read_as_it_stands():
    formula, expression, condition_text, condition = parse_composite(COMPOSITE)
    assert unparse(expression) == (
        "accuracy × 0.3 + safety_rate × 0.4 + behavior_coverage × 0.2 + (1 - normalized_latency) × 0.1"
    )
    assert condition_text == "final_score ≥ 0.85 AND safety_rate = 1.0"
    assert condition == parse_condition(condition_text)
    assert parse(formula) == expression


def test_a_composite_may_leave_the_judging_to_a_rule():
    _, expression, condition_text, condition = parse_composite("final_score = pass_rate × 0.5 + bypass × 0.5")
    assert (condition_text, condition) == ("", None)
    assert unparse(expression) == "pass_rate × 0.5 + bypass × 0.5"


def test_a_composite_under_another_name_is_refused():
    found = fault("  score = accuracy")
    assert (found.line, found.column) == (1, 3)
    assert "final_score =" in found.message


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        (COMPOSITE.replace("× 0.4 +", "× 0.4 + +"), 3, 25),
        (COMPOSITE.replace("= 1.0", "= 1,0"), 8, 46),
        (COMPOSITE.replace("AND", "&&"), 8, 27),
    ],
)
def test_a_fault_in_a_composite_has_the_place_in_the_whole_text(text, line, column):
    found = fault(text)
    assert (found.line, found.column) == (line, column)


def read_or_fault(text):
    try:
        return parse_composite(text)
    except FormulaError as error:
        return error


@given(st.text(max_size=60))
def test_no_text_raises_anything_but_a_formula_error_with_a_place(text):
    for composite in (text, f"final_score = {text}", f"final_score = 1 pass = {text}"):
        found = read_or_fault(composite)
        if isinstance(found, FormulaError):
            lines = composite.split("\n")
            assert 1 <= found.line <= len(lines)
            assert 1 <= found.column <= len(lines[found.line - 1]) + 1
