"""How far two or more readers agree, beyond what they would by chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction

from msgspec import Struct

from highbar.statistics.interval import Real


class Agreement(Struct, frozen=True):
    """The agreement of a judge with people, and the figures to compare it with.

    `base_rate` is the people's share of 1s, `constant` the agreement of a judge that always gives the people's more
    frequent answer. `kappa` is Cohen's: 1 is full agreement, 0 is chance. It is None if both always gave one and the
    same answer.
    """

    share: float
    base_rate: float
    constant: float
    kappa: float | None


def agreement(*cells: Real) -> Agreement | None:
    """The agreement of people and a judge on the same trials; None without labels.

    `cells` count labels, or the trials that they represent, by (people, judge): (1, 1), (0, 1), (1, 0) and (0, 0).
    """
    n11, n01, n10, n00 = (Fraction(number) for number in cells)
    total = n11 + n01 + n10 + n00
    if not total:
        return None
    ones, judged, share = (n11 + n10) / total, (n11 + n01) / total, (n11 + n00) / total
    by_chance = ones * judged + (1 - ones) * (1 - judged)
    kappa = None if by_chance == 1 else float((share - by_chance) / (1 - by_chance))
    return Agreement(float(share), float(ones), float(max(ones, 1 - ones)), kappa)


def krippendorff_alpha(units: Iterable[Sequence[Hashable]]) -> float | None:
    """Krippendorff's alpha of nominal values: `units` has one sequence per unit, with a value from each of its readers.

    1 is full agreement, 0 is chance. Units with fewer than two readers are ignored. None if no unit has two readers, or
    if only one value ever occurs.
    """
    pairable = [Counter(unit) for unit in units if len(unit) > 1]
    totals: Counter[Hashable] = Counter()
    for unit in pairable:
        totals.update(unit)
    count = totals.total()
    expected = count * count - sum(n * n for n in totals.values())
    if not expected:
        return None
    observed = sum(
        Fraction(unit.total() ** 2 - sum(n * n for n in unit.values()), unit.total() - 1) for unit in pairable
    )
    return float(1 - (count - 1) * observed / expected)
