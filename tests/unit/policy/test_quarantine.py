"""The block `quarantine`: what it says, and what is refused."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from highbar import policy as policies
from highbar.errors import InputError
from highbar.model.quarantine import most_of
from highbar.policy.words import say_all, say_reading

BAR = {"thresholds": {"pass_rate": "80%"}}


def read(block, **more):
    return policies.read_dict({**BAR, **more, "quarantine": block}, Path("folder"))


def test_a_list_names_scenarios():
    assert read(["A", 7]).quarantine == {"A": None, "7": None}


def test_a_block_has_ids_with_a_last_day():
    assert read({"ids": [{"id": "A", "until": "2026-12-01"}]}).quarantine == {"A": date(2026, 12, 1)}


def test_it_adds_a_rule_that_blocks():
    rule = read(["A"]).rules[-1]
    assert (rule.name, rule.level) == ("quarantine", "blocking")


def test_it_is_said_in_words():
    policy = read({"ids": ["A", {"id": "B", "until": "2026-12-01"}]})
    assert "At most 5% of the scenarios" in say_all(policy)[-1][1]
    assert "A, B until 2026-12-01" in dict(say_reading(policy))["quarantine.ids"]


@pytest.mark.parametrize("block", [{"auto": {"runs": 5}}, {"ids": ["A"], "auto": True}, {"ids": ["A"], "history": "h"}])
def test_what_was_removed_is_refused_with_its_code_and_what_to_use(block):
    with pytest.raises(InputError) as refused:
        read(block)
    (problem,) = refused.value.problems
    assert (problem.code, problem.line is None, bool(problem.hint)) == ("removed", True, True)


@pytest.mark.parametrize(
    ("block", "code", "value"),
    [
        ([], "policy.empty-value", "quarantine"),
        ({}, "policy.empty-value", "quarantine"),
        (["A", "A"], "policy.listed-twice", "'A'"),
        (["A-*"], "policy.wrong-type", "'A-*'"),
        (["R-1"], "policy.conflict", "'R-1'"),
        ([{"until": "2026-12-01"}], "policy.missing-key", "quarantine[0]"),
        ([{"id": "A", "until": "soon"}], "policy.wrong-type", "'soon'"),
        ([{"id": "A", "until": "2026-02-30"}], "policy.wrong-type", "'2026-02-30'"),
        ([{"id": "A", "until": "2026-W49-2"}], "policy.wrong-type", "'2026-W49-2'"),
        ([{"id": "A", "untill": "2026-12-01"}], "policy.unknown-key", "'untill'"),
        ("A", "policy.wrong-type", "'A'"),
    ],
)
def test_what_is_wrong_is_refused(block, code, value):
    with pytest.raises(InputError) as refused:
        read(block, required_scenarios=["R-*"])
    (found,) = refused.value.problems
    assert found.code == code
    assert value in found.message


def test_a_policy_that_only_has_a_quarantine_has_nothing_to_judge():
    with pytest.raises(InputError) as refused:
        policies.read_dict({"quarantine": ["A"]})
    assert [problem.code for problem in refused.value.problems] == ["policy.no-rule"]


@pytest.mark.parametrize(("size", "most"), [(1, 1), (20, 1), (39, 1), (40, 2), (59, 2), (60, 3), (1000, 50)])
def test_a_twentieth_of_a_suite_may_be_quarantined_and_one_of_any(size, most):
    assert most_of(size) == most
