"""Each fault that was found once is put back in turn, and its law fails: see `faults.py`."""

from __future__ import annotations

import pytest

from tests.laws.faults import FAULTS


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.id} {fault.what}")
def test_the_law_finds_the_fault(tmp_path, monkeypatch, fault):
    for name in ("without", "with"):
        (tmp_path / name).mkdir()
    fault.case(tmp_path / "without")
    fault.put_back(monkeypatch)
    with pytest.raises(AssertionError):
        fault.case(tmp_path / "with")
