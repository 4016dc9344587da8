"""Files under other names, over a few fixed seeds; `scripts/fuzz foreign` tries as many as there is time for."""

from __future__ import annotations

import pytest

from tests.laws import foreign

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("first", range(0, 40, 20))
def test_a_guess_never_makes_a_pass_that_the_rows_would_not_get(tmp_path, first):
    outcomes = set()
    for seed in range(first, first + 20):
        folder = tmp_path / str(seed)
        folder.mkdir()
        outcomes.add(foreign.attempt(seed, folder).rpartition(": ")[2])
    assert {"pass", "fail", "refused"} <= outcomes


@pytest.mark.parametrize("seed", [80, 98, 119, 134, 171, 175, 444, 495])
def test_what_the_search_has_found_stays_found(tmp_path, seed):
    assert foreign.attempt(seed, tmp_path)
