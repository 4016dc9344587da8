"""Scenarios that pass less and less often, and scenarios that pass only sometimes: over the runs of a history."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from highbar import history as histories
from highbar import policy as policies
from highbar.history.drift import drift
from highbar.history.flaky import flaky
from tests.commandline import run
from tests.history_runs import add, counts, new_run
from tests.repository import git, put


def passing(number, share, scenarios=100):
    return counts({f"S{n:03}": int((n * 37 + number * 11) % scenarios < share * scenarios) for n in range(scenarios)})


def declining(folder, runs=20, fall=0.01, **facts):
    add(folder, *(new_run(number, passing(number, 0.9 - fall * number), **facts) for number in range(runs)))


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "history"


def found_in(folder):
    history = histories.read_history(folder)
    return drift(history, history.runs)


def test_a_slow_decline_is_an_alarm_and_a_steady_history_is_none(folder, tmp_path):
    declining(folder)
    declining(tmp_path / "steady", fall=0.0)
    assert found_in(folder).found.is_alarm
    assert not found_in(tmp_path / "steady").found.is_alarm


def test_a_repair_ends_the_alarm_of_the_command_too(folder, tmp_path):
    declining(folder, runs=25)
    assert run(tmp_path, "history", "trend", "--fail-on", "drift").exit == 1
    add(folder, new_run(25, passing(25, 0.9)))
    done = run(tmp_path, "history", "trend", "--fail-on", "drift")
    assert done.exit == 0
    assert "no drift any more" in done.out
    assert "the last run passed as often as before the decline" in done.out
    found = json.loads(run(tmp_path, "history", "trend", "--format", "json").out)["drift"]
    assert (found["alarm"], found["runs_back"]) == (False, 1)


def test_a_new_scenario_does_not_hide_a_decline(folder):
    declining(folder)
    add(folder, new_run(20, [*passing(20, 0.7), *counts({"NEW": 1})], suite="larger"))
    found = found_in(folder)
    assert found.found.is_alarm
    assert found.found.runs == 21


def test_a_run_that_stopped_early_does_not_hide_a_decline(folder, tmp_path):
    declining(folder)
    add(folder, new_run(20, passing(20, 0.7)[:3]))
    found = found_in(folder)
    assert found.found.is_alarm
    assert found.found.runs == 21
    assert run(tmp_path, "history", "trend", "--fail-on", "drift").exit == 1


def test_scenarios_that_the_suite_lost_are_not_looked_at(folder):
    declining(folder)
    add(folder, new_run(20, passing(20, 0.7)[:3], suite="smaller"))
    assert not found_in(folder).found.is_alarm


def test_scenarios_whose_text_changed_start_anew(folder):
    declining(folder)
    add(folder, new_run(20, [replace(row, digest="f" * 64) for row in passing(20, 0.7)], suite="other"))
    assert found_in(folder).found.evidence == pytest.approx(1.0)


def test_runs_of_another_judge_are_left_out_and_said(folder):
    declining(folder, judge="other")
    add(folder, new_run(20, passing(20, 0.7)))
    found = found_in(folder)
    assert found.found.runs == 1
    assert found.chosen.left_out == (("with another judge", 20),)


def damage_rows(file):
    """Make the scenarios of a record unreadable, and leave its footer."""
    data = bytearray(file.read_bytes())
    data[4:200] = bytes(196)
    file.write_bytes(data)


@pytest.mark.parametrize(
    ("fall", "damaged", "code"), [(0.0, False, 0), (0.01, False, 1), (0.0, True, 3), (0.01, True, 1)]
)
def test_fail_on_drift_fails_on_an_alarm_and_says_if_damage_may_hide_one(folder, tmp_path, fall, damaged, code):
    declining(folder, runs=25, fall=fall)
    if damaged:
        damage_rows(next(folder.iterdir()))
    assert run(tmp_path, "history", "trend").exit == 0
    done = run(tmp_path, "history", "trend", "--fail-on", "drift")
    assert done.exit == code
    assert ("less and less often" in done.out) == (code == 1)
    assert ("is left out" in done.err) == damaged


def test_drift_is_in_the_json_of_a_trend(folder, tmp_path):
    declining(folder)
    found = json.loads(run(tmp_path, "history", "trend", "--format", "json").out)["drift"]
    assert (found["alarm"], found["alarm_at"], len(found["runs"])) == (True, 20.0, 20)
    assert found["slope"] == pytest.approx(-0.01, rel=0.1)


def test_one_run_has_no_drift(folder, tmp_path):
    declining(folder, runs=1)
    assert "no drift to see" in run(tmp_path, "history", "trend", "--fail-on", "drift").out


@pytest.mark.process  # git says which branch is checked out
@pytest.mark.parametrize(("branch", "code"), [("main", 1), ("topic", 3)])
def test_the_branch_that_is_checked_out_decides_whatever_the_newest_record_is_of(folder, tmp_path, branch, code):
    declining(folder)
    add(folder, new_run(30, passing(30, 0.9), branch="topic"))
    git(tmp_path, "init", "--quiet", f"--initial-branch={branch}")
    assert run(tmp_path, "history", "trend", "--fail-on", "drift").exit == code
    assert run(tmp_path, "history", "trend", "--fail-on", "drift", "--branch", "main").exit == 1


@pytest.mark.process  # likewise
def test_without_a_branch_that_is_known_one_of_several_must_be_named(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    declining(folder)
    add(folder, new_run(30, passing(30, 0.9), branch="topic"))
    done = run(tmp_path, "history", "trend", "--fail-on", "drift")
    assert (done.exit, done.codes) == (2, ["history.several"])
    assert "--branch: main, topic" in done.err
    assert run(tmp_path, "history", "trend").exit == 0


@pytest.mark.parametrize("facts", [{"judge": "other"}, {"listed": None, "judge": None}])
def test_a_newest_record_that_is_not_comparable_does_not_make_peace(folder, tmp_path, facts):
    declining(folder, fall=0.0)
    new = new_run(30, passing(30, 0.9), **facts)
    add(folder, new if new.run.listed else replace(new, scenarios=None))
    assert run(tmp_path, "history", "trend", "--fail-on", "drift").exit == 3


# --- flaky scenarios --------------------------------------------------------------------------


def unsteady(folder, runs=6, **facts):
    for number in range(runs):
        scenarios = counts({"STEADY": 1, "BROKEN": 0, "HALF": number % 2, "RARE": int(number != 2)})
        add(folder, new_run(number, scenarios, **facts))


def test_flaky_scenarios_are_named_with_their_rate_and_its_bounds(folder):
    unsteady(folder)
    history = histories.read_history(folder)
    found = flaky(history, history.runs, 10)
    assert [(one.id, one.passed, one.trials, one.failed_runs) for one in found.scenarios] == [
        ("HALF", 3, 6, 3),
        ("RARE", 5, 6, 1),
    ]
    assert found.of == 4
    assert found.scenarios[1].low == pytest.approx(0.4182, abs=1e-4)  # Clopper and Pearson, 5 of 6
    assert found.scenarios[1].high == pytest.approx(0.9915, abs=1e-4)


def test_only_the_last_runs_of_the_same_agent_are_pooled(folder):
    unsteady(folder)
    add(folder, new_run(6, counts({"STEADY": 1, "HALF": 1, "RARE": 1}), agent="new"))
    history = histories.read_history(folder)
    assert flaky(history, history.runs, 10).scenarios == ()
    assert flaky(history, history.runs, 10).chosen.left_out == (("of another agent", 6),)
    assert [one.id for one in flaky(history, history.runs[:6], 3).scenarios] == ["HALF"]


def test_the_command_names_them_and_has_json(folder, tmp_path):
    unsteady(folder)
    done = run(tmp_path, "history", "flaky", "--runs", "6")
    assert "2 of 4 scenarios both passed and failed in the last 6 runs" in done.out
    assert "HALF" in done.out
    assert "STEADY" not in done.out
    found = json.loads(run(tmp_path, "history", "flaky", "--format", "json").out)
    assert found["schema"] == "highbar/history-flaky/1"
    assert [one["id"] for one in found["scenarios"]] == ["HALF", "RARE"]


def block_printed(tmp_path, *options, today="2026-11-17"):
    """The ids and last days of the printed quarantine, read as the policy that it is pasted into; None if none is."""
    out = run(tmp_path, "history", "flaky", "--today", today, *options).out
    _, found, block = out.partition("quarantine:\n")
    if not found:
        return None
    put(tmp_path, {"highbar.yaml": "thresholds: { pass_rate: 50% }\n" + found + block})
    return {id_: str(day) for id_, day in policies.read(tmp_path / "highbar.yaml").quarantine.items()}


def test_it_prints_a_quarantine_to_paste_with_the_evidence_and_a_last_day(folder, tmp_path):
    unsteady(folder)
    assert block_printed(tmp_path) == {"HALF": "2026-12-17"}  # one of four scenarios may be
    out = run(tmp_path, "history", "flaky", "--today", "2026-11-17").out
    assert 'id: "HALF", until: 2026-12-17 } # passed 3 of 6 trials, failed in 3 of 6 runs' in out
    assert "Left out of the quarantine: 1 more that went back and forth (at most 1 of 4 may be in it)\n" in out


def test_it_says_that_a_scenario_which_broke_once_is_not_to_be_quarantined(folder, tmp_path):
    for number in range(6):
        add(folder, new_run(number, counts({"STEADY": 1, "BROKE": int(number < 3)})))
    out = run(tmp_path, "history", "flaky").out
    assert out.endswith("Left out of the quarantine: 1 that broke once, were repaired once, or are attacks\n")


def test_at_the_end_of_the_calendar_the_last_day_is_the_last_one_there_is(folder, tmp_path):
    unsteady(folder)
    assert block_printed(tmp_path, today="9999-12-31") == {"HALF": "9999-12-31"}


def passing_in(folder, outcomes, trials=1, **facts):
    """Runs in which A passed that many trials, beside a scenario that always passes."""
    for number, passed in enumerate(outcomes):
        row, other = counts({"A": passed, "B": trials}, trials=trials)
        add(folder, new_run(number, [replace(row, **facts), other]))


@pytest.mark.parametrize("outcomes", [(1, 1, 1, 0, 0), (0, 0, 1, 1, 1), (0, 1)], ids=["broke", "repaired", "short"])
def test_what_broke_or_was_repaired_once_is_not_offered(folder, tmp_path, outcomes):
    passing_in(folder, outcomes)
    assert "A" in run(tmp_path, "history", "flaky").out
    assert block_printed(tmp_path) is None


@pytest.mark.parametrize(("outcomes", "trials"), [((1, 0, 1), 1), ((0, 1, 0), 1), ((1, 2), 2), ((3, 3, 1), 3)])
def test_what_went_back_and_forth_between_runs_or_trials_is_offered(folder, tmp_path, outcomes, trials):
    passing_in(folder, outcomes, trials)
    assert block_printed(tmp_path) == {"A": "2026-12-17"}


@pytest.mark.parametrize("facts", [{"category": "adversarial"}, {"id": "A*"}, {"id": "A\u202eB"}])
def test_attacks_patterns_and_ids_that_show_as_others_are_not_offered(folder, tmp_path, facts):
    passing_in(folder, (1, 0, 1), **facts)
    assert block_printed(tmp_path) is None


def test_an_id_with_quotes_and_braces_is_pasted_as_it_is(folder, tmp_path):
    passing_in(folder, (1, 0, 1), id='a "b" } # é\\')
    assert block_printed(tmp_path) == {'a "b" } # é\\': "2026-12-17"}


def test_a_hostile_id_cannot_color_the_terminal(folder, tmp_path):
    for number in range(2):
        add(folder, new_run(number, counts({"\x1b[31mX": number})))
    assert "\x1b[31m" not in run(tmp_path, "history", "flaky").out


def test_an_empty_history_has_no_flaky_scenarios(folder, tmp_path):
    folder.mkdir()
    assert run(tmp_path, "history", "flaky").codes == ["history.empty"]
