"""Group F, at a git ref: whatever a change can choose, the answers are judged as the ref, as it stands, would do."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from highbar.running.calls import Reply
from highbar.running.records import TrialEnded, TurnEnd
from tests.commandline import Run, judged, refused, run
from tests.recorded_runs import Answers, record
from tests.repository import commit, git, put, rows

pytestmark = pytest.mark.process

STRICT = {"thresholds": {"blocking": {"pass_rate": "100%"}}}
LOOSE = {"thresholds": {"blocking": {"pass_rate": "10%"}}}
HIGH = {"thresholds": {"blocking": {"pass_rate": "90%"}}}


def asks(id_: str, wanted: str, **more: Any) -> dict[str, Any]:
    """A scenario whose answer must contain a text."""
    return {"id": id_, "input": "?", "answer": {"contains": wanted}, **more}


HARD = {"suite": "library", "scenarios": [asks("A", "yes"), asks("B", "yes")]}
EASY = {"suite": "library", "scenarios": [asks("A", "no"), asks("B", "no")]}


def against(folder: Path, *arguments: str, results: str = "results.jsonl") -> Run:
    return run(folder, "check", results, "--against-ref", "main", "--format", "json", *arguments)


def ran(folder: Path, suite: str, answers: Answers = lambda *_: "no", **how: Any) -> Path:
    """A run of the suite at that path, each answer of which is `no`."""
    return record(folder / "runs" / "one", folder / suite, answers, in_repository=suite, **how)


def held(folder: Path, *arguments: str, results: str = "runs/one", verdict: str = "fail") -> dict[str, Any]:
    """The verdict of answers that pass by the change, and by the ref come to this."""
    assert run(folder, "check", results, *arguments).exit == 0
    found = judged(against(folder, *arguments, results=results), verdict)
    assert found["against"]["verdict"] == verdict
    return found


# --- H147: links ------------------------------------------------------------------------------


def linked(folder: Path, name: str, to: str) -> None:
    shutil.rmtree(folder / name)
    (folder / name).symlink_to(to)


@pytest.mark.parametrize("committed", [False, True])
def test_h147_the_folder_of_the_policy_became_a_link_to_another_one_of_main(tmp_path: Path, committed: bool) -> None:
    commit(tmp_path, {"release/highbar.json": STRICT, "demo/highbar.json": LOOSE})
    git(tmp_path, "checkout", "--quiet", "-b", "change")
    linked(tmp_path, "release", "demo")
    put(tmp_path, {"results.jsonl": rows(True, False)})
    if committed:
        commit(tmp_path, {})
    held(tmp_path, "--policy", "release/highbar.json", results="results.jsonl")


@pytest.mark.parametrize("named", [True, False], ids=["by-the-policy", "by-the-run"])
def test_h147_the_folder_of_the_suite_became_a_link_to_another_one_of_main(tmp_path: Path, named: bool) -> None:
    policy = {**STRICT, "suite": "evals/suite.json"} if named else STRICT
    commit(tmp_path, {"highbar.json": policy, "evals/suite.json": HARD, "demo/suite.json": EASY})
    linked(tmp_path, "evals", "demo")
    ran(tmp_path, "evals/suite.json")
    held(tmp_path)


def test_h147_the_working_folder_became_a_link_to_another_one_of_main(tmp_path: Path) -> None:
    commit(tmp_path, {"agents/a/highbar.json": STRICT, "agents/b/highbar.json": LOOSE})
    linked(tmp_path, "agents/a", "b")
    put(tmp_path, {"agents/b/results.jsonl": rows(True, False)})
    # Not by `run`, which makes its folder the root of a repository.
    command = [sys.executable, "-m", "highbar", "check", "results.jsonl", "--against-ref", "main", "--format", "json"]
    done = subprocess.run(command, cwd=tmp_path / "agents" / "a", capture_output=True, check=False, text=True)
    assert done.returncode == 3, done.stderr
    reason = json.loads(done.stdout)["rules"][-1]["reason"]
    assert reason == "a link leads to the working folder: agents/a → b"


def test_h147_the_folder_in_which_a_run_began_became_a_link_to_another_one_of_main(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": STRICT, "agents/a/suite.json": HARD, "agents/b/suite.json": EASY})
    linked(tmp_path, "agents/a", "b")
    ran(tmp_path, "agents/b/suite.json")  # as a command in agents/a records it
    held(tmp_path, verdict="inconclusive")


def test_h147_a_link_of_main_itself_is_not_followed_either(tmp_path: Path) -> None:
    commit(tmp_path, {"demo/highbar.json": LOOSE})
    (tmp_path / "release").symlink_to("demo")
    commit(tmp_path, {"results.jsonl": rows(True, True)})
    refused(against(tmp_path, "--policy", "release/highbar.json"), "release", "at main", code="ref.not-a-file")
    judged(against(tmp_path, "--policy", "demo/highbar.json"), "pass")


# --- H149: scenarios that a change adds -------------------------------------------------------

TRIVIAL = [asks(f"NEW-{n}", "no") for n in range(100)]
HALVES = {"scenarios": [asks("A", "yes"), asks("B", "no")]}


@pytest.mark.parametrize("named", [True, False], ids=["by-the-policy", "by-the-run"])
@pytest.mark.parametrize("copied", [False, True], ids=["folder", "copy"])
def test_h149_a_hundred_trivial_scenarios_raise_no_rate(tmp_path: Path, named: bool, copied: bool) -> None:
    policy = {**HIGH, "suite": "suite.json"} if named else HIGH
    commit(tmp_path, {"highbar.json": policy, "suite.json": HALVES})
    put(tmp_path, {"suite.json": {"scenarios": [*HALVES["scenarios"], *TRIVIAL]}})
    folder = ran(tmp_path, "suite.json")
    if not copied:
        found = held(tmp_path)
        assert found["counts"]["scenarios"] == 102
        assert any("not in main:suite.json, so judged by this change alone: NEW-0" in one for one in found["warnings"])
        return
    shutil.copy(folder / "results.jsonl", tmp_path / "results.jsonl")
    # Where the suite of the run was is not in its rows.
    held(tmp_path, results="results.jsonl", verdict="fail" if named else "inconclusive")


def test_h149_nor_in_the_rows_of_another_tool(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": {**HIGH, "suite": "suite.json"}, "suite.json": ["S0", "S1"]})
    put(tmp_path, {"suite.json": [f"S{n}" for n in range(100)], "results.jsonl": rows(False, *[True] * 99)})
    found = held(tmp_path, results="results.jsonl")
    assert [one["scenarios"] for one in found["rules"] if one["rule"].endswith("pass_rate")] == [100, 2]


def test_h149_a_harmless_change_passes(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": {**HIGH, "suite": "suite.json"}, "suite.json": EASY})
    put(tmp_path, {"suite.json": {**EASY, "scenarios": [*EASY["scenarios"], asks("C", "no")]}})
    folder = ran(tmp_path, "suite.json")
    judged(against(tmp_path, results="runs/one"), "pass")
    shutil.copy(folder / "results.jsonl", tmp_path / "results.jsonl")
    judged(against(tmp_path), "pass")


def test_h149_what_main_asks_and_the_run_did_not_is_undecided(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": HIGH, "suite.json": {"scenarios": [asks("A", "yes"), asks("B", "no", trials=3)]}})
    put(tmp_path, {"suite.json": {"scenarios": [asks("B", "no")]}})
    ran(tmp_path, "suite.json")
    held(tmp_path, verdict="inconclusive")


@pytest.mark.parametrize("copied", [False, True], ids=["folder", "copy"])
def test_h149_another_question_has_no_answer_there(tmp_path: Path, copied: bool) -> None:
    commit(tmp_path, {"highbar.json": {**HIGH, "suite": "suite.json"}, "suite.json": EASY})
    put(tmp_path, {"suite.json": {"scenarios": [asks("A", "no") | {"input": "Easier?"}, asks("B", "no")]}})
    folder = ran(tmp_path, "suite.json")
    shutil.copy(folder / "results.jsonl", tmp_path / "results.jsonl")
    held(tmp_path, results="results.jsonl" if copied else "runs/one", verdict="inconclusive")


# --- H150, H152: which suite grades -----------------------------------------------------------


def test_h150_the_policy_names_another_suite_that_main_has(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": {**STRICT, "suite": "hard.json"}, "hard.json": HARD, "easy.json": EASY})
    put(tmp_path, {"highbar.json": {**STRICT, "suite": "easy.json"}})
    ran(tmp_path, "easy.json")
    held(tmp_path)


def test_h152_a_renamed_suite_grades_nothing(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": STRICT, "suite.json": HARD})
    git(tmp_path, "mv", "suite.json", "renamed.json")
    put(tmp_path, {"renamed.json": EASY})
    ran(tmp_path, "renamed.json")
    found = held(tmp_path, verdict="inconclusive")
    assert "main has no renamed.json, by which the run was graded" in found["rules"][-1]["reason"]
    # If the policy of main names it, it grades wherever it lies now.
    (tmp_path / "other").mkdir()
    commit(tmp_path / "other", {"highbar.json": {**STRICT, "suite": "suite.json"}, "suite.json": HARD})
    put(tmp_path / "other", {"highbar.json": {**STRICT, "suite": "renamed.json"}, "renamed.json": EASY})
    ran(tmp_path / "other", "renamed.json")
    held(tmp_path / "other")


def test_h152_the_tail_of_a_path_is_no_place_in_the_repository(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    commit(tmp_path / "here", {"highbar.json": STRICT, "evals/suite.json": EASY})
    put(tmp_path / "there", {"evals/suite.json": EASY})
    record(tmp_path / "here" / "runs" / "one", tmp_path / "there" / "evals" / "suite.json", lambda *_: "no")
    held(tmp_path / "here", verdict="inconclusive")


def test_h150_a_folder_that_became_a_repository_of_its_own_has_no_other_suite_of_main(tmp_path: Path) -> None:
    agent = "def answer(text): return 'no'\n"
    commit(tmp_path, {".gitignore": "runs\n", "highbar.json": STRICT, "suite.json": EASY, "agent.py": agent})
    (tmp_path / "evals").mkdir()
    commit(tmp_path / "evals", {"suite.json": EASY, "agent.py": agent})
    command = [sys.executable, "-m", "highbar", "run", "suite.json", "--agent", "python:agent:answer", "--no-check"]
    ran_there = [*command, "--output", str(tmp_path / "runs" / "one")]
    subprocess.run(ran_there, cwd=tmp_path / "evals", capture_output=True, check=True)
    held(tmp_path, verdict="inconclusive")
    shutil.rmtree(tmp_path / "runs")
    subprocess.run(ran_there, cwd=tmp_path, capture_output=True, check=True)
    judged(against(tmp_path, results="runs/one"), "pass")


@pytest.mark.parametrize("late", [True, False])
def test_h152_an_answer_later_than_by_main_is_an_error_there(tmp_path: Path, late: bool) -> None:
    policy = {"thresholds": {"blocking": {"error_rate": "0%"}}, "suite": "suite.json"}
    suite = {"scenarios": [asks("A", "no")], "defaults": {"timeout": "1s"}}
    commit(tmp_path, {"highbar.json": policy, "suite.json": suite})
    put(tmp_path, {"suite.json": {**suite, "defaults": {"timeout": "30s"}}})
    turn = TurnEnd(Reply("no"), 2000.0 if late else 1000.0)
    ran(tmp_path, "suite.json", lambda id_, trial: TrialEnded(id_, trial, "", "answered", (turn,)))
    if late:
        held(tmp_path)
    else:
        judged(against(tmp_path, results="runs/one"), "pass")


@pytest.mark.parametrize("run_of", [True, False], ids=["run", "rows"])
def test_h94_a_change_that_renames_all_scenarios_can_be_accepted(tmp_path: Path, run_of: bool) -> None:
    commit(tmp_path, {"highbar.json": {**HIGH, "suite": "suite.json"}, "suite.json": EASY if run_of else ["A"]})
    renamed = {"scenarios": [asks("C", "no")]} if run_of else ["S0"]
    put(tmp_path, {"suite.json": renamed, "results.jsonl": rows(True)})
    results = "results.jsonl"
    if run_of:
        ran(tmp_path, "suite.json")
        results = "runs/one"
    found = held(tmp_path, results=results, verdict="inconclusive")["against"]
    judged(against(tmp_path, "--accept-change", found["digest"], results=results), "pass")


# --- H153, H154: the version that selects a step ----------------------------------------------

STEPS = {"progressive": {"pass_rate": {"v1.0": "≥ 50%", "v2.0": "≥ 90%"}}}
HALF_RIGHT = [{"id": f"S{n}", "passed": n < 6} for n in range(10)]


def of_version(version: str) -> str:
    return "".join(json.dumps({**row, "agent_version": version}) + "\n" for row in HALF_RIGHT)


def test_h154_a_reply_that_names_an_older_version_takes_no_lower_step(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": STEPS})
    put(tmp_path, {"results.jsonl": of_version("1.0")})
    held(tmp_path, results="results.jsonl")
    held(tmp_path, "--agent-version", "1.0", results="results.jsonl")


@pytest.mark.parametrize("before", ["policy", "suite"])
def test_h153_a_change_that_names_an_older_version_takes_no_lower_step(tmp_path: Path, before: str) -> None:
    suite = {**HALVES, "agent": {"python": "agent:answer", "version": "2.0"}}
    policy = {**STEPS, "suite": "suite.json"}
    older = {**policy, "agent_version": "1.0"}
    commit(
        tmp_path,
        {"highbar.json": {**policy, "agent_version": "2.0"} if before == "policy" else policy, "suite.json": suite},
    )
    put(tmp_path, {"suite.json": {**suite, "agent": {**suite["agent"], "version": "1.0"}}, "highbar.json": older})
    ran(tmp_path, "suite.json")
    held(tmp_path)


def test_h153_the_version_that_main_selects_takes_its_step(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": {**STEPS, "agent_version": "1.0"}})
    put(tmp_path, {"results.jsonl": of_version("1.0")})
    judged(against(tmp_path), "pass")
    # A higher one raises the bar.
    put(tmp_path, {"results.jsonl": of_version("1.0")})
    assert judged(against(tmp_path, "--agent-version", "2.0"), "fail")["against"]["verdict"] == "fail"


# --- what is in no git object of this clone ---------------------------------------------------


def pointer(content: bytes) -> str:
    digest = hashlib.sha256(content).hexdigest()
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {len(content)}\n"


def test_h147_a_file_that_was_not_fetched_is_refused_with_the_command_that_fetches_it(tmp_path: Path) -> None:
    strict = json.dumps(STRICT).encode()
    commit(tmp_path, {"highbar.json": pointer(strict)})
    put(tmp_path, {"highbar.json": LOOSE, "results.jsonl": rows(True, False)})
    refused(against(tmp_path), "main:highbar.json", "git lfs fetch origin main", code="file.git-lfs")
    digest = hashlib.sha256(strict).hexdigest()
    stored = tmp_path / ".git" / "lfs" / "objects" / digest[:2] / digest[2:4] / digest
    stored.parent.mkdir(parents=True)
    stored.write_bytes(strict)
    held(tmp_path, results="results.jsonl")
    stored.write_bytes(json.dumps(LOOSE).encode())
    refused(against(tmp_path), "main:highbar.json", code="file.git-lfs")


def test_h147_a_missing_blob_is_refused_with_the_command_that_fetches_it(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": STRICT})
    blob = git(tmp_path, "rev-parse", "HEAD:highbar.json").strip()
    put(tmp_path, {"highbar.json": LOOSE, "results.jsonl": rows(True, True)})
    (tmp_path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    refused(
        against(tmp_path), "main:highbar.json", "git fetch --refetch --no-filter origin main", code="ref.not-fetched"
    )


def test_h147_a_suite_in_a_submodule_is_read_at_its_commit_or_refused(tmp_path: Path) -> None:
    (tmp_path / "suites").mkdir()
    commit(tmp_path / "suites", {"suite.json": ["S0", "S1"]})
    root = tmp_path / "root"
    root.mkdir()
    commit(root, {"highbar.json": {**LOOSE, "suite": "evals/suite.json"}})
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "suites"), "evals")
    commit(root, {})
    put(root, {"evals/suite.json": ["S0"], "results.jsonl": rows(True)})
    held(root, results="results.jsonl")
    git(root, "submodule", "--quiet", "deinit", "--force", "evals")
    put(root, {"evals/suite.json": ["S0"]})
    refused(against(root), "is in the submodule evals", "git submodule update --init evals")


def test_h147_what_the_pipeline_has_from_elsewhere_is_taken_as_it_is_and_listed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    commit(root, {"highbar.json": {**LOOSE, "baseline": {"file": "base.json", "margin": {"pass_rate": "1%"}}}})
    put(tmp_path, {"elsewhere/results.jsonl": rows(*[True] * 100, *[False] * 100)})
    for name, count in (("low", 100), ("high", 200)):
        put(tmp_path, {f"{name}.jsonl": rows(*[True] * count, *[False] * (200 - count))})
        done = run(root, "baseline", "record", f"../{name}.jsonl", "--output", f"../{name}.json")
        assert done.exit == 0, done.err
    results = "../elsewhere/results.jsonl"
    verdict = judged(against(root, "--baseline", "../low.json", results=results), "pass")
    listed = "main: taken as it is, from outside of the repository: ../elsewhere/results.jsonl, ../low.json"
    assert listed in verdict["warnings"]
    judged(against(root, "--baseline", "../high.json", results=results), "fail")


# --- a change of the bar on purpose -----------------------------------------------------------


def accepted(folder: Path, digest: str, *arguments: str) -> Run:
    return against(folder, "--accept-change", digest, *arguments)


def lowered(folder: Path) -> str:
    """A change that lowers the bar, answers that pass by it alone, and the digest of the difference."""
    commit(folder, {"highbar.json": STRICT})
    put(folder, {"highbar.json": LOOSE, "results.jsonl": rows(True, False)})
    return str(held(folder, results="results.jsonl")["against"]["digest"])


def test_h94_what_somebody_accepted_is_advice_and_the_headline_says_so(tmp_path: Path) -> None:
    digest = lowered(tmp_path)
    done = accepted(tmp_path, digest, "--strict")
    verdict = judged(done, "pass")
    assert (verdict["against"]["verdict"], verdict["against"]["accepted"]) == ("fail", True)
    held_there = done.rule("main:thresholds.blocking.pass_rate")
    assert (held_there["outcome"], held_there["level"]) == ("fail", "warning")
    text = run(tmp_path, "check", "results.jsonl", "--against-ref", "main", "--accept-change", digest).out
    assert "what differs from the bar of the ref was accepted, by which it is fail" in " ".join(text.split("\n")[:2])
    # It opens no other door: the bar of the change itself holds.
    put(tmp_path, {"results.jsonl": rows(*[False] * 20)})
    judged(accepted(tmp_path, digest), "fail")


@pytest.mark.parametrize("more", ["other-policy", "another-file", "link", "suite"])
def test_h94_only_exactly_that_difference_is_accepted(tmp_path: Path, more: str) -> None:
    digest = lowered(tmp_path)
    changed: dict[str, dict[str, Any]] = {
        "other-policy": {"highbar.json": {"thresholds": {"blocking": {"pass_rate": "9%"}}}},
        "another-file": {"highbar.json": {**LOOSE, "suite": "ids.json"}, "ids.json": ["S0", "S1"]},
        "link": {"easy.json": LOOSE},
        "suite": {"highbar.json": json.dumps(LOOSE) + "\n"},
    }
    put(tmp_path, changed[more])
    if more == "link":
        (tmp_path / "highbar.json").unlink()
        (tmp_path / "highbar.json").symlink_to("easy.json")
    done = accepted(tmp_path, digest)
    refused(done, "something else differs from main, so nothing is accepted")
    assert "highbar check" not in done.problems


@pytest.mark.parametrize("digest", ["", "x", "0" * 31, "0" * 33, "A" * 32, "$(touch pwned)"])
def test_h94_no_other_digest_accepts_anything(tmp_path: Path, digest: str) -> None:
    right = lowered(tmp_path)
    done = accepted(tmp_path, digest)
    refused(done, "--accept-change")
    assert right not in done.out + done.err
    assert run(tmp_path, "check", "results.jsonl", "--accept-change", right).exit == 2


def test_h94_the_digest_of_something_else_is_answered_with_what_differs_now(tmp_path: Path) -> None:
    right = lowered(tmp_path)
    done = accepted(tmp_path, "0" * 32)
    refused(done, "something else differs", f"now it is highbar.json (digest {right})")


RUDE, ANY = "def polite(a): return 'yes' in str(a)\n", "def polite(a): return True\n"


def calls(**agent: Any) -> dict[str, Any]:
    return {"suite": "library", "scenarios": [{"id": "A", "input": "?", "answer": {"python": "rules:polite"}}], **agent}


@pytest.mark.parametrize("how", ["check", "judge", "copied"])
def test_h94_the_code_of_either_side_is_part_of_what_is_accepted(tmp_path: Path, how: str) -> None:
    both = how == "copied"
    before = calls() if both else {"suite": "library", "scenarios": [asks("A", "yes")]}
    commit(tmp_path, {".gitignore": "runs\n__pycache__\nresults.jsonl\n", "highbar.json": HIGH})
    commit(tmp_path, {"suite.json": before, "rules.py": RUDE if both else "", "notes": "Main.\n"})
    git(tmp_path, "checkout", "--quiet", "-b", "change")
    judge = {"scenarios": [{"id": "A", "input": "?", "answer": {"judge": "It is polite."}}]}
    after = calls() if how != "judge" else {"suite": "library", "judge": {"python": "rules:judge"}, **judge}
    commit(tmp_path, {"suite.json": after, "rules.py": ANY})
    folder = ran(tmp_path, "suite.json", functions=how != "judge")
    shutil.copy(folder / "results.jsonl", tmp_path / "results.jsonl")
    results = "results.jsonl" if both else "runs/one"
    against_main = against(tmp_path, results=results).json["against"]
    listed = {each["what"] for each in against_main["weakened"]}
    assert "rules.py" in listed
    assert "+def polite(a): return True" in against_main["difference"]
    assert against(tmp_path, "--accept-change", against_main["digest"], results=results).exit != 2
    commit(tmp_path, {"rules.py": ANY + "# and more\n"})
    refused(against(tmp_path, "--accept-change", against_main["digest"], results=results), "something else differs")


def test_h94_a_submodule_is_accepted_by_its_commit(tmp_path: Path) -> None:
    root, other = tmp_path / "root", tmp_path / "other"
    root.mkdir()
    other.mkdir()
    commit(other, {"rules.py": RUDE})
    commit(root, {".gitignore": "runs\n", "highbar.json": HIGH, "suite.json": {"scenarios": [asks("A", "yes")]}})
    git(root, "checkout", "--quiet", "-b", "change")
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "sub")
    judge = {"python": "rules:judge"}
    commit(
        root, {"suite.json": {"judge": judge, "scenarios": [{"id": "A", "input": "?", "answer": {"judge": "Fine"}}]}}
    )
    ran(root, "suite.json")
    first = against(root, results="runs/one").json["against"]
    assert f"+Subproject commit {git(root / 'sub', 'rev-parse', 'HEAD').strip()}" in first["difference"]
    commit(root / "sub", {"rules.py": ANY}, branch="x")
    second = against(root, results="runs/one").json["against"]
    assert second["digest"] != first["digest"]
    git(root, "add", "sub")
    assert against(root, results="runs/one").json["against"]["digest"] == second["digest"]


def test_h94_what_only_a_checkout_alters_does_not_differ(tmp_path: Path) -> None:
    files = {".gitattributes": "*.json text eol=crlf\n*.big filter=pad\n", "highbar.json": "{\n" + json.dumps(HIGH)[1:]}
    commit(tmp_path, {**files, "suite.json": json.dumps(calls(), indent=1) + "\n", "rules.py": RUDE})
    git(tmp_path, "rm", "--quiet", "--cached", "highbar.json")
    git(tmp_path, "reset", "--quiet", "--hard")
    assert b"\r\n" in (tmp_path / "highbar.json").read_bytes()
    git(tmp_path, "update-index", "--skip-worktree", "rules.py")
    (tmp_path / "rules.py").unlink()
    put(tmp_path, {"results.jsonl": rows(True)})
    assert judged(against(tmp_path), "pass")["against"]["digest"] is None
    # But a change of the attributes is one: it alters what is checked out.
    put(tmp_path, {".gitattributes": "*.json text eol=lf\n"})
    assert ".gitattributes" in judged(against(tmp_path), "pass")["against"]["difference"]


def test_h94_a_flood_of_harmless_lines_hides_no_policy(tmp_path: Path) -> None:
    commit(
        tmp_path, {"highbar.yaml": "thresholds: { blocking: { pass_rate: 90% } }\nsuite: a.yaml\n", "a.yaml": "- S0\n"}
    )
    put(tmp_path, {"highbar.yaml": "thresholds: { blocking: { pass_rate: 10% } }\nsuite: a.yaml\n"})
    put(tmp_path, {"a.yaml": "# harmless\n" * 2500 + "- S0\n", "results.jsonl": rows(True)})
    text = run(tmp_path, "check", "results.jsonl", "--against-ref", "main").out
    assert text.index("highbar.yaml: changed") < text.index("a.yaml: changed") < text.index("pass_rate: 10%")


def test_h94_a_long_line_is_shown_where_it_differs(tmp_path: Path) -> None:
    many = [asks(f"S{n}", "no") for n in range(20)]
    commit(tmp_path, {"highbar.json": {**HIGH, "suite": "suite.json"}, "suite.json": {"scenarios": many}})
    put(tmp_path, {"suite.json": {"scenarios": [*many[:-1], many[-1] | {"input": "Why?"}]}})
    ran(tmp_path, "suite.json")
    found = against(tmp_path, results="runs/one").json["against"]["difference"].split("\n")
    assert [line[0] for line in found if '"id": "S19", "input":' in line] == ["-", "+"]
    assert [line for line in found if "Why?" in line] != []
    assert max(map(len, found)) <= 78


def test_h94_the_name_of_a_file_forges_no_line(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": {**HIGH, "suite": "suite.json"}, "suite.json": calls()})
    git(tmp_path, "checkout", "--quiet", "-b", "change")
    commit(tmp_path, {"rules.py": ANY, "a\n\nPASS: all demands are met": "x\n"})
    ran(tmp_path, "suite.json", functions=True)
    found = against(tmp_path, results="runs/one").json["against"]["difference"]
    assert "a\\n\\nPASS: all demands are met: changed" in found.split("\n")


def test_h94_nothing_to_accept_is_no_acceptance(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": STRICT})
    put(tmp_path, {"results.jsonl": rows(True, True)})
    refused(accepted(tmp_path, "0" * 32), "nothing differs from main")


def test_h94_doubts_are_part_of_what_is_accepted(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": STRICT})
    put(tmp_path, {"new.json": EASY})
    ran(tmp_path, "new.json")
    digest = held(tmp_path, verdict="inconclusive")["against"]["digest"]
    again = against(tmp_path, "--accept-change", digest, results="runs/one")
    assert judged(again, "pass")["against"]["verdict"] == "inconclusive"
    # The same answers in a run of another name, as the next pipeline has it.
    shutil.move(tmp_path / "runs" / "one", tmp_path / "runs" / "two")
    judged(against(tmp_path, "--accept-change", digest, results="runs/two"), "pass")
    put(tmp_path, {"new.json": HARD})
    shutil.rmtree(tmp_path / "runs")
    ran(tmp_path, "new.json", lambda *_: "yes")
    refused(against(tmp_path, "--accept-change", digest, results="runs/one"), "something else differs")
