"""What `highbar compare` writes for people and CI: both outputs in HTML, test cases, and GitHub's files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from highbar import api
from highbar.errors import ReportError
from tests.commandline import Run, run
from tests.unit.report.workflow import read_commands, read_outputs

MARGIN = {"baseline": {"file": "baseline.json", "margin": {"pass_rate": "5%"}}}
HOSTILE = "<script>alert(1)</script>"


def write(folder: Path, name: str, passing: range, **more: Any) -> None:
    rows = (
        {"id": f"S{i:03}", "passed": i in passing, "input": f"asked {i}", "output": f"{name} said {i}", **more}
        for i in range(100)
    )
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A base that passes the first 90 of 100, and a head that passes the last 60."""
    write(tmp_path, "base.jsonl", range(90))
    write(tmp_path, "head.jsonl", range(40, 100))
    return tmp_path


def compared(folder: Path, *arguments: str, stdin: bytes = b"", **environment: str) -> Run:
    given = {"GITHUB_WORKSPACE": str(folder), **environment}
    return run(folder, "compare", "base.jsonl", "head.jsonl", *arguments, stdin=stdin, environment=given)


# --- both outputs ----------------------------------------------------------------------------


def test_the_page_shows_both_outputs_of_what_broke_and_what_was_fixed(project):
    done = compared(project, "--output", "it.html", "--output", "it.md", "--output", "it.json")
    assert done.exit == 0, done.err
    page = (project / "it.html").read_text("utf-8")
    for text in ("asked 0<", "base.jsonl said 0<", "head.jsonl said 0<", "base.jsonl said 99<", "head.jsonl said 99<"):
        assert text in page
    assert page.count('<details class="both">') == 25 + 10  # 40 broke, 10 were fixed
    assert "<code>S039</code>" in page  # by its id alone
    assert "said 39<" not in page
    for other in (done.out, (project / "it.md").read_text("utf-8"), (project / "it.json").read_text("utf-8")):
        assert "said" not in other


def test_outputs_are_text_and_long_ones_are_cut(project):
    write(project, "head.jsonl", range(40, 100), output=HOSTILE + "x" * 5000, error=HOSTILE)
    assert compared(project, "--output", "it.html").exit == 0
    page = (project / "it.html").read_text("utf-8")
    assert HOSTILE not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "more characters" in page
    assert len(page) < 600_000


def test_a_run_that_cannot_be_read_again_has_no_outputs_and_the_page_says_so(project):
    (project / "highbar.json").write_text(json.dumps({"thresholds": {"blocking": {"pass_rate": "≥ 10%"}}}))
    assert run(project, "baseline", "record", "base.jsonl", "--output", "old.json", "--date", "today").exit == 0
    assert run(project, "compare", "old.json", "head.jsonl", "--output", "it.html").exit == 0
    page = (project / "it.html").read_text("utf-8")
    assert "This run has no outputs to show" in page
    assert "head.jsonl said 0<" in page
    piped = (project / "base.jsonl").read_bytes()
    arguments = ("compare", "-", "head.jsonl", "--input-format", "jsonl", "--output", "it.html")
    assert run(project, *arguments, stdin=piped).exit == 0
    assert "This run has no outputs to show" in (project / "it.html").read_text("utf-8")


def test_several_trials_are_counted_and_one_that_tells_is_shown(tmp_path):
    for name, passing in (("base.jsonl", (1, 2, 3)), ("head.jsonl", (1, 3))):
        rows = [{"id": "A", "trial": n, "passed": n in passing, "output": f"{name} {n}"} for n in (1, 2, 3)]
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert compared(tmp_path, "--output", "it.html").exit == 0
    page = (tmp_path / "it.html").read_text("utf-8")
    assert "Head: did not pass, 2 of 3 trials passed" in page
    assert "head.jsonl 2<" in page
    assert "head.jsonl 1<" not in page


def test_from_python_the_page_has_both_outputs_too(project):
    found = api.compare(project / "base.jsonl", project / "head.jsonl")
    assert found.moved == ()
    assert len(found.complete().moved) == 35
    assert "head.jsonl said 99<" in found.to_html()
    assert found == api.compare(project / "base.jsonl", project / "head.jsonl")
    rows = [{"id": "A", "passed": True, "output": "well"}], [{"id": "A", "passed": False, "output": "ill"}]
    assert "ill</pre>" in api.compare(*rows).to_html()
    write(project, "head.jsonl", range(50, 100))
    with pytest.raises(ReportError, match="changed"):
        found.to_html()


# --- JUnit -----------------------------------------------------------------------------------


def junit(folder: Path) -> ET.Element:
    return ET.parse(folder / "it.xml").getroot()  # noqa: S314 - our own file


def test_junit_has_the_rules_and_what_broke_if_one_is_not_met(project):
    (project / "highbar.json").write_text(json.dumps(MARGIN))
    assert compared(project, "--output", "it.xml").exit == 1
    root = junit(project)
    assert (root.get("tests"), root.get("failures")) == ("41", "41")
    names = [case.get("name") for case in root.iter("testcase")]
    assert names[0] == "Pass rate is at most 5 points below the baseline (baseline.pass_rate)"
    assert names[1:3] == ["S000", "S001"]
    write(project, "head.jsonl", range(89))
    (project / "highbar.json").write_text(json.dumps({"baseline": {"file": "x", "margin": {"pass_rate": "50%"}}}))
    assert compared(project, "--output", "it.xml").exit == 0
    root = junit(project)
    assert (root.get("tests"), root.get("failures")) == ("1", "0")  # one broke, which the rule accepts


def test_junit_of_what_cannot_be_compared_is_an_error(project):
    (project / "head.jsonl").write_text('{"id": "A", "passed": 1}\n')
    assert compared(project, "--output", "it.xml").exit == 2
    assert junit(project).get("errors") != "0"


# --- GitHub ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("arguments", "environment"), [(["--github"], {}), ([], {"GITHUB_ACTIONS": "true"})])
def test_a_workflow_is_told_and_the_outputs_of_a_check_stay(project, arguments, environment):
    (project / "highbar.json").write_text(json.dumps(MARGIN))
    files = {name: str(project / name) for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    (project / "GITHUB_OUTPUT").write_text("verdict=fail\n")
    done = compared(project, *arguments, **files, **environment)
    assert done.exit == 1
    (annotation,) = read_commands(done.err)
    assert annotation.properties["title"] == "Pass rate is at most 5 points below the baseline"
    assert (
        (project / "GITHUB_STEP_SUMMARY").read_text("utf-8").startswith("## FAIL: the only demand is not met; worse: ")
    )
    found = read_outputs((project / "GITHUB_OUTPUT").read_text("utf-8"))
    assert found["verdict"] == "fail"
    assert (found["compare_verdict"], found["compare_exit_code"], found["compare_broken"]) == ("fail", "1", "40")
    (project / "head.jsonl").write_text('{"id": "A", "passed": 1}\n')
    assert compared(project, *arguments, **files, **environment).exit == 2
    assert read_outputs((project / "GITHUB_OUTPUT").read_text("utf-8"))["compare_verdict"] == "none"


def test_nobody_is_told_if_it_is_no_workflow_or_not_wanted(project):
    page = {"GITHUB_STEP_SUMMARY": str(project / "page")}
    assert compared(project, **page).stderr == b""
    assert compared(project, "--no-github", GITHUB_ACTIONS="true", **page).stderr == b""
    assert not (project / "page").exists()
