"""What a history is worth stands in a table that `bench/memory.py` wrote, and is what was promised."""

from __future__ import annotations

import numpy as np
import pytest
from bench.measured_pages import CONCEPTS, read
from bench.memory import paths
from bench.memory_page import NAME, page

from highbar.statistics.drift import decline


def measured(what, measure):
    rows = read(f"{NAME}.csv")
    return {
        (row["case"], row["method"]): float(row["share"])
        for row in rows
        if (row["what"], row["measured"]) == (what, measure)
    }


def test_the_page_is_what_its_table_says():
    assert (CONCEPTS / f"{NAME}.md").read_text("utf-8") == page(read(f"{NAME}.csv"))


def test_the_pooled_ratchet_fails_an_unchanged_agent_in_at_most_8_of_100_runs_of_version_30():
    shares = measured("ratchet", "version 30: fail")
    assert max(share for (_, method), share in shares.items() if method.startswith("five")) <= 0.08
    assert shares["correlation 0", "one run that passed"] > 0.5


def test_new_failures_by_a_test_are_at_most_as_many_false_alarms_as_promised():
    shares = measured("new_failures", "fails")
    assert max(share for (_, method), share in shares.items() if method.startswith("test")) <= 0.10


def test_an_unchanged_agent_raises_the_alarm_of_drift_in_at_most_5_of_100_histories():
    shares = measured("drift", "alarm within 100 versions")
    assert max(share for (_, method), share in shares.items() if method == "unchanged") <= 0.05
    assert min(share for (_, method), share in shares.items() if method.startswith("half")) == 1


def test_the_simulation_bets_as_the_product_does():
    runs = np.random.default_rng(1).random((12, 30)) < np.linspace(0.9, 0.6, 12)[:, None]
    cells = [[(int(passed), 1) for passed in run] for run in runs]
    for number in (2, 7, 12):
        assert np.exp(paths(runs[:number])[-1]) == pytest.approx(decline(cells[:number]).evidence)
