"""Which runs may excuse a failure: none of the change itself, none of another agent."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from highbar.history.excusing import JudgedRun, excusing_runs
from highbar.model.history import NOBODY
from tests.history_runs import new_run

EARLIER = replace(new_run(1).run, agent="a", scoring="s", judge="j", results=("1",), changed=None, verdict="pass")
HERE = JudgedRun(commits=frozenset({"c" * 40}), agent=(None, "a"), scoring="s", judge="j", results=frozenset({"9"}))


def explains(judged=HERE, **facts):
    return bool(excusing_runs([replace(EARLIER, **facts)], judged))


def test_an_earlier_run_of_the_same_agent_that_was_judged_alike_explains():
    assert explains()
    assert explains(verdict="fail")


@pytest.mark.parametrize(
    "facts",
    [
        {"commit": "c" * 40},
        {"commit": None},
        {"changed": True},
        {"agent": "b"},
        {"agent": None},
        {"agent_name": "other"},
        {"scoring": None},
        {"judge": "k"},
        {"results": ("9", "1")},
    ],
    ids=str,
)
def test_a_run_that_may_be_of_the_change_or_of_another_agent_does_not(facts):
    assert not explains(**facts)


def test_an_agent_that_is_not_known_is_like_none_that_is_known():
    unknown = replace(HERE, agent=NOBODY)
    assert not explains(unknown)
    assert explains(unknown, agent=None)


@pytest.mark.parametrize(("verdict", "expected"), [("pass", True), ("fail", False), ("inconclusive", False)])
def test_if_commits_are_not_known_only_runs_that_passed_explain(verdict, expected):
    assert explains(replace(HERE, commits=None), commit=None, verdict=verdict) == expected


def test_the_first_part_of_a_run_does_not_explain_the_whole():
    assert not explains(replace(HERE, begun="b"), begun="b")
    assert explains(replace(HERE, begun="b"), begun="c")


def test_a_run_that_went_on_counts_once():
    first, second = (replace(EARLIER, record=name, results=(name,), begun="b") for name in ("x", "y"))
    assert excusing_runs([first, second], HERE) == (second,)


def test_a_file_of_results_counts_once():
    first, second = (replace(EARLIER, record=name, results=("1", name)) for name in ("x", "y"))
    assert excusing_runs([first, second], HERE) == (second,)
