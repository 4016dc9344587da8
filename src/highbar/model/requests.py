"""What an engine is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from highbar.model.ranges import ColumnRange
from highbar.model.rules import Suite, Weights
from highbar.model.sums import Ends, Percentile, Ratio, Term, Undecided
from highbar.model.words import Where

NO_WEIGHTS = Weights()


@dataclass(frozen=True, slots=True)
class Request:
    """The sums that are wanted, and what scoring a trial needs to know."""

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
    ranges: tuple[ColumnRange, ...] = ()  # a row with a value outside of them is bad
    ends: Mapping[str, Ends] = field(default_factory=dict)  # by column, for those that have no bounds of their own
    undecided: tuple[Undecided, ...] = ()  # whose undecided trials are to be named
    trial_noise: bool = False  # the scenarios are the whole population: only their trials vary
    count_failures: bool = False  # count the units that are not perfect, for rules that accept a number of them
    details: bool = False  # read the trials of failed scenarios in full, and how latencies are spread
    select: Where = ()  # which rows take part; all unless given
    subset: bool = False  # whether a scenario may lose all its rows by that
    scenario_limit: int = 0  # how many scenarios to list, passed ones included; for reports that list them
    record_by: tuple[str, ...] | None = None  # the columns that the record of every scenario has; None: no records
