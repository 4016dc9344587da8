"""R31: the order of the rows changes nothing, to the last digit."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.commandline import check

POLICY = {"thresholds": {"blocking": {"pass_rate": "1%", "weighted_pass_rate": "1%"}}, "slices": ["category"]}


def rows(kind: str) -> list[dict[str, Any]]:
    rng = random.Random(kind)
    made = []
    for scenario in range(300):
        row: dict[str, Any] = {"id": f"S{scenario}", "category": f"group_{'abc'[scenario % 3]}"}
        if kind == "clusters":
            row["cluster"] = f"C{rng.randrange(40)}"
        if kind == "weights":
            row["weight"] = rng.choice([0.1, 0.7, 1.3, 3.3])
        trials = rng.choice([1, 3, 7]) if kind != "weights" else 1
        made += [{**row, "trial": trial, "passed": rng.random() < 0.7} for trial in range(trials)]
    return made


@pytest.mark.parametrize("kind", ["trials", "clusters", "weights"])
def test_r31_the_order_of_the_rows_changes_no_digit(tmp_path: Path, kind: str) -> None:
    found = set()
    made = rows(kind)
    for seed in range(6):
        random.Random(seed).shuffle(made)
        verdict = check(tmp_path, made, POLICY).json
        verdict.pop("results")
        found.add(json.dumps(verdict, sort_keys=True))
    assert len(found) == 1, [json.loads(one)["slices"] for one in found]
