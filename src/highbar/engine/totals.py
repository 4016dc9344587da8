"""Profile rows → exact totals: the one place where numerators meet their denominators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any

from highbar.engine import scoring
from highbar.engine.layout import Layout
from highbar.engine.ratios import SCALES, THIRDS, Sides
from highbar.model import FlakyScenario, Ratio, Term, Where
from highbar.model.reduction import RatioTotals, RepetitionSums, Total
from highbar.statistics.bounds import Sums, effective_trials
from highbar.statistics.composite import CrossSums
from highbar.statistics.ratio import ThirdSums

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Profile:
    """The profile rows of one group."""

    layout: Layout
    rows: Sequence[Row]

    @property
    def scenarios(self) -> int:
        """How many scenarios the group has."""
        return sum(row["scenarios"] for row in self.rows)

    @property
    def trials(self) -> int:
        """How many trials the group has."""
        return sum(row["scenarios"] * row["n"] for row in self.rows)

    def total(self, term: Term) -> Total:
        """The sum of a term over the group's scenarios, exact."""
        rows: Sequence[Row] = self.rows
        if term.where:
            flag = self.layout.flag(term.where)
            rows = [row for row in rows if row[flag]]
        if term.column.startswith(("pass_at_", "pass_hat_")):
            return _repeated_total(rows, term)
        having, numerator = self._measure(term.column)
        if having and not self._any_given(rows, term.column):
            return Total(Fraction(0), 0)
        scale = SCALES.get(term.column, scoring.EXTRA if term.column.startswith("extra:") else 1)
        by_denominator: dict[tuple[int, int], int] = {}
        scenarios = 0
        for row in rows:
            trials = row.get(having, 0) if having else 1
            if not trials:
                continue
            scenarios += row["scenarios"]
            denominator = trials * (row["s_den"] if term.column == "behavior_score" else 1) * scale
            amount, denominator = self._amount(row, term, numerator, denominator)
            key = (denominator, row.get("wi", 0) if term.weighted else -1)
            by_denominator[key] = by_denominator.get(key, 0) + amount
        value = sum(
            (Fraction(amount, denominator) * (self.layout.weights[weight] if weight >= 0 else 1))
            for (denominator, weight), amount in by_denominator.items()
        )
        return Total(Fraction(value), scenarios, *self._unknown(rows, numerator))

    def _unknown(self, rows: Sequence[Row], numerator: str) -> tuple[int, int, int]:
        """How many trials are undecided; how many scenarios have a trial without a value, and one beyond the end."""
        total = numerator.removeprefix("sum_")
        undecided, valueless, beyond = (
            sum(row.get(f"sum_{kind}_{total}", 0) for row in rows) for kind in ("u", "none", "above")
        )
        return undecided, valueless, beyond

    def _any_given(self, rows: Sequence[Row], column: str) -> bool:
        """Whether a scenario has the measure by more than what errors, violations and open trials come to."""
        having, bit = self.layout.measures[column].trials, self.layout.lone_bit(column)
        return having == "n" or any(row[having] and not row["lone"] & bit for row in rows)

    def ranked(self, column: str, where: Where) -> tuple[int, int, int]:
        """How many trials a percentile ranks, how many of these are errors, and how many are undecided.

        For scenarios of one trial each. Where lower is better an error is above every number, known or not.
        """
        measure = self.layout.measures[column]
        rows = [row for row in self.rows if not where or row[self.layout.flag(where)]]
        if not self._any_given(rows, column):
            return 0, 0, 0
        ranked = sum(row["scenarios"] for row in rows if row[measure.trials])
        errors = sum(row["sum_errors"] for row in rows) if column not in ("quality_score", "behavior_score") else 0
        return ranked, errors, sum(row.get(f"sum_u_{measure.total}", 0) for row in rows)

    def trial_range(self, column: str, where: Where) -> tuple[int, int]:
        """The fewest and the most trials of a scenario that has the column."""
        trials = self.layout.measures[column].trials
        rows = (row for row in self.rows if not where or row[self.layout.flag(where)])
        counts = [row[trials] for row in rows if row[trials]]
        return min(counts, default=0), max(counts, default=0)

    def _measure(self, column: str) -> tuple[str, str]:
        if column == "scenario":
            return "", ""
        measure = self.layout.measures[column]
        return measure.trials, f"sum_{measure.total}"

    def _amount(self, row: Row, term: Term, numerator: str, denominator: int) -> tuple[int, int]:
        own = term.weighted and self.layout.own_weight
        if term.of == "count" or not numerator:
            return (row["sum_w"], scoring.WEIGHT) if own else (row["scenarios"], 1)
        if own:
            return row[f"sum_w_{numerator.removeprefix('sum_')}"], denominator * scoring.WEIGHT
        return row.get(numerator, 0), denominator


def ratio_totals(place: int, ratio: Ratio, totals: Mapping[Term, Total], row: Row, sides: Sides) -> RatioTotals:
    """The sums of one ratio in one group, from the sums of products in `row`."""
    z = sum((factor * totals[term].value for term, factor in ratio.z), Fraction(0))
    d = sum((factor * totals[term].value for term, factor in ratio.d), Fraction(0))
    if sides.is_plain(ratio):
        return RatioTotals(Sums(int(d), d, z, z, z, d), 1.0, float(d), None, int(d - z), int(z))
    heaviest = row.get(f"tmax_{place}")
    trials = float(effective_trials(d, heaviest)) if heaviest else 0.0
    thirds = None
    if row.get(f"{THIRDS[0]}_{place}") is not None:
        thirds = ThirdSums(*(row[f"{kind}_{place}"] for kind in THIRDS))
    failures = row.get(f"imperfect_{place}"), row.get(f"nonzero_{place}")
    if sides.is_mean(ratio):
        return RatioTotals(Sums(int(d), d, z, row[f"zz_{place}"], z, d), 1.0, trials, thirds, *failures)
    squares = (row[f"{kind}_{place}"] for kind in ("zz", "zd", "dd"))
    return RatioTotals(Sums(row[f"g_{place}"], d, z, *squares), row[f"dmax_{place}"], trials, thirds, *failures)


def cross_totals(place: int, row: Row) -> CrossSums:
    """The sums of products across two ratios."""
    return CrossSums(*(row[f"x{kind}_{place}"] for kind in ("zz", "zd", "dz", "dd")))


def repetition(rows: Sequence[Row], scenarios_flaky: tuple[FlakyScenario, ...]) -> RepetitionSums:
    """What repeated trials say of the scenarios' pass rates: a profile row holds scenarios of the same n trials."""
    return RepetitionSums(
        fewest=min(row["n"] for row in rows),
        freedom=sum((row["n"] - 1) * row["scenarios"] for row in rows),
        within=sum((Fraction(row["sum_kp"]) - Fraction(row["sum_kp_kp"], row["n"]) for row in rows), Fraction(0)),
        rate=sum((Fraction(row["sum_kp"], row["n"]) for row in rows), Fraction(0)),
        rate_squares=sum((Fraction(row["sum_kp_kp"], row["n"] ** 2) for row in rows), Fraction(0)),
        inverse_trials=sum((Fraction(row["scenarios"], row["n"]) for row in rows), Fraction(0)),
        flaky=sum(row["flaky"] for row in rows),
        scenarios_flaky=scenarios_flaky,
    )


def _repeated_total(rows: Sequence[Row], term: Term) -> Total:
    """Unbiased pass@k and pass^k per scenario, from its n trials of which c passed; none where n < k."""
    kind, _, digits = term.column.rpartition("_")
    k = int(digits)
    value, scenarios = Fraction(0), 0
    for row in rows:
        n, c = row["n"], row["kp"]
        if n < k:
            continue
        scenarios += row["scenarios"]
        share = 1 - Fraction(comb(n - c, k), comb(n, k)) if kind == "pass_at" else Fraction(comb(c, k), comb(n, k))
        value += share * row["scenarios"]
    undecided = sum(row.get("sum_u_kp", 0) for row in rows)
    return Total(value if term.of == "sum" else Fraction(scenarios), scenarios, undecided)
