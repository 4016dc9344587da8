"""The collection of a session → every test, selected or not.

A session that runs only some tests must not be judged as the whole. So this notes all tests of the collected files,
including those that `-k`, `-m`, `--deselect`, `--lf`, `file.py::test` or another plugin leaves out. The paths on the
command line define the whole: other files are not read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import pytest

from highbar.pytest_plugin.cutting import FIXTURE
from highbar.pytest_plugin.marks import MARK, MarkError, mark_columns


class CollectedTest(msgspec.Struct, frozen=True):
    """A test: its node id, and the columns that describe it.

    `name` is the node id with which the test is run: pytest-xdist may add a group to it.
    """

    node_id: str
    name: str
    columns: Mapping[str, Any]
    is_chosen: bool = True
    is_scenario: bool = False  # it has the mark, or requests `behaviors`
    records: bool = False  # it requests `behaviors`


def to_text(tests: Sequence[CollectedTest]) -> str:
    """The tests as text that a worker sends."""
    return json.dumps(msgspec.to_builtins(tests))


def from_text(text: str) -> list[CollectedTest]:
    """The tests that a worker sent."""
    return msgspec.convert(json.loads(text), list[CollectedTest])


class CollectionWatch:
    """A plugin that follows the collection, and passes all tests to `hand_over` at its end."""

    def __init__(self, hand_over: Callable[[list[CollectedTest]], None]) -> None:
        self._hand_over = hand_over
        # By identity: the node id, which pytest compares, may change.
        self._found: dict[int, tuple[pytest.Item, str]] = {}
        self._open: dict[pytest.Collector, None] = {}  # collectors that were found, but not collected

    # The innermost wrapper: `--lf` filters the result in a wrapper of its own, around this one.
    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Note the tests that a collector found."""
        report = yield
        is_skipped_file = isinstance(collector, pytest.File) and not report.result and report.passed
        if is_skipped_file and collector.config.getoption("lf", default=False):
            self._open[collector] = None  # no test of this file failed the last time, so that --lf did not read it
        else:
            self._open.pop(collector, None)
        self._note(report.result)
        return report

    @pytest.hookimpl(tryfirst=True)  # before pytest-xdist begins to run tests
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Pass on all tests. An invalid mark is an error of the collection: then no test is run."""
        while self._open:
            collector, _ = self._open.popitem()
            self._note(collector.collect())
        self._note(session.items)
        chosen = {id(item) for item in session.items}
        found: list[CollectedTest] = []
        for item, node_id in self._found.values():
            try:
                found.append(_test(item, node_id, is_chosen=id(item) in chosen))
            except MarkError as error:
                report = pytest.CollectReport(node_id, "failed", f"@pytest.mark.{MARK}: {error}", [])
                session.config.hook.pytest_collectreport(report=report)
        if len(found) < len(self._found) and hasattr(session.config, "workerinput"):
            session.items.clear()  # pytest stops at errors of the collection, but workers of pytest-xdist do not
        self._hand_over(found)

    def _note(self, nodes: Iterable[pytest.Item | pytest.Collector]) -> None:
        for node in nodes:
            if isinstance(node, pytest.Item):
                self._found.setdefault(id(node), (node, node.nodeid))
            elif not isinstance(node, pytest.File | pytest.Directory):
                self._open[node] = None


def _test(item: pytest.Item, node_id: str, *, is_chosen: bool) -> CollectedTest:
    records = FIXTURE in getattr(item, "fixturenames", ())
    return CollectedTest(
        node_id,
        item.nodeid,
        mark_columns(item, node_id),
        is_chosen,
        records or item.get_closest_marker(MARK) is not None,
        records,
    )
