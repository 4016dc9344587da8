"""Names and values of another tool → ids, columns, labels and tags, the same for its results and for its suites."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Collection, Mapping
from functools import lru_cache

import msgspec

from highbar.columns import COLUMN_NAMES
from highbar.language.limits import LONGEST_NAME
from highbar.language.spelling import near_miss

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_NUMBERS = (int, float)
_NOT_NAME = re.compile(r"[^a-z0-9]+")
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_CORRECT = frozenset(
    {"correct", "is_correct", "correctness", "answer_correctness", "accuracy", "exact_match", "equals_expected"}
)


def scenario_id(text: str) -> str:
    r"""Any text as an id: control characters, which ids must not have, become escapes.

    >>> scenario_id("two\nlines")
    'two\\nlines'
    """
    return text if text.isprintable() else _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


def value_digest(value: object) -> str:
    """A short digest of a value that does not depend on the order of its keys."""
    try:
        text = msgspec.json.encode(value, order="sorted")
    except UnicodeEncodeError:  # half of a surrogate pair
        text = json.dumps(value, sort_keys=True).encode()
    return hashlib.sha256(text).hexdigest()[:8]


def shorten(text: str) -> str:
    """The text, cut to the length of a name."""
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def short_name(text: str) -> str:
    """The name of a behavior or a prompt that has only a text: the text, or if it is long, its start and a digest.

    >>> short_name("The reply is polite")
    'The reply is polite'
    """
    short = shorten(text)
    return short if short == text else f"{short}#{value_digest(text)}"


@lru_cache(maxsize=4096)
def score_column(name: str) -> str:
    """The column of a tool's score: a name that a formula can use, made from the score's name alone.

    It gets the prefix `score_` if it would be the name of one of our columns or a near miss, or begin with a digit.

    >>> score_column("Answer Relevancy"), score_column("EqualsExpected"), score_column("correct"), score_column("2nd")
    ('answer_relevancy', 'equals_expected', 'score_correct', 'score_2nd')
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    column = _NOT_NAME.sub("_", _WORDS.sub("_", plain).lower()).strip("_")
    if not column:
        # Formulas accept ASCII letters only; code points are stable and unique.
        return "score_" + "_".join(f"{ord(character):x}" for character in name[:16])
    taken = column in COLUMN_NAMES or near_miss(column, COLUMN_NAMES) or column[0].isdigit()
    return f"score_{column}" if taken else column


@lru_cache(maxsize=4096)
def means_correct(name: str) -> bool:
    """Whether a verdict of this name says that the answer was right, so that it decides `correct`.

    >>> means_correct("EqualsExpected"), means_correct("Correctness [GEval]"), means_correct("polite")
    (True, True, False)
    """
    return score_column(re.sub(r"\s*\[\w+\]$", "", name)).removeprefix("score_") in _CORRECT


def flat_tags(values: Mapping[str, object], skip: Collection[str] = ()) -> dict[str, str] | None:
    """The members that are scalars, as text; None if there are no such members.

    >>> flat_tags({"locale": "de", "turns": 3, "rag": True, "docs": ["a"]})
    {'locale': 'de', 'turns': '3', 'rag': 'true'}
    """
    found = {
        name: text for name, value in values.items() if name not in skip and (text := scalar_text(value)) is not None
    }
    return found or None


def scalar_text(value: object) -> str | None:
    """Text, a number or a truth value as text; None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, _NUMBERS) else None


def text_or_json(value: object) -> str | None:
    """A question or an answer as text: anything but text as JSON.

    >>> text_or_json("hello"), text_or_json({"city": "Köln"}), text_or_json(None)
    ('hello', '{"city": "Köln"}', None)
    """
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
