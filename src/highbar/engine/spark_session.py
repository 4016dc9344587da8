"""Paths → a Spark engine over them, in a session that is started for the check or reached at an address."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from highbar.engine.duplicates import folder_problem
from highbar.errors import InputError, Problem
from highbar.load.folders import COMPRESSIONS, SUFFIXES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession  # an optional extra

    from highbar.engine.spark import SparkEngine  # imports pyspark, an optional extra

FORMATS = ("parquet", "jsonl", "csv")
CONNECT_PORT = 15002
QUIET = {"spark.ui.enabled": "false", "spark.log.level": "OFF", "spark.ui.showConsoleProgress": "false"}


@contextmanager
def over_frame(frame: Any) -> Iterator[SparkEngine]:
    """An engine over a DataFrame of the caller's own session, which stays as it was."""
    _demand_pyspark()
    from highbar.engine.spark import SparkEngine  # imports pyspark, an optional extra

    with _closed_after(SparkEngine(frame)) as engine:
        yield engine


@contextmanager
def _closed_after(engine: SparkEngine) -> Iterator[SparkEngine]:
    """The engine; if a signal ends the check, the engine's jobs are stopped too."""
    try:
        yield engine
    except Exception:  # its query has ended; only after a signal may a job still be running
        raise
    except BaseException:
        engine.interrupt()
        raise
    finally:
        engine.close()


@contextmanager
def over_paths(
    paths: Sequence[str], *, input_format: str | None, master: str | None, remote: str | None
) -> Iterator[SparkEngine]:
    """An engine over files that the session can read: local ones, or at any address that it supports."""
    format_ = _format(paths, input_format)
    _demand_pyspark()
    from highbar.engine.spark import SparkEngine, refuse_spark_errors  # imports pyspark, an optional extra

    session, started = _session(master, remote)
    try:
        with refuse_spark_errors():
            frame = read_files(session, list(paths), format_)
        with _closed_after(SparkEngine(frame, format_=format_)) as engine:
            yield engine
    finally:
        if started:
            session.stop()


def _format(paths: Sequence[str], input_format: str | None) -> str:
    if "-" in paths:
        raise InputError(Problem("Spark cannot read standard input", file="-"))
    if input_format is not None:
        if input_format in FORMATS:
            return input_format
        raise InputError(Problem(f"Spark cannot read {input_format!r}", hint=f"wanted one of {', '.join(FORMATS)}"))
    found = {format_ for path in paths if (format_ := SUFFIXES.get(_suffix(path))) in FORMATS}
    if len(found) > 1:
        raise InputError(Problem(f"files of several formats: {', '.join(sorted(found))}", hint="check one at a time"))
    return found.pop() if found else "parquet"


def _suffix(path: str) -> str:
    """The ending of a path by which its format is known; that of a compressed file is before the last one."""
    suffixes = [suffix for suffix in PurePosixPath(path).suffixes if suffix not in COMPRESSIONS]
    return suffixes[-1] if suffixes else ""


def _demand_pyspark() -> None:
    try:
        # Only to see whether the extra is installed: the message must name the package that is missing.
        import pyspark  # noqa: F401
        import sqlglot  # noqa: F401
    except ImportError as error:
        raise InputError(
            Problem(f"--engine spark needs {error.name}, which is not installed", hint="pip install 'highbar[spark]'")
        ) from error


def _session(master: str | None, remote: str | None) -> tuple[SparkSession, bool]:
    """The session, and whether we must stop it."""
    from pyspark.errors import PySparkException  # an optional extra
    from pyspark.sql import SparkSession  # an optional extra

    current = SparkSession.getActiveSession()
    if current is not None and master is None and remote is None:
        return current, False
    builder = SparkSession.builder.appName("highbar")
    builder = builder.remote(remote) if remote else builder.master(master or "local[*]")
    local = {"spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1))} if not master else {}
    for name, value in ({} if remote else QUIET | local).items():
        builder = builder.config(name, value)
    previous = signal.getsignal(signal.SIGINT)
    try:
        if remote:
            _reach(remote)
        session = builder.getOrCreate()
    except KeyboardInterrupt:  # raised by pyspark's handler, which has replaced the caller's by now
        signal.signal(signal.SIGINT, previous)
        signal.raise_signal(signal.SIGINT)
        raise
    except (PySparkException, RuntimeError, OSError) as error:
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        hint = "is Java 17 or newer there, and the address right?"
        raise InputError(Problem(f"no Spark session: {text}", hint=hint)) from error
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, previous)  # pyspark replaces the caller's handler
    return session, True


def _reach(remote: str) -> None:
    """Raise OSError if no server listens at the address: pyspark would retry for ten minutes."""
    place = urlsplit(remote.partition(";")[0].rstrip("/"))
    with (
        suppress(TimeoutError),
        socket.create_connection((place.hostname or "", place.port or CONNECT_PORT), timeout=5),
    ):
        pass


def read_files(session: SparkSession, paths: list[str], format_: str) -> Any:
    """The rows of the files: typed as in Parquet, or as lines or fields of text.

    Parquet files need not have the same columns: by default Spark would take those of one file for all, and an `error`
    that only another file has would be lost. Folders give columns only to Parquet, and none that the files have.
    """
    if format_ == "parquet":
        reader = session.read.option("mergeSchema", "true")
        frame = reader.parquet(*paths)
        own = reader.option("recursiveFileLookup", "true").parquet(*paths)  # without the columns of the folders
        _refuse_folders(frame.inputFiles(), paths, {name.casefold() for name in own.columns})
        return frame
    if format_ == "jsonl":
        return session.read.option("recursiveFileLookup", "true").text(paths)
    return session.read.option("recursiveFileLookup", "true").csv(
        paths, header=True, inferSchema=False, multiLine=True, mode="FAILFAST", escape='"', enforceSchema=False
    )


def _refuse_folders(files: Sequence[str], paths: Sequence[str], columns: set[str]) -> None:
    """Refuse a column that both the files and a folder below the named paths give: Spark would use the folder's."""
    for file in files:
        below = min((file.rpartition(path.rstrip("/"))[2] for path in paths), key=len)
        for folder in below.split("/")[:-1]:
            name = unquote(folder.partition("=")[0])
            if "=" in folder and name.casefold() in columns:
                raise InputError(folder_problem(name, file))
