"""The verdict as a comment on a pull request that is replaced at each run: a hidden line by which it is found again.

Short: a pass is one line, and what takes more than a glance is folded. The agent's texts cannot forge the hidden line:
they are in code spans, in which `<!--` is no comment.
"""

from __future__ import annotations

from collections.abc import Iterable

from highbar.errors import Problem
from highbar.model import Verdict
from highbar.report import PAGE, Display, markdown

MARKER = "<!-- highbar -->"
"""The first line. Whoever posts the comment replaces the last one that begins so, and that they wrote themselves."""


def render(verdict: Verdict, _display: Display = PAGE) -> str:
    """The Markdown report behind the marker, within what GitHub takes; the verdict always stays."""
    return f"{MARKER}\n{markdown.within(verdict, markdown.LONGEST - len(MARKER) - 1)}"


def render_problems(problems: Iterable[Problem], display: Display = PAGE) -> str:
    """The problems, in place of a verdict, after the marker."""
    text = markdown.render_problems(problems, display)
    return f"{MARKER}\n{text[: markdown.LONGEST - len(MARKER) - 1]}"
