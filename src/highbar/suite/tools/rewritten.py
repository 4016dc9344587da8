"""A suite of another tool in our keys, and the path in the tool's file that each value came from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from highbar.columns import SCENARIO_TEXTS
from highbar.documents.problems import ValuePath
from highbar.language.tool_names import flat_tags

_ENCODER = msgspec.json.Encoder(decimal_format="number")
_NOT_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


class Rewritten(Struct, frozen=True):
    """A suite of another tool in our keys. `paths` maps the path of a value in it to the path in the tool's file.

    `notes` tell the user how the tool's settings were treated.
    """

    tool: str
    values: Mapping[str, Any]
    paths: Mapping[ValuePath, ValuePath] = {}
    notes: tuple[str, ...] = ()

    def origin(self, path: ValuePath) -> ValuePath:
        """The path in the tool's file of a value, or of the nearest value around it that came from there."""
        ends = range(len(path), 0, -1)
        return next((self.paths[path[:end]] for end in ends if path[:end] in self.paths), ())

    @property
    def text(self) -> bytes:
        """The suite as a file of ours: JSON that is also valid YAML, so that its name may end either way."""
        text = _ENCODER.encode(self.values).decode()
        return _NOT_IN_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()


def columns_and_tags(metadata: Mapping[str, Any], tagged: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """The columns in the metadata that describe a scenario, and its tags, the same as importers make from results."""
    columns = {name: metadata[name] for name in SCENARIO_TEXTS if isinstance(metadata.get(name), str)}
    tags = flat_tags(tagged, SCENARIO_TEXTS) or {}
    return columns, {name: text for name, text in tags.items() if name.strip() and text.strip()}


class Draft:
    """The scenarios so far, and the paths that they were made from."""

    def __init__(self) -> None:
        self.scenarios: list[Mapping[str, Any]] = []
        self.paths: dict[ValuePath, ValuePath] = {}

    def add(self, scenario: Mapping[str, Any], path: ValuePath, inside: Mapping[Sequence[str], ValuePath]) -> None:
        """Add a scenario that was made from the value at `path`; `inside` has the origins of values inside it."""
        here = ("scenarios", len(self.scenarios))
        self.scenarios.append({key: value for key, value in scenario.items() if value is not None})
        self.paths[here] = path
        self.paths |= {(*here, *keys): origin for keys, origin in inside.items()}
