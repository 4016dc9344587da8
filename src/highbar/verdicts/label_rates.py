"""How often a judge is right about trials, from labeled ones.

Labels were drawn by stratum, so each counts for (trials ÷ labels) of its stratum. A trial with an error fails whatever
the judge says, so in such a trial only the judge's answer on violations counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction

from highbar.measure.intervals import rounded_end
from highbar.model import Where
from highbar.model.judge_quality import JudgeRate
from highbar.policy.sequential import is_chosen
from highbar.statistics.interval import Estimate
from highbar.statistics.judges import JudgeRates, LabelStratum, judge_rates
from highbar.verdicts.judged_parts import ScoredLabel

_DRAWN = frozenset({"passed", "failed"})
_Drawn = tuple[str, str]
"""A run and one of its strata."""


def rates_of(
    labels: Sequence[ScoredLabel],
    column: str,
    alpha: float,
    *,
    where: Where = (),
    strata: Collection[str] = _DRAWN,
) -> JudgeRates | None:
    """Sensitivity and specificity of a judge's answers on a column, over the scenarios that `where` selects.

    None if a run has no labels in one of the `strata`: the labels of one stratum say nothing about the other.
    """
    drawn = _by_draw(labels)
    for run in {run for run, _ in drawn}:
        if not _is_by_hand(run, drawn) and any((run, stratum) not in drawn for stratum in strata):
            return None
    found = strata_of(labels, column, where)
    sides = {stratum.counts_as for stratum in found}
    if not found or (any(_is_by_hand(run, drawn) for run, _ in drawn) and len(sides) < len(_DRAWN)):
        return None
    return judge_rates(found, alpha)


def strata_of(labels: Iterable[ScoredLabel], column: str, where: Where = ()) -> list[LabelStratum]:
    """The labels by how they were drawn and by the judge's answer on a column."""
    return [stratum for group in _by_draw(labels).values() for stratum in _split(group, column, where)]


def _by_draw(labels: Iterable[ScoredLabel]) -> dict[_Drawn, list[ScoredLabel]]:
    drawn: dict[_Drawn, list[ScoredLabel]] = {}
    for label in labels:
        drawn.setdefault((label.trial.sample.run, label.trial.sample.stratum), []).append(label)
    return drawn


def _is_by_hand(run: str, drawn: Collection[_Drawn]) -> bool:
    """Whether labels of the run were written by hand, so that it is unknown how they were drawn."""
    return any(of == run and stratum not in _DRAWN for of, stratum in drawn)


def _split(group: Sequence[ScoredLabel], column: str, where: Where) -> list[LabelStratum]:
    """A stratum of one run, split by the judge's answer, without trials to which the column does not apply."""
    decided = [one for one in group if column in one.values and is_chosen(one.columns, where) and _is_own(one, column)]
    # Labels written by hand may not say how many trials they were drawn from.
    size = max(group[0].trial.sample.of, len(group))
    found = []
    for said in (1, 0):
        here = [one for one in decided if one.values[column][0] == said]
        if here:
            trials = Fraction(size * len(here), len(group))
            labeled = Counter(one.trial.id for one in here)
            ones = Counter(one.trial.id for one in here if one.values[column][1])
            found.append(LabelStratum(bool(said), trials, tuple((ones[id_], n) for id_, n in labeled.items())))
    return found


def _is_own(label: ScoredLabel, column: str) -> bool:
    return column == "violated" or not label.is_error


def judge_rate(found: Estimate | None) -> JudgeRate | None:
    """A rate of the judge with its bounds, rounded; None if it is not known."""
    return None if found is None else JudgeRate(exact_share(found.value), *map(rounded_end, found.bounds))


def exact_share(value: float) -> Fraction:
    """A float as an exact fraction of its twelve digits: 0.95 becomes 19/20."""
    return Fraction(f"{value:.12g}")
