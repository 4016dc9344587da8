"""Behavior coverage that a judge decides: corrected by labels of its trials, and never sure without them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from bench.judge_runs import drawn_labels
from bench.judged_trials import JudgedTrials, judged
from bench.judged_trials import labels_of as labels_in

import highbar
from highbar.model import Verdict
from highbar.policy import read_dict
from tests.judged_results import STATEMENT, digest, judged_row, labels_of, stratum_of, write_lines

NAMES = ("polite", "short")
Said = Mapping[tuple[str, int], Mapping[str, bool]]


def row(id_: str, polite: bool, short: bool, *, trial: int = 1, **columns: Any) -> dict[str, Any]:
    """A row of which a judge said whether two behaviors were observed."""
    made = judged_row(id_, polite, trial=trial, **columns)
    words = {name: "observed" if seen else "not_observed" for name, seen in zip(NAMES, (polite, short), strict=True)}
    made["judged"]["statements"] = {name: {"statement": STATEMENT, "judgment": word} for name, word in words.items()}
    return {**made, "expected_behaviors": list(NAMES), "behaviors": {"polite": polite, "short": short}}


def labels(rows: Sequence[Mapping[str, Any]], said: Said, **sample: Any) -> list[dict[str, Any]]:
    """Labels of the trials that `said` has, statement by statement."""
    found = labels_of(rows, dict.fromkeys(said, True), **sample)
    return [{**one, "observed": said[one["id"], one["trial"]][one["behavior"]]} for one in found]


def checked(folder: Path, rows: Sequence[Mapping[str, Any]], said: Said | None = None, **policy: Any) -> Verdict:
    """The verdict on these rows; with labels, if people said something."""
    results = write_lines(folder / "results.jsonl", rows)
    judge = policy.pop("judge", {})
    if said is not None:
        named = str(write_lines(folder / "labels.jsonl", labels(rows, said)))
        judge = {"correct": True, **judge, "labels": named}
    return highbar.check(str(results), {**({"judge": judge} if judge else {}), **policy})


def as_judged(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, int], dict[str, bool]]:
    return {(one["id"], one["trial"]): dict(one["behaviors"]) for one in rows}


ROWS = [row(f"s{n}", n % 5 != 0, n % 4 != 0) for n in range(80)]
SURE: dict[str, Any] = {"evidence": "confident", "thresholds": {"behavior_coverage": "60%"}}


# --- corrected -------------------------------------------------------------------------------


def by_hand(rows: Sequence[Mapping[str, Any]], said: Said) -> Fraction:
    """The mean score of people in each stratum, for every trial of it; a crash scores 0 whatever the judge says."""
    each = {one["id"]: Fraction(1, sum(other["id"] == one["id"] for other in rows)) for one in rows}

    def score(seen: Mapping[str, bool]) -> Fraction:
        return Fraction(sum(seen.values()), len(seen))

    total = Fraction(0)
    for side in ("passed", "failed"):
        here = [one for one in rows if "judged" in one and "error" not in one and stratum_of(one) == side]
        drawn = [one for one in here if (one["id"], one["trial"]) in said]
        weight = sum((each[one["id"]] for one in drawn), Fraction(0))
        people = sum((each[one["id"]] * score(said[one["id"], one["trial"]]) for one in drawn), Fraction(0))
        total += sum((each[one["id"]] for one in here), Fraction(0)) * people / (weight or 1)
    for one in rows:
        if "judged" not in one and "error" not in one:
            total += each[one["id"]] * score(one["behaviors"])
    return total / len(each)


@pytest.mark.parametrize("seed", range(4))
def test_an_independent_computation_gives_the_same_coverage(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    rows = []
    for number in range(12):
        for trial in range(1, random.randint(1, 3) + 1):
            made = row(f"s{number}", random.random() < 0.7, random.random() < 0.8, trial=trial)
            kind = random.random()
            if kind < 0.1:
                made["error"] = "timeout"
            elif kind < 0.2:
                del made["judge"], made["judged"]
            rows.append(made)
    said = {
        (one["id"], one["trial"]): {name: random.random() < 0.5 for name in NAMES}
        for one in rows
        if "judged" in one and random.random() < 0.8
    }
    verdict = checked(tmp_path, rows, said, thresholds={"behavior_coverage": "50%"})
    for metric in ("behavior_coverage", "weighted_behavior_coverage"):
        share = verdict.metrics[metric].corrected
        assert share is not None
        assert (share.value, share.method) == (by_hand(rows, said), "post-stratified")


def test_coverage_is_judged_as_people_have_it_with_the_judge_beside_it(tmp_path: Path) -> None:
    said = {**as_judged(ROWS), **{(f"s{n}", 1): {"polite": False, "short": True} for n in range(40)}}
    verdict = checked(tmp_path, ROWS, said, **SURE)
    (rule,) = [one for one in verdict.rules if one.metric == "behavior_coverage"]
    assert rule.raw is not None
    assert rule.value is not None
    assert rule.value.value == by_hand(ROWS, said)
    assert rule.raw.value == Fraction(31, 40)
    assert rule.outcome == "inconclusive"
    assert not [note for note in verdict.warnings if "not corrected" in note]
    agreed = checked(tmp_path, ROWS, as_judged(ROWS), **SURE)
    assert agreed.verdict == "pass"


def test_trials_with_an_unknown_score_are_at_their_worst_and_at_their_best(tmp_path: Path) -> None:
    rows = [*ROWS[:19], row("open", False, False)]
    named = str(write_lines(tmp_path / "labels.jsonl", labels(rows, as_judged(ROWS[:19]))))
    del rows[-1]["behaviors"]
    judge = {"labels": named, "correct": True}
    verdict = checked(tmp_path, rows, judge=judge, thresholds={"behavior_coverage": "50%"})
    share = verdict.metrics["behavior_coverage"].corrected
    assert share is not None
    best, worst = (by_hand(ROWS[:19], as_judged(ROWS[:19])) * 19 + score for score in (1, 0))
    assert share.value == worst / 20
    (rule,) = [one for one in verdict.rules if one.metric == "behavior_coverage"]
    assert rule.best == best / 20


def test_labels_of_another_run_correct_no_score(tmp_path: Path) -> None:
    before = [row(f"b{n}", n % 5 != 0, n % 4 != 0) for n in range(80)]
    named = str(write_lines(tmp_path / "labels.jsonl", labels(before, as_judged(before), run=digest("another"))))
    judge = {"labels": named, "correct": True}
    verdict = checked(tmp_path, ROWS, judge=judge, thresholds={"behavior_coverage": "60%"})
    (rule,) = [one for one in verdict.rules if one.metric == "behavior_coverage"]
    assert rule.outcome == "inconclusive"
    assert "only labels of this run correct a score" in rule.reason


# --- not corrected ---------------------------------------------------------------------------


@pytest.mark.parametrize("bar", ["60%", "95%"])
def test_with_confidence_coverage_by_a_judge_that_nobody_checked_stays_open(tmp_path: Path, bar: str) -> None:
    verdict = checked(tmp_path, ROWS, thresholds={"behavior_coverage": bar}, evidence="confident")
    assert verdict.rules[0].outcome == "inconclusive"
    assert "a judge decides behaviors, and its errors are not known: the policy names no labels" in (
        verdict.rules[0].reason
    )
    assert checked(tmp_path, ROWS, thresholds={"behavior_coverage": "60%"}).verdict == "pass"


@pytest.mark.parametrize(
    "policy",
    [
        {"composite": {"formula": "0.5 × pass_rate + 0.5 × behavior_coverage", "pass": "final_score ≥ 0.3"}},
        {"metrics": [{"name": "seen", "formula": "observed_behaviors / expected_behaviors"}],
         "thresholds": {"seen": "≥ 0.3"}},
        {"thresholds": {"behavior_coverage_pooled": "30%"}},
    ],
)  # fmt: skip
def test_so_does_everything_else_that_rests_on_it(tmp_path: Path, policy: dict[str, Any]) -> None:
    verdict = checked(tmp_path, ROWS, **policy, evidence="confident")
    assert verdict.rules[0].outcome == "inconclusive", verdict.rules[0].reason
    corrected = checked(tmp_path, ROWS, as_judged(ROWS), **policy, evidence="confident")
    assert corrected.rules[0].outcome == "inconclusive"
    assert "a judge decides behaviors, and its errors are not corrected" in corrected.rules[0].reason


def test_labels_alone_correct_nothing(tmp_path: Path) -> None:
    verdict = checked(tmp_path, ROWS, as_judged(ROWS), judge={"correct": False}, **SURE)
    assert verdict.rules[0].outcome == "inconclusive"
    assert "`judge: { correct: true }`" in verdict.rules[0].reason


def test_a_threshold_of_100_percent_fails_by_what_the_judge_missed_and_passes_only_by_a_judge_that_is_known(
    tmp_path: Path,
) -> None:
    perfect = {"evidence": "confident", "thresholds": {"behavior_coverage": "100%"}}
    assert checked(tmp_path, ROWS, **perfect).rules[0].outcome == "fail"
    rows = [row(f"s{n}", True, True) for n in range(80)]
    assert checked(tmp_path, rows, **perfect).rules[0].outcome == "inconclusive"
    assert checked(tmp_path, rows, as_judged(rows), **perfect).rules[0].outcome == "pass"


def test_a_judge_of_answers_alone_leaves_coverage_as_it_is(tmp_path: Path) -> None:
    rows = [{**row(f"s{n}", True, True), "correct": True} for n in range(80)]
    for one in rows:
        one["judged"]["statements"] = {"answer": one["judged"]["statements"]["polite"]}
    assert checked(tmp_path, rows, **SURE).verdict == "pass"


# --- the simulations -------------------------------------------------------------------------


def rows_of(run: JudgedTrials, name: str) -> tuple[list[dict[str, Any]], dict[tuple[str, int], dict[str, bool]]]:
    """The rows of a simulated run, and what people say about its labeled trials."""
    rows, said = [], {}
    for place, (judge, people) in enumerate(zip(run.judge[:, 0].tolist(), run.people[:, 0].tolist(), strict=True)):
        rows.append(row(f"{name}{place}", judge > 0, judge > 1))
        if run.asked[place, 0]:
            said[f"{name}{place}", 1] = {"polite": people > 0, "short": people > 1}
    return rows, said


def simulated(name: str, labels: int, seed: int) -> JudgedTrials:
    random = np.random.default_rng(seed)
    people, judge = (random.binomial(2, 0.9, (60, 1)) for _ in range(2))
    return JudgedTrials(name, 2, people, judge, drawn_labels(judge[None] == 2, labels, random)[0])


@pytest.mark.parametrize("metric", ["behavior_coverage", "pass_rate"])
def test_runs_of_the_benchmark_are_judged_like_their_files(tmp_path: Path, metric: str) -> None:
    policy: dict[str, Any] = {"evidence": "confident", "thresholds": {metric: "30%"}, "judge": {"correct": True}}
    run, before = simulated("now", 30, 1), simulated("before", 40, 2)
    rows, said = rows_of(run, "s")
    old_rows, old_said = rows_of(before, "b")
    own, others = labels(rows, said), labels(old_rows, old_said, run=digest("another"))
    for sample, more in ((own, ()), ([*own, *others], labels_in(before))):
        named = str(write_lines(tmp_path / "labels.jsonl", sample))
        results = write_lines(tmp_path / "results.jsonl", rows)
        (found,) = highbar.check(str(results), {**policy, "judge": {"labels": named, "correct": True}}).rules[:1]
        expected = judged(read_dict(policy), run, more)
        assert (found.outcome, found.value, found.reason) == (expected.outcome, expected.value, expected.reason)
