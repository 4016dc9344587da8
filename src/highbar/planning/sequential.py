"""Runs that stop as soon as they are decided → how likely each verdict is, and how many scenarios it takes.

Everything is exact for scenarios with one trial that passes or fails. Scores are judged by bets, and planned for the
worst case, in which each of them is 0 or 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from highbar import catalogue
from highbar.language import formula
from highbar.model import Call, Metric, Name, Policy, SpendingKind, Term, ThresholdRule
from highbar.planning.plans import Assumptions, EarlyChance, Plan, RuleNeed
from highbar.planning.rules import halfway, joint, rules_about_numbers, share_to_reach, without_plan, without_share
from highbar.planning.suites import fewest_to_pass, gate_chance, size_needed
from highbar.statistics.betting import bet_boundaries
from highbar.statistics.planning import scenarios_to_fail, scenarios_to_pass
from highbar.statistics.second_run import Outlook
from highbar.statistics.spending import Boundaries, binomial_boundaries, suite_boundaries, tolerance_boundaries
from highbar.statistics.stopping import sample_ends, suite_ends

MOST_PLANNED = 20_000
"""The most scenarios of a plan: the lattice of so many takes about a second for each rate."""

_CERTAIN = 0.9999
"""A chance above this counts as certain: to match it exactly, a suite judged once would grow without limit."""


class Design(Struct, frozen=True):
    """One threshold on a share of good scenarios, and how a run is judged by it while it goes on.

    `settled`: the rule is about what the whole suite comes to in this run. `bets`: it is judged by bets, not by a count
    of passes.
    """

    bar: Fraction
    scenarios: int
    assumptions: Assumptions
    spending: SpendingKind = "linear"
    failures: int = 0
    settled: bool = False
    strict: bool = False
    bets: bool = False

    @property
    def is_whole_suite(self) -> bool:
        """Whether the scenarios are the whole population, and their number of passes decides."""
        return self.settled and not self.bets and self.bar < 1

    def boundaries(self) -> Boundaries:
        """The boundaries at which the run stops."""
        alpha = self.assumptions.alpha
        if self.bar == 1:
            return tolerance_boundaries(self.assumptions.tolerate, self.scenarios, alpha, self.failures)
        if self.bets:
            return bet_boundaries(self.bar, self.scenarios, alpha)
        if self.is_whole_suite:
            return suite_boundaries(self.bar, self.scenarios, alpha, self.spending, strict=self.strict)
        return binomial_boundaries(self.bar, self.scenarios, alpha, self.spending)


def stop_early(design: Design, rates: Iterable[Fraction]) -> tuple[EarlyChance, ...]:
    """The chances of a run that stops as soon as it is decided, at each of these true rates."""
    boundaries = design.boundaries()
    return tuple(_early_chance(design, boundaries, rate) for rate in rates)


def _early_chance(design: Design, boundaries: Boundaries, rate: Fraction) -> EarlyChance:
    # Of a whole population, the rate is a number of passes; of a sample, a probability.
    ends, units = (
        suite_ends(boundaries, round(rate * design.scenarios))
        if design.is_whole_suite
        else sample_ends(boundaries, rate)
    )
    return EarlyChance(
        threshold=design.bar,
        rate=rate,
        scenarios=design.scenarios,
        passes=ends.passes,
        fails=ends.fails,
        inconclusive=ends.inconclusive,
        expected=units,
        fixed=gate_chance(design.scenarios, design.bar, rate, design.assumptions, design.failures),
        equal=_equal(design, rate, ends),
        spending=design.spending,
    )


def _equal(design: Design, rate: Fraction, ends: Outlook) -> int | None:
    """The smallest suite that, judged once, has the same chance of the right verdict; None as in `EarlyChance`."""
    if design.bar in (1, rate) or design.is_whole_suite:
        return None
    power, needed = (ends.passes, scenarios_to_pass) if rate > design.bar else (ends.fails, scenarios_to_fail)
    return needed(design.bar, rate, min(power, _CERTAIN), design.assumptions.alpha) if power > 0 else None


def plan_sequential(policy: Policy, assumptions: Assumptions, scenarios: int | None = None) -> Plan:
    """The chances of each rule if the run stops as soon as it is decided, beside those of all scenarios judged once.

    A rule is planned for its `horizon`; else for `scenarios`; else for the scenarios of the suite that it is about;
    else for as many as an agent halfway to perfection needs.
    """
    planned: list[tuple[ThresholdRule, Design]] = []
    unknown: list[RuleNeed] = []
    for rule in rules_about_numbers(policy):
        found = _design(rule, policy, assumptions, scenarios) if isinstance(rule, ThresholdRule) else without_plan(rule)
        if isinstance(rule, ThresholdRule) and isinstance(found, Design):
            planned.append((rule, found))
        elif isinstance(found, RuleNeed):
            unknown.append(found)
    rows = [
        (rule, policy.metrics[rule.metric], stop_early(design, rates_around(design.bar))) for rule, design in planned
    ]
    # The same agent that `plan_policy` supposes, so that the joint chances of both plans can be compared.
    supposed = [
        row
        for rule, _, chances in rows
        if rule.level == "blocking"
        for row in chances
        if row.rate == halfway(row.threshold)
    ]
    return Plan(
        replace(assumptions, confidence=policy.confidence),
        rules=tuple(unknown),
        policy=policy.file,
        scenarios=scenarios,
        joint=joint([row.fixed.passes for row in supposed]),
        early=tuple(_with_rule(rule, metric, row) for rule, metric, chances in rows for row in chances),
        early_joint=joint([row.passes for row in supposed]),
    )


def _design(rule: ThresholdRule, policy: Policy, assumptions: Assumptions, scenarios: int | None) -> Design | RuleNeed:
    metric = policy.metrics[rule.metric]
    bar = share_to_reach(rule, metric, policy)
    if bar is None or bar <= 0:
        return without_share(rule, metric, bar)
    assumed = Assumptions(policy.confidence, assumptions.power, tolerate=rule.demand.tolerate)
    size = rule.demand.horizon or scenarios or _in_suite(rule, policy) or _planned_size(rule, bar, assumed)
    if size is None or size > MOST_PLANNED:
        reason = f"it takes more than {MOST_PLANNED} scenarios, too many to plan one by one"
        return replace(without_share(rule, metric, bar), reason=reason)
    return Design(
        bar=bar,
        scenarios=size,
        assumptions=assumed,
        spending=rule.demand.spending,
        failures=rule.demand.failures,
        settled=policy.is_settled_by_one_run,
        strict=rule.threshold.operator in ("<", ">"),
        bets=not is_yes_or_no(metric),
    )


def _in_suite(rule: ThresholdRule, policy: Policy) -> int | None:
    """How many scenarios of the suite the rule is about; None without a suite."""
    from highbar.policy.sequential import set_of  # plans from numbers alone do without the reader of policies

    return None if policy.suite is None else len(set_of(rule, policy.suite, policy.metrics)) or None


def _planned_size(rule: ThresholdRule, bar: Fraction, assumed: Assumptions) -> int | None:
    if bar == 1:
        return fewest_to_pass(bar, assumed, rule.demand.failures)
    return size_needed(bar, halfway(bar), assumed).scenarios


def is_yes_or_no(metric: Metric) -> bool:
    """Whether the metric makes a scenario with one trial either good or bad: a share of scenarios, or a percentile."""
    expression = metric.expression
    if isinstance(expression, Call):
        return expression.function == "percentile"
    terms = [term for leaf in formula.leaves(expression) for term in _terms(leaf)]
    if len(terms) != 2 or any(term.weighted for term in terms):
        return False
    good, all_ = terms
    return good.column in catalogue.YES_OR_NO and (
        all_.column == "scenario" or (all_.column, all_.of) == (good.column, "count")
    )


def _terms(leaf: Name | Call) -> Iterable[Term]:
    found = catalogue.terms(leaf)
    return found if isinstance(found, tuple) else ()


def _with_rule(rule: ThresholdRule, metric: Metric, row: EarlyChance) -> EarlyChance:
    """The row with the rule's name, and with rates in the metric's own terms."""
    lower = metric.unit == "ratio" and metric.better == "lower"
    named = replace(row, rule=rule.name, level=rule.level)
    return replace(named, threshold=1 - row.threshold, rate=1 - row.rate) if lower else named


def rates_around(bar: Fraction) -> tuple[Fraction, ...]:
    """True rates below, at and above a threshold, in steps of its distance to perfection; `halfway` is one of them."""
    if bar == 1:
        return (Fraction(95, 100), Fraction(99, 100), Fraction(1))
    steps = (Fraction(-1), Fraction(-1, 2), Fraction(0), Fraction(1, 2), Fraction(3, 4))
    return tuple(rate for step in steps if (rate := bar + step * (1 - bar)) >= 0)
