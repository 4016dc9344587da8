from __future__ import annotations

from msgspec.structs import replace

from highbar.history.change_points import change_points
from highbar.history.tracks import gated, tracks
from tests.history_runs import new_run

GOOD, BAD = (0.95, 0.93, 0.96, 0.94, 0.95, 0.97, 0.94, 0.96), (0.85, 0.83, 0.86, 0.84, 0.82, 0.87, 0.84, 0.85)


def runs(values, **facts):
    found = []
    for number, value in enumerate(values):
        run = new_run(number, **facts).run
        metric = replace(run.metrics["pass_rate"], value=value)
        found.append(replace(run, metrics={"pass_rate": metric}))
    return found


def found_in(records):
    return change_points([tracks(records, "pass_rate")])


def test_a_change_names_the_runs_on_both_sides_and_the_levels():
    records = runs(GOOD + BAD)
    (change,) = found_in(records).found
    assert (change.before, change.after) == (records[7], records[8])
    assert (round(change.level_before, 3), round(change.level_after, 3)) == (0.95, 0.845)
    assert (change.runs_before, change.runs_after, change.is_better) == (8, 8, False)
    assert change.p_value < 0.01


def test_two_changes_have_the_levels_between_them():
    first, second = reversed(found_in(runs(GOOD + BAD + GOOD)).found)
    assert (round(first.level_after, 3), round(second.level_before, 3), second.is_better) == (0.845, 0.845, True)


def test_nothing_is_compared_across_another_suite():
    records = runs(GOOD + BAD)
    changed = [replace(run, suite="another") if number >= 8 else run for number, run in enumerate(records)]
    assert found_in(records).found
    assert found_in(changed).found == ()
    assert found_in(changed).lines == 2


def test_nothing_is_compared_from_branch_to_branch():
    records = [replace(run, branch=("main", "topic")[number % 2]) for number, run in enumerate(runs(GOOD + GOOD))]
    worse = [
        replace(run, metrics={"pass_rate": replace(run.metrics["pass_rate"], value=0.5)})
        if run.branch == "topic"
        else run
        for run in records
    ]
    found = found_in(worse)
    assert found.found == ()
    assert found.lines == 1  # all of the other branch are equal


def test_results_that_were_judged_again_are_no_further_evidence():
    records = runs([0.95, 0.94, 0.93, 0.85, 0.84, 0.83])
    again = [
        replace(run, record=f"{number:032x}", results=run.results) for number, run in enumerate(records, start=100)
    ]
    both = [run for pair in zip(records, again, strict=True) for run in pair]
    assert found_in(both).lines == 0
    others = [replace(run, results=(f"{number:064x}",)) for number, run in enumerate(both)]
    assert found_in(others).lines == 1


def test_the_p_value_is_multiplied_by_the_number_of_lines():
    records = runs(GOOD + BAD)
    one = tracks(records, "pass_rate")
    alone = change_points([one]).found[0]
    five = change_points([one] * 5)
    assert five.lines == 5
    assert five.found[0].p_value == 5 * alone.p_value


def test_metrics_that_only_an_earlier_run_had_a_rule_about_are_gated_too():
    records = runs(GOOD)
    assert gated([records[0], replace(records[1], rules=())]) == ("pass_rate",)
    assert gated([replace(run, rules=()) for run in records]) == ()


def test_a_long_line_is_looked_at_as_a_whole_and_each_change_is_listed_once(monkeypatch):
    monkeypatch.setattr("highbar.history.change_points.MOST_VALUES", 40)
    records = runs([*GOOD * 4, *BAD * 8, *GOOD * 3])
    early, late = reversed(found_in(records).found)
    assert early.earliest.time <= records[32].time <= early.latest.time
    assert records.index(late.after) in range(94, 99)
    assert (early.is_better, late.is_better) == (False, True)
    assert found_in(records).lines == 2
