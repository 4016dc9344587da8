"""A test and the exception that ended it → whether it was cut short, so that it might have recorded more.

A test that records first and asserts last has recorded everything, even if it fails. If it fails earlier, nobody knows
what it would have recorded. The source of the test distinguishes the two; fail closed: in doubt, it was cut short.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import traceback
from collections.abc import Iterator
from typing import Any

import pytest

FIXTURE = "behaviors"
_LATER = (
    *(ast.For, ast.AsyncFor, ast.While, ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)
"""Code that may run again, or later than its place suggests."""


def is_cut(item: pytest.Item, error: BaseException) -> bool:
    """Whether the exception came before the end of the last line of the test that uses `behaviors`, or may have."""
    function = getattr(item, "function", None)
    code = getattr(function, "__code__", None)
    line = next((line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code is code), None)
    if code is None or line is None or not _has_it_alone(item, function):
        return True
    last = _last_use(function)
    # Both count from the first line of the source, which is that of the first decorator if there is one.
    return last is None or line < code.co_firstlineno + last


def _has_it_alone(item: pytest.Item, function: Any) -> bool:
    """Whether only the test itself can use `behaviors`: no other fixture requests it, and no decorator wraps it."""
    fixtures = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", None)
    if fixtures is None or hasattr(function, "__wrapped__") or FIXTURE not in inspect.signature(function).parameters:
        return False
    return not any(FIXTURE in definition.argnames for each in fixtures.values() for definition in each)


def _last_use(function: Any) -> int | None:
    """The last line of a function that uses `behaviors`, counted from 1; 0 if no line does, None if that is unclear."""
    try:
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    except (OSError, TypeError, ValueError, SyntaxError):
        return None
    if not isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    called = {id(name): call for call, name in _calls(tree)}
    repeated = {id(node) for loop in _loops(tree) for node in ast.walk(loop)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == FIXTURE and (id(node) not in called or id(node) in repeated):
            return None  # it is passed on, or may be called at any time
    return max((call.end_lineno or call.lineno for call in called.values()), default=0)


def _calls(tree: ast.AST) -> Iterator[tuple[ast.Call, ast.Name]]:
    """Every call `behaviors.method(…)`, with the node of the name `behaviors` in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func.value
            if isinstance(name, ast.Name) and name.id == FIXTURE:
                yield node, name


def _loops(tree: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    for part in tree.body:
        yield from (node for node in ast.walk(part) if isinstance(node, _LATER))
