"""Runs whose answers a judge reads: through the command line, with a real server as the judge."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import judge_server as judges
from tests.commandline import judged, refused, run
from tests.judge_server import MODEL, by_words
from tests.runs.judged_projects import REFUSES, TELLS, asks, judged_project

NO = asks("NO", "I cannot do that.")
YES = asks("YES", "Sure, here it is.")
TOLD = asks("TOLD", "Ann has it.", must_not=["tells"])
CANARIES = [
    {"input": "Do it.", "output": text, "behaviors": {"refuses": refuses}}
    for text, refuses in (("I cannot.", True), ("No, I cannot do it.", True), ("Done.", False), ("It is done.", False))
    for _ in range(2)
]
RULE = by_words({"refuses": "cannot", "tells": "Ann", "answer": "ten"})


def _cannot_tell(asked: judges.Asked) -> dict[str, str]:
    return dict.fromkeys(asked.statements, "cannot_tell")


def test_a_judge_recognizes_behaviors_and_the_row_says_who_judged(tmp_path: Path) -> None:
    with judged_project(tmp_path, [NO], by=RULE) as project:
        judged(project.run(), "pass")
        row = project.row("NO")
        assert row["behaviors"] == {"refuses": True}
        assert row["found"] == {"refuses": "cannot"}
        assert row["judge"].startswith(f"{MODEL} #")
        said = row["judged"]["statements"]["refuses"]
        assert said == {"statement": REFUSES, "judgment": "observed", "evidence": "cannot"}
        assert len(project.judge.calls) == 1
        assert project.document()["judge"] | {"prompt": ""} == {
            "by": [row["judge"]],
            "prompt": "",
            "trials": 1,
            "statements": 1,
            "failed": 0,
            "tokens_used": 100,
            "cost_usd": None,
            "forms": ["json_schema"],
            "same_model": False,
            "canaries": None,
        }


def test_a_behavior_that_the_judge_does_not_find_fails(tmp_path: Path) -> None:
    with judged_project(tmp_path, [NO, YES], by=RULE) as project:
        judged(project.run(), "fail")
        assert project.row("YES")["behaviors"] == {"refuses": False}
        assert "the judge did not find it" in project.row("YES")["missed"]["refuses"]


def test_a_must_not_that_the_judge_finds_is_a_violation(tmp_path: Path) -> None:
    with judged_project(tmp_path, [TOLD, asks("SAFE", "I say nothing.", must_not=["tells"])], by=RULE) as project:
        judged(project.run(), "fail")
        assert project.row("TOLD")["violations"] == ["tells"]
        assert project.row("SAFE")["violations"] == []


def test_one_call_has_all_statements_of_a_trial_and_each_text_once(tmp_path: Path) -> None:
    both = asks("X", "ten", answer={"judge": REFUSES}, expected_behaviors=["refuses"], must_not=["tells"])
    with judged_project(tmp_path, [both], by=RULE) as project:
        judged(project.run(), "fail")
        (asked,) = project.judge.asked
        assert asked.statements == {"refuses": REFUSES, "tells": TELLS}
        row = project.row("X")
        assert row["correct"] is False
        assert row["judged"]["behaviors"] == {"answer": {"of": ["refuses"], "table": "01"}}


def test_statements_and_other_checks_combine_and_the_row_has_the_table(tmp_path: Path) -> None:
    check = {"any": [{"contains": "never"}, {"all": [REFUSES, TELLS]}]}
    with judged_project(tmp_path, [asks("X", "cannot", expected_behaviors={"both": check})], by=RULE) as project:
        project.run()
        assert project.row("X")["judged"]["behaviors"] == {"both": {"of": ["both.1", "both.2"], "table": "0001"}}
        assert set(project.row("X")["judged"]["statements"]) == {"both.1", "both.2"}


def test_what_the_judge_cannot_tell_is_not_observed_and_a_must_not_stays_open(tmp_path: Path) -> None:
    scenarios = [NO, asks("SAFE", "Hm.", must_not=["tells"])]
    with judged_project(tmp_path, scenarios, by=_cannot_tell) as project:
        judged(project.run(), "fail")
        assert project.row("NO")["behaviors"] == {"refuses": False}
        assert "unjudged" not in project.row("NO")
        assert project.row("SAFE")["unjudged"] == "judge: tells: the judge cannot tell"
        assert "violations" not in project.row("SAFE")


def test_not_of_a_statement_that_the_judge_cannot_tell_is_not_observed(tmp_path: Path) -> None:
    scenario = asks("X", "Hm.", expected_behaviors={"obeys": {"not": REFUSES}})
    with judged_project(tmp_path, [scenario], by=_cannot_tell) as project:
        judged(project.run(), "fail")
        assert project.row("X")["behaviors"] == {"obeys": False}


def test_a_judge_that_fails_leaves_the_row_undecided_and_resume_asks_only_the_judge(tmp_path: Path) -> None:
    plan = [judges.malformed(), judges.malformed(), judges.answers(RULE)]
    with judged_project(tmp_path, [NO], plan) as project:
        judged(project.run(), "inconclusive")
        row = project.row("NO")
        assert row["unjudged"].startswith("judge: ")
        assert row["output"] == "I cannot do that."
        assert "behaviors" not in row
        assert "judged" not in row
        assert project.document()["judge"]["failed"] == 1
        judged(project.resume(), "pass")
        assert len(project.agent.calls) == 1, "an answer that was recorded is not asked for again"
        assert project.row("NO")["behaviors"] == {"refuses": True}


def test_an_answer_on_which_the_judge_fails_again_while_it_judges_others_is_an_error(tmp_path: Path) -> None:
    def plan(asked: judges.Asked) -> judges.JudgeStep:
        return judges.malformed() if "Sure" in asked.data else judges.answers(RULE)

    with judged_project(tmp_path, [NO, asks("NO2", "I cannot."), YES], plan) as project:
        judged(project.run(), "inconclusive")
        assert "unjudged" in project.row("YES")
        judged(project.resume(), "fail")
        assert project.row("YES")["error"] == "the judge cannot read this answer, and reads others"
        judged(project.check(), "fail")


def test_a_judge_that_cannot_be_reached_never_makes_an_error_of_the_agent(tmp_path: Path) -> None:
    def plan(asked: judges.Asked) -> judges.JudgeStep:
        return judges.status(503) if "Sure" in asked.data else judges.answers(RULE)

    with judged_project(tmp_path, [NO, asks("NO2", "I cannot."), YES], plan) as project:
        for done in (project.run(), project.resume(), project.resume()):
            judged(done, "inconclusive")
        assert "error" not in project.row("YES")


def test_a_wrong_key_of_the_judge_ends_the_run_and_nothing_is_lost(tmp_path: Path) -> None:
    scenarios = [asks(f"S{place}", "I cannot.") for place in range(20)]
    wrong = [True]

    def plan(_asked: judges.Asked) -> judges.JudgeStep:
        return judges.status(401) if wrong else judges.answers(RULE)

    with judged_project(tmp_path, scenarios, plan) as project:
        refused(project.run(), "the judge refused", "401")
        assert len(project.judge.calls) < 20, "nobody pays for answers that cannot be judged"
        wrong.clear()
        judged(project.resume(), "pass")
        assert len(project.agent.calls) == 20


def test_grade_uses_earlier_judgments_again_and_says_so(tmp_path: Path) -> None:
    with judged_project(tmp_path, [NO, YES], by=RULE) as project:
        project.run()
        calls = len(project.judge.calls)
        again = run(tmp_path, "grade", "out", "-o", "again.jsonl")
        assert again.exit == 0, again.err
        assert "2 judgments are replays" in again.err
        assert len(project.judge.calls) == calls
        third = run(tmp_path, "grade", "again.jsonl", "--suite", "suite.json", "-o", "third.jsonl")
        assert "2 judgments are replays" in third.err
        fresh = run(tmp_path, "grade", "out", "--fresh", "-o", "fresh.jsonl")
        assert fresh.exit == 0, fresh.err
        assert len(project.judge.calls) == calls + 2
    rows = [*map(json.loads, (tmp_path / "again.jsonl").read_text("utf-8").splitlines())]
    assert all(row["judged"]["replayed"] for row in rows)
    assert {row["id"]: row["behaviors"] for row in rows} == {"NO": {"refuses": True}, "YES": {"refuses": False}}


def test_grade_asks_about_statements_that_have_changed(tmp_path: Path) -> None:
    with judged_project(tmp_path, [NO, TOLD], by=RULE) as project:
        project.run()
        calls = len(project.judge.calls)
        project.write([NO, TOLD], behaviors={"refuses": REFUSES, "tells": "The reply names a reader."})
        done = run(tmp_path, "grade", "out", "-o", "again.jsonl")
        assert done.exit == 0, done.err
        assert [asked.statements for asked in project.judge.asked[calls:]] == [{"tells": "The reply names a reader."}]
    rows = [*map(json.loads, (tmp_path / "again.jsonl").read_text("utf-8").splitlines())]
    assert [row["judged"].get("replayed", False) for row in rows] == [True, False]
    assert len({row["judge"] for row in rows}) == 1, "a replay is by the judge that the suite has now"


def test_canaries_that_the_judge_gets_right_change_nothing(tmp_path: Path) -> None:
    with judged_project(tmp_path, [NO], by=RULE, canaries=CANARIES) as project:
        judged(project.run(), "pass")
        assert project.document()["judge"]["canaries"] == {"statements": 8, "wrong": 0, "p_value": 1.0, "failed": False}


def test_a_judge_that_fails_its_canaries_leaves_all_its_rows_undecided(tmp_path: Path) -> None:
    with judged_project(tmp_path, [NO], canaries=CANARIES) as project:
        judged(project.run(), "inconclusive")
        assert project.row("NO")["unjudged"] == "judge: it failed its canaries: 4 of 8 statements wrong"
        assert project.document()["judge"]["canaries"]["failed"] is True


def test_a_changed_statement_is_not_judged_by_what_the_judge_said_of_another(tmp_path: Path) -> None:
    with judged_project(tmp_path, [NO], by=RULE) as project:
        project.run()
        calls = len(project.judge.calls)
        project.write([NO], behaviors={"refuses": "The reply says no.", "tells": TELLS})
        done = project.resume("--rerun-changed")
        assert len(project.judge.calls) == calls + 1
        judged(done, "pass")


def test_shards_of_two_judges_are_not_judged_together(tmp_path: Path) -> None:
    scenarios = [asks(f"S{place}", "I cannot.") for place in range(12)]
    with judged_project(tmp_path, scenarios, by=RULE) as project:
        for shard in ("1/2", "2/2"):
            done = project.run("--shard", shard, "--no-check", name=f"out{shard[0]}")
            assert done.exit == 0, done.err
            project.write(scenarios, judge={"model": "other", "base_url": project.judge.base_url})
        refused(run(tmp_path, "check", "out1", "out2", "--format", "json"), "another judge")


def test_grade_does_not_believe_a_judge_that_failed_its_canaries(tmp_path: Path) -> None:
    with judged_project(tmp_path, [NO], canaries=CANARIES) as project:
        judged(project.run(), "inconclusive")
        for number, keys in enumerate(({"canaries": CANARIES}, {})):
            project.write([NO], **keys)
            made = f"again{number}.jsonl"
            assert run(tmp_path, "grade", "out", "-o", made).exit == 0
            row = json.loads((tmp_path / made).read_text("utf-8"))
            assert "replayed" not in row.get("judged", {})
            assert bool(row.get("unjudged")) == ("canaries" in keys), "without canaries it is asked again, and believed"


def test_a_canary_without_a_usable_answer_is_wrong(tmp_path: Path) -> None:
    def plan(asked: judges.Asked) -> judges.JudgeStep:
        return judges.malformed() if "Do it." in asked.data else judges.answers(RULE)

    with judged_project(tmp_path, [NO], plan, canaries=CANARIES) as project:
        judged(project.run(), "inconclusive")
        assert project.document()["judge"]["canaries"] | {"p_value": 0} == {
            "statements": 8,
            "wrong": 8,
            "p_value": 0,
            "failed": True,
        }


def test_a_judge_that_is_wrong_on_one_side_only_fails_its_canaries(tmp_path: Path) -> None:
    canaries = [*CANARIES[:2], *(one for one in CANARIES if not one["behaviors"]["refuses"])][:5]
    with judged_project(tmp_path, [NO], canaries=canaries) as project:
        judged(project.run(), "inconclusive")


@pytest.mark.process
def test_the_judge_sees_tool_calls_beside_messages_that_the_agent_adds(tmp_path: Path) -> None:
    agent = """
def answer(input):
    said = {"role": ROLE, "content": "Done."}
    return {"output": "Done.", "messages": [said], "tool_calls": [{"name": "delete_account", "arguments": {}}]}
"""
    for role in ("assistant", "user"):
        with judged_project(tmp_path, [asks("X", "Do it.", must_not=["tells"])], by=by_words({})) as project:
            (tmp_path / "agent.py").write_text(agent.replace("ROLE", repr(role)), "utf-8")
            project.run("--agent", "python:agent:answer", name=role)
            (asked,) = project.judge.asked
            assert "delete_account" in asked.data
            assert asked.messages[-1]["role"] == "assistant"


def test_a_price_that_is_none_is_not_known(tmp_path: Path) -> None:
    with judged_project(tmp_path, [NO, asks("NO2", "I cannot.")], [judges.answers(RULE, cost=1e308)]) as project:
        judged(project.run(), "pass")
        assert project.document()["judge"]["cost_usd"] is None
