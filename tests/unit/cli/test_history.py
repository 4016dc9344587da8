from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

import highbar
from highbar import history
from highbar.store import history as store
from tests import recorded_runs
from tests.commandline import run
from tests.repository import git

POLICY = "thresholds: {blocking: {pass_rate: 80%}}\n"
SHA = "a" * 40
pytestmark = pytest.mark.process  # git is asked which commit it is


def rows(failed=0, number=10, **more):
    return [
        {"id": f"A-{n}", "passed": n >= failed, "input": f"question {n}", "trial": 1, **more} for n in range(number)
    ]


def write_rows(path, found):
    path.write_text("".join(json.dumps(row) + "\n" for row in found))


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    write_rows(tmp_path / "results.jsonl", rows(1))
    (tmp_path / "highbar.yaml").write_text(POLICY)
    return tmp_path


def only(folder):
    (found,) = history.read_history(folder / "history").runs
    return found


# --- check --history -------------------------------------------------------------------------


def test_a_check_adds_its_run(project):
    done = run(project, "check", "results.jsonl", "--history", "history", environment={"GITHUB_SHA": SHA})
    assert done.exit == 0
    assert "added to the history: history/" in done.err
    found = only(project)
    assert (found.verdict, found.commit, found.listed, found.time_of) == ("pass", SHA, 10, "added")
    assert found.metrics["pass_rate"].value == 0.9
    (rule,) = found.rules
    assert (rule.level, rule.operator, rule.bound, rule.outcome) == ("blocking", ">=", 0.8, "pass")


def test_a_check_with_a_history_prints_what_one_without_prints(project):
    plain = run(project, "check", "results.jsonl", "--format", "json")
    added = run(project, "check", "results.jsonl", "--format", "json", "--history", "history")
    assert (added.stdout, added.exit) == (plain.stdout, plain.exit)
    stored = store.read(next((project / "history").iterdir()))
    assert stored.document == plain.out


def test_a_failed_run_is_remembered_too(project):
    write_rows(project / "results.jsonl", rows(5))
    assert run(project, "check", "results.jsonl", "--history", "history").exit == 1
    assert only(project).verdict == "fail"


def test_a_history_that_cannot_be_written_is_exit_4_and_the_verdict_stays(project):
    (project / "history").write_text("a file")
    done = run(project, "check", "results.jsonl", "--history", "history", "--output", "verdict.json")
    assert done.exit == 4
    assert "could not be written" in done.err
    assert done.out.startswith("PASS")
    assert highbar.read_verdict(project / "verdict.json").passed


def test_without_a_policy_nothing_is_added(project):
    (project / "highbar.yaml").unlink()
    done = run(project, "check", "results.jsonl", "--history", "history")
    assert done.exit == 2
    assert "nothing was added" in done.err
    assert not (project / "history").exists()


def test_results_that_are_refused_are_not_added(project):
    (project / "results.jsonl").write_text("{")
    assert run(project, "check", "results.jsonl", "--history", "history").exit == 2
    assert not (project / "history").exists()


def test_the_same_results_from_another_place_are_the_same_run(project):
    run(project, "check", "results.jsonl", "--history", "history", environment={"GITHUB_SHA": SHA})
    (project / "results.jsonl").rename(project / "other.jsonl")
    done = run(project, "check", "other.jsonl", "--history", "history", environment={"GITHUB_SHA": "b" * 40})
    assert f"already in the history: history/{only(project).record}.parquet, as a run of commit {SHA[:12]}" in done.err


def test_undecided_trials_are_counted_apart(project):
    write_rows(project / "results.jsonl", [*rows(1), {"id": "U", "unjudged": "the judge failed", "trial": 1}])
    run(project, "check", "results.jsonl", "--history", "history")
    found = {one.id: one for _, one in history.read_history(project / "history").counts()}
    assert (found["U"].passed, found["U"].failed, found["U"].undecided) == (0, 0, 1)
    assert (found["A-0"].passed, found["A-0"].failed) == (0, 1)


def test_cost_and_latency_are_stored_if_every_trial_has_them(project):
    found = [
        {"id": "A", "trial": trial, "passed": True, "latency_ms": 100 * trial, "cost_usd": 0.25} for trial in (1, 2)
    ]
    found += [{"id": "B", "trial": 1, "passed": True, "latency_ms": 7}, {"id": "B", "trial": 2, "passed": True}]
    write_rows(project / "results.jsonl", found)
    run(project, "check", "results.jsonl", "--history", "history")
    stored = {one.id: one for _, one in history.read_history(project / "history").counts()}
    assert (stored["A"].latency_ms, stored["A"].cost_usd) == (150, 0.5)
    assert (stored["B"].latency_ms, stored["B"].cost_usd) == (None, None)


def test_a_run_adds_itself(project):
    (project / "suite.yaml").write_text(SUITE)
    (project / "agent.py").write_text("def answer(question):\n    return 'hi and bye'\n")
    done = run(project, "run", "suite.yaml", "--output", "out", "--history", "history", "--quiet")
    assert done.exit == 0, done.err
    found = only(project)
    assert (found.time_of, found.listed, found.state) == ("run", 2, "complete")


def test_the_verdict_by_two_bars_is_remembered_with_the_rows_of_today(project):
    shutil.rmtree(project / ".git", ignore_errors=True)
    for words in (("init", "-q", "-b", "main"), ("add", "highbar.yaml"), ("commit", "-q", "-m", "bar")):
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        subprocess.run(["git", *identity, *words], cwd=project, check=True)
    (project / "highbar.yaml").write_text(POLICY.replace("80", "10"))
    write_rows(project / "results.jsonl", rows(5))
    done = run(project, "check", "results.jsonl", "--against-ref", "main", "--history", "history")
    assert done.exit == 1
    found = only(project)
    assert (found.verdict, found.listed, found.branch, found.changed) == ("fail", 10, "main", True)
    assert {rule.rule for rule in found.rules} == {
        "thresholds.blocking.pass_rate",
        "main:thresholds.blocking.pass_rate",
    }


def test_a_check_without_a_history_loads_nothing_for_it(project):
    program = (
        "import sys\nfrom highbar.cli import run_guarded\nrun_guarded(sys.argv[1:])\n"
        "print([name for name in sys.modules if 'history' in name or 'checkout' in name or 'run_records' in name])"
    )
    command = [sys.executable, "-c", program, "check", "results.jsonl", "--quiet"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


# --- what must be the same for runs to be comparable -----------------------------------------


def facts(project, found, policy=POLICY):
    """The digests of a run with these rows and this policy."""
    write_rows(project / "results.jsonl", found)
    (project / "highbar.yaml").write_text(policy)
    folder = project / f"history-{os.urandom(4).hex()}"
    done = run(project, "check", "results.jsonl", "--history", folder.name)
    assert "added" in done.err, done.err
    (only_run,) = history.read_history(folder).runs
    return only_run


def test_only_other_outcomes_change_nothing_that_runs_are_compared_by(project):
    first, second = facts(project, rows(1)), facts(project, rows(3, output="other"))
    assert first.record != second.record
    assert first.measured_with == second.measured_with
    assert None not in first.measured_with


@pytest.mark.parametrize(
    "other",
    [
        rows(1, 9),
        rows(1, category="adversarial"),
        rows(1, expected_behaviors=["greets"], behaviors=["greets"]),
        [{**row, "input": "another question"} for row in rows(1)],
    ],
)
def test_other_scenarios_are_another_suite(project, other):
    assert facts(project, rows(1)).suite != facts(project, other).suite


def test_another_judge_is_known(project):
    first, second = facts(project, rows(1, judge="a")), facts(project, rows(1, judge="b"))
    assert first.judge != second.judge
    assert (first.suite, first.judges) == (second.suite, ("a",))


def test_another_pass_score_is_another_scoring_and_another_threshold_is_not(project):
    first = facts(project, rows(1))
    assert facts(project, rows(1), POLICY + "pass_score: 0.5\n").scoring != first.scoring
    assert facts(project, rows(1), POLICY.replace("80", "70")).scoring == first.scoring


def test_another_formula_is_another_definition_of_its_metric_alone(project):
    own = POLICY + "metrics: [{name: mine, formula:"
    first, second = (facts(project, rows(1), f"{own} {text}}}]\n") for text in ("pass_rate * 1.0", "pass_rate * 0.5"))
    assert first.metrics["mine"].definition != second.metrics["mine"].definition
    assert first.metrics["pass_rate"].definition == second.metrics["pass_rate"].definition
    assert first.scoring == second.scoring


def test_a_text_is_known_again_whatever_the_order_of_its_demands(project):
    demand = {"expected_behaviors": ["a", "b"], "behaviors": ["a", "b"]}
    turned = {"expected_behaviors": ["b", "a"], "behaviors": ["a"]}
    facts(project, rows(1, **demand))
    assert facts(project, rows(1, **demand)).suite == facts(project, rows(1, **turned)).suite


def test_without_an_input_the_text_is_not_known(project):
    plain = [{"id": "A", "passed": True}]
    write_rows(project / "results.jsonl", plain)
    run(project, "check", "results.jsonl", "--history", "history")
    ((_, one),) = history.read_history(project / "history").counts()
    assert one.digest is None


# --- add -------------------------------------------------------------------------------------


SUITE = """
agent: {python: agent:answer}
scenarios:
  - {id: A, input: hello, expected_behaviors: {greets: {contains: hi}}}
  - {id: B, input: bye, expected_behaviors: {ends: {contains: bye}}}
"""


def test_a_run_folder_is_added_with_its_own_time_texts_and_agent(project):
    (project / "suite.yaml").write_text(SUITE)
    recorded_runs.record(project / "run", project / "suite.yaml", lambda _id, _trial: "hi and bye")
    done = run(project, "history", "add", "run", environment={"GITHUB_SHA": SHA, "GITHUB_HEAD_REF": "topic"})
    assert (done.exit, done.err) == (0, "")
    found = only(project)
    assert (found.time, found.time_of, found.state) == ("2026-11-16T14:25:30Z", "run", "complete")
    assert (found.commit, found.branch, found.agent_version) == (SHA, "topic", "1.0")
    assert found.agent is not None
    digests = {one.id: one.digest for _, one in history.read_history(project / "history").counts()}
    from highbar.suite import read

    assert digests == {id_: one.digest for id_, one in read(project / "suite.yaml").scenarios.items()}


def test_a_commit_that_was_made_after_the_run_is_not_its_commit_and_that_is_said(project, monkeypatch):
    (project / "suite.yaml").write_text(SUITE)
    recorded_runs.record(project / "run", project / "suite.yaml", lambda _id, _trial: "hi and bye")
    git(project, "init", "--quiet")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-11-17T00:00:00Z")
    git(project, "commit", "--quiet", "--allow-empty", "-m", "later")
    head = git(project, "rev-parse", "HEAD").strip()
    done = run(project, "history", "add", "run", environment={"GITHUB_SHA": "", "CI_COMMIT_SHA": ""})
    assert (done.exit, only(project).commit) == (0, None)
    assert f"the commit of the run is not known: {head[:12]}, which is checked out" in done.err
    assert "--commit SHA" in done.err


def test_a_filtered_run_is_added_only_if_that_is_accepted(project):
    (project / "suite.yaml").write_text(SUITE)
    recorded_runs.record(project / "run", project / "suite.yaml", lambda _id, _trial: "hi", only=["A"])
    assert run(project, "history", "add", "run").exit == 2
    assert run(project, "history", "add", "run", "--subset").exit == 0
    assert only(project).listed == 1


def test_a_verdict_is_added_without_counts_that_nobody_knows(project):
    run(project, "check", "results.jsonl", "--output", "verdict.json")
    done = run(project, "history", "add", "verdict.json", "--time", "2026-11-15")
    assert done.exit == 0
    assert "only the verdict is stored" in done.err
    found = only(project)
    assert (found.listed, found.time, found.time_of) == (None, "2026-11-15T00:00:00Z", "given")
    assert found.measured_with == (None, None, None)
    assert history.read_history(project / "history").scenarios().scenarios == ()
    stored = store.read(next((project / "history").iterdir()))
    assert stored.verdict == highbar.read_verdict(project / "verdict.json")


def test_a_verdict_and_its_results_are_one_run(project):
    run(project, "check", "results.jsonl", "--output", "verdict.json")
    run(project, "history", "add", "verdict.json")
    run(project, "history", "add", "results.jsonl")
    assert only(project).listed == 10


def test_a_document_without_a_verdict_is_refused(project):
    (project / "highbar.yaml").unlink()
    run(project, "check", "results.jsonl", "--output", "verdict.json")
    done = run(project, "history", "add", "verdict.json")
    assert done.exit == 2
    assert "nothing was judged" in done.err
    done = run(project, "history", "add", "results.jsonl")
    assert done.exit == 2


def test_one_run_that_cannot_be_read_does_not_keep_the_others_out(project):
    (project / "bad.jsonl").write_text("{")
    done = run(project, "history", "add", "bad.jsonl", "results.jsonl")
    assert done.exit == 2
    assert "bad.jsonl" in done.err
    assert only(project).listed == 10


@pytest.mark.parametrize(
    "option",
    [
        ("--time", "soon"),
        ("--time", "0999-01-01"),
        ("--time", "1969-12-31"),
        ("--time", "2999-01-01"),
        ("--commit", "main"),
        ("--branch", " "),
    ],
)
def test_what_cannot_be_meant_is_refused(project, option):
    done = run(project, "history", "add", "results.jsonl", *option)
    assert done.exit == 2
    assert option[0] in done.err
    assert not (project / "history").exists()


def test_a_history_that_cannot_be_written_is_exit_4_for_add_too(project):
    (project / "history").write_text("a file")
    assert run(project, "history", "add", "results.jsonl").exit == 4


# --- show ----------------------------------------------------------------------------------


def test_one_run_is_shown_with_where_it_comes_from_and_its_verdict(project):
    run(project, "check", "results.jsonl", "--history", "history", environment={"GITHUB_SHA": SHA})
    done = run(project, "history", "show", only(project).record[:6])
    assert done.exit == 0
    assert f"commit   {SHA}" in done.out
    assert "PASS" in done.out
    assert run(project, "history", "show", SHA[:8]).out == done.out
    found = run(project, "history", "show", SHA[:8], "--format", "json").json
    assert found["verdict"]["verdict"] == "pass"
    assert len(found["scenarios"]) == 10
    assert run(project, "history", "show", "ffff").exit == 2
