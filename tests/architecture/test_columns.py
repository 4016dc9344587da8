"""A column of the results is one row of `columns.py`: no other file has a table with its facts."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import highbar
from highbar import columns
from highbar.columns import COLUMNS, MEASURED
from highbar.engine.column_readers import EMPTY, READERS
from highbar.engine.quantities import request_quantities, scaled_name, total_name
from highbar.load.row_faults import CHECKS
from highbar.report.schema_results import schema
from tests.architecture.repository import SOURCE

EVERYWHERE: Mapping[str, str] = {
    "columns.py": "its row",
    "catalogue.py": "the measures and metrics that formulas name",
    "load/names.py": "what other people call the columns",
    "core/rows/row.py": "the field of a row, with its type",
}
"""Files that may name any measured column."""

OF_A_REPLY: Mapping[str, str] = {
    "running/recorded_answers.py": "the reply in a row that was recorded",
    "running/calls.py": "what an agent says about its reply",
    "running/agents/replies.py": "the keys that a reply may have, and how each is read",
    "cli/agent.py": "`highbar agent try` shows what a reply said",
    "pytest_plugin/recording.py": "what a test records of the agent that it calls",
}
"""Files about replies of agents, which name these columns because agents do."""
OF_A_WIRE_FORMAT: Mapping[str, str] = {
    "running/agents/openai.py": "where the format has the number of tokens",
    "running/agents/anthropic.py": "likewise",
}

OF_A_JUDGE: Mapping[str, str] = {
    "model/judgments.py": "what one question to a judge used",
    "running/judging/http_judge.py": "where the wire formats have it",
    "running/judging/panel.py": "of several judges together",
    "running/judging/recorded.py": "of a whole run",
    "store/run_document.py": "likewise, in run.json",
}
"""Files about the judge, whose tokens and cost are apart from the agent's."""
OF_A_HISTORY: Mapping[str, str] = {
    "model/history.py": "what a scenario cost in a run",
    "store/history.py": "likewise, as a column of the record",
    "bar/run_records.py": "from the sums to the record",
}

MORE: Mapping[str, Mapping[str, str]] = {
    "cost_usd": {
        **OF_A_REPLY,
        **OF_A_JUDGE,
        **OF_A_HISTORY,
        "running/records.py": "the answer of several turns, summed",
        "suite/tools/promptfoo_assertions.py": "what promptfoo calls `cost`",
        "running/progress.py": "what a run has cost so far",
        "running/preparing.py": "likewise, of the part of it before a resume",
        "running/stopping.py": "the budget of a run",
        "running/summary.py": "what a run cost",
        "mcp_server/runs.py": "what is taken from the budget of a server",
    },
    "tokens_used": {
        **OF_A_REPLY,
        **OF_A_JUDGE,
        "cli/run_in_terminal.py": "what the judge of a run used",
        **OF_A_WIRE_FORMAT,
        "running/records.py": "the answer of several turns, summed",
        "engine/quantities.py": "the scoring expression of token_efficiency: quality and tokens of the same trials",
        "core/score/measures.py": "likewise",
        "core/score/scores.py": "whole numbers are kept as such",
        "core/score/settled.py": "likewise",
        "load/hints.py": "advice for a count that is no whole number",
        "measure/undefined.py": "the sentence for results that lack one of the pair",
    },
    "quality_score": {
        **OF_A_REPLY,
        "engine/quantities.py": "the scoring expression of token_efficiency",
        "core/score/measures.py": "likewise",
        "core/score/trial.py": "a score judges a trial",
        "load/hints.py": "advice for a score out of 100",
        "measure/undefined.py": "the sentence for results that lack one of the pair",
    },
}
"""By measured column, the files that name it besides, each with its reason.

latency_ms is not listed: the latency of a trial is also drawn, kept unrounded, shown beside failed trials, and the
default column of `p95` in a formula.
"""


def naming(column: str) -> set[str]:
    """The files of the product, importers aside, whose text has the column as a word."""
    word = re.compile(rf"\b{column}\b")
    files = (file for file in SOURCE.rglob("*.py") if file.relative_to(SOURCE).parts[0] != "importers")
    return {str(file.relative_to(SOURCE)) for file in files if word.search(file.read_text("utf-8"))}


@pytest.mark.parametrize("column", MORE)
def test_a_measured_column_is_named_only_where_a_reason_says_so(column: str) -> None:
    assert naming(column) == {*EVERYWHERE, *MORE[column]}


def listed(module: Path) -> Iterator[set[str]]:
    """The columns in each display (list, tuple, set, keys of a dictionary) of a module."""
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        items = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", ())
        yield {item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)}


def test_no_other_file_lists_measured_columns() -> None:
    measured = {column.name for column in MEASURED}
    files = (file for file in SOURCE.rglob("*.py") if file.relative_to(SOURCE).parts[0] != "importers")
    tables = {str(file.relative_to(SOURCE)) for file in files for names in listed(file) if len(names & measured) > 1}
    assert tables == {
        "load/hints.py",
        "load/names.py",
        "running/agents/replies.py",
        "running/records.py",
        "cli/agent.py",
        "store/history.py",  # the columns of a record of a run
    }


def test_every_reader_knows_every_column() -> None:
    names = [column.name for column in COLUMNS]
    assert list(READERS) == names
    assert sorted(CHECKS) == sorted(names)
    assert list(schema()["$defs"]["trial"]["properties"]) == names


@pytest.mark.parametrize("column", MEASURED, ids=lambda column: column.name)
def test_a_row_that_measures_is_typed_scaled_and_summed(column: columns.Column) -> None:
    assert EMPTY[column.name] in ("DOUBLE", "BIGINT")
    found = request_quantities([column.name], (), {})[column.name]
    assert found.total == total_name(column.name)
    assert scaled_name(column.name) in found.worst
    rows = [{"id": "a", "passed": True, column.name: 1}, {"id": "b", "passed": True, column.name: 0}]
    policy = {
        "metrics": [{"name": "mean_of_it", "formula": f"mean({column.name})", "better": column.better}],
        "thresholds": {"blocking": {"mean_of_it": ">= 0"}},
    }
    if column.better == "lower":
        policy["thresholds"] = {"blocking": {"mean_of_it": "<= 1"}}
    assert float(highbar.check(rows, policy).metrics["mean_of_it"].value) == pytest.approx(0.5)


NEW_ROW = """    Column(
        "carbon_grams", "number, 0 or more", "what it emitted", "measures", "number",
        least=0, most=10**9, scale=10**6, better="lower",
    ),
    Column("error","""


@pytest.mark.process
def test_a_new_measured_column_is_one_row(tmp_path: Path) -> None:
    source = tmp_path / "src"
    shutil.copytree(SOURCE, source / "highbar", ignore=shutil.ignore_patterns("__pycache__"))
    table = source / "highbar" / "columns.py"
    table.write_text(table.read_text("utf-8").replace('    Column("error",', NEW_ROW, 1), "utf-8")
    results, policy, refused = tmp_path / "results.jsonl", tmp_path / "policy.json", tmp_path / "refused.jsonl"
    results.write_text("".join(json.dumps({"id": f"s{i}", "passed": True, "carbon_grams": i}) + "\n" for i in range(5)))
    refused.write_text(json.dumps({"id": "a", "passed": True, "carbon_grams": -1}) + "\n")
    metrics = {"mean_carbon": "mean(carbon_grams)", "carbon_p50": "percentile(carbon_grams, 50%)"}
    policy.write_text(
        json.dumps(
            {
                "metrics": [{"name": name, "formula": formula, "better": "lower"} for name, formula in metrics.items()],
                "thresholds": {"blocking": dict.fromkeys(metrics, "<= 2")},
            }
        )
    )

    def check(file: Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "highbar", "check", str(file), "--policy", str(policy), "--format", "json"]
        environment = {**os.environ, "PYTHONPATH": str(source)}
        return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)

    done = check(results)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["metrics"]
    assert [found[name]["value"] for name in metrics] == [2, 2]
    (problem,) = json.loads(check(refused).stdout)["problems"]
    assert (problem["code"], problem["line"]) == ("row.wrong-value", 1)
    assert "carbon_grams: found -1" in problem["message"]
