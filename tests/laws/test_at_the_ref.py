"""No change of a repository makes a pass at a ref that was none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.laws.at_the_ref import attempt

pytestmark = pytest.mark.process


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.hazard("H147")
@pytest.mark.hazard("H149")
def test_no_change_makes_a_pass_at_the_ref_that_was_none(seed: int, tmp_path: Path) -> None:
    attempt(seed, tmp_path)
