"""Copies of the rows of a run (H133): they are judged like the folder of the run, wherever they lie."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import highbar
from highbar.load.checkout import Checkout
from tests.commandline import judged, refused, run
from tests.recorded_runs import NOWHERE, record

SUITE = [{"id": f"S{place}", "input": "?", "answer": "yes"} for place in range(4)]
POLICY = {"thresholds": {"blocking": {"accuracy": "≥ 50%"}}}
ONE, OTHER = Checkout("1" * 40, changed=False), Checkout("2" * 40, changed=False)
CHANGED = Checkout("1" * 40, changed=True)

pytestmark = pytest.mark.hazard("H133")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_suite(tmp_path, SUITE)
    (tmp_path / "highbar.json").write_text(json.dumps(POLICY), "utf-8")
    return tmp_path


def write_suite(here: Path, scenarios: list[dict[str, Any]]) -> None:
    (here / "suite.json").write_text(json.dumps(scenarios), "utf-8")


def made(here: Path, name: str = "run", **more: Any) -> list[dict[str, Any]]:
    """The rows of a run in which every answer is right."""
    folder = record(here / name, here / "suite.json", lambda _id, _trial: "yes", **more)
    return [json.loads(line) for line in (folder / "results.jsonl").read_text("utf-8").splitlines()]


def copied(here: Path, *runs: list[dict[str, Any]]) -> str:
    (here / "copy.jsonl").write_text("".join(json.dumps(row) + "\n" for rows in runs for row in rows), "utf-8")
    return "copy.jsonl"


def check(here: Path, *arguments: str) -> Any:
    return run(here, "check", *arguments, "--format", "json")


def shard(
    here: Path, number: int, checkout: Checkout = ONE, of: int = 2, trials: int | None = None
) -> list[dict[str, Any]]:
    ids = [["S0", "S1"], ["S2", "S3"]][number - 1]
    return made(here, f"shard-{number}-{of}", shard=(number, of), chosen_ids=ids, checkout=checkout, trials=trials)


# --- what a row says ------------------------------------------------------------------------


def test_every_row_of_a_run_names_it(here: Path) -> None:
    rows = made(here, checkout=ONE)
    (origin,) = {json.dumps(row["highbar_run"]) for row in rows}
    found = json.loads(origin)
    assert list(found) == ["id", "plan", "planned", "part"]
    assert (found["planned"], found["part"]) == (4, None)
    assert len(found["plan"]) == 64
    assert all(row["answer_checked"] is True for row in rows)


def test_the_plan_is_unknown_if_tracked_files_were_changed(here: Path) -> None:
    assert {row["highbar_run"]["plan"] for row in made(here, checkout=CHANGED)} == {None}


def test_a_scenario_without_a_check_of_its_answer_says_nothing(here: Path) -> None:
    write_suite(here, [{"id": "A", "input": "?", "must_not": {"leaks": {"contains": "Ann"}}}])
    assert "answer_checked" not in made(here)[0]


# --- copies ---------------------------------------------------------------------------------


def test_h133_a_copy_of_a_whole_run_is_judged(here: Path) -> None:
    judged(check(here, copied(here, made(here))), "pass")


def test_h133_a_copy_of_a_filtered_run_never_passes(here: Path) -> None:
    path = copied(here, made(here, only=["S0", "S1"]))
    refused(check(here, path), "--subset", code="run.partial")
    assert "no verdict" in json.dumps(judged(check(here, path, "--subset"), "pass"))


def test_h133_a_copy_of_an_interrupted_run_never_passes(here: Path) -> None:
    path = copied(here, made(here, how="interrupted"))
    refused(check(here, path), "had not ended")
    refused(check(here, path, "--subset"), "had not ended")


def test_h133_rows_left_out_of_a_copy_never_pass(here: Path) -> None:
    path = copied(here, made(here)[1:])
    refused(check(here, path), "3 of the 4 rows", "planned")
    judged(check(here, path, "--subset"), "pass")


def test_h133_a_copy_graded_by_another_version_of_the_suite_never_passes(here: Path) -> None:
    path = copied(here, made(here))
    (here / "highbar.json").write_text(json.dumps({**POLICY, "suite": "suite.json"}), "utf-8")
    judged(check(here, path), "pass")
    write_suite(here, [{**one, "answer": "no"} for one in SUITE])
    refused(check(here, path), "graded by another version of the suite", "highbar grade")
    assert run(here, "grade", path, "--suite", "suite.json", "-o", "new.jsonl").exit == 0
    judged(check(here, "new.jsonl"), "fail")


def test_h133_grading_a_part_again_does_not_make_it_the_whole(here: Path) -> None:
    path = copied(here, made(here, only=["S0", "S1"]))
    assert run(here, "grade", path, "--suite", "suite.json", "-o", "new.jsonl").exit == 0
    refused(check(here, "new.jsonl"), "filtered run")
    assert run(here, "grade", "run", "-o", "of-folder.jsonl").exit == 0
    refused(check(here, "of-folder.jsonl"), "filtered run")


def test_h133_rows_of_the_run_and_others_are_never_judged_together(here: Path) -> None:
    rows = [*made(here), *({"id": f"X{place}", "correct": True} for place in range(9))]
    refused(check(here, copied(here, rows)), "9 rows without `highbar_run`")
    refused(check(here, copied(here, rows), "--subset"), "9 rows without `highbar_run`")


def test_h133_rows_of_another_run_are_never_added(here: Path) -> None:
    rows = made(here)
    write_suite(here, [{"id": f"X{place}", "input": "?", "answer": "yes"} for place in range(90)])
    refused(check(here, copied(here, rows, made(here, "easy"))), "of several runs")


def test_h133_more_rows_than_were_planned_never_pass(here: Path) -> None:
    rows = made(here)
    rows += [{**row, "id": f"{row['id']}-{place}"} for place in range(9) for row in rows]
    refused(check(here, copied(here, rows)), "40 rows", "planned 4")


@pytest.mark.parametrize(
    "value", [1, [], {}, {"id": "a"}, {"id": "a", "planned": 0}, {"id": "a", "planned": 4, "part": "3/2"}]
)
def test_h133_a_damaged_column_is_refused_with_its_line(here: Path, value: object) -> None:
    rows = made(here)
    rows[2]["highbar_run"] = value
    done = check(here, copied(here, rows))
    refused(done, "highbar_run: found", "wanted {id, plan, planned, part}")
    assert done.json["problems"][0]["line"] == 3


# --- shards ---------------------------------------------------------------------------------


def test_h133_copies_of_all_shards_are_judged_as_one_run(here: Path) -> None:
    assert judged(check(here, copied(here, shard(here, 1), shard(here, 2))), "pass")["counts"]["scenarios"] == 4


def test_h133_a_shard_alone_never_passes(here: Path) -> None:
    path = copied(here, shard(here, 1))
    refused(check(here, path), "shard 2/2 are missing", "--subset")
    judged(check(here, path, "--subset"), "pass")


@pytest.mark.parametrize("other", [OTHER, CHANGED, NOWHERE])
def test_h133_copies_of_shards_of_two_plans_never_pass(here: Path, other: Checkout) -> None:
    path = copied(here, shard(here, 1), shard(here, 2, other))
    word = "changed files" if other is CHANGED else "different plans"
    refused(check(here, path), word)
    refused(check(here, path, "--subset"), word)


def test_h133_shards_with_different_numbers_of_trials_are_of_two_plans(here: Path) -> None:
    rows = shard(here, 1, trials=3), shard(here, 2, trials=1)
    refused(check(here, copied(here, *rows)), "different plans", "number of trials")
    refused(check(here, "shard-1-2", "shard-2-2"), "different plans", "number of trials")
    refused(check(here, "shard-1-2", "shard-2-2", "--subset"), "different plans")


def test_h133_shards_with_an_equal_number_of_trials_are_one_run(here: Path) -> None:
    rows = shard(here, 1, trials=3), shard(here, 2, trials=3)
    assert judged(check(here, copied(here, *rows)), "pass")["counts"]["trials"] == 12
    judged(check(here, "shard-1-2", "shard-2-2"), "pass")


def test_h133_a_whole_run_beside_a_shard_never_passes(here: Path) -> None:
    rows = [{**row, "id": f"X{row['id']}"} for row in made(here)]
    refused(check(here, copied(here, shard(here, 1), rows)), code="run.mixed")


# --- forms ----------------------------------------------------------------------------------


def table(here: Path, rows: list[dict[str, Any]]) -> str:
    names = [name for name in rows[0] if name != "found"]
    with (here / "copy.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, names, extrasaction="ignore")
        writer.writeheader()
        for row in rows:
            writer.writerow({name: json.dumps(v) if isinstance(v, dict | bool) else v for name, v in row.items()})
    return "copy.csv"


def typed(here: Path, rows: list[dict[str, Any]]) -> str:
    pd.DataFrame(rows).drop(columns=["found"]).to_parquet(here / "copy.parquet")
    return "copy.parquet"


@pytest.mark.parametrize("write", [table, typed, copied])
def test_h133_no_form_of_a_copy_loses_what_it_is_of(here: Path, write: Any) -> None:
    rows = made(here)
    judged(check(here, write(here, rows)), "pass")
    refused(check(here, write(here, rows[1:])), "3 of the 4 rows")


def test_h133_no_frame_loses_what_it_is_of(here: Path) -> None:
    rows = made(here)
    for results in (rows[1:], pd.DataFrame(rows[1:]), pd.json_normalize(rows[1:])):
        with pytest.raises(highbar.InputError, match="3 of the 4 rows"):
            highbar.check(results, POLICY)
    for results in (rows, pd.DataFrame(rows), pd.json_normalize(rows, max_level=0)):
        assert highbar.check(results, POLICY).passed


def test_h133_a_mapping_does_not_lose_what_a_copy_is_of(here: Path) -> None:
    (here / "map.json").write_text(json.dumps({"map": {"columns": {"id": "id", "correct": "correct"}}}), "utf-8")
    refused(check(here, copied(here, made(here)[1:]), "--map", "map.json"), "3 of the 4 rows")


def test_a_column_with_a_similar_name_is_no_misspelling(here: Path) -> None:
    rows = [{"id": "A", "correct": True, "highbar_runs": 3, "highbar_ran": "x"}]
    judged(check(here, copied(here, rows)), "pass")


def test_rows_left_out_by_a_choice_are_there(here: Path) -> None:
    rows = [{**row, "tags": {"half": "a" if place % 2 else "b"}} for place, row in enumerate(made(here))]
    done = check(here, copied(here, rows), "--where", "tags.half=a", "--subset")
    assert " of the 4 rows" not in json.dumps(judged(done, "pass"))
