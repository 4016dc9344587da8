"""The composite action and the workflow that uses it: read, and their steps run for real."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from junitparser import xunit2

from highbar import policy
from tests.architecture.repository import ROOT
from tests.ci.runner import EXPRESSION, Done, Runner
from tests.unit.report.workflow import read_commands

pytestmark = pytest.mark.process

ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
WORKFLOW = yaml.safe_load((ROOT / "ci" / "github" / "workflow.yaml").read_text("utf-8"))
EXAMPLE = ROOT / "examples" / "support-agent"


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    made = Runner(tmp_path, forked=True)
    shutil.copytree(EXAMPLE, made.workspace / "evals")
    return made


def inputs(version: str, **more: str) -> dict[str, str]:
    return {"results": f"evals/{version}.jsonl", "policy": "evals/highbar.yaml", **more}


def test_no_input_reaches_the_text_of_a_script() -> None:
    for step in ACTION["runs"]["steps"]:
        assert not EXPRESSION.search(step["run"]), step["name"]
        assert step["shell"] == "bash"


def test_every_output_of_the_action_is_one_that_the_check_sets(runner: Runner) -> None:
    done = runner.run(ACTION, inputs("v2"))
    assert all(done.outputs.values()), done.outputs
    assert set(done.outputs) == set(ACTION["outputs"])


@pytest.mark.parametrize(("version", "verdict", "code"), [("v1", "fail", "1"), ("v2", "pass", "0")])
def test_the_step_succeeds_only_where_the_version_passes(runner: Runner, version: str, verdict: str, code: str) -> None:
    done = runner.run(ACTION, inputs(version))
    assert done.succeeded is (verdict == "pass"), done.log
    assert (done.outputs["verdict"], done.outputs["exit_code"]) == (verdict, code)
    assert done.outputs["headline"].startswith(f"{verdict.upper()}: ")
    assert done.summary.startswith(f"## {done.outputs['headline']}\n")
    reports = runner.workspace / done.outputs["reports"]
    assert {file.name for file in reports.iterdir()} == {
        "verdict.json", "junit.xml", "report.html", "comment.md",
    }  # fmt: skip
    assert json.loads((reports / "verdict.json").read_text())["verdict"] == verdict
    assert xunit2.JUnitXml.fromfile(str(reports / "junit.xml")).tests == 85


def test_a_failed_rule_is_annotated_at_the_line_of_the_policy(runner: Runner) -> None:
    done = runner.run(ACTION, inputs("v1"))
    errors = [one for one in read_commands(done.log) if one.name == "error"]
    rules = policy.read(EXAMPLE / "highbar.yaml").rules
    blocking = {rule.place.line for rule in rules if rule.level == "blocking" and rule.place}
    assert len(errors) == 10
    for one in errors[:-1]:
        assert one.properties["file"] == "evals/highbar.yaml"
        assert int(one.properties["line"]) in blocking


def test_where_nothing_can_be_judged_the_step_fails_and_says_so(runner: Runner) -> None:
    (runner.workspace / "evals" / "v1.jsonl").write_text('{"id": "A", "pased": true}\n')
    done = runner.run(ACTION, inputs("v1", comment="true"))
    assert not done.succeeded
    assert (done.outputs["verdict"], done.outputs["exit_code"]) == ("none", "2")
    assert done.summary.startswith("## NO VERDICT")
    (problem,) = read_commands(done.log)
    assert (problem.properties["file"], problem.properties["line"]) == ("evals/v1.jsonl", "1")
    (comment,) = runner.comments
    assert comment["body"].startswith("<!-- highbar -->\n## NO VERDICT")


def test_several_results_and_further_arguments_stand_on_lines_of_their_own(runner: Runner) -> None:
    rows = (EXAMPLE / "v2.jsonl").read_text("utf-8").splitlines(keepends=True)
    (runner.workspace / "a file.jsonl").write_text("".join(rows[:30]))
    (runner.workspace / "-b.jsonl").write_text("".join(rows[30:]))
    results = "a file.jsonl\n-b.jsonl\n"
    done = runner.run(ACTION, inputs("v2", results=results, arguments="--slice\ntags.locale\n--strict"))
    assert (done.outputs["verdict"], done.outputs["exit_code"], done.outputs["scenarios"]) == ("pass", "1", "60")
    assert not done.succeeded
    assert "### By `tags.locale`" in done.summary


@pytest.mark.parametrize("hostile", ["$(touch pwned)", '"; touch pwned; "', "`touch pwned`", "--version"])
def test_an_input_is_never_run(runner: Runner, hostile: str) -> None:
    done = runner.run(ACTION, inputs("v2", results=hostile))
    assert not done.succeeded
    assert not list(runner.folder.rglob("pwned"))


def test_a_comment_is_posted_once_and_then_replaced(runner: Runner) -> None:
    theirs = {"id": 1, "user": {"login": "somebody"}, "body": "<!-- highbar -->\n## PASS: forged"}
    gone = {"id": 2, "user": None, "body": "<!-- highbar -->"}
    runner.comments = [theirs, gone]
    runner.run(ACTION, inputs("v1", comment="true"))
    runner.run(ACTION, inputs("v2", comment="true"))
    assert runner.comments[:2] == [theirs, gone]
    (ours,) = runner.comments[2:]
    assert ours["body"].startswith("<!-- highbar -->\n## PASS: all ")


def test_two_gates_have_a_comment_each(runner: Runner) -> None:
    runner.run(ACTION, inputs("v1", **{"comment": "true", "comment-name": "nightly -->"}))
    runner.run(ACTION, inputs("v2", comment="true"))
    assert [one["body"].splitlines()[0] for one in runner.comments] == ["<!-- highbar nightly  -->", "<!-- highbar -->"]


def test_a_token_that_may_not_comment_changes_nothing_but_the_log(runner: Runner) -> None:
    runner.comments = "forbidden"
    done = runner.run(ACTION, inputs("v2", comment="true"))
    assert done.succeeded
    assert "The comment could not be posted" in [one.message for one in read_commands(done.log)][-1]
    assert not runner.run(ACTION, inputs("v1", comment="true")).succeeded


@pytest.mark.parametrize(("number", "comment"), [(7, "false"), (None, "true")])
def test_no_comment_is_posted_unless_asked_for_or_without_a_pull_request(
    tmp_path: Path, number: int | None, comment: str
) -> None:
    runner = Runner(tmp_path, number, forked=True)
    shutil.copytree(EXAMPLE, runner.workspace / "evals")
    assert runner.run(ACTION, inputs("v2", comment=comment)).succeeded
    assert runner.comments == []


@pytest.mark.slow
@pytest.mark.registry
def test_the_action_installs_highbar_from_its_own_checkout(tmp_path: Path) -> None:
    runner = Runner(tmp_path, install=True)
    shutil.copytree(EXAMPLE, runner.workspace / "evals")
    done = runner.run(ACTION, inputs("v2"))
    assert done.succeeded, done.log
    assert (tmp_path / "temp" / "highbar" / "bin" / "highbar").exists()


def gate_steps() -> list[dict[str, object]]:
    steps: list[dict[str, object]] = WORKFLOW["jobs"]["gate"]["steps"]
    return steps


def action_step() -> dict[str, dict[str, object]]:
    (step,) = [step for step in gate_steps() if str(step.get("uses", "")).startswith("OWNER/highbar@")]
    return step


def test_the_workflow_gives_the_action_what_it_takes() -> None:
    given = action_step()["with"]
    assert set(given) <= set(ACTION["inputs"])
    assert {name for name, one in ACTION["inputs"].items() if one.get("required")} <= set(given)
    assert WORKFLOW["permissions"]["pull-requests"] == "write"
    uploaded = gate_steps()[-1]["with"]["path"]
    assert uploaded == ACTION["inputs"]["reports"]["default"]


@pytest.fixture
def checkout(tmp_path: Path) -> Runner:
    """A checkout whose main branch has a policy, a suite and a baseline of v2."""
    made = Runner(tmp_path, forked=True)
    shutil.copytree(EXAMPLE, made.workspace / "examples" / "support-agent")
    shutil.rmtree(made.workspace / ".git")
    page = (ROOT / "docs" / "how-to" / "gate-a-pull-request.md").read_text("utf-8")
    (policy,) = re.findall(r"^```yaml highbar\.yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (made.workspace / "highbar.yaml").write_text(policy, "utf-8")
    highbar = (sys.executable, "-m", "highbar")
    who = ("-c", "user.name=someone", "-c", "user.email=someone@example.org", "-c", "commit.gpgsign=false")
    for command in (
        (*highbar, "baseline", "record", "examples/support-agent/v2.jsonl", "--quiet"),
        ("git", "init", "--quiet", "--initial-branch", "main"),
        ("git", "add", "."),
        ("git", *who, "commit", "--quiet", "--message", "the bar"),
        ("git", "update-ref", "refs/remotes/origin/main", "HEAD"),
    ):
        subprocess.run(command, cwd=made.workspace, check=True)
    return made


def judge(checkout: Runner, version: str) -> Done:
    """The action as the workflow calls it."""
    results = checkout.workspace / "run" / "results.jsonl"
    results.parent.mkdir()
    shutil.copy(EXAMPLE / f"{version}.jsonl", results)
    base = "${{ github.base_ref || github.ref_name }}"
    given = {name: str(one).replace(base, "main") for name, one in action_step()["with"].items()}
    return checkout.run(ACTION, {**given, "comment": "true"})


def test_the_workflow_compares_with_main_comments_and_leaves_its_reports(checkout: Runner) -> None:
    done = judge(checkout, "v1")
    assert not done.succeeded
    assert done.outputs["verdict"] == "fail"
    failed = json.loads((checkout.workspace / "highbar-reports" / "verdict.json").read_text())["rules"]
    assert "baseline.pass_rate" in {rule["rule"] for rule in failed if rule["outcome"] == "fail"}
    assert len(checkout.comments) == 1


def test_a_pull_request_that_lowers_the_bar_is_judged_by_main_too(checkout: Runner) -> None:
    (checkout.workspace / "highbar.yaml").write_text("thresholds: { blocking: { pass_rate: 10% } }\n")
    done = judge(checkout, "v1")
    assert (done.succeeded, done.outputs["verdict"]) == (False, "fail"), done.log


def test_a_push_to_main_leaves_a_baseline_to_review(checkout: Runner) -> None:
    assert judge(checkout, "v2").succeeded
    (step,) = [step for step in gate_steps() if step.get("if") == "github.event_name == 'push'"]
    environment = {**os.environ, "RUNNER_TEMP": str(checkout.folder / "temp")}
    subprocess.run(["bash", "-e", "-c", str(step["run"])], cwd=checkout.workspace, env=environment, check=True)
    recorded = json.loads((checkout.workspace / "highbar-reports" / "baseline.json").read_text())
    assert len(recorded["scenarios"]) == 60


def test_the_page_shows_the_workflow_that_is_shipped() -> None:
    page = (ROOT / "docs" / "how-to" / "github.md").read_text("utf-8")
    (block,) = re.findall(r"^```yaml \.github/workflows/agent\.yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert yaml.safe_load(block) == WORKFLOW
