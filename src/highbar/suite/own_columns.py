"""The keys of a scenario that Highbar does not know: columns of the user's own, or checks as another tool writes them.

A key that is taken for a column checks nothing. So the names of checks, here and in other tools, and the words for a
question or an expectation are refused, and so is every value that is no scalar; what is left is listed by
`highbar suite`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from highbar.checks.names import CHECKS, MODIFIERS, OTHER_NAMES, VALUE_CHECKS
from highbar.documents.problems import ValueCursor, ValuePath, shown
from highbar.documents.scalars import as_written
from highbar.language.phrases import some
from highbar.language.spelling import did_you_mean, folded_word, near_miss, same_word
from highbar.suite.identity import ASKED, CHECKED, KNOWN_NAMES, OWN_COLUMNS
from highbar.suite.values import NO_VALUE, entries

_CHECKS = "checks go under `answer`, `expected_behaviors` or `must_not`"
_ANSWER = "write `answer`: a value, or a check such as {contains: …}; a label is `expected`"
_BEHAVIORS = "write `expected_behaviors: {NAME: CHECK}`; a check in plain words is {judge: …}"
_MUST_NOT = "write `must_not: {NAME: {contains: …}}`"
_INPUT = "write `input`; several turns are `turns`, a conversation is `messages`"
_SCENARIOS = "each scenario is an item of its own in the list of scenarios"
_WORDS: Mapping[str, str] = {
    _CHECKS: (
        "assert asserts assertions check checks evaluators scorers graders metrics min_score max_score threshold"
        " max_words min_words"
    ),
    _ANSWER: (
        "expect expects expectation expectations expected_output expected_answer expected_result expected_response"
        " ideal target reference ground_truth gold golden correct_answer right_answer answer_key"
        " reference_answer reference_output reference_response target_answer target_output"
    ),
    _BEHAVIORS: "must must_have must_include must_contain should should_refuse rubric criteria success_criteria",
    _MUST_NOT: (
        "forbid forbids forbidden forbidden_phrases must_not_include must_not_contain never never_says should_not"
        " not_contains does_not_contain excludes exclude banned disallowed prohibited"
        " avoid denylist blocklist blacklist"
    ),
    _INPUT: "prompt question query user",
    _SCENARIOS: "tests cases",
}
_ELSEWHERE: Mapping[str, str] = {
    **{
        name: _CHECKS
        for name in (*CHECKS, *VALUE_CHECKS, *sorted(MODIFIERS), *OTHER_NAMES)
        if name not in KNOWN_NAMES and len(name) > 2
    },
    **{word: hint for hint, words in _WORDS.items() for word in words.split()},
}
"""The keys that name a check here or in other tools, a question or an expectation, each with where Highbar has it."""
_BEGINNINGS: Mapping[str, str] = {
    **dict.fromkeys(("assert", "contains", "icontains", "min", "max", "similar"), _CHECKS),
    **dict.fromkeys(("expect", "expects", "expected", "golden", "ideal"), _ANSWER),
    **dict.fromkeys(("must", "should"), _BEHAVIORS),
    **dict.fromkeys(("must_not", "should_not", "not", "never"), _MUST_NOT),
    **dict.fromkeys(("forbidden", "banned", "disallowed", "prohibited"), _MUST_NOT),
}
"""The words with which such keys begin: `mustMention`, `banned_words`."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TAKE_MAPPINGS = (*ASKED, *CHECKED, "predict")


class OwnColumns(Struct):
    """The user's own columns of a file's scenarios, collected while the scenarios are read.

    `named` are listed by the file. `texts` are those with text that it does not list. In a list that asks nothing
    (`is_list`), a word of another tool may be a column of the results: `elsewhere` has its first place, for whoever
    knows the results.
    """

    named: frozenset[str] = frozenset()
    is_list: bool = False
    allowed: Collection[str] = ()
    all: dict[str, None] = {}
    texts: dict[str, None] = {}
    elsewhere: dict[str, ValuePath] = {}

    def read(self, key: str, value: Any, place: ValueCursor) -> Iterator[tuple[str, Any]]:
        """The columns under a key that Highbar does not know, or under `columns`; what is none is a problem."""
        if key == OWN_COLUMNS:
            for name, cell in entries(value, place.at(key), "a mapping from names of columns to values").items():
                if self._is_column(name, cell, place.at(key, name), is_named=True):
                    self.named |= {name}
                    yield name, cell
        elif self._is_column(key, value, place.at(key), is_named=key in self.named):
            if isinstance(value, str) and key not in self.named:
                self.texts[key] = None
            yield key, value

    @property
    def unread(self) -> tuple[str, ...]:
        """The columns with text that the file does not name; none in a list, whose columns are only compared."""
        return () if self.is_list else tuple(name for name in self.texts if name not in self.named)

    def _is_column(self, key: str, value: Any, place: ValueCursor, *, is_named: bool) -> bool:
        if value is None and self.is_list:
            return False  # as in results, null is an absent value
        before = len(place.problems)
        if value is None:
            place.refuse("suite.bad-column", f"'{key[:60]}' has no value", NO_VALUE)
        elif isinstance(value, dict | list):
            meant = _hint_elsewhere(key) or did_you_mean(key, KNOWN_NAMES)
            hint = meant or "a column of your own is text, a number, true or false"
            place.refuse("suite.unknown-key", f"unknown key '{key[:60]}', with {shown(value)}", hint)
        elif key not in self.all or is_named:
            self._refuse_name(key, place, is_named=is_named)
        if len(place.problems) > before:
            return False
        self.all[key] = None
        return True

    def _refuse_name(self, key: str, place: ValueCursor, *, is_named: bool) -> None:
        """Note a name that is nearly a known one, or means a check to another tool."""
        first, dot, rest = key.partition(".")
        missed = None if key in self.allowed else near_miss(key, KNOWN_NAMES)
        is_elsewhere = not is_named and _hint_elsewhere(key) is not None
        if missed:
            place.refuse("suite.misspelled", f"'{key[:60]}' is nearly '{missed}'", f"did you mean '{missed}'?")
        elif key in KNOWN_NAMES:
            place.refuse(
                "suite.bad-column", f"'{key[:60]}' is not a column of your own", "Highbar has a column with this name"
            )
        elif dot and (first in _TAKE_MAPPINGS or near_miss(first, _TAKE_MAPPINGS)):
            place.refuse(
                "suite.unknown-key", f"unknown key '{key[:60]}'", f"write a mapping: {first[:60]}: {{{rest[:60]}: …}}"
            )
        elif is_elsewhere and self.is_list:
            self.elsewhere.setdefault(key, place.path)
        elif is_elsewhere:
            refuse_elsewhere(key, place)


def named_columns(value: Any, place: ValueCursor) -> frozenset[str]:
    """The names under `columns` at the top of a file; a name that is one of ours, or nearly, is a problem."""
    if not isinstance(value, list):
        place.refuse_value(value, "a list of names, such as [team, ticket]")
        return frozenset()
    found: set[str] = set()
    for index, item in enumerate(value):
        name = None if isinstance(item, bool) else as_written(item)
        if name is None or not name.strip():
            place.at(index).refuse_value(item, "the name of a column")
        elif name in KNOWN_NAMES or near_miss(name, KNOWN_NAMES):
            place.at(index).refuse(
                "suite.bad-column", f"'{name[:60]}' is a column of Highbar, or nearly one", "choose another name"
            )
        else:
            found.add(name)
    return frozenset(found)


def refuse_elsewhere(key: str, place: ValueCursor) -> None:
    """Note that a key is the word of another tool for something that Highbar calls otherwise."""
    place.refuse(
        "suite.unknown-key",
        f"unknown key '{key[:60]}'",
        f"{_hint_elsewhere(key)}; a column of your own with this name goes under `columns`",
    )


def unread_columns(file: str | None, names: Sequence[str]) -> str:
    """The warning about columns of text that neither the suite nor the policy nor the results name."""
    return (
        f"{file or 'the suite'}: the scenarios have text under {some(names)}, which is no check and which nothing"
        " names; list columns of your own under `columns`"
    )


def _hint_elsewhere(key: str) -> str | None:
    """What Highbar has for a key that means a check, apart from case, underscores and the plural: `expectedOutput`."""
    first = key.partition(".")[0]
    word = same_word(first, _ELSEWHERE)
    if word:
        return _ELSEWHERE[word]
    parts = [part for part in re.split("[^a-z0-9]+", folded_word(_CAMEL.sub("_", first))) if part]
    if len(parts) < 2:
        return None
    return _BEGINNINGS.get("_".join(parts[:2])) or _BEGINNINGS.get(parts[0])
