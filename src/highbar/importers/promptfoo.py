"""promptfoo results (`-o results.json`, export versions 1 to 4, and `-o results.jsonl`) → rows: one per result.

`failureReason` tells an error from a failed assertion. Assertions become behaviors; negative ones (`not-…`) and those
of red-team plugins become must-nots, so that one which failed fails the trial even where a threshold let the test pass.
A result that no assertion looked at is not judged, whatever `success` says.
"""

from __future__ import annotations

import hashlib
import json as json_text
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

from highbar import importers
from highbar.importers import Row, signs
from highbar.importers.aside import Aside
from highbar.importers.naming import Trials, as_text, means_correct, score_column, tags
from highbar.importers.reading import json
from highbar.importers.record import Record, refuse
from highbar.importers.report import Report
from highbar.importers.writing import identifier

NEWEST = 4
"""The newest version of the export that is known."""

_ARRAYS = frozenset({"results", "results.results", "data.results", "data.results.results"})
_NONE, _ASSERTION, _ERROR = 0, 1, 2
_UNKNOWN = "assertion"
_RED_TEAM = "promptfoo:redteam:"
_FROM_METADATA = ("category", "capability", "cluster")
_LONGEST_TAG = 200
_LONGEST_NAME = 60
_NUMBERS = (int, float, bool)


def read(path: str, report: Report) -> Iterator[Row]:
    """The rows of one export. They wait for the last: only then is it known which tests share a name."""
    with Aside() as aside, Path(path).open("rb") as stream:
        _refuse_tables(stream)
        names = _Names()
        keep = _read_lines if _is_lines(stream) else _read_document
        suite = keep(stream, aside, names, report)
        trials = Trials()
        for row, (test, column) in aside:
            row["id"] = names.of(test, column)
            row["trial"] = trials.number(row["id"])
            row["suite"] = suite
            yield row


def _refuse_tables(stream: IO[bytes]) -> None:
    """CSV and XML do not tell a must-not from anything else that was asserted, nor an error from a failure."""
    start = stream.read(importers.HEAD)
    stream.seek(0)
    for form, sign in (("CSV", signs.PROMPTFOO_TABLE), ("XML", signs.PROMPTFOO_XML)):
        if re.search(sign, start):
            hint = "write JSON: `promptfoo eval -o results.json`, or `promptfoo export eval latest -o results.json`"
            refuse(f"promptfoo's {form} does not say what was asserted", hint=hint)


def _is_lines(stream: IO[bytes]) -> bool:
    """Whether this is JSONL: its first line is a result by itself."""
    line = stream.readline(json.LARGEST_VALUE)
    stream.seek(0)
    return b'"results"' not in line[:4096] and line.rstrip().endswith(b"}") and len(line.strip()) > 1


def _read_lines(stream: IO[bytes], aside: Aside, names: _Names, report: Report) -> str | None:
    """The results of a JSONL file, kept aside; it does not name its suite."""
    for number, line in json.lines(stream):
        report.records += 1
        _keep(_Result(json.decode(line, number), f"line {number}", report, trusted=False), aside, names)
    return None


def _read_document(stream: IO[bytes], aside: Aside, names: _Names, report: Report) -> str | None:
    """The results of a JSON document, kept aside, and what its suite is called."""
    around: dict[str, Any] = {}
    for place, text in json.parts(stream, _ARRAYS):
        key = place.removeprefix("data.")
        if key in ("results[]", "results.results[]"):
            report.records += 1
            trusted = key == "results[]"  # version 1 does not record its assertions
            _keep(_Result(json.decode(text), f"result {report.records}", report, trusted=trusted), aside, names)
        elif key in ("version", "results.version", "stats", "results.stats", "_resultsLoaded"):
            around[key] = json.decode(text)
        elif key == "config" and not json.is_null(text):
            around[key] = {"description": json.decode(json.members(text).get("description", b"null"))}
    document = Record(around, "the file")
    _refuse_incomplete(document, report)
    config = document.record("config")
    return config.text("description") if config else None


def _keep(result: _Result, aside: Aside, names: _Names) -> None:
    aside.put(result.row(), (names.note(result.test()), names.note_column(result.column)))


def _refuse_incomplete(document: Record, report: Report) -> None:
    versions = [document.whole(key) or 0 for key in ("version", "results.version")]
    if max(versions) > NEWEST:
        report.warn(f"export version {max(versions)} is newer than {NEWEST}; what it shares with that is read")
    if document.flag("_resultsLoaded") is False and not report.records:
        refuse("the results were not loaded when this file was written", hint="write it with `promptfoo eval -o FILE`")
    stats = document.record("results.stats") or document.record("stats")
    counted = sum(stats.whole(key) or 0 for key in ("successes", "failures", "errors")) if stats else 0
    if counted > report.records:
        refuse(f"the file holds {report.records} results, and its own statistics speak of {counted}")


class _Names:
    """Which test a result is of, in words, and which of several prompts and providers ran it."""

    def __init__(self) -> None:
        self._tests: defaultdict[str, set[str]] = defaultdict(set)
        self._providers: set[str] = set()
        self._prompts: set[str] = set()

    def note(self, test: tuple[str, str]) -> tuple[str, str]:
        """Take the name of a test and the digest of what it asks and demands."""
        self._tests[test[0]].add(test[1])
        return test

    def note_column(self, column: tuple[str, str]) -> tuple[str, str]:
        """Take the provider and the prompt of a result."""
        self._providers.add(column[0])
        self._prompts.add(column[1])
        return column

    def of(self, test: tuple[str, str], column: tuple[str, str]) -> str:
        """The id: the test; its digest where another has the same name; provider and prompt where there are several."""
        name, digest = test
        provider, prompt = column
        parts = [provider] if len(self._providers) > 1 else []
        parts += [_cut(prompt)] if len(self._prompts) > 1 else []
        unique = name if len(self._tests[name]) == 1 and len(name) <= _LONGEST_NAME else f"{_cut(name)}#{digest}"
        return identifier(f"{unique} [{' | '.join(parts)}]" if parts else unique)


class _Result:
    """One result of an export."""

    def __init__(self, values: object, place: str, report: Report, *, trusted: bool) -> None:
        self._top = Record(values, place)
        self._place = place
        self._report = report
        self._trusted = trusted
        self._test = _object(self._top.value("testCase"))
        self._response = _object(self._top.value("response"))
        self._grading = _object(self._top.value("gradingResult"))
        self._assertions = list(self._each_assertion())
        prompt = _object(self._top.value("prompt"))
        self._asked = as_text(prompt.get("raw"))
        self.column = self._provider(), as_text(prompt.get("label") or prompt.get("display")) or ""

    def test(self) -> tuple[str, str]:
        """The name of the test, and a digest that only repetitions of it share."""
        variables = self._test.get("vars", self._top.value("vars"))
        described = self._test.get("description")
        digest = _digest((described, variables, self._test.get("assert")))
        if isinstance(described, str) and described:
            return described, digest
        only = next(iter(variables.values())) if isinstance(variables, dict) and len(variables) == 1 else variables
        return as_text(only) or "test", digest

    def _provider(self) -> str:
        provider = self._top.value("provider")
        named = provider.get("label") or provider.get("id") if isinstance(provider, dict) else provider
        return named if isinstance(named, str) else ""

    def row(self) -> Row:
        """The columns; who the test is comes later, in the places that are kept for it."""
        metadata = {**_flat(self._test.get("metadata")), **_flat(self._top.value("metadata"))}
        behaviors, must_not = self._verdicts()
        error = self._error()
        right = [seen for name, seen in behaviors.items() if means_correct(name)]
        score = self._top.number("score")
        attacked = any(kind.startswith(_RED_TEAM) for kind, *_ in self._assertions)
        return {
            "id": None,
            "trial": None,
            "category": "adversarial" if attacked else None,
            **{name: metadata[name] for name in _FROM_METADATA if isinstance(metadata.get(name), str)},
            "expected_behaviors": list(behaviors) or None,
            "behaviors": [name for name, seen in behaviors.items() if seen] if behaviors else None,
            "must_not": must_not or None,
            "passed": self._passed(judged=bool(behaviors), broken=error is not None),
            "correct": all(right) if right else None,
            "error": error,
            "output": as_text(self._response.get("output")) or "",  # nothing is an answer that says nothing
            "input": self._asked,
            **self._measures(),
            "quality_score": score if score is not None and 0 <= score <= 1 and self._assertions else None,
            **self._named_scores(),
            "tags": self._tags(metadata),
        }

    def _tags(self, metadata: Row) -> dict[str, str] | None:
        provider, prompt = self.column
        known = {"provider": provider, "prompt": prompt if len(prompt) <= _LONGEST_TAG else ""}
        variables = _flat(self._top.value("vars"))
        return tags({**{key: text for key, text in known.items() if text}, **variables, **metadata}, _FROM_METADATA)

    def _each_assertion(self) -> Iterator[tuple[str, str, bool]]:
        """Each assertion that was checked: its type, its name, and whether it held. Sets are there by their parts."""
        for component in Record(self._grading, self._place).items("componentResults"):
            if component is None:
                continue
            checked = Record(component, f"{self._place}: componentResults")
            assertion = _object(checked.value("assertion"))
            kind = assertion.get("type")
            if kind or "componentResults" not in checked:
                yield as_text(kind) or _UNKNOWN, _name_of(assertion), checked.flag("pass") is True

    def _verdicts(self) -> tuple[dict[str, bool], dict[str, bool]]:
        """Behaviors and whether they were seen; must-nots and whether they happened. The same name twice: the worse.

        An assertion that failed and does not say what it is may have been a must-not, and counts as one.
        """
        behaviors: dict[str, bool] = {}
        must_not: dict[str, bool] = {}
        for kind, name, held in self._assertions:
            if kind.startswith(("not-", _RED_TEAM)) or (kind == _UNKNOWN and not held):
                must_not[name] = must_not.get(name, False) or not held
            else:
                behaviors[name] = behaviors.get(name, True) and held
        return behaviors, must_not

    def _passed(self, *, judged: bool, broken: bool) -> bool | None:
        """False where promptfoo says so; its true counts where something demanded was seen.

        Where only must-nots were checked it is left to whether there is an output at all.
        """
        success = self._top.flag("success")
        if success is False or self._grading.get("pass") is False or broken:
            return False
        if success is True and (judged or self._trusted):
            return True
        self._report.unscored += not self._assertions
        return None

    def _error(self) -> str | None:
        """What stopped the trial; a failed assertion stops nothing."""
        reason = self._top.value("failureReason")
        if reason in (_NONE, _ASSERTION) and not isinstance(reason, bool):
            return None
        told = as_text(self._top.value("error")) or as_text(self._response.get("error"))
        if reason is None:  # before version 3: what was graded is no error
            return None if self._grading else told
        if reason != _ERROR:
            self._report.warn(f"failureReason {as_text(reason)} is not known; it is read as an error")
        return told or "an error without a message"

    def _measures(self) -> Row:
        """Latency, tokens and cost. From promptfoo's cache an answer takes no time, which says nothing of the agent."""
        used = _object(self._response.get("tokenUsage", self._top.value("tokenUsage")))
        usage = Record(used, f"{self._place}: tokenUsage")
        cached = self._response.get("cached") is True
        if cached:
            self._report.warn("some answers came from promptfoo's cache; they have no latency (run with --no-cache)")
        return {
            "latency_ms": None if cached else self._top.number("latencyMs"),
            "tokens_used": usage.whole("total") or usage.whole("cached") or None,
            "cost_usd": self._top.number("cost") or None,
        }

    def _named_scores(self) -> Row:
        named = _flat(self._top.value("namedScores"))
        if not named:
            return named
        scores = Record(named, f"{self._place}: namedScores")
        return {score_column(name): scores.number(name) for name in scores}


def _object(value: object) -> dict[str, Any]:
    """An object; an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def _flat(value: object) -> Row:
    """The members of an object that can be sliced by: numbers and short texts, but not promptfoo's own (`_…`)."""
    if not value or type(value) is not dict:
        return {}
    return {
        key: member
        for key, member in value.items()
        if (len(member) <= _LONGEST_TAG if type(member) is str else type(member) in _NUMBERS) and key[:1] != "_"
    }


def _digest(value: object) -> str:
    """A short mark of a value, the same in whatever order its keys stand."""
    try:
        text = msgspec.json.encode(value, order="sorted")
    except UnicodeEncodeError:  # half of a surrogate pair
        text = json_text.dumps(value, sort_keys=True).encode()
    return hashlib.sha256(text).hexdigest()[:8]


def _name_of(assertion: dict[str, Any]) -> str:
    """The metric that the assertion names, else its type and what it looks for."""
    metric = assertion.get("metric")
    if metric:
        return as_text(metric) or _UNKNOWN
    plain = (as_text(assertion.get("type")) or _UNKNOWN).removeprefix(_RED_TEAM).removeprefix("not-")
    value = as_text(assertion.get("value"))
    return f"{plain}: {_cut(value)}" if value else plain


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"
