"""The shape of the code: its layers, its size, its names, and what it costs to start."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import highbar
from tests.architecture.repository import ROOT, SOURCE

# Not msgspec: its structs save ten times what it takes to import (docs/decisions/0016-structs.md).
HEAVY = {"anyio", "defusedxml", "mcp", "numpy", "pandas", "polars", "pyarrow", "pydantic", "rich", "scipy"}
VAGUE = {"common", "handler", "handlers", "helper", "helpers", "manager", "misc", "util", "utils"}
MODULES = sorted(SOURCE.rglob("*.py"))


def functions() -> Iterator[tuple[str, int]]:
    """Every function of the product, and how many lines it has without its docstring."""
    for module in MODULES:
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                documented = ast.get_docstring(node) is not None
                first = node.body[0]
                docstring = first.end_lineno - first.lineno + 1 if documented and first.end_lineno else 0
                yield f"{module.relative_to(ROOT)}:{node.lineno} {node.name}", node.end_lineno - node.lineno - docstring


def public(body: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    """The public functions and classes of a module, and the public methods of those classes."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from public(node.body)


@pytest.mark.process
def test_no_stage_knows_who_calls_it() -> None:
    linted = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert linted.returncode == 0, linted.stdout + linted.stderr


def test_the_exported_names_are_these() -> None:
    assert sorted(highbar.__all__) == [
        "Comparison",
        "FailedScenario",
        "HighbarError",
        "InputError",
        "Problem",
        "ReportError",
        "RuleResult",
        "Run",
        "Slice",
        "UndecidedScenario",
        "Value",
        "Verdict",
        "check",
        "compare",
        "read_history",
        "read_verdict",
        "render",
        "run",
    ]
    for name in highbar.__all__:
        assert getattr(highbar, name).__doc__


def test_a_function_fits_on_a_screen() -> None:
    lengths = sorted(functions(), key=lambda found: found[1])
    assert lengths[-1][1] <= 60, lengths[-1]
    assert lengths[len(lengths) * 95 // 100][1] <= 40


def test_a_file_can_be_read_at_one_sitting() -> None:
    assert [str(module) for module in MODULES if module.read_text("utf-8").count("\n") > 400] == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert [module for module in MODULES if VAGUE & set(module.with_suffix("").parts)] == []


def test_every_public_name_says_what_it_is_for() -> None:
    silent = [
        f"{module.relative_to(ROOT)}:{node.lineno} {node.name}"
        for module in MODULES
        for node in public(ast.parse(module.read_text("utf-8")).body)
        if ast.get_docstring(node) is None
    ]
    assert silent == []


@pytest.mark.process
@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["check", "examples/support-agent/v2.jsonl", "--policy", "examples/support-agent/highbar.yaml"]],
)
def test_a_check_loads_nothing_that_is_slow_to_start(arguments: list[str]) -> None:
    program = (
        "import sys\nfrom highbar.cli import run_guarded\nrun_guarded(sys.argv[1:])\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = set(done.stderr.split())
    assert "click" in loaded
    assert loaded & HEAVY == set()
