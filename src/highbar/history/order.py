"""Runs in order of time → runs in the order of their commits, as far as that is known."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

from highbar.model.history import RunRecord


def by_ancestry(runs: Sequence[RunRecord]) -> tuple[RunRecord, ...]:
    """The runs sorted so that a run comes after all runs of its commit's parents; otherwise in order of time.

    A later run of an old commit is sorted with its commit. If parents form a cycle, which no repository has, the runs
    in it come last, in their old order.
    """
    of_commit: dict[str, list[int]] = {}
    for place, run in enumerate(runs):
        if run.commit is not None:
            of_commit.setdefault(run.commit, []).append(place)
    waits = [sum(len(of_commit.get(parent, ())) for parent in _parents(run)) for run in runs]
    children: dict[int, list[int]] = {}
    for place, run in enumerate(runs):
        for parent in _parents(run):
            for before in of_commit.get(parent, ()):
                children.setdefault(before, []).append(place)
    # Kahn's algorithm; the heap takes the earliest of the runs that wait for no other.
    ready = [(run.moment, place) for place, run in enumerate(runs) if not waits[place]]
    heapq.heapify(ready)
    done: list[int] = []
    while ready:
        place = heapq.heappop(ready)[1]
        done.append(place)
        for child in children.get(place, ()):
            waits[child] -= 1
            if not waits[child]:
                heapq.heappush(ready, (runs[child].moment, child))
    left = sorted(set(range(len(runs))) - set(done))
    return tuple(runs[place] for place in (*done, *left))


def _parents(run: RunRecord) -> Iterable[str]:
    return {parent for parent in run.parents or () if parent != run.commit}
