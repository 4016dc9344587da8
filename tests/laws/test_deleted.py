"""The law of deleted rows: see `tests/laws/deleted.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.laws.deleted import attempt


@pytest.mark.hazard("H129")
@pytest.mark.parametrize("seed", range(8))
def test_deleting_rows_makes_no_pass_of_what_was_none(seed: int, tmp_path: Path) -> None:
    assert attempt(seed, tmp_path)
