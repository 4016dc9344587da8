"""Results that an engine refused → the same refusal with files, lines and hints; and columns that are near misses."""

from __future__ import annotations

import mmap
import resource
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

from msgspec.structs import replace

from highbar import measure
from highbar import policy as policies
from highbar.catalogue import near_category
from highbar.columns import COLUMNS
from highbar.errors import DuplicateResults, InputError, Problem
from highbar.language.spelling import near_miss
from highbar.load import accounts, hints
from highbar.load.results import Results
from highbar.model import Place, Policy
from highbar.model.requests import ColumnRange

MOST_NEAR_MISSES = 20
"""Near misses that are reported at once: the files are searched for the line of each."""
JUDGED = "judged"
"""The column in which a run records the judgments of its judge: not a misspelling of `judge`."""
OF_THE_RESULTS = {
    "BinderException", "ConversionException", "IOException", "InvalidInputException", "InvalidTypeException",
    "NotImplementedException", "OutOfRangeException", "SerializationException", "TypeMismatchException",
}  # fmt: skip
"""The exceptions of DuckDB that a results file can cause; any other is our fault, or the machine's."""

_LEAST = {resource.RLIMIT_AS: 640 * 2**20, resource.RLIMIT_DATA: 128 * 2**20}
"""Bytes that must be left below each limit of memory."""


@contextmanager
def explain_refusals(results: Results) -> Iterator[None]:
    """Turn an engine's errors about the results into problems with files and lines."""
    if results.is_remote:  # its rows cannot be looked at one by one
        yield
        return
    _refuse_little_memory()
    import duckdb  # for its exceptions; the engine needs it anyway, and 0.1 s of start-up is too much for others

    try:
        yield
    except duckdb.InterruptException:
        raise  # nothing is wrong with the results
    except (duckdb.Error, InputError) as error:
        if isinstance(error, InputError) and _explains_itself(error):
            raise _with_places(error, results) from None
        raise _explain(error, results) from error


def _refuse_little_memory() -> None:
    """Raise MemoryError if a limit of this process leaves too little for DuckDB, which may crash then."""
    for limit, least in _LEAST.items():
        if resource.getrlimit(limit)[0] != resource.RLIM_INFINITY:
            try:
                mmap.mmap(-1, least, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
            except OSError:
                raise MemoryError from None


def _explains_itself(error: InputError) -> bool:
    """Whether a refusal has a hint or a line; anything else needs the reading line by line."""
    # Results that occur twice are found only if every row is sound.
    known = type(error) in (InputError, DuplicateResults)
    return known and any(problem.hint or problem.line for problem in error.problems)


def _explain(error: Exception, results: Results) -> InputError:
    limit = results.engine.memory_limit
    if limit and type(error).__name__ == "OutOfMemoryException":  # without a limit it is a fault of the machine
        return InputError(
            Problem("machine.memory", f"{limit} are not enough for these results", hint="give more with --memory-limit")
        )
    # Damage comes first: it explains every fault that the rows of such a file seem to have.
    problems = accounts.damaged_files(results.accounts()) or _row_problems(results)
    if problems:
        return InputError(*problems)
    if isinstance(error, InputError):
        return _with_places(error, results)
    if type(error).__name__ not in OF_THE_RESULTS:
        raise error
    return InputError(replace(hints.of_engine(error), file=results.only_file))


def _with_places(error: InputError, results: Results) -> InputError:
    """The same problems, with the file if there is only one, and with the lines of results that occur twice."""
    damaged = accounts.damaged_files(results.accounts())
    if damaged:  # damage explains every other fault of the file
        return InputError(*damaged)
    if isinstance(error, DuplicateResults) and results.files:
        from highbar.load.places import locate_duplicates  # only for results that are refused

        return InputError(*locate_duplicates(error.problems, error.keys, results.files))
    name = results.only_file
    if name is None:
        return error
    return InputError(*(replace(one, file=one.file or name) for one in error.problems))


def _row_problems(results: Results) -> tuple[Problem, ...]:
    """What is wrong with the rows, one by one; empty if they are out of reach."""
    if results.is_remote:
        return ()
    policy = results.policy
    ranges = measure.column_ranges(policy)
    any_number = set(measure.own_columns(policy)) - {range_.column for range_ in ranges}
    numbers = (*(ColumnRange(column) for column in sorted(any_number)), *ranges)
    chosen_by = (*policies.chosen_by(policy), *(column for column, _ in policy.select))
    tags = (column for column in chosen_by if column.startswith("tags."))
    scalars = tuple(dict.fromkeys((*policy.slices, *results.slices, *tags)))
    if results.table is not None:
        from highbar.load import tables  # only for a refused table

        return tables.explain_table(results.table, scalars, numbers)
    from highbar.load import explain  # only for refused files

    return explain.first_problems(results.files, scalars, numbers)


def refuse_columns(results: Results, columns: Sequence[str]) -> None:
    """Refuse columns that are near misses of known ones, that differ only in case, or that have no name."""
    policy = results.policy
    known = [*(column.name for column in COLUMNS if column.kind != "origin"), JUDGED]
    problems = [
        Problem(
            "row.duplicate-key",
            f"the columns {first!r} and {second!r} differ only in case",
            file=_place(results, first).file,
        )
        for first, second in pairwise(sorted(columns, key=lambda name: (name.casefold(), name)))
        if first.casefold() == second.casefold()
    ]
    problems += [
        Problem(
            "row.other-case",
            f"the columns {column!r} and {name!r}, which the policy names, differ only in case",
            file=_place(results, column).file,
            hint=hints.ONE_SPELLING,
        )
        for name in dict.fromkeys((*policy.slices, *results.slices, *policies.chosen_by(policy)))
        for column in columns
        if column != name and column.casefold() == name.casefold() and name.startswith("tags.") and name not in columns
    ]
    problems += [
        Problem(
            "results.unnamed-column",
            "a column without a name",
            file=_place(results, name).file,
            hint="name it, or leave it out",
        )
        for name in columns
        if not name.removeprefix("tags.").strip()
    ]
    problems += _near_misses(results, "column", columns, known, policy.allow_columns)
    if problems:
        raise InputError(*problems, *_row_problems(results))


def refuse_suite_keys(policy: Policy, columns: Collection[str]) -> None:
    """Refuse keys of a listed suite that mean a check or a question to other tools, unless the results have them."""
    unknown = {} if policy.suite is None else {k: at for k, at in policy.suite.elsewhere.items() if k not in columns}
    if policy.suite is not None and unknown:
        from highbar.suite import words_elsewhere  # only for suites that are refused

        raise words_elsewhere(policy.suite.file, unknown)


def refuse_categories(results: Results, categories: Sequence[str]) -> None:
    """Refuse a category that is a near miss of a known one: its scenarios would be missing from the safety set."""
    policy = results.policy
    problems = _near_misses(results, "category", categories, policies.categories(policy), policy.allow_categories)
    if problems:
        raise InputError(*problems)


def _near_misses(
    results: Results, what: str, found: Sequence[str], known: Iterable[str], allowed: Collection[str]
) -> list[Problem]:
    """A problem for each name that is nearly a known one, unless the policy allows it."""
    problems: list[Problem] = []
    candidates = frozenset(known)
    near = near_category if what == "category" else near_miss
    for name in found:
        if len(problems) == MOST_NEAR_MISSES:
            break
        meant = None if name in allowed else near(name, candidates) or _near_tag(what, name)
        if meant:
            place = _place(results, name)
            key = {"column": "allow_columns", "category": "allow_categories"}[what]
            hint = f"did you mean {meant!r}? If not, name it in the policy's {key}"
            problems.append(
                Problem("results.unknown-name", f"unknown {what} {name!r}", file=place.file, line=place.line, hint=hint)
            )
    return problems


def _near_tag(what: str, name: str) -> str | None:
    """The column `tags.NAME` that was probably meant: `Tags.locale`, `tag.locale`; else None."""
    prefix, dot, tag = name.partition(".")
    return f"tags.{tag}" if what == "column" and dot and near_miss(prefix, ("tags",)) else None


def _place(results: Results, text: str) -> Place:
    """A problem without a message, at the file and line where a text first occurs."""
    from highbar.load import places  # only for refused columns or categories

    return places.locate_text(results.files, text)
