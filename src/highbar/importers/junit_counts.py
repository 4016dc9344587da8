"""The counts of a JUnit suite, compared with its test cases.

A report has the numbers of tests and failures twice: as counts, and as test cases. If they differ, something was lost
or invented, and the file is refused, unless a runner is known for the difference: repeated attempts that are listed but
not counted (pytest-rerunfailures, gotestsum), subtests that are counted but not listed (pytest 9), and broken suites
that are listed as test cases (jest).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from highbar.importers.junit_outcomes import property_outcome, suite_outcome
from highbar.importers.record import refuse, shown

ENDINGS = ("error", "failure", "skipped")
"""How a test case that did not pass can end, the worst first."""

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
_AS_TESTS = "have the runner write what failed as a <testcase> with <failure> or <error>"
_WRITE_AGAIN = "have the runner write the report again; nothing may be left out of it"


class ListedTests(Struct):
    """The test cases of a suite, with or without those of its inner suites."""

    cases: int = 0
    places: dict[str, list[int]] = field(default_factory=dict)  # numbers of test cases by scenario
    ended: Counter[str] = field(default_factory=Counter)  # test cases by their worst ending
    endings: Counter[str] = field(default_factory=Counter)  # all endings of all test cases
    outside: Counter[str] = field(default_factory=Counter)  # endings outside of test cases, which count as tests
    bad: int = 0  # test cases that did not pass or are undecided, and endings outside of them
    flaky: int = 0  # test cases that passed only at a repeated attempt
    again: int = 0  # test cases that are earlier attempts at a test
    subtests: int = 0  # the number of subtests that properties of the tests declare
    has_subtests: bool = False

    def add_case(self, scenario: str, number: int, ended: str, endings: Iterable[str]) -> None:
        """Add a test case by its worst ending and the kinds of all its endings."""
        self.cases += 1
        self.places.setdefault(scenario, []).append(number)
        self.endings.update(endings)
        self.ended[ended] += 1

    def add(self, inner: ListedTests) -> None:
        """Add the test cases of an inner suite."""
        self.cases += inner.cases
        for scenario, numbers in inner.places.items():
            self.places.setdefault(scenario, []).extend(numbers)
        self.endings.update(inner.endings)
        self.ended.update(inner.ended)
        self.outside.update(inner.outside)
        self.bad += inner.bad
        self.flaky += inner.flaky
        self.again += inner.again
        self.subtests += inner.subtests
        self.has_subtests = self.has_subtests or inner.has_subtests

    @property
    def repeated(self) -> int:
        """The number of test cases that precede another one of the same scenario."""
        return self.cases - len(self.places)

    @property
    def listed(self) -> int:
        """The number of listed tests."""
        return self.cases + self.outside.total()

    def not_passed(self, counted: Iterable[str], *, is_pytest: bool) -> int:
        """The number of tests that ended in a counted way; runners count failures as errors and vice versa.

        A test counts once even if it has several failures. Only pytest counts each of them: it lists the failures of
        subtests in the test case of their test.
        """
        kinds = set(counted)
        kinds |= {"error", "failure"} if kinds & {"error", "failure"} else set()
        ended = self.endings if is_pytest else self.ended
        return sum(ended[kind] + self.outside[kind] for kind in kinds)


def compare_suite_counts(
    name: str, attributes: Mapping[str, str], own: ListedTests, whole: ListedTests, *, is_pytest: bool
) -> bool:
    """Refuse a suite whose counts do not match its test cases, without (`own`) or with those of inner suites (`whole`).

    Some runners count inner suites and some do not. Returns True if test cases of one scenario are attempts of one
    test, of which only the last is counted.
    """
    tests = _number(name, attributes, ("tests",))
    if is_pytest and None in (tests, _number(name, attributes, ("failures",)), _number(name, attributes, ("errors",))):
        refuse(f"{name}: pytest counts its tests, failures and errors here, and a count is missing", hint=_WRITE_AGAIN)
    counted = {kind: number for kind in _COUNTED if (number := _number(name, attributes, _COUNTED[kind])) is not None}
    _compare_others(name, attributes, whole)
    total = sum(counted.values())
    if own.cases and tests == own.cases and (not counted or total == own.not_passed(counted, is_pytest=is_pytest)):
        return False
    listed = whole.not_passed(counted, is_pytest=is_pytest)
    if counted and total != listed:
        refuse(
            f"{name} counts {total} tests that did not pass ({_listed(counted)}), and shows {listed} in its test cases",
            hint=_WRITE_AGAIN,
        )
    if tests is None or whole.listed - whole.again <= tests <= whole.listed:
        return False
    return _explain_difference(name, tests, whole, is_pytest=is_pytest)


def refuse_unshown_failure(
    name: str, attributes: Mapping[str, str], properties: Iterable[tuple[str, str]], found: ListedTests
) -> None:
    """Refuse a suite that says of itself that it did not pass, although all of its tests did: a failure was lost."""
    if found.bad:
        return
    said = [(key, value, suite_outcome(key, value)) for key, value in attributes.items() if key not in _KNOWN]
    said += [(key, value, property_outcome(key, value)) for key, value in properties]
    for key, value, ending in said:
        if ending is not None and (found.cases or ending != "skipped"):
            refuse(f"{name}: {key} is {shown(value)}, and none of its tests failed", hint=_AS_TESTS)


def _compare_others(name: str, attributes: Mapping[str, str], found: ListedTests) -> None:
    """Refuse a suite with an unknown count of bad tests, or that counts more flaky tests than it lists."""
    flakes = _number(name, attributes, (_FLAKES,)) or 0
    if flakes > found.flaky:
        listed = f"{found.flaky} tests that passed only when they were made again"
        refuse(f"{name} counts {flakes} {_FLAKES}, and shows {listed}", hint=_WRITE_AGAIN)
    for key, value in attributes.items():
        if key not in _KNOWN and _BAD_COUNT.search(key) and _WHOLE.fullmatch(value.strip()) and value.strip("0., "):
            refuse(f"{name}: {key} is {value}, and that is no count that is known", hint=_COUNTS)


def _explain_difference(name: str, tests: int, found: ListedTests, *, is_pytest: bool) -> bool:
    """Explain why the counted and the listed number of tests differ, or refuse. Returns as its caller does."""
    missing, extra = found.listed - tests, tests - found.listed
    # Only the last attempt at each test is counted (pytest-rerunfailures, gotestsum).
    if missing > 0 and found.repeated and tests >= len(found.places):
        return True
    # A broken suite is listed as a test case with an error, but not counted as a test (jest).
    if 0 < missing <= found.ended["error"]:
        return False
    if is_pytest and extra > 0 and (found.has_subtests or extra == found.subtests):
        return False
    message, hint = f"{name} counts {tests} tests and lists {found.listed}", _WRITE_AGAIN
    if is_pytest and extra > 0:
        message += "; pytest counts subtests that passed and does not list them, so that a lost test looks the same"
        hint = _SUBTESTS
    return refuse(message, hint=hint)


def _number(name: str, attributes: Mapping[str, str], keys: Iterable[str]) -> int | None:
    """The sum of the counts of these names; None if the suite has none of them."""
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
