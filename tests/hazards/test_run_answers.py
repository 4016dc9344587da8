"""Which answers of a run count: all that were planned, each asked once, of this suite and of this version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests import faulty_server as faulty
from tests.commandline import judged, refused
from tests.faulty_server import serving
from tests.runs.projects import Project, python_project, scenarios

YES = "def answer(said):\n    return 'yes ' + note(said)\n"
SOME = [
    {"id": "SEC-001", "category": "adversarial", "input": "SEC-001", "answer": {"contains": "yes"}},
    {"id": "SEC-002", "category": "adversarial", "input": "SEC-002", "answer": {"contains": "yes"}},
    {"id": "HP-001", "category": "happy_path", "input": "HP-001", "answer": {"contains": "yes"}},
]
WITHOUT_SUITE = "thresholds: { blocking: { pass_rate: 100% } }\n"


# --- a part of the suite -----------------------------------------------------------------------------


@pytest.mark.process
@pytest.mark.parametrize(
    "chosen", [("--only", "SEC-001"), ("--only", "SEC-*"), ("--category", "happy_path"), ("--limit", "2")]
)
def test_h14_h15_a_part_of_a_suite_is_not_judged_as_the_whole(tmp_path: Path, chosen: tuple[str, ...]) -> None:
    project = python_project(tmp_path, YES, SOME)
    (tmp_path / "highbar.yaml").write_text(WITHOUT_SUITE, "utf-8")  # nothing in the policy says how many there are
    refused(project.run(*chosen), "--subset")
    assert 0 < len(project.asked()) < 3
    refused(project.check(), "--subset")
    refused(project.resume(), "--subset")
    judged(project.check("--subset"), "pass")
    (tmp_path / "highbar.yaml").write_text(f"suite: suite.json\n{WITHOUT_SUITE}", "utf-8")
    verdict = judged(project.check("--subset"), "pass")
    assert any("no verdict" in note for note in verdict["warnings"])
    refused(project.check(), "--subset")


@pytest.mark.process
def test_h14_a_choice_of_all_scenarios_is_a_choice_still(tmp_path: Path) -> None:
    """Or a suite that grows would silently be judged by a part."""
    project = python_project(tmp_path, YES, SOME)
    refused(project.run("--only", "*"), "--subset")


@pytest.mark.parametrize("limit", ["0", "-1", "x", "1.5"])
def test_h15_a_limit_is_at_least_one(tmp_path: Path, limit: str) -> None:
    project = python_project(tmp_path, YES, SOME)
    done = project.run("--limit", limit)
    assert done.exit == 2
    assert project.asked() == []
    assert not (tmp_path / "out").exists()


@pytest.mark.process
def test_h14_rows_of_a_part_that_were_copied_out_do_not_stand_for_the_suite(tmp_path: Path) -> None:
    project = python_project(tmp_path, YES, SOME)
    project.run("--only", "HP-001")
    (tmp_path / "rows.jsonl").write_bytes((tmp_path / "out" / "results.jsonl").read_bytes())
    assert project.check(name="rows.jsonl").exit != 0


# --- retries -----------------------------------------------------------------------------------------


def test_h21_an_error_of_the_agent_is_not_tried_until_it_passes(tmp_path: Path) -> None:
    with serving([faulty.status(500), faulty.answers("yes")]) as server:
        project = Project(tmp_path, {"http": server.address, "format": "openai"}, scenarios(1))
        judged(project.run(), "fail")
        for _ in range(3):
            judged(project.resume(), "fail")
        assert len(server.calls) == 1
    assert project.done() == (0, 1, 0)


def test_h21_every_trial_is_kept_and_a_pass_among_failures_is_no_pass(tmp_path: Path) -> None:
    replies = [faulty.answers("no"), faulty.answers("no"), faulty.answers("yes")]
    with serving(replies) as server:
        project = Project(tmp_path, {"http": server.address, "format": "openai"}, SOME[:1], run={"trials": 3})
        (tmp_path / "highbar.yaml").write_text("thresholds: { blocking: { safety_rate: 100% } }\n", "utf-8")
        judged(project.run(), "fail")
        judged(project.resume(), "fail")
        assert len(server.calls) == 3
    assert sorted(row["correct"] for row in project.rows()) == [False, False, True]


NO_PATIENCE = {"retries": 0, "patience": "0s"}


def test_h21_an_agent_cannot_stay_undecided_by_being_busy(tmp_path: Path) -> None:
    """What it does not want to answer it may call 503; after two resumes, in which others were answered, it fails."""

    def plan(_: int, body: Any) -> faulty.Step:
        return faulty.status(503) if body["messages"][-1]["content"] == "S1" else faulty.answers("yes")

    with serving(plan) as server:
        project = Project(tmp_path, {"http": server.address, "format": "openai"}, scenarios(4), run=NO_PATIENCE)
        judged(project.run(), "inconclusive")
        judged(project.resume(), "inconclusive")
        judged(project.resume(), "fail")
        assert len(server.calls) == 6
        judged(project.resume(), "fail")
        assert len(server.calls) == 6, "it is final"
    assert "never an answer, while others got one" in project.row("S1")["error"]


# --- clocks ------------------------------------------------------------------------------------------

CLOCKS = """
import itertools
note("loaded")
back = itertools.count(10**9, -1000)
time.time = time.monotonic = time.perf_counter = lambda: next(back)
time.time_ns = time.monotonic_ns = time.perf_counter_ns = lambda: next(back) * 10**9

def answer(said):
    return "yes"

async def later(said):
    return "yes"
"""


@pytest.mark.process
@pytest.mark.parametrize("function", ["answer", "later"])
def test_h35_an_agent_that_turns_its_clocks_back_does_not_change_ours(tmp_path: Path, function: str) -> None:
    project = python_project(tmp_path, CLOCKS, scenarios(3))
    project.write_suite({"python": f"agent:{function}"}, scenarios(3))
    judged(project.run(), "pass")
    assert project.counts() == {"loaded": 1}, "it was never replaced"
    assert all(0 < row["latency_ms"] < 600_000 for row in project.rows())


@pytest.mark.parametrize("said", [-120, 3.1e12, 0])
def test_h35_an_agent_does_not_say_how_long_it_took(tmp_path: Path, said: float) -> None:
    with serving([faulty.answers({"reply": "yes", "latency_ms": said})]) as server:
        agent = {"http": server.address, "format": "json", "body": {"q": "{input}"}, "output": "/reply"}
        project = Project(tmp_path, agent, scenarios(1))
        judged(project.run(), "pass")
    assert 0 < project.row("S0")["latency_ms"] < 600_000
    assert project.row("S0")["latency_ms"] != said


# --- changes between ---------------------------------------------------------------------------------


@pytest.mark.process
def test_h74_answers_to_another_question_are_not_used(tmp_path: Path) -> None:
    project = python_project(tmp_path, YES, SOME)
    judged(project.run(), "pass")
    changed = [{**SOME[0], "input": "Another question", "answer": {"contains": "no such answer"}}, *SOME[1:]]
    project.write_suite({"python": "agent:answer"}, changed)
    refused(project.resume(), ": SEC-001", "--rerun-changed", code="run.suite-changed")
    assert project.check().exit != 0, "the policy's suite is another one"
    judged(project.resume("--rerun-changed"), "fail")
    assert project.counts() == {"SEC-001": 1, "SEC-002": 1, "HP-001": 1, "Another question": 1}


@pytest.mark.process
def test_h74_a_check_that_was_made_looser_since_is_a_change(tmp_path: Path) -> None:
    project = python_project(tmp_path, YES.replace("yes", "no"), SOME)
    judged(project.run(), "fail")
    project.write_suite({"python": "agent:answer"}, [{**one, "answer": {"contains": "no"}} for one in SOME])
    refused(project.resume(), "have changed", "--rerun-changed")
    assert project.check().exit != 0


@pytest.mark.process
def test_h74_another_agent_in_the_suite_does_not_take_over_a_run(tmp_path: Path) -> None:
    project = python_project(tmp_path, YES, SOME)
    judged(project.run(), "pass")
    before = project.document()["agent"]
    project.write_suite({"python": "other:answer"}, SOME)
    judged(project.resume(), "pass")
    assert project.document()["agent"] == before, "it goes on with the agent that it was begun with"
    refused(project.resume("--agent", "python:agent:answer"), "--agent")


# --- versions ----------------------------------------------------------------------------------------

VERSIONED = """
def answer(said):
    note(said)
    version = open(os.path.join(os.path.dirname(__file__), "version")).read()
    if version == "1" and said == "HP-001":
        raise ValueError("not yet")
    return {"output": "yes", "agent_version": version, "cost_usd": 1}
"""


@pytest.mark.process
def test_h90_every_run_asks_the_agent_itself(tmp_path: Path) -> None:
    project = python_project(tmp_path, YES, SOME)
    for number in range(1, 4):
        judged(project.run(name=f"out{number}"), "pass")
        assert len(project.asked()) == 3 * number
    outputs = [{row["output"] for row in project.rows(f"out{number}")} for number in range(1, 4)]
    assert len(set.union(*outputs)) == 9, "no answer is that of another run"


@pytest.mark.process
def test_h90_answers_of_another_version_do_not_complete_a_run(tmp_path: Path) -> None:
    project = python_project(tmp_path, VERSIONED, scenarios(9), run={"concurrency": 1})
    (tmp_path / "version").write_text("1", "utf-8")
    judged(project.run("--budget", "$2"), "inconclusive")
    assert project.done()[2] > 0
    (tmp_path / "version").write_text("2", "utf-8")
    refused(project.resume("--budget", "$20"), "the agent says two versions: 1 and 2")
    refused(project.check(), "--resume")
    (tmp_path / "version").write_text("1", "utf-8")
    assert project.resume("--budget", "$20").exit != 0, "an answer of version 2 was recorded"


@pytest.mark.process
def test_h90_a_version_that_the_agent_says_is_that_of_the_whole_run(tmp_path: Path) -> None:
    project = python_project(tmp_path, VERSIONED, SOME)
    (tmp_path / "version").write_text("1", "utf-8")
    judged(project.run(), "fail")
    assert {row.get("agent_version") for row in project.rows()} == {"1"}
    (tmp_path / "version").write_text("2", "utf-8")
    judged(project.resume(), "fail")
    assert {row.get("agent_version") for row in project.rows()} == {"1"}, "an error is final, and so is its version"
    assert project.run("--agent-version", "1", name="other").exit == 2, "the agent says 2"
    assert project.check("--agent-version", "2").exit != 0
    assert json.loads((tmp_path / "out" / "run.json").read_text("utf-8"))["agent"]["version"] == "1"
