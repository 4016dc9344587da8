"""Every problem has a code of the table, and every code of the table is of a problem."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from highbar.codes import read_codes
from tests.architecture.repository import SOURCE

CODES = read_codes()
TAKES_A_CODE = {
    "Problem": 0,
    "ValueProblem": 0,
    "ThresholdError": 0,
    "FormulaError": 0,
    "WrongUsage": 0,
    "_Refused": 0,
    "refuse": 0,
    "problem": 0,
    "_once": 1,
}
"""What makes a problem, by its name, and which of its arguments is the code."""
OTHERS = {"running/preparing.py": "refuse", "store/baseline_reading.py": "refuse"}
"""Functions of those names that take no code."""


def made() -> Iterator[tuple[str, ast.expr]]:
    """The code of everything in the source that makes a problem, with its place."""
    for path in sorted(SOURCE.rglob("*.py")):
        name = str(path.relative_to(SOURCE))
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if isinstance(node.func, ast.Attribute) and called == "problem":
                continue  # a method that finds one
            if called in TAKES_A_CODE and OTHERS.get(name) != called and len(node.args) > TAKES_A_CODE[called]:
                yield f"{name}:{node.lineno}", node.args[TAKES_A_CODE[called]]


def texts(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_every_problem_is_made_with_a_code_of_the_table_or_with_that_of_another_problem() -> None:
    wrong = [
        place
        for place, code in made()
        if not (isinstance(code, ast.Constant) and code.value in CODES)
        and not (isinstance(code, ast.Name) and code.id == "code")
        and not (isinstance(code, ast.Attribute) and code.attr == "code")
        and not isinstance(code, ast.Starred)
        and not (isinstance(code, ast.Call) and ast.unparse(code.func).startswith("_code_of"))
    ]
    assert wrong == [], "a code is written out where the problem is made, and has an entry in codes.toml"


def test_every_code_of_the_table_is_of_a_problem() -> None:
    used = {text for path in SOURCE.rglob("*.py") for text in texts(path)}
    assert sorted(CODES.keys() - used) == [], "nothing has this code: remove its entry from codes.toml"


def test_a_code_names_its_room_and_what_is_wrong_in_kebab_case() -> None:
    shape = re.compile(r"[a-z]+\.[a-z]+(-[a-z0-9]+)*")
    assert [code for code in CODES if not shape.fullmatch(code)] == ["removed"]


def test_no_two_codes_have_one_cause() -> None:
    causes = [kind.cause for kind in CODES.values()]
    assert len(set(causes)) == len(causes)
