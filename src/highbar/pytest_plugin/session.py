"""The end of a session: write and judge its rows, print the summary, and set the verdict as the exit code."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from highbar.language.phrases import count
from highbar.pytest_plugin import target
from highbar.pytest_plugin.gathering import GatheredReports
from highbar.pytest_plugin.trials import NOT_RUN
from highbar.report.visible import visible

if TYPE_CHECKING:  # most sessions are not judged
    from highbar.model import Policy
    from highbar.report import Display

OK, TESTS_FAILED, NOTHING_TO_JUDGE, INTERNAL = 0, 1, 2, 4
JUDGED = frozenset({pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED})
"""The exit codes of pytest after it ran the tests that it was to run."""
_WIDTH, _NARROWEST, _WIDEST = 80, 40, 140


class SessionEnd:
    """A plugin of the process that the user started. `file` is None if the rows are only judged."""

    def __init__(self, file: Path | None, shown: str, policy: Policy | None, gathered: GatheredReports) -> None:
        self._file, self._shown, self._policy, self._gathered = file, shown, policy, gathered
        self._has_begun = False
        self._code: int | None = None  # of the verdict
        self._report = ""
        self._failure: str | None = None
        self._lines: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> None:
        """Overwrite the results of an earlier session first, so that they cannot be taken for those of this one."""
        self._has_begun = True
        if self._file is not None and not session.config.option.collectonly:
            target.begin_results(self._file)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None]:
        """Write and judge before the summary is printed; set the exit code after all other plugins."""
        if not self._has_begun:  # --fixtures, --cache-show: no tests were to be run
            return (yield)
        try:
            if not session.config.option.collectonly:
                self._finish(session, int(exitstatus))
            elif self._policy is not None:
                self._lines = ["no verdict: tests were only collected"]
        except OSError as error:
            self._failure = f"{self._shown} could not be written: {error.strerror or error}"
        try:
            result = yield
        except pytest.exit.Exception as error:  # another plugin ends the session: its code must not hide ours
            error.returncode = self._exit_code(session, int(exitstatus)) or error.returncode
            raise
        session.exitstatus = self._exit_code(session, int(exitstatus))
        return result

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print what was written, and the verdict."""
        lines = [*filter(None, [self._failure]), *self._lines]
        if lines:
            terminalreporter.section("highbar")
        for line in lines:
            terminalreporter.write_line(visible(line))
        terminalreporter.write(self._report)

    def _finish(self, session: pytest.Session, status: int) -> None:
        rows, incomplete = self._gathered.rows(session, status), self._gathered.incomplete(status)
        folder = None if self._file else tempfile.mkdtemp(prefix="highbar-")
        file = self._file or Path(str(folder), "results.jsonl")
        try:
            target.write_results(file, rows, incomplete)
            self._lines = list(_summary(self._shown, rows, incomplete))
            if self._policy is not None and status in JUDGED and not self._gathered.is_interrupted:
                from highbar.pytest_plugin.judging import judge_file  # most sessions are not judged

                display = _display(session.config, self._shown)
                self._code, self._report = judge_file(file, self._shown, self._policy, display)
                self._lines += _notes(self._code, self._gathered)
        finally:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)

    def _exit_code(self, session: pytest.Session, given: int) -> int:
        """The exit code of the verdict; pytest's own code if that is worse, or if there is no verdict."""
        now = int(session.exitstatus)
        if self._failure is not None:
            return INTERNAL
        if self._policy is None:
            return now
        if self._code is None:
            # Pytest's 3 is an internal error, but ours is the verdict inconclusive: replace it by our 4.
            return {OK: NOTHING_TO_JUDGE, pytest.ExitCode.INTERNAL_ERROR: INTERNAL}.get(now, now)
        if self._code != OK:
            return self._code
        if given == pytest.ExitCode.NO_TESTS_COLLECTED:
            return NOTHING_TO_JUDGE  # fail closed: a policy that passes without any test has judged nothing
        if now not in (given, OK):
            return now
        # Any failure that the policy did not judge stays one, including those that other plugins counted.
        tolerated = self._gathered.failures(of_policy=True)
        return TESTS_FAILED if session.testsfailed > tolerated else OK


def _summary(shown: str, rows: list[dict[str, Any]], incomplete: str | None) -> Iterator[str]:
    scenarios = len({str(row["id"]) for row in rows})
    yield f"{shown}: {count(len(rows), 'row')} of {count(scenarios, 'scenario')}"
    if incomplete is not None:
        yield f"incomplete: {incomplete}. These results cannot be judged"
    reasons = Counter(text for row in rows if (text := str(row.get("unjudged", ""))).startswith(NOT_RUN))
    yield from (f"{count(number, 'test')} {reason}" for reason, number in reasons.items())


def _notes(code: int, gathered: GatheredReports) -> Iterator[str]:
    """Notes about tests and failures that affect the exit code besides the verdict."""
    plain = sum(not test.is_scenario for test in gathered.tests)
    if plain < len(gathered.tests) and plain:
        yield f"{count(plain, 'test')} without @pytest.mark.scenario: -m scenario leaves them out"
    if code == OK:
        tolerated, others = gathered.failures(of_policy=True), gathered.failures(of_policy=False)
        if tolerated:
            yield f"{count(tolerated, 'failure')} within what the policy tolerates: the exit code is the verdict's"
        if others:
            yield f"{count(others, 'failure')} of tests that are no scenarios, which the policy does not judge"


def _display(config: pytest.Config, shown: str) -> Display:
    from highbar.report import Display  # most sessions are not judged

    reporter = config.pluginmanager.get_plugin("terminalreporter")
    columns = shutil.get_terminal_size((_WIDTH, 24)).columns
    return Display(
        width=min(max(columns, _NARROWEST), _WIDEST),
        color=bool(reporter and reporter.hasmarkup) and not os.environ.get("NO_COLOR"),
        verbose=config.get_verbosity() > 0,
        report_option=f"highbar check {shown} --output"
        if config.option.highbar_file
        else "highbar check FILE --output",
    )
