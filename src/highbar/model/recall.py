"""What the history says about the scenarios of the run that is being judged."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

Trials = tuple[int, int]
"""(passed, trials)"""


class Recalled(Struct, frozen=True):
    """Earlier runs that were judged and scored like this one, the oldest first.

    Each of `runs` maps the id of a scenario to its decided trials, if its text is the same as today. `now` has this run
    in the same form, with undecided trials at their worst or at their best; `decided` has its decided trials alone. If
    the history could not be read, `problem` says why, and there are no runs. `damaged` names records that were left
    out. `maybe_missing` says which runs might belong here, but were left out because a fact about them is not known.
    """

    runs: tuple[Mapping[str, Trials], ...] = ()
    now: Mapping[str, Trials] = field(default_factory=dict)
    decided: Mapping[str, Trials] = field(default_factory=dict)
    excusing: tuple[Mapping[str, Trials], ...] = ()  # the runs that may excuse a failure of this one
    no_excuse: str = ""  # why no run may excuse a failure, if something is wrong with the history
    is_agent_known: bool = True  # if not, these may be runs of other agents
    damaged: tuple[str, ...] = ()
    maybe_missing: tuple[str, ...] = ()
    problem: str | None = None

    def pooled(self, id_: str) -> Trials:
        """The sum of a scenario's trials over all runs that may excuse its failure."""
        found = self.each(id_)
        return sum(passed for passed, _ in found), sum(trials for _, trials in found)

    def each(self, id_: str) -> list[Trials]:
        """A scenario's trials in every run that may excuse its failure."""
        return [run[id_] for run in self.excusing if id_ in run]

    @property
    def scenarios(self) -> frozenset[str]:
        """The scenarios of the runs that may excuse a failure."""
        return frozenset(id_ for run in self.excusing for id_ in run)

    @property
    def series(self) -> list[list[Trials]]:
        """The trials of this run's scenarios in every earlier run, then in this one; (0, 0) if a run lacks one."""
        return [[run.get(id_, (0, 0)) for id_ in self.decided] for run in (*self.runs, self.decided)]
