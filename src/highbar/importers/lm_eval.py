"""lm-evaluation-harness samples (`samples_TASK_DATE.jsonl`, written with `--log_samples`) → rows: one per document.

A document has a line for each filter (`strict-match`, `flexible-extract`); they become one row, with a column for each
metric and filter. It is correct when its exact match (or else its accuracy) is 1 under every filter. Repeated answers
are reduced to one by the filters, so there is one trial. `results_DATE.json` holds totals only, and is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from highbar.importers import Row
from highbar.importers.aside import Aside
from highbar.importers.naming import as_text, score_column, tags
from highbar.importers.reading import json
from highbar.importers.reading.json import Bytes
from highbar.importers.record import Record, refuse
from highbar.importers.report import Report
from highbar.importers.writing import identifier

_TASK = re.compile(r"samples_(.+?)_\d{4}-\d{2}-\d{2}T")
_FIXED = frozenset(
    {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"}
    | {"doc_hash", "prompt_hash", "target_hash"}
)
_JUDGES = ("exact_match", "acc", "em", "pass@1", "pass_at_1", "accuracy", "correct")
"""The metrics whose 1 means right, the first that a file has."""

_FROM_DOCUMENT = ("category", "capability", "cluster")
_LONGEST_TAG = 200
_LARGEST = 1e18
_WORDS = {"true": 1.0, "false": 0.0}
_HINT = "the rows are in samples_….jsonl beside it, which lm_eval writes with --log_samples"

Scores = dict[tuple[str, str], float | None]
"""What one document got, by metric and filter; None where there is no number."""


def read(path: str, report: Report) -> Iterator[Row]:
    """The rows of one file. They wait for its end: the lines of the next filter come after all of the first."""
    named = _TASK.search(Path(path).name)
    task = named[1] if named else "samples"
    with Aside() as aside, Path(path).open("rb") as stream:
        samples = _Samples(report, aside)
        for number, line in json.lines(stream):
            if number == 1 and line.lstrip()[:1] == b"{" and b'"doc_id"' not in line:
                refuse("this holds no samples: lm_eval writes its totals so", hint=_HINT)
            samples.add(json.members(line, number), number)
        yield from samples.rows(task)


class _Samples:
    """The lines of one file, on their way to the rows."""

    def __init__(self, report: Report, aside: Aside) -> None:
        self._report = report
        self._aside = aside
        self._scores: dict[str, Scores] = {}
        self._filters: dict[str, None] = {}  # in the order of the file
        self._metrics: dict[str, None] = {}

    def add(self, parts: dict[str, Bytes], number: int) -> None:
        """Take one line: the first of a document makes its row, the others add their scores to it."""
        self._report.records += 1
        top = Record(_decoded(parts, ("doc_id", "filter", "metrics")), f"line {number}")
        if top.whole("doc_id") is None:
            refuse("this sample has no doc_id", line=number)
        document, filter_name = str(top.whole("doc_id")), top.text("filter") or "none"
        names = [str(name) for name in top.items("metrics")] or [key for key in parts if key not in _FIXED]
        scores = {(name, filter_name): self._number(json.decode(parts.get(name, b"null"))) for name in names}
        self._filters[filter_name] = None
        self._metrics.update(dict.fromkeys(names))
        if document not in self._scores:
            self._scores[document] = {}
            self._aside.put(_row(parts, document, number))
        elif any(key in self._scores[document] for key in scores) or not scores:
            refuse(f"document {document} stands twice with the filter {filter_name}", line=number)
        else:
            self._report.merged += 1
        self._scores[document] |= scores

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

    def rows(self, task: str) -> Iterator[Row]:
        """The rows, now that all filters are known."""
        judge = next((name for name in _JUDGES if name in self._metrics), None)
        for row, _ in self._aside:
            scores = self._scores[row["id"]]
            values = [scores.get((judge, one)) for one in self._filters] if judge else []
            row["id"] = identifier(f"{task}/{row['id']}")
            row["suite"] = task
            row |= {self._column(*key): value for key, value in scores.items()}
            self._report.unscored += not values or None in values
            if judge:
                row |= {"correct": all(value == 1 for value in values), "judge": judge}
            else:
                row |= {"expected": None, "predicted": None}  # that they are equal is not for us to demand
            yield row

    def _column(self, metric: str, filter_name: str) -> str:
        """The metric; with its filter where there are several."""
        return score_column(metric if len(self._filters) == 1 else f"{metric}_{filter_name}")


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
