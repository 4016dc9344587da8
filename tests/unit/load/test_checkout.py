from __future__ import annotations

import subprocess

import pytest

from highbar.errors import InputError
from highbar.load.checkout import Checkout, checkout

SHA = "a" * 40
OTHER = "b" * 40


def git(folder, *arguments):
    done = subprocess.run(
        ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *arguments],
        cwd=folder, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path, monkeypatch):
    git(tmp_path, "init", "-q", "-b", "main")
    for text in ("one", "two"):
        (tmp_path / "file").write_text(text)
        git(tmp_path, "add", "file")
        git(tmp_path, "commit", "-q", "-m", text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))


@pytest.mark.process
def test_git_says_what_is_checked_out(repository):
    found = checkout({})
    assert found.commit == git(repository, "rev-parse", "HEAD")
    assert found.parents == (git(repository, "rev-parse", "HEAD~1"),)
    assert (found.branch, found.changed) == ("main", False)
    assert int(found.committed.timestamp()) == int(git(repository, "log", "-1", "--format=%ct"))


@pytest.mark.process
def test_a_changed_file_is_known_and_a_new_one_is_no_change(repository):
    (repository / "results.jsonl").write_text("{}")
    assert checkout({}).changed is False
    (repository / "file").write_text("three")
    assert checkout({}).changed is True


@pytest.mark.process
def test_a_tree_that_git_cannot_compare_counts_as_changed(repository):
    """A run of it must excuse nothing: nobody says that it is the run of its commit."""
    (repository / ".git/index").write_bytes(b"damaged")
    assert checkout({}).changed is True
    assert checkout({"GITHUB_SHA": SHA}).changed is None


@pytest.mark.process
def test_a_first_commit_has_no_parents_and_a_detached_one_no_branch(repository):
    git(repository, "checkout", "-q", "HEAD~1")
    found = checkout({})
    assert (found.parents, found.branch) == ((), None)


@pytest.mark.process
def test_a_shallow_clone_knows_the_parents(repository, tmp_path_factory, monkeypatch):
    clone = tmp_path_factory.mktemp("clone")
    git(clone, "clone", "-q", "--depth", "1", f"file://{repository}", ".")
    monkeypatch.chdir(clone)
    assert checkout({}).parents == (git(repository, "rev-parse", "HEAD~1"),)


@pytest.mark.process
def test_outside_of_a_repository_nothing_is_known(nowhere):
    assert checkout({}) == Checkout()


@pytest.mark.process
@pytest.mark.parametrize(
    ("environment", "branch"),
    [
        ({"GITHUB_SHA": SHA, "GITHUB_REF_NAME": "main", "GITHUB_REF_TYPE": "branch"}, "main"),
        ({"GITHUB_SHA": SHA, "GITHUB_REF_NAME": "v1", "GITHUB_REF_TYPE": "tag"}, None),
        ({"GITHUB_SHA": SHA, "GITHUB_HEAD_REF": "topic", "GITHUB_REF_NAME": "7/merge"}, "topic"),
        ({"CI_COMMIT_SHA": SHA, "CI_COMMIT_BRANCH": "main"}, "main"),
        ({"CI_COMMIT_SHA": SHA, "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "topic"}, "topic"),
        ({"CI_COMMIT_SHA": SHA}, None),
    ],
)
def test_a_ci_system_says_it_by_variables(nowhere, environment, branch):
    assert checkout(environment) == Checkout(SHA, branch)


@pytest.mark.process
def test_the_caller_knows_best(nowhere):
    environment = {"GITHUB_SHA": SHA, "GITHUB_REF_NAME": "main", "GITHUB_REF_TYPE": "branch"}
    assert checkout(environment, OTHER, "topic") == Checkout(OTHER, "topic")


@pytest.mark.process
def test_the_branch_of_another_commit_is_not_guessed(repository):
    first = git(repository, "rev-parse", "HEAD~1")
    assert checkout({"GITHUB_SHA": SHA, "GITHUB_REF_NAME": "main", "GITHUB_REF_TYPE": "branch"}, first).branch is None
    assert checkout({}, first).branch is None
    assert checkout({}, first).changed is None


@pytest.mark.parametrize(("commit", "branch"), [("main", None), ("-x", None), (None, ""), (None, "a\x1b")])
def test_what_cannot_be_a_commit_or_a_branch_is_refused(commit, branch):
    with pytest.raises(InputError, match=r"--commit|--branch"):
        checkout({}, commit, branch)
