"""How the files of each tool begin: a regular expression, which must not match our own rows or a file of another tool.

In a module of its own, so that recognizing a file loads no importer.
"""

from __future__ import annotations

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
