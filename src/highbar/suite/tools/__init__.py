"""Suites of other tools → the values of a suite of ours, and the place that each value has in the tool's own file.

    recognize(values)                           which tool a file was written for; None if it is ours
    rewrite(tool, values, place, origin)        the same suite in our keys

A scenario passes if and only if the tool would call it passed. What our checks cannot express is a problem, with its
line: nothing is left out. Each tool has a module of its own.
"""

from __future__ import annotations

from typing import Any

from highbar.documents.problems import ValueCursor
from highbar.suite.tools.recognition import tool_of_suite
from highbar.suite.tools.rewritten import Rewritten, SuiteFile

__all__ = ["Rewritten", "SuiteFile", "rewrite", "tool_of_suite"]


def rewrite(tool: str, values: Any, place: ValueCursor, file: SuiteFile) -> Rewritten:
    """A suite of that tool in our keys. What has no counterpart is noted in `place`."""
    if tool == "promptfoo":
        from highbar.suite.tools import promptfoo  # only for its own files

        return promptfoo.rewrite(values, place, file)
    if tool == "pydantic-evals":
        from highbar.suite.tools import pydantic_evals  # likewise

        return pydantic_evals.rewrite(values, place, file)
    from highbar.suite.tools import agentskills  # likewise

    return agentskills.rewrite(values, place)
