"""A run that is killed at any moment loses no answer and asks for none again. `scripts/fuzz 600 kills` tries more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs.killing import attempt, attempt_until_decided


@pytest.mark.process
@pytest.mark.parametrize("seed", [1, 3, 5])
def test_a_run_that_is_killed_at_any_moment_and_resumed_is_as_if_nobody_had_disturbed_it(
    tmp_path: Path, seed: int
) -> None:
    assert attempt(seed, tmp_path)


@pytest.mark.process
@pytest.mark.parametrize("seed", [1, 2, 4])
def test_a_run_that_is_killed_and_resumed_decides_what_it_would_have_decided(tmp_path: Path, seed: int) -> None:
    assert attempt_until_decided(seed, tmp_path)
