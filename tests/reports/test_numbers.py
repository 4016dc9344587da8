"""What a check reports of its numbers, by the command line: bounds that hold, and sentences that are so."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from highbar.statistics.bounds import suite_bounds
from tests.commandline import Run, check, judged

Row = dict[str, Any]
ESTIMATE = {"thresholds": {"blocking": {"pass_rate": ">= 0.8"}}}


def repeated(*passes: int, trials: int = 3, **columns: Any) -> list[Row]:
    """Scenarios of which so many trials passed."""
    return [
        {"id": f"s{place}", "trial": trial, "passed": trial <= passed, **columns}
        for place, passed in enumerate(passes)
        for trial in range(1, trials + 1)
    ]


def confident(thresholds: dict[str, str]) -> dict[str, Any]:
    return {"evidence": "confident", "thresholds": {"blocking": thresholds}}


# --- bounds -----------------------------------------------------------------------------------


def test_a_trial_that_breaks_lets_no_rule_pass(tmp_path):
    """The scenarios are more alike then, and the bound was nearer to the share than before by more than it fell."""
    policy = confident({"pass_rate": ">= 0.215"})
    judged(check(tmp_path, repeated(1, 1, 1, 1, 3), policy), "inconclusive")
    judged(check(tmp_path, repeated(1, 1, 1, 1, 2), policy), "inconclusive")


@pytest.mark.parametrize(("k", "trials", "worth"), [(2, 5, 2), (3, 5, 1), (2, 2, 1)])
def test_all_of_k_trials_of_the_whole_suite_count_as_one_trial(tmp_path, k, trials, worth):
    rows = repeated(*[trials] * 30, *[trials - 1] * 10, trials=trials)
    policy = {**confident({f"pass_hat_{k}": ">= 0.5"}), "population": "suite"}
    found = judged(check(tmp_path, rows, policy), "pass")["metrics"][f"pass_hat_{k}"]
    low, high = suite_bounds(Fraction(str(found["value"])), 40 * worth, 0.05)
    assert (found["low"], found["high"]) == pytest.approx((low, high), abs=1e-9)


# --- a second run -----------------------------------------------------------------------------


def stated(done: Run) -> tuple[float, float]:
    rule = done.rule("thresholds.blocking.pass_rate")
    return rule["second_run_low"], rule["second_run"]


def test_one_scenario_that_was_repeated_does_not_turn_the_range_into_a_point(tmp_path):
    rows = [{"id": f"s{place}", "trial": 1, "passed": place >= 6} for place in range(40)]
    low, high = stated(check(tmp_path, rows, ESTIMATE))
    again = [*rows, {"id": "s39", "trial": 2, "passed": True}]
    low_again, high_again = stated(check(tmp_path, again, ESTIMATE))
    assert low < high
    assert high_again - low_again > 0.9 * (high - low)
    all_twice = [*rows, *({**row, "trial": 2} for row in rows)]
    low_twice, high_twice = stated(check(tmp_path, all_twice, ESTIMATE))
    assert low_twice == high_twice


def test_undecided_trials_leave_the_correlation_of_trials_open(tmp_path):
    rows = [{"id": f"s{place}", "trial": trial, "passed": place >= 3} for place in range(40) for trial in (1, 2)]
    low, high = stated(check(tmp_path, rows, ESTIMATE))
    assert low == high
    undecided = [{**row, "passed": None} if (row["id"], row["trial"]) == ("s39", 2) else row for row in rows]
    done = check(tmp_path, undecided, ESTIMATE)
    assert done.json["counts"]["undecided"] == 1
    low, high = stated(done)
    assert low < high
