"""DeepEval test runs (`.latest_run_full.json`, `test_run_*.json`) → rows: one per test case and conversation.

A trial passes if every deciding metric passes (metrics of the case, of its trace and of the trace's spans) and so do
the expectations. `success` alone proves nothing, because DeepEval sets it to true before any metric has run.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from highbar.columns import SCENARIO_TEXTS
from highbar.importers import Row
from highbar.importers.json_records import array_records, file_parts
from highbar.importers.limits import MOST_TRIALS
from highbar.importers.naming import Trials, short_digest
from highbar.importers.reading import json
from highbar.importers.record import Record, Statuses, refuse
from highbar.importers.report import Report
from highbar.importers.scorers import Scorers
from highbar.importers.tool_calls import calls_in
from highbar.importers.verdicts import Verdicts
from highbar.language.tool_names import flat_tags, scenario_id, text_or_json

_CASES = ("testCases", "conversationalTestCases")
_RUN_KEY = "testRunData"
_ARRAYS = frozenset({*_CASES, *(f"{_RUN_KEY}.{name}" for name in _CASES)})
_SPANS = ("agentSpans", "llmSpans", "toolSpans", "retrieverSpans", "baseSpans")
_TOTALS = ("testPassed", "testFailed", "metricsScores")
_REPETITION = re.compile(r"(?s)(?P<test>[^\[]*)\[(?:(?P<parameters>.*)-)?(?P<run>\d{1,9})-(?P<of>\d{1,9})\]")
_CALLED = "toolsCalled"
_EXPECTATIONS = "Expectations"
_STATUSES = Statuses(frozenset({"SUCCESS"}), frozenset({"ERRORED", "ERROR"}), "SUCCESS or ERRORED")
_TOKENS = ("inputTokenCount", "outputTokenCount")
_READ = frozenset(
    {"name", "input", "actualOutput", "scenario", "turns", "order", "success", "metricsData", "expectationsData"}
    | {"metadata", "tags", "flaky", "trace", "completionTime", "tokenCost", *_TOKENS}
)
_ABSENT = "tests that crashed before their assertion are not in a DeepEval file; a suite in the policy notices that"
_WANTED = "wanted .deepeval/.latest_run_full.json, or test_run_….json from the results folder; a trace is none"


def read(path: str, report: Report) -> Iterator[Row]:
    """The rows of one test run. Reads the file twice: judges and shared names must be known before the first row."""
    survey = _DeepEvalSurvey(path, report)
    trials = Trials()
    for _, case in array_records(path, _ARRAYS):
        report.records += 1
        yield _row(case, survey, trials, report)
    yield from survey.repeats.missing(trials, report)
    report.warn(_ABSENT)


class _DeepEvalSurvey:
    """What must be known before the first row: who judges, which names have several inputs, and the data set."""

    def __init__(self, path: str, report: Report) -> None:
        self.scorers = Scorers("deepeval", report)
        self.suite: str | None = None
        inputs: defaultdict[str, set[str]] = defaultdict(set)
        judged: list[tuple[str, str, frozenset[str]]] = []
        totals = _TestRunTotals()
        keys: set[str] = set()
        for place, text in file_parts(path, _ARRAYS):
            key = place.removeprefix(f"{_RUN_KEY}.")
            keys.add(key.removesuffix("[]"))
            if key == "datasetAlias":
                self.suite = Record({key: json.decode_value(text)}, "the test run").text(key)
            elif key in _TOTALS:
                totals.declared[key] = json.decode_value(text)
            elif key.endswith("[]"):
                case = Record(json.decode_value(text), f"{key.removesuffix('[]')}[{totals.cases}]")
                inputs[_name(case)].add(_digest(case))
                judged.append((_name(case), _digest(case), self._declare(case)))
                totals.add(case)
        if not keys & {*_CASES, "metricsScores", "testPassed"}:
            refuse("import.other-file", "this is no DeepEval test run: it has no test cases", hint=_WANTED)
        totals.compare()
        self.repeats = _RepeatedTests({name: min(digests) for name, digests in inputs.items() if len(digests) == 1})
        self._shared = {name for name, digests in inputs.items() if len(digests) > 1}
        for name, digest, judges in judged:
            for judge in judges:
                self.scorers.expect(self._scenario(name, digest), judge)
        self.scorers.settle()

    def scenario(self, case: Record) -> str:
        """The name without the number of the run; with a digest of the input if cases with other inputs share it."""
        return self._scenario(_name(case), _digest(case))

    def _scenario(self, name: str, digest: str) -> str:
        return scenario_id(f"{name}#{digest}" if name in self._shared else self.repeats.plain(name))

    def _declare(self, case: Record) -> frozenset[str]:
        """Declare the scorers of a case by their thresholds and verdicts, and return the names of the judges."""
        found: set[str] = set()
        for name, metric in _metrics(case):
            if metric.flag("flaky"):
                self.scorers.declare_column(name, "it is flaky, so it decides nothing in DeepEval either")
            elif "threshold" in metric or "success" in metric:
                self.scorers.declare(name)
                found.add(name)
            else:
                self.scorers.declare_column(name, "it has no threshold")
        if "expectationsData" in case:
            self.scorers.declare(_EXPECTATIONS)
            found.add(_EXPECTATIONS)
        return frozenset(found)


class _RepeatedTests:
    """Tests that ran several times: with `-r 3` the three runs of a test are `test_a[1-3]`, `test_b[x-2-3]` and so on.

    Parameters can look the same (`test_c[1-3]`), so that only tests with the same input in all their runs count as
    repeated, and only if one of these has two or more runs.
    """

    def __init__(self, inputs: Mapping[str, str]) -> None:
        runs: defaultdict[tuple[str, int], dict[int, str]] = defaultdict(dict)
        for name, digest in inputs.items():
            found = _REPETITION.fullmatch(name)
            if found and 1 <= int(found["run"]) <= int(found["of"]) <= MOST_TRIALS:
                runs[_base(found), int(found["of"])][int(found["run"])] = digest
        repeated = {of for (_, of), digests in runs.items() if len(digests) > 1 and len(set(digests.values())) == 1}
        self._of = max(repeated, default=0)
        self._runs = {
            base: set(digests)
            for (base, of), digests in runs.items()
            if of == self._of and len(set(digests.values())) == 1
        }

    def plain(self, name: str) -> str:
        """The name of the test, without the number of its run."""
        found = _REPETITION.fullmatch(name) if self._of else None
        return _base(found) if found and int(found["of"]) == self._of and _base(found) in self._runs else name

    def missing(self, trials: Trials, report: Report) -> Iterator[Row]:
        """A row with an error for every missing run of a test."""
        for base, runs in self._runs.items():
            for run in sorted(set(range(1, self._of + 1)) - runs):
                report.missing += 1
                error = f"run {run} of {self._of} is not in the file: it crashed before its assertion"
                yield {"id": scenario_id(base), "trial": trials.number(scenario_id(base)), "error": error}


def _base(found: re.Match[str]) -> str:
    return found["test"] + (f"[{found['parameters']}]" if found["parameters"] else "")


class _TestRunTotals:
    """Compares DeepEval's own counts with the test cases, to notice what was removed: a metric, an input, a case."""

    def __init__(self) -> None:
        self.declared: dict[str, Any] = {}
        self.cases = 0
        self._success: Counter[bool | None] = Counter()
        self._metrics: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._has_input = False
        self._lost_input = ""

    def add(self, case: Record) -> None:
        """Count as DeepEval does: metrics that only the trace has are not in its totals."""
        self.cases += 1
        self._success[case.flag("success")] += 1
        if case.text("input") is not None:
            self._has_input = True
        elif "turns" not in case:
            self._lost_input = self._lost_input or case.place
        if "metricsData" not in case:
            return
        spans = [] if (trace := case.record("trace")) is None else _spans(trace)
        for metric in (metric for holder in (case, *spans) for metric in holder.records("metricsData")):
            decided = "score" in metric and "success" in metric
            outcome = "errors" if not decided else "passes" if metric.flag("success") else "fails"
            self._metrics[metric.text("name") or ""][outcome] += 1

    def compare(self) -> None:
        """Refuse a file whose totals do not match its test cases, or of which some lost their input."""
        # DeepEval writes the input of every case. One that lost it would be a scenario of its own, weighted anew.
        if self._has_input and self._lost_input:
            message = f"{self._lost_input}: found no input, which other test cases have"
            refuse("import.missing-value", message, hint="take the file as DeepEval wrote it")
        run = Record(self.declared, "the test run")
        for key, success in (("testPassed", True), ("testFailed", False)):
            self._compare(run, key, self._success[success], "test cases")
        for metric in run.records("metricsScores"):
            name = metric.text("metric") or refuse(
                "import.missing-value", f"{metric.place}: found no metric, wanted its name"
            )
            for outcome in ("passes", "fails", "errors"):
                self._compare(metric, outcome, self._metrics[name][outcome], f"results of {name}")

    @staticmethod
    def _compare(record: Record, key: str, found: int, what: str) -> None:
        declared = record.whole(key)
        if declared is not None and declared != found:
            refuse(
                "import.contradiction",
                f"{record.place}: {key} is {declared}, and {found} {what} are so in the file: they disagree",
                hint="take the file as DeepEval wrote it",
            )


def _name(case: Record) -> str:
    return case.text("name") or refuse(
        "import.missing-value", f"{case.place}: found no name, wanted the name of the test case"
    )


def _spans(trace: Record) -> list[Record]:
    return [span for kind in _SPANS for span in trace.records(kind)]


def _metrics(case: Record) -> Iterator[tuple[str, Record]]:
    """The metrics of the case, its trace and the trace's spans, with the names of their verdicts in our rows."""
    own: set[str] = set()
    for metric in case.records("metricsData"):
        own.add(_metric_name(metric))
        yield _metric_name(metric), metric
    trace = case.record("trace")
    if trace is None:
        return
    for metric in trace.records("metricsData"):
        if _metric_name(metric) not in own:  # the trace repeats the case's metrics and may have more
            yield _metric_name(metric), metric
    for span in _spans(trace):
        for metric in span.records("metricsData"):
            yield f"{span.text('name') or 'span'}: {_metric_name(metric)}", metric


def _metric_name(metric: Record) -> str:
    return metric.text("name") or refuse(
        "import.missing-value", f"{metric.place}: found no name, wanted the name of the metric"
    )


def _question(case: Record) -> str:
    """What distinguishes cases of one name: the input, the scenario of a conversation, or its first user message."""
    if "turns" not in case:
        return case.text("input") or ""
    asked = (message.text("content") for message in case.records("turns") if message.text("role") == "user")
    return case.text("scenario") or next(asked, None) or ""


def _digest(case: Record) -> str:
    return short_digest(_question(case))


def _row(case: Record, survey: _DeepEvalSurvey, trials: Trials, report: Report) -> Row:
    scenario = survey.scenario(case)
    metadata = case.part("metadata")
    error = _error(case)
    verdicts = _verdicts(case, survey.scorers, report)
    if error is None:
        survey.scorers.complete(verdicts, scenario, given=[_EXPECTATIONS] if "expectationsData" in case else ())
        verdicts.count(report)
    conversation = _conversation(case) if report.calls else {}
    report.unread.update(case.others(_READ | ({_CALLED} if "tool_calls" in conversation else set())))
    labels = {label: "true" for label in case.items("tags") if isinstance(label, str)}
    labels |= {"flaky": "true"} if case.flag("flaky") else {}
    return {
        "id": scenario,
        "trial": trials.number(scenario),
        **{name: metadata.text(name) for name in SCENARIO_TEXTS},
        **verdicts.columns(),
        "error": error,
        "input": _question(case) or None,
        "output": _output(case),
        "latency_ms": _latency(case),
        "tokens_used": _tokens(case),
        "cost_usd": case.number("tokenCost"),
        "suite": survey.suite,
        "tags": {**labels, **(flat_tags(metadata.values, skip=SCENARIO_TEXTS) or {})} or None,
        **conversation,
    }


def _conversation(case: Record) -> Row:
    """The messages of a conversation, and the tool calls: of the case, of its messages, or of its trace."""
    turns = case.records("turns")
    messages = [{"role": one.text("role"), "content": one.text("content")} for one in turns]
    trace = case.record("trace")
    if _CALLED in case:
        calls = calls_in(case.value(_CALLED))
    elif any(_CALLED in one for one in turns):
        calls = calls_in([call for one in turns for call in one.items(_CALLED)])
    else:
        calls = calls_in(trace.value("toolSpans")) if trace is not None else None
    return {**({"messages": messages} if messages else {}), **({} if calls is None else {"tool_calls": calls})}


def _verdicts(case: Record, scorers: Scorers, report: Report) -> Verdicts:
    verdicts, silent = Verdicts(), []
    for name, metric in _metrics(case):
        if metric.flag("flaky") and not scorers.by_policy:
            verdicts.add_score(name, metric.number("score"))
            report.unread["verdicts of flaky metrics, which decide nothing"] += 1
        elif metric.text("error"):
            scorers.add_broken(verdicts, name, metric.text("error") or "")
        else:
            verdict, score, judge = metric.flag("success"), metric.number("score"), metric.text("evaluationModel")
            scorers.add(verdicts, name, verdict=verdict, score=score, judge=judge)
            silent += [name] if verdict is None and score == 0 else []
    expectations = case.record("expectationsData")
    if expectations is not None:
        _add_expectations(expectations, verdicts, scorers)
    # DeepEval also fails a case if a judge broke. That is no fault of the agent, so the trial stays undecided.
    if case.flag("success") is False and not verdicts.broken and not scorers.by_policy:
        verdicts.fail()
    # Without a threshold, nobody knows whether the lowest score is a failure, and DeepEval lets the case pass.
    for name in silent:
        scorers.add_broken(verdicts, name, "scored 0 and gave no verdict")
    return verdicts


def _add_expectations(expectations: Record, verdicts: Verdicts, scorers: Scorers) -> None:
    """Add MUST as an expected behavior; add MUST_NOT as a must-not, even if the policy names other judges."""
    judges = scorers.judges(_EXPECTATIONS)
    for verdict in expectations.records("verdicts"):
        condition = verdict.text("condition") or verdict.place
        status = verdict.text("status")
        decided = status == "pass" if status in ("pass", "fail") else None
        if "NOT" in (verdict.text("kind") or "").upper():
            verdicts.add_must_not(condition, happened=None if decided is None else not decided)
        elif judges:
            verdicts.add(condition, verdict=decided)
        if judges and decided is None:
            verdicts.add_broken(condition, verdict.text("reason") or "could not be evaluated")
    if not judges:
        return
    if expectations.text("error") or "success" not in expectations:
        verdicts.add_broken(_EXPECTATIONS, expectations.text("error") or "gave no verdict")
    elif expectations.flag("success") is False:
        verdicts.fail()


def _error(case: Record) -> str | None:
    """Why the agent crashed, by its trace or a root span; None if it did not. Errors of judges do not count."""
    trace = case.record("trace")
    if trace is None:
        return None
    spans = _spans(trace)
    known = {span.text("uuid") for span in spans}
    roots = [span for span in spans if span.text("parentUuid") not in known or "parentUuid" not in span]
    ended = [_STATUSES.failed(holder, "status") for holder in (trace, *roots)]  # a list: every status is checked
    if not any(ended):
        return None
    errors = (span.text("error") for span in (*roots, *spans))
    return next(filter(None, errors), None) or "the trace ended with an error"


def _output(case: Record) -> str | None:
    if "turns" not in case:
        return text_or_json(case.value("actualOutput"))
    outputs = [message.text("content") for message in case.records("turns") if message.text("role") == "assistant"]
    return outputs[-1] if outputs else None


def _latency(case: Record) -> float | None:
    seconds = case.number("completionTime")
    if seconds is not None:
        return seconds * 1000
    trace = case.record("trace")
    start, end = (_time(trace, key) if trace else None for key in ("startTime", "endTime"))
    if trace is None or start is None or end is None:
        return None
    written = f"{trace.text('startTime')}, {trace.text('endTime')}"
    if (start.tzinfo is None) != (end.tzinfo is None):
        refuse(
            "import.contradiction", f"{trace.place}: one of its times has a time zone and the other has none: {written}"
        )
    if end < start:
        refuse("import.contradiction", f"{trace.place}: it ends before it starts: {written}")
    return (end - start).total_seconds() * 1000


def _time(trace: Record, key: str) -> datetime | None:
    text = trace.text(key)
    try:
        return None if text is None else datetime.fromisoformat(text)
    except ValueError:
        refuse(
            "import.wrong-value", f"{trace.place}: {key}: found {text!r}, wanted a time like 2026-05-12T03:01:00.000Z"
        )


def _tokens(case: Record) -> int | None:
    """The agent's tokens, from the case or else from the trace; None unless every model call has both counts."""
    trace = case.record("trace")
    sources = [case] if "inputTokenCount" in case or trace is None else trace.records("llmSpans")
    counts = [source.whole(key) for source in sources for key in _TOKENS]
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None
