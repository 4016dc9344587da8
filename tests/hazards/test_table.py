"""The table in `README.md` beside this file names every hazard, and is true."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROW = re.compile(r"^\| (H\d+) \| (.+?) \| (.+) \|$", re.MULTILINE)
TEST = re.compile(r"^def test_((?:h\d+_)+)", re.MULTILINE)


def files_by_hazard() -> dict[str, set[str]]:
    """The files that hold tests of each hazard."""
    files: dict[str, set[str]] = {}
    for file in HERE.glob("test_*.py"):
        for ids in TEST.findall(file.read_text("utf-8")):
            for identity in re.findall(r"h\d+", ids):
                files.setdefault(identity.upper(), set()).add(file.name)
    return files


def test_the_table_names_every_hazard_once() -> None:
    ids = [identity for identity, _, _ in ROW.findall((HERE / "README.md").read_text("utf-8"))]
    assert ids == [f"H{number:02}" for number in range(1, 170)]


def test_each_hazard_is_tested_where_the_table_says_or_waits_for_a_reason() -> None:
    files = files_by_hazard()
    for identity, _, where in ROW.findall((HERE / "README.md").read_text("utf-8")):
        assert set(re.findall(r"`(test_\w+\.py)`", where)) == files.get(identity, set()), identity
        assert identity in files or where.startswith("waits: needs "), identity
