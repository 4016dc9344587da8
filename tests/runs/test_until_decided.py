"""`highbar run --until-decided`: the run stops when its verdict is certain, and `check` says the same of its folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import highbar
from highbar.report.visible import visible
from tests import faulty_server as faulty
from tests.commandline import judged, refused
from tests.faulty_server import Step, serving
from tests.repository import git
from tests.runs.deciding import looking_often
from tests.runs.judged_projects import asks, judged_project
from tests.runs.projects import Project, python_project, scenarios

pytestmark = [pytest.mark.slow, pytest.mark.process]


@pytest.fixture(autouse=True)
def often():
    with looking_often():
        yield


PLANNED = 200


@pytest.fixture
def same_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """The randomness of every run is that of seed 1. The option is no way to it: an order that it gives is none."""
    monkeypatch.setattr("secrets.randbits", lambda _: 1)


"""For runs in which another order of the scenarios would be decided at another place."""
AGENT = """
import itertools

CALLS = itertools.count(1)

def answer(said):
    note(said)
    if next(CALLS) > {quick}:
        time.sleep(1)  # by then it is decided, and if the machine is busy, soon
    place = int(said[1:])
    return "no" if {fails} else "yes"
"""
SEQUENTIAL = {"evidence": "sequential", "suite": "suite.json", "thresholds": {"blocking": {"pass_rate": "≥ 85%"}}}


def project(
    folder: Path,
    policy: Mapping[str, Any] = SEQUENTIAL,
    *,
    fails: str = "False",
    quick: int = 80,
    planned: int = PLANNED,
    at_once: int = 4,
    **keys: Any,
) -> Project:
    """A suite whose agent fails on some scenarios, and becomes slow after some calls."""
    made = python_project(
        folder, AGENT.format(fails=fails, quick=quick), scenarios(planned, **keys), run={"concurrency": at_once}
    )
    (folder / "highbar.yaml").unlink()
    (folder / "highbar.json").write_text(json.dumps(policy), "utf-8")
    return made


def not_run(made: Project) -> list[str]:
    return [row["id"] for row in made.rows() if str(row.get("unjudged", "")).startswith("not run: ")]


def decided_at(rule: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a rule came to, and where in the order it was decided."""
    found = rule["stopping"] and (rule["stopping"]["decided_at"], rule["stopping"]["standing"])
    return rule["rule"], rule["outcome"], found


def same_verdict(made: Project, verdict: dict[str, Any]) -> None:
    """What `check` says of the folder is what the run said: by the same code, from the same rows."""
    again = made.check().json
    assert again == verdict


@pytest.mark.parametrize(("fails", "expected"), [("False", "pass"), ("place % 2", "fail")])
def test_a_run_stops_as_soon_as_its_rules_are_decided(tmp_path: Path, fails: str, expected: str) -> None:
    made = project(tmp_path, fails=fails)
    done = made.run("--until-decided")
    verdict = judged(done, expected)
    document = made.document()
    assert document["state"] == "decided"
    assert document["until_decided"]["policy"] == "highbar.json"
    ran = PLANNED - len(not_run(made))
    assert 0 < ran < PLANNED
    assert len(made.asked()) == ran
    run = verdict["sequential"]
    assert (run["planned"], run["ran"], run["saved"]) == (PLANNED, ran, PLANNED - ran)
    assert "not needed" in done.err
    assert "until decided: thresholds.blocking.pass_rate: of 200 scenarios about" in done.err
    assert {row["unjudged"] for row in made.rows() if row["id"] in not_run(made)} == {
        "not run: the run was decided without it"
    }
    same_verdict(made, verdict)
    # The rest changes nothing: the first crossing has decided.
    (tmp_path / "agent.py").write_text((tmp_path / "agent.py").read_text().replace("sleep(1)", "sleep(0)"))
    calls = len(made.asked())
    again = made.resume()
    assert again.json == verdict | {"results": again.json["results"]}
    assert "nothing was called" in again.err
    assert len(made.asked()) == calls
    rest = judged(made.resume("--run-all"), expected)
    assert made.document()["state"] == "complete"
    assert len(made.asked()) == PLANNED
    assert [decided_at(rule) for rule in rest["rules"]] == [decided_at(rule) for rule in verdict["rules"]]


def test_a_required_scenario_begins_first_and_decides_the_run_if_it_fails(tmp_path: Path) -> None:
    policy = {**SEQUENTIAL, "required_scenarios": {"ids": ["S199"]}}
    made = project(tmp_path, policy, fails="place == 199", quick=8, at_once=1)
    verdict = judged(made.run("--until-decided"), "fail")
    assert made.asked()[0][0] == "S199"
    assert made.document()["state"] == "decided"
    same_verdict(made, verdict)


def test_what_no_trial_can_change_is_decided_before_the_first_call(tmp_path: Path) -> None:
    made = project(tmp_path, {**SEQUENTIAL, "required_scenarios": {"ids": ["NOWHERE"]}})
    done = made.run("--until-decided")
    verdict = judged(done, "fail")
    assert made.asked() == []
    assert "nothing was called" in done.err
    assert made.document()["state"] == "decided"
    assert len(not_run(made)) == PLANNED
    same_verdict(made, verdict)


def test_without_sequential_evidence_a_run_stops_when_the_rest_cannot_change_the_verdict(tmp_path: Path) -> None:
    policy = {"thresholds": {"blocking": {"pass_rate": "≥ 30%"}}}
    made = project(tmp_path, policy, quick=100)
    done = made.run("--until-decided")
    verdict = judged(done, "pass")
    assert made.document()["state"] == "decided"
    answered = PLANNED - len(not_run(made))
    assert answered >= 0.3 * PLANNED
    assert "decided early only if the rest of the run cannot change it" in done.err
    same_verdict(made, verdict)


def test_a_suite_rule_that_is_not_sequential_lets_only_a_fail_be_decided_early(tmp_path: Path) -> None:
    policy = {"suite": "suite.json", "thresholds": {"blocking": {"pass_rate": "≥ 30%"}}}
    made = project(tmp_path, policy, planned=30)
    done = made.run("--until-decided")
    judged(done, "pass")
    assert made.document()["state"] == "complete"
    assert "suite can pass only when every trial was run" in done.err


def test_scenarios_of_open_rules_begin_before_those_that_no_open_rule_is_about(tmp_path: Path) -> None:
    """The rule about all is decided soon. All 20 adversarial ones are needed, and the last is nearly last of all."""
    policy = {**SEQUENTIAL, "pass_criteria": {"by_category": {"adversarial": "≥ 86%"}}}
    made = project(tmp_path, policy, quick=60, planned=240)
    suite = json.loads((tmp_path / "suite.json").read_text())
    for place, scenario in enumerate(suite["scenarios"]):
        scenario["category"] = "adversarial" if place < 20 else "happy_path"
    (tmp_path / "suite.json").write_text(json.dumps(suite))
    verdict = judged(made.run("--until-decided"), "pass")
    asked = {said for said, _ in made.asked()}
    assert asked >= {f"S{place}" for place in range(20)}
    assert len(asked) < 200
    same_verdict(made, verdict)


def test_a_scenario_counts_when_all_its_trials_have_ended(tmp_path: Path) -> None:
    policy = {**SEQUENTIAL, "thresholds": {"blocking": {"pass_rate": "≥ 70%"}}}
    made = project(tmp_path, policy, planned=150, trials=2, quick=200, at_once=1)
    verdict = judged(made.run("--until-decided"), "pass")
    asked = [said for said, _ in made.asked()]
    # Both trials of a scenario begin before those of the next one; the last scenario may have begun only one.
    assert asked[::2][: len(asked) // 2] == asked[1::2]
    assert len({*asked}) == len(asked[::2])
    assert verdict["sequential"]["planned_trials"] == 300
    same_verdict(made, verdict)


def test_checks_in_python_are_called_once_for_each_answer_while_the_run_goes_on(tmp_path: Path) -> None:
    made = project(tmp_path, quick=60, answer={"python": "quality:is_good"})
    code = (tmp_path / "agent.py").read_text().partition("def answer")[0].replace("calls.log", "checks.log")
    (tmp_path / "quality.py").write_text(f"{code}\ndef is_good(answer):\n    note('check')\n    return True\n")
    verdict = judged(made.run("--until-decided"), "pass")
    ran = PLANNED - len(not_run(made))
    assert made.document()["state"] == "decided"
    checks = len((tmp_path / "checks.log").read_text().splitlines())
    # Equal answers are asked about once; at the end, each answer again, for the rows that stay.
    assert ran < checks <= 2 * ran
    same_verdict(made, verdict)


def test_a_run_that_is_judged_counts_what_the_judge_has_judged(tmp_path: Path) -> None:
    suite = [asks(f"S{place}", "No, I cannot do that") for place in range(120)]
    with judged_project(tmp_path, suite, run={"concurrency": 2}) as made:
        (tmp_path / "highbar.yaml").unlink()
        (tmp_path / "highbar.json").write_text(json.dumps(SEQUENTIAL), "utf-8")
        verdict = judged(made.run("--until-decided"), "pass")
        assert made.document()["judge"]["failed"] == 0
        assert made.document()["judge"]["trials"] == 120 - len(not_run(made))
        same_verdict(made, verdict)


def test_a_budget_of_time_still_ends_the_run(tmp_path: Path) -> None:
    made = project(tmp_path, quick=0, planned=40)
    done = made.run("--until-decided", "--max-time", "1s")
    judged(done, "inconclusive")
    assert made.document()["state"] == "time"
    assert "--resume out" in done.err


REFUSED = [
    (("--shard", "1/2", "--subset"), "a shard cannot decide"),
    (("--limit", "5"), "gets no verdict by which it could be decided"),
    (("--only", "S1"), "gets no verdict by which it could be decided"),
    (("--policy", "typical"), "the typical thresholds"),
    (("--policy", "warning.json"), "no blocking rule"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_what_nothing_can_decide_is_refused_before_the_first_call(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    made = project(tmp_path)
    (tmp_path / "warning.json").write_text('{"thresholds": {"warning": {"pass_rate": "≥ 85%"}}}')
    refused(made.run("--until-decided", *arguments), message)
    assert made.asked() == []
    assert not (tmp_path / "out").exists()


def test_without_a_policy_nothing_is_run(tmp_path: Path) -> None:
    made = project(tmp_path)
    (tmp_path / "highbar.json").unlink()
    refused(made.run("--until-decided"), "a run cannot be decided without a policy")
    assert made.asked() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--until-decided", "--no-check"), "--no-check"),
        (("--until-decided", "--run-all", "--resume", "x"), "--run-all"),
        (("--run-all",), "--run-all goes with --resume"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    made = project(tmp_path)
    done = made.run(*arguments) if "--resume" not in arguments else made.resume(*arguments)
    assert done.exit == 2
    assert message in done.err + done.out


def test_a_part_that_is_judged_by_itself_can_be_decided(tmp_path: Path) -> None:
    made = project(tmp_path, quick=60)
    judged(made.run("--until-decided", "--subset", "--limit", "150"), "pass")
    assert made.document()["planned"]["scenarios"] == 150


def test_a_run_that_was_to_be_decided_goes_on_so_and_the_folder_stays_if_that_is_refused(tmp_path: Path) -> None:
    made = project(tmp_path, quick=60)
    judged(made.run("--until-decided"), "pass")
    before = (tmp_path / "out" / "journal").read_bytes()
    refused(made.resume("--no-check"), "--run-all runs every trial")
    assert (tmp_path / "out" / "journal").read_bytes() == before
    judged(made.check(), "pass")


def test_any_run_can_go_on_until_it_is_decided(tmp_path: Path) -> None:
    made = project(tmp_path, quick=0)
    made.run("--max-time", "1s")
    assert made.document()["until_decided"] is None
    text = (tmp_path / "agent.py").read_text()
    (tmp_path / "agent.py").write_text(text.replace("> 0:", "> 60:"))
    judged(made.resume("--until-decided", "--max-time", "1h"), "pass")
    assert made.document()["state"] == "decided"


def test_from_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    suite = {"scenarios": scenarios(60), "run": {"concurrency": 2}}
    policy = {"evidence": "sequential", "thresholds": {"blocking": {"pass_rate": "≥ 70%"}}}
    done = highbar.run(suite, lambda _: "yes", policy=policy, until_decided=True)
    assert done.verdict.verdict == "pass"
    assert json.loads((done.folder / "run.json").read_text())["until_decided"]["policy"] == "<policy>"
    with pytest.raises(highbar.InputError, match="without a policy"):
        highbar.run(suite, lambda _: "yes", until_decided=True)


@pytest.mark.usefixtures("same_order")
def test_a_run_is_decided_when_it_is_so_by_the_policy_at_a_ref_too(tmp_path: Path) -> None:
    """The bar of today is met soon (of 11 scenarios in this order); that of the ref is not, and decides a fail."""
    lowered = {**SEQUENTIAL, "thresholds": {"blocking": {"pass_rate": "≥ 20%"}}}
    made = project(tmp_path, fails="place % 2 == 0")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        git(tmp_path, *words)
    (tmp_path / "highbar.json").write_text(json.dumps(lowered))
    verdict = judged(made.run("--until-decided", "--against-ref", "HEAD"), "fail")
    assert made.document()["state"] == "decided"
    assert {rule["outcome"] for rule in verdict["rules"]} == {"pass", "fail"}
    assert made.check("--against-ref", "HEAD").json == verdict


def test_trials_without_an_answer_are_undecided_and_count_against_a_pass(tmp_path: Path) -> None:
    """Every other call is refused for no fault of the agent: no number of those decides anything for good."""

    def step(_: int, body: Any) -> Step:
        return faulty.answers("yes") if int(body["messages"][-1]["content"][1:]) % 2 else faulty.status(503)

    with serving(step) as server:
        agent = {"http": server.address, "format": "openai"}
        made = Project(tmp_path, agent, scenarios(40), run={"concurrency": 4, "retries": 0, "patience": "0s"})
        (tmp_path / "highbar.yaml").write_text(json.dumps(SEQUENTIAL))
        verdict = judged(made.run("--until-decided"), "inconclusive")
    assert made.done() == (20, 0, 20)
    assert verdict["sequential"]["ran"] == 40
    same_verdict(made, verdict)


def test_with_strict_warnings_have_to_be_decided_too(tmp_path: Path) -> None:
    blocking = {"evidence": "sequential", "thresholds": {"blocking": {"pass_rate": "≥ 50%"}}}
    warning = {**blocking["thresholds"], "warning": {"pass_rate": {"threshold": "≥ 95%"}}}
    made = project(tmp_path, {**blocking, "thresholds": warning}, planned=90, quick=50)
    done = made.run("--until-decided", "--strict")
    ran = done.json["sequential"]["ran"]
    # 9 of 9 decide the blocking rule; the warning needs at least 59 of 59, or all.
    assert (done.json["verdict"], ran >= 59) == ("pass", True)


@pytest.mark.usefixtures("same_order")
def test_what_is_open_is_shown_while_the_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is: after 40 calls, which decide nothing, the agent waits until all of it is shown."""
    wanted = {"  pass_rate ≥ 85%: ", "decide a pass", "more are needed", "at most"}

    def note_what_is_shown(text: str) -> str:
        wanted.difference_update([part for part in wanted if part in text])
        if not wanted:
            (tmp_path / "shown").touch()
        return visible(text)

    monkeypatch.setattr("highbar.cli.run_in_terminal.visible", note_what_is_shown)
    monkeypatch.setattr("highbar.cli.run_in_terminal.PLAIN_EVERY", 0.05)
    made = project(tmp_path, fails="place % 5 == 0", quick=40, planned=60)
    waits = f"while not os.path.exists({str(tmp_path / 'shown')!r}): time.sleep(0.02)"
    agent = tmp_path / "agent.py"
    agent.write_text("import os\n" + agent.read_text().replace("time.sleep(1)", waits))
    err = made.run("--until-decided").err
    assert "  pass_rate ≥ 85%: " in err
    assert "decide a pass" in err
    assert "more are needed" in err
    assert "at most" in err
