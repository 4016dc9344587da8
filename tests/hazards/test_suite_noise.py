"""A suite that is all there is: how much its trials vary is known only if the same scenarios were repeated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from highbar import check
from highbar.model.recall import Recalled
from tests import sequential_runs as runs
from tests.commandline import Run, run

CONFIDENT = {"thresholds": {"blocking": {"pass_rate": "90%"}}, "evidence": "confident"}
SUITE = {**CONFIDENT, "population": "suite"}
RULE = "thresholds.blocking.pass_rate"


def repeated(*passed: int, trials: int = 3) -> list[dict[str, Any]]:
    """A row for each trial, of scenarios of which so many trials pass."""
    return [
        {"id": f"S{place:03}", "trial": trial + 1, "passed": trial < number, "category": "happy_path"}
        for place, number in enumerate(passed)
        for trial in range(trials)
    ]


def test_trials_that_agree_make_the_bound_of_a_whole_suite_narrower() -> None:
    steady = check(repeated(*[3] * 46, *[1] * 1, *[0] * 3), SUITE)  # 139 of 150 trials pass; one scenario is flaky
    flaky = check(repeated(*[3] * 42, *[2] * 5, *[1] * 3), SUITE)  # as many pass; eight scenarios are flaky
    assert steady.metrics["pass_rate"].value == flaky.metrics["pass_rate"].value
    assert (steady.verdict, flaky.verdict) == ("pass", "inconclusive")
    low, high = steady.metrics["pass_rate"].low, steady.metrics["pass_rate"].high
    assert (low, high) == pytest.approx((0.9007, 0.9549), abs=0.0005)
    assert (flaky.metrics["pass_rate"].low, flaky.metrics["pass_rate"].high) == pytest.approx((0.882, 0.958), abs=0.005)


def history(folder: Path, *suites: str, now: str, **more: Any) -> Run:
    """A check of the last run, after the others were added to the history; a digit for each scenario: 1 passes."""
    policy = {**SUITE, "history": {"drift": "warn"}, **more}
    (folder / "highbar.json").write_text(json.dumps(policy))
    for place, outcomes in enumerate((*suites, now)):
        rows = [
            {"id": f"S{i:03}", "input": f"question {i}", "passed": one == "1", "category": "happy_path"}
            for i, one in enumerate(outcomes)
        ]
        (folder / f"{place}.jsonl").write_text("".join(json.dumps({**row, "nonce": place}) + "\n" for row in rows))
        if place < len(suites):
            run(folder, "check", f"{place}.jsonl", "--history", "history")
    return run(folder, "check", f"{len(suites)}.jsonl", "--format", "json")


STEADY = "1" * 93 + "0" * 7
TURNED = "1" * 92 + "01" + "0" * 6  # as good, and two scenarios came to something else


def test_earlier_runs_say_how_much_a_suite_varies(tmp_path: Path) -> None:
    found = history(tmp_path, STEADY, TURNED, STEADY, TURNED, now=STEADY, allow_columns=["nonce"]).json
    assert (found["verdict"], found["metrics"]["pass_rate"]["low"]) == ("pass", pytest.approx(0.9091, abs=0.003))


def test_without_earlier_runs_nothing_is_known(tmp_path: Path) -> None:
    assert history(tmp_path, now=STEADY, allow_columns=["nonce"]).json["verdict"] == "inconclusive"


def test_a_history_with_a_damaged_record_says_nothing(tmp_path: Path) -> None:
    assert history(tmp_path, STEADY, TURNED, STEADY, now=STEADY, allow_columns=["nonce"]).json["verdict"] == "pass"
    record = next((tmp_path / "history").glob("*.parquet"))
    record.write_bytes(record.read_bytes()[:-9])
    found = run(tmp_path, "check", "3.jsonl", "--format", "json").json
    assert found["verdict"] == "inconclusive", "the damaged record may be the one that shows the noise"


def test_an_agent_that_has_become_noisier_is_not_as_steady_as_it_was(tmp_path: Path) -> None:
    noisy = "".join("0" if place % 14 == 5 else "1" for place in range(98)) + "11"
    assert noisy.count("1") == STEADY.count("1")
    found = history(tmp_path, STEADY, STEADY, STEADY, STEADY, now=noisy, allow_columns=["nonce"]).json
    assert found["verdict"] == "inconclusive"


SEQUENTIAL = runs.read(thresholds={"pass_rate": "85%"}, population="suite")
KNOWN = tuple({f"S{place:03}": (int(place % 10 != 0), 1) for place in range(200)} for _ in range(5))


def stopped(now: list[int], *earlier: dict[str, tuple[int, int]]) -> tuple[str, int | None]:
    """What a sequential rule of a whole suite comes to, and after how many scenarios, with this history."""
    records = [runs.scenario(f"S{place:03}", one) for place, one in enumerate(now)]
    found = runs.judge(SEQUENTIAL, records, recalled=Recalled(runs=earlier) if earlier else None)
    return runs.outcomes(found)["thresholds.blocking.pass_rate"]


def test_a_run_of_a_whole_suite_stops_where_its_noise_is_known() -> None:
    now = [int(place % 10 != 0) for place in range(200)]
    passed, at = stopped(now, *KNOWN)
    assert (passed, stopped(now)[0]) == ("pass", "inconclusive")
    assert at == 150


def test_a_noisier_run_must_cross_the_boundaries_of_that_noise() -> None:
    moved = [int(place % 10 != 5) for place in range(200)]  # as many pass, but others than before
    assert stopped(moved, *KNOWN)[0] == "inconclusive"


def test_one_earlier_run_shows_no_noise() -> None:
    now = [int(place % 10 != 0) for place in range(200)]
    assert stopped(now, KNOWN[0]) == stopped(now)
