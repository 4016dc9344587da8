"""What has completed first is no fair sample: only a prefix of the recorded order may decide a run.

The scheduler runs in simulated time; `python -m bench.early_runs` does the same for thousands of runs.
"""

from __future__ import annotations

import pytest
from bench.early_runs import CASES, SEED, shares, simulate

pytestmark = pytest.mark.slow
RUNS = 100
LEAST = {"failures take 3 times as long": 0.27, "failures take 10 times as long": 0.8}
"""What looking at whatever has completed passes at least."""


@pytest.mark.parametrize("case", CASES[1:], ids=lambda case: case.name)
def test_an_agent_at_the_threshold_passes_by_what_has_completed_and_not_by_the_prefix(case):
    completed, prefix, failed, _ = shares([simulate(case, SEED + number) for number in range(RUNS)])
    assert completed >= LEAST.get(case.name, 0.5)
    # Nominally 5 %; of 100 runs more than 12 are as unlikely as one in a thousand.
    assert prefix <= 0.12
    assert failed <= 0.12
