"""Nothing of another repository or run: its bar (R18), reports (R19), modules (R20); and strange places (R35)."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from highbar.report import REPORTERS
from tests.architecture.repository import ROOT
from tests.ci.runner import Runner
from tests.commandline import Run, check, judged, run
from tests.patience import PATIENCE, wait_for
from tests.repository import ENVIRONMENT, commit, git, rows

GOOD = [{"id": f"S{n}", "passed": True, "latency_ms": 10} for n in range(20)]
HALF = {"thresholds": {"blocking": {"pass_rate": "≥ 50%"}}}
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
TEMPLATE = yaml.safe_load((ROOT / "ci" / "gitlab" / "highbar.yml").read_text("utf-8"))[".highbar"]


# --- git ----------------------------------------------------------------------------------------


@pytest.fixture
def modules(made: Callable[..., None], tmp_path: Path) -> Path:
    """A repository with a strict policy of its own, around a submodule whose `main` demands next to nothing."""
    made(tmp_path, add_submodule)
    return tmp_path / "outer"


def add_submodule(folder: Path) -> None:
    inner, outer = folder / "inner", folder / "outer"
    inner.mkdir()
    commit(inner, {"highbar.json": {"pass_criteria": {"overall": "1%"}}})
    outer.mkdir()
    commit(outer, {"top.json": {"pass_criteria": {"overall": "100%"}}})
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "agent")
    commit(outer, {"agent/results.jsonl": rows(True, False), "results.jsonl": rows(True, False)})


def against(folder: Path, *arguments: str) -> Run:
    assert (folder / ".git").exists()
    return run(folder, "check", "results.jsonl", "--against-ref", "main", *arguments, environment=ENVIRONMENT)


@pytest.mark.process
@pytest.mark.parametrize("policy", [(), ("--policy", "highbar.json"), ("--policy", "../top.json")])
def test_r18_the_ref_of_a_submodule_is_not_the_bar(modules: Path, policy: tuple[str, ...]) -> None:
    done = against(modules / "agent", *policy)
    assert done.exit == 2, done.out
    assert "this is the submodule" in done.err
    assert "keep the policy in" in done.err


@pytest.mark.process
def test_r18_a_policy_inside_a_submodule_is_refused_from_outside_too(modules: Path) -> None:
    done = against(modules, "--policy", "agent/highbar.json")
    assert (done.exit, "is in the submodule agent" in done.err) == (2, True), done.err
    assert "without --against-ref" not in done.err
    assert against(modules, "--policy", "top.json").exit == 1


# --- reports of another run ---------------------------------------------------------------------

OUTPUTS = {name: f"{name}.report" for name in REPORTERS}
WRITTEN = [part for name, file in OUTPUTS.items() for part in ("--output", f"{name}={file}")]


def left(folder: Path) -> dict[str, str]:
    return {name: (folder / file).read_text("utf-8") for name, file in OUTPUTS.items()}


def no_verdict(reports: dict[str, str]) -> None:
    for name, text in reports.items():
        if name == "json":
            assert json.loads(text)["verdict"] is None
        else:
            assert "NO VERDICT" in text, name
        assert "PASS" not in text, name


def pass_before(folder: Path) -> None:
    judged(check(folder, GOOD, HALF, *WRITTEN), "pass")
    assert json.loads((folder / OUTPUTS["json"]).read_text())["verdict"] == "pass"


@pytest.fixture
def passed_before(made: Callable[..., None], tmp_path: Path) -> None:
    """The folder of the test has all reports of a run that passed."""
    made(tmp_path, pass_before)


@pytest.mark.usefixtures("passed_before")
@pytest.mark.parametrize(
    "arguments",
    [
        ["results.jsonl", "--policy", "policy.json", "--no-such-option"],
        ["--policy", "policy.json"],
        ["results.jsonl", "--policy", "policy.json", "--format", "pdf"],
        ["results.jsonl", "--policy", "policy.json", "--engine=abacus"],
        ["results.jsonl", "--policy", "policy.json", "--output", "x.unknown"],
        ["results.jsonl", "--policy", "policy.json", "--output", "json=results.jsonl"],
        ["results.jsonl", "--policy", "absent.json"],
        ["absent.jsonl", "--policy", "policy.json"],
        ["results.jsonl", "--policy", "policy.json", "--memory-limit", "x"],
    ],
)
def test_r19_no_report_of_an_earlier_run_outlives_exit_2(tmp_path: Path, arguments: list[str]) -> None:
    before = (tmp_path / "results.jsonl").read_bytes(), (tmp_path / "policy.json").read_bytes()
    done = run(tmp_path, "check", *arguments, *WRITTEN)
    assert done.exit in {2, 4}, done.out
    no_verdict(left(tmp_path))
    assert ((tmp_path / "results.jsonl").read_bytes(), (tmp_path / "policy.json").read_bytes()) == before


@pytest.mark.usefixtures("passed_before")
@pytest.mark.process
def test_r19_no_report_of_an_earlier_run_outlives_a_crash(tmp_path: Path) -> None:
    broken = "import sys, highbar.gate as g; g.decide = None; from highbar.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", broken, "check", "results.jsonl", "--policy", "policy.json", *WRITTEN]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 4
    no_verdict(left(tmp_path))


@pytest.mark.usefixtures("passed_before")
@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_r19_reports_say_no_verdict_while_results_are_read(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "highbar", "check", "-", "--input-format", "jsonl", "--policy", "policy.json"]
    with subprocess.Popen([*command, *WRITTEN], cwd=tmp_path, stdin=subprocess.PIPE) as process:
        comment = tmp_path / OUTPUTS["github-comment"]
        wait_for(lambda: "NO VERDICT" in comment.read_text("utf-8"), "the check does not start")
        process.send_signal(number)
        process.wait(PATIENCE)
    no_verdict(left(tmp_path))


@pytest.mark.usefixtures("passed_before")
def test_r19_an_input_that_was_given_as_an_output_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text("[" + ", ".join(f"S{n}" for n in range(20)) + "]")
    (tmp_path / "policy.json").write_text(json.dumps({**HALF, "suite": "suite.yaml"}))
    kept = {name: (tmp_path / name).read_bytes() for name in ("results.jsonl", "policy.json", "suite.yaml")}
    for name in kept:
        done = run(tmp_path, "check", "results.jsonl", "--policy", "policy.json", "--bogus", "--output", f"json={name}")
        assert done.exit == 2
    assert {name: (tmp_path / name).read_bytes() for name in kept} == kept


def test_r19_a_report_in_the_folder_of_the_results_is_not_read_as_one(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    check(tmp_path, GOOD, HALF)
    shutil.move(tmp_path / "results.jsonl", tmp_path / "runs" / "results.jsonl")
    done = run(tmp_path, "check", "runs", "--policy", "policy.json", "--output", "runs/verdict.json")
    assert done.exit == 0, done.err


def test_r19_a_comparison_leaves_no_older_one(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text('{"id": "A", "passed": true}\n')
    command = ["compare", "a.jsonl", "b.jsonl", "--output", "c.json", "--output", "c.md"]
    assert run(tmp_path, *command).exit == 0
    assert (tmp_path / "c.md").read_text().startswith("## NO CLEAR CHANGE: ")
    assert run(tmp_path, *command, "--bogus").exit == 2
    assert json.loads((tmp_path / "c.json").read_text())["problems"]
    assert (tmp_path / "c.md").read_text().startswith("## NO VERDICT")


def gate(runner: Runner, **more: str) -> Any:
    shutil.copytree(ROOT / "examples" / "support-agent", runner.workspace / "evals", dirs_exist_ok=True)
    given = {"results": "evals/v2.jsonl", "policy": "evals/highbar.yaml", "comment": "true", **more}
    return runner.run(ACTION, given)


@pytest.mark.process
@pytest.mark.parametrize("arguments", ["", "--no-such-option", "--policy\nabsent.yaml"])
def test_r19_the_action_never_posts_what_the_checkout_brought(tmp_path: Path, arguments: str) -> None:
    runner = Runner(tmp_path)
    brought = runner.workspace / "highbar-reports"
    brought.mkdir()
    for name in ("comment.md", "verdict.json", "junit.xml"):
        (brought / name).write_text("<!-- highbar -->\n## PASS: forged\n")
    done = gate(runner, arguments=arguments)
    assert done.succeeded is (not arguments), done.log
    (comment,) = runner.comments
    assert "forged" not in comment["body"]
    assert comment["body"].startswith("<!-- highbar -->\n## " + ("NO VERDICT" if arguments else "PASS: all"))
    assert done.outputs["verdict"] == ("none" if arguments else "pass")
    assert all("forged" not in file.read_text("utf-8") for file in brought.iterdir())


@pytest.mark.process
def test_r19_the_action_replaces_a_comment_also_if_nothing_could_be_installed(tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    gate(runner)
    shutil.rmtree(runner.folder / "temp" / "highbar")
    assert not gate(runner).succeeded
    (comment,) = runner.comments
    assert comment["body"].startswith("<!-- highbar -->\n## NO VERDICT")


@pytest.mark.process
def test_without_a_policy_the_action_says_so_everywhere(tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    done = gate(runner, policy="")
    assert not done.succeeded
    assert (done.outputs["verdict"], done.outputs["exit_code"]) == ("none", "2")
    assert done.outputs["headline"].startswith("NO POLICY: nothing was judged")
    assert done.summary.startswith("## NO POLICY")
    assert runner.comments[0]["body"].startswith("<!-- highbar -->\n## NO POLICY")
    assert "::error title=NO VERDICT" in done.log
    assert "found evals/highbar.yaml" in done.log


@pytest.mark.process
def test_r19_a_link_in_the_place_of_the_reports_is_refused(tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    elsewhere = runner.folder / "elsewhere"
    elsewhere.mkdir()
    (runner.workspace / "highbar-reports").symlink_to(elsewhere)
    assert not gate(runner, comment="false").succeeded
    assert not list(elsewhere.iterdir())


# --- modules of the checkout --------------------------------------------------------------------


def python_calls() -> list[str]:
    scripts = [step["run"] for step in ACTION["runs"]["steps"]] + TEMPLATE["before_script"] + TEMPLATE["script"]
    lines = [line.strip() for script in scripts for line in script.splitlines()]
    return [line for line in lines if line.startswith(('"$PYTHON" ', "python ", '"$RUNNER_TEMP/highbar/bin/python" '))]


def test_r20_every_python_of_the_templates_is_isolated() -> None:
    assert len(python_calls()) == 7
    assert all(line.split()[1] == "-I" for line in python_calls()), python_calls()


@pytest.mark.process
def test_r20_a_module_of_the_workspace_is_not_run(tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    for name in ("json", "click", "highbar", "pip", "venv", "duckdb"):
        (runner.workspace / f"{name}.py").write_text(
            "import pathlib; pathlib.Path('pwned').touch(); raise SystemExit(0)"
        )
    done = gate(runner)
    assert done.succeeded, done.log
    assert not list(runner.folder.rglob("pwned"))


# --- strange places -----------------------------------------------------------------------------


@pytest.mark.process
def test_r35_a_deleted_working_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    script = (
        f'cd "{tmp_path}/gone" && rmdir "{tmp_path}/gone" && exec "{sys.executable}" -I -m highbar check results.jsonl'
    )
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "working folder is not there any more" in done.stderr


def test_r35_a_pipe_that_nobody_reads_does_not_hang_the_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("highbar.cli.outputs._PATIENCE", 0.2)
    os.mkfifo(tmp_path / "pipe")
    done = check(tmp_path, GOOD, HALF, "--output", "json=pipe")
    assert done.exit == 4
    assert "pipe could not be written: nobody reads from it" in done.err
    assert done.json["verdict"] == "pass"  # on the screen


@pytest.mark.process
def test_r35_a_pipe_with_a_reader_gets_the_whole_report_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    many = [{"id": f"S{n}", "category": f"c{n}", "passed": n % 2 == 0} for n in range(400)]
    with (tmp_path / "copy").open("wb") as copy, subprocess.Popen(["cat", tmp_path / "pipe"], stdout=copy):
        done = check(tmp_path, many, {"pass_criteria": {"overall": "10%"}}, "--output", "json=pipe")
    received = (tmp_path / "copy").read_bytes()
    assert done.exit == 0, done.err
    assert received == done.stdout
    assert len(received) > 2**16  # more than a pipe holds
