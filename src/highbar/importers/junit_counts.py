"""The counts of a JUnit suite, compared with its test cases.

A report has the numbers of tests and failures twice: as counts, and as test cases. If they differ, something was lost
or invented, and the file is refused, unless the runner that wrote it is known for the difference: repeated attempts
that are listed but not counted (pytest-rerunfailures, gotestsum), subtests that are counted but not listed (pytest 9),
and todos and broken suites that are listed as test cases (jest).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from highbar.importers.junit_outcomes import property_outcome, suite_outcome
from highbar.importers.junit_writers import Writer
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
WRITE_AGAIN = "have the runner write the report again; nothing may be left out of it"
_PENDING = "mocha-junit-reporter lists pending tests with the reporter option includePending: true"
_ONCE = "give every test a name of its own, and have the runner list each attempt that it counts"
_JEST_COUNTS = ("tests", "failures", "errors", "skipped")


class ListedTests(Struct):
    """The test cases of a suite, with or without those of its inner suites."""

    cases: int = 0
    places: dict[str, list[int]] = field(default_factory=dict)  # numbers of test cases by scenario
    ended: Counter[str] = field(default_factory=Counter)  # test cases by their worst ending
    endings: Counter[str] = field(default_factory=Counter)  # all endings of all test cases
    outside: Counter[str] = field(default_factory=Counter)  # endings outside of test cases, which count as tests
    bad: int = 0  # test cases that did not pass or are undecided, and endings outside of them
    flaky: int = 0  # test cases that passed only at a repeated attempt
    nameless: list[int] = field(default_factory=list)  # numbers of test cases without a name
    idle: list[int] = field(default_factory=list)  # numbers of those that passed and took no time
    uncounted: int = 0  # test cases that their suites do not count as tests
    breakages: int = 0  # test cases that failed as jest says it of a hook or a file that broke
    more_failures: int = 0  # of these, those that are not counted
    subtests: int = 0  # the number of subtests that properties of the tests declare
    has_subtests: bool = False

    def add_case(self, scenario: str | None, number: int, ended: str, endings: Iterable[str]) -> None:
        """Add a test case by its worst ending and the kinds of all its endings."""
        self.cases += 1
        if scenario is None:
            self.nameless.append(number)
        else:
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
        self.nameless += inner.nameless
        self.idle += inner.idle
        self.uncounted += inner.uncounted
        self.breakages += inner.breakages
        self.more_failures += inner.more_failures
        self.subtests += inner.subtests
        self.has_subtests = self.has_subtests or inner.has_subtests

    @property
    def repeated(self) -> int:
        """The number of test cases that precede another one of the same scenario, and of those without a name."""
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
    name: str, attributes: Mapping[str, str], own: ListedTests, whole: ListedTests, writer: Writer
) -> bool:
    """Refuse a suite whose counts do not match its test cases, without (`own`) or with those of inner suites (`whole`).

    Some runners count inner suites and some do not. Returns True if test cases of one scenario are attempts of one
    test, of which only the last is counted.
    """
    tests = whole_number(name, attributes, ("tests",))
    is_pytest = writer is Writer.PYTEST
    if is_pytest:
        _require_counts(name, attributes, ("tests", "failures", "errors"), writer)
    counted = {
        kind: number for kind in _COUNTED if (number := whole_number(name, attributes, _COUNTED[kind])) is not None
    }
    _compare_others(name, attributes, whole)
    total = sum(counted.values())
    all_count = not (is_pytest and whole.nameless)  # an attempt that crashed has no name, and is not counted
    if (
        all_count
        and own.cases
        and tests == own.cases
        and (not counted or total == own.not_passed(counted, is_pytest=is_pytest))
    ):
        return False
    listed = whole.not_passed(counted, is_pytest=is_pytest)
    if counted and total not in (listed, listed - whole.more_failures):
        refuse(
            "import.contradiction",
            f"{name} counts {total} tests that did not pass ({_listed(counted)}), and shows {listed} in its test cases",
            hint=_hint(writer),
        )
    if tests is None or (all_count and tests in (whole.listed, whole.listed - whole.uncounted)):
        return False
    return _explain_difference(name, tests, whole, writer)


def jest_todos(name: str, attributes: Mapping[str, str], found: ListedTests) -> int:
    """The number of todos in a suite of jest-junit, which lists them as if they had passed and does not count them.

    Refuses a suite whose counts do not match. A suite that broke is listed as a test with an error, and a hook that
    broke as one with a failure; neither is counted as a test.
    """
    _require_counts(name, attributes, _JEST_COUNTS, Writer.JEST)
    tests, failures, errors, skipped = (whole_number(name, attributes, (key,)) or 0 for key in _JEST_COUNTS)
    shown = found.ended
    if errors != shown["error"] or skipped != shown["skipped"] or failures != shown["failure"] - found.breakages:
        counted = f"{failures} failures, {errors} errors and {skipped} skipped"
        listed = f"{shown['failure']}, {shown['error']} and {shown['skipped']}"
        refuse(
            "import.contradiction", f"{name} counts {counted}, and shows {listed} in its test cases", hint=WRITE_AGAIN
        )
    passed = tests - failures - skipped
    if not 0 <= passed <= shown["passed"]:
        refuse(
            "import.contradiction",
            f"{name} counts {passed} tests that passed, and lists {shown['passed']}",
            hint=WRITE_AGAIN,
        )
    found.uncounted = found.cases - tests
    found.more_failures = found.breakages
    return shown["passed"] - passed


def _require_counts(name: str, attributes: Mapping[str, str], keys: tuple[str, ...], writer: Writer) -> None:
    if any(whole_number(name, attributes, (key,)) is None for key in keys):
        listed = f"{', '.join(keys[:-1])} and {keys[-1]}"
        refuse(
            "import.missing-value",
            f"{name}: {writer.value} counts its {listed} here, and a count is missing",
            hint=WRITE_AGAIN,
        )


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
            refuse(
                "import.contradiction", f"{name}: {key} is {shown(value)}, and none of its tests failed", hint=_AS_TESTS
            )


def _compare_others(name: str, attributes: Mapping[str, str], found: ListedTests) -> None:
    """Refuse a suite with an unknown count of bad tests, or that counts more flaky tests than it lists."""
    flakes = whole_number(name, attributes, (_FLAKES,)) or 0
    if flakes > found.flaky:
        listed = f"{found.flaky} tests that passed only when they were made again"
        refuse("import.contradiction", f"{name} counts {flakes} {_FLAKES}, and shows {listed}", hint=WRITE_AGAIN)
    for key, value in attributes.items():
        if key not in _KNOWN and _BAD_COUNT.search(key) and _WHOLE.fullmatch(value.strip()) and value.strip("0., "):
            refuse(
                "import.contradiction",
                f"{name}: {key} is {value}, which is not a count that Highbar knows",
                hint=_COUNTS,
            )


def _explain_difference(name: str, tests: int, found: ListedTests, writer: Writer) -> bool:
    """Explain why the counted and the listed number of tests differ, or refuse. Returns as its caller does."""
    missing, extra = found.listed - tests, tests - found.listed
    # Only the last attempt at each test is counted; of pytest, also one whose call passed and whose teardown broke.
    fewest = {Writer.PYTEST: len(found.nameless), Writer.GO: found.repeated}.get(writer, missing + 1)
    if missing > 0 and fewest <= missing <= found.repeated:
        found.uncounted = missing
        return True
    # A broken suite is listed as a test case with an error, but not counted as a test (jest).
    if 0 < missing == found.cases == found.ended["error"]:
        found.uncounted = missing
        return False
    is_pytest = writer is Writer.PYTEST
    if is_pytest and extra > 0 and (found.has_subtests or extra == found.subtests):
        return False
    message, hint = f"{name} counts {tests} tests and lists {found.listed}", _hint(writer)
    message += f", {len(found.nameless)} of them without a name" if is_pytest and found.nameless else ""
    if is_pytest and extra > 0:
        message += "; pytest counts subtests that passed and does not list them, so that a lost test looks the same"
        hint = _SUBTESTS
    elif 0 < missing <= found.repeated:
        message += "; whether tests of one name were made again, or others did not run, is not known of this runner"
        hint = _ONCE
    return refuse("import.contradiction", message, hint=hint)


def _hint(writer: Writer) -> str:
    return _PENDING if writer is Writer.MOCHA else WRITE_AGAIN


def whole_number(name: str, attributes: Mapping[str, str], keys: Iterable[str]) -> int | None:
    """The sum of the counts of these names; None if the suite has none of them."""
    numbers = []
    for key in keys:
        text = attributes.get(key, "").strip()
        if text and not _WHOLE.fullmatch(text):
            refuse("import.wrong-value", f"{name}: {key}: found {shown(text)}, wanted a whole number")
        if text:
            numbers.append(int(text.partition(".")[0].replace(",", "")))
    return sum(numbers) if numbers else None


def _listed(counted: Mapping[str, int]) -> str:
    words = {"failure": "failures", "error": "errors", "skipped": "skipped"}
    return ", ".join(f"{number} {words[kind]}" for kind, number in counted.items())
