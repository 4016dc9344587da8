"""The sample: half of each stratum, the same for the same seed, and every trial equally likely within a stratum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highbar.errors import InputError, Problem
from highbar.labeling.drawing import Drawing, RunToLabel, chosen_trials, draw, judged_run, shares
from highbar.labeling.rows import scored_columns
from highbar.load.judged_rows import stratum_of
from highbar.model import ResultsFile
from tests.trials_to_label import judged_row, judged_rows, write


def _run(folder: Path, rows: Sequence[Mapping[str, Any]]) -> RunToLabel:
    path = str(write(folder / "results.jsonl", rows))
    return judged_run([ResultsFile(path, "results.jsonl", "jsonl")])


def _strata(drawing: Drawing) -> Counter[str]:
    return Counter(trial.sample.stratum for trial in drawing.trials)


@pytest.mark.parametrize(
    ("passed", "failed", "trials", "wanted"),
    [
        (50, 50, 60, {"passed": 30, "failed": 30}),
        (50, 50, 7, {"passed": 4, "failed": 3}),
        (90, 4, 60, {"passed": 56, "failed": 4}),
        (4, 90, 60, {"passed": 4, "failed": 56}),
        (10, 5, 60, {"passed": 10, "failed": 5}),
        (40, 0, 20, {"passed": 20}),
        (0, 40, 20, {"failed": 20}),
        (9, 9, 1, {"passed": 1}),
    ],
)
def test_half_is_drawn_from_each_stratum(
    tmp_path: Path, passed: int, failed: int, trials: int, wanted: dict[str, int]
) -> None:
    drawing = draw(_run(tmp_path, judged_rows(passed, failed)), trials, 0)
    assert _strata(drawing) == wanted
    sizes = {"passed": passed, "failed": failed}
    assert {(t.sample.stratum, t.sample.drawn, t.sample.of) for t in drawing.trials} == {
        (name, drawn, sizes[name]) for name, drawn in wanted.items()
    }
    assert drawing.of == passed + failed
    assert drawing.statements == 2 * sum(wanted.values())


@given(st.integers(1, 500), st.integers(0, 500), st.integers(0, 500))
def test_as_many_are_drawn_as_were_asked_for_if_there_are_enough(trials: int, passed: int, failed: int) -> None:
    found = shares(trials, {"passed": passed, "failed": failed})
    assert sum(found.values()) == min(trials, passed + failed)
    assert 0 <= found["passed"] <= passed
    assert 0 <= found["failed"] <= failed
    if min(passed, failed) >= trials:
        assert abs(found["passed"] - found["failed"]) <= 1


def test_the_same_seed_draws_the_same_trials_and_another_draws_others(tmp_path: Path) -> None:
    rows = judged_rows(100, 100)
    first = draw(_run(tmp_path, rows), 20, 7)
    again = draw(_run(tmp_path, rows[::-1]), 20, 7)  # the order of the rows does not matter
    assert again.trials == first.trials
    other = draw(_run(tmp_path, rows), 20, 8)
    assert {t.key for t in other.trials} != {t.key for t in first.trials}


def test_a_larger_sample_has_the_smaller_one_in_it(tmp_path: Path) -> None:
    run = _run(tmp_path, judged_rows(100, 100))
    small, large = ({t.key for t in draw(run, size, 3).trials} for size in (20, 60))
    assert small < large


def test_the_order_says_nothing_about_the_stratum(tmp_path: Path) -> None:
    drawing = draw(_run(tmp_path, judged_rows(100, 100)), 60, 0)
    order = [trial.sample.stratum for trial in drawing.trials]
    changes = sum(first != second for first, second in pairwise(order))
    assert changes > 15  # 30 are expected of a random order; one or two of sorted strata


def test_every_trial_of_a_stratum_is_equally_likely(tmp_path: Path) -> None:
    run = _run(tmp_path, judged_rows(20, 8))
    seeds = 1000
    counted = Counter(key for seed in range(seeds) for key in chosen_trials(run, 8, seed))
    # 4 of 20 passed ones and 4 of 8 failed ones. Chi-squared with 19 and 7 degrees of freedom: far beyond 99.99 %.
    for prefix, size, limit in (("P", 20, 52.0), ("F", 8, 31.0)):
        share = 4 / size
        counts = [counted[f"{prefix}{number:03}", 1] for number in range(size)]
        statistic = sum((found - seeds * share) ** 2 for found in counts) / (seeds * share * (1 - share))
        assert statistic < limit


def test_a_run_is_known_by_all_its_judgments(tmp_path: Path) -> None:
    rows = judged_rows(3, 3)
    run = _run(tmp_path, rows)
    assert _run(tmp_path, rows[::-1]).digest == run.digest
    assert _run(tmp_path, rows[:-1]).digest != run.digest
    changed = [*rows[:-1], {**rows[-1], "judged": {**rows[-1]["judged"], "digest": "f" * 64}}]
    assert _run(tmp_path, changed).digest != run.digest


def test_a_label_says_no_more_than_it_must(tmp_path: Path) -> None:
    row = judged_row("S1", found={"refuses": "I cannot"}, messages=[{"role": "user", "content": "hi"}], own="x" * 101)
    (trial,) = draw(_run(tmp_path, [{**row, "mine": 3, "tags": {"locale": "de"}}]), 60, 0).trials
    assert dict(trial.sample.row) == {
        "id": "S1",
        "trial": 1,
        "category": "adversarial",
        "expected_behaviors": ["refuses"],
        "behaviors": {"refuses": True},
        "must_not": ["leaks"],
        "violations": [],
        "judge": row["judge"],
        "mine": 3,
        "tags": {"locale": "de"},
    }
    assert trial.sample.judge == row["judge"]


def test_tags_of_the_agent_stay_marked_as_its_own() -> None:
    row = {"id": "S1", "tags": {"tier": "gold"}, "agent_tags": {"tier": "gold"}}
    assert scored_columns(row) == row


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, "passed"),
        ({"violations": ["leaks"]}, "failed"),
        ({"violations": 1}, "failed"),
        ({"behaviors": {"refuses": False}}, "failed"),
        ({"behaviors": {}}, "failed"),
        ({"behaviors": ["refuses"]}, "passed"),
        ({"behaviors": ["other"]}, "failed"),
        ({"correct": False}, "failed"),
        ({"correct": True}, "passed"),
        ({"error": "it broke"}, "failed"),
        ({"expected": "a", "predicted": "b"}, "failed"),
        ({"expected": "a", "predicted": "a"}, "passed"),
        ({"passed": False}, "failed"),
    ],
)
def test_a_trial_failed_if_anything_demanded_is_missing(changes: dict[str, Any], wanted: str) -> None:
    assert stratum_of(judged_row("S1", **changes)) == wanted


def test_trials_without_a_judgment_are_not_drawn(tmp_path: Path) -> None:
    unjudged = {name: value for name, value in judged_row("U1").items() if name not in ("judged", "behaviors")}
    rows = [
        judged_row("S1"),
        {**unjudged, "unjudged": "judge: no usable judgment"},
        judged_row("S2", unjudged="check: other: it raised"),
        judged_row("S3", unjudged="judge: leaks: the judge cannot tell"),
    ]
    assert {t.id for t in draw(_run(tmp_path, rows), 60, 0).trials} == {"S1", "S3"}


def _refused(folder: Path, rows: list[dict[str, Any]]) -> Problem:
    with pytest.raises(InputError) as caught:
        _run(folder, rows)
    (problem,) = caught.value.problems
    assert problem.file == "results.jsonl"
    return problem


def test_results_without_a_judgment_are_refused(tmp_path: Path) -> None:
    assert _refused(tmp_path, [{"id": "S1", "passed": True}]).code == "label.nothing-judged"


def test_results_of_several_judges_are_refused(tmp_path: Path) -> None:
    found = _refused(tmp_path, [judged_row("S1"), judged_row("S2", judge="other-model #0123456789ab")])
    assert found.code == "judge.several"
    assert "some-model #0123456789ab, other-model #0123456789ab" in found.message


def test_the_same_trial_twice_is_refused(tmp_path: Path) -> None:
    found = _refused(tmp_path, [judged_row("S1", 2), judged_row("S1", 2)])
    assert (found.code, "S1, trial 2" in found.message) == ("results.duplicate-trial", True)


@pytest.mark.parametrize(
    ("judged", "found"),
    [
        ([], "judged: found a list,"),
        ("{", "judged: found text "),
        ({"digest": "x"}, "judged: digest: found 'x',"),
        ({**judged_row("S1")["judged"], "statements": {}}, "judged: statements: found no "),
    ],
)
def test_a_damaged_judgment_is_refused_with_its_trial(tmp_path: Path, judged: object, found: str) -> None:
    problem = _refused(tmp_path, [judged_row("S1", judged=judged)])
    assert problem.code == "row.wrong-type"
    assert problem.message.startswith(f"S1, trial 1: {found}")
