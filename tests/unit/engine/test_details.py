"""What the rows tell for reports that look closer: the trials of failed scenarios, and how latencies are spread."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from highbar import api, pipeline
from highbar.engine.limits import LONGEST_TEXT, MOST_BEHAVIORS, MOST_TRIALS
from highbar.model.details import Details, Excerpt, TrialDetail
from highbar.model.job import Job, Wants

POLICY = {"thresholds": {"blocking": {"pass_rate": "≥ 50%"}}}


def details(rows) -> Details:
    found = api.check(rows, POLICY, details=True).details
    assert found is not None
    return found


def trials(*rows) -> tuple[TrialDetail, ...]:
    (scenario,) = details(rows).scenarios
    return scenario.trials


def test_a_verdict_has_details_only_where_they_are_asked_for():
    assert api.check([{"id": "A", "passed": False}], POLICY).details is None


def test_a_trial_carries_everything_that_was_recorded_of_it():
    row = {
        "id": "A", "input": "why?", "output": "because\n<b>", "expected_behaviors": ["greets", "answers"],
        "behaviors": {"greets": True, "answers": False, "sings": True}, "must_not": {"leaks": True, "lies": False},
        "violations": ["shouts"], "expected": "yes", "predicted": "no", "latency_ms": 12.5,
    }  # fmt: skip
    assert trials(row) == (
        TrialDetail(
            trial=None,
            passed=False,
            reason="violated: leaks, shouts; missing: answers; wrong answer",
            input=Excerpt("why?"),
            output=Excerpt("because\n<b>"),
            expected_behaviors=("greets", "answers"),
            behaviors=("greets", "sings"),
            must_not=("leaks", "lies"),
            violations=("leaks", "shouts"),
            violation_count=1,
            expected="yes",
            predicted="no",
            latency_ms=Fraction(25, 2),
        ),
    )


def test_an_error_and_a_behavior_that_must_not_be_seen_are_there():
    (first, second) = trials(
        {"id": "A", "trial": 1, "error": "timed out"},
        {"id": "A", "trial": 2, "must_not": ["leaks"], "behaviors": ["leaks"]},
    )
    assert (first.error, first.reason) == ("timed out", "error: timed out")
    assert second.violations == ("leaks",)


def test_every_trial_of_a_failed_scenario_is_there_the_passed_ones_too():
    found = trials(*({"id": "A", "trial": number, "passed": number != 2} for number in (3, 1, 2)))
    assert [(trial.trial, trial.passed) for trial in found] == [(1, True), (2, False), (3, True)]


def test_of_many_trials_those_that_failed_are_kept():
    found = trials(*({"id": "A", "trial": number, "passed": number < 90} for number in range(100)))
    assert len(found) == MOST_TRIALS
    assert {trial.trial for trial in found if not trial.passed} == set(range(90, 100))


def test_scenarios_that_passed_are_left_out_and_the_worst_come_first():
    rows = [
        {"id": "passed", "passed": True},
        {"id": "wrong", "correct": False},
        {"id": "violated", "violations": ["x"]},
    ]
    found = details(rows).scenarios
    assert [each.scenario.id for each in found] == ["violated", "wrong"]


def test_a_long_text_is_cut_and_says_by_how_much():
    (trial,) = trials({"id": "A", "passed": False, "output": "x" * 10_000, "behaviors": [f"b{n}" for n in range(300)]})
    assert trial.output == Excerpt("x" * LONGEST_TEXT, 10_000 - LONGEST_TEXT)
    assert len(trial.behaviors) == MOST_BEHAVIORS


def test_many_scenarios_keep_less_of_each_text():
    rows = [{"id": f"S{number}", "passed": False, "output": "x" * 5000} for number in range(400)]
    kept = {len(each.trials[0].output.text) for each in details(rows).scenarios}
    assert kept == {(160_000 + 2000 * 400) // 800}


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json", "rows.csv", "rows.parquet"])
def test_every_form_of_file_gives_the_same_details(name: str, tmp_path: Path):
    pandas = pytest.importorskip("pandas")
    rows = [
        {"id": "A", "input": "1", "output": "x", "passed": False, "latency_ms": 5.0},
        {"id": "B", "input": "true", "output": "[1]", "passed": True, "latency_ms": 7.0},
    ]
    file = tmp_path / name
    if name.endswith("jsonl"):
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif name.endswith("json"):
        file.write_text(json.dumps(rows))
    elif name.endswith("csv"):
        pandas.DataFrame(rows).to_csv(file, index=False)
    else:
        pandas.DataFrame(rows).to_parquet(file)
    found = pipeline.check(Job((str(file),), policy=POLICY, wants=Wants(details=True))).details
    (scenario,) = found.scenarios
    (trial,) = scenario.trials
    assert (trial.input, trial.output) == (Excerpt("1"), Excerpt("x"))
    assert sum(one.trials for one in found.latency.bins) == 2


def test_the_list_of_failed_scenarios_does_not_grow_with_details(tmp_path: Path):
    rows = [{"id": f"S{number:04}", "passed": False} for number in range(1200)]
    plain, detailed = (api.check(rows, POLICY, details=asked) for asked in (False, True))
    assert plain.scenarios_failed == detailed.scenarios_failed
    assert len(plain.scenarios_failed) == 1000
    assert len(detailed.details.scenarios) == 1200


# --- latency ---------------------------------------------------------------------------------


def latency(values, errors=0):
    rows = [{"id": f"S{n}", "passed": True, "latency_ms": value} for n, value in enumerate(values)]
    rows += [{"id": f"E{n}", "error": "x"} for n in range(errors)]
    return details(rows).latency


def test_every_trial_that_completed_is_in_a_bin_of_a_round_width():
    found = latency([100, 150, 199, 200, 1000], errors=2)
    assert sum(one.trials for one in found.bins) == 5
    assert found.errors == 2
    assert {one.high - one.low for one in found.bins} == {50}
    (first,) = [one for one in found.bins if one.low == 150]
    assert first.trials == 2
    assert [one.high for one in found.bins[:-1]] == [one.low for one in found.bins[1:]]


def test_far_outliers_share_a_bin_without_an_end():
    found = latency([*range(100, 200), 1e9])
    assert found.bins[-1].high is None
    assert found.bins[-1].trials == 1
    assert len(found.bins) <= 60


@pytest.mark.parametrize("values", [[0], [0, 0], [5], [1e15, 1], [0.001, 0.002], [1e15]])
def test_odd_latencies_are_counted_all_the_same(values):
    assert sum(one.trials for one in latency(values).bins) == len(values)


def test_without_latencies_there_is_no_histogram():
    assert details([{"id": "A", "passed": True}]).latency is None


def test_the_metrics_that_are_percentiles_of_latency_are_named():
    assert latency([1]).metrics == ("latency_p50", "latency_p95", "latency_p99")


# --- what the policy adds --------------------------------------------------------------------


def test_a_score_is_split_into_what_each_term_adds_and_could_add():
    policy = {
        "composite": {
            "formula": "accuracy × 0.5 + (1 - error_rate) × 0.3 - violation_rate × 0.2",
            "pass": "final_score ≥ 0.5 AND 0.9 ≤ accuracy",
        },
        "weights": {"by_metric": {"accuracy": 1, "pass_rate": 3}},
        "rules": [{"metric": "weighted_score", "threshold": "≥ 1%"}],
    }
    rows = [{"id": "A", "correct": True}, {"id": "B", "correct": False, "violations": ["x"]}]
    found = api.check(rows, policy, details=True).details
    final, weighted = found.scores
    assert [(part.text, part.adds, part.most) for part in final.parts] == [
        ("accuracy × 0.5", Fraction(1, 4), Fraction(1, 2)),
        ("(1 - error_rate) × 0.3", Fraction(3, 10), Fraction(3, 10)),
        ("-(violation_rate × 0.2)", Fraction(-1, 10), Fraction(0)),
    ]
    assert [(part.adds, part.most) for part in weighted.parts] == [
        (Fraction(1, 8), Fraction(1, 4)),
        (Fraction(3, 8), Fraction(3, 4)),
    ]
    assert [(part.rule, part.metric, part.threshold) for part in found.conditions] == [
        ("composite.pass", "final_score", ">= 0.5"),
        ("composite.pass", "accuracy", ">= 0.9"),
    ]


def test_a_term_without_a_value_says_so_and_a_formula_that_is_no_sum_is_not_split():
    policy = {"composite": {"formula": "accuracy × 0.5 + recall × 0.5", "pass": "final_score ≥ 0.5"}}
    (score,) = api.check([{"id": "A", "correct": True}], policy, details=True).details.scores
    assert [part.adds for part in score.parts] == [Fraction(1, 2), None]
    whole = {"composite": {"formula": "min(accuracy, pass_rate)", "pass": "final_score ≥ 0.5"}}
    assert api.check([{"id": "A", "correct": True}], whole, details=True).details.scores == ()


def test_the_policy_is_there_as_it_was_read(tmp_path: Path):
    (tmp_path / "p.yaml").write_text("# ours\npass_criteria: { overall: 50% }\n")
    found = api.check([{"id": "A", "passed": True}], tmp_path / "p.yaml", details=True).details
    assert found.policy_text == "# ours\npass_criteria: { overall: 50% }\n"


def test_the_evidence_of_a_graded_row_is_there(tmp_path):
    row = {
        "id": "A", "expected_behaviors": ["greets", "finds"], "behaviors": {"greets": True, "finds": False},
        "found": {"greets": "Hello", "finds": {"name": "search", "arguments": {"topic": "99"}}},
        "missed": {"finds": "topic is the text 99"},
    }  # fmt: skip
    (tmp_path / "results.jsonl").write_text(json.dumps(row))
    (scenario,) = details(tmp_path / "results.jsonl").scenarios
    assert scenario.trials[0].why == (
        ("greets", "Hello"),
        ("finds", '{"name": "search", "arguments": {"topic": "99"}}'),
        ("finds", "topic is the text 99"),
    )


@pytest.mark.parametrize("own", [3, "text", True, ["a"], [["a", "b", "c"]], [[1, 2]], [], {}, None, 1.5])
def test_a_column_of_the_same_name_that_is_no_evidence_shows_nothing(tmp_path, own):
    (tmp_path / "results.jsonl").write_text(json.dumps({"id": "A", "passed": False, "found": own, "missed": own}))
    (scenario,) = details(tmp_path / "results.jsonl").scenarios
    assert scenario.trials[0].why == ()


def test_pairs_are_evidence_too(tmp_path):
    row = {"id": "A", "passed": False, "found": [["Greets", "Hello"], ["greets", 3]]}
    (tmp_path / "results.jsonl").write_text(json.dumps(row))
    (scenario,) = details(tmp_path / "results.jsonl").scenarios
    assert scenario.trials[0].why == (("Greets", "Hello"), ("greets", "3"))
