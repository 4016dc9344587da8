"""Questions and labels of another tool → ids and labels; what its suites need as well is in `language.tool_names`."""

from __future__ import annotations

import hashlib
from collections import Counter

from highbar.importers.limits import LONGEST_ID, LONGEST_TAG
from highbar.language.tool_names import DESCRIBED, as_text, flat_tags, means_correct, scalar, scenario_id, score_column

__all__ = [
    "DESCRIBED",
    "Trials",
    "as_text",
    "flat_tags",
    "means_correct",
    "question_id",
    "scalar",
    "scenario_id",
    "score_column",
    "short_digest",
    "short_label",
]


def question_id(question: str) -> str:
    """An id made of the question to the agent, for tools that name no scenario; a long one is cut and has a digest."""
    if len(question) <= LONGEST_ID:
        return scenario_id(question)
    return scenario_id(f"{question[: LONGEST_ID - 10]}…#{short_digest(question)}")


def short_digest(text: str) -> str:
    """Eight characters that differ for different texts."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def short_label(value: object) -> str | None:
    """Text that is short enough to be a label, stripped; None for anything else."""
    return value.strip() or None if isinstance(value, str) and len(value) <= LONGEST_TAG else None


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
