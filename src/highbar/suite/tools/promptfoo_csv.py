"""A CSV file of tests for promptfoo → tests in the form of its YAML, each with its line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from highbar.documents.problems import ValueCursor
from highbar.documents.scalars import written_number
from highbar.errors import InputError, Problem
from highbar.suite.csv_rows import csv_records
from highbar.suite.tools.promptfoo_assertions import REFUSED, SUPPORTED
from highbar.suite.tools.promptfoo_lists import NotAList, comma_separated

_LISTS = ("contains-all", "contains-any", "icontains-all", "icontains-any")
_WITH_THRESHOLD = ("cost", "latency", "starts-with")
_THRESHOLD = Decimal("0.75")
"""promptfoo's threshold for a cell that gives none."""
_SPECIAL = (
    "expected", "prefix", "suffix", "description", "providerOutput", "metric", "threshold", "metadata", "config",
)  # fmt: skip
_BETWEEN = re.compile(r"(?<!\\),")


def read_csv_rows(text: str, file: str) -> list[tuple[int, dict[str, str]]]:
    """The rows of a CSV file, each with the line on which it begins. Raises InputError."""
    rows = list(csv_records(text, file))
    if not rows:
        raise InputError(Problem("file.empty", "the file has no header line", file, 1))
    header = [name.strip() for name in rows[0][1]]
    problems = [
        Problem("row.field-count", f"found {len(cells)} cells, and the header has {len(header)}", file, line)
        for line, cells in rows[1:]
        if len(cells) != len(header)
    ]
    twice = [name for name in dict.fromkeys(header) if header.count(name) > 1]
    problems += [Problem("suite.duplicate-key", f"the column '{name[:60]}' is there twice", file, 1) for name in twice]
    if problems:
        raise InputError(*problems)
    return [(line, dict(zip(header, cells, strict=True))) for line, cells in rows[1:]]


def case_of_row(row: Mapping[str, str], place: ValueCursor) -> dict[str, Any]:
    """One row as a test: columns are variables, except those that begin with `__`."""
    test: dict[str, Any] = {"vars": {}, "assert": [], "metadata": {}, "options": {}}
    for name, cell in row.items():
        key = name.removeprefix("__")
        if key == name:
            _variable(name, cell, test, place)
        elif key.startswith("expected"):
            if cell.strip():
                test["assert"].append(assertion_of(cell.strip(), place))
        elif key in ("prefix", "suffix"):
            test["options"][key] = cell
        elif key in ("description", "metric", "threshold", "providerOutput"):
            test[key] = cell.strip() if key == "threshold" else cell
        elif key.startswith("metadata:"):
            _metadata(key.partition(":")[2], cell, test)
        else:
            place.at(name).refuse("suite.no-counterpart", f"the column '{name[:60]}' has no counterpart")
    return _finish(test, place)


def _variable(name: str, cell: str, test: dict[str, Any], place: ValueCursor) -> None:
    if name.startswith("_") and name[1:].startswith(_SPECIAL):
        place.at(name).refuse(
            "suite.misspelled", f"the column '{name[:60]}' begins with one underscore", f"did you mean '_{name[:60]}'?"
        )
    test["vars"][name] = cell


def _metadata(key: str, cell: str, test: dict[str, Any]) -> None:
    if not cell.strip():
        return
    if key.endswith("[]"):
        test["metadata"][key[:-2]] = [item.strip().replace("\\,", ",") for item in _BETWEEN.split(cell)]
    else:
        test["metadata"][key] = cell


def _finish(test: dict[str, Any], place: ValueCursor) -> dict[str, Any]:
    metric = test.pop("metric", None)
    if metric is not None:
        test["assert"] = [{**assertion, "metric": metric} for assertion in test["assert"]]
    if "threshold" in test:
        found = written_number(test["threshold"]) if test["threshold"] else None
        if test["threshold"] and found is None:
            place.at("__threshold").refuse_value(test["threshold"], "a number")
        test["threshold"] = found
    return {key: value for key, value in test.items() if value not in (None, "") and (value != {} or key == "vars")}


def assertion_of(cell: str, place: ValueCursor) -> dict[str, Any]:
    """The assertion in a cell under `__expected`: `contains: x`, `not-icontains-any: a, b`, or text to be equal to.

    >>> assertion_of("icontains: hello", ValueCursor(problems=[])), assertion_of("hello", ValueCursor(problems=[]))
    ({'type': 'icontains', 'value': 'hello'}, {'type': 'equals', 'value': 'hello'})
    """
    for start, kind in (("javascript:", "javascript"), ("fn:", "javascript"), ("eval:", "javascript")):
        if cell.startswith(start):
            return {"type": kind, "value": cell.removeprefix(start).strip()}
    for start in ("grade:", "llm-rubric:"):
        if cell.startswith(start):
            return {"type": "llm-rubric", "value": cell.removeprefix(start)}
    if cell.startswith("python:") or (cell.startswith("file://") and re.search(r"\.(py|[cm]?[jt]s)(:|$)", cell)):
        return {"type": "python" if ".py" in cell or cell.startswith("python:") else "javascript", "value": cell}
    found = _known_type().fullmatch(cell)
    return {"type": "equals", "value": cell} if found is None else _assertion_of_type(found, place)


def _known_type() -> re.Pattern[str]:
    names = "|".join(sorted(map(re.escape, (*SUPPORTED, *REFUSED)), key=len, reverse=True))
    return re.compile(rf"(not-)?({names})(?:\(([0-9]+(?:\.[0-9]+)?)\))?(?::(.*))?", re.DOTALL)


def _assertion_of_type(found: re.Match[str], place: ValueCursor) -> dict[str, Any]:
    kind, threshold, value = found[2], found[3], found[4]
    made: dict[str, Any] = {"type": f"{found[1] or ''}{kind}"}
    if kind in _LISTS and value:
        try:
            made["value"] = comma_separated(value)
        except NotAList as error:
            place.refuse("suite.wrong-type", str(error))
    elif value is not None:
        made["value"] = value if kind == "is-json" else value.strip()
    if kind in _WITH_THRESHOLD:
        made["threshold"] = _THRESHOLD if threshold is None else written_number(threshold)
    return made
