"""Every Eval Ever samples: against the scores of their aggregates, who judges them, and what contradicts itself."""

from __future__ import annotations

import hashlib
import json
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import highbar
from highbar.importers import importer_named
from highbar.importers.report import Report
from highbar.model.judging import ScorerDemand
from tests.commandline import Run, judged, refused, run
from tests.importers.imported import FIXTURES, Row, imported, problems_of, recognized, refusal, totals, written

FOLDER = FIXTURES / "every_eval_ever"
TOTALS = totals("every_eval_ever")
SCHEMA = json.loads((FOLDER / "schemas" / "instance_level_eval.schema.json").read_text("utf-8"))
RULE = {"thresholds": {"blocking": {"accuracy": "≥ 60%"}}}


def samples(name: str) -> Path:
    return FOLDER / TOTALS[name]["file"]


def rows_of(name: str, *demands: ScorerDemand) -> list[Row]:
    return imported("every-eval-ever", samples(name), judged_by=demands)[0]


def record(**changes: Any) -> dict[str, Any]:
    """A record that the published schema accepts."""
    made: dict[str, Any] = {
        "schema_version": "0.3.0", "evaluation_id": "sums/example/clerk/1", "model_id": "example/clerk",
        "evaluation_name": "sums", "evaluation_result_id": "acc", "sample_id": "1", "interaction_type": "single_turn",
        "input": {"raw": "1 + 1", "reference": ["2"]}, "output": {"raw": ["2"]}, "answer_attribution": [],
        "evaluation": {"score": 1.0, "is_correct": True},
    }  # fmt: skip
    return {**made, **changes}


def scored(score: float, correct: bool = True, **changes: Any) -> dict[str, Any]:
    return record(evaluation={"score": score, "is_correct": correct}, **changes)


def lines(folder: Path, *records: dict[str, Any], name: str = "e_samples.jsonl") -> Path:
    return written(folder, name, "".join(json.dumps(one) + "\n" for one in records))


def aggregate(folder: Path, *results: dict[str, Any], **declared: Any) -> Path:
    """The aggregate beside `e_samples.jsonl`."""
    listed = [{"evaluation_result_id": "acc", "evaluation_name": "sums", "metric_config": config} for config in results]
    detail = {"format": "jsonl", "file_path": "data/a/b/c/e_samples.jsonl", **declared}
    document = {
        "schema_version": "0.3.0",
        "evaluation_id": "sums/example/clerk/1",
        "model_info": {"id": "example/clerk"},
    }
    return written(folder, "e.json", {**document, "evaluation_results": listed, "detailed_evaluation_results": detail})


def check(folder: Path, *arguments: str, policy: dict[str, Any] = RULE) -> Run:
    (folder / "policy.json").write_text(json.dumps(policy), "utf-8")
    return run(folder, "check", *arguments, "--policy", "policy.json", "--format", "json")


# --- against the tool's own numbers ------------------------------------------------------------


@pytest.mark.parametrize("name", TOTALS)
def test_the_mean_of_every_result_is_that_of_the_aggregate(name: str) -> None:
    first = ScorerDemand(next(iter(TOTALS[name]["scores"])))
    rows, report = imported("every-eval-ever", samples(name), judged_by=(first,))
    assert report.records == TOTALS[name]["rows"]
    for result, score in TOTALS[name]["scores"].items():
        values = [row[result.replace(":", "_").replace("-", "_")] for row in rows if "error" not in row]
        assert sum(values) / len(values) == pytest.approx(score)


@pytest.mark.parametrize("name", TOTALS)
def test_the_published_schema_accepts_the_records_and_the_one_of_these_tests(name: str) -> None:
    for line in samples(name).read_text("utf-8").splitlines():
        found = {key: value for key, value in json.loads(line).items() if value is not None}  # null is absent
        jsonschema.validate(found, SCHEMA)
    jsonschema.validate(record(), SCHEMA)


def test_samples_and_aggregate_are_recognized() -> None:
    assert {recognized(path) for path in FOLDER.glob("0*")} == {"every-eval-ever"}


def test_an_accuracy_of_lm_eval_is_the_harnesss_own() -> None:
    verdict = highbar.check(samples("sums"), RULE)
    assert verdict.metrics["accuracy"].value == Fraction(3, 4)
    assert verdict.agent_version == "example/clerk"
    assert verdict.passed


def test_a_crash_is_an_error_in_the_denominator(tmp_path: Path) -> None:
    rows = rows_of("crashes")
    (crash,) = (row for row in rows if "error" in row)
    assert crash["id"] == "crashes/Q-05"
    assert crash["error"].startswith("RuntimeError('the tool lost its connection')")
    verdict = highbar.check(samples("crashes"), RULE)
    assert verdict.counts.errors == 1
    assert verdict.metrics["accuracy"].value == Fraction(3, 6)  # the converter's own mean leaves the crash out


def test_the_lines_of_several_filters_are_one_row_for_each_document() -> None:
    strict = ScorerDemand("exact_match:strict-match")
    rows, report = imported("every-eval-ever", samples("words"), judged_by=(strict,))
    assert (report.records, report.rows, report.merged) == (16, 8, 8)
    assert [row["id"] for row in rows] == [f"words/{number}" for number in range(8)]
    assert all(row["suite"] == "words" for row in rows)
    assert sum(row["correct"] for row in rows) == 4


def test_what_a_record_says_becomes_columns() -> None:
    row = next(row for row in rows_of("crashes") if row["id"] == "crashes/Q-06")
    assert row["input"] == "What is 6 + 6?"
    assert row["output"] == "12"
    assert row["latency_ms"] == 3000  # the converter of Inspect AI writes 2000 ms of waiting and 1000 of work
    assert row["tokens_used"] == 26
    assert row["agent_version"] == "mockllm/model"
    assert row["tags"] == {"stop_reason": "stop", "interaction_type": "agentic"}
    assert row["judge"] == "graded:accuracy"


def test_a_conversation_and_its_calls_are_there_for_those_who_grade_again() -> None:
    read = importer_named("every-eval-ever")
    rows = list(read(str(samples("crashes")), Report(calls=True, answers_only=True)))
    assert rows[5]["tool_calls"] == [{"name": "add", "arguments": {"first": 6, "second": 6}}]
    assert [one["role"] for one in rows[5]["messages"]] == ["user", "assistant", "tool", "assistant"]
    assert "tool_calls" not in rows[0]
    assert all("tool_calls" not in row for row in rows_of("crashes"))


def test_answers_can_be_graded_again_whoever_judged(tmp_path: Path) -> None:
    suite = {"scenarios": [{"id": f"rated/Q-0{n}", "answer": {"number": 2 * n}} for n in range(1, 5)]}
    (tmp_path / "suite.json").write_text(json.dumps(suite), "utf-8")
    done = run(tmp_path, "grade", str(samples("rated")), "--suite", "suite.json", "-o", "new.jsonl")
    assert done.exit == 0, done.err
    graded = [json.loads(line)["correct"] for line in (tmp_path / "new.jsonl").read_text("utf-8").splitlines()]
    assert graded == [True, True, False, False]


# --- who judges --------------------------------------------------------------------------------


def test_is_correct_below_full_marks_is_undecided_and_that_is_said(tmp_path: Path) -> None:
    done = run(tmp_path, "check", str(samples("repeated")), "--policy", "typical", "--quiet")
    assert done.exit == 3
    assert "3 rows have is_correct: true at a score below full marks, which is undecided" in done.err
    rows, report = imported("every-eval-ever", samples("repeated"))
    assert [row.get("correct") for row in rows] == [True, None, True, None, True, None]
    assert rows[1]["unjudged"] == "judge: fickle:accuracy: is_correct, at a score of 0.333333"
    assert [row["trial"] for row in rows if row["id"] == "repeated/Q-02"] == [0, 1, 2]
    assert report.unscored == 3


def test_the_policy_may_say_what_is_enough_or_take_is_correct_as_it_is() -> None:
    for demand, right in ((ScorerDemand("fickle:accuracy", Fraction(1, 2)), 3), (ScorerDemand("fickle:accuracy"), 6)):
        assert sum(row["correct"] for row in rows_of("repeated", demand)) == right


def test_several_results_need_a_policy_and_all_that_it_names_must_hold(tmp_path: Path) -> None:
    done = check(tmp_path, str(samples("opinions")))
    refused(done, "'graded:accuracy', 'stars:mean'", code="judge.undeclared")
    assert 'judged_by: { every_eval_ever: { scorer: "graded:accuracy", at_least: 1 } }' in done.problems
    both = (ScorerDemand("graded:accuracy", Fraction(1, 2)), ScorerDemand("stars:mean", Fraction(3)))
    assert [row["correct"] for row in rows_of("opinions", *both)] == [False, True, False, True]
    (problem,) = problems_of("every-eval-ever", samples("opinions"), judged_by=(ScorerDemand("match"),))
    assert problem.code == "judge.unknown-scorer"
    assert "'graded:accuracy', 'stars:mean'" in problem.message


def test_a_result_without_a_declared_scale_needs_a_policy(tmp_path: Path) -> None:
    done = check(tmp_path, str(samples("rated")))
    refused(done, "its scorers are 'stars:mean', and the aggregate declares no highest score")
    assert "at_least: …" in done.problems  # nobody can say for the reader how many stars are enough


@pytest.mark.parametrize(
    ("declared", "full"),
    [
        ({"score_type": "continuous", "min_score": 0, "max_score": 5}, 5),
        ({"score_type": "continuous", "min_score": 0, "max_score": 1}, 1),
        ({"score_type": "binary"}, 1),
    ],
)
def test_full_marks_are_what_the_aggregate_declares(tmp_path: Path, declared: Row, full: float) -> None:
    aggregate(tmp_path, {"lower_is_better": False, **declared})
    path = lines(tmp_path, scored(full * 0.8), scored(full, sample_id="2"))
    assert [row.get("correct") for row in imported("every-eval-ever", path)[0]] == [None, True]


@pytest.mark.parametrize(
    ("results", "why"),
    [
        ([{"lower_is_better": True, "score_type": "binary"}], "a lower score is better"),
        ([{"lower_is_better": False}], "the aggregate declares no highest score"),
        ([{"lower_is_better": False, "score_type": "continuous", "max_score": "Infinity"}], "no highest score"),
        ([{"lower_is_better": False, "score_type": "levels"}], "no highest score"),
        ([], "e.json has no results of that name"),
        ([{"score_type": "binary"}] * 2, "e.json has 2 results of that name"),
    ],
)
def test_an_aggregate_that_declares_no_full_marks_leaves_it_to_the_policy(
    tmp_path: Path, results: list[Row], why: str
) -> None:
    aggregate(tmp_path, *results)
    path = lines(tmp_path, record())
    (problem,) = problems_of("every-eval-ever", path)
    assert problem.code == "judge.undeclared"
    assert why in problem.message
    assert imported("every-eval-ever", path, judged_by=(ScorerDemand("acc"),))[0][0]["correct"] is True


def test_without_an_aggregate_full_marks_are_one_and_that_is_said(tmp_path: Path) -> None:
    path = lines(tmp_path, scored(1.0), scored(0.9, sample_id="2"), scored(0.0, correct=False, sample_id="3"))
    rows, report = imported("every-eval-ever", path)
    assert [row.get("correct") for row in rows] == [True, None, False]
    assert "there is no aggregate beside the samples: full marks are taken to be 1" in report.warnings


@pytest.mark.parametrize(
    ("declared", "marks"),
    [
        (None, 1),
        ({"score_type": "binary"}, 1),
        ({"score_type": "continuous", "min_score": 0, "max_score": 1}, 1),
        ({"score_type": "continuous", "min_score": 0, "max_score": 2}, 2),
    ],
)
def test_a_score_above_full_marks_shows_that_they_are_wrong_and_one_star_of_five_is_no_pass(
    tmp_path: Path, declared: Row | None, marks: int
) -> None:
    """The converters write `is_correct: true` for any score above 0."""
    if declared:
        aggregate(tmp_path, {"lower_is_better": False, **declared})
    path = lines(tmp_path, scored(1.0), scored(2.0, sample_id="2"), scored(3.0, correct=False, sample_id="3"))
    told = refusal("every-eval-ever", path)
    assert f"its scorers are 'acc', and a score of 3 is above the full marks of {marks}" in told
    assert "at_least: …" in told
    rows = imported("every-eval-ever", path, judged_by=(ScorerDemand("acc", Fraction(2)),))[0]
    assert [row["correct"] for row in rows] == [False, True, True]


def test_records_without_a_result_are_judged_by_is_correct_alone(tmp_path: Path) -> None:
    path = lines(tmp_path, record(evaluation_result_id=None))
    rows, report = imported("every-eval-ever", path)
    assert (rows[0]["correct"], report.judges) == (True, ("is_correct",))


def test_a_record_that_no_scorer_graded_is_undecided_beside_those_that_one_did(tmp_path: Path) -> None:
    """The converter of Inspect AI compares the answer with the target itself, and names no result."""
    path = lines(tmp_path, record(), record(sample_id="2", evaluation_result_id=None))
    rows, report = imported("every-eval-ever", path)
    assert rows[1]["unjudged"] == "judge: acc: no record of it"
    assert report.judges == ("acc",)


def test_a_demand_on_a_result_of_which_less_is_better_is_said_even_to_those_who_want_one_line(tmp_path: Path) -> None:
    lines(tmp_path, scored(5.0))
    for demand, told in (({"scorer": "acc", "at_least": 4}, True), ({"scorer": "acc"}, False)):
        for lower in (True, False):
            aggregate(tmp_path, {"lower_is_better": lower, "score_type": "continuous", "min_score": 0, "max_score": 10})
            policy = {**RULE, "judged_by": {"every_eval_ever": demand}}
            done = check(tmp_path, "e_samples.jsonl", "--quiet", policy=policy)
            judged(done, "pass")
            message = "the policy demands at least 4 of 'acc', and e.json says that a lower score is better"
            assert (message in done.err) is (told and lower)


def test_a_grading_model_is_in_the_judge_column(tmp_path: Path) -> None:
    grader = {"judges": [{"model_info": {"id": "example/grader"}}], "input_prompt": "?"}
    aggregate(tmp_path, {"score_type": "binary", "llm_scoring": grader})
    assert imported("every-eval-ever", lines(tmp_path, record()))[0][0]["judge"] == "acc by example/grader"


# --- repetitions, runs, files ------------------------------------------------------------------


def test_repeated_samples_are_trials_and_results_of_one_repetition_are_one_row(tmp_path: Path) -> None:
    path = lines(
        tmp_path,
        *(scored(score, score == 1, evaluation_result_id=result) for score in (1.0, 0.0) for result in ("acc", "f1")),
        scored(1.0),
    )
    rows, _ = imported("every-eval-ever", path, judged_by=(ScorerDemand("acc"), ScorerDemand("f1")))
    assert [(row["trial"], row.get("correct")) for row in rows] == [(0, True), (1, False), (2, None)]
    assert rows[2]["unjudged"] == "judge: f1: no record of it"


def test_one_repetition_twice_is_refused(tmp_path: Path) -> None:
    path = lines(tmp_path, record(metadata={"epoch": "1"}), scored(0.0, False, metadata={"epoch": "1"}))
    (problem,) = problems_of("every-eval-ever", path)
    assert problem.code == "import.duplicate"
    assert problem.message.startswith("line 2: sample '1' ")
    assert "'acc'" in problem.message


def test_two_runs_in_one_file_are_refused(tmp_path: Path) -> None:
    path = lines(tmp_path, record(), record(sample_id="2", evaluation_id="sums/example/clerk/2"))
    told = refusal("every-eval-ever", path)
    assert "line 2: found the evaluation 'sums/example/clerk/2', wanted 'sums/example/clerk/1'" in told


def test_two_models_in_one_file_are_chosen_from(tmp_path: Path) -> None:
    other = {"model_id": "example/other", "evaluation_id": "sums/example/other/1"}
    lines(tmp_path, record(), scored(0.0, False, **other))
    refused(check(tmp_path, "e_samples.jsonl"), "'example/clerk', 'example/other'", code="agent.several-versions")
    policy = {**RULE, "select": {"agent_version": "example/clerk"}}
    judged(check(tmp_path, "e_samples.jsonl", policy=policy), "pass")


def test_a_folder_is_read_with_its_aggregates(tmp_path: Path) -> None:
    for name in ("plain", "sums"):
        shutil.copy(samples(name), tmp_path)
        shutil.copy(FOLDER / samples(name).name.replace("_samples.jsonl", ".json"), tmp_path)
    (tmp_path / "elsewhere").mkdir()
    done = check(tmp_path / "elsewhere", str(tmp_path / "*.json*"), policy=RULE)
    refused(done, code="agent.several-versions")  # two models, of which the policy must choose one
    (tmp_path / samples("plain").name).unlink()
    done = check(tmp_path / "elsewhere", str(tmp_path / "*.json*"), policy=RULE)
    refused(done, "the aggregate names a file of samples, and it is not there")
    (tmp_path / samples("plain").name.replace("_samples.jsonl", ".json")).unlink()
    done = check(tmp_path / "elsewhere", str(tmp_path / "*.json*"), policy=RULE)
    assert judged(done, "pass")["counts"]["scenarios"] == 8
    assert any("read for what it declares of its samples" in warning for warning in done.json["warnings"])


def test_an_aggregate_alone_is_refused_with_where_the_rows_are(tmp_path: Path) -> None:
    done = check(tmp_path, str(FOLDER / samples("plain").name.replace("_samples.jsonl", ".json")))
    refused(done, "UUID_samples.jsonl", code="results.empty")


def test_samples_that_are_not_those_of_the_aggregate_are_refused(tmp_path: Path) -> None:
    path = lines(tmp_path, record(), record(sample_id="2"))
    scale = {"score_type": "binary"}
    aggregate(tmp_path, scale, total_rows=3)
    assert "the file holds 2 records, and e.json counts 3" in refusal("every-eval-ever", path)
    for algorithm in ("sha256", "md5"):
        right = hashlib.new(algorithm, path.read_bytes()).hexdigest()
        aggregate(tmp_path, scale, total_rows=2, hash_algorithm=algorithm, checksum=right.upper())
        assert len(imported("every-eval-ever", path)[0]) == 2
        aggregate(tmp_path, scale, hash_algorithm=algorithm, checksum="0" * len(right))
        assert "their checksums differ" in refusal("every-eval-ever", path)
    other = json.loads(aggregate(tmp_path, scale).read_text("utf-8"))
    written(tmp_path, "e.json", {**other, "evaluation_id": "another"})
    (problem,) = problems_of("every-eval-ever", path)
    assert problem.code == "import.contradiction"
    assert "'sums/example/clerk/1', and e.json is of 'another'" in problem.message


def test_a_result_of_the_aggregate_without_records_is_said_even_to_those_who_want_one_line(tmp_path: Path) -> None:
    aggregate(tmp_path, {"score_type": "binary"})
    document = json.loads((tmp_path / "e.json").read_text("utf-8"))
    document["evaluation_results"] += [{"evaluation_result_id": "hard", "evaluation_name": "hard sums"}]
    written(tmp_path, "e.json", document)
    lines(tmp_path, record())
    done = check(tmp_path, "e_samples.jsonl", "--quiet")
    assert "e.json has the result 'hard'" in done.err


def test_fewer_records_than_samples_of_the_aggregate_are_said_even_to_those_who_want_one_line(tmp_path: Path) -> None:
    aggregate(tmp_path, {"score_type": "binary"})
    document = json.loads((tmp_path / "e.json").read_text("utf-8"))
    for number, told in ((2, False), (3, True)):
        document["evaluation_results"][0]["score_details"] = {"score": 1.0, "uncertainty": {"num_samples": number}}
        written(tmp_path, "e.json", document)
        lines(tmp_path, record(), record(sample_id="2"))
        done = check(tmp_path, "e_samples.jsonl", "--quiet")
        assert ("e.json counts 3 samples of the result 'acc', and there are 2 records" in done.err) is told


def test_a_checksum_is_never_left_unchecked(tmp_path: Path) -> None:
    path = lines(tmp_path, record())
    right = hashlib.sha256(path.read_bytes()).hexdigest()
    aggregate(tmp_path, {"score_type": "binary"}, checksum=right)
    assert len(imported("every-eval-ever", path)[0]) == 1
    aggregate(tmp_path, {"score_type": "binary"}, checksum="0" * 64)
    assert "their checksums differ" in refusal("every-eval-ever", path)
    for declared in ({"hash_algorithm": "crc32", "checksum": right}, {"checksum": "00"}):
        aggregate(tmp_path, {"score_type": "binary"}, **declared)
        (problem,) = problems_of("every-eval-ever", path)
        assert problem.code == "import.wrong-value"
        assert "sha256 or md5" in problem.message


def test_a_damaged_aggregate_is_called_by_its_own_name(tmp_path: Path) -> None:
    lines(tmp_path, record())
    (tmp_path / "e.json").write_text('{"schema_version": "0.3.0", "evaluation_id":', "utf-8")
    refused(check(tmp_path, "e_samples.jsonl"), "e.json:1: this is cut off")


# --- odd records -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "code", "told"),
    [
        ({"eror": "timed out"}, "import.unknown-key", "found 'eror'"),
        ({"sample_id": None}, "import.missing-value", "sample_id: "),
        ({"sample_id": 7}, "import.wrong-value", "sample_id: found 7"),
        ({"model_id": ""}, "import.missing-value", "model_id: "),
        ({"evaluation": {"score": 1.0}}, "import.missing-value", "is_correct: "),
        ({"evaluation": {"score": 1.0, "is_correct": "yes"}}, "import.wrong-value", "is_correct: found 'yes'"),
        ({"evaluation": {"score": "1", "is_correct": True}}, "import.wrong-value", "score: found '1'"),
        ({"evaluation": {"score": True, "is_correct": True}}, "import.wrong-value", "score: found true"),
        ({"evaluation": None}, "import.missing-value", "evaluation: "),
        ({"error": {"message": "x"}}, "import.wrong-value", "error: found an object"),
    ],
)
def test_what_the_schema_does_not_have_is_refused_with_its_line(
    tmp_path: Path, changes: Row, code: str, told: str
) -> None:
    (problem,) = problems_of("every-eval-ever", lines(tmp_path, record(**changes)))
    assert problem.code == code
    assert problem.message.startswith("line 1: ")
    assert told in problem.message


def test_no_score_beside_is_correct_passes_nothing(tmp_path: Path) -> None:
    path = lines(tmp_path, scored(float("nan")), scored(1.0, sample_id="2"))
    rows, _ = imported("every-eval-ever", path)
    assert rows[0]["unjudged"] == "judge: acc: no score"


def test_an_error_fails_a_sample_that_is_said_to_be_correct(tmp_path: Path) -> None:
    path = lines(tmp_path, record(error="timeout"), record(sample_id="2", error=""))
    rows, report = imported("every-eval-ever", path)
    assert [row.get("error") for row in rows] == ["timeout", None]
    assert highbar.check(path, RULE).metrics["accuracy"].value == Fraction(1, 2)
    assert report.errors == 1


def test_an_error_in_one_record_of_a_repetition_is_the_error_of_the_row(tmp_path: Path) -> None:
    path = lines(tmp_path, record(), record(evaluation_result_id="f1", error="timeout"))
    (row,) = imported("every-eval-ever", path, judged_by=(ScorerDemand("acc"),))[0]
    assert row["error"] == "timeout"


@pytest.mark.parametrize(
    ("performance", "latency"),
    [
        ({"latency_ms": 5.0, "generation_time_ms": 3.0}, 5.0),
        ({"latency_ms": 2.0, "generation_time_ms": 3.0}, 3.0),  # a part of it cannot take longer than all of it
        ({"generation_time_ms": 3.0}, None),
        ({"latency_ms": 5.0}, 5.0),
        (None, None),
    ],
)
def test_a_latency_is_never_less_than_its_parts(tmp_path: Path, performance: Row, latency: float | None) -> None:
    (row,) = imported("every-eval-ever", lines(tmp_path, record(performance=performance)))[0]
    assert row.get("latency_ms") == latency


def test_a_version_that_is_not_known_is_said_even_to_those_who_want_one_line(tmp_path: Path) -> None:
    for version, known in (
        ("0.2.1", True),
        ("instance_level_eval_0.2.1", True),
        ("0.3.9", True),
        ("1.0.0", False),
        ("0.30.0", False),
    ):
        lines(tmp_path, record(schema_version=version))
        done = check(tmp_path, "e_samples.jsonl", "--quiet")
        assert (f"version {version} of the schema is none of those" in done.err) is not known


def test_metadata_describes_the_sample(tmp_path: Path) -> None:
    about = {"category": "adversarial", "capability": "sums", "difficulty": "hard", "doc_hash": "x", "note": ""}
    (row,) = imported("every-eval-ever", lines(tmp_path, record(metadata=about)))[0]
    assert (row["category"], row["capability"]) == ("adversarial", "sums")
    assert row["tags"] == {"difficulty": "hard", "interaction_type": "single_turn"}


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    name = "\x1b[2J::error::x\u202e'; DROP TABLE x; --"
    lines(tmp_path, record(sample_id=name, evaluation_result_id=name, model_id=name, evaluation_name=name))
    done = check(tmp_path, "e_samples.jsonl")
    assert judged(done, "pass")["counts"]["scenarios"] == 1
    assert "\x1b" not in done.out + done.err


def test_several_answers_are_shown_together(tmp_path: Path) -> None:
    (row,) = imported("every-eval-ever", lines(tmp_path, record(output={"raw": ["a", "b"]})))[0]
    assert row["output"] == '["a", "b"]'
