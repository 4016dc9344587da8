"""The identity of a suite's judge, as a name and digests: the same question to the same judge has the same digest.

Digests cover everything that a judge's answer depends on. No key is in them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from highbar.checks.tree import Function
from highbar.model.judgments import JudgeAnswer, JudgeQuestion
from highbar.running.judging.conversation_text import parts
from highbar.running.judging.prompt import TEXTS
from highbar.running.judging.questions import statements_in
from highbar.suite import Suite
from highbar.suite.check_files import CheckFiles
from highbar.suite.parts import Judge

_DIGITS = 12
"""Digits of the digest in the name of a judge."""


class JudgeIdentity:
    """The judges of a suite. `folder` is searched for the functions of Python judges."""

    def __init__(self, suite: Suite, folder: Path) -> None:
        self.judges = suite.judges
        self.folder = folder
        self.prompt = prompt_digest(suite.judges, folder, statements_in(suite))

    def name(self, answer: JudgeAnswer) -> str:
        """The text of the column `judge`."""
        return judge_name(self.judges, answer, self.prompt)

    def digest(self, question: JudgeQuestion) -> str:
        """The digest of the question to these judges. Earlier judgments are found by it."""
        return question_digest(self.judges, self.folder, question)

    def conversation(self, question: JudgeQuestion) -> str:
        """The digest of statements and conversation, which is the same for every judge."""
        return conversation_digest(question)


def prompt_digest(judges: tuple[Judge, ...], folder: Path, statements: Iterable[tuple[str, str]]) -> str:
    """64 hex digits of the prompt, the settings of all judges, and the statements, in any order."""
    return _digest([TEXTS, _settings(judges, folder), sorted({(name, text) for name, text in statements})])


def question_digest(judges: tuple[Judge, ...], folder: Path, question: JudgeQuestion) -> str:
    """64 hex digits of the prompt, the settings of all judges, and the question. Replays are found by it."""
    return _digest([TEXTS, _settings(judges, folder), _contents(question)])


def conversation_digest(question: JudgeQuestion) -> str:
    """64 hex digits of the statements and the conversation, which is what people label."""
    return _digest(_contents(question))


def judge_name(judges: tuple[Judge, ...], answer: JudgeAnswer, digest: str) -> str:
    """The column `judge`: the models as their endpoints name them, or else as the suite does, and part of the digest.

    >>> judge_name((Judge("m-1"), Judge("m-2")), JudgeAnswer(model="m-1.5 + m-2"), "0123456789abcdef")
    'm-1.5 + m-2 #0123456789ab'
    """
    named = answer.model or " + ".join(judge.python or judge.model or "" for judge in judges)
    return f"{named} #{digest[:_DIGITS]}"


def _settings(judges: tuple[Judge, ...], folder: Path) -> list[str]:
    """The settings that affect the answers of each judge, without address and key, sorted: the order has no effect."""
    return sorted(_written(_setting(judge, folder)) for judge in judges)


def _setting(judge: Judge, folder: Path) -> list[Any]:
    if judge.python is not None:
        return ["python", judge.python, *CheckFiles(folder).contents(Function(judge.python))]
    temperature = None if judge.temperature is None else str(judge.temperature)
    return [judge.format, judge.model, temperature, judge.max_tokens]


def _contents(question: JudgeQuestion) -> list[Any]:
    return [sorted(question.statements.items()), [parts(message) for message in question.conversation]]


def _digest(value: Any) -> str:
    return hashlib.sha256(_written(value).encode()).hexdigest()


def _written(value: Any) -> str:
    """The value as JSON, in ASCII, so that an unpaired surrogate has a digest, too."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
