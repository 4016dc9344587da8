"""Fault → the law that finds it. Each fault that was found once is put back, and its law must fail.

A row has the id of its class, the law, what puts the fault back (a function of pytest's monkeypatch), and a case on
which the law is tried: a function of a folder that raises AssertionError if the law is broken. Without the fault the
case must hold. To add a fault, add a row; `test_faults.py` does the rest.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from highbar.engine import sources, typed
from highbar.engine.sql import literal
from highbar.load import accounts, folders
from highbar.load import files as found
from tests.laws import files, forms

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Patch = pytest.MonkeyPatch


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that was found once, and the law that finds it."""

    id: str
    law: str
    what: str
    put_back: Callable[[Patch], None]
    case: Callable[[Path], object]


# --- L1 ----------------------------------------------------------------------------------------


def _beside(name: str, data: bytes) -> Callable[[Path], object]:
    """A file of this name and content beside one that is sound."""

    def case(folder: Path) -> str:
        paths = [folder / "good.jsonl", folder / name]
        paths[0].write_bytes(files.plain([{"id": "good", "passed": True, "output": "x"}], "jsonl"))
        paths[1].write_bytes(data)
        return files.hold([str(path) for path in paths], paths)

    return case


ROWS: list[dict[str, object]] = [{"id": f"s{number}", "passed": True, "output": "x"} for number in range(3)]


def _no_account(patch: Patch) -> None:
    """What the engine used is compared with nothing."""
    patch.setattr(accounts, "settle", lambda *_: None)
    patch.setattr(accounts, "damages", lambda _: ())


def _blank_headers(patch: Patch) -> None:
    """A CSV file that begins with a blank line has no columns, and is left out."""
    _no_account(patch)
    sound = sources._header_problem
    patch.setattr(sources, "_header_problem", lambda line, header: sound(line, header) if line.strip() else None)


def _files_only(patch: Patch) -> None:
    """Folders and patterns give what `rglob` and `isfile` let through."""

    def folder(path: str, is_results: Callable[[str], bool]) -> folders.Named:
        inside = [p for p in sorted(Path(path).rglob("*")) if p.is_file() and is_results(p.name)]
        return folders.Named(tuple((str(p), path) for p in inside if ".." not in p.parts))

    patch.setattr(folders, "_folder", folder)


def _in_folder(place: str) -> Callable[[Path], object]:
    def case(folder: Path) -> str:
        (folder / "out").mkdir()
        paths = [folder / "out" / f"{number}.jsonl" for number in range(2)]
        for number, path in enumerate(paths):
            path.write_bytes(files.plain([{"id": f"s{number}", "passed": True, "output": "x"}], "jsonl"))
        lost = files._placed(place, folder, paths)
        return files.hold([str(folder / "out")], paths, lost)

    return case


def _cut_at_a_line(folder: Path) -> object:
    packer = zstd.ZstdCompressor()
    lines = files.plain(ROWS, "jsonl").splitlines(keepends=True)
    start = packer.compress(b"".join(lines[:2]), packer.FLUSH_BLOCK)
    return _beside("cut.jsonl.zst", start)(folder)


def _wrong_checksum() -> bytes:
    data = bytearray(gzip.compress(files.plain(ROWS, "jsonl")))
    data[-8] ^= 1
    return bytes(data)


# --- L4 ----------------------------------------------------------------------------------------


def _in_form(name: str, fault: forms.Fault | None = None) -> Callable[[Path], object]:
    def case(folder: Path) -> str:
        rows = [{"id": f"s{number}", "category": "edge_case", "passed": True} for number in range(3)]
        changed = [*rows[:2], fault.put(rows[2])] if fault else rows
        return forms.compare(changed, fault, folder, {name: forms.FORMS[name]})

    return case


def _words_are_text(patch: Patch) -> None:
    """In large files NaN is read as a word."""
    patch.setattr(typed, "_is_no_number", lambda _: "false")
    patch.setattr(typed, "NOT_TEXT", literal(r"^(true|false|-?[0-9]+(\.[0-9]+)?|[\[{](.|\n)*)$"))


def _array_if_packed(patch: Patch) -> None:
    """A compressed `.json` file is taken for an array without a look at it."""
    look = found._array_or_lines
    patch.setattr(found, "_array_or_lines", lambda path, form, packed: form if packed else look(path, form, packed))


NAN = next(fault for fault in forms.FAULTS if fault.name == "category is NaN")
FAULTS = (
    Fault("R01", "L1", "blank first line", _blank_headers, _beside("b.csv", b"\nid,passed\nbad,false\n")),
    Fault("R05", "L1", "symlinked subfolder", _files_only, _in_folder("linked folder")),
    Fault("R05", "L1", "broken link", _files_only, _in_folder("broken link")),
    Fault("R05", "L1", "pipe", _files_only, _in_folder("fifo")),
    Fault("R06", "L1", "zstd cut at a line", _no_account, _cut_at_a_line),
    Fault("R06", "L1", "array cut after a comma", _no_account, _beside("b.json", b'[{"id": "a", "passed": true},')),
    Fault("R23", "L1", "gzip checksum", _no_account, _beside("b.jsonl.gz", _wrong_checksum())),
    Fault("R26", "L1", "empty Parquet shard", _no_account, _in_folder("empty shard")),
    Fault("R22", "L4", "NaN as text in large files", _words_are_text, _in_form("jsonl large", NAN)),
    Fault("R27", "L4", "lines in a compressed .json", _array_if_packed, _in_form("json.gz with lines")),
)
