"""The reply of a judge → a judgment of every statement, or why it cannot be used. A reply is as hostile as an answer.

The last JSON object of a reply is the judgment, never an earlier one: a judge may quote what the agent told it to say.
It cannot be used if it also occurs in the conversation, if a name is missing, occurs twice or was not asked, or if the
evidence of `observed` is not in the conversation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, get_args

from highbar.model.judgments import JudgeQuestion, JudgmentWord, StatementJudgment
from highbar.running.agents.json_text import STRICT
from highbar.running.agents.replies import shown
from highbar.running.judging.evidence import Quotable

WORDS: tuple[JudgmentWord, ...] = get_args(JudgmentWord)
_MOST_OBJECTS = 1000
"""JSON objects in a reply: each is parsed."""
_OBJECT = re.compile(r'\{(?=\s*["}])')
_TOO_DEEP = "its JSON is nested too deeply"
_THOUGHTS = re.compile(r"\s*<think>")


class Unusable(Exception):
    """A reply cannot be used; the message says why."""


def read_text(text: str, question: JudgeQuestion) -> dict[str, StatementJudgment]:
    """The judgments in the text of a reply. Raises Unusable."""
    try:
        return _read(_objects(text), question)
    except RecursionError:
        raise Unusable(_TOO_DEEP) from None


def read_calls(calls: Sequence[Mapping[str, Any]], tool: str, question: JudgeQuestion) -> dict[str, StatementJudgment]:
    """The judgments in the calls of the tool. Raises Unusable if there are none, or if the calls differ."""
    for call in calls:
        if call.get("name") != tool or not isinstance(call.get("arguments"), dict):
            raise Unusable(f"it called {shown(call.get('name'))} but not as instructed")
    given = [call["arguments"] for call in calls]
    if any(one != given[0] for one in given):
        raise Unusable("it called the tool several times, each time with another judgment")
    try:
        return _read([(value, json.dumps(value, ensure_ascii=False)) for value in given], question)
    except RecursionError:
        raise Unusable(_TOO_DEEP) from None


def _objects(text: str) -> list[tuple[Any, str]]:
    """Every outermost JSON object in a text: its value and its text."""
    if _THOUGHTS.match(text):  # drop the thoughts of a model: a draft in them is not its judgment
        text = text.rpartition("</think>")[2]
    found: list[tuple[Any, str]] = []
    at = 0
    while (start := _OBJECT.search(text, at)) is not None:
        try:
            value, at = STRICT.raw_decode(text, start.start())
        except ValueError as error:  # of json, and of our own checks of keys and constants
            raise Unusable(f"its JSON cannot be read: {str(error)[:100]}") from None
        found.append((value, text[start.start() : at]))
        if len(found) > _MOST_OBJECTS:
            raise Unusable("it has thousands of JSON objects")
    return found


def _read(given: Sequence[tuple[Any, str]], question: JudgeQuestion) -> dict[str, StatementJudgment]:
    if not given:
        raise Unusable("it has no JSON object")
    quotable = Quotable(question.conversation)
    value, text = given[-1]
    items = _items(value, question.statements)
    if quotable.has_object(text):
        raise Unusable("it repeats an object of the conversation")
    return {name: _judgment(name, items[name], quotable) for name in question.statements}


def _items(value: Any, names: Collection[str]) -> dict[str, Mapping[str, Any]]:
    """The items of a judgment, by the name of the statement. Raises Unusable if the object is not a judgment."""
    items = value.get("statements") if isinstance(value, dict) and len(value) == 1 else None
    if not isinstance(items, list):
        raise Unusable('it is no object {"statements": […]}')
    found: dict[str, Mapping[str, Any]] = {}
    for item in items:
        if not isinstance(item, dict) or item.keys() != {"name", "evidence", "judgment"}:
            raise Unusable("a statement in it has other keys than name, evidence and judgment")
        name = item["name"]
        if not isinstance(name, str) or name not in names:
            raise Unusable(f"it judges {shown(name)}, which was not asked")
        if name in found:
            raise Unusable(f"it judges {shown(name)} twice")
        found[name] = item
    for name in names:
        if name not in found:
            raise Unusable(f"it does not judge {shown(name)}")
    return found


def read_word(name: str, value: Any) -> JudgmentWord:
    """The value, if it is one of the three words. Raises Unusable if not."""
    word = next((word for word in WORDS if isinstance(value, str) and word == value), None)
    if word is None:
        raise Unusable(f"it has {shown(value)} for {shown(name)}, wanted observed, not_observed or cannot_tell")
    return word


def _judgment(name: str, item: Mapping[str, Any], quotable: Quotable) -> StatementJudgment:
    word, evidence = read_word(name, item["judgment"]), quotable.find_evidence(item["evidence"])
    if word == "observed" and evidence is None:
        raise Unusable(f"its evidence for {shown(name)} is not in the conversation")
    return StatementJudgment(word, evidence)
