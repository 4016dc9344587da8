"""JUnit XML of any test runner → rows: one per attempt at a test case.

A failure is a failed trial, an error is an error, and a skipped test is not passed. Test cases of one class and name
are trials of one scenario, and so are the attempts that a runner made again (`flakyFailure`, `rerunFailure`, or test
cases that are listed more often than they are counted): a test that passed at the third attempt passed one time in
three. What a suite counts must be what it lists (`junit_counts`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from highbar.importers import Row
from highbar.importers.aside import Aside
from highbar.importers.junit_counts import ENDINGS, Found, compare
from highbar.importers.junit_properties import Properties, Property
from highbar.importers.naming import Trials, tags
from highbar.importers.reading import xml
from highbar.importers.record import refuse, shown
from highbar.importers.report import Report
from highbar.importers.writing import LONGEST_TEXT, identifier

OUTCOME = "outcome"
"""What `judged_by` calls the one judge of a report: the runner, which says how each test ended."""

_AGAIN = {"flakyfailure": "failure", "flakyerror": "error", "rerunfailure": "failure", "rerunerror": "error"}
_SUITES = {"testsuites", "testsuite"}
_KNOWN = {
    *_SUITES, "testcase", "properties", "property", "system-out", "system-err", "stacktrace", "attachments",
    "attachment", "description", "steps", "step",
}  # fmt: skip
_BAD_TAG = re.compile(r"fail|error|exception|abort|crash|broken|timeout|flaky|rerun|skip|ignored|disabled|pending")
_TEST_TAG = re.compile(r"test|case|spec|scenario|example|result")
_NAMES = frozenset({"name", "classname"})
_SAYS_OUTCOME = ("status", "result", "outcome", "state", "success", "passed")
_GOOD_WORDS = frozenset(
    {"passed", "pass", "success", "succeeded", "successful", "ok", "true"}
    | {"run", "completed", "executed", "finished", "done"}  # that it ran; how it ended is for its endings to say
)
_BAD_WORDS = {
    **dict.fromkeys(("failed", "fail", "failure", "false", "unsuccessful", "ko", "notok"), "failure"),
    **dict.fromkeys(("error", "errored", "broken", "crashed", "crash", "timeout", "timedout", "aborted"), "error"),
    **dict.fromkeys(("skipped", "skip", "notrun", "notexecuted", "suppressed", "disabled", "ignored"), "skipped"),
    **dict.fromkeys(("pending", "todo", "cancelled", "canceled", "untested", "undefined", "filtered"), "skipped"),
}
_SUBTESTS = "subtests"
_SECONDS = re.compile(
    r"[0-9]{1,3}(,[0-9]{3})+\.[0-9]+|[0-9]{1,9}(\.[0-9]*)?([eE][-+]?[0-9]{1,2})?|\.[0-9]+"
    r"|0,[0-9]+|[0-9]{1,9},([0-9]{1,2}|[0-9]{4,})"  # a comma before other than three digits is no thousand
)
_LONGEST = 1e9
_PYTEST, _ITS_SUITE = "pytest tests", "pytest"
_TEARDOWN = "failed on teardown with"  # pytest, of a test whose call had ended before
_SUBTEST = re.compile(r"subtest", re.IGNORECASE)
_PROMPTFOO, _ITS_PROMPTS = "promptfoo", re.compile(r"\[.*\] prompt [0-9]+", re.DOTALL)
_AS_JUNIT = "have the runner write each test as a <testcase>, and how it ended as <failure>, <error> or <skipped>"
_MADE_AGAIN = "this attempt was made again; the report does not say how it ended"


def read(path: str, report: Report) -> Iterator[Row]:
    """The rows of one file. They wait for its end: only then is it known which of them were made again."""
    _say_who_judges(report)
    with Aside() as aside, Path(path).open("rb") as stream:
        made_again = _Reader(report, aside).read(stream)
        if made_again:
            report.warn(f"{len(made_again)} attempts were made again: they are trials that did not pass")
        trials = Trials()
        for row, number in aside:
            if number in made_again and row["passed"]:
                row["passed"] = False
                row["output"] = row["output"] or _MADE_AGAIN
            row["trial"] = trials.number(row["id"])
            yield row


def _say_who_judges(report: Report) -> None:
    unknown = [demand.scorer for demand in report.judged_by if demand.scorer != OUTCOME]
    if unknown:
        refuse(
            f"the policy has this file judged by {unknown[0]!r}; the one judge of a JUnit report is {OUTCOME!r}",
            hint="leave junit out of judged_by",
        )
    report.scorers[OUTCOME] = "judges"
    report.judges = (OUTCOME,)


@dataclass(slots=True)
class _Ending:
    """How an attempt ended that did not pass, and what was said about it."""

    kind: str
    message: str = ""
    made_again: bool = False
    is_attribute: bool = False
    text: list[str] = field(default_factory=list)

    def told(self) -> str:
        return self.message or "".join(self.text).strip() or f"a {self.kind} without a message"


@dataclass(slots=True)
class _Case:
    """A test case on its way from its opening to its closing tag."""

    attributes: dict[str, str]
    endings: list[_Ending] = field(default_factory=list)
    output: list[str] = field(default_factory=list)
    properties: Properties = field(default_factory=Properties)
    unknown: str | None = None  # a word for its outcome that nobody knows


@dataclass(slots=True)
class _Suite:
    """A suite that is open: what it says about itself, and what was found in it."""

    attributes: dict[str, str]
    own: Found = field(default_factory=Found)
    whole: Found = field(default_factory=Found)

    def name(self) -> str:
        return self.attributes.get("name") or "a suite without a name"

    def each(self) -> tuple[Found, Found]:
        return self.own, self.whole


class _Reader:
    """Follows the tags of one document, and keeps its rows aside, each with its number."""

    def __init__(self, report: Report, aside: Aside) -> None:
        self._report = report
        self._aside = aside
        self._rows = 0
        self._suites: list[_Suite] = []
        self._cases: list[_Case] = []
        self._endings: list[_Ending] = []
        self._properties: list[Property] = []
        self._tags: list[str] = []  # of every tag that is open, what it opened here
        self._gathered: list[str] | None = None  # where text goes now
        self._length = 0
        self._is_pytest = False
        self._made_again: set[int] = set()
        self._broke_late: set[int] = set()  # test cases whose call had passed before they broke

    def read(self, stream: IO[bytes]) -> set[int]:
        """Keep all rows aside; the numbers of those that were made again."""
        for event in xml.events(stream):
            if event.kind == "start":
                attributes = _in_small_letters(event.text, event.attributes)
                if not self._tags:
                    self._know_root(event.text, attributes)
                self._tags.append(self._open(event.text.lower(), attributes))
            elif event.kind == "end":
                self._close(self._tags.pop())
            elif self._gathered is not None and self._length < LONGEST_TEXT:
                self._gathered.append(event.text)
                self._length += len(event.text)
        return self._made_again

    def _know_root(self, tag: str, attributes: dict[str, str]) -> None:
        if tag.lower() not in _SUITES:
            refuse(f"this is no JUnit XML: found <{tag}>, wanted <testsuites> or <testsuite>")
        if attributes.get("name") == _PROMPTFOO:
            _refuse_promptfoo()
        self._is_pytest = attributes.get("name") == _PYTEST

    def _open(self, tag: str, attributes: dict[str, str]) -> str:
        """Take a tag, and say what it opens."""
        if tag in _SUITES:
            if tag == "testsuite" and _ITS_PROMPTS.fullmatch(attributes.get("name", "")):
                _refuse_promptfoo()
            self._suites.append(_Suite(attributes))
            return "suite"
        if tag == "testcase":
            self._cases.append(self._opened(attributes))
            return "case"
        if (ending := self._ending(tag, attributes)) is not None:
            self._endings.append(ending)
            self._gather(ending.text)
            return "ending"
        if tag == "system-out" and self._cases and not self._endings:
            self._gather(self._cases[-1].output)
            return "output"
        if tag == "property" and self._cases:
            self._properties.append(Property(attributes.get("name", ""), attributes.get("value", "")))
            self._gather(self._properties[-1].text)
            return "property"
        if tag not in _KNOWN and not self._endings:
            self._pass_over(tag, attributes)
        return ""

    def _pass_over(self, tag: str, attributes: dict[str, str]) -> None:
        """Leave out what no report is known to have, unless it may be a test, or say how one ended."""
        in_suite = self._tags[-1] == "suite"
        says_outcome = tag in _SAYS_OUTCOME or not attributes.keys().isdisjoint(_SAYS_OUTCOME)
        is_named = in_suite and not attributes.keys().isdisjoint(_NAMES)
        if says_outcome or is_named or (not self._cases and _TEST_TAG.search(tag)):
            named = f" ({name})" if (name := attributes.get("name")) else ""
            refuse(f"found <{tag}>{named}, wanted <testcase>: what it says of a test would be lost", hint=_AS_JUNIT)
        if in_suite:
            self._report.warn(f"not read: <{tag}> in a suite")

    def _opened(self, attributes: dict[str, str]) -> _Case:
        """A test case, with what its attributes say of its outcome: a known word that is bad is an ending."""
        case = _Case(attributes)
        for key, value in attributes.items():
            word = re.sub(r"[^a-z]", "", value.lower())
            if key not in _SAYS_OUTCOME or not value.strip():
                continue
            if word in _BAD_WORDS:
                case.endings.append(_Ending(_BAD_WORDS[word], f"{key}: {value}", is_attribute=True))
            elif word not in _GOOD_WORDS:
                case.unknown = f"{key} is {shown(value)}, which says neither that it passed nor that it failed"
        return case

    def _ending(self, tag: str, attributes: dict[str, str]) -> _Ending | None:
        """An ending, also by a name that only looks like one; None for anything else."""
        message = attributes.get("message", "")
        if tag in ENDINGS:
            return _Ending(tag, message)
        if tag in _AGAIN:
            return _Ending(_AGAIN[tag], message, made_again=True)
        if self._endings or tag in _KNOWN or not _BAD_TAG.search(tag):
            return None
        return _Ending("failure", message or f"<{tag}>")

    def _gather(self, text: list[str]) -> None:
        self._gathered, self._length = text, 0

    def _close(self, opened: str) -> None:
        if opened == "ending":
            self._end(self._endings.pop())
        elif opened == "output":
            self._gathered = None
        elif opened == "property":
            self._cases[-1].properties.add(_name(self._cases[-1].attributes), self._properties.pop())
            self._gathered = self._endings[-1].text if self._endings else None
        elif opened == "case":
            self._keep_attempts(self._cases.pop())
        elif opened == "suite":
            self._close_suite(self._suites.pop())

    def _end(self, ending: _Ending) -> None:
        self._gathered = self._endings[-1].text if self._endings else None
        if self._cases:
            self._cases[-1].endings.append(ending)
            return
        for found in self._suites[-1].each():
            found.outside[ending.kind] += 1
        self._report.records += 1
        name = self._suites[-1].attributes.get("name")
        row: Row = {"id": identifier(name or "(a suite without a name)"), "error": ending.told(), "passed": False}
        self._put({**row, "output": None, "suite": name})

    def _close_suite(self, suite: _Suite) -> None:
        is_pytest = self._is_pytest or suite.attributes.get("name") == _ITS_SUITE
        if suite.whole.cases:  # only of a suite that broke before its first test are these counted
            suite.whole.outside.subtract(suite.own.outside)
            suite.own.outside.clear()
        is_pytest = is_pytest and (bool(self._suites) or bool(suite.own.cases))  # its outermost tag counts nothing
        if compare(suite.name(), suite.attributes, suite.own, suite.whole, is_pytest=is_pytest):
            for numbers in suite.whole.places.values():
                self._made_again.update(numbers[:-1])
            suite.whole.again = suite.whole.repeated
        if self._suites:
            self._suites[-1].whole.add(suite.whole)
            return
        for numbers in suite.whole.places.values():
            if numbers[-1] in self._broke_late:  # what came before passed its call too, and was made again
                self._made_again.update(numbers[:-1])

    def _keep_attempts(self, case: _Case) -> None:
        """The attempts that were made before, then how the test ended: the worst of what is said of it."""
        for ending in case.endings:
            if ending.made_again:
                self._put(self._row(case, ending.kind, ending, None))
        last = [ending for ending in case.endings if not ending.made_again]
        worst = next((ending for kind in ENDINGS for ending in last if ending.kind == kind), None)
        kind = worst.kind if worst else "passed"
        # What was skipped took no time, which says nothing about the agent.
        row = self._row(case, kind, worst, None if kind == "skipped" else _milliseconds(case))
        if worst and worst.message.startswith(_TEARDOWN):
            self._broke_late.add(self._rows)
        for found in self._suites[-1].each() if self._suites else ():
            written = [ending.kind for ending in last if not ending.is_attribute]
            found.add_case(str(row["id"]), self._rows, kind, written or [kind])
            found.flaky += not last and bool(case.endings)
            self._note_subtests(found, case, last)
        self._put(row)

    def _note_subtests(self, found: Found, case: _Case, endings: list[_Ending]) -> None:
        said = case.properties.tags().get(_SUBTESTS, "").strip()
        found.subtests += int(said) if said.isascii() and said.isdigit() and len(said) <= 9 else 0
        if any(_SUBTEST.search(ending.message) or _SUBTEST.search("".join(ending.text)) for ending in endings):
            found.shows_subtests = True

    def _put(self, row: Row) -> None:
        self._aside.put(row, self._rows)
        self._rows += 1

    def _row(self, case: _Case, kind: str, ending: _Ending | None, latency: float | None) -> Row:
        self._report.records += 1
        self._report.skipped += kind == "skipped"
        unjudged = case.unknown if kind == "passed" else None
        self._report.unscored += unjudged is not None
        placed = {"file": case.attributes.get("file", ""), "status": "skipped" if kind == "skipped" else ""}
        return {
            "id": self._scenario(case.attributes),
            "passed": None if unjudged else kind == "passed",
            "error": ending.told() if ending and kind == "error" else None,
            "unjudged": unjudged,
            "output": "".join(case.output) or (ending.told() if ending else None),
            "latency_ms": latency,
            "suite": self._suites[-1].attributes.get("name") if self._suites else None,
            **case.properties.columns,
            "tags": tags({**{key: value for key, value in placed.items() if value}, **case.properties.tags()}),
        }

    def _scenario(self, attributes: dict[str, str]) -> str:
        """The class and the name; where there is no class, the suite."""
        suites = [name for suite in self._suites if (name := suite.attributes.get("name"))]
        home = attributes.get("classname") or attributes.get("class") or (suites[-1] if suites else "")
        name = _name(attributes)
        return identifier(f"{home}::{name}" if home else name)


def _name(attributes: dict[str, str]) -> str:
    return attributes.get("name") or "(no name)"


def _in_small_letters(tag: str, attributes: dict[str, str]) -> dict[str, str]:
    """The attributes with their names in small letters; one that is there twice and differs is refused."""
    found: dict[str, str] = {}
    for key, value in attributes.items():
        if found.setdefault(key.lower(), value) != value:
            refuse(f"<{tag}>: {key.lower()} stands here twice: {shown(found[key.lower()])} and {shown(value)}")
    return found


def _milliseconds(case: _Case) -> float | None:
    """The time in milliseconds; a time that cannot be read would let a slow test leave the percentiles.

    `1,234.5` is more than a thousand seconds and `0,5` half of one; of `1,234` nobody knows.
    """
    text = case.attributes.get("time", case.attributes.get("duration", "")).strip()
    if not text:
        return None
    whole, point, rest = text.replace(" ", "").partition(",")
    plain = text.replace(",", "") if "." in text else f"{whole}{point and '.'}{rest}"
    seconds = float(plain) if _SECONDS.fullmatch(text) else _LONGEST
    if seconds >= _LONGEST:
        name = _name(case.attributes)
        hint = "seconds are written with a point, such as 1.5; what nobody measured is left out"
        refuse(f"{name}: time: found {shown(text)}, wanted a number of seconds", hint=hint)
    return seconds * 1000


def _refuse_promptfoo() -> None:
    refuse(
        "promptfoo's JUnit XML does not say what must not happen, only that a test failed or did not",
        hint="write JSON: `promptfoo eval -o results.json`, or `promptfoo export eval latest -o results.json`",
    )
