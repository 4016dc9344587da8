"""DeepEval test runs (`.latest_run_full.json`, `test_run_*.json`) → rows: one per test case and conversation.

A trial passes when every metric that decides holds: metrics of the case, of its trace and of the spans in it, and the
expectations. `success` of a case is not believed by itself, because DeepEval starts it as true before any metric ran.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from highbar.importers import Row
from highbar.importers.documents import elements
from highbar.importers.naming import Trials, as_text, tags
from highbar.importers.reading import json
from highbar.importers.record import Record, refuse
from highbar.importers.report import Report
from highbar.importers.verdicts import Verdicts
from highbar.importers.writing import identifier

_CASES = ("testCases", "conversationalTestCases")
_WRAPPER = "testRunData"
_ARRAYS = frozenset({*_CASES, *(f"{_WRAPPER}.{name}" for name in _CASES)})
_SPANS = ("agentSpans", "llmSpans", "toolSpans", "retrieverSpans", "baseSpans")
_TOLD_BY = ("name", "input", "scenario", "turns")
_METADATA = ("category", "capability", "cluster")
_TOKENS = ("inputTokenCount", "outputTokenCount")
_READ = frozenset(
    {"name", "input", "actualOutput", "scenario", "turns", "order", "success", "metricsData", "expectationsData"}
    | {"metadata", "tags", "flaky", "trace", "completionTime", "tokenCost", *_TOKENS}
)
_WANTED = "wanted .deepeval/.latest_run_full.json, or test_run_….json from the results folder; a trace is none"


def read(path: str, report: Report) -> Iterator[Row]:
    """The rows of one test run. The file is read twice: the data set and the names that are shared come first."""
    survey = _Survey(path)
    trials = Trials()
    for _, case in elements(path, _ARRAYS):
        report.records += 1
        yield _row(case, survey, trials, report)


class _Survey:
    """What must be known before the first row: the inputs of each name, and which data set was run."""

    def __init__(self, path: str) -> None:
        inputs: defaultdict[str, set[str]] = defaultdict(set)
        self.suite: str | None = None
        keys: set[str] = set()
        with Path(path).open("rb") as stream:
            for place, text in json.parts(stream, _ARRAYS):
                key = place.removeprefix(f"{_WRAPPER}.")
                keys.add(key.removesuffix("[]"))
                if key == "datasetAlias":
                    self.suite = Record({key: json.decode(text)}, "the test run").text(key)
                elif key.endswith("[]"):
                    found = json.members(text)
                    case = Record({name: json.decode(found[name]) for name in _TOLD_BY if name in found}, key)
                    inputs[_name(case)].add(_digest(case))
        if not keys & {*_CASES, "metricsScores", "testPassed"}:
            refuse("this is no DeepEval test run: it has no test cases", hint=_WANTED)
        self._shared = {name for name, digests in inputs.items() if len(digests) > 1}

    def scenario(self, case: Record) -> str:
        """The name; where cases with different inputs share it (a parametrized test), with a mark of the input."""
        name = _name(case)
        return identifier(f"{name}#{_digest(case)}" if name in self._shared else name)


def _name(case: Record) -> str:
    return case.text("name") or refuse(f"{case.place}: found no name, wanted the name of the test case")


def _question(case: Record) -> str:
    """What tells cases of one name apart: the input, or the scenario of a conversation, or how the user began it."""
    if "turns" not in case:
        return case.text("input") or ""
    begun = (turn.text("content") for turn in case.records("turns") if turn.text("role") == "user")
    return case.text("scenario") or next(begun, None) or ""


def _digest(case: Record) -> str:
    return hashlib.sha256(_question(case).encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _row(case: Record, survey: _Survey, trials: Trials, report: Report) -> Row:
    scenario = survey.scenario(case)
    metadata = case.record("metadata") or Record({}, case.place)
    verdicts = _verdicts(case, report)
    verdicts.count(report)
    report.unread.update(key for key in case if key not in _READ and key in case)
    labels = {label: "true" for label in case.items("tags") if isinstance(label, str)}
    labels |= {"flaky": "true"} if case.flag("flaky") else {}
    return {
        "id": scenario,
        "trial": trials.number(scenario),
        **{name: metadata.text(name) for name in _METADATA},
        **verdicts.columns(),
        "error": _error(case),
        "input": _question(case) or None,
        "output": _output(case),
        "latency_ms": _latency(case),
        "tokens_used": _tokens(case),
        "cost_usd": case.number("tokenCost"),
        "suite": survey.suite,
        "tags": {**labels, **(tags(metadata.values, skip=_METADATA) or {})} or None,
    }


def _verdicts(case: Record, report: Report) -> Verdicts:
    verdicts = Verdicts()
    for metric in case.records("metricsData"):
        _add(metric, "", verdicts, report)
    trace = case.record("trace")
    if trace is not None:
        # The trace repeats the case's own metrics; what it alone has is added.
        own = {metric.text("name") for metric in case.records("metricsData")}
        for metric in trace.records("metricsData"):
            if metric.text("name") not in own:
                _add(metric, "", verdicts, report)
        for span in (span for kind in _SPANS for span in trace.records(kind)):
            for metric in span.records("metricsData"):
                _add(metric, f"{span.text('name') or 'span'}: ", verdicts, report)
    _add_expectations(case.record("expectationsData"), verdicts)
    if case.flag("success") is False:
        verdicts.fail()
    return verdicts


def _add(metric: Record, prefix: str, verdicts: Verdicts, report: Report) -> None:
    name = prefix + (metric.text("name") or refuse(f"{metric.place}: found no name, wanted the name of the metric"))
    if metric.flag("flaky"):
        verdicts.add_score(name, metric.number("score"))
        report.unread["verdicts of flaky metrics, which decide nothing"] += 1
    elif metric.text("error"):
        verdicts.add_broken(name)
    else:
        judge = metric.text("evaluationModel")
        verdicts.add(name, verdict=metric.flag("success"), score=metric.number("score"), judge=judge)


def _add_expectations(expectations: Record | None, verdicts: Verdicts) -> None:
    """MUST is an expected behavior, MUST_NOT what must not happen; what could not be evaluated was not seen."""
    if expectations is None:
        return
    for verdict in expectations.records("verdicts"):
        condition = verdict.text("condition") or verdict.place
        status = verdict.text("status")
        if status not in ("pass", "fail"):
            verdicts.add_broken(condition)
        elif verdict.text("kind") == "MUST_NOT":
            verdicts.forbid(condition, happened=status == "fail")
        else:
            verdicts.add(condition, verdict=status == "pass")
    if expectations.text("error"):
        verdicts.add_broken("Expectations")
    elif expectations.flag("success") is False:
        verdicts.fail()


def _error(case: Record) -> str | None:
    """Why the agent crashed, from its trace; a judge's error is not the agent's."""
    trace = case.record("trace")
    if trace is None or trace.text("status") != "ERRORED":
        return None
    errors = (span.text("error") for kind in _SPANS for span in trace.records(kind))
    return next(filter(None, errors), None) or "the trace ended with an error"


def _output(case: Record) -> str | None:
    if "turns" not in case:
        return as_text(case.value("actualOutput"))
    said = [turn.text("content") for turn in case.records("turns") if turn.text("role") == "assistant"]
    return said[-1] if said else None


def _latency(case: Record) -> float | None:
    seconds = case.number("completionTime")
    if seconds is not None:
        return seconds * 1000
    trace = case.record("trace")
    start, end = (_time(trace, key) if trace else None for key in ("startTime", "endTime"))
    if trace is None or start is None or end is None:
        return None
    if end < start:
        refuse(f"{trace.place}: it ends before it starts: {trace.text('startTime')}, {trace.text('endTime')}")
    return (end - start).total_seconds() * 1000


def _time(trace: Record, key: str) -> datetime | None:
    text = trace.text(key)
    try:
        return None if text is None else datetime.fromisoformat(text)
    except ValueError:
        refuse(f"{trace.place}: {key}: found {text!r}, wanted a time like 2026-05-12T03:01:00.000Z")


def _tokens(case: Record) -> int | None:
    """The agent's tokens: of the case, or of the trace where every call to a model says how many it took."""
    trace = case.record("trace")
    sources = [case] if "inputTokenCount" in case or trace is None else trace.records("llmSpans")
    counts = [source.whole(key) for source in sources for key in _TOKENS]
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None
