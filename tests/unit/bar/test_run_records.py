"""What the history remembers of a run that goes on after it was added."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction

from highbar import policy as policies
from highbar import read_history
from highbar.bar.run_records import scoring_digest
from highbar.model.baseline import Scoring
from highbar.running.order import permutation
from tests.commandline import run
from tests.recorded_runs import record

IDS = [f"S{number}" for number in range(60)]
POLICY = {"evidence": "sequential", "thresholds": {"pass_rate": "80%"}}


def added(folder, answers, **how):
    """A run of the suite, added to the history; one with the same seed is the same run, gone on."""
    scenarios = [{"id": id_, "input": "Is it?", "answer": {"contains": "yes"}} for id_ in IDS]
    (folder / "suite.json").write_text(json.dumps({"scenarios": scenarios}))
    (folder / "highbar.json").write_text(json.dumps(POLICY))
    shutil.rmtree(folder / "run", ignore_errors=True)
    record(folder / "run", folder / "suite.json", answers, **how)
    done = run(folder, "check", "run", "--history", "history")
    assert done.exit == 0, done.err


def test_trials_of_a_run_that_went_on_count_once(tmp_path):
    first = permutation(IDS, 1)[:40]
    added(tmp_path, lambda id_, _: "yes" if id_ in first else None, how="decided")
    added(tmp_path, lambda *_: "yes")
    found = read_history(tmp_path / "history")
    assert [one.listed for one in found.runs] == [40, 60]
    assert len({one.begun for one in found.runs}) == 1
    assert {(one.runs, one.trials) for one in found.scenarios().scenarios} == {(1, 1)}


def test_another_run_is_not_taken_for_it(tmp_path):
    added(tmp_path, lambda *_: "yes")
    added(tmp_path, lambda *_: "yes it is", seed=2)
    found = read_history(tmp_path / "history")
    assert len({one.begun for one in found.runs}) == 2
    assert {(one.runs, one.trials) for one in found.scenarios().scenarios} == {(2, 2)}


def test_the_digest_of_the_settings_is_that_of_earlier_versions():
    """It is in the records of every history: with another one, for equal settings, old runs would excuse nothing."""
    policy = policies.read_dict(
        {
            "pass_score": 0.8,
            "positive": "yes",
            "weights": {"by_metric": {"accuracy": 3}},
            "latency_limit": "10s",
            "cost_limit": 1,
            "select": {"suite": "nightly"},
            "map": {"columns": {"id": "name", "passed": {"path": "ok", "values": {"1": True, "0": False}}}},
            "thresholds": {"pass_rate": "90%"},
        }
    )
    judged_by = (("deepeval", ("Bias >= 1/2",)),)
    scoring = Scoring(Fraction(4, 5), "yes", (("suite", ("nightly",)),), judged_by)
    assert scoring_digest(policy, scoring) == "ab9ef9a517402fc19f970ffe48818c3cdc47e7836414724a0cb37e3fc1c5c13c"
