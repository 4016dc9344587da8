"""lm-evaluation-harness samples (`samples_TASK_DATE.jsonl`, written with `--log_samples`) → rows: one per document.

A document has a line for each filter (`strict-match`, `flexible-extract`); they become one row, with a column for each
metric and filter. One of them *judges*: the harness's own accuracy (`acc`, `exact_match` …) if there is only one such
metric and filter, or what the policy's `judged_by` names. Repeated answers are reduced to one by the filters, so there
is one trial. `results_DATE.json` holds totals only: samples that stand beside it must be of as many documents.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from highbar.importers import Row
from highbar.importers.aside import Aside
from highbar.importers.lm_eval_totals import Totals, run_of, totals_of
from highbar.importers.naming import as_text, score_column, tags
from highbar.importers.reading import json
from highbar.importers.reading.json import Bytes
from highbar.importers.record import Record, refuse
from highbar.importers.report import Report
from highbar.importers.writing import identifier
from highbar.model.judging import ScorerDemand

if TYPE_CHECKING:
    from hashlib import _Hash

_HASHES = ("doc_hash", "prompt_hash", "target_hash")
_FIXED = frozenset({"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", *_HASHES})
_ACCURACIES = frozenset({"acc", "accuracy", "exact_match", "em", "pass@1", "pass_at_1", "correct"})
"""The metrics of the harness and its tasks whose 1 means right."""

_FROM_DOCUMENT = ("category", "capability", "cluster")
_LONGEST_TAG = 200
_LARGEST = 1e18
_MOST_NAMED = 5
_WORDS = {"true": 1.0, "false": 0.0}
_WHOLE = "restore the samples as lm_eval wrote them: a line for each document and filter"
_HINT = "the rows are in samples_….jsonl beside it, which lm_eval writes with --log_samples"

Scored = tuple[str, str]
"""A metric and the filter under which it was computed."""

Scores = dict[Scored, float | None]
"""What one document got; None where there is no number."""


def read(path: str, report: Report) -> Iterator[Row]:
    """The rows of one file. They wait for its end: the lines of the next filter come after all of the first."""
    run = run_of(path)
    task = run[0] if run else "samples"
    totals = totals_of(path)
    with Aside() as aside, Path(path).open("rb") as stream:
        samples = _Samples(report, aside)
        for number, line in json.lines(stream):
            if number == 1 and line.lstrip()[:1] == b"{" and b'"doc_id"' not in line:
                refuse("this holds no samples: lm_eval writes its totals so", hint=_HINT)
            samples.add(json.members(line, number), number)
        samples.refuse_gaps(task, totals)
        samples.refuse_unscored(task, totals)
        yield from samples.rows(task, totals.model if totals else None)


class _Samples:
    """The lines of one file, on their way to the rows."""

    def __init__(self, report: Report, aside: Aside) -> None:
        self._report = report
        self._aside = aside
        self._scores: dict[int, Scores] = {}
        self._lines: dict[str, set[int]] = {}  # the documents that have a line of each filter, in the order of the file
        self._scored: dict[Scored, None] = {}
        self._hash: _Hash | None = sha256()  # as the harness makes it of the lines; None if one has no hashes

    def add(self, parts: dict[str, Bytes], number: int) -> None:
        """Take one line: the first of a document makes its row, the others add their scores to it."""
        self._report.records += 1
        top = Record(_decoded(parts, ("doc_id", "filter", "metrics", *_HASHES)), f"line {number}")
        self._take_hashes(top)
        document, filter_name = top.whole("doc_id"), top.text("filter") or "none"
        if document is None or document < 0:
            refuse("this sample has no doc_id" if document is None else "a doc_id is 0 or more", line=number)
        names = [str(name) for name in top.items("metrics")] or [key for key in parts if key not in _FIXED]
        lines = self._lines.setdefault(filter_name, set())
        if document in lines:
            refuse(f"document {document} stands twice with the filter {filter_name}", line=number)
        lines.add(document)
        scores = {(name, filter_name): self._number(json.decode(parts.get(name, b"null"))) for name in names}
        self._scored.update(dict.fromkeys(scores))
        if document not in self._scores:
            self._scores[document] = {}
            self._aside.put(_row(parts, str(document), number))
        else:
            self._report.merged += 1
        self._scores[document] |= scores

    def _take_hashes(self, line: Record) -> None:
        hashes = [line.value(key) for key in _HASHES]
        if self._hash and all(isinstance(one, str) for one in hashes):
            self._hash.update("".join(hashes).encode("utf-8", "surrogatepass"))
        else:
            self._hash = None

    def _number(self, value: object) -> float | None:
        """A score as a number. NumPy's own types come as text; what a whole corpus needs is no number."""
        if isinstance(value, bool):
            return float(value)
        if isinstance(value, str):
            try:
                value = _WORDS.get(value.lower()) if value.lower() in _WORDS else float(value)
            except ValueError:
                value = None
        if isinstance(value, list | dict):
            self._report.unread["parts of metrics over the whole corpus"] += 1
        if not isinstance(value, int | float) or math.isnan(value):
            return None
        if abs(value) > _LARGEST:
            self._report.warn(f"infinite scores are read as {_LARGEST:g}, so that no average hides them")
        return max(-_LARGEST, min(_LARGEST, float(value)))

    def refuse_gaps(self, task: str, totals: Totals | None) -> None:
        """Refuse a file that lacks a document or a line: nothing else in it would say so."""
        documents = len(self._scores)
        for filter_name, lines in self._lines.items():
            lacking = sorted(set(self._scores) - lines)
            if lacking:
                refuse(f"{_named(lacking)} no line of the filter {filter_name}, and other documents have one")
        if totals is not None and self._confirmed(task, totals):
            return
        last = max(self._scores, default=-1)
        if last >= documents:
            gaps = list(islice((one for one in range(last) if one not in self._scores), _MOST_NAMED + 1))
            hint = "for a run with --samples, keep its results_DATE.json beside this file: it says how many there are"
            refuse(f"{_named(gaps)} no line: documents are numbered from 0 without a gap", hint=hint)

    def refuse_unscored(self, task: str, totals: Totals | None) -> None:
        """Refuse a file without a metric or filter that the totals have: it may be the one that would judge."""
        lacking = [key for key in totals.scored[task] if key not in self._scored] if totals else []
        if totals and lacking:
            refuse(f"{totals.name} has a score for {','.join(lacking[0])}, which no sample has", hint=_WHOLE)

    def _confirmed(self, task: str, totals: Totals) -> bool:
        """Whether the totals know these samples, of whatever numbers they are. Refuses those that they do not know."""
        planned, documents = totals.documents[task], len(self._scores)
        if documents < planned:
            refuse(f"the file holds {documents} documents, and {totals.name} speaks of {planned}")
        if task not in totals.hashes or self._hash is None:
            return documents == planned
        if totals.hashes[task] != self._hash.hexdigest():
            refuse(f"these are not the samples that {totals.name} was made of: their hashes differ")
        return True

    def rows(self, task: str, model: str | None) -> Iterator[Row]:
        """The rows, now that all metrics and filters are known."""
        judges = self._judges()
        columns = self._columns()
        for row, _ in self._aside:
            scores = self._scores[int(row["id"])]
            found = {columns[key]: value for key, value in scores.items() if key in columns}
            labels = {**({"model": model} if model else {}), **(row["tags"] or {})} or None
            made = {**row, "id": identifier(f"{task}/{row['id']}"), "tags": labels, "suite": task, **found}
            yield made | self._judged(scores, judges)

    def _judged(self, scores: Scores, judges: dict[Scored, ScorerDemand | None]) -> Row:
        """What the judges say of a document. One that is silent decides nothing."""
        said = {key: _holds(demand, scores.get(key)) for key, demand in judges.items()}
        judge = ", ".join(self._label(key) for key in judges)
        if None not in said.values() or False in said.values():
            return {"correct": all(said.values()), "judge": judge}
        self._report.unscored += 1
        silent = ", ".join(self._label(key) for key, holds in said.items() if holds is None)
        # That the answer equals the target is not for us to demand.
        return {"unjudged": f"judge: no score by {silent}", "judge": judge, "expected": None, "predicted": None}

    def _judges(self) -> dict[Scored, ScorerDemand | None]:
        """Who judges; the report is told what became of every metric. A file in which that is open is refused."""
        able = [key for key in self._scored if key[0] in _ACCURACIES]
        demands = self._report.judged_by
        judges = self._demanded(demands) if demands else dict.fromkeys(able if len(able) == 1 else ())
        for key in self._scored:
            why = (
                "judged_by names another"
                if demands
                else "not acc or exact_match"
                if key not in able
                else "one of several"
            )
            self._report.scorers[self._label(key)] = "judges" if key in judges else f"a column, does not judge: {why}"
        self._report.judges = tuple(self._label(key) for key in judges)
        if not judges and self._scored:
            named = ", ".join(self._label(key) for key in able or self._scored)
            told = "several metrics say what is right" if able else "nobody judges these documents"
            metric, filter_name = next(iter(able or self._scored))
            hint = (
                f"say in the policy who does: judged_by: {{ lm_eval: {{ metric: {metric}, filter: {filter_name} }} }}"
            )
            refuse(f"{told}: there are {named}", hint=hint)
        if not judges:
            refuse("nobody judges these documents: there is no metric in this file")
        return judges

    def _demanded(self, demands: tuple[ScorerDemand, ...]) -> dict[Scored, ScorerDemand | None]:
        """The metrics that the policy names, each with one filter. One that the file does not have is refused."""
        found: dict[Scored, ScorerDemand | None] = {}
        for demand in sorted(demands, key=lambda one: one.least):  # of two for one metric both must hold
            fitting = [key for key in self._scored if key[0] == demand.scorer and demand.filter in (None, key[1])]
            asked = demand.scorer if demand.filter is None else f"{demand.scorer} with the filter {demand.filter}"
            there = f"there are {', '.join(f'{metric},{one}' for metric, one in self._scored)}"
            if not fitting:
                refuse(f"the policy's judged_by names {asked}, which this file does not have; {there}")
            if len(fitting) > 1:
                refuse(f"the policy's judged_by names {asked} without a filter; {there}", hint="name one filter")
            found[fitting[0]] = demand
        return found

    def _label(self, key: Scored) -> str:
        """A metric as the harness calls it; with its filter if there are several."""
        return key[0] if len(self._lines) == 1 else f"{key[0]},{key[1]}"

    def _columns(self) -> dict[Scored, str]:
        """The column of each metric and filter; those that would share one have none."""
        named = {key: score_column(key[0] if len(self._lines) == 1 else "_".join(key)) for key in self._scored}
        columns = list(named.values())
        shared = {column for column in columns if columns.count(column) > 1}
        for column in sorted(shared):
            self._report.unread[f"metrics that would share the column {column}"] += columns.count(column)
        return {key: column for key, column in named.items() if column not in shared}


def _holds(demand: ScorerDemand | None, value: float | None) -> bool | None:
    """Whether a score is good enough: 1, unless the policy says what is."""
    if value is None or demand is None:
        return None if value is None else value == 1
    return demand.holds(value)


def _named(documents: list[int]) -> str:
    """`document 3 has`, `documents 3, 4, 5 … have`."""
    if len(documents) == 1:
        return f"document {documents[0]} has"
    more = " …" if len(documents) > _MOST_NAMED else ""
    return f"documents {', '.join(map(str, documents[:_MOST_NAMED]))}{more} have"


def _row(parts: dict[str, Bytes], document: str, number: int) -> Row:
    asked = _flat(parts.get("doc"))
    answers = json.decode(parts.get("filtered_resps", b"null"))
    answer = answers[0] if isinstance(answers, list) and len(answers) == 1 else answers
    target = Record(_decoded(parts, ("target",)), f"line {number}").value("target")
    return {
        "id": document,
        "input": _prompt(json.decode(parts.get("arguments", b"null"))),
        "output": as_text(answer),
        "expected": _short(target) if isinstance(answer, str) else None,  # else they are log-likelihoods of choices
        "predicted": _short(answer),
        **{name: asked[name] for name in _FROM_DOCUMENT if isinstance(asked.get(name), str)},
        "tags": tags(asked, _FROM_DOCUMENT),
    }


def _decoded(parts: dict[str, Bytes], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: json.decode(parts[key]) for key in keys if key in parts}


def _flat(text: Bytes | None) -> dict[str, Any]:
    """The short members of the document that are no lists and no objects."""
    if text is None or text[:1] != b"{":
        return {}
    short = {key: value for key, value in json.members(text).items() if len(value) <= _LONGEST_TAG}
    return {key: json.decode(value) for key, value in short.items() if value[:1] not in (b"{", b"[")}


def _short(value: object) -> str | None:
    """Text that may be a label: short, without the spaces around it."""
    return value.strip() or None if isinstance(value, str) and len(value) <= _LONGEST_TAG else None


def _prompt(arguments: object) -> str | None:
    """The prompt of the first request, in the form of any version: {gen_args_0: {arg_0: …}} or [[…]]."""
    first = arguments
    for _ in range(2):
        if isinstance(first, dict):
            first = next(iter(first.values()), None)
        elif isinstance(first, list):
            first = first[0] if first else None
    return as_text(first)
