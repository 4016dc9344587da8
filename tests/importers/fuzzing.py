"""Bends the files that other tools wrote, and watches what the readers make of them.

    python -m tests.importers.fuzzing [SECONDS] [TOOL…]

For as long as is asked (60 seconds), files of every tool are mutated, as bytes and as JSON, and imported. A file may be
read or refused; it must not crash, hang or leave a record without account. And breaking a file must not make it pass:
where a verdict is changed for the worse (true to false, an error added, a value taken away), no trial may pass that
did not pass before. Prints what it did; exits with 1 at the first fault, and keeps the file that showed it.
"""

from __future__ import annotations

import copy
import io
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from highbar import importers
from highbar.errors import InputError
from highbar.importers.writing import convert
from tests.importers.imported import FIXTURES, SAMPLES, recognized

SLOWEST = 20.0
LARGEST = 300_000
BYTES = (b"", b"\x00", b"\xff", b'"', b"{", b"}", b"[", b"]", b",", b":", b"NaN", b"-1", b"1e999", b"null", b"\\ud800")
VALUES: tuple[Any, ...] = (None, True, False, 0, 1, -1, 1e308, "", "x", "NaN", [], {}, [None], {"a": None}, 2**70)
WORSE = {True: False, "pass": "fail", "passed": "failed", "yes": "no", "C": "I", "correct": "incorrect"}
"""A verdict, and the one that is worse."""


def files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Files that a reader takes, small enough to be read often; of a long list its beginning, written to `folder`."""
    for path in sorted([*FIXTURES.rglob("*"), *SAMPLES.rglob("*")]):
        if not path.is_file() or path.name == "totals.json":
            continue
        tool = recognized(path)
        small = path.stat().st_size <= LARGEST
        if tool is not None and (small or path.suffix == ".json"):
            found = path if small else shortened(path, folder)
            if found is not None:
                yield tool, found


def shortened(path: Path, folder: Path) -> Path | None:
    """The first few records of a file that is one list."""
    document = json.loads(path.read_text("utf-8"))
    if not isinstance(document, list):
        return None
    short = folder / f"short-{path.name}"
    short.write_text(json.dumps(document[:6]), "utf-8")
    return short


def passes(tool: str, path: Path) -> Counter[str] | None:
    """How many trials of each scenario pass in a file; None where it is refused."""
    target = io.BytesIO()
    try:
        report = convert(importers.named(tool), str(path), path.name, target)
    except InputError as error:
        if not error.problems:
            raise AssertionError("refused without a word") from error
        return None
    assert report.unaccounted == 0
    rows = [json.loads(line) for line in target.getvalue().splitlines()]
    return Counter(row["id"] for row in rows if row.get("passed") and not row.get("error") and not violated(row))


def violated(row: dict[str, Any]) -> bool:
    """Whether something happened that must not."""
    marks = row.get("must_not")
    return bool(row.get("violations")) or (isinstance(marks, dict) and any(marks.values()))


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


def put(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy of the document with another value at one place."""
    if not path:
        return value
    changed = copy.deepcopy(document)
    holder = changed
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return changed


def at(document: Any, path: tuple[Any, ...]) -> Any:
    """The value at one place."""
    for key in path:
        document = document[key]
    return document


def documents(path: Path) -> tuple[list[Any], bool] | None:
    """The documents of a JSON file, and whether there is one on each line; None for any other file."""
    text = path.read_text("utf-8", "replace")
    try:
        return [json.loads(text)], False
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()], True
    except ValueError:
        return None


def bent_documents(path: Path, chance: random.Random, *, worse: bool) -> bytes | None:
    """The file with one value replaced: by any other, or by a worse one."""
    found = documents(path)
    if found is None:
        return None
    texts, lines = found
    number = chance.randrange(len(texts))
    ways = list(places(texts[number]))
    if worse:
        ways = [
            way for way in ways if isinstance(at(texts[number], way), bool | str) and at(texts[number], way) in WORSE
        ]
        if not ways:
            return None
    way = chance.choice(ways)
    value = WORSE[at(texts[number], way)] if worse else chance.choice(VALUES)
    texts[number] = put(texts[number], way, value)
    return "\n".join(json.dumps(text) for text in texts).encode() if lines else json.dumps(texts[0]).encode()


def fuzz(seconds: float, tools: set[str], seed: int) -> Counter[str]:
    """Mutate and read until the time is over; what happened how often. Raises at the first fault."""
    chance = random.Random(seed)
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        known = [(tool, path) for tool, path in files(Path(folder)) if not tools or tool in tools]
        intact = {path: passes(tool, path) for tool, path in known}
        known = [(tool, path) for tool, path in known if intact[path] is not None]
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            tool, path = chance.choice(known)
            kind = chance.choice(("bytes", "values", "worse", "worse"))
            data = bent_bytes(path.read_bytes(), chance) if kind == "bytes" else None
            data = data if kind == "bytes" else bent_documents(path, chance, worse=kind == "worse")
            if data is None:
                continue
            bent = Path(folder) / f"bent{path.suffix}"
            bent.write_bytes(data)
            started = time.monotonic()
            try:
                found = passes(tool, bent)
                assert time.monotonic() - started < SLOWEST, "too slow"
                if kind == "worse" and found is not None:
                    better = {name for name in found if found[name] > (intact[path] or Counter())[name]}
                    assert not better, f"these pass now: {sorted(better)[:5]}"
            except BaseException:
                kept = Path(f"fault-{tool}{path.suffix}").resolve()
                kept.write_bytes(data)
                print(f"{tool}, {kind}: {path.name}; the file that shows it is {kept}", file=sys.stderr)  # noqa: T201 (a command of its own)
                raise
            counts[f"{tool}: {kind} {'refused' if found is None else 'read'}"] += 1
    return counts


def main(arguments: list[str]) -> None:
    """`[SECONDS] [TOOL…]`."""
    seconds = float(arguments[0]) if arguments else 60.0
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")  # noqa: T201 (likewise)
    for what, number in sorted(fuzz(seconds, set(arguments[1:]), seed).items()):
        print(f"{number:8} {what}")  # noqa: T201 (likewise)


if __name__ == "__main__":
    main(sys.argv[1:])
