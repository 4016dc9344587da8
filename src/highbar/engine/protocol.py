"""What an engine is asked for and what it gives back: this page is the whole contract."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from highbar.model import (
    FailedScenario,
    FlakyScenario,
    Percentile,
    Ratio,
    ResultsFile,
    ScenarioResult,
    Term,
    Trial,
    Undecided,
    UndecidedScenario,
)
from highbar.model.requests import Request as Request  # noqa: PLC0414 - what goes in is part of this contract
from highbar.statistics.bounds import Sums
from highbar.statistics.composite import CrossSums
from highbar.statistics.ratio import ThirdSums

if TYPE_CHECKING:  # few checks ask for details, and their classes take time to make
    from highbar.model.details import RowDetails
    from highbar.model.judging import Selection
    from highbar.model.records import ScenarioRecord


@dataclass(frozen=True, slots=True)
class Total:
    """A term's sum, exact, over the `scenarios` that have a value.

    `undecided` trials count as what they could be. In a column without bounds, `valueless` is how many scenarios have a
    trial without a value, and `beyond` how many have a value beyond the end at which such a trial counts.
    """

    value: Fraction
    scenarios: int
    undecided: int = 0
    valueless: int = 0
    beyond: int = 0


@dataclass(frozen=True, slots=True)
class Rank:
    """The value at a percentile's rank: None where an error stands there, or where no trial has a value.

    `low` and `high` bound it; None where the data cannot.
    """

    value: Fraction | None
    trials: int
    errors: int
    scenarios: int
    low: Fraction | None = None
    high: Fraction | None = None
    undecided: int = 0  # of the trials: how many have no value of their own
    fewest: int = 0  # ranked trials of a scenario that has any
    most: int = 0


@dataclass(frozen=True, slots=True)
class RatioTotals:
    """The sums over units (scenarios, or clusters of them) that the bounds of a ratio need.

    `largest` is the largest d of a unit; `trials` is how many equal trials the units' trials are worth; `thirds` has
    the sums of three factors, of the ratios for which they were asked. `imperfect` counts the units with z below d, and
    `nonzero` those with z above 0; None if the request did not ask for them.
    """

    sums: Sums
    largest: float
    trials: float
    thirds: ThirdSums | None = None
    imperfect: int | None = None
    nonzero: int | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """The sums of the whole (`by` is None) or of the scenarios that share one value of one slice column."""

    by: tuple[str, str] | None
    scenarios: int
    trials: int
    totals: Mapping[Term, Total]
    ranks: Mapping[Percentile, Rank]
    ratios: Mapping[Ratio, RatioTotals]
    crosses: Mapping[tuple[Ratio, Ratio], CrossSums]


@dataclass(frozen=True, slots=True)
class Matched:
    """What a pattern of ids found: how many scenarios, how many failed a trial, and some of those.

    `undecided` counts those that failed no trial, and of which some trial is undecided.
    """

    scenarios: int
    failed: int
    examples: tuple[str, ...]
    undecided: int = 0
    undecided_examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SuiteMatch:
    """How the results differ from the suite: what is missing, what is extra, whose fixed columns differ."""

    missing: int
    missing_ids: tuple[str, ...]
    extra: int
    extra_ids: tuple[str, ...]
    different: tuple[str, ...]
    excused_ids: tuple[str, ...] = ()  # of the suite, without a result, and optional
    unlooked: tuple[str, ...] = ()  # what the suite demands and some trial does not say, in words
    unlooked_more: int = 0  # how many more of those there are
    unjudged_ids: tuple[str, ...] = ()  # with an unjudged trial


@dataclass(frozen=True, slots=True)
class RepetitionSums:
    """Sums over the scenarios of their pass rate p over m trials: Σ(m-1), Σ m p (1-p), Σp, Σp², Σ1/m."""

    fewest: int
    freedom: int
    within: Fraction
    rate: Fraction
    rate_squares: Fraction
    inverse_trials: Fraction
    flaky: int
    scenarios_flaky: tuple[FlakyScenario, ...]


@dataclass(frozen=True, slots=True)
class Reduction:
    """All that comes back from the rows: a few kilobytes, however many rows there were."""

    whole: Group
    slices: tuple[Group, ...]
    errors: int
    unjudged: int
    undecided: int  # trials that neither passed nor failed
    blank: int  # trials in which nothing judges anything
    failed: int
    scenarios_failed: tuple[FailedScenario, ...]
    patterns: Mapping[str, Matched]
    suite: SuiteMatch | None
    repetition: RepetitionSums | None
    clustered: bool
    agent_version: str | None
    columns: tuple[str, ...]
    categories: tuple[str, ...]
    warnings: tuple[str, ...]
    best: Group | None = None  # the whole with undecided trials at their best; None if nothing is undecided
    best_slices: tuple[Group, ...] = ()
    scenarios_undecided: tuple[UndecidedScenario, ...] = ()
    undecided_trials: Mapping[Undecided, tuple[Trial, ...]] = field(default_factory=dict)
    scenarios: tuple[ScenarioResult, ...] = ()  # at most `scenario_limit`, the failed first
    details: RowDetails | None = None
    records: Records | None = None  # only for a baseline or a comparison
    selection: Selection | None = None  # what was left out, if rows were chosen


@dataclass(frozen=True, slots=True)
class Records:
    """Every scenario by itself, sorted by id, and who judged the run, and of which suite it is."""

    scenarios: tuple[ScenarioRecord, ...]
    judges: tuple[str, ...] = ()
    suites: tuple[str, ...] = ()
    best: tuple[ScenarioRecord, ...] = ()  # with undecided trials at their best; empty if nothing is undecided


class Engine(Protocol):
    """Anything that can reduce trials to sums."""

    def columns(self) -> tuple[str, ...]:
        """The names of the columns of the results, tags as `tags.name` not included."""

    def reduce(self, request: Request) -> Reduction:
        """Score, sum and group the trials. Raises InputError where a row cannot be judged."""

    def records(self, request: Request) -> Records:
        """Every scenario by itself, with the request's slice columns; for a baseline or a comparison.

        Only after `reduce`, which refuses what cannot be judged.
        """

    def watched(self, progress: Callable[[float], None] | None) -> AbstractContextManager[None]:
        """Tell `progress` now and then how much of the running query is done, from 0 to 1."""


class FileEngine(Engine, Protocol):
    """An engine that reads the files that it is given."""

    def rows_of(self, file: ResultsFile) -> int:
        """How many rows of one file are read; for a message, if the total is not what the files hold."""


class PathEngine(Engine, Protocol):
    """An engine that finds and reads the files itself, maybe where this process cannot."""

    format: str

    def addresses(self) -> tuple[str, ...]:
        """Of all files that are read."""

    def count(self) -> int:
        """How many results there are, by a query of its own that nothing else is part of."""
