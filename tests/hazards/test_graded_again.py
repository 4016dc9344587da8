"""`highbar grade` on a copy of a run's rows: a violation that was found stays one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests import faulty_server as faulty
from tests.commandline import run
from tests.faulty_server import serving

LEAKS = {"leaks": {"contains": "secret"}}
ERROR: dict[str, Any] = {"id": "S", "turns": ["one", "two", "three"], "must_not": LEAKS}


def again(folder: Path, *rows: dict[str, Any], suite: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, graded by a suite."""
    (folder / "suite.json").write_text(json.dumps({"scenarios": suite}), "utf-8")
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    done = run(folder, "grade", "rows.jsonl", "--suite", "suite.json", "-o", "new.jsonl")
    assert done.exit == 0, done.err
    return [json.loads(line) for line in (folder / "new.jsonl").read_bytes().splitlines()]


@pytest.mark.parametrize("end", ["an error", "a broken connection", "a second reply that is malformed"])
def test_h142_a_violation_of_an_earlier_turn_stays_if_a_later_one_fails(tmp_path: Path, end: str) -> None:
    ends = {
        "an error": faulty.status(500),
        "a broken connection": faulty.resets_before_the_first_byte(),
        "a second reply that is malformed": faulty.sends(b'{"oops": "fine"}'),
    }
    with serving([faulty.answers("the secret"), ends[end]]) as server:
        suite = {"agent": {"http": server.address, "format": "openai"}, "run": {"retries": 0}, "scenarios": [ERROR]}
        (tmp_path / "suite.json").write_text(json.dumps(suite), "utf-8")
        run(tmp_path, "run", "suite.json", "--output", "out", "--no-check")
    (row,) = [json.loads(line) for line in (tmp_path / "out" / "results.jsonl").read_bytes().splitlines()]
    assert row["violations"] == ["leaks"]
    (graded,) = again(tmp_path, row, suite=[ERROR])
    assert graded["violations"] == ["leaks"]
    assert graded["found"]["leaks"] in "the secret"


def test_h142_an_error_in_whose_turns_nothing_was_violated_stays_clean(tmp_path: Path) -> None:
    said = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "fine"}]
    row = {"id": "S", "error": "it broke", "violations": [], "messages": [*said, {"role": "user", "content": "two"}]}
    (graded,) = again(tmp_path, row, suite=[{**ERROR, "must_not": {"leaks": {"contains": "x", "reply": 1}}}])
    assert graded["error"] == "it broke"
    assert graded.get("violations") == []


def test_h142_turns_of_another_conversation_prove_nothing(tmp_path: Path) -> None:
    said = [{"role": "user", "content": "two"}, {"role": "assistant", "content": "fine"}]
    (graded,) = again(tmp_path, {"id": "S", "error": "it broke", "messages": said}, suite=[ERROR])
    assert "violations" not in graded


UNCHECKED: dict[str, dict[str, Any]] = {
    "the state was not recorded": {"output": "fine"},
    "only a part was recorded": {"output": "fi", "left_out": {"output": 7}},
    "must_not says it": {"output": "fine", "must_not": [{"name": "leaks", "violated": True}], "violations": None},
    "only a count says it": {"output": "fine", "violations": 1},
    "an error": {"error": "it broke"},
}


@pytest.mark.parametrize("what", UNCHECKED)
def test_h142_a_violation_that_cannot_be_checked_again_stays_one(tmp_path: Path, what: str) -> None:
    suite = [{"id": "S", "input": "Hi", "must_not": {"leaks": {"state": {"/cart": "secret"}}}}]
    row = {"id": "S", "must_not": ["leaks"], "violations": ["leaks"], "found": {"leaks": "it"}, **UNCHECKED[what]}
    (graded,) = again(tmp_path, {name: value for name, value in row.items() if value is not None}, suite=suite)
    assert graded["violations"] == ["leaks"]
    assert graded["found"] == {"leaks": "it"}


def test_h142_a_check_that_finds_nothing_any_more_ends_a_violation(tmp_path: Path) -> None:
    suite = [{"id": "S", "input": "Hi", "must_not": {"leaks": {"contains": "the password"}}}]
    (graded,) = again(tmp_path, {"id": "S", "output": "a secret", "violations": ["leaks"]}, suite=suite)
    assert graded["violations"] == []
