from __future__ import annotations

import math
import random
from itertools import combinations

import pytest

from highbar.statistics.splits import SIDE, best_split


def clearest(ranks):
    """The largest standardized difference over all cuts, computed the long way."""
    count = len(ranks)

    def difference(place):
        before, after = ranks[:place], ranks[place:]
        gap = abs(math.fsum(before) / len(before) - math.fsum(after) / len(after))
        return gap / math.sqrt(1 / len(before) + 1 / len(after))

    return max(difference(place) for place in range(SIDE, count - SIDE + 1))


@pytest.mark.parametrize("failures", [(7, 8, 9, 10), (4, 7, 8, 10), (0, 4, 9)])
def test_the_p_value_is_the_share_of_all_orders_that_are_cut_as_clearly(failures):
    count = 11  # so few that only the whole is cut
    values = [0.5 if place in failures else 0.9 for place in range(count)]
    orders = [
        [float(place in chosen) for place in range(count)] for chosen in combinations(range(count), len(failures))
    ]
    seen = clearest([float(place in failures) for place in range(count)])
    exact = sum(clearest(order) >= seen - 1e-9 for order in orders) / len(orders)
    found = best_split(values).p_value
    if exact > 0.05:
        assert found == pytest.approx(exact, abs=0.25)  # stopped early, since nothing will come of it
    else:
        assert found == pytest.approx(exact, abs=0.012)


def test_a_step_is_found_where_it_is():
    chance = random.Random(1)
    values = [chance.gauss(0.9, 0.02) for _ in range(20)] + [chance.gauss(0.8, 0.02) for _ in range(10)]
    found = best_split(values)
    assert found.place == 20
    assert found.earliest <= 20 <= found.latest
    assert found.p_value == 1 / 1000
    assert best_split(values) == found


def test_a_change_that_is_taken_back_does_not_hide_itself():
    chance = random.Random(3)
    values = [chance.gauss(0.8 if 8 <= place < 16 else 0.9, 0.02) for place in range(24)]
    found = best_split(values)
    assert found.place in {8, 16}
    assert found.p_value <= 0.01


def test_one_outlier_is_no_change():
    values = [0.9, 0.91, 0.92, 0.9, 0.91, 0.1, 0.92, 0.9, 0.91, 0.92, 0.9]
    assert best_split(values).p_value > 0.2


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0, 1.0, 3.0, 5.0, 1.0, 2.0], [1.0] * 30])
def test_too_few_or_equal_numbers_are_not_cut(values):
    assert best_split(values) is None


def test_noise_is_called_a_change_in_at_most_one_of_twenty_cases():
    chance = random.Random(2)
    tried = 200
    alarms = sum(best_split([round(chance.random(), 1) for _ in range(15)]).p_value <= 0.05 for _ in range(tried))
    assert alarms <= 19  # of 200 tries with a chance of 5 %, more than 19 are seen in one of 300 cases
