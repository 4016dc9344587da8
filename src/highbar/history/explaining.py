"""Runs of a history → those that may excuse a failure of a run: before it, of the same agent, and measured alike."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from highbar.model.history import NOBODY, AgentKey, RunRecord

WHOSE = "has runs that say their agent, and this run does not: name it with --agent, or with agent in the policy"


class JudgedRun(Struct, frozen=True):
    """What is known of the run that is judged.

    `commits` are those that it may be of; None if git does not say which they are. `results` are the digests of its
    files, and `begun` is what all records of it share.
    """

    commits: frozenset[str] | None
    agent: AgentKey
    scoring: str
    judge: str
    results: frozenset[str | None] = frozenset()
    begun: str | None = None


def is_whose_unknown(runs: Sequence[RunRecord], judged: AgentKey) -> bool:
    """Whether the judged run does not say its agent, although some of the runs do.

    Then runs of several agents are in one folder, and those that do not say theirs may be of any of them.
    """
    return judged == NOBODY and any(run.of_agent != NOBODY for run in runs)


def that_may_explain(runs: Sequence[RunRecord], judged: JudgedRun) -> tuple[RunRecord, ...]:
    """The runs, in their order, that say how often a scenario failed before; no file of results counts twice.

    A job that is run again has the same commit, so its first runs explain nothing. If commits are not known, only runs
    that passed count: a failure that is only repeated never becomes an explanation.
    """
    return tuple(reversed(list(_without_shared(reversed(runs), judged))))


def _without_shared(runs: Iterator[RunRecord], judged: JudgedRun) -> Iterator[RunRecord]:
    seen = {digest for digest in (*judged.results, judged.begun) if digest is not None}
    for run in runs:
        digests = {digest for digest in (*run.results, run.begun) if digest is not None}
        if _is_before(run, judged.commits) and _is_alike(run, judged) and seen.isdisjoint(digests):
            seen |= digests
            yield run


def _is_before(run: RunRecord, commits: Collection[str] | None) -> bool:
    if commits is None:
        return run.verdict == "pass"
    return run.commit is not None and run.commit not in commits and not run.changed


def _is_alike(run: RunRecord, judged: JudgedRun) -> bool:
    """An agent that is not known may be any other: it is like none that is known."""
    return (run.of_agent, run.scoring, run.judge) == (judged.agent, judged.scoring, judged.judge)
