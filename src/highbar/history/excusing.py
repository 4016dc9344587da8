"""Runs of a history → those that may excuse a failure of a run: earlier ones, of the same agent, measured alike."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from highbar.model.history import NOBODY, AgentKey, RunRecord

AGENT_NOT_NAMED = (
    "has runs that say their agent, and this run does not: name it with --agent, or with agent in the policy"
)


class JudgedRun(Struct, frozen=True):
    """What is known about the run that is being judged.

    `commits` are the commits that it may belong to; None if git does not say. `results` are the digests of its files,
    and `begun` is the digest that all its records share.
    """

    commits: frozenset[str] | None
    agent: AgentKey
    scoring: str
    judge: str
    results: frozenset[str | None] = frozenset()
    begun: str | None = None


def is_agent_ambiguous(runs: Sequence[RunRecord], judged: AgentKey) -> bool:
    """Whether the judged run does not name its agent, although some of the runs do.

    Then the folder has runs of several agents, and a run without a name may belong to any of them.
    """
    return judged == NOBODY and any(run.of_agent != NOBODY for run in runs)


def excusing_runs(runs: Sequence[RunRecord], judged: JudgedRun) -> tuple[RunRecord, ...]:
    """The earlier runs, in order, that show how often a scenario failed before; no file of results counts twice.

    Fail closed: a change must not excuse itself. A job that is run again has the same commit, so that its first runs
    excuse nothing. If commits are not known, only runs that passed count, so that repeating a failure does not help.
    """
    return tuple(reversed(list(_without_shared(reversed(runs), judged))))


def _without_shared(runs: Iterator[RunRecord], judged: JudgedRun) -> Iterator[RunRecord]:
    # The newest run first: of several records with the same results, it is the one that counts.
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
    """Whether agent, scoring and judge are the same. An unknown agent is not like a known one: it may be any other."""
    return (run.of_agent, run.scoring, run.judge) == (judged.agent, judged.scoring, judged.judge)
