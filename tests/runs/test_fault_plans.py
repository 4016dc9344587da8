"""A server that fails by a plan: how often it is called, what each trial comes to, and the exit code are known exactly.

Six scenarios, one call each. One of them, S2, meets the plan; the others are answered. One retry is allowed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests import faulty_server as faulty
from tests.commandline import judged, refused
from tests.faulty_server import FaultyServer, Step, serving
from tests.runs.projects import Project, scenarios

YES = faulty.answers("yes")
SHORT = "0.5s"
"""The time of a call that must time out; all others have a minute."""


class ByScenario:
    """A plan: for each scenario its steps, one for each call and the last one for all that follow. Others answer."""

    def __init__(self, plans: Mapping[str, Sequence[Step]]) -> None:
        self.plans = plans
        self.counts: Counter[str] = Counter()

    def __call__(self, _number: int, body: Any) -> Step:
        id_ = body["messages"][-1]["content"] if body else "GET"
        steps = self.plans.get(id_, [YES])
        self.counts[id_] += 1
        return steps[min(self.counts[id_], len(steps)) - 1]


def project_at(
    server: FaultyServer, folder: Path, count: int = 6, *, max_reply: str | None = None, hurry: str = "", **run: Any
) -> Project:
    """A project whose agent is that server. `hurry` names the scenario with little time; other keys are of the run."""
    agent = {"http": server.address, "format": "openai", **({"max_reply": max_reply} if max_reply else {})}
    suite = [{**one, **({"timeout": SHORT} if one["id"] == hurry else {})} for one in scenarios(count)]
    return Project(folder, agent, suite, run={"retries": 1, "patience": "0s", **run})


def test_without_a_fault_each_trial_is_asked_once(tmp_path: Path) -> None:
    with serving([YES]) as server:
        project = project_at(server, tmp_path)
        judged(project.run(), "pass")
        assert len(server.calls) == 6
    assert project.done() == (6, 0, 0)


PASSING: list[Step] = [
    faulty.status(429),
    faulty.status(429, retry_after="0"),
    faulty.status(429, retry_after="1"),
    faulty.status(429, retry_after="-1"),
    faulty.status(429, retry_after="x"),
    faulty.status(503),
    faulty.status(503, retry_after="0"),
    faulty.status(529),
    faulty.resets_before_the_first_byte(),
    faulty.raw(b""),
]


def test_a_failure_of_the_infrastructure_is_asked_again_and_then_answered(tmp_path: Path) -> None:
    """Each of them at a scenario of its own, between others that are answered at once."""
    plan = ByScenario({f"S{2 * place + 1}": [fault, YES] for place, fault in enumerate(PASSING)})
    count = 2 * len(PASSING) + 1
    with serving(plan) as server:
        project = project_at(server, tmp_path, count)
        judged(project.run(), "pass")
    assert project.done() == (count, 0, 0)
    for row in project.rows():
        wanted = 2 if row["id"] in plan.plans else 1
        assert (plan.counts[row["id"]], row["attempts"]) == (wanted, wanted), row
    assert project.document()["retried"] == {"answered": len(PASSING), "errors": 0, "undecided": 0}


LASTING: list[tuple[Step, str]] = [
    (faulty.status(429), "HTTP 429 Too Many Requests"),
    (faulty.status(429, retry_after="0"), "HTTP 429 Too Many Requests"),
    (faulty.status(503), "HTTP 503 Service Unavailable"),
    (faulty.status(529), "HTTP 529 Overloaded"),
    (faulty.resets_before_the_first_byte(), "the connection broke before the reply"),
]


def test_a_failure_of_the_infrastructure_that_stays_is_undecided_until_it_is_answered(tmp_path: Path) -> None:
    down = {f"S{2 * place + 1}": fault for place, fault in enumerate(LASTING)}
    plan = ByScenario({id_: [fault] for id_, (fault, _) in down.items()})
    count, some = 2 * len(LASTING) + 1, len(LASTING)
    with serving(plan) as server:
        project = project_at(server, tmp_path, count)
        judged(project.run(), "inconclusive")
        assert len(server.calls) == count + some
        assert project.done() == (count - some, 0, some)
        for id_, (_, reason) in down.items():
            row = project.row(id_)
            assert (row["unjudged"], row["attempts"], plan.counts[id_]) == (f"not run: {reason}", 2, 2)
            assert "correct" not in row
        judged(project.check(), "inconclusive")
        plan.plans = {}
        judged(project.resume(), "pass")
        assert len(server.calls) == count + 2 * some, "only what has no answer is asked again"
    assert project.done() == (count, 0, 0)


@pytest.mark.parametrize("fault", [faulty.status(429), faulty.status(503), faulty.resets_before_the_first_byte()])
def test_one_failure_of_the_infrastructure_is_enough_for_no_verdict(tmp_path: Path, fault: Step) -> None:
    plan = ByScenario({"S2": [fault]})
    with serving(plan) as server:
        project = project_at(server, tmp_path)
        judged(project.run(), "inconclusive")
    assert plan.counts == {"S0": 1, "S1": 1, "S2": 2, "S3": 1, "S4": 1, "S5": 1}
    assert project.done() == (5, 0, 1)


ERRORS: list[tuple[Step, str]] = [
    (faulty.status(400, text="content filter"), "HTTP 400 Bad Request: content filter"),
    (faulty.status(401), "HTTP 401 Unauthorized"),
    (faulty.status(403), "HTTP 403 Forbidden"),
    (faulty.status(404), "HTTP 404 Not Found"),
    (faulty.status(408, retry_after="0"), "HTTP 408 Request Timeout"),
    (faulty.status(500), "HTTP 500 Internal Server Error"),
    (faulty.status(500, retry_after="0"), "HTTP 500 Internal Server Error"),
    (faulty.status(502), "HTTP 502 Bad Gateway"),
    (faulty.status(504), "HTTP 504 Gateway Timeout"),
    (faulty.resets_after_the_first_byte(), "the connection broke during the reply"),
    (faulty.resets_in_the_body(), "the reply was cut: the connection broke before its end"),
    (faulty.cuts_the_body(), "the reply was cut: the connection broke before its end"),
    (faulty.cuts_without_a_length(), "malformed reply: "),
    (faulty.garbage(), "the reply is not HTTP"),
    (faulty.sends(b"yes"), "malformed reply: "),
    (faulty.sends(b""), "empty reply"),
    (faulty.sends(b"\xff\xfe"), "malformed reply: "),
    (faulty.answers({"choices": []}), "malformed reply: "),
    (faulty.answers({"error": "yes"}), "malformed reply: "),
    (faulty.answers(""), "empty reply"),
    (faulty.floods(), "larger than"),
    (faulty.gzip_bomb(2**26), "larger than"),
    (faulty.redirects("/elsewhere", 302), "redirect was not followed"),
]


def test_a_failure_of_the_agent_is_an_error_and_is_not_asked_again(tmp_path: Path) -> None:
    """Each of them at a scenario of its own, between others that are answered."""
    wrong = {f"S{2 * place + 1}": fault for place, fault in enumerate(ERRORS)}
    count = 2 * len(ERRORS) + 1
    with serving(ByScenario({id_: [fault] for id_, (fault, _) in wrong.items()})) as server:
        project = project_at(server, tmp_path, count, max_reply="1 MiB")
        judged(project.run(), "fail")
        assert len(server.calls) == count
        assert project.done() == (count - len(ERRORS), len(ERRORS), 0)
        for row in project.rows():
            assert row["attempts"] == 1
            assert row["correct"] is (row["id"] not in wrong)
            assert row["id"] not in wrong or wrong[row["id"]][1] in row["error"], row
        judged(project.resume(), "fail")
        assert len(server.calls) == count, "an error is final"


@pytest.mark.parametrize(
    ("fault", "calls"), [(faulty.status(500), 1), (faulty.garbage(), 1), (faulty.redirects("", 307), 6)]
)
def test_one_failure_of_the_agent_is_enough_to_fail(tmp_path: Path, fault: Step, calls: int) -> None:
    plan = ByScenario({"S2": [fault]})
    with serving(plan) as server:
        project = project_at(server, tmp_path)
        judged(project.run(), "fail")
    assert plan.counts == {"S0": 1, "S1": 1, "S2": calls, "S3": 1, "S4": 1, "S5": 1}
    assert project.done() == (5, 1, 0)


@pytest.mark.parametrize(
    "fault", [faulty.hangs(), faulty.drips(), faulty.waits(30, YES)], ids=["hangs", "drips", "late"]
)
def test_a_call_has_an_end_whatever_the_server_does(tmp_path: Path, fault: Step) -> None:
    plan = ByScenario({"S2": [fault]})
    with serving(plan) as server:
        project = project_at(server, tmp_path, hurry="S2")
        judged(project.run(), "fail")
        assert len(server.calls) == 6
    assert project.done() == (5, 1, 0)
    assert project.row("S2")["error"] == "timed out after 0.5 s"


def test_a_redirect_to_the_same_host_is_followed(tmp_path: Path) -> None:
    plan = ByScenario({"S2": [faulty.redirects("/elsewhere"), YES]})
    with serving(plan) as server:
        project = project_at(server, tmp_path)
        judged(project.run(), "pass")
        assert len(server.calls) == 7
        assert Counter(call.path for call in server.calls) == {"/v1/chat/completions": 6, "/elsewhere": 1}
    assert [row["attempts"] for row in project.rows()] == [1] * 6


# --- a wrong key or address ----------------------------------------------------------------------


@pytest.mark.parametrize("code", [401, 403, 404])
def test_five_refusals_end_the_run_and_no_trial_counts_as_failed(tmp_path: Path, code: int) -> None:
    with serving([faulty.status(code, text="no such \x1b[2Jkey")] * 5 + [YES]) as server:
        project = project_at(server, tmp_path, count=9, concurrency=1)
        refused(project.run(), f"the first trials were all refused: HTTP {code}", "no such \\x1b[2Jkey", "--resume out")
        assert len(server.calls) == 5
        assert project.done() == (0, 0, 9)
        refused(project.check(), "--resume")
        judged(project.resume(), "pass")
        assert len(server.calls) == 5 + 9
    assert project.done() == (9, 0, 0)


def test_with_many_calls_at_once_no_more_than_those_are_made(tmp_path: Path) -> None:
    with serving([faulty.status(401)]) as server:
        project = project_at(server, tmp_path, count=50)
        refused(project.run(), "HTTP 401")
        assert 5 <= len(server.calls) <= 4 + 8, "four refusals, each followed by another call, and eight at once"


def test_an_address_at_which_nothing_listens_ends_the_run_at_once(tmp_path: Path) -> None:
    address = f"http://127.0.0.1:{faulty.closed_port()}/v1/chat/completions"
    project = Project(tmp_path, {"http": address, "format": "openai"}, scenarios(9))
    refused(project.run(), "the first trials were all refused: connection refused")
    assert project.done() == (0, 0, 9)


@pytest.mark.parametrize("order", [[401, 401, 401, 401, 403], [401, 401, 200], [500, 401, 401, 401, 401]])
def test_refusals_that_differ_or_come_later_are_errors(tmp_path: Path, order: list[int]) -> None:
    steps = [YES if code == 200 else faulty.status(code) for code in order]
    with serving([*steps, YES]) as server:
        project = project_at(server, tmp_path, concurrency=1)
        judged(project.run(), "fail")
        assert len(server.calls) == 6
    wrong = sum(code != 200 for code in order)
    assert project.done() == (6 - wrong, wrong, 0)


# --- all at once ---------------------------------------------------------------------------------


def test_a_server_that_is_down_for_all_leaves_everything_undecided(tmp_path: Path) -> None:
    with serving([faulty.status(503)]) as server:
        project = project_at(server, tmp_path)
        judged(project.run(), "inconclusive")
        assert len(server.calls) == 12
    assert project.done() == (0, 0, 6)


def test_every_fault_beside_every_other_comes_to_the_same(tmp_path: Path) -> None:
    plans: dict[str, tuple[list[Step], int, str]] = {
        "S1": ([faulty.status(429, retry_after="0"), YES], 2, "answered"),
        "S3": ([faulty.status(503)], 2, "undecided"),
        "S4": ([faulty.status(500)], 1, "error"),
        "S6": ([faulty.hangs()], 1, "error"),
        "S7": ([faulty.resets_before_the_first_byte(), faulty.status(500)], 2, "error"),
        "S8": ([faulty.resets_in_the_body()], 1, "error"),
        "S9": ([faulty.floods()], 1, "error"),
        "S11": ([faulty.status(529), faulty.garbage()], 2, "error"),
        "S12": ([faulty.status(401)], 1, "error"),
        "S14": ([faulty.status(429), faulty.status(503)], 2, "undecided"),
        "S15": ([faulty.resets_before_the_first_byte(), YES], 2, "answered"),
    }
    plan = ByScenario({id_: steps for id_, (steps, _, _) in plans.items()})
    with serving(plan) as server:
        project = project_at(server, tmp_path, count=40, hurry="S6", max_reply="1 MiB")
        judged(project.run(), "fail")
    for row in project.rows():
        _, calls, outcome = plans.get(row["id"], ([], 1, "answered"))
        found = "error" if "error" in row else "undecided" if "unjudged" in row else "answered"
        assert (plan.counts[row["id"]], row["attempts"], found) == (calls, calls, outcome), row
    assert project.done() == (31, 7, 2)


def test_a_run_that_ends_by_its_time_leaves_the_rest_undecided(tmp_path: Path) -> None:
    with serving([faulty.waits(0.5, YES)]) as server:
        project = project_at(server, tmp_path, concurrency=1)
        judged(project.run("--max-time", "0.2s"), "inconclusive")
        assert len(server.calls) <= 1
        assert project.done() == (len(server.calls), 0, 6 - len(server.calls))
    assert project.document()["state"] == "time"
