"""The folder of a history as it was at a git ref: only what no change can have touched."""

from __future__ import annotations

import pytest

from highbar.errors import InputError
from highbar.load.ancestry import folder_as_there
from highbar.load.revision import revision_at
from tests.repository import ENVIRONMENT, commit, git, put

pytestmark = pytest.mark.process  # git says what it has


@pytest.fixture
def repository(tmp_path, monkeypatch):
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "file")
    folder = tmp_path / "repository"
    folder.mkdir()
    commit(folder, {"policy": "x"})
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def there(repository, tmp_path):
    """A function that gives the repository at main."""
    copies = tmp_path / "copies"
    copies.mkdir()
    return lambda: revision_at("main", copies)


def names(folder):
    return sorted(one.name for one in folder.iterdir()) if folder.exists() else []


def submodule(repository, tmp_path):
    """A history in a submodule, which git is to ignore."""
    commit(tmp_path / "records", {"one": "1"})
    git(repository, "submodule", "--quiet", "add", str(tmp_path / "records"), "history")
    git(repository, "config", "-f", ".gitmodules", "submodule.history.ignore", "all")
    commit(repository, {})


@pytest.fixture(autouse=True)
def _records(tmp_path):
    (tmp_path / "records").mkdir()


def test_a_folder_that_git_does_not_have_is_taken_as_it_is(repository, there):
    put(repository, {"history/one": "1"})
    assert folder_as_there(there(), repository / "history") == repository / "history"


def test_a_folder_outside_of_the_repository_is_taken_as_it_is(there, tmp_path):
    assert folder_as_there(there(), tmp_path / "records") == tmp_path / "records"


def test_a_repository_of_its_own_that_a_job_fetched_is_taken_as_it_is(repository, there):
    (repository / "history").mkdir()
    commit(repository / "history", {"one": "1"})
    assert folder_as_there(there(), repository / "history") == repository / "history"


def test_only_what_the_ref_has_counts_beside_files_that_git_does_not_have(repository, there):
    commit(repository, {"history/one": "1"})
    put(repository, {"history/two": "2", ".gitignore": "history/three\n", "history/three": "3"})
    assert names(folder_as_there(there(), repository / "history")) == ["one"]


def test_what_a_change_adds_and_alters_does_not_count(repository, there):
    commit(repository, {"history/one": "1"})
    git(repository, "switch", "--quiet", "-c", "change")
    commit(repository, {"history/one": "other", "history/two": "2"})
    found = folder_as_there(there(), repository / "history")
    assert (names(found), (found / "one").read_text()) == (["one"], "1")


def test_the_first_history_of_a_change_is_none(repository, there):
    git(repository, "switch", "--quiet", "-c", "change")
    commit(repository, {"history/one": "1"})
    assert names(folder_as_there(there(), repository / "history")) == []


@pytest.mark.parametrize("name", ["history", "history/deeper"])
def test_a_history_in_a_submodule_is_refused(repository, there, tmp_path, name):
    submodule(repository, tmp_path)
    with pytest.raises(InputError) as caught:
        folder_as_there(there(), repository / name)
    assert [problem.code for problem in caught.value.problems] == ["ref.submodule"]


def test_a_history_that_a_change_brings_as_a_submodule_is_refused(repository, there, tmp_path):
    git(repository, "switch", "--quiet", "-c", "change")
    submodule(repository, tmp_path)
    with pytest.raises(InputError) as caught:
        folder_as_there(there(), repository / "history")
    assert [problem.code for problem in caught.value.problems] == ["ref.submodule"]


def test_a_link_that_the_ref_has_is_followed(repository, there, tmp_path):
    (repository / "inside").symlink_to("data")
    (repository / "outside").symlink_to(tmp_path / "records")
    commit(repository, {"data/one": "1"})
    put(repository, {"data/two": "2"})
    assert names(folder_as_there(there(), repository / "inside")) == ["one"]
    assert folder_as_there(there(), repository / "outside") == repository / "outside"


@pytest.mark.parametrize("name", ["history", "data/history"])
def test_a_link_that_a_change_brings_is_refused(repository, there, tmp_path, name):
    (tmp_path / "records" / "history").mkdir()
    git(repository, "switch", "--quiet", "-c", "change")
    (repository / name.partition("/")[0]).symlink_to(tmp_path / "records")
    commit(repository, {})
    with pytest.raises(InputError, match="at main") as caught:
        folder_as_there(there(), repository / name)
    assert [problem.code for problem in caught.value.problems] == ["ref.not-a-file"]


def test_a_link_that_a_change_turns_is_refused(repository, there, tmp_path):
    (repository / "history").symlink_to("data")
    commit(repository, {"data/one": "1"})
    git(repository, "switch", "--quiet", "-c", "change")
    (repository / "history").unlink()
    (repository / "history").symlink_to(tmp_path / "records")
    commit(repository, {})
    with pytest.raises(InputError, match="at main") as caught:
        folder_as_there(there(), repository / "history")
    assert [problem.code for problem in caught.value.problems] == ["ref.not-a-file"]
