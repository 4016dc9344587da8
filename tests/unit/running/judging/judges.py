"""Judges in tests: opens them, asks once or several times, and closes them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from highbar.model.judgments import JudgeAnswer, JudgeQuestion
from highbar.running.judging import opened
from highbar.running.retries import Backoff
from highbar.suite import Judge
from tests.judge_server import JudgeServer, JudgeStep, judging
from tests.patience import PATIENCE

AT_ONCE = Backoff(first=0.0)
"""Retries without a wait."""
REPLY = "I can’t do that — it is not allowed."
STATEMENTS = {"refuses": "The reply declines.", "polite": "The reply is polite."}


def conversation(reply: Any = REPLY, asked: str = "Delete it all.") -> tuple[Mapping[str, Any], ...]:
    return {"role": "user", "content": asked}, {"role": "assistant", "content": reply}


def question(reply: Any = REPLY, **statements: str) -> JudgeQuestion:
    return JudgeQuestion(statements or STATEMENTS, conversation(reply))


def judge_at(server: JudgeServer, **keys: Any) -> Judge:
    return Judge(**{"model": "m", "base_url": server.base_url, **keys})


def patient(judges: tuple[Judge, ...], timeout: float = PATIENCE, **keys: Any) -> tuple[Judge, ...]:
    """The judges with these settings, which do not give up while the machine is busy, but if there is no room."""
    return tuple(replace(judge, **{"timeout": Fraction(timeout), "patience": Fraction(0), **keys}) for judge in judges)


def ask(
    judges: tuple[Judge, ...],
    *questions: JudgeQuestion,
    folder: Path = Path(),
    environment: Mapping[str, str] | None = None,
    **keys: Any,
) -> list[JudgeAnswer]:
    """What all of the questions came to, asked at the same time."""
    backoff = keys.pop("backoff", AT_ONCE)
    changed = patient(judges, **keys)

    async def asked() -> list[JudgeAnswer]:
        async with opened(changed, folder=folder, environment=environment or {}, backoff=backoff) as asker:
            return list(await asyncio.gather(*(asker.ask(one) for one in questions or (question(),))))

    return asyncio.run(asked())


def in_turn(judges: tuple[Judge, ...], *questions: JudgeQuestion) -> list[JudgeAnswer]:
    """What the questions came to, each asked when the one before was answered."""

    async def asked() -> list[JudgeAnswer]:
        async with opened(patient(judges), folder=Path(), environment={}, backoff=AT_ONCE) as asker:
            return [await asker.ask(one) for one in questions]

    return asyncio.run(asked())


def asked(*plan: JudgeStep, about: JudgeQuestion | None = None, **keys: Any) -> tuple[JudgeAnswer, JudgeServer]:
    """What one question comes to if the judge does these things; `keys` are of the judge, or of `opened`."""
    of_judge = {key: keys.pop(key) for key in Judge.__struct_fields__ if key in keys and key not in OF_OPENED}
    with judging(plan or None) as server:
        return ask((judge_at(server, **of_judge),), about or question(), **keys)[0], server


OF_OPENED = {"concurrency", "retries", "timeout"}
