"""Grades the answers of a run by its suite as it was at a git ref, so that a change cannot lower the bar by its checks.

A scenario that the suite had at the ref is graded by its checks at the ref; a new one keeps the row that the run wrote.
A scenario with another question at the ref has no answer to that question, so it counts as not run. The functions of
checks, and the schemas that they name, are those of the ref too, if they are beside the suite there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from highbar.errors import InputError, Problem
from highbar.language.phrases import some_and_more
from highbar.load import files, folders
from highbar.load.revision import Revision
from highbar.model import Policy, Weakening

if TYPE_CHECKING:  # only for the folder of a run
    from highbar.running.grading import Grader
    from highbar.running.journal_state import JournalState
    from highbar.running.records import TrialEnded
    from highbar.suite import Judge, Suite

_LARGEST_BESIDE = 2**20
"""The largest file beside the suite, in bytes, that is copied for its checks: a module, a schema, a list of words."""
_IN_CHECKS = (b"python", b"is_json")
"""Words in a suite whose checks may need other files."""
_IN_OTHER_TOOLS = (b"prompts",)
"""Words in a suite of promptfoo, whose tests may be in other files: without those, even its ids are unknown."""


class Regraded(Struct, frozen=True):
    """For the path of each run's results, the file with the rows to read instead; and notes on the suites.

    `doubts`: why it is not certain that everything was judged as the ref has it, each in one plain sentence.
    """

    rows: Mapping[str, str] = {}
    notes: tuple[str, ...] = ()
    weakened: tuple[Weakening, ...] = ()
    doubts: tuple[str, ...] = ()


class _RunRow(Struct, frozen=True):
    """The fields of a row that do not depend on its checks."""

    id: str
    trial: int
    agent_version: str | None = None
    suite: str | None = None
    unjudged: str | None = None
    error: str | None = None
    highbar_run: Mapping[str, Any] | None = None


_row_in = msgspec.json.Decoder(_RunRow).decode


def runs_in(arguments: Sequence[str]) -> tuple[str, ...]:
    """The paths in the arguments that are results in a run folder."""
    return tuple(path for path in files.paths_named(arguments) if folders.results_in(path) is not None)


def regrade(runs: Sequence[str], there: Revision, before: Policy, folder: Path) -> Regraded:
    """The runs with these results, graded by their suites at the ref; writes the rows into `folder`.

    Raises InputError if a run cannot be read, or if its suite cannot be in the repository.
    """
    planned = _planned_in_shards(runs)
    made = [_of_run(path, there, before, folder / f"rows-{number}.jsonl", planned) for number, path in enumerate(runs)]
    rows = {path: instead for one in made for path, instead in one.rows.items()}
    return Regraded(
        rows,
        tuple(note for one in made for note in one.notes),
        tuple(each for one in made for each in one.weakened),
        tuple(doubt for one in made for doubt in one.doubts),
    )


def _planned_in_shards(runs: Sequence[str]) -> frozenset[str]:
    """The scenarios of all shards among the runs: a scenario that one shard does not have may be in another."""
    from highbar.running.folder import read_run  # only for the folder of a run

    plans = [read_run(Path(path).parent).plan for path in runs] if len(runs) > 1 else []
    return frozenset(id_ for plan in plans if plan.chosen.shard is not None for id_ in plan.order)


def _of_run(path: str, there: Revision, before: Policy, target: Path, in_shards: frozenset[str]) -> Regraded:
    from highbar.running.folder import read_run  # only for the folder of a run
    from highbar.running.regrading import changed_questions  # likewise

    folder = Path(path).parent
    history = read_run(folder)
    named = _suite_path(there, history.plan.suite_file, before)
    suite = None if named is None else _read_suite(there, named)
    if named is None or suite is None or suite.lists_only:
        why = "has no checks there" if named else "is not there"
        note = f"{folder}: {history.plan.suite_file} {why}, so its answers are graded as the suite is now"
        # A renamed suite has no checks at the ref to be graded by, so a reviewer must see the change.
        listed = Weakening(f"suite of {folder}", "changed", f"{why} at {there.ref}", "graded as it is now")
        return Regraded(notes=(f"{there.ref}: {note}",), weakened=(listed,))
    others = changed_questions(history, suite)
    with ExitStack() as stack, target.open("wb", buffering=1 << 20) as stream:
        grader = _grader(suite, there.folder / PurePosixPath(named).parent, folder, history, stack)
        stream.writelines(
            _lines(path, history, grader, dict.fromkeys(others, f"it was asked otherwise at {there.ref}"))
        )
    changed = [id_ for id_, digest in history.digests.items() if _differs(suite, id_, digest)]
    note = f"{there.ref}: {folder}: graded by {there.name(named)} too; changed since: {some_and_more(changed)}"
    beside = there.folder / PurePosixPath(named).parent
    weakened = [*_weakened_checks(history, suite, before, named, in_shards), *_of_judge(history, suite, beside, named)]
    if others:
        weakened.append(Weakening(f"{named}: {some_and_more(others)}", "changed", "its question", "another question"))
    return Regraded({path: str(target)}, (note,) if changed else (), tuple(weakened))


def _differs(suite: Suite, id_: str, digest: str) -> bool:
    return id_ in suite.scenarios and suite.scenarios[id_].digest != digest


# --- the suite at the ref --------------------------------------------------------------------


def _suite_path(there: Revision, file: str, before: Policy) -> str | None:
    """The path of the suite in the repository at the ref; None if it was not there. Raises InputError if it cannot be.

    If it was not at its own path, it may have been moved: then it is the suite that the policy at the ref names.
    """
    outside = None
    try:
        candidates = [there.path(file)]
    except InputError as error:  # a run from another machine, or of a suite outside of version control
        outside = error
        # The checkout may be elsewhere on that machine, so try every tail of the path, the longest first.
        parts = PurePath(file).parts
        candidates = ["/".join(parts[start:]) for start in range(1, len(parts))]
    if before.suite is not None:
        candidates.append(PurePath(os.path.relpath(before.suite.file, there.folder)).as_posix())
    found = next((path for path in candidates if there.has(path)), None)
    if found is None and outside is not None:
        raise outside
    inside = there.submodule(candidates[0]) if found is None else None
    if inside is not None:
        message = f"is in the submodule {inside}, of which {there.ref} does not hold the files"
        raise InputError(Problem(message, file, hint="keep the suite outside of submodules"))
    return found


def read_with_files(there: Revision, path: str, *, checks: bool = False) -> Path:
    """A copy of a file as it was at the ref, with copies of the files beside it if it is a suite that may need them.

    `checks`: whether the checks of a suite will be read too.
    """
    copy = there.read(path)
    if any(word in copy.read_bytes() for word in (*_IN_OTHER_TOOLS, *(_IN_CHECKS if checks else ()))):
        there.read_below(str(PurePosixPath(path).parent), _LARGEST_BESIDE)
    return copy


def _read_suite(there: Revision, path: str) -> Suite:
    """The suite as it was at the ref, with the files beside it if its checks may need them."""
    from highbar.suite import read  # only for the folder of a run

    copy = read_with_files(there, path, checks=True)
    try:
        return read(copy)
    except InputError as error:
        problems = (
            replace(one, message=f"as it was at {there.ref}: {one.message}", file=there.renamed(one.file or ""))
            for one in error.problems
        )
        raise InputError(*problems) from None


def _grader(suite: Suite, beside: Path, run: Path, history: JournalState, stack: ExitStack) -> Grader:
    """The grader for the suite at the ref. It asks no judge: unchanged statements have their recorded judgments."""
    from highbar.running.functions import CheckFunctions  # only for the folder of a run
    from highbar.running.grading import Grader  # likewise
    from highbar.running.judging.canaries import distrust  # likewise
    from highbar.running.judging.recorded import judgments_of  # likewise
    from highbar.store.run_document import read_document  # likewise

    judge = read_document(run).judge
    judgments = None
    if judge is not None:
        # If another judge judged, the answers of the judge at the ref are unknown.
        other = "another judge judged than at the ref" if _other_judge(history, suite, beside) else None
        judgments = stack.enter_context(judgments_of(run, history, distrust(judge.canaries) or other))
    return Grader(suite, stack.enter_context(CheckFunctions(beside)), judgments=judgments)


def _weakened_checks(
    history: JournalState, suite: Suite, before: Policy, path: str, in_shards: frozenset[str]
) -> Iterator[Weakening]:
    """Scenarios and trials that the suite at the ref had and the run has not.

    If the policy at the ref has a suite, its rule reports the missing scenarios already.
    """
    plan = history.plan
    gone = [id_ for id_ in suite.scenarios if id_ not in plan.trials and id_ not in in_shards]
    if gone and before.suite is None:
        yield Weakening(path, "removed", some_and_more(gone))
    fewer = {
        id_: scenario.trials
        for id_, scenario in suite.scenarios.items()
        if scenario.trials > plan.trials.get(id_, scenario.trials)
    }
    if fewer:
        now = sum(plan.trials[id_] for id_ in fewer)
        yield Weakening(f"trials of {some_and_more(list(fewer))}", "lowered", str(sum(fewer.values())), str(now))


def _of_judge(history: JournalState, suite: Suite, beside: Path, path: str) -> Iterator[Weakening]:
    """A judge other than at the ref, or fewer canaries to test it: either may let more pass."""
    both = _other_judge(history, suite, beside)
    if both is not None:
        yield Weakening(f"judge of {path}", "changed", *both)
    now = _suite_of_run(history)
    gone = [one.id for one in suite.canaries if one not in now.canaries]
    if gone:
        yield Weakening(f"canaries of {path}", "removed", some_and_more(gone))


def _other_judge(history: JournalState, suite: Suite, beside: Path) -> tuple[str, str] | None:
    """The judge at the ref and the one that judged, in words; None if they are the same, including their code."""
    if not suite.judges:
        return None
    from highbar.running.judging.identity import prompt_digest  # only for the folder of a run
    from highbar.running.preparing import named_judges  # likewise

    plan = history.plan
    judges = named_judges(plan) or _suite_of_run(history).judges
    before, after = (", ".join(map(_judge_in_words, one)) for one in (suite.judges, judges))
    if before != after:
        return before, after or "none"
    folder = Path(plan.suite_file).parent
    if prompt_digest(suite.judges, beside, ()) != prompt_digest(judges, folder, ()):
        return before, "other code"
    return None


def _suite_of_run(history: JournalState) -> Suite:
    from highbar.suite import read  # only for the folder of a run

    return read(history.plan.suite_file, data=history.suite_text)


def _judge_in_words(judge: Judge) -> str:
    """A judge in words, with all settings that its answers depend on."""
    settings = [f"{key} {value}" for key in ("temperature", "max_tokens") if (value := getattr(judge, key)) is not None]
    return ", ".join([judge.python or f"{judge.model} ({judge.format})", *settings])


# --- the rows --------------------------------------------------------------------------------


def _lines(path: str, history: JournalState, grader: Grader, not_asked: Mapping[str, str]) -> Iterator[bytes]:
    """The rows of a run, in order, with those of the suite's scenarios graded by the suite.

    `not_asked` has, by id, why a scenario was not run as the suite has it.
    """
    from highbar.running.folder import open_answers  # only for the folder of a run
    from highbar.running.rows import line  # likewise

    results = Path(path)
    with results.open("rb") as stream, open_answers(results.parent) as answer_at:
        for text in stream:
            row = _row_in(text)
            if row.id not in grader.suite.scenarios:
                yield text
                continue
            if row.id in not_asked:
                scenario = grader.suite.scenarios[row.id]
                yield line(grader.row(None, scenario, row.trial, reason=not_asked[row.id]))
                continue
            offset = history.offset(row.id, row.trial)
            yield line(_grade_row(row, None if offset is None else answer_at(offset), grader))


def _grade_row(row: _RunRow, ended: TrialEnded | None, grader: Grader) -> dict[str, Any]:
    if ended is not None and ended.outcome != "error" and row.error:
        # The run itself made this trial an error: it never got an answer or a judgment, while others did.
        ended = replace(ended, outcome="error", reason=row.error)
    reason = row.unjudged.removeprefix("not run: ") if row.unjudged else None
    made = grader.row(ended, grader.suite.scenarios[row.id], row.trial, reason=reason)
    of_run = {"agent_version": row.agent_version, "suite": row.suite, "highbar_run": row.highbar_run}
    return {**made, **{name: value for name, value in of_run.items() if value is not None}}
