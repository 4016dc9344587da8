"""What was lost must not help: a value of a sum, a file of a folder; and a number without end must not hang."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commandline import check, judged, refused, run


def test_a_sum_that_lost_the_cost_of_a_scenario_is_undefined(tmp_path: Path) -> None:
    policy = {
        "metrics": [{"name": "total", "formula": "sum(cost_usd)", "better": "lower"}],
        "rules": [{"metric": "total", "threshold": "≤ 10"}],
    }
    rows = [{"id": "a", "passed": True, "cost_usd": 1}, {"id": "b", "passed": True, "cost_usd": 50}]
    judged(check(tmp_path, rows, policy), "fail")
    del rows[1]["cost_usd"]
    done = check(tmp_path, rows, policy)
    judged(done, "fail")
    assert done.rule("rules[0]")["outcome"] == "undefined"


def test_an_acceptance_number_without_end_is_refused(tmp_path: Path) -> None:
    rule = {"metric": "pass_rate", "threshold": "100%", "evidence": "confident", "failures": 10**20}
    refused(check(tmp_path, [{"id": "a", "passed": True}], {"rules": [rule]}), "wanted at most 1000")


@pytest.mark.parametrize("name", ["part-1.jsonl.bz2", "part-1.jsonl.xz", "part-1.csv.tmp", "part-1.parquet.part"])
def test_results_in_a_folder_that_cannot_be_read_are_refused(tmp_path: Path, name: str) -> None:
    check(tmp_path, [{"id": "a", "passed": True}], {"thresholds": {"blocking": {"pass_rate": "50%"}}})
    (tmp_path / "d").mkdir()
    (tmp_path / "results.jsonl").rename(tmp_path / "d" / "part-0.jsonl")
    (tmp_path / "d" / name).write_bytes(b"BZh9")
    refused(run(tmp_path, "check", "d", "--policy", "policy.json", "--format", "json"), "looks like results", name)
