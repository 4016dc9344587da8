"""A quarantine in real repositories: what it spares, and what it never does."""

from __future__ import annotations

import json
from itertools import count

import pytest

from tests.commandline import run
from tests.repository import ENVIRONMENT, commit, git, put

pytestmark = pytest.mark.process  # git is asked for ancestors

TODAY = "2026-11-17"
NEW_FAILURES = {"file": "baseline.json", "new_failures": "all"}
BAR = {"thresholds": {"pass_rate": "50%"}, "baseline": NEW_FAILURES}
FLAKY = "A-3"
_TIMES = count(500)
"""No two trials take the same time: runs with the same bytes are the same run."""
NAMES = tuple(f"A-{n}" for n in range(30))


def rows(*failed, ask="question", **columns):
    """Thirty scenarios; `columns` has by column what the scenarios by id have."""
    lines = [
        {"id": id_, "passed": id_ not in failed, "input": f"{ask} {id_}", "latency_ms": next(_TIMES)}
        | {column: values[id_] for column, values in columns.items() if id_ in values}
        for id_ in NAMES
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)


class Project:
    """A repository with a baseline in which everything passed, and runs of its commits in the folder `history`."""

    def __init__(self, folder):
        self.folder = folder
        self.days = iter(range(1, 30))

    def begin(self, quarantine=None, **bar):
        """The first commit of main."""
        policy = {**BAR, **({} if quarantine is None else {"quarantine": quarantine}), **bar}
        put(self.folder, {"highbar.json": policy, "results.jsonl": rows(), ".gitignore": "results.jsonl\nhistory/\n"})
        git_ignored = {"highbar.json": policy}
        commit(self.folder, git_ignored)
        assert run(self.folder, "baseline", "record", "results.jsonl").exit == 0
        commit(self.folder, {})

    def ran(self, *failed, time=None, sha=None, **more):
        """A new commit, and a run of it in the history, of 2026-11-01 or the day after the last run."""
        sha = sha or commit(self.folder, {})
        put(self.folder, {"results.jsonl": rows(*failed, **more)})
        when = ("--time", time or f"2026-11-{next(self.days):02}")
        done = run(self.folder, "history", "add", "results.jsonl", "--commit", sha, *when)
        assert done.exit == 0, done.err
        return sha

    def change(self, **policy):
        """A branch with a commit of its own, and a policy with these keys besides."""
        git(self.folder, "checkout", "--quiet", "-b", "change")
        known = json.loads((self.folder / "highbar.json").read_text())
        return commit(self.folder, {"highbar.json": {**known, **policy}, "change.txt": "x"})

    def check(self, *failed, options=(), **more):
        """The verdict on results of the change, against main."""
        put(self.folder, {"results.jsonl": rows(*failed, **more)})
        against = ("--against-ref", "main", "--today", TODAY)
        return run(self.folder, "check", "results.jsonl", "--format", "json", *against, *options)


@pytest.fixture
def project(tmp_path, monkeypatch):
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    return Project(tmp_path)


AUTO = {"auto": {"runs": 5}}


def flaky_project(project, **begin):
    project.begin(begin.pop("quarantine", AUTO), **begin)
    for failed in ((), (FLAKY,), ()):
        project.ran(*failed)
    project.change()
    return project


def outcomes(done):
    return {rule["rule"]: rule["outcome"] for rule in done.json["rules"]}


# --- what it does ----------------------------------------------------------------------------


def test_a_failure_of_a_scenario_that_was_flaky_before_the_change_is_no_new_failure(project):
    done = flaky_project(project).check(FLAKY)
    assert done.exit == 0, done.out
    (found,) = done.json["quarantined"]
    assert (found["id"], found["since"], found["until"]) == (FLAKY, "2026-11-02", "2026-12-02")
    assert "passed in 2 and failed in 1" in found["why"]
    assert done.rule("baseline.new_failures")["reason"].endswith(f"1 scenario failed in quarantine: {FLAKY}")


def test_it_counts_in_every_rate_and_is_listed_as_failed(project):
    done = flaky_project(project).check(FLAKY)
    assert done.json["metrics"]["pass_rate"]["value"] == pytest.approx(29 / 30)
    assert [one["id"] for one in done.json["scenarios_failed"]] == [FLAKY]


def test_another_failure_is_a_new_failure_all_the_same(project):
    done = flaky_project(project).check(FLAKY, "A-4")
    assert done.exit == 1
    assert done.rule("baseline.new_failures")["reason"].startswith("1 scenario passed in the baseline and not now: A-4")


def test_a_quarantined_scenario_has_to_run(project):
    flaky_project(project)
    put(project.folder, {"results.jsonl": "".join(line for line in rows().splitlines(True) if FLAKY not in line)})
    done = run(project.folder, "check", "results.jsonl", "--format", "json", "--against-ref", "main", "--today", TODAY)
    assert done.rule("baseline.new_failures")["outcome"] == "fail"
    assert FLAKY in done.rule("baseline.new_failures")["reason"]
