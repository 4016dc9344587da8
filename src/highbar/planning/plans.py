"""A plan: its assumptions, and one row for each answer."""

from __future__ import annotations

from fractions import Fraction

from msgspec import Struct

from highbar.model import Better, Level, Outcome, SpendingKind, Unit, Value, Where


class Assumptions(Struct, frozen=True):
    """What a plan rests on: the gate's confidence, and the chance (`power`) that the verdict will be a clear one.

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


class Supposed(Struct, frozen=True):
    """The scenarios, each with the assumed trials, that give an agent of true rate `rate` this outcome.

    From `scenarios` on every larger suite does, with the assumed power. `fewest` is the first that does: power is a
    sawtooth, so some sizes between the two do not. None if no number would.
    """

    threshold: Fraction
    rate: Fraction
    outcome: Outcome
    scenarios: int | None
    runs: int | None
    fewest: int | None = None


class Reach(Struct, frozen=True):
    """What a suite can show of a threshold; None if it cannot.

    The fewest passes that pass it and the most that fail it, if each scenario has one trial; and the true rates, at
    least so high and at most so high, that it passes and fails with the assumed power.
    """

    threshold: Fraction
    scenarios: int
    passes_from: int | None
    fails_to: int | None
    rate_to_pass: float | None
    rate_to_fail: float | None


class Chance(Struct, frozen=True):
    """How likely a suite passes, fails or leaves open an agent of this true rate."""

    threshold: Fraction
    rate: Fraction
    scenarios: int
    passes: float
    fails: float
    inconclusive: float


class EarlyChance(Struct, frozen=True):
    """How likely an agent of this true rate passes or fails if the run stops as soon as it is decided.

    `expected` is how many of the `scenarios` are looked at until then, on average. `fixed` is what all of them would
    come to, judged once. `equal` is the smallest suite that has the same chance of the right verdict, judged once, or
    one of 99.99 %; None if the rate is the threshold, or that chance is 0. The rates are those of `RuleNeed`.
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
    """The difference between two versions that so many scenarios show, if the versions differ on this share of them.

    `difference` is None if it would be larger than that share, which is impossible.
    """

    scenarios: int
    differing: Fraction
    difference: float | None


class RuleNeed(Struct, frozen=True):
    """What a rule of a policy takes, before there are results.

    `fewest` scenarios pass it if every one of them is good; an agent halfway between the threshold and perfection
    (`supposed`) passes it on `scenarios`. A suite of a given size passes `rate_to_pass` and better, and fails
    `rate_to_fail` and worse. The rates are the metric's own; of a percentile, the share of trials within the limit.
    On `together` scenarios for each, all blocking rules pass with the assumed power even if they vary independently.
    All is None if only results can tell, as `reason` says.
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
    chance: float | None = None  # to pass, for the supposed agent: on the given scenarios, or on those it needs
    together: int | None = None


class Joint(Struct, frozen=True):
    """How likely all of some rules pass at once: `low` if they vary independently, `high` if together."""

    rules: int
    low: float
    high: float


class RuleStanding(Struct, frozen=True):
    """How far results have settled a rule, and what would settle it if the value stayed.

    A rule is settled if its whole interval is on one side of the threshold. `more_scenarios` is 0 then, and None
    if no number would do or it is not known.
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
    """So many scenarios with so many trials each."""

    trials: int
    scenarios: int
    runs: int


class Repeats(Struct, frozen=True):
    """What repeated trials showed of the pass rate, and what other numbers of them would buy.

    `equal` are suites that would bound it from below as closely as this one; `narrowest` is by what share endless
    trials of the same scenarios would bring that bound nearer.
    """

    trials: Fraction
    between: float
    within: float
    correlation: float
    flaky: int
    equal: tuple[Budget, ...]
    narrowest: float


class Plan(Struct, frozen=True):
    """The answers; what was not asked for is empty."""

    assumptions: Assumptions
    supposed: tuple[Supposed, ...] = ()
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
    early_joint: Joint | None = None  # of runs that stop early; `joint` is then that of the same suites, judged once
