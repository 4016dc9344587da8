"""What a function returns or raises becomes an answer or an error, and never anything worse."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.patience import wait_for
from tests.unit.running.python_agents import answers, asked, called, output, python_agent

pytestmark = pytest.mark.process

VALUES = """
import asyncio, collections, dataclasses, datetime, decimal, enum, sys, types

class Text(str):
    def __str__(self): raise RuntimeError
    def encode(self, *_): return b"forged"
    def __getitem__(self, _): return "forged"

class Number(int):
    def __int__(self): return 666

class Liar:
    __class__ = str

class Pairs(dict):
    def items(self): return [("output", "forged")]

class Named(type):
    __name__ = property(lambda self: 1 / 0)

class Odd(metaclass=Named): pass

@dataclasses.dataclass
class Reply:
    output: str

class Unprintable(Exception):
    def __str__(self): raise SystemExit(0)

class TextualError(Exception):
    def __str__(self): return Text("quoted")

def deep(levels):
    value = []
    for _ in range(levels): value = [value]
    return value

def endless():
    value = []
    value.append(value)
    return value

def generator(): yield "a"

def thrown(error): raise error

values = {
    "text": lambda: "so",
    "mapping": lambda: {"output": "so", "tokens_used": 3, "state": {"a": [1, None, True, 1.5, (2,)]}},
    "str subclass": lambda: Text("so"),
    "dict subclass": lambda: Pairs(output="so"),
    "ordered": lambda: collections.OrderedDict(output="so", tokens_used=Number(3)),
    "none": lambda: None,
    "empty": lambda: "",
    "blank": lambda: {"output": "  "},
    "own error": lambda: {"output": "partial", "error": "no such book"},
    "bytes": lambda: b"so",
    "number": lambda: 7,
    "nan": lambda: {"output": "x", "state": {"a": float("nan")}},
    "large number": lambda: {"output": "x", "state": 2**70},
    "huge number": lambda: {"output": "x", "state": 10**5000},
    "deep": lambda: {"output": "x", "state": deep(5000)},
    "rather deep": lambda: {"output": "x", "state": deep(90)},
    "endless": lambda: {"output": "x", "state": endless()},
    "surrogate": lambda: "a\\ud800b",
    "surrogate inside": lambda: {"output": "x", "state": {"\\udfff": "\\ud800"}},
    "generator": generator,
    "dataclass": lambda: Reply("so"),
    "date": lambda: {"output": "x", "context": datetime.date(2026, 1, 1)},
    "set": lambda: {"output": "x", "state": {1}},
    "key": lambda: {"output": "x", 1: 2},
    "liar": lambda: Liar(),
    "odd class": lambda: Odd(),
    "proxy": lambda: types.MappingProxyType({"output": "so"}),
    "leak": lambda: {"output": "SECRET", "state": b""},
    "unknown key": lambda: {"output": "SECRET", "reply": "x"},
    "raises": lambda: thrown(ValueError("no such book")),
    "raises nothing": lambda: thrown(KeyError()),
    "exits": lambda: sys.exit(0),
    "interrupts": lambda: thrown(KeyboardInterrupt()),
    "cancels": lambda: thrown(asyncio.CancelledError()),
    "stops": lambda: thrown(GeneratorExit()),
    "unprintable": lambda: thrown(Unprintable()),
    "textual": lambda: thrown(TextualError()),
    "long": lambda: thrown(ValueError("x" * 10**6)),
    "bad text": lambda: thrown(ValueError("a\\ud800b")),
    "recursion": lambda: deep_call(),
    "memory": lambda: "x" * (2**60),
    "large": lambda: "x" * (17 * 2**20),
    "large mapping": lambda: {"output": "x", "state": ["x" * 2**20] * 17},
    "just fits": lambda: "x" * (16 * 2**20),
}

def deep_call(): return deep_call()
def answer(input): return values[input]()
async def later(input):
    await asyncio.sleep(0)
    return values[input]()
"""
GOOD = {
    "text": "so",
    "mapping": "so",
    "str subclass": "so",
    "dict subclass": "so",
    "ordered": "so",
    "large number": "x",
    "just fits": "x" * 16 * 2**20,
}
BAD = {
    "none": "malformed reply: found nothing",
    "empty": "empty reply",
    "blank": "empty reply",
    "own error": "no such book",
    "bytes": "malformed reply: found a bytes,",
    "number": "malformed reply: found 7",
    "nan": "malformed reply: state: nan ",
    "huge number": "malformed reply: a number ",
    "deep": "malformed reply: it is nested ",
    "rather deep": "malformed reply: state: it is nested ",
    "endless": "malformed reply: it is nested ",
    "surrogate": "malformed reply: output: the text ",
    "surrogate inside": "malformed reply: state: the text ",
    "generator": "malformed reply: found a generator",
    "dataclass": "malformed reply: found a Reply",
    "date": "malformed reply: found a date",
    "set": "malformed reply: found a set",
    "key": "malformed reply: found a int as a key",
    "liar": "malformed reply: found a Liar",
    "odd class": "malformed reply: found a Odd",
    "proxy": "malformed reply: found a mappingproxy",
    "leak": "malformed reply: found a bytes",
    "unknown key": "malformed reply: unknown key",
    "raises": "ValueError: no such book",
    "raises nothing": "KeyError",
    "exits": "SystemExit: 0",
    "interrupts": "KeyboardInterrupt",
    "cancels": "CancelledError",
    "stops": "GeneratorExit",
    "unprintable": "Unprintable: its message cannot be shown",
    "textual": "TextualError: quoted",
    "long": "ValueError: " + "x" * 450,
    "bad text": "ValueError: a\N{REPLACEMENT CHARACTER}",
    "recursion": "RecursionError: maximum recursion depth exceeded",
    "memory": "MemoryError",
    "large": "the reply is larger than 16 MiB (max_reply)",
    "large mapping": "the reply is larger than 16 MiB (max_reply)",
}


@pytest.mark.parametrize("function", ["answer", "later"])
def test_every_value_and_every_exception_becomes_an_answer_or_an_error_in_words(tmp_path, function):
    agent = python_agent(tmp_path, VALUES, f"agent:{function}")
    calls = [*GOOD, *BAD]
    attempts = dict(zip(calls, answers(agent, *calls), strict=True))
    assert {name: output(attempts[name]) for name in GOOD} == GOOD
    for name, reason in BAD.items():
        assert attempts[name].outcome == "error", name
        assert attempts[name].reason.startswith(reason), (name, attempts[name].reason)
        assert len(attempts[name].reason) <= 500
        attempts[name].reason.encode()
        assert attempts[name].latency_ms >= 0
    for name, levels in (("deep", 100), ("rather deep", 64), ("endless", 100)):
        assert f" {levels} " in attempts[name].reason, name
    assert attempts["mapping"].reply.tokens_used == 3
    assert attempts["mapping"].reply.state == {"a": [1, None, True, 1.5, [2]]}
    assert attempts["ordered"].reply.tokens_used == 3
    assert attempts["large number"].reply.state == 2**70


@pytest.mark.parametrize("function", ["answer", "later"])
def test_an_error_still_has_what_was_received(tmp_path, function):
    agent = python_agent(tmp_path, VALUES, f"agent:{function}")
    for attempt, wanted in zip(
        answers(agent, "leak", "unknown key", "own error"), ("SECRET", "SECRET", "partial"), strict=True
    ):
        assert attempt.outcome == "error"
        assert attempt.reply.output == wanted


def test_the_largest_reply_is_what_the_suite_says(tmp_path):
    agent = python_agent(tmp_path, "def answer(input): return input", max_reply=1000)
    fits, large = answers(agent, "x" * 1000, "x" * 1001)
    assert output(fits) == "x" * 1000
    assert large.reason == "the reply is larger than 1000 bytes (max_reply)"


# --- how many at once, and how long ----------------------------------------------------------

COUNTING = """
import asyncio, time
running = set()

def answer(input):
    me = object()
    running.add(me)
    many = len(running)
    time.sleep(0.02)
    running.discard(me)
    return str(many)

async def later(input):
    me = object()
    running.add(me)
    many = len(running)
    await asyncio.sleep(0.02)
    running.discard(me)
    return str(many)
"""


@pytest.mark.parametrize("function", ["answer", "later"])
def test_no_more_calls_run_at_once_than_are_allowed_and_their_times_have_no_queue_in_them(tmp_path, function):
    agent = python_agent(tmp_path, COUNTING, f"agent:{function}")

    async def run():
        async with agent:
            for at_once in (3, 10, 1):
                agent.allow(at_once)
                start = time.monotonic()
                attempts = await called(agent, *["?"] * 30)
                took = (time.monotonic() - start) * 1000
                assert max(int(output(attempt)) for attempt in attempts) <= at_once
                times = [attempt.latency_ms for attempt in attempts]
                assert min(times) >= 19
                assert sum(times) <= took * at_once  # calls that wait for their turn would add up to more

    asyncio.run(run())


@pytest.mark.parametrize(
    ("function", "wait"), [("def answer", "time.sleep(0.01)"), ("async def answer", "await asyncio.sleep(0.01)")]
)
def test_as_many_calls_run_at_once_as_are_allowed(tmp_path, function, wait):
    code = f"""
import asyncio, time
begun = 0
{function}(input):
    global begun
    begun += 1
    while begun < 20: {wait}
    return "done"
"""
    assert {output(attempt) for attempt in answers(python_agent(tmp_path, code), *["?"] * 20, at_once=20)} == {"done"}


@pytest.mark.parametrize(
    ("function", "wait"), [("def answer", "time.sleep(0.01)"), ("async def answer", "await asyncio.sleep(0.01)")]
)
def test_the_timeout_of_a_call_counts_from_when_it_runs(tmp_path, function, wait):
    code = f"""
import asyncio, os, time
{function}(input):
    while input == "long" and not os.path.exists({str(tmp_path / "go")!r}): {wait}
    return "done"
"""

    async def run():
        async with python_agent(tmp_path, code) as agent:
            agent.allow(1)
            both = asyncio.gather(*(agent.call(call) for call in (asked("long"), asked("short", timeout=3.0))))
            await asyncio.sleep(3.5)  # longer than the second call may take, while it waits for its turn
            (tmp_path / "go").touch()
            return await both

    assert [output(attempt) for attempt in asyncio.run(run())] == ["done", "done"]


def test_what_one_call_sets_in_its_context_no_other_call_sees(tmp_path):
    code = """
import contextvars
seen = contextvars.ContextVar("seen", default="nothing")
seen.set("import")
def answer(input):
    before = seen.get()
    seen.set(input)
    return before
async def later(input): return answer(input)
"""
    for function in ("answer", "later"):
        agent = python_agent(tmp_path, code, f"agent:{function}")
        assert {output(attempt) for attempt in answers(agent, *"abcdef", at_once=2)} == {"import"}


def test_the_delay_of_the_agents_loop_is_measured(tmp_path):
    code = """
import asyncio, time
async def answer(input):
    await asyncio.sleep(0.1)
    time.sleep(0.4)
    await asyncio.sleep(0.1)
    return "done"
"""
    agent = python_agent(tmp_path, code)
    answers(agent, "?")
    assert agent.loop_delays.percentile(1) >= 300
    assert agent.loop_delays.percentile(0.6) >= 50  # every look that was missed was late, and not just one


def test_many_large_replies_and_questions_pass_each_other(tmp_path):
    agent = python_agent(tmp_path, "def answer(input): return input")
    texts = [f"{number}" * 2**20 for number in range(40)]
    assert [output(attempt) for attempt in answers(agent, *texts)] == texts


def test_what_the_agent_does_at_the_end_of_its_process_is_done(tmp_path):
    code = f"""
import atexit, pathlib
atexit.register(lambda: pathlib.Path({str(tmp_path / "farewell")!r}).touch())
def answer(input): return "done"
"""
    answers(python_agent(tmp_path, code), "?")
    wait_for((tmp_path / "farewell").exists, "the function of atexit did not run")
