"""Rows that are nested more deeply than Python can recurse are refused with one message, by every command."""

from __future__ import annotations

import json

import pytest

from tests.commandline import run

SUITE = {"scenarios": [{"id": "A", "input": "Hi", "must_not": {"wipes": {"calls": "wipe"}}}]}
DEEP = "[" * 500 + "]" * 500
JUDGED = '"judged": {"statements": {}, "judge": "j", "prompt": "p", "digest": "d", "conversation": "c"}'


@pytest.mark.parametrize(
    "column",
    [
        f'"trace": {DEEP}',
        f'"tool_calls": [{{"name": "a", "arguments": {DEEP}}}]',
        f'"messages": [{{"role": "assistant", "content": {DEEP}}}]',
    ],
    ids=["trace", "tool_calls", "messages"],
)
def test_a_row_that_is_nested_too_deeply_is_refused(tmp_path, column):
    (tmp_path / "suite.json").write_text(json.dumps(SUITE))
    (tmp_path / "rows.jsonl").write_text(f'{{"id": "A", "output": "x", {JUDGED}, {column}}}\n')
    grading = "grade", "rows.jsonl", "--suite", "suite.json", "-o", "new.jsonl"
    labeling = "judge", "label", "rows.jsonl", "-o", "labels.html"
    for arguments in (grading, labeling):
        done = run(tmp_path, *arguments)
        assert done.exit == 2, done.err
        assert done.codes == ["file.too-deep"]
        assert "rows.jsonl: the row of 'A' " in done.err
        assert " 200 levels" in done.err
