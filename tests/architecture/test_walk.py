"""The meter of the source counts what it says that it counts."""

from __future__ import annotations

from pathlib import Path

from bench.walk_meter import counts

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


def test_the_meter_counts_names_words_fields_imports_and_comments(tmp_path: Path) -> None:
    for name, text in {"one/files.py": FIRST, "two/files.py": SECOND, "one/other.py": ""}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    found = {count.what.strip(): count for count in counts(tmp_path)}
    assert {what: count.number for what, count in found.items()} == {
        "lines of src": "24",
        "files of src": "3",
        "distinct words in identifiers": "7",
        "dataclasses and structs": "2",
        "class names that stand for two or more things": "1 (2 places)",
        "public function names of two or more modules": "1 (2 places)",
        "file names that recur": "1 (2 places)",
        "imports inside functions": "4",
        "of them without a reason beside them": "1",
        "mutable fields of frozen dataclasses and structs": "2",
        "comments on lines of their own per 1,000 lines": "83.3",
        "constants named MOST_, LARGEST_, MAX_, FEW_ …": "1",
    }
    assert found["distinct words in identifiers"].places == ("answer", "map", "most", "name", "read", "row", "rows")
    assert found["of them without a reason beside them"].places == ("one/files.py:16 import csv",)
