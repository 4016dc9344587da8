"""Rules that need memory, end to end: new failures by a test against earlier runs, and drift."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from highbar.policy import read
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
                "latency_ms": number + 1,
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


def remember(folder, policy, failing_of_runs, **how):
    """Check the runs one after the other, and add each to the history; the last one that passes is the baseline."""
    put(folder, {"highbar.yaml": THRESHOLD})
    for number, failing in enumerate(failing_of_runs):
        put(folder, {f"run-{number}.jsonl": rows(failing, number, **how)})
        at = f"2026-11-{number + 1:02}"
        assert run(folder, "history", "add", f"run-{number}.jsonl", "--time", at, "--quiet").exit == 0
        if not failing:
            assert run(folder, "baseline", "record", f"run-{number}.jsonl").exit == 0
    put(folder, {"highbar.yaml": policy})


def judged(folder, failing, name="baseline.new_failures", *arguments, **how):
    put(folder, {"now.jsonl": rows(failing, 99, **how)})
    return run(folder, "check", "now.jsonl", "--format", "json", *arguments).rule(name)


FLAKY = [("S1:1",), ("S1:2", "S2:1"), ("S1:1",), ("S3:1",), ("S1:1",), ()]


def test_a_failure_that_earlier_runs_explain_is_not_new(folder):
    remember(folder, NEW, FLAKY)
    found = judged(folder, ["S1:1"])
    assert found["outcome"] == "pass"
    assert "S1 (13 of 18 before), which their earlier runs do not rule out" in found["reason"]
    put(folder, {"highbar.yaml": STRICT})
    assert judged(folder, ["S1:1"])["outcome"] == "fail"


def test_a_scenario_that_always_passed_and_now_fails_is_new(folder):
    remember(folder, NEW, FLAKY)
    found = judged(folder, ["S7", "S1:1"])
    assert found["outcome"] == "fail"
    assert "1 scenario passed in the baseline and not now: S7; 1 scenario passed" in found["reason"]


def test_a_scenario_with_another_text_has_no_history(folder):
    remember(folder, NEW, FLAKY)
    assert judged(folder, ["S1:1"], text="Who is {}?")["outcome"] == "fail"


def test_the_run_itself_is_no_part_of_its_history(folder):
    remember(folder, NEW, FLAKY)
    for _ in range(2):
        found = judged(folder, ["S7"], "baseline.new_failures", "--history", "history")
        assert found["outcome"] == "fail"


@pytest.mark.parametrize("name", ["baseline.new_failures", "history.drift"])
def test_a_missing_history_is_inconclusive_and_never_a_pass(folder, name):
    remember(folder, NEW + "history: { drift: fail }\n", FLAKY)
    (folder / "history").rename(folder / "elsewhere")
    found = judged(folder, ["S7"], name)
    assert found["outcome"] == "inconclusive"
    assert "the history" in found["reason"]


def test_a_damaged_record_leaves_open_what_the_rest_explains(folder):
    remember(folder, NEW + "history: { drift: fail }\n", FLAKY)
    (folder / "history" / f"{1:032x}.parquet").write_bytes(b"damaged")
    assert judged(folder, ["S1:1"])["outcome"] == "inconclusive"
    assert judged(folder, ["S7"])["outcome"] == "fail"
    assert judged(folder, [])["outcome"] == "pass"
    assert judged(folder, [], "history.drift")["outcome"] == "inconclusive"


def test_a_missing_scenario_fails_whatever_the_history_says(folder):
    remember(folder, NEW, FLAKY)
    assert judged(folder, ["S1:1"], scenarios=39)["outcome"] == "fail"


def falling(runs, step=1):
    return [[f"S{n}" for n in range(number * step)] for number in range(runs)]


def test_drift_fails_a_slow_decline_and_passes_a_steady_agent(folder):
    remember(folder, DRIFT, falling(8), trials=1)
    found = judged(folder, [f"S{n}" for n in range(8)], "history.drift", trials=1)
    assert found["outcome"] == "fail"
    assert "pass less and less often: -2.50 points per run over 9 runs" in found["reason"]


def test_a_steady_agent_has_no_drift(folder):
    remember(folder, DRIFT, [("S1",), ("S2",), ("S3",), ("S1",)], trials=1)
    found = judged(folder, ["S2"], "history.drift", trials=1)
    assert (found["outcome"], found["level"]) == ("pass", "blocking")


def test_the_first_run_has_nothing_to_compare(folder):
    put(folder, {"highbar.yaml": DRIFT.replace("fail", "warn")})
    (folder / "history").mkdir()
    found = judged(folder, [], "history.drift")
    assert (found["outcome"], found["level"]) == ("pass", "warning")
    assert "nothing to compare" in found["reason"]


# --- a change cannot excuse its own failures ---------------------------------------------------


@pytest.fixture
def repository(folder):
    git(folder, "init", "--quiet", "--initial-branch=main")
    put(folder, {".gitignore": "*.jsonl\n"})
    remember_in_git(folder, FLAKY)
    put(folder, {"highbar.yaml": NEW})
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "the bar")
    return folder


def remember_in_git(folder, failing_of_runs):
    put(folder, {"highbar.yaml": THRESHOLD})
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


def test_against_a_ref_only_runs_before_the_change_explain_a_failure(repository):
    git(repository, "switch", "--quiet", "-c", "change")
    for number in range(10, 16):
        change(repository, number, ["S7"])
    alone = judged(repository, ["S7"])
    found = judged(repository, ["S7"], "baseline.new_failures", "--against-ref", "main")
    assert alone["outcome"] == "pass"  # what --against-ref is for
    assert found["outcome"] == "fail"
    assert judged(repository, ["S1:1"], "baseline.new_failures", "--against-ref", "main")["outcome"] == "pass"


def test_a_change_that_adds_a_history_is_judged_without_it_and_listed(repository):
    put(repository, {"highbar.yaml": STRICT})
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "-m", "strict")
    git(repository, "switch", "--quiet", "-c", "change")
    put(repository, {"highbar.yaml": NEW, "now.jsonl": rows(["S1:1"], 99)})
    done = run(repository, "check", "now.jsonl", "--format", "json", "--against-ref", "main")
    assert done.exit == 1
    assert done.rule("main:baseline.new_failures")["outcome"] == "fail"
    assert [one["what"] for one in done.json["against"]["weakened"]] == ["baseline.new_failures"]


def test_a_history_above_the_policy_is_beside_the_repository_and_not_beside_the_copy(folder, monkeypatch):
    inside, copies = folder / "inside", folder / "copies"
    for one in (inside, copies):
        one.mkdir()
    monkeypatch.setenv("TMPDIR", str(copies))
    monkeypatch.setattr("tempfile.tempdir", None)
    git(inside, "init", "--quiet", "--initial-branch=main")
    put(inside, {".gitignore": "*.jsonl\nhistory/\n"})
    remember_in_git(inside, [(), ("S7:2",), ("S7:2",), ("S7:2",), ()])
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
    ("text", "said"),
    [
        ("history: { folder: history }\n", "no drift"),
        ("history: { drift: maybe }\n", "maybe"),
        ("baseline: { file: b.json, margin: { accuracy: 1% }, history: h }\n", "no effect without new_failures"),
        ("baseline: { file: b.json, new_failures: all, history: h }\nhistory: { drift: warn }\n", "another history"),
    ],
)
def test_a_block_that_says_nothing_is_refused(text, said):
    from highbar.errors import InputError

    with pytest.raises(InputError, match=said):
        read(Path("highbar.yaml"), (THRESHOLD + text).encode())
