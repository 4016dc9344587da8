"""What the page about gates says was measured is what the table beside it holds, and the gates are asked as it says."""

from __future__ import annotations

import random
import subprocess
import sys
from itertools import pairwise
from math import sqrt
from pathlib import Path

import pytest
from bench import gates, gates_page
from bench.gates_judge import JUDGED
from bench.gates_page import (
    AGENTASSAY,
    AGENTRIAL,
    AT,
    BELOW,
    BROKEN,
    BY_CASE,
    CI,
    COMPARE,
    CONFIDENT,
    CRASHES,
    CRASHES_NOW,
    ESTIMATE,
    FAR_ABOVE,
    FLAKY_BELOW,
    LABELED,
    MAIDA,
    MISSES_FAILURES,
    PAIRED,
    PLAIN,
    PROMPTFOO,
    SAME,
    SNAPSHOT,
    WILSON,
    WITH_INTERVAL,
    WORSE,
    WRONG_AT_RANDOM,
    largest_error,
    share,
)
from bench.gates_runs import CHANGES, SETTINGS, alike, changed_twice, twice
from bench.gates_tools import GATES, version_of

TABLE = gates_page.stored()
BY_NAME = {gate.name: gate for gate in GATES}
LEVEL = 0.05
"""The error that `evidence: confident` promises."""


def noise(rate: float, runs: int) -> float:
    """How far chance moves a share: three standard errors."""
    return 3 * sqrt(rate * (1 - rate) / runs)


def test_the_page_is_what_its_table_says() -> None:
    assert gates_page.PAGE.read_text("utf-8") == gates_page.page(TABLE), "run python -m bench.gates_page"


def test_every_gate_was_asked_in_every_setting_that_it_has_an_answer_for() -> None:
    expected = []
    for gate in GATES:
        if gate.ask:
            expected += [(gate.name, one.name, one.wrong or "", one.runs) for one in (*SETTINGS, *JUDGED)]
        if gate.compare:
            expected += [(gate.name, one.name, one.wrong, one.runs) for one in CHANGES]
    expected += [(LABELED, one.name, one.wrong, one.runs) for one in JUDGED]
    assert [(row["gate"], row["setting"], row["wrong"], int(row["runs"])) for row in TABLE] == expected


def test_the_versions_are_those_that_the_benchmark_installs() -> None:
    for row in TABLE:
        package = BY_NAME[row["gate"]].package if row["gate"] in BY_NAME else "highbar"
        if package != "highbar":
            assert row["version"] == version_of(package)


def test_the_shares_of_a_row_are_those_of_one_set_of_runs() -> None:
    for row in TABLE:
        assert sum(float(row[word]) for word in ("pass", "fail", "inconclusive")) == pytest.approx(1, abs=2e-5)
        assert float(row["contradiction"]) <= 2 * max(float(row["pass"]), float(row["fail"]))


def test_gates_that_compare_the_measured_rate_always_decide_and_the_others_do_not() -> None:
    for row in TABLE:
        if row["question"] == "threshold" and row["gate"] in (PLAIN, PROMPTFOO, AGENTRIAL, ESTIMATE):
            assert float(row["inconclusive"]) == 0
    for gate in WITH_INTERVAL:
        assert share(TABLE, gate, AT, "inconclusive") > 0.5


def test_crashes_are_dropped_by_a_plain_percentage_and_by_inspect_alone() -> None:
    for gate in (PLAIN, CI, WILSON):
        assert share(TABLE, gate, CRASHES, "pass") > share(TABLE, gate, BELOW, "pass") + 0.2
    for gate in (PROMPTFOO, AGENTRIAL, AGENTASSAY, MAIDA, ESTIMATE, CONFIDENT):
        assert share(TABLE, gate, CRASHES, "pass") < share(TABLE, gate, BELOW, "pass") + 0.1
    assert share(TABLE, PROMPTFOO, CRASHES, "pass") == share(TABLE, ESTIMATE, CRASHES, "pass")


def test_confident_keeps_its_level_in_every_setting() -> None:
    for question in ("threshold", "change"):
        for row in TABLE:
            if (row["gate"], row["question"]) == (CONFIDENT, question) and row["wrong"]:
                assert float(row[row["wrong"]]) <= LEVEL + noise(LEVEL, int(row["runs"])), row
    assert largest_error(TABLE, CONFIDENT, "threshold") <= LEVEL
    assert share(TABLE, CONFIDENT, FAR_ABOVE, "fail") == 0  # so that the rest is inconclusive


def test_a_zero_leaves_room_for_as_much_as_the_page_says() -> None:
    fewest = min(int(row["runs"]) for row in TABLE)
    assert fewest == 150
    assert round(100 * (1 - LEVEL ** (1 / fewest))) == 2


def test_intervals_of_pooled_trials_are_too_narrow_for_flaky_scenarios() -> None:
    for gate in (AGENTASSAY, MAIDA):
        assert share(TABLE, gate, FLAKY_BELOW, "pass") > 2 * share(TABLE, gate, BELOW, "pass")
        assert share(TABLE, gate, FLAKY_BELOW, "pass") > share(TABLE, CONFIDENT, FLAKY_BELOW, "pass")


def test_gates_of_single_cases_find_those_that_broke_and_not_a_loss_that_is_spread() -> None:
    for gate in (BY_CASE, SNAPSHOT):
        assert share(TABLE, gate, BROKEN, "fail") > 0.9
        assert share(TABLE, gate, WORSE, "pass") > 0.5
    assert share(TABLE, PAIRED, WORSE, "fail") > 0.9
    for gate in (BY_CASE, PAIRED):
        assert share(TABLE, gate, CRASHES_NOW, "pass") > 0.5  # samples that crashed are dropped
    assert share(TABLE, COMPARE, SAME, "fail") > 0.5


def test_what_the_page_says_of_two_versions_holds() -> None:
    assert largest_error(TABLE, AGENTASSAY, "change") == 0
    assert share(TABLE, AGENTASSAY, SAME, "inconclusive") > 0.5
    assert share(TABLE, CONFIDENT, SAME, "inconclusive") > 0.5
    for gate in (ESTIMATE, CONFIDENT):
        assert share(TABLE, gate, SAME, "fail") == 0  # so that the largest error is that of a version that got worse


def test_only_labels_make_a_judge_known() -> None:
    for gate in GATES:
        if gate.ask:
            assert share(TABLE, gate.name, MISSES_FAILURES, "pass") > 0.5
    runs = JUDGED[0].runs
    assert share(TABLE, LABELED, MISSES_FAILURES, "pass") <= LEVEL + noise(LEVEL, runs)
    assert share(TABLE, LABELED, WRONG_AT_RANDOM, "fail") <= LEVEL + noise(LEVEL, runs)


def test_a_part_of_the_runs_gives_what_the_table_says_but_for_chance() -> None:
    rows = {row["setting"]: row for row in gates.measure(BY_NAME[PLAIN], Path(sys.executable), share=10)}
    assert list(rows) == [one.name for one in (*SETTINGS, *JUDGED, *CHANGES)]
    for setting, row in rows.items():
        for word in ("pass", "fail", "inconclusive", "contradiction"):
            stored = share(TABLE, PLAIN, setting, word)
            assert float(row[word]) == pytest.approx(stored, abs=noise(min(0.9, max(0.1, stored)), int(row["runs"])))
    assert list(gates.measure(BY_NAME[PLAIN], Path(sys.executable), share=10)) == list(rows.values())


@pytest.mark.process
def test_a_quick_measurement_prints_the_tables_and_stores_nothing(tmp_path: Path) -> None:
    before = gates_page.TABLE.read_bytes()
    command = [sys.executable, "-m", "bench.gates", "--quick", "--environments", str(tmp_path), "--only", PLAIN]
    done = subprocess.run(command, cwd=gates_page.CONCEPTS.parents[1], check=True, capture_output=True, text=True)
    assert len([line for line in done.stdout.splitlines() if line.startswith(f"| {PLAIN} |")]) == 3
    refused = subprocess.run([*command, "--keep"], cwd=gates_page.CONCEPTS.parents[1], check=False, capture_output=True)
    assert refused.returncode == 2
    assert gates_page.TABLE.read_bytes() == before
    assert list(tmp_path.iterdir()) == []


def test_confident_decides_what_the_data_decides_and_crashes_are_failures() -> None:
    ask = BY_NAME[CONFIDENT].ask
    assert ask
    runs = [("p",) * 100, ("p",) * 85 + ("f",) * 15, ("p",) * 60 + ("c",) * 40]
    assert ask(Path(), runs) == ["pass", "inconclusive", "fail"]
    plain = BY_NAME[PLAIN].ask
    assert plain
    assert plain(Path(), runs) == ["pass", "pass", "pass"]


def test_a_change_is_judged_against_the_version_before() -> None:
    compare = BY_NAME[CONFIDENT].compare
    assert compare
    good, bad = ("p",) * 100, ("p",) * 50 + ("f",) * 50
    assert compare(Path(), [(good, good), (good, bad), (bad, good)]) == ["pass", "fail", "pass"]


def test_a_second_run_is_of_the_same_agent_and_runs_that_are_alike_are_the_same() -> None:
    flaky = next(one for one in SETTINGS if one.name == FLAKY_BELOW)
    draw = random.Random(1)
    passes = [[sum(trials.count("p") for trials in run) for run in twice(flaky, draw)] for _ in range(200)]
    within = sum(abs(first - second) for first, second in passes)
    between = sum(abs(one[0] - other[0]) for one, other in pairwise(passes))
    assert within < between / 2
    (before, _), (again, _) = changed_twice(CHANGES[0], draw)
    assert before == again
    assert alike(("pf", "pp")) == alike(("pp", "fp"))
