"""Shares of trials as people would have them: what the judge said, corrected by labels of its trials.

A trial of which the judge decides whether it passed (was violated, was correct) counts with the share of people's
yeses in its stratum: the trials that were drawn alike, and of which the judge said the same. All others are known. For
labels of another run only sensitivity and specificity carry over (Rogan and Gladen).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial

from msgspec import Struct, field
from msgspec.structs import replace

from highbar import measure
from highbar.changes.record_sums import RecordSums
from highbar.changes.run import ScoredRun
from highbar.language.phrases import some_and_more
from highbar.load.judged_rows import RowPart
from highbar.measure.parts import is_share, is_weighted, of_metric
from highbar.measure.unknown import metric_columns
from highbar.model import BaselineRule, ConditionRule, JudgeRule, Policy, Ratio, StepRule, Term, ThresholdRule, Where
from highbar.model.judge_quality import CorrectedShare, CorrectionMethod
from highbar.model.records import ScenarioRecord
from highbar.statistics.bounds import Sums, share_bounds, suite_bounds
from highbar.statistics.interval import Interval
from highbar.statistics.judges import JudgedCluster, post_stratified
from highbar.verdicts.judged_parts import COLUMNS, ScoredLabel

STRATA: tuple[tuple[RowPart, int], ...] = (("passed", 1), ("passed", 0), ("failed", 1), ("failed", 0))
"""How a trial was drawn, and what the judge said of the column that is corrected."""
_SAID = {
    "passed": ("passed", "did not pass"),
    "violated": ("found a violation in", "found no violation in"),
    "correct": ("called correct", "did not call correct"),
}
"""What the judge said of a trial, by column: yes or no."""
_JUDGEABLE = frozenset({*COLUMNS, "behavior_score", "observed"})
"""Columns that a judge can change."""
_UNEQUAL = "the trials of a scenario were judged by different columns, so that labels cannot correct them"


class Corrections(Struct, frozen=True):
    """What corrects the shares of one check: its rows by part, and the labels of its judge.

    `problem` says why no share can be corrected; then nothing else is needed.
    """

    policy: Policy
    whole: measure.Measured | None = None
    parts: Mapping[RowPart, ScoredRun] = field(default_factory=dict)
    labels: Mapping[tuple[str, int], ScoredLabel] = field(default_factory=dict)
    strata: Mapping[tuple[str, int], RowPart] = field(default_factory=dict)
    method: CorrectionMethod = "post-stratified"
    problem: str | None = None

    def share(self, metric: str, where: Where = (), *, at_best: bool = False) -> CorrectedShare | None:
        """The share as people would have it; None if the metric is not one that is corrected."""
        ratio = self._share(metric, where)
        if ratio is None:
            return None
        if self.problem is not None or self.whole is None:
            return CorrectedShare(None, reason=self.problem)
        worst, best = (self._at(ratio, metric, where, best=end) for end in (False, True))
        chosen = best if at_best else worst
        if worst.low is None or worst.high is None or best.low is None or best.high is None:
            return chosen if chosen.value is None else worst if worst.value is None else best
        return replace(chosen, low=min(worst.low, best.low), high=max(worst.high, best.high))

    def notes(self) -> Iterator[str]:
        """Which rules rest on the judge's word alone, although shares are corrected; said once."""
        perfect = [rule.name for rule in self._thresholds() if self._is_at_the_end(rule)]
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
            if isinstance(rule, ThresholdRule):
                metric = self.policy.metrics[rule.metric]
                if any(column in _JUDGEABLE for column, _ in metric_columns(self.policy, metric, rule.where)):
                    yield rule

    def _is_at_the_end(self, rule: ThresholdRule) -> bool:
        metric = self.policy.metrics[rule.metric]
        bound = (
            rule.threshold.value - rule.demand.margin
            if metric.better == "higher"
            else rule.threshold.value + rule.demand.margin
        )
        return metric.unit == "ratio" and bound == (1 if metric.better == "higher" else 0)

    def _is_corrected(self, rule: ThresholdRule) -> bool:
        return self._is_at_the_end(rule) or self._share(rule.metric, rule.where) is not None

    def _share(self, metric: str, where: Where) -> Ratio | None:
        root = of_metric(self.policy, self.policy.metrics[metric], where).root
        if not isinstance(root, Ratio) or not is_share(root) or len(root.z) != 1 or len(root.d) != 1:
            return None
        (above, factor), (_, divisor) = root.z[0], root.d[0]
        return root if above.column in COLUMNS and factor == divisor else None

    def _at(self, ratio: Ratio, metric: str, where: Where, *, best: bool) -> CorrectedShare:
        units = _Units(self, ratio, best=best)
        raw = self._raw(metric, where, best=best)
        if raw is None or units.raw != raw:
            return CorrectedShare(None, reason=_UNEQUAL)
        lacking = units.unlabelled()
        if lacking is not None:
            return CorrectedShare(None, reason=lacking)
        clusters = units.clusters()
        found = post_stratified(clusters, float(1 - self.policy.confidence), self._interval(ratio))
        if found is None:
            return CorrectedShare(None, reason="the labels do not tell")
        value, bounds = units.corrected(), found.bounds
        low, high = min(bounds.low, float(value)), max(bounds.high, float(value))
        return CorrectedShare(value, low, high, self.method)

    def _raw(self, metric: str, where: Where, *, best: bool) -> Fraction | None:
        if self.whole is None:
            return None
        value = self.whole.value(metric, where)
        return value.best if best and value.undecided else value.value

    def _interval(self, ratio: Ratio) -> partial[Interval | None]:
        """The bounds of the share if the labels were exact, as those of the raw share are computed."""
        totals = self.whole.group.ratios[ratio] if self.whole else None
        if totals is not None and self.policy.population == "suite" and totals.trials > 0:
            return partial(_of_suite, Fraction(totals.trials))
        largest = Fraction(totals.largest) if totals is not None and is_weighted(ratio) else None
        return partial(_of_scenarios, largest)


def _of_suite(trials: Fraction, sums: Sums, alpha: float) -> Interval | None:
    return suite_bounds(sums.value, trials, alpha)


def _of_scenarios(largest: Fraction | None, sums: Sums, alpha: float) -> Interval | None:
    return share_bounds(sums, alpha, largest)


class _Piece(Struct, frozen=True):
    """The trials of one scenario in one part: how many, and the shares of them that count, at worst and at best."""

    part: RowPart
    record: ScenarioRecord
    weight: Fraction
    worst: Fraction
    best: Fraction


class _Tally(Struct):
    """What a unit adds: see `JudgedCluster`, which it becomes."""

    weight: Fraction = Fraction(0)
    known: Fraction = Fraction(0)
    raw: Fraction = Fraction(0)
    judged: list[Fraction] = field(default_factory=lambda: [Fraction(0)] * len(STRATA))
    labelled: list[Fraction] = field(default_factory=lambda: [Fraction(0)] * len(STRATA))
    ones: list[Fraction] = field(default_factory=lambda: [Fraction(0)] * len(STRATA))


class _Units:
    """The units behind one share, each a scenario or a cluster of them, with their labels."""

    def __init__(self, corrections: Corrections, ratio: Ratio, *, best: bool) -> None:
        self.of = corrections
        self.term: Term = ratio.z[0][0]
        self.best = best
        self.tallies: dict[object, _Tally] = {}
        self.labelled: dict[str, list[tuple[str, int]]] = {}
        for key in corrections.labels:
            self.labelled.setdefault(key[0], []).append(key)
        for pieces in self._scenarios().values():
            self._add(pieces)

    @property
    def raw(self) -> Fraction | None:
        """The share without labels, which must be that of the results."""
        weight = sum(one.weight for one in self.tallies.values())
        return Fraction(sum(one.raw for one in self.tallies.values())) / weight if weight else None

    def clusters(self) -> list[JudgedCluster]:
        """For the bounds."""
        return [
            JudgedCluster(one.weight, one.known, tuple(one.judged), tuple(one.labelled), tuple(one.ones))
            for one in self.tallies.values()
        ]

    def corrected(self) -> Fraction:
        """The share as people would have it, exactly."""
        tallies = self.tallies.values()
        total = sum((one.known for one in tallies), Fraction(0))
        for index in range(len(STRATA)):
            judged, labelled = (sum(column[index] for column in part) for part in self._columns())
            if judged:
                total += judged * sum(one.ones[index] for one in tallies) / labelled
        return total / sum(one.weight for one in tallies)

    def unlabelled(self) -> str | None:
        """Why the labels say nothing: a stratum that has trials has none, or more than there are trials."""
        for index, (_, said) in enumerate(STRATA):
            judged, labelled = (sum(column[index] for column in part) for part in self._columns())
            if judged and not labelled:
                where = "the scenarios that this is about" if self.term.where else "these results"
                words = _SAID[self.term.column][1 - said]
                return f"people labelled none of the trials that the judge {words}, in {where}"
            if any(one.labelled[index] > one.judged[index] for one in self.tallies.values()):
                return "labels are of trials that the judge has otherwise in these results"
        return None

    def _columns(self) -> tuple[list[list[Fraction]], list[list[Fraction]]]:
        tallies = self.tallies.values()
        return [one.judged for one in tallies], [one.labelled for one in tallies]

    def _scenarios(self) -> dict[str, list[_Piece]]:
        """By id, the pieces of each scenario that has the share."""
        flat = [
            (part, worst, best)
            for part, run in self.of.parts.items()
            for worst, best in zip(run.records, run.best or run.records, strict=True)
        ]
        at_worst = self._values([worst for _, worst, _ in flat])
        at_best = self._values([best for _, _, best in flat])
        weights = self._parts([one[1] for one in flat], Term("scenario", "sum", self.term.where, self.term.weighted))
        found: dict[str, list[_Piece]] = {}
        for (part, record, _), weight, worst, best in zip(flat, weights, at_worst, at_best, strict=True):
            if weight is not None and worst is not None and best is not None:
                found.setdefault(record.id, []).append(_Piece(part, record, weight, worst, best))
        return found

    def _values(self, records: Sequence[ScenarioRecord]) -> list[Fraction | None]:
        return self._parts(records, Term(self.term.column, where=self.term.where))

    def _parts(self, records: Sequence[ScenarioRecord], term: Term) -> list[Fraction | None]:
        """What each record adds to a term: all parts together, since errors count if any scenario has a value."""
        units = tuple(range(len(records)))
        return RecordSums(records, units, self.of.policy.weights, 0.05).parts(term)

    def _add(self, pieces: Sequence[_Piece]) -> None:
        first = pieces[0]
        unit = first.record.id if first.record.cluster is None else ("cluster", first.record.cluster)
        tally = self.tallies.setdefault(unit, _Tally())
        trials = sum(piece.record.trials for piece in pieces)
        each = first.weight / trials
        tally.weight += first.weight
        for piece in pieces:
            self._add_piece(tally, piece, each)
        for label, index in self._labels(first.record.id):
            tally.labelled[index] += each
            tally.ones[index] += each * label.values[self.term.column][1]

    def _add_piece(self, tally: _Tally, piece: _Piece, each: Fraction) -> None:
        ends = piece.worst * piece.record.trials, piece.best * piece.record.trials
        counted = ends[1] if self.best else ends[0]
        tally.raw += each * counted
        stratum = self._stratum(piece.part)
        if stratum is None:
            tally.known += each * counted
            return
        # What the judge left open is at its worst or at its best, and no label is of it.
        tally.known += each * (counted - min(ends))
        tally.judged[STRATA.index((stratum, 1))] += each * min(ends)
        tally.judged[STRATA.index((stratum, 0))] += each * (piece.record.trials - max(ends))

    def _stratum(self, part: RowPart) -> RowPart | None:
        """The stratum of a part; None if its trials are known. An error fails, whatever the judge says."""
        if part == "error":
            return "failed" if self.term.column == "violated" else None
        return None if part == "other" else part

    def _labels(self, id_: str) -> Iterator[tuple[ScoredLabel, int]]:
        for key in self.labelled.get(id_, ()):
            label = self.of.labels[key]
            stratum = self._stratum(self.of.strata[key])
            said = label.values.get(self.term.column)
            if stratum is not None and said is not None:
                yield label, STRATA.index((stratum, said[0]))
