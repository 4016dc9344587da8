"""How many results the configuration in a promptfoo export plans: tests × repetitions × prompts × providers.

The number is the least that was planned: what is not literal, for example a file of tests, counts as nothing.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from math import prod
from typing import Any, NamedTuple

from highbar.importers.record import Record, as_object
from highbar.language.promptfoo_names import conversation_of, key_of_test

_TIMED = (0, 120, 10)
"""The first known version that writes how long a run took, which it does when the run ends."""
_VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})")
_NOT_LITERAL = ("file://", "{{", "{%")
_OPTIONS = ("commandLineOptions", "evaluateOptions")


class PlannedResults(NamedTuple):
    """What an export says about the results that it should hold."""

    config: Mapping[str, Any]
    options: Mapping[str, Any]  # of the command line, which override those of the configuration
    expands: bool  # whether a variable with a list of texts makes a result of each text

    @property
    def columns(self) -> int:
        """The pairs of prompt and provider in the configuration; 1 if it does not say how many there are."""
        prompts, providers = self.config.get("prompts"), self.config.get("providers")
        if not isinstance(prompts, list) or not isinstance(providers, list):
            return 1
        return 1 if any("prompts" in as_object(one) for one in providers) else len(prompts) * len(providers)

    def results(self, columns: int) -> int:
        """The results of all tests in so many columns."""
        return sum(self._rows(test) * _columns_of(test, columns) for test in self._tests())

    @property
    def repetitions(self) -> int | None:
        """The most results that one test can have in one column; None if that is not literal, as with files."""
        places = [self.config.get(key) for key in ("tests", "scenarios")]
        if any(place and (not isinstance(place, list) or len(_literal(place)) < len(place)) for place in places):
            return None
        alike: Counter[tuple[str, str]] = Counter()
        for test in self._tests():
            text = json.dumps(test["vars"])
            if any(sign in text for sign in _NOT_LITERAL):
                return None
            most = (max(Counter(map(json.dumps, values)).values()) for values in self._lists(test))
            conversation = conversation_of(test.get("metadata"))
            key = key_of_test(test.get("description"), test["vars"], test.get("assert"), conversation)
            alike[key] += self._repeats(test) * prod(most)
        return max(alike.values(), default=None)

    def _tests(self) -> Iterator[dict[str, Any]]:
        """The literal tests and scenarios, with what they have from `defaultTest`."""
        default = as_object(self.config.get("defaultTest"))
        tests, scenarios = self.config.get("tests"), self.config.get("scenarios")
        for test in _literal(tests):
            yield _merged(default, test)
        for scenario in _literal(scenarios):
            for data in _literal(scenario.get("config")):
                for test in _literal(scenario.get("tests") or [{}]):
                    yield _merged(default, data, test)
        if not tests and not scenarios:
            yield _merged(default)  # promptfoo asks each prompt once

    def _rows(self, test: dict[str, Any]) -> int:
        """How often a test runs in each column: its repetitions × the combinations of its variables."""
        return self._repeats(test) * prod(map(len, self._lists(test)))

    def _repeats(self, test: dict[str, Any]) -> int:
        own = test["options"]
        places = (own, self.options, *(as_object(self.config.get(key)) for key in _OPTIONS))
        return next((one for place in places if type(one := place.get("repeat")) is int and one > 0), 1)

    def _lists(self, test: dict[str, Any]) -> list[list[Any]]:
        """The variables of which each element makes a test."""
        is_expanded = self.expands and test["options"].get("disableVarExpansion") is not True
        return [one for one in test["vars"].values() if is_list_of_texts(one)] if is_expanded else []


def is_list_of_texts(value: object) -> bool:
    """Whether promptfoo makes a test of each element of such a variable."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], str)


def has_ended(stats: Record | None, version: object) -> bool | None:
    """Whether the run ended; None if the export does not say, as before version 0.120.10.

    >>> has_ended(Record({"successes": 8}, "stats"), "0.121.20"), has_ended(None, "0.118.1")
    (False, None)
    """
    timed = ("evaluationDurationMs",) if stats and "generationDurationMs" in stats else ("durationMs",)
    if stats and any(key in stats for key in ("evaluationDurationMs", *timed)):
        return True
    found = _VERSION.match(version) if isinstance(version, str) else None
    return False if found and tuple(map(int, found.groups())) >= _TIMED else None


def _literal(values: object) -> list[dict[str, Any]]:
    """The objects of a list; an object with a `path` names a program that makes the tests."""
    return [one for one in values if isinstance(one, dict) and "path" not in one] if isinstance(values, list) else []


def _merged(*parts: dict[str, Any]) -> dict[str, Any]:
    whole = {key: value for part in parts for key, value in part.items()}
    for key in ("vars", "options"):
        whole[key] = {name: value for part in parts for name, value in as_object(part.get(key)).items()}
    return whole


def _columns_of(test: dict[str, Any], columns: int) -> int:
    """The columns of a test. If it names its prompts or providers, they are at least one, unless it names none."""
    named = [test[key] for key in ("prompts", "providers") if isinstance(test.get(key), list)]
    return min(columns, 1 if all(named) else 0) if named else columns
