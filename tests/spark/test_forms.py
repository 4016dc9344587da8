"""L4 on Spark: the same rows give the same values and the same refusals there as in a file of lines."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.laws import forms

pytestmark = [
    pytest.mark.slow,
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore"),
]
SEEDS = (4, 5, 6, 7, 8, 11)
"""Rows that can be columns of one type: with and without repeated trials, and one with a fault."""
BROKEN = ("latency below 0", "score NaN", "id empty", "outcome unknown", "a near miss of a category")


@pytest.mark.parametrize("seed", SEEDS)
def test_l4_rows_give_the_same_on_spark(spark: Any, tmp_path: Path, seed: int) -> None:
    chosen, chance = forms.in_spark(spark), Random(seed)
    rows, fault = forms.faulty(forms.rows_of(chance), chance)
    assert forms.expresses(chosen["spark"], rows)
    forms.compare(rows, fault, tmp_path, chosen)


@pytest.mark.parametrize("name", BROKEN)
def test_l4_a_fault_is_refused_on_spark(spark: Any, tmp_path: Path, name: str) -> None:
    (fault,) = [one for one in forms.FAULTS if one.name == name]
    rows = [{"id": f"s{n}", "passed": True, "category": "edge_case", "agent_version": "1"} for n in range(2)]
    forms.compare([rows[0], fault.put(rows[1])], fault, tmp_path, forms.in_spark(spark))
