"""`highbar judge label`: what it writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from highbar.store.labels import read_labels
from tests.commandline import Run, run
from tests.trials_to_label import answer_page, judged_row, judged_rows, page_parts, write

HOSTILE = "<script>alert(1)</script>\x1b[2J\u202e</title>"


def _label(folder: Path, *arguments: str) -> Run:
    return run(folder, "judge", "label", *arguments)


def _answered(folder: Path, answers: list[bool | None], *arguments: str) -> str:
    """The text of `labels.jsonl` after ada gave these answers on a page that is made with these arguments."""
    assert _label(folder, "results.jsonl", *arguments).exit == 0
    lines = answer_page(folder / "labels.html", "ada", answers)
    (folder / "labels.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return (folder / "labels.jsonl").read_text()


def _drawn(folder: Path, *arguments: str) -> list[list[object]]:
    assert _label(folder, "results.jsonl", *arguments).exit == 0
    return [each[:2] for each in page_parts(folder / "labels.html")["asked"]["trials"]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with results of eight judged trials, half of which the judge failed."""
    write(tmp_path / "results.jsonl", judged_rows(4, 4))
    return tmp_path


# --- the page --------------------------------------------------------------------------------


def test_it_writes_one_page_with_the_trials_to_label(folder: Path) -> None:
    done = _label(folder, "results.jsonl", "--trials", "4", "--by", "ada")
    assert (done.exit, done.out) == (0, "")
    assert "4 trials of 8 judged ones, 8 statements: labels.html" in done.err
    asked = page_parts(folder / "labels.html")["asked"]
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
    shown = json.dumps(page_parts(folder / "labels.html")["asked"])
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
    _answered(folder, [True, False])
    assert _label(folder, "results.jsonl", "--labels", "labels.jsonl").exit == 0
    labels = [json.loads(line) for line in page_parts(folder / "labels.html")["asked"]["labels"]]
    assert [(label["by"], label["observed"]) for label in labels] == [("ada", True), ("ada", False)]


def test_the_same_trials_are_asked_again_and_other_labels_stay(folder: Path) -> None:
    other = '{"id":"X","trial":1,"behavior":"b","observed":true,"by":"zoe"}'
    labels = _answered(folder, [True] * 3, "--seed", "3")
    (folder / "labels.jsonl").write_text(f"{other}\n{labels}")
    assert _label(folder, "results.jsonl", "--labels", "labels.jsonl").exit == 0
    asked = page_parts(folder / "labels.html")["asked"]
    assert asked["labels"] == [other, *labels.splitlines()]
    assert {json.loads(line)["sample"]["seed"] for line in asked["labels"][1:]} == {3}
    assert [each[:2] for each in asked["trials"]] == _drawn(folder, "--seed", "3")


def test_a_larger_sample_keeps_the_labels_of_the_smaller_one(folder: Path) -> None:
    _answered(folder, [True] * 4, "--trials", "2")
    _answered(folder, [True] * 8, "--trials", "6", "--labels", "labels.jsonl")
    labels = read_labels(folder / "labels.jsonl")
    assert len(labels.complete) == 6
    assert {trial.sample.drawn for trial in labels.trials} == {3}


def test_labels_of_an_earlier_judgment_are_refused(folder: Path) -> None:
    _answered(folder, [True] * 16)
    rows = judged_rows(4, 4)
    rows[0]["judged"]["statements"]["leaks"]["judgment"] = "observed"  # asked again: the digest is the same
    write(folder / "results.jsonl", rows)
    done = _label(folder, "results.jsonl", "--labels", "labels.jsonl")
    assert (done.exit, set(done.codes)) == (2, {"label.other-judgment"})
    assert "labels.jsonl: P000, trial 1: " in done.err


# --- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (["plain.jsonl"], "label.nothing-judged", ""),
        (["absent.jsonl"], "file.missing", "absent.jsonl"),
        (["results.jsonl", "-o", "labels.txt"], "output.unknown-ending", "labels.txt"),
        (["results.jsonl", "--labels", "labels.html"], "file.read-and-written", "labels.html"),
        (["results.jsonl", "--by", " "], "option.bad-value", "--by"),
        (["results.jsonl", "--by", "a\nb"], "option.bad-value", "--by"),
        (["results.jsonl", "--trials", "0"], "option.bad-value", "--trials"),
        (["results.jsonl", "--seed", "-1"], "option.bad-value", "--seed"),
        (["results.jsonl", "--labels", "broken.jsonl"], "label.damaged", "broken.jsonl:1: "),
        (["results.jsonl", "--labels", "absent.jsonl"], "file.missing", "absent.jsonl: "),
        (["results.jsonl", "--terminal"], "removed", "highbar judge label --terminal"),
    ],
)
def test_what_cannot_be_labeled_is_refused(folder: Path, arguments: list[str], code: str, named: str) -> None:
    write(folder / "plain.jsonl", [{"id": "S1", "passed": True}])
    (folder / "broken.jsonl").write_text("{")
    done = _label(folder, *arguments)
    assert (done.exit, done.codes) == (2, [code])
    assert named in done.err
    assert "Traceback" not in done.err
    assert not (folder / "labels.html").exists()


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
