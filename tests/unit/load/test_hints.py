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
    ("line", "message", "hint"),
    [
        ('{"id": "A", "passed": true, "passed": false}', "duplicate key 'passed'", "keep one of the two"),
        ('{"id": "A", "behaviors": {"a": true, "a": false}}', "duplicate key 'a'", "keep one of the two"),
        ('{"id": "A", "latency_ms": NaN}', "NaN is not a JSON number", "write null where there is no number"),
        ('{"id": "A", "latency_ms": 1e400}', "1e400 is not a finite number", "write null where there is no number"),
        ('{"id": "A", "input": "\\ud800"}', "half of a surrogate pair", "cut at a whole character"),
        ('{"id": "A", "passed": true} {"id": "B"}', "text after the object", "each result on a line of its own"),
        ('{"id": "A", "pas', "this line is cut off", "did the run end before"),
        ("{'id': 'A'}\n", "this is not JSON", "in double quotes"),
        ('{"id": "A", "passed": True}\n', "this is not JSON", "write true, false and null"),
        ('{"id": "A", "passed": true,}\n', "this is not JSON", "no comma before } or ]"),
        ('{\n  "id": "A"\n}\n', "this is not JSON", "one result per line, or name the file .json and write an array"),
        ("id,passed\nA,true\n", "this is not JSON", "one JSON object per line"),
        ("[1]\n", "found a list of 1, wanted an object", '{"id": …}'),
        ("3\n", "found 3, wanted an object", '{"id": …}'),
    ],
)
def test_a_line_that_is_no_result(tmp_path, line, message, hint):
    found = problem(tmp_path, "results.jsonl", line)
    assert message in found.message
    assert hint in (found.hint or "")
    assert found.line == 1


@pytest.mark.parametrize(
    ("column", "value", "hint"),
    [
        ("id", 1.5, "write it in quotes"),
        ("category", 1, "write it in quotes"),
        ("expected", 1, "write it in quotes"),
        ("passed", "true", "write it without quotes"),
        ("passed", 1, "write true or false"),
        ("correct", "yes", "write true or false"),
        ("latency_ms", "12", "write it without quotes"),
        ("latency_ms", "12ms", "write the number alone"),
        ("tokens_used", 1.5, "tokens are counted whole"),
        ("quality_score", 80, "divided by 100"),
        ("weight", 0, "leave a scenario out that should not count"),
        ("expected_behaviors", "greets", "write it as a list"),
        ("behaviors", "greets", "write it as a list"),
        ("behaviors", [{"name": "a", "observed": True}, {"name": "a", "observed": False}], "say each name once"),
        ("outcome", "TP", "write it in small letters"),
        ("tags", {"locale": 1}, "write every value as text"),
        ("team", ["red"], "slice by a column that has one value"),
        ("steps", "12", "write it without quotes"),
    ],
)
def test_a_value_that_its_column_cannot_have(tmp_path, column, value, hint):
    found = problem(tmp_path, "results.jsonl", json.dumps({"id": "A", column: value}) + "\n")
    assert found.message.startswith(f"{column}: found ")
    assert hint in (found.hint or "")


@pytest.mark.parametrize(
    ("name", "content", "message", "hint"),
    [
        ("a.json", '"text"]', "wanted a JSON array", "name the file .jsonl"),
        ("a.json", '[{"id": "A", "passed": true},]', "a comma before the end", "no comma after the last result"),
        ("a.json", '[{"id": "A", "passed": true}', "the array is cut off", "did the run end before"),
        ("a.json", '[{"id": "A", "passed": True}]', "this is not JSON", "write true, false and null"),
        ("a.json", '[{"id": "A", "passed": true, "passed": false}]', "duplicate key", "keep one of the two"),
        ("a.csv", "id,passed\nA,true,x\n", "found 3 fields, wanted 2", "put a field that contains a comma"),
        ("a.csv", "id,passed,passed\nA,true,true\n", "duplicate column 'passed'", "keep one of the two"),
        ("a.csv", "id,passed,\nA,true,\n", "a column without a name", "a comma too many"),
        ("a.csv", "id;passed\nA;true\n", "the header is one field", "a comma between fields"),
        ("a.parquet", "PAR1", "this is not a sound Parquet file", "written to its end"),
        ("a.jsonl", "", "the results hold no row", "did the run write its results?"),
    ],
)
def test_a_file_that_holds_no_results(tmp_path, name, content, message, hint):
    found = problem(tmp_path, name, content)
    assert message in found.message
    assert hint in (found.hint or "")
