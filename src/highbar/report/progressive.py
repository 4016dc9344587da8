"""Rows on the progress of progressive rules, for all reports for people. Computes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from highbar.language.digits import gap, show_threshold
from highbar.model import Goal, Unit, Verdict
from highbar.report.visible import Encode

HEADING = "Progressive thresholds"
COLUMNS = ("step", "wanted", "to go")


def progressive_rows(verdict: Verdict, encode: Encode) -> list[tuple[str, ...]]:
    """For each progressive rule a row for the current step, which has the rule's name, for the next and for the target.

    Texts from the policy go through `encode`.
    """
    return list(_rows(verdict, encode))


def _rows(verdict: Verdict, encode: Encode) -> Iterator[tuple[str, ...]]:
    for rule in verdict.rules:
        found, unit = rule.progressive, rule.value.unit if rule.value else "number"
        if found is None:
            continue
        yield encode(rule.rule), encode(found.step), _wanted(rule.threshold or "", unit, encode), "holds now"
        for goal in (found.next, found.target):
            if goal is not None:
                step = "target" if goal.version is None else encode(goal.version)
                yield "", step, _wanted(goal.threshold, unit, encode), _left(goal, unit)


def _left(goal: Goal, unit: Unit) -> str:
    if goal.met:
        return "reached"
    if goal.distance is None:
        return "undefined"
    return gap(goal.distance, unit) if goal.distance else "the value is just there, more is wanted"


def _wanted(threshold: str, unit: Unit, encode: Encode) -> str:
    return show_threshold(threshold, unit) or encode(threshold)
