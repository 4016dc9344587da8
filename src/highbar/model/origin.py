"""The column `highbar_run`: which run wrote a row, and which part of its suite that run was."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

FILTERED, INTERRUPTED = "filtered", "interrupted"
_SHARD = "([0-9]{1,4})/([0-9]{1,4})"
_DIGITS = 16
"""Hexadecimal digits of each half of an id: enough that no two runs have the same."""


class RunOrigin(Struct, frozen=True, forbid_unknown_fields=True):
    """One run, as its rows name it.

    `id` names the run and the version of the suite that graded it. `plan` is a digest of what all shards of one run
    have in common; None if files had changed since the commit. `planned`: how many rows the run, or this shard of it,
    was to have. `part`: None for the whole suite, "filtered", a shard ("2/5"), or "interrupted" for a run that has not
    ended.
    """

    id: str
    plan: str | None = None
    planned: int = 0
    part: str | None = None

    @property
    def shard(self) -> tuple[int, int] | None:
        """The number of a shard, from 1, and the number of shards; None if it is none."""
        number, _, of = (self.part or "").partition("/")
        return (int(number), int(of)) if of else None


def read_origin(value: Any) -> RunOrigin | None:
    """The value of the column, which may be the JSON text of an object; None if no run writes it."""
    try:
        found = msgspec.json.decode(value) if isinstance(value, str) else value
        origin = msgspec.convert(dict(found) if isinstance(found, Mapping) else found, RunOrigin)
    except msgspec.MsgspecError:
        return None
    shard = re.fullmatch(_SHARD, origin.part or "")
    is_part = origin.part in (None, FILTERED, INTERRUPTED) or (shard and 0 < int(shard[1]) <= int(shard[2]))
    return origin if origin.id and origin.planned > 0 and is_part else None


def run_id(run: str, suite: str) -> str:
    """The id of a run with this digest, whose rows were graded by the suite with that digest."""
    return f"{run[:_DIGITS]}-{suite[:_DIGITS]}"


def is_graded_by(id_: str, suite: str) -> bool:
    """Whether rows with this id were graded by the suite with this digest."""
    return id_.partition("-")[2] == suite[:_DIGITS]
