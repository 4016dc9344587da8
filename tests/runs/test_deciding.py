"""Runs that stop when they are decided, with anything else at random. `scripts/fuzz 600 deciding` tries more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs.deciding import attempt

pytestmark = [pytest.mark.slow, pytest.mark.process]


@pytest.mark.parametrize("seed", range(6))
def test_a_run_that_stops_says_what_check_says_and_what_all_of_it_would_have_said(tmp_path: Path, seed: int) -> None:
    assert attempt(seed, tmp_path)
