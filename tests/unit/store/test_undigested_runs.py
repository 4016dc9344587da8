"""Runs whose results have no digest (frames, paths that Spark reads): none of them may be taken for another one."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from highbar import history, pipeline
from highbar.bar import run_records
from highbar.load.checkout import Checkout
from highbar.model import Source
from highbar.model.job import Job, Wants
from highbar.store import history as store
from highbar.store import verdict as verdicts
from highbar.store.writing import encode
from tests.commandline import run
from tests.history_runs import new_run

POLICY = {"thresholds": {"pass_rate": "80%"}}
UNKNOWN = {
    "a frame": [],
    "a path of Spark": [{"file": "s3://results", "sha256": None}],
    "one of two": [{"file": "x", "sha256": "1" * 64}, {"file": "y", "sha256": None}],
}


def verdict_without_digests(path, results):
    document = json.loads(new_run(2).document)
    document["results"] = results
    path.write_text(json.dumps(document))


@pytest.mark.process  # git is asked which commit it is
@pytest.mark.parametrize("results", UNKNOWN.values(), ids=UNKNOWN)
def test_equal_outcomes_do_not_make_two_runs_one(tmp_path, results):
    for name in ("a.json", "b.json"):
        verdict_without_digests(tmp_path / name, results)
    done = run(tmp_path, "history", "add", "a.json", "b.json")
    assert (done.exit, done.out.count("added to the history")) == (0, 2)
    found = history.read_history(tmp_path / "history")
    assert len(found.runs) == 2
    assert all(store.read(path) for path in store.paths(str(tmp_path / "history"), found.runs))


def test_a_record_of_an_earlier_version_keeps_its_name(tmp_path):
    """Its name was made without the time at which it was added."""
    verdict_without_digests(tmp_path / "a.json", [])
    new = run_records.new_run_of_verdict(verdicts.read_verdict(tmp_path / "a.json"), ORIGIN)
    old = replace(new, run=replace(new.run, record=store.identity(json.loads(new.document))))
    assert new.run.record != old.run.record
    assert store.read(store.Path(store.write(tmp_path, old).file)).document == new.document


ORIGIN = run_records.Origin(Checkout("c" * 40), datetime(2026, 11, 17, tzinfo=UTC))


def checked(folder, ids, hour=0):
    """The record of a check of these scenarios, which all passed, by an engine that reads paths itself."""
    file = folder / "results.jsonl"
    file.write_text("".join(json.dumps({"id": id_, "passed": True}) + "\n" for id_ in ids))
    job = Job((str(file),), policy=POLICY, wants=Wants(run=True))
    done = pipeline.check_result(job)
    undigested = replace(done, verdict=replace(done.verdict, results=(Source("s3://results", None),)))
    return run_records.new_run(job, undigested, replace(ORIGIN, now=ORIGIN.now.replace(hour=hour)))


def test_every_check_is_recorded_and_the_same_results_are_pooled_once(tmp_path):
    nights = [checked(tmp_path, ["A0", "A1"]), checked(tmp_path, ["B0", "B1"], 1), checked(tmp_path, ["A0", "A1"], 2)]
    assert [store.write(tmp_path / "history", night).is_new for night in nights] == [True] * 3
    pooled = history.read_history(tmp_path / "history").scenarios()
    assert {(one.id, one.trials) for one in pooled.scenarios} == {("A0", 1), ("A1", 1), ("B0", 1), ("B1", 1)}


def test_equal_results_of_another_commit_are_another_run(tmp_path):
    first, second = (checked(tmp_path, ["A0"]) for _ in range(2))
    other = replace(ORIGIN, checkout=Checkout("d" * 40))
    assert first.run.results == second.run.results
    job = Job((str(tmp_path / "results.jsonl"),), policy=POLICY, wants=Wants(run=True))
    done = pipeline.check_result(job)
    undigested = replace(done, verdict=replace(done.verdict, results=()))
    assert run_records.new_run(job, undigested, other).run.results != first.run.results
    assert encode(verdicts.write(done.verdict)) == run_records.new_run(job, done, other).document
    assert run_records.new_run(job, done, other).run.results == (done.verdict.results[0].sha256,)
