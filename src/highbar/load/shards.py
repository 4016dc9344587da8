"""Several run folders → whether they are together the run of one suite, each shard once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from highbar.errors import InputError, Problem
from highbar.language.phrases import some_and_more
from highbar.load import run_folders

if TYPE_CHECKING:  # only for the folder of a run
    from highbar.store.run_document import RunDocument, ShardOfRun

_ALL = "name the folders of all shards of one run; --subset judges a part alone"


class ShardedRun(Struct, frozen=True):
    """The paths of the results of all shards, and of those to which no scenario fell: these have no rows."""

    paths: frozenset[str] = frozenset()
    empty: frozenset[str] = frozenset()


def sharded_run(paths: Sequence[str], *, is_alone: bool = True) -> ShardedRun:
    """The shards among the results that are to be judged; none if there are none.

    `is_alone` is false if there are results that no path names. Raises InputError if a shard is missing or doubled, or
    if something else is judged with them: a part says nothing about the whole suite.
    """
    documents = _documents(paths)
    found = {path: shard for path, one in documents.items() if (shard := one.chosen.shard) is not None}
    if not found:
        return ShardedRun()
    others = [
        Problem("this is no shard, and cannot be judged with shards", path) for path in paths if path not in found
    ]
    others += [] if is_alone else [Problem("standard input cannot be judged with shards")]
    first = documents[next(iter(found))]
    strange = [problem for path in found for problem in _strange(path, documents[path], first)]
    problems = [*others, *strange] or [*_incomplete(found)]
    if problems:
        raise InputError(*problems)
    none = {path for path in found if documents[path].planned.trials == 0 and _size(path) == 0}
    return ShardedRun(frozenset(found), frozenset(none))


def _documents(paths: Sequence[str]) -> dict[str, RunDocument]:
    """What the runs say that they did; one that cannot be read is refused when it is judged."""
    runs = [path for path in paths if run_folders.results_in(path) is not None]
    if not runs:
        return {}
    from highbar.store.run_document import read_document  # only for the folder of a run

    found = {}
    for path in runs:
        with suppress(InputError):
            found[path] = read_document(_folder(path))
    return found


def _strange(path: str, document: RunDocument, first: RunDocument) -> Iterator[Problem]:
    """Why a shard does not belong to the first one."""
    folder, shard, of = str(_folder(path)), document.chosen.shard, first.chosen.shard
    chosen = document.chosen
    if chosen.only or chosen.category or chosen.limit is not None:
        yield Problem(
            "this shard was filtered, too: a part of it says nothing about the whole suite", folder, hint=_ALL
        )
    if document.suite.digest != first.suite.digest:
        yield Problem("this is a shard of another suite, or of another version of it", folder, hint=_ALL)
    if shard is not None and of is not None and shard.count != of.count:
        yield Problem(f"this is a shard of {shard.count}, and the first one of {of.count}", folder, hint=_ALL)
    if _agent(document) != _agent(first):
        yield Problem("another agent was run, or one with other settings", folder, hint=_ALL)
    judges = [judge for judge in (first.judge, document.judge) if judge is not None]
    if len({judge.prompt for judge in judges}) > 1 or len({name for judge in judges for name in judge.by}) > 1:
        yield Problem("another judge judged this shard, or by other statements", folder, hint=_ALL)
    versions = {document.agent.version, first.agent.version} - {None}  # an empty shard may not know it
    if len(versions) > 1:
        yield Problem(f"two versions of the agent were run: {' and '.join(map(str, versions))}", folder, hint=_ALL)


def _agent(document: RunDocument) -> tuple[str, str, str]:
    return document.agent.kind, document.agent.target, document.agent.settings


def _incomplete(found: Mapping[str, ShardOfRun]) -> Iterator[Problem]:
    seen: dict[int, str] = {}
    for path, shard in found.items():
        if shard.number in seen:
            message = f"shard {shard.number} of {shard.count} is named twice, {seen[shard.number]} is it too"
            yield Problem(message, str(_folder(path)), hint="each result counts once")
        seen[shard.number] = str(_folder(path))
    count = next(iter(found.values())).count
    missing = [str(number) for number in range(1, count + 1) if number not in seen]
    if missing:
        many = len(missing) > 1
        message = f"shard{'s' if many else ''} {some_and_more(missing)} of {count} {'are' if many else 'is'} missing"
        yield Problem(f"{message}; a part says nothing about the whole suite", next(iter(seen.values())), hint=_ALL)


def _folder(path: str) -> Path:
    return Path(os.path.dirname(path) or os.curdir)


def _size(path: str) -> int | None:
    try:
        return os.path.getsize(path)
    except OSError:
        return None
