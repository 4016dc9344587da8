"""A suite in, sentences out: how the answers of its scenarios are judged."""

from __future__ import annotations

from collections.abc import Iterator

from highbar.language.phrases import count, some_and_more
from highbar.suite.check_words import check_in_words
from highbar.suite.parts import Scenario, Suite

MOST_LISTED = 20
"""The most checks of answers that are listed: a suite may have a different one for each scenario."""


def answers(suite: Suite) -> Iterator[tuple[str, str]]:
    """For each check of an answer, the scenarios that have it, and the check; beyond `MOST_LISTED`, only a count."""
    by_check: dict[str, list[str]] = {}
    for scenario in suite.scenarios.values():
        for sentence in _checks(scenario):
            by_check.setdefault(sentence, []).append(scenario.id)
    for sentence, ids in [*by_check.items()][:MOST_LISTED]:
        yield some_and_more(ids), f"{sentence[:1].upper()}{sentence[1:].removesuffix('.')}."
    rest = [*by_check.values()][MOST_LISTED:]
    if rest:
        yield "…", f"And {count(len(rest), 'other check')}, in {count(sum(map(len, rest)), 'scenario')}."


def _checks(scenario: Scenario) -> Iterator[str]:
    if scenario.answer is not None:
        yield check_in_words(scenario.answer)
    if scenario.expected is not None:
        yield f"the label is {scenario.expected!r}"
