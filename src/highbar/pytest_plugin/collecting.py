"""The collection of a session → every test, selected or not, with the columns of its marks.

A session that runs only some tests must not be judged as the whole. So this notes all tests of the collected files,
including those that `-k`, `-m`, `--deselect`, `--lf`, `file.py::test` or another plugin leaves out. The paths on the
command line define the whole: other files are not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import pytest

from highbar.columns import BY_NAME, COLUMN_NAMES, column_names
from highbar.language.spelling import near_miss
from highbar.language.tool_names import scenario_id
from highbar.load.row_faults import CHECKS, shown
from highbar.pytest_plugin.cutting import FIXTURE
from highbar.pytest_plugin.recording import DEMAND_LISTS, own_value

MARK = "scenario"
_ALLOWED = frozenset({"id", "input", *column_names("describes", "demands", "run")})
_REPEATED = "__pytest_repeat_step_number"
"""The parameter that pytest-repeat adds to run a test several times."""


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


# --- the marks of a test → the columns that describe it in every row ----------------------------


class MarkError(ValueError):
    """A mark is invalid. The message says why."""


def mark_columns(item: pytest.Item, node_id: str) -> dict[str, Any]:
    """The id of a test, by default its node id, and the other columns of its marks. Raises MarkError.

    The mark of a parameter set takes precedence over that of its function, then come the class and the file.
    """
    found: dict[str, Any] = {}
    for columns in _levels(item):
        found = {**columns, **found}
    _refuse_names(found)
    demanded = {name: value for name, value in found.items() if value or name not in DEMAND_LISTS}  # [] demands nothing
    return {"id": scenario_id(_without_repetition(item, node_id)), **demanded}


def _levels(item: pytest.Item) -> Iterator[dict[str, Any]]:
    """The columns from the marks of each level, the most specific level first."""
    sets = getattr(getattr(item, "callspec", None), "marks", ())
    for node in reversed(item.listchain()):
        marks = [mark for mark in node.own_markers if mark.name == MARK]
        if node is item:
            yield _join_marks([mark for mark in marks if any(mark is one for one in sets)])
            marks = [mark for mark in marks if not any(mark is one for one in sets)]
        given = _join_marks(marks)
        if "id" in given and node is not item:
            raise MarkError(f"id={given['id']!r} is in a mark of {node.name}; wanted it in a mark of one test")
        yield given


def _join_marks(marks: list[pytest.Mark]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for mark in marks:
        if mark.args:
            raise MarkError(f"found {shown(mark.args[0])} without a keyword; wanted scenario(id=…, category=…)")
        for name, value in mark.kwargs.items():
            checked = _check_value(name, value)
            if found.setdefault(name, checked) != checked:
                raise MarkError(f"{name} is said twice: {shown(found[name])} and {shown(checked)}")
    return found


def _check_value(name: str, value: Any) -> Any:
    """The value in the form of a row. Raises MarkError if the column does not take it, or is not for marks."""
    if name in COLUMN_NAMES and name not in _ALLOWED:
        raise MarkError(f"{name} is recorded by the test, not by its mark: use the fixture `behaviors`")
    meant = near_miss(name, COLUMN_NAMES)
    if meant:
        raise MarkError(f"{name} is no column; did you mean {meant!r}?")
    if name in DEMAND_LISTS:
        return _names(name, value)
    value = list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value
    wanted = CHECKS[name](value) if name in BY_NAME else own_value(value)
    if wanted:
        raise MarkError(f"{name}: found {shown(value)}, {wanted}")
    return value


def _names(name: str, value: Any) -> list[str]:
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) and one.strip() for one in value):
        raise MarkError(f"{name}: found {shown(value)}, wanted a list of names")
    return list(value)


def _refuse_names(columns: Mapping[str, Any]) -> None:
    """Raise MarkError if a name is both expected and forbidden, or occurs in two cases: results refuse both."""
    known: dict[str, str] = {}
    for name in (name for column in DEMAND_LISTS for name in dict.fromkeys(columns.get(column, ()))):
        if name.casefold() in known:
            where = " and ".join(DEMAND_LISTS)
            raise MarkError(f"{known[name.casefold()]!r} and {name!r} in {where}: wanted each name once, in any case")
        known[name.casefold()] = name


def _without_repetition(item: pytest.Item, node_id: str) -> str:
    """The node id of a test without the number of the repetition: repetitions are trials of one scenario.

    pytest-repeat calls the first of three `test[1-3]`, or `test[other-1-3]`.
    """
    step = getattr(getattr(item, "callspec", None), "params", {}).get(_REPEATED)
    if not isinstance(step, int):
        return node_id
    head, bracket, inside = node_id.rpartition("[")
    rest = re.sub(rf"(^|-){step + 1}-\d+\]$", "]", inside)
    return head if rest == "]" else f"{head}{bracket}{rest}"
