"""The name and the first bytes of a file → whether it holds rows of ours: then no outsider's code is loaded for it."""

from __future__ import annotations

import csv
import re
import zlib

from highbar.columns import COLUMN_NAMES

_SHARED = {
    "category", "cluster", "correct", "error", "expected", "input", "judge", "outcome", "output", "predicted", "suite",
    "tags", "trial", "weight",
}  # fmt: skip
"""Columns whose names other tools' files have too."""
_OURS = COLUMN_NAMES - _SHARED
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]', re.DOTALL)
_GZIP = 31  # for zlib: expect the header of gzip
_MOST = 1 << 24
"""Bytes that are unpacked at most."""


def is_ours(name: str, head: bytes) -> bool:
    """Whether a file starts with a row that has an id, or another column that only rows of ours have."""
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
        return zlib.decompressobj(_GZIP).decompress(head, _MOST)
    except zlib.error:
        return b""


def _header(text: str) -> set[str]:
    try:
        return {cell.strip() for cell in next(csv.reader(text.splitlines()[:1]), [])}
    except csv.Error:
        return set()


def _keys(text: str) -> set[str]:
    """The keys of the first object of a JSON text, in an array or not, as far as the text goes."""
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
