"""The options of a session → the plugins that make its rows and judge them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from highbar.pytest_plugin.collecting import CollectedTest, CollectionWatch
from highbar.pytest_plugin.trials import TrialRecorder

if TYPE_CHECKING:  # most sessions are not judged
    from highbar.model import Policy


def start(config: pytest.Config) -> None:
    """Register the plugins. Raises UsageError if the options contradict each other, or if the policy cannot be read."""
    worker = getattr(config, "workerinput", None)
    recorder = TrialRecorder("" if worker is None else worker["workerid"])
    register = config.pluginmanager.register
    if worker is not None:  # a worker of pytest-xdist sends its rows; it writes and judges nothing
        register(recorder, "highbar-trials")
        register(CollectionWatch(recorder.set_tests), "highbar-collection")
        return
    from highbar.pytest_plugin.gathering import GatheredReports  # a worker does without it
    from highbar.pytest_plugin.session import SessionEnd  # a worker does without it

    gathered = GatheredReports()

    def set_tests(tests: list[CollectedTest]) -> None:
        recorder.set_tests(tests)
        gathered.add_tests(tests)

    register(CollectionWatch(set_tests), "highbar-collection")
    register(
        SessionEnd(_file(config), config.option.highbar_file or "the results", _policy(config), gathered),
        "highbar-session",
    )
    register(gathered, "highbar-reports")
    register(recorder, "highbar-trials")


def _file(config: pytest.Config) -> Path | None:
    """The file for the rows; None if they are only judged."""
    from highbar.pytest_plugin.target import problem_of  # a worker does without it

    named: str | None = config.option.highbar_file
    if named is None:
        return None
    path = config.invocation_params.dir / named
    problem = problem_of(str(path))
    if problem:
        raise pytest.UsageError(f"--highbar: {problem}")
    return path


def _policy(config: pytest.Config) -> Policy | None:
    named = config.option.highbar_policy
    if not config.option.highbar_check:
        if named is not None:
            raise pytest.UsageError("--highbar-policy goes with --highbar-check")
        return None
    from highbar.pytest_plugin.judging import read_policy  # most sessions are not judged

    return read_policy(named)
