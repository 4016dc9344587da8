"""A question about one trial in, the findings of a judge out: for every statement a judgment with its evidence.

    opened(judges, folder=…, environment=…)    -> an async context manager that returns an Asker

`prompt` and `conversation_text` write the request, in which the agent's words are data. `http_judge` sends it, in a
form that `wire` defines; `python_judge` calls a Python function instead, and `panel` asks several judges. `reply` and
`evidence` read the reply, all of which is treated as hostile. `identity` tells whether two questions are the same.

`live_judging` asks about the answers of a run while it goes on, `rejudging` about recorded ones, and `recorded` reads
what a judge said from the journal of a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from decimal import Decimal
from pathlib import Path
from typing import Protocol, TypeVar

from highbar.model.judgments import JudgeAnswer, JudgeQuestion
from highbar.running.pacing import AllowedRate
from highbar.running.retries import Backoff
from highbar.running.watched import Fact
from highbar.suite.parts import Judge

__all__ = ["Asker", "opened"]
_Number = TypeVar("_Number", int, Decimal)


def opened(
    judges: tuple[Judge, ...],
    *,
    folder: Path,
    environment: Mapping[str, str],
    backoff: Backoff | None = None,
) -> AbstractAsyncContextManager[Asker]:
    """The judges, to be asked inside `async with`, which at its end stops everything that was started for them.

    `folder` is that of the suite: Python modules are searched there. `${NAME}` is replaced from `environment`.
    `backoff` says how long to wait before a retry. Raises InputError, here or on entry, if a judge cannot be asked at
    all, for example because a variable is not set.
    """
    opening = [_opened_judge(judge, folder, environment, backoff or Backoff()) for judge in judges]
    if len(opening) == 1:
        return opening[0]
    from highbar.running.judging.panel import JudgePanel  # each kind loads what only it needs

    return JudgePanel(opening, [judge.python or judge.model or "" for judge in judges])


def _opened_judge(
    judge: Judge, folder: Path, environment: Mapping[str, str], backoff: Backoff
) -> AbstractAsyncContextManager[Asker]:
    if judge.python is not None:
        from highbar.running.judging.python_judge import PythonJudge  # as above

        return PythonJudge(judge, folder)
    from highbar.running.judging.http_judge import HttpJudge  # aiohttp takes 0.4 s to load

    return HttpJudge(judge, environment, backoff)


class Asker(Protocol):
    """One judge, or several that vote. It limits how many questions are in flight, and retries."""

    async def ask(self, question: JudgeQuestion) -> JudgeAnswer:
        """Return what the judge found, or why it found nothing. Raises nothing but CancelledError."""

    def take_facts(self) -> list[Fact]:
        """What the processes of Python judges read since the last time. The answers so far rest on nothing else."""

    @property
    def allowance(self) -> AllowedRate | None:
        """What its server allowed; None if that is not known. Of several judges, that of the slowest one."""


def sum_if_known(first: _Number | None, *others: _Number | None) -> _Number | None:
    """The sum of tokens or costs; None if one of them is not known."""
    for other in others:
        first = None if first is None or other is None else first + other
    return first
