"""What `check` tells GitHub Actions, and when it keeps silent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commandline import Run, run
from tests.unit.report.workflow import read_commands, read_outputs

POLICY = "thresholds:\n  blocking:\n    pass_rate: 90%\n  warning:\n    error_rate: < 10%\n"
ROWS = [{"id": f"S{n}", "passed": n > 1} for n in range(10)]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "highbar.yaml").write_text(POLICY)
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return tmp_path


def check(project: Path, *arguments: str, **environment: str) -> Run:
    files = {name: str(project / name) for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    given = {"GITHUB_WORKSPACE": str(project), **files, **environment}
    return run(project, "check", "results.jsonl", "--policy", "evals/highbar.yaml", *arguments, environment=given)


def told(project: Path) -> tuple[str, dict[str, str]]:
    summary, outputs = project / "GITHUB_STEP_SUMMARY", project / "GITHUB_OUTPUT"
    return (
        summary.read_text("utf-8") if summary.exists() else "",
        read_outputs(outputs.read_text("utf-8")) if outputs.exists() else {},
    )


def test_a_workflow_is_told_by_itself(project):
    done = check(project, GITHUB_ACTIONS="true")
    assert done.exit == 1
    assert "::" not in done.out
    (annotation,) = read_commands(done.err)
    assert annotation.properties == {
        "file": "evals/highbar.yaml", "line": "3", "col": "16", "title": "Pass rate is at least 90%",
    }  # fmt: skip
    summary, outputs = told(project)
    assert summary.startswith("## FAIL: the only demand is not met; a re-run may end differently\n")
    assert (outputs["verdict"], outputs["exit_code"], outputs["rules_failed"]) == ("fail", "1", "1")
    assert outputs["headline"] == "FAIL: the only demand is not met; a re-run may end differently"


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [(["--no-github"], {"GITHUB_ACTIONS": "true"}), ([], {}), ([], {"GITHUB_ACTIONS": "false"})],
)
def test_nobody_is_told_where_it_is_no_workflow_or_not_wanted(project, arguments, environment):
    done = check(project, *arguments, **environment)
    assert done.exit == 1
    assert done.stderr == b""
    assert told(project) == ("", {})


def test_it_can_be_asked_for_anywhere(project):
    done = check(project, "--github")
    assert len(read_commands(done.err)) == 1
    assert told(project)[1]["verdict"] == "fail"


def test_without_the_files_of_a_step_only_the_log_is_told(project):
    done = check(project, "--github", GITHUB_STEP_SUMMARY="", GITHUB_OUTPUT="")
    assert done.exit == 1
    assert len(read_commands(done.err)) == 1


def test_what_stands_in_the_files_already_stays(project):
    (project / "GITHUB_STEP_SUMMARY").write_text("before\n")
    (project / "GITHUB_OUTPUT").write_text("other=1\n")
    check(project, "--github")
    summary, outputs = told(project)
    assert summary.startswith("before\n## FAIL")
    assert (outputs["other"], outputs["verdict"]) == ("1", "fail")


def test_a_page_that_is_nearly_full_gets_the_verdict_alone_and_a_full_one_nothing(project):
    page = project / "GITHUB_STEP_SUMMARY"
    page.write_text("x" * (1_048_576 - 200) + "\n")
    check(project, "--github")
    assert page.read_text().endswith("x\n## FAIL: the only demand is not met; a re-run may end differently\n")
    page.write_text("x" * 1_048_570)
    check(project, "--github")
    assert page.stat().st_size == 1_048_570


def test_a_report_that_was_written_to_the_page_is_not_repeated(project):
    check(project, "--output", f"markdown={project / 'GITHUB_STEP_SUMMARY'}", GITHUB_ACTIONS="true")
    assert told(project)[0].count("## FAIL") == 1


def test_a_file_of_the_step_that_cannot_be_written_counts_only_where_it_was_asked_for(project):
    absent = str(project / "absent" / "file")
    for arguments, code in (([], 1), (["--github"], 4)):
        done = check(project, *arguments, GITHUB_ACTIONS="true", GITHUB_OUTPUT=absent)
        assert done.exit == code
        assert "absent/file could not be written" in done.err
        assert done.out.startswith("FAIL")


def test_the_exit_code_that_is_told_is_the_one_that_is_given(project):
    (project / "evals" / "highbar.yaml").write_text("thresholds: {warning: {pass_rate: 99%}}\n")
    done = check(project, "--github", "--strict")
    assert done.exit == 1
    assert (told(project)[1]["verdict"], told(project)[1]["exit_code"]) == ("pass", "1")
    assert [one.name for one in read_commands(done.err)] == ["warning"]


def test_where_nothing_can_be_judged_that_is_told(project):
    (project / "results.jsonl").write_text('{"id": "A", "passed": true}\n{"id": "A", "passed": 1}\n')
    done = check(project, "--github")
    assert done.exit == 2
    (annotation,) = read_commands(done.err)
    assert (annotation.properties["file"], annotation.properties["line"]) == ("results.jsonl", "2")
    summary, outputs = told(project)
    assert summary.startswith("## NO VERDICT: nothing could be judged\n")
    assert outputs == {"verdict": "none", "exit_code": "2", "headline": "NO VERDICT: nothing could be judged"}


def test_places_are_named_from_the_root_of_the_checkout(project):
    done = run(
        project / "evals", "check", "../results.jsonl", "--github", environment={"GITHUB_WORKSPACE": str(project)}
    )
    assert read_commands(done.err)[0].properties["file"] == "evals/highbar.yaml"
    outside = check(project, "--github", GITHUB_WORKSPACE=str(project / "evals" / ".git"))
    assert "file" not in read_commands(outside.err)[0].properties


@pytest.mark.parametrize(("better", "verdict"), [(True, "pass"), (False, "inconclusive")])
def test_what_changed_since_the_baseline_is_on_the_page_and_in_the_comment_where_the_verdict_has_it(
    project, better, verdict
):
    (project / "evals" / "highbar.yaml").write_text("baseline: {file: baseline.json, margin: {pass_rate: 1%}}\n")
    (project / "base.jsonl").write_text(
        "".join(json.dumps({**row, "passed": row["passed"] or not better}) + "\n" for row in ROWS)
    )
    policy = ("--policy", "evals/highbar.yaml")
    recorded = run(project, "baseline", "record", "base.jsonl", *policy, "--force", "a first run")
    assert recorded.exit == 0, recorded.err
    written = ("--output", "github-comment=comment.md")
    done = check(project, "--github", *written)
    assert read_outputs((project / "GITHUB_OUTPUT").read_text())["verdict"] == verdict, done.out
    summary, comment = told(project)[0], (project / "comment.md").read_text("utf-8")
    shown, _, folded = comment.partition("<details>")
    # A pass is one line; what changed is folded then.
    assert ("### Since the baseline\n\n- " in shown) is (verdict != "pass")
    assert ("- 2 broken: `S0`, `S1`" in shown) is (verdict != "pass")
    assert "### All changes since the baseline\n" in folded
    assert "### All changes since the baseline\n" in summary
    assert len(shown.encode()) <= 2500
