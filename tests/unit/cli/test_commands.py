from __future__ import annotations

import subprocess
import sys

import jsonschema
import pytest

import highbar
from highbar.catalogue import MEASURES, metrics
from highbar.cli.app import COMMANDS
from tests.commandline import run


def test_every_command_helps_with_examples(tmp_path):
    listed = run(tmp_path, "--help")
    assert listed.exit == 0
    assert "Examples:" in listed.out
    for command in COMMANDS:
        assert f"  {command} " in listed.out
        done = run(tmp_path, command, "--help")
        assert done.exit == 0
        assert "Examples:" in done.out
        assert f"highbar {command}" in done.out


def test_the_version_is_the_packages(tmp_path):
    assert run(tmp_path, "--version").out == f"highbar {highbar.__version__}\n"


@pytest.mark.process
def test_a_command_loads_only_what_it_needs():
    program = (
        "import sys; from highbar.cli import run_guarded; run_guarded(['schema', 'verdict'])\n"
        "print(*[name for name in sys.modules if name.startswith(('highbar.', 'duckdb', 'yaml'))], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = done.stderr.split()
    assert "highbar.cli.schema" in loaded
    assert not {"highbar.cli.check", "highbar.pipeline", "highbar.policy", "duckdb", "yaml"} & set(loaded)


@pytest.mark.parametrize("what", ["policy", "results", "verdict"])
def test_a_schema_is_a_json_schema(tmp_path, what):
    done = run(tmp_path, "schema", what)
    assert done.exit == 0
    jsonschema.Draft202012Validator.check_schema(done.json)


def test_the_catalogue_is_listed_whole(tmp_path):
    text, document = run(tmp_path, "metrics").out, run(tmp_path, "metrics", "--format", "json").json
    assert [metric["name"] for metric in document["metrics"]][: len(metrics())] == list(metrics())
    assert [measure["name"] for measure in document["measures"]] == list(MEASURES)
    for metric in document["metrics"]:
        assert metric["formula"]
        assert metric["use_case"]
        assert f"{metric['name']}  (" in text
    assert {"pass_at_3", "pass_hat_3"} <= {metric["name"] for metric in document["metrics"]}


def test_a_policy_is_said_in_words(tmp_path):
    (tmp_path / "highbar.yaml").write_text(
        "description: the bar\nthresholds: {blocking: {accuracy: 90}, warning: {latency_p95: 5000}}\n"
    )
    done = run(tmp_path, "policy")
    assert done.exit == 0
    assert "is valid: 2 rules, 1 blocking, 1 warning\nthe bar\n" in done.out
    blocking, warning = done.out.split("\nWarning: ")
    assert "thresholds.blocking.accuracy\n      accuracy must be at least 90%." in blocking
    assert "thresholds.warning.latency_p95\n      latency_p95 must be at most 5000 ms." in warning


def test_every_problem_of_a_policy_is_listed(tmp_path):
    (tmp_path / "highbar.yaml").write_text("thresholds: {blocking: {acuracy: 90, pass_rate: 120%}}\ncolor: red\n")
    done = run(tmp_path, "policy")
    assert done.exit == 2
    assert done.stdout == b""
    assert len([line for line in done.err.splitlines() if "highbar.yaml:" in line]) == 3


def test_without_a_policy_there_is_nothing_to_say(tmp_path):
    done = run(tmp_path, "policy")
    assert done.exit == 2
    assert "highbar init" in done.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_of_a_shell_is_printed(tmp_path, shell):
    done = run(tmp_path, "completion", shell)
    assert done.exit == 0
    assert f"_HIGHBAR_COMPLETE={shell}_complete" in done.out


def test_a_shell_that_asks_gets_completions(tmp_path):
    asked = {"_HIGHBAR_COMPLETE": "bash_complete", "COMP_WORDS": "highbar check --fo", "COMP_CWORD": "2"}
    assert run(tmp_path, environment=asked).out == "plain,--format\n"
    asked = {"_HIGHBAR_COMPLETE": "bash_complete", "COMP_WORDS": "highbar ", "COMP_CWORD": "1"}
    assert run(tmp_path, environment=asked).out.split() == [f"plain,{command}" for command in COMMANDS]
