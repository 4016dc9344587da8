"""A Spark Connect server that is none, that dies or that falls silent, through the command line."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

import pytest

from tests.commandline import run
from tests.patience import PATIENCE, wait_for
from tests.spark.test_commands import is_read_by_java

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.process]

SERVER = """
import sys, time
from pyspark import SparkContext
from pyspark.sql import SparkSession
SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config(
    "spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin").config(
    "spark.connect.grpc.binding.port", sys.argv[1]).getOrCreate()
print(SparkContext._gateway.proc.pid, flush=True)
time.sleep(3600)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = (json.dumps({"id": f"s{number}", "passed": True, "latency_ms": number}) for number in range(200_000))
    (tmp_path / "results.jsonl").write_text("\n".join(rows), "utf-8")
    (tmp_path / "again.jsonl").write_bytes((tmp_path / "results.jsonl").read_bytes())
    (tmp_path / "highbar.json").write_text('{"thresholds": {"blocking": {"pass_rate": 50}}}', "utf-8")
    return tmp_path


@contextmanager
def listener() -> Iterator[socket.socket]:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen(64)
        yield one


@contextmanager
def server() -> Iterator[tuple[str, int]]:
    """The address of a Spark Connect server of its own, and the process that serves."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", SERVER, str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as starter:
        assert starter.stdout is not None
        java = int(starter.stdout.readline())
        try:
            yield f"sc://127.0.0.1:{port}", java
        finally:
            with suppress(ProcessLookupError):
                os.kill(java, signal.SIGKILL)
            starter.kill()


@contextmanager
def checking(folder: Path, address: str, name: str = "results.jsonl") -> Iterator[subprocess.Popen[str]]:
    """A check at the server that has begun to read the results."""
    results = str(folder / name)  # the server has a working folder of its own
    with subprocess.Popen(
        [sys.executable, "-m", "highbar", "check", results, "--engine", "spark", "--spark-remote", address],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:

        def is_read() -> bool:
            assert process.poll() is None, process.communicate()
            return is_read_by_java(folder / name)

        wait_for(is_read, "the results are not read")
        yield process


def answer_as_a_web_server(one: socket.socket) -> None:
    with suppress(OSError):
        while True:
            with one.accept()[0] as call:
                call.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi")


@pytest.mark.parametrize("speaks", [False, True])
def test_a_listener_that_is_no_spark_connect_server_is_refused(tmp_path: Path, speaks: bool) -> None:
    (tmp_path / "results.jsonl").write_text('{"id": "a", "passed": true}\n', "utf-8")
    with listener() as one:
        if speaks:
            Thread(target=answer_as_a_web_server, args=(one,), daemon=True).start()
        address = f"sc://127.0.0.1:{one.getsockname()[1]}"
        options = ("--engine", "spark", "--spark-remote", f"{address}/;token=secret-token")
        done = run(tmp_path, "check", "results.jsonl", "--policy", "typical", *options, process=True)
    assert (done.exit, done.out, done.codes) == (2, "", ["spark.no-session"])
    assert address in done.err
    assert "secret-token" not in done.err


def assert_lost(said: str, address: str) -> None:
    """The first line on standard error says that the server no longer answers."""
    first = said.splitlines()[0]
    assert address in first
    assert first.endswith(" [spark.no-session]")


def test_a_server_that_dies_while_it_works_is_said_with_its_address(folder: Path) -> None:
    with server() as (address, java), checking(folder, address) as process:
        os.kill(java, signal.SIGKILL)
        out, said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (2, "")
    assert_lost(said, address)


def test_a_server_that_falls_silent_is_said_and_a_signal_ends_the_check_before(folder: Path) -> None:
    with server() as (address, java):
        with checking(folder, address) as process:
            os.kill(java, signal.SIGSTOP)
            process.terminate()
            out, said = process.communicate(timeout=PATIENCE)
        assert (process.returncode, out) == (143, "")
        assert said == "highbar: stopped by SIGTERM\n"
        os.kill(java, signal.SIGCONT)
        with checking(folder, address, "again.jsonl") as process:
            os.kill(java, signal.SIGSTOP)
            out, said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (2, "")
    assert_lost(said, address)


def test_settings_of_spark_name_the_master_and_java_is_not_heard(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text('{"id": "a", "passed": true}\n', "utf-8")
    (tmp_path / "highbar.json").write_text('{"thresholds": {"blocking": {"pass_rate": 50}}}', "utf-8")
    command = [sys.executable, "-m", "highbar", "check", "results.jsonl", "--engine", "spark"]

    def judged(master: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYSPARK_SUBMIT_ARGS": f"--master {master} pyspark-shell"}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    done = judged("local[1]")
    assert (done.returncode, done.stderr) == (0, "")
    done = judged("no-such-master")
    assert done.returncode == 2
    assert "Master must either be yarn or start with" in done.stderr


def test_a_check_in_the_java_of_spark_submit_ends_with_its_verdict(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text('{"id": "a", "passed": false}\n', "utf-8")
    (tmp_path / "highbar.json").write_text('{"thresholds": {"blocking": {"pass_rate": 50}}}', "utf-8")
    import highbar.__main__ as program

    submit = [str(Path(sys.executable).with_name("spark-submit")), "--master", "local[1]"]
    check = [str(program.__file__), "check", "results.jsonl", "--engine", "spark"]
    done = subprocess.run(
        [*submit, "--conf", "spark.logConf=true", *check],
        cwd=tmp_path,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("FAIL")
    assert "spark.master=local[1]" in done.stderr
