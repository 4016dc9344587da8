"""What a pytest test does not record never helps."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.laws.recordings import attempt


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 4, 5, 9])
def test_without_a_recording_call_no_rule_passes_that_did_not_before(tmp_path: Path, seed: int) -> None:
    assert attempt(seed, tmp_path)
