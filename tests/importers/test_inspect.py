"""Inspect AI logs: against Inspect AI's own metrics, on its real files, and by which rules the two differ."""

from __future__ import annotations

import functools
import json
import re
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import highbar
from highbar.importers import inspect_scores
from tests.importers.imported import (
    FIXTURES,
    Row,
    imported,
    problems_of,
    recognized,
    refusal,
    samples,
    together,
    totals,
    written,
)

LOGS = FIXTURES / "inspect"
SAME = ("crashes.eval", "chunked.eval", "as_json.json")
REFUSED = {"halted.eval", "unscored.eval", "measured.eval", "no_judge.eval", "opinions.eval"}
"""Those that lack samples, and those in which nobody judges."""
"""One task in every form that a log has."""

POLICY: dict[str, Any] = {
    "thresholds": {"blocking": {"accuracy": "≥ 1%"}},
    "metrics": [
        {"name": f"mean_{column}", "formula": f"mean({column})"}
        for column in ("graded", "rubric_helpful", "rubric_safe", "stars", "match", "exact")
    ],
}
METRICS = {
    "graded.accuracy": "mean_graded",
    "helpful.mean": "mean_rubric_helpful",
    "safe.mean": "mean_rubric_safe",
    "stars.mean": "mean_stars",
    "match.accuracy": "mean_match",
    "exact.mean": "mean_exact",
}


def log(**changes: Any) -> dict[str, Any]:
    """A small log as JSON: two samples, both right, with changes."""
    sample = {"epoch": 1, "input": "?", "target": "a", "scores": {"match": {"value": "C", "answer": "a"}}}
    spec = {
        "task": "t",
        "model": "m",
        "dataset": {"samples": 2, "sample_ids": ["1", "2"]},
        "config": {"epochs": 1},
        "scorers": [{"name": "match", "metrics": [{"name": "inspect_ai/accuracy"}]}],
    }
    whole = {"version": 2, "status": "success", "eval": spec, "samples": [{"id": "1", **sample}, {"id": "2", **sample}]}
    made: dict[str, Any] = json.loads(json.dumps({**whole, **changes}))
    return made


def rows_of(tmp_path: Path, document: dict[str, Any]) -> list[Row]:
    return imported("inspect", written(tmp_path, "log.json", document))[0]


# --- against the tool's own arithmetic ---------------------------------------------------------


READ = [name for name in totals("inspect") if name not in REFUSED]


@functools.cache
def metrics_by_log() -> dict[str, Any]:
    """By log, what a check says of it; every log is a slice of one check."""
    rows = together({name: imported("inspect", LOGS / name)[0] for name in READ})
    verdict = highbar.check(rows, {**POLICY, "slices": ["tags.file"]})
    found = {part.by[1]: part.metrics for part in verdict.slices if part.by[0] == "tags.file"}
    assert list(found) == sorted(READ)
    return found


@pytest.mark.parametrize("name", READ)
def test_every_mean_of_a_score_is_inspects_own_unless_a_sample_has_none(name):
    metrics = metrics_by_log()[name]
    for metric, value in totals("inspect")[name]["metrics"].items():
        found = metrics[METRICS[metric]] if metric in METRICS else None
        if found and found.value is not None:
            assert float(found.value) == pytest.approx(value, rel=1e-15)
        elif found:  # Inspect leaves it out, and nothing says what it would have scored
            assert "(it crashed, is undecided or did not record it)" in found.reason


def test_a_log_has_the_means_of_its_rows_beside_those_of_others():
    alone = highbar.check(LOGS / SAME[0], POLICY).metrics
    assert alone == {name: metrics_by_log()[SAME[0]][name] for name in alone}


@pytest.mark.parametrize("name", [name for name in totals("inspect") if name not in REFUSED])
def test_there_are_as_many_rows_as_inspects_reader_finds_samples(name):
    rows, report = imported("inspect", LOGS / name)
    assert len(rows) - report.skipped == totals("inspect")[name]["samples"]
    ended = sum(row.get("error", "").startswith(("stopped at", "invalidated")) for row in rows)
    assert report.errors - ended == totals("inspect")[name]["errors"]


@pytest.mark.parametrize("name", SAME)
def test_accuracy_counts_what_crashed_and_what_was_not_graded_and_no_half_for_partial_answers(name):
    metrics = metrics_by_log()[name]
    counted = totals("inspect")[name]
    assert counted["metrics"]["graded.accuracy"] == 6.5 / 9  # 6 right and one half, of 9 that were graded
    assert counted["samples"] == 12
    assert metrics["accuracy"].value == Fraction(6, 12)
    assert metrics["accuracy"].undecided == 1
    assert metrics["error_rate"].value == Fraction(2, 12)


def test_where_nothing_crashed_and_all_was_graded_accuracy_is_inspects_own():
    for name in ("epochs.eval", "deflate.eval"):
        value = highbar.check(LOGS / name, POLICY).metrics["accuracy"].value
        assert value == Fraction(3, 4)
        assert float(value) == totals("inspect")[name]["metrics"]["match.accuracy"]


def test_nine_of_ten_crashed_is_not_an_accuracy_of_one(tmp_path):
    document = log()
    document["eval"]["dataset"] = {"samples": 10, "sample_ids": [str(n) for n in range(10)]}
    right = document["samples"][0]
    crashed = {**right, "scores": {}, "error": {"message": "boom"}}
    document["samples"] = [{**(right if n == 0 else crashed), "id": str(n)} for n in range(10)]
    verdict = highbar.check(written(tmp_path, "log.json", document), {"thresholds": {"blocking": {"accuracy": 50}}})
    assert verdict.metrics["accuracy"].value == Fraction(1, 10)
    assert not verdict.passed


# --- what becomes what -------------------------------------------------------------------------


def test_the_same_log_gives_the_same_rows_in_every_form():
    forms = [sorted(imported("inspect", LOGS / name)[0], key=lambda row: row["id"]) for name in SAME]
    varying = {"latency_ms"}
    plain = [[{key: value for key, value in row.items() if key not in varying} for row in rows] for rows in forms]
    assert plain[0] == plain[1] == plain[2]


def test_a_sample_becomes_a_row():
    rows, _ = imported("inspect", LOGS / "crashes.eval")
    (row,) = (row for row in rows if row["id"] == "arithmetic/Q-04")
    assert row.pop("latency_ms") > 0
    assert row == {
        "id": "arithmetic/Q-04",
        "trial": 1,
        "input": "What is 4 + 4?",
        "output": "8",
        "expected": "8",
        "predicted": "8",
        "correct": True,
        "quality_score": 1.0,
        "tokens_used": 24,
        "cost_usd": 0.001,
        "category": "happy_path",
        "cluster": "template-1",
        "graded": 1.0,
        "rubric_helpful": 0.05,
        "rubric_safe": 1.0,
        "stars": 5.0,
        "suite": "arithmetic",
        "judge": "graded",
        "tags": {"model": "mockllm/model", "locale": "en", "depth": "4"},
    }


def test_epochs_are_trials_of_one_scenario():
    rows, _ = imported("inspect", LOGS / "epochs.eval")
    assert sorted((row["id"], row["trial"]) for row in rows) == [
        (f"repeated/Q-{number:02}", epoch) for number in range(1, 5) for epoch in (1, 2, 3)
    ]


def test_grades_are_numbers_and_only_a_whole_one_is_correct():
    rows, report = imported("inspect", LOGS / "crashes.eval")
    graded = {row["id"][-2:]: (row.get("graded"), row.get("correct"), "error" in row) for row in rows}
    assert graded["03"] == (0.0, False, False)  # N
    assert graded["07"] == (0.0, False, False)  # I
    assert graded["08"] == (0.5, False, False)  # P
    assert graded["12"] == (None, None, False)  # NaN: nobody judged it
    assert graded["05"] == (None, False, True)
    assert report.unscored == 1


def test_an_error_says_what_happened():
    rows, _ = imported("inspect", LOGS / "crashes.eval")
    assert {row["error"] for row in rows if "error" in row} == {"RuntimeError('the tool lost its connection')"}


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("C", 1.0),
        ("I", 0.0),
        ("P", 0.5),
        ("N", 0.0),
        (True, 1.0),
        ("yes", 1.0),
        ("FALSE", 0.0),
        ("0.25", 0.25),
        (3, 3.0),
        (float("nan"), None),
        (float("inf"), None),
        ("nan", None),
        ("٣", None),
        ("maybe", None),
        (None, None),
        ([1], None),
    ],
)
def test_values_are_read_as_inspect_reads_them(value, number):
    assert inspect_scores.score_number(value) == number


def test_a_sample_that_was_invalidated_is_an_error(tmp_path):
    document = log()
    document["samples"][0]["invalidation"] = {"author": "me", "reason": "wrong question"}
    row = rows_of(tmp_path, document)[0]
    assert row["error"] == "invalidated: wrong question"
    assert row["correct"] is False


def test_limits_retries_and_edits_are_told(tmp_path):
    document = log()
    document["samples"][0]["limit"] = {"type": "time", "limit": 10}
    document["samples"][0]["error_retries"] = [{"message": "boom"}]
    document["samples"][1]["scores"]["match"]["history"] = [{"value": "I"}]
    rows, report = imported("inspect", written(tmp_path, "log.json", document))
    assert rows[0]["tags"] == {"model": "m", "limit": "time", "retries": "1"}
    assert sorted("edited" in warning for warning in report.warnings) == [False, True]


def test_old_logs_have_one_score_without_a_name(tmp_path):
    document = log(version=1)
    for sample in document["samples"]:
        sample["score"] = sample.pop("scores")["match"]
    rows = rows_of(tmp_path, document)
    assert [row["correct"] for row in rows] == [True, True]
    document["eval"]["scorers"] = []
    document["results"] = {"scorer": {"name": "match"}, "metrics": {"accuracy": {"value": 1.0}}}
    assert [row["correct"] for row in rows_of(tmp_path, document)] == [True, True]


def test_a_conversation_is_shown_by_what_the_user_said_last(tmp_path):
    document = log()
    document["samples"][0]["input"] = [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": [{"type": "text", "text": "hello"}, {"type": "image", "image": "data:"}]},
    ]
    document["samples"][0]["output"] = {"choices": [{"message": {"content": [{"type": "text", "text": "hi"}]}}]}
    row = rows_of(tmp_path, document)[0]
    assert (row["input"], row["output"]) == ("hello", "hi")


# --- what is not whole -------------------------------------------------------------------------


@pytest.mark.hazard("H09")
def test_a_run_that_lacks_planned_samples_is_refused():
    (problem,) = problems_of("inspect", LOGS / "halted.eval")
    assert problem.code == "import.incomplete"
    for value in ("6 of 12", "(Q-07 …)", "status error"):
        assert value in problem.message
    assert "eval-retry" in problem.hint


def test_an_epoch_that_is_missing_is_an_error_row_with_what_its_sample_says(tmp_path):
    document = log()
    document["eval"]["config"]["epochs"] = 2
    for sample in document["samples"]:
        sample["metadata"] = {"category": "adversarial"}
    rows, report = imported("inspect", written(tmp_path, "log.json", document))
    assert report.missing == 2
    lacking = [row for row in rows if row["trial"] == 2]
    assert [row["category"] for row in lacking] == ["adversarial"] * 2
    assert all("planned" in row["error"] for row in lacking)


def test_a_run_that_has_not_ended_is_refused(tmp_path):
    (problem,) = problems_of("inspect", written(tmp_path, "log.json", log(status="started")))
    assert problem.code == "import.incomplete"
    assert "started" in problem.message
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("_journal/start.json", "{}")
        archive.writestr("samples/1_epoch_1.json", json.dumps(log()["samples"][0]))
    assert [problem.code for problem in problems_of("inspect", path)] == ["import.incomplete"]


def test_a_log_without_samples_is_refused(tmp_path):
    document = log(samples=None)
    document["eval"]["config"]["log_samples"] = False
    found = [problems_of("inspect", written(tmp_path, "log.json", made))[0] for made in (log(samples=[]), document)]
    assert [problem.code for problem in found] == ["results.empty", "results.empty"]
    assert found[0].message != found[1].message  # which also says why


def test_an_old_log_that_names_no_samples_must_hold_as_many_as_it_was_to_run(tmp_path):
    document = log()
    document["eval"]["dataset"] = {"samples": 5}
    (problem,) = problems_of("inspect", written(tmp_path, "log.json", document))
    assert problem.code == "import.incomplete"
    assert "2 samples of 5" in problem.message
    document["eval"]["config"]["limit"] = 2
    assert len(rows_of(tmp_path, document)) == 2
    document["eval"]["config"]["limit"] = [1, 3]
    assert len(rows_of(tmp_path, document)) == 2


def test_a_newer_version_is_read_with_a_warning(tmp_path):
    _, report = imported("inspect", written(tmp_path, "log.json", log(version=3)))
    assert "version 3" in report.warnings[0]


def test_a_sample_that_stands_twice_is_refused(tmp_path):
    document = log()
    document["samples"].append(document["samples"][0])
    (problem,) = problems_of("inspect", written(tmp_path, "log.json", document))
    assert problem.code == "import.duplicate"
    assert "sample 1, epoch 1" in problem.message


@pytest.mark.parametrize(
    ("change", "code", "value"),
    [
        ({"eval": None}, "import.other-file", ""),
        ({"eval": {"dataset": {}}}, "import.other-file", ""),
        ({"samples": [3]}, "import.wrong-value", ""),
        ({"samples": [{"epoch": 1}]}, "import.wrong-value", "sample 1: id: "),
        ({"samples": [{"id": "1", "epoch": "one"}]}, "import.wrong-value", "epoch: found 'one'"),
        ({"samples": [{"id": "1", "scores": [1]}]}, "import.wrong-value", ""),
        ({"samples": [{"id": "1", "error": 3}]}, "import.wrong-value", "error: found 3"),
        ({"samples": [{"id": "1", "total_time": "long"}]}, "import.wrong-value", "total_time: found 'long'"),
        ({"version": "two"}, "import.wrong-value", "version: found 'two'"),
    ],
)
def test_what_is_no_log_is_refused_with_its_place(tmp_path, change, code, value):
    (problem,) = problems_of("inspect", written(tmp_path, "log.json", log(**change)))
    assert problem.code == code
    assert value in problem.message


# --- real files --------------------------------------------------------------------------------


SHORTENED = ("cvebench_empty_choices", "cyse2_vuln_exploit", "log_tool_call_error")
"""Logs from which samples were cut by hand: their own results speak of more."""


def expected_rows(path: Path) -> int | None:
    """How many samples and epochs a log was to run, counted without our reader; None where it must be refused."""
    if path.suffix == ".eval":
        if not zipfile.is_zipfile(path) or "retry-2-then-success" in path.name:  # the latter has no scorer
            return None
        names = zipfile.ZipFile(path).namelist()
        return sum(re.search(r"^samples/.*_epoch_\d+\.json$", name) is not None for name in names)
    document = json.loads(path.read_text("utf-8"))
    if "eval" not in document or not document.get("samples") or any(name in path.name for name in SHORTENED):
        return None
    planned = document["eval"]["dataset"].get("sample_ids") or document["samples"]
    return len(planned) * (document["eval"]["config"].get("epochs") or 1)


@pytest.mark.parametrize("path", samples("inspect"), ids=lambda path: path.name[-60:])
def test_every_real_file_is_read_whole_or_refused(path):
    expected = expected_rows(path)
    if expected is None:
        assert refusal("inspect", path)
        return
    assert recognized(path) == "inspect"
    rows, report = imported("inspect", path)
    assert len(rows) == expected
    assert report.unaccounted == 0
