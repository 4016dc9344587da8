"""The Python API: results in any form that a program has, and a policy, in; the verdict as frozen objects out."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from msgspec.structs import replace

from highbar import pipeline
from highbar import policy as policies
from highbar.errors import InputError, Problem
from highbar.model import Verdict
from highbar.model.job import Job, Wants

if TYPE_CHECKING:  # see compare
    from highbar.model.comparison import Comparison


Results = object
"""A path or several, a list of dicts (one per trial), an Arrow table, or a pandas or polars frame."""


def check(  # noqa: PLR0913 - what the command line can say
    results: Results,
    policy: str | PathLike[str] | Mapping[str, Any] | None = None,
    *,
    agent_version: str | None = None,
    slices: Sequence[str] = (),
    baseline: str | PathLike[str] | None = None,
    allow_missing_baseline: bool = False,
    details: bool = False,
    list_scenarios: bool = False,
    where: Mapping[str, str | Sequence[str]] | None = None,
    subset: bool = False,
) -> Verdict:
    """Judge results by a policy; raises InputError if they or the policy cannot be read.

    `policy` is a path, a mapping of the same keys, or "typical" for the typical thresholds; without one it is looked
    for as the command line does. If there is none, nothing is judged: `verdict` is None, `passed` is False, and
    `advice` has the typical thresholds as they would be judged. `baseline` takes the place of the file that the policy
    names. `details` reads what the HTML report shows beside the verdict; `list_scenarios` reads every scenario, for a
    JUnit or CSV report. `where` chooses rows ({"tags.model": "x"}) if the policy has no `select`; with `subset` a
    scenario may lose all of its rows by that.
    """
    job = Job(
        policy=_policy(policy),
        agent_version=agent_version,
        baseline=None if baseline is None else os.fspath(baseline),
        allow_missing_baseline=allow_missing_baseline,
        where=_where(where),
        wants=Wants(tuple(slices), subset=subset, scenarios=list_scenarios, details=details),
    )
    with _given(results, job) as whole:
        return pipeline.check(whole)


def compare(
    base: Results,
    head: Results,
    policy: str | PathLike[str] | Mapping[str, Any] | None = None,
    *,
    slices: Sequence[str] = (),
) -> Comparison:
    """What changed between two runs of the same scenarios; each may also be the path of a baseline.

    The rules of the policy's `baseline` block give the verdict, which is None without one. Raises InputError.
    """
    job = Job(policy=policies.choose(_policy(policy)), wants=Wants(tuple(slices)))
    with _given(base, job) as before, _given(head, job) as after:
        return pipeline.compare(before, after)


def _where(where: Mapping[str, str | Sequence[str]] | None) -> tuple[str, ...]:
    """The choice of rows as the command line says it."""
    pairs = ((column, (value,) if isinstance(value, str) else value) for column, value in (where or {}).items())
    return tuple(f"{column}={value}" for column, values in pairs for value in values)


def _holds_files_or_rows(results: object) -> TypeGuard[str | PathLike[str] | Sequence[object]]:
    """Whether this is a path, or a list of paths or rows; text in bytes is a sequence too, of numbers."""
    return isinstance(results, str | PathLike | Sequence) and not isinstance(results, bytes | bytearray | memoryview)


def _policy(policy: str | PathLike[str] | Mapping[str, Any] | None) -> str | Mapping[str, Any] | None:
    if policy is None or isinstance(policy, Mapping):
        return policy
    try:
        return os.fspath(policy)
    except TypeError as error:
        problem = Problem(f"the policy is a {type(policy).__name__}", hint="wanted a path, or a dict of the same keys")
        raise InputError(problem) from error


@contextmanager
def _given(results: Results, job: Job) -> Iterator[Job]:
    """The job with these results. Rows go the way of a JSONL file, so that they are read by the same rules."""
    if not _holds_files_or_rows(results):
        from highbar.load.tables import accept  # only for what is no file

        yield replace(job, table=accept(results))
    elif isinstance(results, str | PathLike):
        yield replace(job, results=(_path(results),))
    elif results and all(isinstance(item, str | PathLike) for item in results):
        yield replace(job, results=tuple(_path(item) for item in results if isinstance(item, str | PathLike)))
    else:
        with tempfile.TemporaryDirectory(prefix="highbar-") as folder:
            file = Path(folder, "results.jsonl")
            with file.open("w", encoding="utf-8") as stream:
                stream.writelines(_line(number, row) for number, row in enumerate(results, 1))
            yield replace(job, results=(str(file),), names={str(file): "<rows>"})


def _path(path: str | PathLike[str]) -> str:
    """A path as text. An empty one is refused: it would mean the working folder and everything in it."""
    text = os.fspath(path)
    try:
        if os.fsencode(text):
            return text
    except UnicodeEncodeError:  # half of a surrogate pair: no file has such a name
        pass
    raise InputError(Problem(f"the path of the results is {text!a}", hint="wanted the name of a file or folder"))


def _line(number: int, row: object) -> str:
    try:
        return json.dumps(row, allow_nan=False) + "\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            Problem(f"row {number}: {error}", file="<rows>", hint="NaN, infinities and objects are not results")
        ) from error
