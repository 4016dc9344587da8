"""The journal of a run → what its judge found in each trial, for the grader; and totals of the judge's work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from highbar.model.judge_quality import CanaryReport
from highbar.model.judgments import JudgeAnswer
from highbar.running import folder
from highbar.running.agents.replies import MOST_COST
from highbar.running.journal_state import JournalState
from highbar.running.judging import sum_if_known
from highbar.running.judging.questions import (
    JudgeFindings,
    Judgments,
    findings,
    findings_unasked,
    judged_trial,
    no_judgment,
    question_of,
)
from highbar.running.records import TrialEnded, TrialJudged
from highbar.store.run_document import JudgeOfRun
from highbar.suite import Scenario

if TYPE_CHECKING:  # only if there is a judge
    from highbar.running.judging.identity import JudgeIdentity

NOT_ASKED = "it was not asked about this answer"
OTHER_STATEMENTS = "it was asked about other statements"
OTHER_JUDGE = "another judge, or one with another prompt or other settings, was asked"


class JudgeTally:
    """Counts what a judge did in a run."""

    def __init__(self) -> None:
        self.by: dict[str, None] = {}
        self.forms: dict[str, None] = {}
        self.trials = self.statements = self.failed = 0
        self.tokens: int | None = 0
        self.cost: Decimal | None = Decimal(0)

    def note(self, record: TrialJudged | None) -> None:
        """Count a trial that should have been judged; None if the judge was not asked."""
        if record is None:
            self.failed += 1
            return
        self.spend(record.answer)
        if record.answer.failure is not None:
            self.failed += 1
            return
        self.by[record.judge] = None
        self.trials += 1
        self.statements += len(record.answer.statements)

    def spend(self, answer: JudgeAnswer) -> None:
        """Add tokens and cost of one answer. If one is unknown, so is the sum."""
        self.tokens = sum_if_known(self.tokens, answer.tokens_used)
        self.cost = sum_if_known(self.cost, answer.cost_usd)
        if self.cost is not None and not 0 <= self.cost <= MOST_COST:  # an endpoint can report any cost
            self.cost = None
        if answer.form is not None:
            self.forms[answer.form] = None

    def document(self, prompt: str, canaries: CanaryReport | None, *, same_model: bool) -> JudgeOfRun:
        """The totals, as `run.json` stores them."""
        return JudgeOfRun(
            tuple(self.by),
            prompt,
            self.trials,
            self.statements,
            self.failed,
            self.tokens,
            None if self.cost is None else float(self.cost),
            tuple(self.forms),
            same_model,
            canaries,
        )


@contextmanager
def judgments_of(
    path: Path,
    history: JournalState,
    distrust: str | None = None,
    tally: JudgeTally | None = None,
    identity: JudgeIdentity | None = None,
) -> Iterator[Judgments]:
    """What the judge of a run said. If `distrust` says why none of it counts, every statement is undecided.

    With an `identity`, only what that judge would have been asked in the same way counts.
    """
    with folder.open_judgments(path) as judged_at:

        def of(scenario: Scenario, ended: TrialEnded) -> JudgeFindings:
            question = question_of(scenario, ended)
            if question is None:
                return findings_unasked(scenario, ended)
            place = history.judgment(scenario.id, ended.trial)
            record = None if place is None else judged_at(place)
            if tally is not None:
                tally.note(record)
            from highbar.running.judging.identity import conversation_digest  # only if there is a judge

            if record is None:
                return no_judgment(scenario, NOT_ASKED)
            conversation = conversation_digest(question)
            if record.conversation != conversation:
                return no_judgment(scenario, OTHER_STATEMENTS)
            if identity is not None and record.digest != identity.digest(question):
                return no_judgment(scenario, OTHER_JUDGE)
            if record.answer.failure is not None or distrust is not None:
                return no_judgment(scenario, record.answer.failure or distrust or "")
            column = judged_trial(question, record.answer, record.digest, conversation)
            return findings(question, record.answer, record.judge, column)

        yield of
