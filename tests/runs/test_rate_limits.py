"""Servers that limit calls, storm or are down: no trial is lost to a limit, and the end of the run says what there was.

How fast that goes is tested in simulated time (`tests/unit/running/test_pacing.py`) and measured by
`bench/rate_limits.py`.
"""

from __future__ import annotations

import json
import math
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from bench.limiters import Bucket, Limiter

from tests import faulty_server as faulty
from tests import judge_server as judges
from tests.commandline import judged, refused
from tests.faulty_server import Step, serving
from tests.patience import wait_for
from tests.runs.judged_projects import asks, judged_project
from tests.runs.projects import Project, finished, scenarios

YES = faulty.answers("yes")
DOWN = {"retries": 0, "patience": "0s"}


class Limited:
    """A plan: what a limit refuses is busy, and all else is answered. `refused` counts."""

    def __init__(self, limiter: Limiter, *, code: int = 429, says_when: bool = False, then: Step = YES) -> None:
        self.refused = 0
        self._limiter, self._code, self._says_when, self._then = limiter, code, says_when, then
        self._start = time.monotonic()

    def __call__(self, _number: int, _body: Any) -> Step:
        wait = self._limiter.refuse(time.monotonic() - self._start)
        if wait is None:
            return self._then
        self.refused += 1
        return faulty.status(self._code, str(math.ceil(wait)) if self._says_when else None)


def project_at(address: str, folder: Path, count: int, **run: Any) -> Project:
    return Project(folder, {"http": address, "format": "openai"}, scenarios(count), run=run)


@pytest.mark.parametrize("code", [429, 503, 529])
@pytest.mark.parametrize("says_when", [True, False])
def test_a_limit_loses_no_trial(tmp_path: Path, code: int, says_when: bool) -> None:
    with serving(Limited(Bucket(30, 1), code=code, says_when=says_when)) as server:
        project = project_at(server.address, tmp_path, 60, retries=0)
        judged(project.run("--concurrency", "16"), "pass")
    assert project.done() == (60, 0, 0)


@pytest.mark.parametrize("code", [429, 503, 529])
def test_a_storm_uses_up_no_retry(tmp_path: Path, code: int) -> None:
    """However long it takes: here as many calls as would have used up all retries."""
    with serving([YES] * 3 + [faulty.status(code)] * 14 + [YES]) as server:
        project = project_at(server.address, tmp_path, 8, retries=1, concurrency=2)
        judged(project.run(), "pass")
        assert len(server.calls) == 8 + 14
    assert project.done() == (8, 0, 0)


def test_the_end_of_the_run_says_what_the_server_allowed(tmp_path: Path) -> None:
    def plan(number: int, _body: Any) -> Step:
        return faulty.status(429) if number % 5 == 0 else YES

    with serving(plan) as server:
        project = project_at(server.address, tmp_path, 30)
        done = project.run("--concurrency", "4")
    judged(done, "pass")
    assert "note: the agent's server allowed about " in done.err
    assert " --concurrency " in done.err
    assert done.err.count("would do") == 1


def test_without_a_limit_nothing_is_said_of_one(tmp_path: Path) -> None:
    with serving([YES]) as server:
        done = project_at(server.address, tmp_path, 30).run()
    judged(done, "pass")
    assert "allowed" not in done.err


def test_a_limit_of_the_judge_loses_no_judgment_and_the_end_says_what_it_allowed(tmp_path: Path) -> None:
    asked = 0

    def plan(_asked: judges.Asked) -> judges.JudgeStep:
        nonlocal asked
        asked += 1
        return judges.status(429) if asked % 5 == 0 else judges.answers()

    with judged_project(tmp_path, [asks(f"S{place}", "I cannot.") for place in range(30)], plan) as project:
        judge = {"model": "m", "base_url": project.judge.base_url, "retries": 0}
        project.write([asks(f"S{place}", "I cannot.") for place in range(30)], judge=judge)
        done = project.run()
        judged(done, "pass")
    assert project.document()["judge"]["failed"] == 0
    assert "note: the judge's server allowed about " in done.err


@pytest.mark.process
def test_a_judge_without_room_holds_up_nobody_who_stops_the_run(tmp_path: Path) -> None:
    def plan(_asked: judges.Asked) -> judges.JudgeStep:
        return judges.status(503) if is_down else judges.answers()

    is_down = True
    with judged_project(tmp_path, [asks("S0", "I cannot.")], plan) as project:
        judge = {"model": "m", "base_url": project.judge.base_url, "timeout": "2s", "patience": "1h"}
        project.write([asks("S0", "I cannot.")], judge=judge)
        with project.started("run", "suite.json", "--output", "out", "--no-check") as process:
            wait_for(lambda: len(project.judge.calls) > 2, "the judge was not asked")
            process.send_signal(signal.SIGINT)
            assert finished(process).exit == 130
        is_down = False
        judged(project.resume(), "pass")
        assert len(project.agent.calls) == 1


def test_a_resume_goes_on_where_patience_ended(tmp_path: Path) -> None:
    with serving([YES] * 3 + [faulty.status(503)] * 5 + [YES]) as server:
        project = project_at(server.address, tmp_path, 8, concurrency=1, **DOWN)
        judged(project.run(), "inconclusive")
        assert project.done() == (3, 0, 5)
        judged(project.resume(), "pass")
    assert project.done() == (8, 0, 0)


# --- nothing was answered --------------------------------------------------------------------------

POLICIES = {
    "pass rate": {"pass_rate": "100%"},
    "accuracy": {"accuracy": "90%"},
    "errors": {"error_rate": "≤ 1%"},
    "violations": {"violation_rate": "0%"},
    "latency": {"latency_p95": "500ms"},
    "cost": {"cost_per_pass": "≤ 1"},
}


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (faulty.status(503), "HTTP 503 Service Unavailable"),
        (faulty.resets_before_the_first_byte(), "the connection broke before the reply"),
    ],
)
def test_if_nothing_was_answered_one_sentence_says_why(tmp_path: Path, name: str, fault: Step, reason: str) -> None:
    with serving([fault]) as server:
        project = project_at(server.address, tmp_path, 12, **DOWN)
        (tmp_path / "highbar.yaml").write_text(json.dumps({"thresholds": {"blocking": POLICIES[name]}}))
        done = project.run()
    judged(done, "inconclusive")
    assert done.err.count(f"nothing was answered: {reason}\n") == 1
    assert project.done() == (0, 0, 12)


def test_without_a_policy_the_sentence_is_the_same(tmp_path: Path) -> None:
    with serving([faulty.status(503)]) as server:
        project = project_at(server.address, tmp_path, 12, **DOWN)
        (tmp_path / "highbar.yaml").unlink()
        done = project.run()
        refused(done)
        assert "nothing was answered: HTTP 503 Service Unavailable\n" in done.err
        done = project.run("--no-check", name="second")
        assert done.exit == 3
        assert "nothing was answered: HTTP 503 Service Unavailable\n" in done.err


def test_if_something_was_answered_the_sentence_is_not_there(tmp_path: Path) -> None:
    with serving([YES, faulty.status(503)]) as server:
        done = project_at(server.address, tmp_path, 12, concurrency=1, **DOWN).run()
    judged(done, "inconclusive")
    assert "nothing was answered" not in done.err


def test_if_the_judge_answers_nothing_one_sentence_says_why(tmp_path: Path) -> None:
    with judged_project(
        tmp_path, [asks(f"S{place}", "I cannot.") for place in range(6)], [judges.status(503)]
    ) as project:
        done = project.run()
    judged(done, "inconclusive")
    assert done.err.count("the judge answered nothing: HTTP 503 Service Unavailable\n") == 1
