"""Every byte is accounted for: the engine must have used exactly the results that the files hold, counted without it.

The files are read once, in another thread while the engine reads: for their digests, the ends and checksums of
compressed streams, the longest result, and the number of results. `compare_counts` compares the counts of every format.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct
from msgspec.structs import replace

from highbar.errors import InputError, Problem
from highbar.load import counting, unpacking
from highbar.model import ResultsFile, Source


class Account(Struct, frozen=True):
    """A file, counted without the engine: its digest, and its results or why they cannot be counted.

    `damaged` is set if the file is not whole, which explains any other problem. For an `uncountable` file the engine
    may have a better explanation.
    """

    file: ResultsFile
    sha256: str
    results: int = 0
    damaged: Problem | None = None
    uncountable: Problem | None = None

    @property
    def source(self) -> Source:
        """The file and its digest, for the verdict."""
        return Source(self.file.name, self.sha256)


_RECORDED = "results are judged as they were written; highbar run --resume FOLDER writes them anew from the answers"
Accounts = Callable[[], tuple[Account, ...]]


class Unaccounted(InputError):
    """The engine used more or fewer results than a file has."""


@contextmanager
def start_counting(files: Sequence[ResultsFile]) -> Iterator[Accounts]:
    """Start to count; give a function that waits for the accounts. An exception in the thread is raised there."""
    found: list[Account] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            found.extend(map(account, files))
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that asks
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def finished() -> tuple[Account, ...]:
        thread.join()
        if failures:
            raise failures[0]
        return tuple(found)

    yield finished
    thread.join()


def account(file: ResultsFile) -> Account:
    """Read a file to its end: once, unless the engine reads a copy of it."""
    # The digest is of the user's file, not of our copy of it: others must be able to recompute it.
    digest = hashlib.sha256()
    # A link is the user's file under another name: its bytes are read only once.
    is_copy = file.original is not None and not os.path.islink(file.path)
    if is_copy:
        for block in unpacking.blocks_of(file.original or file.path):
            digest.update(block)

    def blocks() -> Iterator[bytes]:
        for block in unpacking.blocks_of(file.path):
            if not is_copy:
                digest.update(block)
            yield block

    results, damaged, uncountable = _count_results(file, blocks())
    if file.recorded not in (None, digest.hexdigest()):
        damaged = Problem(
            "run.results-changed", "has changed since the run ended, or is not whole", file.name, hint=_RECORDED
        )
    return Account(file, digest.hexdigest(), results, damaged, uncountable)


def _count_results(file: ResultsFile, blocks: Iterator[bytes]) -> tuple[int, Problem | None, Problem | None]:
    try:
        if file.format == "parquet":
            from highbar.load import footer  # only for this format

            footer.refuse_several(file.path, blocks)
            return footer.row_count(file.path), None, None
        return _count_unpacked(file, unpacking.unpack(blocks, file.compression)), None, None
    except unpacking.Damaged as error:
        return 0, error.of_file(file.name), None
    except counting.TooLong as error:
        line = None if error.offset is None else _line_at(file, error.offset)
        hint = "keep what is so long out of the results"
        return (
            0,
            Problem(
                "file.too-large",
                f"a result is longer than {counting.LONGEST_RESULT >> 20} MiB",
                file.name,
                line,
                hint=hint,
            ),
            None,
        )
    except counting.Uncountable as error:
        return 0, None, Problem("results.unreadable", f"the results cannot be counted: {error}", file=file.name)
    finally:
        for _ in blocks:  # the digest is of the whole file, even if the count ended early
            pass


def _count_unpacked(file: ResultsFile, blocks: Iterator[bytes]) -> int:
    try:
        return counting.COUNT_BY_FORMAT[file.format](blocks)
    except counting.TooLong:
        if file.format != "csv":
            raise
    return _count_one_by_one(file)  # a stray quote may have hidden the ends of records, so that they seem too long


def _count_one_by_one(file: ResultsFile) -> int:
    with unpacking.open_unpacked(file.path, file.compression) as stream:
        return counting.records_one_by_one(stream)


def _line_at(file: ResultsFile, offset: int) -> int:
    """The line number of a byte in the unpacked file."""
    line = 1
    for block in unpacking.unpack(unpacking.blocks_of(file.path), file.compression):
        line += block.count(b"\n", 0, max(offset, 0))
        offset -= len(block)
        if offset <= 0:
            break
    return line


def damaged_files(accounts: Sequence[Account]) -> tuple[Problem, ...]:
    """The problems of files that do not depend on the engine: damaged, a result that is too long, or no result.

    If the only file has no result, the engine refuses it: then there is nothing to judge.
    """
    return tuple(
        one.damaged
        or Problem("results.empty", "this file holds no row", file=one.file.name, hint="did the run write its results?")
        for one in accounts
        if one.damaged or (not one.results and not one.uncountable and len(accounts) > 1)
    )


def _count_again(one: Account) -> Account:
    """The account of a CSV file by the slower count, which stray quotes do not mislead; other accounts unchanged."""
    if one.file.format != "csv":
        return one
    try:
        return replace(one, results=_count_one_by_one(one.file))
    except ValueError:
        return one


def compare_counts(accounts: Sequence[Account], used: int, used_of: Callable[[ResultsFile], int] | None = None) -> None:
    """Raise unless the engine `used` as many results as the files hold; `used_of` gives the number of one file."""
    found = (*damaged_files(accounts), *(one.uncountable for one in accounts if one.uncountable))
    if found:
        raise Unaccounted(*found)
    if not accounts or sum(one.results for one in accounts) == used:
        return
    # The fast count of CSV can be wrong about quotes, so a mismatch is confirmed by the slow one before it is reported.
    accounts = tuple(_count_again(one) for one in accounts)
    total = sum(one.results for one in accounts)
    if total == used:
        return
    hint = "nothing is judged unless every result counts; please report this file as a bug"
    differing = [
        Problem(
            "results.other-count",
            f"holds {one.results} results, and {of_file} were read",
            file=one.file.name,
            hint=hint,
        )
        for one in accounts
        if used_of and (of_file := used_of(one.file)) != one.results
    ]
    raise Unaccounted(
        *(
            differing
            or [Problem("results.other-count", f"the files hold {total} results, and {used} were read", hint=hint)]
        )
    )
