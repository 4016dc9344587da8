"""Inspect AI logs in one folder: retries of a task, and the files that list the logs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from json import dumps
from pathlib import Path
from typing import Any, NamedTuple

from highbar.errors import InputError, Problem
from highbar.importers.folder_check import FOLDER_HINT, FolderCheck
from highbar.importers.inspect import read_header
from highbar.importers.reading import json
from highbar.importers.record import Record, in_file, refuse

_SET = "eval-set.json"
_LOGS = "logs.json"
_COMPLETE = "success"
_NO_RETRY = "check the logs of different tasks, models or samples each for itself"


class _InspectTask(NamedTuple):
    """The plan of a run. A retry has the same one."""

    task: str
    model: str
    arguments: str  # task_args as JSON
    ids: tuple[str, ...]
    samples: int | None
    part: str  # limit and sample_id as JSON
    epochs: int
    scorers: frozenset[str]

    def difference(self, earlier: _InspectTask) -> str | None:
        """The first difference from an earlier plan; None if they are equal."""
        if self.task != earlier.task:
            return f"the task is {self.task!r}, was {earlier.task!r}"
        if self.model != earlier.model:
            return f"the model is {self.model!r}, was {earlier.model!r}"
        if self.arguments != earlier.arguments:
            return f"the task_args differ: {self.arguments}, were {earlier.arguments}"
        if self.epochs != earlier.epochs:
            return f"it has {self.epochs} epochs, planned were {earlier.epochs}"
        if lost := sorted(earlier.scorers - self.scorers):
            return f"the scorer {lost[0]!r} is not among its scorers"
        return self._other_samples(earlier)

    def _other_samples(self, earlier: _InspectTask) -> str | None:
        if bool(self.ids) != bool(earlier.ids):
            return f"{'the other' if self.ids else 'it'} does not name the samples that it plans"
        number, before = len(self.ids) or self.samples, len(earlier.ids) or earlier.samples
        if number != before:
            return f"it plans {number} samples, planned were {before}"
        if lacking := sorted(set(earlier.ids) - set(self.ids)):
            return f"the planned samples differ: {lacking[0]} is not among them"
        if not self.ids and self.part != earlier.part:
            return f"the limit differs: {self.part}, was {earlier.part}"
        return None


class _RunLog(NamedTuple):
    """What the header of a log says about its run."""

    path: str
    plan: _InspectTask
    task_id: str
    eval_id: str
    created: float
    status: str

    @property
    def complete(self) -> bool:
        return self.status == _COMPLETE


def check_folder(tools: Mapping[str, str | None], found: FolderCheck) -> None:
    """Leave out the files that only list logs, and the logs that a retry replaces. A missing log is a problem."""
    logs = [path for path, tool in tools.items() if tool == "inspect"]
    runs = [run for path in logs if (run := _run(path))]
    for path, tool in tools.items():
        if tool is not None or Path(path).name not in (_SET, _LOGS):
            continue
        if near := [log for log in logs if Path(path).parent in Path(log).parents]:
            try:
                missing = list(_missing(path, near, runs))
            except InputError as error:
                found.problems += in_file(error, path)
                continue
            found.problems += [
                Problem("import.incomplete", message, file=path, hint=FOLDER_HINT) for message in missing[:1]
            ]
            found.not_read[path] = f"{path}: read for what it lists: every log that it names is there"
    _leave_retried(runs, found)


def _run(path: str) -> _RunLog | None:
    """The run of a log; None if its header is broken, because `read` will refuse that."""
    try:
        values = read_header(path)
        spec = Record(values, "header").record("eval")
        if spec is None or not spec.text("task_id"):
            return None
        created = datetime.fromisoformat(spec.text("created") or "").timestamp()
        status = str(values.get("status") or "started")
        names = (spec.text("task_id") or "", spec.text("eval_id") or "")
        return _RunLog(path, _plan(spec), *names, created, "drained" if _ended_early(values) else status)
    except (InputError, OSError, ValueError, OverflowError):
        return None


def _plan(spec: Record) -> _InspectTask:
    config = spec.record("config") or Record({}, "header: config")
    dataset = spec.record("dataset") or Record({}, "header: dataset")
    return _InspectTask(
        spec.text("task") or "",
        spec.text("model") or "",
        dumps(spec.value("task_args") or {}, sort_keys=True),
        tuple(str(id_) for id_ in dataset.items("sample_ids")),
        dataset.whole("samples"),
        dumps([config.value("limit"), config.value("sample_id")]),
        config.whole("epochs") or 1,
        frozenset(name for scorer in spec.records("scorers") if (name := scorer.text("name"))),
    )


def _ended_early(values: Mapping[str, Any]) -> bool:
    """Whether a run with the status success was ended on request, before all samples had run."""
    results = values.get("results")
    return isinstance(results, dict) and results.get("logged_samples") is not None


def _missing(path: str, logs: Sequence[str], runs: Sequence[_RunLog]) -> Iterator[str]:
    """A message for each log that a file lists and that is not there."""
    document = json.decode_value(Path(path).read_bytes())
    if Path(path).name == _SET:
        record = Record(document, _SET)
        if "eval_set_id" not in record:
            refuse("import.other-file", "this is no eval-set.json of Inspect AI: it has no eval_set_id")
        there = {run.task_id for run in runs}
        for task in record.records("tasks"):
            if task.text("task_id") not in there:
                yield f"the eval set has the task {task.text('name')!r}, and there is no log of it"
    else:
        there = {str(Path(log).resolve()) for log in logs}
        for name in Record(document, _LOGS):
            if str((Path(path).parent / name).resolve()) not in there:
                yield f"{_LOGS} lists {name}, which is not there"


def _leave_retried(runs: Sequence[_RunLog], found: FolderCheck) -> None:
    """Leave out all runs of a task except the last complete one. Copies of a log stay, and are refused later."""
    groups: dict[str, list[_RunLog]] = {}
    for run in runs:
        groups.setdefault(run.task_id, []).append(run)
    for group in groups.values():
        if len({run.eval_id for run in group}) < len(group) or len(group) < 2:
            continue
        complete = [run for run in group if run.complete]
        if not complete:
            statuses = ", ".join(sorted({run.status for run in group}))
            message = f"none of the {len(group)} runs of the task {group[0].plan.task!r} is complete: {statuses}"
            last = max(group, key=lambda run: run.created)
            found.problems.append(
                Problem("import.incomplete", message, file=last.path, hint="complete it with `inspect eval-retry`")
            )
            continue
        last = max(complete, key=lambda run: (run.created, run.path))
        for run in group:
            if run is last:
                continue
            if other := last.plan.difference(run.plan):
                message = f"this is no retry of {run.path}, though it has the same task_id: {other}"
                found.problems.append(Problem("import.incomplete", message, file=last.path, hint=_NO_RETRY))
            else:
                found.not_read[run.path] = (
                    f"{run.path}: not counted (its status is {run.status}): {Path(last.path).name} is the last "
                    f"complete run of the task {run.plan.task!r}"
                )
