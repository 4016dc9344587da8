"""Gradings of an Agent Skill → rows: `grading.json` of one run, or `benchmark.json` with all runs of a benchmark.

A trial passes if every expectation does. The grader's totals are not read as results, but if they contradict the listed
expectations, the trial is undecided. A `grading.json` does not name its eval; the folders that the skill creator makes
do (`eval-1/with_skill/run-2/grading.json`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import count, islice
from pathlib import Path
from typing import Any

from highbar.importers import Row
from highbar.importers.json_records import array_records, without_arrays
from highbar.importers.limits import MOST_TRIALS
from highbar.importers.naming import number_or_name
from highbar.importers.reading import json
from highbar.importers.record import Record, refuse, shown
from highbar.importers.report import Report
from highbar.importers.verdicts import Verdicts
from highbar.language.tool_names import scenario_id, short_name

_LISTS = ("expectations", "assertion_results")
_RUN = re.compile(r"run-([0-9]{1,9})")
_EVAL = re.compile(r"eval-(.+)")
_LAYOUT = "keep it where it was written: eval-1/with_skill/run-1/grading.json, or eval-1/with_skill/grading.json"
_UNREAD = ("claims", "execution_metrics", "user_notes_summary", "eval_feedback", "notes")


def read(path: str, report: Report) -> Iterator[Row]:
    """The row of a grading, or the rows of a benchmark."""
    report.scorers["grader"] = "judges"
    report.judges = ("grader",)
    document = without_arrays(path, {"runs"})
    if any(name in document for name in _LISTS):
        yield _grading_row(path, document, report)
    elif "runs" in document:
        yield from _Benchmark(document).rows(path, report)
    else:
        refuse(
            "import.other-file",
            "there are no expectations in this file",
            hint="wanted a grading.json or benchmark.json of a skill",
        )


# --- one run -----------------------------------------------------------------------------------------


def _grading_row(path: str, grading: Record, report: Report) -> Row:
    place = _place(Path(path))
    report.records += 1
    timing = _record_beside(Path(path).with_name("timing.json"))
    seconds = grading.part("timing").number("executor_duration_seconds")
    return {
        **place,
        **_judgment(grading, grading.part("summary"), report),
        "latency_ms": timing.number("duration_ms") if seconds is None else seconds * 1000,
        "tokens_used": timing.whole("total_tokens"),
    }


def _place(path: Path) -> Row:
    """Scenario, trial and configuration, by the folders that the file is in.

    Refuses any other layout, and a run of the same configuration that nobody graded.
    """
    run = _RUN.fullmatch(path.absolute().parent.name)
    configuration = path.absolute().parent.parent if run else path.absolute().parent
    name = _EVAL.fullmatch(configuration.parent.name)
    if name is None:
        refuse("import.missing-value", "this grading is in no folder that says which eval it is of", hint=_LAYOUT)
    ungraded = sorted(_ungraded(configuration, path.name))
    if ungraded:
        hint = "grade it, or remove its folder; a run that nobody graded must not be left out unseen"
        refuse("import.incomplete", f"the run beside this one has no {path.name}: {', '.join(ungraded[:5])}", hint=hint)
    about = _record_beside(configuration.parent / "eval_metadata.json")
    number = re.match("[0-9]+(?=-|$)", name[1])
    id_ = _id(about) if "eval_id" in about else number[0].lstrip("0") or "0" if number else name[1]
    return {
        "id": scenario_id(id_),
        "trial": int(run[1]) if run else 1,
        "input": about.text("prompt"),
        "tags": {"configuration": configuration.name},
    }


def _ungraded(configuration: Path, name: str) -> Iterator[str]:
    """The run folders of this configuration, in all evals of the iteration, that have no grading."""
    iteration = configuration.parent.parent
    for eval_ in iteration.iterdir():
        same = eval_ / configuration.name
        if _EVAL.fullmatch(eval_.name) and same.is_dir():
            runs = [one for one in same.glob("run-*") if one.is_dir()] or [same]
            yield from (str(one.relative_to(iteration)) for one in runs if not (one / name).is_file())


def _record_beside(path: Path) -> Record:
    """The object in a file beside the grading; an empty one if there is no such file."""
    return Record(json.decode_value(path.read_bytes()) if path.is_file() else {}, path.name)


# --- all runs ----------------------------------------------------------------------------------------


class _Benchmark:
    """The runs of a benchmark.

    A trial number that other evals of the same configuration have, a trial below `runs_per_configuration`, and a
    planned eval without a run are missing: each gets a row with an error.
    """

    def __init__(self, document: Record) -> None:
        metadata = document.part("metadata")
        self._skill = metadata.text("skill_name")
        self._planned = [str(value) for value in metadata.items("evals_run") if isinstance(value, str | int)]
        self._runs = metadata.whole("runs_per_configuration") or 0
        self._trials: dict[str | None, set[int]] = {}  # by configuration
        self._found: dict[tuple[str, str | None], set[int]] = {}
        self._named: set[str] = set()

    def rows(self, path: str, report: Report) -> Iterator[Row]:
        for _, run in array_records(path, {"runs"}):
            report.records += 1
            yield {**self._next_row(run), **_judgment(run, run.part("result"), report)}
        yield from self._missing(report)

    def _next_row(self, run: Record) -> Row:
        id_, configuration, trial = _id(run), run.text("configuration"), run.whole("run_number")
        if trial is None or not 0 <= trial <= MOST_TRIALS:
            refuse(
                "import.wrong-value",
                f"{run.place}: run_number: found {shown(trial)}, wanted a number from 0 to {MOST_TRIALS}",
            )
        self._named |= {id_, run.text("eval_name") or id_}
        self._trials.setdefault(configuration, set()).add(trial)
        self._found.setdefault((id_, configuration), set()).add(trial)
        return self._row(id_, trial, configuration)

    def _missing(self, report: Report) -> Iterator[Row]:
        ids = dict.fromkeys(id_ for id_, _ in self._found)
        ids |= dict.fromkeys(scenario_id(name) for name in self._planned if name not in self._named)
        for configuration, found in self._trials.items():
            # Runs may be numbered from 0 or from 1: the lowest free numbers fill up to the planned number of runs.
            trials = found | set(islice((n for n in count(1) if n not in found), max(0, self._wanted - len(found))))
            for id_ in ids:
                for trial in sorted(trials - self._found.get((id_, configuration), set())):
                    report.missing += 1
                    yield {**self._row(id_, trial, configuration), "error": "the run is missing: was it graded?"}

    @property
    def _wanted(self) -> int:
        return min(self._runs, MOST_TRIALS)

    def _row(self, id_: str, trial: int, configuration: str | None) -> Row:
        tags = None if configuration is None else {"configuration": configuration}
        return {"id": id_, "trial": trial, "suite": self._skill, "tags": tags}


# --- expectations ------------------------------------------------------------------------------------


def _id(record: Record) -> str:
    return number_or_name(record, "eval_id", "an eval")


def _judgment(run: Record, totals: Record, report: Report) -> Row:
    """The columns with the grader's verdict on every expectation."""
    given = [name for name in _LISTS if name in run]
    if len(given) > 1:
        refuse("import.contradiction", f"{run.place}: found both {' and '.join(given)}, wanted one of them")
    verdicts, found = Verdicts(), run.records(given[0]) if given else []
    for expectation in found:
        name = short_name(_text(expectation))
        passed = expectation.flag("passed")
        verdicts.add(name, verdict=passed)
        if passed is None:
            verdicts.add_broken(name, "the grader gave no verdict")
    _doubt_totals(verdicts, found, totals)
    verdicts.count(report)
    report.unread.update(name for name in _UNREAD if name in run)
    return verdicts.columns()


def _text(expectation: Record) -> str:
    text = expectation.text("text")
    if text is None or not text.strip():
        refuse("import.wrong-value", f"{expectation.place}: text: found {shown(text)}, wanted what was expected")
    return text


def _doubt_totals(verdicts: Verdicts, found: list[Record], totals: Record) -> None:
    """Leave a trial undecided if its totals contradict the listed expectations, or if none are listed."""
    failed = sum(one.flag("passed") is False for one in found)
    counts: Mapping[str, Any] = {"total": len(found), "failed": failed, "passed": len(found) - failed}
    for name, listed in counts.items():
        number = totals.number(name)
        if number is not None and number != listed:
            verdicts.add_broken("expectations", f"{name} is {number:g}, and {listed} are listed")
    if not found:
        verdicts.add_broken("expectations", "there are none")
