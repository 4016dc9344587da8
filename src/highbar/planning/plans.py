"""A plan: its assumptions, and one row for each answer."""

from __future__ import annotations

from fractions import Fraction

from msgspec import Struct

from highbar.model import Better, Level, Outcome, SpendingKind, Unit, Value, Where


class Assumptions(Struct, frozen=True):
    """The gate's confidence, and the probability (`power`) with which the verdict should not be inconclusive.

    `correlation` is how alike the `trials` of one scenario are (intraclass; 1: they always agree). `tolerate` is the
    failure rate that a threshold of 100 % must exclude.
    """

    confidence: Fraction = Fraction(95, 100)
    power: Fraction = Fraction(80, 100)
    trials: int = 1
    correlation: Fraction = Fraction(1)
    tolerate: Fraction = Fraction(5, 100)

    @property
    def alpha(self) -> float:
        """The error that is accepted on each side."""
        return float(1 - self.confidence)

    @property
    def repeats(self) -> bool:
        """Whether the trials of a scenario can differ."""
        return self.trials > 1 and self.correlation < 1


class SizeNeeded(Struct, frozen=True):
    """How many scenarios, each with the assumed trials, give an agent of true rate `rate` this outcome.

    From `scenarios` on every larger suite does, with the assumed power. `fewest` is the smallest that does: power is a
    sawtooth, so some sizes between the two do not. None if no number would.
    """

    threshold: Fraction
    rate: Fraction
    outcome: Outcome
    scenarios: int | None
    runs: int | None
    fewest: int | None = None


class Reach(Struct, frozen=True):
    """What a suite can show about a threshold; a field is None if it cannot show it.

    `passes_from` is the fewest passes that pass the threshold and `fails_to` the most that fail it, if each scenario
    has one trial. An agent with a true rate of at least `rate_to_pass` passes with the assumed power, and one with at
    most `rate_to_fail` fails. `best` is the number of scenarios next to this one from which one less would allow a
    failure less: between two of them, more scenarios only lose power.
    """

    threshold: Fraction
    scenarios: int
    passes_from: int | None
    fails_to: int | None
    rate_to_pass: float | None
    rate_to_fail: float | None
    best: int | None = None


class Chance(Struct, frozen=True):
    """How likely an agent of this true rate passes or fails on a suite, or neither."""

    threshold: Fraction
    rate: Fraction
    scenarios: int
    passes: float
    fails: float
    inconclusive: float


class EarlyChance(Struct, frozen=True):
    """How likely an agent of this true rate passes or fails if the run stops as soon as it is decided.

    `expected` is how many of the `scenarios` are looked at until then, on average. `fixed` has the chances if all of
    them are judged once, at the end. `equal` is the smallest suite that, judged once, has the same chance of the right
    verdict (at most 99.99 %). It is None if the threshold is 100 % or the rate itself, if that chance is 0, or if the
    suite is the whole population. `threshold` and `rate` are in the metric's own terms, as in `RuleNeed`.
    """

    threshold: Fraction
    rate: Fraction
    scenarios: int
    passes: float
    fails: float
    inconclusive: float
    expected: float
    fixed: Chance
    equal: int | None = None
    rule: str | None = None
    level: Level | None = None
    spending: SpendingKind = "linear"


class PlannedDifference(Struct, frozen=True):
    """The difference between two versions that `scenarios` show, if the versions differ on a share `differing` of them.

    `difference` is None if it would be larger than that share, which is impossible.
    """

    scenarios: int
    differing: Fraction
    difference: float | None


class UnseenLoss(Struct, frozen=True):
    """A loss of a rate that a comparison with a run of so many scenarios misses with the chance `missed`.

    `at_most`: the chance is that for answers that vary as much as they can, since no trials were repeated. With
    `enough` scenarios the loss is found in 8 of 10 runs; None if no number would do.
    """

    metric: str
    scenarios: int
    loss: float
    missed: float
    enough: int | None
    at_most: bool


class RuleNeed(Struct, frozen=True):
    """How many scenarios a rule of a policy takes, before there are results.

    `fewest` scenarios pass it if every one of them is good; an agent halfway between the threshold and perfection
    (`supposed`) passes it on `scenarios`. If the size of the suite is given, agents at `rate_to_pass` and better pass
    and agents at `rate_to_fail` and worse fail. The rates are the metric's own; for a percentile, the share of trials
    within the limit. With `together` scenarios each, all blocking rules pass with the assumed power, even if they vary
    independently. All of these are None if only results can tell; `reason` says why.
    """

    rule: str
    level: Level
    metric: str | None
    slice: Where
    threshold: str | None
    unit: Unit | None
    better: Better = "higher"
    fewest: int | None = None
    supposed: Fraction | None = None
    scenarios: int | None = None
    rate_to_pass: float | None = None
    rate_to_fail: float | None = None
    reason: str | None = None
    chance: float | None = None  # that the supposed agent passes: on the given number of scenarios, or on `scenarios`
    together: int | None = None


class Joint(Struct, frozen=True):
    """How likely several rules all pass: `low` if they vary independently, `high` if they vary together."""

    rules: int
    low: float
    high: float


class RuleStanding(Struct, frozen=True):
    """Whether results have settled a rule, and how many more scenarios would settle it if its value stayed the same.

    A rule is settled if its whole interval is on one side of the threshold. `more_scenarios` is then 0. It is None if
    no number would do, or if the number is not known.
    """

    rule: str
    level: Level
    metric: str | None
    slice: Where
    threshold: str | None
    value: Value | None
    outcome: Outcome
    settled: bool
    more_scenarios: int | None
    reason: str
    second_run: float | None = None  # the chance that a second run on the same scenarios is judged differently
    second_run_low: float | None = None


class Budget(Struct, frozen=True):
    """A number of scenarios, the trials of each, and the runs of the agent that they take in total."""

    trials: int
    scenarios: int
    runs: int


class Repeats(Struct, frozen=True):
    """What repeated trials showed about the pass rate, and what other numbers of trials would buy.

    `equal` has suites that would bound it from below as closely as this one. `narrowest` is the share by which endless
    trials of the same scenarios would shorten the distance from the rate to that bound.
    """

    trials: Fraction
    between: float
    within: float
    correlation: float
    flaky: int
    equal: tuple[Budget, ...]
    narrowest: float


class Plan(Struct, frozen=True):
    """The answers to a question; answers that were not asked for are empty."""

    assumptions: Assumptions
    supposed: tuple[SizeNeeded, ...] = ()
    reaches: tuple[Reach, ...] = ()
    chances: tuple[Chance, ...] = ()
    differences: tuple[PlannedDifference, ...] = ()
    rules: tuple[RuleNeed, ...] = ()
    standings: tuple[RuleStanding, ...] = ()
    policy: str | None = None
    scenarios: int | None = None
    trials: int | None = None
    repeats: Repeats | None = None
    joint: Joint | None = None
    early: tuple[EarlyChance, ...] = ()
    unseen: UnseenLoss | None = None
    early_joint: Joint | None = None  # for runs that stop early; `joint` is then for the same suites judged once
