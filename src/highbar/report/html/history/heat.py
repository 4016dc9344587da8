"""Every scenario in every run, the least stable first. The script draws the other pages and the search results."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from highbar.history.stability import ScenarioRow, StabilityMap
from highbar.language.phrases import count
from highbar.model.history import ScenarioCounts
from highbar.report.html.history.words import number_words, short_text
from highbar.report.html.markup import EMPTY, Markup, element
from highbar.report.html.parts import code, for_screen_readers, named_section

PAGE_LENGTH = 50
CELL, HEIGHT = 6, 14
BARS = {"p": (10, 4), "m": (5, 9), "f": (0, 14), "u": (6, 3)}
"""The top and the height of a cell's bar by state: passed, mixed, failed, undecided."""
_LOOKS = {"p": "passed", "m": "some trials failed", "f": "failed", "u": "undecided"}


def heat(found: StabilityMap) -> Markup:
    """The section with the first page of scenarios, or why there are none."""
    if not found.rows:
        explanation = element("p", " ".join(_left_out(found)) or "No run lists scenarios.")
        return named_section("Scenarios", "scenarios", explanation)
    shown = found.rows[:PAGE_LENGTH]
    names = ("scenario", "instability", "failed in", for_screen_readers("run by run"))
    head = element("thead", element("tr", *(element("th", name, scope="col") for name in names)))
    body = element("tbody", *(_row(one, place == 0) for place, one in enumerate(shown)), id="rows")
    quiet = f"{len(shown)} of {len(found.rows)}; JavaScript searches and shows the others."
    return named_section(
        "Scenarios",
        "scenarios",
        element("p", *_legend(), class_="legend"),
        _tools(),
        element("table", head, body, class_="heat"),
        _pager(),
        element("p", quiet, class_="dim", id="quiet") if len(shown) < len(found.rows) else EMPTY,
        *(element("p", sentence, class_="dim") for sentence in _left_out(found)),
        _meaning(),
    )


def _left_out(found: StabilityMap) -> Iterator[str]:
    """Sentences on the runs and scenarios that are not shown."""
    if found.without:
        yield f"{count(found.without, 'run')} with only a verdict: nothing is known of their scenarios."
    if found.runs > len(found.columns):
        yield (
            f"Drawn are the last {len(found.columns)} of {found.runs} runs that list their scenarios, and instability "
            "is over these alone. Results that were judged twice are drawn once."
        )
    if found.scenarios > len(found.rows):
        least = number_words(found.rows[-1].instability, "ratio")
        left = found.scenarios - len(found.rows)
        yield f"{left} of {found.scenarios} scenarios are not shown; their instability is {least} or less."


def _meaning() -> Markup:
    explanation = (
        "Instability is the chance that of two trials, one from each of two consecutive runs of a branch, one passes "
        "and the other fails. If the text of a scenario changed, each text has a row of its own."
    )
    return element("details", element("summary", "What instability means"), element("p", explanation))


def _legend() -> Iterator[Markup]:
    for state, text in _LOOKS.items():
        y, high = BARS[state]
        bar = element("rect", x=0, y=y, width=CELL * 2, height=high, class_=state)
        drawn = element(
            "svg", bar, viewBox=f"0 0 {CELL * 2} {HEIGHT}", width=CELL * 2, height=HEIGHT, aria_hidden="true"
        )
        yield element("span", drawn, text, class_="key")
    yield element("span", "nothing: not in that run", class_="key")


def _tools() -> Markup:
    search = element("input", type="search", id="search", autocomplete="off", spellcheck="false")
    return element(
        "div",
        element("label", "Search scenarios", search),
        element("span", "/ to search, arrow keys to move", class_="dim keys"),
        element("p", id="status", role="status"),
        element("p", id="cell", role="status"),
        class_="tools",
        id="heat-tools",
        hidden=True,
    )


def _pager() -> Markup:
    return element(
        "nav",
        element("button", "Previous", type="button", id="previous"),
        element("span", id="place"),
        element("button", "Next", type="button", id="next"),
        class_="pager",
        id="pager",
        aria_label="Pages of scenarios",
        hidden=True,
    )


def _row(one: ScenarioRow, is_first: bool) -> Markup:  # noqa: FBT001 - one caller
    name = element(
        "th",
        code(one.id),
        element("span", short_text(one.category), class_="chip") if one.category else EMPTY,
        element("span", "earlier text", class_="chip") if one.is_earlier else EMPTY,
        scope="row",
    )
    unstable, failed = _numbers(one)
    states = "".join(map(state, one.cells))
    width = CELL * len(states)
    drawing = element(
        "svg",
        *_bars(states),
        viewBox=f"0 0 {width} {HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        tabindex="0" if is_first else "-1",
        aria_label=f"{short_text(one.id)}: failed in {failed}",
    )
    return element("tr", name, element("td", unstable), element("td", failed), element("td", drawing))


def _numbers(one: ScenarioRow) -> tuple[str, str]:
    return number_words(round(one.instability, 4), "ratio"), f"{one.failed_runs} of {count(one.runs, 'run')}"


def state(cell: ScenarioCounts | None) -> str:
    """The letter of a scenario's outcome in a run; `.` if it was not in the run."""
    if cell is None:
        return "."
    if cell.failed:
        return "m" if cell.passed else "f"
    return "u" if cell.undecided else "p"


def _bars(states: str) -> Iterator[Markup]:
    # One path for each state, with equal neighbors joined, keeps the page small: a rectangle for each run would not.
    paths: dict[str, str] = {}
    start = 0
    for letter, group in groupby(states):
        length = len(list(group))
        if letter != ".":
            y, high = BARS[letter]
            width = CELL * length
            paths[letter] = paths.get(letter, "") + f"M{CELL * start} {y}h{width}v{high}h-{width}z"
        start += length
    for letter, path in paths.items():
        yield element("path", d=path, class_=letter)


def packed_rows(found: StabilityMap) -> list[list[Any]]:
    """The rows as the script reads them: texts, numbers, a letter for each run, and the counts of each cell."""
    return [
        [
            short_text(one.id),
            short_text(one.category) if one.category else "",
            int(one.is_earlier),
            *_numbers(one),
            "".join(map(state, one.cells)),
            [[cell.passed, cell.failed, cell.undecided] for cell in one.cells if cell is not None],
        ]
        for one in found.rows
    ]
