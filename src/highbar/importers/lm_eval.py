"""lm-evaluation-harness samples (`samples_TASK_DATE.jsonl`, written with `--log_samples`) → rows: one per document.

A document has a line for each filter (`strict-match`, `flexible-extract`); they become one row, with a column for each
metric and filter. One of them *judges*: the harness's own accuracy (`acc`, `exact_match` …) if there is only one such
metric and filter, or the one that the policy's `judged_by` names. Filters reduce repeated answers to one, so there is
one trial. `results_DATE.json` has totals only; the samples beside it must have the same number of documents.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from highbar.columns import SCENARIO_TEXTS
from highbar.errors import InputError, Problem
from highbar.importers import Row
from highbar.importers.folder_check import FOLDER_HINT, FolderCheck
from highbar.importers.limits import LARGEST_SCORE, LONGEST_TAG, MOST_NAMED
from highbar.importers.naming import score_columns, short_label
from highbar.importers.reading import json
from highbar.importers.reading.json import Bytes
from highbar.importers.record import Record, in_file, refuse
from highbar.importers.report import Report
from highbar.importers.row_buffer import RowBuffer
from highbar.importers.scorers import meet_demands, unjudged_columns
from highbar.language.tool_names import flat_tags, scenario_id, text_or_json
from highbar.model.judging import ScorerDemand

if TYPE_CHECKING:
    from hashlib import _Hash

_HASHES = ("doc_hash", "prompt_hash", "target_hash")
_FIXED = frozenset({"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", *_HASHES})
_ACCURACY_NAMES = frozenset({"acc", "accuracy", "exact_match", "em", "pass@1", "pass_at_1", "correct"})
"""The metrics of the harness and its tasks for which 1 means right."""

_WORDS = {"true": 1.0, "false": 0.0}
_WHOLE = "restore the samples as lm_eval wrote them: a line for each document and filter"
_HINT = "the rows are in samples_….jsonl beside it, which lm_eval writes with --log_samples"

_DATE = r"\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}(?:\.\d+)?"
_SAMPLES_FILE = re.compile(rf"samples_(.+)_({_DATE})\.jsonl$")
_TOTALS_FILE = re.compile(rf"_({_DATE})\.json$")
_SPREAD = "_stderr"

Scored = tuple[str, str]
"""A metric and the filter under which it was computed."""

Scores = dict[Scored, float | None]
"""The scores of one document; None if a score is not a number."""


def read(path: str, report: Report) -> Iterator[Row]:
    """The rows of one file. They are buffered, because all lines of one filter precede those of the next."""
    run = task_and_date(path)
    task = run[0] if run else "samples"
    totals = totals_of(path)
    with RowBuffer() as buffer, Path(path).open("rb") as stream:
        samples = _Samples(report, buffer)
        for number, line in json.numbered_lines(stream):
            if number == 1 and line.lstrip()[:1] == b"{" and b'"doc_id"' not in line:
                refuse("results.empty", "this holds no samples: lm_eval writes its totals so", hint=_HINT)
            samples.add(json.members(line, number), number)
        samples.refuse_missing(task, totals)
        samples.refuse_unscored(task, totals)
        yield from samples.rows(task, totals.model if totals else None)


class _Samples:
    """Collects the lines of one file, then makes the rows."""

    def __init__(self, report: Report, buffer: RowBuffer) -> None:
        self._report = report
        self._buffer = buffer
        self._scores: dict[int, Scores] = {}
        self._lines: dict[str, set[int]] = {}  # the documents of each filter, in the order of the file
        self._scored: dict[Scored, None] = {}
        self._hash: _Hash | None = sha256()  # the hash of the harness over all lines; None if a line has no hashes

    def add(self, parts: dict[str, Bytes], number: int) -> None:
        """Add one line: the first line of a document makes its row, later ones add scores to it."""
        self._report.records += 1
        top = Record(_decode_members(parts, ("doc_id", "filter", "metrics", *_HASHES)), f"line {number}")
        self._add_hashes(top)
        document, filter_name = top.whole("doc_id"), top.text("filter") or "none"
        if document is None or document < 0:
            refuse(
                "import.wrong-value",
                "this sample has no doc_id" if document is None else "a doc_id is 0 or more",
                line=number,
            )
        names = [str(name) for name in top.items("metrics")] or [key for key in parts if key not in _FIXED]
        lines = self._lines.setdefault(filter_name, set())
        if document in lines:
            refuse("import.duplicate", f"document {document} occurs twice with the filter {filter_name}", line=number)
        lines.add(document)
        scores = {(name, filter_name): self._number(json.decode_value(parts.get(name, b"null"))) for name in names}
        self._scored.update(dict.fromkeys(scores))
        if document not in self._scores:
            self._scores[document] = {}
            self._buffer.put(_row(parts, str(document), number))
        else:
            self._report.merged += 1
        self._scores[document] |= scores

    def _add_hashes(self, line: Record) -> None:
        hashes = [line.value(key) for key in _HASHES]
        if self._hash and all(isinstance(one, str) for one in hashes):
            self._hash.update("".join(hashes).encode("utf-8", "surrogatepass"))
        else:
            self._hash = None

    def _number(self, value: object) -> float | None:
        """A score as a number, or None. NumPy numbers are text in the file, and parts of a corpus metric are lists."""
        if isinstance(value, bool):
            return float(value)
        if isinstance(value, str):
            try:
                value = _WORDS.get(value.lower()) if value.lower() in _WORDS else float(value)
            except ValueError:
                value = None
        if isinstance(value, list | dict):
            self._report.unread["parts of metrics over the whole corpus"] += 1
        if not isinstance(value, int | float) or (isinstance(value, float) and math.isnan(value)):
            return None
        if abs(value) > LARGEST_SCORE:
            self._report.warn(f"infinite scores are read as {LARGEST_SCORE:g}, so that no average hides them")
        return float(max(-LARGEST_SCORE, min(LARGEST_SCORE, value)))

    def refuse_missing(self, task: str, totals: TaskTotals | None) -> None:
        """Refuse a file that lacks a document, or the line of a document for one of the filters."""
        documents = len(self._scores)
        for filter_name, lines in self._lines.items():
            lacking = sorted(set(self._scores) - lines)
            if lacking:
                refuse(
                    "import.incomplete",
                    f"{_documents_have(lacking)} no line of the filter {filter_name}, and other documents have one",
                )
        if totals is not None and self._matches(task, totals):
            return
        last = max(self._scores, default=-1)
        if last >= documents:
            missing = list(islice((one for one in range(last) if one not in self._scores), MOST_NAMED + 1))
            hint = "for a run with --samples, keep its results_DATE.json beside this file: it says how many there are"
            refuse(
                "import.incomplete",
                f"{_documents_have(missing)} no line: documents are numbered from 0 without a gap",
                hint=hint,
            )

    def refuse_unscored(self, task: str, totals: TaskTotals | None) -> None:
        """Refuse a file that lacks a metric or filter of the totals: it may be the one that judges."""
        lacking = [key for key in totals.scored[task] if key not in self._scored] if totals else []
        if totals and lacking:
            refuse(
                "import.incomplete",
                f"{totals.name} has a score for {','.join(lacking[0])}, which no sample has",
                hint=_WHOLE,
            )

    def _matches(self, task: str, totals: TaskTotals) -> bool:
        """Whether the totals confirm that no document is missing, by hash or else by number.

        Refuses samples of another run. Gaps in the document ids are then allowed: `--samples` makes them.
        """
        planned, documents = totals.documents[task], len(self._scores)
        if documents < planned:
            refuse("import.incomplete", f"the file holds {documents} documents, and {totals.name} counts {planned}")
        if task not in totals.hashes or self._hash is None:
            return documents == planned
        if totals.hashes[task] != self._hash.hexdigest():
            refuse(
                "import.contradiction", f"these are not the samples that {totals.name} was made of: their hashes differ"
            )
        return True

    def rows(self, task: str, model: str | None) -> Iterator[Row]:
        """The rows, once all metrics and filters are known."""
        judges = self._settle_judges()
        columns = self._columns()
        for row, _ in self._buffer:
            scores = self._scores[int(row["id"])]
            found = {columns[key]: value for key, value in scores.items() if key in columns}
            labels = {**({"model": model} if model else {}), **(row["tags"] or {})} or None
            made = {**row, "id": scenario_id(f"{task}/{row['id']}"), "tags": labels, "suite": task, **found}
            yield made | self._judgment(scores, judges)

    def _judgment(self, scores: Scores, judges: dict[Scored, ScorerDemand | None]) -> Row:
        """The judgment of a document: undecided if a judge has no score, unless another score is bad."""
        correct, silent = meet_demands(judges, scores)
        judge = ", ".join(map(self._label, judges))
        if correct is not None:
            return {"correct": correct, "judge": judge}
        self._report.unscored += 1
        return {**unjudged_columns(map(self._label, silent)), "judge": judge}

    def _settle_judges(self) -> dict[Scored, ScorerDemand | None]:
        """Decide who judges, and note every metric in the report. Refuses a file in which that is ambiguous."""
        declared = [key for key in self._scored if key[0] in _ACCURACY_NAMES]
        demands = self._report.judged_by
        judges = self._policy_judges(demands) if demands else dict.fromkeys(declared if len(declared) == 1 else ())
        for key in self._scored:
            not_named = "one of several" if key in declared else "not acc or exact_match"
            why = "judged_by names another" if demands else not_named
            self._report.add_scorer(self._label(key), judges=key in judges, why_not=why)
        self._report.judges = tuple(self._label(key) for key in judges)
        if not judges and self._scored:
            named = ", ".join(self._label(key) for key in declared or self._scored)
            message = "several metrics say what is right" if declared else "nobody judges these documents"
            metric, filter_name = next(iter(declared or self._scored))
            judged_by = f"judged_by: {{ lm_eval: {{ metric: {metric}, filter: {filter_name} }} }}"
            refuse(
                "judge.undeclared", f"{message}: there are {named}", hint=f"name the judge in the policy: {judged_by}"
            )
        if not judges:
            refuse("judge.undeclared", "nobody judges these documents: there is no metric in this file")
        return judges

    def _policy_judges(self, demands: tuple[ScorerDemand, ...]) -> dict[Scored, ScorerDemand | None]:
        """The metrics that the policy names, each with one filter. Refuses a file without one of them."""
        found: dict[Scored, ScorerDemand | None] = {}
        for demand in sorted(demands, key=lambda one: one.least):  # of two on one metric the stricter counts
            fitting = [key for key in self._scored if key[0] == demand.scorer and demand.filter in (None, key[1])]
            asked = demand.scorer if demand.filter is None else f"{demand.scorer} with the filter {demand.filter}"
            there = f"there are {', '.join(f'{metric},{one}' for metric, one in self._scored)}"
            if not fitting:
                refuse(
                    "judge.unknown-scorer",
                    f"the policy's judged_by names {asked}, which this file does not have; {there}",
                )
            if len(fitting) > 1:
                refuse(
                    "judge.unknown-scorer",
                    f"the policy's judged_by names {asked} without a filter; {there}",
                    hint="name one filter",
                )
            found[fitting[0]] = demand
        return found

    def _label(self, key: Scored) -> str:
        """The harness's name of a metric, with the filter if the file has several filters."""
        return key[0] if len(self._lines) == 1 else f"{key[0]},{key[1]}"

    def _columns(self) -> dict[Scored, str]:
        """The column of each metric and filter, except those that would share a column."""
        columns, shared = score_columns(
            {key: key[0] if len(self._lines) == 1 else "_".join(key) for key in self._scored}
        )
        self._report.unread.update(shared)
        return columns


def _documents_have(documents: list[int]) -> str:
    """`document 3 has`, `documents 3, 4, 5 … have`."""
    if len(documents) == 1:
        return f"document {documents[0]} has"
    more = " …" if len(documents) > MOST_NAMED else ""
    return f"documents {', '.join(map(str, documents[:MOST_NAMED]))}{more} have"


def _row(parts: dict[str, Bytes], document: str, number: int) -> Row:
    asked = _short_members(parts.get("doc"))
    outputs = json.decode_value(parts.get("filtered_resps", b"null"))
    answer = outputs[0] if isinstance(outputs, list) and len(outputs) == 1 else outputs
    target = Record(_decode_members(parts, ("target",)), f"line {number}").value("target")
    return {
        "id": document,
        "input": _prompt(json.decode_value(parts.get("arguments", b"null"))),
        "output": text_or_json(answer),
        "expected": short_label(target) if isinstance(answer, str) else None,  # other answers are log-likelihoods
        "predicted": short_label(answer),
        **{name: asked[name] for name in SCENARIO_TEXTS if isinstance(asked.get(name), str)},
        "tags": flat_tags(asked, SCENARIO_TEXTS),
    }


def _decode_members(parts: dict[str, Bytes], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: json.decode_value(parts[key]) for key in keys if key in parts}


def _short_members(text: Bytes | None) -> dict[str, Any]:
    """The short members of the document that are not lists or objects."""
    if text is None or text[:1] != b"{":
        return {}
    short = {key: value for key, value in json.members(text).items() if len(value) <= LONGEST_TAG}
    return {key: json.decode_value(value) for key, value in short.items() if value[:1] not in (b"{", b"[")}


def _prompt(arguments: object) -> str | None:
    """The prompt of the first request, in the form of any version: {gen_args_0: {arg_0: …}} or [[…]]."""
    first = arguments
    for _ in range(2):
        if isinstance(first, dict):
            first = next(iter(first.values()), None)
        elif isinstance(first, list):
            first = first[0] if first else None
    return text_or_json(first)


# --- results_DATE.json, the totals of a run ---------------------------------------------


class TaskTotals(NamedTuple):
    """The totals of one run of the harness."""

    name: str
    documents: Mapping[str, int]  # by task
    hashes: Mapping[str, str]  # of all samples in order, by task
    scored: Mapping[str, Sequence[tuple[str, str]]]  # metrics and filters with a total, by task
    model: str | None


def task_and_date(path: str) -> tuple[str, str] | None:
    """The task and the date in the name of a samples file."""
    found = _SAMPLES_FILE.search(Path(path).name)
    return (found[1], found[2]) if found else None


def totals_of(path: str) -> TaskTotals | None:
    """The totals of the run of a samples file; None if they are not in the same folder."""
    run = task_and_date(path)
    if run is None:
        return None
    task, date = run
    found = (_read_totals(str(one)) for one in sorted(Path(path).parent.glob(f"*_{date}.json")))
    return next((totals for totals in found if totals and task in totals.documents), None)


def check_folder(tools: Mapping[str, str | None], found: FolderCheck) -> None:
    """Leave out the totals with samples beside them; a task without samples is a problem."""
    samples = [path for path, tool in tools.items() if tool == "lm-eval" and task_and_date(path)]
    for path, tool in tools.items():
        date = _TOTALS_FILE.search(Path(path).name) if tool == "lm-eval" else None
        tasks = _tasks(path, date[1], samples) if date else []
        if not tasks:
            continue
        try:
            totals = _read_totals(path)
        except InputError as error:
            found.problems += in_file(error, path)
            continue
        lacking = [task for task in totals.documents if task not in tasks] if totals else []
        if lacking:
            message = f"the totals have the task {lacking[0]!r}, and there are no samples of it"
            found.problems.append(Problem("import.incomplete", message, file=path, hint=FOLDER_HINT))
        found.not_read[path] = f"{path}: read for its totals: the samples of every task are there"


def _tasks(path: str, date: str, samples: Sequence[str]) -> list[str]:
    """The tasks with samples of the same run in the folder of the totals."""
    runs = ((task_and_date(one), Path(one).parent) for one in samples)
    return [run[0] for run, folder in runs if run and run[1] == date and folder == Path(path).parent]


def _read_totals(path: str) -> TaskTotals | None:
    """The totals of a file; None for older files without counts."""
    document = Record(json.decode_value(Path(path).read_bytes()), Path(path).name)
    counted = document.record("n-samples")
    if counted is None:
        return None
    documents: dict[str, int] = {}
    for task in counted:
        count = counted.record(task)
        number = count.whole("effective") if count else None
        documents[task] = (
            refuse("import.missing-value", f"{counted.place}: {task}: wanted `effective`") if number is None else number
        )
    hashes = document.record("task_hashes") or Record({}, path)
    known = {task: found for task in hashes if isinstance(found := hashes.value(task), str)}
    model = document.value("model_name")
    scored = {task: _scored_totals(document, task) for task in documents}
    return TaskTotals(Path(path).name, documents, known, scored, model if isinstance(model, str) and model else None)


def _scored_totals(document: Record, task: str) -> list[tuple[str, str]]:
    """The metrics and filters of a task, which the totals write as `exact_match,strict-match`."""
    results = document.record("results")
    keys = (results.record(task) if results else None) or ()
    named = (key.partition(",") for key in keys)
    return [(metric, one) for metric, comma, one in named if comma and not metric.endswith(_SPREAD)]
