"""The identity of a suite's judge, as a name and digests: the same question to the same judge has the same digest."""

from __future__ import annotations

from pathlib import Path

from highbar.model.judgments import JudgeAnswer, JudgeQuestion
from highbar.running.judging import conversation_digest, judge_name, prompt_digest, question_digest
from highbar.running.judging.questions import statements_in
from highbar.suite import Suite


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
