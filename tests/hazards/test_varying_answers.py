"""A suite that is all there is, stopped early: its answers vary unless the policy says that they are fixed."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import pytest

from highbar import policy as policies
from highbar.errors import InputError
from tests import sequential_runs as runs

BARS: dict[str, str] = {"accuracy": "85%", "behavior_coverage": "85%"}


def passes(rate: float, number: int, **settings: Any) -> dict[str, int]:
    """How many of as many runs of 50 scenarios pass each rule, if each answer is right with this chance."""
    bar, chance = runs.read(thresholds=BARS, population="suite", **settings), Random(3)
    found = dict.fromkeys(BARS, 0)
    for _ in range(number):
        scores = [int(chance.random() < rate) for _ in range(50)]
        records = [runs.scenario(f"S{place:02}", one, behavior_score=Fraction(one)) for place, one in enumerate(scores)]
        for name, result in runs.judge(bar, records).items():
            found[name.rpartition(".")[2]] += result.outcome == "pass"
    return found


def test_h169_an_agent_just_below_the_bar_rarely_passes() -> None:
    assert max(passes(0.84, 100).values()) <= 10
    assert min(passes(0.84, 100, answers="fixed").values()) >= 30


def test_h169_fixed_answers_without_the_population_are_refused() -> None:
    with pytest.raises(InputError, match="population: suite"):
        policies.read_dict({"thresholds": {"pass_rate": "85%"}, "answers": "fixed"})
