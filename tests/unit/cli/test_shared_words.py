"""Sentences that several reports share: how many demands are met, what changed, and how close a result is."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.commandline import run

WARNED = {"thresholds": {"blocking": {"pass_rate": "85%"}, "warning": {"error_rate": "10%"}}}


def write(folder: Path, name: str, rows: list[dict[str, Any]]) -> None:
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def results(passing: int, total: int = 20, **more: Any) -> list[dict[str, Any]]:
    return [{"id": f"S{i:03}", "passed": i < passing, **more} for i in range(total)]


def said(folder: Path, policy: dict[str, Any], *arguments: str) -> str:
    (folder / "highbar.yaml").write_text(json.dumps(policy))
    return " ".join(run(folder, *(arguments or ("check", "r.jsonl"))).out.split())


def blocking(thresholds: dict[str, str]) -> dict[str, Any]:
    return {"thresholds": {"blocking": thresholds}}


@pytest.mark.parametrize(
    ("policy", "headline"),
    [
        (blocking({"pass_rate": "99%"}), "FAIL: the only demand is not met"),
        (blocking({"pass_rate": "50%"}), "PASS: the only demand is met"),
        (blocking({"pass_rate": "50%", "error_rate": "10%"}), "PASS: both demands are met"),
        (blocking({"pass_rate": "99%", "error_rate": "10%"}), "FAIL: 1 of 2 demands is not met"),
        (blocking({"pass_rate": "50%", "error_rate": "10%", "violation_rate": "10%"}), "PASS: all 3 demands are met"),
    ],
)
def test_the_headline_counts_as_one_says_it(tmp_path, policy, headline):
    write(tmp_path, "r.jsonl", results(18))
    assert said(tmp_path, policy).startswith(f"{headline};")


def test_all_that_are_met_narrowly_are_said_to_be_all(tmp_path):
    write(tmp_path, "r.jsonl", results(18))
    policy = blocking({"pass_rate": "85%", "weighted_pass_rate": "85%"})
    assert " 2 demands are met, both narrowly. " in said(tmp_path, policy)
    policy["thresholds"]["blocking"]["error_rate"] = "5%"
    assert " 3 demands are met, all 3 narrowly. " in said(tmp_path, policy)
    assert " 1 demand is met, narrowly. " in said(tmp_path, blocking({"pass_rate": "85%"}))


def test_a_comparison_counts_inconclusive_demands_as_such(tmp_path):
    write(tmp_path, "base.jsonl", results(20))
    write(tmp_path, "r.jsonl", results(18))
    rules = {"pass_rate": "5%", "error_rate": "50%"}
    policy = {"baseline": {"file": "baseline.json", "margin": rules, "new_failures": "all"}}
    assert said(tmp_path, policy, "baseline", "record", "base.jsonl", "--date", "2026-11-15")
    counted = "FAIL: 1 of 3 demands is not met, 1 is inconclusive"
    assert said(tmp_path, policy).startswith(counted)
    assert said(tmp_path, policy, "compare", "base.jsonl", "r.jsonl").startswith(counted)


def test_without_a_policy_every_typical_threshold_is_counted(tmp_path):
    write(tmp_path, "r.jsonl", results(1, latency_ms=20000, correct=False))
    text = run(tmp_path, "check", "r.jsonl").out
    found = re.search(r"of the typical thresholds\s+([0-9]+) of\s+([0-9]+)\s+would\s+fail", text)
    assert found
    rows = text.partition("it would\n")[2].partition("\n\n")[0].splitlines()
    assert int(found[2]) == len(rows)
    assert int(found[1]) == sum(row.endswith(("fail", "be undefined")) for row in rows)


def test_the_same_run_twice_has_no_change_and_no_margin(tmp_path):
    write(tmp_path, "r.jsonl", results(18, cost_usd=0.5))
    text = run(tmp_path, "compare", "r.jsonl", "r.jsonl").out
    assert re.search(r"cost_per_pass +no change .* \$0 \(\$0 to \$0\)", text)
    assert "within the margin" not in text
    assert "0 broke, 0 fixed\n" in text
    assert "chance of a split" not in text


@pytest.mark.parametrize(
    ("wanted", "title"),
    [
        ("all", "No scenario that passed in the baseline fails or is missing"),
        (["S00*"], "No scenario S00* that passed in the baseline fails or is missing"),
        (["S00*", "S010"], "No scenario S00* or S010 that passed in the baseline fails or is missing"),
        (["S1", "S2", "S3", "S00*", "S5"], "No scenario S1, S2, S3 or 2 more that passed in the baseline fails or"),
    ],
)
def test_new_failures_name_the_scenarios_that_they_are_about(tmp_path, wanted, title):
    write(tmp_path, "base.jsonl", results(20))
    write(tmp_path, "r.jsonl", results(5))
    policy = {"baseline": {"file": "baseline.json", "new_failures": wanted}}
    said(tmp_path, policy, "baseline", "record", "base.jsonl", "--date", "2026-11-15")
    assert f" {title}" in said(tmp_path, policy, "check", "r.jsonl", "-v")
    assert f" {title}" in said(tmp_path, policy, "compare", "base.jsonl", "r.jsonl")


@pytest.mark.parametrize("passing", [18, 17, 16, 15, 12])
def test_text_and_page_agree_on_what_is_close(tmp_path, passing):
    write(tmp_path, "r.jsonl", results(passing))
    short = said(tmp_path, blocking({"pass_rate": "95%"}), "check", "r.jsonl", "--output", "it.html")
    page = unescape((tmp_path / "it.html").read_text("utf-8"))
    found = re.search(r"a re-run may pass \([^)]*\)", short)
    assert (found[0] if found else None) == next(iter(re.findall(r"a re-run may pass \([^)]*\)", page)), None)
    assert bool(found) == (passing > 12)


def test_the_page_explains_its_charts_and_counts_warnings_apart(tmp_path):
    write(tmp_path, "r.jsonl", results(18))
    said(tmp_path, {**WARNED, "confidence": "90%"}, "check", "r.jsonl", "--output", "it.html")
    page = unescape((tmp_path / "it.html").read_text("utf-8"))
    assert "line: its 90% bounds; stroke: threshold; green: accepted" in page
    assert "Met, but narrowly: a re-run may end differently (1, and 1 of level warning)" in page
