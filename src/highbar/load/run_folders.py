"""Folders that `highbar run` wrote → the results in them, if they may be judged: a finished run, whole and unchanged.

Several folders may be the shards of one run: then each shard must be there once.

A results file in such a folder follows the same rules if it is named itself: naming the file must not make an
interrupted or filtered run look like a whole one.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import DecodeError, Struct
from msgspec.json import Decoder

from highbar.errors import InputError, Problem
from highbar.language.phrases import count, some, some_and_more
from highbar.load.folders import DOCUMENT, JOURNAL, results_in
from highbar.model import ResultsFile

if TYPE_CHECKING:  # only for the folder of a run
    from highbar.store.run_document import RunDocument


OF_OTHER_FILES = (b"python", b"is_json", b"file:", b"prompts", b"\\")
"""Words in a suite whose checks or tests may be in other files, which can change while the suite does not."""


class _RowOfRun(Struct, frozen=True):
    """The one field of a row that is needed here."""

    id: str


_row_in = Decoder(_RowOfRun).decode


def files_beside(paths: Iterable[str]) -> list[str]:
    """The other files of the runs whose results are among the paths."""
    folders = [os.path.dirname(path) for path in paths if results_in(path) is not None]
    return [os.path.join(folder, name) for folder in folders for name in (JOURNAL, DOCUMENT)]


def read_results(path: str, *, subset: bool, with_others: bool = False) -> ResultsFile:
    """The results of a run, by their path from `results_in`. Raises InputError if they may not be judged.

    A run of a part of its suite may be judged if the caller accepts a `subset`, or judges it `with_others` that have
    the rest.
    """
    from highbar.store.run_document import read_run_document  # only for the folder of a run

    folder = os.path.dirname(path) or os.curdir
    document = read_run_document(Path(folder))
    again = f"highbar run --resume {shlex.quote(folder)} continues it"
    if not document.is_finished:
        raise InputError(
            Problem("run.unfinished", f"the run has not ended: its state is {document.state}", folder, hint=again)
        )
    if not os.path.isfile(path):
        raise InputError(
            Problem(
                "run.unfinished",
                "the run has no results",
                path,
                hint=f"highbar run --resume {shlex.quote(folder)} writes them",
            )
        )
    is_part = not document.whole and not with_others
    if is_part and not subset:
        message = f"this run was filtered: {_part(document)}; a part says nothing about the whole suite"
        hint = "run the whole suite; --subset judges the part alone, and does not make it the whole"
        raise InputError(Problem("run.partial", message, folder, hint=hint))
    notes = tuple(f"{folder}: {note}" for note in _notes(document, is_part=is_part))
    recorded = document.results.sha256
    return ResultsFile(os.path.realpath(path), path, "jsonl", notes=notes, recorded=recorded, is_part=is_part)


def stopped_early(paths: Iterable[str]) -> str | None:
    """The first run folder among these results whose verdict was certain before all of its trials were run, or None."""
    found = [run for path in paths if (run := results_in(path)) is not None]  # a link has another folder
    for path, document in _documents(found).items():
        if document.state == "decided" and document.done.undecided:
            return str(_folder(path))
    return None


def check_command(paths: Sequence[str]) -> str | None:
    """The command that judges these runs by the policy that was to judge them; None if they are no runs."""
    documents = _documents(paths)
    if not paths or len(documents) < len(paths):
        return None
    named = {document.policy.file for document in documents.values() if document.policy is not None}
    policy = shlex.quote(named.pop()) if len(named) == 1 else "FILE"
    return f"highbar check {shlex.join(str(_folder(path)) for path in paths)} --policy {policy}"


def not_whole(folder: str, why: str) -> Problem:
    """The problem if a command needs all scenarios of a run that stopped early."""
    return Problem("run.stopped-early", f"the run stopped early, and {why}", folder, hint=run_the_rest(folder))


def run_the_rest(folder: str) -> str:
    """The hint for that problem."""
    return f"highbar run --resume {shlex.quote(folder)} --run-all runs the rest"


def ids_in(paths: Iterable[str]) -> frozenset[str]:
    """The ids of all rows of runs. Each planned trial has a row, so these are the scenarios that were chosen."""
    ids: set[str] = set()
    for path in paths:
        try:
            with open(path, "rb") as stream:
                ids.update(_row_in(line).id for line in stream)
        except (OSError, DecodeError):  # the engine says what is wrong with the rows
            continue
    return frozenset(ids)


def refuse_another_suite(path: str, suite: str) -> None:
    """Raise InputError if the results of a run were graded by another version of a suite than its file has now.

    The rows have the outcomes of the checks that were in the suite then: with the suite of today, a version could pass
    that was never checked by it. A file that only lists ids has no checks.
    """
    from highbar.store.run_document import read_document  # only for the folder of a run

    folder = os.path.dirname(path) or os.curdir
    graded_by = read_document(Path(folder)).suite
    if not is_graded_by(suite, graded_by.sha256, graded_by.digest):
        suite = f"{suite} (with the files that its checks use)"
        message = f"this run was graded by another version of the suite than {suite} is now"
        resume = f"highbar run --resume {shlex.quote(folder)} --rerun-changed"
        hint = f"{resume} runs scenarios that changed, and grades the others anew"
        raise InputError(Problem("run.other-suite", message, folder, hint=hint))


def is_graded_by(suite: str, sha256: str, digest: str) -> bool:
    """Whether a suite file has the text or the scenarios with these digests, or has no checks at all."""
    from highbar.documents.files import read_bytes  # only for runs
    from highbar.documents.limits import MOST_SUITE_BYTES  # only for runs

    data = read_bytes(Path(suite), MOST_SUITE_BYTES)
    # The same text is proof only if everything is in it: checks may be in other files, which the digest covers.
    if hashlib.sha256(data).hexdigest() == sha256 and not any(word in data for word in OF_OTHER_FILES):
        return True
    from highbar.suite import read  # only if something may have changed: the checks take 40 ms to load

    now = read(suite, data=data)
    return now.lists_only or now.digest == digest


def _part(document: RunDocument) -> str:
    chosen = document.chosen
    options = [*(f"--only {one}" for one in chosen.only), *(f"--category {one}" for one in chosen.category)]
    options += [f"--limit {chosen.limit}"] if chosen.limit is not None else []
    options += [f"--shard {chosen.shard[0]}/{chosen.shard[1]}"] if chosen.shard is not None else []
    return count(document.planned.scenarios, "scenario") + (f" ({some(options, 5)})" if options else "")


def _notes(document: RunDocument, *, is_part: bool) -> list[str]:
    found = []
    if is_part:
        found.append(f"a filtered run: {_part(document)}. This is no verdict about the whole suite")
    if document.chosen.shard is not None and document.chosen.shard[0] == 1 and document.commit is None:
        found.append("its commit is not known: nothing says that all shards are of one version")
    if document.state == "decided":
        ran = document.done.trials - document.done.undecided
        found.append(f"stopped when the verdict was certain, after {ran} of {count(document.done.trials, 'trial')}")
    again = document.retried
    if again.trials:
        how = [
            f"{again.answered} of them answered in the end",
            f"{again.errors} failed" if again.errors else "",
            f"{again.undecided} stayed without an answer" if again.undecided else "",
        ]
        needed = f"{again.trials} of {count(document.done.trials, 'trial')} needed several attempts"
        found.append(f"{needed}: {', '.join(filter(None, how))}")
    return found


_ONE_COMMIT = "run all shards of one commit, with nothing changed"
_ALL = "name the folders of all shards of one run; --subset judges a part alone"


def sharded_run(paths: Sequence[str], *, is_alone: bool = True, subset: bool = False) -> dict[str, bool]:
    """The paths of the results of shards, and whether a shard has scenarios, and so rows; empty if there is no shard.

    `is_alone` is false if there are also results without a path. Raises InputError if a shard is missing or occurs
    twice, or if anything else is judged with the shards: a part says nothing about the whole suite. With `subset` a
    part is judged as such, and the result is empty; but shards of other plans are not judged together.
    """
    documents = _documents(paths)
    found = {path: shard for path, one in documents.items() if (shard := one.chosen.shard) is not None}
    if not found:
        return {}
    if subset:
        _refuse_other_plans([documents[path] for path in found], [str(_folder(path)) for path in found])
        return {}
    others = [
        Problem("run.shards-differ", "this is not a shard, and cannot be judged with shards", path)
        for path in paths
        if path not in found
    ]
    others += [] if is_alone else [Problem("file.standard-input", "standard input cannot be judged with shards")]
    first = documents[next(iter(found))]
    of_others = [problem for path in found for problem in _other_run_problems(path, documents[path], first)]
    # Which shards are missing can be said only if all the others are of one run.
    problems = [*others, *of_others] or [*_missing_shards(found)]
    if problems:
        raise InputError(*problems)
    _refuse_other_plans([documents[path] for path in found], [str(_folder(path)) for path in found])
    return {path: documents[path].planned.trials > 0 or _size(path) != 0 for path in found}


def _documents(paths: Sequence[str]) -> dict[str, RunDocument]:
    """The documents of the runs among the paths; a run whose document cannot be read is refused when it is judged."""
    runs = [path for path in paths if results_in(path) is not None]
    if not runs:
        return {}
    from highbar.store.run_document import read_document  # only for the folder of a run

    found = {}
    for path in runs:
        with suppress(InputError):
            found[path] = read_document(_folder(path))
    return found


def _other_run_problems(path: str, document: RunDocument, first: RunDocument) -> Iterator[Problem]:
    """The reasons why a shard does not belong to the same run as the first one."""
    folder, shard, of = str(_folder(path)), document.chosen.shard, first.chosen.shard
    chosen = document.chosen
    if chosen.only or chosen.category or chosen.limit is not None:
        yield Problem(
            "run.partial",
            "this shard was filtered, too: a part of it says nothing about the whole suite",
            folder,
            hint=_ALL,
        )
    if document.suite.digest != first.suite.digest:
        yield Problem(
            "run.shards-differ", "this is a shard of another suite, or of another version of it", folder, hint=_ALL
        )
    if shard is not None and of is not None and shard[1] != of[1]:
        yield Problem(
            "run.shards-differ", f"this is a shard of {shard[1]}, and the first one of {of[1]}", folder, hint=_ALL
        )
    if _agent(document) != _agent(first):
        yield Problem("run.shards-differ", "another agent was run, or one with other settings", folder, hint=_ALL)
    judges = [judge for judge in (first.judge, document.judge) if judge is not None]
    if len({judge.prompt for judge in judges}) > 1 or len({name for judge in judges for name in judge.by}) > 1:
        yield Problem("run.shards-differ", "another judge judged this shard, or by other statements", folder, hint=_ALL)
    versions = {document.agent.version, first.agent.version} - {None}  # an empty shard may not know its version
    if len(versions) > 1:
        yield Problem(
            "run.shards-differ",
            f"two versions of the agent were run: {' and '.join(map(str, versions))}",
            folder,
            hint=_ALL,
        )


def _refuse_other_plans(shards: Sequence[RunDocument], named: Sequence[str]) -> None:
    """Raise InputError if shards are not of one plan: one commit without changed files, one suite and one policy."""
    if len(shards) < 2:
        return
    problems = [
        Problem(
            "run.shards-differ", "this shard was run with files that differ from the commit", folder, hint=_ONE_COMMIT
        )
        for folder, one in zip(named, shards, strict=True)
        if one.changed
    ]
    for folder, one in zip(named, shards, strict=True):
        if one.commit != shards[0].commit:
            commits = " and ".join(
                commit[:10] if commit else "an unknown one" for commit in (shards[0].commit, one.commit)
            )
            problems.append(
                Problem("run.shards-differ", f"these shards are of two commits, {commits}", folder, hint=_ONE_COMMIT)
            )
        if one.suite.digest != shards[0].suite.digest or _agent(one) != _agent(shards[0]):
            problems.append(Problem("run.shards-differ", "these shards are of two suites or agents", folder, hint=_ALL))
        if _policy(one) != _policy(shards[0]):
            problems.append(Problem("run.shards-differ", "these shards were run under two policies", folder, hint=_ALL))
    if problems:
        raise InputError(*problems)


def _policy(document: RunDocument) -> str | None:
    return None if document.policy is None else document.policy.sha256


def _agent(document: RunDocument) -> tuple[str, str, str]:
    return document.agent.kind, document.agent.target, document.agent.settings


def _missing_shards(found: Mapping[str, tuple[int, int]]) -> Iterator[Problem]:
    seen: dict[int, str] = {}
    count = next(iter(found.values()))[1]
    for path, (number, _) in found.items():
        if number in seen:
            message = f"shard {number} of {count} is named twice, {seen[number]} is it too"
            yield Problem("run.twice", message, str(_folder(path)), hint="each result counts once")
        seen[number] = str(_folder(path))
    missing = [str(number) for number in range(1, count + 1) if number not in seen]
    if missing:
        many = len(missing) > 1
        message = f"shard{'s' if many else ''} {some_and_more(missing)} of {count} {'are' if many else 'is'} missing"
        yield Problem(
            "run.partial", f"{message}; a part says nothing about the whole suite", next(iter(seen.values())), hint=_ALL
        )


def _folder(path: str) -> Path:
    return Path(os.path.dirname(path) or os.curdir)


def _size(path: str) -> int | None:
    try:
        return os.path.getsize(path)
    except OSError:
        return None
