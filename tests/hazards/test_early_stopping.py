"""Ways to a pass by stopping early: an order that somebody chose, results that came first, scenarios left out."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from highbar.model import Source
from highbar.running import folder
from highbar.running.order import permutation
from highbar.running.records import Resumed, TrialEnded
from highbar.store import run_document
from tests.commandline import judged, refused, run
from tests.recorded_runs import record
from tests.repository import git

IDS = tuple(f"S{place:02}" for place in range(60))
ORDER = permutation(IDS, 1)
ACCURACY = "thresholds.blocking.accuracy"
POLICY: dict[str, Any] = {"evidence": "sequential", "suite": "suite.json", "thresholds": {"accuracy": "85%"}}
CHANGED = "the policy is not the one that this run was to be decided by"
UNANSWERED = TrialEnded("", 1, "", "infrastructure", reason="HTTP 503", attempts=5)

Says = Callable[[str, int], Any]


def good(_id: str, _trial: int) -> str:
    return "yes"


def only(ids: tuple[str, ...], says: Says = good) -> Says:
    """Answers of these scenarios; the others are not run."""
    return lambda id_, trial: says(id_, trial) if id_ in ids else None


def project(here: Path, policy: dict[str, Any] = POLICY, trials: int = 1, **columns: Any) -> Path:
    """A folder with a policy and a suite of 60 questions."""
    scenarios = [
        {"id": id_, "input": "Is it?", "trials": trials, "answer": {"contains": "yes"}, **columns} for id_ in IDS
    ]
    (here / "suite.json").write_text(json.dumps({"suite": "asked", "scenarios": scenarios}))
    (here / "highbar.json").write_text(json.dumps(policy))
    return here / "suite.json"


def ran(here: Path, says: Says = good, *, name: str = "run", how: Any = "budget", **more: Any) -> Path:
    return record(here / name, here / "suite.json", says, how=how, **more)


def check(here: Path, *names: str) -> Any:
    return run(here, "check", *(names or ("run",)), "--format", "json")


def test_a_part_of_the_suite_decides_and_the_rest_is_saved(tmp_path: Path) -> None:
    project(tmp_path)
    ran(tmp_path, only(ORDER[:40]))
    done = check(tmp_path)
    verdict = judged(done, "pass")
    rule = done.rule(ACCURACY)
    assert rule["stopping"]["method"] == "spending"
    assert rule["stopping"]["decided_at"] == rule["scenarios"] < 40
    assert rule["stopping"]["seen"] == 40
    counted = {key: verdict["sequential"][key] for key in ("planned", "ran", "saved", "problem")}
    assert counted == {"planned": 60, "ran": 40, "saved": 20, "problem": None}
    assert verdict["counts"] == {**verdict["counts"], "scenarios": 40, "trials": 40, "undecided": 0, "unjudged": 0}
    assert verdict["metrics"]["accuracy"]["scenarios"] == 40
    assert (verdict["second_run"], verdict["second_run_low"]) == (None, None)
    suite = done.rule("suite")
    assert (suite["outcome"], "20 scenarios of the plan were not run" in suite["reason"]) == ("pass", True)


def test_a_run_that_stopped_for_a_sequential_policy_shows_nothing_by_another_one(tmp_path: Path) -> None:
    project(tmp_path, {**POLICY, "evidence": "confident"})
    ran(tmp_path, only(ORDER[:40]))
    judged(check(tmp_path), "inconclusive")
    (tmp_path / "highbar.json").write_text(json.dumps({**POLICY, "evidence": "estimate"}))
    judged(check(tmp_path), "inconclusive")


@pytest.mark.parametrize("beyond", [20, 59])
def test_what_finished_behind_a_scenario_that_did_not_is_not_looked_at(tmp_path: Path, beyond: int) -> None:
    project(tmp_path)
    ran(tmp_path, only(ORDER[: beyond + 1], lambda id_, _: None if id_ == ORDER[3] else "yes"))
    done = check(tmp_path)
    judged(done, "inconclusive")
    assert done.rule(ACCURACY)["stopping"]["seen"] == 3


def test_an_agent_that_is_slow_when_it_fails_gains_nothing(tmp_path: Path) -> None:
    project(tmp_path)
    failing = set(ORDER[::4])
    ran(tmp_path, only(tuple(id_ for id_ in ORDER if id_ not in failing)))  # failures have not come back yet
    judged(check(tmp_path), "inconclusive")


def test_an_order_that_is_not_the_one_of_its_seed_is_refused(tmp_path: Path) -> None:
    project(tmp_path)
    ran(tmp_path, order=(*ORDER[1:], ORDER[0]))
    refused(check(tmp_path), "the order of the scenarios is not the one that the seed 1 gives")


def test_a_seed_that_run_json_does_not_have_is_refused(tmp_path: Path) -> None:
    project(tmp_path)
    ran(tmp_path)
    document = run_document.read_document(tmp_path / "run")
    run_document.save(replace(document, order=replace(document.order, seed=2)), tmp_path / "run")
    refused(check(tmp_path), "the order of the scenarios is not the one that the seed 1 gives")


def test_a_plan_without_some_scenarios_of_its_suite_is_refused(tmp_path: Path) -> None:
    project(tmp_path)
    left = tuple(id_ for id_ in ORDER if id_ not in ORDER[:5])
    record(tmp_path / "run", tmp_path / "suite.json", good, only=left)
    journal = folder.read_run(tmp_path / "run").plan
    # The same, as if nothing had been chosen.
    shutil.rmtree(tmp_path / "run")
    with folder.create(tmp_path / "run", replace(journal, chosen=type(journal.chosen)())) as opened:
        made = record(tmp_path / "other", tmp_path / "suite.json", good, only=left)
        opened.finish("complete", "2026-11-16T14:25:30Z")
        stored = opened.write_results((made / "results.jsonl").read_bytes().splitlines(keepends=True))
        document = run_document.read_document(made)
        end = opened.journal.end
        journal_end = run_document.StoredJournal(end.size, end.lines, end.checksum.decode())
        chosen = run_document.Chosen()
        opened.write_document(replace(document, chosen=chosen, whole=True, results=stored, journal=journal_end))
    (tmp_path / "highbar.json").write_text(json.dumps({**POLICY, "suite": "suite.json"}))
    refused(check(tmp_path), "the plan of the run is not that of its suite")


def test_rows_without_an_order_are_judged_once(tmp_path: Path) -> None:
    project(tmp_path)
    ran(tmp_path, how="complete")
    shutil.copy(tmp_path / "run" / "results.jsonl", tmp_path / "rows.jsonl")
    done = check(tmp_path, "rows.jsonl")
    verdict = judged(done, "pass")
    rule = done.rule(ACCURACY)
    assert rule["stopping"]["method"] == "at the end"
    assert "judged once, over all scenarios: the rows have no recorded order" in rule["reason"]
    assert verdict["sequential"] == {
        **verdict["sequential"],
        "planned": 60,
        "ran": 60,
        "saved": 0,
        "problem": "the rows have no recorded order",
    }


def test_rows_of_a_part_without_an_order_are_not_enough(tmp_path: Path) -> None:
    project(tmp_path)
    ran(tmp_path, only(ORDER[:40]))
    shutil.copy(tmp_path / "run" / "results.jsonl", tmp_path / "rows.jsonl")
    judged(check(tmp_path, "rows.jsonl"), "inconclusive")


def test_without_an_order_a_longer_horizon_is_never_reached(tmp_path: Path) -> None:
    project(tmp_path, {**POLICY, "horizon": 100})
    ran(tmp_path, how="complete")
    shutil.copy(tmp_path / "run" / "results.jsonl", tmp_path / "rows.jsonl")
    done = check(tmp_path, "rows.jsonl")
    judged(done, "inconclusive")
    assert "a horizon of 100 scenarios was declared" in done.rule(ACCURACY)["reason"]
    judged(check(tmp_path), "pass")  # in the recorded order 60 of 60 are enough for a part of 100


def test_a_trial_that_got_no_answer_is_seen_and_undecided(tmp_path: Path) -> None:
    project(tmp_path)
    ran(tmp_path, only(ORDER[:40], lambda id_, _: UNANSWERED if id_ in ORDER[:8] else "yes"))
    done = check(tmp_path)
    judged(done, "inconclusive")
    rule = done.rule(ACCURACY)
    assert rule["stopping"]["seen"] == 40
    assert "(8 undecided)" in rule["stopping"]["standing"]
    assert [one["id"] for one in rule["undecided"]] == list(ORDER[:8])


def test_a_trial_without_an_answer_behind_the_crossing_changes_nothing(tmp_path: Path) -> None:
    project(tmp_path)
    ran(tmp_path, only(ORDER[:40], lambda id_, _: UNANSWERED if id_ == ORDER[39] else "yes"))
    judged(check(tmp_path), "pass")


def test_a_scenario_has_finished_when_all_its_trials_have(tmp_path: Path) -> None:
    project(tmp_path, trials=2)
    ran(tmp_path, lambda id_, trial: None if (id_, trial) == (ORDER[5], 2) else "yes")
    done = check(tmp_path)
    judged(done, "inconclusive")
    assert done.rule(ACCURACY)["stopping"] == {
        **done.rule(ACCURACY)["stopping"],
        "method": "bets",
        "planned": 60,
        "seen": 5,
    }
    assert done.json["sequential"]["ran"] == 59
    assert (done.json["sequential"]["ran_trials"], done.json["sequential"]["saved_trials"]) == (119, 1)


def test_trials_are_no_units(tmp_path: Path) -> None:
    project(tmp_path, trials=10)
    ran(tmp_path, only(ORDER[:12]))  # 120 trials that all pass, of 12 scenarios
    judged(check(tmp_path), "inconclusive")


def test_required_scenarios_must_all_have_run(tmp_path: Path) -> None:
    project(tmp_path, {**POLICY, "required_scenarios": {"ids": [ORDER[50]]}})
    ran(tmp_path, only(ORDER[:40]))
    judged(check(tmp_path), "inconclusive")
    shutil.rmtree(tmp_path / "run")
    ran(tmp_path, only((*ORDER[:40], ORDER[50])))
    judged(check(tmp_path), "pass")
    shutil.rmtree(tmp_path / "run")
    ran(tmp_path, only((*ORDER[:40], ORDER[50]), lambda id_, _: "no" if id_ == ORDER[50] else "yes"))
    judged(check(tmp_path), "fail")


def test_a_rule_of_another_kind_still_needs_all_scenarios(tmp_path: Path) -> None:
    mixed = {"accuracy": "85%", "pass_rate": {"threshold": "70%", "evidence": "estimate"}}
    project(tmp_path, {**POLICY, "thresholds": mixed})
    ran(tmp_path, only(ORDER[:40]))
    done = check(tmp_path)
    judged(done, "inconclusive")
    assert done.rule(ACCURACY)["outcome"] == "pass"
    shutil.rmtree(tmp_path / "run")
    ran(tmp_path, only(ORDER[:43]))  # 70 % of 60 have passed already, whatever the rest would be
    judged(check(tmp_path), "pass")


def test_a_warning_that_may_be_decided_early_does_not_excuse_the_suite(tmp_path: Path) -> None:
    thresholds = {
        "blocking": {"error_rate": "≤ 60%"},
        "warning": {"accuracy": {"threshold": "85%", "evidence": "sequential"}},
    }
    project(tmp_path, {"suite": "suite.json", "thresholds": thresholds})
    ran(tmp_path, only(ORDER[:40]))
    done = check(tmp_path)
    judged(done, "inconclusive")
    assert done.rule("suite")["outcome"] == "inconclusive"


def test_shards_have_no_common_order(tmp_path: Path) -> None:
    project(tmp_path)
    from highbar.running.order import shard_of  # beside its only use

    names = []
    for number in (1, 2):
        ids = tuple(id_ for id_ in IDS if shard_of(id_, 2) == number)
        names.append(f"part{number}")
        shard_record(tmp_path, names[-1], ids, (number, 2), seed=1)
    done = check(tmp_path, *names)
    assert judged(done, "pass")["sequential"]["seed"] is None
    assert "shards have no common order" in done.rule(ACCURACY)["reason"]


def shard_record(here: Path, name: str, ids: tuple[str, ...], shard: tuple[int, int], seed: int) -> None:
    record(here / name, here / "suite.json", good, shard=shard, seed=seed, chosen_ids=ids)


def test_scenarios_that_were_run_again_after_a_change_leave_no_order(tmp_path: Path) -> None:
    project(tmp_path)
    path = ran(tmp_path, lambda id_, _: "no" if id_ == ORDER[0] else "yes", how="complete")
    opened = folder.open_run(path)
    with opened:
        opened.append(Resumed("2026-11-17T14:25:30Z", (ORDER[0],)))
        digest = opened.history.digests[ORDER[0]]
        opened.append(TrialEnded(ORDER[0], 1, digest, "answered"))
        opened.finish("complete", "2026-11-17T14:25:30Z")
        end = opened.journal.end
        document = run_document.read_document(path)
        journal = run_document.StoredJournal(end.size, end.lines, end.checksum.decode())
        opened.write_document(replace(document, journal=journal))
    done = check(tmp_path)
    assert "scenarios were changed and run again since the run began" in done.rule(ACCURACY)["reason"]


def test_a_filtered_run_is_no_early_end_of_the_whole(tmp_path: Path) -> None:
    project(tmp_path)
    record(tmp_path / "run", tmp_path / "suite.json", good, only=ORDER[:45])
    refused(check(tmp_path), "filtered")
    done = run(tmp_path, "check", "run", "--subset", "--format", "json")
    judged(done, "pass")
    assert done.rule(ACCURACY)["stopping"]["planned"] == 45


def test_a_horizon_below_the_plan_is_refused(tmp_path: Path) -> None:
    policy = {"evidence": "sequential", "horizon": 30, "thresholds": {"accuracy": "85%"}}
    project(tmp_path, policy)
    ran(tmp_path)
    refused(check(tmp_path), "a horizon of 30 is below the 60 scenarios")


def test_every_report_says_what_was_saved_and_that_a_value_is_one_at_stopping(tmp_path: Path) -> None:
    project(tmp_path)
    ran(tmp_path, only(ORDER[:40]))
    written = ("markdown", "html", "junit")
    outputs = [argument for name in written for argument in ("--output", f"{name}=report.{name}")]
    done = run(tmp_path, "check", "run", "-v", *outputs)
    assert done.exit == 0
    reports = {name: (tmp_path / f"report.{name}").read_text("utf-8") for name in written}
    for name, report in {"text": done.out, **reports}.items():
        assert "40 of 60 planned scenarios run, 20 saved" in " ".join(report.split()), name
        assert "at stopping" in report, name
        assert "re-run" not in report, name


def test_a_saved_verdict_is_read_back(tmp_path: Path) -> None:
    from highbar import read_verdict  # beside its only use

    project(tmp_path)
    ran(tmp_path, only(ORDER[:40]))
    done = run(tmp_path, "check", "run", "--output", "verdict.json", "--quiet")
    assert done.exit == 0
    verdict = read_verdict(tmp_path / "verdict.json")
    assert verdict.sequential is not None
    assert verdict.sequential.saved == 20
    assert verdict.rules[0].stopping is not None
    forged = json.loads((tmp_path / "verdict.json").read_text())
    forged["sequential"]["saved"] = 0
    (tmp_path / "verdict.json").write_text(json.dumps(forged))
    with pytest.raises(Exception, match="saved"):
        read_verdict(tmp_path / "verdict.json")


def stopped_by(here: Path) -> None:
    """A run that its policy, as it is now, was to decide."""
    digest = hashlib.sha256((here / "highbar.json").read_bytes()).hexdigest()
    decided = Source("highbar.json", digest)
    ran(here, only(ORDER[:40]), name="runs/one", how="decided", until_decided=decided)


def test_a_policy_that_was_changed_after_the_run_it_was_to_decide_is_said(tmp_path: Path) -> None:
    project(tmp_path)
    stopped_by(tmp_path)
    assert not any(CHANGED in note for note in judged(check(tmp_path, "runs/one"), "pass")["warnings"])
    (tmp_path / "highbar.json").write_text(json.dumps({**POLICY, "thresholds": {"accuracy": "80%"}}))
    (note,) = [note for note in judged(check(tmp_path, "runs/one"), "pass")["warnings"] if CHANGED in note]
    assert "a second chance to pass" in note
    (tmp_path / "highbar.json").write_text(json.dumps({**POLICY, "evidence": "confident"}))
    judged(check(tmp_path, "runs/one"), "inconclusive")  # it sees no order, and needs all scenarios


@pytest.mark.process
def test_the_policy_at_the_ref_was_there_before_the_run(tmp_path: Path) -> None:
    project(tmp_path)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "suite.json", "highbar.json")
    git(tmp_path, "commit", "-qm", "bar")
    (tmp_path / "highbar.json").write_text(json.dumps({**POLICY, "thresholds": {"accuracy": "86%"}}))
    stopped_by(tmp_path)
    done = run(tmp_path, "check", "runs/one", "--against-ref", "HEAD", "--format", "json")
    assert not any(CHANGED in note for note in judged(done, "pass")["warnings"])


@pytest.mark.process
def test_a_horizon_that_was_changed_after_a_look_is_shown_and_the_earlier_one_counts(tmp_path: Path) -> None:
    project(tmp_path, {**POLICY, "horizon": 5000})
    ran(tmp_path, only(ORDER[:40]), name="runs/one")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "suite.json", "highbar.json")
    git(tmp_path, "commit", "-qm", "bar")
    (tmp_path / "highbar.json").write_text(json.dumps(POLICY))
    judged(check(tmp_path, "runs/one"), "pass")
    done = run(tmp_path, "check", "runs/one", "--against-ref", "HEAD", "--format", "json")
    verdict = judged(done, "inconclusive")
    assert [one["what"] for one in verdict["against"]["weakened"]] == ["highbar.json"]
