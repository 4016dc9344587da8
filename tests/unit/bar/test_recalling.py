"""Rules that need memory, end to end: new failures by a test against earlier runs, and drift."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from highbar.errors import InputError
from highbar.policy import read
from tests import recorded_runs
from tests.commandline import run
from tests.repository import git, put

pytestmark = pytest.mark.process  # git says which commits are ancestors
THRESHOLD = "thresholds: { pass_rate: 10% }\n"
NEW = THRESHOLD + "baseline: { file: baseline.json, new_failures: all, history: history }\n"
STRICT = THRESHOLD + "baseline: { file: baseline.json, new_failures: all }\n"
DRIFT = THRESHOLD + "history: { drift: fail }\n"


def rows(failing=(), number=0, scenarios=40, trials=3, text="What is {}?"):
    """Results in which these scenarios fail: in all trials, or, after a colon, in the first so many."""
    fails = {one.partition(":")[0]: int(one.partition(":")[2] or trials) for one in failing}
    return "".join(
        json.dumps(
            {
                "id": f"S{n}",
                "trial": trial,
                "input": text.format(n),
                "passed": trial > fails.get(f"S{n}", 0),
                "output": f"answer {number}",
            }
        )
        + "\n"
        for n in range(scenarios)
        for trial in range(1, trials + 1)
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    for name in ("GITHUB_SHA", "CI_COMMIT_SHA"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def remember(made, folder):
    """Fills the folder with runs that are in its history; the first one that passes is the baseline."""

    def fill(folder, policy, failing_of_runs, **how):
        for number, failing in enumerate(failing_of_runs):
            made(folder, add_run, number, tuple(failing), **how)
        passed = [number for number, failing in enumerate(failing_of_runs) if not failing]
        if passed:
            made(folder, record_run, passed[0], **how)
        put(folder, {"highbar.yaml": policy})

    return fill


def add_run(folder, number, failing, **how):
    """Check a run, and add it to the history. Outside of git its record says nothing about the runs before it."""
    put(folder, {"highbar.yaml": THRESHOLD, f"run-{number}.jsonl": rows(failing, number, **how)})
    at = f"2026-11-{number + 1:02}"
    assert run(folder, "history", "add", f"run-{number}.jsonl", "--time", at, "--quiet").exit == 0


def record_run(folder, number, **how):
    """Record a run in which everything passes as the baseline."""
    put(folder, {"highbar.yaml": THRESHOLD, f"run-{number}.jsonl": rows((), number, **how)})
    assert run(folder, "baseline", "record", f"run-{number}.jsonl").exit == 0


def checked(folder, failing, *arguments, **how):
    put(folder, {"now.jsonl": rows(failing, 99, **how)})
    return run(folder, "check", "now.jsonl", "--format", "json", *arguments)


def judged(folder, failing, name="baseline.new_failures", *arguments, **how):
    return checked(folder, failing, *arguments, **how).rule(name)


FLAKY = [("S1:1",), ("S1:2", "S2:1"), ("S1:1",), ("S3:1",), ("S1:1",), ()]


def test_a_failure_that_earlier_runs_explain_is_not_new_if_they_are_of_the_same_agent(remember, folder):
    remember(folder, NEW, FLAKY)
    found = judged(folder, ["S1:1"])
    assert found["outcome"] == "pass"
    assert "S1 (13 of 18 before)" in found["reason"]
    assert "same agent" in found["reason"]
    put(folder, {"highbar.yaml": STRICT})
    assert judged(folder, ["S1:1"])["outcome"] == "fail"


def test_a_scenario_that_always_passed_and_now_fails_is_new(remember, folder):
    remember(folder, NEW, FLAKY)
    found = judged(folder, ["S7", "S1:1"])
    assert found["outcome"] == "fail"
    assert "1 scenario passed in the baseline and not now: S7; 1 scenario passed" in found["reason"]


FEW = [("S1", "S2"), ("S3", "S4"), ("S5", "S6"), ("S7", "S8"), ("S9", "S10"), ()]


@pytest.mark.parametrize(("failing", "outcome"), [(3, "pass"), (12, "fail")])
def test_more_failures_at_once_than_earlier_runs_explain_fail_though_none_is_new_for_sure(
    remember, folder, failing, outcome
):
    remember(folder, NEW, FEW, trials=1, scenarios=60)
    found = judged(folder, [f"S{n}" for n in range(20, 20 + failing)], trials=1, scenarios=60)
    assert found["outcome"] == outcome
    assert found["reason"].startswith(f"{failing} scenarios passed in the baseline and not now: S20 (6 of 6 before)")
    assert ("too many at once for chance, although earlier runs excuse each of them" in found["reason"]) == (
        outcome == "fail"
    )


@pytest.mark.parametrize("runs", [1, 2, 3, 6])
def test_a_history_without_a_failure_excuses_no_failure_of_one_trial(remember, folder, runs):
    remember(folder, NEW, [()] * runs, trials=1)
    assert judged(folder, ["S7"], trials=1)["outcome"] == "fail"


def test_a_history_that_is_too_short_excuses_nothing_and_says_how_much_is_needed(remember, folder):
    """Others are flaky, so a longer history would excuse it."""
    remember(folder, NEW, [("S1", "S2"), ("S3", "S4"), ()], trials=1)
    found = judged(folder, ["S7"], trials=1)
    assert found["outcome"] == "fail"
    assert "not now: S7; too few earlier trials to excuse a failure: S7 (3 of at least 4)" in found["reason"]
    assert judged(folder, ["S1"], trials=1)["outcome"] == "pass"  # which failed before
    put(folder, {"highbar.yaml": THRESHOLD, "more.jsonl": rows([], 20, trials=1)})
    assert run(folder, "history", "add", "more.jsonl", "--time", "2026-11-10").exit == 0
    put(folder, {"highbar.yaml": NEW})
    assert judged(folder, ["S7"], trials=1)["outcome"] == "pass"


def test_a_scenario_with_another_text_has_no_history(remember, folder):
    remember(folder, NEW, FLAKY)
    assert judged(folder, ["S1:1"], text="Who is {}?")["outcome"] == "fail"


def test_the_run_itself_is_no_part_of_its_history(remember, folder):
    remember(folder, NEW, FLAKY)
    for _ in range(2):
        found = judged(folder, ["S7"], "baseline.new_failures", "--history", "history")
        assert found["outcome"] == "fail"


def repeated(folder, failing, times=4):
    """The outcomes of a job that is run again and again, and adds its runs to the history."""
    for number in range(50, 50 + times):
        put(folder, {"again.jsonl": rows(failing, number)})
        done = run(folder, "check", "again.jsonl", "--format", "json", "--history", "history")
        yield done.rule("baseline.new_failures")["outcome"]


def test_a_job_that_is_run_again_does_not_excuse_its_own_failure(remember, folder):
    remember(folder, NEW, [(), ()])
    assert set(repeated(folder, ["S7:2"])) == {"fail"}


def test_a_missing_history_is_inconclusive_and_never_a_pass(remember, folder):
    remember(folder, NEW + "history: { drift: fail }\n", FLAKY)
    (folder / "history").rename(folder / "elsewhere")
    done = checked(folder, ["S7"])
    for name in ("baseline.new_failures", "history.drift"):
        assert done.rule(name)["outcome"] == "inconclusive", name
        assert "the history" in done.rule(name)["reason"], name


@pytest.mark.slow
def test_a_damaged_record_leaves_open_what_the_rest_explains(remember, folder):
    remember(folder, NEW + "history: { drift: fail }\n", FLAKY)
    (folder / "history" / f"{1:032x}.parquet").write_bytes(b"damaged")
    assert judged(folder, ["S1:1"])["outcome"] == "inconclusive"
    assert judged(folder, ["S7"])["outcome"] == "fail"
    done = checked(folder, [])
    assert done.rule("baseline.new_failures")["outcome"] == "pass"
    assert done.rule("history.drift")["outcome"] == "inconclusive"


def test_a_missing_scenario_fails_whatever_the_history_says(remember, folder):
    remember(folder, NEW, FLAKY)
    assert judged(folder, ["S1:1"], scenarios=39)["outcome"] == "fail"


def falling(runs, step=1):
    return [[f"S{n}" for n in range(number * step)] for number in range(runs)]


def test_drift_fails_a_slow_decline_and_passes_a_steady_agent(remember, folder):
    remember(folder, DRIFT, falling(8), trials=1)
    found = judged(folder, [f"S{n}" for n in range(8)], "history.drift", trials=1)
    assert found["outcome"] == "fail"
    assert "pass less and less often: -2.50 points per run over 9 runs" in found["reason"]


def test_the_run_that_repairs_a_decline_passes_and_half_a_repair_does_not(remember, folder):
    remember(folder, DRIFT, falling(12), trials=1)
    half = judged(folder, [f"S{n}" for n in range(6)], "history.drift", trials=1)
    assert half["outcome"] == "fail"
    found = judged(folder, ["S3"], "history.drift", trials=1)
    assert found["outcome"] == "pass"
    assert "there was a decline, but this run passed as often as before it" in found["reason"]


def test_a_steady_agent_has_no_drift(remember, folder):
    remember(folder, DRIFT, [("S1",), ("S2",), ("S3",), ("S1",)], trials=1)
    found = judged(folder, ["S2"], "history.drift", trials=1)
    assert (found["outcome"], found["level"]) == ("pass", "blocking")


@pytest.mark.parametrize("is_there", [True, False])
def test_the_first_run_is_open_whether_the_folder_is_empty_or_missing_and_the_second_is_not(folder, is_there):
    put(folder, {"highbar.yaml": DRIFT})
    if is_there:
        (folder / "history").mkdir()
    found = judged(folder, [], "history.drift", "--history", "history")
    assert found["outcome"] == "inconclusive"
    assert "--history DIR" in found["reason"]
    put(folder, {"second.jsonl": rows([], 100)})
    assert run(folder, "check", "second.jsonl", "--format", "json").rule("history.drift")["outcome"] == "pass"


def test_scenarios_that_all_have_another_text_have_nothing_to_compare(remember, folder):
    remember(folder, DRIFT, [()])
    found = judged(folder, [], "history.drift", text="Who is {}?")
    assert found["outcome"] == "pass"
    assert "nothing to compare" in found["reason"]


@pytest.mark.slow
def test_a_run_that_was_judged_before_is_compared_only_with_those_before_it(remember, folder):
    remember(folder, DRIFT, [(), (), *falling(8)[1:]], trials=1)
    first, second, last = (
        run(folder, "check", f"run-{number}.jsonl", "--format", "json").rule("history.drift") for number in (0, 1, 8)
    )
    assert first["outcome"] == "inconclusive"
    assert second["outcome"] == "pass"
    assert "over 2 runs" in second["reason"]
    assert "over 9 runs" in last["reason"]


# --- runs of which a fact is not known may hide a decline --------------------------------------


def without_input(text):
    return "".join(json.dumps({**json.loads(line), "input": None}) + "\n" for line in text.splitlines())


def drift_of(folder, file, *arguments):
    return run(folder, "check", file, "--format", "json", *arguments).rule("history.drift")


def test_drift_is_open_if_texts_are_not_known(folder):
    put(folder, {"highbar.yaml": DRIFT})
    for number in range(3):
        put(folder, {f"run-{number}.jsonl": without_input(rows([f"S{number}"], number))})
        assert run(folder, "history", "add", f"run-{number}.jsonl", "--time", f"2026-11-0{number + 1}").exit == 0
    put(folder, {"with.jsonl": rows([], 7), "without.jsonl": without_input(rows([], 8))})
    for name in ("with.jsonl", "without.jsonl"):
        found = drift_of(folder, name)
        assert found["outcome"] == "inconclusive"
        assert "40 scenarios" in found["reason"]


def test_drift_is_open_if_only_verdicts_are_known(folder):
    put(folder, {"highbar.yaml": THRESHOLD, "old.jsonl": rows([], 1), "now.jsonl": rows([], 2)})
    run(folder, "check", "old.jsonl", "--output", "old.json")
    assert run(folder, "history", "add", "old.json").exit == 0
    put(folder, {"highbar.yaml": DRIFT})
    found = drift_of(folder, "now.jsonl")
    assert found["outcome"] == "inconclusive"
    assert "1 run of which only the verdict is known; add their results" in found["reason"]
    put(folder, {"highbar.yaml": THRESHOLD})
    run(folder, "history", "add", "old.jsonl")
    put(folder, {"highbar.yaml": DRIFT})
    assert drift_of(folder, "now.jsonl")["outcome"] == "pass"


@pytest.fixture
def gapped(made, folder):
    """A repository in which every second commit has a run."""
    made(folder / "work", commit_runs)
    return folder / "work"


def commit_runs(work):
    git(work, "init", "--quiet", "--initial-branch=main")
    put(work, {"highbar.yaml": DRIFT, ".gitignore": "*.jsonl\nhistory\n"})
    for number in range(4):
        put(work, {"version": str(number), f"run-{number}.jsonl": rows([f"S{number}"], number)})
        git(work, "add", "--all")
        git(work, "commit", "--quiet", "-m", f"version {number}")
        if number % 2 == 0:
            assert run(work, "history", "add", f"run-{number}.jsonl", "--quiet").exit == 0


def test_drift_is_open_in_a_shallow_clone(gapped, folder):
    assert drift_of(gapped, "run-3.jsonl")["outcome"] == "pass"
    git(folder, "clone", "--quiet", "--depth=1", f"file://{gapped}", "clone")
    (folder / "clone" / "history").symlink_to(gapped / "history")
    found = drift_of(folder / "clone", str(gapped / "run-3.jsonl"))
    assert found["outcome"] == "inconclusive"
    assert "2 runs of commits that this clone does not have; fetch its whole past (fetch-depth: 0)" in found["reason"]


def test_drift_is_open_on_a_line_of_commits_that_has_no_run(gapped):
    git(gapped, "switch", "--quiet", "--orphan", "rewritten")
    put(gapped, {"highbar.yaml": DRIFT})
    git(gapped, "add", "highbar.yaml")
    git(gapped, "commit", "--quiet", "-m", "anew")
    found = drift_of(gapped, "run-3.jsonl", "--history", "history")
    assert found["outcome"] == "inconclusive"
    assert "no earlier run is of this line" in found["reason"]
    put(gapped, {"next.jsonl": rows([], 77)})
    assert drift_of(gapped, "next.jsonl")["outcome"] == "pass"


def test_a_run_of_another_branch_leaves_nothing_open_and_one_without_a_commit_does(gapped, folder):
    put(gapped, {"topic.jsonl": rows([], 50), "bare.jsonl": rows([], 51)})
    run(gapped, "history", "add", "topic.jsonl", "--branch", "topic", "--commit", "a" * 40)
    assert drift_of(gapped, "run-3.jsonl")["outcome"] == "pass"
    put(folder, {"bare.jsonl": rows([], 51), "highbar.yaml": DRIFT})
    assert run(folder, "history", "add", "bare.jsonl", "--to", "work/history").exit == 0
    found = drift_of(gapped, "run-3.jsonl")
    assert found["outcome"] == "inconclusive"
    assert "1 run of which the commit is not known; add them with --commit" in found["reason"]


def test_outside_of_git_runs_of_several_branches_leave_drift_open(remember, folder):
    remember(folder, DRIFT, [(), ()])
    put(folder, {"topic.jsonl": rows([], 50)})
    run(folder, "history", "add", "topic.jsonl", "--branch", "topic")
    assert "several branches" in judged(folder, [], "history.drift")["reason"]


@pytest.mark.slow
def test_a_file_that_all_runs_share_hides_no_drift(folder):
    put(folder, {"highbar.yaml": DRIFT, "shared.jsonl": '{"id": "Z", "passed": true, "input": "z"}\n'})
    for number, failing in enumerate(falling(9)):
        put(folder, {f"run-{number}.jsonl": rows(failing, number, trials=1)})
        found = drift_of(folder, f"run-{number}.jsonl", "shared.jsonl", "--history", "history")
    assert found["outcome"] == "fail"
    assert "over 9 runs" in found["reason"]


# --- runs of another agent ---------------------------------------------------------------------

SUITE = """
agent: {python: agent:answer}
scenarios:
  - {id: A, input: hello, trials: 3, expected_behaviors: {greets: {contains: hi}}}
  - {id: B, input: bye, trials: 3, expected_behaviors: {ends: {contains: bye}}}
"""


def recorded(folder, name, agent, failed=(), seed=None):
    """A run of an agent, in which these trials of A failed."""

    def said(id_, trial):
        return "no" if id_ == "A" and trial in failed else f"hi and bye {name}"

    seed = seed or sum(name.encode())  # with the same one it is the same run, gone on
    recorded_runs.record(folder / name, folder / "suite.yaml", said, agent=f"{agent}:answer", seed=seed)
    return name


@pytest.mark.parametrize(("agent", "expected"), [("one", "pass"), ("another", "fail")])
def test_runs_of_another_agent_do_not_excuse_a_failure(folder, agent, expected):
    put(folder, {"highbar.yaml": THRESHOLD, "suite.yaml": SUITE})
    assert run(folder, "baseline", "record", recorded(folder, "best", "one")).exit == 0
    for number in range(3):
        assert run(folder, "history", "add", recorded(folder, f"run-{number}", agent, [1, 2])).exit == 0
    put(folder, {"highbar.yaml": NEW})
    done = run(folder, "check", recorded(folder, "now", "one", [1]), "--format", "json")
    assert done.rule("baseline.new_failures")["outcome"] == expected


def test_a_run_that_went_on_does_not_excuse_its_own_failure(folder):
    put(folder, {"highbar.yaml": THRESHOLD, "suite.yaml": SUITE})
    assert run(folder, "baseline", "record", recorded(folder, "best", "one")).exit == 0
    for number in range(3):
        assert run(folder, "history", "add", recorded(folder, f"run-{number}", "one", [1, 2], seed=7)).exit == 0
    put(folder, {"highbar.yaml": NEW})
    done = run(folder, "check", recorded(folder, "now", "one", [1], seed=7), "--format", "json")
    assert done.rule("baseline.new_failures")["outcome"] == "fail"


# --- a change cannot excuse its own failures ---------------------------------------------------


@pytest.fixture
def repository(made, folder):
    made(folder, remember_in_git, FLAKY, "*.jsonl\n")
    put(folder, {"highbar.yaml": NEW})
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "the bar")
    return folder


def remember_in_git(folder, failing_of_runs, ignored):
    git(folder, "init", "--quiet", "--initial-branch=main")
    put(folder, {"highbar.yaml": THRESHOLD, ".gitignore": ignored})
    for number, failing in enumerate(failing_of_runs):
        put(folder, {f"run-{number}.jsonl": rows(failing, number), "version": str(number)})
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "-m", f"version {number}")
        assert run(folder, "check", f"run-{number}.jsonl", "--history", "history").exit == 0
        if not failing:
            assert run(folder, "baseline", "record", f"run-{number}.jsonl").exit == 0


def change(folder, number, failing):
    """A change whose run was added to the history, which the change has in its commit."""
    put(folder, {f"run-{number}.jsonl": rows(failing, number), "version": str(number)})
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", f"change {number}")
    run(folder, "check", f"run-{number}.jsonl", "--history", "history")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", f"its run {number}")


@pytest.mark.slow
def test_against_a_ref_only_runs_before_the_change_explain_a_failure(repository):
    git(repository, "switch", "--quiet", "-c", "change")
    for number in range(10, 16):
        change(repository, number, ["S7"])
    alone = judged(repository, ["S7"])
    found = judged(repository, ["S7"], "baseline.new_failures", "--against-ref", "main")
    assert alone["outcome"] == "pass"  # what --against-ref is for
    assert found["outcome"] == "fail"
    assert judged(repository, ["S1:1"], "baseline.new_failures", "--against-ref", "main")["outcome"] == "pass"


@pytest.mark.slow
@pytest.mark.parametrize("is_changed", [False, True])
def test_neither_runs_of_the_same_commit_nor_of_a_changed_tree_excuse_a_failure(repository, is_changed):
    if is_changed:
        put(repository, {"version": "changed"})
    assert set(repeated(repository, ["S7:2"])) == {"fail"}
    if is_changed:
        git(repository, "commit", "--quiet", "--all", "-m", "the change")
        assert set(repeated(repository, ["S7:2"], times=1)) == {"fail"}


def test_a_change_that_adds_a_history_is_judged_without_it_and_listed(repository):
    put(repository, {"highbar.yaml": STRICT})
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "-m", "strict")
    git(repository, "switch", "--quiet", "-c", "change")
    put(repository, {"highbar.yaml": NEW, "now.jsonl": rows(["S1:1"], 99)})
    done = run(repository, "check", "now.jsonl", "--format", "json", "--against-ref", "main")
    assert done.exit == 1
    assert done.rule("main:baseline.new_failures")["outcome"] == "fail"
    assert [one["what"] for one in done.json["against"]["weakened"]] == ["highbar.yaml"]


def test_a_history_above_the_policy_is_beside_the_repository_and_not_beside_the_copy(folder, monkeypatch):
    inside, copies = folder / "inside", folder / "copies"
    for one in (inside, copies):
        one.mkdir()
    monkeypatch.setenv("TMPDIR", str(copies))
    monkeypatch.setattr("tempfile.tempdir", None)
    remember_in_git(inside, [(), ("S7:2",), ("S7:2",), ("S7:2",), ()], "*.jsonl\nhistory/\n")
    put(inside, {"highbar.yaml": NEW.replace("history: history", "history: ../history")})
    git(inside, "add", "--all")
    git(inside, "commit", "--quiet", "-m", "the bar")
    git(inside, "switch", "--quiet", "-c", "change")
    git(inside, "commit", "--quiet", "--allow-empty", "-m", "the change")
    (inside / "history").rename(copies / "history")
    assert judged(inside, ["S7:2"], "baseline.new_failures", "--against-ref", "main")["outcome"] == "inconclusive"
    (copies / "history").rename(folder / "history")
    assert judged(inside, ["S7:2"], "baseline.new_failures", "--against-ref", "main")["outcome"] == "pass"


# --- the policy -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code", "place", "named"),
    [
        ("history: { folder: history }\n", "policy.missing-key", (2, 10), "drift"),
        ("history: { drift: maybe }\n", "policy.wrong-type", (2, 19), "'maybe'"),
        (
            "baseline: { file: b.json, margin: { accuracy: 1% }, history: h }\n",
            "policy.no-effect",
            (2, 62),
            "new_failures",
        ),
        (
            "baseline: { file: b.json, new_failures: all, history: h }\nhistory: { drift: warn }\n",
            "policy.conflict",
            (3, 10),
            "baseline",
        ),
    ],
)
def test_a_block_that_says_nothing_is_refused(text, code, place, named):
    with pytest.raises(InputError) as caught:
        read(Path("highbar.yaml"), (THRESHOLD + text).encode())
    (problem,) = caught.value.problems
    assert (problem.code, (problem.line, problem.column)) == (code, place)
    assert named in problem.message
