"""The pytest plugin: a test session in, rows of results out; with a policy, the verdict is the exit code.

This module is loaded into every pytest session of an environment that has Highbar. So it imports only the standard
library and pytest; the rest is loaded if an option of Highbar is used, or if a test requests `behaviors`.

    starting               options → the plugins of a session
    collecting             the collection → every test, with the columns of its marks
    recording, cutting     the fixture `behaviors`; whether a test ended before it could record everything
    trials                 each run of a test → a row, sent with a report
    gathering              the reports of all workers → the rows of the session
    session                the end: rows written to `target`, judged by `judging`, and the exit code

PYTEST_DONT_REWRITE: it asserts nothing, and may be imported before pytest looks for plugins.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # see above
    from highbar.pytest_plugin.recording import Behaviors

_MARK = (
    "scenario(id, category, capability, expected_behaviors, must_not, …): the columns that describe this test in the"
    " results of --highbar; id is the test's node id unless given."
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of Highbar."""
    group = parser.getgroup("highbar", "Highbar, a quality gate for AI agents")
    group.addoption(
        "--highbar",
        dest="highbar_file",
        metavar="FILE",
        help="Write a row for each test to FILE, which ends in .jsonl.",
    )
    group.addoption(
        "--highbar-check",
        action="store_true",
        help="Judge the rows by a policy. The verdict is the exit code: 0 pass, 1 fail, 2 nothing to judge,"
        " 3 inconclusive.",
    )
    group.addoption(
        "--highbar-policy",
        metavar="FILE",
        help="The policy of --highbar-check, or typical; else highbar.yaml, found here or above.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark, and if an option of Highbar is used, the plugins that make and judge rows."""
    config.addinivalue_line("markers", _MARK)
    options = config.option
    if options.highbar_file is None and not options.highbar_check and options.highbar_policy is None:
        return
    from highbar.pytest_plugin.starting import start  # see above

    start(config)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None]:
    """If a conftest.py breaks, withdraw the results of an earlier session: they must not be taken for this one's."""
    try:
        return (yield)
    except BaseException:
        if early_config.known_args_namespace.highbar_file is not None:
            from highbar.pytest_plugin.target import withdraw_results  # see above

            withdraw_results(early_config.known_args_namespace.highbar_file)
        raise


@pytest.fixture
def behaviors(request: pytest.FixtureRequest) -> Behaviors:
    """Record what was observed of the agent, for the test's row in the results of --highbar.

    `observed(name)`, `violated(name)`, `output(text)`, `correct(bool)`, `latency_ms(number)` and others fill its
    columns. Without --highbar they only check their arguments.
    """
    from highbar.pytest_plugin.recording import begin_recording  # see above

    return begin_recording(request.node)
