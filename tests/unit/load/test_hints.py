"""A refused results file says what to do about it, wherever that can be told."""

from __future__ import annotations

import json

import pytest

import highbar

POLICY = {"thresholds": {"blocking": {"pass_rate": 50}}, "slices": ["team"], "metrics": [
    {"name": "steps_taken", "formula": "mean(steps)"},
]}  # fmt: skip


def problem(tmp_path, name, content):
    """The first problem of a file."""
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(highbar.InputError) as caught:
        highbar.check(file, POLICY)
    return caught.value.problems[0]


@pytest.mark.parametrize(
    ("line", "code", "named", "hint"),
    [
        ('{"id": "A", "passed": true, "passed": false}', "row.duplicate-key", "'passed'", "keep one"),
        ('{"id": "A", "behaviors": {"a": true, "a": false}}', "row.duplicate-key", "'a'", "keep one"),
        ('{"id": "A", "latency_ms": NaN}', "row.not-finite", "NaN", "write null"),
        ('{"id": "A", "latency_ms": 1e400}', "row.not-finite", "1e400", "write null"),
        ('{"id": "A", "input": "\\ud800"}', "file.bad-character", "'input'", "a whole character"),
        ('{"id": "A", "passed": true} {"id": "B"}', "file.not-json", "after the object", "a line"),
        ('{"id": "A", "pas', "file.cut-off", "", "did the run end"),
        ("{'id': 'A'}\n", "file.not-json", "", "in double quotes"),
        ('{"id": "A", "passed": True}\n', "file.not-json", "", "true, false and null"),
        ('{"id": "A", "passed": true,}\n', "file.not-json", "", "before } or ]"),
        ('{\n  "id": "A"\n}\n', "file.not-json", "", ".json"),
        ("id,passed\nA,true\n", "file.not-json", "", ".jsonl"),
        ("[1]\n", "row.not-an-object", "a list of 1", '{"id": …}'),
        ("3\n", "row.not-an-object", "found 3", '{"id": …}'),
    ],
)
def test_a_line_that_is_no_result(tmp_path, line, code, named, hint):
    found = problem(tmp_path, "results.jsonl", line)
    assert (found.code, found.line) == (code, 1)
    assert named in found.message
    assert hint in (found.hint or "")


@pytest.mark.parametrize(
    ("column", "value", "code", "hint"),
    [
        ("id", 1.5, "row.wrong-type", "in quotes"),
        ("category", 1, "row.wrong-type", "in quotes"),
        ("expected", 1, "row.wrong-type", "in quotes"),
        ("passed", "true", "row.wrong-type", "without quotes"),
        ("passed", 1, "row.wrong-type", "true or false"),
        ("correct", "yes", "row.wrong-type", "true or false"),
        ("latency_ms", "12", "row.wrong-type", "without quotes"),
        ("latency_ms", "12ms", "row.wrong-type", "alone"),
        ("tokens_used", 1.5, "row.wrong-type", "tokens"),
        ("quality_score", 80, "row.wrong-value", "100"),
        ("weight", 0, "row.wrong-value", "leave"),
        ("expected_behaviors", "greets", "row.wrong-type", "a list"),
        ("behaviors", "greets", "row.wrong-type", "a list"),
        ("behaviors", [{"name": "a", "observed": True}, {"name": "a", "observed": False}], "row.duplicate-key", "once"),
        ("outcome", "TP", "row.wrong-value", "small letters"),
        ("tags", {"locale": 1}, "row.wrong-type", "as text"),
        ("team", ["red"], "select.column", "one value"),
        ("steps", "12", "row.wrong-type", "without quotes"),
    ],
)
def test_a_value_that_its_column_cannot_have(tmp_path, column, value, code, hint):
    found = problem(tmp_path, "results.jsonl", json.dumps({"id": "A", column: value}) + "\n")
    assert found.code == code
    assert found.message.startswith(f"{column}: found ")
    assert hint in (found.hint or "")


@pytest.mark.parametrize(
    ("name", "content", "code", "named", "hint"),
    [
        ("a.json", '"text"]', "file.not-json", "", ".jsonl"),
        ("a.json", '[{"id": "A", "passed": true},]', "file.not-json", "a comma", "no comma"),
        ("a.json", '[{"id": "A", "passed": true}', "file.cut-off", "", "did the run end"),
        ("a.json", '[{"id": "A", "passed": True}]', "file.not-json", "", "true, false and null"),
        ("a.json", '[{"id": "A", "passed": true, "passed": false}]', "row.duplicate-key", "'passed'", "keep one"),
        ("a.csv", "id,passed\nA,true,x\n", "row.field-count", "found 3 ", "comma"),
        ("a.csv", "id,passed,passed\nA,true,true\n", "row.duplicate-key", "'passed'", "keep one"),
        ("a.csv", "id,passed,\nA,true,\n", "file.not-csv", "without a name", "a comma"),
        ("a.csv", "id;passed\nA;true\n", "file.not-csv", "one field", "a comma"),
        ("a.parquet", "PAR1", "file.not-parquet", "", "end"),
        ("a.jsonl", "", "results.empty", "", "did the run"),
    ],
)
def test_a_file_that_holds_no_results(tmp_path, name, content, code, named, hint):
    found = problem(tmp_path, name, content)
    assert found.code == code
    assert named in found.message
    assert hint in (found.hint or "")
