"""What only the end of a suite, or of the report, shows of test cases of JUnit XML: attempts, todos and repetitions."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from highbar.importers import Row
from highbar.importers.junit_counts import (
    WRITE_AGAIN,
    ListedTests,
    compare_suite_counts,
    jest_todos,
    refuse_unshown_failure,
)
from highbar.importers.junit_node import NodeReport, NodeSuite, compare_suite, compare_summary
from highbar.importers.junit_writers import Writer, is_of_node, repetitions, writer_of
from highbar.importers.record import refuse
from highbar.importers.report import Report
from highbar.language.phrases import count


class _Late(Struct, frozen=True):
    """What only the end of a suite says of a row that looks passed: columns, and an output and a status of its own."""

    columns: Row
    output: str | None = None
    status: str | None = None


_REPEATED = _Late({"passed": False}, "this attempt was made again; the report does not say how it ended")
_CRASHED = _Late(
    {"passed": False, "error": "the worker crashed; the report does not say in which test", "latency_ms": None}
)
_TODO = _Late({"passed": False, "latency_ms": None}, "todo: this test did not run", "todo")
_BY_ITSELF = "a test with subtests failed by itself: node counts that, and does not list it"
_MAYBE_BY_ITSELF = "a test with subtests may have failed by itself: node counts that, and does not list it"


class OpenSuite(Struct):
    """A suite before its closing tag: its attributes, and its test cases without and with inner suites."""

    tag: str
    attributes: dict[str, str]
    properties: list[tuple[str, str]] = field(default_factory=list)
    own: ListedTests = field(default_factory=ListedTests)
    whole: ListedTests = field(default_factory=ListedTests)
    node: NodeSuite = field(default_factory=NodeSuite)

    def name(self) -> str:
        """The name, for messages."""
        return self.attributes.get("name") or "a suite without a name"

    def each(self) -> tuple[ListedTests, ListedTests]:
        """The test cases without and with inner suites."""
        return self.own, self.whole


class SuiteEnds:
    """Compares the counts of suites with their test cases, and collects what only they say of these."""

    def __init__(self, report: Report) -> None:
        self._late: dict[int, _Late] = {}  # by the number of the row
        self._repetitions: dict[str, str] = {}  # by scenario, the test that it repeats
        self.broke_late: set[int] = set()  # test cases that broke after their call had passed
        self.node = NodeReport()
        self._root: dict[str, str] = {}  # the attributes of the outermost tag
        self._report = report

    def see(self, tag: str, attributes: dict[str, str], depth: int) -> None:
        """Look at an opening tag for signs of who wrote the report."""
        if depth == 0:
            self._root = attributes
        elif depth == 1 and not self._root:
            self.node.is_node = self.node.is_node or is_of_node(tag, attributes)

    def is_nameless_attempt(self, suite: OpenSuite, attributes: dict[str, str]) -> bool:
        """Whether a test case is an attempt of which the worker of pytest-xdist crashed, and that was made again."""
        return "name" not in attributes and writer_of(self._root, suite.attributes, ()) is Writer.PYTEST

    def close(self, suite: OpenSuite, around: OpenSuite | None) -> None:
        """Compare the counts of a suite, and add it to the one around it."""
        if suite.whole.cases:  # runners count endings outside of tests only if a suite broke before its first test
            suite.whole.outside.subtract(suite.own.outside)
            suite.own.outside.clear()
        self._compare_counts(suite, is_outermost=around is None)
        refuse_unshown_failure(suite.name(), suite.attributes, suite.properties, suite.whole)
        if around is not None:
            around.whole.add(suite.whole)
            around.node.add_suite(suite.node)
            self.node.add_suite(suite.node)
            return
        for numbers in suite.whole.places.values():
            if numbers[-1] in self.broke_late:  # the cases before it passed their call too, and were repeated
                self._add_late(numbers[:-1], _REPEATED)

    def _compare_counts(self, suite: OpenSuite, *, is_outermost: bool) -> None:
        name, writer = suite.name(), writer_of(self._root, suite.attributes, suite.properties)
        if is_outermost and not suite.own.cases and writer is Writer.PYTEST:  # this tag has no counts
            writer = Writer.OTHER
        if self.node.is_node and not is_outermost:
            compare_suite(name, suite.attributes, suite.node)
        elif writer is Writer.JEST and suite.tag == "testsuite" and suite.own.cases == suite.whole.cases:
            self._note_todos(name, jest_todos(name, suite.attributes, suite.whole), suite.whole.idle)
        elif compare_suite_counts(name, suite.attributes, suite.own, suite.whole, writer):
            for numbers in suite.whole.places.values():
                self._add_late(numbers[:-1], _REPEATED)
        if writer is Writer.PYTEST:
            self._add_late(suite.whole.nameless, _CRASHED)
            self._repetitions |= repetitions(suite.whole.places)

    def _note_todos(self, name: str, todos: int, idle: list[int]) -> None:
        """Note which test cases of jest did not run; nothing is seen of these but that they took no time."""
        if todos > len(idle):
            found = f"lists {todos} more tests than it counts, and only {len(idle)} took no time"
            refuse("import.contradiction", f"{name} {found}", hint=WRITE_AGAIN)
        if todos == len(idle):
            self._report.skipped += todos
            self._add_late(idle, _TODO)
        elif todos:
            said = f"jest lists {count(todos, 'todo')} among {len(idle)} tests that took no time, and not which"
            self._report.unscored += len(idle)
            self._add_late(idle, _Late({"passed": None, "unjudged": said}))
            self._report.warn(f"{name}: {said}; test.skip instead of test.todo says which")

    def _add_late(self, numbers: Iterable[int], late: _Late) -> None:
        self._late.update(dict.fromkeys(numbers, late))

    def unlisted(self) -> list[Row]:
        """The rows of tests that failed, or may have, and that are counted and not listed; call it at the end."""
        if not self.node.is_node:
            return []
        failed, unclear = compare_summary(self.node)
        self._report.records += failed + unclear
        self._report.unscored += unclear
        row: Row = {
            "id": "(a test with subtests)",
            "passed": False,
            "unjudged": None,
            "output": _BY_ITSELF,
            "tags": None,
        }
        maybe: Row = {**row, "passed": None, "unjudged": _MAYBE_BY_ITSELF, "output": None}
        return [dict(row) for _ in range(failed)] + [dict(maybe) for _ in range(unclear)]

    def warn(self) -> None:
        """Add warnings about what was made again or repeated."""
        again = sum(late is _REPEATED or late is _CRASHED for late in self._late.values())
        if again:
            self._report.warn(f"{again} attempts were made again: they are trials that did not pass")
        if self._repetitions:
            tests = count(len(set(self._repetitions.values())), "test")
            self._report.warn(f"{len(self._repetitions)} repetitions of {tests} (pytest-repeat) are trials")

    def finished(self, row: Row, number: int) -> Row:
        """The row with what only the end of its suite shows."""
        late = self._late.get(number)
        if row["passed"] and late is not None:
            row |= {**late.columns, "output": row["output"] or late.output}
            if late.status is not None:
                row["tags"] = {**_as_tags(row["tags"]), "status": late.status}
        row["id"] = self._repetitions.get(str(row["id"]), row["id"])
        return row


def _as_tags(tags: object) -> dict[str, object]:
    return dict(tags) if isinstance(tags, dict) else {}
