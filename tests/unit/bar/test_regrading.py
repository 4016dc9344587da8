"""A suite whose checks were lowered does not lower the bar: the answers are graded by the suite at the ref, too."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from highbar import pipeline
from highbar.bar import at_ref
from highbar.errors import InputError
from highbar.model.job import Job
from highbar.running.calls import Reply
from highbar.running.order import shard_of
from highbar.running.records import TrialEnded
from tests.commandline import judged, run
from tests.recorded_runs import record
from tests.repository import commit, put

pytestmark = pytest.mark.process

POLICY = {"thresholds": {"blocking": {"pass_rate": "≥ 100%"}}}
JOB = Job(("runs/one",))


def suite_of(check, *more, **others):
    one = {"id": "HOURS", "input": "When?", "expected_behaviors": {"gives_time": check}, **others}
    return {"suite": "library", "scenarios": [one, *more]}


STRICT = suite_of({"matches": r"\d+ am"})
LOOSE = suite_of({"matches": "[a-z]"})


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made(here, before, now, answer="no idea", **more):
    """A repository with `before` on main, and a run of the suite as it is `now`."""
    commit(here, {"highbar.json": POLICY, "evals/suite.json": before, ".gitignore": "runs\n"})
    put(here, {"evals/suite.json": now})
    answers = answer if callable(answer) else lambda _id, _trial: answer
    return record(here / "runs" / "one", here / "evals" / "suite.json", answers, **more)


def notes_about(verdict, text):
    return [note for note in verdict.warnings if text in note]


@pytest.mark.parametrize(
    "other", [{"input": "Hello"}, {"turns": ["When?", "Hello"]}, {"messages": [{"role": "user", "content": "When?!"}]}]
)
def test_an_answer_to_another_question_says_nothing_by_the_suite_at_the_ref(here, other):
    now = suite_of({"matches": r"\d+ am"}, **other)
    for key in ("input", "turns", "messages"):
        if key not in other:
            now["scenarios"][0].pop(key, None)
    made(here, STRICT, now, "10 am")
    assert pipeline.check(JOB).verdict == "pass"
    found = at_ref.check_against_ref(JOB, "main")
    assert (found.verdict, found.against.verdict) == ("inconclusive", "inconclusive")
    assert found.scenarios_undecided == ()  # by the suite as it is now, every question was answered
    assert notes_about(found, "graded by main:evals/suite.json too; changed since: HOURS")


def test_a_check_that_was_lowered_fails_by_the_suite_at_the_ref(here):
    made(here, STRICT, LOOSE)
    assert pipeline.check(JOB).verdict == "pass"
    found = at_ref.check_against_ref(JOB, "main")
    assert (found.verdict, found.against.verdict) == ("fail", "fail")
    assert [rule.outcome for rule in found.rules] == ["pass", "fail"]
    assert found.rules[1].rule.startswith("main:")
    assert notes_about(found, "graded by main:evals/suite.json too; changed since: HOURS")


def test_the_command_line_fails_by_the_suite_at_the_ref(here):
    made(here, STRICT, LOOSE)
    judged(run(here, "check", "runs/one", "--format", "json"), "pass")
    verdict = judged(run(here, "check", "runs/one", "--format", "json", "--against-ref", "main"), "fail")
    assert verdict["against"]["verdict"] == "fail"


def test_a_check_that_was_raised_decides_too(here):
    made(here, LOOSE, STRICT)
    found = at_ref.check_against_ref(JOB, "main")
    assert (found.verdict, found.against.verdict) == ("fail", "pass")


def test_a_suite_that_did_not_change_gives_the_same_verdict_and_no_note(here):
    made(here, STRICT, STRICT, "10 am")
    found = at_ref.check_against_ref(JOB, "main")
    assert (found.verdict, found.against.verdict, len(found.rules)) == ("pass", "pass", 1)
    assert found.warnings == pipeline.check(JOB).warnings


def test_a_glossary_that_was_lowered_is_a_lowered_check(here):
    scenarios = [{"id": "HOURS", "input": "When?", "expected_behaviors": ["gives_time"]}]
    before = {"behaviors": {"gives_time": {"contains": "10 am"}}, "scenarios": scenarios}
    made(here, before, {**before, "behaviors": {"gives_time": {"contains": "idea"}}})
    assert at_ref.check_against_ref(JOB, "main").verdict == "fail"


def test_a_must_not_that_was_removed_is_still_one(here):
    secret = {"must_not": {"leaks": {"contains": "idea"}}}
    made(here, suite_of({"contains": "no"}, **secret), suite_of({"contains": "no"}))
    found = at_ref.check_against_ref(JOB, "main")
    assert (pipeline.check(JOB).verdict, found.verdict) == ("pass", "fail")


def test_a_scenario_that_is_new_is_graded_by_the_suite_that_has_it(here):
    new = {"id": "NEW", "input": "?", "answer": {"contains": "idea"}}
    made(here, LOOSE, suite_of({"matches": "[a-z]"}, new))
    found = at_ref.check_against_ref(JOB, "main")
    assert (found.verdict, found.against.verdict, found.counts.scenarios) == ("pass", "pass", 2)
    assert notes_about(found, "not in main:evals/suite.json, so judged by this change alone: NEW")


def test_new_scenarios_do_not_raise_a_rate_at_the_ref(here):
    new = [{"id": f"NEW-{n}", "input": "?", "answer": {"contains": "idea"}} for n in range(100)]
    half = {"id": "HALF", "input": "?", "answer": {"contains": "yes"}}
    rate = {"thresholds": {"blocking": {"pass_rate": "≥ 90%"}}}
    commit(here, {"highbar.json": rate, "evals/suite.json": suite_of({"contains": "no"}, half), ".gitignore": "runs\n"})
    put(here, {"evals/suite.json": suite_of({"contains": "no"}, half, *new)})
    record(here / "runs" / "one", here / "evals" / "suite.json", lambda _id, _trial: "no idea")
    found = at_ref.check_against_ref(JOB, "main")
    assert (pipeline.check(JOB).verdict, found.verdict, found.against.verdict) == ("pass", "fail", "fail")
    assert found.rules[1].value.scenarios == 2


def test_a_suite_that_is_new_is_a_doubt(here):
    commit(here, {"highbar.json": POLICY})
    put(here, {"evals/suite.json": LOOSE})
    record(here / "runs" / "one", here / "evals" / "suite.json", lambda _id, _trial: "x")
    found = at_ref.check_against_ref(JOB, "main")
    assert (found.verdict, found.against.verdict) == ("inconclusive", "inconclusive")
    assert "main has no evals/suite.json, by which the run was graded" in found.rules[-1].reason


def test_moving_the_suite_does_not_help_if_the_policy_names_it(here):
    policy = {**POLICY, "suite": "evals/suite.json"}
    commit(here, {"highbar.json": policy, "evals/suite.json": STRICT})
    put(here, {"highbar.json": {**POLICY, "suite": "other.json"}, "evals/suite.json": None, "other.json": LOOSE})
    record(here / "runs" / "one", here / "other.json", lambda _id, _trial: "no idea")
    assert pipeline.check(JOB).verdict == "pass"
    assert at_ref.check_against_ref(JOB, "main").verdict == "fail"


def test_a_suite_outside_of_the_repository_is_a_doubt(here, tmp_path_factory):
    commit(here, {"highbar.json": POLICY})
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    put(elsewhere, {"only-there.json": LOOSE})
    record(here / "runs" / "one", elsewhere / "only-there.json", lambda _id, _trial: "x")
    found = at_ref.check_against_ref(JOB, "main")
    assert found.verdict == "inconclusive"
    assert "is outside of it" in found.rules[-1].reason


def test_a_run_of_another_checkout_finds_its_suite_here(here, tmp_path_factory, monkeypatch):
    commit(here, {"highbar.json": POLICY, "evals/suite.json": STRICT})
    other = tmp_path_factory.mktemp("checkout")
    put(other, {"evals/suite.json": LOOSE})
    path = other / "evals" / "suite.json"
    # A run of this place in the repository; without it the path says nothing here, even if its tail would fit.
    record(other / "runs" / "one", path, lambda _id, _trial: "10 am")
    shutil.copytree(other / "runs", here / "runs")
    assert at_ref.check_against_ref(JOB, "main").verdict == "inconclusive"
    shutil.rmtree(here / "runs")
    shutil.rmtree(other / "runs")
    record(other / "runs" / "one", path, lambda _id, _trial: "no idea", in_repository="evals/suite.json")
    shutil.copytree(other / "runs", here / "runs")
    shutil.rmtree(other)
    found = at_ref.check_against_ref(JOB, "main")
    assert (pipeline.check(JOB).verdict, found.verdict) == ("pass", "fail")


def test_a_suite_that_only_listed_ids_at_the_ref_has_no_checks_there(here):
    made(here, ["HOURS"], LOOSE)
    found = at_ref.check_against_ref(JOB, "main")
    assert found.verdict == "inconclusive"
    assert "main:evals/suite.json only lists scenarios" in found.rules[-1].reason


def test_a_suite_that_cannot_be_read_as_it_was_is_refused_by_its_name(here):
    made(here, {"scenarios": [{"id": "HOURS", "input": "?", "answer": {"contians": "x"}}]}, LOOSE)
    with pytest.raises(InputError) as refused:
        at_ref.check_against_ref(JOB, "main")
    (problem,) = refused.value.problems
    assert problem.file == "main:evals/suite.json"
    assert problem.message.startswith("as it was at main: ")


def test_trials_and_scenarios_that_were_left_out_are_undecided(here):
    gone = {"id": "GONE", "input": "?", "answer": "x"}
    made(here, suite_of({"contains": "no"}, gone, trials=3), suite_of({"contains": "no"}))
    found = at_ref.check_against_ref(JOB, "main")
    assert (pipeline.check(JOB).verdict, found.verdict, found.against.verdict) == ("pass", *["inconclusive"] * 2)
    assert (found.rules[1].undecided, found.rules[1].value.scenarios) == ((("GONE", 1), ("HOURS", 2), ("HOURS", 3)), 2)


# --- trials without an answer ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("ended", "verdict"),
    [
        (None, "inconclusive"),
        (TrialEnded("", 1, "", "infrastructure", reason="HTTP 503"), "inconclusive"),
        (TrialEnded("", 1, "", "error", reason="timeout"), "fail"),
    ],
)
def test_trials_without_an_answer_have_none_at_the_ref_either(here, ended, verdict):
    made(here, STRICT, LOOSE, lambda _id, _trial: ended, how="time")
    found = at_ref.check_against_ref(JOB, "main")
    assert (found.verdict, found.against.verdict) == (verdict, verdict)


def test_two_runs_are_judged_by_both_bars(here):
    made(here, STRICT, LOOSE, "10 am")
    put(here, {"evals/second.json": {"scenarios": [{"id": "S2", "input": "?", "answer": {"contains": "x"}}]}})
    commit(here, {})
    put(here, {"evals/second.json": {"scenarios": [{"id": "S2", "input": "?", "answer": {"contains": "y"}}]}})
    record(here / "runs" / "two", here / "evals" / "second.json", lambda _id, _trial: "y")
    found = at_ref.check_against_ref(Job(("runs/one", "runs/two")), "main")
    assert (found.counts.scenarios, found.verdict, found.against.verdict) == (2, "fail", "fail")


def test_an_interrupted_run_is_refused_before_it_is_graded(here):
    made(here, STRICT, LOOSE, how="interrupted")
    with pytest.raises(InputError, match="interrupted") as caught:
        at_ref.check_against_ref(JOB, "main")
    assert [(problem.code, problem.file) for problem in caught.value.problems] == [("run.unfinished", "runs/one")]


def test_results_that_changed_are_refused_here_too(here):
    path = made(here, STRICT, LOOSE)
    (path / "results.jsonl").write_text('{"id": "HOURS", "trial": 1, "passed": true}\n')
    with pytest.raises(InputError) as caught:
        at_ref.check_against_ref(JOB, "main")
    found = [(problem.code, problem.file) for problem in caught.value.problems]
    assert found == [("run.results-changed", "runs/one/results.jsonl")]


def test_what_the_run_says_of_itself_stays(here):
    made(here, {**STRICT, "suite": "old"}, LOOSE, Reply("10 am", agent_version="2.1"))
    found = at_ref.check_against_ref(JOB, "main")
    assert (found.agent_version, found.verdict) == ("2.1", "pass")


# --- files that checks name ------------------------------------------------------------------


def test_a_schema_is_the_one_of_the_ref(here):
    suite = suite_of({"is_json": "schemas/time.json"})
    wide, narrow = {"type": "object"}, {"type": "object", "required": ["hour"]}
    commit(here, {"highbar.json": POLICY, "evals/suite.json": suite, "evals/schemas/time.json": narrow})
    put(here, {"evals/schemas/time.json": wide})
    record(here / "runs" / "one", here / "evals" / "suite.json", lambda _id, _trial: "{}")
    assert pipeline.check(JOB).verdict == "pass"
    assert at_ref.check_against_ref(JOB, "main").verdict == "fail"


def test_a_function_of_a_check_is_the_one_of_the_ref(here):
    suite = suite_of({"python": "quality:gives_time"})
    strict = "import words\ndef gives_time(answer):\n    return words.WANTED in answer['output']\n"
    commit(
        here,
        {
            "highbar.json": POLICY,
            "suite.json": suite,
            "quality.py": strict,
            "words.py": "WANTED = 'am'\n",
            "deep/er/data.txt": "x",
        },
    )
    put(here, {"quality.py": "def gives_time(answer):\n    return True\n"})
    record(here / "runs" / "one", here / "suite.json", lambda _id, _trial: "no idea", functions=True)
    assert json.loads(Path("runs/one/results.jsonl").read_text())["behaviors"] == {"gives_time": True}
    assert pipeline.check(JOB).verdict == "pass"
    assert at_ref.check_against_ref(JOB, "main").verdict == "fail"


def test_a_function_that_the_ref_did_not_have_leaves_the_answers_undecided(here):
    suite = suite_of({"python": "quality_of_then:gives_time"})
    commit(here, {"highbar.json": POLICY, "suite.json": suite})
    put(here, {"quality_of_then.py": "def gives_time(answer):\n    return True\n"})
    record(here / "runs" / "one", here / "suite.json", lambda _id, _trial: "no idea", functions=True)
    assert pipeline.check(JOB).verdict == "pass"
    assert at_ref.check_against_ref(JOB, "main").verdict == "inconclusive"


def test_a_shard_does_not_lack_what_the_other_shards_have(here):
    ids = {number: next(f"S{n}" for n in range(9) if shard_of(f"S{n}", 2) == number) for number in (1, 2)}
    suite = {"scenarios": [{"id": id_, "input": "?", "answer": {"contains": "yes"}} for id_ in ids.values()]}
    commit(here, {"highbar.json": POLICY, "evals/suite.json": suite, ".gitignore": "runs\n"})
    for number, id_ in ids.items():
        path = here / "runs" / str(number)
        record(path, here / "evals" / "suite.json", lambda *_: "yes", only=[id_], shard=(number, 2))
    found = at_ref.check_against_ref(Job(("runs/1", "runs/2")), "main")
    assert (found.verdict, found.against.verdict, found.against.weakened) == ("pass", "pass", ())


def test_a_doubt_is_no_pass_at_the_ref(here, monkeypatch):
    made(here, STRICT, STRICT, "10 am")
    doubt = at_ref.regrading.Regraded(doubts=("nobody knows.",))
    monkeypatch.setattr(at_ref.regrading, "regrade", lambda *_: doubt)
    found = at_ref.check_against_ref(JOB, "main")
    assert (found.verdict, found.against.verdict) == ("inconclusive", "inconclusive")
    assert (found.rules[-1].rule, found.rules[-1].reason) == ("main:against_ref", "nobody knows.")
