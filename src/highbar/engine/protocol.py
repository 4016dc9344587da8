"""What an engine is asked for and what it gives back: this page is the whole contract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

from highbar.model import Ends, Percentile, Ratio, Suite, Term, Undecided, Weights, Where
from highbar.model.ranges import ColumnRange
from highbar.model.reduction import Records, Reduction

NO_WEIGHTS = Weights()


@dataclass(frozen=True, slots=True)
class Request:
    """Which sums to compute, and what is needed to score a trial."""

    terms: tuple[Term, ...]
    percentiles: tuple[Percentile, ...] = ()
    slices: tuple[str, ...] = ()
    positive: str | None = None
    pass_score: Fraction = Fraction(1)
    weights: Weights = NO_WEIGHTS
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    suite: Suite | None = None
    failed_limit: int = 1000
    alpha: float = 0.05
    ratios: tuple[Ratio, ...] = ()
    crosses: tuple[tuple[Ratio, Ratio], ...] = ()
    thirds: tuple[Ratio, ...] = ()  # those of the ratios whose sums of three factors are wanted
    ranges: tuple[ColumnRange, ...] = ()  # a row with a value outside its range is bad
    ends: Mapping[str, Ends] = field(default_factory=dict)  # by column, for those that have no bounds of their own
    undecided: tuple[Undecided, ...] = ()  # whose undecided trials are to be named
    trial_noise: bool = False  # the scenarios are the whole population: only their trials vary
    count_failures: bool = False  # count the units that are not perfect, for rules that accept a number of them
    details: bool = False  # read the trials of failed scenarios in full, and how latencies are spread
    select: Where = ()  # which rows take part; all if empty
    subset: bool = False  # whether a scenario may lose all its rows to the selection
    scenario_limit: int = 0  # how many scenarios to list, passed ones included; for reports that list them


class Engine(Protocol):
    """Anything that can reduce trials to sums."""

    def columns(self) -> tuple[str, ...]:
        """The names of the columns of the results, tags as `tags.name` not included."""

    def reduce(self, request: Request) -> Reduction:
        """Score, sum and group the trials. Raises InputError if a row cannot be judged."""

    def records(self, request: Request) -> Records:
        """A record of every scenario, with the request's slice columns; for a baseline or a comparison.

        Call `reduce` first, which refuses what cannot be judged.
        """
