"""What a verdict says about the judge that its results rest on, in every report and after a way through a file."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import highbar
from highbar.model import Verdict
from highbar.report import PAGE, REPORTERS
from tests.commandline import check, judged
from tests.judged_results import JUDGE, judged_must_not, judged_row, labels_of, write_lines

BAR: dict[str, Any] = {"thresholds": {"pass_rate": "50%"}}
ROWS = [judged_row(f"s{n}", n % 5 != 0) for n in range(40)]
SAID = {f"s{n}": n % 5 != 0 for n in range(40)}


def verdict_of(folder: Path, rows: Sequence[Mapping[str, Any]], **judge: Any) -> Verdict:
    results = write_lines(folder / "results.jsonl", rows)
    return highbar.check(str(results), {**BAR, "judge": judge} if judge else BAR)


def with_labels(folder: Path, labels: Sequence[Mapping[str, Any]], **judge: Any) -> Verdict:
    return verdict_of(folder, ROWS, labels=str(write_lines(folder / "labels.jsonl", labels)), **judge)


def test_without_a_policy_about_it_the_judge_is_said_to_be_not_calibrated(tmp_path: Path) -> None:
    report = verdict_of(tmp_path, [*ROWS, judged_must_not("open", None)]).judge
    assert report is not None
    assert (report.by, report.trials, report.statements, report.undecided) == ((JUDGE,), 41, 41, 1)
    assert (report.calibrated, report.labels) == (False, None)


def test_results_without_a_judge_say_nothing_about_one(tmp_path: Path) -> None:
    assert verdict_of(tmp_path, [{"id": "a", "passed": True}]).judge is None
    verdict = verdict_of(
        tmp_path, [{"id": "a", "passed": True}], min_labels=50, correct=True, uncalibrated="inconclusive"
    )
    assert (verdict.judge, verdict.verdict) == (None, "pass")
    assert {rule.reason for rule in verdict.rules[1:]} == {"no trial rests on a judge"}


def test_a_column_of_that_name_that_is_somebody_elses_is_left_alone(tmp_path: Path) -> None:
    rows = [{"id": "a", "passed": True, "judged": "yes"}, {"id": "b", "passed": True, "judged": "no"}]
    assert verdict_of(tmp_path, rows).judge is None


def test_labels_show_how_often_the_judge_is_right(tmp_path: Path) -> None:
    wrong = {**SAID, "s0": True, "s1": False}
    report = with_labels(tmp_path, [*labels_of(ROWS, wrong), *labels_of(ROWS, wrong, by="bob")]).judge
    assert report is not None
    assert report.labels is not None
    assert (report.labels.trials, report.labels.people, report.labels.source) == (40, 2, "same run")
    assert report.sensitivity is not None
    assert report.specificity is not None
    assert float(report.sensitivity.value) == pytest.approx(31 / 32)
    assert float(report.specificity.value) == pytest.approx(7 / 8)
    assert report.specificity.low < 7 / 8 < report.specificity.high


def test_rates_allow_for_how_labels_were_drawn(tmp_path: Path) -> None:
    """Half of the labels are of failures, of which there are few: plain counts would show a better specificity."""
    rows = [judged_row(f"s{n}", n >= 20) for n in range(200)]
    drawn = {f"s{n}": n >= 20 for n in range(40)}
    drawn["s39"] = False  # one of twenty passes is a failure that was missed: nine of all of them
    path = write_lines(tmp_path / "labels.jsonl", labels_of(rows, drawn))
    report = verdict_of(tmp_path, rows, labels=str(path)).judge
    assert report is not None
    assert report.specificity is not None
    assert float(report.specificity.value) == pytest.approx(20 / (20 + 9))


def test_the_same_question_asked_twice_shows_whether_the_judge_agrees_with_itself(tmp_path: Path) -> None:
    rows = [judged_row("a", n != 2, trial=n) for n in range(1, 5)]
    for row in rows:
        row["judged"] |= {"digest": rows[0]["judged"]["digest"]}
    found = verdict_of(tmp_path, rows).judge
    assert found is not None
    assert found.self_consistency is not None
    assert (found.self_consistency.same, found.self_consistency.of) == (3, 6)
    for row in rows[1:]:
        row["judged"]["replayed"] = True
    found = verdict_of(tmp_path, rows).judge
    assert found is not None
    assert (found.self_consistency, found.replayed) == (None, 3)


def test_trials_of_several_judges_are_calibrated_by_no_labels(tmp_path: Path) -> None:
    rows = [*ROWS, judged_row("other", True, judge="judge-2 #0123456789ab")]
    path = write_lines(tmp_path / "labels.jsonl", labels_of(ROWS, SAID))
    report = verdict_of(tmp_path, rows, labels=str(path)).judge
    assert report is not None
    assert not report.calibrated
    assert "rest on 2 judges" in (report.why or "")


def test_people_who_disagree_or_cannot_tell_label_nothing(tmp_path: Path) -> None:
    unsure = dict.fromkeys(SAID)
    report = with_labels(tmp_path, labels_of(ROWS, unsure)).judge
    assert report is not None
    assert not report.calibrated
    report = with_labels(
        tmp_path, [*labels_of(ROWS, SAID), *labels_of(ROWS, {id_: not said for id_, said in SAID.items()}, by="bob")]
    ).judge
    assert report is not None
    assert not report.calibrated


def test_what_people_cannot_tell_counts_as_a_failure(tmp_path: Path) -> None:
    hard = {id_ for id_, said in SAID.items() if not said}
    full = with_labels(tmp_path, labels_of(ROWS, SAID)).judge
    left_out = with_labels(tmp_path, labels_of(ROWS, {id_: None if id_ in hard else True for id_ in SAID})).judge
    assert full is not None
    assert left_out is not None
    assert left_out.specificity == full.specificity
    assert left_out.labels is not None
    assert full.labels is not None
    assert left_out.labels.trials == full.labels.trials - len(hard)


@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_table_has_what_was_judged_as_text(tmp_path: Path, form: str) -> None:
    cells = [
        {**row, **{name: json.dumps(row[name]) for name in ("judged", "behaviors", "expected_behaviors")}}
        for row in ROWS
    ]
    if form == "csv":
        stream = io.StringIO()
        writer = csv.DictWriter(stream, list(cells[0]))
        writer.writeheader()
        writer.writerows(cells)
        content = stream.getvalue().encode()
    else:
        content = json.dumps(ROWS).encode()
    write_lines(tmp_path / "labels.jsonl", labels_of(ROWS, SAID))
    policy = {**BAR, "judge": {"labels": "labels.jsonl", "correct": True}}
    done = check(tmp_path, content, policy, name=f"results.{form}")
    assert judged(done, "pass")["judge"]["labels"]["source"] == "same run"
    assert done.json["metrics"]["pass_rate"]["corrected"]["value"] == 0.8


def test_rows_that_cannot_be_read_again_leave_every_rule_open() -> None:
    pandas = pytest.importorskip("pandas")
    rows = [{**row, "judged": json.dumps(row["judged"])} for row in ROWS]
    verdict = highbar.check(pandas.DataFrame(rows), {**BAR, "judge": {"correct": True, "min_labels": 1}})
    assert {rule.rule: rule.outcome for rule in verdict.rules} == {
        "thresholds.blocking.pass_rate": "inconclusive",
        "judge.min_labels": "inconclusive",
        "judge.uncalibrated": "inconclusive",
    }
    assert all("out of reach" in rule.reason for rule in verdict.rules)


# --- reports ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(REPORTERS) - {"json"}))
def test_every_report_says_who_judged_and_shows_both_values(tmp_path: Path, name: str) -> None:
    verdict = with_labels(tmp_path, labels_of(ROWS, {**SAID, "s1": False, "s2": False}), correct=True)
    text = REPORTERS[name](verdict, PAGE)
    assert JUDGE in text
    value = verdict.metrics["pass_rate"].corrected
    assert value is not None
    assert value.value is not None
    if name == "junit":
        assert f"{float(value.value):.12g}"[:8] in text
        assert "0.8" in text
    elif name != "text":  # which shows what is not met
        assert f"{float(value.value):.1%}" in text
        assert "80.0%" in text


def test_the_short_report_shows_the_value_of_the_judge_beside_the_corrected_one(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "labels.jsonl", labels_of(ROWS, dict.fromkeys(SAID, False)))
    verdict = verdict_of(tmp_path, ROWS, labels=str(path), correct=True)
    text = " ".join(str(verdict).split())
    assert re.search(r"0% \(0–[0-9.]+\), 80.0% \([0-9.]+–[0-9.]+\) as judged", text)
    assert f"judged by {JUDGE}: 40 trials, 40 statements; calibrated with 40 labeled trials" in text


@pytest.mark.parametrize("correct", [True, False])
def test_a_saved_verdict_is_read_back_to_the_same_bytes(tmp_path: Path, *, correct: bool) -> None:
    verdict = with_labels(tmp_path, labels_of(ROWS, {**SAID, "s1": False}), correct=correct, min_specificity="50%")
    verdict.save(tmp_path / "verdict.json")
    again = highbar.read_verdict(tmp_path / "verdict.json")
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "verdict.json").read_bytes()
    assert again.judge == verdict.judge
    for name in set(REPORTERS) - {"json"}:
        if name != "html":
            assert REPORTERS[name](again, PAGE) == REPORTERS[name](verdict, PAGE), name
