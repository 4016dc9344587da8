"""A request to an engine: the sums to compute, and the settings for scoring trials."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from highbar.model.literals import Where
from highbar.model.rules import SuiteDemands, Weights
from highbar.model.sums import Ends, Percentile, Ratio, Term, Undecided

NO_WEIGHTS = Weights()
LARGEST_END = Fraction(10) ** 18
"""Larger numbers are not summed exactly by every engine."""
_Part = TypeVar("_Part")


class ColumnRange(Struct, frozen=True):
    """The least and the greatest allowed value of a column, in the rows that `where` selects."""

    column: str
    least: Fraction = -LARGEST_END
    most: Fraction = LARGEST_END
    where: Where = ()


class PlannedTrials(Struct, frozen=True):
    """How many trials each scenario was to have, by the policy (`every`), or by the suite or a baseline (`of`, by id).

    Of two numbers the larger one holds.
    """

    every: int = 0
    of: Mapping[str, int] = field(default_factory=dict)


class Request(Struct, frozen=True):
    """The sums to compute, and the settings for scoring a trial."""

    terms: tuple[Term, ...]
    percentiles: tuple[Percentile, ...] = ()
    slices: tuple[str, ...] = ()
    positive: str | None = None
    pass_score: Fraction = Fraction(1)
    weights: Weights = NO_WEIGHTS
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    suite: SuiteDemands | None = None
    failed_limit: int = 1000
    alpha: float = 0.05
    ratios: tuple[Ratio, ...] = ()
    crosses: tuple[tuple[Ratio, Ratio], ...] = ()
    thirds: tuple[Ratio, ...] = ()  # the ratios that also need sums of products of three factors
    ranges: tuple[ColumnRange, ...] = ()  # a row with a value outside of them is bad
    ends: Mapping[str, Ends] = field(default_factory=dict)  # by column, for those that have no bounds of their own
    undecided: tuple[Undecided, ...] = ()  # the questions whose undecided trials are to be named
    trial_noise: bool = False  # the scenarios are the whole population: only their trials vary
    count_failures: bool = False  # count the units that are not perfect, for rules that accept a number of them
    details: bool = False  # read the trials of failed scenarios in full, and how latencies are spread
    trials_of: tuple[str, ...] = ()  # ids of scenarios whose trials are read in full, passed ones too
    select: Where = ()  # which rows take part; empty: all
    subset: bool = False  # whether a scenario may lose all its rows by `select`
    within_suite: bool = False  # whether only rows of scenarios of the suite take part
    scenario_limit: int = 0  # how many scenarios to list, passed ones included; for reports that list them
    record_by: tuple[str, ...] | None = None  # the columns that the record of every scenario has; None: no records
    first_trials: bool = False  # also reduce first trials alone, if others may be failures that were tried again
    planned: PlannedTrials | None = None  # trials that are not there count as undecided; None: nobody said how many
    record_texts: bool = False  # also record the digest of what each scenario asks and demands, if the rows say it


def covering(one: Request, other: Request) -> Request | None:
    """One request for the sums of both; None if they do not read and score the same trials in the same way.

    Both must use the same columns. With an additional column, a trial could become undecided or a scenario contradict
    itself, so that the sums of the other request would change.
    """
    # `other`, with every field that may differ taken from `one`: it equals `one` only if all other fields agree.
    same_suite = (one.suite and one.suite.scenarios) == (other.suite and other.suite.scenarios)
    as_one = replace(
        other,
        terms=one.terms,
        percentiles=one.percentiles,
        ratios=one.ratios,
        crosses=one.crosses,
        thirds=one.thirds,
        undecided=one.undecided,
        suite=one.suite if same_suite else other.suite,  # equal scenarios are enough: one file may be a copy
        details=one.details,
        failed_limit=one.failed_limit,
        scenario_limit=one.scenario_limit,
        record_by=one.record_by,
        record_texts=one.record_texts,
    )
    if as_one != one or _columns(one) != _columns(other):
        return None
    recorded = [by for by in (one.record_by, other.record_by) if by is not None]
    return replace(
        one,
        terms=_either(one.terms, other.terms),
        percentiles=_either(one.percentiles, other.percentiles),
        ratios=_either(one.ratios, other.ratios),
        crosses=_either(one.crosses, other.crosses),
        thirds=_either(one.thirds, other.thirds),
        undecided=_either(one.undecided, other.undecided),
        record_by=_either(*recorded) if recorded else None,
        record_texts=one.record_texts or other.record_texts,
    )


def _either(*parts: tuple[_Part, ...]) -> tuple[_Part, ...]:
    return tuple(dict.fromkeys(each for part in parts for each in part))


def _columns(request: Request) -> frozenset[str]:
    """Every column that is summed, or that selects scenarios."""
    wanted: tuple[Term | Percentile, ...] = (*request.terms, *request.percentiles)
    return frozenset({one.column for one in wanted} | {column for one in wanted for column, _ in one.where})
