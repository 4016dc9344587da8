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
    assert max(share for (_, method), share in shares.items() if method in ("test, 5 runs", "test, 20 runs")) <= 0.10


def test_many_failures_of_a_flaky_suite_are_found_and_an_unchanged_one_seldom_fails():
    unchanged, broken = measured("many failures", "0% broken: fails"), measured("many failures", "5% broken: fails")
    assert max(share for (_, method), share in unchanged.items() if method == "their number") <= 0.05
    case = "200 scenarios at 0.92, correlation 0.3"
    assert unchanged[case, "both tests"] <= 0.0376  # 3 % and two standard errors
    assert broken[case, "both tests"] >= 0.82
    assert measured("many failures", "10% broken: fails")[case, "both tests"] >= 0.995


def test_against_pooled_runs_an_agent_at_the_margin_seldom_fails_and_a_worse_one_often():
    shares = measured("decline", "fails")
    assert max(share for (_, method), share in shares.items() if method.endswith("at it")) <= 0.05
    worse = {case: share for (case, method), share in shares.items() if method.endswith("worse")}
    assert worse["correlation 0.3, 60 scenarios"] >= 0.37
    assert worse["correlation 0.3, 120 scenarios"] >= 0.76


def test_a_confident_bar_of_pooled_runs_is_proven_by_most_runs_of_an_unchanged_agent():
    shares = measured("confident ratchet", "version 30: inconclusive")
    assert max(share for (_, method), share in shares.items() if "its bound" in method) <= 0.08
    assert shares["correlation 0", "room for its noise"] > 0.5


def test_a_suite_that_never_failed_is_guarded_however_short_its_history_is():
    found = measured("new_failures", "finds 1 broken")
    assert {share for (case, _), share in found.items() if "always pass; 1" in case and case.startswith("100")} == {1.0}


def test_a_pooled_baseline_is_not_too_high_and_seldom_fails_an_unchanged_agent():
    excess, fails = measured("baseline", "recorded less true"), measured("baseline", "unchanged: fail")
    for correlation in ("correlation 0", "correlation 0.6"):
        assert excess[correlation, "the run of each pass"] > 0.04
        assert abs(excess[correlation, "five runs pooled after each run"]) < 0.002
        assert excess[correlation, "five runs pooled at each pass"] < 0.02
        assert fails[correlation, "five runs pooled at each pass"] < 0.03 < fails[correlation, "the run of each pass"]


def test_a_comparison_with_a_pooled_baseline_errs_no_more_often_than_promised():
    shares = measured("margin", "5 points worse, margin 5: passes with confidence")
    assert max(share for (_, method), share in shares.items() if method == "five runs pooled") <= 0.06


@pytest.mark.parametrize("later", [1, 10])
def test_a_repair_is_seldom_punished_and_a_decline_that_goes_on_is_still_found(later):
    shares = measured("repair", f"{later} after the alarm: alarm")
    judged = {
        kind: [s for (_, method), s in shares.items() if method == f"{kind}: levels"]
        for kind in ("repaired", "goes on")
    }
    assert max(judged["repaired"]) <= 0.25
    alone = [share for (_, method), share in shares.items() if method == "goes on: evidence alone"]
    assert all(now >= before - 0.06 for now, before in zip(judged["goes on"], alone, strict=True))


def test_an_unchanged_agent_raises_the_alarm_of_drift_in_at_most_5_of_100_histories():
    shares = measured("drift", "alarm within 100 versions")
    assert max(share for (_, method), share in shares.items() if method == "unchanged") <= 0.05
    noisy = measured("noisy runs", "alarm within 30 versions")
    assert max(noisy.values()) <= 0.05
    assert min(share for (_, method), share in shares.items() if method.startswith("half")) == 1


def test_the_simulation_bets_as_the_product_does():
    runs = np.random.default_rng(1).random((12, 30)) < np.linspace(0.9, 0.6, 12)[:, None]
    cells = [[(int(passed), 1) for passed in run] for run in runs]
    for number in (2, 7, 12):
        assert np.exp(paths(runs[:number])[-1]) == pytest.approx(decline(cells[:number]).evidence)
