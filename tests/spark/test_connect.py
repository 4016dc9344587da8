"""A check at a Spark Connect server: through the command line, and with a DataFrame of the caller's own session."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.commandline import run
from tests.patience import PATIENCE, wait_for
from tests.spark.conftest import FEW_ROWS

pytestmark = [pytest.mark.slow, pytest.mark.spark]

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
SETTINGS = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.log.level": "OFF",
    "spark.driver.extraJavaOptions": FEW_ROWS,
}


def waiting(port: int) -> bool:
    """Whether the server takes connections."""
    with socket.socket() as one:
        one.settimeout(0.2)
        return one.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that runs while these tests do."""
    assert shutil.which("java"), "Spark needs Java 17 or newer; scripts/setup installs it"
    import pyspark

    home = Path(pyspark.__file__).parent
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    given = SETTINGS | {"spark.connect.grpc.binding.port": str(port), "spark.connect.grpc.binding.address": "127.0.0.1"}
    options = [word for name, value in given.items() for word in ("--conf", f"{name}={value}")]
    server = subprocess.Popen(
        [home / "bin" / "spark-submit", "--class", SERVER, *options],
        env={**os.environ, "SPARK_HOME": str(home)},
        cwd=tmp_path_factory.mktemp("server"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:

        def answers() -> bool:
            assert server.poll() is None, "the server ended"
            return waiting(port)

        wait_for(answers, "the server does not answer")
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(PATIENCE)


def test_a_check_at_a_connect_server_has_the_same_verdict(address: str, tmp_path: Path) -> None:
    def judged(*options: str) -> dict[str, Any]:
        done = run(tmp_path, "check", str(tmp_path / "results.jsonl"), "--format", "json", *options, process=True)
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
    assert "1000 of 1000 results do not have the declared form, among them 's0'" in done.stdout
    assert "cannot be read by Spark: [USER_RAISED_EXCEPTION] no" in done.stdout
    assert done.stdout.endswith("3\n")


def test_a_server_that_is_not_there_is_said(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text(json.dumps({"id": "a", "passed": True}) + "\n", "utf-8")
    remote = "sc://127.0.0.1:1"
    done = run(tmp_path, "check", "results.jsonl", "--engine", "spark", "--spark-remote", remote, process=True)
    assert done.exit == 2, done.err
    assert "no Spark session" in done.err
