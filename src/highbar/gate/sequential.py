"""Judges a rule that some of the scenarios may decide, by the scenarios in their recorded order.

A rule sees the longest prefix of its scenarios, in that order, in which every scenario has finished all its trials. It
ignores all other finished scenarios. The first crossing of a boundary along the prefix decides; later scenarios change
nothing. Undecided scenarios count against the agent at the boundary of a pass, and in its favor at that of a fail. A
rule without a known boundary is judged once, after all scenarios were run.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from highbar.gate.evidence import Evidence
from highbar.gate.outlook import certain_outlooks
from highbar.language.phrases import count
from highbar.model import BaselineRule, ConditionRule, Demand, Outcome, RuleResult, StepRule, ThresholdRule
from highbar.model.order import NO_ORDER
from highbar.model.stopping import SequentialMethod, Stopping
from highbar.statistics.betting import Bets, UnitShare
from highbar.statistics.distributions import normal_cdf
from highbar.statistics.group_sequential import LOOKS, critical_values, look_sizes
from highbar.statistics.noisy_spending import noisy_boundaries
from highbar.statistics.planning import clusters_to_exclude
from highbar.statistics.spending import Boundaries, binomial_boundaries, first_crossing, suite_boundaries
from highbar.statistics.trials import TrialNoise

WeighedRule = ThresholdRule | ConditionRule | BaselineRule | StepRule
Judge = Callable[[WeighedRule, Evidence], RuleResult]
_AT_STOPPING = ", at stopping"
_FEW = "there are too few scenarios for several looks"


class Unit(Struct, frozen=True):
    """One scenario's part of a share, with undecided trials at their worst and at their best.

    A part is a numerator and a denominator, both from 0 to 1; (0, 0) if the scenario does not have the metric.
    """

    worst: UnitShare
    best: UnitShare

    @property
    def is_counted(self) -> bool:
        """Whether the scenario has the metric."""
        return self.worst[1] > 0 or self.best[1] > 0


class SharesSeen(Struct, frozen=True):
    """A share of which higher is better, over the scenarios of a prefix in their order.

    `binary`: every scenario with the metric passes or fails as a whole, and all weigh the same. `of_all`: every
    scenario has the metric. `in_suite`: the suite is the whole population. `settled`: and answers do not vary, so the
    question is about its own share in this run.
    """

    units: tuple[Unit, ...]
    threshold: Fraction
    strict: bool = False
    binary: bool = False
    of_all: bool = False
    in_suite: bool = False
    settled: bool = False
    perfect: bool = False  # only a share of 1 reaches the threshold
    # The noise of the trials of a whole suite, as earlier runs show it, and after each unit as this run does.
    noise: tuple[TrialNoise, tuple[float, ...]] | None = None


class Course(Struct, frozen=True):
    """The part of a run that a rule sees: how many of its scenarios are planned, and how many are in the prefix.

    `shares` is None if its metric is not a share of the scenarios: the rule is then judged at five looks. `why_at_end`
    says why it is judged only once, after all scenarios were run.
    """

    planned: int
    seen: int
    shares: SharesSeen | None = None
    why_at_end: str | None = None
    missing: str | None = None  # why it cannot pass: something in the baseline is missing


class Replaying(Protocol):
    """A run in its recorded order."""

    def course(self, rule: WeighedRule) -> Course:
        """The part of the run that a rule sees."""

    def at(self, rule: WeighedRule, scenarios: int, alpha: float) -> Evidence:
        """The evidence of only the first `scenarios` that a rule is about, with intervals for the error `alpha`."""


class Crossed(Struct, frozen=True):
    """What decided a rule, and after how many of its scenarios (`at`); None for both if it is still open."""

    method: SequentialMethod
    progress: str
    outcome: Outcome | None = None
    at: int | None = None


def judge_sequential(rule: WeighedRule, evidence: Evidence, judge: Judge) -> RuleResult:
    """The outcome of a sequential rule; `judge` judges a rule by all of the evidence that it gets."""
    replay = evidence.replay
    if replay is None:
        return _at_the_end(rule, evidence, judge, None)
    course = replay.course(rule)
    total = rule.demand.horizon or course.planned
    # With fewer scenarios than looks, the looks would not be at different sizes.
    if course.why_at_end is not None or (course.shares is None and total < LOOKS):
        return _at_the_end(rule, evidence, judge, replace(course, why_at_end=course.why_at_end or _FEW))
    if course.shares is None:
        crossed = _by_looks(rule, course, total, evidence, replay, judge)
    else:
        crossed = _crossing(course.shares, course.seen, total, rule.demand, evidence.alpha)
        crossed = _with_enough_scenarios(crossed, course.shares, rule.demand, course.missing)
    # Once decided, the value at that point is shown, not that of scenarios which finished later.
    scenarios = course.seen if crossed.at is None else crossed.at
    shown = judge(_by_estimate(rule), replay.at(rule, scenarios, evidence.alpha))
    return _stopping_result(shown, crossed, course, total, rule)


# --- one look when all scenarios were run -------------------------------------------------------


def _at_the_end(rule: WeighedRule, evidence: Evidence, judge: Judge, course: Course | None) -> RuleResult:
    """The rule as with `confident`, over all scenarios; open if a longer horizon has not spent its error yet."""
    found = judge(rule, evidence.with_fields(replay=None))
    scenarios = found.value.scenarios if found.value else 0
    planned = scenarios if course is None else course.planned
    total = rule.demand.horizon or planned
    why = (evidence.unordered or NO_ORDER) if course is None else course.why_at_end
    reason = f"{found.reason}; judged once, over all scenarios: {why}"
    is_decided = found.outcome in ("pass", "fail") and not found.open
    seen = planned if course is None else course.seen
    if is_decided and total > planned and not _has_failed_for_good(rule, found):
        reason = f"{found.reason}; open: a horizon of {count(total, 'scenario')} was declared, and {why}"
        found = replace(found, outcome="inconclusive", outlooks=certain_outlooks("inconclusive"))
        is_decided = False
    stopping = Stopping("at the end", total, seen, planned if is_decided else None)
    # No advice on more scenarios: judging again with them would be a second chance to pass.
    return replace(found, reason=reason, stopping=stopping, more_scenarios=None)


def _has_failed_for_good(rule: WeighedRule, found: RuleResult) -> bool:
    """Whether a threshold of 100 % was missed, which further scenarios cannot change."""
    if not isinstance(rule, ThresholdRule) or found.value is None or found.outcome != "fail":
        return False
    better = found.value.better
    return rule.threshold.less(rule.demand.margin, better).is_perfection(better)


# --- five looks -----------------------------------------------------------------------------------


def _by_looks(
    rule: WeighedRule, course: Course, total: int, evidence: Evidence, replay: Replaying, judge: Judge
) -> Crossed:
    """The first of five looks that decides, each with intervals at its own level."""
    levels = [normal_cdf(-z) for z in critical_values(evidence.alpha, rule.demand.spending)]
    for number, (size, level) in enumerate(zip(look_sizes(total), levels, strict=True), 1):
        if size > course.seen:
            return Crossed("looks", f"the next of {LOOKS} looks is after {count(size, 'scenario')}")
        found = judge(rule, replay.at(rule, size, level))
        if found.outcome in ("pass", "fail") and not found.open:  # a fail must hold with undecided trials at their best
            return Crossed("looks", f"look {number} of {LOOKS} shows it", found.outcome, size)
    return Crossed("looks", f"none of {LOOKS} looks shows it")


# --- crossings along the prefix -------------------------------------------------------------------


def _crossing(shares: SharesSeen, seen: int, total: int, demand: Demand, alpha: float) -> Crossed:
    if shares.threshold < 0 or (shares.threshold == 0 and not shares.strict):
        first = next((place for place, unit in enumerate(shares.units, 1) if unit.is_counted), None)
        return Crossed("spending", "every value meets it", None if first is None else "pass", first)
    if shares.perfect:
        return _without_failure(shares, seen, total, demand, alpha)
    # Hypergeometric boundaries need the number of scenarios that count, which is known only if all of them do.
    if shares.binary and (shares.of_all or not shares.settled):
        return _by_spending(shares, seen, total, demand, alpha)
    return _by_bets(shares, total, alpha)


def _by_spending(shares: SharesSeen, seen: int, total: int, demand: Demand, alpha: float) -> Crossed:
    """Exact boundaries. At the end of the plan all of the error is spent, even if its last scenarios do not count."""
    places = tuple(place for place, unit in enumerate(shares.units, 1) if unit.is_counted)
    outcomes = [(shares.units[place - 1].worst[0] == 1, shares.units[place - 1].best[0] == 1) for place in places]
    tries = [places] if places else []
    # The boundaries depend on the place of each scenario: the last one that counts also gets that of the plan's end.
    if places and seen == total and places[-1] != total:
        tries.append((*places[:-1], total))
    for tried in tries:
        boundaries = _boundaries(shares, total, demand, alpha, tried)
        crossing = first_crossing(boundaries, outcomes)
        if crossing is not None:
            at = tried[crossing.units - 1]
            passed = sum(best if not crossing.passed else worst for worst, best in outcomes[: crossing.units])
            needed = boundaries.at(crossing.units)
            limit = f"{needed.to_pass} decide a pass" if crossing.passed else f"{needed.to_fail} or fewer decide a fail"
            progress = f"{passed} of {crossing.units} were good, {limit}"
            return Crossed("spending", progress, "pass" if crossing.passed else "fail", at)
    if not places:
        return Crossed("spending", "no scenario was seen")
    tried = tries[-1]
    ahead = (*tried, *range(tried[-1] + 1, total + 1))  # assumes that all scenarios ahead have the metric
    boundaries = _boundaries(shares, total, demand, alpha, ahead)
    return Crossed("spending", _open_progress(boundaries, outcomes) + _distance(boundaries, outcomes, len(ahead)))


def _boundaries(shares: SharesSeen, total: int, demand: Demand, alpha: float, places: tuple[int, ...]) -> Boundaries:
    if shares.settled:
        return suite_boundaries(shares.threshold, total, alpha, demand.spending, strict=shares.strict)
    if shares.noise is not None and shares.in_suite and shares.of_all:
        return noisy_boundaries(shares.threshold, total, alpha, demand.spending, *shares.noise)
    # If every scenario has the metric, as in most plans, the places are left out, so that one cached result serves all.
    given = () if places == tuple(range(1, len(places) + 1)) else places
    return binomial_boundaries(shares.threshold, total, alpha, demand.spending, given)


def _open_progress(boundaries: Boundaries, outcomes: list[tuple[bool, bool]]) -> str:
    """How many passed so far, and how many would decide at this point."""
    looked = len(outcomes)
    needed = boundaries.at(looked)
    good = sum(worst for worst, _ in outcomes)
    undecided = sum(best for _, best in outcomes) - good
    to_pass = "no number decides a pass yet" if needed.to_pass is None else f"{needed.to_pass} decide a pass"
    to_fail = "" if needed.to_fail is None else f", {needed.to_fail} or fewer a fail"
    open_ = f" ({undecided} undecided)" if undecided else ""
    return f"{good} of {looked} were good{open_}; {to_pass}{to_fail}"


def _distance(boundaries: Boundaries, outcomes: list[tuple[bool, bool]], most: int) -> str:
    """The fewest further scenarios that can decide, if all of them pass or all of them fail; empty if none can."""
    worst, best = (sum(side) for side in zip(*outcomes, strict=True))
    for more in range(1, most - len(outcomes) + 1):
        boundary = boundaries.at(len(outcomes) + more)
        if boundary.decides(worst + more) or boundary.decides(best) is False:
            return f"; at least {more} more {'is' if more == 1 else 'are'} needed"
    return ""


def _by_bets(shares: SharesSeen, total: int, alpha: float) -> Crossed:
    bets = Bets(shares.threshold, alpha, total if shares.settled else None, strict=shares.strict)
    for unit in shares.units:
        bets.add(unit.worst, unit.best)
    odds = [_odds(log) for log in bets.log_wealth]
    needed = f"{1 / alpha:.0f} to 1 decides"
    if bets.crossing is None:
        return Crossed("bets", f"the evidence is {odds[0]} for a pass and {odds[1]} for a fail; {needed}")
    passed = bets.crossing.passed
    progress = f"the evidence for a {'pass' if passed else 'fail'} is {odds[0 if passed else 1]}; {needed}"
    return Crossed("bets", progress, "pass" if passed else "fail", bets.crossing.units)


def _odds(log: float) -> str:
    """`23 to 1`, `0.4 to 1`."""
    most = 6 * 2.302585
    if log >= most:
        return "over a million to 1"
    wealth = 2.718281828459045**log
    return f"{wealth:.0f} to 1" if wealth >= 10 else f"{wealth:.2g} to 1"


def _without_failure(shares: SharesSeen, seen: int, total: int, demand: Demand, alpha: float) -> Crossed:
    """A threshold of 100 %: the first failure beyond the accepted ones fails it; enough scenarios without one pass it.

    It can pass at one look only, so that there is only one chance to pass by luck: when there are enough scenarios to
    exclude the tolerated rate with as many failures as are accepted, or at the end of the plan.
    """
    accepted, enough = demand.failures, clusters_to_exclude(demand.tolerate, alpha, demand.failures)
    if shares.in_suite:  # the tolerated rate is about scenarios outside of the suite; here all of the suite must pass
        enough = max(enough, total)
    counted = failed_at_worst = failed_at_best = 0
    for place, unit in enumerate(shares.units, 1):
        counted += unit.is_counted
        failed_at_worst += unit.worst[0] < unit.worst[1]
        failed_at_best += unit.best[0] < unit.best[1]
        progress = f"{failed_at_best} of {counted} failed, {accepted} accepted"
        if failed_at_best > accepted:
            return Crossed("zero tolerance", progress, "fail", place)
        is_last = place == seen == total
        needed = clusters_to_exclude(demand.tolerate, alpha, failed_at_worst) if is_last else enough
        if failed_at_worst <= accepted and counted >= needed:
            return Crossed("zero tolerance", progress, "pass", place)
    undecided = failed_at_worst - failed_at_best
    open_ = f" ({undecided} undecided)" if undecided else ""
    due = f"{enough} with at most {accepted} decide a pass" if enough <= total else "a pass is decided at the end"
    return Crossed("zero tolerance", f"{failed_at_best} of {counted} failed{open_}; {due}")


# --- the result ---------------------------------------------------------------------------------


def _with_enough_scenarios(crossed: Crossed, shares: SharesSeen, demand: Demand, missing: str | None) -> Crossed:
    """The crossing, with a pass moved back until the rule has `min_scenarios`, whatever their results are."""
    if crossed.outcome != "pass" or crossed.at is None:
        return crossed
    if missing is not None:
        return Crossed(crossed.method, f"{crossed.progress}, but {missing}")
    least = demand.min_scenarios or 0
    places = [place for place, unit in enumerate(shares.units, 1) if unit.is_counted]
    if sum(place <= crossed.at for place in places) >= least:
        return crossed
    if len(places) >= least:
        return replace(crossed, at=places[least - 1])
    wanted = f"at least {count(least, 'scenario')} {'is' if least == 1 else 'are'} demanded"
    return Crossed(crossed.method, f"{crossed.progress}, but {wanted}")


def _by_estimate(rule: WeighedRule) -> WeighedRule:
    """The rule by the estimate, so that its reason does not mention an interval."""
    plain = Demand("estimate", rule.demand.margin, rule.demand.tolerate, None, rule.demand.failures)
    return replace(rule, demand=plain)


def _stopping_result(shown: RuleResult, crossed: Crossed, course: Course, total: int, rule: WeighedRule) -> RuleResult:
    """The rule's result, from `shown`, which has its value at stopping."""
    outcome, at, is_whole = crossed.outcome, crossed.at, course.seen >= total
    if shown.outcome == "undefined":
        outcome, at = "undefined" if course.seen >= course.planned else None, None
    stopping = Stopping(crossed.method, total, course.seen, at, crossed.progress)
    if at is not None:
        when = f"decided after {at} of {count(total, 'scenario')}"
    elif is_whole:
        when = f"still open when all {count(total, 'scenario')} were run"
    else:
        when = f"open after {course.seen} of {count(total, 'scenario')}"
    return replace(
        _without_outlook(shown),
        outcome=outcome or "inconclusive",
        reason=f"{shown.reason}{_AT_STOPPING if at is not None else ''}; {when}: {crossed.progress}",
        evidence=rule.demand.evidence,
        demand=rule.demand,
        stopping=stopping,
        open=outcome is None,
    )


def _without_outlook(found: RuleResult) -> RuleResult:
    """The result without predictions: a second run may stop elsewhere, and more scenarios help only in a horizon."""
    return replace(
        found, outlooks=(), second_run=None, second_run_low=None, more_scenarios=None, fragile=False, slack=None
    )
