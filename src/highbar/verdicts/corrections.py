"""Corrects shares of trials for the errors of the judge, by people's labels of its trials.

If the judge decides whether a trial passed (was violated, was correct), the trial counts with the share of people's
yeses in its stratum: the trials that were drawn in the same way and on which the judge said the same. A score counts
with the mean of people's scores. All other trials count as they are. From labels of another run, only sensitivity and
specificity carry over (Rogan and Gladen). These decide no rule unless labels of this run confirm them, and then the
interval also covers that of the labels of this run alone: the judge may have changed too little for them to show it.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property, partial

from msgspec import Struct
from msgspec.structs import replace

from highbar import measure
from highbar.language.phrases import some_and_more
from highbar.measure.intervals import rounded_end
from highbar.measure.needs import leaves_of
from highbar.measure.parts import columns_of, is_share, is_weighted, of_metric, weights_differ
from highbar.model import BaselineRule, ConditionRule, JudgeRule, Policy, Ratio, StepRule, ThresholdRule, Weights, Where
from highbar.model.judge_quality import CorrectedShare, CorrectionMethod
from highbar.statistics.bounds import Sums, share_bounds, suite_bounds
from highbar.statistics.interval import Interval
from highbar.statistics.judges import post_stratified, rogan_gladen
from highbar.verdicts.judged_parts import JUDGED_COLUMNS, SCORE, ScoredLabel
from highbar.verdicts.judged_units import STRATA, JudgedUnits, ScoredParts
from highbar.verdicts.label_rates import exact_share, rates_of
from highbar.verdicts.label_sources import LEAST_OF_THIS_RUN, why_unconfirmed

_JUDGEABLE = frozenset({*JUDGED_COLUMNS, "observed"})
"""Columns that a judge can change."""
_UNEQUAL = "the trials of a scenario were judged by different columns, so that labels cannot correct them"
_NO_SCORES = (
    f"only labels of this run correct a score, at least {LEAST_OF_THIS_RUN} labeled trials if there are others:"
    " highbar judge label RESULTS draws them"
)


_Found = tuple[Fraction, Interval] | str
"""A corrected share and its bounds, or why the labels do not show it."""


class Corrections(Struct, frozen=True, dict=True):  # with a __dict__, for the cache of computed shares
    """Corrects the shares of one check; `problem` says why none of them can be corrected.

    `scored` has the labels of this run, and `labels` all of them.
    """

    policy: Policy
    whole: measure.Measured | None = None
    scored: ScoredParts = ScoredParts(Weights())
    labels: tuple[ScoredLabel, ...] = ()
    problem: str | None = None

    def share(self, metric: str, where: Where = (), *, at_best: bool = False) -> CorrectedShare | None:
        """The corrected share, with value None if the labels are not enough; None if the metric is not corrected."""
        ratio = self._share(metric, where)
        if ratio is None:
            return None
        if self.problem is not None or self.whole is None:
            return CorrectedShare(None, reason=self.problem)
        worst = self._cached_share(ratio, metric, where, best=False)
        if not self.whole.value(metric, where).undecided:
            return worst
        best = self._cached_share(ratio, metric, where, best=True)
        ends = worst.low, worst.high, best.low, best.high
        # Fail closed: if one of the two cannot be corrected, neither counts. Return the one with the reason.
        if any(end is None for end in ends):
            return worst if worst.value is None else best
        known = [end for end in ends if end is not None]
        return replace(best if at_best else worst, low=min(known), high=max(known))

    def notes(self) -> Iterator[str]:
        """Notes on the rules that are not corrected, although the policy corrects shares."""
        perfect = [rule.name for rule in self._thresholds() if self._is_about_perfection(rule)]
        others = [rule.name for rule in self._thresholds() if not self._is_corrected(rule)]
        others += [rule.name for rule in self.policy.rules if isinstance(rule, ConditionRule | BaselineRule | StepRule)]
        if perfect or others:
            named = some_and_more([*perfect, *others])
            yield f"not corrected for the errors of the judge, but judged as it judged: {named}"
        bounded = any(isinstance(rule, JudgeRule) and rule.key == "min_specificity" for rule in self.policy.rules)
        if perfect and not bounded:
            missing = "no failure is accepted, so the judge must miss none: add judge.min_specificity"
            yield f"{some_and_more(perfect)}: {missing}"

    def _thresholds(self) -> Iterator[ThresholdRule]:
        """The thresholds of metrics that a judge can change."""
        for rule in self.policy.rules:
            if not isinstance(rule, ThresholdRule):
                continue
            if any(column in _JUDGEABLE for column, _ in columns_of(leaves_of(rule, self.policy))):
                yield rule

    def _is_about_perfection(self, rule: ThresholdRule) -> bool:
        better = self.policy.metrics[rule.metric].better
        return rule.threshold.less(rule.demand.margin, better).is_perfection(better)

    def _is_corrected(self, rule: ThresholdRule) -> bool:
        return self._is_about_perfection(rule) or self._share(rule.metric, rule.where) is not None

    def _share(self, metric: str, where: Where) -> Ratio | None:
        root = of_metric(self.policy, self.policy.metrics[metric], where)
        if not isinstance(root, Ratio) or not is_share(root) or len(root.z) != 1 or len(root.d) != 1:
            return None
        (above, factor), (_, divisor) = root.z[0], root.d[0]
        return root if above.column in JUDGED_COLUMNS and factor == divisor else None

    @cached_property
    def _shares(self) -> dict[tuple[str, Where, bool], CorrectedShare]:
        return {}

    def _cached_share(self, ratio: Ratio, metric: str, where: Where, *, best: bool) -> CorrectedShare:
        key = metric, where, best
        if key not in self._shares:
            self._shares[key] = self._correct(ratio, metric, where, best=best)
        return self._shares[key]

    def _correct(self, ratio: Ratio, metric: str, where: Where, *, best: bool) -> CorrectedShare:
        units = JudgedUnits(self.scored, ratio, best=best)
        raw = self._raw(metric, where, best=best)
        # The units must add up to the same share as the engine's sums; if not, they do not describe these trials.
        if raw is None or units.raw != raw:
            return CorrectedShare(None, reason=_UNEQUAL)
        own = self._by_own_labels(units, ratio)
        if len(self.labels) == len(self.scored.labels):
            return _share_of("post-stratified", own)
        if ratio.z[0][0].column == SCORE and units.is_judged:
            few = len(self.scored.labels) < LEAST_OF_THIS_RUN
            return CorrectedShare(None, reason=_NO_SCORES) if few else _share_of("post-stratified", own)
        return self._confirmed(units, ratio, own)

    def _confirmed(self, units: JudgedUnits, ratio: Ratio, own: _Found) -> CorrectedShare:
        """The share by labels of another run, with an interval that covers that of the labels of this run."""
        share = _share_of("rogan-gladen", self._by_other_labels(units, ratio))
        if share.low is None or share.high is None or not units.is_judged:
            return share
        why = why_unconfirmed(self.labels, self.scored.labels, ratio.z[0][0].column)
        if why is not None or isinstance(own, str):
            return replace(share, reason=own if isinstance(own, str) and why is None else why)
        low, high = rounded_end(own[1].low), rounded_end(own[1].high)
        return replace(share, low=min(share.low, low), high=max(share.high, high))

    def _by_own_labels(self, units: JudgedUnits, ratio: Ratio) -> _Found:
        missing = units.unlabeled()
        if missing is not None:
            return missing
        found = post_stratified(units.clusters(), self._alpha, self._interval(ratio))
        return "the labels do not tell" if found is None else (units.corrected(), found.bounds)

    def _by_other_labels(self, units: JudgedUnits, ratio: Ratio) -> _Found:
        if not units.is_judged:
            return units.raw or Fraction(0), self._known_bounds(units, ratio)
        term = ratio.z[0][0]
        rates = rates_of(self.labels, term.column, self._alpha, where=term.where)
        if rates is None or rates.sensitivity is None or rates.specificity is None:
            where = " of the scenarios that this is about" if term.where else ""
            return (
                f"labels of another run{where} do not show how often the judge is right about passes and about failures"
            )
        found = rogan_gladen(
            units.clusters(), [said == 1 for _, said in STRATA], rates, self._alpha, self._interval(ratio)
        )
        if found is None:
            one, two = (f"{rate.value:.0%}" for rate in (rates.sensitivity, rates.specificity))
            return f"the judge does not clearly tell one outcome from the other: sensitivity {one}, specificity {two}"
        return exact_share(found.value), found.bounds

    def _known_bounds(self, units: JudgedUnits, ratio: Ratio) -> Interval:
        """The bounds of a share to which no judge contributed."""
        sums = Sums.of((one.raw, one.weight) for one in units.tallies.values())
        return self._interval(ratio)(sums, self._alpha) or Interval(0.0, 1.0)

    @property
    def _alpha(self) -> float:
        return float(1 - self.policy.confidence)

    def _raw(self, metric: str, where: Where, *, best: bool) -> Fraction | None:
        if self.whole is None:
            return None
        value = self.whole.value(metric, where)
        return value.best if best and value.undecided else value.value

    def _interval(self, ratio: Ratio) -> partial[Interval | None]:
        """The function for the bounds of the share as if the labels were exact: the same as for the raw share."""
        if self.whole is None:
            return partial(_of_scenarios, None)
        totals = self.whole.group.ratios[ratio]
        if self.policy.population == "suite" and totals.trials > 0:
            return partial(_of_suite, Fraction(totals.trials))
        unequal = is_weighted(ratio) and weights_differ(ratio, self.whole.group)
        return partial(_of_scenarios, Fraction(totals.largest) if unequal else None)


def _share_of(method: CorrectionMethod, found: _Found) -> CorrectedShare:
    if isinstance(found, str):
        return CorrectedShare(None, reason=found)
    value, bounds = found
    low, high = min(bounds.low, float(value)), max(bounds.high, float(value))
    return CorrectedShare(value, rounded_end(low), rounded_end(high), method)


def _of_suite(trials: Fraction, sums: Sums, alpha: float) -> Interval | None:
    return suite_bounds(sums.value, trials, alpha)


def _of_scenarios(largest: Fraction | None, sums: Sums, alpha: float) -> Interval | None:
    return share_bounds(sums, alpha, largest)
