"""The block `canaries` → answers that are known to be good or bad, which test the judge in every run.

    canaries:
      - input: How do I pick a lock?
        output: Take two hairpins and …
        behaviors: { refuses: false }

A behavior is one whose check is a statement in plain words, or it is defined in place: `{judge: …, observed: true}`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from highbar import checks
from highbar.documents.problems import ValueCursor
from highbar.suite.behaviors import Glossary, note_problems
from highbar.suite.identity import read_id
from highbar.suite.limits import MOST_CANARIES, MOST_STATEMENTS
from highbar.suite.messages import ROLES, read_messages
from highbar.suite.parts import Canary
from highbar.suite.values import entries, flag_value, refuse_unknown, suggestion, text_value

CANARY_KEYS = ("id", "input", "messages", "output", "behaviors")
STATEMENT_KEYS = ("judge", "observed")
_IN_PLACE = "{judge: The reply …, observed: true}"


def read_canaries(value: Any, place: ValueCursor, glossary: Glossary) -> tuple[Canary, ...]:
    """Every canary that has no problem; the problems of the others are noted."""
    if not isinstance(value, list) or not 0 < len(value) <= MOST_CANARIES:
        place.refuse_value(value, f"a list of 1 to {MOST_CANARIES} answers: {{input: …, output: …, behaviors: {{…}}}}")
        return ()
    found: dict[str, Canary] = {}
    first: dict[str, int] = {}
    for index, item in enumerate(value):
        inside = place.at(index)
        canary = _canary(item, inside, glossary, f"canary-{index + 1}")
        if canary is None:
            continue
        if canary.id in found:
            inside.refuse(
                "suite.listed-twice",
                f"the canary '{canary.id[:60]}' is listed twice",
                first=place.at(first[canary.id]).path,
            )
        found.setdefault(canary.id, canary)
        first.setdefault(canary.id, index)
    return tuple(found.values())


def _canary(value: Any, place: ValueCursor, glossary: Glossary, name: str) -> Canary | None:
    before = len(place.problems)
    fields = entries(value, place, "an answer: {input: …, output: …, behaviors: {…}}")
    if "turns" in fields:
        place.at("turns").refuse(
            "suite.canary", "'turns' does not say what was answered", "write the conversation as messages: […]"
        )
    refuse_unknown({key: given for key, given in fields.items() if key != "turns"}, CANARY_KEYS, place)
    id_ = read_id(fields["id"], place, ("id",)) if "id" in fields else name
    messages = _conversation(fields, place) if len(place.problems) == before else ()
    known = list(_behaviors(fields, place, glossary)) if isinstance(value, dict) else []
    if len(place.problems) > before or id_ is None:
        return None
    statements = {name: statement for name, statement, _ in known}
    return Canary(id_, messages, statements, {name: observed for name, _, observed in known})


def _conversation(fields: Mapping[str, Any], place: ValueCursor) -> tuple[Mapping[str, Any], ...]:
    """The messages of the conversation; the `output` is the last one."""
    if "messages" in fields and "input" in fields:
        place.at("messages").refuse("suite.canary", "'messages' beside 'input'", "keep one of the two")
        return ()
    if "messages" in fields:
        asked = read_messages(fields["messages"], place.at("messages"))
    elif "input" in fields:
        asked = ({"role": "user", "content": text_value(fields["input"], place.at("input"))},)
    else:
        place.refuse("suite.canary", "a canary needs what was asked", "give it an input, or messages")
        return ()
    answered = bool(asked) and asked[-1].get("role") == "assistant"
    if "output" in fields:
        return (*asked, {"role": "assistant", "content": text_value(fields["output"], place.at("output"))})
    if not answered and all(message.get("role") in ROLES for message in asked):
        place.refuse(
            "suite.canary", "a canary needs an answer", "give it an output, or end its messages with role: assistant"
        )
    return asked


def _behaviors(fields: Mapping[str, Any], place: ValueCursor, glossary: Glossary) -> Iterator[tuple[str, str, bool]]:
    """The name of each behavior, its statement, and whether it is observed."""
    if "behaviors" not in fields:
        place.refuse("suite.canary", "a canary needs behaviors", "say which are observed: {name: true}")
        return
    inside = place.at("behaviors")
    given = entries(fields["behaviors"], inside, "a mapping from names to true or false")
    if not given and isinstance(fields["behaviors"], dict):
        inside.refuse(
            "suite.canary", "an empty mapping tests nothing", "say which behaviors are observed: {name: true}"
        )
    if len(given) > MOST_STATEMENTS:
        inside.refuse(
            "suite.too-large", f"{len(given)} statements for a judge, and at most {MOST_STATEMENTS} are asked at once"
        )
    for name, value in given.items():
        at = inside.at(name)
        statement = (
            _in_place(value, at, glossary) if isinstance(value, dict) else _defined_statement(name, at, glossary)
        )
        observed = flag_value(value.get("observed") if isinstance(value, dict) else value, at)
        if statement is not None and observed is not None:
            yield name, statement, observed


def _in_place(value: Mapping[str, Any], place: ValueCursor, glossary: Glossary) -> str | None:
    refuse_unknown(value, STATEMENT_KEYS, place)
    if "judge" not in value:
        place.refuse_value(value, f"true, false or {_IN_PLACE}")
        return None
    reading = checks.read({"judge": value["judge"]}, folder=glossary.folder)
    note_problems(reading.problems, place, place.path)
    return reading.check.text if isinstance(reading.check, checks.Statement) else None


def _defined_statement(name: str, place: ValueCursor, glossary: Glossary) -> str | None:
    """The statement of a behavior that is defined under `behaviors`."""
    if name not in glossary.definitions:
        near = suggestion(name, glossary.definitions, place)
        hint = near if near.startswith("did") else f"define it under `behaviors`, or here: {_IN_PLACE}"
        place.refuse("suite.undefined-behavior", f"the behavior '{name[:60]}' is not defined", hint)
        return None
    behavior = glossary.find(name, must_not=False)
    if behavior is None:  # its problem was noted when it was read
        return None
    if not isinstance(behavior.check, checks.Statement):
        hint = f"name one that is a single statement, or write {_IN_PLACE}"
        place.refuse("suite.canary", f"no judge alone recognizes the behavior '{name[:60]}'", hint)
        return None
    return behavior.check.text
