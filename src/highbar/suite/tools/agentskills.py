"""The evals of an Agent Skill (`evals/evals.json`) → a suite of ours: one scenario for each eval.

The assertions of an eval are statements in plain words, for a judge. They are under `assertions`, or under
`expectations`, the key that the skill creator writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from highbar.documents.problems import ValueCursor, ValuePath
from highbar.language.tool_names import short_name
from highbar.suite.tools.rewritten import Draft, Rewritten
from highbar.suite.values import entries, refuse_unknown

_KEYS = ("skill_name", "description", "version", "evals")
_STATEMENTS = ("assertions", "expectations")
_FOR_PEOPLE = ("name", "eval_name", "notes", "description", "expected_output")
"""Keys for people: nothing is judged by them."""
_EVAL_KEYS = ("id", "prompt", "files", "category", *_STATEMENTS, *_FOR_PEOPLE)


def rewrite(values: Mapping[str, Any], place: ValueCursor) -> Rewritten:
    """The evals as a suite of ours. Anything without a counterpart is noted in `place`."""
    refuse_unknown(values, _KEYS, place)
    draft, with_files = Draft(), 0
    for index, item in enumerate(values["evals"]):
        inside = place.at("evals", index)
        fields = entries(item, inside, "an eval: {id: …, prompt: …, assertions: […]}")
        if isinstance(item, dict) and _add(fields, inside, draft):
            with_files += bool(fields.get("files"))
    name = values.get("skill_name")
    top = {"suite": name} if name is not None else {}
    notes = []
    if with_files:
        named = f"{with_files} evals have files: the agent gets their names as scenario['files']"
        notes.append(f"{named}, unless it is an HTTP agent")
    paths = {**draft.paths, ("suite",): ("skill_name",)}
    return Rewritten("Agent Skills", {**top, "scenarios": draft.scenarios}, paths, tuple(notes))


def _add(item: Mapping[str, Any], place: ValueCursor, draft: Draft) -> bool:
    before = len(place.problems)
    refuse_unknown(item, _EVAL_KEYS, place)
    if "prompt" not in item:
        place.refuse("suite.no-question", "an eval without a prompt: there is nothing to ask")
    if "id" not in item:
        place.refuse(
            "suite.bad-id", "an eval without an id", "a position does not identify a scenario: give each an id"
        )
    behaviors: dict[str, Any] = {}
    paths: dict[Sequence[str], ValuePath] = {("input",): (*place.path, "prompt"), ("id",): (*place.path, "id")}
    for name, statement, path in _statements(item, place):
        behaviors[name] = {"judge": statement}
        paths["expected_behaviors", name] = path
    if not behaviors and len(place.problems) == before:
        hint = "expected_output is for people: say under `assertions` what must be true"
        place.refuse("suite.no-check", "this eval asserts nothing: every answer would do", hint)
    files = _files(item, place)
    if len(place.problems) > before:
        return False
    described = item.get("expected_output") or item.get("description")
    made = {
        "id": item["id"],
        "description": described if isinstance(described, str) and described.strip() else None,
        "category": item.get("category"),
        "input": item["prompt"],
        "files": files,
        "expected_behaviors": behaviors,
    }
    draft.add(made, place.path, paths)
    return True


def _files(item: Mapping[str, Any], place: ValueCursor) -> tuple[str, ...] | None:
    """The names of the files: the only column with several values, so a tuple, which no file of ours can contain."""
    files = item.get("files") or []
    if not isinstance(files, list) or not all(isinstance(name, str) for name in files):
        place.at("files").refuse_value(files, "a list of names of files")
        return None
    return tuple(files) or None


def _statements(item: Mapping[str, Any], place: ValueCursor) -> Iterator[tuple[str, str, ValuePath]]:
    """The name of each statement, the statement and its path; a short statement is its own name."""
    given = [key for key in _STATEMENTS if item.get(key)]
    if len(given) > 1:
        place.at(given[1]).refuse("suite.conflict", f"'{given[1]}' beside '{given[0]}'", "keep one of the two")
        return
    for key in given:
        if not isinstance(item[key], list):
            place.at(key).refuse_value(item[key], "a list of statements")
            return
        for index, value in enumerate(item[key]):
            inside = place.at(key, index)
            fields = value if isinstance(value, dict) else {"text": value}
            statement = fields.get("text")
            if not isinstance(statement, str) or not statement.strip() or not fields.keys() <= {"text", "id", "name"}:
                inside.refuse_value(value, "a statement in plain words")
                continue
            yield short_name(statement), statement, inside.path
