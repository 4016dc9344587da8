"""Runs that are interrupted and resumed at random come to the same. `scripts/fuzz 600 interruptions` tries more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs.interrupting import attempt


@pytest.mark.process  # git
@pytest.mark.parametrize("seed", range(6))
def test_a_run_that_is_interrupted_at_random_comes_to_what_an_undisturbed_one_comes_to(
    tmp_path: Path, seed: int
) -> None:
    assert attempt(seed, tmp_path)
