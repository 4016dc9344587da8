"""Recorded answers and a suite → rows, graded by the suite as it is now. No agent is called.

The answers come from the journals of run folders, or from result rows in any format, including other tools' files.
Every scenario of the suite gets rows: a trial without a recorded answer is undecided, and so is a trial whose recorded
answer is to another question than the suite asks now.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from highbar.checks import reads_calls
from highbar.columns import column_names
from highbar.errors import InputError, Problem
from highbar.language.phrases import count, some_and_more
from highbar.language.spelling import did_you_mean
from highbar.load.row_reading import read_rows
from highbar.model import ResultsFile
from highbar.model.origin import RunOrigin, read_origin
from highbar.running import folder
from highbar.running.finishing import result_row
from highbar.running.grading import Grader
from highbar.running.grading_suite import GradingSuite
from highbar.running.journal_state import JournalState
from highbar.running.origin import graded_origins, origin_of
from highbar.running.recorded_answers import (
    NO_ANSWER,
    OTHER_QUESTION,
    RowFault,
    answer_in,
    has_answer,
    names_calls,
    needs_answer,
    recorded_violations,
)
from highbar.running.records import TrialEnded
from highbar.running.rows import line
from highbar.store.run_document import DOCUMENT, read_document
from highbar.suite import Scenario, Suite, read

if TYPE_CHECKING:  # most suites need no judge
    from highbar.running.judging.rejudging import EarlierJudgments, JudgedAgain

REPLACED = frozenset({*column_names("judges"), "found", "missed", "judged"}) - {"error", "unjudged"}
"""Columns of an earlier grading, which the new grading replaces."""
_NOT_KEPT = REPLACED | {*column_names("demands"), "error", "unjudged", "judge", "attempts"}
"""Columns that a graded row takes from the suite and its checks alone, never from the recorded row."""
_decode = msgspec.json.Decoder(dict[str, Any]).decode
_ONE_RUN = "grade one run at a time"


Regrading = tuple[Iterator[dict[str, Any]], list[str]]
"""Rows to write, graded one by one as they are consumed, and notes about the recorded answers for the user."""


def write_graded_rows(rows: Iterable[Mapping[str, Any]], target: Path) -> Counter[str]:
    """Write rows as JSONL. Returns how many are `errors`, `undecided` and `graded`.

    The file is replaced as a whole or not at all. Raises ReportError on failure.
    """
    found = Counter[str]()
    with folder.replacement_for(target) as beside, beside.open("xb", buffering=1 << 20) as stream:
        for row in rows:
            stream.write(line(row))
            found["errors" if "error" in row else "undecided" if "unjudged" in row else "graded"] += 1
    return found


# --- the answers of runs ---------------------------------------------------------------------


class RecordedRun(Struct, frozen=True, eq=False):
    """A run with its recorded answers, and the version of the agent, if it is known."""

    path: Path
    history: JournalState
    version: str | None
    is_believed: bool = True  # its judge did not fail its canaries


def open_recorded_run(path: Path) -> RecordedRun:
    """Read the run in a folder, finished or not. Raises InputError if it cannot be read."""
    history = folder.read_run(path)
    version = history.plan.agent_version
    canaries = None
    if (path / DOCUMENT).exists():
        document = read_document(path)
        version = document.agent.version or version
        canaries = document.judge and document.judge.canaries
    return RecordedRun(path, history, version, is_believed=canaries is None or not canaries.failed)


def suite_file_of(runs: Sequence[RecordedRun]) -> Path:
    """The suite file of the runs. Raises InputError if they have several."""
    files = list(dict.fromkeys(run.history.plan.suite_file for run in runs))
    if len(files) > 1:
        message = f"these runs are of several suites: {some_and_more(files)}"
        raise InputError(Problem("run.other-suite", message, hint="--suite FILE names the one to grade by"))
    return Path(files[0])


def regrade_runs(runs: Sequence[RecordedRun], by: GradingSuite, stack: ExitStack) -> Regrading:
    """Grade the answers of runs, in the order of the suite. Raises InputError if runs and suite do not match."""
    suite = by.suite
    place: dict[str, int] = {}
    problems: list[Problem] = []
    for number, run in enumerate(runs):
        ids = run.history.plan.trials
        problems += _unknown_scenarios(ids, suite, str(run.path))
        twice = [id_ for id_ in ids if id_ in place]
        if twice:
            message = f"two runs have answers of the same scenarios: {some_and_more(twice)}"
            problems.append(Problem("run.twice", message, str(run.path), hint=_ONE_RUN))
        place |= dict.fromkeys(ids, number)
        if run.history.plan.agent != runs[0].history.plan.agent:
            message = "another agent was run, or one with other settings"
            problems.append(Problem("run.shards-differ", message, str(run.path), hint=_ONE_RUN))
    if problems:
        raise InputError(*problems)
    recorded = [stack.enter_context(folder.open_answers(run.path)) for run in runs]
    changed = {id_ for run in runs for id_ in changed_questions(run.history, suite)}
    judged = _judge_runs(runs, recorded, by, changed) if by.asks_judge else None
    added = sum(scenario.trials for id_, scenario in suite.scenarios.items() if id_ not in place)
    graders = [
        # Scenarios that no run has get rows, which are of the first.
        by.grader(run.version, judged, origin_of(run.history, suite, added=0 if number else added))
        for number, run in enumerate(runs)
    ]
    rows = _rows_of_runs([*zip(runs, recorded, graders, strict=True)], place, changed)
    notes = [*_notes([id_ for id_ in suite.scenarios if id_ not in place], sorted(changed))]
    return rows, [*notes, *(judged.notes() if judged is not None else ())]


def _judge_runs(
    runs: Sequence[RecordedRun], recorded: Sequence[Callable[[int], TrialEnded]], by: GradingSuite, changed: set[str]
) -> JudgedAgain:
    """Ask the judge about the answers of runs."""

    def trials() -> Iterator[tuple[Scenario, TrialEnded]]:
        for run, read_at in zip(runs, recorded, strict=True):
            for id_, number in run.history.plan.trials.items():
                for trial in range(1, number + 1) if id_ not in changed else ():
                    if (offset := run.history.offset(id_, trial)) is not None:
                        yield by.suite.scenarios[id_], read_at(offset)

    def earlier(known: EarlierJudgments) -> None:
        for run in runs:
            if run.is_believed:
                _add_judgments(run, known)

    return by.judged(trials(), earlier)


def _rows_of_runs(
    runs: Sequence[tuple[RecordedRun, Callable[[int], TrialEnded], Grader]], place: Mapping[str, int], changed: set[str]
) -> Iterator[dict[str, Any]]:
    for id_, scenario in runs[0][2].suite.scenarios.items():
        if id_ not in place:
            yield from _rows_without_answer(runs[0][2], scenario, scenario.trials)
            continue
        run, recorded, grader = runs[place[id_]]
        for trial in range(1, run.history.plan.trials[id_] + 1):
            if id_ in changed:
                yield grader.row(None, scenario, trial, reason=OTHER_QUESTION)
            else:
                yield result_row(run.history, recorded, grader, scenario, trial)


def _add_judgments(run: RecordedRun, known: EarlierJudgments) -> None:
    """Add what the judge of a run said about answers and canaries, to reuse it."""
    for canary in run.history.canaries.values():
        known.add_canary(canary)
    with folder.open_judgments(run.path) as judged_at:
        for id_, number in run.history.plan.trials.items():
            places = (run.history.judgment(id_, trial) for trial in range(1, number + 1))
            for place in filter(None, places):
                known.add_record(judged_at(place))


def changed_questions(history: JournalState, suite: Suite) -> list[str]:
    """The scenarios for which the run asked another question than the suite does now."""
    both = [id_ for id_ in history.plan.order if id_ in suite.scenarios]
    changed = [id_ for id_ in both if suite.scenarios[id_].digest != history.digests[id_]]
    if not changed:
        return []
    try:
        asked = read(history.plan.suite_file, data=history.suite_text).scenarios
    except InputError:  # files of its checks may be on another machine; fail closed: treat any change as a new question
        return changed
    return [id_ for id_ in changed if _question(asked[id_]) != _question(suite.scenarios[id_])]


def _question(scenario: Scenario) -> tuple[Any, ...]:
    return scenario.input, scenario.turns, scenario.messages


# --- the answers in rows ---------------------------------------------------------------------


class _RowPlace(Struct, frozen=True, gc=False):
    """The offset of a row in the copy, and the number of its file."""

    offset: int
    file: int


class _RowIndex(Struct):
    """Where the rows of all files are, by scenario and trial, and which columns they have."""

    places: dict[str, dict[int, _RowPlace]]
    twice: Counter[tuple[str, int]]
    columns: list[Counter[str]]  # for each file: how many rows have each column
    lacking: list[int]  # for each file: how many rows have no answer and should
    origins: Counter[RunOrigin | None]  # how many rows each run has


def regrade_rows(files: Sequence[ResultsFile], by: GradingSuite, stack: ExitStack) -> Regrading:
    """Grade the rows of files, in the order of the suite. Raises InputError if rows and suite do not match."""
    grader = by.grader(None)
    # Rows come out in the order of the suite, so they are copied to a file that can be read at any offset.
    copy = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
    index = _RowIndex({}, Counter(), [Counter() for _ in files], [0 for _ in files], Counter())
    for number, file in enumerate(files):
        for row in read_rows(file):
            _index_row(row, number, copy, index, grader.suite.scenarios.get(str(row["id"])))
    problems = [
        *_unknown_scenarios(index.places, grader.suite, files[0].name if len(files) == 1 else None),
        *(_duplicate_trial(id_, trial) for id_, trial in index.twice),
        *(problem for number, file in enumerate(files) for problem in _no_answers(file, index, number)),
    ]
    if problems:
        raise InputError(*problems)
    calls = [columns["tool_calls"] > 0 for columns in index.columns]
    missing = [id_ for id_ in grader.suite.scenarios if id_ not in index.places]
    notes = [*_notes(missing, ()), *_notes_about_rows(index, grader.suite)]
    if by.asks_judge:
        judged = _judge_rows(by, index, copy, files, calls)
        grader = by.grader(None, judged)
        notes += judged.notes()
    return _rows_of_files(grader, index, copy, files, calls), notes


def _judge_rows(
    by: GradingSuite, index: _RowIndex, copy: IO[bytes], files: Sequence[ResultsFile], calls: Sequence[bool]
) -> JudgedAgain:
    """Ask the judge about the answers in rows."""

    def rows() -> Iterator[tuple[Scenario, int, _RowPlace, dict[str, Any]]]:
        for id_, trials in index.places.items():
            for trial, place in sorted(trials.items()):
                copy.seek(place.offset)
                yield by.suite.scenarios[id_], trial, place, json.loads(copy.readline())

    def trials() -> Iterator[tuple[Scenario, TrialEnded]]:
        for scenario, trial, place, row in rows():
            with _refuse_faults(scenario.id, trial, files[place.file].name):
                found = answer_in(row, scenario, trial, calls_recorded=calls[place.file])
            if not isinstance(found, str):
                yield scenario, found

    def earlier(known: EarlierJudgments) -> None:
        for _, _, _, row in rows():
            known.add_row(row)

    return by.judged(trials(), earlier)


def _index_row(row: dict[str, Any], number: int, copy: IO[bytes], index: _RowIndex, scenario: Scenario | None) -> None:
    """Copy a row to the temporary file, and index it: only the index stays in memory."""
    id_, trial = str(row["id"]), row.get("trial", 1)
    trials = index.places.setdefault(id_, {})
    if trial in trials:
        index.twice[id_, trial] += 1
    trials[trial] = _RowPlace(copy.tell(), number)
    # json.dumps writes ASCII, so unpaired surrogates survive.
    copy.write(json.dumps(row).encode() + b"\n")
    index.columns[number].update(row.keys())
    index.columns[number]["tool_calls"] += scenario is not None and names_calls(row, scenario)
    index.lacking[number] += needs_answer(row) and not has_answer(row)
    index.origins[read_origin(row.get("highbar_run"))] += 1


def _rows_of_files(
    grader: Grader, index: _RowIndex, copy: IO[bytes], files: Sequence[ResultsFile], calls: Sequence[bool]
) -> Iterator[dict[str, Any]]:
    added = sum(max(one.trials - len(index.places.get(id_, ())), 0) for id_, one in grader.suite.scenarios.items())
    origins = graded_origins(index.origins, grader.suite, added)
    grader.origin = next(iter(origins.values()), None)  # of rows that are added
    for id_, scenario in grader.suite.scenarios.items():
        trials = index.places.get(id_, {})
        for trial, place in sorted(trials.items()):
            copy.seek(place.offset)
            row = json.loads(copy.readline())
            with _refuse_faults(id_, trial, files[place.file].name):
                graded = _regrade_row(row, scenario, trial, grader, calls_recorded=calls[place.file])
            graded.pop("highbar_run", None)
            origin = read_origin(row.get("highbar_run"))
            yield graded if origin is None else {**graded, "highbar_run": origins[origin]}
        yield from _rows_without_answer(grader, scenario, scenario.trials - len(trials), trials)


@contextmanager
def _refuse_faults(id_: str, trial: int, file: str) -> Iterator[None]:
    """Turn a RowFault into an InputError that names the row."""
    try:
        yield
    except RowFault as fault:
        raise InputError(Problem("row.wrong-type", f"{id_}, trial {trial}: {fault}", file)) from None


def _regrade_row(
    row: Mapping[str, Any], scenario: Scenario, trial: int, grader: Grader, *, calls_recorded: bool
) -> dict[str, Any]:
    found = answer_in(row, scenario, trial, calls_recorded=calls_recorded)
    violated = {} if found == f"check: {OTHER_QUESTION}" else recorded_violations(row, scenario)
    graded = grader.row(None if isinstance(found, str) else found, scenario, trial, violated=violated)
    graded.pop("attempts", None)
    if isinstance(found, str):
        graded["unjudged"] = found
    kept = {name: value for name, value in row.items() if name not in _NOT_KEPT and name not in ("id", "trial")}
    tags = {**kept.pop("tags", {}), **graded.get("tags", {})}
    flat = {f"tags.{name}" for name in tags}
    graded |= {name: value for name, value in kept.items() if name not in flat and name not in graded}
    if tags:
        graded["tags"] = tags
    for name in ("messages", "attempts"):  # as recorded, not as the suite would have them
        if name in row:
            graded[name] = row[name]
    return graded


def _no_answers(file: ResultsFile, index: _RowIndex, number: int) -> Iterator[Problem]:
    if index.lacking[number] and not any(index.columns[number][name] for name in ("output", "tool_calls", "messages")):
        hint = "record what the agent said in `output`; `highbar check` judges rows that were graded elsewhere"
        yield Problem("results.no-answers", "this file records no answers: no row has an output", file.name, hint=hint)


def _notes_about_rows(index: _RowIndex, suite: Suite) -> Iterator[str]:
    columns = [name for name in sorted(REPLACED) if any(counted[name] for counted in index.columns)]
    if columns:
        yield f"the earlier grading is replaced: {', '.join(columns)}"
    if _looks_at_calls(suite) and not any(counted["tool_calls"] or counted["messages"] for counted in index.columns):
        yield "no tool calls were recorded: checks of calls are undecided, and must-nots were looked for in texts alone"
    fewer = [id_ for id_, trials in index.places.items() if len(trials) < suite.scenarios[id_].trials]
    if fewer:
        yield f"fewer trials were recorded than the suite has, of {some_and_more(fewer)}: the others are undecided"


def _looks_at_calls(suite: Suite) -> bool:
    """Whether a check of the suite reads tool calls. Every must-not does: it also reads the arguments of calls."""
    for scenario in suite.scenarios.values():
        found = [scenario.answer, *(behavior.check for behavior in scenario.expected_behaviors.values())]
        if scenario.must_not or any(reads_calls(check) for check in found if check is not None):
            return True
    return False


# --- what does not fit together --------------------------------------------------------------


def _rows_without_answer(
    grader: Grader, scenario: Scenario, trials: int, taken: Mapping[int, object] | None = None
) -> Iterator[dict[str, Any]]:
    """Undecided rows for `trials` trials that were not recorded, under numbers that are not `taken`."""
    number = 0
    for _ in range(trials):
        number += 1
        while taken and number in taken:
            number += 1
        yield grader.row(None, scenario, number, reason=NO_ANSWER)


def _unknown_scenarios(ids: Iterable[str], suite: Suite, file: str | None) -> Iterator[Problem]:
    unknown = [id_ for id_ in ids if id_ not in suite.scenarios]
    if unknown:
        named = suite.file or "the suite"
        hint = did_you_mean(unknown[0], suite.scenarios) or "--suite FILE names the suite that has them"
        message = f"{named} does not have {count(len(unknown), 'scenario')}: {some_and_more(unknown)}"
        yield Problem("suite.unknown-scenario", message, file, hint=hint)


def _duplicate_trial(id_: str, trial: int) -> Problem:
    message = f"two rows are of the same trial: {id_}, trial {trial}"
    return Problem("results.duplicate-trial", message, hint="give each repetition its own number in `trial`")


def _notes(missing: Sequence[str], changed: Sequence[str]) -> Iterator[str]:
    if missing:
        yield f"no recorded answer, so undecided: {some_and_more(missing)}"
    if changed:
        yield f"the suite asks something else by now, so undecided: {some_and_more(changed)}"
