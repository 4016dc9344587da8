"""The law of copies: see `tests/laws/copies.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.laws.copies import LIGHT, attempt

SEEDS = range(12)


@pytest.mark.hazard("H133")
@pytest.mark.parametrize("seed", SEEDS)
def test_no_copy_of_rows_passes_where_their_folder_does_not(seed: int, tmp_path: Path) -> None:
    assert attempt(seed, tmp_path)


def test_the_law_reads_copies_in_every_kind_of_form() -> None:
    assert {"csv", "json", "parquet", "pandas", "polars", "arrow", "split"} <= {*LIGHT}
