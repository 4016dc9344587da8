"""Labeled trials → how a judge compares with people: for each behavior, for all statements, and for whole trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction

from msgspec import Struct

from highbar.labeling.rows import FAILED, PASSED
from highbar.model.calibration import CalibratedWord
from highbar.model.judgments import JudgmentWord, LabeledTrial
from highbar.statistics.agreement import Agreement, agreement
from highbar.statistics.judges import JudgeRates, LabelStratum, judge_rates
from highbar.store.label_form import GIVEN
from highbar.verdicts.judged_parts import ScoredLabel
from highbar.verdicts.label_rates import judge_rate, rates_of

DRAWN = frozenset({PASSED, FAILED})
ALL, PASSES = "all statements", "whole trials"
_Group = tuple[str, str]
"""A run and one of its strata."""


class WordPair(Struct, frozen=True):
    """What the judge and people said about one statement or trial. `judge` is None if it cannot tell."""

    group: _Group
    scenario: str
    judge: bool | None
    people: bool


class LabeledWords:
    """The labeled trials of one judge. `strata` are those from which trials can be drawn."""

    def __init__(self, trials: Sequence[LabeledTrial], strata: Collection[str], alpha: float) -> None:
        self.trials = trials
        self.alpha = alpha
        # The same as in a policy: only trials in which people answered every statement count.
        self.complete = [trial for trial in trials if trial.is_complete]
        self._trials = Counter(map(_group, self.complete))
        self._sizes = {_group(trial): trial.sample.of for trial in self.complete}
        # Without labels in every stratum of a run, nothing is known about the judge's errors on that side.
        self._whole = all(
            (run, stratum) in self._trials or (run, GIVEN) in self._trials
            for run, _ in self._trials
            for stratum in strata
        )

    def behaviors(self) -> tuple[CalibratedWord, ...]:
        """One entry for each behavior, in the order of the trials."""
        names = dict.fromkeys(name for trial in self.trials for name in trial.statements)
        return tuple(self._compare(name, self._statement(name), [name]) for name in names)

    def statements(self) -> CalibratedWord:
        """All statements together. Those of one trial are not independent, so they count as one trial."""
        return self._compare(ALL, None, None)

    def passes(self, scored: Sequence[ScoredLabel], strata: Collection[str]) -> CalibratedWord:
        """Whole trials: which ones the judge passes, compared with those that people pass."""
        pairs = [
            WordPair(_group(one.trial), one.trial.id, bool(one.values["passed"][0]), bool(one.values["passed"][1]))
            for one in scored
            if "passed" in one.values
        ]
        rates = rates_of(scored, "passed", self.alpha, strata=strata)
        sensitivity, specificity = (None, None) if rates is None else (rates.sensitivity, rates.specificity)
        return CalibratedWord(
            PASSES, None, len(pairs), self._agreement(pairs), judge_rate(sensitivity), judge_rate(specificity)
        )

    def _compare(self, name: str, statement: str | None, names: Collection[str] | None) -> CalibratedWord:
        pairs = [
            WordPair(_group(trial), trial.id, _observed(word), observed)
            for trial in self.complete
            for behavior, (word, observed) in trial.statements.items()
            if observed is not None and (names is None or behavior in names)
        ]
        # `cannot_tell` is never right: it counts as "no" for the sensitivity and as "yes" for the specificity.
        against_one, against_zero = (self._rates(pairs, unsure=side) for side in (False, True))
        return CalibratedWord(
            name,
            statement,
            len(pairs),
            self._agreement(pairs),
            judge_rate(against_one.sensitivity if against_one else None),
            judge_rate(against_zero.specificity if against_zero else None),
            sum(pair.judge is None for pair in pairs),
            self._people_unsure(names),
        )

    def _people_unsure(self, names: Collection[str] | None) -> int:
        """The number of statements about which people cannot tell, or say yes as often as no."""
        answers = (pair for trial in self.trials for pair in trial.statements.items())
        return sum(observed is None for name, (_, observed) in answers if names is None or name in names)

    def _statement(self, name: str) -> str | None:
        texts = (trial.sample.judged.statements.get(name) for trial in self.trials)
        return next((found.statement for found in texts if found is not None), None)

    def _weight(self, pair: WordPair) -> Fraction:
        """How many trials of its run a labeled trial represents: the size of its stratum / labeled trials in it."""
        count = self._trials[pair.group]
        return Fraction(max(self._sizes[pair.group], count), count)

    def _agreement(self, pairs: Iterable[WordPair]) -> Agreement | None:
        weights: Counter[tuple[bool, bool]] = Counter()
        for pair in pairs:
            if pair.judge is not None:
                weights[pair.people, pair.judge] += self._weight(pair)  # type: ignore[assignment] # adds fractions
        return agreement(*(weights[cell] for cell in ((True, True), (False, True), (True, False), (False, False))))

    def _rates(self, pairs: Sequence[WordPair], *, unsure: bool) -> JudgeRates | None:
        """Sensitivity and specificity, if `cannot_tell` counts as `unsure`; None if a side has no labels."""
        groups: dict[tuple[_Group, bool], list[WordPair]] = {}
        for pair in pairs:
            groups.setdefault((pair.group, unsure if pair.judge is None else pair.judge), []).append(pair)
        given = any(stratum == GIVEN for (_, stratum), _ in groups)
        if not self._whole or (given and len({side for _, side in groups}) < len(DRAWN)):
            return None
        # Several statements of one trial are not independent: together they weigh as much as one trial.
        per_trial = Fraction(len(self.complete), len(pairs)) if pairs else Fraction(0)
        return judge_rates([self._stratum(side, here, per_trial) for (_, side), here in groups.items()], self.alpha)

    def _stratum(self, counts_as: bool, pairs: Sequence[WordPair], per_trial: Fraction) -> LabelStratum:  # noqa: FBT001 - a word
        labeled = Counter(pair.scenario for pair in pairs)
        ones = Counter(pair.scenario for pair in pairs if pair.people)
        size = sum((self._weight(pair) for pair in pairs), Fraction(0)) * min(per_trial, Fraction(1))
        return LabelStratum(counts_as, size, tuple((ones[id_], count) for id_, count in labeled.items()))


def _group(trial: LabeledTrial) -> _Group:
    return trial.sample.run, trial.sample.stratum


def _observed(word: JudgmentWord) -> bool | None:
    return None if word == "cannot_tell" else word == "observed"
