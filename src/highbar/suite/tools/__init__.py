"""Suites of other tools → the values of a suite of ours, and the path of each value in the tool's own file.

    tool_of_suite(values)                       the tool that a file was written for; None if it is ours
    rewrite(tool, values, place, path)          the same suite in our keys

A scenario passes if and only if the tool would call it passed. Anything that our checks cannot express is a problem,
with its line: nothing is left out. Each tool has a module of its own; promptfoo has one for each part of a
configuration, and `templates`, `thresholds` and `js_patterns` for what it computes. `linked` reads the files that a
suite names.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from highbar.documents.problems import ValueCursor
from highbar.suite.tools.recognition import tool_of_suite
from highbar.suite.tools.rewritten import Rewritten

__all__ = ["Rewritten", "rewrite", "tool_of_suite"]


def rewrite(tool: str, values: Any, place: ValueCursor, path: Path) -> Rewritten:
    """A suite of that tool in our keys. Anything without a counterpart is noted in `place`."""
    if tool == "promptfoo":
        from highbar.suite.tools import promptfoo  # only for its own files

        return promptfoo.rewrite(values, place, path)
    if tool == "pydantic-evals":
        from highbar.suite.tools import pydantic_evals  # only for its own files

        return pydantic_evals.rewrite(values, place, path)
    from highbar.suite.tools import agentskills  # only for its own files

    return agentskills.rewrite(values, place)
