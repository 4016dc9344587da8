"""`results_DATE.json` of lm-evaluation-harness: its totals, which say of how many documents there must be samples."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from highbar.errors import InputError, Problem
from highbar.importers.beside import RESTORE, Beside
from highbar.importers.reading import json
from highbar.importers.record import Record, refuse

_DATE = r"\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}(?:\.\d+)?"
_SAMPLES = re.compile(rf"samples_(.+)_({_DATE})\.jsonl$")
_TOTALS = re.compile(rf"_({_DATE})\.json$")
_SPREAD = "_stderr"


@dataclass(frozen=True, slots=True)
class Totals:
    """What the harness counted in one run."""

    name: str
    documents: Mapping[str, int]  # by task
    hashes: Mapping[str, str]  # of the samples of each task, in their order
    scored: Mapping[str, Sequence[tuple[str, str]]]  # by task, each metric and filter that has a total
    model: str | None


def run_of(path: str) -> tuple[str, str] | None:
    """The task and the date of a file of samples, as its name has them."""
    found = _SAMPLES.search(Path(path).name)
    return (found[1], found[2]) if found else None


def totals_of(path: str) -> Totals | None:
    """The totals of the run that wrote a file of samples, if they stand beside it."""
    run = run_of(path)
    if run is None:
        return None
    task, date = run
    found = (_read(str(one)) for one in sorted(Path(path).parent.glob(f"*_{date}.json")))
    return next((totals for totals in found if totals and task in totals.documents), None)


def look(tools: Mapping[str, str | None], found: Beside) -> None:
    """Find the totals whose samples are there; a task of theirs that has none is a problem."""
    samples = [path for path, tool in tools.items() if tool == "lm-eval" and run_of(path)]
    for path, tool in tools.items():
        date = _TOTALS.search(Path(path).name) if tool == "lm-eval" else None
        tasks = _tasks(path, date[1], samples) if date else []
        if not tasks:
            continue
        try:
            totals = _read(path)
        except InputError as error:
            found.problems += [Problem(p.message, p.file or path, p.line, p.column, p.hint) for p in error.problems]
            continue
        lacking = [task for task in totals.documents if task not in tasks] if totals else []
        if lacking:
            told = f"the totals have the task {lacking[0]!r}, and there are no samples of it"
            found.problems.append(Problem(told, file=path, hint=RESTORE))
        found.left[path] = f"{path}: read for its totals: the samples of every task are there"


def _tasks(path: str, date: str, samples: Sequence[str]) -> list[str]:
    """The tasks whose samples of the same run stand in the folder of the totals."""
    runs = ((run_of(one), Path(one).parent) for one in samples)
    return [run[0] for run, folder in runs if run and run[1] == date and folder == Path(path).parent]


def _read(path: str) -> Totals | None:
    """The totals in a file; None if it has none, as older ones do."""
    document = Record(json.decode(Path(path).read_bytes()), Path(path).name)
    counted = document.record("n-samples")
    if counted is None:
        return None
    documents: dict[str, int] = {}
    for task in counted:
        count = counted.record(task)
        number = count.whole("effective") if count else None
        documents[task] = refuse(f"{counted.place}: {task}: wanted `effective`") if number is None else number
    hashes = document.record("task_hashes") or Record({}, path)
    known = {task: found for task in hashes if isinstance(found := hashes.value(task), str)}
    model = document.value("model_name")
    scored = {task: _scored(document, task) for task in documents}
    return Totals(Path(path).name, documents, known, scored, model if isinstance(model, str) and model else None)


def _scored(document: Record, task: str) -> list[tuple[str, str]]:
    """The metrics and filters of a task, which the totals write as `exact_match,strict-match`."""
    results = document.record("results")
    keys = (results.record(task) if results else None) or ()
    named = (key.partition(",") for key in keys)
    return [(metric, one) for metric, comma, one in named if comma and not metric.endswith(_SPREAD)]
