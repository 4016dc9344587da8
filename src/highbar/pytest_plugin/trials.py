"""The runs of tests → rows, each sent with a report of its test: so a worker of pytest-xdist sends its rows, too.

Each run of a test is a trial: setup, call and teardown. A plugin that runs a test again, and shows the last run alone,
hides no trial: pytest makes the reports of all runs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from typing import Any

import msgspec
import pytest

from highbar.columns import names
from highbar.importers.limits import LONGEST_TEXT
from highbar.pytest_plugin import recording
from highbar.pytest_plugin.collecting import CollectedTest, to_text
from highbar.pytest_plugin.trial_rows import Status, trial_row

SENT_ROWS, SENT_TESTS = "highbar_rows", "highbar_tests"
"""Attributes of a report; pytest keeps those that it does not know when it sends one."""
_SHOWN = frozenset(names("shows", "run"))
_WORST: tuple[Status, ...] = ("error", "failed", "skipped", "passed")


class RecordedTrial(msgspec.Struct, frozen=True):
    """A run of a test as it is sent. `key` tells trials apart, since several reports may send one."""

    key: str
    test: str
    worker: str
    status: Status
    row: dict[str, Any]
    recorded: list[str] = []  # the columns that the test itself recorded and that a metric may need


class _Phase(msgspec.Struct, frozen=True):
    """The end of setup, call or teardown."""

    when: str
    status: Status
    reason: str


class TrialRecorder:
    """A plugin of the process that runs tests: makes a row of each run, and puts it into the next report."""

    def __init__(self, worker: str) -> None:
        self._worker = worker
        self._tests: dict[str, CollectedTest] = {}
        self._phases: dict[str, list[_Phase]] = {}
        self._unsent: dict[str, list[str]] = {}
        self._tests_text: str | None = None

    def know(self, tests: list[CollectedTest]) -> None:
        """Take the tests of the session, before the first of them is run."""
        self._tests = {test.name: test for test in tests}
        self._tests_text = to_text(tests)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Follow a run through its phases; after teardown it is over."""
        report = yield
        phases = self._phases.setdefault(item.nodeid, [])
        if report.when == "setup":
            phases.clear()
        phases.append(_phase(call, report))
        if report.when == "teardown":
            del self._phases[item.nodeid]
            self._finish(item, phases)
            # A plugin that runs each test in a process of its own sends this report, and nothing else.
            setattr(report, SENT_ROWS, list(self._unsent[item.nodeid]))
        return report

    @pytest.hookimpl(tryfirst=True)  # before pytest-xdist sends it
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Put the rows that nobody has yet into the report, and into the first one all tests."""
        rows = self._unsent.pop(report.nodeid, [])
        setattr(report, SENT_ROWS, list(dict.fromkeys([*getattr(report, SENT_ROWS, ()), *rows])))
        if self._tests_text is not None:
            setattr(report, SENT_TESTS, self._tests_text)
            self._tests_text = None

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Let a worker that ran no test say which there are."""
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[SENT_TESTS] = to_text(list(self._tests.values()))

    def _finish(self, item: pytest.Item, phases: list[_Phase]) -> None:
        worst = min(phases, key=lambda phase: _WORST.index(phase.status))
        status: Status = worst.status
        if status == "passed" and not any(phase.when == "call" for phase in phases):
            status = "not run"  # --setup-only
        test = self._tests.get(item.nodeid) or CollectedTest(item.nodeid, {"id": item.nodeid})
        recorded = recording.end(item)
        row = trial_row(test, status, worst.reason, recorded)
        columns = [] if recorded is None else [name for name in recorded.columns if name not in _SHOWN]
        trial = RecordedTrial(os.urandom(8).hex(), item.nodeid, self._worker, status, row, columns)
        self._unsent.setdefault(item.nodeid, []).append(json.dumps(msgspec.to_builtins(trial)))


def _phase(call: pytest.CallInfo[None], report: pytest.TestReport) -> _Phase:
    when = str(report.when)
    if report.passed:
        return _Phase(when, "passed", "")
    if report.skipped:
        return _Phase(when, "skipped", _skip_reason(report))
    error = None if call.excinfo is None else call.excinfo.value
    judged = when == "call" and (error is None or _is_judgment(error))
    reason = report.longreprtext if call.excinfo is None else call.excinfo.exconly()
    place = "" if when == "call" else f"{when}: "
    return _Phase(when, "failed" if judged else "error", f"{place}{reason}"[:LONGEST_TEXT])


def _is_judgment(error: BaseException) -> bool:
    """Whether an exception says that the agent did badly. All others say that something broke."""
    judgments = (AssertionError, pytest.fail.Exception)
    if isinstance(error, BaseExceptionGroup):
        return error.split(judgments)[1] is None
    return isinstance(error, judgments)


def _skip_reason(report: pytest.TestReport) -> str:
    expected = getattr(report, "wasxfail", None)
    if expected is not None:
        return f"expected to fail: {expected}" if expected else "expected to fail"
    found = report.longrepr
    return str(found[2] if isinstance(found, tuple) else found)[:LONGEST_TEXT]
