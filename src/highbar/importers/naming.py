"""Questions and labels of another tool → ids and labels; names that suites need too are in `language.tool_names`."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from typing import TypeVar

from highbar.importers.limits import LONGEST_ID, LONGEST_TAG
from highbar.importers.record import Record, refuse, shown
from highbar.language.tool_names import scenario_id, score_column

_Key = TypeVar("_Key")


def question_id(question: str) -> str:
    """An id made from the question to the agent, for tools without scenario names; a long one is cut, with a digest."""
    if len(question) <= LONGEST_ID:
        return scenario_id(question)
    return scenario_id(f"{question[: LONGEST_ID - 10]}…#{short_digest(question)}")


def number_or_name(record: Record, key: str, what: str) -> str:
    """The id in a record, a whole number or a text; `what` says of what it is the id."""
    value = record.value(key)
    if not isinstance(value, str | int) or isinstance(value, bool) or value == "":
        refuse(
            "import.wrong-value",
            f"{record.place}: {key}: found {shown(value)}, wanted the number or the name of {what}",
        )
    return scenario_id(str(value))


def short_digest(text: str) -> str:
    """Eight characters that practically always differ for different texts."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def short_label(value: object) -> str | None:
    """Text that is short enough to be a label, stripped; None for anything else."""
    return value.strip() or None if isinstance(value, str) and len(value) <= LONGEST_TAG else None


def score_columns(names: Mapping[_Key, str]) -> tuple[dict[_Key, str], Counter[str]]:
    """The column of each score, and how many scores would share a column; none of these gets it."""
    named = {key: score_column(name) for key, name in names.items()}
    uses = Counter(named.values())
    shared = {f"metrics that would share the column {one}": number for one, number in uses.items() if number > 1}
    return {key: column for key, column in named.items() if uses[column] == 1}, Counter(shared)


class Trials:
    """Numbers the trials of each scenario in the order of the file.

    >>> trials = Trials()
    >>> trials.number("a"), trials.number("b"), trials.number("a")
    (0, 0, 1)
    """

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def number(self, scenario: str) -> int:
        """The number of the next trial of this scenario, from 0."""
        self._seen[scenario] += 1
        return self._seen[scenario] - 1
