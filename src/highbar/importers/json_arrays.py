"""A JSON file with its records in arrays → its records one by one, and all other members."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

from highbar.importers.reading import json
from highbar.importers.record import Record


def file_head(path: str, size: int) -> bytes:
    """The first bytes of a file."""
    with Path(path).open("rb") as stream:
        return stream.read(size)


def file_parts(path: str, arrays: Collection[str]) -> Iterator[tuple[str, json.Bytes]]:
    """The parts of the document in a file; see `json.json_parts`."""
    with Path(path).open("rb") as stream:
        yield from json.json_parts(stream, arrays)


def array_records(path: str, arrays: Collection[str]) -> Iterator[tuple[str, Record]]:
    """The elements of these arrays, in the order of the file, each with the name of its array."""
    counts: Counter[str] = Counter()
    for place, text in file_parts(path, arrays):
        if place.endswith("[]"):
            name = place.removesuffix("[]")
            yield name, Record(json.decode_value(text), f"{name or 'record'}[{counts[name]}]")
            counts[name] += 1


def without_arrays(path: str, arrays: Collection[str]) -> Record:
    """The members of the document by path. Each of `arrays` is True instead of its elements, and absent if empty."""
    found: dict[str, object] = {}
    for place, text in file_parts(path, arrays):
        found[place.removesuffix("[]")] = True if place.endswith("[]") else json.decode_value(text)
    return Record(found, "the file")
