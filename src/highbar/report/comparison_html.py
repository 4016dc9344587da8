"""A comparison as one self-contained page: the headline, the rules, what changed, and which scenarios broke."""

from __future__ import annotations

from highbar.model.comparison import Comparison
from highbar.report import PAGE, Display
from highbar.report import comparison_words as words
from highbar.report.html import banner, facts_section
from highbar.report.html.differences import metric_changes, moved, slice_changes
from highbar.report.html.markup import EMPTY, element
from highbar.report.html.page import page
from highbar.report.html.parts import list_section
from highbar.report.html.rules import rules


def render(comparison: Comparison, display: Display = PAGE) -> str:
    """The whole page. Of the display, only `meta` is used."""
    sections = {
        "rules": ("Demands", rules(words.as_verdict(comparison))),
        "changes": ("Changes", metric_changes(comparison)),
        "moved": ("Scenarios", moved(comparison)),
        "sliced": ("Slices", slice_changes(comparison)),
        "notes": ("Notes", list_section("Notes", "notes", comparison.warnings)),
    }
    about = element("p", *facts_section(display), class_="about") if display.meta else EMPTY
    head = banner(words.headline(comparison), comparison.verdict, sections, about)
    main = element("main", *(section for _, section in sections.values()), id="main")
    word = words.headline(comparison).partition(":")[0]
    return page(f"{word} · Highbar", comparison.verdict or "", [head, main], scripted=False)
