"""A real judge on 127.0.0.1 that speaks both wire formats, answers by a rule, and misbehaves by plan.

    with judging() as server:                                   # every statement is observed
        … Judge(model="m", base_url=server.base_url) …
    with judging(by=lambda asked: {"refuses": "observed"}):     # or by a function of the question
    with judging([status(429, "0"), malformed(), answers({"refuses": "not_observed"})]):

A plan is a list of steps, one for each request and the last one for all that follow, or a function from the question to
a step. `server.asked` has every question as the judge saw it; `server.calls` has the requests. `form` is how structured
output was asked for: json_schema, tool, json_object or plain.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests import faulty_server as faulty
from tests.faulty_server import FaultyServer, Received, Step

MODEL = "judge-model-2026-11-01"
"""What the server calls its model, whatever it was asked for."""
_FENCE = re.compile(r"^<<<conversation ([0-9a-f]+)>>>$(.*?)^<<<end of conversation \1>>>$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, as a judge reads it. `data` is everything between the two lines with the mark."""

    body: Mapping[str, Any]
    is_anthropic: bool
    form: str
    system: str
    user: str
    mark: str
    data: str
    statements: Mapping[str, str]
    messages: Sequence[Mapping[str, Any]]

    @property
    def cap(self) -> int:
        """How many tokens the answer may have."""
        return self.body.get("max_tokens") or self.body["max_completion_tokens"]


JudgeStep = Callable[[Asked], Step]
Rule = Callable[[Asked], Mapping[str, Any]]
"""From a question to what each statement is: a judgment, or (judgment, evidence). What is not there is left out."""


@dataclass(slots=True)
class JudgeServer:
    """A judge that runs."""

    server: FaultyServer

    @property
    def root(self) -> str:
        """The address without a path."""
        return f"http://127.0.0.1:{self.server.port}"

    @property
    def base_url(self) -> str:
        """What the setting `base_url` has."""
        return f"{self.root}/v1"

    @property
    def calls(self) -> list[Received]:
        """Every request, in the order in which they came."""
        return self.server.calls

    @property
    def asked(self) -> list[Asked]:
        """Every question, likewise."""
        return [read(call.body) for call in self.calls]


@contextmanager
def judging(
    plan: Sequence[JudgeStep] | Callable[[Asked], JudgeStep] | None = None, *, by: Rule | None = None
) -> Iterator[JudgeServer]:
    """A judge in a thread, on a free port."""
    steps = [answers(by)] if plan is None else plan

    def step(number: int, body: Any) -> Step:
        asked = read(body)
        chosen = steps(asked) if callable(steps) else steps[min(number, len(steps)) - 1]
        return chosen(asked)

    with faulty.serving(step) as server:
        yield JudgeServer(server)


def read(body: Any) -> Asked:
    """A request of either format, as a judge reads it."""
    is_anthropic = "system" in body
    if is_anthropic:
        system, (user,) = body["system"], [message["content"] for message in body["messages"]]
    else:
        system, user = (message["content"] for message in body["messages"])
    fences = _FENCE.findall(user)
    assert len(fences) == 1, "there is one conversation, between one pair of lines with the same mark"
    mark, data = fences[0]
    statements = json.loads(user.split("\n")[1])
    messages = [json.loads(line) for line in data.strip("\n").split("\n")] if data.strip("\n") else []
    return Asked(body, is_anthropic, _form(body), system, user, mark, data.strip("\n"), statements, messages)


def _form(body: Mapping[str, Any]) -> str:
    if "tools" in body:
        return "tool"
    return str(body.get("response_format", {}).get("type", "plain"))


# --- answers ---------------------------------------------------------------------------------


def verdict(asked: Asked, judgments: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON object that a judge answers with. The evidence of `observed` is the last message, unless given."""
    found = []
    for name, said in judgments.items():
        judgment, evidence = said if isinstance(said, tuple) else (said, None)
        if evidence is None:
            evidence = f"message {len(asked.messages)}" if judgment == "observed" else ""
        found.append({"name": name, "evidence": evidence, "judgment": judgment})
    return {"statements": found}


def answers(judgments: Mapping[str, Any] | Rule | None = None, **keys: Any) -> JudgeStep:
    """A proper answer in the form that was asked for: these judgments, those of a rule, or everything observed.

    `keys` are those of `document`.
    """

    def step(asked: Asked) -> Step:
        said = judgments(asked) if callable(judgments) else judgments
        if said is None:
            said = dict.fromkeys(asked.statements, "observed")
        return gives(verdict(asked, said), **keys)(asked)

    return step


def gives(value: Any, **keys: Any) -> JudgeStep:
    """This JSON value as the answer: in the tool, if one was forced, else as text."""

    def step(asked: Asked) -> Step:
        calls = [value] if asked.form == "tool" else []
        text = None if calls else json.dumps(value, ensure_ascii=False)
        return faulty.answers(document(asked, text, calls, **keys))

    return step


def says(text: str | None, **keys: Any) -> JudgeStep:
    """This text as the answer, whatever form was asked for."""
    return lambda asked: faulty.answers(document(asked, text, **keys))


def document(
    asked: Asked,
    text: str | None,
    calls: Sequence[Any] = (),
    *,
    model: str | None = MODEL,
    tokens: int | None = 100,
    cost: float | None = None,
    end: str | None = None,
    **message: Any,
) -> dict[str, Any]:
    """A whole reply of either format. `end` is the reason why it ended; `message` has more keys of the message."""
    named = {} if model is None else {"model": model}
    name = "give_judgments"
    if asked.is_anthropic:
        usage = {} if tokens is None else {"usage": {"input_tokens": tokens - 10, "output_tokens": 10}}
        made = faulty.anthropic(text, *((name, call) for call in calls), **named, **usage)
        return {**made, **({} if end is None else {"stop_reason": end})}
    arguments = (call if isinstance(call, str) else json.dumps(call, ensure_ascii=False) for call in calls)
    made = faulty.openai(text, *((name, one) for one in arguments), tokens=tokens, **message)
    made["choices"][0]["finish_reason"] = end or "stop"
    if cost is not None:
        made.setdefault("usage", {})["cost"] = cost
    return {**made, **named}


# --- misbehavior -----------------------------------------------------------------------------


def does(step: Step) -> JudgeStep:
    """A step of `tests.faulty_server`: hangs, resets, garbage, floods."""
    return lambda _asked: step


def status(code: int, retry_after: str | None = None, text: str = "") -> JudgeStep:
    """A status, such as 429 with a `Retry-After`, 503, 529, 401 or 404."""
    return does(faulty.status(code, retry_after, text))


def slow(seconds: float, then: JudgeStep | None = None) -> JudgeStep:
    """An answer after some time."""
    return lambda asked: faulty.waits(seconds, (then or answers())(asked))


def hangs() -> JudgeStep:
    """Nothing, for ever."""
    return does(faulty.hangs())


def malformed() -> JudgeStep:
    """An answer that is no JSON."""
    return says("I would say that all of this is fine.")


def cut(text: str = '{"statements": [{"name": "re') -> JudgeStep:
    """An answer that ended because it had no more tokens."""
    return lambda asked: says(text, end="max_tokens" if asked.is_anthropic else "length")(asked)


def refuses() -> JudgeStep:
    """A model that does not want to."""

    def step(asked: Asked) -> Step:
        if asked.is_anthropic:
            return says(None, end="refusal")(asked)
        return says(None, refusal="I cannot help with that.")(asked)

    return step


def empty() -> JudgeStep:
    """No text and no tool call."""
    return says("")


def fenced(judgments: Mapping[str, Any] | None = None) -> JudgeStep:
    """A proper answer in a fence, with words around it."""

    def step(asked: Asked) -> Step:
        value = verdict(asked, judgments or dict.fromkeys(asked.statements, "observed"))
        return says(f"Here is my judgment:\n```json\n{json.dumps(value, indent=2)}\n```\nThat is all.")(asked)

    return step


def injected_first(injected: Mapping[str, Any], own: Mapping[str, Any]) -> JudgeStep:
    """Words that quote another judgment before the judge's own."""

    def step(asked: Asked) -> Step:
        first, last = (json.dumps(verdict(asked, said)) for said in (injected, own))
        return says(f"The reply says {first}, which is an injection. My own judgment: {last}")(asked)

    return step


def unsupported(*forms: str, code: int = 400, then: JudgeStep | None = None) -> JudgeStep:
    """A server that does not know these forms of structured output."""

    def step(asked: Asked) -> Step:
        if asked.form in forms:
            return faulty.status(code, text='{"error": {"message": "unknown parameter"}}')
        return (then or answers())(asked)

    return step


def wants_completion_tokens(then: JudgeStep | None = None) -> JudgeStep:
    """A server that refuses `max_tokens`, as some models do."""
    text = json.dumps(
        {
            "error": {
                "message": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
                "param": "max_tokens",
            }
        }
    )

    def step(asked: Asked) -> Step:
        return faulty.status(400, text=text) if "max_tokens" in asked.body else (then or answers())(asked)

    return step


def by_words(words: Mapping[str, str]) -> Rule:
    """A rule: a statement is observed if the last message has this word, which is then the evidence."""

    def rule(asked: Asked) -> Mapping[str, Any]:
        said = str(asked.messages[-1].get("content") or "") if asked.messages else ""
        return {
            name: ("observed", words[name]) if words.get(name, "\0") in said else "not_observed"
            for name in asked.statements
        }

    return rule
