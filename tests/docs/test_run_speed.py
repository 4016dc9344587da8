"""The figures of `highbar run` beside other tools are those that were stored, and they are read from what happened."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from bench import runners, runners_page, runners_process
from bench.runners_tools import VERSIONS, WAYS, environment, questions_of_cache, questions_of_lines, questions_of_report

from tests.importers.remake import pinned, recipes

TABLE = runners_page.stored()
HIGHBAR = next(way for way in WAYS if way.name.startswith("Highbar, "))


def test_the_page_is_what_the_table_says():
    wanted = "python -m bench.runners_page writes it"
    assert runners_page.PAGE.read_text("utf-8") == runners_page.page(TABLE), wanted


def test_the_figures_of_the_readme_are_those_that_were_stored():
    assert runners_page.in_short(TABLE) in " ".join(runners_page.README.read_text("utf-8").split())


def test_every_way_was_measured_in_full():
    assert TABLE["missing"] == {}
    assert [way["name"] for way in TABLE["ways"]] == [way.name for way in WAYS]
    assert TABLE["size"] == {"turns": 3, "trials": 2_000, "slow_trials": 500, "memory_trials": 20_000}
    for way, found in zip(WAYS, TABLE["ways"], strict=True):
        assert found["version"] == VERSIONS.get(way.package, found["version"])
        assert ("mebibytes" in found) == (way.most is None)
        assert found["of_ideal"] >= 1  # else it ran more calls at once than the others
        assert 0 <= found["kept"] <= found["answered"]


def test_the_tools_have_the_versions_that_made_the_fixtures():
    fixtures = {one for name in ("inspect", "deepeval", "pydantic_evals") for one in pinned(recipes()[name])}
    assert fixtures == {f"{name}=={version}" for name, version in VERSIONS.items() if name != "promptfoo"}
    assert f"promptfoo@{VERSIONS['promptfoo']}" in recipes()["promptfoo"].read_text("utf-8")


def test_a_tool_that_could_not_be_installed_is_named_below_the_table():
    shown = runners_page.markdown({**TABLE, "missing": {"promptfoo": "this machine has no Node.js"}})
    assert shown[-1] == "\nNot measured: promptfoo: this machine has no Node.js"


def test_calls_are_read_from_what_the_agent_wrote_without_a_line_that_was_torn(tmp_path):
    log = tmp_path / "calls"
    log.write_text(
        "asked q1 10.0\nasked q2 10.5\nanswered q1 11.0\nasked q3 11.5\nanswered q2 12.0\nanswered q", "utf-8"
    )
    calls = runners_process.read_calls(log)
    assert [question for question, _ in calls.answered] == ["q1", "q2"]
    assert calls.seconds == 2.0
    assert calls.at_once == 2
    assert runners_process.read_calls(tmp_path / "none").asked == ()


def test_what_a_tool_without_resume_left_is_read_from_its_files(tmp_path):
    assert questions_of_report(tmp_path) == questions_of_lines(tmp_path) == questions_of_cache(tmp_path) == set()
    (tmp_path / "results.jsonl").write_text('{"vars": {"question": "q1"}}\n{"vars": {"questi', "utf-8")
    assert questions_of_lines(tmp_path) == {"q1"}
    (tmp_path / "report.json").write_text('{"cases": [{"inputs": "q2"}]}', "utf-8")
    assert questions_of_report(tmp_path) == {"q2"}
    (tmp_path / ".deepeval").mkdir()
    key = json.dumps({"input": "q3", "actual_output": "hello"})
    whole = json.dumps({"test_cases_lookup_map": {key: {}}})
    (tmp_path / ".deepeval" / ".deepeval-cache.json").write_text(whole, "utf-8")
    (tmp_path / ".deepeval" / ".temp-deepeval-cache.json").write_text(whole[:-9], "utf-8")
    assert questions_of_cache(tmp_path) == {"q3"}


def test_no_tool_finds_the_settings_of_the_user_or_reports_its_use(tmp_path):
    found = environment(HIGHBAR, tmp_path, 3, 0, None)
    assert found["HOME"] == str(tmp_path)
    assert found["PROMPTFOO_DISABLE_TELEMETRY"] == found["PROMPTFOO_DISABLE_UPDATE"] == "1"
    assert found["DEEPEVAL_TELEMETRY_OPT_OUT"] == "YES"
    assert "BENCH_LOG" not in found


@pytest.mark.process
def test_memory_is_that_of_the_whole_tree():
    child = "held = bytearray(40 * 2**20); print('ready', flush=True); input()"
    parent = f"import subprocess, sys; held = bytearray(40 * 2**20); subprocess.run([sys.executable, '-c', {child!r}])"
    with subprocess.Popen(
        [sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        pids = runners_process.tree(process.pid)
        assert len(pids) == 2
        assert runners_process.resident(pids[:1]) > 40
        assert runners_process.resident(pids) > 80
        process.communicate("\n")


@pytest.mark.process
def test_a_command_that_fails_is_no_measurement(tmp_path):
    with pytest.raises(RuntimeError, match="exit code 3\nno such thing"):
        runners_process.run([sys.executable, "-c", "print('no such thing'); raise SystemExit(3)"], tmp_path, os.environ)


@pytest.mark.process
def test_a_killed_run_of_ours_is_resumed_and_what_survived_is_counted():
    kept, answered = runners.survived(HIGHBAR, Path(sys.executable), 100)
    assert answered >= 50
    assert 0 < kept <= answered
