"""Collects the problems of a value that was decoded from a file, each with the path that leads to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from msgspec import Struct

ValuePath = tuple[str | int, ...]
"""The keys and list indexes that lead to a value."""


class ValueProblem(Struct, frozen=True):
    """One thing that is wrong with a value, and its code; `path` leads to it from the value that was read.

    If the value is a duplicate, `first` leads to the earlier one.
    """

    code: str
    path: ValuePath
    text: str
    hint: str | None = None
    first: ValuePath | None = None


class ValueCursor(Struct):
    """Where the reader is: the path so far, the problems so far, and the folder that has the schema files.

    All cursors inside one value share one list of problems, which grows.
    """

    path: ValuePath = ()
    problems: list[ValueProblem] = []
    folder: Path | None = None

    def at(self, *parts: str | int) -> ValueCursor:
        """The cursor of a value inside this one."""
        return ValueCursor((*self.path, *parts), self.problems, self.folder)

    def refuse(self, code: str, text: str, hint: str | None = None, first: ValuePath | None = None) -> None:
        """Add a problem at this path."""
        self.problems.append(ValueProblem(code, self.path, text, hint, first))

    def refuse_value(self, value: Any, wanted: str, hint: str | None = None) -> None:
        """Add the problem that the value at this path is not what is `wanted`."""
        self.refuse("suite.wrong-type", f"found {shown(value)}, wanted {wanted}", hint)


def shown(value: Any) -> str:
    """A value as a message quotes it: short, on one line, in ASCII if it has an unprintable character."""
    if isinstance(value, str):
        text = f"'{value[:60]}'" if value.isprintable() else ascii(value[:60])
        return text if len(value) <= 60 else f"{text}…"
    if isinstance(value, dict):
        return f"a mapping ({', '.join(str(key)[:20] for key in list(value)[:3])})" if value else "an empty mapping"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}" if value else "an empty list"
    try:
        return json.dumps(value)[:60]
    except (TypeError, ValueError):
        return f"a {type(value).__name__}"
