"""The reports of a session, from this process or from workers → its tests, its trials, and what is missing."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Generator
from typing import Any

import msgspec
import pytest

from highbar.importers.limits import LONGEST_TEXT
from highbar.language.phrases import count
from highbar.pytest_plugin.collecting import CollectedTest, from_text
from highbar.pytest_plugin.results import number_rows, result_rows, skipped_row, tests_with_rows
from highbar.pytest_plugin.trials import SENT_ROWS, SENT_TESTS, RecordedTrial

_CRASHED = "???"
"""The phase in the report that pytest-xdist makes for a test during which a worker died."""
_REASONS: dict[int, str] = {
    pytest.ExitCode.INTERNAL_ERROR: "pytest had an internal error",
    pytest.ExitCode.USAGE_ERROR: "pytest refused to run",
    pytest.ExitCode.INTERRUPTED: "the session was interrupted",
}


def _is_failure(report: pytest.TestReport) -> bool:
    return report.failed and not hasattr(report, "wasxfail")


class GatheredReports:
    """A plugin of the process that the user started. It collects the tests, rows and failures of the session."""

    def __init__(self) -> None:
        self._tests: dict[str, CollectedTest] = {}
        self._trials: dict[str, RecordedTrial] = {}
        self._messages: dict[str, str] = {}
        self._failures: Counter[str] = Counter()
        self._not_collected: set[str] = set()
        self._skipped: dict[str, str] = {}
        self._has_begun = False
        self.is_interrupted = False

    def add_tests(self, tests: list[CollectedTest]) -> None:
        """Add the tests of the session; all workers have the same tests."""
        self._tests = {test.name: test for test in tests} | self._tests

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note what could not be collected (nobody knows how many tests it has), or was skipped as a whole."""
        if report.failed:
            self._not_collected.add(report.nodeid)
        elif report.skipped:
            found = report.longrepr
            self._skipped[report.nodeid] = str(found[2] if isinstance(found, tuple) else found)[:LONGEST_TEXT]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> None:
        """Note that the collection has finished."""
        self._has_begun = True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None]:
        """Take the rows from a report, and note its failure, including one that another plugin makes of it."""
        self._failures[report.nodeid] += _is_failure(report)  # before other plugins, as pytest counts failures
        result = yield
        if hasattr(report, SENT_TESTS):
            self.add_tests(from_text(getattr(report, SENT_TESTS)))
        for text in getattr(report, SENT_ROWS, ()):
            trial = msgspec.convert(json.loads(text), RecordedTrial)
            self._trials.setdefault(trial.key, trial)
        if _is_failure(report):
            place = "" if report.when in ("call", _CRASHED) else f"{report.when}: "
            self._messages[report.nodeid] = f"{place}{report.longreprtext}"[:LONGEST_TEXT]
        return result

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add the tests of a worker that ran no test."""
        sent = getattr(node, "workeroutput", {}).get(SENT_TESTS)
        if sent is not None:
            self.add_tests(from_text(sent))

    def pytest_keyboard_interrupt(self) -> None:
        """Note Ctrl-C, errors during collection, and `pytest.exit`, whose exit code may be 0."""
        self.is_interrupted = True

    @property
    def tests(self) -> list[CollectedTest]:
        """The tests that get rows."""
        return tests_with_rows(self._tests.values())

    def rows(self, session: pytest.Session, status: int) -> list[dict[str, Any]]:
        """The rows of the session. `status` is pytest's exit code."""
        reason = _REASONS.get(status, "it did not come to its end")
        if self._not_collected:
            reason = "errors during collection"
        elif session.shouldfail or session.shouldstop:
            reason = str(session.shouldfail or session.shouldstop)
        elif self.is_interrupted:
            reason = _REASONS[pytest.ExitCode.INTERRUPTED]
        rows = result_rows(self.tests, self._trials.values(), self._messages, reason)
        return number_rows([*rows, *(skipped_row(name, why) for name, why in self._skipped.items())])

    def incomplete(self, status: int) -> str | None:
        """Why rows are missing; None if every test has one."""
        if self._not_collected:
            return f"{count(len(self._not_collected), 'error')} during collection"
        if status in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR):
            return _REASONS[status]
        if not self._has_begun:
            return "the collection did not end"
        return None if self.tests or self._skipped else "there is no test"

    def failures(self, *, of_policy: bool) -> int:
        """How many failures the policy judges, or with False, how many it does not judge.

        If some tests are scenarios, the policy judges only those: it cannot tolerate the failure of another test.
        """
        of_scenarios = any(test.is_scenario for test in self._tests.values())
        judged = {test.name for test in self._tests.values() if test.is_scenario or not of_scenarios}
        return sum(number for name, number in self._failures.items() if (name in judged) is of_policy)
