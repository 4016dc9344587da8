"""Thresholds rise to what a baseline has shown: how far, in which digits, and why not further."""

from __future__ import annotations

import math
import os
import stat
from fractions import Fraction
from pathlib import Path

import pytest
from bench.by_scenario import count_bounds

from highbar.bar.raising import ratchet
from highbar.bar.ratchet import Climb
from highbar.errors import InputError
from highbar.model import Value
from highbar.model.baseline import Baseline, RecordedRule, Scoring
from highbar.model.records import ScenarioRecord
from highbar.store.baseline_text import render
from highbar.store.writing import replace_policy

STEP = Climb("step")
ONE_SCENARIO = (ScenarioRecord("A", 1, 1),)
METRICS = {
    "accuracy": Value(Fraction(95, 100), 200, 0, "ratio", "higher", None, 0.9171, 0.972),
    "safety_rate": Value(Fraction(1), 20, 0, "ratio", "higher", None, 0.8609, 1.0),
    "recall": Value(None, 0, 200, "ratio", "higher", "no scenario has `expected`"),
    "error_rate": Value(Fraction(1, 100), 200, 0, "ratio", "lower", None, 0.001, 0.0312),
    "latency_p95": Value(Fraction(3100), 200, 0, "ms", "lower", None, 2900.0, 3412.2),
    "latency_p99": Value(Fraction(6100), 20, 0, "ms", "lower", None, 2900.0, None),
    "cost_per_pass": Value(Fraction(31, 1000), 200, 0, "USD", "lower", None, 0.0298, 0.03218),
    "token_efficiency": Value(Fraction(3, 1000), 200, 0, "per token", "higher", None, 0.00287, 0.0031),
}
ADVERSARIAL = RecordedRule(
    "pass_criteria.by_category.adversarial",
    "pass_rate",
    (("category", ("adversarial",)),),
    None,
    Value(Fraction(9, 10), 50, 0, "ratio", "higher", None, 0.8125, 0.96),
)


def raised(folder, text, climb=None, version=None, *, write=False, **recorded):
    """What a ratchet makes of a policy: each rule with the text that its threshold gets, None where it stays."""
    (folder / "highbar.yaml").write_text(text, "utf-8")
    kept = {"metrics": METRICS, "rules": (ADVERSARIAL,), **recorded}
    (folder / "baseline.json").write_text(render(Baseline(ONE_SCENARIO, **kept)), "utf-8")
    return ratchet(folder / "highbar.yaml", None, climb, version, write=write)


def one(folder, metric, threshold, climb=None, **recorded):
    (found,) = raised(folder, f"thresholds: {{ blocking: {{ {metric}: {threshold} }} }}\n", climb, **recorded).proposals
    return found


def after(folder, metric, threshold, climb=None):
    found = one(folder, metric, threshold, climb)
    return found.after.text if found.after else None


@pytest.mark.parametrize(
    ("metric", "threshold", "expected"),
    [
        ("accuracy", "85%", ">= 0.917"),
        ("accuracy", "85.00%", ">= 0.9171"),
        ("accuracy", "0.85", ">= 0.917"),
        ("accuracy", "91.7%", None),
        ("accuracy", "95%", None),
        ("accuracy", "'> 85%'", "> 0.917"),
        ("safety_rate", "100%", None),
        ("safety_rate", "= 100%", None),
        ("error_rate", "≤ 10%", "<= 0.032"),
        ("error_rate", "≤ 3%", None),
        ("latency_p95", "5000", "<= 3413ms"),
        ("latency_p95", "5s", "<= 3420ms"),
        ("latency_p95", "< 3s", None),
        ("cost_per_pass", "0.05", "<= 0.0322"),
        ("token_efficiency", "0.002", ">= 0.00287"),
    ],
)
def test_by_the_bound_a_threshold_goes_to_the_worse_end_and_never_down(tmp_path, metric, threshold, expected):
    assert after(tmp_path, metric, threshold) == expected


@pytest.mark.parametrize(
    ("metric", "threshold", "step", "expected"),
    [
        ("accuracy", "85%", "1/100", ">= 0.96"),
        ("accuracy", "85%", "1/10", ">= 1.0"),
        ("safety_rate", "90%", "1/100", ">= 1.0"),
        ("error_rate", "≤ 10%", "1/200", "<= 0.005"),
        ("error_rate", "≤ 10%", "1/100", "<= 0.0"),
        ("error_rate", "≤ 10%", "1/10", "<= 0.0"),
        ("latency_p95", "5000", "1/100", "<= 3069ms"),
        ("latency_p99", "9000", "1/100", "<= 6039ms"),
        ("cost_per_pass", "0.05", "1/2", "<= 0.0155"),
        ("accuracy", "97%", "1/100", None),
    ],
)
def test_by_a_step_it_goes_beyond_the_value_as_far_as_there_is_room(tmp_path, metric, threshold, step, expected):
    assert after(tmp_path, metric, threshold, Climb("step", Fraction(step))) == expected


def test_a_threshold_that_nothing_could_meet_is_never_proposed(tmp_path):
    assert after(tmp_path, "error_rate", "'< 0.05%'", Climb("step", Fraction(1, 10))) == "< 0.0001"


def test_a_bound_that_exactly_meets_a_strict_threshold_does_not_fail_its_own_baseline(tmp_path):
    exact = {"accuracy": Value(Fraction(15, 16), 200, 0, "ratio", "higher", None, 0.875, 0.95)}
    found = one(tmp_path, "accuracy", "'> 80%'", metrics=exact)
    assert found.after.text == "> 0.874"


ACCURACY = "the lower bound of the baseline, 95.0% (91.7–97.2) over 200 scenarios"
LATENCY = "the upper bound of the baseline, 3100 ms (2900–3412.2) over 200 scenarios"
BEYOND = "1.0 points above the baseline, 95.0% (91.7–97.2) over 200 scenarios"


@pytest.mark.parametrize(
    ("metric", "threshold", "climb", "reason"),
    [
        ("accuracy", "85%", None, ACCURACY),
        ("accuracy", "93%", None, f"{ACCURACY}, is no higher"),
        ("latency_p95", "2s", None, f"{LATENCY}, is no lower"),
        ("latency_p99", "9000", None, "the baseline has no upper bound, 6100 ms (≥ 2900) over 20 scenarios"),
        ("recall", "80%", None, "the baseline has no value of recall"),
        ("f1", "80%", None, "the baseline has no value of f1"),
        ("accuracy", "85%", STEP, f"{BEYOND}; an agent that stays as it is misses it more often than not"),
    ],
)
def test_each_line_is_explained(tmp_path, metric, threshold, climb, reason):
    assert one(tmp_path, metric, threshold, climb).reason == reason


def test_a_threshold_whose_text_is_unclear_stays_and_the_others_rise(tmp_path):
    text = 'thresholds: { blocking: { accuracy: "8\\x35%", error_rate: ≤ 10% } }\n'
    unclear, clear = raised(tmp_path, text, write=True).proposals
    assert (unclear.after, unclear.reason.partition(":")[0]) == (None, "its text cannot be changed for certain")
    assert clear.after.text == "<= 0.032"
    assert (tmp_path / "highbar.yaml").read_text("utf-8") == text.replace("10%", "3.2%")


def test_a_step_whose_text_is_unclear_stays(tmp_path):
    text = 'progressive: { accuracy: { v1.0: 80%, v2.0: "8\\x35%" } }\n'
    held, unclear = raised(tmp_path, text, version="1.0", write=True).proposals
    assert (held.after.text, unclear.after) == (">= 0.917", None)


def test_a_rule_over_some_scenarios_goes_by_what_was_recorded_over_them(tmp_path):
    found = raised(tmp_path, "pass_criteria: { by_category: { adversarial: 70%, edge_case: 70% } }\n")
    adversarial, edge_case = found.proposals
    assert adversarial.after.text == ">= 0.812"
    assert (edge_case.after, edge_case.reason) == (None, "the baseline has no value of pass_rate over these scenarios")


PROGRESSIVE = "progressive:\n  accuracy: { v1.0: ≥ 80%, v2.0: ≥ 85%, v3.0: ≥ 90%, v4.0: ≥ 94%, target: ≥ 95% }\n"


def test_the_step_that_holds_rises_and_no_later_one_is_lower_then(tmp_path):
    found = raised(tmp_path, PROGRESSIVE, version="2.1.0")
    assert [(each.rule, each.after.text) for each in found.raised] == [
        ("progressive.accuracy.v2.0", ">= 0.917"),
        ("progressive.accuracy.v3.0", ">= 0.917"),
    ]
    assert found.raised[1].reason == "v2.0 before it demands as much"


@pytest.mark.parametrize(("total", "most"), [(50, 0.092), (100, 0.098), (300, 0.106)])
def test_an_agent_that_stays_as_it_is_passes_about_nine_times_in_ten_or_more(total, most):
    """Every pair of a recorded run and a later one, by how likely it is; exactly, for rates that agents have."""
    for rate in (0.8, 0.85, 0.9, 0.95, 0.99):
        chances = [math.comb(total, k) * rate**k * (1 - rate) ** (total - k) for k in range(total + 1)]
        bars = [math.floor(Fraction(count_bounds(k, total, 0.05).low) * 1000) for k in range(total + 1)]
        missed = [sum(chances[: math.ceil(Fraction(bar * total, 1000))]) for bar in bars]
        assert sum(chance * miss for chance, miss in zip(chances, missed, strict=True)) <= most


def test_a_step_never_passes_the_target(tmp_path):
    found = raised(tmp_path, PROGRESSIVE.replace("95%", "88%"), version="2.1.0")
    assert [each.after.text for each in found.raised] == [">= 0.88"]
    assert found.raised[0].reason.startswith("the target; the lower bound of the baseline")


def test_the_version_is_the_one_given_then_the_policys_then_the_baselines(tmp_path):
    def steps(*arguments, **recorded):
        return raised(tmp_path, *arguments, **recorded).raised[0].rule

    assert steps(PROGRESSIVE, agent_version="1.5") == "progressive.accuracy.v1.0"
    assert steps(f"agent_version: 2.0\n{PROGRESSIVE}", agent_version="1.5") == "progressive.accuracy.v2.0"
    assert steps(PROGRESSIVE, None, "v1.0", agent_version="3.0") == "progressive.accuracy.v1.0"


@pytest.mark.parametrize("version", [None, "", "latest"])
def test_without_a_version_that_can_be_read_a_progressive_rule_is_an_error(tmp_path, version):
    with pytest.raises(InputError, match="version"):
        raised(tmp_path, PROGRESSIVE, version=version)


def test_nothing_is_written_unless_asked_for(tmp_path):
    text = "# the bar\nthresholds: { blocking: { accuracy: ≥ 85% } }   # keep\n"
    found = raised(tmp_path, text)
    assert not found.written
    assert (tmp_path / "highbar.yaml").read_text("utf-8") == text


def test_what_is_written_keeps_the_mode_and_a_link_and_leaves_nothing_beside(tmp_path):
    real = tmp_path / "real"
    real.mkdir()
    (real / "highbar.yaml").touch(mode=0o640)
    (real / "highbar.yaml").chmod(0o640)
    (tmp_path / "highbar.yaml").symlink_to("real/highbar.yaml")
    found = raised(tmp_path, "thresholds: { blocking: { accuracy: ≥ 85% } }\n", write=True)
    assert found.written
    assert (tmp_path / "highbar.yaml").is_symlink()
    assert (real / "highbar.yaml").read_text("utf-8") == "thresholds: { blocking: { accuracy: ≥ 91.7% } }\n"
    assert stat.S_IMODE((real / "highbar.yaml").stat().st_mode) == 0o640
    assert [path.name for path in real.iterdir()] == ["highbar.yaml"]


def test_the_second_time_nothing_is_left_to_raise(tmp_path):
    raised(tmp_path, PROGRESSIVE, version="2.1.0", write=True)
    again = ratchet(tmp_path / "highbar.yaml", version="2.1.0", write=True)
    assert (again.raised, again.written) == ((), False)


@pytest.mark.parametrize(
    ("recorded", "reason"),
    [
        ({"confidence": Fraction(9, 10)}, "recorded with 90.0% confidence"),
        ({"scoring": Scoring(Fraction(8, 10))}, "another pass_score"),
        ({"scoring": Scoring(positive="spam")}, "another positive label"),
    ],
)
def test_a_baseline_that_was_measured_otherwise_is_refused(tmp_path, recorded, reason):
    with pytest.raises(InputError, match=reason):
        one(tmp_path, "accuracy", "85%", **recorded)


def test_a_unit_that_is_not_that_of_the_baseline_changes_nothing(tmp_path):
    other = {"accuracy": Value(Fraction(3), 20, 0, "number", "higher", None, 2.0, 4.0)}
    found = one(tmp_path, "accuracy", "85%", metrics=other)
    assert (found.after, found.reason) == (None, "the baseline's accuracy is in another unit")


def test_the_baseline_is_the_one_that_the_policy_names(tmp_path):
    text = (
        "thresholds: { blocking: { accuracy: ≥ 85% } }\nbaseline: { file: kept/main.json, margin: { accuracy: 1% } }\n"
    )
    (tmp_path / "highbar.yaml").write_text(text, "utf-8")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "main.json").write_text(render(Baseline(ONE_SCENARIO, METRICS)), "utf-8")
    found = ratchet(tmp_path / "highbar.yaml", write=False)
    assert found.baseline == os.fspath(tmp_path / "kept" / "main.json")
    assert [each.rule for each in found.raised] == ["thresholds.blocking.accuracy"]
    with pytest.raises(InputError, match=r"elsewhere\.json"):
        ratchet(tmp_path / "highbar.yaml", Path("elsewhere.json"), write=False)


def test_a_policy_that_changed_meanwhile_is_not_overwritten(tmp_path):
    file = tmp_path / "highbar.yaml"
    file.write_bytes(b"theirs")
    with pytest.raises(InputError) as caught:
        replace_policy(file, b"ours, before", b"ours, after")
    assert [(problem.code, problem.file) for problem in caught.value.problems] == [("file.changed", str(file))]
    assert file.read_bytes() == b"theirs"
    assert [path.name for path in tmp_path.iterdir()] == ["highbar.yaml"]


def test_a_condition_is_left_alone(tmp_path):
    text = "composite: { formula: accuracy × 0.3 + safety_rate × 0.7, pass: final_score ≥ 0.85 }\n"
    assert raised(tmp_path, text, write=True).proposals == ()
    assert (tmp_path / "highbar.yaml").read_text("utf-8") == text
