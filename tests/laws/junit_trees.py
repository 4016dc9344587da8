"""Law L3 on JUnit reports of made-up sessions, written as each runner writes them.

A session is tests that end in some way, some of them with equal names, in suites within suites. (a) A report passes
"all of it passes" only if every test passed, and it does if every test did. (b) Every attempt that the report lists is
a row, and so is every test that it only counts. (c) Whatever the pass rate of the intact report is, a bar just above it
is not met by the report without one of its test cases, nor by that of the session with one test skipped or made a todo.

`UNSEEN` says what a report does not show, and why.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree as ET

import highbar
from highbar import importers
from highbar.errors import InputError
from highbar.importers.writing import convert

ENDS = ("passed",) * 5 + ("failed", "skipped", "todo", "flaky", "crashed")
NAMES = ("a", "b", "c")
UNSEEN: Mapping[str, str] = {
    "todo": "jest-junit counts no todo, so that one more or less leaves no trace",
    "beside a todo": "jest-junit lists todos as if they had passed: without one that did there seem to be fewer",
    "attempt": "of the attempts at a test, only the last is counted",
    "beside attempts": "pytest counts some attempts too: without one that passed there seem to be fewer",
    "beside suites": "a suite may count its inner suites: without its own tests, these may be what it counts",
}
"""Test cases that can be taken out of a report without a trace, and why."""


@dataclass(frozen=True, slots=True)
class Test:
    """One test, the names of the suites around it, how it ends, and whether it takes any time."""

    suites: tuple[str, ...]
    name: str
    end: str
    took: bool = True


@dataclass(frozen=True, slots=True)
class Session:
    """The tests of a session, and what else happened in it."""

    tests: tuple[Test, ...]
    repeats: int = 1  # by pytest-repeat
    alone: frozenset[str] = frozenset()  # tests of node with subtests that failed by themselves

    @property
    def passed(self) -> bool:
        return not self.alone and all(test.end == "passed" for test in self.tests)


@dataclass(slots=True)
class Listed:
    """A report; how many rows it must have; and the places of the test cases that go without a trace."""

    root: ET.Element
    rows: int
    unseen: dict[ET.Element, str]  # by the key of UNSEEN
    refused: bool = False  # whether it must be refused
    unclear: int = 0  # how many more rows it may have: of tests that may have failed by themselves


# --- the runners ---------------------------------------------------------------------------------


def _case(parent: ET.Element, test: Test, kind: str | None, **attributes: str) -> ET.Element:
    time = "0" if not test.took else "0.5"
    case = ET.SubElement(parent, "testcase", {"name": test.name, "time": time, **attributes})
    if kind is not None:
        ET.SubElement(case, kind)
    return case


def _counts(**numbers: int) -> dict[str, str]:
    return {name: str(number) for name, number in numbers.items()}


def pytest_report(session: Session) -> Listed:
    """pytest with pytest-repeat, pytest-rerunfailures and pytest-xdist."""
    root = ET.Element("testsuites", {"name": "pytest tests"})
    suite = ET.SubElement(root, "testsuite")
    listed = Listed(root, 0, {})
    ended: Counter[str] = Counter()
    for number, test in enumerate(session.tests):
        named = replace(test, name=f"test_{test.name}{number}")  # pytest knows no equal names
        for step in range(1, session.repeats + 1):
            repeated = replace(named, name=f"{named.name}[{step}-{session.repeats}]") if session.repeats > 1 else named
            name = ".".join(test.suites)
            again = ET.Element("testcase", {"time": "0.000"})
            if test.end in ("flaky", "crashed"):
                first = _case(suite, repeated, None, classname=name) if test.end == "flaky" else again
                if test.end == "crashed":
                    suite.append(again)
                listed.unseen[first] = "attempt"
                listed.rows += 1
            kind = {"failed": "failure", "crashed": "error", "skipped": "skipped", "todo": "skipped"}.get(test.end)
            case = _case(suite, repeated, kind, classname=name)
            if kind is None and any(test.end == "flaky" for test in session.tests):
                listed.unseen[case] = "beside attempts"
            listed.rows += 1
            ended[kind or ""] += 1
    suite.attrib |= {"name": "pytest", **_counts(errors=ended["error"], failures=ended["failure"])}
    suite.attrib |= _counts(skipped=ended["skipped"], tests=ended.total())
    return listed


def gotestsum_report(session: Session) -> Listed:
    """gotestsum, which lists and counts every attempt as it ended."""
    root = ET.Element("testsuites")
    suite = ET.SubElement(root, "testsuite", {"name": "package"})
    ET.SubElement(ET.SubElement(suite, "properties"), "property", {"name": "go.version", "value": "go1.22"})
    ended: Counter[str] = Counter()
    for number, test in enumerate(session.tests):
        ends = {"flaky": ("failure", None), "crashed": ("failure",), "failed": ("failure",), "passed": (None,)}
        for kind in ends.get(test.end, ("skipped",)):
            _case(suite, replace(test, name=f"Test{test.name}{number}"), kind, classname="package")
            ended[kind or ""] += 1
    suite.attrib |= _counts(tests=ended.total(), failures=ended["failure"], skipped=ended["skipped"])
    root.attrib |= _counts(tests=ended.total(), failures=ended["failure"], errors=0)
    return Listed(root, ended.total(), {})


def jest_report(session: Session) -> Listed:
    """jest-junit, which lists todos as if they had passed, and counts them nowhere."""
    root = ET.Element("testsuites", {"name": "jest tests"})
    listed = Listed(root, len(session.tests), {})
    total: Counter[str] = Counter()
    for file, tests in _by(session, lambda test: test.suites[:1]).items():
        ended = Counter({"crashed": "failed"}.get(test.end, test.end) for test in tests)
        counted = ended.total() - ended["todo"]
        counts = _counts(errors=0, failures=ended["failed"], skipped=ended["skipped"])
        name = {"name": file[0] if file else "undefined"}
        attributes = {**name, **counts, "timestamp": "t", "time": "1", "tests": str(counted)}
        suite = ET.SubElement(root, "testsuite", attributes)
        for test in tests:
            kind = {"failed": "failure", "crashed": "failure", "skipped": "skipped"}.get(test.end)
            took = test.took and test.end not in ("todo", "skipped")
            case = _case(suite, replace(test, took=took), kind, classname=" ".join((*test.suites, test.name)))
            if ended["todo"] and kind is None:
                listed.unseen[case] = "todo" if test.end == "todo" else "beside a todo"
        total += Counter(tests=counted, failures=ended["failed"])
    root.attrib |= _counts(tests=total["tests"], failures=total["failures"], errors=0)
    return listed


def mocha_report(session: Session, *, lists_pending: bool) -> Listed:
    """mocha-junit-reporter; it lists pending tests only if it is told to, and counts them anyway."""
    root = ET.Element("testsuites", {"name": "Mocha Tests"})
    pending = sum(test.end in ("skipped", "todo") for test in session.tests)
    failed = sum(test.end in ("failed", "crashed") for test in session.tests)
    listed = Listed(root, len(session.tests), {}, refused=pending > 0 and not lists_pending)
    for suites, tests in _by(session, lambda test: test.suites).items():
        bad = sum(test.end in ("failed", "crashed") for test in tests)
        left = sum(test.end in ("skipped", "todo") for test in tests)
        name = suites[-1] if suites else "Root Suite"
        suite = ET.SubElement(root, "testsuite", {"name": name, **_counts(tests=len(tests), failures=bad)})
        suite.attrib |= _counts(skipped=left) if left and lists_pending else {}
        for test in tests:
            if test.end in ("skipped", "todo") and not lists_pending:
                continue
            kind = {"failed": "failure", "crashed": "failure", "skipped": "skipped", "todo": "skipped"}.get(test.end)
            _case(suite, test, kind, classname=test.name)
    root.attrib |= _counts(tests=len(session.tests), failures=failed) | (_counts(skipped=pending) if pending else {})
    return listed


def node_report(session: Session, *, describes: frozenset[str], version: int) -> Listed:
    """node's reporter; suites are `describe` or, all others, tests with subtests, which fail with one of these."""
    root = ET.Element("testsuites")
    summary: Counter[str] = Counter()
    _node_part(root, session, (), summary, describes, version)
    for key in ("tests", "suites", "pass", "fail", "cancelled", "skipped", "todo"):
        root.append(ET.Comment(f" {key} {summary[key]} "))
    return Listed(root, len(session.tests), {}, unclear=summary["fail"])


def _node_part(
    parent: ET.Element, session: Session, way: tuple[str, ...], summary: Counter[str], describes: frozenset[str],
    version: int,
) -> bool:  # fmt: skip
    """Write what is in one suite, and return whether anything in it failed."""
    bad = False
    for test in (test for test in session.tests if test.suites == way):
        end = test.end
        case = _case(parent, test, None, classname=".".join(way) if way and version > 22 else "test")
        if end in ("skipped", "todo"):
            ET.SubElement(case, "skipped", {"type": end, "message": "true"})
        if end in ("failed", "crashed") or (end == "todo" and test.took):  # a todo that runs may fail
            case.set("failure", "no")
            ET.SubElement(case, "failure", {"message": "no"})
        summary["tests"] += 1
        kind = {"passed": "pass", "failed": "fail", "crashed": "cancelled"}.get(end, end)
        summary[kind] += 1
        bad = bad or kind in ("fail", "cancelled")
    for name in sorted({test.suites[len(way)] for test in session.tests if _is_inside(test, way)}):
        suite = ET.SubElement(parent, "testsuite", {"name": name, "time": "0.1", "disabled": "0", "errors": "0"})
        broke = _node_part(suite, session, (*way, name), summary, describes, version)
        parts = [part for part in suite if isinstance(part.tag, str)]
        failures = sum(part.find("failure") is not None or part.get("failures", "0") != "0" for part in parts)
        left_out = sum(part.find("skipped") is not None or part.get("skipped", "0") != "0" for part in parts)
        suite.attrib |= _counts(tests=len(parts), failures=failures, skipped=left_out) | {"hostname": "h"}
        if name in describes:
            summary["suites"] += 1
        else:
            broke = broke or name in session.alone
            summary["tests"] += 1
            summary["fail" if broke else "pass"] += 1
        bad = bad or broke
    return bad


def plain_report(session: Session, *, counts_inner: bool) -> Listed:
    """A runner without ways of its own; suites count inner suites, too, or do not."""
    listed = Listed(ET.Element("testsuites"), len(session.tests), {})
    _plain_part(listed.root, session, (), counts_inner=counts_inner)
    for suite in listed.root.iter("testsuite") if not counts_inner else ():
        if suite.find("testsuite") is not None:
            listed.unseen |= dict.fromkeys(suite.findall("testcase"), "beside suites")
    return listed


def _plain_part(parent: ET.Element, session: Session, way: tuple[str, ...], *, counts_inner: bool) -> None:
    tests = [test for test in session.tests if test.suites == way]
    suite = ET.SubElement(parent, "testsuite", {"name": way[-1] if way else "all"})
    for test in tests:
        ends = {"failed": "failure", "crashed": "error", "skipped": "skipped", "todo": "skipped"}
        _case(suite, test, ends.get(test.end), classname=".".join(way) or "top")
    for name in sorted({test.suites[len(way)] for test in session.tests if _is_inside(test, way)}):
        _plain_part(suite, session, (*way, name), counts_inner=counts_inner)
    counted = [test for test in session.tests if test.suites[: len(way)] == way] if counts_inner or not tests else tests
    ended = Counter(test.end for test in counted)
    suite.attrib |= _counts(tests=len(counted), failures=ended["failed"], errors=ended["crashed"])
    suite.attrib |= _counts(skipped=ended["skipped"] + ended["todo"])


def _is_inside(test: Test, way: tuple[str, ...]) -> bool:
    return len(test.suites) > len(way) and test.suites[: len(way)] == way


def _by(session: Session, key: Callable[[Test], tuple[str, ...]]) -> dict[tuple[str, ...], list[Test]]:
    found: dict[tuple[str, ...], list[Test]] = {}
    for test in session.tests:
        found.setdefault(key(test), []).append(test)
    return found


WRITERS: Mapping[str, Callable[[Session, Random], Listed]] = {
    "pytest": lambda session, _: pytest_report(session),
    "gotestsum": lambda session, _: gotestsum_report(session),
    "jest": lambda session, _: jest_report(session),
    "mocha": lambda session, chance: mocha_report(session, lists_pending=chance.random() < 0.8),
    "node": lambda session, chance: node_report(
        session,
        describes=frozenset(chance.choice(((), ("x", "y", "z"), ("x",), ("y", "z")))) - session.alone,
        version=chance.choice((20, 24)),
    ),
    "plain": lambda session, chance: plain_report(session, counts_inner=chance.random() < 0.5),
}


# --- the law -------------------------------------------------------------------------------------


def made_session(chance: Random, writer: str) -> Session:
    """A session that a runner can have had."""
    ends = ENDS if chance.random() < 0.8 else ("passed",)
    tests = []
    for _ in range(chance.randint(1, 7)):
        suites = tuple(chance.choice(level) for level in (("x", "y"), ("y", "z"))[: chance.randint(0, 2)])
        end = chance.choice(ends)
        if end == "flaky" and writer not in ("pytest", "gotestsum"):  # the others show the last attempt alone
            end = "passed"
        tests.append(Test(suites, chance.choice(NAMES), end, chance.random() < 0.8))
    inner = {name for test in tests for name in test.suites}
    alone = frozenset(name for name in sorted(inner) if writer == "node" and chance.random() < 0.15)
    repeats = chance.choice((1, 1, 2, 3)) if writer == "pytest" else 1
    return Session(tuple(tests), repeats, alone if ends is ENDS else frozenset())


def read(root: ET.Element, folder: Path) -> list[dict[str, Any]] | None:
    """The rows of a report; None if it is refused."""
    path, target = folder / "report.xml", io.BytesIO()
    path.write_bytes(ET.tostring(root))
    try:
        report = convert(importers.importer_named("junit"), str(path), path.name, target)
    except InputError:
        return None
    assert report.unaccounted == 0
    return [json.loads(line) for line in target.getvalue().splitlines()]


def pass_rate(rows: Sequence[Mapping[str, Any]], *, undecided: bool = False) -> Fraction:
    """The pass rate if every undecided trial failed, or passed: a bar above the former is not met."""
    trials: dict[str, list[bool]] = {}
    for row in rows:
        passed = row.get("passed", undecided and "unjudged" in row)
        trials.setdefault(row["id"], []).append(bool(passed) and not row.get("error"))
    return sum((Fraction(sum(passed), len(passed)) for passed in trials.values()), Fraction(0)) / len(trials)


def attempt(seed: int, folder: Path) -> str:
    """One session; raises AssertionError if it breaks the law."""
    chance = Random(seed)
    writer = chance.choice(sorted(WRITERS))
    session = made_session(chance, writer)
    state = chance.getstate()
    listed = WRITERS[writer](session, chance)
    told = f"{writer}: {ET.tostring(listed.root, 'unicode')}"
    rows = read(listed.root, folder)
    assert (rows is None) == listed.refused, f"{'refused' if rows is None else 'read'}: {told}"
    if rows is None:
        return f"{writer}: refused"
    assert listed.rows <= len(rows) <= listed.rows + listed.unclear, f"{len(rows)} rows: {told}"
    verdict = highbar.check(folder / "report.xml", {"pass_criteria": "100%"}).verdict
    assert (verdict == "pass") == session.passed, f"{verdict}: {told}"
    for what, root in _changed(listed, session, writer, state):
        after = read(root, folder)
        # What did not run, said in another way, may be clearer than it was.
        bar = pass_rate(rows, undecided=what != "deleted")
        assert after is None or pass_rate(after) <= bar, f"{what}: {ET.tostring(root, 'unicode')}\nof {told}"
    return f"{writer}: {verdict}"


def _changed(listed: Listed, session: Session, writer: str, state: Any) -> Iterator[tuple[str, ET.Element]]:
    """The report without each of its test cases, and those of sessions in which one test did not run."""
    for parent in listed.root.iter():
        for place, case in enumerate(list(parent)):
            if case.tag == "testcase" and case not in listed.unseen:
                parent.remove(case)
                yield "deleted", listed.root
                parent.insert(place, case)
    for number, test in enumerate(session.tests):
        for end in ("skipped", "todo"):
            if test.end in (end, "crashed"):  # of a crash that was made again there is one more scenario
                continue
            tests = [*session.tests]
            tests[number] = replace(test, end=end)
            again = Random()
            again.setstate(state)
            yield end, WRITERS[writer](replace(session, tests=tuple(tests)), again).root
