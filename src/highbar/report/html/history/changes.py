"""The detected changes of level: between which commits, from which level to which, and how sure that is."""

from __future__ import annotations

from highbar.history.change_points import LEVEL, MOST_VALUES, ChangePoint, ChangePoints
from highbar.language.phrases import count
from highbar.model.history import RunRecord
from highbar.report.html.history.words import commit, moment, number_words, short_text
from highbar.report.html.markup import EMPTY, Markup, element, join
from highbar.report.html.parts import code, named_section, table
from highbar.report.visible import revealed
from highbar.statistics.splits import FEWEST

_MOST = 50
_ABOUT = (
    "A line is cut where the mean ranks before and after differ most, in all of it or in a part. The change is listed "
    "if the same values in random order are cut as clearly in less than {level:.0%} of cases, corrected for the place "
    "that was searched for and for the number of lines. A line of more than {most} runs is looked at twice: its last "
    "{most} runs one by one, and all of it by means of several runs. A change says that runs differ, not why."
)


def changes_section(found: ChangePoints) -> Markup:
    """The section, with the first `_MOST` changes and an explanation of the method."""
    names = ("metric", "between", "level", "how sure")
    rows = [_row(one) for one in found.found[:_MOST]]
    more = len(found.found) - len(rows)
    return named_section(
        "Changes of level",
        "level-changes",
        element("p", _summary(found)),
        table(names, rows, "level-changes") if rows else EMPTY,
        element("p", f"and {more} earlier ones", class_="dim") if more else EMPTY,
        element(
            "details",
            element("summary", "How they are found"),
            element("p", _ABOUT.format(level=LEVEL, most=MOST_VALUES)),
        ),
    )


def _summary(found: ChangePoints) -> str:
    if not found.lines:
        return f"Not looked for: no line has {FEWEST} comparable runs of one branch with different values."
    where = f"in {count(found.lines, 'line')} of at least {FEWEST} comparable runs"
    if not found.found:
        return f"Nothing {where} that chance does not explain. A small or recent change may be there all the same."
    return f"{count(len(found.found), 'change')} {where} that chance does not explain."


def _row(one: ChangePoint) -> tuple[str, ...]:
    look = "better" if one.is_better else "worse"
    level = f"{number_words(one.level_before, one.unit)} → {number_words(one.level_after, one.unit)}"
    runs = f"mean of {count(one.runs_before, 'run')}, then of {one.runs_after}"
    place = ""
    if (one.earliest, one.latest) != (one.after, one.after):
        place = f"nine of ten resamples: first run after it from {_run_words(one.earliest)} to {_run_words(one.latest)}"
    return (
        join(code(one.metric), element("span", look, class_=f"chip {look}")),
        join(_between(one), element("span", "branch ", code(short_text(one.branch)), class_="dim")),
        join(level, element("span", runs, class_="dim")),
        join(f"p ≤ {one.p_value:.2g}", element("span", place, class_="dim") if place else None),
    )


def _between(one: ChangePoint) -> Markup:
    """The two runs, and the git command that lists the commits between them."""
    runs = join(_run_words(one.before), " and ", _run_words(one.after))
    before, after = one.before.commit, one.after.commit
    if before is None or after is None:
        return runs
    if before == after:
        return join(runs, element("span", "the same commit: nothing in the repository explains it", class_="dim"))
    listed = f"git log {revealed(before)[:12]}..{revealed(after)[:12]}"
    return join(runs, " ", code(listed))


def _run_words(run: RunRecord) -> str:
    return f"{moment(run)} ({commit(run)})"
