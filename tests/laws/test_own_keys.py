"""A key added to a scenario is never a column in silence: see `own_keys.py`."""

from __future__ import annotations

import pytest

from tests.laws import own_keys


@pytest.mark.parametrize("seed", range(25))
def test_a_key_added_to_a_scenario_is_refused_or_listed(seed, tmp_path):
    assert own_keys.attempt(seed, tmp_path)
