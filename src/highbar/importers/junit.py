"""JUnit XML of any test runner → rows: one per attempt at a test case.

A failure is a failed trial, an error is an error, and a skipped test is not passed. Test cases of one class and name
are trials of one scenario, and so are the attempts that a runner made again (`flakyFailure`, `rerunFailure`): a test
that passed at the third attempt passed one time in three. What a suite counts and no test case shows is an error.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from highbar.importers import Row
from highbar.importers.naming import Trials, tags
from highbar.importers.reading import xml
from highbar.importers.record import refuse
from highbar.importers.report import Report
from highbar.importers.writing import LONGEST_TEXT, identifier

_AGAIN = {"flakyFailure": "failure", "flakyError": "error", "rerunFailure": "failure", "rerunError": "error"}
_ENDINGS = {"failure", "error", "skipped", *_AGAIN}
_SUITES = {"testsuites", "testsuite"}
_FROM_PROPERTIES = ("category", "capability", "cluster", "agent_version")
_LONGEST_TAG = 200
_SECONDS = re.compile(r"[0-9]{1,3}(,[0-9]{3})+\.[0-9]+|[0-9]{1,9}(\.[0-9]*)?([eE]-?[0-9]{1,2})?|\.[0-9]+")


def read(path: str, report: Report) -> Iterator[Row]:
    """The rows of one file, as its test cases end."""
    trials = Trials()
    with Path(path).open("rb") as stream:
        for row in _Reader(report).rows(stream):
            scenario = str(row["id"])
            yield {**row, "trial": trials.number(scenario)}


@dataclass(slots=True)
class _Ending:
    """How an attempt ended that did not pass, and what was said about it."""

    kind: str
    message: str
    text: list[str] = field(default_factory=list)

    def told(self) -> str:
        return self.message or "".join(self.text).strip() or f"a {self.kind} without a message"


@dataclass(slots=True)
class _Case:
    """A test case on its way from its opening to its closing tag."""

    attributes: dict[str, str]
    endings: list[_Ending] = field(default_factory=list)
    output: list[str] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Suite:
    """A suite that is open: what it says about itself, and what was found in it."""

    attributes: dict[str, str]
    found: Counter[str] = field(default_factory=Counter)
    nested: bool = False
    broken: bool = False  # outside of its test cases


class _Reader:
    """Follows the tags of one document."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._suites: list[_Suite] = []
        self._case: _Case | None = None
        self._ending: _Ending | None = None
        self._text: list[str] | None = None  # where text goes now
        self._length = 0

    def rows(self, stream: IO[bytes]) -> Iterator[Row]:
        root = True
        for event in xml.events(stream):
            if root and event.kind == "start":
                root = False
                if event.text not in _SUITES:
                    refuse(f"this is no JUnit XML: found <{event.text}>, wanted <testsuites> or <testsuite>")
            if event.kind == "start":
                self._open(event.text, event.attributes)
            elif event.kind == "end":
                yield from self._close(event.text)
            elif self._text is not None and self._length < LONGEST_TEXT:
                self._text.append(event.text)
                self._length += len(event.text)

    def _open(self, tag: str, attributes: dict[str, str]) -> None:
        if tag in _SUITES:
            if self._suites:
                self._suites[-1].nested = True
            self._suites.append(_Suite(attributes))
        elif tag == "testcase":
            self._case = _Case(attributes)
        elif tag in _ENDINGS:
            self._ending = _Ending(tag, attributes.get("message", ""))
            self._gather(self._ending.text)
        elif tag == "system-out" and self._case is not None and self._ending is None:
            self._gather(self._case.output)
        elif tag == "property" and self._case is not None:
            self._case.properties[attributes.get("name", "")] = attributes.get("value", "")

    def _gather(self, text: list[str]) -> None:
        self._text, self._length = text, 0

    def _close(self, tag: str) -> Iterator[Row]:
        if tag in _ENDINGS and self._ending is not None:
            self._text = None
            if self._case is not None:
                self._case.endings.append(self._ending)
            elif self._suites:
                yield self._suite_error(self._ending)
            self._ending = None
        elif tag == "system-out" and self._ending is None:
            self._text = None
        elif tag == "testcase" and self._case is not None:
            yield from self._attempts(self._case)
            self._case = None
        elif tag in _SUITES:
            yield from self._unshown(self._suites.pop())

    def _attempts(self, case: _Case) -> Iterator[Row]:
        """The attempts that were made before, then how the test ended: the worst of what is said of it."""
        again = [ending for ending in case.endings if ending.kind in _AGAIN]
        last = {ending.kind: ending for ending in case.endings if ending.kind not in _AGAIN}
        worst = next((last[kind] for kind in ("error", "failure", "skipped") if kind in last), None)
        for ending in again:
            yield self._row(case, _AGAIN[ending.kind], ending, None)
        if self._suites:
            self._suites[-1].found.update(["tests", *({worst.kind} if worst else ())])
        kind = worst.kind if worst else "passed"
        # What was skipped took no time, which says nothing about the agent.
        yield self._row(case, kind, worst, None if kind == "skipped" else self._milliseconds(case))

    def _row(self, case: _Case, kind: str, ending: _Ending | None, latency: float | None) -> Row:
        self._report.records += 1
        self._report.skipped += kind == "skipped"
        short = {name: value for name, value in case.properties.items() if len(value) <= _LONGEST_TAG and name}
        placed = {"file": case.attributes.get("file", ""), "status": "skipped" if kind == "skipped" else ""}
        return {
            "id": self._scenario(case.attributes),
            "passed": kind == "passed",
            "error": ending.told() if ending and kind == "error" else None,
            "output": "".join(case.output) or (ending.told() if ending else None),
            "latency_ms": latency,
            "suite": self._suites[-1].attributes.get("name") if self._suites else None,
            **{name: short[name] for name in _FROM_PROPERTIES if short.get(name)},
            "tags": tags({**{key: value for key, value in placed.items() if value}, **short}, _FROM_PROPERTIES),
        }

    def _scenario(self, attributes: dict[str, str]) -> str:
        """The class and the name; where there is no class, the suite."""
        suites = [name for suite in self._suites if (name := suite.attributes.get("name"))]
        home = attributes.get("classname") or attributes.get("class") or (suites[-1] if suites else "")
        name = attributes.get("name") or "(no name)"
        return identifier(f"{home}::{name}" if home else name)

    def _milliseconds(self, case: _Case) -> float | None:
        """The time in milliseconds. `1,234.5` is more than a thousand seconds; of `1,234` nobody knows."""
        text = case.attributes.get("time", case.attributes.get("duration", "")).strip()
        seconds = float(text.replace(",", "")) if _SECONDS.fullmatch(text) else None
        if seconds is not None and seconds < 1e9:
            return seconds * 1000
        if text:
            self._report.unread["times that are no number of seconds"] += 1
        return None

    def _suite_error(self, ending: _Ending) -> Row:
        """A suite that broke outside of its test cases."""
        self._suites[-1].found.update([ending.kind])
        self._suites[-1].broken = True
        return self._of_suite(self._suites[-1], ending.told())

    def _unshown(self, suite: _Suite) -> Iterator[Row]:
        """What the suite counts and does not list. Suites of suites add up what the inner ones have said already."""
        if suite.nested:
            return
        counted = {kind: _whole(suite.attributes.get(f"{kind}s")) for kind in ("error", "failure")}
        lacking = sum(max(0, number - suite.found[kind]) for kind, number in counted.items())
        if lacking and sum(counted.values()) > suite.found["error"] + suite.found["failure"]:
            yield self._of_suite(suite, f"the suite counts {lacking} failures or errors that no test case shows")
        elif _whole(suite.attributes.get("tests")) > suite.found["tests"] and not suite.broken:
            name = suite.attributes.get("name") or "a suite"
            counted_tests = suite.attributes["tests"]
            self._report.warn(f"{name} speaks of {counted_tests} tests and lists {suite.found['tests']}")

    def _of_suite(self, suite: _Suite, told: str) -> Row:
        self._report.records += 1
        name = suite.attributes.get("name")
        return {"id": identifier(name or "(a suite without a name)"), "error": told, "passed": False, "suite": name}


def _whole(text: str | None) -> int:
    return int(text) if text is not None and text.isascii() and text.isdigit() else 0
