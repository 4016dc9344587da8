"""Recognizes a file by its name and first bytes: a regular expression for each tool, and a test for our own rows.

In a module of its own, so that recognizing a file loads no importer, and our own files load no plugin. A sign must not
match our own rows or a file of another tool.
"""

from __future__ import annotations

import csv
import re
import zlib

from highbar.columns import COLUMN_NAMES
from highbar.importers.limits import LARGEST_HEAD

INSPECT = rb'^\s*\{\s*("version"\s*:\s*\d+\s*,\s*)?"status"\s*:\s*"\w+"\s*,\s*"eval"\s*:\s*\{'

PROMPTFOO = (
    rb'^\s*\{\s*("evalId"\s*:.{0,200}?"results"\s*:\s*\{'
    rb'|"results"\s*:\s*\{\s*("version"|"timestamp"|"results"|"stats")\s*:'
    rb'|("version"\s*:\s*1\s*,\s*)?"results"\s*:\s*\[\s*\{\s*"prompt"\s*:'  # version 1, and the one before
    rb'|("data"\s*:\s*\{\s*)?"version"\s*:\s*\d\s*,\s*"createdAt"\s*:'  # as promptfoo stores and shares it
    rb'|"_resultsLoaded"\s*:)'
)
PROMPTFOO_LINE = rb'^\s*\{(?=[^\n]*"promptIdx"\s*:)(?=[^\n]*"testIdx"\s*:)(?=[^\n]*"gradingResult"\s*:)'
PROMPTFOO_TABLE = rb'^(\xef\xbb\xbf)?([^\n]*,Status,Score,Named Scores,|"\{""raw"":"")'
PROMPTFOO_XML = rb"^\s*(<\?xml[^>]*>\s*)?<promptfoo>"
PROMPTFOO_YAML = rb"^evalId:[^\n]*\r?\nresults:\s*\n"
PROMPTFOO_HTML = rb"(?i)^\s*<!doctype html>.*promptfoo"
SQLITE = rb"^SQLite format 3\x00"

LM_EVAL_LINE = rb'^\s*\{\s*"doc_id"\s*:\s*\d+\s*,\s*"doc"\s*:'
LM_EVAL = rb'^\s*\{\s*"results"\s*:\s*\{\s*"[^"]*"\s*:\s*\{[^{}]*"([^"]*_stderr[^"]*|alias)"\s*:'

EVERY_EVAL_EVER_LINE = (
    rb'^(\xef\xbb\xbf)?\s*\{(?=[^\n]*"schema_version"\s*:)(?=[^\n]*"evaluation_id"\s*:)(?=[^\n]*"sample_id"\s*:)'
    rb'(?=[^\n]*"interaction_type"\s*:)'
)
EVERY_EVAL_EVER = (  # the aggregate, which has no samples
    rb'^(\xef\xbb\xbf)?\s*\{(?=.*"schema_version"\s*:)(?=.*"model_info"\s*:\s*\{)(?=.*"evaluation_results"\s*:\s*\[)'
)

JUNIT = rb"<((?i:testsuites?|testcase)|testrun)[\s/>]"

DEEPEVAL = (
    rb'^\s*\{\s*("testRunData"\s*:\s*\{\s*)?("testFile"\s*:\s*(null|"[^"]*")\s*,\s*)?'
    rb'("testCases"|"conversationalTestCases")\s*:\s*\['
    rb'|^\s*\{\s*"(agentSpans|baseSpans)"\s*:\s*\['  # a trace, which is refused with a hint about test runs
)

PYDANTIC_EVALS = (
    rb'^\s*\{\s*"name"\s*:\s*"(?:[^"\\]|\\.)*"\s*,\s*"cases"\s*:\s*\['
    rb'\s*(\{\s*"name"\s*:\s*"(?:[^"\\]|\\.)*"\s*,\s*"inputs"\s*:|\]\s*,\s*"failures"\s*:)'
)

TAU_BENCH = (
    rb'^\s*\[\s*\{\s*"task_id"\s*:\s*(\d+|"[^"]*")\s*,\s*"reward"\s*:'
    rb'|^\s*\{\s*"timestamp"\s*:\s*"[^"]*"\s*,\s*"info"\s*:\s*\{\s*"git_commit"\s*:'
)

MLFLOW = rb'^\s*\{\s*"columns"\s*:\s*\[\s*"|^\s*\[\s*\{\s*"trace_id"\s*:\s*"tr-'
MLFLOW_LINE = rb'^\s*\{\s*"trace_id"\s*:\s*"tr-[^\n]*/value"\s*:'
MLFLOW_COLUMNS = (
    rb'^\s*\{\s*("trace_id"\s*:\s*\{\s*"[^"]*"\s*:\s*"tr-|"[^"]+"\s*:\s*\{\s*"0"\s*:.*/v\d+\\?/score"\s*:\s*\{)'
)
MLFLOW_INDEX = rb'^\s*\{\s*"[^"]*"\s*:\s*\{\s*"trace_id"\s*:\s*"tr-'
MLFLOW_SCHEMA = rb'^\s*\{\s*"schema"\s*:\s*\{\s*"fields"\s*:\s*\[.{0,200}?"name"\s*:\s*"(trace_id|inputs)"'
MLFLOW_TABLE = rb"^(\xef\xbb\xbf)?(([^\n{]*,)?trace_id,[^\n]*/value\b|[^\n{]*/v\d+/score\b)"  # CSV

AGENTSKILLS = rb'^\s*\{.*"(expectations|assertion_results)"\s*:\s*\['
AGENTSKILLS_BENCHMARK = rb'^\s*\{\s*"metadata"\s*:\s*\{\s*"skill_name"\s*:'

OTEL = rb'^\s*\{\s*"resource(Logs|Spans|Metrics|Profiles|_logs|_spans|_metrics)"\s*:\s*\['


_SHARED = {
    "category", "cluster", "correct", "error", "expected", "input", "judge", "outcome", "output", "predicted", "suite",
    "tags", "trial", "weight",
}  # fmt: skip
"""Our columns whose names also occur in files of other tools."""
_OURS = COLUMN_NAMES - _SHARED
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]', re.DOTALL)
_GZIP = 31  # for zlib: expect the header of gzip


def is_ours(name: str, head: bytes) -> bool:
    """Whether the first row has `id` or another column that only our own rows have; always for Parquet and zstd."""
    lowered = name.lower()
    if lowered.endswith((".parquet", ".jsonl.zst", ".ndjson.zst", ".json.zst", ".csv.zst")):
        return True
    if lowered.endswith(".gz"):
        lowered, head = lowered.removesuffix(".gz"), _unpacked(head)
    text = head.decode("utf-8-sig", "replace").lstrip()
    names = _header(text) if lowered.endswith(".csv") else _keys(text)
    return bool(names & _OURS)


def _unpacked(head: bytes) -> bytes:
    try:
        return zlib.decompressobj(_GZIP).decompress(head, LARGEST_HEAD)
    except zlib.error:
        return b""


def _header(text: str) -> set[str]:
    try:
        return {cell.strip() for cell in next(csv.reader(text.splitlines()[:1]), [])}
    except csv.Error:
        return set()


def _keys(text: str) -> set[str]:
    """The keys of the first object of a JSON text, which may be in an array, and may be cut off."""
    found: set[str] = set()
    depth, string = 0, ""
    for place in _TOKEN.finditer(text.lstrip("[ \t\r\n")):
        mark = place[0]
        if mark == ":" and depth == 1:
            found.add(string.strip('"'))
        depth += (mark in "{[") - (mark in "}]")
        string = mark
        if depth <= 0:
            break
    return found
