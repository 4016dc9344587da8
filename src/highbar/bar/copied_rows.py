"""Rows of a run outside of its folder → the same rows, graded by the suite of a git ref, as if they lay in the folder.

A row has the answer, but not all that a judge said about it, and not where the suite of the run was. Where that is
needed it is a doubt, which the folder of the run resolves.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from highbar.bar.regrading import Regraded, has_code, only_here, suite_of_policy
from highbar.errors import InputError
from highbar.load import files, folders
from highbar.load.revision import Revision
from highbar.load.row_reading import read_rows
from highbar.model import Policy, ResultsFile

_FOLDER = "hand over the folder of the run, not a copy of its rows"


def with_copies(graded: Regraded, results: Sequence[str], there: Revision, before: Policy, folder: Path) -> Regraded:
    """Also the rows of runs that are in other files than those of their folders; writes them into `folder`."""
    paths = [path for path in files.paths_named(results) if folders.results_in(path) is None]
    if not paths:
        return graded
    found = suite_of_policy(there, before)
    if found is None:
        return _doubted(graded, f"the policy at {there.ref} names no suite to grade the rows of a run by: {_FOLDER}")
    from highbar.running.grading_suite import GradingSuite  # only for rows of runs
    from highbar.running.preparing import functions_of  # likewise
    from highbar.running.regrading import regrade_rows, write_graded_rows  # likewise

    named, suite = found
    graded = replace(graded, files=(*graded.files, named))
    by = GradingSuite(suite, (there.folder / named).parent)
    if by.asks_judge or functions_of(suite, tuple(suite.scenarios)):
        return _doubted(graded, f"{there.name(named)} has checks by a judge or in Python: {_FOLDER}")
    kept, target = folder / "copied-rows.jsonl", folder / "copies.jsonl"
    added: set[str] = set()
    with kept.open("w", encoding="utf-8") as stream:
        for row in (row for path in paths for row in read_rows(files.file_named(path))):
            if row["id"] in suite.scenarios:
                stream.write(f"{json.dumps(row)}\n")
            else:
                added.add(str(row["id"]))
    with ExitStack() as stack:
        rows, _ = regrade_rows([ResultsFile(str(kept), "the rows of a run", "jsonl")], by, stack)
        write_graded_rows(_without_origin(rows), target)
    notes = (*graded.notes, *([only_here(there, named, sorted(added))] if added else []))
    version = () if suite.agent is None or suite.agent.version is None else (suite.agent.version,)
    instead = {**graded.rows, **dict.fromkeys(paths, ""), paths[0]: str(target)}
    return replace(graded, rows=instead, notes=notes, versions=(*graded.versions, *version))


def may_call_functions(graded_by: Iterable[str], paths: Iterable[str], there: Revision) -> bool:
    """Whether rows of a run may be graded by functions: the suites with these digests call some, or are not here."""
    from highbar.suite import read  # only for rows of runs

    known = []
    for path in paths:
        try:
            suite = read(there.root / path)
        except InputError:
            continue
        if not has_code(suite):
            known.append(suite.digest)
    return not all(any(digest and one.startswith(digest) for one in known) for digest in graded_by)


def _doubted(graded: Regraded, doubt: str) -> Regraded:
    return replace(graded, doubts=(*graded.doubts, doubt))


def _without_origin(rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows, which are no longer all of their run and of nothing else: that was looked at before."""
    return ({name: value for name, value in row.items() if name != "highbar_run"} for row in rows)
