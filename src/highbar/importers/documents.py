"""One JSON document whose records stand in arrays: its records one by one, and what else it says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

from highbar.importers.reading import json
from highbar.importers.record import Record


def elements(path: str, arrays: Collection[str]) -> Iterator[tuple[str, Record]]:
    """The elements of the named arrays in the order of the file: the array's name, and the record with its place."""
    counts: Counter[str] = Counter()
    with Path(path).open("rb") as stream:
        for place, text in json.parts(stream, arrays):
            if place.endswith("[]"):
                name = place.removesuffix("[]")
                yield name, Record(json.decode(text), f"{name or 'record'}[{counts[name]}]")
                counts[name] += 1


def around(path: str, arrays: Collection[str]) -> Record:
    """Everything but the elements of the named arrays, by path; of an array that has any, only that."""
    found: dict[str, object] = {}
    with Path(path).open("rb") as stream:
        for place, text in json.parts(stream, arrays):
            found[place.removesuffix("[]")] = True if place.endswith("[]") else json.decode(text)
    return Record(found, "the file")
