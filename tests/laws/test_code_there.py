"""At the ref, code that reads what the change wrote never makes a pass that main would not have made."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.laws.code_there import attempt


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("seed", [0, 3, 6, 8, 13, 14])
def test_main_accepts_nothing_because_of_what_its_code_read_of_the_change(tmp_path: Path, seed: int) -> None:
    folder = tmp_path / "repository"
    folder.mkdir()
    assert attempt(seed, folder)
