"""Verdicts, comparisons, calibrations and plans as JSON; `highbar.store` defines the documents and their schemas.

The display is ignored: the same verdict always gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from highbar.errors import Problem
from highbar.model import Verdict
from highbar.report import PAGE, Display
from highbar.store.writing import encode

if TYPE_CHECKING:  # each document is loaded only if it is written
    from highbar.model.calibration import Calibration
    from highbar.model.comparison import Comparison
    from highbar.planning import Plan


def render(verdict: Verdict, _display: Display = PAGE) -> str:
    """The whole verdict, schema `highbar/verdict/1`."""
    from highbar.store import verdict as document  # loaded only if it is written

    return encode(document.write(verdict))


def render_problems(problems: Iterable[Problem], _display: Display = PAGE) -> str:
    """A document with all problems, written in place of a verdict if nothing could be judged."""
    from highbar.store import verdict as document  # loaded only if it is written

    return encode(document.write_problems(problems))


def render_comparison(comparison: Comparison, _display: Display = PAGE) -> str:
    """The whole comparison, schema `highbar/comparison/1`."""
    from highbar.store import comparison as document  # loaded only if it is written

    return encode(document.write(comparison))


def render_comparison_problems(problems: Iterable[Problem], _display: Display = PAGE) -> str:
    """A document with all problems, written in place of a comparison."""
    from highbar.store import comparison as document  # loaded only if it is written

    return encode(document.write_problems(problems))


def render_calibration(calibration: Calibration, _display: Display = PAGE) -> str:
    """The whole calibration, schema `highbar/calibration/1`."""
    from highbar.store import calibration as document  # loaded only if it is written

    return encode(document.write(calibration))


def render_calibration_problems(problems: Iterable[Problem], _display: Display = PAGE) -> str:
    """A document with all problems, written in place of a calibration."""
    from highbar.store import calibration as document  # loaded only if it is written

    return encode(document.write_problems(problems))


def render_plan(plan: Plan, _display: Display = PAGE) -> str:
    """The whole plan, schema `highbar/plan/1`."""
    from highbar.store import plan as document  # loaded only if it is written

    return encode(document.write(plan))
