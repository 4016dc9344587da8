"""One answer in every wire form is graded alike, and no text of a reply is unread.

`attempt` makes random answers, random checks, and gives each answer in every form: a Python function (arguments as a
mapping or as JSON text), a command, three HTTP formats, and messages that the agent added in the forms of several
interfaces. All rows about one answer must decide the same, and so must the rows graded again.

`attempt_unread` takes replies as servers send them and puts a word into any one place below a message or a choice, but
for metadata and names of tools: the must-not is violated or the reply is malformed, also if the rows are graded again.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from highbar.checks.messages import METADATA
from tests import faulty_server as faulty
from tests.commandline import run
from tests.faulty_server import serving
from tests.runs.projects import Project

ANSWERS = 6
"""Answers of one attempt. Each is given in all forms, as scenarios of one suite for each kind of agent."""
DECIDED = ("correct", "behaviors", "violations", "output", "tool_calls")
"""Columns that a wire form must not change; of `error` and `unjudged`, whether there is one."""
Call = tuple[str, Any]
Turn = tuple[str | None, list[Call]]
"""One reply: its text, and its calls."""

# --- answers and checks ------------------------------------------------------------------------------

WORDS = (
    "we",
    "open",
    "at",
    "10",
    "am",
    "Saturday",
    "7.50",
    "O'Neil",
    "é",
    "«yes»",
    "a/b",
    "1,000",
    "no\nway",
    "\u200bx",
)
TOOLS = ("search", "read", "delete", "pay")


def answer(random: Random) -> list[Turn]:
    """The replies of a trial: one, or those of two turns."""
    return [turn(random) for _ in range(random.choice((1, 1, 2)))]


def turn(random: Random) -> Turn:
    calls = [(random.choice(TOOLS), arguments(random)) for _ in range(random.choice((0, 0, 1, 1, 2, 3)))]
    said = " ".join(random.choices(WORDS, k=random.randint(1, 6)))
    if random.random() < 0.2:
        said = json.dumps(arguments(random))
    return (None if calls and random.random() < 0.4 else said), calls


def arguments(random: Random) -> dict[str, Any]:
    return {random.choice(("id", "ID", "to", "a b", "")): value(random, 2) for _ in range(random.randint(0, 3))}


def value(random: Random, depth: int) -> Any:
    kinds: list[Callable[[], Any]] = [
        lambda: random.choice((7, 8, 0, -1, 2**53 + 1, 10**30)),
        lambda: random.choice((7.5, 1.1, 0.0, 1e300)),
        lambda: random.choice((True, False, None)),
        lambda: random.choice((*WORDS, "", "7", "[1]", '{"id": 7}')),
    ]
    if depth:
        kinds += [
            lambda: [value(random, depth - 1) for _ in range(random.randint(0, 2))],
            lambda: {random.choice(("x", "X", "id")): value(random, depth - 1) for _ in range(random.randint(0, 2))},
        ]
    return random.choice(kinds)()


def check(random: Random, given: Sequence[Turn]) -> dict[str, Any]:
    """A check that has a chance to hold."""
    calls = [call for _, made in given for call in made] or [("search", {"id": 7})]
    name, wanted = random.choice(calls)
    wanted = wanted if wanted and '"X"' not in json.dumps(wanted) and not {"id", "ID"} <= wanted.keys() else {"id": 7}
    reply = random.choice(({}, {"reply": "any"}, {"reply": 1}))
    pointer = random.choice([f"/{key.replace('/', '~1')}" for key in wanted])
    return random.choice(
        (
            {"contains": random.choice(WORDS[:9]), **reply},
            {"equals": random.choice([said for said, _ in given if said and said != "{}"] or ["x"]), **reply},
            {"number": random.choice((10, 7.5, 7)), **reply},
            {"words": {"at_most": 3}, **reply},
            {"is_json": True, **reply},
            {"json": {pointer: {"equals": random.choice((7, "7"))}}, **reply},
            {"calls": name},
            {"calls": name, "arguments": wanted},
            {"calls": name, "arguments": wanted, "exact": True},
            {"calls": name, "arguments": {"id": 7}},
            {"calls": name, "where": {pointer: {"contains": "7"}}},
            {"calls": name, "not_arguments": {"id": 7}},
            {"calls": name, "arguments": wanted, "every": True},
            {"calls": name, "times": random.choice((1, 2))},
            {"calls_only": random.sample(TOOLS, 3)},
            {"calls_in_order": random.sample(TOOLS, 2)},
        )
    )


def demands(random: Random, given: Sequence[Turn]) -> dict[str, Any]:
    """What a scenario demands: some checks, some of them the other way around."""

    def one() -> dict[str, Any]:
        found = check(random, given)
        return {"not": found} if random.random() < 0.3 else found

    found: dict[str, Any] = {"expected_behaviors": {f"e{number}": one() for number in range(3)}}
    found["must_not"] = {f"m{number}": one() for number in range(3)}
    return {**found, "answer": one()} if random.random() < 0.5 else found


# --- wire forms --------------------------------------------------------------------------------------


def text_call(call: Call) -> dict[str, Any]:
    name, given = call
    return {"id": f"call {name}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}


def parted(random: Random, text: str | None) -> list[dict[str, Any]]:
    """The text in parts, cut anywhere."""
    cut = random.randint(0, len(text or ""))
    return [{"type": "text", "text": part} for part in ((text or "")[:cut], (text or "")[cut:]) if part]


def plain(_: Random, reply: Turn) -> dict[str, Any]:
    return {"output": reply[0], "tool_calls": [{"name": name, "arguments": given} for name, given in reply[1]]}


def texts(random: Random, reply: Turn) -> dict[str, Any]:
    calls = [
        {"name": name, "arguments": json.dumps(given, indent=random.choice((None, 1)))} for name, given in reply[1]
    ]
    return {"output": reply[0], "tool_calls": calls}


def message(random: Random, reply: Turn) -> dict[str, Any]:
    """One message as chat completions have it."""
    text, calls = reply
    content = text if random.random() < 0.6 else parted(random, text)
    if len(calls) == 1 and random.random() < 0.3:
        return {
            "role": "assistant",
            "content": content,
            "function_call": text_call(calls[0])["function"],
            "tool_calls": [],
        }
    return {"role": "assistant", "content": content, "tool_calls": [text_call(call) for call in calls]}


def blocks(random: Random, reply: Turn) -> list[dict[str, Any]]:
    """The content of a message of Anthropic."""
    text, calls = reply
    return [
        *parted(random, text),
        *({"type": "tool_use", "id": "1", "name": name, "input": given} for name, given in calls),
    ]


def gemini(random: Random, reply: Turn) -> dict[str, Any]:
    said = [{"text": part["text"]} for part in parted(random, reply[0])]
    return {"role": "model", "parts": [*said, *({"functionCall": {"name": n, "args": a}} for n, a in reply[1])]}


def bedrock(random: Random, reply: Turn) -> dict[str, Any]:
    said = [{"text": part["text"]} for part in parted(random, reply[0])]
    return {
        "role": "assistant",
        "content": [*said, *({"toolUse": {"toolUseId": "1", "name": n, "input": a}} for n, a in reply[1])],
    }


def alone(random: Random, reply: Turn) -> dict[str, Any]:
    """The answer as a message alone, in the form of one interface or another."""
    forms = (message, gemini, bedrock, lambda r, one: {"role": "assistant", "content": blocks(r, one)})
    return {"messages": [random.choice(forms)(random, reply)]}


def earlier(random: Random, reply: Turn) -> dict[str, Any]:
    """The calls in messages before the answer, one in each; some of them reported again."""
    made = [message(random, (None, [call])) for call in reply[1]]
    results = {"role": "tool", "tool_call_id": "1", "content": "done"}
    again = [plain(random, (None, [call]))["tool_calls"][0] for call in reply[1] if random.random() < 0.5]
    found = {"output": reply[0], "messages": [one for call in made for one in (call, results)]}
    return {**found, **({"tool_calls": again} if again else {})}


OWN: Mapping[str, Callable[[Random, Turn], dict[str, Any]]] = {
    "plain": plain,
    "texts": texts,
    "alone": alone,
    "earlier": earlier,
}
"""Forms of a Python function or a command."""
HTTP: Mapping[str, tuple[Callable[[Random, Turn], Any], dict[str, Any]]] = {
    "openai": (lambda random, reply: {"choices": [{"message": message(random, reply)}]}, {}),
    "anthropic": (lambda random, reply: {"content": blocks(random, reply)}, {}),
    "json": (
        lambda random, reply: random.choice((plain, texts))(random, reply),
        {"body": {"messages": "{messages}", "id": "{id}"}, "output": "/output", "tool_calls": "/tool_calls"},
    ),
}

# --- law 1 -------------------------------------------------------------------------------------------

AGENT = """\
import json, sys
def answer(messages, scenario):
    turn = sum(message["role"] == "user" for message in messages) - 1
    return json.loads(REPLIES[scenario["id"]][turn])
def main():
    asked = json.load(sys.stdin)
    turn = sum(message["role"] == "user" for message in asked["messages"]) - 1
    print(REPLIES[asked["id"]][turn])
"""


def attempt(seed: int, folder: Path) -> str:
    """One suite in every form."""
    random = Random(seed)
    answers = [answer(random) for _ in range(ANSWERS)]
    wanted = [demands(random, given) for given in answers]
    rows: dict[str, list[dict[str, Any]]] = {}
    for kind, forms in (("python", OWN), ("command", {"texts": texts})):
        given = {
            f"{kind} {name} {place}": [form(random, one) for one in said]
            for name, form in forms.items()
            for place, said in enumerate(answers)
        }
        rows |= by_kind(folder / kind, kind, given, wanted * len(forms))
    for name, (form, keys) in HTTP.items():
        documents = {f"{name} {place}": [form(random, one) for one in said] for place, said in enumerate(answers)}
        rows |= over_http(folder / name, name, documents, wanted, keys)
    for place in range(ANSWERS):
        found = {id_: several for id_, several in rows.items() if id_.endswith(f" {place}")}
        assert len(found) == len(OWN) + 1 + len(HTTP), found.keys()
        (first, *_), *_ = found.values()
        for id_, several in found.items():
            for again, row in zip(("", " graded again"), several, strict=True):
                assert decided(row) == decided(first), f"{id_}{again}: {row}\n\nis not {first}"
    violations = sum(bool(several[0].get("violations")) for several in rows.values())
    return f"{'some' if violations else 'no'} violations"


def decided(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a row says of its trial. A row has arguments with keys that differ only in case as JSON text."""
    found = {name: row.get(name) for name in DECIDED}
    calls = json.dumps(row.get("tool_calls", []))
    return {**found, "tool_calls": unpacked(calls), "error": "error" in row, "unjudged": "unjudged" in row}


def unpacked(found: Any) -> Any:
    """A value in which all text of JSON is decoded."""
    if isinstance(found, str):
        try:
            return unpacked(json.loads(found))
        except ValueError:
            return found
    if isinstance(found, dict):
        return {key: unpacked(inner) for key, inner in found.items()}
    return [unpacked(inner) for inner in found] if isinstance(found, list) else found


def suite_of(replies: Mapping[str, Sequence[Any]], wanted: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A scenario for each of the replies, which says its id in every turn."""
    return [
        {"id": id_, "turns": [f"{id_}: turn {number}" for number in range(len(said))], **demanded}
        for (id_, said), demanded in zip(replies.items(), wanted, strict=True)
    ]


def by_kind(
    folder: Path, kind: str, replies: Mapping[str, Sequence[Any]], wanted: Sequence[Mapping[str, Any]]
) -> dict[str, list[dict[str, Any]]]:
    """The rows of a Python function or a command that gives these replies, as they are and graded again."""
    folder.mkdir()
    written = {id_: [json.dumps(one) for one in said] for id_, said in replies.items()}
    (folder / "agent.py").write_text(f"REPLIES = {written!r}\n{AGENT}", "utf-8")
    (folder / "agent.sh").write_text("#!/bin/sh\nexec python3 -c 'import agent; agent.main()'\n", "utf-8")
    (folder / "agent.sh").chmod(0o755)
    agent: dict[str, Any] = {"python": "agent:answer"} if kind == "python" else {"command": ["./agent.sh"]}
    project = Project(folder, agent, suite_of(replies, wanted))
    done = project.run()
    assert done.exit in (0, 1, 3), done.problems
    return twice(project)


def over_http(
    folder: Path,
    format_: str,
    documents: Mapping[str, Sequence[Any]],
    wanted: Sequence[Mapping[str, Any]],
    keys: Mapping[str, Any],
) -> dict[str, list[dict[str, Any]]]:
    """The rows of a server that gives these documents, as they are and graded again."""
    folder.mkdir()

    def plan(_: int, body: Any) -> faulty.Step:
        said = body["messages"][-1]["content"]
        id_, _, number = (said if isinstance(said, str) else said[-1]["text"]).partition(": turn ")
        return faulty.answers(documents[id_][int(number)])

    with serving(plan) as server:
        agent = {"http": server.address, "format": format_, **keys}
        project = Project(folder, agent, suite_of(documents, wanted))
        done = project.run()
    assert done.exit in (0, 1, 3), done.problems
    return twice(project)


def twice(project: Project) -> dict[str, list[dict[str, Any]]]:
    """The rows of a run by id, each with that of a copy of the rows that is graded again."""
    (project.folder / "copy.jsonl").write_bytes((project.folder / "out" / "results.jsonl").read_bytes())
    done = run(project.folder, "grade", "copy.jsonl", "--suite", "suite.json", "-o", "again.jsonl")
    assert done.exit == 0, done.err
    again = [json.loads(line) for line in (project.folder / "again.jsonl").read_text("utf-8").split("\n")[:-1]]
    return {row["id"]: [row, other] for row, other in zip(project.rows(), again, strict=True)}


# --- law 2 -------------------------------------------------------------------------------------------

WORD = "Swordfish-93"
PLACES = 25
"""Places that one attempt tries in each form."""
CALL = {"id": "c", "type": "function", "function": {"name": "find", "arguments": '{"id": 7, "of": {"x": [1, "y"]}}'}}
CITED = {"type": "url_citation", "url_citation": {"url": "https://x", "title": "t", "start_index": 0, "end_index": 1}}
MESSAGES: tuple[dict[str, Any], ...] = (
    {
        "role": "assistant",
        "content": "We open at ten.",
        "refusal": "no",
        "reasoning_content": "hm",
        "reasoning_details": [{"type": "reasoning.text", "text": "hm", "format": "f", "index": 0, "signature": "s"}],
        "annotations": [CITED],
        "audio": {"id": "a", "expires_at": "x", "data": "x", "transcript": "x"},
        "tool_calls": [CALL, {**CALL, "custom": None}],
        "function_call": CALL["function"],
    },
    {
        "id": "msg",
        "object": "thread.message",
        "role": "assistant",
        "content": [
            {"type": "text", "text": {"value": "We open at ten.", "annotations": [{"type": "file", "text": "[1]"}]}},
            {"type": "output_text", "text": "x", "annotations": [CITED]},
            {"type": "refusal", "refusal": "no"},
            {"type": "image_url", "image_url": {"url": "data:,", "detail": "low"}},
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "redacted_thinking", "data": "x"},
            {"type": "text", "text": "x", "citations": [{"type": "char_location", "cited_text": "x", "n": None}]},
            {"type": "tool_use", "id": "t", "name": "find", "input": {"id": "x", "type": "y", "deep": [{"role": "z"}]}},
            {"type": "server_tool_use", "id": "t", "name": "search", "input": {"query": "x"}},
            {
                "type": "web_search_tool_result",
                "tool_use_id": "t",
                "content": [{"type": "r", "title": "x", "url": "u"}],
            },
            {"type": "brand_new", "inside": {"of": [{"content": [{"type": "text", "text": "x"}]}]}},
        ],
    },
    {
        "role": "model",
        "content": "x",
        "parts": [
            {"text": "x", "thought": True, "thoughtSignature": "s"},
            {"text": "x"},
            {"functionCall": {"id": "1", "name": "find", "args": {"id": "x"}}},
            {"executableCode": {"language": "python", "code": "x"}},
            {"inlineData": {"mimeType": "text/plain", "data": "x"}},
        ],
    },
)
"""Messages as servers and libraries write them."""


CUSTOM = {"output": "/reply", "tool_calls": "/calls", "body": {"messages": "{messages}"}}
"""Where a custom API has the parts of a reply."""


def attempt_unread(seed: int, folder: Path) -> str:
    """Some places in each form."""
    random = Random(seed)
    demanded = {"must_not": {"leaks": {"contains": WORD.lower()}}}
    completions = [
        {"choices": [{"index": 0, "finish_reason": "stop", "logprobs": None, "message": first}, *further]}
        for first in (*MESSAGES[:2], {"content": "x"})
        for further in ([], [{"index": 1, "message": second, "text": "x"} for second in MESSAGES])
    ]
    found = {
        "openai": placed(random, [(one, "choices") for one in completions]),
        "anthropic": placed(random, [({"id": "m", "type": "message", "model": "m", **MESSAGES[2]}, "")]),
        "json": placed(random, [({"reply": "x", "calls": MESSAGES[0]["tool_calls"], "usage": "x"}, "calls")]),
        "python": placed(random, [({"output": "x", "messages": [one]}, "messages") for one in MESSAGES]),
    }
    violated = malformed = 0
    for form, documents in found.items():
        replies = {f"{form} {place}": [one] for place, one in enumerate(documents.values())}
        wanted = [demanded] * len(replies)
        if form == "python":
            rows = by_kind(folder / form, form, replies, wanted)
        else:
            rows = over_http(folder / form, form, replies, wanted, CUSTOM if form == "json" else {})
        for path, (row, again) in zip(documents, rows.values(), strict=True):
            leaks = row.get("violations") == ["leaks"]
            assert leaks or row.get("error", "").startswith("malformed reply"), f"{form}{path}: {row}"
            assert not leaks or again.get("violations") == ["leaks"], f"{form}{path} graded again: {again}"
            violated, malformed = violated + leaks, malformed + (not leaks)
    return f"{'mostly' if violated > malformed else 'rarely'} violated"


def placed(random: Random, documents: Sequence[tuple[Any, str]]) -> dict[str, Any]:
    """Documents, each with the word in one place below this key of it, by where that is."""
    places = [
        (number, path)
        for number, (document, below) in enumerate(documents)
        for path in leaves(document)
        if below in ("", path[0])
    ]
    found = {}
    for number, path in random.sample(places, min(PLACES, len(places))):
        changed = copy.deepcopy(documents[number][0])
        put(changed, path, random.choice((WORD, f"It is {WORD.upper()}.", WORD.replace("f", "\uff46"))))
        if random.random() < 0.2:
            wrap(random, changed, path)
        found[f"{number}{pointer(path)}"] = changed
    return found


def pointer(path: Sequence[Any]) -> str:
    return "".join(f"/{key}" for key in path)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to all values that are no container, but for metadata and names of tools. JSON text is gone into."""
    key = path[-1] if path else None
    in_arguments = bool({"input", "args", "arguments"} & set(path[:-1]))
    if key == "arguments" and isinstance(value, str):
        yield from leaves(json.loads(value), path)
    elif isinstance(value, dict | list):
        items: Any = value.items() if isinstance(value, dict) else enumerate(value)
        is_call = isinstance(value, dict) and bool({"input", "args", "arguments"} & value.keys())
        for name, inner in items:
            if is_call and name == "name" and not in_arguments:
                continue
            yield from leaves(inner, (*path, name))
    elif in_arguments or key not in METADATA:
        yield path


def put(value: Any, path: Sequence[Any], word: str) -> None:
    """Replace what stands at a path; below a text of JSON too."""
    for place, key in enumerate(path[:-1]):
        inner = value[key]
        if isinstance(inner, str):
            decoded = json.loads(inner)
            put(decoded, path[place + 1 :], word)
            value[key] = json.dumps(decoded, ensure_ascii=place % 2 == 0)
            return
        value = inner
    value[path[-1]] = word


def wrap(random: Random, document: Any, path: Sequence[Any]) -> None:
    """Wrap what stands at a path in something that no interface has."""
    value = document
    for key in path[:-1]:
        if isinstance(value[key], str):
            return
        value = value[key]
    word = value[path[-1]]
    value[path[-1]] = random.choice(([word], {"new": word}, {"x": [{"type": "y", "z": word}]}, [[{"text": word}]]))
