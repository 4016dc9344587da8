"""`--meta KEY=VALUE`, and what CI says about a run by itself."""

from __future__ import annotations

import json
import re

import pytest

from tests.commandline import run

ROWS = [{"id": f"S{number}", "passed": True} for number in range(5)]
HALF = {"thresholds": {"blocking": {"pass_rate": "≥ 50%"}}}
GITHUB = {
    "GITHUB_ACTIONS": "true",
    "GITHUB_SHA": "4f2a9c1",
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_REPOSITORY": "acme/agent",
    "GITHUB_RUN_ID": "77",
}
GITLAB = {
    "GITLAB_CI": "true",
    "CI_COMMIT_SHA": "4f2a9c1",
    "CI_JOB_URL": "https://gitlab.com/acme/agent/-/jobs/77",
    "CI_JOB_STARTED_AT": "2026-11-17T15:00:00Z",
}


def page(folder, *arguments, **environment):
    """The HTML report of a check."""
    (folder / "policy.json").write_text(json.dumps(HALF))
    (folder / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    command = ("check", "results.jsonl", "--policy", "policy.json", "--output", "report.html", *arguments)
    done = run(folder, *command, environment=environment)
    assert done.exit == 0, done.err
    return (folder / "report.html").read_text("utf-8")


def test_what_the_caller_says_is_on_the_page_and_an_address_is_a_link(tmp_path):
    text = page(tmp_path, "--meta", "commit=4f2a9c1", "--meta", "build=https://ci.example/7?a=1")
    assert "<span>commit <code>4f2a9c1</code></span>" in text
    assert '<span>build <a href="https://ci.example/7?a=1">https://ci.example/7?a=1</a></span>' in text


def test_without_it_the_same_input_gives_the_same_bytes(tmp_path):
    assert page(tmp_path) == page(tmp_path, CI_COMMIT_SHA="4f2a9c1", GITHUB_SHA="4f2a9c1")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        (GITHUB, ["commit 4f2a9c1", "link https://github.com/acme/agent/actions/runs/77"]),
        (GITLAB, ["commit 4f2a9c1", "link https://gitlab.com/acme/agent/-/jobs/77", "date 2026-11-17T15:00:00Z"]),
        ({"GITHUB_ACTIONS": "true"}, []),
    ],
)
def test_in_ci_commit_and_link_are_there_by_themselves(tmp_path, environment, expected):
    shown = re.sub(r"<[^>]*>", "", page(tmp_path, **environment)).replace("&#58;", ":")
    for text in expected:
        assert text in shown
    assert ("actions/runs" in shown) == ("GITHUB_RUN_ID" in environment)


def test_what_the_caller_says_comes_before_what_ci_says(tmp_path):
    text = page(tmp_path, "--meta", "commit=mine", **GITHUB)
    assert "mine" in text
    assert "4f2a9c1" not in text


def test_a_comparison_takes_it_too(tmp_path):
    page(tmp_path)
    done = run(
        tmp_path, "compare", "results.jsonl", "results.jsonl", "--meta", "date=2026-11-17", "--output", "it.html"
    )
    assert done.exit == 0, done.err
    assert "<span>date <code>2026-11-17</code></span>" in (tmp_path / "it.html").read_text("utf-8")


@pytest.mark.parametrize(
    "wrong",
    [
        ("commit",),
        ("=x",),
        ("commit=",),
        ("commit= ",),
        ("<b>=x",),
        ("a\nb=x",),
        ("x" * 41 + "=x",),
        ("a=" + "x" * 501,),
        ("a=1", "a=2"),
    ],
)
@pytest.mark.parametrize("command", ["check", "compare"])
def test_what_is_no_key_and_value_is_refused_and_no_older_report_stays(tmp_path, wrong, command):
    page(tmp_path)
    runs = ["results.jsonl"] * (1 if command == "check" else 2)
    given = [part for text in wrong for part in ("--meta", text)]
    done = run(tmp_path, command, *runs, "--output", "report.html", *given)
    assert done.exit == 2
    assert "--meta" in done.err
    assert "NO VERDICT" in (tmp_path / "report.html").read_text("utf-8")
