"""Grades the answers of a run by the suite of a git ref, over the scenarios that this suite has, and no others.

What a change adds is judged by the verdict of the change alone: trivial scenarios would raise every rate at the ref. A
scenario without an answer to the question that it asks at the ref is undecided there. The functions of checks, and the
schemas that they name, are those of the ref too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from highbar.bar.differences import digest_of
from highbar.documents.limits import MOST_SUITE_BYTES
from highbar.errors import InputError
from highbar.language.phrases import count, some, some_and_more
from highbar.load import files, folders
from highbar.load.revision import Revision, place_in_outer_repository
from highbar.model import Policy

if TYPE_CHECKING:  # only for the folder of a run
    from highbar.bar.code_there import CodeThere
    from highbar.model import ResultsFile
    from highbar.model.job import ReadOrder
    from highbar.model.order import RunOrder
    from highbar.running.grading import Grader
    from highbar.running.journal_state import JournalState
    from highbar.running.records import RunPlan, TrialEnded
    from highbar.suite import Suite

_LARGEST_BESIDE = MOST_SUITE_BYTES
"""The largest file beside the suite, in bytes, that is copied for its checks: a schema, a list of tests."""
_IN_CHECKS = (b"is_json",)
"""Words in a suite whose checks may need other files."""
_MOST_REASONS = 3
"""Reasons of undecided trials that notes give, the most frequent ones."""
_NOT_ASKED = "the run did not ask it"
_IN_OTHER_TOOLS = (b"prompts",)
"""Words in a suite of promptfoo, whose tests may be in other files: without those, even its ids are unknown."""


class Regraded(Struct, frozen=True):
    """For the path of each file with rows of a run, the file with the rows to read instead, or "" if it has none.

    `notes` are about the suites; `files` are their paths, and `differs` says in words what else differs. `doubts` say
    why it is not certain that everything was judged as the ref has it, each in one plain sentence without the name of a
    run, since runs have new names each time. `versions` of the agent are those that the suites at the ref select,
    `scenarios` those of the rows.
    """

    rows: Mapping[str, str] = {}
    notes: tuple[str, ...] = ()
    differs: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    scenarios: frozenset[str] = frozenset()
    files: tuple[str, ...] = ()
    code: bool = False  # whether functions decide, of the suite at the ref or of the one that was run
    nothing: bool = False  # whether no row is of a scenario that the ref has


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

    Raises InputError if a run, or its suite at the ref, cannot be read.
    """
    made = [_of_run(path, there, before, folder / f"rows-{number}.jsonl") for number, path in enumerate(runs)]
    rows = {path: instead for one in made for path, instead in one.rows.items()}
    doubts = dict.fromkeys(doubt for one in made for doubt in one.doubts)
    nothing = bool(rows) and not any(rows.values())  # then the rows stay as they are
    if nothing:
        rows, doubts = {}, {**doubts, nothing_there(there): None}
    return Regraded(
        rows,
        tuple(note for one in made for note in one.notes),
        tuple(dict.fromkeys(each for one in made for each in one.differs)),
        tuple(doubts),
        tuple(version for one in made for version in one.versions),
        frozenset(id_ for one in made for id_ in one.scenarios),
        tuple(file for one in made for file in one.files),
        any(one.code for one in made),
        nothing,
    )


def nothing_there(there: Revision) -> str:
    """Why nothing can be judged at the ref."""
    return f"no scenario that {there.ref} has was run"


def _of_run(path: str, there: Revision, before: Policy, target: Path) -> Regraded:
    from highbar.running.folder import read_run  # only for the folder of a run
    from highbar.running.order import choose_scenarios  # likewise
    from highbar.running.regrading import changed_questions  # likewise
    from highbar.store.run_document import Chosen  # likewise

    folder = Path(path).parent
    history = read_run(folder)
    found = suite_of_policy(there, before) or _suite_of_plan(there, history.plan)
    own = _own_path(there, history.plan)
    files = () if own is None else (own,)
    code = _may_have_code(history)
    if isinstance(found, str):
        scenarios = f"scenarios of the run: {digest_of(history.digests)}"
        return Regraded(doubts=(found,), files=files, differs=(scenarios,), code=code)
    named, suite = found
    files = (*files, named)
    doubts: tuple[str, ...] = ()
    try:
        wanted = choose_scenarios(suite, history.plan.chosen)
    except InputError as error:
        wanted = ()
        doubts = (f"{there.name(named)} does not have what the run was to choose: {error.problems[0].message}",)
    # The rule of a suite says which of its scenarios are missing, but not of a run that was filtered.
    demanded = before.suite.scenarios if before.suite is not None and history.plan.chosen == Chosen() else {}
    lost = {id_: _NOT_ASKED for id_ in wanted if id_ not in history.plan.trials and id_ not in demanded}
    lost |= dict.fromkeys(changed_questions(history, suite), f"it is asked otherwise at {there.ref}")
    beside = there.folder / PurePosixPath(named).parent
    with ExitStack() as stack, target.open("wb", buffering=1 << 20) as stream:
        grader = _grader(suite, there, beside, folder, history, stack)
        undecided: Counter[str] = Counter()
        stream.writelines(_lines(path, history, grader, lost, undecided))
    differs = (*_of_scenarios(history, suite, named), *_of_judge(history, suite, named))
    notes = (*_notes(history, suite, there, named), *_undecided(undecided, there))
    version = suite.agent.version if suite.agent is not None else None
    rows = {path: str(target) if target.stat().st_size else ""}
    asked = frozenset({id_ for id_ in history.plan.trials if id_ in suite.scenarios} | lost.keys())
    doubts = (*doubts, *_doubts(grader, there))
    versions = () if version is None else (version,)
    return Regraded(rows, notes, differs, doubts, versions, asked, files, code or has_code(suite))


def _notes(history: JournalState, suite: Suite, there: Revision, named: str) -> Iterator[str]:
    """What differs between the suite of a run and that at the ref."""
    changed = [id_ for id_, digest in history.digests.items() if _differs(suite, id_, digest)]
    if changed:
        yield f"{there.ref}: graded by {there.name(named)} too; changed since: {some_and_more(changed)}"
    added = [id_ for id_ in history.plan.trials if id_ not in suite.scenarios]
    if added:
        yield only_here(there, named, added)


def _undecided(reasons: Counter[str], there: Revision) -> Iterator[str]:
    """Why trials are undecided at the ref, and not in the run."""
    from highbar.running.agents.replies import short  # only for the folder of a run

    for reason, trials in reasons.most_common(_MOST_REASONS):
        yield f"{there.ref}: {count(trials, 'trial')} undecided: {short(there.renamed(reason))}"


def only_here(there: Revision, named: str, ids: Sequence[str]) -> str:
    """The note that the suite at the ref does not have some scenarios."""
    return f"{there.ref}: not in {there.name(named)}, so judged by this change alone: {some(ids)}"


def order_among(read: ReadOrder | None, ids: Collection[str]) -> ReadOrder | None:
    """A reader of the order of a run, among these scenarios of it: a part of a random order is a random order."""
    if read is None:
        return None

    def order(files: Sequence[ResultsFile], seed: int | None, /) -> RunOrder | str:
        found = read(files, seed)
        if isinstance(found, str):
            return found
        trials = {id_: number for id_, number in found.trials.items() if id_ in ids}
        kept = tuple(id_ for id_ in found.ids if id_ in ids)
        return replace(found, ids=kept, trials=trials, finished=found.finished & frozenset(ids))

    return order


def _differs(suite: Suite, id_: str, digest: str) -> bool:
    return id_ in suite.scenarios and suite.scenarios[id_].digest != digest


# --- the suite at the ref --------------------------------------------------------------------


def version_of_policy(there: Revision, before: Policy) -> str | None:
    """The version of the agent that the suite of the policy at the ref selects, if it does."""
    found = suite_of_policy(there, before)
    return None if found is None or found[1].agent is None else found[1].agent.version


def suite_of_policy(there: Revision, before: Policy) -> tuple[str, Suite] | None:
    """The suite that the policy at the ref names, with its path; None if it has no checks to grade by."""
    if before.suite is None:
        return None
    path = there.place_of(before.suite.file)
    suite = _read_suite(there, path)
    return None if suite.lists_only else (path, suite)


def _own_path(there: Revision, plan: RunPlan) -> str | None:
    """The path in the repository of the suite that was run; None outside of it."""
    return plan.suite_in_repository or there.inside(plan.suite_file)


def _suite_of_plan(there: Revision, plan: RunPlan) -> tuple[str, Suite] | str:
    """The suite at the path of the run's own, with that path; or why the ref has none.

    No other file is taken because of its name or content: that would be a choice of the change.
    """
    path = _own_path(there, plan)
    name = PurePath(plan.suite_file).name
    if path is None:
        return f"the policy at {there.ref} names no suite, and {name}, by which the run was graded, is outside of it"
    if plan.repository_in_outer != place_in_outer_repository():
        inner = plan.repository_in_outer or "another place"
        return f"the policy at {there.ref} names no suite, and the run began in a repository of its own: {inner}"
    link = there.link_to(path)
    if link is not None:
        return f"the policy at {there.ref} names no suite, and a link leads to the folder of {path}: {link}"
    if not there.has(path):
        return f"the policy at {there.ref} names no suite, and {there.ref} has no {path}, by which the run was graded"
    suite = _read_suite(there, path)
    return f"{there.name(path)} only lists scenarios, so it cannot grade" if suite.lists_only else (path, suite)


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
        suite = read(copy)
        if not has_code(suite):
            return suite
        _code(there)
        return read(copy)  # again, since the digests of its scenarios cover the modules of functions
    except InputError as error:
        problems = (
            replace(one, message=f"as it was at {there.ref}: {one.message}", file=there.renamed(one.file or ""))
            for one in error.problems
        )
        raise InputError(*problems) from None


def has_code(suite: Suite) -> bool:
    """Whether a suite calls functions."""
    from highbar.running.preparing import functions_of  # only for the folder of a run

    return bool(functions_of(suite, tuple(suite.scenarios))) or any(judge.python for judge in suite.judges)


def _may_have_code(history: JournalState) -> bool:
    """Whether the suite of a run calls functions, or cannot be read here, so that this is not known."""
    try:
        return has_code(_suite_of_run(history))
    except InputError:
        return True


def _code(there: Revision) -> CodeThere:
    from highbar.bar.code_there import code_of  # few suites call functions

    return code_of(there)


def _doubts(grader: Grader, there: Revision) -> list[str]:
    """Why it is not certain that what a grader called is what it is at the ref."""
    from highbar.running.functions import CheckFunctions  # only for the folder of a run

    called = grader.functions
    return _code(there).doubts(called.facts) if isinstance(called, CheckFunctions) and called.facts else []


def _grader(suite: Suite, there: Revision, beside: Path, run: Path, history: JournalState, stack: ExitStack) -> Grader:
    """The grader for the suite at the ref. It asks no judge: unchanged statements have their recorded judgments."""
    from highbar.running.grading import Grader  # only for the folder of a run
    from highbar.store.run_document import read_document  # likewise

    judge = read_document(run).judge
    judgments = None
    if judge is not None:
        from highbar.bar.judge_there import why_not_believed  # most suites need no judge
        from highbar.running.judging.canaries import distrust  # likewise
        from highbar.running.judging.identity import JudgeIdentity  # likewise
        from highbar.running.judging.recorded import judgments_of  # likewise

        identity = JudgeIdentity(suite, beside)
        why = distrust(judge.canaries) or why_not_believed(history, suite, there, identity)
        judgments = stack.enter_context(judgments_of(run, history, why, identity=identity))
    functions = stack.enter_context(_code(there).functions(beside)) if has_code(suite) else None
    return Grader(suite, functions, judgments=judgments)


def _of_scenarios(history: JournalState, suite: Suite, path: str) -> Iterator[str]:
    """A digest of the scenarios that differ: it covers more files than a diff finds."""
    before = {id_: scenario.digest for id_, scenario in suite.scenarios.items()}
    changed = sorted((id_, before.get(id_), now) for id_, now in history.digests.items() if before.get(id_) != now)
    if changed:
        yield f"{count(len(changed), 'scenario')} of {path}: {digest_of(changed)}"


def _of_judge(history: JournalState, suite: Suite, path: str) -> Iterator[str]:
    """A judge other than at the ref, or fewer canaries to test it: either may let more pass."""
    if not suite.judges:
        return
    from highbar.bar.judge_there import other_judge  # most suites need no judge

    both = other_judge(history, suite)
    if both is not None:
        yield f"judge of {path}: {both[0]} → {both[1]}"
    now = _suite_of_run(history)
    gone = [one.id for one in suite.canaries if one not in now.canaries]
    if gone:
        yield f"canaries of {path} removed: {some_and_more(gone)}"


def _suite_of_run(history: JournalState) -> Suite:
    from highbar.suite import read  # only for the folder of a run

    return read(history.plan.suite_file, data=history.suite_text)


# --- the rows --------------------------------------------------------------------------------


def _lines(
    path: str, history: JournalState, grader: Grader, lost: Mapping[str, str], undecided: Counter[str]
) -> Iterator[bytes]:
    """The rows of a run for the scenarios of the suite, graded by it, and one for each trial that the run lacks.

    `lost` has, by id, why there is no answer to the question that the suite asks. `undecided` receives how many trials
    are undecided for each reason other than in the run.
    """
    from highbar.bar.timeouts_there import ends_there  # only for the folder of a run
    from highbar.running.folder import open_answers  # likewise
    from highbar.running.rows import line  # likewise

    results, scenarios = Path(path), grader.suite.scenarios
    left = {id_: set(range(1, scenarios[id_].trials + 1)) for id_ in (*history.plan.trials, *lost) if id_ in scenarios}
    ended_there = ends_there(history, grader.suite)
    with results.open("rb") as stream, open_answers(results.parent) as answer_at:
        for text in stream:
            row = _row_in(text)
            if row.id not in scenarios:
                continue
            left[row.id].discard(row.trial)
            offset = None if row.id in lost else history.offset(row.id, row.trial)
            if row.id in lost:
                made = grader.row(None, scenarios[row.id], row.trial, reason=lost[row.id])
            else:
                made = _grade_row(row, None if offset is None else ended_there(answer_at(offset)), grader)
            reason = made.get("unjudged")
            if reason is not None and reason != row.unjudged:
                undecided[reason] += 1
            yield line(made)
    for id_, trials in left.items():
        for trial in sorted(trials):
            yield line(grader.row(None, scenarios[id_], trial, reason=lost.get(id_, _NOT_ASKED)))


def _grade_row(row: _RunRow, ended: TrialEnded | None, grader: Grader) -> dict[str, Any]:
    if ended is not None and ended.outcome != "error" and row.error:
        # The run itself made this trial an error: it never got an answer or a judgment, while others did.
        ended = replace(ended, outcome="error", reason=row.error)
    reason = row.unjudged.removeprefix("not run: ") if row.unjudged else None
    made = grader.row(ended, grader.suite.scenarios[row.id], row.trial, reason=reason)
    of_run = {"agent_version": row.agent_version, "suite": row.suite, "highbar_run": row.highbar_run}
    return {**made, **{name: value for name, value in of_run.items() if value is not None}}
