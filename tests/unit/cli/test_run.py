"""`highbar run` through the command line: from a suite and an agent to a run folder, a verdict and an exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import highbar
from tests.architecture.repository import ROOT
from tests.commandline import run
from tests.faulty_server import closed_port
from tests.repository import commit

pytestmark = pytest.mark.process  # agents run in a process of their own

AGENT = """\
def answer(said):
    if "crash" in said:
        raise ValueError("out of order")
    return "hello " + said

async def later(said):
    return answer(said)
"""
SUITE = {
    "suite": "greetings",
    "agent": {"python": "greeter:answer"},
    "scenarios": [
        {"id": "B", "category": "happy_path", "input": "Bea", "answer": {"contains": "hello Bea"}},
        {"id": "A", "category": "happy_path", "input": "Al", "expected_behaviors": {"greets": {"contains": "hello"}}},
        {"id": "S", "category": "adversarial", "input": "Sue", "must_not": {"swears": {"contains": "damn"}}},
    ],
}
POLICY = "suite: suite.json\nthresholds: { blocking: { pass_rate: 100%, accuracy: 100% } }\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "greeter.py").write_text(AGENT, "utf-8")
    (tmp_path / "highbar.yaml").write_text(POLICY, "utf-8")
    write_suite(tmp_path)
    return tmp_path


def write_suite(folder: Path, **changes) -> None:
    (folder / "suite.json").write_text(json.dumps({**SUITE, **changes}), "utf-8")


def rows(folder: Path, name: str = "out") -> list[dict]:
    return [json.loads(line) for line in (folder / name / "results.jsonl").read_text("utf-8").splitlines()]


def document(folder: Path, name: str = "out") -> dict:
    return json.loads((folder / name / "run.json").read_text("utf-8"))


def test_a_run_ends_with_the_verdict_of_the_policy(folder):
    done = run(folder, "run", "suite.json", "--output", "out")
    assert (done.exit, done.out.splitlines()[0].partition(":")[0]) == (0, "PASS"), done.err
    assert [(row["id"], row["trial"]) for row in rows(folder)] == [("B", 1), ("A", 1), ("S", 1)]
    assert document(folder)["state"] == "complete"
    assert run(folder, "check", "out").exit == 0


def test_the_suite_is_suite_yaml_unless_another_is_named(folder):
    refused = run(folder, "run")
    assert refused.exit == 2
    assert "highbar init --agent" in refused.err
    (folder / "suite.json").rename(folder / "suite.yaml")
    (folder / "highbar.yaml").write_text(POLICY.replace("suite.json", "suite.yaml"), "utf-8")
    assert run(folder, "run", "--output", "out").exit == 0


def test_github_is_told_once_that_nothing_could_be_judged(folder):
    (folder / "highbar.yaml").write_text(f"{POLICY}baseline: {{ file: b.json, margin: {{ accuracy: 1% }} }}\n", "utf-8")
    (folder / "b.json").write_text("damaged", "utf-8")
    step = {name: str(folder / name) for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    done = run(folder, "run", "suite.json", "--output", "out", "--github", environment=step)
    assert done.exit == 2
    assert done.err.count("::error") == 1, done.err
    assert (folder / "GITHUB_STEP_SUMMARY").read_text("utf-8").count("NO VERDICT") == 1
    assert (folder / "GITHUB_OUTPUT").read_text("utf-8").count("verdict=none") == 1


def test_without_a_policy_the_folder_is_written_and_nothing_is_judged(folder):
    (folder / "highbar.yaml").unlink()
    done = run(folder, "run", "suite.json", "--output", "out")
    assert done.exit == 2
    assert "NO POLICY" in done.out
    assert len(rows(folder)) == 3


def test_a_broken_policy_is_refused_before_the_first_call(folder):
    (folder / "highbar.yaml").write_text("thresholds: { blocking: { acuracy: 90% } }\n", "utf-8")
    done = run(folder, "run", "suite.json", "--output", "out")
    assert done.exit == 2
    assert "acuracy" in done.err
    assert not (folder / "out").exists()


def test_a_policy_with_another_suite_is_refused_before_the_first_call(folder):
    other = {**SUITE, "scenarios": [{"id": "B", "input": "Bea", "answer": {"contains": "goodbye"}}]}
    (folder / "other.json").write_text(json.dumps(other), "utf-8")
    done = run(folder, "run", "other.json", "--output", "out")
    assert done.exit == 2
    assert "the policy judges by another suite" in done.err
    assert not (folder / "out").exists()


@pytest.mark.hazard("H114")
@pytest.mark.parametrize(
    "agent", [{"http": "http://127.0.0.1:9/", "key": "CANARY-1"}, {"http": "http://me:CANARY-1@127.0.0.1:9/"}]
)
def test_a_secret_in_a_suite_is_refused_and_not_shown(folder, agent):
    (folder / "suite.json").write_text(json.dumps({**SUITE, "agent": agent}, indent=1), "utf-8")
    done = run(folder, "run", "suite.json", "--output", "out")
    assert done.exit == 2
    assert "does not belong in a file" in done.err
    assert "CANARY" not in done.err + done.out


def test_no_check_only_runs(folder):
    (folder / "highbar.yaml").unlink()
    done = run(folder, "run", "suite.json", "--output", "out", "--no-check")
    assert (done.exit, done.out) == (0, "")
    budget = [*SUITE["scenarios"], {"id": "C", "input": "crash", "answer": "x"}]
    write_suite(folder, scenarios=budget)
    assert run(folder, "run", "suite.json", "--output", "two", "--no-check").exit == 0  # an error is an outcome
    stopped = run(
        folder, "run", "suite.json", "--output", "three", "--no-check", "--budget", "$1", "--concurrency", "1"
    )
    assert stopped.exit == 3, "an answer without a cost ends a run with a budget, and what was not run is undecided"


def test_an_error_of_the_agent_fails_its_trial(folder):
    write_suite(folder, scenarios=[*SUITE["scenarios"], {"id": "C", "input": "crash", "answer": {"contains": "x"}}])
    done = run(folder, "run", "suite.json", "--output", "out", "--format", "json")
    assert done.exit == 1
    assert done.json["counts"]["errors"] == 1
    assert rows(folder)[-1]["error"] == "ValueError: out of order (greeter.py:3)"


def test_an_agent_on_the_command_line_replaces_that_of_the_suite(folder):
    write_suite(folder, agent={"http": "http://127.0.0.1:9/"})
    assert run(folder, "run", "suite.json", "--agent", "python:greeter:later", "--output", "out").exit == 0
    assert document(folder)["agent"]["target"] == "greeter:later"


def test_options_replace_settings_of_the_suite(folder):
    arguments = ("--trials", "3", "--concurrency", "2", "--agent-version", "7", "--output", "out")
    assert run(folder, "run", "suite.json", *arguments).exit == 0
    assert [row["trial"] for row in rows(folder)] == [1, 2, 3] * 3
    assert {row["agent_version"] for row in rows(folder)} == {"7"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--limit", "0"), "--limit 0"),
        (("--only", "NOPE"), "--only NOPE"),
        (("--category", "sad_path"), "--category sad_path"),
        (("--budget", "5"), "--budget: found '5'"),
        (("--timeout", "5"), "--timeout: found '5'"),
        (("--concurrency", "many"), "--concurrency"),
        (("--trials", "0"), "--trials: found 0"),
        (("--rerun-changed",), "--rerun-changed goes with --resume"),
        (("--agent", "greeter"), "greeter"),
    ],
)
def test_a_wrong_option_is_refused_before_the_first_call(folder, arguments, said):
    done = run(folder, "run", "suite.json", "--output", "out", *arguments)
    assert done.exit == 2
    assert said in done.err
    assert not (folder / "out").exists()


@pytest.mark.hazard("H14")
@pytest.mark.parametrize("arguments", [("--only", "A*"), ("--category", "happy_path"), ("--limit", "1")])
def test_a_filtered_run_is_not_judged_as_if_it_were_the_whole(folder, arguments):
    done = run(folder, "run", "suite.json", "--output", "out", *arguments)
    assert done.exit == 2
    assert "--subset" in done.err
    assert run(folder, "check", "out").exit == 2
    assert document(folder)["whole"] is False


def test_a_subset_is_judged_if_that_is_asked_for(folder):
    (folder / "highbar.yaml").write_text("thresholds: { blocking: { pass_rate: 100% } }\n", "utf-8")
    assert run(folder, "run", "suite.json", "--output", "out", "--only", "A", "--subset").exit == 0
    assert run(folder, "check", "out").exit == 2
    assert run(folder, "check", "out", "--subset").exit == 0


def test_a_part_of_the_suite_says_what_its_trials_came_to(folder):
    wrong = {"id": "W", "input": "Will", "answer": {"contains": "goodbye"}}
    write_suite(
        folder, scenarios=[*SUITE["scenarios"], wrong, {"id": "C", "input": "crash", "answer": {"contains": "x"}}]
    )
    done = run(folder, "run", "suite.json", "--output", "out", "--only", "A", "--only", "W", "--only", "C")
    assert done.exit == 2
    assert "A, trial 1: passed" in done.err
    assert "W, trial 1: failed: answer: wanted: the reply contains 'goodbye'" in done.err
    assert "C, trial 1: failed: error: ValueError: out of order (greeter.py:3)" in done.err


def test_the_folder_of_a_run_is_not_named_like_a_report(folder):
    done = run(folder, "run", "suite.json", "--output", "report.html")
    assert done.exit == 2
    assert "--report report.html" in done.err
    assert not (folder / "report.html").exists()


def test_a_budget_is_refused_for_an_agent_that_never_says_its_cost(folder):
    done = run(folder, "run", "suite.json", "--output", "out", "--agent", "http://127.0.0.1:9/", "--budget", "$1")
    assert (done.exit, done.codes) == (2, ["agent.no-cost"])
    assert not (folder / "out").exists()


def test_a_key_without_a_value_is_refused(folder):
    text = "scenarios:\n  - { id: A, input: Hello, do you have whales?, answer: { contains: hello } }\n"
    (folder / "cut.yaml").write_text(text, "utf-8")
    done = run(folder, "run", "cut.yaml", "--agent", "python:greeter:answer", "--output", "out")
    assert done.exit == 2
    assert "'do you have whales?' has no value" in done.err
    assert "in quotes" in done.err


def test_an_existing_folder_is_never_overwritten(folder):
    (folder / "out").mkdir()
    done = run(folder, "run", "suite.json", "--output", "out")
    assert done.exit == 2
    assert "nothing is overwritten" in done.err
    assert list((folder / "out").iterdir()) == []


def test_a_folder_is_not_called_as_standard_input_is(folder):
    done = run(folder, "run", "suite.json", "--output", "-")
    assert done.exit == 2
    assert "--output -" in done.err
    assert not (folder / "-").exists(), "nothing was run"


def test_a_finished_run_can_be_resumed_and_asks_nothing_again(folder):
    assert run(folder, "run", "suite.json", "--output", "out").exit == 0
    before = rows(folder)
    (folder / "greeter.py").write_text("def answer(said):\n    return 'damn'\n", "utf-8")
    assert run(folder, "run", "--resume", "out").exit == 0
    assert rows(folder) == before


def test_resume_takes_everything_from_the_folder(folder):
    assert run(folder, "run", "suite.json", "--output", "out").exit == 0
    done = run(folder, "run", "suite.json", "--resume", "out", "--trials", "3")
    assert done.exit == 2
    assert "SUITE, --trials" in done.err


@pytest.mark.hazard("H74")
def test_resume_refuses_changed_scenarios_unless_they_are_run_again(folder):
    assert run(folder, "run", "suite.json", "--output", "out").exit == 0
    changed = [{**SUITE["scenarios"][0], "input": "Bob", "answer": {"contains": "hello Bob"}}, *SUITE["scenarios"][1:]]
    write_suite(folder, scenarios=changed)
    refused = run(folder, "run", "--resume", "out")
    assert refused.exit == 2
    assert "B" in refused.err
    assert "--rerun-changed" in refused.err
    assert run(folder, "run", "--resume", "out", "--rerun-changed").exit == 0
    assert rows(folder)[0]["output"] == "hello Bob"


@pytest.mark.hazard("H49")
def test_a_run_is_not_judged_by_checks_that_were_never_applied(folder):
    assert run(folder, "run", "suite.json", "--output", "out").exit == 0
    stricter = {"greets": {"contains": "good morning"}}
    changed = [SUITE["scenarios"][0], {**SUITE["scenarios"][1], "expected_behaviors": stricter}, SUITE["scenarios"][2]]
    write_suite(folder, scenarios=changed)
    done = run(folder, "check", "out")
    assert done.exit == 2
    assert "another version of the suite" in done.err
    write_suite(folder, description="only a description was added")
    assert run(folder, "check", "out").exit == 0


def test_resume_says_if_another_commit_is_checked_out_than_when_the_run_began(folder):
    began_at = commit(folder, {})
    assert run(folder, "run", "suite.json", "--output", "out").exit == 0
    assert "commit" not in run(folder, "run", "--resume", "out").err
    commit(folder, {"greeter.py": AGENT.replace("hello", "good day")})
    assert f"the run began at commit {began_at[:10]}, and another one" in run(folder, "run", "--resume", "out").err


def test_resume_refuses_a_suite_with_other_scenarios(folder):
    assert run(folder, "run", "suite.json", "--output", "out").exit == 0
    write_suite(folder, scenarios=SUITE["scenarios"][:2])
    done = run(folder, "run", "--resume", "out", "--rerun-changed")
    assert done.exit == 2
    assert "other scenarios" in done.err


def test_reports_are_written_and_an_old_one_does_not_survive_a_wrong_call(folder):
    assert run(folder, "run", "suite.json", "--output", "out", "--report", "verdict.json").exit == 0
    assert json.loads((folder / "verdict.json").read_text("utf-8"))["verdict"] == "pass"
    assert run(folder, "run", "suite.json", "--output", "out", "--report", "verdict.json").exit == 2
    assert json.loads((folder / "verdict.json").read_text("utf-8"))["verdict"] is None
    assert run(folder, "run", "suite.json", "--nonsense", "--report", "verdict.json").exit == 2


def test_a_statement_in_plain_words_needs_a_judge(folder):
    write_suite(
        folder, scenarios=[{"id": "A", "input": "Al", "expected_behaviors": {"polite": "The reply is polite."}}]
    )
    done = run(folder, "run", "suite.json", "--output", "out")
    assert (done.exit, done.codes) == (2, ["judge.missing"])
    assert not (folder / "out").exists()


def test_a_judge_that_cannot_be_reached_ends_the_run_and_the_answers_stay(folder):
    write_suite(
        folder,
        scenarios=[{"id": "A", "input": "Al", "expected_behaviors": {"polite": "The reply is polite."}}],
        judge={"model": "m", "base_url": f"http://127.0.0.1:{closed_port()}/v1", "retries": 0},
    )
    done = run(folder, "run", "suite.json", "--output", "out")
    assert done.exit == 2
    assert "the judge refused: connection refused" in done.err
    assert "--resume out" in done.err


@pytest.mark.hazard("H107")
def test_what_an_agent_prints_is_no_order_to_github(folder):
    text = "import sys\ndef answer(said):\n    print('::error::forged')\n    return 'hello ' + said\n"
    (folder / "greeter.py").write_text(text, "utf-8")
    workflow = {"GITHUB_ACTIONS": "true"}
    arguments = ("run", "suite.json", "--output", "out", "--no-check")
    done = run(folder, *arguments, environment=workflow, process=True)
    assert done.exit == 0, done.err
    before, printed, after = done.err.partition("::error::forged")
    assert printed
    token = before.partition("::stop-commands::")[2].splitlines()[0]
    assert f"::{token}::" in after.rpartition("::error::forged")[2]
    assert "stop-commands" not in run(folder, "run", "suite.json", "--output", "two", "--no-check", process=True).err


def test_the_example_is_what_init_writes_and_it_passes(tmp_path):
    assert run(tmp_path, "init", "--agent").exit == 0
    for name in ("library_agent.py", "suite.yaml", "highbar.yaml"):
        example = ROOT / "examples" / "library-agent" / name
        assert (tmp_path / name).read_text("utf-8") == example.read_text("utf-8")
    assert run(tmp_path, "run").exit == 0


# --- from Python -------------------------------------------------------------------------------


def test_python_runs_a_function_of_its_own_inside_of_a_running_loop(folder, monkeypatch):
    import asyncio

    monkeypatch.chdir(folder)

    def greet(said):
        return f"hello {said}"

    async def notebook():
        return highbar.run("suite.json", greet, policy="highbar.yaml", trials=2)

    done = asyncio.run(notebook())
    assert isinstance(done, highbar.Run)
    assert len(done.rows) == 6
    assert done.verdict.passed
    assert done.folder.parent.name == "runs"


def test_python_takes_a_suite_as_values_and_an_agent_as_text(folder, monkeypatch):
    monkeypatch.chdir(folder)
    done = highbar.run(SUITE["scenarios"], "python:greeter:answer", policy={"pass_criteria": {"overall": "100%"}})
    assert done.verdict.passed
    with pytest.raises(highbar.InputError, match="names no agent"):
        highbar.run(SUITE["scenarios"])
    with pytest.raises(highbar.InputError, match="wanted a function"):
        highbar.run(SUITE["scenarios"], 7)
    with pytest.raises(highbar.InputError, match="timeout"):
        highbar.run(SUITE["scenarios"], "python:greeter:answer", timeout="soon")


def test_problems_of_a_suite_in_values_name_the_scenario_and_no_place(folder, monkeypatch):
    monkeypatch.chdir(folder)
    wrong = [*SUITE["scenarios"], {"id": "W", "input": "?", "answer": {"contians": "x"}}]
    with pytest.raises(highbar.InputError) as caught:
        highbar.run(wrong, "python:greeter:answer")
    (problem,) = caught.value.problems
    assert str(problem).startswith("W: answer: unknown check 'contians'")
    assert (problem.file, problem.line, problem.excerpt) == (None, None, None)


@pytest.mark.parametrize("fault", [ValueError("no"), SystemExit(0), KeyboardInterrupt()])
def test_python_survives_what_its_function_raises(folder, monkeypatch, fault):
    monkeypatch.chdir(folder)

    def broken(said):
        raise fault

    async def broken_later(said):
        raise fault

    for number, agent in enumerate((broken, broken_later)):
        done = highbar.run("suite.json", agent, policy="highbar.yaml", output=f"out{number}")
        assert not done.verdict.passed
        assert all(row["error"].startswith(type(fault).__name__) for row in done.rows)
