"""The verdict as a pull request comment that each run replaces; a hidden first line identifies it.

A pass is one line, and details are folded. The agent's texts cannot forge the hidden line: they are in code spans, in
which `<!--` is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable

from highbar.errors import Problem
from highbar.model import Verdict
from highbar.report import PAGE, Display, markdown

MARKER = "<!-- highbar -->"
"""The first line. Whoever posts the comment replaces their own last comment that begins with it."""


def render(verdict: Verdict, _display: Display = PAGE) -> str:
    """The marker and the Markdown report, within GitHub's limit; the verdict always stays."""
    return f"{MARKER}\n{markdown.within(verdict, markdown.LONGEST - len(MARKER) - 1)}"


def render_problems(problems: Iterable[Problem], display: Display = PAGE) -> str:
    """The marker and all problems, written in place of a verdict."""
    text = markdown.render_problems(problems, display)
    return f"{MARKER}\n{text[: markdown.LONGEST - len(MARKER) - 1]}"
