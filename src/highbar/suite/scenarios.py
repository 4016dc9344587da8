"""A scenario as it is written → a scenario that can be run and graded."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec

from highbar import checks
from highbar.columns import BY_NAME, SCENARIO_TEXTS
from highbar.documents.problems import ValueCursor, ValuePath
from highbar.suite.amounts import decimal
from highbar.suite.behaviors import Glossary, note_problems, refuse_both
from highbar.suite.check_files import CheckFiles
from highbar.suite.identity import (
    ASKED,
    CHECKED,
    LISTS,
    OWN_COLUMNS,
    SCENARIO_KEYS,
    WRITTEN_BY_A_RUN,
    SuiteEntry,
    check_category,
    refuse_written_by_a_run,
)
from highbar.suite.limits import MOST_STATEMENTS, MOST_TRIALS
from highbar.suite.messages import read_messages, refuse_answered
from highbar.suite.own_columns import OwnColumns
from highbar.suite.parts import Behavior, RunSettings, Scenario
from highbar.suite.settings import duration
from highbar.suite.values import entries, refuse_unknown, tags_value, text_value, whole_number

DEFAULTS = ("trials", "timeout", "weight", "cluster", "tags", "category", "capability")
_UNGRADED = frozenset({"trials", "timeout", "description"})
"""Keys on which no answer and no grade depends."""
_WITH_FILES = (b'"python"', b'"is_json"')
"""The JSON text of a scenario contains one of these if a check may use a file."""
_ENCODER = msgspec.json.Encoder(order="deterministic", decimal_format="number")


class ScenarioReader:
    """Reads scenarios, given the other blocks of the file."""

    def __init__(
        self,
        place: ValueCursor,
        glossary: Glossary,
        run: RunSettings,
        defaults: Mapping[str, Any],
        folder: Path | None,
        own: OwnColumns,
        *,
        quality: bool,
    ) -> None:
        self.place = place
        self.glossary = glossary
        self.run = run
        self.defaults: Mapping[str, Any] = {}
        self.folder = folder
        self.own = own
        self.quality = quality
        self.files = CheckFiles(folder)
        # Read once on their own, so that their problems are noted at the place of the defaults.
        before = len(place.problems)
        self._settings(defaults, ("defaults",))
        dict(self._columns(defaults, ("defaults",)))
        if len(place.problems) == before:  # otherwise each scenario would repeat the problems of the defaults
            self.defaults = defaults

    def scenario(self, entry: SuiteEntry) -> Scenario | None:
        """One scenario; None if something is wrong with it."""
        place, path, keys = self.place, entry.path, entry.keys
        before = len(place.problems)
        expected = self._behaviors("expected_behaviors", entry)
        must_not = self._behaviors("must_not", entry)
        refuse_both(expected, must_not, place, path)
        merged = self._with_defaults(keys)
        settings = self._settings(merged, path)
        found: dict[str, Any] = {
            "columns": dict(self._columns(merged, path)),
            "expected_behaviors": expected,
            "must_not": must_not,
            **self._question(keys, path),
            **self._answer(keys, path),
        }
        if "description" in keys:
            found["description"] = text_value(keys["description"], place.at(*path, "description"))
        self._refuse_unchecked(entry)
        _refuse_too_many((*expected.values(), *must_not.values()), found.get("answer"), place.at(*path))
        if len(place.problems) > before:
            return None
        digest = self._digest(entry.id, merged, (expected, must_not), found.get("answer"))
        return Scenario(entry.id, **found, **settings, digest=digest)

    def _behaviors(self, key: str, entry: SuiteEntry) -> dict[str, Any]:
        if key not in entry.keys:
            return {}
        return self.glossary.read_list(entry.keys[key], (*entry.path, key), must_not=key == "must_not")

    def _with_defaults(self, keys: Mapping[str, Any]) -> dict[str, Any]:
        if not self.defaults:
            return dict(keys)
        merged = {**self.defaults, **keys}
        tags, own = self.defaults.get("tags"), keys.get("tags")
        if isinstance(tags, dict) and isinstance(own, dict):
            merged["tags"] = {**tags, **own}
        return merged

    def _settings(self, merged: Mapping[str, Any], path: ValuePath) -> dict[str, Any]:
        trials: int | None = self.run.trials
        timeout: Fraction | None = self.run.timeout
        if "trials" in merged:
            trials = whole_number(merged["trials"], self.place.at(*path, "trials"), 1, MOST_TRIALS)
        if "timeout" in merged:
            timeout = duration(merged["timeout"], self.place.at(*path, "timeout"))
        return {"trials": trials, "timeout": timeout}

    def _columns(self, merged: Mapping[str, Any], path: ValuePath) -> Iterator[tuple[str, Any]]:
        """The columns that are copied into every row: descriptions, tags, and the user's own."""
        for key, value in merged.items():
            if key in SCENARIO_TEXTS:
                found = text_value(value, self.place.at(*path, key))
                if found is not None and (key != "category" or check_category(found, self.place, (*path, key))):
                    yield key, found
            elif key == "weight":
                yield key, self._weight(value, path)
            elif key == "tags":
                yield key, tags_value(value, self.place.at(*path, "tags"))
            elif key in SCENARIO_KEYS and key != OWN_COLUMNS:
                continue
            elif key in WRITTEN_BY_A_RUN:
                refuse_written_by_a_run(key, self.place.at(*path, key))
            else:
                yield from self.own.read(key, value, self.place.at(*path))

    def _weight(self, value: Any, path: ValuePath) -> Any:
        column = BY_NAME["weight"]
        found = decimal(value)
        if found is None or not (column.least or 0) <= found <= (column.most or 0):
            self.place.at(*path, "weight").refuse_value(value, "a number above 0")
            return None
        return int(found) if found == found.to_integral_value() else found

    def _question(self, keys: Mapping[str, Any], path: ValuePath) -> dict[str, Any]:
        given = [key for key in ASKED if key in keys]
        if len(given) > 1:
            self.place.at(*path, given[1]).refuse(
                "suite.conflict", f"'{given[1]}' beside '{given[0]}'", "keep one of the two"
            )
            return {}
        if not given:
            return {}
        key, value, place = given[0], keys[given[0]], self.place.at(*path, given[0])
        if key == "input":
            if isinstance(value, list | dict):
                place.refuse_value(value, "text", "several turns are `turns: […]`, a conversation is `messages: […]`")
                return {}
            return {"input": text_value(value, place)}
        if key == "turns":
            if isinstance(value, list) and value:
                return {"turns": tuple(text_value(turn, place.at(i)) for i, turn in enumerate(value))}
            place.refuse_value(value, "a list of texts")
            return {}
        messages = read_messages(value, place)
        refuse_answered(messages, place)
        return {"messages": messages}

    def _answer(self, keys: Mapping[str, Any], path: ValuePath) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if "answer" in keys:
            reading = checks.read_answer(keys["answer"], folder=self.folder)
            note_problems(reading.problems, self.place, (*path, "answer"))
            found["answer"] = reading.check
        if "expected" in keys:
            value = keys["expected"]
            found["expected"] = (
                value if isinstance(value, bool) else text_value(value, self.place.at(*path, "expected"))
            )
        if "predict" in keys:
            predict, problems = checks.read_predict(keys["predict"])
            note_problems(problems, self.place, (*path, "predict"))
            found["predict"] = predict
            if "expected" not in keys:
                self.place.at(*path, "predict").refuse(
                    "suite.check-without-answer", "`predict` without `expected`: there is no label to compare with"
                )
        return found

    def _refuse_unchecked(self, entry: SuiteEntry) -> None:
        given = [key for key in CHECKED if key in entry.keys]
        if self.quality or any(key not in LISTS or entry.keys[key] not in ([], {}) for key in given):
            return
        hint = f"give it one of {', '.join(CHECKED)}"
        self.place.at(*entry.path).refuse("suite.no-check", "this scenario checks nothing: every answer would do", hint)

    def _digest(
        self,
        id_: str,
        merged: Mapping[str, Any],
        behaviors: tuple[Mapping[str, Behavior], Mapping[str, Behavior]],
        answer: checks.Check | None,
    ) -> str:
        """The digest of everything that an answer or its grade depends on, including the files that checks use."""
        # Checks that the scenario defines in place are among its own keys already.
        named = {name for each in behaviors for name, found in each.items() if found.source in ("suite", "built-in")}
        definitions = {name: self.glossary.definitions[name] for name in named}
        graded = {key: value for key, value in merged.items() if key not in _UNGRADED}
        text = _ENCODER.encode([id_, graded, definitions])
        if any(word in text for word in _WITH_FILES):
            used = [behavior.check for each in behaviors for behavior in each.values()]
            used += [] if answer is None else [answer]
            text += _ENCODER.encode([content for check in used for content in self.files.contents(check)])
        return hashlib.sha256(text).hexdigest()


def _refuse_too_many(behaviors: Iterable[Behavior], answer: checks.Check | None, place: ValueCursor) -> None:
    """Note a problem if a scenario has more statements than a judge can be asked in one call."""
    given = [*(behavior.check for behavior in behaviors), *(() if answer is None else (answer,))]
    number = len({text for check in given for text in checks.statements(check)})
    if number > MOST_STATEMENTS:
        hint = "make several scenarios of it"
        place.refuse(
            "suite.too-large", f"{number} statements for a judge, and at most {MOST_STATEMENTS} are asked at once", hint
        )


def read_defaults(value: Any, place: ValueCursor) -> Mapping[str, Any]:
    """The block `defaults`: the values of scenarios that do not set their own."""
    found = entries(value, place, "a mapping such as {trials: 3, weight: 1}")
    refuse_unknown(found, DEFAULTS, place)
    return {key: given for key, given in found.items() if key in DEFAULTS}
