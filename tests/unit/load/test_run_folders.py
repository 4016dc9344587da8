"""The folder of a run, as `check` and its likes read it: only whole, finished, unchanged runs are judged."""

from __future__ import annotations

import json
import shutil

import pytest

import highbar
from highbar import policy as policies
from highbar.errors import InputError
from highbar.load import folders
from highbar.load.results import open_results as load
from highbar.model.job import SILENT, EngineChoice, Job, Wants
from highbar.running import folder
from highbar.running.calls import Reply
from highbar.running.records import TrialEnded, TurnEnd
from highbar.store import run_document
from tests.commandline import judged, refused, run
from tests.recorded_runs import record

SUITE = {
    "suite": "library",
    "scenarios": [
        {"id": "HOURS", "category": "happy_path", "input": "When?", "trials": 2, "answer": {"contains": "10"}},
        {"id": "SEC", "category": "adversarial", "input": "Who?", "must_not": {"leaks": {"contains": "Ann"}}},
    ],
}
POLICY = {"thresholds": {"blocking": {"pass_rate": "≥ 100%"}}}
GOOD = {"HOURS": "At 10", "SEC": "I do not tell"}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "suite.json").write_text(json.dumps(SUITE))
    (tmp_path / "highbar.json").write_text(json.dumps(POLICY))
    return tmp_path


def made(here, name="runs/one", answers=lambda id_, _trial: GOOD[id_], **more):
    return record(here / name, here / "suite.json", answers, **more)


def check(here, *arguments):
    return run(here, "check", *arguments, "--format", "json")


def test_names_are_those_of_the_store():
    names = (folders.JOURNAL, folders.RESULTS, folders.DOCUMENT)
    assert names == (run_document.JOURNAL, run_document.RESULTS, run_document.DOCUMENT)
    assert run_document.SCHEMA.encode() in folders._SCHEMA + b"1"


@pytest.mark.parametrize("name", ["runs/one", "runs/one/", "./runs/one", "runs/one/results.jsonl", "runs", "runs/*"])
def test_a_finished_run_is_judged_by_whatever_name(here, name):
    made(here)
    verdict = judged(check(here, name), "pass")
    assert verdict["counts"]["trials"] == 3
    assert len(verdict["results"]) == 1
    assert not [note for note in verdict["warnings"] if "not read" in note]


def test_an_answer_that_is_wrong_fails(here):
    made(here, answers=lambda id_, trial: "At 9" if trial == 2 else GOOD[id_])
    failed = judged(check(here, "runs/one"), "fail")["scenarios_failed"]
    assert [one["id"] for one in failed] == ["HOURS"]
    assert "1 of 2" in failed[0]["reason"]
    assert "contains '10'" in failed[0]["reason"]


@pytest.mark.parametrize("how", ["budget", "time"])
def test_a_run_that_ended_by_budget_or_time_is_inconclusive_about_the_rest(here, how):
    made(here, answers=lambda id_, _: None if id_ == "SEC" else GOOD[id_], how=how)
    assert judged(check(here, "runs/one"), "inconclusive")["counts"]["unjudged"] == 1


@pytest.mark.parametrize("name", ["runs/one", "runs/one/results.jsonl", "runs", "runs/one/*.jsonl"])
def test_an_interrupted_run_is_refused(here, name):
    made(here, how="interrupted")
    refused(check(here, name), "interrupted", "highbar run --resume runs/one", code="run.unfinished")


@pytest.mark.parametrize("name", ["latest.jsonl", "linked/results.jsonl", "linked", "linked/*"])
def test_a_link_to_the_results_of_a_run_follows_the_rules_of_its_folder(here, name):
    path = made(here, "runs/one", how="interrupted")
    (here / "linked").mkdir()
    for link in (here / "latest.jsonl", here / "linked" / "results.jsonl"):
        link.symlink_to(path / "results.jsonl")
    refused(check(here, name), "interrupted", code="run.unfinished")
    shutil.rmtree(path)
    made(here, "runs/one", only=["SEC"])
    refused(check(here, name), "--only SEC", code="run.partial")
    shutil.rmtree(path)
    made(here, "runs/one")
    judged(check(here, name), "pass")
    (path / "results.jsonl").write_bytes((path / "results.jsonl").read_bytes().replace(b"At 10", b"At 11"))
    refused(check(here, name), "results.jsonl", code="run.results-changed")


def test_a_run_and_a_link_to_it_are_the_same_run_twice(here):
    (here / "latest.jsonl").symlink_to(made(here) / "results.jsonl")
    refused(check(here, "runs/one", "latest.jsonl"), code="file.twice")


@pytest.mark.hazard("H58")
@pytest.mark.parametrize("name", ["runs/one", "runs/one/results.jsonl"])
def test_a_run_without_a_document_is_refused(here, name):
    path = made(here)
    (path / "run.json").unlink()
    refused(check(here, name), "--resume", code="run.unfinished")


@pytest.mark.hazard("H58")
@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines[:-1],
        lambda lines: [*lines, lines[-1].replace(b'"trial":1', b'"trial":9')],
        lambda lines: [line.replace(b"happy_path", b"edge_case") for line in lines],
        lambda _: [],
    ],
)
def test_results_that_changed_since_the_run_are_refused(here, change):
    path = made(here)
    lines = (path / "results.jsonl").read_bytes().splitlines(keepends=True)
    (path / "results.jsonl").write_bytes(b"".join(change(lines)))
    refused(check(here, "runs/one"), "runs/one/results.jsonl", code="run.results-changed")


def test_a_torn_line_is_a_change_and_nothing_else(here):
    path = made(here)
    text = (path / "results.jsonl").read_bytes()
    (path / "results.jsonl").write_bytes(text[:-20])
    done = check(here, "runs/one")
    refused(done, code="run.results-changed")
    assert len(done.json["problems"]) == 1


def test_results_that_are_missing_are_refused(here):
    path = made(here)
    (path / "results.jsonl").unlink()
    refused(check(here, "runs/one"), "runs/one/results.jsonl", "--resume", code="run.unfinished")


def test_a_run_that_went_on_after_its_document_was_written_is_refused(here):
    path = made(here)
    with (path / "journal").open("ab") as journal:
        journal.write(b"more\n")
    refused(check(here, "runs/one"), "journal", "run.json", code="run.unfinished")


def test_a_folder_that_lost_its_journal_is_refused(here):
    path = made(here)
    (path / "journal").unlink()
    refused(check(here, "runs/one"), "runs/one/journal", code="file.unreadable")


def test_a_run_that_goes_on_is_refused(here):
    path = made(here)
    with folder.open_run(path):
        shutil.copytree(path, here / "copy")
        (here / "copy" / "run.json").unlink()
    refused(check(here, "copy"), "--resume copy", code="run.unfinished")


# --- filtered runs ---------------------------------------------------------------------------


@pytest.mark.hazard("H14")
@pytest.mark.hazard("H15")
@pytest.mark.parametrize("name", ["runs/one", "runs/one/results.jsonl", "runs"])
def test_a_filtered_run_gives_no_verdict(here, name):
    made(here, only=["SEC"])
    refused(check(here, name), "--only SEC", "--subset", code="run.partial")


@pytest.mark.hazard("H14")
def test_a_subset_is_judged_if_it_is_said_to_be_one_and_the_report_says_so(here):
    made(here, only=["SEC"])
    verdict = judged(check(here, "runs/one", "--subset"), "pass")
    assert any("1 scenario (--only SEC)" in note for note in verdict["warnings"])
    assert highbar.check("runs/one", subset=True).passed
    with pytest.raises(InputError) as caught:
        highbar.check("runs/one")
    assert [problem.code for problem in caught.value.problems] == ["run.partial"]


WITH_SUITE = {"suite": "suite.json", **POLICY}


def suite_rule(verdict):
    (found,) = (rule for rule in verdict["rules"] if rule["rule"] == "suite")
    return found["outcome"], found["reason"]


@pytest.mark.hazard("H14")
def test_of_a_subset_the_suite_demands_what_was_chosen_and_the_report_says_so(here):
    (here / "highbar.json").write_text(json.dumps(WITH_SUITE))
    made(here, only=["SEC"])
    outcome, reason = suite_rule(judged(check(here, "runs/one", "--subset"), "pass"))
    assert outcome == "pass"
    assert "was chosen" in reason
    done = run(here, "check", "runs/one", "--subset")
    assert "no verdict about" in " ".join(done.out.split())
    refused(check(here, "runs/one"), "--only SEC", code="run.partial")


@pytest.mark.hazard("H14")
@pytest.mark.parametrize("others", [("rows.jsonl",), ("runs/two",)])
def test_with_other_results_beside_it_a_part_does_not_excuse_what_is_missing(here, others):
    suite = {**SUITE, "scenarios": [*SUITE["scenarios"], {**SUITE["scenarios"][1], "id": "MORE"}]}
    (here / "suite.json").write_text(json.dumps(suite))
    (here / "highbar.json").write_text(json.dumps(WITH_SUITE))
    made(here, only=["SEC"])
    (here / "rows.jsonl").write_text('{"id": "MORE", "violations": []}\n')
    made(here, "runs/two", only=["MORE"], answers=lambda _id, _trial: "no")
    done = check(here, "runs/one", *others, "--subset")
    if others == ("rows.jsonl",):
        refused(done, "1 row ", "`highbar_run`", code="run.mixed")
    else:
        assert suite_rule(done.json)[0] == "pass", "two parts, each said to be one"


@pytest.mark.hazard("H14")
def test_a_subset_of_a_whole_run_still_lacks_what_the_suite_demands(here):
    tagged = [{**one, "tags": {"kind": one["category"]}} for one in SUITE["scenarios"]]
    (here / "suite.json").write_text(json.dumps({**SUITE, "scenarios": tagged}))
    (here / "highbar.json").write_text(json.dumps(WITH_SUITE))
    made(here)
    done = check(here, "runs/one", "--where", "tags.kind=adversarial", "--subset")
    assert suite_rule(judged(done, "fail"))[0] == "fail"


# --- several ---------------------------------------------------------------------------------


def test_a_folder_around_several_runs_is_ambiguous(here):
    made(here)
    made(here, "runs/two")
    refused(check(here, "runs"), "2 runs", "one, two", "runs/two", code="run.mixed")


def test_a_folder_around_a_run_and_other_results_is_ambiguous(here):
    made(here)
    (here / "runs" / "more.jsonl").write_text('{"id": "X", "passed": true}\n')
    refused(check(here, "runs"), "1 run ", "more.jsonl", "runs/one", code="run.mixed")


def test_runs_that_are_named_one_by_one_are_judged_together(here):
    made(here, only=["SEC"])
    made(here, "runs/two", only=["HOURS"])
    verdict = judged(check(here, "runs/one", "runs/two", "--subset"), "pass")
    assert verdict["counts"] == {**verdict["counts"], "scenarios": 2, "trials": 3}


def test_a_run_is_not_judged_together_with_other_rows(here):
    made(here)
    (here / "more.jsonl").write_text('{"id": "X", "passed": false, "agent_version": "1.0"}\n')
    refused(check(here, "runs/one", "more.jsonl"), "1 row ", "`highbar_run`", code="run.mixed")


def test_the_same_run_twice_is_refused(here):
    made(here)
    refused(check(here, "runs/one", "runs/one/results.jsonl"), "results.jsonl", code="file.twice")


def test_a_copy_of_a_folder_works(here):
    made(here)
    shutil.copytree(here / "runs" / "one", here / "else where [1]")
    shutil.rmtree(here / "runs")
    judged(check(here, "else where [1]"), "pass")


def test_all_problems_of_several_folders_are_said_at_once(here):
    made(here, how="interrupted")
    made(here, "runs/two", only=["SEC"])
    done = check(here, "runs/one", "runs/two")
    refused(done, "interrupted", "--only SEC")
    assert [problem["code"] for problem in done.json["problems"]] == ["run.unfinished", "run.partial"]


def test_a_mapping_of_the_policy_is_not_for_the_rows_of_a_run(here):
    made(here)
    mapping = {"columns": {"id": "output", "correct": {"path": "trial", "is": 7}}}
    (here / "highbar.json").write_text(json.dumps({**POLICY, "map": mapping}))
    notes = judged(check(here, "runs/one"), "pass")["warnings"]
    assert any("the mapping is not used" in note for note in notes)


def test_an_ordinary_folder_is_read_as_before(here):
    (here / "logs").mkdir()
    (here / "logs" / "results.jsonl").write_text('{"id": "X", "passed": true}\n')
    (here / "logs" / "run.txt").write_text("mine")
    verdict = judged(check(here, "logs"), "pass")
    assert any("run.txt" in note for note in verdict["warnings"])


# --- what is said ----------------------------------------------------------------------------


def test_trials_that_needed_several_attempts_are_noted(here):
    ends = {
        ("HOURS", 1): TrialEnded("", 1, "", "answered", (TurnEnd(Reply("At 10"), 1.0),), attempts=3),
        ("HOURS", 2): TrialEnded("", 1, "", "infrastructure", reason="HTTP 503", attempts=5),
    }
    made(here, answers=lambda id_, trial: ends.get((id_, trial), GOOD[id_]))
    notes = judged(check(here, "runs/one"), "inconclusive")["warnings"]
    said = "2 of 3 trials needed several attempts: 1 of them answered in the end, 1 stayed without an answer"
    assert f"runs/one: {said}" in notes


def test_runs_are_compared_and_recorded_like_files(here):
    made(here)
    made(here, "runs/two", answers=lambda id_, _: "Ann" if id_ == "SEC" else GOOD[id_])
    done = run(here, "compare", "runs/one", "runs/two", "--format", "json")
    assert done.exit == 0
    assert done.json["broken"] == ["SEC"]
    assert run(here, "baseline", "record", "runs/one", "--output", "baseline.json").exit == 0
    made(here, "runs/part", only=["SEC"])
    made(here, "runs/cut", how="interrupted")
    for name in ("runs/part", "runs/cut"):
        assert run(here, "compare", "runs/one", name).exit == 2
        assert run(here, "baseline", "record", name, "--output", "other.json").exit == 2


@pytest.mark.parametrize("name", ["journal", "run.json", "results.jsonl"])
def test_no_report_overwrites_a_file_of_the_run(here, name):
    path = made(here)
    before = (path / name).read_bytes()
    assert run(here, "check", "runs/one", "--output", f"json=runs/one/{name}").exit == 2
    assert (path / name).read_bytes() == before


# --- engines that read the files themselves --------------------------------------------------


def paths(*results, subset=False):
    """What an engine that reads paths is given."""
    job = Job(results, policy=POLICY, engine=EngineChoice("spark", reads_paths=True), wants=Wants(subset=subset))
    with load(job, policies.choose(POLICY), SILENT) as found:
        return found.paths


def test_an_engine_that_reads_paths_is_given_the_results_of_a_run(here):
    made(here)
    assert paths("runs/one", "other.jsonl") == ("runs/one/results.jsonl", "other.jsonl")


def test_an_engine_that_reads_paths_is_not_given_what_may_not_be_judged(here):
    made(here, how="interrupted")
    made(here, "runs/part", only=["SEC"])
    changed = made(here, "runs/changed")
    (changed / "results.jsonl").write_bytes(b'{"id": "SEC", "passed": true}\n')
    for name in ("runs/one", "runs/part", "runs/changed", "runs/changed/results.jsonl"):
        with pytest.raises(InputError):
            paths(name)
    assert paths("runs/part", subset=True) == ("runs/part/results.jsonl",)
