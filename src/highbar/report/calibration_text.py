"""A calibration for a terminal: how good the judge is, what it does to the metrics, and where people disagree."""

from __future__ import annotations

from collections.abc import Iterable

from highbar.model.calibration import Calibration, ReaderDisagreement
from highbar.report import PAGE, Display
from highbar.report import calibration_words as words
from highbar.report.headline import and_more
from highbar.report.layout import columns, paint, paragraph, text_table, title
from highbar.report.visible import cut, visible

_MOST = 20
_LONGEST = 300


def render(calibration: Calibration, display: Display = PAGE) -> str:
    """The whole report, wrapped to the display's width."""
    head = words.headline(calibration, visible)
    first, *others = paragraph(head, 0, display)
    lines = [paint("JUDGE", "bold", display) + first.removeprefix("JUDGE"), *others]
    lines += paragraph(words.about_labels(calibration, visible), 0, display)
    found = words.all_words(calibration)
    lines += title("How often it is right", display)
    lines += text_table(words.RATES, [words.rate_cells(word, visible) for word in found], display)
    lines += [paint(line, "dim", display) for line in paragraph(words.RATES_EXPLAINED, 2, display)]
    lines += title("How far it agrees with people", display)
    lines += text_table(words.AGREEMENT, [words.agreement_cells(word, visible) for word in found], display)
    lines += [paint(line, "dim", display) for line in paragraph(words.AGREEMENT_EXPLAINED, 2, display)]
    if calibration.metrics:
        lines += title("What it does to the metrics", display)
        rows = [words.metric_cells(metric) for metric in calibration.metrics]
        lines += text_table(("", "as judged", "as people would have it"), rows, display)
    people = words.people_lines(calibration, visible)
    lines += (
        [*title("Between people", display), *columns([("-", line) for line in people], 2, display)] if people else []
    )
    lines += _disagreements(calibration, display)
    lines += _list("Labels that do not count", calibration.unused, display)
    lines += _list("Notes", calibration.warnings, display)
    return "\n".join(lines) + "\n"


def _disagreements(calibration: Calibration, display: Display) -> list[str]:
    """The first disagreements, grouped by statement, because the wording of a statement is what can be improved."""
    found = calibration.disagreements
    if not found:
        return []
    lines = title(f"Where people disagree with the judge ({len(found)})", display)
    by_statement: dict[tuple[str, str], list[ReaderDisagreement]] = {}
    for one in found[:_MOST]:
        by_statement.setdefault((one.behavior, one.statement), []).append(one)
    for (behavior, statement), trials in by_statement.items():
        words_of = f"{cut(visible(behavior), 100)}: {cut(visible(statement), _LONGEST)}"
        lines += paragraph(words_of, 2, display)
        for one in trials:
            lines += _disagreement(one, display)
    rest = and_more(len(found), _MOST)
    return [*lines, *([f"  {rest}"] if rest else [])]


def _disagreement(one: ReaderDisagreement, display: Display) -> list[str]:
    place = f"{cut(visible(one.id), 100)}, trial {one.trial}"
    lines = paragraph(f"{place}: {words.sides(one, visible)}", 4, display)
    if one.evidence:
        lines += paragraph(f"its evidence: {cut(visible(one.evidence), _LONGEST)}", 6, display)
    return lines


def _list(heading: str, texts: Iterable[str], display: Display) -> list[str]:
    rows = [("-", visible(text)) for text in texts]
    if not rows:
        return []
    rest = and_more(len(rows), _MOST)
    return [*title(heading, display), *columns(rows[:_MOST], 2, display), *([f"  {rest}"] if rest else [])]
