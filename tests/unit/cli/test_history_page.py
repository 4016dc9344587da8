from __future__ import annotations

import random
import re

import pytest
from msgspec.structs import replace

from highbar.history import History
from highbar.history.overview import overview
from highbar.model.history import MetricInRun
from highbar.report.html.history import render
from tests.commandline import run
from tests.history_runs import add, add_unchecked, counts, new_run


def page(folder, *arguments):
    done = run(folder, "history", "page", *arguments, "--output", "site")
    assert done.exit == 0, done.err
    return (folder / "site" / "index.html").read_text("utf-8")


def drawn(text, look):
    """The paths of that look, in their order."""
    return re.findall(rf'<path d="([^"]*)" class="{look}"/>', text)


def shown(text):
    """The number of runs whose verdicts the page shows."""
    return int(re.search(r'aria-label="(\d+) runs?: ', text)[1])


def test_one_run_is_a_page(tmp_path):
    add(tmp_path / "history", new_run(1))
    text = page(tmp_path)
    assert shown(text) == 1
    assert re.fullmatch(r"M526 [0-9.]+h0", *drawn(text, "values"))
    assert page(tmp_path, "history") == page(tmp_path, "--history", "history") == text


def test_a_line_joins_runs_of_one_suite_and_one_branch_alone(tmp_path):
    add(tmp_path / "history", *(new_run(number) for number in range(4)))
    (whole,) = drawn(page(tmp_path), "values")
    assert (whole.count("M"), whole.count("L")) == (1, 3)
    add(tmp_path / "other", *(new_run(number, suite=str(number // 2)) for number in range(4)))
    text = page(tmp_path, "other")
    (cut,) = drawn(text, "values")
    assert (cut.count("M"), cut.count("L")) == (2, 2)
    assert text.count('class="cut"') == 1
    assert "other scenarios" in text
    add(tmp_path / "branches", *(new_run(number, branch=f"b{number % 2}") for number in range(4)))
    lines = drawn(page(tmp_path, "branches"), "values")
    assert [(line.count("M"), line.count("L")) for line in lines] == [(1, 1), (1, 1)]


def test_a_threshold_is_drawn_as_steps(tmp_path):
    add(tmp_path / "history", *(new_run(number, threshold=0.4 if number < 2 else 0.45) for number in range(4)))
    (steps,) = drawn(page(tmp_path), "threshold")
    assert len(set(re.findall(r"V([0-9.]+)", steps))) == 2
    assert "L" not in steps


def test_a_run_without_a_value_cuts_the_line_and_is_marked(tmp_path):
    runs = [new_run(number) for number in range(3)]
    nothing = MetricInRun(None, None, None, "ratio", "higher", 0, definition="1")
    undefined = replace(runs[1].run.rules[0], outcome="undefined", value=None, low=None, high=None)
    hole = replace(runs[1], run=replace(runs[1].run, metrics={"pass_rate": nothing}, rules=(undefined,)))
    add(tmp_path / "history", runs[0], hole, runs[2])
    text = page(tmp_path)
    assert [line.count("L") for line in drawn(text, "values")] == [0]
    assert sum(path.count("M") for path in drawn(text, "mark missed")) >= 1


def test_only_the_runs_that_are_wanted_are_shown(tmp_path):
    add(tmp_path / "history", *(new_run(number, branch=f"b{number % 2}") for number in range(6)))
    assert shown(page(tmp_path, "--branch", "b1")) == 3
    assert shown(page(tmp_path, "--last", "2")) == 2


def test_nothing_to_show_is_refused(tmp_path):
    assert run(tmp_path, "history", "page", "--output", "site").exit == 2
    (tmp_path / "history").mkdir()
    assert run(tmp_path, "history", "page", "--output", "site").codes == ["history.empty"]
    add(tmp_path / "history", new_run(1))
    assert "of branch 'x'" in run(tmp_path, "history", "page", "--output", "site", "--branch", "x").err
    twice = run(tmp_path, "history", "page", "history", "--history", "history", "--output", "site")
    assert "named twice" in twice.err
    assert not (tmp_path / "site").exists()
    (tmp_path / "site").write_text("a file")
    assert run(tmp_path, "history", "page", "--output", "site").exit == 4


def test_damaged_records_are_named_on_the_page_and_on_standard_error(tmp_path):
    file, _ = add(tmp_path / "history", new_run(1), new_run(2))
    other = add_unchecked(tmp_path / "history", new_run(3, counts({"B": 3}, trials=2)))
    file.write_bytes(b"damaged")
    done = run(tmp_path, "history", "page", "--output", "site")
    text = (tmp_path / "site" / "index.html").read_text("utf-8")
    for name in (file.name, other.name):
        assert f"<code>{name}</code>: " in text
        assert f"history/{name} is left out" in done.err


def test_runs_with_only_a_verdict_are_shown_and_their_scenarios_said_to_be_unknown(tmp_path):
    add(tmp_path / "history", *(new_run(number, listed=None, suite=None) for number in range(3)))
    text = page(tmp_path)
    assert shown(text) == 3
    assert "3 runs with only a verdict: nothing is known of their scenarios." in text
    assert [line.count("L") for line in drawn(text, "values")] == [0]


@pytest.mark.parametrize("number", [1e308, -1e308, 5e-324, 1e-9, 0.0])
def test_numbers_of_any_size_are_drawn(number, tmp_path):
    runs = [
        replace(new_run(place).run, metrics={"pass_rate": MetricInRun(value, value, value, "USD", "lower", 1)})
        for place, value in enumerate((number, 1.0, number))
    ]
    assert "nan" not in "".join(drawn(render(overview(History(str(tmp_path), ()), runs)), "values"))


@pytest.mark.slow
def test_two_thousand_runs_and_six_metrics_take_at_most_two_megabytes(tmp_path):
    names = [f"metric_{number}" for number in range(6)]
    chance = random.Random(1)
    runs = []
    for number in range(2100):
        run_ = new_run(number, listed=None, branch=f"topic-{number}" if number % 3 == 0 else "main").run
        metric = replace(run_.metrics["pass_rate"], value=chance.uniform(0.4, 0.9), low=0.4, high=0.9)
        rules = tuple(replace(run_.rules[0], metric=name, rule=f"thresholds.blocking.{name}") for name in names)
        runs.append(replace(run_, metrics=dict.fromkeys(names, metric), rules=rules))
    text = render(overview(History(str(tmp_path), ()), runs))
    assert len(text) < 2_000_000
    assert shown(text) == 2000
    assert "the last 2000 of 2100 runs" in text
