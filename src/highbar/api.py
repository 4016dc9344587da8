"""The Python API: results in whatever form a program has them, a policy, and the verdict as frozen objects."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from highbar import pipeline
from highbar.errors import InputError, Problem
from highbar.model import Verdict

Results = object
"""A path or several, a list of dicts (one per trial), an Arrow table, or a pandas or polars frame."""


def check(
    results: Results,
    policy: str | PathLike[str] | Mapping[str, Any] | None = None,
    *,
    agent_version: str | None = None,
    slices: Sequence[str] = (),
) -> Verdict:
    """Judge results by a policy; raises InputError where nothing can be judged.

    `policy` is a path or a mapping of the same keys; without one it is looked for as the command line does.
    """
    rules = policy if policy is None or isinstance(policy, Mapping) else os.fspath(policy)
    if isinstance(results, str | PathLike):
        return pipeline.check([os.fspath(results)], policy=rules, agent_version=agent_version, slices=slices)
    if isinstance(results, Sequence) and results and all(isinstance(item, str | PathLike) for item in results):
        return pipeline.check(
            [os.fspath(item) for item in results], policy=rules, agent_version=agent_version, slices=slices
        )
    if isinstance(results, Sequence):
        return _check_rows(results, rules, agent_version, slices)
    return pipeline.check_table(results, policy=rules, agent_version=agent_version, slices=slices)


def _check_rows(
    rows: Sequence[object], policy: str | Mapping[str, Any] | None, agent_version: str | None, slices: Sequence[str]
) -> Verdict:
    """Rows go the way of a JSONL file, so that they are read by the same rules."""
    with tempfile.TemporaryDirectory(prefix="highbar-") as folder:
        file = Path(folder, "results.jsonl")
        with file.open("w", encoding="utf-8") as stream:
            stream.writelines(_line(number, row) for number, row in enumerate(rows, 1))
        path = str(file)
        return pipeline.check([path], policy=policy, agent_version=agent_version, slices=slices, names={path: "<rows>"})


def _line(number: int, row: object) -> str:
    try:
        return json.dumps(row, allow_nan=False) + "\n"
    except (TypeError, ValueError) as error:
        raise InputError(
            Problem(f"row {number}: {error}", file="<rows>", hint="NaN, infinities and objects are not results")
        ) from error
