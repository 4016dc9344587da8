"""A policy that is wrong in two places reports both: see `two_faults.py`."""

from __future__ import annotations

import pytest

from tests.laws import two_faults


@pytest.mark.parametrize("seed", [24, 41, 51, 112, 120, 201, *range(300, 315)])
def test_a_policy_that_is_wrong_in_two_places_reports_both(seed, tmp_path):
    assert two_faults.attempt(seed, tmp_path)
