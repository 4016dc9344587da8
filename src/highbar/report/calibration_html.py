"""A calibration as one self-contained page: how good the judge is, and where people disagree with it."""

from __future__ import annotations

from collections.abc import Sequence

from highbar.model.calibration import Calibration, ReaderDisagreement
from highbar.report import PAGE, Display
from highbar.report import calibration_words as words
from highbar.report.html import banner, facts_section
from highbar.report.html.markup import EMPTY, Markup, element, join
from highbar.report.html.page import page
from highbar.report.html.parts import code, list_section, more_line, named_section, table

_MOST = 500
_UNUSED = "Labels that do not count"


def render(calibration: Calibration, display: Display = PAGE) -> str:
    """The whole page. Of the display, only `meta` is used."""
    sections = {
        "rates": ("How often it is right", _rates(calibration)),
        "metrics": ("Metrics", _metrics(calibration)),
        "people": (
            "Between people",
            list_section("Between people", "people", words.people_lines(calibration, str), _MOST),
        ),
        "disagreements": ("Disagreements", _disagreements(calibration)),
        "unused": (_UNUSED, list_section(_UNUSED, "unused", calibration.unused, _MOST)),
        "notes": ("Notes", list_section("Notes", "notes", calibration.warnings, _MOST)),
    }
    about = element("p", Markup(words.about_labels(calibration, code)), *facts_section(display), class_="about")
    head = banner(words.headline(calibration, str), None, sections, about)
    main = element("main", *(section for _, section in sections.values()), id="main")
    return page("JUDGE · Highbar", "", [head, main], scripted=False)


def _rates(calibration: Calibration) -> Markup:
    rates = [words.rate_cells(word, str) for word in words.all_words(calibration)]
    agreed = [words.agreement_cells(word, str) for word in words.all_words(calibration)]
    shown = table(("about", *words.RATES[1:]), [(code(name), *cells) for name, *cells in rates])
    beside = table(("about", *words.AGREEMENT[1:]), [(code(name), *cells) for name, *cells in agreed])
    statements = [join(element("dt", code(one.name)), element("dd", one.statement)) for one in calibration.behaviors]
    return named_section(
        "How often it is right",
        "rates",
        shown,
        element("p", words.RATES_EXPLAINED, class_="dim"),
        beside,
        element("p", words.AGREEMENT_EXPLAINED, class_="dim"),
        element("dl", *statements),
    )


def _metrics(calibration: Calibration) -> Markup:
    if not calibration.metrics:
        return EMPTY
    rows = [words.metric_cells(metric) for metric in calibration.metrics]
    listed = [(code(name), judged, people) for name, judged, people in rows]
    shown = table(("metric", "as judged", "as people would"), listed)
    return named_section("What it does to the metrics", "metrics", shown)


def _disagreements(calibration: Calibration) -> Markup:
    found = calibration.disagreements
    if not found:
        return EMPTY
    rows = [_disagreement(one) for one in found[:_MOST]]
    names = ("trial", "statement", "people and the judge", "the judge's evidence")
    name = f"Where people disagree with the judge ({len(found)})"
    return named_section(name, "disagreements", table(names, rows), more_line(len(found), _MOST))


def _disagreement(one: ReaderDisagreement) -> Sequence[Markup | str]:
    place = join(code(one.id), f", trial {one.trial}")
    statement = join(code(one.behavior), " ", element("span", one.statement))
    return place, statement, words.sides(one, str), code(one.evidence) if one.evidence else ""
