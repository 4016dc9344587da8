"""pydantic-evals reports (`EvaluationReportAdapter.dump_json`) → rows: one per case, and one per failure.

A case passes when every assertion is true and no evaluator broke. Cases whose task raised stand apart in the report,
outside all of its averages; here they are rows with an error like any other.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from highbar.importers import Row
from highbar.importers.documents import around, elements
from highbar.importers.naming import as_text, tags
from highbar.importers.record import Record, refuse
from highbar.importers.report import Report
from highbar.importers.scorers import Scorers
from highbar.importers.verdicts import Verdicts
from highbar.importers.writing import identifier

_ARRAYS = frozenset({"cases", "failures"})
_METADATA = ("category", "capability", "cluster")
_REPETITION = re.compile(r"(?s).* \[(\d{1,9})/(\d{1,9})\]")
_MOST_RUNS = 10_000
_NO_SOURCE = "null"
_TOKENS = ("input_tokens", "output_tokens")
_READ = frozenset(
    {"name", "source_case_name", "inputs", "metadata", "output", "error_message", "trace_id", "span_id", "attributes"}
    | {"assertions", "scores", "labels", "evaluator_failures", "metrics", "task_duration"}
)


def read(path: str, report: Report) -> Iterator[Row]:
    """The rows of one report. It is read twice: who judges, and the name of the data set, must be known first."""
    suite = _suite(path, report)
    survey = _Survey(path, report)
    for array, case in elements(path, _ARRAYS):
        report.records += 1
        yield {**_row(array, case, survey, report), "suite": suite}
    for row in survey.runs.missing(report):
        yield {**row, "suite": suite}


class _Survey:
    """What must be known before the first row: who judges, what each evaluator gives, and how often each case ran."""

    def __init__(self, path: str, report: Report) -> None:
        self.scorers = Scorers("pydantic-evals", report)
        self.runs = _Runs()
        self._given: defaultdict[str, set[str]] = defaultdict(set)  # by evaluator, the names of its results
        failed: dict[tuple[str, str], str] = {}  # by scenario and evaluator, the evaluator's name
        silent: dict[bool, str] = {}  # a case that says which evaluators failed on it, and one that does not
        for array, case in elements(path, _ARRAYS):
            scenario, _ = self.runs.identify(case)
            self._add_results(scenario, case)
            for failure in case.records("evaluator_failures"):
                failed[scenario, _evaluator(failure)] = failure.text("name") or "evaluator"
            if array == "cases":
                silent.setdefault("evaluator_failures" not in case, case.place)
        if len(silent) > 1:
            refuse(f"{silent[True]}: found no evaluator_failures, which other cases of the report have")
        self.runs.compare()
        self._settle(failed)

    def _add_results(self, scenario: str, case: Record) -> None:
        for kind in ("assertions", "scores", "labels"):
            for name, result in _results(case, kind):
                self._given[_evaluator(result)].add(name)
                self.scorers.spoke(scenario, name)
                if kind == "assertions":
                    self.scorers.declare(name)
                else:
                    self.scorers.mention(name, f"it gives {kind}")

    def _settle(self, failed: Mapping[tuple[str, str], str]) -> None:
        """An evaluator that failed wherever it ran counts as a judge; one that failed owes what it gives elsewhere."""
        for (_, evaluator), name in failed.items():
            if evaluator not in self._given:
                self.scorers.hold(name)
        self.scorers.settle()
        for (scenario, evaluator), name in failed.items():
            for owed in self.judges_of(evaluator) or [name]:
                self.scorers.spoke(scenario, owed)

    def judges_of(self, evaluator: str) -> list[str]:
        """The results of an evaluator that judge, in any case of the report."""
        return sorted(name for name in self._given.get(evaluator, ()) if self.scorers.judges(name))


def _evaluator(result: Record) -> str:
    """What tells one evaluator from another: its name and its arguments."""
    return json.dumps(result.value("source"), sort_keys=True)


def _suite(path: str, report: Report) -> str | None:
    """The data set's name, once the document is known to be a report."""
    document = around(path, {*_ARRAYS, ""})
    if "evaluators" in document or not {"cases", "failures", "name"} & set(document):
        refuse(
            "this is no pydantic-evals report" + (", but the data set of one" if "evaluators" in document else ""),
            hint="write one with EvaluationReportAdapter.dump_json(report)",
        )
    broken = document.items("report_evaluator_failures")
    if broken:
        report.warn(f"{len(broken)} evaluators of the whole report failed")
    return document.text("dataset_name")


class _Runs:
    """How often each case was to run and did: a repeated case says in its name which run of how many it is."""

    def __init__(self) -> None:
        self._wanted: dict[str, int] = {}
        self._found: defaultdict[str, set[int]] = defaultdict(set)
        self._described: dict[str, Row] = {}
        self._counts: dict[int, str] = {}  # how often cases were to run, and a name that says so
        self._once: dict[str, str] = {}  # the cases that ran once, and their places

    def identify(self, case: Record) -> tuple[str, int | None]:
        """The scenario, and which repetition of it this is; None where a case ran once."""
        name = case.text("name") or refuse(f"{case.place}: found no name, wanted the name of the case")
        source = case.text("source_case_name")
        if source is None:
            self._once.setdefault(name, case.place)
            return identifier(name), None
        numbers = _REPETITION.fullmatch(name)
        if numbers is None:
            refuse(f"{case.place}: name: found {name!r}, wanted one that ends like [2/3]")
        run, wanted = int(numbers[1]), int(numbers[2])
        if not 1 <= run <= wanted <= _MOST_RUNS:
            refuse(f"{case.place}: name: found run {run} of {wanted}, wanted one of 1 to {min(wanted, _MOST_RUNS)}")
        self._wanted.setdefault(source, wanted)
        self._counts.setdefault(wanted, name)
        self._found[source].add(run)
        self._described.setdefault(source, _described(case))
        return identifier(source), run - 1

    def compare(self) -> None:
        """Refuse what one run of pydantic-evals cannot have written: it repeats all cases, and all as often."""
        if len(self._counts) > 1:
            one, other = list(self._counts.values())[:2]
            refuse(
                f"the cases were repeated several times, and not as often: found {one!r} beside {other!r}",
                hint="check the report of one evaluation at a time",
            )
        if self._counts and self._once:
            name, place = next(iter(self._once.items()))
            refuse(f"{place}: {name!r} has no source_case_name, which the other cases have: the report was repeated")

    def missing(self, report: Report) -> Iterator[Row]:
        """A row with an error for every run that a case was to have and has not."""
        for source, wanted in self._wanted.items():
            for number in sorted(set(range(1, wanted + 1)) - self._found[source]):
                report.missing += 1
                error = f"run {number} of {wanted} is not in the report"
                yield {"id": identifier(source), "trial": number - 1, **self._described[source], "error": error}


def _row(array: str, case: Record, survey: _Survey, report: Report) -> Row:
    scenario, trial = survey.runs.identify(case)
    verdicts = Verdicts()
    error = None
    if array == "failures" or "error_message" in case:
        error = case.text("error_message") or "the task failed"
    elif "assertions" not in case or "scores" not in case:
        refuse(f"{case.place}: found no assertions and scores, wanted a case that was evaluated")
    else:
        verdicts = _verdicts(case, survey)
        survey.scorers.complete(verdicts, scenario)
        verdicts.count(report)
    _add_measured(case, verdicts)
    report.unread.update(key for key in case if key not in _READ and key in case)
    return {
        "id": scenario,
        "trial": trial,
        **_described(case),
        **_spent(case),
        **verdicts.columns(),
        "error": error,
        "input": as_text(case.value("inputs")),
        "output": as_text(case.value("output")),
    }


def _verdicts(case: Record, survey: _Survey) -> Verdicts:
    verdicts = Verdicts()
    ran: set[str] = set()
    for kind in ("assertions", "scores"):
        for name, result in _results(case, kind):
            ran.add(_evaluator(result))
            verdict = result.flag("value") if kind == "assertions" else None
            score = result.number("value") if kind == "scores" else None
            survey.scorers.hear(verdicts, name, verdict=verdict, score=score, judge=_judge(result))
    ran.update(_evaluator(result) for _, result in _results(case, "labels"))
    for failure in case.records("evaluator_failures"):
        reason = failure.text("error_message") or "it broke"
        for name in survey.judges_of(_evaluator(failure)) or [failure.text("name") or "evaluator"]:
            survey.scorers.hear_broken(verdicts, name, reason)
    # An evaluator that gives several results gives them all at once: one that lacks was taken away.
    for evaluator in ran - {_NO_SOURCE}:
        for name in survey.judges_of(evaluator):
            if not verdicts.knows(name):
                survey.scorers.hear_broken(verdicts, name, "says nothing of this trial")
    return verdicts


def _results(case: Record, key: str) -> Iterator[tuple[str, Record]]:
    results = case.record(key) or Record({}, case.place)
    for name in results:
        yield name, results.record(name) or refuse(f"{results.place}: {name}: found null, wanted an object")


def _judge(result: Record) -> str | None:
    """The model that judged, where it was one and is named."""
    source = result.record("source")
    arguments = source.value("arguments") if source is not None and source.text("name") == "LLMJudge" else None
    model = arguments.get("model") if isinstance(arguments, dict) else None
    return model if isinstance(model, str) else None


def _described(case: Record) -> Row:
    metadata = case.value("metadata")
    known = Record(metadata if isinstance(metadata, dict) else {"metadata": metadata}, f"{case.place}: metadata")
    attributes = case.record("attributes") or Record({}, case.place)
    labels = {**(tags(attributes.values) or {}), **(tags(known.values, skip=_METADATA) or {})}
    return {**{name: known.text(name) for name in _METADATA}, "tags": labels or None}


def _spent(case: Record) -> Row:
    metrics = case.record("metrics") or Record({}, case.place)
    seconds = case.number("task_duration")
    tokens = [metrics.whole(name) for name in _TOKENS]
    return {
        "latency_ms": None if seconds is None else seconds * 1000,
        "tokens_used": None if None in tokens else sum(filter(None, tokens)),
        "cost_usd": metrics.number("cost"),
    }


def _add_measured(case: Record, verdicts: Verdicts) -> None:
    """The task's own numbers and the labels of evaluators: columns that decide nothing."""
    metrics = case.record("metrics") or Record({}, case.place)
    for name in metrics:
        verdicts.add_score(name, metrics.number(name))
    for name, result in _results(case, "labels"):
        verdicts.add_score(name, result.text("value"))
