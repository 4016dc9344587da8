"""The column `predicted`, from an answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from highbar.checks.limits import MOST_TEXT, MOST_WANTED
from highbar.checks.texts import core
from highbar.checks.tree import Pointer
from highbar.checks.values import (
    ABSENT,
    NotJson,
    Unreadable,
    at_pointer,
    json_number,
    json_of_reply,
    number_text,
    read_pointer,
)
from highbar.documents.problems import ValueCursor, ValueProblem
from highbar.model.answer import Answer

Label: TypeAlias = str | bool
_MOST_PREDICTED = 200
"""The number of characters that are stored of a reply that is none of the labels."""


def read_predict(value: Any) -> tuple[Pointer | None, tuple[ValueProblem, ...]]:
    """Where the label is in a JSON reply, from `predict: {json: POINTER}`; and the problems with that."""
    place = ValueCursor()
    if not isinstance(value, dict) or list(value) != ["json"]:
        place.refuse_value(value, "{json: POINTER}")
        return None, tuple(place.problems)
    pointer = value["json"]
    parts = read_pointer(pointer) if isinstance(pointer, str) else "a JSON pointer is text"
    if isinstance(parts, str):
        place.at("json").refuse_value(pointer, "a JSON pointer", parts)
        return None, tuple(place.problems)
    return parts, ()


def predicted(answer: Answer, labels: Iterable[Label], predict: Pointer | None = None) -> Label | None:
    """The column `predicted`: the label that equals the reply, as the suite spells it; else the beginning of the reply.

    Case, spaces, and punctuation around the whole do not count. None if there is no reply, or no value at the pointer:
    no prediction counts as a wrong one. A reply that could be two labels is neither of them.
    """
    predicted_label = _predicted_label(answer, predict)
    if predicted_label is None:
        return None
    known = tuple(dict.fromkeys(labels))
    if any(type(label) is type(predicted_label) and label == predicted_label for label in known):
        return predicted_label
    text = _written_label(predicted_label)
    bare = core(text).replace(" ", "") if len(text) <= MOST_WANTED else ""
    equal = [label for label in known if bare and core(_written_label(label)).replace(" ", "") == bare]
    same = [label for label in equal if _written_label(label) == text] or equal
    return same[0] if len(same) == 1 else _cut(text)


def _cut(text: str) -> str:
    """The beginning of a reply that is no label. What is cut is longer than any label, so that it equals none."""
    return text if len(text) <= _MOST_PREDICTED else f"{text[:_MOST_PREDICTED]}…"


def _predicted_label(answer: Answer, predict: Pointer | None) -> Label | None:
    text = answer.output
    if predict is None or text is None:
        return text or None
    try:
        value = at_pointer(json_of_reply(text), predict) if len(text) <= MOST_TEXT else ABSENT
    except (NotJson, Unreadable):
        return None
    if isinstance(value, str | bool):
        return value
    found = json_number(value)
    return None if found is None else number_text(found)


def _written_label(label: Label) -> str:
    return label if isinstance(label, str) else "true" if label else "false"
