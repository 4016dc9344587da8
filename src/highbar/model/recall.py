"""What the history says about the scenarios of a run that is judged."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

Trials = tuple[int, int]
"""(passed, trials)"""


class Recalled(Struct, frozen=True):
    """Earlier runs that are judged and scored like this one, the oldest first: by id, what became of the same text.

    `runs` count decided trials. `now` has this run in the same form, with undecided trials at one of their ends. If
    `problem` says why the history could not be read, there are no runs; `damaged` names records that were left out.
    `lacking` says which runs may belong to these, and are not among them because a fact about them is not known.
    """

    runs: tuple[Mapping[str, Trials], ...] = ()
    now: Mapping[str, Trials] = field(default_factory=dict)
    decided: Mapping[str, Trials] = field(default_factory=dict)
    explaining: tuple[Mapping[str, Trials], ...] = ()  # the runs that may excuse a failure of this one
    unexplained: str = ""  # why no run may excuse a failure, if something is wrong with the history
    is_agent_known: bool = True  # if not, nobody knows whether these are runs of the same agent
    damaged: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    problem: str | None = None

    def pooled(self, id_: str) -> Trials:
        """The trials of a scenario in all runs that may excuse its failure, together."""
        found = [run[id_] for run in self.explaining if id_ in run]
        return sum(passed for passed, _ in found), sum(trials for _, trials in found)

    @property
    def scenarios(self) -> frozenset[str]:
        """The scenarios of the runs that may excuse a failure."""
        return frozenset(id_ for run in self.explaining for id_ in run)

    @property
    def series(self) -> list[list[Trials]]:
        """The scenarios of this run, run by run, and this run as the last one; no trials in a run without it."""
        return [[run.get(id_, (0, 0)) for id_ in self.decided] for run in (*self.runs, self.decided)]
