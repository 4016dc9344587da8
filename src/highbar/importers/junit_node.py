"""The counts of node's JUnit reporter, compared with what it lists.

A suite counts what is directly in it, suites included; what is in the outermost tag is counted by comments at its end.
These also count tests with subtests, which the reporter lists as suites: if such a test failed by itself, nothing but
these comments tells.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct, field

from highbar.importers.junit_counts import WRITE_AGAIN, whole_number
from highbar.importers.record import refuse

_SUMMARY = ("tests", "suites", "pass", "fail", "cancelled", "skipped", "todo")
_COUNT = re.compile(rf"\s*({'|'.join(_SUMMARY)}) ([0-9]{{1,12}})\s*")
_MARKED = "node does not say so of a test with subtests: mark its subtests instead"


class NodeSuite(Struct):
    """What is directly in a suite."""

    parts: int = 0
    bad: int = 0  # that failed, also as a todo; of suites, those in which something is bad
    left_out: int = 0  # that were skipped or are to do; of suites, those in which something is
    failed: int = 0  # that failed and are neither; of suites, those in which something is so

    def add_case(self, *, bad: bool, left_out: bool) -> None:
        """Add a test case."""
        self.parts += 1
        self.bad += bad
        self.left_out += left_out
        self.failed += bad and not left_out

    def add_suite(self, inner: NodeSuite) -> None:
        """Add a suite."""
        self.parts += 1
        self.bad += inner.bad > 0
        self.left_out += inner.left_out > 0
        self.failed += inner.failed > 0


class NodeReport(Struct):
    """All that a report lists, and the counts at its end. `is_node` says whether node wrote it."""

    is_node: bool = False
    cases: NodeSuite = field(default_factory=NodeSuite)  # all of them, at any depth
    suites: int = 0
    failing_suites: int = 0  # in which a test failed, at any depth
    summary: dict[str, int] = field(default_factory=dict)

    def add_suite(self, suite: NodeSuite) -> None:
        """Add a suite at any depth."""
        self.suites += 1
        self.failing_suites += suite.failed > 0

    def read_comment(self, comment: str) -> None:
        """Note a count of the summary; a test can write such a comment too, but the summary comes last."""
        match = _COUNT.fullmatch(comment)
        if match is not None:
            self.summary[match[1]] = int(match[2])
        self.is_node = self.is_node or len(self.summary) == len(_SUMMARY)


def compare_suite(name: str, attributes: Mapping[str, str], found: NodeSuite) -> None:
    """Refuse a suite of node whose counts are not those of what is directly in it."""
    listed = {"tests": found.parts, "failures": found.bad, "skipped": found.left_out}
    for key, number in listed.items():
        counted = whole_number(name, attributes, (key,))
        if counted != number:
            said = "does not count" if counted is None else f"counts {counted}"
            refuse("import.contradiction", f"{name} {said} {key}, and lists {number}", hint=WRITE_AGAIN)


def compare_summary(found: NodeReport) -> tuple[int, int]:
    """How many tests failed and are not listed, and how many more may have: tests with subtests that failed by itself.

    Refuses a report whose last comments count something else than it lists. They do not say which of the listed suites
    are tests with subtests, so that a test which may have failed because of its subtests may have failed by itself.
    """
    if any(key not in found.summary for key in _SUMMARY):
        refuse(
            "import.missing-value",
            "node counts its tests in comments at the end of the report, and a count is missing",
            hint=WRITE_AGAIN,
        )
    tests, suites, passed, failed, canceled, skipped, todo = (found.summary[key] for key in _SUMMARY)
    listed = found.cases
    if tests + suites != listed.parts + found.suites:
        message = f"node counts {tests} tests and {suites} suites, and lists {listed.parts} tests and {found.suites}"
        refuse("import.contradiction", f"{message} suites or tests with subtests", hint=WRITE_AGAIN)
    if not skipped + todo <= listed.left_out <= skipped + todo + suites:
        message = f"node counts {skipped + todo} tests that were skipped or are to do, and lists {listed.left_out}"
        refuse("import.contradiction", message, hint=_MARKED)
    if (looks_passed := listed.parts - listed.left_out - listed.failed) > passed:
        message = f"node counts {passed} tests that passed, and lists {looks_passed}"
        refuse(
            "import.contradiction",
            message,
            hint="node lists a describe without tests as a test that passed: give it one, or remove it",
        )
    more = failed + canceled - listed.failed
    if more < 0:
        message = f"node counts {failed + canceled} tests that failed or were canceled, and lists {listed.failed}"
        refuse("import.contradiction", message, hint=WRITE_AGAIN)
    unlisted = max(0, more - found.failing_suites)
    return unlisted, max(0, more - unlisted - max(0, found.failing_suites - suites))
