"""Reads the suite that a policy names: the scenarios that must all have a result."""

from __future__ import annotations

import re
from pathlib import Path

from highbar.errors import InputError
from highbar.model import SuiteDemands
from highbar.policy.cursor import Cursor
from highbar.policy.settings import Settings

_WHOLE = re.compile(r"0|-?[1-9][0-9]*")


def read_suite(cursor: Cursor, folder: Path, settings: Settings) -> SuiteDemands | None:
    """The suite that the policy names, a file relative to `folder`: the columns that it fixes for each scenario."""
    if cursor.is_kind("list"):
        cursor.refuse_kind("the name of a file", "put the list into a file: suite: scenarios.yaml")
        return None
    name = cursor.text()
    if name is None:
        return None
    from highbar.suite import Allowed, read_fixed  # most policies have none

    path = folder / name
    try:
        scenarios = read_fixed(path, allowed=Allowed(settings.allow_columns, settings.allow_categories))
    except InputError as error:
        cursor.problems.extend(error.problems)
        return None
    return SuiteDemands(str(path), scenarios)


def read_id(cursor: Cursor) -> str | None:
    """A scenario's id: text without control characters, or a whole number, read as its digits."""
    if cursor.is_kind("number"):
        if _WHOLE.fullmatch(cursor.node.text):
            return cursor.node.text
        cursor.refuse_kind("text or a whole number", f'quote it: "{cursor.node.text}"')
        return None
    text = cursor.text()
    if text is not None and any(character < " " or "\x7f" <= character <= "\x9f" for character in text):
        cursor.refuse(f"the id {text!a} has a control character")
        return None
    return text


def read_ids(cursor: Cursor) -> list[tuple[str, Cursor]]:
    """The ids of a list, each once, with their places."""
    found: dict[str, Cursor] = {}
    for item in cursor.items():
        id_ = read_id(item)
        if id_ is not None and id_ in found:
            item.refuse(f"'{id_}' is listed twice")
        elif id_ is not None:
            found[id_] = item
    return list(found.items())
