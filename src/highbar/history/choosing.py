"""Runs of a history → those that may be pooled (on one line of commits, and measured alike), and why others may not."""

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

OTHER_AGENT = "of another agent"
_MAYBE_OTHER_AGENT = "of an agent with no name, or of a named one while the last run has no name"
_CHANGES = {
    "agent": OTHER_AGENT,
    "suite": "with other scenarios",
    "scoring": "scored in another way",
    "judge": "with another judge",
    "unknown": "of which suite, scoring or judge is not known",
}
OTHER_BRANCHES = "of other branches"
_VERDICT_ALONE = "of which only the verdict is known"
_NO_COMMIT = "of which the commit is not known"
_NOT_HERE = "of commits that this clone does not have"
_MAYBE_MISSING = frozenset({_CHANGES["unknown"], _MAYBE_OTHER_AGENT, _VERDICT_ALONE, _NO_COMMIT, _NOT_HERE})
"""The reasons that leave open whether a run belongs to the others, because a fact about it is not known."""


class CommitLine(Struct, frozen=True):
    """The ancestors of a run's commit, as far as a clone has them, and what is known about other commits.

    `branch` is the branch that is checked out; None if it is not known. `elsewhere` are commits that the clone has, but
    that are not on the line. `is_shallow`: the clone may lack any commit of the line.
    """

    commits: frozenset[str]
    branch: str | None = None
    elsewhere: frozenset[str] = frozenset()
    is_shallow: bool = False

    def may_have(self, run: RunRecord) -> bool:
        """Whether a run that is not on the line in this clone may be on it in a complete clone."""
        if self.is_shallow:
            return True
        other_branch = None not in (run.branch, self.branch) and run.branch != self.branch
        return run.commit not in self.elsewhere and not other_branch


class ChosenRuns(Struct, frozen=True):
    """The runs that are pooled, the oldest first, and how many were left out for each reason."""

    runs: tuple[RunRecord, ...]
    left_out: tuple[tuple[str, int], ...] = ()

    @property
    def in_words(self) -> str:
        """What was left out, in words; empty if nothing was left out."""
        return "; ".join(f"{count(number, 'run')} {reason}" for reason, number in self.left_out)

    @property
    def maybe_missing(self) -> tuple[tuple[str, int], ...]:
        """The part of `left_out` for which a fact about the runs is not known."""
        return tuple((reason, number) for reason, number in self.left_out if reason in _MAYBE_MISSING)


def comparable(
    runs: Sequence[RunRecord],
    ancestors: CommitLine | Collection[str] | None,
    most: int | None = None,
    *,
    changed: bool = True,
    any_suite: bool = False,
) -> ChosenRuns:
    """The last runs, at most `most`, on a line of commits that were measured like the last run on that line.

    `ancestors` are the commits of the line, with or without what is known about others; if it is None, the line is the
    branch of the last run. `changed`: accept runs of a working tree that differed from its commit. `any_suite`: accept
    runs with other scenarios, for callers that compare scenario by scenario.
    """
    left: Counter[str] = Counter()
    once = _each_once(by_ancestry(runs))
    line = [run for run in _on_line(once, ancestors, left) if not _unusable(run, left, changed=changed)]
    if not line:
        return ChosenRuns((), tuple(sorted(left.items())))
    alike = []
    for run in line:
        last = line[-1]
        why = what_changed(replace(run, suite=last.suite) if any_suite else run, last)
        if why is None:
            alike.append(run)
        elif why == "agent" and None in (run.agent_name, last.agent_name):
            left[_MAYBE_OTHER_AGENT] += 1
        else:
            left[_CHANGES[why]] += 1
    return ChosenRuns(tuple(alike if most is None else alike[-most:]), tuple(sorted(left.items())))


def _each_once(runs: Sequence[RunRecord]) -> list[RunRecord]:
    """The runs without repeated results; of records with the same results, one with scenarios beats a mere verdict."""
    # Records with scenarios first: a later record with only the verdict must not replace them.
    kept = each_result_once([run for run in runs if run.listed is not None])
    records, results = {run.record for run in kept}, {digest for run in kept for digest in run.results}
    return [
        run for run in runs if run.record in records or (run.listed is None and not _is_covered(run.results, results))
    ]


def _is_covered(results: Sequence[str | None], by: Collection[str | None]) -> bool:
    return bool(results) and all(one is not None and one in by for one in results)


def _unusable(run: RunRecord, left: Counter[str], *, changed: bool) -> bool:
    if run.listed is None:
        left[_VERDICT_ALONE] += 1
        return True
    if run.changed and not changed:
        left["of a working tree that differed from its commit"] += 1
        return True
    return False


def _on_line(
    runs: Sequence[RunRecord], ancestors: CommitLine | Collection[str] | None, left: Counter[str]
) -> list[RunRecord]:
    if not runs:
        return []
    if ancestors is None:
        branch = runs[-1].branch
        found = [run for run in runs if run.branch == branch]
        left[OTHER_BRANCHES] += len(runs) - len(found)
    else:
        clone = ancestors if isinstance(ancestors, CommitLine) else None
        line = _with_recorded_parents(runs, ancestors.commits if isinstance(ancestors, CommitLine) else ancestors)
        found = [run for run in runs if run.commit in line]
        left.update(_why_not(run, clone) for run in runs if run.commit not in line)
    # A Counter keeps entries of 0, which would be reported as "0 runs".
    for reason in [reason for reason, number in left.items() if not number]:
        del left[reason]
    return found


def _why_not(run: RunRecord, clone: CommitLine | None) -> str:
    if clone is not None and not clone.may_have(run):
        return OTHER_BRANCHES if run.branch != clone.branch else "of commits that are no ancestors"
    if run.commit is None:
        return _NO_COMMIT
    return "of commits that are no ancestors" if clone is None else _NOT_HERE


def _with_recorded_parents(runs: Sequence[RunRecord], ancestors: Collection[str]) -> set[str]:
    """The ancestors, extended by the parents in the records: a shallow clone may lack those."""
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
