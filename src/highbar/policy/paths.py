"""The text of a path in a mapping in, its steps out.

status            a key of the record           checks[].name    of every element of a list
usage.total       a key in an object            steps[0].tool    one element; [-1] is the last
"a.b".c           a key that has a point in it  checks.@keys     the keys of an object
"a ""b"" c"       a key that has quotes in it
^.name            of the object around the list that holds the record
$.model           of the whole document
@key, @number     the key that holds the record; its position, from 0
@repeat           which repetition of its id it is, by the order of the file
"""

from __future__ import annotations

import re
from typing import Literal, get_args

from highbar.model.mapping import Path, Walk

Special = Literal["key", "number", "repeat"]

_STEP = re.compile(r'"(?P<quoted>(?:[^"]|"")+)"|(?P<plain>[^\s."\[\]{}@^$][^."\[\]{}]*)|(?P<keys>@keys)')
_MARK = re.compile(r"\[(?P<index>-?\d{1,9})?\]")
_CONTAINER = re.compile(r"\[\]|\{\}")


class PathError(Exception):
    """The text is not a path; the message says why."""


def read_path(text: str) -> Path:
    """The path in a text. Raises PathError."""
    bare = text.strip()
    if bare.removeprefix("@") in get_args(Special) and bare.startswith("@"):
        special: Special = "key" if bare == "@key" else "number" if bare == "@number" else "repeat"
        return Path(bare, (), special)
    for sign, base in (("^", "outer"), ("$", "document")):
        if bare == sign or bare.startswith((f"{sign}.", f"{sign}[")):
            rest = bare[1:].removeprefix(".")
            steps = _steps(rest, bare) if rest else ()
            return Path(bare, steps, "outer" if base == "outer" else "document")
    return Path(bare, _steps(bare, bare))


def read_records_path(text: str) -> tuple[tuple[tuple[str, ...], Literal["[]", "{}"]], ...]:
    """The path to the records, such as `results[]`, `cases[].runs[]` or `by_id{}`. Raises PathError."""
    bare = text.strip()
    found: list[tuple[tuple[str, ...], Literal["[]", "{}"]]] = []
    position = 0
    while position < len(bare):
        container = _CONTAINER.search(bare, position)
        if container is None:
            raise PathError(f"'{text}' must end in [] (a list of records) or {{}} (an object of them)")
        before = bare[position : container.start()].removeprefix("." if found else "")
        steps = _steps(before, text) if before else ()
        keys = tuple(step for step in steps if isinstance(step, str))
        if len(keys) != len(steps):
            raise PathError(f"'{text}' has something else than keys before [] or {{}}")
        found.append((keys, "[]" if container[0] == "[]" else "{}"))
        position = container.end()
    if not found:
        raise PathError("found nothing, wanted the way to the records, such as results[]")
    return tuple(found)


def _steps(text: str, whole: str) -> tuple[str | int | Walk, ...]:
    steps: list[str | int | Walk] = []
    position = 0
    while position < len(text):
        mark = _MARK.match(text, position)
        if mark:
            steps.append(Walk.EACH if mark["index"] is None else int(mark["index"]))
            position = mark.end()
            continue
        if steps:
            if text[position] != ".":
                raise PathError(f"'{whole}' cannot be read from '{text[position:]}' on")
            position += 1
        step = _STEP.match(text, position)
        if step is None:
            raise PathError(f"'{whole}' cannot be read from '{text[position:]}' on")
        quoted = step["quoted"] and step["quoted"].replace('""', '"')
        steps.append(Walk.KEYS if step["keys"] else quoted or step["plain"].rstrip())
        position = step.end()
    if not steps or text.endswith("."):
        raise PathError(f"'{whole}' leads nowhere")
    return tuple(steps)
