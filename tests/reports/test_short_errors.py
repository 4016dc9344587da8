"""A stack trace in `error`: lists of failed scenarios show what it comes to, the details all of it."""

from __future__ import annotations

import json

import pytest

import highbar
from tests.commandline import run

PYTHON = 'Traceback (most recent call last):\n  File "x.py", line 3, in f\n    boom()\nValueError: no such thing\n'
JAVASCRIPT = "TypeError: x is not a function\n    at foo (a.js:1:2)\n    at bar (b.js:3:4)"


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (PYTHON, "ValueError: no such thing"),
        (JAVASCRIPT, "TypeError: x is not a function"),
        ("plain", "plain"),
        ("one\r\ntwo\r\n\r\n", "two"),
    ],
)
def test_a_list_of_failed_scenarios_has_one_line_of_a_stack_trace(tmp_path, error, line):
    (tmp_path / "results.jsonl").write_text(json.dumps({"id": "a", "error": error}) + "\n")
    (tmp_path / "highbar.yaml").write_text("thresholds: { blocking: { error_rate: 0% } }\n")
    done = run(tmp_path, "check", "results.jsonl", "--format", "json", "--output", "v.xml", "--output", "v.md")
    assert done.json["scenarios_failed"][0]["reason"] == f"error: {line}"
    for name in ("v.xml", "v.md"):
        text = (tmp_path / name).read_text("utf-8")
        assert f"error: {line}" in text
        assert "boom()" not in text
        assert "b.js" not in text
    assert f"error: {line}" in run(tmp_path, "check", "results.jsonl").out
    verdict = highbar.check([{"id": "a", "error": error}], "typical", details=True)
    assert verdict.details is not None
    assert verdict.details.scenarios[0].trials[0].error == error
