"""Bends the files that other tools wrote, and watches what the readers make of them.

    python -m tests.fuzzing [SECONDS] importers:[TOOL,…]

For as long as is asked, hypothesis mutates files of every tool, as bytes and by what they say, and they
are imported. A file may be read or refused; it must not crash, hang or leave a record without account. And breaking a
file must not make it pass: where it is changed for the worse (true to false, a right grade to a wrong one, an error
added, a value taken away or replaced by null or NaN), no more trials may pass than did before. A
fault is shrunk to the smallest change that shows it, and the file is kept.
"""

from __future__ import annotations

import copy
import functools
import io
import json
import random
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from highbar import importers
from highbar.errors import InputError
from highbar.importers.mapping import reader
from highbar.importers.reading import zip as archives
from highbar.importers.writing import convert
from highbar.policy import read_dict
from tests.importers.imported import FIXTURES, SAMPLES, recognized
from tests.patience import processor_time

SLOWEST = 20.0
LARGEST = 300_000
BATCH = 100
BYTES = (b"", b"\x00", b"\xff", b'"', b"{", b"}", b"[", b"]", b",", b":", b"NaN", b"-1", b"1e999", b"null", b"\\ud800")
VALUES: tuple[Any, ...] = (None, True, False, 0, 1, -1, 1e308, "", "x", "NaN", [], {}, [None], {"a": None}, 2**70)
WORSE = {True: False, "pass": "fail", "passed": "failed", "yes": "no", "C": "I", "correct": "incorrect"}
"""A verdict, and the one that is worse."""
NOTHING: tuple[Any, ...] = (None, float("nan"))
"""What may stand where a value was taken away."""
ONLY_TRACES = frozenset({"droppedEventsCount", "droppedAttributesCount"})
"""Members of OpenTelemetry that are the only trace of what an exporter dropped: without them, nothing was."""
TRACELESS = frozenset({"map"})
"""Formats of which nothing is known: what a member means, and whether anything else declares it, the mapping says."""
MAPPING: dict[str, Any] = {
    "columns": {
        "id": "case",
        "capability": "area",
        "passed": {"path": "result", "values": {"passed": True, "failed": False, "crashed": False}},
        "error": {"value": "crashed", "when": {"result": "crashed"}},
        "latency_ms": {"path": "seconds", "times": 1000},
        "expected_behaviors": {"path": "checks", "each": "label"},
        "behaviors": {"path": "checks", "each": "label", "where": {"ok": True}},
        "trial": "@repeat",
    }
}
"""How the files below `mapped/` are read."""


def files() -> Iterator[tuple[str, Path]]:
    """Files that a reader takes, small enough to be read often."""
    yield from (("map", path) for path in sorted((FIXTURES.parent / "mapped").iterdir()))
    for path in sorted([*FIXTURES.rglob("*"), *SAMPLES.rglob("*")]):
        if path.is_file() and path.name != "totals.json" and path.stat().st_size <= LARGEST:
            tool = recognized(path)
            if tool is not None:
                yield tool, path


@functools.cache
def reader_of(tool: str) -> importers.Read:
    """The reader of a tool's files."""
    mapping = read_dict({"map": MAPPING, "thresholds": {"blocking": {"pass_rate": "1%"}}}).mapping
    return reader(mapping) if tool == "map" and mapping else importers.importer_named(tool)


def passes(tool: str, path: Path) -> Counter[str] | None:
    """How many trials of each scenario pass in a file; None where it is refused."""
    target = io.BytesIO()
    try:
        report = convert(reader_of(tool), str(path), path.name, target)
    except InputError as error:
        return None if error.problems else Counter({"refused without a word": sys.maxsize})
    assert report.unaccounted == 0
    rows = [json.loads(line) for line in target.getvalue().splitlines()]
    return Counter(row["id"] for row in rows if passing(row))


def passing(row: dict[str, Any]) -> bool:
    """Whether a row passes, as the engine would say."""
    marks = row.get("must_not")
    if row.get("unjudged"):
        return False
    if row.get("error") or row.get("violations") or (isinstance(marks, dict) and any(marks.values())):
        return False
    if row.get("passed") is not None:
        return bool(row["passed"])
    expected, seen = set(row.get("expected_behaviors") or ()), set(row.get("behaviors") or ())
    judged = "correct" in row or expected or (marks and row.get("output") != "")
    return bool(judged) and row.get("correct") is not False and expected <= seen


# --- bending -----------------------------------------------------------------------------------


def bent_bytes(data: bytes, chance: random.Random) -> bytes:
    """The file with a few bytes cut, replaced, doubled or put in."""
    for _ in range(chance.randint(1, 3)):
        start, end = sorted(chance.randrange(len(data) + 1) for _ in "ab")
        end = min(end, start + chance.choice((1, 4, 64, 4096)))
        data = data[:start] + chance.choice((*BYTES, data[start:end] * 2)) + data[end:]
        if not data:
            return b" "
    return data


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value of a document."""
    yield path
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in members:
        yield from places(inner, (*path, key))


def at(document: Any, path: tuple[Any, ...]) -> Any:
    """The value at one place."""
    for key in path:
        document = document[key]
    return document


def put(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The document with another value at one place; what is on the way to it is copied, and the rest is shared."""
    if not path:
        return value
    changed = copy.copy(document)
    changed[path[0]] = put(document[path[0]], path[1:], value)
    return changed


def without(document: Any, path: tuple[Any, ...]) -> Any:
    """The document without the member at one place."""
    holder = copy.copy(at(document, path[:-1]))
    del holder[path[-1]]
    return put(document, path[:-1], holder)


def bent_value(document: Any, chance: random.Random, kind: str) -> Any | None:
    """The document with one value replaced by any other, made worse, or taken away; None where that is not possible."""
    ways = list(places(document))
    if kind == "values":
        return put(document, chance.choice(ways), chance.choice(VALUES))
    if kind == "worse":
        worse = [way for way in ways if isinstance(at(document, way), bool | str) and at(document, way) in WORSE]
        way = chance.choice(worse) if worse else None
        return None if way is None else put(document, way, WORSE[at(document, way)])
    members = [way for way in ways if way and isinstance(way[-1], str) and way[-1] not in ONLY_TRACES]
    if not members:
        return None
    way = chance.choice(members)
    return without(document, way) if chance.random() < 0.5 else put(document, way, chance.choice(NOTHING))


def bent_xml(text: str, chance: random.Random, kind: str) -> str | None:
    """The report with something added to a test case: what makes it worse, or anything."""
    cases = [match.end() for match in re.finditer(r"<testcase\b[^<>]*(?<!/)>", text)]
    if not cases:
        return None
    place = chance.choice(cases)
    worse = ("<failure/>", '<error message="x"/>', "<skipped/>", "<flakyFailure/>", "<rerunError/>")
    odd = (
        "<testcase/>",
        "<a>",
        "</testcase>",
        "<!---->",
        "&x;",
        "<![CDATA[<]]>",
        '<property name="category" value="x"/>',
    )
    return text[:place] + chance.choice(odd if kind == "values" else worse) + text[place:]


def bent_archive(path: Path, chance: random.Random, kind: str) -> bytes | None:
    """The log with something in one of its members changed."""
    with archives.open_archive(str(path)) as archive:
        members = {name: bytes(archive.read(name)) for name in archive}
    chosen = chance.choice(sorted(name for name in members if name == "header.json" or name.startswith("samples/")))
    changed = bent_value(json.loads(members[chosen]), chance, kind)
    if changed is None:
        return None
    members[chosen] = json.dumps(changed).encode()
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as out:
        for name, data in members.items():
            out.writestr(name, data)
    return target.getvalue()


def bent_json(path: Path, chance: random.Random, kind: str) -> bytes | None:
    """The document, or one line of many, with something in it changed."""
    text = path.read_text("utf-8", "replace")
    try:
        changed = bent_value(json.loads(text), chance, kind)
        return None if changed is None else json.dumps(changed).encode()
    except ValueError:
        lines = [line for line in text.splitlines() if line.strip()]
    number = chance.randrange(len(lines))
    changed = bent_value(json.loads(lines[number]), chance, kind)
    if changed is None:
        return None
    return "\n".join([*lines[:number], json.dumps(changed), *lines[number + 1 :]]).encode()


def bent(path: Path, chance: random.Random, kind: str) -> bytes | None:
    """The file, bent; None where it cannot be bent in this way."""
    if kind == "bytes":
        return bent_bytes(path.read_bytes(), chance)
    if path.suffix == ".eval":
        return bent_archive(path, chance, kind)
    if path.suffix == ".xml":
        changed = bent_xml(path.read_text("utf-8", "replace"), chance, kind)
        return None if changed is None else changed.encode()
    return None if path.suffix == ".csv" else bent_json(path, chance, kind)


# --- watching ----------------------------------------------------------------------------------


class Watch:
    """The files, what passes in each as it is, and what was tried so far."""

    def __init__(self, tools: set[str], folder: Path) -> None:
        known = [(tool, path) for tool, path in files() if not tools or tool in tools]
        self.intact = {(tool, path): found for tool, path in known if (found := passes(tool, path)) is not None}
        self.counts: Counter[str] = Counter()
        self.folder = folder

    def attempt(self, which: tuple[str, Path], kind: str, chance: random.Random) -> None:
        """Bend one file and read it; an AssertionError, or any other but a refusal, is a fault."""
        tool, path = which
        data = bent(path, chance, kind)
        if data is None:
            return
        changed = self.folder / f"{path.stem}{path.suffix}"
        changed.write_bytes(data)
        try:
            with processor_time(below=SLOWEST):
                found = passes(tool, changed)
            watched = kind == "worse" or (kind == "taken" and tool not in TRACELESS)
            if watched and found is not None:
                # By their number: with what a test asks, its name may change.
                better = found - self.intact[which]
                assert found.total() <= self.intact[which].total(), f"these pass now: {sorted(better)[:5]}"
        except BaseException:
            Path(f"fault-{tool}{path.suffix}").write_bytes(data)
            raise
        self.counts[f"{tool}: {kind} {'refused' if found is None else 'read'}"] += 1

    def run(self, examples: int, start: int) -> None:
        """Many attempts; the first fault is shrunk and raised."""

        @seed(start)
        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        )
        @given(
            st.sampled_from(sorted(self.intact)),
            st.sampled_from(("bytes", "values", "worse", "taken")),
            st.randoms(use_true_random=False),
        )
        def attempts(which: tuple[str, Path], kind: str, chance: random.Random) -> None:
            self.attempt(which, kind, chance)

        attempts()


def attempts_on(tools: set[str]) -> Callable[[int, Path], str]:
    """For `tests.fuzzing`: many attempts from one seed on files of these tools, or of all."""
    watch: list[Watch] = []  # made once: it reads every file

    def attempt(start: int, folder: Path) -> str:
        if not watch:
            watch.append(Watch(tools, folder))
        watch[0].folder = folder
        watch[0].run(BATCH, start)
        return f"{BATCH} bent files"

    return attempt
