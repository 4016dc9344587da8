"""Slices that stand out, repeated trials, and weights that rest on few scenarios."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import pytest
from bench.by_scenario import variance_split
from scipy import stats

import highbar
from highbar.measure import repetition

POLICY = {"thresholds": {"blocking": {"pass_rate": 50}}}


def rows_by(column, counts):
    """{value: (passed, total)} as scenarios."""
    return [
        {"id": f"{value} {at}", column: value, "passed": at < passed}
        for value, (passed, total) in counts.items()
        for at in range(total)
    ]


def slices(counts, **more):
    """By value, the slices of a column."""
    verdict = highbar.check(rows_by("team", counts), {**POLICY, "slices": ["team"], **more})
    return {part.by[1]: part for part in verdict.slices}


# --- slices ----------------------------------------------------------------------------------


def test_a_slice_is_compared_with_the_rest_by_an_exact_test():
    counts = {"bad": (12, 20), "good": (190, 200), "fair": (92, 100)}
    found = slices(counts)
    assert [name for name, part in found.items() if part.worse] == ["bad"]
    for name, (passed, total) in counts.items():
        table = [[passed, total - passed], [294 - passed, 26 - (total - passed)]]
        chance = stats.fisher_exact(table, alternative="less").pvalue
        assert found[name].p_value == pytest.approx(chance, rel=1e-6), name


def test_equal_slices_do_not_stand_out():
    found = slices(dict.fromkeys("abcdefgh", (18, 20)))
    assert not any(part.worse for part in found.values())


def test_the_worst_of_many_slices_is_drawn_to_the_common_rate():
    counts = {f"slice {at}": (18 + at % 3 - 1, 20) for at in range(12)}
    found = slices(counts)
    worst = min(found.values(), key=lambda part: part.metrics["pass_rate"].value)
    assert worst.likely > worst.metrics["pass_rate"].value
    assert worst.likely < 0.95


def test_a_slice_that_differs_for_sure_stays_where_it_is():
    found = slices({"bad": (100, 500), "good": (450, 500)})
    assert found["bad"].likely == pytest.approx(0.2, abs=0.02)
    assert found["bad"].worse
    assert not found["good"].worse


def test_a_single_slice_has_nothing_to_be_compared_with():
    (part,) = slices({"only": (5, 20)}).values()
    assert (part.worse, part.p_value, part.likely) == (False, None, None)


def test_marked_slices_are_few_where_many_are_looked_at():
    """One p-value of 0.04 among twenty slices is no news: at most one in ten of those marked may be by chance."""
    counts = {f"slice {at}": (18, 20) for at in range(19)} | {"low": (15, 20)}
    found = slices(counts)
    assert found["low"].p_value < 0.06
    assert not found["low"].worse


# --- repeated trials -------------------------------------------------------------------------


@dataclass(frozen=True)
class Repeats:
    """Sums over scenarios of their pass rate p over m trials, from (passed, trials) of each."""

    counts: tuple[tuple[int, int], ...]

    def _sum(self, of):
        return sum((of(Fraction(passed, trials), trials) for passed, trials in self.counts), Fraction(0))

    @property
    def fewest(self):
        return min(trials for _, trials in self.counts)

    @property
    def freedom(self):
        return sum(trials - 1 for _, trials in self.counts)

    @property
    def within(self):
        return self._sum(lambda p, m: m * p * (1 - p))

    @property
    def rate(self):
        return self._sum(lambda p, _: p)

    @property
    def rate_squares(self):
        return self._sum(lambda p, _: p * p)

    @property
    def inverse_trials(self):
        return self._sum(lambda _, m: Fraction(1, m))

    @property
    def flaky(self):
        return sum(0 < passed < trials for passed, trials in self.counts)


def trials_of(counts):
    """The same as rows."""
    return [
        {"id": f"s{at}", "trial": trial, "passed": trial < passed}
        for at, (passed, trials) in enumerate(counts)
        for trial in range(trials)
    ]


@pytest.mark.parametrize(
    "counts",
    [
        ((3, 3), (2, 3), (0, 3), (3, 3)),
        ((4, 4), (1, 2), (0, 1), (3, 5), (5, 5)),
        ((1, 2),) * 6,
        ((2, 2), (0, 2), (2, 2)),
    ],
)
def test_the_variance_splits_as_from_the_counts_themselves(counts):
    split = variance_split(counts)
    sums = Repeats(counts)
    found = repetition(sums, len(counts), 0.05)
    assert (found.between, found.within, found.correlation) == (split.between, split.within, split.correlation)
    assert (found.flaky, found.fewest) == (sums.flaky, min(trials for _, trials in counts))
    assert found.still_possible == pytest.approx(0.05 ** (1 / sums.fewest))
    checked = highbar.check(trials_of(counts), POLICY)
    assert checked.repetition == found
    assert {one.id: (one.passed_trials, one.trials) for one in checked.flaky} == {
        f"s{at}": count for at, count in enumerate(counts) if 0 < count[0] < count[1]
    }


def test_without_a_repetition_nothing_is_said():
    assert repetition(Repeats(((1, 1), (0, 1))), 2, 0.05) is None
    assert highbar.check(trials_of(((1, 1), (0, 1))), POLICY).repetition is None


# --- weights ---------------------------------------------------------------------------------


def warnings(weights, **columns):
    """What a check with these weights of scenarios warns of."""
    rows = [{"id": f"s{at}", "passed": True, "weight": weight, **columns} for at, weight in enumerate(weights)]
    policy = {"rules": [{"metric": "weighted_pass_rate", "threshold": "≥ 50%"}]}
    return [text for text in highbar.check(rows, policy).warnings if "weight" in text or "worth" in text]


def test_one_scenario_with_over_a_tenth_of_the_weight_is_said():
    (found,) = warnings([10] + [1] * 80)
    assert "one scenario has 11% of the weight" in found
    assert warnings([9] + [1] * 81) == []


def test_few_scenarios_worth_of_weight_are_said():
    (found,) = warnings([1] * 15)
    assert "15 scenarios are worth about 15" in found
    assert warnings([1] * 20) == []
    both = warnings([30] + [1] * 100)
    assert len(both) == 2


def test_without_weights_and_clusters_nothing_is_said():
    rows = [{"id": f"s{at}", "passed": True} for at in range(5)]
    assert not [text for text in highbar.check(rows, POLICY).warnings if "worth" in text]


def test_clusters_that_are_few_are_said():
    rows = [{"id": f"s{at}", "cluster": f"c{at % 12}", "passed": True} for at in range(120)]
    (found,) = [text for text in highbar.check(rows, POLICY).warnings if "worth" in text]
    assert "12 clusters are worth about 12" in found
