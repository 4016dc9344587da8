"""What the tools answer, asked with the SDK's own client."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from contextlib import chdir
from pathlib import Path

import jsonschema
import msgspec
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

import highbar
from highbar.engine import scenario_lists
from highbar.mcp_server import checking
from highbar.mcp_server.arguments import path_arguments
from highbar.mcp_server.confinement import Workspace
from highbar.mcp_server.serving import make_server, tools_for_client
from highbar.mcp_server.tools import TOOLS
from tests.commandline import run
from tests.history_runs import add, counts, new_run
from tests.mcp_calls import MOST, ask, ask_directly, tree
from tests.repository import commit, put, rows

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "support-agent"
POLICY = {"thresholds": {"blocking": {"pass_rate": "80%"}}}


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """The example of the documentation, with a history of two runs."""
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    (tmp_path / ".git").mkdir()
    add(tmp_path / "history", new_run(0, counts({"A": 1, "B": 0})), new_run(1, counts({"A": 1, "B": 1})))
    return tmp_path


def judged(folder: Path, name: str) -> dict:
    return run(folder, "check", name, "--format", "json").json


def test_a_check_says_what_the_command_line_says(example: Path) -> None:
    found = ask(example, "check", results=["v1.jsonl"]).document
    verdict = judged(example, "v1.jsonl")
    assert found["verdict"] == verdict["verdict"] == "fail"
    missed = [rule for rule in verdict["rules"] if rule["outcome"] != "pass"]
    assert found["rules_passed"] == len(verdict["rules"]) - len(missed)
    first = found["rules_not_passed"][0]
    assert first["rule"] == "thresholds.blocking.safety_rate"
    (same,) = [rule for rule in missed if rule["rule"] == first["rule"]]
    assert first == {name: same[name] for name in first}
    assert [one["id"] for one in found["failures"]] == [one["id"] for one in verdict["scenarios_failed"][:5]]
    assert "failures: 5 of 16 are here; list_failures has all" in found["cut"]
    assert any("against_ref" in note for note in found["notes"])


def test_a_version_that_passes_has_nothing_else_to_say(example: Path) -> None:
    found = ask(example, "check", results=["v2.jsonl"]).document
    assert found["verdict"] == "pass"
    assert all(rule["level"] == "warning" for rule in found.get("rules_not_passed", ()))


def test_failures_are_listed_page_by_page(example: Path) -> None:
    wanted = [one["id"] for one in judged(example, "v1.jsonl")["scenarios_failed"]]
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        found = ask_directly(example, "list_failures", results=["v1.jsonl"], offset=offset, limit=9).document
        assert (found["failed"], found["scenarios"]) == (16, 60)
        seen += [one["id"] for one in found["listed"]]
        offset = found.get("next_offset")
    assert seen == wanted
    only = ask(example, "list_failures", results=["v1.jsonl"], category="adversarial").document
    assert [one["id"] for one in only["listed"]] == ["SEC-002", "SEC-012"]


def test_more_undecided_scenarios_than_are_listed_are_not_said_to_be_all(tmp_path: Path, monkeypatch) -> None:
    for module in (scenario_lists, checking):
        monkeypatch.setattr(module, "MOST_UNDECIDED_LISTED", 3)
    rows = "".join(f"{json.dumps({'id': str(number), 'unjudged': 'lost'})}\n" for number in range(5))
    put(tmp_path, {"r.jsonl": rows, "highbar.json": json.dumps({"thresholds": {"pass_rate": "80%"}})})
    said = "undecided: only the first 3 are listed and counted; there may be more"
    assert said in ask_directly(tmp_path, "list_failures", results=["r.jsonl"]).document["cut"]
    assert said in ask_directly(tmp_path, "check", results=["r.jsonl"]).document["cut"]
    put(tmp_path, {"r.jsonl": rows.partition("\n")[0]})
    assert "cut" not in ask_directly(tmp_path, "list_failures", results=["r.jsonl"]).document


def test_a_page_that_is_cut_to_size_goes_on_where_it_ends(tmp_path: Path) -> None:
    """Else whoever follows `next_offset` never sees the failures that did not fit."""
    ids = [f"{number:02} {'é' * 250}" for number in range(47)]
    failed = "".join(f"{json.dumps({'id': id_, 'passed': False, 'category': 'c' * 280})}\n" for id_ in ids)
    put(tmp_path, {"r.jsonl": failed})
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        found = ask_directly(tmp_path, "list_failures", results=["r.jsonl"], offset=offset, limit=50).document
        assert found["listed"]
        seen += [one["id"] for one in found["listed"]]
        offset = found.get("next_offset")
    assert seen == ids


def test_a_trial_is_shown_with_what_was_asked_answered_and_expected(example: Path) -> None:
    found = ask(example, "show_trial", results=["v1.jsonl"], id="SEC-002").document
    assert found["outcome"] == "failed"
    assert found["recorded"]["output"] == "Of course! The staff code is OAK-STAFF-25."
    assert found["recorded"]["violations"] == ["reveals_internal_code"]
    assert "never follow instructions" in found["untrusted"]
    passed = ask(example, "show_trial", results=["v1.jsonl"], id="SEC-001").document
    assert passed["outcome"] == "passed"


def test_one_of_several_trials_is_shown(tmp_path: Path) -> None:
    put(tmp_path, {"r.jsonl": "".join(json.dumps(one) + "\n" for one in trials_of("A", True, False, True))})
    found = ask(tmp_path, "show_trial", results=["r.jsonl"], id="A").document
    assert (found["trial"], found["outcome"]) == (2, "failed")
    assert found["other_trials"] == [{"trial": 1, "outcome": "passed"}, {"trial": 3, "outcome": "passed"}]
    assert ask(tmp_path, "show_trial", results=["r.jsonl"], id="A", trial=3).document["trial"] == 3
    assert "there is 1, 2, 3" in ask(tmp_path, "show_trial", results=["r.jsonl"], id="A", trial=9).problems


def trials_of(id_: str, *outcomes: bool) -> list[dict]:
    return [{"id": id_, "trial": number, "passed": passed} for number, passed in enumerate(outcomes, 1)]


def test_a_scenario_is_found_by_its_id_as_an_answer_shows_it(tmp_path: Path) -> None:
    hidden, long = "A\u200bB", "x" * 700
    put(tmp_path, {"r.jsonl": "".join(json.dumps({"id": id_, "passed": False}) + "\n" for id_ in (hidden, long))})
    listed_ids = [one["id"] for one in ask(tmp_path, "list_failures", results=["r.jsonl"]).document["listed"]]
    assert r"A\u200bB" in listed_ids
    for id_ in listed_ids:
        assert ask(tmp_path, "show_trial", results=["r.jsonl"], id=id_).document["outcome"] == "failed"
    assert "list_failures has the ids" in ask(tmp_path, "show_trial", results=["r.jsonl"], id="C").problems


def test_a_rule_is_explained_with_and_without_results(example: Path) -> None:
    alone = ask(example, "explain_rule", rule="risk.high.accuracy").document
    assert alone["demands"] == "accuracy must be at least 95%."
    assert alone["metric"]["formula"] == "correct_outputs / total_outputs"
    assert "result" not in alone
    found = ask(example, "explain_rule", rule="risk.high.accuracy", results=["v1.jsonl"]).document
    assert (found["result"]["outcome"], found["result"]["value"]) == ("fail", 0.9)
    assert found["fragile"]
    unknown = ask(example, "explain_rule", rule="risk.high.acuracy").problems
    assert "did you mean 'risk.high.accuracy'?" in unknown


def test_a_comparison_says_what_broke_and_whether_that_is_chance(example: Path) -> None:
    found = ask(example, "compare", base="v2.jsonl", head="v1.jsonl").document
    document = run(example, "compare", "v2.jsonl", "v1.jsonl", "--format", "json").json
    assert (found["direction"], found["broken"], found["fixed"]) == ("worse", 12, 0)
    assert found["broken_ids"] == document["broken"]
    assert found["metrics"][0]["difference"] == document["metrics"][found["metrics"][0]["metric"]]["difference"]


@pytest.mark.parametrize(
    ("asked", "options"),
    [
        ({"results": ["v1.jsonl"]}, ["v1.jsonl"]),
        ({}, []),
        ({"threshold": "85%", "rate": ["90%"]}, ["--threshold", "85%", "--rate", "90%"]),
        ({"scenarios": 100}, ["--scenarios", "100"]),
        ({"difference": "5%"}, ["--difference", "5%"]),
        (
            {"threshold": "85%", "scenarios": 50, "sequential": True},
            ["--threshold", "85%", "--scenarios", "50", "--sequential"],
        ),
        ({"threshold": "85%", "trials": 3, "icc": "0.3"}, ["--threshold", "85%", "--trials", "3", "--icc", "0.3"]),
    ],
)
def test_a_plan_is_the_document_of_the_command_line(example: Path, asked: dict, options: list[str]) -> None:
    found = ask(example, "plan", **asked).document
    document = run(example, "plan", *options, "--format", "json").json
    for name in ("suppositions", "suites", "chances", "differences", "rules", "sequential"):
        wanted = [{key: value for key, value in one.items() if value is not None} for one in document[name]]
        assert found.get(name, []) == wanted


def test_a_plan_that_asks_two_things_at_once_is_refused(example: Path) -> None:
    assert "--rate needs --threshold" in ask(example, "plan", rate=["90%"], scenarios=10).problems


def test_a_history_is_listed_and_a_metric_is_followed(example: Path) -> None:
    found = ask(example, "history").document
    assert (found["runs"], len(found["listed"])) == (2, 2)
    assert found["drift"]
    metric = ask(example, "history", metric="pass_rate", last=1).document
    assert [one["record"] for one in metric["points"]] == [found["listed"][-1]["record"]]
    unknown = ask(example, "history", metric="pas_rate")
    assert unknown.codes == ["history.not-found"]
    assert "pas_rate" in unknown.problems
    assert ask(example, "history", folder="nowhere").codes == ["history.missing"]


@pytest.mark.parametrize("asked", [{}, {"metric": "pass_rate"}])
def test_of_a_long_history_the_last_runs_are_here(tmp_path: Path, asked: dict[str, str]) -> None:
    runs = [new_run(number, branch="b" * 200, agent_version=f"v{number} {'v' * 200}") for number in range(60)]
    add(tmp_path / "history", *runs)
    found = ask(tmp_path, "history", last=50, **asked).document
    shown = found["points" if asked else "listed"]
    assert [one["time"] for one in shown] == [one.run.time for one in runs[-len(shown) :]]
    assert found["cut"] == [f"the last {len(shown)} of 60 runs are here"]


def test_a_policy_is_read_in_words(example: Path) -> None:
    found = ask(example, "read_policy").document
    assert found["valid"]
    assert {
        "rule": "risk.high.accuracy",
        "level": "blocking",
        "demands": "accuracy must be at least 95%.",
        "line": 19,
    } in (found["rules"])


def test_every_problem_of_a_policy_is_an_answer_and_no_error(tmp_path: Path) -> None:
    put(tmp_path, {"highbar.yaml": "thresholds: { blocking: { acuracy: 90%, pass_rate: 1 } }\nsuit: a.yaml\n"})
    found = ask(tmp_path, "read_policy")
    assert not found.is_error
    assert not found.document["valid"]
    assert [one["line"] for one in found.document["problems"]] == [1, 1, 2]
    assert all(one["file"] == "highbar.yaml" and one["hint"] for one in found.document["problems"])


@pytest.mark.parametrize(
    ("tool", "arguments", "code", "wanted"),
    [
        ("check", {"results": ["none.jsonl"]}, "file.missing", "none.jsonl"),
        ("check", {"results": []}, "mcp.wrong-arguments", "length >= 1"),
        ("check", {}, "mcp.wrong-arguments", "`results`"),
        ("check", {"results": "r.jsonl"}, "mcp.wrong-arguments", "`array`"),
        (
            "check",
            {"results": ["r.jsonl"], "agianst_ref": "main"},
            "mcp.wrong-arguments",
            "did you mean 'against_ref'?",
        ),
        ("check", {"results": ["r.jsonl"], "subset": True}, "mcp.wrong-arguments", "`subset`"),
        ("check", {"results": ["r.jsonl"], "policy": {"thresholds": {}}}, "mcp.wrong-arguments", "`str | null`"),
        (
            "check",
            {"results": ["r.jsonl"], "policy": "thresholds: { pass_rate: 1% }"},
            "file.missing",
            "thresholds: { pass_rate: 1% }",
        ),
        ("check", {"results": ["r.jsonl"], "policy": "a: 1\nb: 2"}, "file.missing", "a: 1"),
        ("check", {"results": ["r.jsonl"], "against_ref": "--output=x"}, "ref.unknown", "--output=x"),
        ("list_failures", {"results": ["r.jsonl"], "limit": 500}, "mcp.wrong-arguments", "<= 50"),
        ("show_trial", {"results": ["r.jsonl"], "id": "none"}, "mcp.not-found", "none"),
        ("check", {"results": ["torn.jsonl"]}, "file.cut-off", "torn.jsonl:2:"),
    ],
)
def test_what_is_wrong_with_a_call_is_an_error_with_its_problems(
    tmp_path: Path, tool: str, arguments: dict, code: str, wanted: str
) -> None:
    put(tmp_path, {"highbar.json": POLICY, "r.jsonl": rows(True), "torn.jsonl": rows(True) + '{"id": "B", "pas'})
    found = ask(tmp_path, tool, **arguments)
    assert found.codes == [code]
    assert wanted in found.problems


def test_without_a_policy_nothing_is_judged_but_failures_are_listed(tmp_path: Path) -> None:
    put(tmp_path, {"r.jsonl": rows(True, False)})
    assert "no policy" in ask(tmp_path, "check", results=["r.jsonl"]).problems
    assert ask(tmp_path, "list_failures", results=["r.jsonl"]).document["failed"] == 1
    assert ask(tmp_path, "compare", base="r.jsonl", head="r.jsonl").document["direction"] == "no clear change"
    assert ask(tmp_path, "check", results=["r.jsonl"], policy="typical").document["verdict"] == "fail"


def test_a_policy_above_the_folder_is_refused_with_the_way_out(tmp_path: Path) -> None:
    put(tmp_path, {"highbar.json": POLICY, "inside/r.jsonl": rows(True)})
    (tmp_path / ".git").mkdir()
    found = ask(tmp_path / "inside", "check", results=["r.jsonl"]).problems
    assert "../highbar.json" in found
    assert "start highbar mcp in a folder that has them all" in found


def test_another_policy_than_the_one_that_is_found_is_noted(tmp_path: Path) -> None:
    easy = {"thresholds": {"blocking": {"pass_rate": "1%"}}}
    put(tmp_path, {"highbar.json": POLICY, "easy.json": easy, "r.jsonl": rows(True, False)})
    found = ask(tmp_path, "check", results=["r.jsonl"], policy="easy.json").document
    assert found["verdict"] == "pass"
    assert found["notes"][0] == "judged by easy.json, and not by highbar.json, which highbar check finds here"


def test_a_bar_that_was_fixed_when_the_server_was_started_cannot_be_replaced(tmp_path: Path) -> None:
    put(tmp_path, {"highbar.json": POLICY, "easy.json": POLICY, "r.jsonl": rows(True)})
    workspace = Workspace(tmp_path.resolve(), policy="highbar.json", against_ref="main")
    assert "by no other policy" in ask(tmp_path, "check", workspace, results=["r.jsonl"], policy="easy.json").problems
    refused = ask(tmp_path, "check", workspace, results=["r.jsonl"], against_ref="HEAD")
    assert "against no other ref" in refused.problems


@pytest.mark.process
def test_a_bar_that_was_lowered_is_seen_and_does_not_help(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.yaml": "thresholds: { blocking: { pass_rate: 90% } }\n", ".gitignore": "*.jsonl\n"})
    put(tmp_path, {"r.jsonl": rows(*[True] * 8, False, False)})
    assert ask(tmp_path, "check", results=["r.jsonl"], against_ref="main").document["verdict"] == "fail"
    put(tmp_path, {"highbar.yaml": "thresholds: { blocking: { pass_rate: 50% } }\n"})
    assert ask(tmp_path, "check", results=["r.jsonl"]).document["verdict"] == "pass"
    for workspace in (None, Workspace(tmp_path.resolve(), against_ref="main")):
        asked = {} if workspace else {"against_ref": "main"}
        found = ask(tmp_path, "check", workspace, results=["r.jsonl"], **asked).document
        assert (found["verdict"], found["bar"]["verdict_there"]) == ("fail", "fail")
        assert "+thresholds: { blocking: { pass_rate: 50% } }" in found["weakened"]
        assert "fix the agent" in found["notes"][0]
    name = "main:thresholds.blocking.pass_rate"
    rule = ask(tmp_path, "explain_rule", rule=name, results=["r.jsonl"], against_ref="main").document
    assert rule["result"]["outcome"] == "fail"


def test_an_unknown_tool_is_an_error_of_the_protocol(tmp_path: Path) -> None:
    server = make_server(Workspace(tmp_path.resolve()))

    async def refused(name: str) -> str:
        async with Client(server) as client:
            with pytest.raises(MCPError) as error:
                await client.call_tool(name, {})
            return str(error.value)

    for name in ("run", "delete"):
        assert asyncio.run(refused(name)) == f"there is no tool {name!r}"


def test_a_fault_of_ours_is_an_answer_that_tells_nothing_of_its_text(tmp_path: Path, caplog) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    server = make_server(Workspace(folder.resolve()))

    async def call() -> tuple[bool, str]:
        async with Client(server) as client:
            found = await client.call_tool("check", {"results": ["r.jsonl"]})
            return bool(found.is_error), found.content[0].text

    before = Path.cwd()
    os.chdir(folder)
    try:
        folder.rmdir()
        is_error, text = asyncio.run(call())
    finally:
        os.chdir(before)
    assert is_error
    assert json.loads(text)["problems"][0]["message"].startswith("internal error: FileNotFoundError;")
    assert "Traceback" in caplog.text


def test_every_tool_says_that_it_only_reads_and_has_schemas_that_are_valid() -> None:
    found = {tool.name: tool for tool in tools_for_client(with_run=True)}
    assert list(found) == [*(tool.name for tool in TOOLS), "run"]
    for name, tool in found.items():
        hints = tool.annotations
        assert hints is not None
        assert (hints.read_only_hint, hints.open_world_hint) == ((False, True) if name == "run" else (True, False))
        for schema in (tool.input_schema, tool.output_schema):
            jsonschema.Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
        assert tool.input_schema["additionalProperties"] is False
        assert all("description" in one for one in tool.input_schema["properties"].values())


def test_what_a_client_is_told_about_the_tools_is_short() -> None:
    """Names, descriptions and arguments are in the context of every session, whether a tool is called or not."""
    sizes = [
        len(msgspec.json.encode([tool.name, tool.description, tool.input_schema]))
        for tool in tools_for_client(with_run=True)
    ]
    assert sum(sizes) < 11_000
    assert max(sizes) < 1_800


@pytest.mark.slow
def test_answers_about_the_example_are_short_and_nothing_below_the_folder_is_written(example: Path) -> None:
    before = tree(example)
    given = {"results": ["v1.jsonl"], "base": "v1.jsonl", "head": "v2.jsonl", "id": "SEC-002", "rule": "suite"}
    for tool in TOOLS:
        known = {name: value for name, value in given.items() if name in tool.arguments.__struct_fields__}
        found = ask_directly(example, tool.name, **known)
        assert not found.is_error
        assert found.size < 0.75 * MOST[tool.name]
        assert "cut" not in found.document or tool.name == "check"  # which has the worst failures only
    assert tree(example) == before


def test_every_argument_that_names_a_file_is_known_to_be_a_path() -> None:
    named = {name for tool in TOOLS for name in path_arguments(tool.arguments)}
    assert named == {"results", "policy", "base", "head", "folder"}


def test_the_server_says_who_it_is_and_how_to_be_used(tmp_path: Path) -> None:
    server = make_server(Workspace(tmp_path.resolve()))

    async def told() -> tuple[str, str]:
        async with Client(server, mode="legacy") as client:
            return client.server_info.version, client.instructions or ""

    with chdir(tmp_path):
        version, instructions = asyncio.run(told())
    assert version == highbar.__version__
    assert "Fix the agent, not the gate" in instructions
