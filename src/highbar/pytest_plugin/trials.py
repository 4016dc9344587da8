"""The runs of tests → rows, each sent with a report of its test, so that workers of pytest-xdist send them, too.

Each run of a test (setup, call and teardown) is a trial. A plugin that runs a test again, and shows only the last run,
hides no trial, because pytest makes the reports of all runs.
"""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Generator, Mapping
from typing import Any, Literal

import msgspec
import pytest

from highbar.columns import column_names
from highbar.importers.limits import LONGEST_TEXT
from highbar.language.phrases import some_and_more
from highbar.language.tool_names import scenario_id
from highbar.pytest_plugin import recording
from highbar.pytest_plugin.collecting import CollectedTest, to_text
from highbar.pytest_plugin.cutting import is_cut
from highbar.pytest_plugin.recording import Behaviors

Status = Literal["passed", "failed", "error", "skipped", "not run"]
SENT_ROWS, SENT_TESTS = "highbar_rows", "highbar_tests"
"""Attributes that are added to a report; pytest sends unknown attributes along."""
_SHOWN = frozenset(column_names("shows", "run"))
_WORST: tuple[Status, ...] = ("error", "failed", "skipped", "passed")
NOT_RUN = "not run: "
_JUDGING = frozenset({*column_names("demands"), "correct", "outcome"})
"""Columns that judge a row: if it has one of them, a passing test does not set `passed`."""


class RecordedTrial(msgspec.Struct, frozen=True):
    """A run of a test as it is sent. `key` identifies the trial, because several reports may send it."""

    key: str
    test: str
    worker: str
    status: Status
    row: Mapping[str, Any]
    recorded: tuple[str, ...] = ()  # the columns that the test itself recorded and that a metric may need
    is_cut: bool = False  # the run ended before it could record everything


class _TestCall(msgspec.Struct, frozen=True):
    """A call of a test, with what it recorded."""

    status: Status
    reason: str
    recorded: Behaviors | None
    is_cut: bool = False


class _OpenRun(msgspec.Struct):
    """A run of a test that has not ended: how each of its phases ended, and every call of the test."""

    phases: list[tuple[Status, str]] = []
    calls: list[_TestCall] = []


class TrialRecorder:
    """A plugin of the process that runs tests: it makes a row of each run, and attaches it to the next report."""

    def __init__(self, worker: str) -> None:
        self._worker = worker
        self._tests: dict[str, CollectedTest] = {}
        self._runs: dict[str, _OpenRun] = {}
        self._unsent: dict[str, list[str]] = {}
        self._tests_text: str | None = None

    def set_tests(self, tests: list[CollectedTest]) -> None:
        """Set the tests of the session, before the first of them is run."""
        self._tests = {test.name: test for test in tests}
        self._tests_text = to_text(tests) if self._worker else None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Note every call: pytest-retry makes several in one run, and pytest reports only the last."""
        status: Status = "passed"
        reason, cut = "", False
        try:
            return (yield)
        except BaseException as error:
            message = traceback.format_exception_only(error)[-1].strip()  # str(error) itself may raise
            status, reason, cut = _status(error), message[:LONGEST_TEXT], is_cut(item, error)
            raise
        finally:
            call = _TestCall(status, reason, recording.current_recording(item), cut)
            self._runs.setdefault(item.nodeid, _OpenRun()).calls.append(call)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Note the phase of a run; after teardown, finish the run."""
        report = yield
        run = self._runs.setdefault(item.nodeid, _OpenRun())
        run.phases.append(_phase(call, report))
        if report.when == "teardown":
            del self._runs[item.nodeid]
            self._finish(item, run)
            # A plugin that runs each test in a process of its own sends only this report to its parent.
            setattr(report, SENT_ROWS, list(self._unsent[item.nodeid]))
        return report

    @pytest.hookimpl(tryfirst=True)  # before pytest-xdist sends it
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Attach the rows that were not sent yet, and to the first report of a worker, all tests."""
        rows = self._unsent.pop(report.nodeid, [])
        setattr(report, SENT_ROWS, list(dict.fromkeys([*getattr(report, SENT_ROWS, ()), *rows])))
        if self._tests_text is not None:
            setattr(report, SENT_TESTS, self._tests_text)
            self._tests_text = None

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Send all tests of a worker at its end, because a worker that ran no test has sent no report."""
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[SENT_TESTS] = to_text(list(self._tests.values()))

    def _finish(self, item: pytest.Item, run: _OpenRun) -> None:
        # Setup and teardown belong to the last call: if one of them failed, so has that trial.
        for call in run.calls[:-1]:
            self._add(item, call)
        status, reason = min(run.phases, key=lambda phase: _WORST.index(phase[0]))
        if status == "passed" and not run.calls:
            status = "not run"  # --setup-only
        cut = not run.calls or run.calls[-1].is_cut
        self._add(item, _TestCall(status, reason, recording.end_recording(item), cut))

    def _add(self, item: pytest.Item, call: _TestCall) -> None:
        name = item.nodeid
        test = self._tests.get(name) or CollectedTest(name, name, {"id": scenario_id(name)})
        row = trial_row(test, call.status, call.reason, call.recorded, is_cut=call.is_cut)
        recorded = () if call.recorded is None else tuple(one for one in call.recorded.columns if one not in _SHOWN)
        trial = RecordedTrial(os.urandom(8).hex(), name, self._worker, call.status, row, recorded, call.is_cut)
        self._unsent.setdefault(name, []).append(json.dumps(msgspec.to_builtins(trial)))


def _phase(call: pytest.CallInfo[None], report: pytest.TestReport) -> tuple[Status, str]:
    """How setup, call or teardown ended, and why."""
    if report.passed:
        return "passed", ""
    if report.skipped:
        return "skipped", _skip_reason(report)
    reason = report.longreprtext if call.excinfo is None else call.excinfo.exconly()
    if report.when != "call":
        return "error", f"{report.when}: {reason}"[:LONGEST_TEXT]
    return "failed" if call.excinfo is None else _status(call.excinfo.value), reason[:LONGEST_TEXT]


def _status(error: BaseException) -> Status:
    if isinstance(error, pytest.skip.Exception):
        return "skipped"
    return "failed" if _is_judgment(error) else "error"


def _is_judgment(error: BaseException) -> bool:
    """Whether an exception means that the agent failed the test; any other means that something broke."""
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


# --- how a run of a test ended, and what it recorded → its row ----------------------------------
# The law behind this: a test that breaks never makes a verdict better. So a test that failed before it could look for a
# violation has not shown that there was none.


def trial_row(
    test: CollectedTest, status: Status, reason: str, recorded: Behaviors | None, *, is_cut: bool = False
) -> dict[str, Any]:
    """The row of a run that ended with this status, without its trial number.

    `is_cut`: the run ended before it could record everything.
    """
    row = {**test.columns, **test_column(test), **({} if recorded is None else recorded.columns)}
    if status == "not run":
        return {**row, "unjudged": f"{NOT_RUN}the test was set up and not called"}
    row |= _observed_columns(test.columns, status, recorded, is_cut=is_cut)
    if "unjudged" in row:
        row.setdefault("output", row["unjudged"])  # without any output it would be unknown if the agent crashed
    if status == "passed":
        return row if _judged_by_columns(row) else {**row, "passed": True}
    row["passed"] = False
    if status == "error":
        return {**row, "error": reason or "an error without a message"}
    if status == "skipped":
        row["tags"] = {"status": "skipped", **row.get("tags", {})}
    row.setdefault("output", reason)
    return row


def test_column(test: CollectedTest) -> dict[str, str]:
    """The column `test`, if the id is not the node id of the test."""
    return {} if test.columns["id"] == test.node_id else {"test": test.node_id}


def _judged_by_columns(row: Mapping[str, Any]) -> bool:
    judging = _JUDGING & row.keys()
    # Must-nots alone judge a row only if there was an answer. If the row has no output, the test itself decides that.
    knows_best = judging == {"must_not"} and row.get("violations") == [] and "output" not in row
    return bool(judging) and not knows_best


def _observed_columns(
    columns: Mapping[str, Any], status: Status, recorded: Behaviors | None, *, is_cut: bool
) -> dict[str, Any]:
    """What the test has found of the demands of its mark; `unjudged` if it has not looked for a must-not."""
    expected, must_not = columns.get("expected_behaviors", ()), columns.get("must_not", ())
    seen = () if recorded is None else recorded.seen
    happened = [] if recorded is None else [*recorded.happened, *(name for name in seen if name in must_not)]
    found: dict[str, Any] = {}
    if happened:
        found["violations"] = list(dict.fromkeys(happened))
    elif must_not and recorded is not None:
        missed = [name for name in must_not if name not in recorded.looked_for]
        if not missed:
            found["violations"] = []
        elif not is_cut:
            found["unjudged"] = f"the test did not look for {some_and_more(missed)}"
    observed = {**dict.fromkeys(expected, False), **dict.fromkeys(seen, True)}
    if "unjudged" in found:  # a violation would make the score 0, so that only what is missing is certain
        observed = {name: is_seen for name, is_seen in observed.items() if not is_seen}
    # `behaviors` alone would claim that the test looked for violations.
    is_known = not must_not or "violations" in found or "unjudged" in found
    if observed and is_known and (recorded is not None or status != "passed"):
        found["behaviors"] = observed
    return found
