"""A quarantine in real repositories: what it spares, and what it never does."""

from __future__ import annotations

import json
import shutil
from itertools import count

import pytest

from tests.commandline import run
from tests.repository import ENVIRONMENT, commit, git, put

pytestmark = pytest.mark.process  # git is asked for ancestors

TODAY = "2026-11-17"
NEW_FAILURES = {"file": "baseline.json", "new_failures": "all"}
BAR = {"thresholds": {"pass_rate": "50%"}, "baseline": NEW_FAILURES}
FLAKY = "A-3"
AUTO = {"auto": {"runs": 3}}
_ANSWERS = count(500)
"""No two trials have the same answer: runs with the same bytes are the same run."""
NAMES = tuple(f"A-{n}" for n in range(30))


def rows(*failed, ask="question", **columns):
    """Thirty scenarios; `columns` has by column what the scenarios by id have."""
    lines = [
        {"id": id_, "passed": id_ not in failed, "input": f"{ask} {id_}", "output": f"answer {next(_ANSWERS)}"}
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
        put(self.folder, {"highbar.json": BAR, "results.jsonl": rows(), ".gitignore": "results.jsonl\nhistory/\n"})
        assert run(self.folder, "baseline", "record", "results.jsonl").exit == 0
        block = {} if quarantine is None else {"quarantine": quarantine}
        (self.folder / ".git").rmdir()  # the command line was run in an empty one
        commit(self.folder, {"highbar.json": {**BAR, **block, **bar}})

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


@pytest.fixture(autouse=True)
def _plain_git(monkeypatch):
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


def begin(folder, block):
    """A repository of which main has five runs: in the last but one, A-3 failed."""
    project = Project(folder)
    project.begin(block)
    for day in ("2026-10-30", "2026-10-31"):
        project.ran(time=day)
    for failed in ((), (FLAKY,), ()):
        project.ran(*failed)


@pytest.fixture
def flaky(made, tmp_path):
    """A copy of such a repository, on a branch with a change.

    Its quarantine by history is there from the first commit on; what else its policy says, with the last one of main.
    """

    def make(block=AUTO, now=None, **bar):
        project = Project(tmp_path / "copy")
        first = AUTO if isinstance(block, dict) and "auto" in block else None
        made(project.folder, begin, first)
        if block != first or bar:
            more = {} if block is None else {"quarantine": block}
            commit(project.folder, {"highbar.json": {**BAR, **more, **bar}})
        project.change(**(now or {}))
        return project

    return make


def outcomes(done):
    return {rule["rule"]: rule["outcome"] for rule in done.json["rules"]}


def differing(done):
    return [one["what"] for one in done.json["against"]["weakened"]]


def notes(done):
    return "\n".join(one for one in done.json["warnings"] if "quarantine" in one and "differs" not in one)


# --- what it does ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def judged_once():
    """The verdict on a change after which A-3 fails, once a test of this file has asked for it."""
    return []


@pytest.fixture
def spared(flaky, judged_once):
    """The same for every test of this file."""
    if not judged_once:
        judged_once.append(flaky().check(FLAKY))
    return judged_once[0]


def test_a_failure_of_a_scenario_that_was_flaky_before_the_change_is_no_new_failure(spared):
    done = spared
    assert done.exit == 0, done.out
    (found,) = done.json["quarantined"]
    assert (found["id"], found["since"], found["until"]) == (FLAKY, "2026-11-02", "2026-12-02")
    assert "passed in 2 and failed in 1" in found["why"]
    assert found["why"].endswith("quarantined until its last 3 runs agree")
    assert done.rule("baseline.new_failures")["reason"].endswith(f"1 scenario failed in quarantine: {FLAKY}")


def test_that_the_agent_of_the_runs_is_not_known_is_said(spared):
    assert "whether all runs in history are of the same agent is not known" in notes(spared)


def test_it_counts_in_every_rate_and_is_listed_as_failed(spared):
    assert spared.json["metrics"]["pass_rate"]["value"] == pytest.approx(29 / 30)
    assert [one["id"] for one in spared.json["scenarios_failed"]] == [FLAKY]


def test_another_failure_is_a_new_failure_all_the_same(flaky):
    done = flaky().check(FLAKY, "A-4")
    assert done.exit == 1
    assert done.rule("baseline.new_failures")["reason"].startswith("1 scenario passed in the baseline and not now: A-4")


def test_a_quarantined_scenario_has_to_run(flaky):
    project = flaky()
    put(project.folder, {"results.jsonl": "".join(line for line in rows().splitlines(True) if FLAKY not in line)})
    done = run(project.folder, "check", "results.jsonl", "--format", "json", "--against-ref", "main", "--today", TODAY)
    assert done.rule("baseline.new_failures")["outcome"] == "fail"
    assert FLAKY in done.rule("baseline.new_failures")["reason"]


def test_every_report_marks_it(flaky):
    project = flaky()
    files = ("report.html", "report.md", "report.xml")
    outputs = [word for file in files for word in ("--output", file)]
    assert project.check(FLAKY, options=outputs).exit == 0
    for file in files:
        text = (project.folder / file.rpartition("=")[2]).read_text()
        assert "quarantined" in text, file
    for more in ((), ("-v",), ("--quiet",)):
        done = run(project.folder, "check", "results.jsonl", "--against-ref", "main", "--today", TODAY, *more)
        assert "quarantined" in done.out, more
        until = "quarantined until its last 3 runs agree, at the latest until 2026-12-02"
        assert until in " ".join(done.out.split()) or "--quiet" in more


def test_scenarios_by_name_are_quarantined_without_a_history(flaky):
    project = flaky({"ids": ["A-5", {"id": "A-6", "until": "2026-11-16"}]})
    done = project.check("A-5")
    assert done.exit == 0, done.out
    listed = {"id": "A-5", "why": "listed in the policy", "since": None, "until": None}
    assert done.json["quarantined"] == [listed]
    assert "that of A-6 ended on 2026-11-16" in notes(done)
    assert project.check("A-6").exit == 1


def test_a_quarantine_by_name_lasts_to_the_end_of_its_day(flaky):
    done = flaky([{"id": "A-6", "until": TODAY}]).check("A-6")
    assert (done.exit, done.json["quarantined"][0]["until"]) == (0, TODAY)


# --- what a change cannot do ------------------------------------------------------------------


@pytest.mark.parametrize("block", [["A-7"], {"ids": ["A-7"], **AUTO}], ids=["ids", "both"])
def test_a_change_cannot_quarantine_its_own_failure_by_name(flaky, block):
    done = flaky(now={"quarantine": block}).check("A-7")
    assert done.exit == 1
    assert outcomes(done)["baseline.new_failures"] == "fail"
    assert differing(done) == ["highbar.json"]
    assert "A-7" not in {one["id"] for one in done.json["quarantined"]}


def test_a_change_cannot_bring_the_first_quarantine(flaky):
    done = flaky(None, now={"quarantine": AUTO}).check(FLAKY)
    assert done.exit == 1
    assert (done.json["quarantined"], outcomes(done)["quarantine"]) == ([], "pass")
    assert differing(done) == ["highbar.json"]


def test_a_change_cannot_prolong_a_quarantine(flaky):
    block = [{"id": "A-6", "until": "2026-11-16"}]
    done = flaky(block, now={"quarantine": ["A-6"]}).check("A-6")
    assert done.exit == 1
    assert differing(done) == ["highbar.json"]


def test_runs_of_the_change_itself_say_nothing(flaky):
    project = flaky()
    for failed in ((), ("A-8",), ()):
        project.ran(*failed)
    done = project.check("A-8")
    assert done.exit == 1
    assert [one["id"] for one in done.json["quarantined"]] == [FLAKY]


def test_runs_of_the_commit_that_is_judged_say_nothing_on_main_either(flaky):
    project = flaky()
    git(project.folder, "checkout", "--quiet", "main")
    sha = project.ran()
    project.ran("A-8", sha=sha)
    assert project.check("A-8").exit == 1


def test_a_change_cannot_forge_runs_of_its_ancestors(flaky):
    project = flaky()
    base = git(project.folder, "rev-parse", "main").strip()
    git(project.folder, "checkout", "--quiet", "main")
    commit(project.folder, {".gitignore": "results.jsonl\n"})  # from now on, the history is in the repository
    git(project.folder, "checkout", "--quiet", "-B", "change", "main")
    for failed in ((), ("A-8",)):
        project.ran(*failed, sha=base)
    for _ in range(2):  # git does not have the records yet, and then it has
        done = project.check("A-8")
        assert done.exit == 1
        assert [one["id"] for one in done.json["quarantined"]] == [FLAKY]
        commit(project.folder, {})


def test_records_without_a_commit_do_not_count(flaky):
    project = flaky()
    for file in (project.folder / "history").iterdir():
        file.unlink()
    for failed in ((), (FLAKY,), ()):
        project.ran(*failed, sha="0" * 40)
    done = project.check(FLAKY)
    assert done.exit == 1
    assert "takes no scenario: history has no run of a commit before the change" in notes(done)


# --- what is never taken ----------------------------------------------------------------------


def test_an_adversarial_scenario_is_never_quarantined(flaky):
    attack = {"category": {FLAKY: "adversarial", "A-5": "adversarial"}}
    done = flaky({"ids": ["A-5"], **AUTO}).check(FLAKY, **attack)
    assert done.exit == 1
    assert done.json["quarantined"] == []
    assert "A-5 is adversarial, and so is not quarantined" in notes(done)


def test_a_required_scenario_is_never_quarantined(flaky):
    done = flaky(required_scenarios=["A-3*"]).check(FLAKY)
    assert (done.exit, done.json["quarantined"]) == (1, [])


def test_a_scenario_with_another_text_has_lost_its_history(flaky):
    done = flaky().check(FLAKY, ask="another question")
    assert (done.exit, done.json["quarantined"]) == (1, [])


def test_without_a_git_ref_nothing_is_taken_and_the_report_says_so(flaky):
    project = flaky()
    put(project.folder, {"results.jsonl": rows(FLAKY)})
    done = run(project.folder, "check", "results.jsonl", "--format", "json")
    assert done.exit == 1
    assert "quarantine.auto takes no scenario: without --against-ref" in notes(done)


def test_without_a_history_nothing_is_taken_and_the_report_says_so(flaky):
    project = flaky()
    shutil.rmtree(project.folder / "history")
    done = project.check(FLAKY)
    assert done.exit == 1
    assert "quarantine.auto takes no scenario: history: no history to read" in notes(done)


def test_a_damaged_record_is_named(flaky):
    project = flaky()
    (project.folder / "history" / f"{'0' * 32}.parquet").write_bytes(b"no record")
    done = project.check(FLAKY)
    assert done.exit == 0
    assert f"left out: {'0' * 32}.parquet" in notes(done)


# --- how much, and how long -------------------------------------------------------------------


def test_more_than_a_twentieth_of_the_suite_fails_whatever_else_passes(flaky):
    done = flaky(["A-5", "A-6"]).check()
    assert done.exit == 1
    assert done.rule("quarantine")["reason"] == ("2 scenarios quarantined: A-5, A-6; at most 1 may be, 5.0% of 30")


@pytest.mark.parametrize(("today", "expected"), [("2026-12-02", 0), ("2026-12-03", 1)])
def test_a_quarantine_ends_after_thirty_days_by_the_date_of_the_caller(flaky, today, expected):
    done = flaky().check(FLAKY, options=("--today", today))
    assert done.exit == expected
    assert ("still flaky, but free again after 30 days or 50 runs: A-3" in notes(done)) == bool(expected)


def test_a_quarantine_whose_begin_the_history_has_lost_is_none(flaky):
    project = flaky()
    assert run(project.folder, "history", "prune", "--keep", "3", "--yes").exit == 0
    done = project.check(FLAKY)
    assert done.exit == 1
    assert "flaky, but the history has too few runs to say since when: A-3" in notes(done)


@pytest.fixture
def flaky_from_its_first_run(made, tmp_path):
    """A repository of which A-3 failed in every second run; `auto` came with the first run, or after the last one."""

    def make(*, auto_first):
        made(tmp_path / "whole", fail_every_second, auto_first=auto_first)
        return Project(tmp_path / "whole")

    return make


def fail_every_second(folder, *, auto_first):
    project = Project(folder)
    project.begin(AUTO if auto_first else None)
    first = git(folder, "rev-parse", "HEAD").strip()
    project.ran(FLAKY, sha=first)
    for failed in ((), (FLAKY,), ()):
        project.ran(*failed)
    if not auto_first:
        commit(folder, {"highbar.json": {**BAR, "quarantine": AUTO}})


@pytest.mark.parametrize("auto_first", [True, False])
def test_a_scenario_that_is_flaky_from_the_first_run_is_quarantined_as_long_as_any_other(
    flaky_from_its_first_run, auto_first
):
    project = flaky_from_its_first_run(auto_first=auto_first)
    project.change()
    done = project.check(FLAKY)
    assert done.exit == 0, done.out
    (found,) = done.json["quarantined"]
    assert (found["since"], found["until"]) == ("2026-11-02", "2026-12-02")
    assert project.check(FLAKY, options=("--today", "2026-12-03")).exit == 1


def test_it_is_not_once_a_run_is_lost_that_came_after_auto(flaky_from_its_first_run):
    project = flaky_from_its_first_run(auto_first=True)
    project.change()
    assert run(project.folder, "history", "prune", "--keep", "3", "--yes").exit == 0
    done = project.check(FLAKY)
    assert done.exit == 1
    assert "list it under quarantine.ids" in notes(done)


def test_it_is_in_a_history_that_was_cut_before_auto_came(flaky_from_its_first_run):
    """A quarantine begins no earlier than the policy asks for one."""
    project = flaky_from_its_first_run(auto_first=False)
    project.change()
    assert run(project.folder, "history", "prune", "--keep", "3", "--yes").exit == 0
    assert project.check(FLAKY).exit == 0


def test_in_a_shallow_clone_what_came_before_is_not_known(flaky_from_its_first_run, tmp_path):
    project = flaky_from_its_first_run(auto_first=True)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--depth", "4", f"file://{project.folder}", str(clone))
    shutil.copytree(project.folder / "history", clone / "history")
    shutil.copy(project.folder / "results.jsonl", clone)
    shallow = Project(clone)
    shallow.change()
    assert shallow.check(FLAKY).exit == 1


def test_a_date_before_the_runs_is_refused(flaky):
    done = flaky().check(FLAKY, options=("--today", "2026-11-01"))
    assert done.exit == 2
    assert "--today 2026-11-01 is before the run" in done.out


@pytest.mark.parametrize("day", ["tomorrow", "2026-13-01", "20261117", ""])
def test_a_day_that_is_none_is_refused(tmp_path, day):
    put(tmp_path, {"highbar.json": BAR, "results.jsonl": rows()})
    done = run(tmp_path, "check", "results.jsonl", "--today", day)
    assert done.exit == 2
    assert "is not a date" in done.err
