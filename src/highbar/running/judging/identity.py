"""Who judges, as digests and a name: the same question to the same judge has the same digest."""

from __future__ import annotations

from pathlib import Path

from highbar.model.judgments import JudgeAnswer, JudgeQuestion
from highbar.running.judging import conversation_digest, judge_name, prompt_digest, question_digest
from highbar.running.judging.questions import statements_in
from highbar.suite import Suite


class JudgeIdentity:
    """The judges of a suite. `folder` is where the functions of Python judges are found."""

    def __init__(self, suite: Suite, folder: Path) -> None:
        self.judges = suite.judges
        self.folder = folder
        self.prompt = prompt_digest(suite.judges, folder, statements_in(suite))

    def name(self, answer: JudgeAnswer) -> str:
        """The text of the column `judge`."""
        return judge_name(self.judges, answer, self.prompt)

    def digest(self, question: JudgeQuestion) -> str:
        """The digest of the question to these judges: by it, an earlier judgment is found again."""
        return question_digest(self.judges, self.folder, question)

    def conversation(self, question: JudgeQuestion) -> str:
        """The digest of statements and conversation, whoever judges."""
        return conversation_digest(question)
