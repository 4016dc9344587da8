"""Which scenarios the last runs show to be flaky, and since when."""

from __future__ import annotations

from datetime import date

import pytest
from msgspec.structs import replace

from highbar import history as histories
from highbar.history import quarantine
from highbar.model.history import NOBODY
from highbar.model.quarantine import MOST_RUNS
from tests.history_runs import add, add_unchecked, counts, new_run


def last(outcomes, **facts):
    """Runs, one a day, in which scenario A passed (P), failed (F), was undecided (?) or was not there (-)."""
    runs, scenarios = [], []
    for number, outcome in enumerate(outcomes):
        of = facts.get("by_run", {}).get(number, {})
        time = f"2026-{1 + number // 28:02}-{1 + number % 28:02}T00:00:00Z"
        run = replace(new_run(number).run, **{"time": time, **of})
        rows = counts({"A": int(outcome == "P"), "other": 1})
        if outcome == "?":
            rows = (replace(rows[0], failed=0, undecided=1), rows[1])
        runs.append(run)
        scenarios.append(rows if outcome != "-" else rows[1:])
    return quarantine.LastRuns(tuple(runs), tuple(scenarios))


def found(outcomes, window=5, **facts):
    (one,) = quarantine.unsteady(last(outcomes, **facts), window) or (None,)
    return one


@pytest.mark.parametrize("outcomes", ["", "P", "F", "PPPPPP", "FFFFFF", "P?P?", "F-F-", "FPPPPP", "PFFFFF", "P-----F"])
def test_what_did_not_pass_and_fail_within_the_last_runs_is_steady(outcomes):
    assert found(outcomes) is None


@pytest.mark.parametrize(
    ("outcomes", "passed", "failed"),
    [("PF", 1, 1), ("FP", 1, 1), ("PPPPF", 4, 1), ("FPPPP", 4, 1), ("PPPPPF", 4, 1), ("P---F", 1, 1), ("P?F", 1, 1)],
)
def test_a_pass_and_a_failure_within_the_last_runs_are_unsteady(outcomes, passed, failed):
    one = found(outcomes)
    assert (one.id, one.passed, one.failed) == ("A", passed, failed)


@pytest.mark.parametrize(
    ("outcomes", "day", "runs"),
    [("PF", 2, 1), ("PFP", 2, 2), ("PFPPPP", 2, 5), ("PFPPPPPPPF", 10, 1), ("PFPPPPFPPPP", 2, 10)],
)
def test_it_begins_with_the_first_run_since_which_it_never_was_steady(outcomes, day, runs):
    one = found(outcomes)
    assert (one.since, one.runs) == (date(2026, 1, day), runs)


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [("PF", False), ("PPPPF", False), ("PPPPPF", True), ("-----PF", True), ("FPPPPPF", True), ("PFPPPPF", False)],
)
def test_since_when_is_known_only_after_a_whole_window_of_steady_runs(outcomes, expected):
    assert found(outcomes).is_start_known == expected


@pytest.mark.parametrize(
    ("outcomes", "day", "runs"),
    [("PF----FP", 2, 7), ("PF-----FP", 2, 8), ("PPPPPF--P--F--P", 6, 10), ("PF?????PF", 2, 8)],
)
def test_runs_without_it_do_not_show_that_it_was_steady(outcomes, day, runs):
    one = found(outcomes)
    assert (one.since, one.runs) == (date(2026, 1, day), runs)


def test_runs_that_stopped_early_do_not_prolong_a_quarantine():
    """Such runs lack most scenarios: each time that it came back, its quarantine would begin anew."""
    assert found("PPPPP" + "PF-----" * 10 + "PF").runs > MOST_RUNS


def test_it_began_on_the_first_day_of_its_runs_whatever_their_order():
    times = {5: {"time": "2026-03-01T00:00:00Z"}, 6: {"time": "2026-02-01T00:00:00Z"}}
    assert found("PPPPPFP", by_run=times).since == date(2026, 2, 1)


def test_that_it_lasts_too_long_is_seen_in_the_runs_that_are_read():
    outcomes = "PF" * MOST_RUNS
    whole, read = (found(part) for part in (outcomes, outcomes[-quarantine.runs_needed(5) :]))
    assert whole.runs > MOST_RUNS
    assert read.runs > MOST_RUNS


@pytest.mark.parametrize("part", ["judge", "scoring"])
def test_a_pass_and_a_failure_that_were_not_judged_alike_say_nothing(part):
    assert found("PF", by_run={1: {part: "another"}}) is None
    assert found("PFF", by_run={1: {part: "another"}}) is not None


def test_another_text_is_another_scenario():
    runs = last("PF")
    changed = replace(runs.scenarios[1][0], digest="e" * 64)
    assert quarantine.unsteady(replace(runs, scenarios=(runs.scenarios[0], (changed,))), 5) == ()


def test_a_text_that_is_not_known_is_never_known_again():
    runs = last("PF")
    unknown = tuple(tuple(replace(one, digest=None) for one in rows) for rows in runs.scenarios)
    assert quarantine.unsteady(replace(runs, scenarios=unknown), 5) == ()


def test_a_scenario_that_ever_was_adversarial_is_marked():
    runs = last("PPF")
    attack = replace(runs.scenarios[0][0], category="adversarial", digest="e" * 64)
    (one,) = quarantine.unsteady(replace(runs, scenarios=((attack,), *runs.scenarios[1:])), 5)
    assert one.is_adversarial


def test_one_failed_trial_of_several_is_a_failure():
    runs = last("PP")
    some = counts({"A": 2}, trials=3)
    assert quarantine.unsteady(replace(runs, scenarios=(runs.scenarios[0], some)), 5)


# --- which runs count ------------------------------------------------------------------------


TODAY = date(2026, 1, 2)


def chosen(folder, ancestors, most=10, agent=NOBODY):
    return [
        run.commit
        for run in quarantine.of_ancestors(histories.read_history(folder), ancestors, most, TODAY, agent).runs
    ]


def test_runs_count_in_the_order_of_their_commits(tmp_path):
    runs = [new_run(number) for number in range(4)]
    add(tmp_path, *runs)
    names = [run.run.commit for run in runs]
    back = {names[2]: 0, names[0]: 1, names[1]: 2}
    assert chosen(tmp_path, back) == [names[1], names[0], names[2]]
    assert chosen(tmp_path, back, most=2) == [names[0], names[2]]


@pytest.mark.parametrize("facts", [{"commit": None, "parents": None}, {"changed": True}], ids=["none", "changed"])
def test_a_run_of_no_commit_or_of_a_changed_tree_does_not_count(tmp_path, facts):
    add(tmp_path, new_run(1, **facts))
    assert chosen(tmp_path, {new_run(1).run.commit: 0}) == []


def test_only_runs_of_the_same_agent_count(tmp_path):
    agents = ((None, "a"), (None, "b"), ("support", None), NOBODY)
    runs = [new_run(number, agent_name=name, agent=agent) for number, (name, agent) in enumerate(agents)]
    add(tmp_path, *runs)
    names = [run.run.commit for run in runs]
    back = dict.fromkeys(names, 0)
    assert [chosen(tmp_path, back, agent=agent) for agent in agents[:3]] == [[name] for name in names[:3]]
    assert chosen(tmp_path, back) == []  # whose they are is not known, since others say it
    assert chosen(tmp_path, {names[3]: 0}) == [names[3]]


def test_a_record_without_scenarios_does_not_count(tmp_path):
    verdict_only = new_run(1, listed=None)
    add(tmp_path, replace(verdict_only, scenarios=None))
    assert chosen(tmp_path, {verdict_only.run.commit: 0}) == []


@pytest.mark.parametrize(("day", "counts_"), [("2026-01-03", True), ("2026-01-04", False), ("2026-13-45", False)])
def test_a_run_of_the_future_or_of_no_day_does_not_count_and_is_named(day, counts_):
    run = replace(new_run(1).run, time=f"{day}T00:00:00Z")
    history = histories.History("history", (run,))
    last_runs = quarantine.of_ancestors(history, {run.commit: 0}, 10, TODAY)
    assert bool(last_runs.later) != counts_
    assert (
        any("later day than today" in note and run.record in note for note in quarantine.notes_of(history, last_runs))
        != counts_
    )


def test_a_record_whose_counts_do_not_fit_is_left_out_and_named(tmp_path):
    wrong = new_run(1, counts({"A": 1}, failed=3))
    add_unchecked(tmp_path, wrong)
    add(tmp_path, new_run(2))
    history = histories.read_history(tmp_path)
    last_runs = quarantine.of_ancestors(history, {f"{number:040x}": 3 - number for number in (1, 2)}, 10, TODAY)
    assert [run.commit for run in last_runs.runs] == [f"{2:040x}"]
    (note,) = quarantine.notes_of(history, last_runs)
    assert wrong.run.record in note
