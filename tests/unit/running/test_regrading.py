"""`highbar grade`: recorded answers, of runs and of rows, graded again by a suite."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from highbar.model.answer import ToolCall
from highbar.running.calls import Reply
from highbar.running.records import TrialEnded, TurnEnd
from tests.commandline import Run, run
from tests.recorded_runs import record

SUITE: dict[str, Any] = {
    "suite": "library",
    "behaviors": {"looks_up": {"calls": "search"}, "tells_secrets": {"contains": "on loan to"}},
    "scenarios": [
        {"id": "HOURS", "category": "happy_path", "input": "When?", "answer": {"contains": "10 am"}},
        {"id": "FIND", "input": "Whales?", "expected_behaviors": ["looks_up"], "trials": 2},
        {"id": "SECRET", "input": "Who?", "must_not": ["tells_secrets"]},
        {"id": "LABEL", "input": "Good?", "expected": "yes"},
    ],
}
REPLIES: dict[str, Reply] = {
    "HOURS": Reply("We open at 10 am.", tokens_used=7),
    "FIND": Reply("Found.", tool_calls=(ToolCall("search", {"topic": "whales"}),)),
    "SECRET": Reply("It is on loan to Ann."),
    "LABEL": Reply("No."),
}


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "suite.json").write_text(json.dumps(SUITE))
    return tmp_path


def recorded(here: Path, **keys: Any) -> Path:
    return record(here / "out", here / "suite.json", lambda id_, _: REPLIES[id_], **keys)


def write_suite(here: Path, name: str = "suite.json", **scenarios: dict[str, Any]) -> None:
    """The suite with other keys of some scenarios; None removes one."""
    changed = [
        {key: value for key, value in (one | scenarios.get(one["id"], {})).items() if value is not None}
        for one in SUITE["scenarios"]
    ]
    (here / name).write_text(json.dumps(SUITE | {"scenarios": changed}))


def grade(here: Path, *arguments: str) -> Run:
    done = run(here, "grade", *arguments, "-o", "new.jsonl")
    assert "Traceback" not in done.err
    return done


def rows_in(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def graded(here: Path, *arguments: str) -> dict[tuple[str, int], dict[str, Any]]:
    done = grade(here, *arguments)
    assert done.exit == 0, done.err
    return {(row["id"], row["trial"]): row for row in rows_in(here / "new.jsonl")}


def refused(here: Path, *arguments: str, code: str) -> str:
    done = grade(here, *arguments)
    assert done.exit == 2, done.err
    assert done.codes == [code], done.err
    assert not (here / "new.jsonl").exists()
    return done.err


def write_rows(here: Path, *rows: dict[str, Any], name: str = "rows.jsonl") -> None:
    (here / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


# --- runs ------------------------------------------------------------------------------------


def test_a_run_graded_by_its_own_suite_gives_the_rows_that_the_run_wrote(here):
    out = recorded(here)
    assert grade(here, "out").exit == 0
    assert (here / "new.jsonl").read_bytes() == (out / "results.jsonl").read_bytes()


def test_a_run_is_graded_by_the_suite_as_it_is_now(here):
    recorded(here)
    write_suite(here, HOURS={"answer": {"contains": "9 am"}})
    rows = graded(here, "out")
    assert rows["HOURS", 1]["correct"] is False
    assert rows["SECRET", 1]["violations"] == ["tells_secrets"]


def test_another_suite_can_be_named(here):
    recorded(here)
    write_suite(here, "other.json", HOURS={"answer": {"contains": "9 am"}})
    assert graded(here, "out", "--suite", "other.json")["HOURS", 1]["correct"] is False
    assert graded(here, "out")["HOURS", 1]["correct"] is True


def test_an_answer_to_a_question_that_has_changed_is_undecided(here):
    recorded(here)
    write_suite(here, HOURS={"input": "When on Sunday?"})
    done = grade(here, "out")
    row = rows_in(here / "new.jsonl")[0]
    assert row["unjudged"] == "not run: the recorded answer is to another question"
    assert "correct" not in row
    assert "the suite asks something else by now, so undecided: HOURS" in done.err


def test_a_scenario_that_the_run_did_not_have_is_undecided(here):
    recorded(here, only=["HOURS"])
    rows = graded(here, "out")
    assert rows["HOURS", 1]["correct"] is True
    assert {key: row.get("unjudged") for key, row in rows.items() if key[0] == "FIND"} == {
        ("FIND", 1): "not run: no recorded answer",
        ("FIND", 2): "not run: no recorded answer",
    }


def test_a_scenario_that_the_suite_does_not_have_is_refused(here):
    recorded(here)
    (here / "suite.json").write_text(json.dumps(SUITE | {"scenarios": SUITE["scenarios"][1:]}))
    said = refused(here, "out", code="suite.unknown-scenario")
    assert "suite.json" in said
    assert "1 scenario: HOURS" in said


def test_errors_and_trials_that_were_not_run_stay_what_they_are(here):
    ends = {
        "HOURS": TrialEnded("", 1, "", "error", (TurnEnd(Reply("on loan to Ann")),), "HTTP 500"),
        "FIND": TrialEnded("", 1, "", "infrastructure", (), "HTTP 503"),
        "SECRET": TrialEnded("", 1, "", "error", (TurnEnd(Reply("on loan to Ann")),), "timeout"),
    }
    record(here / "out", here / "suite.json", lambda id_, _: ends.get(id_), how="interrupted")
    rows = graded(here, "out")
    assert rows["HOURS", 1]["error"] == "HTTP 500"
    assert rows["FIND", 2]["unjudged"] == "not run: HTTP 503"
    assert (rows["SECRET", 1]["error"], rows["SECRET", 1]["violations"]) == ("timeout", ["tells_secrets"])
    assert rows["LABEL", 1]["unjudged"] == "not run: the run was interrupted"


def test_two_runs_of_the_same_scenarios_are_refused(here):
    recorded(here)
    record(here / "two", here / "suite.json", lambda id_, _: REPLIES[id_])
    assert "two: " in (said := refused(here, "out", "two", code="run.twice"))
    assert "HOURS, FIND, SECRET, LABEL" in said


def test_runs_of_two_agents_are_refused(here):
    record(here / "out", here / "suite.json", lambda id_, _: REPLIES[id_], only=["HOURS"])
    record(here / "two", here / "suite.json", lambda id_, _: REPLIES[id_], only=["FIND"], agent="other:answer")
    assert "two: " in refused(here, "out", "two", code="run.shards-differ")


def test_runs_of_different_scenarios_are_graded_together_in_the_order_of_the_suite(here):
    record(here / "two", here / "suite.json", lambda id_, _: REPLIES[id_], only=["FIND", "LABEL"])
    record(here / "one", here / "suite.json", lambda id_, _: REPLIES[id_], only=["HOURS", "SECRET"])
    assert [key[0] for key in graded(here, "two", "one")] == ["HOURS", "FIND", "FIND", "SECRET", "LABEL"]
    whole = recorded(here)
    rows, of_whole = rows_in(here / "new.jsonl"), rows_in(whole / "results.jsonl")
    assert {row.pop("highbar_run")["part"] for row in rows} == {"filtered"}
    assert {row.pop("highbar_run")["part"] for row in of_whole} == {None}
    assert rows == of_whole


def test_a_suite_that_only_lists_ids_grades_nothing(here):
    recorded(here)
    (here / "ids.json").write_text(json.dumps(["HOURS", "FIND", "SECRET", "LABEL"]))
    assert "ids.json" in refused(here, "out", "--suite", "ids.json", code="suite.no-check")


@pytest.mark.process
def test_checks_in_python_are_carried_out(here):
    (here / "polite.py").write_text("def thanks(answer):\n    return 'thank' in answer['output']\n")
    recorded(here)
    write_suite(here, HOURS={"answer": {"python": "polite:thanks"}})
    assert graded(here, "out")["HOURS", 1]["correct"] is False
    (here / "new.jsonl").unlink()
    write_suite(here, HOURS={"answer": {"python": "polite:thank"}})
    assert "polite:thank" in refused(here, "out", code="check.not-loaded")


# --- where the rows go -----------------------------------------------------------------------


@pytest.mark.parametrize("output", ["out/results.jsonl", "rows.jsonl", "link.jsonl"])
def test_an_input_is_never_written_over(here, output):
    recorded(here)
    write_rows(here, {"id": "HOURS", "output": "10 am"})
    (here / "link.jsonl").symlink_to(here / "out" / "results.jsonl")
    before = (here / output).read_bytes()
    named = ["rows.jsonl", "--suite", "suite.json"] if output == "rows.jsonl" else ["out"]
    done = run(here, "grade", *named, "-o", output)
    assert done.exit == 2
    assert done.codes == ["file.read-and-written"]
    assert output in done.err
    assert (here / output).read_bytes() == before


def test_the_output_is_required_and_is_named_as_results_are(here):
    recorded(here)
    assert run(here, "grade", "out").exit == 2
    assert run(here, "grade", "out", "-o", "new.csv").codes == ["output.unknown-ending"]


def test_the_new_rows_are_judged_by_check(here):
    recorded(here)
    (here / "highbar.yaml").write_text("thresholds: { blocking: { accuracy: 100% } }\nsuite: suite.json\n")
    assert grade(here, "out").exit == 0
    assert run(here, "check", "new.jsonl").exit == run(here, "check", "out").exit == 1


def test_runs_and_rows_are_not_mixed(here):
    recorded(here)
    write_rows(here, {"id": "HOURS", "output": "10 am"})
    refused(here, "out", "rows.jsonl", code="run.mixed")


# --- rows ------------------------------------------------------------------------------------


def of_rows(here: Path, *rows: dict[str, Any], name: str = "rows.jsonl") -> dict[tuple[str, int], dict[str, Any]]:
    write_rows(here, *rows, name=name)
    return graded(here, name, "--suite", "suite.json")


def refused_rows(here: Path, *rows: dict[str, Any], code: str) -> str:
    write_rows(here, *rows)
    return refused(here, "rows.jsonl", "--suite", "suite.json", code=code)


def test_the_rows_of_a_run_are_graded_as_the_run_graded_them(here):
    out = recorded(here)
    (here / "rows.jsonl").write_bytes((out / "results.jsonl").read_bytes())
    assert [*graded(here, "rows.jsonl", "--suite", "suite.json").values()] == rows_in(out / "results.jsonl")


def test_an_earlier_grading_is_replaced_and_that_is_said(here):
    row = {"id": "HOURS", "output": "at 9", "passed": True, "correct": True, "judge": "me", "must_not": ["x"]}
    row |= {"violations": [], "quality_score": 0.5, "latency_ms": 3, "model": "m", "agent_version": "2"}
    write_rows(here, row)
    done = grade(here, "rows.jsonl", "--suite", "suite.json")
    assert "the earlier grading is replaced: correct, passed, violations" in done.err
    found = rows_in(here / "new.jsonl")[0]
    assert found == {
        "id": "HOURS", "trial": 1, "suite": "library", "category": "happy_path", "input": "When?", "output": "at 9",
        "correct": False, "missed": found["missed"], "quality_score": 0.5, "latency_ms": 3, "model": "m",
        "agent_version": "2", "answer_checked": True,
    }  # fmt: skip


def test_scenarios_and_trials_without_a_row_are_undecided(here):
    rows = of_rows(here, {"id": "FIND", "trial": 2, "tool_calls": [{"name": "search"}]})
    assert list(rows) == [("HOURS", 1), ("FIND", 2), ("FIND", 1), ("SECRET", 1), ("LABEL", 1)]
    assert rows["FIND", 2]["behaviors"] == {"looks_up": True}
    assert {row.get("unjudged") for key, row in rows.items() if key != ("FIND", 2)} == {"not run: no recorded answer"}


def test_ids_that_the_suite_does_not_have_are_refused(here):
    rows = {"id": "HOUR", "output": "10 am"}, {"id": "X", "output": ""}
    said = refused_rows(here, *rows, code="suite.unknown-scenario")
    assert "2 scenarios: HOUR, X" in said
    assert "did you mean 'HOURS'?" in said


@pytest.mark.parametrize("trials", [(1, 1), (None, None), (None, 1)])
def test_two_rows_of_one_trial_are_refused(here, trials):
    rows = [{"id": "HOURS", "trial": trial, "output": "10 am"} for trial in trials]
    assert "HOURS, trial 1\n" in refused_rows(here, *rows, code="results.duplicate-trial")


def test_a_file_that_records_no_answers_is_refused(here):
    refused_rows(here, {"id": "HOURS", "passed": True}, {"id": "SECRET"}, code="results.no-answers")


def test_a_row_without_an_answer_among_others_is_undecided(here):
    rows = of_rows(here, {"id": "HOURS", "passed": True}, {"id": "SECRET", "output": "No."})
    assert rows["HOURS", 1]["unjudged"] == "check: no recorded answer"
    assert rows["SECRET", 1]["violations"] == []


def test_rows_with_errors_stay_errors_and_are_searched_for_violations(here):
    rows = of_rows(
        here,
        {"id": "HOURS", "error": "timeout"},
        {"id": "SECRET", "error": "timeout", "output": "on loan to Ann"},
        {"id": "LABEL", "unjudged": "not run: no budget"},
    )
    assert (rows["HOURS", 1]["error"], rows["HOURS", 1]["correct"]) == ("timeout", False)
    assert rows["SECRET", 1]["violations"] == ["tells_secrets"]
    assert rows["LABEL", 1]["unjudged"] == "not run: no budget"


def test_a_tool_call_that_was_not_recorded_is_undecided_and_not_missing(here):
    write_rows(here, {"id": "FIND", "output": "Found."})
    done = grade(here, "rows.jsonl", "--suite", "suite.json")
    rows = {(row["id"], row["trial"]): row for row in rows_in(here / "new.jsonl")}
    assert rows["FIND", 1]["unjudged"] == "check: looks_up: no tool calls were recorded"
    assert "behaviors" not in rows["FIND", 1]
    assert "no tool calls were recorded" in done.err


def test_a_row_without_calls_in_a_file_that_has_them_did_not_call(here):
    rows = of_rows(
        here,
        {"id": "FIND", "output": "Found."},
        {"id": "HOURS", "tool_calls": [{"function": {"name": "clock", "arguments": '{"at": 1}'}}]},
    )
    assert rows["FIND", 1]["behaviors"] == {"looks_up": False}
    assert rows["HOURS", 1]["correct"] is False


def test_an_empty_list_of_calls_says_that_there_were_none(here):
    assert of_rows(here, {"id": "FIND", "output": "x", "tool_calls": []})["FIND", 1]["behaviors"] == {"looks_up": False}


def test_an_empty_reply_is_an_error_only_if_calls_would_have_been_recorded(here):
    assert of_rows(here, {"id": "HOURS", "output": " "})["HOURS", 1]["unjudged"] == "check: no recorded answer"
    assert "error" in of_rows(here, {"id": "HOURS", "output": " ", "tool_calls": []})["HOURS", 1]


def test_calls_and_texts_are_read_from_messages(here):
    said = [
        {"role": "user", "content": "Whales?"},
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "search", "arguments": "{}"}}]},
        {"role": "tool", "content": "on loan to Ann"},
        {"role": "assistant", "content": "It is here."},
    ]
    rows = of_rows(here, {"id": "FIND", "messages": said}, {"id": "SECRET", "messages": said})
    assert rows["FIND", 1]["behaviors"] == {"looks_up": True}
    assert rows["FIND", 1]["messages"] == said
    assert rows["FIND", 1]["output"] == "It is here."
    assert rows["SECRET", 1]["violations"] == []
    said[1]["content"] = "It is on loan to Ann, but"
    assert of_rows(here, {"id": "SECRET", "messages": said})["SECRET", 1]["violations"] == ["tells_secrets"]


def test_an_answer_to_another_input_is_undecided(here):
    rows = of_rows(here, {"id": "HOURS", "input": "When on Sunday?", "output": "10 am"})
    assert rows["HOURS", 1]["unjudged"] == "check: the recorded answer is to another question"
    assert of_rows(here, {"id": "HOURS", "input": " When?\n", "output": "10 am"})["HOURS", 1]["correct"] is True


def test_an_answer_that_was_cut_is_undecided(here):
    row = {"id": "HOURS", "output": "10 am", "left_out": {"output": 5}, "tool_calls": ["{"]}
    assert of_rows(here, row)["HOURS", 1]["unjudged"].startswith("check: only a part ")


@pytest.mark.parametrize("column", [{"tool_calls": [{"arguments": 1}]}, {"tool_calls": "x"}, {"messages": ["x"]}])
def test_calls_and_messages_in_another_form_are_refused(here, column):
    said = refused_rows(here, {"id": "HOURS", "output": "x", **column}, code="row.wrong-type")
    assert f"HOURS, trial 1: {next(iter(column))}" in said


def test_a_latency_that_was_not_recorded_is_undecided(here):
    write_suite(here, HOURS={"answer": {"latency_ms": 100}})
    assert "latency_ms is not known" in of_rows(here, {"id": "HOURS", "output": "x"})["HOURS", 1]["unjudged"]
    assert of_rows(here, {"id": "HOURS", "output": "x", "latency_ms": 99.5})["HOURS", 1]["correct"] is True


TURNS = {"input": None, "turns": ["Hi", "Who?"]}


def test_turns_are_read_from_messages(here):
    write_suite(here, SECRET=TURNS | {"answer": {"contains": "hello", "reply": 1}})
    said = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello. It is on loan to Ann."},
        {"role": "user", "content": "Who?"},
        {"role": "assistant", "content": "No."},
    ]
    row = of_rows(here, {"id": "SECRET", "messages": said, "tokens_used": 5})["SECRET", 1]
    assert (row["violations"], row["correct"], row["output"], row["tokens_used"]) == (["tells_secrets"], True, "No.", 5)


def test_what_must_not_happen_is_undecided_if_only_the_last_reply_was_recorded(here):
    write_suite(here, SECRET=TURNS | {"answer": {"contains": "no"}})
    row = of_rows(here, {"id": "SECRET", "output": "No."})["SECRET", 1]
    assert row["unjudged"] == "check: tells_secrets: only the last reply was recorded"
    assert row["correct"] is True
    assert "violations" not in row
    found = of_rows(here, {"id": "SECRET", "output": "on loan to Ann"})["SECRET", 1]
    assert found["violations"] == ["tells_secrets"]
    write_suite(here, SECRET=TURNS | {"must_not": None, "answer": {"contains": "no", "reply": "any"}})
    assert "only the last" in of_rows(here, {"id": "SECRET", "output": "No."})["SECRET", 1]["unjudged"]


@pytest.mark.process
def test_functions_of_checks_get_nothing_for_what_was_not_recorded(here):
    (here / "calls.py").write_text("def none(answer):\n    return len(answer['tool_calls']) == 0\n")
    write_suite(here, HOURS={"answer": {"python": "calls:none"}})
    assert "TypeError" in of_rows(here, {"id": "HOURS", "output": "x"})["HOURS", 1]["unjudged"]
    assert of_rows(here, {"id": "HOURS", "output": "x", "tool_calls": []})["HOURS", 1]["correct"] is True


def test_tables_and_arrays_are_read_as_check_reads_them(here):
    row = {"id": "FIND", "trial": 1, "output": "x", "tool_calls": '[{"name": "search"}]', "tags": '{"model": "m"}'}
    with (here / "rows.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(row))
        writer.writeheader()
        writer.writerow(row)
    (here / "rows.json").write_text(json.dumps([row | {"tags": {"model": "m"}}]))
    for name in ("rows.csv", "rows.json"):
        found = graded(here, name, "--suite", "suite.json")["FIND", 1]
        assert (found["behaviors"], found["tags"]) == ({"looks_up": True}, {"model": "m"})


def test_rows_that_no_reader_takes_are_refused_with_their_line(here):
    (here / "rows.jsonl").write_text('{"id": "HOURS", "output": "x"}\n{"id": "FIND", "output": 7}\n')
    said = refused(here, "rows.jsonl", "--suite", "suite.json", code="row.wrong-type")
    assert "rows.jsonl:2: output: found 7" in said
    (here / "rows.jsonl").write_text('{"id": "HOURS", "output": "x"\n')
    assert "rows.jsonl:1" in refused(here, "rows.jsonl", "--suite", "suite.json", code="file.not-json")


def test_rows_do_not_name_their_suite(here):
    write_rows(here, {"id": "HOURS", "output": "x"})
    assert "--suite FILE" in refused(here, "rows.jsonl", code="option.missing")
