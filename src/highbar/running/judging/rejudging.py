"""Recorded answers and a suite → what its judge finds in them. Earlier judgments of the same question are reused.

A replay is an earlier judgment of the same judge, by the same prompt, of the same statements about the same
conversation. It costs nothing, but it is not a new measurement, so rows mark it as a replay.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from highbar.errors import InputError, Problem
from highbar.model.judgments import JudgeAnswer, JudgedTrial, JudgeQuestion, StatementJudgment
from highbar.running.judging import Asker, opened
from highbar.running.judging.canaries import canary_result, distrust
from highbar.running.judging.identity import JudgeIdentity
from highbar.running.judging.live_judging import MOST_AT_ONCE
from highbar.running.judging.questions import (
    NO_FINDINGS,
    JudgeFindings,
    canary_question,
    findings,
    findings_unasked,
    judged_trial,
    no_judgment,
    question_of,
)
from highbar.running.loops import run_in_loop
from highbar.running.records import CanaryJudged, TrialEnded, TrialJudged
from highbar.running.stopping import ENOUGH_REFUSALS
from highbar.suite import Scenario, Suite


class EarlierJudgments:
    """Earlier judgments by the digest of their question. A question that was asked twice has both, in order."""

    def __init__(self) -> None:
        self._found: dict[str, list[JudgeAnswer]] = defaultdict(list)
        self._taken: dict[str, int] = defaultdict(int)

    def add_record(self, record: TrialJudged) -> None:
        """Add a record from the journal of a run. A failure is not a judgment, and is skipped."""
        if record.answer.failure is None:
            self._add(record.digest, record.judge, record.answer)

    def add_row(self, row: Mapping[str, Any]) -> None:
        """Add the judgment in a row, if it has one."""
        column = row.get("judged")
        with suppress(msgspec.DecodeError, RecursionError):  # another program may write a column of this name
            # In CSV the column is JSON text; in JSON lines it is an object.
            if isinstance(column, str):
                column = msgspec.json.decode(column)
            judged = msgspec.convert(column, JudgedTrial)
            statements = {
                name: StatementJudgment(one.judgment, one.evidence, one.votes)
                for name, one in judged.statements.items()
            }
            self._add(judged.digest, str(row.get("judge", "")), JudgeAnswer(statements))

    def _add(self, digest: str, judge: str, answer: JudgeAnswer) -> None:
        # The name ends with a digest of all statements of the suite. They may have changed, but not this question.
        model = judge.rpartition(" #")[0] or None
        self._found[digest].append(replace(answer, model=answer.model or model))

    def add_canary(self, record: CanaryJudged) -> None:
        """Add what the judge of a run said about a canary. A failure is skipped."""
        if record.answer.failure is None:
            self._found[record.digest].append(record.answer)

    def take(self, digest: str, question: JudgeQuestion) -> JudgeAnswer | None:
        """An earlier judgment of this question; None if there is none.

        If there are several, each call returns the next one, and finally the last one again and again.
        """
        known = [one for one in self._found.get(digest, ()) if one.statements.keys() == question.statements.keys()]
        if not known:
            return None
        place = min(self._taken[digest], len(known) - 1)
        self._taken[digest] += 1
        return known[place]


class JudgedAgain(Struct, frozen=True, eq=False):
    """What a judge found, by scenario and trial.

    `asked` counts the answers that it was asked about, `replayed` the replays, `failed` the answers that it could not
    judge. `distrust` is why none of it counts, if so.
    """

    found: Mapping[tuple[str, int], JudgeFindings]
    asked: int
    replayed: int
    failed: int
    distrust: str | None = None

    def __call__(self, scenario: Scenario, ended: TrialEnded) -> JudgeFindings:
        """What the judge found in a trial that ended."""
        return self.found.get((scenario.id, ended.trial), NO_FINDINGS)

    def notes(self) -> Iterator[str]:
        """Notes for the user."""
        if self.replayed:
            yield f"{self.replayed} judgments are replays of earlier ones; --fresh asks the judge again"
        if self.failed:
            yield f"the judge gave no usable answer about {self.failed} of {self.asked} answers: they are undecided"
        if self.distrust:
            yield f"the judge is not believed: {self.distrust}; its rows are undecided"


def judge_again(
    suite: Suite,
    trials: Iterable[tuple[Scenario, TrialEnded]],
    beside: Path,
    environment: Mapping[str, str],
    earlier: EarlierJudgments | None,
) -> JudgedAgain:
    """Ask the judge of a suite about recorded answers. If `earlier` is None, it is asked about all of them.

    Raises InputError if the judge refuses the first questions.
    """
    identity = JudgeIdentity(suite, beside)
    found: dict[tuple[str, int], JudgeFindings] = {}
    replays: dict[tuple[str, int], Scenario] = {}
    questions: dict[tuple[str, int], tuple[Scenario, JudgeQuestion]] = {}
    for scenario, ended in trials:
        key, question = (scenario.id, ended.trial), question_of(scenario, ended)
        known = earlier.take(identity.digest(question), question) if question is not None and earlier else None
        if question is None:
            found[key] = findings_unasked(scenario, ended)
        elif known is not None:
            replays[key] = scenario
            found[key] = _findings(question, known, identity, replayed=True)
        else:
            questions[key] = scenario, question
    canaries = _known_canaries(suite, identity, earlier)
    if not questions and len(canaries) == len(suite.canaries):
        made = JudgedAgain({}, 0, 0, 0, distrust(canary_result(suite.canaries, canaries)))
    else:
        made = run_in_loop(_ask_judge(suite, identity, questions, environment, canaries))
    if made.distrust is not None:  # a judge that fails its canaries now is not believed in replays either
        found |= {key: no_judgment(scenario, made.distrust) for key, scenario in replays.items()}
    return JudgedAgain({**found, **made.found}, made.asked, len(replays), made.failed, made.distrust)


def _known_canaries(suite: Suite, identity: JudgeIdentity, earlier: EarlierJudgments | None) -> dict[str, JudgeAnswer]:
    """Earlier answers of the judge about canaries of the suite, by id."""
    found: dict[str, JudgeAnswer] = {}
    for canary in suite.canaries if earlier is not None else ():
        question = canary_question(canary)
        known = earlier.take(identity.digest(question), question) if earlier is not None else None
        if known is not None:
            found[canary.id] = known
    return found


def _findings(
    question: JudgeQuestion, answer: JudgeAnswer, identity: JudgeIdentity, *, replayed: bool = False
) -> JudgeFindings:
    digests = identity.digest(question), identity.conversation(question)
    column = judged_trial(question, answer, *digests, replayed=replayed)
    return findings(question, answer, identity.name(answer), column)


async def _ask_judge(
    suite: Suite,
    identity: JudgeIdentity,
    questions: Mapping[tuple[str, int], tuple[Scenario, JudgeQuestion]],
    environment: Mapping[str, str],
    known: Mapping[str, JudgeAnswer],
) -> JudgedAgain:
    left = [canary for canary in suite.canaries if canary.id not in known]
    async with opened(identity.judges, folder=identity.folder, environment=environment) as asker:
        canaries = await _answers(asker, map(canary_question, left))
        answers = await _answers(asker, (question for _, question in questions.values()))
    by_id = {**known, **{canary.id: answer for canary, answer in zip(left, canaries, strict=True)}}
    why = distrust(canary_result(suite.canaries, by_id))
    found = {}
    count = 0
    for (key, (scenario, question)), answer in zip(questions.items(), answers, strict=True):
        count += answer.failure is not None
        if answer.failure is not None or why is not None:
            found[key] = no_judgment(scenario, answer.failure or why or "")
        else:
            found[key] = _findings(question, answer, identity)
    return JudgedAgain(found, len(questions), 0, count, why)


async def _answers(asker: Asker, questions: Iterable[JudgeQuestion]) -> list[JudgeAnswer]:
    """The answers of the judge, in the order of the questions. Raises InputError if it refuses the first ones."""
    wanted = list(questions)
    answers: list[JudgeAnswer | None] = [None] * len(wanted)
    left = iter(range(len(wanted)))

    async def work(most: int) -> None:
        for place in islice(left, most):
            answers[place] = await asker.ask(wanted[place])

    # The first few alone: with a wrong key, no more than these are asked.
    await work(ENOUGH_REFUSALS)
    _refuse_wrong_key(answers[:ENOUGH_REFUSALS])
    async with asyncio.TaskGroup() as group:
        for _ in range(min(MOST_AT_ONCE, len(wanted))):
            group.create_task(work(len(wanted)))
    return [answer if answer is not None else JudgeAnswer(failure="it was not asked") for answer in answers]


def _refuse_wrong_key(first: Sequence[JudgeAnswer | None]) -> None:
    """Raise InputError if the first questions were all refused, before many more are asked."""
    refusals = [answer.failure or answer.refusal for answer in first if answer is not None and answer.refusal]
    if refusals and len(refusals) == len(first):
        raise InputError(
            Problem("judge.refused", f"the judge refused: {refusals[0]}", hint="check the judge's address and key")
        )
