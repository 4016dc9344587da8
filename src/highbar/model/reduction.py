"""What an engine makes of the rows: sums, ranks and lists, from which metrics and rules are computed."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec import Struct, field

from highbar.model.sums import Percentile, Ratio, Term, Trial, Undecided
from highbar.model.verdict import FailedScenario, FlakyScenario, ScenarioResult, UndecidedScenario
from highbar.statistics.bounds import Sums
from highbar.statistics.composite import CrossSums
from highbar.statistics.ratio import ThirdSums
from highbar.statistics.trials import TrialNoise

if TYPE_CHECKING:  # few checks need these classes, and defining them takes time at each start
    from highbar.model.details import Details, TrialDetail
    from highbar.model.judging import Selection
    from highbar.model.records import ScenarioRecord


class Total(Struct, frozen=True):
    """A term's exact sum over the `scenarios` that have a value.

    `undecided` trials are counted at their worst, or at their best in `Reduction.best`. For a column without bounds,
    `valueless` is the number of scenarios with a trial that has no value, and `beyond` the number with a value beyond
    the limit that the policy declares for such trials.
    """

    value: Fraction
    scenarios: int
    undecided: int = 0
    valueless: int = 0
    beyond: int = 0


class Rank(Struct, frozen=True):
    """The value at a percentile's rank: None if a trial with an error has that rank, or if no trial has a value.

    `low` and `high` are its bounds; None if the data do not limit that end.
    """

    value: Fraction | None
    trials: int
    errors: int
    scenarios: int
    low: Fraction | None = None
    high: Fraction | None = None
    undecided: int = 0  # of the trials: how many have no value of their own
    fewest: int = 0  # the smallest number of ranked trials of a scenario that has any
    most: int = 0  # and the largest


class RatioTotals(Struct, frozen=True):
    """The sums over units (scenarios, or clusters of them) from which the bounds of a ratio are computed.

    `largest` is the largest d of a unit; `trials` is the effective number of trials (Kish). `thirds` has the sums of
    products of three, `imperfect` the number of units with z below d and `nonzero` the number with z above 0; each is
    None if it was not requested. `noise` is what repeated trials show of a mean of trials; None if they show nothing.
    """

    sums: Sums
    largest: float
    trials: float
    thirds: ThirdSums | None = None
    imperfect: int | None = None
    nonzero: int | None = None
    noise: TrialNoise | None = None


class Group(Struct, frozen=True):
    """The sums over all scenarios (`by` is None), or over those that share one value of one slice column."""

    by: tuple[str, str] | None
    scenarios: int
    trials: int
    totals: Mapping[Term, Total]
    ranks: Mapping[Percentile, Rank]
    ratios: Mapping[Ratio, RatioTotals]
    crosses: Mapping[tuple[Ratio, Ratio], CrossSums]


class Matched(Struct, frozen=True):
    """The scenarios whose ids match a pattern: how many, how many failed a trial, and examples of those.

    `undecided` counts those that failed no trial but have an undecided one.
    """

    scenarios: int
    failed: int
    examples: tuple[str, ...]
    undecided: int = 0
    undecided_examples: tuple[str, ...] = ()


class SuiteMatch(Struct, frozen=True):
    """How the results differ from the suite: scenarios missing, scenarios extra, and other values in fixed columns."""

    missing: int
    missing_ids: tuple[str, ...]
    extra: int
    extra_ids: tuple[str, ...]
    different: tuple[str, ...]
    excused_ids: tuple[str, ...] = ()  # optional scenarios of the suite that have no result
    unlooked: tuple[str, ...] = ()  # demands of the suite that some trial does not answer, in words
    unlooked_more: int = 0  # how many more there are
    unjudged_ids: tuple[str, ...] = ()  # scenarios with an unjudged trial
    of_part: bool = False  # only the scenarios that a filtered run chose were demanded
    not_run: int = 0  # scenarios that were planned and not run, if a part of them may decide


class RepetitionSums(Struct, frozen=True):
    """Sums over the scenarios of their pass rate p over m trials: Σ(m-1), Σ m p (1-p), Σp, Σp², Σ1/m."""

    fewest: int
    freedom: int
    within: Fraction
    rate: Fraction
    rate_squares: Fraction
    inverse_trials: Fraction
    flaky: int
    scenarios_flaky: tuple[FlakyScenario, ...]


class MissingTrials(Struct, frozen=True):
    """How many planned trials have no row, of how many scenarios, and the first of these, as (id, missing, planned)."""

    trials: int
    scenarios: int
    examples: tuple[tuple[str, int, int], ...]


class UnevenTrials(Struct, frozen=True):
    """Scenarios with different numbers of trials: by number, how many scenarios have it, and the first of them.

    `ends_in_a_pass`: every scenario with fewer trials than others passed its last one, as if failures had been tried
    again until they passed. `first` has the sums over the first trial of each scenario then.
    """

    numbers: tuple[tuple[int, int, str], ...]
    ends_in_a_pass: bool = False
    first: Reduction | None = None


class Reduction(Struct, frozen=True):
    """Everything that is computed from the rows: a few kilobytes, however many rows there are."""

    whole: Group
    slices: tuple[Group, ...]
    errors: int
    unjudged: int
    undecided: int  # trials that neither passed nor failed
    blank: int  # trials that nothing judges
    failed: int
    scenarios_failed: tuple[FailedScenario, ...]
    patterns: Mapping[str, Matched]
    suite: SuiteMatch | None
    repetition: RepetitionSums | None
    clustered: bool
    agent_version: str | None
    columns: tuple[str, ...]
    origins: tuple[tuple[str | None, int], ...]  # how many rows have each value of `highbar_run`; empty without one
    categories: tuple[str, ...]
    warnings: tuple[str, ...]
    outside: tuple[str, ...] = ()  # ids of the first scenarios that the suite lacks, if those do not take part
    left_out: int = 0  # how many rows these have
    best: Group | None = None  # `whole` with undecided trials at their best; None if no trial is undecided
    best_slices: tuple[Group, ...] = ()
    scenarios_undecided: tuple[UndecidedScenario, ...] = ()
    undecided_trials: Mapping[Undecided, tuple[Trial, ...]] = field(default_factory=dict)
    scenarios: tuple[ScenarioResult, ...] = ()  # at most `scenario_limit`, the failed first
    details: Details | None = None
    trials: Mapping[str, tuple[TrialDetail, ...]] = field(default_factory=dict)  # by id, of the requested scenarios
    records: Records | None = None  # only for a baseline or a comparison
    selection: Selection | None = None  # what was left out, if rows were chosen
    missing: MissingTrials | None = None  # the planned trials that no row has; they count as undecided
    uneven: UnevenTrials | None = None  # if scenarios have more trials than others, and nobody planned it


class Records(Struct, frozen=True):
    """One record per scenario, sorted by id, and the judges and the suites of the run."""

    scenarios: tuple[ScenarioRecord, ...]
    judges: tuple[str, ...] = ()
    suites: tuple[str, ...] = ()
    best: tuple[ScenarioRecord, ...] = ()  # with undecided trials at their best; empty if no trial is undecided
    texts: Mapping[str, str] = field(default_factory=dict)  # by id, the digest of what is asked and demanded, if known
