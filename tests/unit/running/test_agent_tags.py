"""An agent may tag its trials, but what is judged is never chosen by its tags."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import highbar
from highbar.errors import InputError
from highbar.running.calls import Reply
from tests.commandline import judged, refused, run
from tests.recorded_runs import record

RULE = {"thresholds": {"blocking": {"pass_rate": "90%"}}}
ONLY_KEPT = {"rules": [{"metric": "pass_rate", "threshold": ">= 90%", "where": {"tags.keep": "yes"}}]}


def recorded(folder: Path, *, by: str = "trial", untagged: int = 0) -> Path:
    """A run whose agent tags what it did well: trial by trial, or scenario by scenario."""
    scenarios = [
        {
            "id": f"S-{number:02}",
            "category": "happy_path",
            "input": "x",
            "trials": 2,
            "answer": {"contains": "yes"},
            "tags": {"locale": "de" if number < 2 else "en"},
        }
        for number in range(4)
    ]
    suite = {"suite": "s", "agent": {"python": "agent:answer"}, "scenarios": scenarios}
    (folder / "suite.json").write_text(json.dumps(suite))

    def answer(id_: str, trial: int) -> Reply:
        good = trial == 1 if by == "trial" else id_ < "S-02"
        tagged = int(id_.removeprefix("S-")) >= untagged
        return Reply("yes" if good else "no", tags={"keep": "yes" if good else "no"} if tagged else {})

    return record(folder / "run", folder / "suite.json", answer)


def checked(folder: Path, policy: dict[str, Any], *options: str, results: str = "run") -> Any:
    (folder / "policy.json").write_text(json.dumps(policy))
    return run(folder, "check", results, "--policy", "policy.json", "--format", "json", *options)


@pytest.mark.parametrize("by", ["trial", "scenario"])
@pytest.mark.parametrize(
    ("policy", "options"),
    [
        (RULE, ("--where", "tags.keep=yes", "--subset")),
        ({**RULE, "select": {"tags.keep": "yes"}}, ("--subset",)),
        (ONLY_KEPT, ()),
    ],
)
def test_nothing_is_chosen_by_a_tag_of_the_agent(
    tmp_path: Path, by: str, policy: Any, options: tuple[str, ...]
) -> None:
    recorded(tmp_path, by=by)
    refused(checked(tmp_path, policy, *options), "'tags.keep'", "the agent itself gave this tag", "S-00")


def test_one_trial_with_the_tag_is_enough_wherever_it_is(tmp_path: Path) -> None:
    recorded(tmp_path, by="scenario", untagged=3)
    refused(checked(tmp_path, RULE, "--where", "tags.keep=no", "--subset"), "the agent itself gave this tag, in S-03")


def test_a_tag_of_the_suite_can_be_chosen_by(tmp_path: Path) -> None:
    recorded(tmp_path, by="scenario")
    judged(checked(tmp_path, RULE, "--where", "tags.locale=de", "--subset"), "pass")
    judged(checked(tmp_path, RULE, "--where", "tags.locale=en", "--subset"), "fail")


def test_reports_still_group_by_a_tag_of_the_agent(tmp_path: Path) -> None:
    recorded(tmp_path, by="scenario")
    verdict = judged(checked(tmp_path, RULE, "--slice", "tags.keep"), "fail")
    assert any("tags.keep" in json.dumps(part) for part in verdict["slices"])


@pytest.mark.parametrize("form", ["jsonl", "parquet", "flat"])
def test_rows_that_left_their_folder_still_say_which_tags_are_of_the_agent(tmp_path: Path, form: str) -> None:
    rows = [json.loads(line) for line in (recorded(tmp_path) / "results.jsonl").read_text("utf-8").splitlines()]
    if form == "flat":
        for row in rows:
            row |= {f"{column}.keep": row[column]["keep"] for column in ("tags", "agent_tags")}
            del row["tags"], row["agent_tags"]
    name = "copy.parquet" if form == "parquet" else "copy.jsonl"
    if form == "parquet":
        parquet.write_table(pa.Table.from_pylist(rows), tmp_path / name)
    else:
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    refused(checked(tmp_path, RULE, "--where", "tags.keep=yes", results=name), "the agent itself gave this tag")
    with pytest.raises(InputError, match="the agent itself gave this tag"):
        highbar.check(rows, RULE, where={"tags.keep": "yes"})


def test_a_scenario_cannot_say_which_tags_are_of_the_agent(tmp_path: Path) -> None:
    scenario = {"id": "A", "input": "x", "answer": {"contains": "yes"}, "agent_tags": {}}
    (tmp_path / "suite.json").write_text(json.dumps({"scenarios": [scenario]}))
    done = run(tmp_path, "suite", "suite.json")
    assert done.exit == 2
    assert "agent_tags" in done.err
