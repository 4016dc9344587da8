from __future__ import annotations

import itertools
import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highbar.statistics.between_runs import RunNoise
from highbar.statistics.drift import ALARM, _log_mean, _log_sum, decline


def runs_of(*rates, scenarios=100, trials=1):
    """Runs in which this share of the scenarios passes, others each time."""
    return [
        [
            (trials if (place * 37 + number * 11) % scenarios < rate * scenarios else 0, trials)
            for place in range(scenarios)
        ]
        for number, rate in enumerate(rates)
    ]


def test_a_slow_decline_is_found_and_its_slope_is_told():
    found = decline(runs_of(*(0.9 - 0.01 * number for number in range(25))))
    assert found.is_alarm
    assert found.slope == pytest.approx(-0.01, rel=0.01)


def test_scenarios_that_a_run_lacks_make_no_slope():
    """Runs that stopped early have other scenarios each; of those that two runs have, none changed."""
    first = [(1, 1)] * 20 + [(0, 0)] * 20 + [(0, 1)] * 2
    second = [(0, 0)] * 20 + [(1, 1)] * 20 + [(0, 1)] * 2
    second[0] = (1, 1)
    assert decline([first, second]).slope == 0
    second[0] = (0, 1)
    assert decline([first, second]).slope == pytest.approx(-1 / 3)


@pytest.mark.parametrize("step", [0.0, 0.005])
def test_what_stays_or_rises_is_no_alarm(step):
    found = decline(runs_of(*(0.7 + step * number for number in range(40))))
    assert found.evidence < 1
    assert not found.is_alarm


@pytest.mark.parametrize("number", [0, 1])
def test_one_run_says_nothing(number):
    found = decline(runs_of(0.9)[:number])
    assert (found.evidence, found.slope, found.runs) == (1.0, 0.0, number)


def test_scenarios_that_always_end_alike_say_nothing():
    assert 0.9 < decline([[(1, 1), (0, 1), (3, 3)]] * 50).evidence <= 1


@pytest.mark.parametrize("trials", [1, 2])
def test_the_mean_over_all_histories_with_the_same_passes_is_one_less_the_price_of_noise(trials):
    """For any number of runs: whatever the true rates are, all orders of the same passes are equally likely."""
    runs, total = 3, 0.0
    weight = 0
    for first in itertools.product(range(trials + 1), repeat=runs):
        for second in itertools.product(range(trials + 1), repeat=runs):
            if (sum(first), sum(second)) == (2, 1):
                ways = math.prod(math.comb(trials, k) for k in (*first, *second))
                cells = [[(first[t], trials), (second[t], trials)] for t in range(runs)]
                total += ways * decline(cells).evidence
                weight += ways
    assert 0.999 < total / weight < 1


def drawn(rates, scenarios, seed):
    random = Random(seed)
    return [[(int(random.random() < rate), 1) for _ in range(scenarios)] for rate in rates]


@pytest.mark.parametrize("seed", [0, 2, 4])
def test_runs_that_vary_as_a_whole_are_no_decline(seed):
    """By chance the good runs come first; without an allowance for such noise the evidence is above 80."""
    levels = [0.9, 0.86, 0.91, 0.87, 0.85, 0.9, 0.84, 0.87, 0.82, 0.86, 0.81, 0.84]
    assert decline(drawn(levels, 400, seed)).evidence < ALARM


def noise_of(runs):
    noise = RunNoise()
    for first, second in itertools.pairwise(runs):
        noise = noise.after(first, second)
    return math.sqrt(noise.variance)


def test_how_much_runs_vary_is_two_points_until_they_show_another_number():
    random = Random(3)
    assert RunNoise().variance == pytest.approx(0.02**2)
    assert noise_of(drawn([0.85] * 300, 400, 1)) < 0.01
    assert noise_of(drawn([0.85 + random.gauss(0, 0.05) for _ in range(300)], 400, 1)) == pytest.approx(0.05, rel=0.1)


def test_falls_are_not_taken_for_noise():
    rising = [(0.7, 0.9)] * 20
    falling = [(high, low) for low, high in rising]
    up, down = RunNoise(), RunNoise()
    for (low, high), (first, second) in zip(rising, falling, strict=True):
        up = up.after(*drawn((low, high), 400, 1))
        down = down.after(*drawn((first, second), 400, 1))
    assert down.variance < 0.01**2 < 0.05**2 < up.variance


@given(st.lists(st.booleans(), min_size=30, max_size=30), st.integers(0, 29))
def test_trials_of_the_last_run_do_not_change_how_much_runs_vary(passes, place):
    """One failure more never lowers the evidence."""
    earlier = drawn([0.8, 0.9, 0.7, 0.9, 0.8], 30, 7)
    last = [(int(one), 1) for one in passes]
    worse = [(0, 1) if number == place else one for number, one in enumerate(last)]
    assert decline([*earlier, worse]).evidence >= decline([*earlier, last]).evidence * (1 - 1e-12)


FALLING = [0.9 - 0.01 * number for number in range(30)]


def test_a_repair_ends_the_alarm_at_once():
    assert decline(runs_of(*FALLING)).is_alarm
    found = decline(runs_of(*FALLING, 0.9))
    assert found.evidence >= ALARM
    assert (found.back, found.is_alarm) == (1, False)
    assert decline(runs_of(*FALLING, 0.9, 0.91, 0.9)).back == 3


@pytest.mark.parametrize("level", [0.6, 0.7, 0.75])
def test_half_a_repair_does_not(level):
    found = decline(runs_of(*FALLING, level))
    assert (found.back, found.is_alarm) == (0, True)


def test_a_second_decline_after_a_repair_is_an_alarm_again():
    again = [0.9 - 0.01 * number for number in range(20)]
    for number in range(1, 21):
        found = decline(runs_of(*FALLING, *[0.9] * 10, *again[:number]))
        if found.is_alarm:
            break
    assert found.is_alarm
    assert number > 3  # not at the first runs, which are near the level


def test_other_scenarios_are_no_repair():
    """Those of today all pass, but none of them was there before the decline."""
    runs = [[*cells, *[(0, 0)] * 50] for cells in runs_of(*FALLING)]
    other = [[(0, 0)] * 100 + [(1, 1)] * 50]
    assert decline([*runs, *other]).is_alarm


@given(st.lists(st.integers(20, 100), min_size=2, max_size=14), st.integers(0, 99), st.integers(0, 2**20))
def test_one_pass_less_in_the_last_run_never_ends_an_alarm(shares, place, seed):
    """A harsh decline and a repair by chance, so that alarms and repairs both happen."""
    random = Random(seed)
    falling = [95 - 6 * number for number in range(8)]
    runs = [[(int(random.random() * 100 < share), 1) for _ in range(40)] for share in (*falling, *shares)]
    before = decline(runs)
    worse = [*runs[:-1], [(0, 1) if number == place % 40 else cell for number, cell in enumerate(runs[-1])]]
    assert decline(worse).is_alarm or not before.is_alarm


def test_a_run_without_decided_trials_changes_nothing():
    runs = runs_of(*(0.9 - 0.02 * number for number in range(8)))
    assert decline(runs[:-1]).evidence == pytest.approx(decline([*runs[:-1], [(0, 0)] * 100]).evidence)


def test_the_evidence_of_a_collapse_stays_finite():
    found = decline([*runs_of(*[1.0] * 30, scenarios=500), *runs_of(*[0.0] * 30, scenarios=500)])
    assert ALARM < found.evidence < math.inf


@pytest.mark.parametrize("drawn", [2, 5, 40, 150])
@pytest.mark.parametrize("passed", [1, 30, 150, 199])
def test_the_sum_for_many_trials_is_the_exact_one(passed, drawn):
    for bet in (0.01, 0.3, 3.0):
        least, most = max(0, drawn - (200 - passed)), min(drawn, passed)
        exact = _log_mean(passed, 200, drawn, bet)
        assert _log_sum(passed, 200, drawn, bet, least, most) == pytest.approx(exact, rel=1e-9, abs=1e-9)


def test_a_million_trials_of_a_scenario_are_no_error():
    found = decline([[(500_000, 1_000_000)], [(499_000, 1_000_000)], [(100, 1_000_000)]])
    assert found.is_alarm
