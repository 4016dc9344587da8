"""What undecided trials cannot change is certain: see `certain.py`."""

from __future__ import annotations

import pytest

from tests.laws import certain

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", range(4))
def test_a_rule_that_is_not_open_has_its_outcome_whatever_undecided_trials_come_to(seed, tmp_path):
    assert certain.attempt(seed, tmp_path)
