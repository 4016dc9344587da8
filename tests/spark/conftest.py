"""One Spark session for all tests here; it takes seconds to start."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

FEW_ROWS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
"""For Java: plans are many here and rows few, so what is compiled thoroughly never pays, nor what is verified."""
NO_CODE = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""For the same reason Spark interprets its plans; tests with many rows, or of the code, ask for `generated_code`."""


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for every Java that a command starts."""
    monkeypatch.setenv("JDK_JAVA_OPTIONS", FEW_ROWS)


@pytest.fixture(scope="session")
def connect_port() -> int:
    """A free port, at which the session is a Spark Connect server too: a second Java would take seconds to start."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


@pytest.fixture(scope="session")
def spark(connect_port: int) -> Iterator[Any]:
    """A local session with two workers; a test that needs it fails without Java."""
    assert shutil.which("java"), "Spark needs Java 17 or newer; scripts/setup installs it"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pyspark's own, of the versions of what it uses
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_PYTHON"] = sys.executable
        session = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.log.level", "OFF")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.adaptive.enabled", "false")
            .config("spark.driver.extraJavaOptions", FEW_ROWS)
            .config(map=NO_CODE)
            .config("spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin")
            .config("spark.connect.grpc.binding.address", "127.0.0.1")
            .config("spark.connect.grpc.binding.port", str(connect_port))
            .getOrCreate()
        )
        yield session
        session.stop()


@pytest.fixture
def generated_code(spark: Any) -> Iterator[None]:
    """Spark generates code for its plans, as it does for users."""
    spark.conf.set("spark.sql.codegen.wholeStage", "true")
    spark.conf.set("spark.sql.codegen.factoryMode", "FALLBACK")
    yield
    for name, value in NO_CODE.items():
        spark.conf.set(name, value)
