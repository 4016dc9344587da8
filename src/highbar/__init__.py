"""Highbar: did this version of the agent pass, why not, and how sure is the answer.

verdict = highbar.check("results.jsonl", "highbar.yaml")
verdict.passed, verdict.rules, verdict.metrics["accuracy"].value
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from highbar.api import Run, check, compare, run
    from highbar.errors import HighbarError, InputError, Problem, ReportError
    from highbar.history import read_history
    from highbar.model import FailedScenario, RuleResult, Slice, UndecidedScenario, Value, Verdict
    from highbar.model.comparison import Comparison
    from highbar.report import render
    from highbar.store.verdict import read_verdict

__version__ = "0.1.0"
__all__ = [
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
_HOMES = {
    "Comparison": "highbar.model.comparison",
    "read_history": "highbar.history",
    "read_verdict": "highbar.store.verdict",
    "render": "highbar.report",
    **dict.fromkeys(("Run", "check", "compare", "run"), "highbar.api"),
    **dict.fromkeys(("HighbarError", "InputError", "Problem", "ReportError"), "highbar.errors"),
    **dict.fromkeys(
        ("FailedScenario", "RuleResult", "Slice", "UndecidedScenario", "Value", "Verdict"), "highbar.model"
    ),
}


def __dir__() -> list[str]:
    """The public names, listed without loading their modules."""
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    """Import a public name on first use: the command line needs few of them, and each import slows its start."""
    if name not in _HOMES:
        raise AttributeError(f"module 'highbar' has no attribute {name!r}")
    import importlib  # the command line never calls this function

    return getattr(importlib.import_module(_HOMES[name]), name)
