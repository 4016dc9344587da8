"""Which tool a file is taken for, by its name and its first bytes: the right one, or none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from highbar import importers
from tests.importers.imported import FIXTURES, recognized, samples, written

ROOT = Path(__file__).parents[2]
TOOLS = {
    "inspect": "inspect",
    "junit": "junit",
    "junit_js": "junit",
    "lm_eval": "lm-eval",
    "every_eval_ever": "every-eval-ever",
    "promptfoo": "promptfoo",
    "deepeval": "deepeval",
} | {
    "mlflow": "mlflow",
    "otlp": "otel",
    "otel": "otel",
    "otel_events": "otel",
    "pydantic_evals": "pydantic-evals",
    "tau_bench": "tau-bench",
    "agentskills": "agentskills",
}
OURS = [*ROOT.glob("examples/**/*.jsonl"), *ROOT.glob("tests/golden/*/*.json*"), *ROOT.glob("tests/golden/*/*.csv")]


@pytest.mark.parametrize("folder", sorted(path.name for path in FIXTURES.iterdir()))
def test_every_fixture_is_taken_for_its_tools(folder):
    for path in sorted((FIXTURES / folder).glob("*")):
        if path.name != "totals.json" and path.is_file():
            assert recognized(path) == ("junit" if path.name.endswith(".junit.xml") else TOOLS[folder])


@pytest.mark.parametrize("folder", sorted({*TOOLS} - {"otel", "otel_events"}))
def test_no_real_file_is_taken_for_another_tools(folder):
    for path in samples(folder):
        assert recognized(path) in (TOOLS[folder], "junit" if path.name.endswith(".junit.xml") else None, None)


def test_no_file_of_ours_is_taken_for_a_tools():
    assert OURS
    assert {recognized(path) for path in OURS} == {None}


@pytest.mark.parametrize(
    "row",
    [
        {"id": "a", "passed": True},
        {"doc_id": "a", "id": "b"},
        {"version": 2, "id": "a"},
        {"results": "x", "id": "a"},
        {
            "id": "a",
            "output": '{"promptIdx": 1, "testIdx": 2, "gradingResult": null} <testsuite> "doc_id": 1, "doc": {',
        },
    ],
)
def test_a_row_of_ours_stays_ours_whatever_it_says(tmp_path, row):
    for name in ("r.jsonl", "r.json"):
        assert recognized(written(tmp_path, name, json.dumps(row))) is None


def test_a_name_alone_decides_for_logs_that_have_their_own_ending(tmp_path):
    assert recognized(written(tmp_path, "x.eval", b"anything")) == "inspect"
    assert recognized(written(tmp_path, "x.EVAL", b"anything")) == "inspect"
    assert recognized(written(tmp_path, "x.xml", b"<html/>")) is None
    assert recognized(written(tmp_path, "x.txt", b"<testsuite/>")) is None


def test_every_tool_in_the_table_has_a_reader_a_title_and_a_page():
    for importer in importers.IMPORTERS:
        assert callable(importer.read)
        assert importer.title
        page = {"map": "mapping", "otel": "opentelemetry"}.get(importer.name, importer.name)
        assert (ROOT / "docs" / "how-to" / f"{page}.md").exists()


def test_a_sign_answers_quickly_for_the_longest_start_of_a_file():
    for pattern in {pattern for importer in importers.IMPORTERS for _, pattern in importer.signs if pattern}:
        importer = importers.Importer("x", "x", "x", ((".x", pattern),))
        for head in (b'{"a": ' * 10_000, b" " * 65_536, b'{"results": {"a": {' + b"x" * 65_000, b"<" * 65_536):
            assert not importer.recognizes("f.x", head)
