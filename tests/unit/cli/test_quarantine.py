"""A quarantine in real repositories: what it spares, and what it never does."""

from __future__ import annotations

import json

import pytest

from tests.commandline import run
from tests.repository import ENVIRONMENT, commit, git, put

pytestmark = pytest.mark.process  # git has the policy of main

TODAY = "2026-11-17"
BAR = {"thresholds": {"pass_rate": "50%"}, "baseline": {"file": "baseline.json", "new_failures": "all"}}
FLAKY = "A-3"
NAMES = tuple(f"A-{n}" for n in range(30))


def rows(*failed, **columns):
    """Thirty scenarios; `columns` has by column what the scenarios by id have."""
    lines = [
        {"id": id_, "passed": id_ not in failed}
        | {column: values[id_] for column, values in columns.items() if id_ in values}
        for id_ in NAMES
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)


class Project:
    """A repository with a baseline in which everything passed, on a branch with a change."""

    def __init__(self, folder):
        self.folder = folder

    def check(self, *failed, options=(), **more):
        """The verdict on results of the change, against main."""
        put(self.folder, {"results.jsonl": rows(*failed, **more)})
        against = ("--against-ref", "main", "--today", TODAY)
        return run(self.folder, "check", "results.jsonl", "--format", "json", *against, *options)


@pytest.fixture(autouse=True)
def _plain_git(monkeypatch):
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


def begin(folder):
    put(folder, {"highbar.json": BAR, "results.jsonl": rows(), ".gitignore": "results.jsonl\n"})
    assert run(folder, "baseline", "record", "results.jsonl").exit == 0
    (folder / ".git").rmdir()  # the command line was run in an empty one
    commit(folder, {})


@pytest.fixture
def project(made, tmp_path):
    """A function that returns a copy of such a repository; `block` is the quarantine of main, `now` of the change."""

    def make(block, now=None, **bar):
        found = Project(tmp_path / "copy")
        made(found.folder, begin)
        policy = {**BAR, **({} if block is None else {"quarantine": block}), **bar}
        commit(found.folder, {"highbar.json": policy})
        git(found.folder, "checkout", "--quiet", "-b", "change")
        commit(found.folder, {"highbar.json": {**policy, **(now or {})}, "change.txt": "x"})
        return found

    return make


def outcomes(done):
    return {rule["rule"]: rule["outcome"] for rule in done.json["rules"]}


def differing(done):
    return [one["what"] for one in done.json["against"]["weakened"]]


def notes(done):
    return "\n".join(one for one in done.json["warnings"] if "quarantine" in one and "differs" not in one)


# --- what it does ----------------------------------------------------------------------------


def test_a_failure_of_a_listed_scenario_is_no_new_failure(project):
    done = project([FLAKY]).check(FLAKY)
    assert done.exit == 0, done.out
    assert done.json["quarantined"] == [{"id": FLAKY, "why": "listed in the policy", "until": None}]
    assert done.rule("baseline.new_failures")["reason"].endswith(f"1 scenario failed in quarantine: {FLAKY}")


def test_it_counts_in_every_rate_and_is_listed_as_failed(project):
    done = project([FLAKY]).check(FLAKY)
    assert done.json["metrics"]["pass_rate"]["value"] == pytest.approx(29 / 30)
    assert [one["id"] for one in done.json["scenarios_failed"]] == [FLAKY]


def test_another_failure_is_a_new_failure_all_the_same(project):
    done = project([FLAKY]).check(FLAKY, "A-4")
    assert done.exit == 1
    assert done.rule("baseline.new_failures")["reason"].startswith("1 scenario passed in the baseline and not now: A-4")


def test_a_quarantined_scenario_has_to_run(project):
    found = project([FLAKY])
    put(found.folder, {"results.jsonl": "".join(line for line in rows().splitlines(True) if FLAKY not in line)})
    done = run(found.folder, "check", "results.jsonl", "--format", "json", "--against-ref", "main", "--today", TODAY)
    assert done.rule("baseline.new_failures")["outcome"] == "fail"
    assert FLAKY in done.rule("baseline.new_failures")["reason"]


def test_every_report_marks_it(project):
    found = project([{"id": FLAKY, "until": "2026-12-02"}])
    files = ("report.html", "report.md", "report.xml")
    outputs = [word for file in files for word in ("--output", file)]
    assert found.check(FLAKY, options=outputs).exit == 0
    for file in files:
        assert "quarantined" in (found.folder / file).read_text(), file
    for more in ((), ("-v",), ("--quiet",)):
        done = run(found.folder, "check", "results.jsonl", "--against-ref", "main", "--today", TODAY, *more)
        assert "quarantined" in done.out, more
        assert "listed in the policy, until 2026-12-02" in " ".join(done.out.split()) or "--quiet" in more


# --- what a change cannot do ------------------------------------------------------------------


@pytest.mark.parametrize("block", [None, [FLAKY]], ids=["the first", "one more"])
def test_a_change_cannot_quarantine_its_own_failure(project, block):
    done = project(block, now={"quarantine": ["A-7"]}).check("A-7")
    assert done.exit == 1
    assert (done.json["quarantined"], outcomes(done)["quarantine"]) == ([], "pass")
    assert outcomes(done)["baseline.new_failures"] == "fail"
    assert differing(done) == ["highbar.json"]


def test_a_change_cannot_prolong_a_quarantine(project):
    block = [{"id": "A-6", "until": "2026-11-16"}]
    done = project(block, now={"quarantine": ["A-6"]}).check("A-6")
    assert done.exit == 1
    assert differing(done) == ["highbar.json"]


def test_a_change_may_shorten_a_quarantine(project):
    done = project([FLAKY], now={"quarantine": [{"id": FLAKY, "until": "2026-11-16"}]}).check(FLAKY)
    assert done.exit == 1
    assert "that of A-3 ended on 2026-11-16" in notes(done)


@pytest.mark.parametrize("side", ["main", "change"])
def test_a_policy_of_either_side_that_has_auto_is_refused_with_what_to_use(project, side):
    auto = {"auto": {"runs": 5}, "history": "history"}
    done = project(auto if side == "main" else None, now={"quarantine": auto if side == "change" else [FLAKY]}).check()
    assert done.exit == 2
    found = {one["message"].rpartition(": ")[2]: one for one in done.json["problems"]}
    assert "highbar history flaky" in found["the key 'auto' was removed"]["hint"]
    assert "the key 'history' was removed" in found


# --- what is never taken, and how long --------------------------------------------------------


def test_an_adversarial_scenario_is_never_quarantined(project):
    done = project([FLAKY]).check(FLAKY, category={FLAKY: "adversarial"})
    assert (done.exit, done.json["quarantined"]) == (1, [])
    assert "A-3 is adversarial, and so is not quarantined" in notes(done)


def test_a_quarantine_ends_after_its_last_day_and_a_note_says_so(project):
    found = project(["A-5", {"id": "A-6", "until": "2026-11-16"}])
    assert found.check("A-5").exit == 0
    done = found.check("A-6")
    assert done.exit == 1
    assert "that of A-6 ended on 2026-11-16" in notes(done)


def test_a_quarantine_lasts_to_the_end_of_its_last_day(project):
    done = project([{"id": "A-6", "until": TODAY}]).check("A-6")
    assert (done.exit, done.json["quarantined"][0]["until"]) == (0, TODAY)


def test_an_id_that_no_result_has_is_named(project):
    assert "no result has the id B-1; remove it from the policy" in notes(project(["B-1"]).check())


def test_more_than_a_twentieth_of_the_suite_fails_whatever_else_passes(project):
    done = project(["A-5", "A-6"]).check()
    assert done.exit == 1
    assert done.rule("quarantine")["reason"] == ("2 scenarios quarantined: A-5, A-6; at most 1 may be, 5.0% of 30")


@pytest.mark.parametrize("day", ["tomorrow", "2026-13-01", "20261117", ""])
def test_a_day_that_is_none_is_refused(tmp_path, day):
    put(tmp_path, {"highbar.json": BAR, "results.jsonl": rows()})
    done = run(tmp_path, "check", "results.jsonl", "--today", day)
    assert done.exit == 2
    assert "is not a date" in done.err
