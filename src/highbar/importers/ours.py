"""The name and the first bytes of a file → if it has rows of ours: then no plugin is loaded for it."""

from __future__ import annotations

import csv
import re
import zlib

from highbar.columns import COLUMN_NAMES
from highbar.importers.limits import LARGEST_HEAD

_SHARED = {
    "category", "cluster", "correct", "error", "expected", "input", "judge", "outcome", "output", "predicted", "suite",
    "tags", "trial", "weight",
}  # fmt: skip
"""Columns with names that occur in files of other tools too."""
_OURS = COLUMN_NAMES - _SHARED
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]', re.DOTALL)
_GZIP = 31  # for zlib: expect the header of gzip


def is_ours(name: str, head: bytes) -> bool:
    """If the first row has an id or another column that only rows of ours have."""
    lowered = name.lower()
    if lowered.endswith((".parquet", ".jsonl.zst", ".ndjson.zst", ".json.zst", ".csv.zst")):
        return True
    if lowered.endswith(".gz"):
        lowered, head = lowered.removesuffix(".gz"), _unpacked(head)
    text = head.decode("utf-8-sig", "replace").lstrip()
    names = _header(text) if lowered.endswith(".csv") else _keys(text)
    return bool(names & _OURS)


def _unpacked(head: bytes) -> bytes:
    try:
        return zlib.decompressobj(_GZIP).decompress(head, LARGEST_HEAD)
    except zlib.error:
        return b""


def _header(text: str) -> set[str]:
    try:
        return {cell.strip() for cell in next(csv.reader(text.splitlines()[:1]), [])}
    except csv.Error:
        return set()


def _keys(text: str) -> set[str]:
    """The keys of the first object of a JSON text, which may be cut off, in an array or not."""
    found: set[str] = set()
    depth, string = 0, ""
    for place in _TOKEN.finditer(text.lstrip("[ \t\r\n")):
        mark = place[0]
        if mark == ":" and depth == 1:
            found.add(string.strip('"'))
        depth += (mark in "{[") - (mark in "}]")
        string = mark
        if depth <= 0:
            break
    return found
