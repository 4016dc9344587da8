"""`highbar judge label`: what it writes, what it asks in a terminal, and what it refuses."""

from __future__ import annotations

import base64
import json
import os
import pty
import re
import select
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

from highbar.store.labels import read_labels
from tests.commandline import Run, run
from tests.patience import PATIENCE
from tests.trials_to_label import judged_row, judged_rows, write

HOSTILE = "<script>alert(1)</script>\x1b[2J\u202e</title>"


def _label(folder: Path, *arguments: str, stdin: str = "") -> Run:
    return run(folder, "judge", "label", *arguments, stdin=stdin.encode())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with results of eight judged trials, half of which the judge failed."""
    write(tmp_path / "results.jsonl", judged_rows(4, 4))
    return tmp_path


def _parts(page: Path) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text("utf-8"))
    assert found is not None
    data = json.loads(found[1])
    return {name: json.loads(zlib.decompress(base64.b64decode(data[name]))) for name in ("asked", "samples")}


# --- the page --------------------------------------------------------------------------------


def test_it_writes_one_page_with_the_trials_to_label(folder: Path) -> None:
    done = _label(folder, "results.jsonl", "--trials", "4", "--by", "ada")
    assert (done.exit, done.out) == (0, "")
    assert "4 trials of 8 judged ones, 8 statements: labels.html" in done.err
    asked = _parts(folder / "labels.html")["asked"]
    assert asked["by"] == "ada"
    assert len(asked["trials"]) == 4


def test_the_same_seed_writes_the_same_bytes(folder: Path) -> None:
    for name, seed in (("a", "5"), ("b", "5"), ("c", "6")):
        assert _label(folder, "results.jsonl", "--trials", "4", "--seed", seed, "-o", f"{name}.html").exit == 0
    pages = [(folder / f"{name}.html").read_bytes() for name in "abc"]
    assert pages[0] == pages[1] != pages[2]


def test_the_page_shows_no_judgment(folder: Path) -> None:
    assert _label(folder, "results.jsonl").exit == 0
    text = (folder / "labels.html").read_text("utf-8")
    shown = json.dumps(_parts(folder / "labels.html")["asked"])
    for word in ("SECRET-EVIDENCE", "not_observed", '"passed"', '"failed"', "some-model"):
        assert word not in text
        assert word not in shown


def test_hostile_texts_are_data_in_the_page(tmp_path: Path) -> None:
    row = judged_row("S1", input=HOSTILE, output=HOSTILE)
    row["judged"]["statements"] = {HOSTILE: {"statement": HOSTILE, "judgment": "observed"}}
    write(tmp_path / "results.jsonl", [{**row, "id": HOSTILE.replace("\x1b", "")}])
    assert _label(tmp_path, "results.jsonl", "--by", "</script><b>").exit == 0
    text = (tmp_path / "labels.html").read_text("utf-8")
    assert "alert(1)" not in text
    assert "<b>" not in text
    assert text.count("</script>") == 2


def test_labels_that_there_are_are_in_the_page(folder: Path) -> None:
    assert _label(folder, "results.jsonl", "--terminal", "--by", "ada", stdin="y\nn\nq\n").exit == 0
    assert _label(folder, "results.jsonl", "--labels", "labels.jsonl").exit == 0
    labels = [json.loads(line) for line in _parts(folder / "labels.html")["asked"]["labels"]]
    assert [(label["by"], label["observed"]) for label in labels] == [("ada", True), ("ada", False)]


# --- the terminal ----------------------------------------------------------------------------


def test_answers_in_a_terminal_become_labels(folder: Path) -> None:
    done = _label(folder, "results.jsonl", "--terminal", "--trials", "2", stdin="ada\ny\nn\n?\nY\n")
    assert done.exit == 0
    assert "Who labels?" in done.out
    assert "4 of 4 statements answered by ada: labels.jsonl" in done.err
    labels = read_labels(folder / "labels.jsonl")
    assert [label.observed for label in labels.lines] == [True, False, None, True]
    assert (len(labels.trials), labels.incomplete, labels.people) == (2, 0, ("ada",))
    assert sum(trial.is_answered for trial in labels.trials) == 1
    assert "SECRET-EVIDENCE" not in done.out


def test_it_goes_on_where_it_was_left(folder: Path) -> None:
    _label(folder, "results.jsonl", "--terminal", "--by", "ada", "--seed", "3", stdin="y\ny\ny\nq\n")
    done = _label(folder, "results.jsonl", "--terminal", "--by", "ada", stdin="n\n" * 100)
    assert "(4 of 16 statements)" in done.out
    assert "(3 of 16 statements)" not in done.out
    labels = read_labels(folder / "labels.jsonl")
    assert [label.observed for label in labels.lines] == [True] * 3 + [False] * 13
    assert {trial.sample.seed for trial in labels.trials} == {3}  # the same trials are drawn again
    assert _label(folder, "results.jsonl", "--terminal", "--by", "ada").exit == 0


def test_a_second_person_is_asked_everything_again(folder: Path) -> None:
    for who, keys in (("ada", "y\n" * 16), ("bob", "n\n" * 16)):
        assert _label(folder, "results.jsonl", "--terminal", "--by", who, stdin=keys).exit == 0
    labels = read_labels(folder / "labels.jsonl")
    assert (len(labels.lines), labels.people, labels.incomplete) == (32, ("ada", "bob"), 0)
    assert not any(trial.is_answered for trial in labels.trials), "they disagree about everything"


def test_undo_asks_again(folder: Path) -> None:
    _label(folder, "results.jsonl", "--terminal", "--by", "ada", stdin="u\ny\ny\nu\nn\nx\n\nq\n")
    assert [label.observed for label in read_labels(folder / "labels.jsonl").lines] == [True, False]


def test_a_larger_sample_keeps_the_labels_of_the_smaller_one(folder: Path) -> None:
    _label(folder, "results.jsonl", "--terminal", "--by", "ada", "--trials", "2", stdin="y\n" * 4)
    _label(folder, "results.jsonl", "--terminal", "--by", "ada", "--trials", "6", stdin="y\n" * 8)
    labels = read_labels(folder / "labels.jsonl")
    assert len(labels.complete) == 6
    assert {trial.sample.drawn for trial in labels.trials} == {3}


def test_other_labels_of_the_file_stay(folder: Path) -> None:
    other = '{"id":"X","trial":1,"behavior":"b","observed":true,"by":"zoe"}\n'
    (folder / "mine.jsonl").write_text(other)
    done = _label(folder, "results.jsonl", "--terminal", "--by", "ada", "--labels", "mine.jsonl", stdin="y\nq\n")
    assert done.exit == 0
    assert [label.by for label in read_labels(folder / "mine.jsonl").lines] == ["zoe", "ada"]
    assert not (folder / "labels.jsonl").exists()


def test_a_terminal_is_shown_and_never_ordered(tmp_path: Path) -> None:
    row = judged_row("S1", input=HOSTILE, output="::error::x\n" + HOSTILE)
    row["judged"]["statements"] = {"a\x07": {"statement": HOSTILE, "judgment": "observed"}}
    write(tmp_path / "results.jsonl", [row])
    done = _label(tmp_path, "results.jsonl", "--terminal", "--by", "ada", stdin="y\n")
    assert all(character.isprintable() or character == "\n" for character in done.out)
    assert r"\x1b[2J" in done.out
    assert not re.search(r"(?m)^\s*::error", done.out)
    assert [label.behavior for label in read_labels(tmp_path / "labels.jsonl").lines] == ["a\x07"]


def test_labels_of_an_earlier_judgment_are_refused(folder: Path) -> None:
    _label(folder, "results.jsonl", "--terminal", "--by", "ada", stdin="y\n" * 16)
    rows = judged_rows(4, 4)
    rows[0]["judged"]["statements"]["leaks"]["judgment"] = "observed"  # asked again: the digest is the same
    write(folder / "results.jsonl", rows)
    done = _label(folder, "results.jsonl", "--terminal", "--by", "ada")
    assert done.exit == 2
    assert "labels.jsonl: P000, trial 1: this label is of an earlier judgment of the same trial" in done.err


@pytest.mark.process
def test_a_single_key_answers_in_a_real_terminal(folder: Path) -> None:
    main, other = pty.openpty()
    command = [sys.executable, "-m", "highbar", "judge", "label", "results.jsonl", "--terminal", "--by", "ada"]
    with subprocess.Popen(command, cwd=folder, stdin=other, stdout=other, stderr=other) as process:
        os.close(other)
        for key in b"yn?u\x04":
            assert _read_until(main, b"q quit: ")
            os.write(main, bytes([key]))
        assert not _read_until(main, b"never")
        assert process.wait(PATIENCE) == 0
    os.close(main)
    assert [label.observed for label in read_labels(folder / "labels.jsonl").lines] == [True, False]


def _read_until(terminal: int, wanted: bytes) -> bool:
    """Whether a terminal shows this before its other end is closed."""
    seen = b""
    while not seen.endswith(wanted):
        assert select.select([terminal], [], [], PATIENCE)[0], seen
        try:
            found = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            return False
        if not found:
            return False
        seen += found
    return True


# --- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plain.jsonl"], "there is nothing to label: no trial of these results was judged"),
        (["absent.jsonl"], "absent.jsonl"),
        (["results.jsonl", "-o", "labels.txt"], "the output's name has another ending"),
        (["results.jsonl", "--terminal", "-o", "results.jsonl"], "this file is both read and written"),
        (["results.jsonl", "--by", " "], "--by wants a name"),
        (["results.jsonl", "--by", "a\nb"], "--by wants a name"),
        (["results.jsonl", "--trials", "0"], "--trials"),
        (["results.jsonl", "--seed", "-1"], "--seed"),
        (["results.jsonl", "--labels", "broken.jsonl"], "broken.jsonl:1: not JSON"),
        (["results.jsonl", "--labels", "absent.jsonl"], "absent.jsonl: no such file"),
        (["-", "--terminal"], "results on standard input leave no room for answers"),
        (["results.jsonl", "--terminal", "--labels", "other.jsonl", "-o", "taken.jsonl"], "exists already"),
    ],
)
def test_what_cannot_be_labeled_is_refused(folder: Path, arguments: list[str], message: str) -> None:
    write(folder / "plain.jsonl", [{"id": "S1", "passed": True}])
    for name, text in (("broken.jsonl", "{"), ("other.jsonl", ""), ("taken.jsonl", "")):
        (folder / name).write_text(text)
    done = _label(folder, *arguments)
    assert done.exit == 2
    assert message in done.err
    assert "Traceback" not in done.err
    assert not (folder / "labels.html").exists()


def test_a_person_without_a_name_is_refused(folder: Path) -> None:
    done = _label(folder, "results.jsonl", "--terminal", stdin="\n")
    assert done.exit == 2
    assert not (folder / "labels.jsonl").exists()


def test_a_page_that_cannot_be_written_is_an_error_of_its_own(folder: Path) -> None:
    assert _label(folder, "results.jsonl", "-o", "nowhere/labels.html").exit == 4


def test_the_group_lists_and_suggests_its_commands(folder: Path) -> None:
    assert "label" in run(folder, "judge", "--help").out
    done = run(folder, "judge", "lable")
    assert done.exit == 2
    assert "did you mean 'label'?" in done.err
    assert run(folder, "judge").exit == 2


def test_a_shell_completes_it(folder: Path) -> None:
    done = run(
        folder,
        environment={"_HIGHBAR_COMPLETE": "bash_complete", "COMP_WORDS": "highbar judge l", "COMP_CWORD": "2"},
    )
    assert done.out.split() == ["plain,label"]
