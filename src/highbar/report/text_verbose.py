"""The whole verdict for a terminal (`-v`): every demand with its paths, the metrics, the slices, and the rest.

Texts from files go through `visible`.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import groupby

from msgspec.structs import replace

from highbar.language.digits import Bounds, bounds_by_metric, parse_threshold, rule_bounds, show, show_threshold
from highbar.model import RuleResult, Slice, Value, Verdict
from highbar.planning import unseen_loss
from highbar.report import Display, progressive
from highbar.report.early_words import at_stopping
from highbar.report.headline import (
    bounds_label,
    evidence_sentence,
    other_notes,
    repetition_sentences,
    slice_sentences,
)
from highbar.report.layout import columns, paint, paragraph, problem_lines, text_table, title, titled_table
from highbar.report.reruns import (
    MOST_TO_SETTLE,
    chance_cell,
    how_sure,
    is_clear,
    is_close,
    second_run_sentence,
    settled_by,
)
from highbar.report.text import (
    about_lines,
    advice_lines,
    failed_lines,
    note_lines,
    rest_line,
    undecided_lines,
)
from highbar.report.titles import DemandResult, demands, missed_first
from highbar.report.unseen import say_unseen
from highbar.report.value_words import accepted_words, scenarios_cell, uncorrected_words, undefined_by_reason
from highbar.report.visible import cells, cut, visible

_MOST_ROWS = 20
"""Rows of a table: about as many as a screen shows."""
_MOST_MET = 50
"""Met demands that are listed; all missed demands are listed, and come first."""
_LONGEST_REASON = 300
"""Characters of a reason: about four lines."""
_CLOSE = (
    "could fail: how likely on a re-run of the same scenarios; settled by: a new run with about so many"
    " scenarios, if the value stays (see highbar plan)"
)


def report_lines(verdict: Verdict, display: Display) -> list[str]:
    """The report without the headline."""
    bounds = bounds_by_metric(verdict.rules or verdict.advice)
    found = demands(verdict)
    return [
        *about_lines(verdict, display),
        *paragraph(" ".join(filter(None, (second_run_sentence(verdict), evidence_sentence(verdict)))), 0, display),
        *paragraph(say_unseen(unseen_loss(verdict)), 0, display),
        *problem_lines(verdict.problems, display),
        *_missed_lines([demand for demand in found if demand.rule.outcome != "pass"], verdict, display),
        *advice_lines(verdict, display),
        *_met_lines([demand for demand in found if demand.rule.outcome == "pass"], bounds, display),
        *_progressive(verdict, display),
        *_metrics(verdict, bounds, display),
        *_slices(verdict, bounds, display),
        *failed_lines(verdict, _MOST_ROWS, display),
        *undecided_lines(verdict, display),
        *_repeated_lines(verdict, display),
        *_judge(verdict, display),
        *note_lines(other_notes(verdict), _MOST_ROWS, display),
    ]


# --- demands ---------------------------------------------------------------------------------


def _missed_lines(found: list[DemandResult], verdict: Verdict, display: Display) -> list[str]:
    """The demands that are not met, the blocking ones first."""
    if not found:
        return []
    text = title("Demands that are not met", display)
    for demand in sorted(found, key=missed_first):
        word, color = _outcome_word(demand.rule)
        indent = 4 + len(word)
        # The title can be blank: a document that was read back can have any name for a rule.
        first, *others = paragraph(demand.title, indent, display) or [""]
        text += [f"  {paint(word, color, display)}  {first.strip()}", *others]
        details = (visible(demand.rule.reason), how_sure(demand.rule, verdict))
        text += [line for sentence in details for line in paragraph(sentence, indent, display)]
        small = (demand.places(), *(visible(one) for one in demand.descriptions))
        text += [paint(line, "dim", display) for one in small for line in paragraph(one, indent, display)]
    return text


def _outcome_word(rule: RuleResult) -> tuple[str, str]:
    """The word and color for a rule that did not pass; `WARN` for a warning, whatever its outcome."""
    if rule.level == "warning":
        return "WARN", "bold yellow"
    return ("INCONCLUSIVE", "bold yellow") if rule.outcome == "inconclusive" else ("FAIL", "bold red")


def _met_lines(found: list[DemandResult], bounds: Bounds, display: Display) -> list[str]:
    """The demands that are met; first, in a separate list, those that a re-run may judge differently."""
    close = [demand for demand in found if is_close(demand.rule)]
    clear = [demand for demand in found if not is_close(demand.rule)]
    text: list[str] = []
    if close:
        text += title("Demands that are met narrowly", display)
        text += [paint(line, "dim", display) for line in paragraph(_CLOSE, 2, display)]
        rows = [_close_row(demand.rule, bounds) for demand in close[:_MOST_MET]]
        text += _with_paths(("", "value", "could fail", "settled by"), close, rows, display)
    if clear:
        text += title("Demands that are met", display)
        rows = [_clear_row(demand.rule, bounds) for demand in clear[:_MOST_MET]]
        text += _with_paths(("", "value", "scenarios"), clear, rows, display)
    return text


def _with_paths(
    header: tuple[str, ...], found: list[DemandResult], rows: list[tuple[str, ...]], display: Display
) -> list[str]:
    """A table with a row for each demand, and below each row its paths in the policy."""
    # Not strict: `rows` is cut at _MOST_MET, and `found` is not.
    shown = [(demand.title, *row) for demand, row in zip(found, rows, strict=False)]
    head, *blocks = titled_table(header, shown, display)
    text = [paint(line, "dim", display) for line in head]
    for demand, block in zip(found, blocks, strict=False):
        text += [*block, *(paint(line, "dim", display) for line in paragraph(demand.places(), 6, display))]
    return [*text, *rest_line(len(found), _MOST_MET)]


def _clear_row(rule: RuleResult, bounds: Bounds) -> tuple[str, ...]:
    if rule.value is None or not _is_plain(rule):
        return (cut(visible(rule.reason), _LONGEST_REASON),)
    marks = rule_bounds(rule, bounds)
    size = scenarios_cell(rule.value, marks)
    rests = ", ".join(filter(None, (size, at_stopping(rule), uncorrected_words(rule), accepted_words(rule))))
    return _without_interval(rule.value, marks), rests


def _close_row(rule: RuleResult, bounds: Bounds) -> tuple[str, ...]:
    value = _without_interval(rule.value, rule_bounds(rule, bounds)) if rule.value else ""
    value = ", ".join(filter(None, (value, at_stopping(rule), uncorrected_words(rule), accepted_words(rule))))
    return value, chance_cell(rule), _settled_cell(rule)


def _settled_cell(rule: RuleResult) -> str:
    """How many scenarios a new run needs to settle the rule, or in a few words why there is no such number."""
    size = settled_by(rule)
    if size is not None:
        return "too close" if size > MOST_TO_SETTLE else f"{size} of the slice" if rule.slice else str(size)
    if is_clear(rule):
        return "settled"
    on_threshold = rule.value is not None and rule.value.value in rule_bounds(rule)
    return "no number: on the threshold" if on_threshold else "-"


def _is_plain(rule: RuleResult) -> bool:
    """Whether the value and the threshold explain the outcome; a rule about the baseline needs its reason, too."""
    threshold = rule.threshold or ""
    if parse_threshold(threshold) is not None:
        return True
    return rule.metric == "final_score" and show_threshold(threshold, "ratio") is not None


def _without_interval(value: Value, bounds: Iterable[Fraction]) -> str:
    """The value without its interval, for short lists; the table of metrics shows the intervals."""
    return show(replace(value, low=None, high=None), bounds)


def _progressive(verdict: Verdict, display: Display) -> list[str]:
    rows = progressive.progressive_rows(verdict, visible)
    return (
        [*title(progressive.HEADING, display), *text_table(("", *progressive.COLUMNS), rows, display)] if rows else []
    )


# --- metrics and slices ----------------------------------------------------------------------


def _metrics(verdict: Verdict, bounds: Bounds, display: Display) -> list[str]:
    rows = [
        (visible(name), show(value, bounds.get(name, ())), scenarios_cell(value, bounds.get(name, ())))
        for name, value in verdict.metrics.items()
        if value.value is not None
    ]
    text = [*title("Metrics", display), *text_table(("", bounds_label(verdict), "scenarios"), rows, display)]
    for reason, names in undefined_by_reason(verdict.metrics).items():
        sentence = f"undefined: {', '.join(map(visible, names))}: {cut(visible(reason), _LONGEST_REASON)}"
        text += [paint(line, "dim", display) for line in paragraph(sentence, 2, display)]
    return text if verdict.metrics else []


def _slices(verdict: Verdict, bounds: Bounds, display: Display) -> list[str]:
    text: list[str] = []
    ruled = {rule.metric for rule in verdict.rules} | {"pass_rate"}
    for column, group in groupby(verdict.slices, key=lambda part: part.by[0]):
        parts = list(group)
        names = [name for name in verdict.metrics if name in ruled and _has_value(parts, name)]
        text += title(f"By {visible(column)}", display)
        text += _slice_table(parts[:_MOST_ROWS], names, bounds, display)
        text += rest_line(len(parts), _MOST_ROWS)
        text += columns([("-", sentence) for sentence in slice_sentences(parts, visible)], 2, display)
    return text


def _has_value(parts: Iterable[Slice], name: str) -> bool:
    return any(name in part.metrics and part.metrics[name].value is not None for part in parts)


def _slice_table(parts: list[Slice], names: list[str], bounds: Bounds, display: Display) -> list[str]:
    """A row for each slice, with as many metrics as fit; without intervals if not all fit with them."""
    room = display.width - 2
    header = ["", "scenarios", *(visible(name) for name in names)]
    for intervals in (True, False):
        rows = [header, *(_slice_row(part, names, bounds, intervals=intervals) for part in parts)]
        fitting = _fitting(rows, room)
        if fitting == len(header):
            break
    first, *rest = [row[:fitting] for row in rows]
    left_out = len(header) - fitting
    more_metrics = f"  … and {left_out} more metric{'s' if left_out > 1 else ''}"
    return [*text_table(first, rest, display), *([more_metrics] if left_out else [])]


def _slice_row(part: Slice, names: list[str], bounds: Bounds, *, intervals: bool) -> list[str]:
    row = [cut(visible(part.by[1]), 30), str(part.scenarios)]
    for name in names:
        value = part.metrics.get(name)
        if value is None or value.value is None:
            row.append("-")
        else:
            row.append((show if intervals else _without_interval)(value, bounds.get(name, ())))
    return row


def _fitting(rows: list[list[str]], width: int) -> int:
    """How many columns fit, from the left, but at least two; a table that wraps is unreadable."""
    taken = 0
    for place in range(len(rows[0])):
        taken += max(cells(row[place]) for row in rows) + 2
        if taken - 2 > width:
            return max(place, 2)
    return len(rows[0])


# --- repeated trials -------------------------------------------------------------------------


def _repeated_lines(verdict: Verdict, display: Display) -> list[str]:
    sentences = [("-", sentence) for sentence in repetition_sentences(verdict)]
    return [*title("Repeated trials", display), *columns(sentences, 2, display)] if sentences else []


# --- the judge -------------------------------------------------------------------------------


def _judge(verdict: Verdict, display: Display) -> list[str]:
    if verdict.judge is None:
        return []
    from highbar.report.judge_words import judge_details  # few results use a judge

    return [*title("The judge", display), *columns(judge_details(verdict.judge, visible), 2, display)]
