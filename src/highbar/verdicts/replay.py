"""A run in its recorded order: the part of it that each sequential rule sees, and the evidence of any prefix."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction

from msgspec.structs import replace

from highbar import catalogue, gate
from highbar.changes.record_sums import is_selected
from highbar.changes.scored_run import ScoredRun, measured
from highbar.changes.since import Changes, since
from highbar.errors import InputError, Problem
from highbar.gate.rules import MOST_NAMED
from highbar.gate.sequential import Course, SharesSeen, WeighedRule
from highbar.language.phrases import count, some
from highbar.measure.doubts import Weighed, doubt_of_classes
from highbar.measure.parts import of_metric, share_behind
from highbar.model import BaselineRule, Doubt, Policy, StepRule, ThresholdRule
from highbar.model.order import RunOrder
from highbar.policy.sequential import populations, small_horizon
from highbar.verdicts.earlier_noise import EarlierNoise
from highbar.verdicts.shares import Seen, is_countable, pairs_seen, shares_seen

_CLUSTERED = "scenarios of a cluster are not independent of each other"
_STEP = "a step above the baseline is not decided early"
_NO_BASELINE = "there is no baseline to compare with"
_SUITE = "with population: suite, its interval is about the scenarios that were run, not about the others"
_UNEVEN = "scenarios do not count alike, so that failures cannot be counted"


class Replay:
    """One run. `run` has the records of all planned scenarios; `changes` is None if no rule compares.

    `noise` is what the history says about the trials of a suite that is all there is.
    """

    def __init__(
        self,
        policy: Policy,
        run: ScoredRun,
        order: RunOrder,
        changes: Changes | None = None,
        noise: EarlierNoise | None = None,
    ) -> None:
        self.policy, self.run, self.order, self.changes, self.noise = policy, run, order, changes, noise
        self._worst = {record.id: record for record in run.records}
        self._best = {record.id: record for record in run.best or run.records}
        self._base = {} if changes is None else {record.id: record for record in changes.base.records}

    def course(self, rule: WeighedRule) -> Course:
        """The part of the run that a rule sees. Raises InputError if its horizon is below the planned scenarios."""
        ids = self._set(rule)
        planned = tuple(self._worst[id_] for id_ in ids)
        if rule.demand.horizon is not None and rule.demand.horizon < len(ids):
            message, hint = small_horizon(rule, rule.demand.horizon, len(ids))
            raise InputError(
                Problem("policy.horizon", message, rule.place.file, rule.place.line, rule.place.column, hint)
            )
        count_seen = next((place for place, id_ in enumerate(ids) if id_ not in self.order.finished), len(ids))
        course = Course(len(ids), count_seen)
        if isinstance(rule, StepRule):
            return replace(course, why_at_end=_STEP)
        if isinstance(rule, BaselineRule) and (self.changes is None or self.changes.problem):
            return replace(course, why_at_end=_NO_BASELINE)
        if any(record.cluster is not None for record in planned):
            return replace(course, why_at_end=_CLUSTERED)
        seen = Seen(
            planned[:count_seen], tuple(self._best[id_] for id_ in ids[:count_seen]), planned, self.order.trials
        )
        doubt = self._doubt_of_weights(rule)
        if doubt is not None:
            return replace(course, why_at_end=doubt.reason)
        shares = self._shares(rule, seen) if ids else None
        if shares is None and self.policy.population == "suite" and not isinstance(rule, BaselineRule):
            return replace(course, why_at_end=_SUITE)
        if shares is not None and shares.perfect and not self._is_countable(rule, seen):
            return replace(course, why_at_end=_UNEVEN)
        return replace(course, shares=shares, missing=self._missing(rule))

    def _set(self, rule: WeighedRule) -> tuple[str, ...]:
        """The planned scenarios that a rule is about, in order; for a comparison, only those in the baseline."""
        wheres = tuple(dict.fromkeys(populations(rule, self.policy.metrics)))
        paired = isinstance(rule, BaselineRule)
        return tuple(
            id_
            for id_ in self.order.ids
            if (not paired or id_ in self._base) and any(is_selected(self._worst[id_], where) for where in wheres)
        )

    def _shares(self, rule: WeighedRule, seen: Seen) -> SharesSeen | None:
        if isinstance(rule, ThresholdRule):
            found = shares_seen(rule, self.policy, seen)
            return None if found is None else self._with_noise(rule, found, seen)
        return pairs_seen(rule, self.policy, seen, self._base) if isinstance(rule, BaselineRule) else None

    def _with_noise(self, rule: ThresholdRule, shares: SharesSeen, seen: Seen) -> SharesSeen:
        """The same with the noise of the trials, if that was known before the run for all planned scenarios."""
        root = share_behind(of_metric(self.policy, self.policy.metrics[rule.metric], rule.where))
        # Scenarios that are added later, up to a horizon, have no earlier trials yet.
        if self.noise is None or root is None or rule.demand.horizon not in (None, len(seen.planned)):
            return shares
        known = self.noise.before(root[0])
        return shares if known is None else replace(shares, noise=(known, self.noise.disagreements(seen.worst)))

    def _doubt_of_weights(self, rule: WeighedRule) -> Doubt | None:
        """Why the weights that the planned scenarios have leave the rule open."""
        if not isinstance(rule, ThresholdRule | BaselineRule):
            return None
        metric = self.policy.metrics[rule.metric]
        formula, where = of_metric(self.policy, metric, rule.where), catalogue.narrow(rule.where, metric.where)
        return doubt_of_classes(self.policy, formula, Weighed(self.run.records, tuple(self._base.values())), where)

    def _is_countable(self, rule: WeighedRule, seen: Seen) -> bool:
        if not isinstance(rule, ThresholdRule):
            return False
        found = share_behind(of_metric(self.policy, self.policy.metrics[rule.metric], rule.where))
        return found is not None and is_countable(found[0], self.policy, seen)

    def _missing(self, rule: WeighedRule) -> str | None:
        if not isinstance(rule, BaselineRule) or self.changes is None or not self.changes.missing_ids:
            return None
        absent = sorted(self.changes.missing_ids)
        return f"{count(len(absent), 'scenario')} of the baseline without a result: {some(absent)}"

    def at(self, rule: WeighedRule, scenarios: int, alpha: float) -> gate.Evidence:
        """The evidence of only the first `scenarios` that a rule is about, with intervals for the error `alpha`."""
        planned = self._set(rule)
        ids = planned[:scenarios]
        worst, best = (tuple(side[id_] for id_ in ids) for side in (self._worst, self._best))
        run = replace(self.run, records=worst, best=best if best != worst else ())
        policy = self.policy
        if alpha != float(1 - policy.confidence):
            policy = replace(policy, confidence=1 - Fraction(alpha))
        if len(ids) < len(planned):  # a part of the suite is a sample of it
            policy = replace(policy, population="scenarios")
        whole = measured(policy, run)
        changes = self._changes(policy, run) if isinstance(rule, BaselineRule) else None
        evidence = gate.Evidence(whole, policy.metrics, {}, None, alpha, changes)
        return evidence.with_best({rule.name: run.undecided[:MOST_NAMED]})

    def _changes(self, policy: Policy, run: ScoredRun) -> Changes | None:
        """What changed since the baseline in these scenarios; planned ones that were not reached are not missing."""
        if self.changes is None:
            return None
        there = {record.id for record in run.records}
        base = self.changes.base
        left = tuple(record for record in base.records if record.id in there or record.id not in self._worst)
        base = replace(base, records=left)
        found = since(policy, base, run)
        return replace(found, best=since(policy, base, run.at_best())) if run.best else found

    def shown(self) -> ScoredRun:
        """The longest prefix of all planned scenarios in which every one has finished."""
        finished = self.order.finished
        stop = next((place for place, id_ in enumerate(self.order.ids) if id_ not in finished), len(self.order.ids))
        return part_of(self.run, frozenset(self.order.ids[:stop]))


def part_of(run: ScoredRun, ids: Collection[str]) -> ScoredRun:
    """The run with only the scenarios `ids`."""
    records, best = (tuple(record for record in side if record.id in ids) for side in (run.records, run.best))
    return replace(run, records=records, best=best)
