"""The list of all scenarios: there where it is asked for, the failed first, the same whatever the order of the rows."""

from __future__ import annotations

import json
import sys
from fractions import Fraction

import pandas as pd
import pyarrow as pa
import pytest

import highbar
from highbar import measure, pipeline
from highbar.engine import scenario_lists
from highbar.model import ScenarioResult
from highbar.model.job import Job, Wants

POLICY = {"thresholds": {"blocking": {"pass_rate": "50%"}}, "required_scenarios": {"ids": ["B*"]}}
ROWS = [
    {"id": "C", "trial": 1, "category": "happy_path", "passed": True, "latency_ms": 0.1},
    {"id": "C", "trial": 2, "category": "happy_path", "passed": True, "latency_ms": 0.2},
    {"id": "B", "trial": 1, "passed": True, "latency_ms": 10},
    {"id": "B", "trial": 2, "error": "it's a crash", "latency_ms": 99},
    {"id": "B", "trial": 3, "violations": ["leaks"], "error": "boom"},
    {"id": "A", "trial": 1, "passed": True},
]
LISTED = (
    ScenarioResult(
        "B", None, 3, 1, 2, 1, "error: it's a crash / violated: leaks; error: boom", True, Fraction(10)
    ),
    ScenarioResult("A", None, 1, 1),
    ScenarioResult("C", "happy_path", 2, 2, duration_ms=Fraction(3, 10)),
)  # fmt: skip


def judge(folder, rows, list_scenarios=False):
    file = folder / "results.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return pipeline.check(Job((str(file),), policy=POLICY, wants=Wants(scenarios=list_scenarios)))


@pytest.mark.parametrize("turned", [False, True])
def test_the_failed_scenarios_come_first_then_by_id(tmp_path, turned):
    verdict = judge(tmp_path, ROWS[::-1] if turned else ROWS, list_scenarios=True)
    assert verdict.scenarios == LISTED
    assert [scenario.passed for scenario in verdict.scenarios] == [False, True, True]


def test_they_are_left_out_unless_asked_for(tmp_path, monkeypatch):
    monkeypatch.delattr(scenario_lists, "list_scenarios")  # whoever calls it fails
    assert judge(tmp_path, ROWS).scenarios == ()


def test_no_more_than_the_bound_are_listed_and_the_failed_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[measure.needs.__module__], "MOST_SCENARIOS", 2)
    verdict = judge(tmp_path, ROWS, list_scenarios=True)
    assert verdict.scenarios == LISTED[:2]
    assert verdict.counts.scenarios == 3


@pytest.mark.parametrize("form", [list, pa.Table.from_pylist, pd.DataFrame])
def test_rows_tables_and_frames_list_them_too(form):
    rows = [{"id": "A", "passed": True}, {"id": "B", "passed": False}]
    found = highbar.check(form(rows), POLICY | {"required_scenarios": {"ids": ["A"]}}, list_scenarios=True)
    assert [(one.id, one.passed, one.required) for one in found.scenarios] == [("B", False, False), ("A", True, True)]
    assert highbar.check(form(rows), POLICY).scenarios == ()
