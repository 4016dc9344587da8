"""A run in the history: one Parquet file, `RECORD.parquet`, written to a temporary name, renamed, and never changed.

Each row is a scenario. The footer has the facts that a list shows (`history_footer`) and the compressed verdict
document. The name is a digest of what identifies the run, so that adding a run twice gives one file, and no two writers
conflict.
"""

from __future__ import annotations

import atexit
import base64
import binascii
import functools
import glob
import hashlib
import json
import math
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from highbar.errors import InputError, Problem, ReportError
from highbar.model import Verdict
from highbar.model.history import NewRun, RunRecord, ScenarioCounts
from highbar.model.records import ScenarioRecord
from highbar.store import verdict as verdicts
from highbar.store.baseline_reading import parse_scenario
from highbar.store.history_footer import KEY, SUFFIX, VERDICT_KEY, DamagedRecordError, read_footer, read_footer_of
from highbar.store.reading import StoredDocument, refuse_constant, unique

COLUMNS: Mapping[str, str] = {
    "id": "VARCHAR",
    "digest": "VARCHAR",
    "category": "VARCHAR",
    "capability": "VARCHAR",
    "trials": "BIGINT",
    "passed": "BIGINT",
    "failed": "BIGINT",
    "undecided": "BIGINT",
    "weight": "DOUBLE",
    "cluster": "VARCHAR",
    "latency_ms": "DOUBLE",
    "cost_usd": "DOUBLE",
}
"""The columns of a record, and their types in DuckDB."""
MEASURES = "measures"
"""One more column: the values of all measures of a scenario, as a baseline writes them. Older records lack it."""
SETTINGS: Mapping[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
}
ROWS = "read_parquet(?, hive_partitioning = false)"
"""SQL for the rows of a record. The names of its folders give no columns: they would replace those of the record."""
MOST_TRIALS = 1_000_000
"""Trials of one scenario in one run; a record that says more is damaged."""
_LARGEST_DOCUMENT = 256 * 1024 * 1024
"""Bytes of a verdict document after decompression: a few bytes of a hostile record could unpack to any size."""
_NOT_IDENTITY = frozenset({"file", "line", "reason", "warnings", "description", "slices", "what", "before", "now"})
"""Keys of a verdict document that may contain paths, or that depend on what a report shows."""

_SAYS_NOTHING: tuple[Any, ...] = (None, [], {})


class WrittenRecord(Struct, frozen=True):
    """The record of a run that was to be added: its path, and whether it is new.

    `is_completed`: the record had only the verdict, and now has the scenarios, too.
    """

    file: str
    run: RunRecord
    is_new: bool
    is_completed: bool = False


class StoredRun(Struct, frozen=True, eq=False):
    """A whole record: the run, its verdict, the text of the verdict document, and the scenarios if known."""

    run: RunRecord
    verdict: Verdict
    document: str
    scenarios: tuple[ScenarioCounts, ...] | None


def open_cursor() -> duckdb.DuckDBPyConnection:
    """A cursor of this process's shared DuckDB: opening one takes 15 ms, and a history has thousands of records."""
    return _database(os.getpid()).cursor()


@functools.cache
def _database(_process: int) -> duckdb.DuckDBPyConnection:
    """One DuckDB per process id: a forked child must not use what its parent opened."""
    atexit.register(_database.cache_clear)
    return duckdb.connect(config=dict(SETTINGS))


# --- identity --------------------------------------------------------------------------------


def identity(document: Mapping[str, Any], added: int = 0) -> str:
    """The name of a verdict document's record: a digest of what was judged and of the outcome, without file names.

    Branch, commit and time do not count: a run that is added again from another place stays one run. Only if results
    have no digest, `added` counts: equal outcomes do not show that two runs are one, and a run must not be lost.
    """
    said = _identity_of(document)
    if added and not _has_digests(document):
        said["added"] = added
    text = json.dumps(said, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _has_digests(document: Mapping[str, Any]) -> bool:
    """Whether the document has results, and a digest of each file of them."""
    results = document.get("results") or [None]
    return all(isinstance(source, Mapping) and source.get("sha256") is not None for source in results)


def _is_named_by(run: RunRecord, content: object) -> bool:
    """Whether a record has the name of this verdict document. Earlier versions never counted `added`."""
    return isinstance(content, dict) and run.record in (identity(content, run.added), identity(content))


def _identity_of(value: Any) -> Any:
    if isinstance(value, Mapping):
        # A later version may add fields. If they are empty, the run must keep its name.
        said = {key: part for key, part in value.items() if key not in _NOT_IDENTITY and part not in _SAYS_NOTHING}
        return {key: _identity_of(part) for key, part in said.items()}
    if isinstance(value, list | tuple):
        return [_identity_of(part) for part in value]
    return value


# --- writing ---------------------------------------------------------------------------------


def write(folder: Path, new: NewRun) -> WrittenRecord:
    """Add a run. An existing record stays, unless it is damaged, or it lacks the scenarios that `new` has.

    Raises ReportError if the record cannot be written.
    """
    target = folder / f"{new.run.record}{SUFFIX}"
    before = _read_existing(target)
    if before is not None and (before.listed is not None or new.scenarios is None):
        return WrittenRecord(str(target), before, is_new=False)
    beside = folder / f".{new.run.record}.{os.urandom(6).hex()}.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            written = _write_with_digest(beside, new)
            # Before the rename: an unreadable record would look added, and be left out of every list.
            _refuse_unreadable(beside, new.run.record)
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
    except (OSError, ValueError, duckdb.Error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ReportError(f"the record of the run could not be written to {folder}: {reason}") from error
    return WrittenRecord(str(target), written, is_new=before is None, is_completed=before is not None)


def _read_existing(target: Path) -> RunRecord | None:
    """The run in an existing record; None if there is none, or if any part of it is damaged."""
    try:
        return _read_parts(target)[0]
    except (OSError, ValueError, RecursionError):
        return None


def _write_with_digest(path: Path, new: NewRun) -> RunRecord:
    """Write a file whose footer has the digest of all bytes before it; they do not depend on what is in the footer."""
    # The digest is known only after writing. A random one of the same length holds its place, and is then overwritten.
    run = replace(new.run, rows=os.urandom(32).hex())
    _write_file(path, new, run)
    done = replace(run, rows=rows_digest(path))
    place = path.read_bytes().rfind(str(run.rows).encode())
    with path.open("rb+") as stream:
        stream.seek(place)
        stream.write(str(done.rows).encode())
        stream.flush()
        os.fsync(stream.fileno())
    return done


def _refuse_unreadable(path: Path, record: str) -> None:
    """Raise DamagedRecordError if a record that was just written cannot be read back."""
    run = read_footer_of(str(path), record)
    if run.listed is not None:
        read_scenarios(path, run)


def rows_digest(path: Path) -> str:
    """The digest of a file without its footer. Raises DamagedRecordError, or OSError."""
    data = path.read_bytes()
    # A Parquet file ends with its footer, the footer's length in four bytes, and four bytes `PAR1`.
    footer = int.from_bytes(data[-8:-4], "little") + 8
    if footer > len(data):
        raise DamagedRecordError("cut off: there is no footer at its end")
    return hashlib.sha256(memoryview(data)[:-footer]).hexdigest()


def _write_file(path: Path, new: NewRun, run: RunRecord) -> None:
    footer = msgspec.json.encode(run).decode()
    packed = base64.b64encode(zlib.compress(new.document.encode("ascii"), 9)).decode("ascii")
    # The run comes last, so that a list needs only the end of the file.
    pairs = f"{{{_literal(VERDICT_KEY)}: {_literal(packed)}, {_literal(KEY)}: {_literal(footer)}}}"
    typed = {**COLUMNS, MEASURES: "VARCHAR"}
    columns = ", ".join(f"unnest(?::{type_}[]) AS {name}" for name, type_ in typed.items())
    rows = new.scenarios or ()
    measures = new.measures or (None,) * len(rows)
    # The values are parameters, one list for each column, so that no text of a scenario becomes SQL.
    with open_cursor() as connection:
        connection.execute(
            f"COPY (SELECT {columns}) TO {_literal(str(path))} (FORMAT parquet, COMPRESSION zstd, KV_METADATA {pairs})",
            [*([getattr(row, name) for row in rows] for name in COLUMNS), list(measures)],
        )


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


# --- reading ---------------------------------------------------------------------------------


def read(path: Path) -> StoredRun:
    """A whole record. Raises InputError if it is damaged, or if its name does not match its verdict."""
    try:
        run, document, content, rows = _read_parts(path)
    except OSError as error:
        raise InputError(Problem("file.unreadable", f"cannot be read: {error.strerror or error}", str(path))) from None
    except (ValueError, RecursionError) as error:
        raise InputError(Problem("history.damaged", f"a damaged record: {error}", str(path))) from None
    stored = StoredDocument(str(path), document, content, "add the run again")
    return StoredRun(run, verdicts.read_stored_verdict(stored), document, rows)


def _read_parts(path: Path) -> tuple[RunRecord, str, dict[str, Any], tuple[ScenarioCounts, ...] | None]:
    """The run, the text and the content of its verdict document, and the scenarios. Raises ValueError if damaged."""
    run = read_footer(str(path))
    document = _read_verdict_text(path)
    content = json.loads(document, parse_constant=refuse_constant, object_pairs_hook=unique)
    # The name is the digest of the verdict, so that an exchanged verdict cannot go unnoticed.
    if not _is_named_by(run, content):
        raise DamagedRecordError("the verdict in it is not the one that its name was made of")
    return run, document, content, None if run.listed is None else tuple(read_scenarios(path, run))


def _read_verdict_text(path: Path) -> str:
    """The text of the verdict document, as it was written."""
    try:
        with open_cursor() as connection:
            found = connection.execute(
                "SELECT value FROM parquet_kv_metadata(?) WHERE key = ?::BLOB", [escaped_path(path), VERDICT_KEY]
            ).fetchone()
        if found is None:
            raise DamagedRecordError("there is no verdict in it")
        # Not zlib.decompress, which has no limit.
        unpacking = zlib.decompressobj()
        data = unpacking.decompress(base64.b64decode(found[0], validate=True), _LARGEST_DOCUMENT)
        if not unpacking.eof:
            raise DamagedRecordError("the verdict in it is cut off, or too large")
        return data.decode("ascii")
    except (duckdb.Error, binascii.Error, zlib.error) as error:
        raise DamagedRecordError(first_line(error)) from None


def read_scenarios(path: Path, run: RunRecord) -> Iterable[ScenarioCounts]:
    """The scenarios of a record, in its order. Raises DamagedRecordError."""
    with open_cursor() as connection:
        refuse_other_rows(connection, path, run)
        try:
            rows = connection.execute(
                f"SELECT {', '.join(COLUMNS)} FROM {ROWS}",  # noqa: S608 - names of ours
                [escaped_path(path)],
            ).fetchall()
        except duckdb.Error as error:
            raise DamagedRecordError(first_line(error)) from None
    found = [ScenarioCounts(*row) for row in rows]
    if len({one.id for one in found}) < len(found) or not all(_is_possible(one) for one in found):
        raise DamagedRecordError("a scenario is there twice, or its counts do not fit")
    return found


def read_measures(path: Path, run: RunRecord) -> Mapping[str, ScenarioRecord] | None:
    """The scenarios of a record by id, as a baseline has them; None if it has no values. Raises DamagedRecordError."""
    with open_cursor() as connection:
        refuse_other_rows(connection, path, run)
        try:
            found = connection.execute(f"SELECT id, {MEASURES} FROM {ROWS}", [escaped_path(path)]).fetchall()  # noqa: S608
        except duckdb.BinderException:  # a record of an earlier version
            return None
        except duckdb.Error as error:
            raise DamagedRecordError(first_line(error)) from None
    if not found or any(text is None for _, text in found):
        return None
    try:
        return {str(id_): parse_scenario(str(id_), text, str(path)) for id_, text in found}
    except InputError as error:
        raise DamagedRecordError(error.problems[0].message) from None


def _is_possible(one: ScenarioCounts) -> bool:
    """Whether a run can have these counts. The file may come from anyone, so that any column can be NULL."""
    counted = (one.passed, one.failed, one.undecided)
    if None in (one.id, one.trials, one.weight, *counted):
        return False
    numbers = (one.weight, one.latency_ms or 0.0, one.cost_usd or 0.0)
    possible = 0 < one.trials <= MOST_TRIALS and min(counted) >= 0 and sum(counted) == one.trials
    return possible and all(math.isfinite(number) for number in numbers)


def refuse_other_rows(connection: duckdb.DuckDBPyConnection, path: Path, run: RunRecord) -> None:
    """Raise DamagedRecordError if a record's columns are wrong, or its rows are not those of its footer."""
    try:
        described = connection.execute(f"DESCRIBE SELECT * FROM {ROWS}", [escaped_path(path)]).fetchall()  # noqa: S608 - of ours
        counted = connection.execute("SELECT num_rows FROM parquet_file_metadata(?)", [escaped_path(path)]).fetchone()
    except duckdb.Error as error:
        raise DamagedRecordError(first_line(error)) from None
    # Before any row is read: a few bytes of a hostile file can unpack to billions of rows.
    columns = {str(name): str(type_) for name, type_, *_ in described}
    if columns.pop(MEASURES, "VARCHAR") != "VARCHAR" or list(columns.items()) != list(COLUMNS.items()):
        raise DamagedRecordError("its columns are not those of a record")
    rows = 0 if counted is None else counted[0]
    if rows != (run.listed or 0):
        raise DamagedRecordError(f"{rows} rows, but {run.listed or 0} scenarios by its footer")
    refuse_changed_rows(path, run)


def refuse_changed_rows(path: Path, run: RunRecord) -> None:
    """Raise DamagedRecordError if the rows of a record do not have the digest in its footer."""
    try:
        found = rows_digest(path)
    except OSError as error:
        raise DamagedRecordError(f"cannot be read: {error.strerror or error}") from None
    if found != run.rows:
        raise DamagedRecordError("the rows are not those that its footer was written with")


def escaped_path(path: Path) -> str:
    """The path with glob characters escaped, so that DuckDB reads exactly this file."""
    return glob.escape(str(path.absolute()))


def first_line(error: BaseException) -> str:
    """The first line of an error message, at most 300 characters."""
    return str(error).partition("\n")[0][:300]


def paths(folder: str, runs: Sequence[RunRecord]) -> list[Path]:
    """The paths of the records of runs."""
    return [Path(folder) / f"{run.record}{SUFFIX}" for run in runs]
