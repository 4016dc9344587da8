"""Functions of checks run in a process of their own: whatever they do, a check is true, false or unclear."""

from __future__ import annotations

import pytest

from highbar.checks import apply
from highbar.checks.tree import Function
from highbar.errors import InputError
from highbar.model.answer import Answer, ToolCall
from highbar.running import functions as module
from highbar.running.functions import CheckFunctions
from tests.unit.running.python_agents import is_running

pytestmark = pytest.mark.process

CODE = """
import ctypes, os, sys, time

def polite(answer): return "please" in answer["output"]
def detailed(answer): return {"observed": True, "found": answer["tool_calls"]}
def same(answer): return {"observed": True, "found": [answer["latency_ms"], answer["cost_usd"], answer["output"]]}
def process(answer): return {"observed": True, "found": os.getpid()}
def raises(answer): raise ValueError("no such key")
def exits(answer): sys.exit(0)
def ends(answer): os._exit(0)
def crashes(answer): ctypes.string_at(0)
def hangs(answer): time.sleep(10**6)
def prints(answer):
    print("true")
    return True
def reads(answer): return not sys.stdin.read()
def odd(answer): return {1, 2}
def text(answer): return "true"
def large(answer): return "x" * (17 * 2**20)
def leaves(answer):
    if os.fork() == 0: time.sleep(10**6)
    return True
async def later(answer): return True
def two(answer, more): return True
number = 7
"""


@pytest.fixture
def functions(tmp_path):
    (tmp_path / "own.py").write_text(CODE)
    with CheckFunctions(tmp_path, limit=600) as functions:
        yield functions


def found(functions, name, answer=None):
    return apply(Function(f"own:{name}"), answer or Answer(replies=("please",)), functions=functions)


def test_a_function_says_true_or_false_and_what_it_found(functions):
    assert found(functions, "polite").observed is True
    assert found(functions, "polite", Answer(replies=("no",))).observed is False
    answer = Answer(replies=("so",), tool_calls=((ToolCall("search", {"topic": "whales"}),),))
    assert found(functions, "detailed", answer).found == [{"name": "search", "arguments": {"topic": "whales"}}]
    measured = Answer(replies=("a\ud800\N{SNOWMAN}",), measured={"latency_ms": 1.5, "cost_usd": 2**70})
    assert found(functions, "same", measured).found == [1.5, 2**70, "a\ud800\N{SNOWMAN}"]


def test_a_function_that_gives_no_answer_makes_the_check_unclear_and_the_next_one_works(functions):
    reasons = {
        "raises": "own:raises raised ValueError: no such key",
        "exits": "own:exits raised SystemExit: 0",
        "ends": "own:ends ended its process: exit code 0",
        "crashes": "own:crashes ended its process: killed by SIGSEGV",
        "odd": "own:odd returned something else than plain values: found a set",
        "text": "own:text returned a str",
        "large": "own:large returned more than 16 MiB",
        "absent": "own:absent cannot be used: there is no absent in own",
    }
    for name, reason in reasons.items():
        finding = found(functions, name)
        assert finding.observed is None, name
        assert finding.reason.startswith(reason)
        assert found(functions, "polite").observed is True


def test_a_function_that_takes_too_long_is_ended(tmp_path):
    (tmp_path / "own.py").write_text(CODE)
    with CheckFunctions(tmp_path, limit=2) as functions:
        finding = found(functions, "hangs")
        assert finding.observed is None
        assert finding.reason == "own:hangs took longer than 2 s"
    with CheckFunctions(tmp_path) as functions:
        assert found(functions, "polite").observed is True


def test_what_a_function_prints_and_reads_disturbs_nothing(functions, capfd):
    assert found(functions, "prints").observed is True
    assert found(functions, "reads").observed is True
    assert capfd.readouterr() == ("", "true\n")


def test_one_process_serves_all_calls_and_is_gone_at_the_end_with_everything_that_it_started(tmp_path):
    (tmp_path / "own.py").write_text(CODE)
    with CheckFunctions(tmp_path) as functions:
        found(functions, "leaves")
        processes = {found(functions, "process").found for _ in range(20)}
        assert len(processes) == 1
    assert not is_running(processes.pop())


def test_every_function_that_cannot_be_used_is_refused_at_once(functions, tmp_path):
    (tmp_path / "broken.py").write_text("\n1 / 0")
    (tmp_path / "deadly.py").write_text("import os\nos._exit(0)")
    functions.refuse_missing(["own:polite", "own:raises", "textwrap:dedent"])
    names = ["own:polit", "own:polite", "absent:f", "broken:f", "deadly:f", "own:later", "own:two", "own:number"]
    with pytest.raises(InputError) as caught:
        functions.refuse_missing([*names, "own:polit"])
    named = [
        "own:polit",
        "absent:f",
        "ZeroDivisionError: division by zero (broken.py:2)",
        "deadly:f",
        "own:later is async",
        "own:two takes (answer, more)",
        "own:number is a int",
    ]
    for problem, text in zip(caught.value.problems, named, strict=True):
        assert problem.code == "check.not-loaded"
        assert text in problem.message
    assert caught.value.problems[3].message.endswith(": exit code 0")
    assert caught.value.problems[0].hint == "did you mean polite?"
    assert (caught.value.problems[2].file, caught.value.problems[2].line) == (str(tmp_path / "broken.py"), 2)


def test_a_function_in_the_working_folder_is_not_found(tmp_path, monkeypatch):
    suite, working = tmp_path / "suite", tmp_path / "working"
    suite.mkdir()
    working.mkdir()
    (working / "own.py").write_text(CODE)
    monkeypatch.chdir(working)
    with CheckFunctions(suite) as functions, pytest.raises(InputError, match="there is no module own"):
        functions.refuse_missing(["own:polite"])


def test_functions_that_are_never_called_start_no_process(tmp_path):
    with CheckFunctions(tmp_path) as functions:
        functions("own:polite")
        assert functions._process is None


def test_an_exception_while_we_wait_leaves_no_answer_for_the_next_call(functions, monkeypatch):
    assert found(functions, "polite").observed is True

    wait = module._wait_for

    def interrupted(*arguments, writing):
        if not writing:  # the request is on its way
            raise KeyboardInterrupt
        return wait(*arguments, writing=writing)

    with monkeypatch.context() as patch:
        patch.setattr(module, "_wait_for", interrupted)
        with pytest.raises(KeyboardInterrupt):
            functions("own:polite")({"output": "please"})
    assert found(functions, "polite", Answer(replies=("no",))).observed is False
