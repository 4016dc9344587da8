"""JUnit XML of any test runner → rows: one per attempt at a test case.

A failure is a failed trial, an error is an error, and a skipped test has not passed. Test cases of one class and name
are trials of one scenario, and so are the repetitions of pytest-repeat and repeated attempts by a runner
(`flakyFailure`, `rerunFailure`, or more test cases than the suite counts): a test that passed at the third attempt
passed one time in three. The counts of a suite must match its test cases (`junit_counts`, `junit_node`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from highbar.importers import Row, junit_outcomes
from highbar.importers.junit_cases import Ending, OpenCase
from highbar.importers.junit_counts import ENDINGS, ListedTests
from highbar.importers.junit_suites import OpenSuite, SuiteEnds
from highbar.importers.junit_writers import class_name, is_breakage_of_jest
from highbar.importers.limits import LONGEST_SECONDS, LONGEST_TEXT
from highbar.importers.naming import Trials
from highbar.importers.reading import xml
from highbar.importers.record import refuse, shown
from highbar.importers.report import Report
from highbar.importers.row_buffer import RowBuffer
from highbar.language.tool_names import flat_tags, scenario_id

OUTCOME = "outcome"
"""The only judge of a report, as `judged_by` names it: the runner, which records how each test ended."""

_REPEATED_TAGS = {"flakyfailure": "failure", "flakyerror": "error", "rerunfailure": "failure", "rerunerror": "error"}
_SUITES = {"testsuites", "testsuite"}
_KNOWN = {
    *_SUITES, "testcase", "properties", "property", "system-out", "system-err", "stacktrace", "attachments",
    "attachment", "description", "steps", "step",
}  # fmt: skip
_TEST_TAG = re.compile(r"test|case|spec|scenario|example|result")
_NAMES = frozenset({"name", "classname"})
_SUBTESTS = "subtests"
_SECONDS = re.compile(
    r"[0-9]{1,3}(,[0-9]{3})+\.[0-9]+|[0-9]{1,9}(\.[0-9]*)?([eE][-+]?[0-9]{1,2})?|\.[0-9]+"
    r"|0,[0-9]+|[0-9]{1,9},([0-9]{1,2}|[0-9]{4,})"  # a comma that is not before three digits is a decimal one
)
_TEARDOWN = "failed on teardown with"  # how pytest reports a test whose call had passed before
_SUBTEST = re.compile(r"subtest", re.IGNORECASE)
_PROMPTFOO, _ITS_PROMPTS = "promptfoo", re.compile(r"\[.*\] prompt [0-9]+", re.DOTALL)
_AS_JUNIT = "have the runner write each test as a <testcase>, and how it ended as <failure>, <error> or <skipped>"


def read(path: str, report: Report) -> Iterator[Row]:
    """The rows of one file. They are buffered, because only the end of a suite shows which attempts were repeated."""
    _settle_judges(report)
    with RowBuffer() as buffer, Path(path).open("rb") as stream:
        ends = SuiteEnds(report)
        _JUnitReader(report, buffer, ends).read(stream)
        trials = Trials()
        for row, number in buffer:
            finished = ends.finished(row, number)
            finished["trial"] = trials.number(str(finished["id"]))
            yield finished


def _settle_judges(report: Report) -> None:
    unknown = [demand.scorer for demand in report.judged_by if demand.scorer != OUTCOME]
    if unknown:
        refuse(
            "judge.unknown-scorer",
            f"the policy has this file judged by {unknown[0]!r}; the one judge of a JUnit report is {OUTCOME!r}",
            hint="leave junit out of judged_by",
        )
    report.scorers[OUTCOME] = "judges"
    report.judges = (OUTCOME,)


class _JUnitReader:
    """Follows the tags of one document, and puts its rows into a buffer, numbered in order."""

    def __init__(self, report: Report, buffer: RowBuffer, ends: SuiteEnds) -> None:
        self._report = report
        self._buffer = buffer
        self._ends = ends
        self._rows = 0
        self._suites: list[OpenSuite] = []
        self._cases: list[OpenCase] = []
        self._endings: list[Ending] = []
        self._others: list[tuple[str, list[str]]] = []  # other tags in a test case, with their texts
        self._properties: list[tuple[str, str, list[str]]] = []  # name, value and texts
        self._tags: list[str] = []  # the role of every open tag
        self._texts: list[str] | None = None  # where text goes now
        self._length = 0

    def read(self, stream: IO[bytes]) -> None:
        """Put all rows into the buffer."""
        for event in xml.events(stream):
            if event.kind == "start":
                self._start(event.text, _in_lower_case(event.text, event.attributes))
            elif event.kind == "end":
                self._close(self._tags.pop())
            elif event.kind == "comment":
                if len(self._tags) == 1:
                    self._ends.node.read_comment(event.text)
            elif self._texts is not None and self._length < LONGEST_TEXT:
                self._texts.append(event.text)
                self._length += len(event.text)
        for row in self._ends.unlisted():
            self._put(row)
        self._ends.warn()

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if not self._tags:
            self._check_root(tag, attributes)
        self._ends.see(tag, attributes, len(self._tags))
        self._tags.append(self._open(tag.lower(), attributes))

    def _check_root(self, tag: str, attributes: dict[str, str]) -> None:
        if tag.lower() not in _SUITES:
            refuse("import.other-file", f"this is no JUnit XML: found <{tag}>, wanted <testsuites> or <testsuite>")
        if attributes.get("name") == _PROMPTFOO:
            _refuse_promptfoo()

    def _open(self, tag: str, attributes: dict[str, str]) -> str:
        """Open a tag, and return its role."""
        for around in self._endings[-1:]:
            around.has_tags = True
        if tag in _SUITES:
            if tag == "testsuite" and _ITS_PROMPTS.fullmatch(attributes.get("name", "")):
                _refuse_promptfoo()
            self._suites.append(OpenSuite(tag, attributes))
            return "suite"
        if tag == "testcase":
            self._cases.append(OpenCase(attributes))
            self._cases[-1].read_attributes()
            return "case"
        if (ending := self._ending(tag, attributes)) is not None:
            self._endings.append(ending)
            self._open_texts(ending.text)
            return "ending"
        return self._open_inner(tag, attributes)

    def _open_inner(self, tag: str, attributes: dict[str, str]) -> str:
        """Open a tag that is neither a suite, a test case nor an ending."""
        if tag == "system-out" and self._cases and not self._endings:
            self._cases[-1].read_inner(tag, attributes)
            self._open_texts(self._cases[-1].output)
            return "output"
        if tag == "property":
            name, value = (attributes.pop(key, "") for key in ("name", "value"))
            for case in self._cases[-1:]:
                case.read_inner(tag, attributes)
            self._properties.append((name, value, []))
            self._open_texts(self._properties[-1][2])
            return "property"
        return "" if self._endings else self._open_other(tag, attributes)

    def _open_other(self, tag: str, attributes: dict[str, str]) -> str:
        """Look into a tag that is not read: what says that a test did not pass leaves the test undecided."""
        if tag not in _KNOWN:
            self._skip(tag, attributes)
        if not self._cases:
            return ""
        self._cases[-1].read_inner(tag, attributes)
        if tag in _KNOWN:
            return ""
        self._others.append((tag, _value(attributes)))
        self._open_texts(self._others[-1][1])
        return "other"

    def _skip(self, tag: str, attributes: dict[str, str]) -> None:
        """Skip an unknown tag, or refuse one that may be a test or say how one ended."""
        in_suite = self._tags[-1] == "suite"
        says_outcome = tag in junit_outcomes.SAYS_OUTCOME or not attributes.keys().isdisjoint(
            junit_outcomes.SAYS_OUTCOME
        )
        is_named = in_suite and not attributes.keys().isdisjoint(_NAMES)
        if says_outcome or is_named or (not self._cases and _TEST_TAG.search(tag)):
            named = f" ({name})" if (name := attributes.get("name")) else ""
            refuse(
                "import.unknown-key",
                f"found <{tag}>{named}, wanted <testcase>: what it says of a test would be lost",
                hint=_AS_JUNIT,
            )
        if in_suite or self._cases:
            self._report.warn(f"not read: <{tag}> in a {'suite' if in_suite else 'test case'}")

    def _ending(self, tag: str, attributes: dict[str, str]) -> Ending | None:
        """The ending that a tag means, even if its name only resembles that of an ending; None for other tags."""
        message = attributes.get("message", "")
        if tag in ENDINGS:
            return Ending(tag, message)
        if tag in _REPEATED_TAGS:
            return Ending(_REPEATED_TAGS[tag], message, repeated=True)
        kind = None if self._endings or tag in _KNOWN else junit_outcomes.tag_ending(tag)
        if kind is None or (kind == junit_outcomes.UNCLEAR and self._cases):  # then the test is undecided
            return None
        return Ending("skipped" if kind == "skipped" else "failure", message, tag=tag, text=_value(attributes))

    def _open_texts(self, text: list[str]) -> None:
        self._texts, self._length = text, 0

    def _resume_texts(self) -> None:
        """Have text go to the innermost open tag that has any."""
        opened = [*(text for _, text in self._others), *(ending.text for ending in self._endings)]
        self._texts = opened[-1] if opened else None

    def _close(self, opened: str) -> None:
        if opened == "ending":
            self._end(self._endings.pop())
        elif opened == "output":
            self._resume_texts()
        elif opened == "property":
            name, attribute, texts = self._properties.pop()
            if self._cases:
                self._cases[-1].add_property(name, attribute, "".join(texts))
            else:
                self._suites[-1].properties.append((name, attribute or "".join(texts)))
            self._resume_texts()
        elif opened == "other":
            tag, texts = self._others.pop()
            if junit_outcomes.tag_outcome(tag, text := "".join(texts)):
                self._cases[-1].doubt_tag(tag, text)
            self._resume_texts()
        elif opened == "case":
            self._put_trials(self._cases.pop())
        elif opened == "suite":
            suite = self._suites.pop()
            self._ends.close(suite, self._suites[-1] if self._suites else None)

    def _end(self, ending: Ending) -> None:
        self._resume_texts()
        if self._cases:
            self._cases[-1].end(ending)
            return
        if ending.outcome() is None:
            return
        for found in self._suites[-1].each():
            found.outside[ending.kind] += 1
            found.bad += 1
        self._report.records += 1
        name = self._suites[-1].attributes.get("name")
        row: Row = {"id": scenario_id(name or "(a suite without a name)"), "error": ending.reason(), "passed": False}
        self._put({**row, "output": None, "suite": name})

    def _put_trials(self, case: OpenCase) -> None:
        """Put the rows of earlier attempts, then the row of the last one, with the worst of its endings."""
        for ending in case.endings:
            if ending.repeated:
                self._put(self._row(case, ending.kind, ending, None))
        last = [ending for ending in case.endings if not ending.repeated]
        worst = next((ending for kind in ENDINGS for ending in last if ending.kind == kind), None)
        kind = worst.kind if worst else "passed"
        # The time of a skipped test says nothing about the agent.
        row = self._row(case, kind, worst, None if kind == "skipped" else _milliseconds(case))
        if worst and worst.message.startswith(_TEARDOWN):
            self._ends.broke_late.add(self._rows)
        if self._suites:
            self._note_case(case, row, kind, last)
        self._put(row)

    def _note_case(self, case: OpenCase, row: Row, kind: str, endings: list[Ending]) -> None:
        """Add a test case to what its suite lists."""
        suite = self._suites[-1]
        written = [ending.kind for ending in endings if not ending.is_attribute]
        scenario = None if self._ends.is_nameless_attempt(suite, case.attributes) else str(row["id"])
        for found in suite.each():
            found.add_case(scenario, self._rows, kind, written or [kind])
            found.bad += not row["passed"]
            found.flaky += not endings and bool(case.endings)
            found.breakages += kind == "failure" and is_breakage_of_jest(case.attributes)
            found.idle += [self._rows] if row["passed"] and not row["latency_ms"] else []
            self._note_subtests(found, case, endings)
        kinds = {ending.kind for ending in endings}
        for part in (suite.node, self._ends.node.cases):
            part.add_case(bad=bool(kinds - {"skipped"}), left_out="skipped" in kinds)

    def _note_subtests(self, found: ListedTests, case: OpenCase, endings: list[Ending]) -> None:
        number = case.tags().get(_SUBTESTS, "").strip()
        found.subtests += int(number) if number.isascii() and number.isdigit() and len(number) <= 9 else 0
        if any(_SUBTEST.search(ending.message) or _SUBTEST.search("".join(ending.text)) for ending in endings):
            found.has_subtests = True

    def _put(self, row: Row) -> None:
        self._buffer.put(row, self._rows)
        self._rows += 1

    def _row(self, case: OpenCase, kind: str, ending: Ending | None, latency: float | None) -> Row:
        self._report.records += 1
        self._report.skipped += kind == "skipped"
        unjudged = case.unknown if kind == "passed" else None
        self._report.unscored += unjudged is not None
        placed = {"file": case.attributes.get("file", ""), "status": "skipped" if kind == "skipped" else ""}
        return {
            "id": self._scenario(case.attributes),
            "passed": None if unjudged else kind == "passed",
            "error": ending.reason() if ending and kind == "error" else None,
            "unjudged": unjudged,
            "output": "".join(case.output) or (ending.reason() if ending else None),
            "latency_ms": latency,
            "suite": self._suites[-1].attributes.get("name") if self._suites else None,
            **case.columns,
            "tags": flat_tags({**{key: value for key, value in placed.items() if value}, **case.tags()}),
        }

    def _scenario(self, attributes: dict[str, str]) -> str:
        """The class and the name; without a class, the suite and the name."""
        suites = [name for suite in self._suites if (name := suite.attributes.get("name"))]
        prefix = class_name(attributes, suites, is_node=self._ends.node.is_node)
        name = attributes.get("name") or "(no name)"
        return scenario_id(f"{prefix}::{name}" if prefix else name)


def _value(attributes: dict[str, str]) -> list[str]:
    """The value of a tag that has it as an attribute, as its first text; beside a name, it is that of the name."""
    written = (attributes.get(key, "") for key in ("value", "count") if "name" not in attributes)
    return [value for value in written if value.strip()]


def _in_lower_case(tag: str, attributes: dict[str, str]) -> dict[str, str]:
    """The attributes with names in lower case; refuses two of one name with different values."""
    found: dict[str, str] = {}
    for key, value in attributes.items():
        if found.setdefault(key.lower(), value) != value:
            refuse(
                "import.duplicate",
                f"<{tag}>: {key.lower()} occurs twice: {shown(found[key.lower()])} and {shown(value)}",
            )
    return found


def _milliseconds(case: OpenCase) -> float | None:
    """The time in milliseconds. Refuses an unreadable time: without it, a slow test would be absent in percentiles.

    `1,234.5` is more than a thousand seconds and `0,5` is half a second; `1,234` is ambiguous.
    """
    written = (case.attributes.get(key, "").strip() for key in ("time", "duration"))
    text = next(filter(None, written), None)
    if not text:
        return None
    whole, point, rest = text.replace(" ", "").partition(",")
    plain = text.replace(",", "") if "." in text else f"{whole}{point and '.'}{rest}"
    seconds = float(plain) if _SECONDS.fullmatch(text) else LONGEST_SECONDS
    if seconds >= LONGEST_SECONDS:
        name = case.name()
        hint = "seconds are written with a point, such as 1.5; what nobody measured is left out"
        refuse("import.wrong-value", f"{name}: time: found {shown(text)}, wanted a number of seconds", hint=hint)
    return seconds * 1000


def _refuse_promptfoo() -> None:
    refuse(
        "import.lossy-form",
        "promptfoo's JUnit XML does not say what must not happen, only that a test failed or did not",
        hint="write JSON: `promptfoo eval -o results.json`, or `promptfoo export eval latest -o results.json`",
    )
