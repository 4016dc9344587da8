"""Shares as people would have them: an independent computation agrees, and what must hold of every correction does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

import highbar
from highbar.model import Value, Verdict
from tests.judged_results import TODAY, digest, judged_must_not, judged_row, labels_of, stratum_of, write_lines

POLICY: dict[str, Any] = {"thresholds": {"pass_rate": "50%"}}


def checked(
    folder: Path, rows: Sequence[Mapping[str, Any]], labels: Sequence[Mapping[str, Any]], **policy: Any
) -> Verdict:
    """The verdict on these rows, with these labels."""
    results = write_lines(folder / "results.jsonl", rows)
    named = str(write_lines(folder / "labels.jsonl", labels))
    judge = {"correct": True, **policy.pop("judge", {}), "labels": named}
    return highbar.check(str(results), {**POLICY, **policy, "judge": judge})


def corrected(verdict: Verdict, metric: str = "pass_rate") -> tuple[Fraction, float, float]:
    share = verdict.metrics[metric].corrected
    assert share is not None
    assert share.value is not None, share.reason
    assert share.low is not None
    assert share.high is not None
    return share.value, share.low, share.high


# --- an oracle -------------------------------------------------------------------------------


def random_rows(random: Random) -> list[dict[str, Any]]:
    """Scenarios with several trials: of behaviors and must-nots, some crashed, some that no judge saw."""
    rows = []
    for number in range(random.randint(2, 7)):
        make = random.choice([judged_row, judged_must_not])
        weight = {"weight": random.choice([1, 2, 5])}
        for trial in range(1, random.randint(1, 4) + 1):
            row = make(f"s{number}", random.random() < 0.6, trial=trial, **weight)
            kind = random.random()
            if kind < 0.1:
                row["error"] = "timeout"
            elif kind < 0.25:
                del row["judge"], row["judged"]
            rows.append(row)
    return rows


def is_passed(row: Mapping[str, Any]) -> bool:
    return stratum_of(row) == "passed"


def expected_share(rows: Sequence[Mapping[str, Any]], said: Mapping[Any, bool], *, weighted: bool) -> Fraction | None:
    """The share by hand, trial by trial; None if a kind of trials has no label."""
    trials = {row["id"]: sum(other["id"] == row["id"] for other in rows) for row in rows}
    weights = {row["id"]: Fraction(row["weight"] if weighted else 1) for row in rows}
    each = {id_: weights[id_] / count for id_, count in trials.items()}
    rate = {}
    for side in (True, False):
        here = [row for row in rows if "judged" in row and "error" not in row and is_passed(row) is side]
        drawn = [row for row in here if (row["id"], row["trial"]) in said]
        if here and not drawn:
            return None
        weight = sum((each[row["id"]] for row in drawn), Fraction(0))
        good = sum((each[row["id"]] for row in drawn if is_good(row, said)), Fraction(0))
        rate[side] = good / weight if weight else Fraction(0)
    total = Fraction(0)
    for row in rows:
        known = "judged" not in row or "error" in row
        total += each[row["id"]] * (Fraction(is_passed(row)) if known else rate[is_passed(row)])
    return total / sum(weights.values())


def is_good(row: Mapping[str, Any], said: Mapping[Any, bool]) -> bool:
    observed = said[row["id"], row["trial"]]
    return not observed if "must_not" in row else observed


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_an_independent_computation_gives_the_same_share(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    rows = random_rows(random)
    drawn = [row for row in rows if "judged" in row and random.random() < 0.7]
    said = {(row["id"], row["trial"]): random.random() < 0.5 for row in drawn}
    verdict = checked(tmp_path, rows, labels_of(rows, said))
    for metric, weighted in (("pass_rate", False), ("weighted_pass_rate", True)):
        expected = expected_share(rows, said, weighted=weighted) if said else None
        found = verdict.metrics[metric].corrected
        if verdict.judge is None:
            assert found is None
        else:
            assert found is not None
            assert found.value == expected, (metric, found)


def test_the_oracle_is_not_idle() -> None:
    random = Random(0)
    rows = random_rows(random)
    said = {(row["id"], row["trial"]): False for row in rows if "judged" in row}
    good = {key: not value for key, value in said.items()}
    assert expected_share(rows, said, weighted=False) != expected_share(rows, good, weighted=False)


# --- laws ------------------------------------------------------------------------------------

ROWS = [judged_row(f"s{n}", n % 5 != 0) for n in range(60)]
EVERY_SECOND = [row for n, row in enumerate(ROWS) if n % 2 == 0 or n % 5 == 0]


def as_the_judge(rows: Sequence[Mapping[str, Any]]) -> dict[str, bool]:
    return {row["id"]: row["behaviors"]["polite"] for row in rows}


def test_a_judge_that_is_right_changes_no_value_and_never_narrows_the_interval(tmp_path: Path) -> None:
    verdict = checked(tmp_path, ROWS, labels_of(ROWS, as_the_judge(EVERY_SECOND)))
    raw = verdict.metrics["pass_rate"]
    value, low, high = corrected(verdict)
    assert value == raw.value == Fraction(4, 5)
    assert raw.low is not None
    assert raw.high is not None
    assert low < raw.low
    assert high > raw.high


def test_with_all_trials_labeled_the_share_is_that_of_the_people(tmp_path: Path) -> None:
    said = {row["id"]: n % 3 != 0 for n, row in enumerate(ROWS)}
    verdict = checked(tmp_path, ROWS, labels_of(ROWS, said))
    assert corrected(verdict)[0] == Fraction(sum(said.values()), len(said))
    assert verdict.rules[0].value is not None
    assert verdict.rules[0].value.value == Fraction(2, 3)


def test_what_people_call_worse_never_raises_the_share_or_its_lower_bound(tmp_path: Path) -> None:
    said = as_the_judge(EVERY_SECOND)
    before = corrected(checked(tmp_path, ROWS, labels_of(ROWS, said)))
    after = corrected(checked(tmp_path, ROWS, labels_of(ROWS, {**said, "s2": False, "s4": False})))
    assert after[0] < before[0]
    assert after[1] <= before[1]


def test_the_order_of_rows_and_labels_does_not_matter(tmp_path: Path) -> None:
    labels = labels_of(ROWS, {**as_the_judge(EVERY_SECOND), "s2": False})
    one = checked(tmp_path, ROWS, labels)
    two = checked(tmp_path, ROWS[::-1], labels[::-1])
    assert corrected(one) == corrected(two)
    assert one.judge == two.judge


def test_a_lower_share_of_violations_is_corrected_upward_by_those_that_the_judge_missed(tmp_path: Path) -> None:
    rows = [judged_must_not(f"s{n}", n == 0) for n in range(20)]
    said = {f"s{n}": n < 5 for n in range(20)}
    policy = {"thresholds": {"violation_rate": "<= 20%"}}
    verdict = checked(tmp_path, rows, labels_of(rows, said), **policy)
    assert verdict.metrics["violation_rate"].value == Fraction(1, 20)
    assert corrected(verdict, "violation_rate")[0] == Fraction(1, 4)
    assert verdict.rules[0].outcome == "fail"
    assert verdict.rules[0].raw is not None
    assert verdict.rules[0].raw.value == Fraction(1, 20)


# --- undecided trials ------------------------------------------------------------------------


def test_a_trial_that_the_judge_left_open_is_at_its_worst_and_at_its_best(tmp_path: Path) -> None:
    rows = [*(judged_must_not(f"s{n}", n == 0) for n in range(9)), judged_must_not("open", None)]
    said = {f"s{n}": n == 0 for n in range(9)}
    verdict = checked(tmp_path, rows, labels_of(rows, said), thresholds={"pass_rate": "85%"})
    share = verdict.metrics["pass_rate"].corrected
    assert share is not None
    assert share.value == Fraction(8, 10)
    assert verdict.rules[0].best == Fraction(9, 10)
    assert verdict.rules[0].outcome == "inconclusive"
    assert "open" in verdict.rules[0].reason


def test_a_judged_trial_that_is_undecided_for_another_reason_is_at_its_worst_and_at_its_best(tmp_path: Path) -> None:
    rows = [judged_must_not(f"s{n}", n == 0, output="" if n > 7 else "text") for n in range(10)]
    said = {f"s{n}": n == 0 for n in range(8)}
    verdict = checked(tmp_path, rows, labels_of(rows, said), thresholds={"pass_rate": "80%"})
    assert verdict.metrics["pass_rate"].undecided == 2
    assert corrected(verdict)[0] == Fraction(7, 10)
    assert (verdict.rules[0].best, verdict.rules[0].outcome) == (Fraction(9, 10), "inconclusive")


def test_trials_of_one_scenario_that_were_judged_by_different_columns_are_not_corrected(tmp_path: Path) -> None:
    other = {"id": "s1", "trial": 2, "correct": True}
    rows = [judged_row("s1", True, trial=1), other, *(judged_row(f"t{n}", n > 2, trial=1) for n in range(9))]
    said = {row["id"]: row["behaviors"]["polite"] for row in rows if "judged" in row}
    verdict = checked(tmp_path, rows, labels_of([row for row in rows if "judged" in row], said))
    share = verdict.metrics["pass_rate"].corrected
    assert share is not None
    assert share.value is None
    assert "judged by different columns" in verdict.rules[0].reason
    assert verdict.verdict == "inconclusive"


# --- slices ----------------------------------------------------------------------------------


def test_a_rule_about_a_slice_uses_its_labels_and_stays_open_without_them(tmp_path: Path) -> None:
    rows = [judged_row(f"s{n}", True, category="edge_case" if n < 10 else "happy_path") for n in range(30)]
    rules = {"rules": [{"metric": "pass_rate", "where": {"category": "edge_case"}, "threshold": "60%"}]}
    said = {f"s{n}": n >= 5 for n in range(30)}
    verdict = checked(tmp_path, rows, labels_of(rows, said), **rules)
    (rule,) = [rule for rule in verdict.rules if rule.rule == "rules[0]"]
    assert rule.value is not None
    assert (rule.value.value, rule.outcome) == (Fraction(1, 2), "fail")
    elsewhere = {id_: good for id_, good in said.items() if int(id_[1:]) >= 10}
    verdict = checked(tmp_path, rows, labels_of(rows, elsewhere), **rules)
    (rule,) = [rule for rule in verdict.rules if rule.rule == "rules[0]"]
    assert rule.outcome == "inconclusive"
    assert rule.value is not None
    assert rule.value.value is None
    assert "people labeled none of the trials that the judge passed" in rule.reason


# --- labels of another run -------------------------------------------------------------------


def another_run(
    rows: Sequence[Mapping[str, Any]], said: Mapping[str, bool], on: date | None = TODAY
) -> list[dict[str, Any]]:
    """Labels of the same scenarios, of conversations that are not in these results."""
    others = [
        {**row, "judged": {**row["judged"], "conversation": digest("other", row["id"]), "digest": digest(row["id"])}}
        for row in rows
    ]
    return labels_of(others, said, run=digest("another"), on=on)


def test_labels_of_another_run_correct_by_sensitivity_and_specificity(tmp_path: Path) -> None:
    before = [judged_row(f"b{n}", n < 60) for n in range(100)]
    said = {f"b{n}": n < 54 or n >= 95 for n in range(100)}  # 54 of 60 passes are right, and 35 of 40 failures
    sens, spec = Fraction(54, 59), Fraction(35, 41)
    now = [judged_row(f"s{n}", n < 75) for n in range(100)]
    verdict = checked(tmp_path, now, another_run(before, said))
    assert verdict.judge is not None
    assert verdict.judge.labels is not None
    assert verdict.judge.labels.source == "another run"
    value, low, high = corrected(verdict)
    assert float(value) == pytest.approx(float((Fraction(75, 100) + spec - 1) / (sens + spec - 1)), abs=1e-9)
    share = verdict.metrics["pass_rate"].corrected
    assert share is not None
    assert share.method == "rogan-gladen"
    raw = verdict.metrics["pass_rate"]
    assert low < value < high
    assert raw.low is not None
    assert raw.high is not None
    assert high - low > raw.high - raw.low


BEFORE = [judged_row(f"b{n}", n % 5 != 0) for n in range(60)]


def in_both_runs(
    folder: Path, here: Mapping[str, bool], before: Mapping[str, bool] | None = None, on: date | None = TODAY
) -> Verdict:
    """The verdict with labels of this run and of another one; the bar is far below either."""
    labels = [*labels_of(ROWS, here), *another_run(BEFORE, as_the_judge(BEFORE) if before is None else before, on)]
    return checked(folder, ROWS, labels, thresholds={"pass_rate": "30%"}, evidence="confident")


@pytest.mark.parametrize("few", [0, 19])
def test_labels_of_another_run_decide_no_rule_without_twenty_of_this_run(tmp_path: Path, few: int) -> None:
    verdict = in_both_runs(tmp_path, dict(list(as_the_judge(ROWS).items())[:few]))
    assert verdict.rules[0].outcome == "inconclusive"
    assert f"at least 20 labeled trials of this run agree with them, and there are {few}" in verdict.rules[0].reason
    assert corrected(verdict)[0] == Fraction(4, 5)
    estimate = checked(tmp_path, ROWS, another_run(BEFORE, as_the_judge(BEFORE)), thresholds={"pass_rate": "95%"})
    assert estimate.rules[0].outcome == "inconclusive"


def test_twenty_labels_of_this_run_that_agree_confirm_those_of_another_run(tmp_path: Path) -> None:
    here = dict(list(as_the_judge(ROWS).items())[:20])
    verdict = in_both_runs(tmp_path, here)
    assert verdict.judge is not None
    assert verdict.judge.labels is not None
    assert (verdict.judge.labels.source, verdict.rules[0].outcome) == ("mixed", "pass")
    share = verdict.metrics["pass_rate"].corrected
    assert share is not None
    assert (share.method, share.reason) == ("rogan-gladen", None)
    alone = corrected(checked(tmp_path, ROWS, labels_of(ROWS, here)))
    assert corrected(verdict)[1] <= alone[1], "the interval covers that of the labels of this run alone"
    assert corrected(verdict)[2] >= alone[2]


def test_labels_of_this_run_that_contradict_those_of_another_run_leave_a_rule_open(tmp_path: Path) -> None:
    here = {**dict(list(as_the_judge(ROWS).items())[:20]), **{f"s{n}": False for n in range(1, 12)}}
    verdict = in_both_runs(tmp_path, here)
    assert verdict.rules[0].outcome == "inconclusive"
    assert "the labels of this run contradict those of another run" in verdict.rules[0].reason


@pytest.mark.parametrize(
    ("on", "counts"),
    [
        (0, True),
        (-30, True),
        (-31, False),
        (3, False),
        (date.min, False),
        (date.max, False),
        (None, False),
    ],
)
def test_labels_of_another_run_expire_thirty_days_after_their_day(
    tmp_path: Path, on: date | int | None, counts: bool
) -> None:
    if isinstance(on, int):  # days from today, which is asked here: midnight may have come since this was imported
        on = datetime.now(UTC).date() + timedelta(days=on)
    verdict = checked(tmp_path, ROWS, another_run(BEFORE, as_the_judge(BEFORE), on), judge={"min_labels": 10})
    assert verdict.judge is not None
    assert verdict.judge.labels is not None
    assert verdict.judge.calibrated is counts
    assert (verdict.judge.labels.trials, verdict.judge.labels.expired) == ((60, 0) if counts else (0, 60))
    (rule,) = [rule for rule in verdict.rules if rule.rule == "judge.min_labels"]
    assert rule.outcome == ("pass" if counts else "inconclusive")
    assert any("labels expire 30 days after their day" in note for note in verdict.warnings) is not counts
    if not counts:
        assert "label this run" in verdict.rules[0].reason


def test_labels_of_this_run_never_expire(tmp_path: Path) -> None:
    for on in (None, TODAY - timedelta(days=400)):
        assert corrected(checked(tmp_path, ROWS, labels_of(ROWS, as_the_judge(EVERY_SECOND), on=on)))[0] == Fraction(
            4, 5
        )


def test_the_day_of_the_check_decides_what_has_expired(tmp_path: Path) -> None:
    results = write_lines(tmp_path / "results.jsonl", ROWS)
    labels = another_run(BEFORE, as_the_judge(BEFORE), date(2026, 1, 1))
    judge = {"labels": str(write_lines(tmp_path / "labels.jsonl", labels))}
    for today, expected in ((date(2026, 1, 31), True), (date(2026, 2, 1), False)):
        verdict = highbar.check(str(results), {**POLICY, "judge": judge}, today=today)
        assert verdict.judge is not None
        assert verdict.judge.calibrated is expected


def test_labels_of_another_model_count_for_nothing(tmp_path: Path) -> None:
    before = [judged_row(f"b{n}", n % 5 != 0, judge="judge-2 #0123456789ab") for n in range(60)]
    verdict = checked(tmp_path, ROWS, another_run(before, as_the_judge(before)))
    assert verdict.rules[0].outcome == "inconclusive"
    assert "has labels of another judge" in verdict.rules[0].reason


def test_a_judge_that_does_not_tell_one_from_the_other_corrects_nothing(tmp_path: Path) -> None:
    before = [judged_row(f"b{n}", n % 2 == 0) for n in range(40)]
    said = {f"b{n}": n % 4 < 2 for n in range(40)}
    verdict = checked(tmp_path, ROWS, another_run(before, said))
    assert verdict.verdict == "inconclusive"
    assert "does not clearly tell one outcome from the other" in verdict.rules[0].reason


def test_labels_of_which_some_are_of_other_conversations_are_no_sample_of_this_run(tmp_path: Path) -> None:
    said = as_the_judge(ROWS)
    labels = labels_of(ROWS, dict(list(said.items())[:30]))
    verdict = checked(tmp_path, ROWS, [*labels, *another_run(ROWS, dict(list(said.items())[30:]))])
    assert verdict.judge is not None
    assert verdict.judge.labels is not None
    assert verdict.judge.labels.source == "mixed"
    share = verdict.metrics["pass_rate"].corrected
    assert share is not None
    assert share.method == "rogan-gladen"


def test_labels_that_were_drawn_from_fewer_trials_are_no_sample_of_these(tmp_path: Path) -> None:
    labels = labels_of(ROWS[:40], as_the_judge(ROWS[:40]))
    verdict = checked(tmp_path, ROWS, labels)
    assert verdict.judge is not None
    assert verdict.judge.labels is not None
    assert verdict.judge.labels.source == "another run"


def test_labels_of_one_stratum_of_another_run_say_nothing_about_the_other(tmp_path: Path) -> None:
    passed = [row for row in ROWS if row["behaviors"]["polite"]]
    verdict = checked(tmp_path, ROWS, another_run(passed, as_the_judge(passed)))
    assert verdict.judge is not None
    assert (verdict.judge.sensitivity, verdict.judge.specificity) == (None, None)
    assert verdict.verdict == "inconclusive"


# --- which rules -----------------------------------------------------------------------------


def test_rules_that_are_not_corrected_are_named_once(tmp_path: Path) -> None:
    verdict = checked(
        tmp_path,
        ROWS,
        labels_of(ROWS, as_the_judge(EVERY_SECOND)),
        thresholds={"pass_rate": "100%", "behavior_coverage": "50%", "error_rate": "<= 5%"},
        composite={"formula": "pass_rate", "pass": "final_score >= 0.5"},
    )
    raw = [note for note in verdict.warnings if note.startswith("not corrected")]
    assert raw == [
        (
            "not corrected for the errors of the judge, but judged as it judged: thresholds.blocking.pass_rate,"
            " composite.pass"
        )
    ]
    assert any("add judge.min_specificity" in note for note in verdict.warnings)
    assert [rule.metric for rule in verdict.rules if rule.raw is not None] == ["behavior_coverage"]


def test_with_confidence_the_corrected_interval_counts(tmp_path: Path) -> None:
    said = as_the_judge(EVERY_SECOND)
    demands = {"thresholds": {"pass_rate": {"threshold": "69%", "evidence": "confident"}}}
    verdict = checked(tmp_path, ROWS, labels_of(ROWS, said), **demands)
    rule, value = verdict.rules[0], corrected(verdict)
    assert isinstance(rule.value, Value)
    assert (rule.value.low, rule.value.high) == value[1:]
    assert rule.outcome == ("pass" if value[1] >= 0.69 else "inconclusive")
    raw = checked(tmp_path, ROWS, labels_of(ROWS, said), judge={"correct": False}, **demands)
    assert raw.rules[0].outcome == "pass"
    assert rule.outcome == "inconclusive"
