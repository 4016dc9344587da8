"""Drift and flaky scenarios of a history, for a terminal and as JSON. Texts from records go through `visible`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

import msgspec

from highbar.history.choosing import ChosenRuns
from highbar.history.drift import Drift
from highbar.history.flaky import FlakyScenarios, PassingRate
from highbar.language.digits import amount
from highbar.language.phrases import count
from highbar.model.history import DamagedRecord
from highbar.model.quarantine import OFFERED_DAYS, most_of
from highbar.policy.scenario_ids import is_pattern
from highbar.report import PAGE, Display
from highbar.report.layout import columns, paint
from highbar.report.visible import visible
from highbar.statistics.drift import ALARM, Decline

_MOST = 9999.0
FLAKY_SCHEMA = "highbar/history-flaky/1"


def say_drift(found: Decline) -> str:
    """A sentence on whether scenarios pass less and less often, and how strong the evidence is."""
    if found.runs < 2:
        return "no drift to see: no earlier run is judged and scored alike"
    strength = f"drift score {min(found.evidence, _MOST):.3g}, alarm at {ALARM:g}"
    trend = f"{100 * found.slope:+.2f} points per run over {count(found.runs, 'run')}"
    if found.back:
        newest = f"the last {count(found.back, 'run')}" if found.back > 1 else "the last run"
        return f"no drift any more: {trend} ({strength}), but {newest} passed as often as before the decline"
    return f"{'scenarios pass less and less often' if found.is_alarm else 'no drift'}: {trend} ({strength})"


def render_drift(drift: Drift, display: Display = PAGE) -> str:
    """The sentence of `say_drift`, and how many runs were left out and why."""
    line = say_drift(drift.found)
    shown = paint(line, "red", display) if drift.found.is_alarm else line
    return "\n".join(["", shown, *_left_out(drift.chosen)]) + "\n"


def write_drift(drift: Drift) -> dict[str, Any]:
    """The drift part of `highbar history trend --format json`."""
    found = drift.found
    return {
        "alarm": found.is_alarm,
        "evidence": min(found.evidence, _MOST),
        "alarm_at": ALARM,
        "runs_back": found.back,
        "slope": found.slope,
        **_runs(drift.chosen),
        "unread": msgspec.to_builtins(drift.damaged),
    }


def render_flaky(found: FlakyScenarios, today: date, display: Display = PAGE) -> str:
    """A table of the scenarios that both passed and failed, a quarantine to paste, and which runs were left out."""
    number = len(found.chosen.runs)
    runs = count(number, "run") if number != 1 else "run"
    lines = [f"{len(found.scenarios)} of {count(found.of, 'scenario')} both passed and failed in the last {runs}"]
    if found.scenarios:
        rows = [("scenario", "passes (90 %)", "trials", "failed in"), *(_row(one) for one in found.scenarios)]
        head, *rest = columns(rows, 2, display)
        lines += ["", paint(head, "dim", display), *rest]
    return "\n".join([*lines, *_left_out(found.chosen), *_offered(found, today)]) + "\n"


def _offered(found: FlakyScenarios, today: date) -> Iterator[str]:
    """The block `quarantine` with the scenarios that went back and forth, as many as a policy accepts."""
    may_be = [one for one in found.scenarios if one.may_be_quarantined]
    # Nothing that would need escapes is offered: whoever pastes the block must see what it says.
    plain = [one for one in may_be if visible(one.id) == one.id and not is_pattern(one.id)]
    most = most_of(found.of)
    offered, once = plain[:most], len(found.scenarios) - len(may_be)
    left_out = (
        (len(plain) - len(offered), f"more that went back and forth (at most {most} of {found.of} may be in it)"),
        (len(may_be) - len(plain), "with an id that this block cannot show as it is"),
        (once, "that broke once, were repaired once, or are attacks"),
    )
    if any(number for number, _ in left_out):
        words = "; ".join(f"{number} {why}" for number, why in left_out if number)
        yield from ("", f"Left out of the quarantine: {words}")
    if not offered:
        return
    until = today + min(timedelta(days=OFFERED_DAYS), date.max - today)
    yield from ("", "To paste into the policy:", "", "quarantine:", "  ids:")
    for one in offered:
        because = f"passed {one.passed} of {count(one.trials, 'trial')}, failed in {one.failed_runs} of {one.runs} runs"
        yield f"    - {{ id: {json.dumps(one.id, ensure_ascii=False)}, until: {until} }} # {because}"


def _row(one: PassingRate) -> tuple[str, ...]:
    low, high = (amount(Fraction(end), "ratio") for end in (one.low, one.high))
    rate = f"{amount(Fraction(one.passed, one.trials), 'ratio')} ({low} to {high})"
    return visible(one.id), rate, f"{one.passed} of {one.trials}", f"{one.failed_runs} of {count(one.runs, 'run')}"


def write_flaky(folder: str, found: FlakyScenarios, damaged: Sequence[DamagedRecord]) -> dict[str, Any]:
    """The JSON document of `highbar history flaky`, schema `highbar/history-flaky/1`."""
    return {
        "schema": FLAKY_SCHEMA,
        "folder": folder,
        "damaged": msgspec.to_builtins((*damaged, *found.damaged)),
        **_runs(found.chosen),
        "of": found.of,
        "scenarios": msgspec.to_builtins(found.scenarios),
    }


def _runs(chosen: ChosenRuns) -> dict[str, Any]:
    return {
        "runs": [run.record for run in chosen.runs],
        "left_out": [{"reason": reason, "runs": number} for reason, number in chosen.left_out],
    }


def _left_out(chosen: ChosenRuns) -> list[str]:
    return [f"  left out: {count(number, 'run')} {reason}" for reason, number in chosen.left_out]
