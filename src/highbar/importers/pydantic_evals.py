"""pydantic-evals reports (`EvaluationReportAdapter.dump_json`) → rows: one per case, and one per failure.

A case passes if every assertion is true and no evaluator broke. If the task of a case raised an exception, the report
lists it separately and leaves it out of the averages; here it is a row with an error.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from highbar.columns import SCENARIO_TEXTS
from highbar.importers import Row
from highbar.importers.json_records import array_records, without_arrays
from highbar.importers.limits import MOST_TRIALS
from highbar.importers.record import Record, refuse
from highbar.importers.report import Report
from highbar.importers.scorers import Scorers
from highbar.importers.verdicts import Verdicts
from highbar.language.tool_names import flat_tags, scenario_id, text_or_json

_ARRAYS = frozenset({"cases", "failures"})
_REPETITION = re.compile(r"(?s).* \[(\d{1,9})/(\d{1,9})\]")
_NO_SOURCE = "null"
_TOKENS = ("input_tokens", "output_tokens")
_READ = frozenset(
    {"name", "source_case_name", "inputs", "metadata", "output", "error_message", "trace_id", "span_id", "attributes"}
    | {"assertions", "scores", "labels", "evaluator_failures", "metrics", "task_duration"}
)


def read(path: str, report: Report) -> Iterator[Row]:
    """The rows of one report. Reads the file twice: judges and the data set must be known before the first row."""
    suite = _suite(path, report)
    survey = _PydanticSurvey(path, report)
    for array, case in array_records(path, _ARRAYS):
        report.records += 1
        yield {**_row(array, case, survey, report), "suite": suite}
    for row in survey.runs.missing(report):
        yield {**row, "suite": suite}


class _PydanticSurvey:
    """What must be known before the first row: who judges, what each evaluator gives, and the runs of each case."""

    def __init__(self, path: str, report: Report) -> None:
        self.scorers = Scorers("pydantic-evals", report)
        self.runs = _RepeatedCases()
        self._given: defaultdict[str, set[str]] = defaultdict(set)  # names of results by evaluator
        failed: dict[tuple[str, str], str] = {}  # name of the evaluator by scenario and evaluator
        silent: dict[bool, str] = {}  # a case without a list of evaluator failures, and one with it
        for array, case in array_records(path, _ARRAYS):
            scenario, _ = self.runs.scenario_and_trial(case)
            self._add_results(scenario, case)
            for failure in case.records("evaluator_failures"):
                failed[scenario, _evaluator(failure)] = failure.text("name") or "evaluator"
            if array == "cases":
                silent.setdefault("evaluator_failures" not in case, case.place)
        if len(silent) > 1:
            refuse(
                "import.missing-value",
                f"{silent[True]}: found no evaluator_failures, which other cases of the report have",
            )
        self.runs.compare()
        self._settle_judges(failed)

    def _add_results(self, scenario: str, case: Record) -> None:
        for kind in ("assertions", "scores", "labels"):
            for name, result in _results(case, kind):
                self._given[_evaluator(result)].add(name)
                self.scorers.expect(scenario, name)
                if kind == "assertions":
                    self.scorers.declare(name)
                else:
                    self.scorers.declare_column(name, f"it gives {kind}")

    def _settle_judges(self, failed: Mapping[tuple[str, str], str]) -> None:
        """Decide who judges. An evaluator that always failed counts as a judge.

        One that failed only on some cases is expected to give there what it gives elsewhere.
        """
        for (_, evaluator), name in failed.items():
            if evaluator not in self._given:
                self.scorers.declare_without_value(name)
        self.scorers.settle()
        for (scenario, evaluator), name in failed.items():
            for judge in self.judges_of(evaluator) or [name]:
                self.scorers.expect(scenario, judge)

    def judges_of(self, evaluator: str) -> list[str]:
        """The judging results of an evaluator in any case of the report."""
        return sorted(name for name in self._given.get(evaluator, ()) if self.scorers.judges(name))


def _evaluator(result: Record) -> str:
    """What distinguishes evaluators: their name and arguments."""
    return json.dumps(result.value("source"), sort_keys=True)


def _suite(path: str, report: Report) -> str | None:
    """The name of the data set. Refuses a document that is not a report."""
    document = without_arrays(path, {*_ARRAYS, ""})
    if "evaluators" in document or not {"cases", "failures", "name"} & set(document):
        refuse(
            "import.other-file",
            "this is no pydantic-evals report" + (", but the data set of one" if "evaluators" in document else ""),
            hint="write one with EvaluationReportAdapter.dump_json(report)",
        )
    broken = document.items("report_evaluator_failures")
    if broken:
        report.warn(f"{len(broken)} evaluators of the whole report failed")
    return document.text("dataset_name")


class _RepeatedCases:
    """The planned and the present runs of each case; the name of a repeated case ends in `[2/3]`."""

    def __init__(self) -> None:
        self._wanted: dict[str, int] = {}
        self._found: defaultdict[str, set[int]] = defaultdict(set)
        self._description: dict[str, Row] = {}
        self._counts: dict[int, str] = {}  # planned numbers of runs, each with a case name
        self._once: dict[str, str] = {}  # places of cases without repetition

    def scenario_and_trial(self, case: Record) -> tuple[str, int | None]:
        """The scenario and the trial; None as the trial of a case without repetition."""
        name = case.text("name") or refuse(
            "import.missing-value", f"{case.place}: found no name, wanted the name of the case"
        )
        source = case.text("source_case_name")
        if source is None:
            self._once.setdefault(name, case.place)
            return scenario_id(name), None
        numbers = _REPETITION.fullmatch(name)
        if numbers is None:
            refuse("import.wrong-value", f"{case.place}: name: found {name!r}, wanted one that ends like [2/3]")
        run, wanted = int(numbers[1]), int(numbers[2])
        if not 1 <= run <= wanted <= MOST_TRIALS:
            refuse(
                "import.wrong-value",
                f"{case.place}: name: found run {run} of {wanted}, wanted one of 1 to {min(wanted, MOST_TRIALS)}",
            )
        self._wanted.setdefault(source, wanted)
        self._counts.setdefault(wanted, name)
        self._found[source].add(run)
        self._description.setdefault(source, _description(case))
        return scenario_id(source), run - 1

    def compare(self) -> None:
        """Refuse what one run of pydantic-evals cannot write: it repeats all cases, and all equally often."""
        if len(self._counts) > 1:
            one, other = list(self._counts.values())[:2]
            refuse(
                "import.incomplete",
                f"the cases were repeated several times, and not as often: found {one!r} beside {other!r}",
                hint="check the report of one evaluation at a time",
            )
        if self._counts and self._once:
            name, place = next(iter(self._once.items()))
            refuse(
                "import.missing-value",
                f"{place}: {name!r} has no source_case_name, which the other cases have: the report was repeated",
            )

    def missing(self, report: Report) -> Iterator[Row]:
        """A row with an error for every missing run of a case."""
        for source, wanted in self._wanted.items():
            for number in sorted(set(range(1, wanted + 1)) - self._found[source]):
                report.missing += 1
                error = f"run {number} of {wanted} is not in the report"
                yield {"id": scenario_id(source), "trial": number - 1, **self._description[source], "error": error}


def _row(array: str, case: Record, survey: _PydanticSurvey, report: Report) -> Row:
    scenario, trial = survey.runs.scenario_and_trial(case)
    verdicts = Verdicts()
    error = None
    if array == "failures" or "error_message" in case:
        error = case.text("error_message") or "the task failed"
    elif "assertions" not in case or "scores" not in case:
        refuse(
            "import.missing-value", f"{case.place}: found no assertions and scores, wanted a case that was evaluated"
        )
    else:
        verdicts = _verdicts(case, survey)
        survey.scorers.complete(verdicts, scenario)
        verdicts.count(report)
    _add_measured(case, verdicts)
    report.unread.update(case.others(_READ))
    return {
        "id": scenario,
        "trial": trial,
        **_description(case),
        **_usage(case),
        **verdicts.columns(),
        "error": error,
        "input": text_or_json(case.value("inputs")),
        "output": text_or_json(case.value("output")),
    }


def _verdicts(case: Record, survey: _PydanticSurvey) -> Verdicts:
    verdicts = Verdicts()
    judges: set[str] = set()
    for kind in ("assertions", "scores"):
        for name, result in _results(case, kind):
            judges.add(_evaluator(result))
            verdict = result.flag("value") if kind == "assertions" else None
            score = result.number("value") if kind == "scores" else None
            survey.scorers.add(verdicts, name, verdict=verdict, score=score, judge=_judge(result))
    judges.update(_evaluator(result) for _, result in _results(case, "labels"))
    for failure in case.records("evaluator_failures"):
        reason = failure.text("error_message") or "it broke"
        for name in survey.judges_of(_evaluator(failure)) or [failure.text("name") or "evaluator"]:
            survey.scorers.add_broken(verdicts, name, reason)
    # An evaluator with several results gives all of them at once, so a missing one was removed from the file.
    for evaluator in judges - {_NO_SOURCE}:
        for name in survey.judges_of(evaluator):
            if not verdicts.knows(name):
                survey.scorers.add_broken(verdicts, name, "says nothing of this trial")
    return verdicts


def _results(case: Record, key: str) -> Iterator[tuple[str, Record]]:
    results = case.part(key)
    for name in results:
        yield (
            name,
            results.record(name)
            or refuse("import.wrong-value", f"{results.place}: {name}: found null, wanted an object"),
        )


def _judge(result: Record) -> str | None:
    """The name of the model that judged; None if no model did."""
    source = result.record("source")
    arguments = source.value("arguments") if source is not None and source.text("name") == "LLMJudge" else None
    model = arguments.get("model") if isinstance(arguments, dict) else None
    return model if isinstance(model, str) else None


def _description(case: Record) -> Row:
    metadata = case.value("metadata")
    known = Record(metadata if isinstance(metadata, dict) else {"metadata": metadata}, f"{case.place}: metadata")
    labels = {
        **(flat_tags(case.part("attributes").values) or {}),
        **(flat_tags(known.values, skip=SCENARIO_TEXTS) or {}),
    }
    return {**{name: known.text(name) for name in SCENARIO_TEXTS}, "tags": labels or None}


def _usage(case: Record) -> Row:
    metrics = case.part("metrics")
    seconds = case.number("task_duration")
    tokens = [metrics.whole(name) for name in _TOKENS]
    return {
        "latency_ms": None if seconds is None else seconds * 1000,
        "tokens_used": None if None in tokens else sum(filter(None, tokens)),
        "cost_usd": metrics.number("cost"),
    }


def _add_measured(case: Record, verdicts: Verdicts) -> None:
    """Add the task's own numbers and the labels of evaluators, which are columns that decide nothing."""
    metrics = case.part("metrics")
    for name in metrics:
        verdicts.add_score(name, metrics.number(name))
    for name, result in _results(case, "labels"):
        verdicts.add_score(name, result.text("value"))
