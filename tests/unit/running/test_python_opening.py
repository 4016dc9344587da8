"""An agent in Python is found beside its suite file and called as it wants, or refused before the first call."""

from __future__ import annotations

import asyncio

import pytest

from highbar.errors import InputError
from highbar.running.agents.python import PythonAgent
from highbar.suite.parts import Agent
from tests.unit.running.python_agents import answers, asked, is_running, output, python_agent

pytestmark = pytest.mark.process


def refusal(agent: PythonAgent):
    with pytest.raises(InputError) as caught:
        asyncio.run(agent.__aenter__())
    return caught.value.problems[0]


# --- found -----------------------------------------------------------------------------------


def test_a_module_beside_the_suite_file_is_found_and_never_one_in_the_working_folder(tmp_path, monkeypatch):
    beside, working = tmp_path / "suite", tmp_path / "working"
    beside.mkdir()
    working.mkdir()
    (working / "agent.py").write_text("def answer(input): return 'working'")
    (working / "elsewhere.py").write_text("def answer(input): return 'working'")
    monkeypatch.chdir(working)
    monkeypatch.setenv("PYTHONPATH", ":")  # an empty part means the working folder
    agent = python_agent(beside, "def answer(input): return 'beside'")
    assert output(answers(agent, "?")[0]) == "beside"
    problem = refusal(PythonAgent(Agent("python", "elsewhere:answer"), beside))
    assert problem.message == "there is no module elsewhere, wanted elsewhere:answer"
    assert str(beside) in problem.hint


def test_a_module_that_is_installed_is_found_as_well(tmp_path):
    agent = PythonAgent(Agent("python", "textwrap:dedent"), tmp_path)
    assert output(answers(agent, "  so")[0]) == "so"


def test_a_relative_folder_is_the_one_that_it_was_when_the_agent_was_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "suite").mkdir()
    agent = python_agent(tmp_path.joinpath("suite").relative_to(tmp_path), "def answer(input): return input")
    monkeypatch.chdir("/")
    assert output(answers(agent, "?")[0]) == "?"


# --- called ----------------------------------------------------------------------------------

SHAPES = """
import asyncio, functools

class Thing:
    def answer(self, input): return "method " + input
    async def later(self, input): return "async method " + input

class Called:
    def __call__(self, input): return "object " + input

class CalledLater:
    async def __call__(self, input): return "async object " + input

thing, called, called_later = Thing(), Called(), CalledLater()
def function(input): return "function " + input
async def later(input):
    await asyncio.sleep(0)
    return "async function " + input
def two(prefix, input): return prefix + input
partial = functools.partial(two, "partial ")
def optional(input, temperature=0, *more, **others): return "optional " + input
"""


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("function", "function x"),
        ("later", "async function x"),
        ("thing.answer", "method x"),
        ("thing.later", "async method x"),
        ("called", "object x"),
        ("called_later", "async object x"),
        ("partial", "partial x"),
        ("optional", "optional x"),
    ],
)
def test_whatever_can_be_called_with_one_argument_is_an_agent(tmp_path, name, wanted):
    agent = python_agent(tmp_path, SHAPES, f"shapes:{name}")
    assert output(answers(agent, "x")[0]) == wanted
    assert agent.most == (64 if "async" in wanted else 32)


@pytest.mark.parametrize("begin", ["def answer(input, scenario)", "async def answer(input, *, scenario)"])
def test_a_parameter_named_scenario_gets_the_whole_scenario(tmp_path, begin):
    agent = python_agent(tmp_path, f"{begin}: return scenario['id'] + input + str(scenario['number'])")
    scenario = {"id": "HOURS-1", "number": 2**70}
    assert output(answers(agent, asked("?", scenario=scenario))[0]) == f"HOURS-1?{2**70}"


def test_a_conversation_is_given_as_a_list_of_messages(tmp_path):
    agent = python_agent(tmp_path, "import json\ndef answer(input): return json.dumps(input)")
    messages = ({"role": "user", "content": "a"}, {"role": "assistant", "content": "\ud800"})
    (attempt,) = answers(agent, asked("a", text=None, messages=messages))
    assert output(attempt) == r'[{"role": "user", "content": "a"}, {"role": "assistant", "content": "\ud800"}]'


# --- refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "message", "hint", "line"),
    [
        ("import absent_library", "ModuleNotFoundError: No module named 'absent_library'", "install what it needs", 1),
        ("x = 1\ndef answer(input:\n", "agent cannot be imported: SyntaxError: '(' was never closed", None, 2),
        ("\n\n1 / 0", "agent cannot be imported: ZeroDivisionError: division by zero", None, 3),
        ("import sys\nsys.exit('no key')", "agent cannot be imported: SystemExit: no key", None, 2),
        ("raise KeyboardInterrupt", "agent cannot be imported: KeyboardInterrupt", None, 1),
        ("import os\nos._exit(0)", "agent:answer cannot be loaded: the process ended: exit code 0", None, None),
        ("def anwser(input): ...", "there is no answer in agent, wanted agent:answer", "did you mean anwser?", None),
        ("def other(input): ...", "there is no answer in agent, wanted agent:answer", "it has other", None),
        ("answer = 'text'", "agent:answer is a str, wanted a function", None, None),
        ("class answer: ...", "agent:answer is a class, wanted a function", "an object with __call__", None),
        ("\ndef answer(): ...", "agent:answer takes (), wanted one parameter", "named `scenario`", 2),
        ("def answer(a, b): ...", "agent:answer takes (a, b), wanted one parameter", "named `scenario`", 1),
        ("def answer(a, scenario, c): ...", "agent:answer takes (a, scenario, c)", "named `scenario`", 1),
        ("async def answer(*, input): ...", "agent:answer takes (*, input)", "named `scenario`", 1),
    ],
)
def test_a_function_that_cannot_be_called_is_refused_before_the_first_call(tmp_path, code, message, hint, line):
    problem = refusal(python_agent(tmp_path, code))
    assert problem.code == "agent.not-loaded"
    assert message in problem.message
    assert "frozen" not in problem.message
    assert problem.line == line
    assert problem.file == (None if line is None and "there is no" not in message else str(tmp_path / "agent.py"))
    assert (problem.hint is None) if hint is None else (hint in problem.hint)


def test_a_file_with_the_name_of_a_module_that_is_loaded_is_refused(tmp_path):
    problem = refusal(python_agent(tmp_path, "def answer(input): return input", "json:answer"))
    assert problem.code == "agent.not-loaded"
    assert problem.message.startswith("json ")
    assert problem.hint == f"rename {tmp_path / 'json.py'}"


@pytest.mark.parametrize("begin", ["def", "async def"])
def test_files_beside_the_suite_with_names_of_the_standard_library_are_no_concern_of_ours(tmp_path, begin):
    for name in ("queue", "threading", "contextvars", "traceback", "selectors", "ssl", "logging"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('not this one')", "utf-8")
    (attempt,) = answers(python_agent(tmp_path, f"{begin} answer(input): return input"), "a")
    assert output(attempt) == "a"


def test_a_refused_agent_leaves_no_process_behind(tmp_path):
    code = "import os, subprocess\nopen('started', 'w').write(str(os.getpid()))\n1 / 0"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        refusal(python_agent(tmp_path, code))
    process = int((tmp_path / "started").read_text())
    assert not is_running(process)
