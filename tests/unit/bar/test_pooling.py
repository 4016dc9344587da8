"""Thresholds that are raised to what the runs of a history show together."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from msgspec.structs import replace

from highbar.bar.raising import ratchet
from highbar.errors import InputError
from highbar.statistics.bounds import Sums, share_bounds
from highbar.statistics.pooled import pooled_share
from tests.commandline import run
from tests.history_runs import add, counts, new_run

pytestmark = pytest.mark.process  # git says which commits are ancestors
POLICY = "thresholds: { blocking: { pass_rate: 50%, accuracy: 50% } }\n"
PASSED = (90, 80, 85, 70, 95)


def run_with(number, passed, **facts):
    return new_run(number, counts({f"S{n}": int((n * 37 + number) % 100 < passed) for n in range(100)}), **facts)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    (tmp_path / "highbar.yaml").write_text(POLICY)
    return tmp_path


def raised(folder):
    found = ratchet(folder / "highbar.yaml", write=False, history=str(folder / "history"))
    return found, {each.metric: each for each in found.proposals}


def test_the_pass_rate_goes_to_the_pooled_bound_less_the_noise_of_a_run(folder):
    runs = [run_with(number, passed) for number, passed in enumerate(PASSED)]
    add(folder / "history", *runs)
    passed = {f"S{n}": 0 for n in range(100)}
    for one in runs:
        for row in one.scenarios:
            passed[row.id] += row.passed
    _, bar, _ = pooled_share([(Fraction(number, 5), 1) for number in passed.values()], 0.05)
    found, by_metric = raised(folder)
    after = by_metric["pass_rate"].after.value
    assert 0 <= bar - after < Fraction(1, 1000)
    assert len(found.pooled.records) == 5
    assert "84.0% over 5 runs" in by_metric["pass_rate"].reason
    assert not any("luck" in note for note in found.notes)


def test_a_confident_bar_leaves_room_for_the_bound_of_a_run(folder):
    """At the other bar, an agent that stays as it is would be inconclusive in half of its runs."""
    add(folder / "history", *(run_with(number, 85) for number in range(5)))
    _, by_value = raised(folder)
    (folder / "highbar.yaml").write_text(f"evidence: confident\n{POLICY}")
    found, by_bound = raised(folder)
    bar = by_bound["pass_rate"].after.value
    assert bar < by_value["pass_rate"].after.value
    low = share_bounds(Sums.of([(1, 1)] * 78 + [(0, 1)] * 22), 0.05).low
    assert bar <= low < by_value["pass_rate"].after.value
    assert "less the noise of one run and the width of its bound" in by_bound["pass_rate"].reason
    assert not any("inconclusive" in note for note in found.notes)


def test_failed_runs_count_and_only_the_last_five(folder):
    add(folder / "history", run_with(0, 100), *(run_with(number + 1, 60, threshold=0.8) for number in range(5)))
    _, by_metric = raised(folder)
    assert "60.0% over 5 runs" in by_metric["pass_rate"].reason


def test_a_rate_that_the_counts_do_not_explain_is_pooled_from_the_bounds_of_the_runs(folder):
    new = run_with(1, 90)
    other = replace(new.run.metrics["pass_rate"], value=0.8125, low=0.75)
    add(folder / "history", replace(new, run=replace(new.run, metrics={"pass_rate": other})))
    _, by_metric = raised(folder)
    assert by_metric["pass_rate"].after.value == Fraction(687, 1000)


def test_a_metric_that_a_run_lacks_stays_with_the_reason(folder):
    add(folder / "history", run_with(1, 90))
    _, by_metric = raised(folder)
    assert by_metric["accuracy"].after is None
    assert by_metric["accuracy"].reason == "the runs have no value of accuracy"


def test_what_is_left_out_is_said(folder):
    add(folder / "history", run_with(1, 90, suite="x"), run_with(2, 90))
    (folder / "history" / f"{1:032x}.parquet").write_bytes(b"damaged")
    found, _ = raised(folder)
    assert found.pooled.left_out == (("with other scenarios", 1),)
    assert len(found.pooled.damaged) == 1


def test_a_history_without_runs_is_refused(folder):
    (folder / "history").mkdir()
    with pytest.raises(InputError) as empty:
        raised(folder)
    assert [problem.code for problem in empty.value.problems] == ["history.not-poolable"]
    with pytest.raises(InputError) as missing:
        ratchet(folder / "highbar.yaml", write=False, history="nowhere")
    assert [(problem.code, problem.file) for problem in missing.value.problems] == [("history.missing", "nowhere")]


def test_the_command_says_which_runs_were_pooled(folder):
    add(folder / "history", run_with(1, 90, suite="x"), run_with(2, 90))
    done = run(folder, "baseline", "ratchet", "--history", "history")
    assert "1 run pooled, failed ones included" in done.out
    assert "left out: 1 run with other scenarios" in done.out
    found = json.loads(run(folder, "baseline", "ratchet", "--history", "history", "--format", "json").out)
    assert found["baseline"] is None
    assert found["history"]["left_out"] == [{"reason": "with other scenarios", "runs": 1}]


@pytest.mark.parametrize("option", [["--baseline", "x.json"], ["--rule", "step"]])
def test_a_history_does_not_go_with_a_baseline_or_a_step(folder, option):
    done = run(folder, "baseline", "ratchet", "--history", "history", *option)
    assert (done.exit, done.codes) == (2, ["option.conflict"])
    assert "--history" in done.err
    assert option[0] in done.err


@pytest.mark.parametrize("judge", ["strict", "model: strict"])
def test_runs_that_were_scored_in_another_way_are_said_whoever_judged(folder, judge):
    rows = [json.dumps({"id": f"S{n}", "passed": True, "judge": judge}) for n in range(30)]
    (folder / "run.jsonl").write_text("\n".join(rows))
    assert run(folder, "history", "add", "run.jsonl").exit == 0
    words = "another way"
    assert words not in " ".join(raised(folder)[0].notes)
    (folder / "highbar.yaml").write_text(f"{POLICY}pass_score: 50%\n")
    assert words in " ".join(raised(folder)[0].notes)
