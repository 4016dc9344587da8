"""Grading again by the same suite changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.laws.graded_again import attempt


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("seed", [0, 1, 6, 8, 11, 100])
def test_the_rows_of_a_run_are_graded_again_as_they_were(tmp_path: Path, seed: int) -> None:
    assert attempt(seed, tmp_path)
