"""A foreign file in, the rows that an importer makes of it out; and where the files for tests are."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from highbar import importers
from highbar.errors import InputError, Problem
from highbar.importers.report import Report
from highbar.importers.writing import convert
from highbar.model.judging import ScorerDemand
from tests.commandline import without_codes

FIXTURES = Path(__file__).parent / "fixtures"
SAMPLES = Path(__file__).parents[3] / "shared" / "samples"
COUNTS = Path(__file__).parent / "counts.json"
"""What the tools' own readers find in the samples; see `remake.py`."""

Row = dict[str, Any]


def imported(
    tool: str, path: Path, read: importers.Read | None = None, judged_by: tuple[ScorerDemand, ...] = ()
) -> tuple[list[Row], Report]:
    """The rows of a file, and the report about it; `judged_by` is what a policy demands of its scorers."""
    target = io.BytesIO()
    report = convert(read or importers.importer_named(tool), str(path), path.name, target, Report(judged_by=judged_by))
    assert report.unaccounted == 0
    return [json.loads(line) for line in target.getvalue().splitlines()], report


def problems_of(
    tool: str, path: Path, read: importers.Read | None = None, judged_by: tuple[ScorerDemand, ...] = ()
) -> Sequence[Problem]:
    """The problems for which a file is not read; it is a failure if it is read."""
    with pytest.raises(InputError) as caught:
        imported(tool, path, read, judged_by)
    assert all(problem.file == path.name for problem in caught.value.problems)
    return caught.value.problems


def refusal(tool: str, path: Path, read: importers.Read | None = None, judged_by: tuple[ScorerDemand, ...] = ()) -> str:
    """The same as text, without the codes."""
    return without_codes(str(InputError(*problems_of(tool, path, read, judged_by))))


def written(folder: Path, name: str, content: object) -> Path:
    """A file with this content, as JSON unless it is text or bytes."""
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def together(files: Mapping[str, Sequence[Row]]) -> list[Row]:
    """The rows of several files, told apart by a tag and their ids, so that one check judges each file by itself."""
    return [
        {**row, "id": f"{name}: {row['id']}", "tags": {**(row.get("tags") or {}), "file": name}}
        for name, rows in files.items()
        for row in rows
    ]


def samples(folder: str) -> list[Path]:
    """The real files of a tool; none where they are not at hand."""
    return sorted(path for path in (SAMPLES / folder).glob("*") if path.suffix != ".md")


def totals(tool: str) -> dict[str, Any]:
    """What the tool itself counted when its fixtures were made."""
    found: dict[str, Any] = json.loads((FIXTURES / tool / "totals.json").read_text("utf-8"))
    return found


def recognized(path: Path) -> str | None:
    """The tool that a check takes the file for."""
    return importers.recognize(str(path))
