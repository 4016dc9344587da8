"""Runs of a history → those that may be pooled: of one line of commits, and measured alike; and why others may not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace

from highbar.history.order import by_ancestry
from highbar.history.pooling import each_result_once
from highbar.history.series import what_changed
from highbar.language.phrases import count
from highbar.model.history import RunRecord

_CHANGES = {
    "suite": "with other scenarios",
    "scoring": "scored in another way",
    "judge": "with another judge",
    "unknown": "of which suite, scoring or judge is not known",
}


class ChosenRuns(Struct, frozen=True):
    """The runs that are pooled, the oldest first, and by reason how many were left out."""

    runs: tuple[RunRecord, ...]
    left_out: tuple[tuple[str, int], ...] = ()

    @property
    def said(self) -> str:
        """What was left out, in words; empty if nothing was."""
        return "; ".join(f"{count(number, 'run')} {reason}" for reason, number in self.left_out)


def comparable(
    runs: Sequence[RunRecord],
    ancestors: Collection[str] | None,
    most: int | None = None,
    *,
    changed: bool = True,
    any_suite: bool = False,
) -> ChosenRuns:
    """The last runs, at most `most`, that are measured like the last one of all, and are of its line of commits.

    `ancestors` are the commits of that line; None if they are not known: then it is the branch of the last run.
    `changed`: a run may be of a working tree that differed from its commit. `any_suite`: it may have other scenarios,
    for those who compare them one by one.
    """
    left: Counter[str] = Counter()
    usable = [run for run in each_result_once(by_ancestry(runs)) if not _unusable(run, left, changed=changed)]
    line = _on_line(usable, ancestors, left)
    if not line:
        return ChosenRuns((), tuple(sorted(left.items())))
    alike = []
    for run in line:
        last = line[-1]
        why = what_changed(replace(run, suite=last.suite) if any_suite else run, last)
        if why is None:
            alike.append(run)
        else:
            left[_CHANGES[why]] += 1
    return ChosenRuns(tuple(alike if most is None else alike[-most:]), tuple(sorted(left.items())))


def _unusable(run: RunRecord, left: Counter[str], *, changed: bool) -> bool:
    if run.listed is None:
        left["of which only the verdict is known"] += 1
        return True
    if run.changed and not changed:
        left["of a working tree that differed from its commit"] += 1
        return True
    return False


def _on_line(runs: Sequence[RunRecord], ancestors: Collection[str] | None, left: Counter[str]) -> list[RunRecord]:
    if not runs:
        return []
    if ancestors is None:
        branch = runs[-1].branch
        found = [run for run in runs if run.branch == branch]
        left["of other branches"] += len(runs) - len(found)
    else:
        line = _with_recorded_parents(runs, ancestors)
        found = [run for run in runs if run.commit in line]
        unknown = sum(run.commit is None for run in runs)
        left["of which the commit is not known"] += unknown
        left["of commits that are no ancestors"] += len(runs) - len(found) - unknown
    for reason in [reason for reason, number in left.items() if not number]:
        del left[reason]
    return found


def _with_recorded_parents(runs: Sequence[RunRecord], ancestors: Collection[str]) -> set[str]:
    """The ancestors, and those that the records know: a shallow clone has lost them."""
    parents: dict[str, set[str]] = {}
    for run in runs:
        if run.commit is not None:
            parents.setdefault(run.commit, set()).update(run.parents or ())
    line = set(ancestors)
    todo = [commit for commit in parents if commit in line]
    while todo:
        new = parents.get(todo.pop(), set()) - line
        line |= new
        todo += new
    return line
