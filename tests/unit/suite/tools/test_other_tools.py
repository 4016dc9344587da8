"""What holds for suites of every other tool: how they are recognized, kept, resumed and graded again."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highbar import suite
from highbar.errors import InputError
from highbar.suite.tools import tool_of_suite
from tests.commandline import judged, run
from tests.importers.remake import SUITES
from tests.unit.suite.test_reading import LIBRARY

FILES = [SUITES / "promptfoo" / "project" / "promptfooconfig.yaml", *sorted((SUITES / "pydantic_evals").glob("*.yaml"))]
SKILL = {"skill_name": "csv", "evals": [{"id": 1, "prompt": "Plot it.", "expectations": ["The axes are labeled."]}]}
AGENT = "def answer(input):\n    return input.upper()\n"
POLICY = "suite: promptfooconfig.yaml\nthresholds: { blocking: { pass_rate: 100% } }\n"


@pytest.mark.parametrize(
    ("values", "tool"),
    [
        ({"prompts": ["a"]}, "promptfoo"),
        ({"providers": [], "scenarios": [{"config": [], "tests": []}]}, "promptfoo"),
        ({"cases": []}, "pydantic-evals"),
        ({"evals": []}, "Agent Skills"),
        ({"scenarios": [{"id": "A"}], "tests": []}, None),
        ({"scenarios": ["A"], "prompts": []}, None),
        ({"agent": {}, "tests": []}, None),
        ({"suite": "mine", "cases": []}, None),
        ({"cases": 5}, None),
        ([{"id": "A"}], None),
        (["A"], None),
        ("prompts", None),
        (None, None),
    ],
)
def test_a_tool_is_recognized_by_its_keys_and_a_file_of_ours_is_ours(values, tool):
    assert tool_of_suite(values) == tool


def test_a_suite_of_ours_says_nothing_about_tools(tmp_path):
    (tmp_path / "suite.yaml").write_text(LIBRARY)
    assert suite.read(tmp_path / "suite.yaml").rewritten is None


def test_a_slip_in_a_suite_of_ours_is_a_slip(tmp_path):
    (tmp_path / "suite.yaml").write_text("suite: mine\ntests: [{id: A, input: a, answer: b}]\n")
    with pytest.raises(InputError, match="'tests'") as caught:
        suite.read(tmp_path / "suite.yaml")
    assert [problem.code for problem in caught.value.problems] == ["suite.no-scenario", "suite.unknown-key"]


# --- the same suite as a file of ours --------------------------------------------------------


def kept(path: Path, folder: Path) -> None:
    """The text that a run folder keeps is the same suite, whatever the file is called, and needs no other file."""
    read = suite.read(path)
    assert read.rewritten is not None
    for name in ("promptfooconfig.yaml", "suite.json"):
        again = suite.read(folder / "elsewhere" / name, data=read.rewritten.text)
        assert again.rewritten is None
        assert again.digest == read.digest
        assert again.name == read.name
        assert again.run == read.run
        assert [one.row for one in again.scenarios.values()] == [one.row for one in read.scenarios.values()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_suite_of_another_tool_is_kept_as_one_of_ours(path, tmp_path):
    kept(path, tmp_path)


@settings(max_examples=60)
@given(st.text(min_size=1).filter(str.strip), st.text(min_size=1))
def test_any_text_survives_being_kept(tmp_path_factory, asked, wanted):
    folder = tmp_path_factory.mktemp("any")
    case = {"name": "one", "inputs": asked, "expected_output": wanted, "metadata": {"a": wanted}}
    path = folder / "cases.json"
    path.write_text(json.dumps({"cases": [case], "evaluators": ["EqualsExpected"]}), "utf-8")
    kept(path, folder)


def test_odd_characters_survive_being_kept(tmp_path):
    odd = '\x7f\x85\x9f\u2028\u2029\ufeff\ufffe\uffff\t"\\/\U0001f600 # : - {}'
    case = {"name": "one", "inputs": odd, "expected_output": odd}
    (tmp_path / "cases.json").write_text(json.dumps({"cases": [case], "evaluators": ["EqualsExpected"]}))
    kept(tmp_path / "cases.json", tmp_path)


def test_a_skill_is_kept(tmp_path):
    (tmp_path / "evals.json").write_text(json.dumps(SKILL))
    kept(tmp_path / "evals.json", tmp_path)


# --- runs ------------------------------------------------------------------------------------


def project(folder: Path, expected: str = "HI", **keys: Any) -> Path:
    """A configuration with its tests in another file."""
    config = {"prompts": ["{{q}}"], "tests": "file://tests.csv", **keys}
    (folder / "promptfooconfig.yaml").write_text(json.dumps(config))
    (folder / "tests.csv").write_text(f"q,__description,__expected\nhi,A,contains: {expected}\nho,B,contains: HO\n")
    (folder / "agent.py").write_text(AGENT)
    (folder / "highbar.yaml").write_text(POLICY)
    return folder


def run_it(folder: Path, *arguments: str) -> Any:
    return run(folder, "run", "promptfooconfig.yaml", "--agent", "python:agent:answer", "--output", "out", *arguments)


@pytest.mark.process
def test_a_run_goes_on_without_the_files_and_notices_that_they_changed(tmp_path):
    folder = project(tmp_path)
    assert run_it(folder).exit == 0
    (folder / "tests.csv").write_text("q,__description,__expected\nhi,A,contains: other\nho,B,contains: HO\n")
    changed = run(folder, "run", "--resume", "out")
    assert changed.exit == 2
    assert changed.codes == ["run.suite-changed"]
    assert ": A\n" in changed.err
    stale = run(folder, "check", "out", "--format", "json")
    assert stale.exit == 2
    assert [problem["code"] for problem in stale.json["problems"]] == ["run.other-suite"]
    again = run(folder, "run", "--resume", "out", "--rerun-changed")
    assert again.exit == 1
    judged(run(folder, "check", "out", "--format", "json"), "fail")
    (folder / "tests.csv").unlink()
    (folder / "promptfooconfig.yaml").unlink()
    assert run(folder, "run", "--resume", "out", "--no-check").exit == 0


@pytest.mark.process
def test_answers_are_graded_by_the_tests_as_they_were_at_a_ref(tmp_path):
    folder = project(tmp_path, expected="something else")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(folder)]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "strict"]):
        subprocess.run([*git, *command], check=True)
    project(folder)  # the check that the agent does not meet is made weaker
    done = run_it(folder, "--against-ref", "HEAD", "--format", "json")
    assert done.exit == 1
    rows = [json.loads(line) for line in (folder / "out" / "results.jsonl").read_text().splitlines()]
    assert all(all(row["behaviors"].values()) for row in rows)


@pytest.mark.process
def test_must_nots_are_read_as_the_tool_reads_them(tmp_path):
    folder = project(tmp_path)
    config = {
        "prompts": ["{{q}}"],
        "tests": [{"vars": {"q": "a secret"}, "assert": [{"type": "not-contains", "value": "secret"}]}],
    }
    (folder / "promptfooconfig.yaml").write_text(json.dumps(config))
    assert run_it(folder).exit == 0
    (row,) = [json.loads(line) for line in (folder / "out" / "results.jsonl").read_text().splitlines()]
    assert (row["output"], row["must_not"], row["violations"]) == ("A SECRET", ["contains: secret"], [])


def test_without_an_agent_nothing_is_run(tmp_path):
    done = run(project(tmp_path), "run", "promptfooconfig.yaml")
    assert done.exit == 2
    assert done.codes == ["agent.missing"]
    assert "--agent python:module:function" in done.err


# --- whatever a file has in it ---------------------------------------------------------------

JUNK: list[Any] = [
    None, True, 0, -1, 1.5, 10**30, "", " ", "{{q}}", "{% x %}", "file://x.txt", "file://*.csv", "a: [", "\ud800",
    "\u0000", [], [[]], [None], ["a", 1], {}, {"a": None}, {"type": []}, {"type": "assert-set", "assert": {}},
    {"Contains": []},
]  # fmt: skip
WHOLE: list[Any] = [
    {
        "description": "d",
        "prompts": ["{{q}}", {"raw": "x {{q}}", "label": "l"}],
        "providers": [{"id": "a"}],
        "defaultTest": {"vars": {"q": "a"}, "assert": [{"type": "contains", "value": "a"}], "options": {"prefix": "p"}},
        "evaluateOptions": {"repeat": 2},
        "tests": [
            {
                "description": "t",
                "vars": {"q": ["a", "b"], "n": 1.5},
                "metadata": {"category": "edge_case", "a": 1},
                "threshold": 0.5,
                "prompts": ["l"],
                "assert": [
                    {"type": "contains-any", "value": ["a", "b"], "weight": 2},
                    {"type": "is-json", "value": {"type": "object", "properties": {"a": {"type": "string"}}}},
                    {"type": "regex", "value": "a+", "metric": "m"},
                    {"type": "word-count", "value": {"min": 1}},
                ],
            },
            {"assert": [{"type": "assert-set", "threshold": 0.5, "assert": [{"type": "latency", "threshold": 5}]}]},
        ],
    },
    {
        "name": "n",
        "cases": [
            {"name": "a", "inputs": {"a": 1}, "expected_output": [1], "metadata": {"b": 1}, "evaluators": ["Equals"]}
        ],
        "evaluators": [{"Contains": {"value": "a"}}, {"name": "Equals", "arguments": {"value": 1}}, {"MaxDuration": 5}],
    },
    SKILL,
]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, inner in inside for found in places(inner, (*path, key)))]


def replaced(value: Any, path: tuple[Any, ...], junk: Any) -> Any:
    if not path:
        return junk
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], junk)
    return copy


@settings(max_examples=100)
@given(st.data())
def test_junk_anywhere_is_a_problem_and_never_a_crash(tmp_path_factory, data):
    whole = data.draw(st.sampled_from(WHOLE))
    changed = replaced(whole, data.draw(st.sampled_from(places(whole))), data.draw(st.sampled_from(JUNK)))
    path = tmp_path_factory.mktemp("junk") / "suite.json"
    path.write_text(json.dumps(changed), "utf-8")
    for read in (suite.read, suite.read_fixed):
        try:
            read(path)
        except InputError as error:
            assert all(problem.file == str(path) for problem in error.problems)  # noqa: PT017  # it may be fine, too
