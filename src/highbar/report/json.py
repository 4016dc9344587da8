"""Verdicts, comparisons and plans as JSON; `highbar.store` has the documents, with their schemas.

The display does not matter: the bytes depend on what is written alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from highbar.errors import Problem
from highbar.model import Verdict
from highbar.report import PAGE, Display
from highbar.store.encoding import encode

if TYPE_CHECKING:  # each document is loaded only if it is written
    from highbar.model.calibration import Calibration
    from highbar.model.comparison import Comparison
    from highbar.planning import Plan


def render(verdict: Verdict, _display: Display = PAGE) -> str:
    """Everything the verdict holds, schema `highbar/verdict/1`."""
    from highbar.store import verdict as document  # loaded only if it is written

    return encode(document.write(verdict))


def render_problems(problems: Iterable[Problem], _display: Display = PAGE) -> str:
    """What is printed in place of a verdict if nothing could be judged."""
    from highbar.store import verdict as document  # loaded only if it is written

    return encode(document.write_problems(problems))


def render_comparison(comparison: Comparison, _display: Display = PAGE) -> str:
    """Everything the comparison holds, schema `highbar/comparison/1`."""
    from highbar.store import comparison as document  # loaded only if it is written

    return encode(document.write(comparison))


def render_comparison_problems(problems: Iterable[Problem], _display: Display = PAGE) -> str:
    """What is printed in place of a comparison if there is none."""
    from highbar.store import comparison as document  # loaded only if it is written

    return encode(document.write_problems(problems))


def render_calibration(calibration: Calibration, _display: Display = PAGE) -> str:
    """Everything the calibration holds, schema `highbar/calibration/1`."""
    from highbar.store import calibration as document  # loaded only if it is written

    return encode(document.write(calibration))


def render_calibration_problems(problems: Iterable[Problem], _display: Display = PAGE) -> str:
    """What is printed in place of a calibration if a judge could not be calibrated."""
    from highbar.store import calibration as document  # loaded only if it is written

    return encode(document.write_problems(problems))


def render_plan(plan: Plan, _display: Display = PAGE) -> str:
    """Everything the plan holds, schema `highbar/plan/1`."""
    from highbar.store import plan as document  # loaded only if it is written

    return encode(document.write(plan))
