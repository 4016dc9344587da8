"""A check at a Spark Connect server: through the command line, and with a DataFrame of the caller's own session."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.commandline import run
from tests.patience import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.spark]


@pytest.fixture
def address(spark: Any, connect_port: int) -> str:
    """The address of the server that the session of all tests is, too."""
    assert spark

    def answers() -> bool:
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", connect_port)) == 0

    wait_for(answers, "the server does not answer")
    return f"sc://127.0.0.1:{connect_port}"


def test_a_check_at_a_connect_server_has_the_same_verdict(address: str, tmp_path: Path) -> None:
    def judged(*options: str) -> dict[str, Any]:
        arguments = ("check", str(tmp_path / "results.jsonl"), "--format", "json", *options)
        done = run(tmp_path, *arguments, process=bool(options))  # a remote session and that of the tests do not mix
        assert done.exit == 1, done.err
        found: dict[str, Any] = done.json
        return {name: found[name] for name in ("verdict", "counts", "rules", "scenarios_failed")}

    rows = ({"id": name, "passed": name != "b", "latency_ms": 12.5} for name in "abc")
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (tmp_path / "highbar.json").write_text('{"thresholds": {"blocking": {"pass_rate": "≥ 90%"}}}', "utf-8")
    assert judged("--engine", "spark", "--spark-remote", address) == judged()


OF_A_FRAME = """
import json, sys, warnings
warnings.simplefilter("ignore")
from pyspark.sql import SparkSession
import highbar
session = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
frame = session.read.parquet(sys.argv[2])
policy = {"thresholds": {"blocking": {"pass_rate": 50, "latency_p95": 5000}}}
verdict = highbar.check(frame, policy)
here = highbar.check(sys.argv[2], policy)
assert [(one.rule, one.value, one.outcome) for one in verdict.rules] == [
    (one.rule, one.value, one.outcome) for one in here.rules]
try:
    highbar.check(frame.selectExpr("id", "'yes' AS passed"), policy)
except highbar.InputError as error:
    print(error)
try:
    highbar.check(frame.selectExpr("'a' AS id", "passed", "raise_error('no') AS error"), policy)
except highbar.InputError as error:
    print(error)
print(session.range(3).count())
"""


def test_a_frame_of_a_connect_session_is_checked_and_refused_as_any_other(address: str, tmp_path: Path) -> None:
    import duckdb

    file = tmp_path / "rows.parquet"
    duckdb.connect().sql(
        "SELECT 's' || range AS id, 'c' || (range % 3) AS category, range % 5 > 0 AS passed,"
        " (hash(range) % 1000) / 8 AS latency_ms FROM range(1000)"
    ).write_parquet(str(file))
    done = subprocess.run(
        [sys.executable, "-c", OF_A_FRAME, address, str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    named = {"[results.unreadable]": "1000 of 1000", "[spark.cannot-read]": "[USER_RAISED_EXCEPTION] no"}
    for code, values in named.items():
        assert [values in line for line in done.stdout.splitlines() if code in line] == [True], done.stdout
    assert "'s0'" in done.stdout
    assert done.stdout.endswith("3\n")


def test_a_server_that_is_not_there_is_said(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text(json.dumps({"id": "a", "passed": True}) + "\n", "utf-8")
    remote = "sc://127.0.0.1:1"
    done = run(tmp_path, "check", "results.jsonl", "--engine", "spark", "--spark-remote", remote, process=True)
    assert (done.exit, done.codes) == (2, ["spark.no-session"]), done.err
