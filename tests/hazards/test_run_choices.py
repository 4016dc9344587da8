"""What somebody could choose about a run: its order (H155), the commits of its shards (H156), its policy (H157)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import highbar
from highbar.load.checkout import Checkout
from highbar.model import Source
from highbar.running.order import permutation, shard_of
from tests.commandline import Run, judged, refused, run
from tests.recorded_runs import NOWHERE, record
from tests.repository import ENVIRONMENT, commit, git
from tests.runs.projects import Project, python_project, scenarios

IDS = tuple(f"S{place}" for place in range(60))
SEQUENTIAL = {"evidence": "sequential", "thresholds": {"blocking": {"pass_rate": "≥ 85%"}}}
RULE = "thresholds.blocking.pass_rate"


def project(here: Path, policy: dict[str, Any] = SEQUENTIAL, ids: Sequence[str] = IDS) -> None:
    (here / "suite.json").write_text(json.dumps([{"id": i, "input": "?", "answer": "yes"} for i in ids]), "utf-8")
    (here / "highbar.json").write_text(json.dumps(policy), "utf-8")


def good_first(id_: str, _: int) -> str:
    """70 % of the answers are right, and under seed 1 all of them come first: an order that somebody looked for."""
    return "yes" if permutation(IDS, 1).index(id_) < 42 else "no"


def check(here: Path, *arguments: str, **keys: Any) -> Run:
    return run(here, "check", *arguments, "--format", "json", **keys)


# --- the order ------------------------------------------------------------------------------


@pytest.mark.hazard("H155")
def test_h155_a_chosen_seed_stops_no_run_early(tmp_path: Path) -> None:
    project(tmp_path)
    record(tmp_path / "run", tmp_path / "suite.json", good_first, seed=1, seed_from="option")
    done = check(tmp_path, "run")
    assert judged(done, "fail")["sequential"]["seed"] is None
    assert "leave --seed out" in done.rule(RULE)["reason"]


@pytest.mark.hazard("H155")
def test_h155_an_order_that_nobody_chose_still_decides(tmp_path: Path) -> None:
    project(tmp_path)
    record(tmp_path / "run", tmp_path / "suite.json", good_first, seed=1)
    assert judged(check(tmp_path, "run"), "pass")["sequential"]["seed"] == 1, "by luck, of which there is 5 %"


@pytest.mark.hazard("H155")
@pytest.mark.parametrize(("options", "where"), [((), "fresh"), (("--seed", "7"), "option")])
@pytest.mark.process
def test_h155_a_run_records_where_its_seed_is_from(tmp_path: Path, options: Sequence[str], where: str) -> None:
    made = python_project(tmp_path, "def answer(said):\n    return 'yes'\n", scenarios(3))
    assert made.run(*options).exit == 0
    assert made.document()["order"]["seed_from"] == where


@pytest.mark.hazard("H155")
def test_h155_a_document_does_not_make_a_seed_fresh(tmp_path: Path) -> None:
    project(tmp_path)
    folder = record(tmp_path / "run", tmp_path / "suite.json", good_first, seed=1, seed_from="option")
    text = (folder / "run.json").read_text("utf-8")
    (folder / "run.json").write_text(text.replace('"option"', '"fresh"'), "utf-8")
    refused(check(tmp_path, "run"), "the order of the scenarios is not the one")


@pytest.mark.hazard("H155")
@pytest.mark.process
def test_h155_until_decided_does_not_stop_on_a_chosen_order(tmp_path: Path) -> None:
    good = [id_ for id_ in IDS if good_first(id_, 1) == "yes"]
    agent = f"GOOD = {good}\ndef answer(said):\n    return 'yes' if said in GOOD else 'no'\n"
    made = python_project(tmp_path, agent, scenarios(60), run={"concurrency": 1})
    (tmp_path / "highbar.yaml").write_text(json.dumps(SEQUENTIAL), "utf-8")
    judged(made.run("--until-decided", "--seed", "1"), "fail")


@pytest.mark.hazard("H155")
def test_h155_shards_have_no_common_order(tmp_path: Path) -> None:
    project(tmp_path)
    for number in (1, 2):
        ids = [id_ for id_ in IDS if shard_of(id_, 2) == number]
        record(tmp_path / f"s{number}", tmp_path / "suite.json", good_first, shard=(number, 2), chosen_ids=ids)
    done = check(tmp_path, "s1", "s2")
    judged(done, "fail")
    assert "shards have no common order" in done.rule(RULE)["reason"]


@pytest.mark.process
@pytest.mark.hazard("H155")
@pytest.mark.parametrize(
    ("there", "here", "arguments", "verdict"),
    [
        (1, 1, ("--against-ref", "main"), "pass"),
        (1, 1, (), "fail"),
        (2, 1, ("--against-ref", "main"), "fail"),
        (None, 1, ("--against-ref", "main"), "fail"),
    ],
)
def test_h155_a_seed_of_the_policy_counts_only_if_the_ref_has_the_same(
    tmp_path: Path, there: int | None, here: int, arguments: Sequence[str], verdict: str
) -> None:
    suite = json.dumps([{"id": id_, "input": "?", "answer": "yes"} for id_ in IDS])
    seeded = SEQUENTIAL | ({} if there is None else {"seed": there})
    commit(tmp_path, {"highbar.json": seeded, "suite.json": suite})
    git(tmp_path, "checkout", "-q", "-b", "change")
    (tmp_path / "highbar.json").write_text(json.dumps({**SEQUENTIAL, "seed": here}), "utf-8")
    record(tmp_path / "run", tmp_path / "suite.json", good_first, seed=1, seed_from="policy")
    judged(check(tmp_path, "run", *arguments, environment=ENVIRONMENT), verdict)


@pytest.mark.process
def test_the_seed_of_the_policy_is_that_of_its_runs(tmp_path: Path) -> None:
    made = python_project(tmp_path, "def answer(said):\n    return 'yes'\n", scenarios(3))
    (tmp_path / "highbar.yaml").write_text(json.dumps({**SEQUENTIAL, "seed": 7}), "utf-8")
    made.run()
    assert made.document()["order"] == {**made.document()["order"], "seed": 7, "seed_from": "policy"}


def test_a_seed_without_a_sequential_rule_is_refused(tmp_path: Path) -> None:
    project(tmp_path, {"seed": 1, "thresholds": {"pass_rate": "1%"}})
    (tmp_path / "rows.jsonl").write_text('{"id": "A", "passed": true}\n', "utf-8")
    refused(check(tmp_path, "rows.jsonl"), "seed", "sequential", code="policy.no-effect")


# --- shards ---------------------------------------------------------------------------------

ONE, OTHER = Checkout("1" * 40, changed=False), Checkout("2" * 40, changed=False)
CHANGED = Checkout("1" * 40, changed=True)
HALF = {"thresholds": {"blocking": {"pass_rate": "≥ 50%"}}}


def shards(here: Path, *checkouts: Checkout, policies: Sequence[Source | None] = (None, None)) -> list[str]:
    project(here, HALF, IDS[:8])
    for number, (checkout, policy) in enumerate(zip(checkouts, policies, strict=True), 1):
        ids = [id_ for id_ in IDS[:8] if shard_of(id_, 2) == number]
        record(
            here / f"s{number}", here / "suite.json", lambda _id, _trial: "yes",
            shard=(number, 2), chosen_ids=ids, checkout=checkout, policy=policy,
        )  # fmt: skip
    return ["s1", "s2"]


@pytest.mark.hazard("H156")
@pytest.mark.parametrize("subset", [(), ("--subset",)])
@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (ONE, OTHER, ("1111111111", "2222222222")),
        (ONE, NOWHERE, ("1111111111", "unknown")),
        (NOWHERE, ONE, ("two commits",)),
        (CHANGED, CHANGED, ("s1", "differ from")),
        (ONE, CHANGED, ("s2", "differ from")),
    ],
)
def test_h156_shards_of_two_commits_never_pass(
    tmp_path: Path, first: Checkout, second: Checkout, said: Sequence[str], subset: Sequence[str]
) -> None:
    refused(check(tmp_path, *shards(tmp_path, first, second), *subset), *said, code="run.shards-differ")


@pytest.mark.hazard("H156")
def test_h156_shards_under_two_policies_never_pass(tmp_path: Path) -> None:
    policies = (Source("a.yaml", "1" * 64), Source("a.yaml", "2" * 64))
    refused(check(tmp_path, *shards(tmp_path, ONE, ONE, policies=policies)), "under two policies")


@pytest.mark.hazard("H156")
def test_h156_shards_of_one_commit_are_judged_and_of_no_known_one_with_a_note(tmp_path: Path) -> None:
    known = judged(check(tmp_path, *shards(tmp_path, ONE, ONE)), "pass")
    assert "commit" not in json.dumps(known["warnings"])
    (tmp_path / "b").mkdir()
    unknown = judged(check(tmp_path / "b", *shards(tmp_path / "b", NOWHERE, NOWHERE)), "pass")
    assert "its commit is not known" in json.dumps(unknown["warnings"])


@pytest.mark.hazard("H156")
def test_h156_a_missing_shard_never_passes(tmp_path: Path) -> None:
    shards(tmp_path, ONE, ONE)
    refused(check(tmp_path, "s1"), "shard 2 of 2 is missing")
    judged(check(tmp_path, "s1", "--subset"), "pass")


@pytest.mark.process
@pytest.mark.hazard("H156")
def test_h156_a_run_resumed_at_another_commit_is_of_no_plan(tmp_path: Path) -> None:
    made = python_project(tmp_path, "def answer(said):\n    return 'yes'\n", scenarios(3))
    commit(tmp_path, {"highbar.yaml": (tmp_path / "highbar.yaml").read_text("utf-8")})
    made.run(environment=ENVIRONMENT)
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "next")
    made.resume(environment=ENVIRONMENT)
    assert (made.document()["commit"], made.document()["changed"]) == (None, True)
    assert {row["highbar_run"]["plan"] for row in made.rows()} == {None}


# --- what the agent rewrites ----------------------------------------------------------------


def rewriting(here: Path, **files: str) -> Project:
    """An agent that is wrong about everything, and rewrites files while it runs."""
    writes = "".join(f"    (here / {name!r}).write_text({text!r})\n" for name, text in files.items())
    agent = f"from pathlib import Path\nhere = Path(__file__).parent\n\ndef answer(said):\n{writes}    return 'no'\n"
    return python_project(here, agent, scenarios(4))


EASY = "thresholds: { blocking: { pass_rate: 0% } }\n"


@pytest.mark.hazard("H157")
@pytest.mark.process
def test_h157_an_agent_that_rewrites_the_policy_never_passes(tmp_path: Path) -> None:
    made = rewriting(tmp_path, **{"highbar.yaml": EASY})
    judged(made.run(), "fail")
    assert (tmp_path / "highbar.yaml").read_text("utf-8") == EASY


@pytest.mark.hazard("H157")
@pytest.mark.process
def test_h157_an_agent_that_writes_a_nearer_policy_never_passes(tmp_path: Path) -> None:
    made = rewriting(tmp_path, **{"highbar.json": EASY})
    (tmp_path / "release.yaml").write_text((tmp_path / "highbar.yaml").read_text("utf-8"), "utf-8")
    (tmp_path / "highbar.yaml").unlink()
    judged(made.run("--policy", "release.yaml"), "fail")


@pytest.mark.hazard("H157")
@pytest.mark.process
def test_h157_an_agent_that_rewrites_the_suite_never_passes(tmp_path: Path) -> None:
    easy = json.dumps(
        {"agent": {"python": "agent:answer"}, "scenarios": [{**one, "answer": "no"} for one in scenarios(4)]}
    )
    made = rewriting(tmp_path, **{"suite.json": easy})
    judged(made.run(), "fail")


@pytest.mark.hazard("H157")
@pytest.mark.process
def test_h157_an_agent_that_rewrites_the_function_of_a_check_never_passes(tmp_path: Path) -> None:
    made = rewriting(tmp_path, **{"rules.py": "def good(answer):\n    return True\n"})
    (tmp_path / "rules.py").write_text("def good(answer):\n    return False\n", "utf-8")
    checked = [{"id": f"S{n}", "input": "?", "answer": {"python": "rules:good"}} for n in range(3)]
    made.write_suite({"python": "agent:answer"}, checked)
    refused(made.run(), "a file of the checks", code="run.files-changed")


@pytest.mark.hazard("H157")
@pytest.mark.process
def test_h157_an_agent_that_rewrites_the_baseline_never_passes(tmp_path: Path) -> None:
    made = rewriting(tmp_path, **{"baseline.json": "{}"})
    rows = "".join(json.dumps({"id": f"S{n}", "correct": True}) + "\n" for n in range(4))
    (tmp_path / "good.jsonl").write_text(rows, "utf-8")
    assert run(tmp_path, "baseline", "record", "good.jsonl", "--output", "baseline.json").exit == 0
    (tmp_path / "highbar.yaml").write_text("baseline: { file: baseline.json, margin: { accuracy: 0% } }\n", "utf-8")
    refused(made.run(), "baseline.json", code="run.files-changed")


@pytest.mark.hazard("H157")
def test_h157_python_reads_the_policy_before_the_agent_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    policy = tmp_path / "highbar.yaml"
    policy.write_text("thresholds: { pass_rate: 100% }\n", "utf-8")

    def answer(_: str) -> str:
        policy.write_text(EASY, "utf-8")
        return "no"

    suite = [{"id": "A", "input": "?", "answer": "yes"}]
    assert highbar.run(suite, answer, output="one").verdict.verdict == "fail"
    assert highbar.run(suite, answer, policy="highbar.yaml", output="two").verdict.verdict == "pass"


@pytest.mark.hazard("H157")
@pytest.mark.process
def test_h157_a_run_records_its_policy_and_check_never_reads_one_from_the_folder(tmp_path: Path) -> None:
    made = python_project(tmp_path, "def answer(said):\n    return 'no'\n", scenarios(4))
    made.run()
    recorded = made.document()["policy"]
    assert recorded["policy"] == "highbar.yaml"
    assert len(recorded["sha256"]) == 64
    (tmp_path / "out" / "highbar.yaml").write_text(EASY, "utf-8")
    (tmp_path / "highbar.yaml").rename(tmp_path / "elsewhere.yaml")
    done = made.check()
    assert done.exit == 2
    refused(done, "highbar check out --policy highbar.yaml")
