"""The block `quarantine`: what it says, and what is refused."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from highbar import policy as policies
from highbar.errors import InputError
from highbar.gate.history import most_of
from highbar.policy.words import say_all, say_reading

BAR = {"thresholds": {"pass_rate": "80%"}}


def read(block, **more):
    return policies.read_dict({**BAR, **more, "quarantine": block}, Path("folder"))


def test_a_list_names_scenarios():
    block = read(["A", 7]).quarantine
    assert (block.ids, block.auto) == ({"A": None, "7": None}, None)


def test_a_block_has_ids_with_a_last_day_and_the_runs_that_auto_looks_at():
    block = read({"ids": [{"id": "A", "until": "2026-12-01"}], "auto": {"runs": 5}, "history": "runs/"}).quarantine
    assert block.ids == {"A": date(2026, 12, 1)}
    assert (block.auto, block.history, block.folder) == (5, "runs/", "folder/runs")


def test_the_history_is_beside_the_policy_by_default():
    assert read({"auto": {"runs": 5}}).quarantine.folder == "folder/history"


def test_it_adds_a_rule_that_blocks():
    rule = read(["A"]).rules[-1]
    assert (rule.name, rule.level) == ("quarantine", "blocking")


def test_it_is_said_in_words():
    policy = read({"ids": ["A", {"id": "B", "until": "2026-12-01"}], "auto": {"runs": 5}})
    assert "At most 5% of the scenarios" in say_all(policy)[-1][1]
    said = dict(say_reading(policy))
    assert "A, B until 2026-12-01" in said["quarantine.ids"]
    assert "the last 5 runs before the change" in said["quarantine.auto"]


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ([], "the list is empty"),
        ({}, "no scenario is quarantined"),
        ({"history": "history"}, "no scenario is quarantined"),
        (["A", "A"], "'A' is listed twice"),
        (["A-*"], "'A-*' is a pattern, wanted an id"),
        (["R-1"], "'R-1' is required"),
        ([{"until": "2026-12-01"}], "no id"),
        ([{"id": "A", "until": "soon"}], "found 'soon', wanted a date"),
        ([{"id": "A", "until": "2026-02-30"}], "wanted a date"),
        ([{"id": "A", "until": "2026-W49-2"}], "wanted a date"),
        ([{"id": "A", "untill": "2026-12-01"}], "unknown key 'untill'"),
        ({"auto": {}}, "no runs"),
        ({"auto": True}, "wanted a mapping"),
        ({"auto": {"runs": 1}}, "found 1, wanted 2 to 50 runs"),
        ({"auto": {"runs": 51}}, "found 51, wanted 2 to 50 runs"),
        ({"ids": ["A"], "history": "history"}, "history has no effect without auto"),
        ("A", "wanted a mapping"),
    ],
)
def test_what_is_wrong_is_refused(block, message):
    with pytest.raises(InputError) as refused:
        read(block, required_scenarios=["R-*"])
    assert message in "\n".join(problem.message for problem in refused.value.problems)


def test_a_policy_that_only_has_a_quarantine_has_nothing_to_judge():
    with pytest.raises(InputError) as refused:
        policies.read_dict({"quarantine": ["A"]})
    assert "no rule" in refused.value.problems[0].message


@pytest.mark.parametrize(("size", "most"), [(1, 1), (20, 1), (39, 1), (40, 2), (59, 2), (60, 3), (1000, 50)])
def test_a_twentieth_of_a_suite_may_be_quarantined_and_one_of_any(size, most):
    assert most_of(size) == most
