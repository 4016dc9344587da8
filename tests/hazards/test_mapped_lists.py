"""A list where a mapping judges by one value: it must say whether all elements or any of them decide."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from tests.commandline import Run, check, judged, refused

ALL = "pass_criteria: 100%\n"
WORDS = ("PASSED", "FAILED", None)
LISTS = [list(words) for length in range(4) for words in itertools.product(WORDS, repeat=length)]
"""Every list of up to three metrics, each passed, failed or without a status."""


def gate(folder: Path, passed: object, *records: object, **columns: object) -> Run:
    """The check of these records, with what the mapping says of `passed` and of other columns."""
    mapping = {"columns": {"id": "@number", "passed": passed, **columns}}
    return check(folder, [json.dumps(record) for record in records], f"{ALL}map: {json.dumps(mapping)}\n")


def metrics(*words: str | None) -> dict[str, Any]:
    return {"metrics": [{"status": word} for word in words]}


def outcomes(folder: Path, feed: object) -> list[bool | None]:
    """What `passed` is for each of the lists; None if it is undecided."""
    told = gate(folder, feed, *(metrics(*words) for words in LISTS)).json
    failed, undecided = ({str(one["id"]) for one in told[key]} for key in ("scenarios_failed", "scenarios_undecided"))
    return [None if str(n) in undecided else str(n) not in failed for n in range(len(LISTS))]


@pytest.mark.hazard("H161")
@pytest.mark.parametrize(
    "feed",
    [
        {"path": "metrics[].status", "is": "PASSED"},
        {"path": "metrics[].status", "is_not": "FAILED"},
        {"path": "metrics[].status", "is": ["PASSED", "OK"]},
        [{"value": True, "when": {"metrics[].status": "PASSED"}}, {"value": False}],
        [{"value": True, "when": {"metrics[].status": {"is_not": "FAILED"}}}, {"value": False}],
    ],
)
def test_h161_a_list_of_which_one_element_passed_never_passes(tmp_path: Path, feed: object) -> None:
    done = gate(tmp_path, feed, metrics("PASSED", "FAILED"), metrics("PASSED"))
    refused(done, "line 1: metrics[].status: found a list of 2, wanted one value", "all: true", "any: true")


@pytest.mark.hazard("H161")
@pytest.mark.parametrize("operator", ["at_least", "at_most"])
def test_h161_numbers_in_a_list_are_no_number_that_never_crashed(tmp_path: Path, operator: str) -> None:
    error = {"value": "crashed", "when": {"codes": {operator: 500}}}
    done = gate(tmp_path, {"value": True}, {"codes": [200, 500]}, error=error)
    refused(done, "codes: found a list of 2", f"beside {operator}")


@pytest.mark.hazard("H161")
@pytest.mark.parametrize("key", ["behaviors", "expected_behaviors"])
def test_h161_a_list_within_the_elements_of_a_judging_column_is_refused_too(tmp_path: Path, key: str) -> None:
    feed = {"path": "checks", "each": "label", "where": {"runs[].ok": True}}
    done = gate(tmp_path, {"value": True}, {"checks": [{"label": "a", "runs": [{"ok": True}]}]}, **{key: feed})
    refused(done, "runs[].ok: found a list of 1")


@pytest.mark.hazard("H161")
def test_h161_all_and_any_mean_what_they_say_of_every_list(tmp_path: Path) -> None:
    """Exhaustively; an element without a status was not looked at, and an empty list says nothing."""
    for operator, word, meets in (("is", "PASSED", {"PASSED"}), ("is_not", "FAILED", {"PASSED"})):
        path = {"path": "metrics[].status", operator: word}
        every = outcomes(tmp_path, {**path, "all": True})
        assert every == [all(one in meets for one in words) if words else None for words in LISTS]
        some = outcomes(tmp_path, {**path, "any": True})
        assert some == [any(one in meets for one in words) if words else None for words in LISTS]


@pytest.mark.hazard("H161")
def test_h161_an_empty_list_meets_no_condition(tmp_path: Path) -> None:
    for of in ("all", "any"):
        when = {"metrics[].status": {"is_not": "FAILED", of: True}}
        judged(gate(tmp_path, [{"value": True, "when": when}, {"value": False}], metrics()), "fail")


@pytest.mark.hazard("H161")
def test_h161_what_is_true_of_all_passes_also_in_lists_of_lists(tmp_path: Path) -> None:
    feed = {"path": "runs[].metrics[].score", "at_least": 0.5, "all": True}
    good, bad = ({"runs": [{"metrics": [{"score": 1}, {"score": score}]}]} for score in (0.5, 0.4))
    judged(gate(tmp_path, feed, good, good), "pass")
    judged(gate(tmp_path, feed, good, bad), "fail")


@pytest.mark.hazard("H161")
def test_h161_a_column_that_judges_nothing_and_one_value_need_no_word(tmp_path: Path) -> None:
    category = [{"value": "adversarial", "when": {"tags": "redteam"}}, {"value": "happy_path"}]
    passed = {"path": "status", "is": "ok", "all": True}
    done = gate(tmp_path, passed, {"status": "ok", "tags": ["redteam", "x"]}, category=category)
    judged(done, "pass")


@pytest.mark.hazard("H161")
@pytest.mark.parametrize(
    ("said", "code", "told"),
    [
        ({"all": True, "any": True}, "map.contradiction", "all and any"),
        ({"all": False}, "policy.wrong-type", "'false'"),
        ({"any": "yes"}, "policy.wrong-type", "'yes'"),
    ],
)
def test_h161_what_all_and_any_cannot_mean_is_refused(
    tmp_path: Path, said: dict[str, object], code: str, told: str
) -> None:
    refused(gate(tmp_path, {"path": "m", "is": "x", **said}, {"m": ["x"]}), told, code=code)
    refused(gate(tmp_path, {"value": True, "when": {"m": {"is": "x", **said}}}, {"m": ["x"]}), told, code=code)


@pytest.mark.hazard("H161")
@pytest.mark.parametrize("feed", [{"path": "m", "all": True}, {"path": "m", "values": {"x": True}, "any": True}])
def test_h161_all_and_any_need_a_condition(tmp_path: Path, feed: object) -> None:
    refused(gate(tmp_path, feed, {"m": ["x"]}), "passed: all and any", code="map.contradiction")
    refused(
        gate(tmp_path, {"value": True, "when": {"m": {"all": True}}}, {"m": ["x"]}),
        "passed.when.m",
        code="map.incomplete",
    )
    refused(
        gate(tmp_path, {"path": "m", "exists": True, "all": True}, {"m": ["x"]}),
        "passed.all",
        "exists",
        code="map.contradiction",
    )
