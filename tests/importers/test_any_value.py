"""Law: whatever value a file of another tool has, and wherever, the file is read or refused, never an internal error.

Numbers of any length, values of any depth, times with and without a zone, and keys that are there twice.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

from highbar.errors import InputError
from highbar.importers.reading import zip as archives
from highbar.importers.report import Report
from highbar.importers.writing import convert
from tests.importers.fuzzing import at, places, put, reader_of
from tests.importers.imported import FIXTURES

MARK = "\ue000"
NUMBERS = ["1" + "0" * 400, "-1" + "0" * 400, "1" + "0" * 5000, "1e999", "1" + "0" * 320 + ".5", "NaN", "-9"]
TEXTS = [
    "1" + "0" * 400, "9" * 5000, "1" + "0" * 390 + ".5", "1e999", "-1", "2026-05-12T03:01:05",
    "0001-01-01T00:00:00+23:00", "[" * 5000, "[" * 900 + "]" * 900, '{"a": 1, "a": NaN}', "\ud800 é",
]  # fmt: skip
ODD = [*NUMBERS, *map(json.dumps, TEXTS), "[" * 300 + "]" * 300, "[" * 900 + "]" * 900, "[" * 5000 + "]" * 5000, "{}"]
LARGEST = {".json": 57_500, ".jsonl": 20_000, ".eval": 10_250}
"""The bytes of files that can be read a few hundred times."""
TOOLS = (
    "agentskills", "deepeval", "every-eval-ever", "inspect", "lm-eval", "map", "mlflow", "otel", "promptfoo",
    "pydantic-evals", "tau-bench",
)  # fmt: skip
Put = Callable[[str], bytes]


def small_files(tool: str) -> list[Path]:
    """The files of a tool that are JSON, without large ones."""
    folder = FIXTURES.parent / "mapped" if tool == "map" else FIXTURES / tool.replace("-", "_")
    found = [path for path in sorted(folder.rglob("*")) if "schemas" not in path.parts and path.name != "totals.json"]
    return [path for path in found if path.stat().st_size <= LARGEST.get(path.suffix, 0)]


def documents(path: Path) -> Iterator[tuple[Any, Put]]:
    """The documents of a file, each with a function that makes the file with another text in its place."""
    if path.suffix == ".eval":
        with archives.open_archive(str(path)) as archive:
            members = {name: bytes(archive.read(name)) for name in archive}
        for name, data in members.items():
            if name in ("header.json", "summaries.json") or name.startswith("samples/"):
                yield json.loads(data), lambda text, name=name: archived({**members, name: text.encode()})
        return
    text = path.read_text("utf-8")
    lines = [line for line in text.splitlines() if line.strip()] if path.suffix == ".jsonl" else [text]
    for i, line in enumerate(lines):
        yield json.loads(line), lambda new, i=i: "\n".join([*lines[:i], new, *lines[i + 1 :]]).encode()


def archived(members: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return target.getvalue()


def different_places(paths: list[Path]) -> Iterator[tuple[Path, Any, tuple[Any, ...], Put]]:
    """A place of each kind: elements of one list, and files of one tool, differ too little to try them all."""
    seen: set[tuple[Any, ...]] = set()
    for path in paths:
        for document, written in documents(path):
            for way in places(document):
                named = (key if isinstance(key, str) and not key.isdigit() else 0 for key in way)
                kind = (*named, type(at(document, way)))
                if kind not in seen:
                    seen.add(kind)
                    yield path, document, way, written


def rows(tool: str, folder: Path, name: str, data: bytes) -> bytes | None:
    """The rows of a file; None if it is refused. Anything else is an error of the reader."""
    changed = folder / name
    changed.write_bytes(data)
    target = io.BytesIO()
    try:
        report = convert(reader_of(tool), str(changed), name, target, Report(calls=True))
    except InputError:
        return None
    assert report.unaccounted == 0
    return target.getvalue()


@pytest.mark.parametrize("tool", TOOLS)
def test_any_value_is_read_or_refused(tmp_path, tool):
    odd, numbers = cycle(ODD), cycle(NUMBERS)
    for path, document, way, written in different_places(small_files(tool)):
        value = at(document, way)
        text = json.dumps(put(document, way, MARK))
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        for new in islice(numbers, 2) if is_number else [next(odd)]:
            rows(tool, tmp_path, path.name, written(text.replace(json.dumps(MARK), new)))


@pytest.mark.parametrize("tool", TOOLS)
def test_a_key_that_is_there_twice_is_refused_or_counts_for_nothing(tmp_path, tool):
    intact: dict[Path, bytes | None] = {}
    for path, document, way, written in different_places(small_files(tool)):
        value = at(document, way)
        if not way or not isinstance(way[-1], str) or isinstance(value, dict | list):
            continue
        if path not in intact:
            intact[path] = rows(tool, tmp_path, path.name, path.read_bytes())
        holder = {**at(document, way[:-1]), MARK: None}
        text = json.dumps(put(document, way[:-1], holder)) if way[:-1] else json.dumps(holder)
        other = json.dumps({True: False, False: True}.get(value, f"{value}?"))  # type: ignore[call-overload] # of any type
        twice = text.replace(f"{json.dumps(MARK)}: null", f"{json.dumps(way[-1])}: {other}")
        assert rows(tool, tmp_path, path.name, written(twice)) in (None, intact[path]), (path.name, way)
