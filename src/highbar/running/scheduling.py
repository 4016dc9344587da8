"""Trials in, their ends out: what is called when, what is tried again, and when to stop.

A few workers each take a trial, ask its questions one after the other, report its end, and take the next one. So a
million trials need no more tasks than a hundred. A trial that waits for a retry does not occupy a worker.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from highbar.running.calls import Attempt, Caller
from highbar.running.concurrency import Concurrency
from highbar.running.conversation import Conversation
from highbar.running.pacing import Pace, note_attempt
from highbar.running.progress import ProgressState
from highbar.running.records import Began, TrialEnded
from highbar.running.retries import Backoff, RetryRule, WaitingTrials
from highbar.running.stopping import FirstRefusals, StopRequest
from highbar.running.summary import HowEnded, Summary, Tally
from highbar.store.run_document import FINISHED
from highbar.suite import RunSettings, Scenario

_MOST_WAITING = 1000
"""Trials that may wait for a retry at once. It limits memory: each holds what it has received so far."""
_TICK = 0.05
_TICKS_PER_MOMENT = 20
_CALLS_PER_YIELD = 16


class Timing(Struct, frozen=True):
    """The clock, in seconds that never go back, and how long to wait before a retry.

    No new trial begins while `hold` returns True.
    """

    clock: Callable[[], float] = time.monotonic
    backoff: Backoff = Backoff()
    hold: Callable[[], bool] = lambda: False


async def run_trials(
    work: Iterator[tuple[Scenario, int]],
    caller: Caller,
    settings: RunSettings,
    *,
    on_begin: Callable[[Began], object],
    on_end: Callable[[TrialEnded], object],
    progress: ProgressState,
    stop: StopRequest | None = None,
    timing: Timing | None = None,
) -> Summary:
    """Run the trials in this order, and report when each begins and ends. An exception of a report ends the run.

    `progress` has how many trials are planned and what earlier sessions did; it is updated as trials end. The run stops
    if the first five trials of all sessions are refused, or if the agent reports another version than before.
    """
    scheduler = _Scheduler(work, caller, settings, Tally(progress, settings), stop or StopRequest(), timing or Timing())
    scheduler.on_begin, scheduler.on_end = on_begin, on_end
    return await scheduler.run()


class _Scheduler:
    """The state of `run_trials`."""

    on_begin: Callable[[Began], object]
    on_end: Callable[[TrialEnded], object]

    def __init__(
        self,
        work: Iterator[tuple[Scenario, int]],
        caller: Caller,
        settings: RunSettings,
        tally: Tally,
        stop: StopRequest,
        timing: Timing,
    ) -> None:
        self._work, self._caller, self._settings, self._tally, self._stop = work, caller, settings, tally, stop
        self._clock, self._hold = timing.clock, timing.hold
        self._start = self._clock()
        self._retries = RetryRule(settings.retries, float(settings.patience), timing.backoff, self._start)
        self._pace = Pace()
        self._deadline = None if settings.max_time is None else self._start + float(settings.max_time)
        self._trial_timeout = None if settings.trial_timeout is None else float(settings.trial_timeout)
        at_once = settings.concurrency
        self._concurrency = Concurrency(caller.start, caller.most) if at_once == "auto" else Concurrency(at_once)
        # If earlier sessions have ended trials, the key and the address were right.
        self._refusals = FirstRefusals(tally.progress.planned) if not tally.progress.done else None
        self._waiting = WaitingTrials()
        self._failures = 0  # calls without an answer since the last answer
        self._how: HowEnded | None = None  # why nothing more begins
        self._reason: str | None = None
        self._workers: set[asyncio.Task[None]] = set()
        self._most_workers = 0
        self._canceled = False
        self._is_held = False  # there may be trials that would begin if `hold` let them
        self._is_paced = False  # there may be trials that would begin if the pace let them

    async def run(self) -> Summary:
        self._loop = asyncio.get_running_loop()
        self._finished: asyncio.Future[None] = self._loop.create_future()
        self._alarm: asyncio.TimerHandle | None = None
        self._ticks = 0
        self._tick_due = self._loop.time()
        self._apply_limit()
        self._check_budget()  # earlier sessions may have used it up
        with self._stop.watched(self._loop, self._wake):
            self._tick()
            self._wake()
            try:
                await self._finished
            finally:
                self._ticker.cancel()
                self._set_alarm(None)
                self._cancel()
                if self._workers:
                    await asyncio.wait(self._workers)
        return self._summary()

    def _summary(self) -> Summary:
        refusal = None
        if self._refusals is not None:
            if self._how == "refused":
                refusal = self._refusals.refusal
            elif self._how is None and not self._stop.stage:
                self._report_held()
            # Else the run ended too early to know: those held back are given up, and a resumed run asks them again.
        how = self._how or "complete"
        if self._stop.stage and how in FINISHED:
            how = "interrupted"
        elif how in FINISHED and self._tally.began == self._tally.count and next(self._work, None) is None:
            how = "complete"  # the last trial used up budget or time, or decided the run: nothing was left out
        progress = self._tally.progress
        progress.in_flight = progress.waiting = 0
        # If latencies are measured in another process, the delay of the loop there is the one that matters.
        self._tally.loop_delays = getattr(self._caller, "loop_delays", self._tally.loop_delays)
        summary = self._tally.summary(how, self._clock() - self._start, self._reason, refusal)
        caller = self._caller
        return replace(
            summary,
            escaped=tuple(getattr(caller, "escaped", ())),
            shortage=getattr(caller, "shortage", None),
            allowance=self._pace.allowance,
        )

    # --- one trial after the other -------------------------------------------------------------

    async def _work_on(self, trial: Conversation | None) -> None:
        call, clock, concurrency = self._caller.call, self._clock, self._concurrency
        while trial is not None:
            began = clock()
            concurrency.began(began)
            attempt = await call(trial.question())
            self._note(began, attempt, trial.tries.wait)
            same = self._next_turn(trial, attempt, began)
            if not self._tally.calls % _CALLS_PER_YIELD:
                await asyncio.sleep(0)  # lets signals and timers run even if no call ever waits
            if same is not None:
                await self._begin_turn(same)
            trial = same or self._next()

    async def _begin_turn(self, trial: Conversation) -> None:
        """Wait until the next turn of a trial may begin."""
        while (wait := self._wait_for_pace()) > 0:  # noqa: ASYNC110 - the pace is a time, which changes meanwhile
            await asyncio.sleep(wait)
        trial.tries.wait = self._pace.begin(self._clock())

    def _note(self, began: float, attempt: Attempt, wait: int) -> None:
        note_attempt(self._concurrency, self._pace, attempt, wait, began, self._clock())
        if self._concurrency.limit != self._tally.progress.at_once:
            self._apply_limit()
        self._tally.called(attempt)

    def _next_turn(self, trial: Conversation, attempt: Attempt, began: float) -> Conversation | None:
        """The same trial if it has another turn; None if it has ended or waits for a retry."""
        # Before the retries: five refused connections end the run, without waiting for any of them to be retried.
        if self._refusals is not None and self._is_refused(self._refusals, trial, attempt):
            return None
        if attempt.outcome != "infrastructure":
            self._failures = 0
            self._retries.answered(self._clock())
        else:
            self._failures += 1
            now = self._clock()
            if (wait := self._retries.wait(trial.tries, attempt, began, now)) is not None:
                due = now + wait
                if attempt.busy and self._retries.is_hopeful(now):
                    due = max(due, self._pace.after_next(now))
                self._waiting.add(due, trial)
                return None
        ended = trial.take(attempt)
        if ended is None:
            return trial
        self._end_trial(ended)
        return None

    def _end_trial(self, ended: TrialEnded) -> None:
        if self._refusals is None:
            self._report(ended)
        else:
            self._refusals.held.append(ended)

    def _report(self, ended: TrialEnded) -> None:
        self._tally.ended(ended)
        self.on_end(ended)
        if len(self._tally.versions) > 1:
            self._how = "versions"
            self._cancel()
        else:
            self._check_budget()

    def _check_budget(self) -> None:
        if self._how is None and (reason := self._tally.spending.exhausted) is not None:
            self._how, self._reason = "budget", reason

    def _is_refused(self, refusals: FirstRefusals, trial: Conversation, attempt: Attempt) -> bool:
        known = refusals.note(trial.scenario.id, trial.trial, attempt)
        if known == "accepted":
            self._report_held()
        elif known == "refused":
            self._how = "refused"
            self._cancel()
        return known == "refused"

    def _report_held(self) -> None:
        """Report the trials that were held back: they are errors of the agent like any other."""
        held = self._refusals.held if self._refusals is not None else []
        self._refusals = None
        for ended in held:
            self._report(ended)

    # --- the next trial ------------------------------------------------------------------------

    def _next(self) -> Conversation | None:
        """The next trial for a free worker; None if the worker is not needed any more."""
        # The limit may have changed: if it grew, start more workers; if it shrank, let this one end.
        workers = len(self._workers)
        if workers < self._most_workers:
            self._start_workers()
        return self._take() if workers <= self._most_workers else None

    def _take(self) -> Conversation | None:
        """A trial that can begin now, and counts as begun for the pace; None if there is none."""
        trial = self._find()
        if trial is not None:
            trial.tries.wait = self._pace.begin(self._clock())
        return trial

    def _find(self) -> Conversation | None:
        """A trial that is due for a retry, or else a new one; None if no trial can begin now."""
        if self._is_over():
            self._waiting.clear()
            self._is_held = self._is_paced = False
            self._give_up_ahead()
            return None
        self._is_paced = self._wait_for_pace() > 0
        if self._is_paced:
            return None
        if self._waiting:
            trial = self._waiting.pop(self._clock())
            if trial is not None or not self._may_begin():
                return trial
        self._is_held = self._hold()
        found = None if self._is_held else next(self._work, None)
        if found is None:
            return None
        scenario, number = found
        self._tally.began += 1
        self.on_begin(Began(scenario.id, number))
        return Conversation(scenario, number, self._trial_timeout)

    def _wait_for_pace(self) -> float:
        """The seconds until the next call may begin. If nothing got through for long, waiting helps no more."""
        now = self._clock()
        return self._pace.due() - now if self._retries.is_hopeful(now) else 0.0

    def _is_over(self) -> bool:
        if self._how is None:
            if self._stop.stage:
                self._how = "interrupted"
            elif self._stop.is_decided:
                self._how = "decided"
            elif self._deadline is not None and self._clock() >= self._deadline:
                self._how, self._reason = "time", "the time of the run is used up"
        return self._how is not None

    def _may_begin(self) -> bool:
        """Whether new trials may begin while others wait for a retry.

        If more calls in a row fail than there are workers, the other side is down or refuses everything, and new trials
        would waste their retries. Waiting trials are tried first; once one gets through, new trials begin again.
        """
        if self._refusals is not None:  # five trials must begin to tell a wrong key from an outage
            return True
        return self._failures <= self._most_workers and len(self._waiting) < _MOST_WAITING

    # --- workers -------------------------------------------------------------------------------

    def _apply_limit(self) -> None:
        limit = self._concurrency.limit
        self._tally.progress.at_once = limit
        # A caller that takes questions ahead needs a second worker for each slot, to hand it the next question. With a
        # budget it gets none: it would begin that question before anyone knows what the answer before it cost.
        is_ahead = self._caller.ahead and self._settings.budget is None
        self._most_workers = 2 * limit if is_ahead else limit
        self._caller.allow(limit)

    def _start_workers(self) -> None:
        """Start workers until all slots are used or no trial can begin."""
        while len(self._workers) < self._most_workers and (trial := self._take()) is not None:
            worker = self._loop.create_task(self._work_on(trial))
            self._workers.add(worker)
            worker.add_done_callback(self._worker_ended)
        if len(self._workers) >= self._most_workers:  # one that becomes free looks for itself
            self._set_alarm(None)
        else:
            self._set_alarm(self._pace.due() if self._is_paced else self._waiting.next_due)

    def _worker_ended(self, worker: asyncio.Task[None]) -> None:
        self._workers.discard(worker)
        error: BaseException | None = None
        if not worker.cancelled():
            error = worker.exception()
        elif not self._canceled and self._how is None:  # or the trial would silently disappear
            error = RuntimeError("a call of the agent was canceled, and nobody asked for it")
        if error is not None and not self._finished.done():
            self._finished.set_exception(error)
        self._wake()

    def _wake(self) -> None:
        """React to everything but calls: a stop was requested, a retry is due, or a worker has left."""
        if self._finished.done():
            return
        try:
            if self._is_over():
                self._give_up_ahead()
            if self._stop.stage == 2:
                self._cancel()
            self._start_workers()
        except BaseException as error:  # noqa: BLE001 - a report raised it: it belongs to whoever awaits the run
            self._finished.set_exception(error)
        else:
            if not self._workers and not self._waiting and not self._is_held and not self._is_paced:
                self._finished.set_result(None)

    def _give_up_ahead(self) -> None:
        """Withdraw the questions that were handed over ahead and have not begun."""
        if self._caller.ahead:
            self._caller.allow(0)

    def _cancel(self) -> None:
        """Cancel all calls. A worker that calls this is between two calls, so it interrupts no call of its own."""
        self._canceled = True
        for worker in self._workers:
            worker.cancel()

    def _set_alarm(self, due: float | None) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if due is not None:
            first = due if self._deadline is None else min(due, self._deadline)
            self._alarm = self._loop.call_later(max(0.0, first - self._clock()), self._wake)

    def _tick(self) -> None:
        """Measure how late the loop is, and update the progress."""
        now, progress = self._loop.time(), self._tally.progress
        if self._ticks:
            # Timers are rounded up to a millisecond, which is no delay.
            self._tally.loop_delays.add(max(0.0, (now - self._tick_due) * 1000 - 1))
        if self._ticks % _TICKS_PER_MOMENT == 0:
            progress.note(self._clock())
        if self._how is None and self._is_over():
            self._give_up_ahead()  # otherwise they begin as soon as the current calls end
        if self._is_held:
            self._wake()
        # Questions that were handed over ahead do not run yet.
        given = self._concurrency.in_flight
        progress.in_flight = min(given, self._concurrency.limit) if self._caller.ahead else given
        progress.waiting = len(self._waiting)
        self._ticks += 1
        self._tick_due = now + _TICK
        self._ticker = self._loop.call_at(self._tick_due, self._tick)
