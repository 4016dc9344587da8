"""The glossary, and the behaviors that a scenario names → checks."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from highbar import checks
from highbar.checks.glossary import GLOSSARY
from highbar.documents.problems import ValueCursor, ValuePath, ValueProblem
from highbar.suite.identity import behavior_names
from highbar.suite.parts import Behavior
from highbar.suite.values import entries, suggestion

_LOOK_BACK = 200
"""How many of the latest problems to look through for the same one: all of them would take too long."""


class Glossary:
    """Every behavior that is defined in the file or in the built-in glossary.

    A check is read at most twice: as an expected behavior, and as a must-not.
    """

    def __init__(self, value: Any, place: ValueCursor, folder: Path | None, *, reported: bool) -> None:
        self.place = place
        self.folder = folder
        self.reported = reported
        self.own = dict(entries(value, place.at("behaviors"), "a mapping from names to checks"))
        # The suite's own definition wins over a built-in one of the same name.
        self.definitions = {**{name: entry.check for name, entry in GLOSSARY.items()}, **self.own}
        self.read: dict[tuple[str, bool], Behavior | None] = {}
        self.behaviors = {name: found for name in self.own if (found := self.find(name, must_not=False))}

    def find(self, name: str, *, must_not: bool) -> Behavior | None:
        """The behavior of that name; None if it is not defined, or after noting a problem of its definition."""
        if (name, must_not) not in self.read:
            self.read[name, must_not] = self._read(name, must_not=must_not)
        return self.read[name, must_not]

    def _read(self, name: str, *, must_not: bool) -> Behavior | None:
        if name not in self.definitions:
            return None
        if name in self.own and _is_check(name, self.own[name]):
            self._refuse_check(name, self.own[name], "behaviors", ("behaviors", name))
            return None
        reading = checks.read(self.definitions[name], must_not=must_not, folder=self.folder)
        note_problems(reading.problems, self.place, ("behaviors", name))
        if reading.check is None:
            return None
        if name in self.own:
            return Behavior(name, reading.check, "suite")
        return Behavior(name, reading.check, "built-in", weak=True)

    def read_list(self, value: Any, path: ValuePath, *, must_not: bool) -> dict[str, Behavior]:
        """The behaviors that a scenario has under `expected_behaviors` or `must_not`, by name."""
        found: dict[str, Behavior] = {}
        if isinstance(value, dict):
            for name, given in value.items():
                defined = self._read_own(name, given, (*path, name), must_not=must_not)
                if defined is not None:
                    found[name] = defined
            return found
        for name in behavior_names(value, self.place, path):
            behavior = self.find(name, must_not=must_not)
            if behavior is None and name not in self.definitions:
                behavior = self._read_undefined(name, (*path, value.index(name) if name in value else 0))
            if behavior is not None:
                found[name] = behavior
        return found

    def _read_own(self, name: str, value: Any, path: ValuePath, *, must_not: bool) -> Behavior | None:
        if not name.strip():
            self.place.at(*path).refuse("suite.missing-key", "a behavior has no name")
            return None
        if _is_check(name, value):
            field = "must_not" if must_not else "expected_behaviors"
            self._refuse_check(name, value, field, path)
            return None
        reading = checks.read(value, must_not=must_not, folder=self.folder)
        note_problems(reading.problems, self.place, path)
        return None if reading.check is None else Behavior(name, reading.check, "scenario")

    def _refuse_check(self, name: str, value: Any, field: str, path: ValuePath) -> None:
        """Note a check in the place of a behavior: its text would be a statement, and nobody would search for it."""
        message = f"'{name[:60]}' is a check, or nearly one, and stands where a behavior has its name"
        hint = f"write `{checks.example(field, name, value)}`; a statement is {{judge: …}}"
        self.place.at(*path).refuse("suite.misplaced-key", message, hint)

    def _read_undefined(self, name: str, path: ValuePath) -> Behavior | None:
        if self.reported:
            return Behavior(name, checks.Reported(name), "agent")
        near = suggestion(name, self.definitions, self.place)
        field = "must_not" if "must_not" in path else "expected_behaviors"
        here = f"define it under `behaviors`, or here: {checks.example(field, 'contains', name)}"
        hint = near if near.startswith("did") else here
        self.place.at(*path).refuse("suite.undefined-behavior", f"the behavior '{name[:60]}' is not defined", hint)
        return None


def _is_check(name: str, value: Any) -> bool:
    """Whether a behavior has the name of a check, and the value that the check would have."""
    meant = checks.meant_check(name)
    return meant is not None and (not isinstance(value, dict) or name.lower() == "not")


def note_problems(problems: Iterable[ValueProblem], place: ValueCursor, path: ValuePath) -> None:
    """Note the problems of a check, each once: a check may be read for both lists."""
    for problem in problems:
        moved = replace(problem, path=(*path, *problem.path))
        if moved not in place.problems[-_LOOK_BACK:]:
            place.problems.append(moved)


def refuse_both(expected: Collection[str], must_not: Collection[str], place: ValueCursor, path: ValuePath) -> None:
    """Note every behavior that a scenario both expects and forbids."""
    for name in expected:
        if name in must_not:
            place.at(*path, "must_not").refuse(
                "suite.conflict", f"'{name[:60]}' is expected and must not happen", "keep one of the two"
            )
