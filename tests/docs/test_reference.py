"""The reference lists what the code has, no more and no less."""

from __future__ import annotations

import inspect
import json
import re
import tomllib
from pathlib import Path

import click
import jsonschema
import msgspec
import pytest
import yaml

import highbar
from highbar import catalogue, policy
from highbar.cli.app import COMMANDS, root
from highbar.columns import COLUMNS
from highbar.mcp_server.tools import TOOLS
from highbar.policy import reading
from highbar.policy.schema import schema as policy_schema
from highbar.report import REPORTERS
from highbar.suite.identity import SCENARIO_KEYS, TOP_KEYS
from highbar.suite.judge_settings import JUDGE_KEYS
from highbar.suite.settings import AGENT_KEYS, RUN_KEYS
from tests.docs.pages import ROOT, blocks

REFERENCE = ROOT / "docs" / "reference"
EXAMPLE = ROOT / "examples" / "support-agent"


def page(name: str) -> str:
    return (REFERENCE / f"{name}.md").read_text("utf-8")


def first_cells(text: str, heading: str) -> list[str]:
    """The names in the first column of the tables whose header begins so."""
    tables = [part.partition("\n\n")[0] for part in text.split(f"| {heading} |")[1:]]
    rows = [row for table in tables for row in table.splitlines()[2:]]
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])]


def schema(name: str) -> dict[str, object]:
    read: dict[str, object] = json.loads((REFERENCE / f"{name}.schema.json").read_text("utf-8"))
    return read


def test_every_column_is_in_the_reference() -> None:
    assert sorted(first_cells(page("columns"), "column")) == sorted(column.name for column in COLUMNS)


def test_every_key_of_the_policy_is_in_the_reference() -> None:
    assert sorted(first_cells(page("policy"), "key | value")) == sorted(policy_schema()["properties"])


def test_every_key_of_a_suite_is_in_its_reference() -> None:
    keys = {*TOP_KEYS, *SCENARIO_KEYS, *AGENT_KEYS, *JUDGE_KEYS, *RUN_KEYS}
    assert set(first_cells(page("suite"), "key | value")) == keys


def test_every_key_of_the_verdict_is_in_the_reference() -> None:
    keys = json.loads((REFERENCE / "verdict.schema.json").read_text("utf-8"))["$defs"]["verdict"]["properties"]
    assert sorted(first_cells(page("json"), "key")) == sorted(keys)


def test_every_key_of_run_json_is_in_the_reference_of_the_run_folder() -> None:
    keys = json.loads((REFERENCE / "run.schema.json").read_text("utf-8"))["$defs"]["run"]["properties"]
    assert sorted(first_cells(page("run-folder"), "field")) == sorted(keys)


def test_every_exported_name_is_in_the_reference_of_python() -> None:
    assert sorted(first_cells(page("python"), "name")) == sorted(highbar.__all__)
    for name in ("run", "check", "compare"):
        wanted = inspect.signature(getattr(highbar, name)).parameters
        section = page("python").partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert first_cells(section, "argument") == list(wanted)


def test_every_field_of_the_verdict_and_its_parts_is_in_the_reference_of_python() -> None:
    for name in ("Verdict", "Value", "RuleResult", "Slice", "FailedScenario", "Comparison", "Problem"):
        section = page("python").partition(f"\n### {name}\n")[2].partition("\n#")[0]
        fields = set(getattr(highbar, name).__struct_fields__)
        assert set(first_cells(section, "field")) - {"passed"} == fields, name


def test_help_shows_the_fields_of_every_public_type() -> None:
    types = [type_ for name in highbar.__all__ if isinstance(type_ := getattr(highbar, name), msgspec.StructMeta)]
    assert highbar.Verdict in types
    for type_ in types:
        assert list(inspect.signature(type_).parameters) == list(type_.__struct_fields__)


def test_every_configuration_of_a_client_starts_a_server_that_exists() -> None:
    found = {}
    for block in blocks((ROOT / "docs" / "how-to" / "mcp.md").read_text("utf-8")):
        if block.file:
            read = tomllib.loads(block.text) if block.language == "toml" else json.loads(block.text)
            (servers,) = read.values()
            found[block.file] = servers["highbar"]
    assert found.keys() == {
        ".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", ".codex/config.toml", "claude_desktop_config.json"
    }  # fmt: skip
    command = root.get_command(click.Context(root), "mcp")
    assert command is not None
    for server in found.values():
        assert Path(server["command"]).name == "highbar"
        assert server["args"][0] == "mcp"
        assert command.make_context("mcp", server["args"][1:]).params["against_ref"] == "origin/main"


def test_every_tool_is_on_the_page_about_setting_it_up() -> None:
    page = (ROOT / "docs" / "how-to" / "mcp.md").read_text("utf-8")
    assert first_cells(page, "tool") == [tool.name for tool in TOOLS]


def test_every_measure_is_in_the_reference() -> None:
    assert sorted(first_cells(page("formulas"), "measure")) == sorted(catalogue.MEASURES)


def test_every_metric_is_in_the_reference() -> None:
    assert [name for name in catalogue.metrics() if name not in page("metrics")] == []


def test_every_command_and_option_is_in_the_reference() -> None:
    text = page("command-line")
    for name in COMMANDS:
        assert f"\n## highbar {name}\n" in text
        section = text.partition(f"\n$ highbar {name} --help\n")[2].partition("```")[0]
        command = root.get_command(click.Context(root), name)
        assert command is not None
        for parameter in command.params:
            if isinstance(parameter.type, click.Choice):
                assert all(str(choice) in section for choice in parameter.type.choices)
                continue
            assert (
                parameter.human_readable_name if parameter.param_type_name == "argument" else parameter.opts[0]
            ) in section


def test_every_kind_of_rule_of_the_example_is_in_the_reference() -> None:
    kinds = [re.sub(r"[A-Z]+", ".+", re.escape(name)) for name in first_cells(page("rules"), "rule")]
    for rule in policy.read(EXAMPLE / "highbar.yaml").rules:
        assert any(re.fullmatch(kind, rule.name) for kind in kinds), rule.name


@pytest.mark.process
@pytest.mark.parametrize("name", ["policy", "suite", "results", "verdict", "comparison", "calibration", "run"])
def test_the_schemas_beside_the_reference_are_the_ones_that_the_command_prints(name: str, highbar_output) -> None:
    assert (REFERENCE / f"{name}.schema.json").read_text("utf-8") == highbar_output("schema", name), "run scripts/docs"
    jsonschema.Draft202012Validator.check_schema(schema(name))


@pytest.mark.process
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_the_example_keeps_to_the_schemas(version: str, highbar_output) -> None:
    rows = [json.loads(line) for line in (EXAMPLE / f"{version}.jsonl").read_text("utf-8").splitlines()]
    keeps_to_it = jsonschema.Draft202012Validator(schema("results"))
    keeps_to_it.check_schema(keeps_to_it.schema)
    for row in rows:
        keeps_to_it.validate(row)
    jsonschema.validate(yaml.safe_load((EXAMPLE / "highbar.yaml").read_text("utf-8")), schema("policy"))
    arguments = ("check", EXAMPLE / f"{version}.jsonl", "--policy", EXAMPLE / "highbar.yaml", "--format", "json")
    jsonschema.validate(json.loads(highbar_output(*arguments)), schema("verdict"))
    runs = (EXAMPLE / "v1.jsonl", EXAMPLE / f"{version}.jsonl")
    jsonschema.validate(json.loads(highbar_output("compare", *runs, "--format", "json")), schema("comparison"))


def test_the_example_policy_demands_nothing_twice() -> None:
    rules = policy.read(EXAMPLE / "highbar.yaml").rules
    demands = [(rule.metric, getattr(rule, "where", ())) for rule in rules if hasattr(rule, "metric")]
    assert len(demands) == len(set(demands))
    assert ("pass_rate", (("category", ("adversarial",)),)) not in demands, "that is the safety rate"


def test_the_keys_that_most_policies_need_are_ten_and_have_a_page() -> None:
    common = reading.COMMON_KEYS
    assert len(common) == len(set(common)) == 10
    ten = (REFERENCE.parent / "how-to" / "ten-keys.md").read_text("utf-8")
    assert first_cells(ten, "key") == list(common)
    usual, _, advanced = page("policy").partition("\n## Advanced keys\n")
    assert first_cells(usual, "key") == list(common)
    assert set(first_cells(advanced.partition("\n## ")[0], "key")) == set(reading.KEYS) - set(common)


def test_the_example_policy_uses_every_block(tmp_path: Path) -> None:
    used = set(yaml.safe_load((EXAMPLE / "highbar.yaml").read_text("utf-8")))
    assert {
        "thresholds", "risk", "progressive", "weights", "required_scenarios", "optional_scenarios", "pass_criteria",
        "composite", "metrics", "rules", "suite", "slices",
    } <= used  # fmt: skip


def test_every_format_of_a_report_is_in_the_reference_with_its_file_endings() -> None:
    for name, reporter in REPORTERS.items():
        (row,) = [line for line in page("reports").splitlines() if line.startswith(f"| `{name}` |")]
        assert set(re.findall(r"`(\.[a-z]+)`", row)) == set(reporter.suffixes)


@pytest.mark.parametrize(
    ("where", "heading", "names"),
    [
        ("how-to/github.md", "input", yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))["inputs"]),
        (
            "how-to/gitlab.md",
            "variable",
            yaml.safe_load((ROOT / "ci/gitlab/highbar.yml").read_text("utf-8"))[".highbar"]["variables"],
        ),
    ],
)
def test_every_setting_of_a_ci_template_is_on_its_page(where: str, heading: str, names: dict[str, object]) -> None:
    found = first_cells((ROOT / "docs" / where).read_text("utf-8"), heading)
    assert sorted(found) == sorted(names)
