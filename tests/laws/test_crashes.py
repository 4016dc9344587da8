"""A crash never lifts a rule's outcome: see `crashes.py`."""

from __future__ import annotations

import pytest

from tests.laws import crashes

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", [17, *range(5)])
def test_a_crash_never_lifts_the_outcome_of_a_rule(seed, tmp_path):
    assert crashes.attempt(seed, tmp_path)
