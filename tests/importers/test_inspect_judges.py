"""Who judges in Inspect AI logs, through the command line: what is declared, never what the values look like."""

from __future__ import annotations

import json
import shutil
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from highbar.model.judging import ScorerDemand
from tests.commandline import Run, refused, run
from tests.importers.imported import FIXTURES, imported, problems_of, written
from tests.importers.test_inspect import log

LOGS = FIXTURES / "inspect"
ACCURACY = [{"name": "inspect_ai/accuracy"}]
MEAN = [{"name": "inspect_ai/mean"}]


def checked(folder: Path, path: Path, accuracy: str = "1%", *arguments: str) -> Run:
    """`highbar check` of a file or a folder, with a bar for accuracy."""
    (folder / "policy.yaml").write_text(f"thresholds:\n  blocking: {{ accuracy: {accuracy} }}\n", "utf-8")
    return run(folder, "check", str(path), "--policy", "policy.yaml", "--format", "json", *arguments)


def accuracy_of(done: Run) -> tuple[Any, Any]:
    """The accuracy, and of how many scenarios it is undecided."""
    found = done.json["metrics"]["accuracy"]
    return found["value"], found["undecided"]


def with_scorers(*scores: dict[str, Any], **metrics: list[dict[str, Any]] | dict[str, Any]) -> dict[str, Any]:
    """The log of two samples with these scores, whose scorers declare these metrics."""
    made = log()
    made["eval"]["scorers"] = [{"name": name, "metrics": declared} for name, declared in metrics.items()]
    for sample, given in zip(made["samples"], scores, strict=True):
        sample["scores"] = {name: {"value": value} for name, value in given.items()}
    return made


def corrects(tmp_path: Path, document: dict[str, Any], *demands: ScorerDemand) -> list[bool | None]:
    rows, _ = imported("inspect", written(tmp_path, "log.json", document), judged_by=demands)
    return [row.get("correct") for row in rows]


# --- declared, not inferred --------------------------------------------------------------------


def test_one_odd_value_does_not_disarm_a_scorer(tmp_path):
    done = checked(tmp_path, LOGS / "odd_values.eval", "51%")
    # 1, 0.5, "maybe" and 1: two are right, one is wrong, and of one the judge said nothing that can be read.
    assert accuracy_of(done) == (0.5, 1)
    assert done.exit == 3
    assert checked(tmp_path, LOGS / "odd_values.eval", "80%").exit == 1


def test_numbers_that_are_only_ever_zero_and_one_do_not_judge(tmp_path):
    done = checked(tmp_path, LOGS / "no_judge.eval")
    assert done.exit == 2
    refused(done, code="judge.undeclared")
    assert "flag (mean), topic (commonest)" in done.problems
    assert "judged_by: { inspect: [ { scorer: flag" in done.problems
    assert checked(tmp_path, LOGS / "measured.eval").exit == 2


def test_labels_and_flags_do_not_judge_beside_an_accuracy(tmp_path):
    done = checked(tmp_path, LOGS / "labels.eval", "100%")
    assert accuracy_of(done) == (1.0, 0)  # though the labels are N, I, sums and C, and the flags mostly 0
    assert done.exit == 0
    _, report = imported("inspect", LOGS / "labels.eval")
    assert report.judges == ("match",)
    assert report.scorers == {
        "match": "judges",
        "topic": "a column, does not judge: declared for it: commonest; not accuracy",
        "flag": "a column, does not judge: declared for it: mean; not accuracy",
    }
    assert report.unread["scores that are text"] == 1


def test_every_flag_of_a_dictionary_judges_if_accuracy_is_declared_for_all(tmp_path):
    assert accuracy_of(checked(tmp_path, LOGS / "flags.eval")) == (0.75, 0)
    assert imported("inspect", LOGS / "flags.eval")[1].judges == ("checks.polite", "checks.safe")
    assert "opinions.polite (mean), opinions.safe (mean)" in checked(tmp_path, LOGS / "opinions.eval").problems


def test_a_flag_that_one_sample_lacks_leaves_it_undecided(tmp_path):
    document = with_scorers({"x": {"a": True, "b": True}}, {"x": {"a": True}}, x={"*": ACCURACY})
    assert corrects(tmp_path, document) == [True, None]
    document = with_scorers({"x": float("nan")}, {"x": float("nan")}, x={"*": ACCURACY})
    assert corrects(tmp_path, document) == [None, None]


def test_scorers_apart_only_in_case_both_judge_and_share_no_column(tmp_path):
    assert accuracy_of(checked(tmp_path, LOGS / "cases.eval")) == (0.75, 0)
    rows, report = imported("inspect", LOGS / "cases.eval")
    assert report.judges == ("verdict", "Verdict")
    assert not any("verdict" in row for row in rows)
    assert report.unread == {"scores whose scorers would share the column verdict": 8}


def test_the_second_scorer_of_one_name_judges_too(tmp_path):
    assert imported("inspect", LOGS / "twice.eval")[1].judges == ("match", "match1")
    document = with_scorers({"match": "C", "match1": "C"}, {"match": "C", "match1": "I"})
    document["eval"]["scorers"] = [{"name": "match", "metrics": ACCURACY}] * 2  # and no results that name them apart
    assert corrects(tmp_path, document) == [True, False]


def test_an_accuracy_above_one_is_refused_and_one_below_zero_is_no_pass(tmp_path):
    assert corrects(tmp_path, with_scorers({"x": 1}, {"x": -1}, x=ACCURACY)) == [True, False]
    above = written(tmp_path, "log.json", with_scorers({"x": 1}, {"x": 5}, x=ACCURACY))
    (problem,) = problems_of("inspect", above)
    assert problem.code == "judge.undeclared"
    for value in ("sample 2, epoch 1", "scorer x", "gave 5", "above 1"):
        assert value in problem.message


def test_a_judge_that_is_silent_leaves_a_sample_undecided_unless_another_says_no(tmp_path):
    document = with_scorers({"a": "C", "b": None}, {"a": "I", "b": None}, a=ACCURACY, b=ACCURACY)
    rows, report = imported("inspect", written(tmp_path, "log.json", document))
    assert [row.get("correct") for row in rows] == [None, False]
    assert rows[0]["unjudged"] == "judge: no score by b"
    assert report.unscored == 1
    done = checked(tmp_path, tmp_path / "log.json", "50%")
    assert done.exit == 3
    assert done.json["counts"]["unjudged"] == 1


def test_a_log_without_a_scorer_is_refused_crashed_or_not(tmp_path):
    refused(checked(tmp_path, LOGS / "unscored.eval"), "scorer", code="judge.undeclared")
    document = with_scorers({}, {})
    document["samples"][0]["error"] = {"message": "boom"}
    refused(checked(tmp_path, written(tmp_path, "log.json", document)), code="judge.undeclared")


def test_a_score_outside_of_its_scale_takes_no_quality_from_another_scorer(tmp_path):
    document = with_scorers({"a": 1, "b": 1}, {"a": 1, "b": -5}, a=MEAN, b=ACCURACY)
    rows, _ = imported("inspect", written(tmp_path, "log.json", document))
    assert not any("quality_score" in row for row in rows)


# --- what the policy says ----------------------------------------------------------------------


def test_the_policy_says_who_judges_and_what_is_enough(tmp_path):
    document = with_scorers({"x": 0.7, "y": "I"}, {"x": 0.8, "y": "C"}, x=MEAN, y=ACCURACY)
    enough = ScorerDemand("x", Fraction(4, 5))
    assert corrects(tmp_path, document, enough) == [False, True]
    assert corrects(tmp_path, document, enough, ScorerDemand("y")) == [False, True]
    assert corrects(tmp_path, document, ScorerDemand("x", Fraction(7, 10))) == [True, True]
    assert corrects(tmp_path, document, ScorerDemand("x", Fraction(1, 2)), enough) == [False, True]
    rows, report = imported("inspect", tmp_path / "log.json", judged_by=(enough,))
    assert report.scorers == {"x": "judges", "y": "a column, does not judge: judged_by names others"}
    assert [row["quality_score"] for row in rows] == [0.7, 0.8]


def test_a_scorer_that_the_policy_names_and_the_log_has_not_is_refused_with_those_that_it_has():
    (problem,) = problems_of("inspect", LOGS / "opinions.eval", judged_by=(ScorerDemand("opinions"),))
    assert problem.code == "judge.unknown-scorer"
    assert "'opinions'" in problem.message
    assert "opinions.polite, opinions.safe" in problem.message


def test_where_the_scorer_of_the_policy_is_absent_the_row_is_undecided(tmp_path):
    document = with_scorers({"x": 1}, {}, x=MEAN)
    assert corrects(tmp_path, document, ScorerDemand("x")) == [True, None]


# --- what is an error --------------------------------------------------------------------------


def test_samples_that_ran_into_a_limit_are_errors_whatever_they_scored(tmp_path):
    done = checked(tmp_path, LOGS / "limits.eval", "75%")
    assert done.json["counts"]["errors"] == 2
    assert accuracy_of(done) == (0.5, 0)
    assert done.exit == 1
    told = {failed["reason"] for failed in done.json["scenarios_failed"]}
    assert any("time limit" in reason for reason in told)
    assert any("message limit" in reason for reason in told)


def test_a_crash_is_wrong_though_what_was_said_before_it_scored_well(tmp_path):
    assert accuracy_of(checked(tmp_path, LOGS / "scored_crash.eval")) == (0.75, 0)


@pytest.mark.parametrize("error", ["", {}, {"message": ""}, {"message": None}])
def test_an_error_without_a_message_is_an_error(tmp_path, error):
    document = log()
    document["samples"][0]["error"] = error
    done = checked(tmp_path, written(tmp_path, "log.json", document))
    assert done.json["counts"]["errors"] == 1
    assert accuracy_of(done)[0] == 0.5


def test_an_epoch_that_the_task_did_not_start_is_undecided(tmp_path):
    done = checked(tmp_path, LOGS / "stopped.eval", "100%")
    assert done.exit == 3
    assert done.json["counts"]["trials"] == 8
    assert done.json["counts"]["unjudged"] == 1
    document = log(results={"early_stopping": {"manager": "m", "early_stops": [], "metadata": {}}})
    document["eval"]["dataset"] = {"samples": 3, "sample_ids": ["1", "2", "3"]}
    assert checked(tmp_path, written(tmp_path, "log.json", document)).exit == 2


def test_time_and_tokens_of_the_judge_are_not_the_agents():
    rows, _ = imported("inspect", LOGS / "roles.eval")
    assert [row["tokens_used"] for row in rows] == [11] * 4  # the grader's 101 are not among them
    assert all(0 < row["latency_ms"] < 450 for row in rows)  # nor its half a second


def test_the_judge_cannot_have_used_more_than_all_models(tmp_path):
    document = log()
    document["eval"]["model_roles"] = {"grader": {"model": "m"}}
    document["samples"][0] |= {
        "model_usage": {"m": {"total_tokens": 5}},
        "role_usage": {"grader": {"total_tokens": 9}},
    }
    (problem,) = problems_of("inspect", written(tmp_path, "log.json", document))
    assert problem.code == "import.contradiction"
    for value in ("sample 1, epoch 1", "role_usage", "total_tokens"):
        assert value in problem.message


# --- what contradicts itself -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "code", "values"),
    [
        (lambda made: made["eval"]["config"].update(limit=[4, 2]), "import.wrong-value", ["limit", "[4, 2]"]),
        (lambda made: made["eval"]["config"].update(limit=[2, 2]), "import.wrong-value", ["limit", "[2, 2]"]),
        (lambda made: made["eval"]["config"].update(limit=0), "import.wrong-value", ["limit", "found 0"]),
        (lambda made: made["eval"]["config"].update(limit=-1), "import.wrong-value", ["limit", "-1"]),
        (lambda made: made["eval"]["config"].update(limit=True), "import.wrong-value", ["limit", "true"]),
        (lambda made: made["eval"]["config"].update(limit="2"), "import.wrong-value", ["limit", "'2'"]),
        (lambda made: made["eval"]["config"].update(epochs=0), "import.wrong-value", ["epochs", "found 0"]),
        (lambda made: made.update(status="SUCCESS"), "import.wrong-value", ["status", "'SUCCESS'", "started, success"]),
        (lambda made: made.update(status="Started"), "import.wrong-value", ["status", "'Started'"]),
        (lambda made: made.update(invalidated=True), "import.contradiction", ["invalidated"]),
        (lambda made: made.update(results={"total_samples": 3}), "import.contradiction", ["of 2", "count 3"]),
        (
            lambda made: made.update(results={"total_samples": 2, "completed_samples": 1}),
            "import.contradiction",
            ["2 samples", "count 1"],
        ),
        (lambda made: made["eval"]["dataset"].update(samples=3), "import.contradiction", ["2 samples", "give 3"]),
        (
            lambda made: made["eval"]["dataset"].update(samples=1, sample_ids=["1"]),
            "import.contradiction",
            ["sample 2"],
        ),
        (lambda made: made["samples"][0].update(epoch=2), "import.contradiction", ["sample 1", "epoch 2", "says 1"]),
    ],
)
def test_a_header_that_makes_no_sense_or_contradicts_the_samples_is_refused(tmp_path, change, code, values):
    made = log()
    change(made)
    done = checked(tmp_path, written(tmp_path, "log.json", made))
    refused(done, code=code)
    assert [value for value in values if value not in done.problems] == []


def repacked(folder: Path, name: str, change: Any) -> Path:
    """A log with changed members; they come as texts by name."""
    from highbar.importers.reading import zip as archives

    with archives.open_archive(str(LOGS / name)) as archive:
        members = {member: bytes(archive.read(member)).decode() for member in archive}
    change(members)
    path = folder / "changed.eval"
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in members.items():
            archive.writestr(member, text)
    return path


def without(members: dict[str, str], member: str, key: str) -> None:
    members[member] = json.dumps({**json.loads(members[member]), key: None})


@pytest.mark.parametrize(
    ("name", "change", "code", "values"),
    [
        (
            "labels.eval",
            lambda m: m.update({"Samples/S-9_epoch_1.json": "{}"}),
            "file.damaged",
            ["'Samples/S-9_epoch_1.json'"],
        ),
        (
            "labels.eval",
            lambda m: m.update({"samples/S-9_epoch_1.json.bak": "{}"}),
            "file.damaged",
            ["'samples/S-9_epoch_1.json.bak'"],
        ),
        (
            "labels.eval",
            lambda m: m.update({"samples/S-9_epoch_1/events/0.json": "[]"}),
            "file.damaged",
            ["'samples/S-9_epoch_1/events/0.json'"],
        ),
        (
            "chunked.eval",
            lambda m: m.pop("samples/Q-01_epoch_1/sample.json"),
            "file.damaged",
            ["'samples/Q-01_epoch_1/"],
        ),
        (
            "stopped.eval",
            lambda m: m.pop("samples/S-1_epoch_1.json"),
            "import.incomplete",
            ["summaries.json", "sample S-1, epoch 1"],
        ),
        (
            "scored_crash.eval",
            lambda m: without(m, "samples/S-2_epoch_1.json", "error"),
            "import.contradiction",
            ["sample S-2, epoch 1", "crashed"],
        ),
        (
            "limits.eval",
            lambda m: without(m, "samples/S-2_epoch_1.json", "limit"),
            "import.contradiction",
            ["sample S-2, epoch 1", "limit"],
        ),
        (
            "invalidated.eval",
            lambda m: without(m, "samples/S-2_epoch_1.json", "invalidation"),
            "import.contradiction",
            ["invalidated"],
        ),
    ],
)
def test_members_of_an_archive_that_are_odd_or_contradict_each_other_are_refused(tmp_path, name, change, code, values):
    done = checked(tmp_path, repacked(tmp_path, name, change))
    refused(done, code=code)
    assert [value for value in values if value not in done.problems] == []


def test_a_member_that_is_not_known_is_named(tmp_path):
    path = repacked(tmp_path, "labels.eval", lambda members: members.update({"notes.txt": "hello"}))
    done = checked(tmp_path, path)
    assert done.exit == 0
    assert any("not known: notes.txt" in warning for warning in done.json["warnings"])
    odd = written(tmp_path, "odd.json", log(Samples=[]))
    assert any("not known: Samples" in warning for warning in checked(tmp_path, odd).json["warnings"])


# --- folders -----------------------------------------------------------------------------------


def retried(folder: Path) -> Path:
    """An eval set whose task `fragile` failed at first, in a folder of its own."""
    target = folder / "logs"
    shutil.copytree(LOGS / "retried", target)
    return target


def test_of_the_logs_of_a_retried_task_the_last_complete_one_counts_and_that_is_said(tmp_path):
    folder = retried(tmp_path)
    first, last = sorted(folder.glob("*fragile*"))
    for arguments in ((folder,), (first, last, next(folder.glob("*sound*")))):
        done = checked(tmp_path, arguments[0], "100%", *map(str, arguments[1:]))
        assert done.exit == 0, done.err
        assert done.json["counts"]["scenarios"] == 8
        told = [one for one in done.json["warnings"] if "is the last complete run of the task 'fragile'" in one]
        assert len(told) == 1
        assert first.name in told[0]
    last.unlink()
    assert (
        checked(tmp_path, first).json["counts"]["errors"] == 2
    )  # alone, it is what there is: a crash, and one cut off


def test_runs_of_a_task_of_which_none_is_complete_are_refused(tmp_path):
    for number in (1, 2):
        made = log(status="error")
        made["eval"] |= {"task_id": "T", "eval_id": f"E{number}", "created": f"2026-01-0{number}T00:00:00+00:00"}
        written(tmp_path, f"{number}.json", made)
    done = checked(tmp_path, tmp_path / "1.json", "1%", "2.json")
    refused(done, "2 runs", "'t'", "error", code="import.incomplete")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"task": "t2"}, "the task is 't2', was 't'"),
        ({"model": "other"}, "the model is 'other', was 'm'"),
        ({"task_args": {"easy": True}}, "the task_args differ"),
        ({"scorers": [{"name": "lenient", "metrics": ACCURACY}]}, "the scorer 'match' is not among its scorers"),
        ({"dataset": {"samples": 1, "sample_ids": ["1"]}}, "it plans 1 samples, planned were 2"),
        ({"dataset": {"samples": 2, "sample_ids": ["1", "3"]}}, "the planned samples differ: 2 is not among them"),
        ({"dataset": {"samples": 2, "sample_ids": ["1", "2"]}, "config": {"epochs": 2}}, "it has 2 epochs, planned"),
        ({"dataset": {"samples": 2}}, "it does not name the samples that it plans"),
    ],
)
def test_a_log_of_something_else_is_no_retry_and_takes_no_place(tmp_path, change, told):
    for number in (1, 2):
        made = log(status="success")
        made["eval"] |= {"task_id": "T", "eval_id": f"E{number}", "created": f"2026-01-0{number}T00:00:00+00:00"}
        made["eval"] |= {"model": "m", "dataset": {"samples": 2, "sample_ids": ["1", "2"]}, "config": {"epochs": 1}}
        made["eval"] |= change if number == 2 else {}
        written(tmp_path, f"{number}.json", made)
    done = checked(tmp_path, tmp_path / "1.json", "1%", "2.json")
    refused(done, "1.json", "task_id")
    assert told in done.problems
    assert done.json["problems"][0]["code"] == "import.incomplete"


def test_the_files_beside_the_logs_are_named_and_held_against_them(tmp_path):
    folder = retried(tmp_path)
    told = "\n".join(checked(tmp_path, folder).json["warnings"])
    for name in ("eval-set.json", "logs.json"):
        assert f"{name}: read for what it lists" in told
    next(folder.glob("*sound*")).unlink()
    done = checked(tmp_path, folder)
    refused(done, "'sound'", code="import.incomplete")
    (folder / "eval-set.json").unlink()
    refused(checked(tmp_path, folder), "_sound_", code="import.incomplete")
    (folder / "logs.json").write_text("[]", "utf-8")
    refused(checked(tmp_path, folder), "logs.json", "list of 0", code="import.wrong-value")


def test_a_folder_is_imported_as_it_is_checked(tmp_path):
    done = run(tmp_path, "import", "inspect", str(retried(tmp_path)), "-o", "rows.jsonl")
    assert done.exit == 0
    assert len((tmp_path / "rows.jsonl").read_text("utf-8").splitlines()) == 8
    assert "is the last complete run" in done.err


def test_logs_of_two_models_are_not_taken_for_retries(tmp_path):
    assert checked(tmp_path, LOGS / "models").exit == 2
    assert {row["tags"]["model"] for row in imported("inspect", LOGS / "models" / "one.eval")[0]} == {"mockllm/one"}


# --- what vanishes with every trace ------------------------------------------------------------


def test_a_sample_that_vanished_with_every_trace_is_seen_by_a_suite(tmp_path):
    made = log()
    made["samples"] = made["samples"][:1]
    made["eval"]["dataset"] = {"samples": 1, "sample_ids": ["1"]}
    path = written(tmp_path, "log.json", made)
    assert checked(tmp_path, path, "100%").exit == 0
    policy = {"thresholds": {"blocking": {"accuracy": "100%"}}, "suite": "suite.json"}
    (tmp_path / "suite.json").write_text(json.dumps(["t/1", "t/2"]), "utf-8")
    (tmp_path / "policy.json").write_text(json.dumps(policy), "utf-8")
    assert run(tmp_path, "check", str(path), "--policy", "policy.json").exit == 1
