"""Names and values of another tool, as the canonical columns can hold them: the same for every importer."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping
from functools import lru_cache

from highbar.columns import COLUMN_NAMES
from highbar.language.spelling import near_miss

_NUMBERS = (int, float)
_NOT_NAME = re.compile(r"[^a-z0-9]+")
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_CORRECT = frozenset(
    {"correct", "is_correct", "correctness", "answer_correctness", "accuracy", "exact_match", "equals_expected"}
)


@lru_cache(maxsize=4096)
def score_column(name: str) -> str:
    """The column that a tool's score goes into: a name that a formula can use, made from the score's name alone.

    One that is a column of ours, or would be taken for a misspelled one, gets `score_` in front.

    >>> score_column("Answer Relevancy"), score_column("EqualsExpected"), score_column("correct"), score_column("2nd")
    ('answer_relevancy', 'equals_expected', 'score_correct', 'score_2nd')
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    slug = _NOT_NAME.sub("_", _WORDS.sub("_", plain).lower()).strip("_")
    if not slug:
        # A name in another alphabet has no letters that a formula knows; its code points are stable and tell it apart.
        return "score_" + "_".join(f"{ord(letter):x}" for letter in name[:16])
    taken = slug in COLUMN_NAMES or near_miss(slug, COLUMN_NAMES) or slug[0].isdigit()
    return f"score_{slug}" if taken else slug


@lru_cache(maxsize=4096)
def means_correct(name: str) -> bool:
    """Whether a verdict of this name says that the answer was right, and so feeds `correct`.

    >>> means_correct("EqualsExpected"), means_correct("Correctness [GEval]"), means_correct("polite")
    (True, True, False)
    """
    return score_column(re.sub(r"\s*\[\w+\]$", "", name)).removeprefix("score_") in _CORRECT


def tags(values: Mapping[str, object], skip: Collection[str] = ()) -> dict[str, str] | None:
    """The members that can be sliced by, as text; lists and objects cannot. None where there is none.

    >>> tags({"locale": "de", "turns": 3, "rag": True, "docs": ["a"]})
    {'locale': 'de', 'turns': '3', 'rag': 'true'}
    """
    found = {name: text for name, value in values.items() if name not in skip and (text := scalar(value)) is not None}
    return found or None


def scalar(value: object) -> str | None:
    """Text, a number or a truth value as text; None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, _NUMBERS) else None


def as_text(value: object) -> str | None:
    """Whatever was asked or answered, as text: text as it is, anything else as JSON.

    >>> as_text("hello"), as_text({"city": "Köln"}), as_text(None)
    ('hello', '{"city": "Köln"}', None)
    """
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


class Trials:
    """Which repetition of its scenario a record is, by the order of the file.

    >>> trials = Trials()
    >>> trials.number("a"), trials.number("b"), trials.number("a")
    (0, 0, 1)
    """

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def number(self, scenario: str) -> int:
        """The number of the next repetition of this scenario, from 0."""
        self._seen[scenario] += 1
        return self._seen[scenario] - 1
