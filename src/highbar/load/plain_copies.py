"""A compressed file or a Parquet file → a copy that a reader of JSON, JSONL and CSV can read."""

from __future__ import annotations

import os

from msgspec.structs import replace

from highbar.errors import InputError, Problem
from highbar.load import unpacking

_PARQUET = b"PAR1"
_BLOCK = 16


def plain_copy(path: str, name: str, folder: str) -> str:
    """The path of the file itself if it is plain, else of a copy in `folder`. Messages call the file `name`."""
    try:
        with open(path, "rb") as stream:
            start = stream.read(_BLOCK)
        compression = unpacking.kind_of(start)
        if compression:
            return _unpack(path, name, folder, compression)
        return _parquet_lines(path, name, folder) if start.startswith(_PARQUET) else path
    except unpacking.Damaged as error:
        raise InputError(error.of_file(name)) from error
    except OSError as error:
        raise InputError(Problem(f"cannot be read: {error.strerror or error}", file=name)) from error


def _unpack(path: str, name: str, folder: str, compression: str) -> str:
    suffix = os.path.splitext(os.path.splitext(name)[0])[1]  # `.csv` of `own.csv.gz`, by which the reader is chosen
    copy = os.path.join(folder, f"unpacked{suffix if suffix.isascii() and len(suffix) <= 8 else ''}")
    with open(copy, "wb") as target:
        target.writelines(unpacking.unpack(unpacking.blocks_of(path), compression))
    return copy


def _parquet_lines(path: str, name: str, folder: str) -> str:
    import duckdb  # only for Parquet

    from highbar.load import counting, footer, parquet_rows  # only for Parquet

    copy = os.path.join(folder, "unpacked.jsonl")
    try:
        footer.refuse_several(path, unpacking.blocks_of(path))
        written = 0
        with open(copy, "wb") as target:
            for row in parquet_rows.read_parquet(path):
                target.write(parquet_rows.line(row))
                written += 1
        declared = footer.row_count(path)
    except InputError as error:
        raise InputError(*(replace(problem, file=name) for problem in error.problems)) from error
    except (counting.Uncountable, duckdb.Error, ValueError) as error:
        reason = str(error).splitlines()[0].rpartition("Error: ")[2].replace(path, name)
        message = f"this is not a sound Parquet file: {reason}"
        raise InputError(Problem(message, file=name, hint="was it written to its end?")) from error
    # DuckDB read the rows; the footer was read by our own code. A difference would be lost rows.
    if written != declared:
        raise InputError(Problem(f"its footer declares {declared} rows, and {written} can be read", file=name))
    return copy
