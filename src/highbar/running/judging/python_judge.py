"""A judge in Python: `module:function` in a separate process, called with `{statements, messages}`.

It returns for each statement one of the three words, true or false, or `{judgment, evidence}`. Evidence is verified if
there is any. A function that raises, ends its process, takes too long or returns something else is called once more.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from highbar.model.judgments import JudgeAnswer, JudgeQuestion, StatementJudgment
from highbar.running.agents.python import FunctionRole, PythonAgent
from highbar.running.agents.replies import short, shown
from highbar.running.calls import AgentCall, Attempt, Reply
from highbar.running.judging.call_slots import CallSlots
from highbar.running.judging.conversation_text import canonical_value
from highbar.running.judging.evidence import Quotable
from highbar.running.judging.reply import Unusable, read_word
from highbar.running.watched import Fact, repository_around, spared_folders
from highbar.suite.parts import Agent, Judge

FORM = "function"


def _attempt_with(value: Any, _agent: Agent, latency_ms: float | None) -> Attempt:
    return Attempt("answered", Reply(state=value), latency_ms=latency_ms)


JUDGE = FunctionRole("judge", lambda call: call.scenario, _attempt_with)


class PythonJudge:
    """A function that judges. Use it with `async with`; entering raises InputError if it cannot be used."""

    def __init__(self, judge: Judge, folder: Path) -> None:
        self._name = judge.python or ""
        self._concurrency, self._timeout = judge.concurrency, float(judge.timeout)
        root = repository_around(folder)
        watch = None if root is None else {"root": str(root), "spared": list(spared_folders(root)), "digests": True}
        self._began = None if root is None else os.path.relpath(folder.resolve(), root)
        self._function = PythonAgent(Agent("python", self._name), folder, JUDGE, watch)

    async def __aenter__(self) -> Self:
        await self._function.__aenter__()
        function = self._function
        self._slots = CallSlots(self._concurrency, function.start, function.most, function.allow)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        await self._function.__aexit__(kind)

    async def ask(self, question: JudgeQuestion) -> JudgeAnswer:
        """Return what the function found, or why it found nothing."""
        found, failure, unusable = await self._call(question)
        if failure is None:
            return self._answer(found, None, 1)
        found, failure, unusable = await self._call(question)
        return self._answer(found, failure, 2, unusable=unusable)

    @property
    def allowance(self) -> None:
        """Nothing: a function says of no limit."""

    def take_facts(self) -> list[Fact]:
        """What the function read since the last time, if it is in a repository."""
        facts = self._function.facts
        found = facts[: len(facts)]
        del facts[: len(found)]
        if found and self._began is not None:
            found.insert(0, ("began", self._began))
        return found

    def _answer(
        self, found: Mapping[str, StatementJudgment], failure: str | None, attempts: int, *, unusable: bool = False
    ) -> JudgeAnswer:
        return JudgeAnswer(found, self._name, failure, unusable=unusable, attempts=attempts, form=FORM)

    async def _call(self, question: JudgeQuestion) -> tuple[Mapping[str, StatementJudgment], str | None, bool]:
        """The judgments; why there are none, if so; and whether the function is to blame for that."""
        messages = [canonical_value(message) for message in question.conversation]
        given = {"statements": dict(question.statements), "messages": messages}
        slot = await self._slots.take()
        attempt: Attempt | None = None
        try:
            attempt = await self._function.call(AgentCall("", 1, (), None, given, self._timeout))
        finally:
            self._slots.give_back(slot, attempt)
        if attempt.outcome != "answered" or attempt.reply is None:
            return {}, short(attempt.reason or "no answer"), attempt.outcome != "infrastructure"
        try:
            return read_value(attempt.reply.state, question), None, False
        except Unusable as error:
            return {}, f"its answer cannot be used: {error}", True


def read_value(value: Any, question: JudgeQuestion) -> dict[str, StatementJudgment]:
    """The judgments in what a function returned. Raises Unusable if they are not valid or not complete."""
    if not isinstance(value, Mapping):
        raise Unusable(f"found {shown(value)}, wanted a mapping from names to judgments")
    for name in value:
        if name not in question.statements:
            raise Unusable(f"it judges {shown(name)}, which was not asked")
    for name in question.statements:
        if name not in value:
            raise Unusable(f"it does not judge {shown(name)}")
    quotable = Quotable(question.conversation)
    return {name: _judgment(name, value[name], quotable) for name in question.statements}


def _judgment(name: str, value: Any, quotable: Quotable) -> StatementJudgment:
    given = value if isinstance(value, Mapping) else {"judgment": value}
    if not given.keys() <= {"judgment", "evidence"} or "judgment" not in given:
        raise Unusable(f"it has other keys than judgment and evidence for {shown(name)}")
    judgment = given["judgment"]
    if isinstance(judgment, bool):
        judgment = "observed" if judgment else "not_observed"
    word = read_word(name, judgment)
    evidence = quotable.find_evidence(given.get("evidence"))
    if word == "observed" and evidence is None and given.get("evidence") not in (None, ""):
        raise Unusable(f"its evidence for {shown(name)} is not in the conversation")
    return StatementJudgment(word, evidence)
