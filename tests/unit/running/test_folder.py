"""The folder of a run: made whole, never over another, resumed, finished and refused if something is wrong with it."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from highbar.errors import InputError, ReportError
from highbar.running import folder
from highbar.running.records import Began, Resumed, decode
from highbar.store.run_document import Chosen, read_run_document
from tests.architecture.repository import ROOT
from tests.patience import PATIENCE
from tests.unit.running.folders import AT, completed, ended, finish, plan_of
from tests.unit.running.journals import found_in

NOW = datetime(2026, 11, 16, 14, 25, 30, tzinfo=UTC)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs" / "one"


def names(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir())


def records(path: Path) -> list[object]:
    return [decode(payload) for payload in found_in(path / "journal")]


def test_a_new_folder_has_the_plan_and_nothing_else(path):
    plan = plan_of()
    with folder.create(path, plan) as run:
        assert (run.path, run.history.plan, run.journal.synced) == (path, plan, 1)
    assert records(path) == [plan]
    assert names(path) == ["journal"]
    assert names(path.parent) == ["one"]


def test_what_was_recorded_is_read_back(path):
    with folder.create(path, plan_of()) as run:
        run.append(Began("B", 2))
        offset = run.append(ended("B", 2))
        asyncio.run(run.wait_synced(offset))
        assert run.history.offset("B", 2) == offset
    history = folder.read_run(path)
    assert (history.offset("B", 2), history.outcome("B", 2), history.outcome("A", 1)) == (offset, "answered", None)
    with folder.open_answers(path) as at:
        assert at(offset) == ended("B", 2)


@pytest.mark.parametrize("kind", ["file", "folder", "full folder", "link to nothing"])
def test_nothing_that_exists_is_overwritten(path, kind):
    path.parent.mkdir()
    if kind == "file":
        path.write_text("mine")
    elif kind == "link to nothing":
        path.symlink_to("nowhere")
    else:
        path.mkdir()
        if kind == "full folder":
            (path / "mine").write_text("mine")
    before = path.lstat().st_ino
    with pytest.raises(InputError, match="exists already") as caught:
        folder.create(path, plan_of())
    assert "--resume" in str(caught.value)
    assert path.lstat().st_ino == before
    assert names(path.parent) == ["one"]


@pytest.mark.parametrize("kind", ["file", "run", "link to a folder"])
def test_a_path_that_somebody_else_takes_meanwhile_is_not_overwritten(path, kind):
    """What `create` does last, after it has looked."""
    beside = path.with_name(".one.beside")
    beside.mkdir(parents=True)
    if kind == "file":
        path.write_text("mine")
    elif kind == "run":
        completed(path)
    else:
        path.symlink_to(beside)
    before = path.lstat().st_ino
    with pytest.raises(OSError, match=r"exist|empty|directory"):
        beside.rename(path)
    with pytest.raises(InputError, match="exists already"):
        folder._rename_into_place(beside, path)
    assert path.lstat().st_ino == before


def test_a_folder_that_cannot_be_made_leaves_nothing_behind(tmp_path):
    (tmp_path / "file").write_text("mine")
    for path in (tmp_path / "file" / "one", tmp_path / ("x" * 300), tmp_path / "a\0b"):
        with pytest.raises(InputError, match="cannot be made") as caught:
            folder.create(path, plan_of())
        assert "--output" in str(caught.value)
    assert names(tmp_path) == ["file"]


ATTEMPT = """
import sys
from pathlib import Path
from highbar.errors import HighbarError
from highbar.running import folder
from tests.unit.running.folders import plan_of
for attempt in (lambda path: folder.create(path / "one", plan_of()), folder.open_run):
    try:
        attempt(Path(sys.argv[1]))
    except HighbarError as error:
        (problem,) = error.problems
        print(problem.code, problem.file, problem.message)
print(folder.read_run(Path(sys.argv[1])).ended)
"""


@pytest.mark.process
def test_a_folder_that_may_not_be_written_is_refused_before_anything_runs_and_can_be_read(path):
    completed(path)
    command = [sys.executable, "-c", ATTEMPT, path]
    if os.geteuid() == 0:  # to whom nothing is forbidden, so the disk has to forbid it, to that process alone
        if not shutil.which("unshare"):
            pytest.skip("nothing can be mounted here")
        mount = f"mount --bind {path} {path} && mount -o remount,ro,bind {path} || exit 77"
        command = ["unshare", "--mount", "sh", "-c", f'{mount}; exec "$@"', "sh", *command]
    else:
        path.chmod(0o555)
        (path / "journal").chmod(0o444)
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, cwd=ROOT)
    path.chmod(0o755)
    if done.returncode == 77:
        pytest.skip("nothing can be mounted here")
    reason = r"(Permission denied|Read-only file system)"
    made, opened, read_back = done.stdout.splitlines()
    assert re.fullmatch(rf"file.unwritable {path}/one .*: {reason}", made), done.stderr
    assert re.fullmatch(rf"file.unwritable {path}/journal .*: {reason}", opened)
    assert read_back == "6"


@pytest.mark.hazard("H115")
@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("library-agent", "library-agent"),
        ("Mein Agent 2.0", "Mein-Agent-2.0"),
        ("../../etc/passwd", "etc-passwd"),
        ("a/b\\c:d", "a-b-c-d"),
        ("\x1b[31mred\n\0", "31mred"),
        ("漢字", "run"),
        ("...", "run"),
        ("-rf", "rf"),
        ("CON", "CON"),
        ("", "run"),
        ("x" * 500, "x" * 60),
    ],
)
def test_any_name_makes_a_safe_path(name, safe):
    assert folder.default_path(name, NOW) == Path("runs", f"{safe}-20261116-142530")


def test_a_path_that_is_taken_gets_a_number(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for wanted in ("a-20261116-142530", "a-20261116-142530-2", "a-20261116-142530-3"):
        path = folder.default_path("a", NOW)
        assert path == Path("runs", wanted)
        path.mkdir(parents=True)


@pytest.mark.hazard("H79")
def test_two_processes_do_not_write_one_folder(path):
    with folder.create(path, plan_of()), pytest.raises(InputError, match="locked by another run"):
        folder.open_run(path)


def test_a_run_goes_on_where_it_was_killed(path):
    with folder.create(path, plan_of()) as run:
        run.append(Began("A", 1))
        run.append(ended("A", 1))
        run.append(Began("B", 1))
    with (path / "journal").open("ab") as stream:
        stream.write(b"0123abcd ")  # the beginning of a line
    (path / ".results.jsonl.0123456789ab").write_text("half")
    with folder.open_run(path) as run:
        assert list(run.history.left()) == [("B", 1), ("C", 1), ("A", 2), ("B", 2), ("C", 2)]
        run.append(Resumed(AT))
        for id_, trial in list(run.history.left()):
            run.append(ended(id_, trial))
        finish(run)
    assert names(path) == ["journal", "results.jsonl", "run.json"]
    history = folder.read_run(path)
    assert (list(history.left()), history.resumes) == ([], 1)
    assert history.finished == records(path)[-1]


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda _: None, "no such folder"),
        (lambda path: path.mkdir(parents=True), "has no journal"),
        (lambda path: (path.mkdir(parents=True), (path / "journal").mkdir()), "has no journal"),
        (lambda path: (path.mkdir(parents=True), (path / "journal").touch()), "has no plan"),
        (lambda path: (path.mkdir(parents=True), (path / "journal").write_text("{}\n")), "damaged at byte 0"),
    ],
)
@pytest.mark.parametrize("read_folder", [folder.open_run, folder.read_run])
def test_what_is_no_run_is_refused(path, prepare, message, read_folder):
    prepare(path)
    with pytest.raises(InputError, match=message) as caught:
        read_folder(path)
    assert caught.value.problems[0].hint


def test_the_document_says_what_was_done(path):
    with folder.create(path, plan_of(chosen=Chosen(category=("happy_path",)), scenarios=7)) as run:
        run.append(ended("A", 1, attempts=3))
        run.append(ended("A", 2, "error", attempts=2))
        run.append(ended("B", 1, "infrastructure", attempts=5))
        document = finish(run, "budget")
    assert read_run_document(path) == document
    assert (document.state, document.is_finished, document.whole) == ("budget", True, False)
    assert (document.done.answered, document.done.errors, document.done.undecided) == (1, 1, 4)
    assert (document.retried.answered, document.retried.errors, document.retried.undecided) == (1, 1, 1)
    assert document.results.sha256 == hashlib.sha256((path / "results.jsonl").read_bytes()).hexdigest()
    assert document.results.rows == 6
    assert document.suite.sha256 == hashlib.sha256(plan_of().suite_text).hexdigest()
    assert (document.agent.kind, document.agent.target) == ("python", "library_agent:answer")


def test_only_all_scenarios_of_a_suite_are_the_whole(tmp_path):
    whole = [
        completed(tmp_path / "a", plan_of()).whole,
        completed(tmp_path / "b", plan_of(scenarios=4)).whole,
        completed(tmp_path / "c", plan_of(chosen=Chosen(limit=3))).whole,
    ]
    assert whole == [True, False, False]


def test_results_that_cannot_be_written_leave_the_older_ones(path):
    with folder.create(path, plan_of()) as run:
        run.write_results([b"{}\n"])

        def lines():
            yield b"[]\n"
            raise OSError(28, "No space left on device")

        with pytest.raises(ReportError, match=r"results.jsonl could not be written: No space left"):
            run.write_results(lines())
        for wrong in (b"{}", b"{}\n{}\n", b""):
            with pytest.raises(ValueError, match="one line"):
                run.write_results([wrong])
    assert (path / "results.jsonl").read_bytes() == b"{}\n"
    assert names(path) == ["journal", "results.jsonl"]


@pytest.mark.hazard("H58")
def test_a_journal_that_is_shorter_than_when_the_run_ended_is_refused_and_left_alone(path):
    completed(path)
    whole = (path / "journal").read_bytes()
    lines = whole.splitlines(keepends=True)
    for left in (b"".join(lines[:-1]), b"".join(lines[:3]), whole[:-1], whole[:-5] + b"\0\0\0\0\n"):
        (path / "journal").write_bytes(left)
        for read_folder in (folder.open_run, folder.read_run):
            with pytest.raises(InputError, match="bytes when the run ended"):
                read_folder(path)
        assert (path / "journal").read_bytes() == left


@pytest.mark.parametrize("longer", [False, True])
def test_a_journal_of_another_run_is_refused(tmp_path, longer):
    completed(tmp_path / "one")
    completed(tmp_path / "two", plan_of(seed=2**63 + 1))
    if longer:
        with folder.open_run(tmp_path / "two") as run:
            run.append(Resumed(AT))
    shutil.copy(tmp_path / "two" / "journal", tmp_path / "one" / "journal")
    with pytest.raises(InputError, match="bytes when the run ended"):
        folder.open_run(tmp_path / "one")


def test_a_run_that_was_resumed_and_killed_can_be_resumed_again(path):
    completed(path)
    for _ in range(2):
        with folder.open_run(path) as run:
            run.append(Resumed(AT))
    assert folder.read_run(path).finished is None
    with pytest.raises(InputError, match="went on after it had ended"):
        read_run_document(path)


def test_a_folder_that_is_copied_while_the_run_goes_on_has_what_was_recorded_until_then(path, tmp_path):
    with folder.create(path, plan_of([f"S-{number}" for number in range(50)], 1)) as run:
        for number in range(50):
            run.append(ended(f"S-{number}"))
            copy = tmp_path / f"copy-{number}"
            shutil.copytree(path, copy)
            with folder.open_run(copy) as copied:
                assert copied.history.ended == number + 1


def test_messages_name_the_journal_by_its_last_path(path):
    """It is first written in a folder with a hidden name."""
    with folder.create(path, plan_of()) as run:
        assert run.journal.name == run.journal._sync._name == run.history.name == str(path / "journal")
