"""Numbers beyond those of a double, in every document that is read: one clear message, and no internal error."""

from __future__ import annotations

import json

import pytest

from highbar.errors import InputError
from highbar.store.baseline_reading import parse_baseline
from highbar.store.baseline_text import render
from highbar.store.forms import END, EXACT, NUMBER, SHARE, Context, DamagedError
from tests.unit.store.test_baseline import SMALL


@pytest.mark.parametrize("form", [NUMBER, SHARE, EXACT, END], ids=["number", "share", "exact", "end"])
@pytest.mark.parametrize(
    "number", [10**400, -(10**400), float("inf"), float("nan")], ids=["long", "negative", "inf", "nan"]
)
def test_a_number_that_no_double_holds_is_refused(form, number):
    with pytest.raises(DamagedError, match="wanted a number"):
        form.read(number, Context())


LARGE, SMALL_SHARE = f"{'9' * 390}/1", f"1/{'9' * 390}"


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"ranks": {"latency_ms": [LARGE]}}, "scenarios.A.ranks.latency_ms"),
        ({"ranks": {"extra:own": [f"-{LARGE}"]}}, "scenarios.A.ranks.extra:own"),
        ({"values": {"extra:own": LARGE}}, "scenarios.A.values.extra:own"),
        ({"values": {"cost_usd": LARGE}}, "scenarios.A.values.cost_usd"),
        ({"weight": LARGE}, "scenarios.A.weight"),
        ({"weight": SMALL_SHARE}, "scenarios.A.weight"),
        ({"trials": LARGE}, "scenarios.A.trials"),
    ],
)
def test_a_number_that_no_scenario_has_is_refused_in_a_baseline(changes, place):
    document = json.loads(render(SMALL))
    document["scenarios"]["A"] |= changes
    with pytest.raises(InputError, match=f"{place}: found .*, wanted a number that it can be"):
        parse_baseline(json.dumps(document).encode(), "baseline.json")


def test_a_metric_that_no_report_can_show_is_refused_in_a_baseline():
    document = json.loads(render(SMALL))
    document["metrics"]["pass_rate"]["value"] = LARGE
    with pytest.raises(InputError, match=r"metrics\.pass_rate\.value: found"):
        parse_baseline(json.dumps(document).encode(), "baseline.json")
