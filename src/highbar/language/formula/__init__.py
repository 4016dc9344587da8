"""Formula text in, an expression or a condition out; and the exact value of an expression or outcome of a condition.

    parse("correct_outputs / total_outputs")                     -> Expression
    parse_condition("final_score ≥ 0.85 AND safety_rate = 1.0")  -> Condition
    evaluate(expression, lookup)                                 -> Fraction, or Undefined with a reason
    evaluate_condition(condition, lookup)                        -> pass, fail or undefined, and why

Every fault in a text is a FormulaError with its line, column and a hint; nothing else is ever raised.
"""

from highbar.language.formula.parsing import FUNCTIONS, FormulaError, parse, parse_condition
from highbar.language.formula.tree import (
    COLUMN_FUNCTIONS,
    MIRRORED,
    NEGATED,
    Lookup,
    Undefined,
    evaluate,
    evaluate_condition,
    fold,
    leaves,
    metric_first,
    names,
    relations,
    unparse,
)

__all__ = [
    "COLUMN_FUNCTIONS",
    "FUNCTIONS",
    "MIRRORED",
    "NEGATED",
    "FormulaError",
    "Lookup",
    "Undefined",
    "evaluate",
    "evaluate_condition",
    "fold",
    "leaves",
    "metric_first",
    "names",
    "parse",
    "parse_condition",
    "relations",
    "unparse",
]
