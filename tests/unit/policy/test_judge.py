"""The block `judge`: what it takes, what it refuses, and what its rules say."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from highbar import policy as policies
from highbar.errors import InputError, Problem
from highbar.model import JudgeRule, Policy
from highbar.policy.schema import schema
from highbar.policy.words import say_all, say_reading

BAR = {"thresholds": {"pass_rate": "90%"}}


def read(judge: Any, folder: Path = Path()) -> Policy:
    return policies.read_dict({**BAR, "judge": judge}, folder)


def rules_of(judge: Any) -> dict[str, JudgeRule]:
    return {rule.name: rule for rule in read(judge).rules if isinstance(rule, JudgeRule)}


def problem(judge: Any, folder: Path = Path()) -> Problem:
    with pytest.raises(InputError) as caught:
        read(judge, folder)
    (found,) = caught.value.problems
    return found


def test_every_key_makes_its_rule() -> None:
    rules = rules_of(
        {"min_labels": 50, "min_sensitivity": "90%", "min_specificity": 0.8, "uncalibrated": "inconclusive"}
    )
    assert {name: (rule.level, rule.bound) for name, rule in rules.items()} == {
        "judge.min_labels": ("blocking", Fraction(50)),
        "judge.min_sensitivity": ("blocking", Fraction(9, 10)),
        "judge.min_specificity": ("blocking", Fraction(4, 5)),
        "judge.uncalibrated": ("blocking", None),
    }


def test_without_a_word_about_it_a_judge_without_labels_is_a_warning() -> None:
    assert {name: rule.level for name, rule in rules_of({}).items()} == {"judge.uncalibrated": "warning"}


def test_a_bound_can_have_a_level() -> None:
    rule = rules_of({"min_specificity": {"threshold": "80%", "level": "warning", "description": "for now"}})
    assert (rule["judge.min_specificity"].level, rule["judge.min_specificity"].description) == ("warning", "for now")


def test_a_policy_says_whether_shares_are_corrected_and_where_the_labels_are(tmp_path: Path) -> None:
    (tmp_path / "labels.jsonl").write_text("")
    found = read({"labels": "labels.jsonl", "correct": True}, tmp_path).judge
    assert found is not None
    assert (found.labels, found.correct) == (str(tmp_path / "labels.jsonl"), True)
    assert read({}).judge is not None
    assert policies.read_dict(BAR).judge is None


@pytest.mark.parametrize(
    ("judge", "code", "value"),
    [
        ({"min_label": 50}, "policy.unknown-key", "'min_labels'"),
        ({"min_labels": 0}, "policy.wrong-type", "'0'"),
        ({"min_labels": "50%"}, "policy.wrong-type", "'50%'"),
        ({"min_sensitivity": "100%"}, "policy.out-of-range", "100%"),
        ({"min_specificity": 0}, "policy.out-of-range", "judge.min_specificity"),
        ({"min_specificity": {"level": "warning"}}, "policy.missing-key", "judge.min_specificity"),
        ({"min_specificity": {"threshold": "80%", "level": "error"}}, "policy.wrong-type", "'error'"),
        ({"correct": "yes"}, "policy.wrong-type", "'yes'"),
        ({"uncalibrated": "fail"}, "policy.wrong-type", "'fail'"),
        ({"labels": "nowhere.jsonl"}, "file.missing", "highbar judge label"),
        ({"labels": 3}, "policy.wrong-type", "'3'"),
        ("strict", "policy.wrong-type", "'strict'"),
    ],
)
def test_what_cannot_be_meant_is_refused(judge: Any, code: str, value: str) -> None:
    found = problem(judge)
    assert found.code == code
    assert value in f"{found.message} {found.hint}"


def test_rules_about_the_judge_alone_judge_no_agent() -> None:
    with pytest.raises(InputError) as caught:
        policies.read_dict({"judge": {"min_labels": 50}})
    assert [one.code for one in caught.value.problems] == ["policy.no-rule"]


def test_the_files_that_a_policy_names_include_its_labels(tmp_path: Path) -> None:
    (tmp_path / "highbar.yaml").write_text("judge: { labels: people/labels.jsonl }\nbaseline: { file: b.json }\n")
    assert policies.names_in(tmp_path / "highbar.yaml") == ("b.json", "people/labels.jsonl")


def test_the_rules_are_said_in_words() -> None:
    policy = read({"min_labels": 1, "min_sensitivity": "90%", "min_specificity": "80%", "correct": True})
    said = {rule.name: sentence for rule, sentence in say_all(policy)}
    assert said["judge.min_labels"] == "People must have labeled at least 1 trial of the judge."
    assert "at least 90% of what people say passes, with 95% confidence" in said["judge.min_sensitivity"]
    assert "at least 80% of what people say fails" in said["judge.min_specificity"]
    assert "calibrated" in said["judge.uncalibrated"]
    assert say_reading(policy) == (("judge.correct", "Shares of trials are corrected for the errors of the judge."),)


@pytest.mark.parametrize(
    ("judge", "fits"),
    [
        ({"labels": "l.jsonl", "min_labels": 5, "min_sensitivity": "90%", "correct": False}, True),
        ({"min_specificity": {"threshold": 0.8, "level": "warning"}, "uncalibrated": "warn"}, True),
        ({"min_labels": 0}, False),
        ({"uncalibrated": "fail"}, False),
        ({"other": 1}, False),
    ],
)
def test_editors_are_told_the_same(judge: Any, fits: bool) -> None:
    assert jsonschema.Draft202012Validator(schema()).is_valid({**BAR, "judge": judge}) is fits
