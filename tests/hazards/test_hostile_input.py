"""Group I: nothing in a file that is handed to `check` is run, fetched or trusted."""

from __future__ import annotations

import os
import pickle
import tempfile
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from highbar.engine.duckdb import connect_to_files
from tests.commandline import check, judged, refused, run
from tests.patience import processor_time

PASSES = {"thresholds": {"blocking": {"pass_rate": "≥ 50%"}}}
PASSED = {"id": "A", "passed": True}


class Trap:
    """Unpickling one makes a file."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("pwned",)


@pytest.mark.parametrize("name", ["results.pkl", "results.jsonl", "results.parquet", "results.xyz"])
def test_h119_a_pickle_is_not_loaded(tmp_path: Path, name: str) -> None:
    refused(check(tmp_path, pickle.dumps(Trap()), PASSES, name=name), name)
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    "policy",
    [
        "!!python/object/apply:os.mkdir ['pwned']\n",
        "thresholds: !!python/object/apply:os.mkdir ['pwned']\n",
        "thresholds: { blocking: { pass_rate: !secret ≥ 50% } }\n",
    ],
)
def test_h120_yaml_tags_are_refused(tmp_path: Path, policy: str) -> None:
    refused(check(tmp_path, [PASSED], policy), "policy.yaml")
    assert not (tmp_path / "pwned").exists()


def test_h120_an_alias_bomb_is_refused_at_once(tmp_path: Path) -> None:
    layers = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
    with processor_time(below=10):
        refused(check(tmp_path, [PASSED], f"a0: &a0 [x]\n{layers}thresholds: {{ blocking: {{ pass_rate: ≥ 50% }} }}\n"))


def test_h120_a_suite_is_read_as_strictly_as_a_policy(tmp_path: Path) -> None:
    (tmp_path / "scenarios.yaml").write_text("!!python/object/apply:os.mkdir ['pwned']\n")
    refused(check(tmp_path, [PASSED], {**PASSES, "suite": "scenarios.yaml"}), "scenarios.yaml")
    assert not (tmp_path / "pwned").exists()


def test_h122_a_file_name_is_not_sql(tmp_path: Path) -> None:
    name = "x'); COPY (SELECT 1) TO 'pwned'; --.jsonl"
    judged(check(tmp_path, [PASSED], PASSES, name=name), "pass")
    assert not (tmp_path / "pwned").exists()


def test_h122_names_and_values_are_not_sql(tmp_path: Path) -> None:
    name = "a\"'; COPY (SELECT 1) TO 'pwned'; --"
    rows = [
        {
            "id": name,
            "passed": True,
            "category": name,
            name: name,
            "tags": {name: name},
            "violations": [],
            "behaviors": [name],
        }
    ]
    where = {"category": name, name: name, f"tags.{name}": name}
    policy = {
        "rules": [
            {"metric": "pass_rate", "where": {column: value}, "threshold": "100%"} for column, value in where.items()
        ],
        "required_scenarios": {"ids": [name]},
        "slices": [name, f"tags.{name}"],
    }
    verdict = judged(check(tmp_path, rows, policy), "pass")
    assert len(verdict["rules"]) == 4
    assert not (tmp_path / "pwned").exists()


def test_h122_a_metric_name_is_not_sql(tmp_path: Path) -> None:
    refused(
        check(tmp_path, [PASSED], {"metrics": [{"name": "a\"; ATTACH 'x'", "formula": "pass_rate"}], **PASSES}),
        "ATTACH",
    )


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM read_csv('other.csv')",
        "SELECT * FROM glob('*')",
        "ATTACH 'other.db'",
        "COPY (SELECT 1) TO 'pwned'",
        "COPY (SELECT 1) TO 'results.csv'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET threads = 64",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "SELECT * FROM trap",
    ],
)
@pytest.mark.parametrize("memory_limit", [None, "200MB"])
def test_h123_the_engine_reads_the_named_files_and_does_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str, memory_limit: str | None
) -> None:
    """The one test here that goes past the command line, which takes no SQL to try."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # what is spilled goes there, and opens it to no query
    for name in ("results.csv", "other.csv"):
        Path(name).write_text("id,passed\nA,true\n")
    trap = pa.table({"id": ["A"]})  # a variable of the caller's that a query must not see as a table
    results = str(tmp_path / "results.csv")
    connection = connect_to_files([results], memory_limit=memory_limit)
    try:
        assert connection.execute("SELECT count(*) FROM read_csv(?)", [results]).fetchone() == (1,)
        with pytest.raises(duckdb.Error):
            connection.execute(statement.replace("'results.csv'", f"'{results}'"))
    finally:
        connection.close()
    assert trap.num_rows == 1
    assert not Path("pwned").exists()
    assert Path("results.csv").read_text() == "id,passed\nA,true\n"


def test_h124_a_broken_parquet_file_is_refused(tmp_path: Path) -> None:
    refused(check(tmp_path, b"PAR1" + bytes(range(256)) + b"PAR1", PASSES, name="results.parquet"), "results.parquet")


@pytest.mark.parametrize("name", ["results.duckdb", "results.db"])
def test_h124_a_database_is_not_opened(tmp_path: Path, name: str) -> None:
    with duckdb.connect(str(tmp_path / "made.db")) as connection:
        connection.execute("CREATE TABLE results AS SELECT 'A' AS id, true AS passed")
    refused(check(tmp_path, (tmp_path / "made.db").read_bytes(), PASSES, name=name), name)


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/results.jsonl", "s3://bucket/results.parquet"])
def test_h125_an_address_is_not_fetched(tmp_path: Path, address: str) -> None:
    done = run(tmp_path, "check", address, "--format", "json")
    assert done.exit == 2, done.out + done.err
    assert "Traceback" not in done.err


def test_h126_a_pattern_does_not_run_for_ever(tmp_path: Path) -> None:
    policy = {"required_scenarios": {"ids": ["*a" * 30 + "*b"]}}
    with processor_time(below=20):
        judged(check(tmp_path, [{"id": "a" * 2000, "passed": True}], policy), "fail")


def test_h128_a_formula_is_arithmetic_and_runs_nothing(tmp_path: Path) -> None:
    formulas = [
        "__import__('os').mkdir('pwned')",
        "().__class__.__bases__",
        "[pass_rate for _ in (1, 2)]",
        "(lambda: pass_rate)()",
        "pass_rate.__class__",
        "9 ** 9 ** 9 ** 9",
        "open('policy.json')",
        "f'{pass_rate}'",
        "pass_rate if pass_rate else 1",
        "(pass_rate := 1)",
    ]
    metrics = [{"name": f"metric_{number}", "formula": formula} for number, formula in enumerate(formulas)]
    done = check(tmp_path, [PASSED], {"metrics": metrics, **PASSES})
    refused(done, "policy.json")
    assert len(done.json["problems"]) == len(formulas), done.problems
    assert not (tmp_path / "pwned").exists()


def test_h128_names_of_code_in_results_are_only_text(tmp_path: Path) -> None:
    row = {**PASSED, "agent": "os:mkdir", "judge": "os:mkdir", "module": "pwned", "command": "mkdir pwned"}
    judged(check(tmp_path, [row], PASSES), "pass")
    assert {path.name for path in tmp_path.iterdir()} == {"policy.json", "results.jsonl", ".git"}
