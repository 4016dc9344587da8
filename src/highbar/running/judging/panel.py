"""Several judges: the majority decides each statement, and there is no judgment at all if one of them fails."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Self

from highbar.model.judgments import JudgeAnswer, JudgeQuestion, StatementJudgment
from highbar.running.judging import Asker, sum_if_known
from highbar.running.pacing import AllowedRate
from highbar.running.watched import Fact


class JudgePanel:
    """Asks all judges at the same time. Use it with `async with`. Failures are reported with the `names` of judges."""

    def __init__(self, judges: Sequence[AbstractAsyncContextManager[Asker]], names: Sequence[str]) -> None:
        self._opening, self._names = judges, names
        self._judges: list[Asker] = []
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            self._judges = [await stack.enter_async_context(judge) for judge in self._opening]
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def ask(self, question: JudgeQuestion) -> JudgeAnswer:
        """Return what the majority found, statement by statement."""
        answers = await asyncio.gather(*(judge.ask(question) for judge in self._judges))
        return majority_answer(question, answers, self._names)

    def take_facts(self) -> list[Fact]:
        """What any of them read."""
        return [fact for judge in self._judges for fact in judge.take_facts()]

    @property
    def allowance(self) -> AllowedRate | None:
        """What the server of the slowest judge allowed; None if that is not known."""
        known = [judge.allowance for judge in self._judges if judge.allowance is not None]
        return min(known, key=lambda one: one.per_second, default=None)


def majority_answer(question: JudgeQuestion, answers: Sequence[JudgeAnswer], names: Sequence[str]) -> JudgeAnswer:
    """Combine several answers. If one judge failed, so does the panel: a panel with fewer judges is another judge."""
    failed = [(name, answer) for name, answer in zip(names, answers, strict=True) if answer.failure is not None]
    return JudgeAnswer(
        {} if failed else {name: _vote([one.statements[name] for one in answers]) for name in question.statements},
        None if failed else " + ".join(one.model or name for name, one in zip(names, answers, strict=True)),
        failure="; ".join(f"{name}: {answer.failure}" for name, answer in failed) or None,
        refusal=next((answer.refusal for _, answer in failed if answer.refusal is not None), None),
        unusable=any(answer.unusable for _, answer in failed),
        attempts=max(one.attempts for one in answers),
        tokens_used=sum_if_known(*(one.tokens_used for one in answers)),
        cost_usd=sum_if_known(*(one.cost_usd for one in answers)),
        form=" + ".join(dict.fromkeys(one.form for one in answers if one.form is not None)) or None,
    )


def _vote(judgments: Sequence[StatementJudgment]) -> StatementJudgment:
    """The judgment of more than half, with their first evidence; `cannot_tell` if there is no majority."""
    votes = tuple(one.judgment for one in judgments)
    word, number = Counter(votes).most_common(1)[0]
    if number == len(votes):
        return StatementJudgment(word, _evidence(judgments))
    if 2 * number <= len(votes):
        return StatementJudgment("cannot_tell", votes=votes)
    return StatementJudgment(word, _evidence([one for one in judgments if one.judgment == word]), votes)


def _evidence(judgments: Iterable[StatementJudgment]) -> str | None:
    return next((one.evidence for one in judgments if one.evidence is not None), None)
