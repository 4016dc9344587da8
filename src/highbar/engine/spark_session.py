"""Paths → a Spark engine over them, in a session that is started for the check or reached at an address."""

from __future__ import annotations

import os
import re
import signal
import tempfile
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import unquote

from highbar.engine.duplicates import folder_problem
from highbar.engine.spark_connect import connected
from highbar.errors import InputError, Problem
from highbar.load.folders import COMPRESSIONS, SUFFIXES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession  # an optional extra

    from highbar.engine.spark import SparkEngine  # imports pyspark, an optional extra

FORMATS = ("parquet", "jsonl", "csv")
QUIET = {"spark.ui.enabled": "false", "spark.log.level": "OFF", "spark.ui.showConsoleProgress": "false"}
_RAISED = re.compile(r'(?:Exception in thread "main" |: )(.+)')
LOCAL = {"spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1))}


@contextmanager
def over_frame(frame: Any) -> Iterator[SparkEngine]:
    """An engine over a DataFrame of the caller's own session, which stays as it was."""
    _demand_pyspark()
    from highbar.engine.spark import SparkEngine  # imports pyspark, an optional extra

    with _closed_after(SparkEngine(frame)) as engine:
        yield engine


@contextmanager
def _closed_after(engine: SparkEngine) -> Iterator[SparkEngine]:
    """The engine, which leaves the session as it was, however the check ends."""
    try:
        yield engine
    except BaseException as error:
        engine.leave(error)
        raise
    engine.close()


@contextmanager
def over_paths(
    paths: Sequence[str], *, input_format: str | None, master: str | None, remote: str | None
) -> Iterator[SparkEngine]:
    """An engine over files that the session can read: local ones, or at any address that it supports."""
    format_ = _format(paths, input_format)
    _demand_pyspark()
    from highbar.engine.spark import SparkEngine, refuse_spark_errors  # imports pyspark, an optional extra

    with _session(master, remote) as session:
        with refuse_spark_errors():
            frame = read_files(session, list(paths), format_)
        with _closed_after(SparkEngine(frame, format_=format_)) as engine:
            yield engine


def _format(paths: Sequence[str], input_format: str | None) -> str:
    if "-" in paths:
        raise InputError(Problem("spark.cannot-read", "Spark cannot read standard input", file="-"))
    if input_format is not None:
        if input_format in FORMATS:
            return input_format
        raise InputError(
            Problem(
                "spark.cannot-read", f"Spark cannot read {input_format!r}", hint=f"wanted one of {', '.join(FORMATS)}"
            )
        )
    found = {format_ for path in paths if (format_ := SUFFIXES.get(_suffix(path))) in FORMATS}
    if len(found) > 1:
        raise InputError(
            Problem(
                "results.several-formats",
                f"files of several formats: {', '.join(sorted(found))}",
                hint="check one at a time",
            )
        )
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
            Problem(
                "machine.missing-package",
                f"--engine spark needs {error.name}, which is not installed",
                hint="pip install 'highbar[spark]'",
            )
        ) from error


@contextmanager
def _session(master: str | None, remote: str | None) -> Iterator[SparkSession]:
    """The session that is there already, or at the address, or a new one, which ends with the context."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="pyspark")  # about the versions of what it uses, and its retries
        from pyspark.core.context import SparkContext  # an optional extra
        from pyspark.sql import SparkSession  # an optional extra

        remote = remote or (os.environ.get("SPARK_REMOTE") if master is None else None)
        current = None if remote else SparkSession.getActiveSession() or _of_context(SparkContext, SparkSession)
        if current is not None:
            _refuse_other(current, master)
            yield current
        elif remote:
            with connected(remote) as session:
                yield session
        else:
            session = _start(master)
            try:
                yield session
            finally:
                session.stop()


def _of_context(context: Any, sessions: Any) -> SparkSession | None:
    """The session of a context that runs in this process, whichever thread began it."""
    return sessions.builder.getOrCreate() if context._active_spark_context is not None else None  # noqa: SLF001 - no other way to ask


def _refuse_other(session: SparkSession, master: str | None) -> None:
    """Refuse another master than that of the session: Spark has one per process, and would ignore the other."""
    here = session.conf.get("spark.master", None)
    if master is not None and master != here:
        hint = "leave --spark-master out, or stop that session"
        raise InputError(
            Problem(
                "spark.session", f"this process has a Spark session with the master {here}, not {master}", hint=hint
            )
        )


def _start(master: str | None) -> SparkSession:
    """A session in a Java of our own, or in that of spark-submit. Without a master it is that of Spark's settings."""
    from py4j.protocol import Py4JError, Py4JNetworkError  # for errors that pyspark does not convert into its own
    from pyspark import SparkConf, SparkContext  # an optional extra
    from pyspark.errors import PySparkException  # an optional extra
    from pyspark.java_gateway import launch_gateway  # an optional extra
    from pyspark.sql import SparkSession  # an optional extra

    previous = signal.getsignal(signal.SIGINT)
    with tempfile.TemporaryFile() as noise:  # what Java says while it starts: nothing to a user, unless it fails
        try:
            launch: Any = launch_gateway
            gateway = SparkContext._gateway or launch(None, {"stderr": noise})  # noqa: SLF001 - of a stopped session
            conf = SparkConf(_jvm=gateway.jvm).setAppName("highbar")
            if master is not None:
                conf.setMaster(master)
            quiet = {} if "PYSPARK_GATEWAY_PORT" in os.environ else QUIET
            local = conf.get("spark.master", "local[*]").startswith("local")
            for name, value in (quiet | (LOCAL if local else {})).items():
                conf.setIfMissing(name, value)
            SparkContext(conf=conf, gateway=gateway)
            session = SparkSession.builder.getOrCreate()
        except KeyboardInterrupt:  # raised by pyspark's handler, which has replaced the caller's by now
            signal.signal(signal.SIGINT, previous)
            signal.raise_signal(signal.SIGINT)
            raise
        except ConnectionError as error:  # of our own Java: an address of a master is Java's to find
            raise Py4JNetworkError(str(error)) from error
        except Py4JNetworkError:
            raise
        except (PySparkException, Py4JError, RuntimeError, OSError) as error:
            hint = "is Java 17 or newer there, and the address of the master right?"
            where = f" at {master}" if master else ""
            raise InputError(
                Problem("spark.no-session", f"no Spark session{where}: {_cause(error, noise)}", hint=hint)
            ) from error
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, previous)  # pyspark replaces the caller's handler
    return session


def _cause(error: Exception, noise: IO[bytes]) -> str:
    """Why no session started: the error that Java raised, or what it said if it did not start either."""
    noise.seek(0)
    said = noise.read().decode("utf-8", "replace").splitlines() if "JAVA_GATEWAY_EXITED" in str(error) else []
    lines = [line for line in (*said, *str(error).splitlines()) if line.strip() and "Picked up" not in line]
    raised = (found[1] for line in lines if (found := _RAISED.match(line)))
    return next(raised, (lines or [type(error).__name__])[0])


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
