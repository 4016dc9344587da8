"""A question about one trial in, the findings of a judge out: for every statement a judgment with its evidence.

    opened(judges, folder=…, environment=…)    -> an async context manager that returns an Asker

`prompt` and `conversation_text` write the request, in which the agent's words are data. `asking` sends it over HTTP, in
a form that `wire` defines; `function` calls a Python function instead, and `panel` asks several judges. `reply` and
`evidence` read the reply, all of which is treated as hostile. `digests` tells whether two questions are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Literal, Protocol

from highbar.model.judgments import JudgeAnswer, JudgeQuestion
from highbar.running.judging.digests import conversation_digest, judge_name, prompt_digest, question_digest
from highbar.running.judging.settings import AskingChanges, AskingSettings
from highbar.running.retries import Backoff
from highbar.suite.parts import Judge

__all__ = ["Asker", "conversation_digest", "judge_name", "opened", "prompt_digest", "question_digest"]


class Asker(Protocol):
    """One judge, or several that vote. It limits how many questions are in flight, and retries."""

    async def ask(self, question: JudgeQuestion) -> JudgeAnswer:
        """Return what the judge found, or why it found nothing. Raises nothing but CancelledError."""


def opened(
    judges: tuple[Judge, ...],
    *,
    folder: Path,
    environment: Mapping[str, str],
    concurrency: int | Literal["auto"] | None = None,
    retries: int | None = None,
    timeout: float | None = None,
    backoff: Backoff | None = None,
) -> AbstractAsyncContextManager[Asker]:
    """The judges, to be asked inside `async with`, which at its end stops everything that was started for them.

    `folder` is that of the suite: Python modules are searched there. `${NAME}` is replaced from `environment`. For an
    argument that is None, the setting of each judge is used. Raises InputError, here or on entry, if a judge cannot be
    asked at all, for example because a variable is not set.
    """
    changes = AskingChanges(concurrency, retries, timeout, backoff)
    asked = [_opened(judge, folder, environment, changes.of(judge)) for judge in judges]
    if len(asked) == 1:
        return asked[0]
    from highbar.running.judging.panel import JudgePanel  # each kind loads what only it needs

    return JudgePanel(asked, [judge.python or judge.model or "" for judge in judges])


def _opened(
    judge: Judge, folder: Path, environment: Mapping[str, str], settings: AskingSettings
) -> AbstractAsyncContextManager[Asker]:
    if judge.python is not None:
        from highbar.running.judging.function import PythonJudge  # as above

        return PythonJudge(judge.python, folder, settings)
    from highbar.running.judging.asking import HttpJudge  # aiohttp takes 0.4 s to load

    return HttpJudge(judge, environment, settings)
