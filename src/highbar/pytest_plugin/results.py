"""All tests of a session, and their trials → the rows, in the order of the tests, then of the trials.

Every test has a row; if it was not run, the row is undecided and has the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from highbar.language.phrases import some_and_more
from highbar.language.tool_names import scenario_id
from highbar.pytest_plugin.collecting import CollectedTest
from highbar.pytest_plugin.trial_rows import NOT_RUN, test_column
from highbar.pytest_plugin.trials import RecordedTrial

DESELECTED = "deselected"


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
