"""Runs of two agents in one history: what one of them fails excuses nothing of the other."""

from __future__ import annotations

import json

import pytest

from highbar import history
from tests.commandline import run
from tests.repository import ENVIRONMENT, commit, git, put

pytestmark = pytest.mark.process  # git says which commits are ancestors
NAMES = [f"A-{n}" for n in range(30)]
BAR = {"thresholds": {"pass_rate": "50%"}}
NEW = {**BAR, "baseline": {"file": "baseline.json", "new_failures": "all", "history": "history"}}


def rows(number, *failed):
    lines = (
        {"id": id_, "passed": id_ not in failed, "input": f"question {id_}", "output": f"answer {number}"}
        for id_ in NAMES
    )
    return "".join(json.dumps(line) + "\n" for line in lines)


class Shared:
    """A repository whose history has runs of `steady`, which passes all, and of `broken`, which always fails A-7."""

    def __init__(self, folder, made):
        self.folder = folder
        self.made = made

    def begin(self, *agents):
        """Three commits, each with a run of both agents; `agents` are what the two are called, None for no name."""
        self.made(self.folder, run_both, agents)

    def judge(self, policy, *options, failed=("A-7",)):
        """The rule of a change after which these scenarios fail."""
        commit(self.folder, {"highbar.json": policy})
        git(self.folder, "checkout", "--quiet", "-b", "change")
        commit(self.folder, {"change": "x"})
        put(self.folder, {"now.jsonl": rows(999, *failed)})
        options = ("--against-ref", "main", "--today", "2026-11-18", *options)
        return run(self.folder, "check", "now.jsonl", "--format", "json", *options)


@pytest.fixture
def shared(made, tmp_path, monkeypatch):
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    return Shared(tmp_path, made)


def run_both(folder, agents):
    put(folder, {"highbar.json": BAR, ".gitignore": "*.jsonl\nhistory/\n", "first.jsonl": rows(1)})
    assert run(folder, "baseline", "record", "first.jsonl").exit == 0
    (folder / ".git").rmdir()
    for number in range(3):
        sha = commit(folder, {"version": str(number)})
        for place, (failed, agent) in enumerate(zip(((), ("A-7",)), agents, strict=True)):
            put(folder, {"run.jsonl": rows(100 + 10 * number + place, *failed)})
            name = () if agent is None else ("--agent", agent)
            done = run(folder, "history", "add", "run.jsonl", "--commit", sha, "--branch", "main", *name)
            assert done.exit == 0, done.err


@pytest.mark.parametrize("where", ["option", "policy"])
def test_what_another_agent_fails_excuses_nothing(shared, where):
    shared.begin("steady", "broken")
    name = ("--agent", "steady") if where == "option" else ()
    done = shared.judge(NEW if where == "option" else {**NEW, "agent": "steady"}, *name)
    assert done.rule("baseline.new_failures")["outcome"] == "fail"


def test_an_agent_is_excused_by_its_own_earlier_runs(shared):
    shared.begin("other", "flaky")
    put(shared.folder, {"run.jsonl": rows(500)})
    run(shared.folder, "history", "add", "run.jsonl", "--agent", "flaky")
    done = shared.judge(NEW, "--agent", "flaky")
    found = done.rule("baseline.new_failures")
    assert (found["outcome"], "A-7 (1 of 4 before)" in found["reason"]) == ("pass", True)
    assert "which is not known" not in found["reason"]


def test_a_run_without_a_name_is_excused_by_none_if_the_history_has_names(shared):
    """Those without a name may be of either agent."""
    shared.begin(None, "broken")
    put(shared.folder, {"run.jsonl": rows(500, "A-7")})
    run(shared.folder, "history", "add", "run.jsonl")
    done = shared.judge(NEW)
    assert done.rule("baseline.new_failures")["outcome"] == "fail"
    assert "name it with --agent" in done.out


def test_a_change_cannot_take_another_agents_name(shared):
    """The policy of main says whose runs may excuse a failure."""
    shared.begin("steady", "broken")
    commit(shared.folder, {"highbar.json": {**NEW, "agent": "steady"}})
    git(shared.folder, "checkout", "--quiet", "-b", "change")
    commit(shared.folder, {"highbar.json": {**NEW, "agent": "broken"}})
    put(shared.folder, {"now.jsonl": rows(999, "A-7")})
    done = run(shared.folder, "check", "now.jsonl", "--format", "json", "--against-ref", "main")
    assert done.exit == 1
    assert done.rule("main:baseline.new_failures")["outcome"] == "fail"
    assert [one["what"] for one in done.json["against"]["weakened"]] == ["highbar.json"]


def test_drift_is_that_of_one_agent(shared):
    shared.begin("steady", "broken")
    done = run(shared.folder, "history", "trend", "--fail-on", "drift")
    assert done.exit == 2
    assert "several agents" in done.err
    assert "--agent: broken, steady" in done.err
    assert run(shared.folder, "history", "trend", "--fail-on", "drift", "--agent", "steady").exit == 0
    drift = {**BAR, "history": {"drift": "fail"}}
    assert shared.judge(drift, "--agent", "steady").rule("history.drift")["outcome"] == "pass"
    put(shared.folder, {"now.jsonl": rows(1000)})
    found = run(shared.folder, "check", "now.jsonl", "--format", "json").rule("history.drift")
    assert found["outcome"] == "inconclusive"
    assert "6 runs that say their agent, and this one does not" in found["reason"]


def test_names_are_listed_shown_and_chosen_by(shared):
    shared.begin("steady", "broken")
    listed = run(shared.folder, "history", "list")
    assert listed.out.splitlines()[0].split() == [
        "time", "verdict", "failed", "commit", "branch", "agent", "version", "record",
    ]  # fmt: skip
    assert (listed.out.count("steady"), listed.out.count("broken")) == (3, 3)
    assert "broken" not in run(shared.folder, "history", "list", "--agent", "steady").out
    assert "A-7" not in run(shared.folder, "history", "flaky", "--agent", "broken").out
    record = history.read_history(shared.folder / "history").runs[0]
    assert f"agent    {record.agent_name}" in run(shared.folder, "history", "show", record.record).out
    wrong = run(shared.folder, "history", "list", "--agent", "stedy")
    assert (wrong.exit, "did you mean 'steady'" in wrong.err) == (2, True), wrong.err


def test_lines_are_not_joined_across_agents(shared):
    shared.begin("steady", "broken")
    found = json.loads(run(shared.folder, "history", "trend", "pass_rate", "--format", "json").out)
    assert [part["because"] for part in found["metrics"][0]["segments"]] == [None, *["agent"] * 5]
    assert run(shared.folder, "history", "page", "--output", "site").exit == 0


def test_the_same_results_under_another_name_are_the_same_run_and_that_is_said(shared):
    shared.begin("steady", "broken")
    put(shared.folder, {"run.jsonl": rows(100)})
    done = run(shared.folder, "history", "add", "run.jsonl", "--agent", "other")
    assert "already in the history" in done.out
    assert "as a run of" in done.out
    assert "the agent steady" in done.out


@pytest.mark.parametrize("name", ["", " ", "a\x1bb"])
def test_a_name_that_cannot_be_shown_is_refused(shared, name):
    shared.begin("steady", "broken")
    for words in (["check", "first.jsonl"], ["history", "add", "first.jsonl"]):
        assert run(shared.folder, *words, "--agent", name).exit == 2


@pytest.mark.parametrize(
    ("agent", "hint"), [({"python": "a:b"}, "suite file"), ("", "empty text"), (" ", "empty text"), (3, "text")]
)
def test_a_policy_names_its_agent_by_text(shared, agent, hint):
    put(shared.folder, {"first.jsonl": rows(1), "highbar.json": {**BAR, "agent": agent}})
    done = run(shared.folder, "check", "first.jsonl")
    assert (done.exit, hint in done.err) == (2, True), done.err
