"""What makes a reply harder to read never takes a violation away. `scripts/fuzz 600 harder`."""

from __future__ import annotations

import pytest

from tests.laws.harder import attempt


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_what_is_harder_to_read_stays_a_violation_or_is_undecided(seed: int) -> None:
    assert attempt(seed)
