"""H137: columns of one row contradict each other. The worse counts, and the row is named."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from tests.commandline import check, judged, run

Row = dict[str, Any]

RULES = dict.fromkeys(("accuracy", "pass_rate"), "100%")
POLICY: dict[str, Any] = {"thresholds": {"blocking": RULES}}
SPAM = {**POLICY, "positive": "spam"}
LABELED = [
    {"id": "spam", "expected": "spam", "predicted": "spam"},
    {"id": "ham", "expected": "ham", "predicted": "ham"},
]
TRUTHS: Row = {"expected": True, "predicted": False}
TEXTS: Row = {"expected": "spam", "predicted": "ham"}


CONTRADICTIONS: list[tuple[Row, Row]] = [
    ({"correct": True, "outcome": "fp"}, POLICY),
    ({"correct": True, "outcome": "fn"}, POLICY),
    ({"correct": False, "outcome": "tp"}, POLICY),
    ({"correct": False, "outcome": "tn"}, POLICY),
    ({"correct": True, **TRUTHS}, POLICY),
    ({"correct": True, **TEXTS}, SPAM),
    ({"outcome": "tp", **TRUTHS}, POLICY),
    ({"outcome": "tp", **TEXTS}, SPAM),
    ({"outcome": "fn", "expected": True, "predicted": True}, POLICY),
    ({"outcome": "tp", "correct": True, **TRUTHS}, POLICY),
    ({"outcome": "fn", "correct": True, "expected": True, "predicted": True}, POLICY),
]


@pytest.mark.parametrize(("row", "policy"), CONTRADICTIONS)
@pytest.mark.parametrize("form", ["jsonl", "json", "csv"])
def test_h137_of_two_statements_about_an_answer_the_worse_counts(
    tmp_path: Path, row: Row, policy: Row, form: str
) -> None:
    texts = LABELED if policy is SPAM else [{"id": "right", "correct": True}]
    rows: list[Row] = [*texts, {"id": "odd", "trial": 1, **row}]
    if form == "csv":
        columns = list(dict.fromkeys(itertools.chain.from_iterable(rows)))
        lines = [",".join(columns)]
        lines += [",".join(json.dumps(one[name]).strip('"') if name in one else "" for name in columns) for one in rows]
        done = check(tmp_path, "\n".join([*lines, ""]).encode(), policy, name="results.csv")
    elif form == "json":
        done = check(tmp_path, json.dumps(rows).encode(), policy, name="results.json")
    else:
        done = check(tmp_path, rows, policy)
    verdict = judged(done, "fail")
    assert verdict["metrics"]["accuracy"]["value"] == pytest.approx(len(texts) / (len(texts) + 1))
    assert [one["id"] for one in verdict["scenarios_failed"]] == ["odd"]
    assert [text for text in verdict["warnings"] if "two things" in text and "odd (trial 1)" in text]


@pytest.mark.parametrize(
    ("row", "policy"),
    [
        ({"correct": True, "outcome": "tn"}, POLICY),
        ({"correct": True, **TEXTS}, POLICY),  # without `positive` a text is a reference, not a label
        ({"correct": True, "expected": "spam", "predicted": "It is spam."}, SPAM),
        ({"correct": True, "expected": "Paris, of course", "predicted": "Paris"}, SPAM),
        ({"correct": True, "expected": True}, POLICY),
        ({"correct": True, "expected": True, "predicted": "yes"}, POLICY),
        ({"passed": True, "correct": False}, {"thresholds": {"blocking": {"pass_rate": "100%"}}}),
    ],
)
def test_h137_what_says_one_thing_in_other_words_contradicts_nothing(tmp_path: Path, row: Row, policy: Row) -> None:
    verdict = judged(check(tmp_path, [*LABELED, {"id": "odd", **row}], policy), "pass")
    assert not [text for text in verdict["warnings"] if "two things" in text]


def test_h137_a_label_that_is_correct_in_other_words_is_no_warning(tmp_path: Path) -> None:
    row = {"id": "odd", "correct": False, "expected": True, "predicted": True}
    verdict = judged(check(tmp_path, [row, {"id": "right", "correct": True}], POLICY), "fail")
    assert not [text for text in verdict["warnings"] if "two things" in text]


@pytest.mark.parametrize("metric", ["precision", "recall", "f1"])
@pytest.mark.parametrize(
    "row",
    [
        {"outcome": "tp", "correct": False},
        {"outcome": "tp", "expected": True, "predicted": False},
        {"outcome": "tp", "expected": False, "predicted": False},
    ],
)
def test_h137_an_outcome_that_the_rest_contradicts_finds_no_positive(tmp_path: Path, metric: str, row: Row) -> None:
    rows = [{"id": "tp", "outcome": "tp"}, {"id": "fp", "outcome": "fp"}, {"id": "fn", "outcome": "fn"}]
    policy = {"thresholds": {"blocking": {metric: "≥ 50%"}}}
    before = judged(check(tmp_path, rows, policy), "pass")["metrics"][metric]["value"]
    verdict = check(tmp_path, [*rows, {"id": "odd", **row}], policy).json
    assert verdict["metrics"][metric]["value"] <= before
    assert [text for text in verdict["warnings"] if "two things" in text]


def test_h137_a_negative_that_is_called_wrong_is_a_false_alarm(tmp_path: Path) -> None:
    rows = [{"id": "tp", "outcome": "tp"}, {"id": "odd", "outcome": "tn", "correct": False}]
    verdict = judged(check(tmp_path, rows, {"thresholds": {"blocking": {"precision": "100%"}}}), "fail")
    assert verdict["metrics"]["precision"]["value"] == 0.5


ODD: Row = {"id": "odd", "correct": True, "expected": "spam", "predicted": "junk"}
JUNK: Row = {"id": "junk", "expected": "junk", "predicted": "junk"}


def test_h137_a_label_of_another_file_is_a_label(tmp_path: Path) -> None:
    files = {"a.jsonl": [ODD, LABELED[0]], "b.csv": [JUNK]}
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in files["a.jsonl"]))
    (tmp_path / "b.csv").write_text("id,expected,predicted\njunk,junk,junk\n")
    (tmp_path / "policy.json").write_text(json.dumps(SPAM))
    alone = run(tmp_path, "check", "a.jsonl", "--policy", "policy.json", "--format", "json")
    judged(alone, "pass")
    both = run(tmp_path, "check", "a.jsonl", "b.csv", "--policy", "policy.json", "--format", "json")
    assert [one["id"] for one in judged(both, "fail")["scenarios_failed"]] == ["odd"]


def test_h137_a_label_of_rows_that_are_left_out_is_a_label(tmp_path: Path) -> None:
    rows = [{**ODD, "model": "x"}, {**LABELED[0], "model": "x"}, {**JUNK, "model": "y"}]
    chosen = check(tmp_path, rows, SPAM, "--where", "model=x", "--subset")
    assert [one["id"] for one in judged(chosen, "fail")["scenarios_failed"]] == ["odd"]


def test_h137_one_trial_of_several_contradicts_itself(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "trial": trial, "correct": True, **({"outcome": "fn"} if trial == 2 else {})} for trial in (1, 2)
    ]
    done = check(tmp_path, [*rows, {"id": "b", "correct": True}], {**POLICY, "required_scenarios": {"ids": ["a"]}})
    assert judged(done, "fail")["metrics"]["accuracy"]["value"] == 0.75
    assert done.rule("required_scenarios.a")["outcome"] == "fail"
    assert any("a (trial 2)" in text for text in done.json["warnings"])


def test_h137_compare_sees_the_worse(tmp_path: Path) -> None:
    for name, outcome in (("base", "tp"), ("head", "fn")):
        rows = [{"id": f"s{at}", "correct": True, "outcome": outcome} for at in range(40)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = run(tmp_path, "compare", "base.jsonl", "head.jsonl")
    assert "WORSE" in done.out


WORSE_BESIDE: list[tuple[Row, Row]] = [
    ({"must_not": ["leaks"], "violations": []}, {"violations": ["something else"]}),
    ({"must_not": {"leaks": False}, "violations": []}, {"must_not": {"leaks": True}}),
    ({"must_not": ["leaks"], "violations": 0}, {"behaviors": ["leaks"]}),
    ({"correct": True}, {"error": "crash"}),
    ({"passed": True}, {"violations": 1}),
    ({"passed": True}, {"error": "crash"}),
    ({"outcome": "tp"}, {"error": "crash"}),
    ({"passed": True}, {"unjudged": "the judge failed"}),
    ({"quality_score": 1, "correct": True}, {"correct": False}),
    ({"expected_behaviors": ["greets"], "behaviors": ["greets"]}, {"violations": ["leaks"]}),
]


@pytest.mark.parametrize(("row", "worse"), WORSE_BESIDE)
def test_h137_a_worse_statement_beside_a_better_one_counts(tmp_path: Path, row: Row, worse: Row) -> None:
    policy = {"thresholds": {"blocking": {"pass_rate": "100%"}}}
    others = [{"id": "other", "passed": True}]
    judged(check(tmp_path, [*others, {"id": "odd", **row}], policy), "pass")
    done = check(tmp_path, [*others, {"id": "odd", **row, **worse}], policy)
    judged(done, "inconclusive" if "unjudged" in worse else "fail")
