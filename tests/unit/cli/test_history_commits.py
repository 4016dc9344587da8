"""Which commit a run of the history is of: the one that was checked out when it began."""

from __future__ import annotations

import json

import pytest

from highbar import history
from highbar.load.checkout import Checkout
from tests import recorded_runs
from tests.commandline import run
from tests.repository import commit, git

POLICY = "thresholds: {blocking: {pass_rate: 50%}}\n"
SUITE = """
agent: {python: agent:answer}
scenarios:
  - {id: A, input: hello, expected_behaviors: {greets: {contains: hi}}}
  - {id: B, input: bye, expected_behaviors: {ends: {contains: bye}}}
"""
FILES = {
    "highbar.yaml": POLICY,
    "suite.yaml": SUITE,
    "agent.py": "def answer(question):\n    return 'hi and bye'\n",
    ".gitignore": "out*\nhistory\n__pycache__\n",
}
OTHER = "b" * 40
pytestmark = pytest.mark.process  # git is asked which commit it is


@pytest.fixture
def project(tmp_path):
    commit(tmp_path, FILES)
    return tmp_path


def only(folder):
    (found,) = history.read_history(folder / "history").runs
    return found


def document(folder):
    return json.loads((folder / "run.json").read_text("utf-8"))


def recorded(project, name="out", **options):
    answers = options.pop("answers", lambda _id, _trial: "hi and bye")
    return recorded_runs.record(project / name, project / "suite.yaml", answers, **options)


def test_a_run_says_which_commit_it_is_of_and_the_history_believes_it(project):
    first = git(project, "rev-parse", "HEAD").strip()
    second = commit(project, {"note.txt": "x"})
    done = run(project, "run", "suite.yaml", "--output", "out", "--quiet")
    assert done.exit == 0, done.err
    found = document(project / "out")
    assert (found["commit"], found["branch"], found["parents"], found["changed"]) == (second, "main", [first], False)
    commit(project, {"note.txt": "y"})
    added = run(project, "history", "add", "out", environment={"GITHUB_SHA": OTHER, "GITHUB_REF_NAME": "other"})
    assert (added.exit, added.err) == (0, "")
    stored = only(project)
    assert (stored.commit, stored.branch, stored.parents, stored.changed) == (second, "main", (first,), False)


def test_a_run_of_a_changed_working_tree_says_so(project):
    (project / "agent.py").write_text("def answer(question):\n    return 'bye, hi'\n")
    run(project, "run", "suite.yaml", "--output", "out", "--history", "history", "--quiet")
    assert document(project / "out")["changed"] is True
    assert only(project).changed is True


def test_a_run_outside_of_a_repository_has_no_commit(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    assert run(tmp_path, "run", "suite.yaml", "--output", "out", "--quiet").exit == 0
    found = document(tmp_path / "out")
    assert [found[name] for name in ("commit", "branch", "parents", "changed")] == [None] * 4


def test_what_the_caller_names_counts_more_than_what_the_run_recorded(project):
    recorded(project, checkout=Checkout(OTHER, "main"))
    run(project, "history", "add", "out", "--commit", "c" * 40, "--branch", "topic")
    assert (only(project).commit, only(project).branch) == ("c" * 40, "topic")


def test_a_named_branch_alone_leaves_the_commit_as_it_was_recorded(project):
    recorded(project, checkout=Checkout(OTHER, None, changed=False))
    run(project, "history", "add", "out", "--branch", "topic")
    assert (only(project).commit, only(project).branch, only(project).changed) == (OTHER, "topic", False)


def test_a_run_folder_of_an_earlier_version_has_the_commit_that_is_checked_out(project):
    head = git(project, "rev-parse", "HEAD").strip()
    found = document(recorded(project))
    for name in ("commit", "branch", "parents", "changed"):
        del found[name]
    found["ended"] = "2100-01-01T00:00:00Z"  # after the commit was made, whenever this test runs
    (project / "out" / "run.json").write_text(json.dumps(found))
    done = run(project, "history", "add", "out", "--time", "2026-11-16")
    assert (done.exit, done.err, only(project).commit) == (0, "", head)


def test_a_run_that_was_resumed_at_another_commit_is_of_none_and_that_is_said(project):
    answers = {"A": "hi", "B": None}
    recorded(project, answers=lambda id_, _trial: answers[id_], how="interrupted", checkout=Checkout(OTHER, "main"))
    done = run(project, "run", "--resume", "out", "--history", "history", "--quiet")
    assert done.exit == 0, done.err
    assert "the commit of the run is not known" in done.err
    assert "several commits" in done.err
    assert (document(project / "out")["commit"], only(project).commit) == (None, None)


def test_a_run_that_was_resumed_at_its_own_commit_keeps_it(project):
    head = git(project, "rev-parse", "HEAD").strip()
    answers = {"A": "hi", "B": None}
    own = Checkout(head, "main", (), changed=True)
    recorded(project, answers=lambda id_, _trial: answers[id_], how="interrupted", checkout=own)
    assert run(project, "run", "--resume", "out", "--quiet").exit == 0
    found = document(project / "out")
    assert (found["commit"], found["branch"], found["changed"]) == (head, "main", True)


def test_shards_of_two_commits_are_of_none(project):
    for number, sha in ((1, OTHER), (2, "c" * 40)):
        own = Checkout(sha, "main", changed=False)
        chosen = ["A"] if number == 1 else ["B"]
        recorded(project, f"out{number}", only=chosen, checkout=own)
    run(project, "check", "out1", "out2", "--subset", "--history", "history")
    assert only(project).commit is None


def test_the_run_that_is_judged_is_not_excused_by_runs_of_the_commit_that_it_recorded(project):
    """Else a job that checks a folder of an earlier commit again and again would call its own failure flaky."""
    earlier = git(project, "rev-parse", "HEAD").strip()
    policy = "baseline: {file: baseline.json, new_failures: all, history: history}\n"
    recorded(project, "out1", checkout=Checkout("a" * 40, "main", (), changed=False))
    assert run(project, "baseline", "record", "out1", "--quiet").exit == 0
    commit(project, {"highbar.yaml": policy})
    own = Checkout(earlier, "main", (), changed=False)
    for number in range(2, 5):
        recorded(
            project, f"out{number}", answers=lambda id_, _t, n=number: f"no {n}" if id_ == "A" else "bye", checkout=own
        )
        done = run(project, "check", f"out{number}", "--history", "history")
    assert done.exit == 1, done.out
    assert "passed in the baseline and not now: A" in done.out
