"""The reports of a session, from this process or from workers → its rows, and what is missing."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import pytest

from highbar.importers.limits import LONGEST_TEXT
from highbar.language.phrases import count, some_and_more
from highbar.language.tool_names import scenario_id
from highbar.pytest_plugin.collecting import CollectedTest, from_text
from highbar.pytest_plugin.trials import NOT_RUN, SENT_ROWS, SENT_TESTS, RecordedTrial, test_column

_CRASHED = "???"
"""The phase in the report that pytest-xdist makes for a test during which a worker died."""
_REASONS: dict[int, str] = {
    pytest.ExitCode.INTERNAL_ERROR: "pytest had an internal error",
    pytest.ExitCode.USAGE_ERROR: "pytest refused to run",
    pytest.ExitCode.INTERRUPTED: "the session was interrupted",
}
DESELECTED = "deselected"


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


# --- all tests and their trials → the rows, in the order of the tests, then of the trials --------
# Every test has a row; if it was not run, the row is undecided and has the reason.


def tests_with_rows(tests: Iterable[CollectedTest]) -> list[CollectedTest]:
    """The tests that get rows: all, or if only scenarios were selected (`-m scenario`), only the scenarios."""
    found = list(tests)
    chosen = [test for test in found if test.is_chosen]
    scenarios_only = bool(chosen) and all(test.is_scenario for test in chosen)
    return [test for test in found if test.is_scenario or not scenarios_only]


def result_rows(
    tests: Sequence[CollectedTest], trials: Iterable[RecordedTrial], failed: Mapping[str, str], reason: str
) -> list[dict[str, Any]]:
    """The rows, without their trial numbers.

    `failed` has the messages of failed tests by name, and `reason` says why selected tests were not run.
    """
    by_test: dict[str, list[RecordedTrial]] = {test.name: [] for test in tests}
    for trial in trials:
        by_test.setdefault(trial.test, []).append(trial)
    recorded = {column for each in by_test.values() for trial in each for column in trial.recorded}
    known = {test.name: test for test in tests}
    rows: list[dict[str, Any]] = []
    for name, each in by_test.items():
        test = known.get(name) or CollectedTest(name, name, {"id": scenario_id(name)})
        # By worker, because the reports of several workers arrive in any order.
        found = [_trial_row(trial, test, recorded) for trial in sorted(each, key=lambda trial: trial.worker)]
        if name in failed and all(trial.status in ("passed", "not run") for trial in each):
            found = [
                *found[:-1],
                _failed_row(test, failed[name]),
            ]  # another plugin failed a test that passed by its rows
        rows += found or [not_run_row(test, reason if test.is_chosen else DESELECTED)]
    return rows


def _trial_row(trial: RecordedTrial, test: CollectedTest, recorded: set[str]) -> dict[str, Any]:
    """The row of a trial, with `unjudged` if its test ended before it could record what other tests record.

    Otherwise a test that fails early would remove a slow scenario from the latencies, and a violation that it did not
    reach would count as none.
    """
    if not trial.is_cut or not (test.records or trial.recorded):
        return dict(trial.row)
    lacking = sorted(recorded - trial.row.keys())
    if "must_not" in trial.row and "violations" not in trial.row:
        lacking.append("violations")
    if not lacking:
        return dict(trial.row)
    return {**trial.row, "unjudged": f"the test ended before it recorded {some_and_more(lacking)}"}


def not_run_row(test: CollectedTest, reason: str) -> dict[str, Any]:
    """The row of a test that was not run."""
    return {**test.columns, **test_column(test), "unjudged": NOT_RUN + reason}


def skipped_row(name: str, reason: str) -> dict[str, Any]:
    """The row of a file that was skipped as a whole; it counts as not passed."""
    return {"id": scenario_id(name), "passed": False, "output": reason, "tags": {"status": "skipped"}}


def _failed_row(test: CollectedTest, message: str) -> dict[str, Any]:
    return {**test.columns, **test_column(test), "passed": False, "error": message}


def number_rows(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with trial numbers, from 1 in each scenario."""
    seen: Counter[str] = Counter()
    found = []
    for row in rows:
        id_ = str(row["id"])
        seen[id_] += 1
        found.append({"id": row["id"], "trial": seen[id_], **row})
    return found
