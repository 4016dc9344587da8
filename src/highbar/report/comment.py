"""The verdict as a comment on a pull request that is replaced at each run: a hidden line by which it is found again.

Short if everything passed: the verdict, and the rest folded. The agent's texts cannot forge the hidden line, since they
are in code spans, in which `<!--` is no comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from highbar.errors import Problem
from highbar.model import Verdict
from highbar.report import PAGE, Display, markdown
from highbar.report.headline import warnings, weakened

MARKER = "<!-- highbar -->"
"""The first line. Whoever posts the comment replaces the last one that begins so, and that they wrote themselves."""
_FOLDED = "<details><summary>Rules, metrics, scenarios and notes</summary>"
_ROOM = len(MARKER) + len(_FOLDED) + 40


def render(verdict: Verdict, _display: Display = PAGE) -> str:
    """The Markdown report behind the marker, within what GitHub takes; the verdict always stays."""
    text = markdown.within(verdict, markdown.LONGEST - _ROOM)
    text += _compared(verdict, markdown.LONGEST - _ROOM - len(text))
    calm = verdict.verdict == "pass" and not warnings(verdict) and not weakened(verdict, markdown.code)[1]
    top, heading, rest = text.partition("\n\n### ")
    if not calm or not heading:
        return f"{MARKER}\n{text}"
    return f"{MARKER}\n{top}\n\n{_FOLDED}\n\n### {rest}\n</details>\n"


def _compared(verdict: Verdict, room: int) -> str:
    """What changed since the baseline, with headings one level down; empty if there is no baseline or no room."""
    compared = verdict.details.comparison if verdict.details else None
    if compared is None:
        return ""
    from highbar.report import comparison_markdown, comparison_words  # only where there is a baseline

    changes = re.sub("^###", "####", comparison_markdown.render(compared).partition("\n\n")[2], flags=re.MULTILINE)
    text = f"\n### Since the baseline\n\n{comparison_words.headline(compared)}\n\n{changes}"
    return text if len(text) <= room else ""


def render_problems(problems: Iterable[Problem], display: Display = PAGE) -> str:
    """The problems, in place of a verdict, after the marker."""
    text = markdown.render_problems(problems, display)
    return f"{MARKER}\n{text[: markdown.LONGEST - len(MARKER) - 1]}"
