"""The runs that wrote the rows, as the rows name them in the column `highbar_run` → the rows may be judged, or not.

A copy of the rows of a run follows the same rules as the run's folder, in every form that rows can have: half of a run,
or rows of two versions together, say nothing about the whole.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from highbar.errors import InputError, Problem
from highbar.language.phrases import count, some_and_more
from highbar.load import folders
from highbar.load.results import Results
from highbar.model.origin import INTERRUPTED, RunOrigin, is_graded_by, read_origin

_SUBSET = "--subset judges a part alone"
_FOLDER = "hand over the folder of the run, not a copy of its rows"


def judge_origins(results: Results, found: Sequence[tuple[str | None, int]], *, subset: bool) -> tuple[str, ...]:
    """Raise InputError if the rows may not be judged; else notes about them.

    `found` has the number of rows for each value of the column, as JSON text; None is for rows without one.
    """
    rows: Counter[RunOrigin] = Counter()
    unnamed = 0
    for text, number in found:
        origin = _origin(text)
        if origin is None:
            unnamed += number
        else:
            rows[origin] += number
    if not rows:
        return ()
    if _in_folders(results):  # these have more to say, and they have said it, but for the whole plan
        if other := [*_other_plans([origin for origin in rows if origin.shard is not None])]:
            raise InputError(*other)
        return ()
    problems = [*_mixed(unnamed), *_contradictions(rows), *_parts(rows, subset=subset)]
    # What is missing can be said only if everything else is of one run.
    problems = problems or [*_missing_shards(rows, subset=subset), *_of_another_suite(results, rows)]
    if problems:
        raise InputError(*problems)
    return tuple(f"{note}. This is no verdict about the whole suite" for note in _part_notes(rows))


def _in_folders(results: Results) -> bool:
    if results.paths:
        return all(folders.results_in(path) for path in results.paths)
    return bool(results.files) and all(file.recorded is not None for file in results.files)


def _origin(text: str | None) -> RunOrigin | None:
    value = None if text is None else json.loads(text)
    if value is None:
        return None
    origin = read_origin(value)
    if origin is None:  # without a hint: the rows are read one by one, which finds the line
        raise InputError(Problem("row.wrong-type", "a row has a `highbar_run` that no run writes"))
    return origin


def _mixed(unnamed: int) -> Iterator[Problem]:
    if unnamed:
        message = f"{count(unnamed, 'row')} without `highbar_run` beside rows of a run: these are not of that run"
        yield Problem("run.mixed", message, hint="judge the rows of a run alone, as the run wrote them")


def _contradictions(rows: Mapping[RunOrigin, int]) -> Iterator[Problem]:
    """Rows that no run writes together."""
    for id_, number in Counter(origin.id for origin in rows).items():
        if number > 1:
            yield Problem(
                "run.mixed", f"the rows of the run {id_} contradict each other in `highbar_run`", hint=_FOLDER
            )
    for origin, number in rows.items():
        if number > origin.planned:
            message = f"{count(number, 'row')} of the run {origin.id}, which planned {origin.planned}"
            yield Problem("run.mixed", message, hint=_FOLDER)
    shards = [origin for origin in rows if origin.shard is not None]
    if shards and len(rows) > 1:
        yield from _shards_of_other_runs(rows, shards)


def _shards_of_other_runs(rows: Iterable[RunOrigin], shards: Sequence[RunOrigin]) -> Iterator[Problem]:
    for origin in rows:
        if origin.shard is None:
            yield Problem(
                "run.mixed", f"rows of the run {origin.id}, which is no shard, beside rows of shards", hint=_FOLDER
            )
    unknown = [origin for origin in shards if origin.plan is None]
    if unknown:
        message = f"the shard {some_and_more([str(one.part) for one in unknown])} was run with changed files"
        yield Problem(
            "run.shards-differ",
            f"{message}: nothing says that all shards are of one version",
            hint="commit, then run all shards",
        )
    else:
        yield from _other_plans(shards)
    numbers = Counter(str(origin.part) for origin in shards)
    for part, number in numbers.items():
        if number > 1:
            yield Problem("run.twice", f"the shard {part} is there {number} times", hint="each result counts once")


def _other_plans(shards: Sequence[RunOrigin]) -> Iterator[Problem]:
    if len({origin.plan for origin in shards}) > 1:
        message = (
            "these shards are of different plans: another commit, suite, policy, agent, number of trials or shards"
        )
        yield Problem("run.shards-differ", message, hint="run all shards of one commit, with the same settings")


def _parts(rows: Mapping[RunOrigin, int], *, subset: bool) -> Iterator[Problem]:
    """Rows that are not all of their run, or not of all of its suite."""
    for origin, number in rows.items():
        if origin.part == INTERRUPTED:
            yield Problem(
                "run.unfinished",
                f"the run {origin.id} had not ended when it wrote these rows",
                hint="highbar run --resume",
            )
        elif origin.part is not None and origin.shard is None and not subset:
            message = f"these rows are of a filtered run, {origin.id}; a part says nothing about the whole suite"
            yield Problem(
                "run.partial", message, hint=f"run the whole suite; {_SUBSET}, and does not make it the whole"
            )
        if number < origin.planned and not subset:
            message = f"{number} of the {count(origin.planned, 'row')} that the run {origin.id} planned are here"
            yield Problem(
                "run.partial", f"{message}; a part says nothing about the whole suite", hint=f"{_FOLDER}; {_SUBSET}"
            )
    if len(rows) > 1 and not any(origin.shard for origin in rows) and not subset:
        message = f"these rows are of several runs: {some_and_more([origin.id for origin in rows])}"
        yield Problem("run.several", message, hint="judge one run at a time")


def _missing_shards(rows: Iterable[RunOrigin], *, subset: bool) -> Iterator[Problem]:
    there = {shard for origin in rows if (shard := origin.shard) is not None}
    missing = [f"{k}/{of}" for of in {of for _, of in there} for k in range(1, of + 1) if (k, of) not in there]
    if missing and not subset:
        message = f"the rows of the shard {some_and_more(missing)} are missing"
        yield Problem(
            "run.partial", f"{message}; a part says nothing about the whole suite", hint=f"add them; {_SUBSET}"
        )


def _of_another_suite(results: Results, rows: Iterable[RunOrigin]) -> Iterator[Problem]:
    """As `run_folders.refuse_another_suite`: the rows have the outcomes of the checks that graded them."""
    policy = results.policy
    if policy.suite is None or not policy.rules:
        return
    from highbar.suite import read  # only for rows of runs, under a policy with a suite

    suite = read(policy.suite.file)
    others = [origin.id for origin in rows if not is_graded_by(origin.id, suite.digest)]
    if others and not suite.lists_only:
        message = f"the rows of the run {some_and_more(others)} were graded by another version of the suite"
        hint = f"highbar grade grades recorded answers anew by {policy.suite.file}"
        yield Problem("run.other-suite", f"{message} than {policy.suite.file} is now", hint=hint)


def _part_notes(rows: Mapping[RunOrigin, int]) -> Iterator[str]:
    for origin, number in rows.items():
        if number < origin.planned:
            yield f"{number} of the {count(origin.planned, 'row')} of the run {origin.id} are judged"
    if any(origin.shard is None and origin.part is not None for origin in rows):
        yield "a filtered run"
    if [*_missing_shards(rows, subset=False)]:
        yield "some shards of a run"
