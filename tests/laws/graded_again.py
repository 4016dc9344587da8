"""Grading again by the same suite changes nothing: a run, and then `highbar grade` of a copy of its rows.

`attempt` makes a suite and what its agent will say from a seed: text, tool calls, messages of its own, state, crashes,
errors, empty replies and answers that never come, in one turn or several. No decided column of the copy may differ, no
violation may be gone, and what was undecided stays so.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from tests import faulty_server as faulty
from tests.commandline import run
from tests.faulty_server import serving

DECIDED = ("behaviors", "violations", "correct", "predicted", "error")
TEXTS = ("fine", "the secret", '{"a": "secret"}', '{"a": 5}', "refund", "other", "SECRET 42", "It is 42.", "\u200b", "")
CHECKS: tuple[Any, ...] = (
    {"contains": "secret"},
    {"contains_all": ["secret", "42"]},
    {"matches": "s.cret"},
    {"number": 42},
    {"json": {"/a": "secret"}},
    {"is_json": True},
    {"words": {"at_most": 1}},
    {"calls": "pay"},
    {"calls": "pay", "arguments": {"to": "secret"}},
    {"calls_only": ["search"]},
    {"calls_in_order": ["search", "pay"]},
    {"contains": "secret", "reply": 1},
    {"contains": "secret", "reply": "any"},
    {"latency_ms": 100_000},
    {"tokens_used": 50},
    {"cost_usd": 0.5},
    {"not": {"contains": "fine"}},
    {"any": [{"calls": "pay"}, {"contains": "secret"}]},
)
OF_THE_STATE: tuple[Any, ...] = (
    {"state": {"/cart": "secret"}},
    {"context": {"/source": {"contains": "secret"}}},
    {"python": "agent:says_secret"},
    {"python": "agent:knows_the_state"},
)
"""What only agents in Python report here, and functions beside them."""
AGENT = """\
import json, pathlib
SAID = json.loads((pathlib.Path(__file__).parent / "said.json").read_text("utf-8"))

def answer(asked, scenario):
    turn = sum(one["role"] == "user" for one in asked) if "turns" in scenario else 1
    said = SAID[scenario["id"]][turn - 1]
    if said == "crash":
        raise RuntimeError("crashed")
    return said

def says_secret(answer):
    return "secret" in json.dumps([answer["replies"], answer["tool_calls"], answer["output"]])

def knows_the_state(answer):
    return answer["state"]["cart"] == "secret"
"""
FAILURES: dict[str, Callable[[], faulty.Step]] = {
    "crash": lambda: faulty.status(500, text="the secret"),
    "reset": faulty.resets_before_the_first_byte,
    "garbage": lambda: faulty.sends(b'{"oops": "the secret"}'),
}


def attempt(seed: int, folder: Path) -> str:
    """One suite, run and graded again. Raises AssertionError if a row differs."""
    chance = Random(seed)
    of_python = chance.random() < 0.5
    checks = [*CHECKS, *OF_THE_STATE] if of_python else CHECKS
    suite = [_scenario(chance, number, checks) for number in range(12)]
    for one in suite if of_python else ():
        if chance.random() < 0.3:
            one["must_not"] = ["reported"]
    reply = _reply_of_python if of_python else _reply_over_http
    said = {one["id"]: [reply(chance) for _ in one.get("turns", [1])] for one in suite}
    if of_python:
        (folder / "agent.py").write_text(AGENT, "utf-8")
        (folder / "said.json").write_text(json.dumps(said), "utf-8")
        _run(folder, {"python": "agent:answer", "reports_behaviors": True}, suite)
    else:
        with serving(lambda _, body: _step(said, body["messages"])) as server:
            _run(folder, {"http": server.address, "format": "openai"}, suite)
    before = _rows(folder / "out" / "results.jsonl")
    (folder / "copy.jsonl").write_bytes((folder / "out" / "results.jsonl").read_bytes())
    for source in ("copy.jsonl", "out"):
        done = run(folder, "grade", source, "--suite", "suite.json", "-o", "again.jsonl")
        assert done.exit == 0, done.err
        _compare(before, _rows(folder / "again.jsonl"), f"seed {seed}, {source}")
        (folder / "again.jsonl").unlink()
    return "Python" if of_python else "HTTP"


def _run(folder: Path, agent: dict[str, Any], suite: list[dict[str, Any]]) -> None:
    whole = {"agent": agent, "run": {"retries": 0}, "scenarios": suite}
    (folder / "suite.json").write_text(json.dumps(whole), "utf-8")
    done = run(folder, "run", "suite.json", "--output", "out", "--no-check")
    assert (folder / "out" / "results.jsonl").exists(), done.err


def _rows(path: Path) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in map(json.loads, path.read_bytes().splitlines())}


def _compare(before: dict[str, Any], after: dict[str, Any], what: str) -> None:
    assert before.keys() == after.keys()
    for id_, row in before.items():
        again = after[id_]
        differ = [name for name in DECIDED if row.get(name) != again.get(name)]
        differ += ["unjudged"] if ("unjudged" in row) != ("unjudged" in again) else []
        assert not differ, f"{what}: {differ} of {id_}:\n{json.dumps(row)}\n{json.dumps(again)}"


# --- what is asked and said --------------------------------------------------------------------


def _scenario(chance: Random, number: int, checks: tuple[Any, ...] | list[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"id": f"S{number}"}
    turns = chance.choice([0, 1, 2, 3, 3])
    if turns:
        found["turns"] = [f"S{number} turn {turn + 1}" for turn in range(turns)]
    elif chance.random() < 0.3:
        earlier = {"role": "assistant", "content": "What is it?", "tool_calls": [_call(chance)]}
        found["messages"] = [{"role": "user", "content": "Hi"}, earlier, {"role": "user", "content": f"S{number} go"}]
        if chance.random() < 0.5:
            del earlier["tool_calls"]
    else:
        found["input"] = f"S{number} asks"
    found["must_not"] = {f"bad{place}": chance.choice(checks) for place in range(chance.randint(1, 3))}
    if chance.random() < 0.4:
        found["expected_behaviors"] = {"good": chance.choice(checks)}
    if chance.random() < 0.3:
        found["answer"] = chance.choice(checks)
    elif chance.random() < 0.3:
        found["expected"] = chance.choice(["refund", "other"])
    return found


def _call(chance: Random) -> dict[str, Any]:
    return {"name": chance.choice(["pay", "search"]), "arguments": {"to": chance.choice(["secret", "Ann"])}}


def _reply_of_python(chance: Random) -> Any:
    kind = chance.random()
    if kind < 0.2:
        return "crash"
    if kind < 0.4:
        return chance.choice(TEXTS)
    found: dict[str, Any] = {"output": chance.choice(TEXTS)}
    if chance.random() < 0.3:
        found["tool_calls"] = [_call(chance) for _ in range(chance.randint(1, 2))]
    if chance.random() < 0.3:
        found["messages"] = [_own_message(chance)]
    if chance.random() < 0.2:
        found["error"] = "it broke"
    if chance.random() < 0.4:
        cart = {"cart": chance.choice(["secret", "x"]), **chance.choice([{}, {"Cart": "other"}])}
        found |= {"state": cart, "context": {"source": chance.choice(["secret"])}}
    if chance.random() < 0.4:
        found["behaviors"] = {"reported": chance.random() < 0.5, "thinks": True}
    if chance.random() < 0.4:
        found |= {"tokens_used": chance.randint(1, 100), "cost_usd": chance.choice([0.1, 0.7])}
    return found


def _own_message(chance: Random) -> dict[str, Any]:
    found = {"role": "assistant", "content": chance.choice(TEXTS)}
    return {**found, "tool_calls": [_call(chance)]} if chance.random() < 0.5 else found


def _reply_over_http(chance: Random) -> Any:
    if chance.random() < 0.35:
        return chance.choice(list(FAILURES))
    calls = [_call(chance)] if chance.random() < 0.3 else []
    return {"text": chance.choice(TEXTS), "calls": calls}


def _step(said: dict[str, Any], messages: list[dict[str, Any]]) -> faulty.Step:
    asked = [one["content"] for one in messages if one["role"] == "user"]
    id_, turn = asked[-1].split()[0], len(asked) if "turn" in asked[-1] else 1
    reply = said[id_][turn - 1]
    if isinstance(reply, str):
        return FAILURES[reply]()
    calls = [(one["name"], json.dumps(one["arguments"])) for one in reply["calls"]]
    return faulty.answers(faulty.openai(reply["text"], *calls, tokens=7))
