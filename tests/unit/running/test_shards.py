"""`--shard K/N`: each scenario is in one shard, and all shards together are judged as the whole run would be."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import highbar
from highbar.running.order import choose_scenarios, shard_of
from highbar.store.run_document import Chosen
from highbar.suite import read_values
from tests.commandline import Run, judged, refused, run
from tests.runs.projects import Project, python_project, scenarios

AGENT = """
def answer(said):
    return "no" if said == "S3" else "yes"
"""
SHARDS = 3


@given(st.lists(st.text(max_size=20), unique=True, max_size=30), st.integers(1, 12))
def test_every_id_is_in_one_shard_whatever_the_others_are(ids: list[str], count: int) -> None:
    shards = [[id_ for id_ in ids if shard_of(id_, count) == number] for number in range(1, count + 1)]
    assert sorted(id_ for shard in shards for id_ in shard) == sorted(ids)


def test_the_shard_of_an_id_is_the_same_everywhere_and_forever() -> None:
    assert [shard_of(f"S{number}", 5) for number in range(8)] == [2, 5, 1, 4, 2, 2, 3, 2]


def test_shards_are_about_equally_large() -> None:
    numbers = [shard_of(f"S-{number}", 4) for number in range(4000)]
    assert all(900 < numbers.count(number) < 1100 for number in range(1, 5))


@given(st.lists(st.integers(0, 999), unique=True, min_size=1, max_size=20), st.integers(1, 6))
def test_the_shards_of_a_suite_are_the_suite(numbers: list[int], count: int) -> None:
    suite = read_values([{"id": f"S{number}", "input": "?", "answer": "yes"} for number in numbers])
    shards = [choose_scenarios(suite, Chosen(shard=(number, count))) for number in range(1, count + 1)]
    assert sorted(id_ for shard in shards for id_ in shard) == sorted(suite.scenarios)


def test_a_limit_counts_before_the_shards() -> None:
    suite = read_values([{"id": f"S{number}", "input": "?", "answer": "yes"} for number in range(20)])
    both = [choose_scenarios(suite, Chosen(limit=5, shard=(number, 2))) for number in (1, 2)]
    assert sorted((*both[0], *both[1])) == [f"S{number}" for number in range(5)]


@pytest.mark.parametrize("text", ["0/3", "4/3", "2", "1/0", "-1/2", "1/3/4", "a/b", "", "1 /2", "１/2"])
def test_what_is_no_shard_is_refused(tmp_path: Path, text: str) -> None:
    done = run(tmp_path, "run", "--shard", text)
    assert done.exit == 2
    assert done.codes == ["option.bad-value"]
    assert "K/N" in done.err


def test_shards_run_from_python_are_judged_together(tmp_path: Path) -> None:
    suite = [{"id": f"S{number}", "input": f"S{number}", "answer": "yes"} for number in range(7)]
    policy = {"thresholds": {"blocking": {"accuracy": "50%"}}}
    parts = [
        highbar.run(suite, lambda _: "yes", shard=f"{number}/2", output=tmp_path / f"part-{number}")
        for number in (1, 2)
    ]
    ids = [scenario["id"] for scenario in suite]
    for number, part in enumerate(parts, 1):
        assert [row["id"] for row in part.rows] == [id_ for id_ in ids if shard_of(id_, 2) == number]
    assert highbar.check([part.folder for part in parts], policy).counts.scenarios == 7
    with pytest.raises(highbar.InputError, match="shard 2 of 2 is missing"):
        highbar.check(parts[0].folder, policy)


@pytest.mark.parametrize("shard", ["3/2", "1", "", 1, (1, 2)])
def test_what_is_no_shard_is_refused_in_python_too(tmp_path: Path, shard: Any) -> None:
    scenario = {"id": "A", "input": "?", "answer": "yes"}
    with pytest.raises(highbar.InputError, match="wanted K/N"):
        highbar.run([scenario], lambda _: "yes", shard=shard, output=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with a whole run, and its shards; nothing falls to one of those in eight."""
    project = python_project(tmp_path_factory.mktemp("sharded"), AGENT, scenarios(7))
    whole = project.run()
    assert whole.exit == 1, whole.err
    for count in (SHARDS, 8):
        for number in range(1, count + 1):
            done = project.run("--shard", f"{number}/{count}", "--no-check", name=f"s{number}of{count}")
            assert done.exit == 0, done.err
    return project


def names(count: int = SHARDS) -> list[str]:
    return [f"s{number}of{count}" for number in range(1, count + 1)]


def check(project: Project, *arguments: str) -> Run:
    return run(project.folder, "check", *arguments, "--format", "json")


def essence(verdict: dict[str, Any]) -> dict[str, Any]:
    """What a verdict says that does not depend on how long the agent took."""
    metrics = {name: value for name, value in verdict["metrics"].items() if "latency" not in name}
    return {
        "metrics": metrics,
        **{name: verdict[name] for name in ("verdict", "rules", "scenarios", "trials") if name in verdict},
    }


@pytest.mark.process
@pytest.mark.parametrize("count", [SHARDS, 8])
def test_all_shards_together_are_judged_as_the_whole_run(sharded: Project, count: int) -> None:
    whole = judged(check(sharded, "out"), "fail")
    together = judged(check(sharded, *names(count)), "fail")
    assert essence(together) == essence(whole)
    assert not [note for note in together["warnings"] if "filtered" in note or "part" in note]


@pytest.mark.process
def test_a_shard_with_nothing_in_it_is_a_finished_run_without_rows(sharded: Project) -> None:
    empty = [name for name in names(8) if not (sharded.folder / name / "results.jsonl").read_bytes()]
    assert empty
    document = sharded.document(empty[0])
    assert (document["state"], document["whole"], document["planned"]) == (
        "complete", False, {"scenarios": 0, "trials": 0},
    )  # fmt: skip
    assert document["chosen"]["shard"] == {"number": int(empty[0][1]), "of": 8}
    resumed = run(sharded.folder, "run", "--resume", empty[0], "--no-check")
    assert resumed.exit == 0, resumed.err
    refused(check(sharded, *(name for name in names(8) if name != empty[0])), f"shard {empty[0][1]} of 8 is missing")


@pytest.mark.process
def test_a_pattern_names_all_shards(sharded: Project) -> None:
    assert judged(check(sharded, "s?of3"), "fail")["verdict"] == "fail"


@pytest.mark.process
@pytest.mark.hazard("H53")
def test_a_missing_shard_is_named(sharded: Project) -> None:
    refused(check(sharded, "s1of3", "s3of3"), "shard 2 of 3 is missing")
    refused(check(sharded, "s2of3/results.jsonl"), "shards 1, 3 of 3 are missing", "--subset")


@pytest.mark.process
@pytest.mark.hazard("H53")
def test_a_doubled_shard_is_named(sharded: Project) -> None:
    copy = sharded.folder / "copy"
    shutil.copytree(sharded.folder / "s2of3", copy)
    refused(check(sharded, *names(), "copy"), "shard 2 of 3 is named twice", "copy")
    refused(check(sharded, "s1of3", "s2of3", "copy"), "shard 2 of 3 is named twice", "shard 3 of 3 is missing")
    shutil.rmtree(copy)


@pytest.mark.process
@pytest.mark.hazard("H53")
@pytest.mark.parametrize("other", ["out", "rows.jsonl", "s1of8"])
def test_what_does_not_belong_to_the_shards_is_refused(sharded: Project, other: str) -> None:
    (sharded.folder / "rows.jsonl").write_text('{"id": "S9", "passed": true}\n')
    refused(check(sharded, *names(), other), "a shard of 8" if other == "s1of8" else "not a shard")


def changed(project: Project, name: str, **parts: dict[str, Any]) -> str:
    """A copy of a shard whose run.json says something else."""
    copy = project.folder / "changed"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(project.folder / name, copy)
    document = json.loads((copy / "run.json").read_text())
    for part, keys in parts.items():
        document[part] |= keys
    (copy / "run.json").write_text(json.dumps(document))
    return "changed"


@pytest.mark.process
@pytest.mark.hazard("H53")
@pytest.mark.parametrize(
    ("parts", "said", "code"),
    [
        ({"suite": {"digest": "0" * 64}}, "another suite", "run.shards-differ"),
        ({"agent": {"settings": "0" * 64}}, "another agent", "run.shards-differ"),
        ({"agent": {"target": "other:answer"}}, "another agent", "run.shards-differ"),
        ({"chosen": {"limit": 3}}, "filtered", "run.partial"),
        ({"chosen": {"only": ["S1"]}}, "filtered", "run.partial"),
        ({"chosen": {"category": ["x"]}}, "filtered", "run.partial"),
    ],
)
def test_a_foreign_shard_is_refused(sharded: Project, parts: dict[str, Any], said: str, code: str) -> None:
    done = check(sharded, "s1of3", changed(sharded, "s2of3", **parts), "s3of3")
    refused(done, said, "changed", code=code)


@pytest.mark.process
def test_two_versions_of_the_agent_are_refused(sharded: Project) -> None:
    one, two = (changed(sharded, "s1of3", agent={"version": "1"}), "two")
    shutil.rmtree(sharded.folder / two, ignore_errors=True)
    (sharded.folder / one).rename(sharded.folder / two)
    other = changed(sharded, "s2of3", agent={"version": "2"})
    done = check(sharded, two, other, "s3of3")
    refused(done, code="run.shards-differ")
    (problem,) = done.json["problems"]
    assert sorted(problem["message"].rpartition(": ")[2].split(" and ")) == ["1", "2"]


@pytest.mark.process
def test_a_shard_that_was_interrupted_is_refused(sharded: Project) -> None:
    copy = sharded.folder / "killed"
    shutil.copytree(sharded.folder / "s2of3", copy)
    (copy / "run.json").unlink()
    done = check(sharded, "s1of3", "killed", "s3of3")
    refused(done)
    problems = {problem["code"]: problem["file"] for problem in done.json["problems"]}
    assert problems == {"run.unfinished": "killed", "run.shards-differ": "killed/results.jsonl"}
    shutil.rmtree(copy)


@pytest.mark.process
def test_a_shard_alone_is_judged_as_a_part(sharded: Project) -> None:
    name = f"s{shard_of('S3', SHARDS)}of3"
    done = check(sharded, name, "--subset")
    assert done.exit == 1
    assert any("filtered run" in note and "--shard" in note for note in done.json["warnings"])


@pytest.mark.process
def test_shards_are_graded_again_together(sharded: Project) -> None:
    done = run(sharded.folder, "grade", *names(), "-o", "new.jsonl")
    assert done.exit == 0, done.err

    def known(path: Path) -> list[dict[str, Any]]:
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        return [{k: value for k, value in row.items() if k not in ("latency_ms", "highbar_run")} for row in rows]

    assert known(sharded.folder / "new.jsonl") == known(sharded.folder / "out" / "results.jsonl")
