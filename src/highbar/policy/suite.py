"""The suite: the name of its file in, the scenarios that must all have a result out."""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from highbar.columns import COLUMN_NAMES, SCENARIO_TEXTS, names
from highbar.errors import InputError
from highbar.language.spelling import near_miss
from highbar.model import Suite
from highbar.policy.cursor import Cursor
from highbar.policy.files import decode, read_bytes, read_document
from highbar.policy.limits import LONGEST_LABEL, MOST_SUITE_BYTES
from highbar.policy.settings import Settings, check_category
from highbar.policy.tree import Node

TEXTS = SCENARIO_TEXTS
LISTS = names("demands", form="names") + names("demands", form="violated")
FIXED_COLUMNS = (*TEXTS, "weight", "expected", "answer", *LISTS)
"""What a suite may fix for a scenario, besides its tags and columns of the user's own."""
OF_A_RUN = COLUMN_NAMES - {*FIXED_COLUMNS, "tags"} | {"description"}
"""What a run says, or nobody compares: in a suite it is for those who run it."""
_WHOLE = re.compile(r"0|-?[1-9][0-9]*")


def read_suite(cursor: Cursor | None, folder: Path, settings: Settings) -> Suite | None:
    """The suite in the file that the policy names, relative to `folder`: a list of ids, or of {id, category, …}."""
    if cursor is None:
        return None
    if cursor.is_kind("list"):
        cursor.refuse_kind("the name of a file", "put the list into a file: suite: scenarios.yaml")
        return None
    name = cursor.text()
    if name is None:
        return None
    path = folder / name
    with _without_collection():
        try:
            root = _read_root(path, cursor)
        except InputError as error:
            cursor.problems.extend(error.problems)
            return None
        scenarios = _read_scenarios(Cursor(root, "", str(path), cursor.problems), settings)
    return Suite(str(path), scenarios) if scenarios else None


@contextmanager
def _without_collection() -> Iterator[None]:
    """Nothing that is read is garbage before the end: to look for some, again and again, takes a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _read_root(path: Path, cursor: Cursor) -> Node:
    if path.suffix.lower() in (".txt", ""):
        lines = decode(read_bytes(path, MOST_SUITE_BYTES), path).split("\n")
        items = tuple(Node("text", line.strip(), line=number) for number, line in enumerate(lines, 1) if line.strip())
        return Node("list", items=items, line=1)
    document = read_document(path, MOST_SUITE_BYTES)
    cursor.problems.extend(document.problems)
    return document.root


def _read_scenarios(root: Cursor, settings: Settings) -> dict[str, Mapping[str, str]]:
    if not root.is_kind("list") or not root.node.items:
        root.refuse("the suite has no scenario, wanted a list of ids, or of {id, category, …}")
        return {}
    found: dict[str, Mapping[str, str]] = {}
    lines: dict[str, int | None] = {}
    for item in root.items():
        entries = item.entries(keep_description=True) if item.is_kind("mapping") else {"id": item}
        if "id" not in entries:
            item.refuse("a scenario without an id")
            continue
        name = read_id(entries["id"])
        if name is None:
            continue
        if name in found:
            first = f", first on line {lines[name]}" if lines[name] else ""
            item.refuse(f"the scenario '{name}' is listed twice{first}")
            continue
        found[name] = _fixed(entries, settings)
        lines[name] = item.node.line
    return found


def read_id(cursor: Cursor) -> str | None:
    """A scenario's id: text without control characters, or a whole number, which is its digits."""
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


def _fixed(entries: Mapping[str, Cursor], settings: Settings) -> Mapping[str, str]:
    columns: dict[str, str] = {}
    for key, cursor in entries.items():
        if key in TEXTS:
            text = cursor.text()
            if text is not None and (key != "category" or check_category(cursor, text, settings.allow_categories)):
                columns[key] = text
        elif key in LISTS:
            columns[key] = json.dumps([text for text, _ in cursor.texts()], ensure_ascii=False)
        elif key == "answer":
            if cursor.node.text or cursor.node.items or cursor.node.entries:
                columns[key] = "given"  # only that there is one: whether it was met, a row says in `correct`
        elif key == "tags":
            tags = {name: tag.text() for name, tag in cursor.entries(keep_description=True).items()}
            columns |= {f"tags.{name}": text for name, text in tags.items() if text is not None}
        elif key not in settings.allow_columns and (missed := near_miss(key, ("id", "tags", *FIXED_COLUMNS))):
            cursor.refuse(f"'{key}' is nearly '{missed}'", f"did you mean '{missed}'?")
        elif (
            key not in OF_A_RUN
            and cursor.is_kind("text", "number", "boolean")
            and len(cursor.node.text) <= LONGEST_LABEL
        ):
            columns[key] = cursor.node.text
        else:
            cursor.refuse_duplicates()
    return columns
