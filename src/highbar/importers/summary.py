"""The counts of an import in words: one sentence for a check, all lines for `highbar import`."""

from __future__ import annotations

from collections.abc import Sequence

from highbar.importers.report import Report
from highbar.language.phrases import count


def sentence(report: Report) -> str:
    """`20 records, 20 rows, 3 errors, 1 unscored`; zeros are left out, except for records and rows.

    >>> sentence(Report(records=20, rows=20, errors=3))
    '20 records, 20 rows, 3 errors'
    """
    counts = [count(report.records, "record"), count(report.rows, "row")]
    counts += [count(report.errors, "error")] if report.errors else []
    others = (
        (report.unscored, "unscored"),
        (report.skipped, "skipped"),
        (report.missing, "planned and missing"),
        (report.merged, "merged into other rows"),
        (report.left_out.total(), "left out"),
    )
    return ", ".join(counts + [f"{number} {what}" for number, what in others if number])


def summary_notes(report: Report) -> tuple[str, ...]:
    """What a verdict based on this file must mention: warnings, records that were left out, and an empty file."""
    lost = tuple(f"{count(number, 'record')} left out: {reason}" for reason, number in sorted(report.left_out.items()))
    empty = () if report.rows else ("there is no result in this file",)
    return (*report.warnings, *lost, *empty)


def summary_lines(name: str, title: str, report: Report) -> tuple[str, ...]:
    """All lines for `highbar import`: the counts, the columns with values, what was left out and why."""
    columns = sorted(report.columns.items(), key=lambda item: -item[1])  # ties in the order of the rows: id first
    details = [f"judged by: {', '.join(report.judges)}"] if report.judges else []
    details += [f"scorer {name}: {what}" for name, what in sorted(report.scorers.items())]
    details += [f"columns: {_listed(columns)}"] if columns else []
    details += [f"unscored: {count(report.unscored, 'row')} without a judgment"] if report.unscored else []
    details += [f"skipped: {count(report.skipped, 'row')}, which count as not passed"] if report.skipped else []
    details += [f"missing: {count(report.missing, 'row')}, which count as errors"] if report.missing else []
    unread = sorted(report.unread.items(), key=lambda item: (-item[1], item[0]))  # ties by name
    details += [f"no column for: {_listed(unread)}"] if unread else []
    details += [f"cut short: {count(report.cut, 'long text')}"] if report.cut else []
    details += [f"warning: {note}" for note in summary_notes(report)]
    return (f"{name}: {title}: {sentence(report)}", *(f"  {detail}" for detail in details))


def _listed(found: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{what} ({number})" for what, number in found)
