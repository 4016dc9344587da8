from __future__ import annotations

import pytest
from msgspec.structs import replace

from highbar.history.series import metrics_of_runs, series
from tests.history_runs import new_run


def runs(*changes):
    """One run for each dict of facts that differ from the other runs."""
    return [replace(new_run(number).run, **facts) for number, facts in enumerate(changes)]


def lengths(found):
    return [(len(part.points), part.because) for part in found.segments]


def test_runs_that_are_measured_alike_are_one_line():
    assert lengths(series(runs({}, {}, {}), "pass_rate")) == [(3, None)]


@pytest.mark.parametrize("part", ["suite", "scoring", "judge"])
def test_a_line_is_cut_where_something_changed(part):
    assert lengths(series(runs({}, {}, {part: "new"}, {part: "new"}), "pass_rate")) == [(2, None), (2, part)]


@pytest.mark.parametrize("part", ["suite", "scoring", "judge"])
def test_what_is_not_known_is_never_joined(part):
    found = series(runs({part: None}, {part: None}, {}), "pass_rate")
    assert lengths(found) == [(1, None), (1, "unknown"), (1, "unknown")]


def test_a_change_and_back_again_are_two_cuts():
    assert lengths(series(runs({}, {"suite": "new"}, {}), "pass_rate")) == [(1, None), (1, "suite"), (1, "suite")]


def test_another_formula_cuts_the_line_of_its_metric():
    before, after = runs({}, {})
    other = replace(after.metrics["pass_rate"], definition="2")
    after = replace(after, metrics={"pass_rate": other, "same": before.metrics["pass_rate"]})
    before = replace(before, metrics={**before.metrics, "same": before.metrics["pass_rate"]})
    assert lengths(series([before, after], "pass_rate")) == [(1, None), (1, "scoring")]
    assert lengths(series([before, after], "same")) == [(2, None)]


def test_a_run_without_the_metric_is_left_out_and_cuts_nothing():
    found = series(runs({}, {"metrics": {}, "suite": "new"}, {}), "pass_rate")
    assert lengths(found) == [(2, None)]
    assert [point.run.commit[-1] for point in found.points] == ["0", "2"]


def test_no_runs_are_a_series_without_points():
    assert series([], "pass_rate").points == ()
    assert not series([], "pass_rate").is_gated
    assert metrics_of_runs([]) == ()


def test_metrics_with_a_rule_come_first():
    (run,) = runs({})
    run = replace(run, metrics={"accuracy": run.metrics["pass_rate"], **run.metrics})
    assert metrics_of_runs([run]) == ("pass_rate", "accuracy")
    assert series([run], "pass_rate").is_gated
    assert not series([run], "accuracy").is_gated


def test_a_rule_about_a_slice_is_not_one_about_the_whole():
    (run,) = runs({})
    sliced = replace(run.rules[0], slice=(("category", ("adversarial",)),))
    assert series([replace(run, rules=(sliced,))], "pass_rate").points[0].rules == ()
