"""The record of a run that stopped early: it has the scenarios that have finished, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from highbar import history
from tests.commandline import judged, run
from tests.runs.deciding import looking_often
from tests.runs.test_until_decided import PLANNED, not_run, project

pytestmark = [pytest.mark.slow, pytest.mark.process]


@pytest.mark.parametrize("trials", [1, 2])
def test_a_record_of_an_early_end_has_only_what_was_run(tmp_path: Path, trials: int) -> None:
    made = project(tmp_path, fails="place % 2", quick=80 * trials, trials=trials)
    with looking_often():
        judged(made.run("--until-decided", "--history", "history"), "fail")
    unfinished = set(not_run(made))
    assert unfinished
    found = history.read_history(tmp_path / "history")
    assert not found.damaged
    (record,) = found.runs
    rows = {one.id: one for _, one in found.counts()}
    assert set(rows) == {row["id"] for row in made.rows()} - unfinished
    assert record.listed == record.counts.scenarios == PLANNED - len(unfinished)
    assert all((one.trials, one.undecided) == (trials, 0) for one in rows.values())
    assert all((one.failed > 0) == bool(int(id_[1:]) % 2) for id_, one in rows.items())


def test_every_view_of_the_history_takes_runs_that_ended_early(tmp_path: Path) -> None:
    made = project(tmp_path)
    with looking_often():
        for name in ("run1", "run2"):
            judged(made.run("--until-decided", "--history", "history", name=name), "pass")
    listed = run(tmp_path, "history", "list", "--format", "json").json
    assert (len(listed["runs"]), listed["damaged"]) == (2, [])
    # Both are of one suite, whichever scenarios were reached, so one line joins them.
    assert len({one["suite"] for one in listed["runs"]}) == 1
    trend = run(tmp_path, "history", "trend", "--format", "json").json
    assert all(len(metric["segments"]) == 1 for metric in trend["metrics"])
    shown = run(tmp_path, "history", "show", listed["runs"][0]["record"], "--format", "json").json
    assert len(shown["scenarios"]) == shown["verdict"]["counts"]["scenarios"] < PLANNED
    flaky = run(tmp_path, "history", "flaky")
    assert flaky.exit == 0, flaky.err
    assert "left out" not in flaky.err


def test_adding_the_folder_again_is_the_same_run(tmp_path: Path) -> None:
    made = project(tmp_path)
    with looking_often():
        judged(made.run("--until-decided", "--history", "history"), "pass")
    again = run(tmp_path, "history", "add", "out", "--policy", "highbar.json")
    assert again.exit == 0, again.err
    assert "already in the history" in again.out
