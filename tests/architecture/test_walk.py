"""The meter of the source counts what it says that it counts, and what it counts does not grow again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from bench.walk import copy_example, traced
from bench.walk_meter import (
    class_places,
    counts,
    limit_constants,
    local_imports,
    modules,
    mutable_fields,
)

from tests.architecture.repository import ROOT, SOURCE

AT_MOST = {
    "class names that stand for two or more things": 0,
    "imports inside functions without a reason beside them": 0,
    "mutable fields of frozen dataclasses and structs": 0,
    "limits without a reason beside them": 0,
    "modules entered by a plain check": 76,
    "calls of a plain check": 24_000,
}
"""A ratchet: lower a figure if you can, and never raise it. `scripts/walk --list WORD` shows the places behind it."""

FIRST = """\
from dataclasses import dataclass

MOST_ROWS = 3
# A comment that says why.
ANSWER = 4  # what


@dataclass(frozen=True)
class RowMap:
    rows: list[int]
    name: str


def read(row_map: RowMap) -> None:
    import json  # only here: it is slow to load
    import csv
"""
SECOND = """\
class _RowMap(Struct, frozen=True):
    rows: list[int]


def read() -> None:
    # The standard library has it.
    import json
    import csv
"""


def test_the_meter_counts_names_fields_imports_and_comments(tmp_path: Path) -> None:
    for name, text in {"one/files.py": FIRST, "two/files.py": SECOND, "one/other.py": ""}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    found = {count.what.strip(): count for count in counts(tmp_path)}
    assert {what: count.number for what, count in found.items()} == {
        "class names that stand for two or more things": "1 (2 places)",
        "imports inside functions": "4",
        "imports inside functions without a reason beside them": "1",
        "mutable fields of frozen dataclasses and structs": "2",
        "comments on lines of their own per 1,000 lines": "83.3",
        "limits: constants named MOST_, LARGEST_, MAX_, FEW_ …": "1",
        "limits without a reason beside them": "1",
    }
    assert found["imports inside functions without a reason beside them"].places == ("one/files.py:16 import csv",)


@pytest.mark.slow
def test_names_imports_and_fields_are_as_clear_as_they_were() -> None:
    source = modules(SOURCE)
    found = {
        "class names that stand for two or more things": several(class_places(source)),
        "imports inside functions without a reason beside them": local_imports(source)[1],
        "mutable fields of frozen dataclasses and structs": mutable_fields(source),
        "limits without a reason beside them": limit_constants(source)[1],
    }
    for what, places in found.items():
        assert len(places) <= AT_MOST[what], "\n".join([what, *places])


def several(places: Mapping[str, list[str]]) -> list[str]:
    return [f"{name}: {', '.join(found)}" for name, found in places.items() if len(found) > 1]


@pytest.mark.process
def test_a_plain_check_enters_no_more_modules_than_it_did(tmp_path: Path) -> None:
    copy_example(ROOT, tmp_path)
    entered, calls, _ = traced(ROOT, tmp_path, "--policy", "plain.yaml")
    assert int(entered.number) <= AT_MOST["modules entered by a plain check"], "\n".join(entered.places)
    assert int(calls.number.replace(",", "")) <= AT_MOST["calls of a plain check"], "\n".join(calls.places)


def test_the_stages_in_their_order_fit_on_one_screen() -> None:
    assert len((SOURCE / "pipeline.py").read_text("utf-8").splitlines()) <= 80
