"""Law L3 on rows of ours: worse never helps. `worse.py` says what is worse, and which exceptions there are.

The oracle is tried on more cases than the product, because it is a hundred times faster; `tests/oracle` holds the two
together. `worse.search` tries the product for as long as there is time.
"""

from __future__ import annotations

from random import Random

import pytest

from tests.laws import worse

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", range(6))
def test_neither_a_worse_value_nor_a_statement_removed_helps(seed, tmp_path):
    assert worse.attempt(seed, tmp_path, most=3)


@pytest.mark.parametrize("first", range(0, 40, 20))
def test_nor_does_it_by_the_specification(first, tmp_path):
    for seed in range(first, first + 20):
        assert worse.attempt(seed, tmp_path, most=6, judged_by=worse.by_oracle)


def test_every_way_to_make_a_value_worse_and_to_remove_a_statement_is_tried(tmp_path):
    worsened, removed = set(), set()
    for seed in range(60):
        random = Random(seed)
        case = worse.case_of(random, tmp_path, worse.by_oracle)
        worsened |= {what for row in case.rows for what, change in worse.WORSE.items() if change(row)}
        changes = [case.change(column, at, after) for at, column, after in worse.removals(case.rows, random)]
        removed |= {change.what for change in changes if worse.still_declared(change)}
    assert worsened == set(worse.WORSE)
    assert removed == set(worse.STATEMENTS)


@pytest.mark.parametrize(("before", "after"), [("correct", {"correct": None}), ("latency_ms", {"latency_ms": None})])
def test_the_law_is_sharp_enough_to_see_a_statement_that_takes_a_failure_with_it(before, after):
    """Were a trial without a statement simply left out, as it once was, the law would be broken."""
    rows = [
        {"id": "a", "trial": 1, "correct": True, "latency_ms": 5},
        {"id": "a", "trial": 2, "correct": False, "latency_ms": 9000},
    ]
    policy = {"thresholds": {"blocking": {"accuracy": "≥ 90%", "latency_p95": "< 100ms"}}}
    rule = f"thresholds.blocking.{'accuracy' if before == 'correct' else 'latency_p95'}"
    for judged_by in (worse.by_product, worse.by_oracle):
        assert judged_by(rows, policy, None)[rule][1] == worse.RANK["fail"]
        assert judged_by([rows[0], rows[1] | after], policy, None)[rule][1] == worse.RANK["inconclusive"]
        assert judged_by(rows[:1], policy, None)[rule][1] == worse.RANK["pass"]
