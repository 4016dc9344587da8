"""The codes of problems: each with its cause, its cure and an example, for `highbar explain` and the documentation.

Nothing else loads this: a refusal has only the code.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from importlib.resources import files

from msgspec import Struct


class ProblemKind(Struct, frozen=True):
    """What a code stands for; `example` is a diff of what a user writes, and `room` is what the code is about."""

    room: str
    cause: str
    cure: str
    example: str


def read_codes() -> Mapping[str, ProblemKind]:
    """Every code, in the order of the file; a room's codes are together."""
    document = tomllib.loads(files("highbar").joinpath("codes.toml").read_text("utf-8"))
    return {
        ".".join(filter(None, (room, what))): ProblemKind(title, **found)
        for room, title in document["rooms"].items()
        for what, found in ({"": document[room]} if "cause" in document[room] else document[room]).items()
    }


def near_codes(code: str, known: Mapping[str, ProblemKind]) -> tuple[str, ...]:
    """The codes that are spelled alike; if there is none, those with the same room or the same second half."""
    room, _, what = code.partition(".")
    alike = get_close_matches(code, known, 3)
    related = [one for one in known if one.startswith(f"{room}.") or (what and one.endswith(f".{what}"))]
    return tuple(alike or related[:9])
