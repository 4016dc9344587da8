"""Answers of a run → judgments in its journal, while the run goes on. Each answer is durable before it is judged.

The queue has only the offsets of answers, so that a slow judge does not fill the memory.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Self

from highbar.model.judgments import JudgeAnswer, JudgeQuestion
from highbar.running.folder import RunFolder, open_answers, open_judgments
from highbar.running.judging import Asker
from highbar.running.judging.identity import JudgeIdentity
from highbar.running.judging.questions import canary_question, question_of, statements_of
from highbar.running.pacing import AllowedRate
from highbar.running.progress import ProgressState
from highbar.running.records import CanaryJudged, JudgeRead, TrialEnded, TrialJudged
from highbar.running.stopping import ENOUGH_REFUSALS, StopRequest
from highbar.suite import Canary, Suite

MOST_AT_ONCE = 64
"""Questions that are given to the judge at a time. The judge decides how many of them it asks at once."""
_Work = Canary | tuple[str, int, int]


class RunJudge:
    """Judges the trials that `add` gets, in that order. Use it with `async with`, and call `finish` at the end.

    If the first questions are all refused, `refusal` says how, and the run is asked to stop.
    """

    def __init__(
        self,
        suite: Suite,
        identity: JudgeIdentity,
        asker: Asker,
        opened: RunFolder,
        progress: ProgressState,
        stop: StopRequest,
    ) -> None:
        self.refusal: str | None = None
        self._suite, self._identity, self._asker, self._opened = suite, identity, asker, opened
        self._progress, self._stop = progress, stop
        self._queue: asyncio.Queue[_Work] = asyncio.Queue()
        self._workers: list[asyncio.Task[None]] = []
        self._error: BaseException | None = None
        self._longest = max((float(judge.timeout) for judge in identity.judges), default=0.0)  # of a call
        self._refused = 0
        self._answered = 0
        self._failures: Counter[str] = Counter()
        self._is_accepted = False
        self._stack = ExitStack()
        self._answer_at: Callable[[int], TrialEnded]

    async def __aenter__(self) -> Self:
        self._answer_at = self._stack.enter_context(open_answers(self._opened.path))
        self._start(ENOUGH_REFUSALS)  # the other workers start once the judge has accepted a question
        for work in self._work_left():
            self._put(work)
        return self

    async def __aexit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        self._stack.close()

    @property
    def allowance(self) -> AllowedRate | None:
        """What the judge's server allowed; None if that is not known."""
        return self._asker.allowance

    @property
    def no_answer(self) -> str | None:
        """Why most questions have no answer, if no question has one."""
        return None if self._answered else next((why for why, _ in self._failures.most_common(1)), None)

    def add(self, ended: TrialEnded, offset: int) -> None:
        """Queue a trial that has ended and is recorded at `offset`, if its scenario has statements."""
        if ended.outcome != "infrastructure" and statements_of(self._suite.scenarios[ended.id]):
            self._put((ended.id, ended.trial, offset))

    async def finish(self) -> None:
        """Wait until everything is judged; after one stop request, for calls in flight; after two, for nothing."""
        done, loop = asyncio.ensure_future(self._queue.join()), asyncio.get_running_loop()

        def changed() -> None:
            if self._stop.stage == 2:
                done.cancel()
            elif self._stop.stage == 1:  # a question may wait much longer for a judge without room
                loop.call_later(self._longest, done.cancel)

        with self._stop.watched(loop, changed):
            changed()
            await asyncio.wait([done])
        if self._error is not None:
            raise self._error

    def _work_left(self) -> Iterator[_Work]:
        """The canaries and answers that this judge has not judged by the current statements."""
        history = self._opened.history
        for canary in self._suite.canaries:
            known = history.canaries.get(canary.id)
            if known is None or known.digest != self._identity.digest(canary_question(canary)) or known.answer.failure:
                yield canary
        with open_judgments(self._opened.path) as judged_at:
            for id_, trial, offset in history.final_ends():
                scenario = self._suite.scenarios[id_]
                question = question_of(scenario, self._answer_at(offset)) if statements_of(scenario) else None
                place = history.judgment(id_, trial)
                if question is not None and (place is None or not self._is_same(judged_at(place), question)):
                    yield id_, trial, offset

    def _is_same(self, record: TrialJudged, question: JudgeQuestion) -> bool:
        return record.answer.failure is None and record.digest == self._identity.digest(question)

    def _start(self, workers: int) -> None:
        self._workers += [asyncio.create_task(self._work()) for _ in range(workers)]

    def _put(self, work: _Work) -> None:
        self._progress.to_judge += 1
        self._queue.put_nowait(work)

    async def _work(self) -> None:
        while True:
            work = await self._queue.get()
            try:
                if not self._stop.stage and self._error is None:
                    await self._judge(work)
            except asyncio.CancelledError:
                raise
            except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits for the end
                self._error = self._error or error
            finally:
                self._progress.to_judge -= 1
                self._queue.task_done()

    async def _judge(self, work: _Work) -> None:
        if isinstance(work, Canary):
            question = canary_question(work)
            answer = await self._ask(question)
            self._note_facts()
            self._opened.append(CanaryJudged(work.id, self._identity.digest(question), answer))
            return
        id_, trial, offset = work
        await self._opened.wait_synced(offset)
        asked = question_of(self._suite.scenarios[id_], self._answer_at(offset))
        if asked is None:
            return
        answer = await self._ask(asked)
        digests = self._identity.digest(asked), self._identity.conversation(asked)
        self._note_facts()
        self._opened.append(TrialJudged(id_, trial, *digests, self._identity.name(answer), answer))

    def _note_facts(self) -> None:
        facts = self._asker.take_facts()
        if facts:
            self._opened.append(JudgeRead(tuple(facts)))

    async def _ask(self, question: JudgeQuestion) -> JudgeAnswer:
        answer = await self._asker.ask(question)
        if answer.failure is None:
            self._answered += 1
        else:
            self._failures[answer.failure] += 1
        if not self._is_accepted:
            self._note_refusal(answer)
        return answer

    def _note_refusal(self, answer: JudgeAnswer) -> None:
        """Stop if the first answers are all refusals: the key or the address is wrong."""
        if answer.refusal is None:
            self._is_accepted = True
            self._start(MOST_AT_ONCE - ENOUGH_REFUSALS)
            return
        self._refused += 1
        # If fewer than five questions wait, these are enough.
        if self._refused >= min(ENOUGH_REFUSALS, self._refused + self._queue.qsize()) and self.refusal is None:
            self.refusal = answer.failure or answer.refusal
            self._stop.request()
