"""Where a verdict comes from, in a few lines: who judged which rows, what is quarantined, and what was not run.

Texts from files go through the `encode` of the calling report.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from highbar.language.phrases import count
from highbar.model import Verdict
from highbar.model.judging import Judging, Selection
from highbar.report.early_words import saved_line
from highbar.report.visible import Encode

if TYPE_CHECKING:  # few results use a judge
    from highbar.model.judge_quality import JudgeReport

_MOST_QUARANTINED = 10
"""Quarantined scenarios that a report lists on one line."""


def origin_lines(verdict: Verdict, encode: Encode) -> tuple[str, ...]:
    """Who judged, which rows, the judge, the quarantine and early stopping; a line is empty if it does not apply."""
    return (
        judged_line(verdict.judged_by, encode),
        selection_line(verdict.selection, encode),
        judge_line(verdict.judge, encode),
        quarantine_line(verdict, encode),
        saved_line(verdict),
    )


def judged_line(judged_by: Iterable[Judging], encode: Encode) -> str:
    """`judged by inspect: accuracy at least 0.8 (policy); junit: …`; empty if all rows are in our own format."""
    judges = []
    for one in judged_by:
        names = " and ".join(encode(judge) for judge in one.judges) or "its reader does not say"
        judges.append(f"{encode(one.tool)}: {names}{' (policy)' if one.by_policy else ''}")
    return f"judged by {'; '.join(judges)}" if judges else ""


def selection_line(selection: Selection | None, encode: Encode) -> str:
    """`only rows with tags.model x: 12 rows left out`; empty if there was no selection."""
    if selection is None:
        return ""
    chosen = " and ".join(
        f"{encode(column)} {' or '.join(encode(value) for value in values)}" for column, values in selection.where
    )
    lost = f", {count(selection.scenarios_count, 'scenario')} with them" if selection.scenarios_count else ""
    return f"only rows with {chosen}: {count(selection.rows, 'row')} left out{lost}"


def judge_line(report: JudgeReport | None, encode: Encode) -> str:
    """Which judge judged how much, and whether it is calibrated; empty if no trial was judged by a judge."""
    if report is None:
        return ""
    from highbar.report.judge_words import one_line  # few results use a judge

    return one_line(report, encode)


def quarantine_line(verdict: Verdict, encode: Encode) -> str:
    """`1 scenario quarantined: A-3 (listed in the policy, until 2026-12-01)`; empty if no scenario is quarantined."""
    found = verdict.quarantined
    if not found:
        return ""
    named = []
    for one in found[:_MOST_QUARANTINED]:
        at_most = "until" if one.since is None else "at the latest until"  # a flaky scenario may become stable earlier
        until = f", {at_most} {one.until}" if one.until else ""
        named.append(f"{encode(one.id)} ({encode(one.why)}{until})")
    rest = f" and {len(found) - len(named)} more" if len(found) > len(named) else ""
    return f"{count(len(found), 'scenario')} quarantined: {'; '.join(named)}{rest}"


def quarantined_ids(verdict: Verdict) -> frozenset[str]:
    """The ids of the scenarios that a report marks as quarantined."""
    return frozenset(one.id for one in verdict.quarantined)
