"""What a JUnit suite counts about itself, against the test cases that are listed in it.

A report says twice how many tests there were and how many did not pass: once in numbers, once test by test. Where the
two differ, something was lost or made up, and the file is refused, unless the difference is one that a runner is known
to make: attempts that are listed and not counted (pytest-rerunfailures, gotestsum), subtests that are counted and not
listed (pytest 9), suites that broke and are listed as test cases (jest).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from highbar.importers.record import refuse, shown

ENDINGS = ("error", "failure", "skipped")
"""How a test case may end that did not pass, the worst first."""

_COUNTED = {
    "failure": ("failures",),
    "error": ("errors",),
    "skipped": ("skipped", "skips", "skip", "ignored", "disabled"),
}
_FLAKES = "flakes"
_KNOWN = {_FLAKES, *(key for keys in _COUNTED.values() for key in keys)}
_BAD_COUNT = re.compile(r"fail|error|abort|crash|broken|timed|timeouts|flak|rerun|skip|ignor|disabl|pending|not.?run")
_WHOLE = re.compile(r"[0-9]{1,12}(\.0+)?|[0-9]{1,3}(,[0-9]{3})+")
_SUBTESTS = 'a test that has subtests says how many, by record_property("subtests", N), or is parametrized instead'
_COUNTS = "JUnit XML counts tests, failures, errors, skipped, disabled and flakes"
_WRITE_AGAIN = "have the runner write the report again; nothing may be left out of it"


@dataclass(slots=True)
class Found:
    """The test cases of a suite, with or without those of the suites inside of it."""

    cases: int = 0
    places: dict[str, list[int]] = field(default_factory=dict)  # of each scenario, the numbers of its test cases
    ended: Counter[str] = field(default_factory=Counter)  # test cases by how they ended, each once
    endings: Counter[str] = field(default_factory=Counter)  # each ending of each test case
    outside: Counter[str] = field(default_factory=Counter)  # of suites without a test case, which count as tests
    flaky: int = 0  # test cases that passed only when they were made again
    again: int = 0  # test cases that are known to be attempts before the last
    subtests: int = 0  # as the tests themselves say
    shows_subtests: bool = False

    def add_case(self, scenario: str, number: int, ended: str, endings: Iterable[str]) -> None:
        """Take a test case, with how it ended, and the kinds of all its endings, each as often as it is there."""
        self.cases += 1
        self.places.setdefault(scenario, []).append(number)
        self.endings.update(endings)
        self.ended[ended] += 1

    def add(self, inner: Found) -> None:
        """Take all that was found in a suite inside of this one."""
        self.cases += inner.cases
        for scenario, numbers in inner.places.items():
            self.places.setdefault(scenario, []).extend(numbers)
        self.endings.update(inner.endings)
        self.ended.update(inner.ended)
        self.outside.update(inner.outside)
        self.flaky += inner.flaky
        self.again += inner.again
        self.subtests += inner.subtests
        self.shows_subtests = self.shows_subtests or inner.shows_subtests

    @property
    def repeated(self) -> int:
        """How many test cases come before another one of the same scenario."""
        return self.cases - len(self.places)

    @property
    def listed(self) -> int:
        """How many tests are listed."""
        return self.cases + self.outside.total()

    def not_passed(self, counted: Iterable[str], *, is_pytest: bool) -> int:
        """How many tests ended in a way that is counted; runners count failures as errors and the other way round.

        A test counts once, however many failures it shows. pytest alone counts each: those of subtests are listed in
        the test case that they are of.
        """
        kinds = set(counted)
        kinds |= {"error", "failure"} if kinds & {"error", "failure"} else set()
        ended = self.endings if is_pytest else self.ended
        return sum(ended[kind] + self.outside[kind] for kind in kinds)


def compare(name: str, attributes: Mapping[str, str], own: Found, whole: Found, *, is_pytest: bool) -> bool:
    """Refuse a suite whose numbers are not those of its test cases; `own` has none of the suites inside of it.

    Some runners count these in, and some do not. Returns whether test cases of one scenario are attempts of one test,
    of which only the last is counted.
    """
    tests = _number(name, attributes, ("tests",))
    if is_pytest and None in (tests, _number(name, attributes, ("failures",)), _number(name, attributes, ("errors",))):
        refuse(f"{name}: pytest counts its tests, failures and errors here, and a count is missing", hint=_WRITE_AGAIN)
    counted = {kind: number for kind in _COUNTED if (number := _number(name, attributes, _COUNTED[kind])) is not None}
    _compare_others(name, attributes, whole)
    total = sum(counted.values())
    if own.cases and tests == own.cases and (not counted or total == own.not_passed(counted, is_pytest=is_pytest)):
        return False
    shows = whole.not_passed(counted, is_pytest=is_pytest)
    if counted and total != shows:
        refuse(
            f"{name} counts {total} tests that did not pass ({_listed(counted)}), and shows {shows} in its test cases",
            hint=_WRITE_AGAIN,
        )
    if tests is None or whole.listed - whole.again <= tests <= whole.listed:
        return False
    return _differs(name, tests, whole, is_pytest=is_pytest)


def _compare_others(name: str, attributes: Mapping[str, str], found: Found) -> None:
    """Refuse a suite that counts tests in a way of its own, and tests that were flaky of which it shows none."""
    flakes = _number(name, attributes, (_FLAKES,)) or 0
    if flakes > found.flaky:
        shows = f"{found.flaky} tests that passed only when they were made again"
        refuse(f"{name} counts {flakes} {_FLAKES}, and shows {shows}", hint=_WRITE_AGAIN)
    for key, value in attributes.items():
        if key not in _KNOWN and _BAD_COUNT.search(key) and _WHOLE.fullmatch(value.strip()) and value.strip("0., "):
            refuse(f"{name}: {key} is {value}, and that is no count that is known", hint=_COUNTS)


def _differs(name: str, tests: int, found: Found, *, is_pytest: bool) -> bool:
    """What explains that another number of tests is counted than is listed; refused if nothing does."""
    fewer, more = found.listed - tests, tests - found.listed
    if fewer > 0 and found.repeated and tests >= len(found.places):
        return True
    if 0 < fewer <= found.ended["error"]:
        return False
    if is_pytest and more > 0 and (found.shows_subtests or more == found.subtests):
        return False
    message, hint = f"{name} counts {tests} tests and lists {found.listed}", _WRITE_AGAIN
    if is_pytest and more > 0:
        message += "; pytest counts subtests that passed and does not list them, so that a lost test looks the same"
        hint = _SUBTESTS
    return refuse(message, hint=hint)


def _number(name: str, attributes: Mapping[str, str], keys: Iterable[str]) -> int | None:
    """The sum of the counts that are given; None if none is."""
    numbers = []
    for key in keys:
        text = attributes.get(key, "").strip()
        if text and not _WHOLE.fullmatch(text):
            refuse(f"{name}: {key}: found {shown(text)}, wanted a whole number")
        if text:
            numbers.append(int(text.partition(".")[0].replace(",", "")))
    return sum(numbers) if numbers else None


def _listed(counted: Mapping[str, int]) -> str:
    words = {"failure": "failures", "error": "errors", "skipped": "skipped"}
    return ", ".join(f"{number} {words[kind]}" for kind, number in counted.items())
