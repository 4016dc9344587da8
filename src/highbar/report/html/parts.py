"""Small elements that several sections of the page use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from highbar.model import Level, Outcome, Value
from highbar.report.headline import and_more
from highbar.report.html.markup import EMPTY, Markup, element, join
from highbar.report.value_words import scenarios_cell
from highbar.report.visible import cut, revealed

LONGEST_TEXT = 300
"""Characters of a text from a file: about three lines of a table."""
_ICONS = {"pass": "M3 8.5l3.2 3.2L13 5", "fail": "M4 4l8 8M12 4l-8 8", "warn": "M8 3v6M8 11.5v1.5"}
_QUESTION_MARK = "M5.5 6a2.5 2.5 0 1 1 3.6 2.2C8.300 8.600 8 9 8 10M8 12v1"


def code(text: str) -> Markup:
    """A text from a file, as a `code` element, whose style keeps right-to-left text from affecting its neighbors."""
    return element("code", cut(revealed(text), LONGEST_TEXT))


def named_section(text: str, anchor: str, *content: str | None) -> Markup:
    """A section with a heading."""
    return element("section", element("h2", text, id=anchor), *content, aria_labelledby=anchor)


def list_section(text: str, anchor: str, entries: Sequence[str], most: int | None = None) -> Markup:
    """A section with a list of at most `most` entries; empty if there are none."""
    if not entries:
        return EMPTY
    listed = element("ul", *(element("li", entry) for entry in entries[:most]))
    return named_section(text, anchor, listed, more_line(len(entries), most) if most else EMPTY)


def folded(text: str, anchor: str, *content: str) -> Markup:
    """A section that is closed at first, for details that few readers need."""
    title = element("summary", element("h2", text, id=anchor))
    return element("section", element("details", title, *content), class_="folded", aria_labelledby=anchor)


def icon(kind: str) -> Markup:
    """An icon for an outcome, in the color of the surrounding text."""
    path = element("path", d=_ICONS.get(kind, _QUESTION_MARK))
    return element("svg", path, viewBox="0 0 16 16", width=16, height=16, class_="icon", aria_hidden="true")


def badge(outcome: Outcome, level: Level) -> Markup:
    """An outcome as a word, an icon and a color; `warning` for a warning rule that did not pass."""
    warned = level == "warning" and outcome != "pass"
    kind = "warn" if warned else "fail" if outcome == "undefined" else outcome
    return element("span", icon(kind), "warning" if warned else outcome, class_=f"badge {kind}")


def for_screen_readers(text: str) -> Markup:
    """A text that only screen readers read, in place of a drawing."""
    return element("span", text, class_="off-screen")


def table(names: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> Markup:
    """A plain table; the first cell of a row is its heading. Cells are text or markup.

    Each cell repeats the name of its column, which a narrow screen shows beside the cell instead of the header row.
    """
    head = element("tr", *(element("th", name, scope="col") for name in names))
    labels = [None if isinstance(name, Markup) else name for name in names]
    body = [
        element(
            "tr",
            element("th", row[0], scope="row") if row[0] else element("td"),
            *(element("td", cell, data_label=label) for cell, label in zip(row[1:], labels[1:], strict=False)),
        )
        for row in rows
    ]
    return element("table", element("thead", head), element("tbody", *body), class_=kind or None)


def undefined_metrics(title: str, names_by_reason: Mapping[str, Sequence[str]]) -> Markup:
    """The undefined metrics by reason, in a closed element; empty if there are none."""
    if not names_by_reason:
        return EMPTY
    entries = [
        join(element("dt", *(join(code(name), " ") for name in names)), element("dd", reason))
        for reason, names in names_by_reason.items()
    ]
    return element("details", element("summary", title), element("dl", *entries, class_="undefined"))


def more_line(total: int, shown: int) -> Markup:
    """`… and 12 more`; empty if all are shown."""
    text = and_more(total, shown)
    return element("p", text, class_="dim") if text else EMPTY


def scenarios(value: Value, bounds: Iterable[Fraction]) -> Markup:
    """The number of scenarios behind a value, and how many are missing or undecided."""
    number, _, lacking = scenarios_cell(value, bounds).partition(", ")
    return join(number, element("span", f" {lacking}", class_="dim") if lacking else None)
