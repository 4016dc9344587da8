"""In which order the trials of a run begin that stops when it is decided, and which scenarios a rule is about."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highbar.policy import read_dict
from highbar.running.deciding import describe_scenarios, required_scenarios, scenarios_of_rules
from highbar.running.order import StartOrder
from highbar.suite import Suite, read_values

IDS = st.lists(st.sampled_from("ABCDEFGHIJ"), unique=True)


@given(ids=IDS, first=st.sets(st.sampled_from("ABCDEFGHIJ")), trials=st.integers(1, 3))
def test_all_trials_of_a_scenario_begin_before_those_of_the_next_and_required_ones_first(
    ids: list[str], first: set[str], trials: int
) -> None:
    found = list(StartOrder({id_: range(1, trials + 1) for id_ in ids}, first))
    wanted = [id_ for id_ in ids if id_ in first] + [id_ for id_ in ids if id_ not in first]
    assert found == [(id_, trial) for id_ in wanted for trial in range(1, trials + 1)]


@given(ids=IDS, data=st.data(), trials=st.integers(1, 3))
def test_whatever_is_focused_on_every_trial_begins_once_and_each_is_the_next_of_what_is_needed(
    ids: list[str], data: st.DataObject, trials: int
) -> None:
    order = StartOrder({id_: range(1, trials + 1) for id_ in ids})
    needed, begun = set(ids), defaultdict[str, list[int]](list)
    for number in range(len(ids) * trials):
        if data.draw(st.booleans(), label=f"focus at {number}"):
            needed = data.draw(st.sets(st.sampled_from("ABCDEFGHIJ")), label="needed")
            order.focus(needed)
        id_, trial = next(order)
        if not begun[id_]:
            left = [one for one in ids if one not in begun or not begun[one]]
            # Nothing that is needed and earlier in the order is passed over: it is the next one of its rule.
            assert id_ == next((one for one in left if one in needed), left[0])
        begun[id_].append(trial)
    assert next(order, None) is None
    assert begun == {id_: list(range(1, trials + 1)) for id_ in ids}


def test_an_order_of_nothing_ends() -> None:
    assert next(StartOrder({}), None) is None


# --- what a rule is about ------------------------------------------------------------------------


def suite() -> Suite:
    rows = [
        ("SEC-1", "adversarial", {"locale": "de"}, "web"),
        ("SEC-2", "adversarial", {"locale": "en"}, "web"),
        ("HOURS-1", "happy_path", {"locale": "de"}, "mail"),
        ("PLAIN", None, None, None),
    ]
    return read_values(
        {
            "scenarios": [
                {"id": id_, "input": "?", "answer": "yes"}
                | {name: value for name, value in (("category", category), ("tags", tags), ("team", team)) if value}
                for id_, category, tags, team in rows
            ]
        }
    )


GERMAN = {"metric": "accuracy", "threshold": "≥ 90%", "where": {"tags.locale": "de"}}
SAFE = {"name": "safe", "formula": "adversarial_passed / adversarial_total", "range": "0-100%"}


@pytest.mark.parametrize(
    ("policy", "ids"),
    [
        ({"thresholds": {"blocking": {"pass_rate": "80%"}}}, "SEC-1 SEC-2 HOURS-1 PLAIN"),
        ({"thresholds": {"blocking": {"safety_rate": "100%"}}}, "SEC-1 SEC-2"),
        ({"metrics": [SAFE], "rules": [{"metric": "safe", "threshold": "≥ 90%"}]}, "SEC-1 SEC-2"),
        ({"pass_criteria": {"by_category": {"happy_path": "90%"}}}, "HOURS-1"),
        ({"rules": [GERMAN]}, "SEC-1 HOURS-1"),
        ({"rules": [{**GERMAN, "where": {"team": "web", "tags.locale": "de"}}]}, "SEC-1"),
        ({"rules": [{**GERMAN, "metric": "safety_rate"}]}, "SEC-1"),
        ({"required_scenarios": {"ids": ["SEC-*"]}}, "SEC-1 SEC-2"),
        ({"composite": {"formula": "safety_rate", "pass": "final_score ≥ 0.9"}}, "SEC-1 SEC-2"),
        (
            {"composite": {"formula": "safety_rate", "pass": "final_score ≥ 0.9 AND error_rate < 0.1"}},
            "SEC-1 SEC-2 HOURS-1 PLAIN",
        ),
        ({"progressive": {"safety_rate": {"v1.0": "≥ 80%"}}}, "SEC-1 SEC-2"),
        ({"baseline": {"file": "b.json", "new_failures": ["HOURS-*"]}}, "HOURS-1"),
    ],
)
def test_a_rule_is_about_the_scenarios_that_its_sums_are_over(policy: dict[str, object], ids: str) -> None:
    read = read_dict(policy)
    assert scenarios_of_rules(read.rules, read, describe_scenarios(suite(), suite().scenarios)) == set(ids.split())


def test_only_scenarios_of_blocking_rules_are_required() -> None:
    policy = {"required_scenarios": {"ids": ["SEC-1", "H*"]}, "optional_scenarios": {"ids": ["PLAIN"]}}
    assert required_scenarios(read_dict(policy), describe_scenarios(suite(), suite().scenarios)) == {"SEC-1", "HOURS-1"}
