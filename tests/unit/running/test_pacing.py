"""How fast calls begin at servers that limit them: whole runs, with servers and a clock that are simulated."""

from __future__ import annotations

import asyncio
import math
import random
from fractions import Fraction

import pytest
from bench.limiters import Bucket, Limiter, SlidingWindow, Storm, Window
from hypothesis import given
from hypothesis import strategies as st

from highbar.running.calls import AgentCall, Attempt, Reply
from highbar.running.pacing import AllowedRate, Pace
from highbar.running.retries import Backoff
from highbar.running.scheduling import Timing
from highbar.running.summary import Summary
from tests.scheduled import ScheduledRun
from tests.scripted_agent import ANSWERED, ScriptedAgent, suite_of, work_of
from tests.virtual_time import VirtualLoop, in_virtual_time


class LimitedAgent(ScriptedAgent):
    """An agent at a server with a limit. `calls_at` has for each call when it came, and whether it was taken."""

    def __init__(
        self, loop: VirtualLoop, limiter: Limiter, latency: float, *, says_when: bool, code: int, seed: int = 1
    ) -> None:
        super().__init__()
        self.calls_at: list[tuple[float, bool]] = []
        self._loop, self._limiter, self._latency = loop, limiter, latency
        self._says_when, self._code, self._random = says_when, code, random.Random(seed)

    async def answer(self, _: AgentCall) -> Attempt:
        wait = self._limiter.refuse(self._loop.time())
        self.calls_at.append((self._loop.time(), wait is None))
        if wait is None:
            latency = self._latency * self._random.uniform(0.7, 1.3)
            await asyncio.sleep(latency)
            return Attempt("answered", Reply("yes"), latency_ms=latency * 1000)
        await asyncio.sleep(0.005)
        asked = float(math.ceil(wait)) if self._says_when else None
        return Attempt("infrastructure", reason="busy", busy=True, limited=self._code != 503, retry_after=asked)

    @property
    def refused(self) -> int:
        return sum(not taken for _, taken in self.calls_at)


def limited(
    limiter: Limiter, count: int, *, latency: float = 0.05, says_when: bool = False, code: int = 429, **settings: object
) -> tuple[Summary, LimitedAgent]:
    """A run of so many trials at a server with this limit."""

    async def run(loop: VirtualLoop) -> tuple[Summary, LimitedAgent]:
        agent = LimitedAgent(loop, limiter, latency, says_when=says_when, code=code)
        # As much jitter as there can be, but always the same.
        backoff = Backoff(random=random.Random(7).random)
        trials = ScheduledRun(work_of(suite_of(count)), count, timing=Timing(loop.time, backoff), **settings)
        return await trials.under_way(agent), agent

    return in_virtual_time(run)


LIMITS = [
    pytest.param(lambda: Bucket(5, 5), 5, 200, {"concurrency": 8}, id="5 per second"),
    pytest.param(lambda: Bucket(5, 1), 5, 200, {"concurrency": 8}, id="5 per second, evenly"),
    pytest.param(lambda: Bucket(5, 1), 5, 200, {"concurrency": 64}, id="5 per second, and 64 at once"),
    pytest.param(lambda: Bucket(2, 2), 2, 100, {}, id="2 per second"),
    pytest.param(lambda: Bucket(2, 1), 2, 100, {}, id="2 per second, evenly"),
    pytest.param(lambda: Bucket(50, 50), 50, 2000, {}, id="50 per second"),
    pytest.param(lambda: Bucket(50, 5), 50, 2000, {"concurrency": 64}, id="50 per second, 5 at once"),
    pytest.param(lambda: Bucket(0.5, 1), 0.5, 40, {}, id="30 per minute"),
    pytest.param(lambda: Window(60, 30), 2, 180, {}, id="60 per 30 seconds"),
    pytest.param(lambda: Window(60, 30), 2, 180, {"concurrency": 8}, id="60 per 30 seconds, 8 at once"),
    pytest.param(lambda: SlidingWindow(60, 60), 1, 180, {}, id="60 in any minute"),
]


@pytest.mark.parametrize("code", [429, 503])
@pytest.mark.parametrize("says_when", [True, False])
@pytest.mark.parametrize("latency", [0.02, 0.5])
@pytest.mark.parametrize(("limiter", "allowed", "count", "settings"), LIMITS)
def test_no_trial_is_lost_to_a_limit_which_is_used_to_at_least_85_percent(
    limiter, allowed, count, settings, latency, says_when, code
):
    summary, agent = limited(limiter(), count, latency=latency, says_when=says_when, code=code, **settings)
    assert (summary.answered, summary.unanswered) == (count, 0)
    assert count / summary.seconds >= 0.85 * allowed
    assert agent.refused <= 0.6 * count
    assert summary.allowance is not None
    assert 0.75 * allowed <= summary.allowance.per_second <= 1.1 * allowed


@pytest.mark.parametrize("says_when", [True, False])
def test_a_rate_that_is_known_from_few_calls_is_soon_left_behind(says_when):
    """The first refusals come while the pace is still being found, and say little."""
    summary, _ = limited(Bucket(50, 1), 2000, latency=0.02, says_when=says_when, concurrency=64)
    assert summary.unanswered == 0
    assert 2000 / summary.seconds >= 0.82 * 50


def test_the_end_of_a_run_says_how_many_calls_at_once_would_do():
    summary, _ = limited(Bucket(5, 1), 200, latency=0.3, concurrency=8)
    assert summary.allowance is not None
    assert summary.allowance.at_once == 2
    assert str(summary.allowance) in ("about 4.6 calls per second", "about 4.7 calls per second")


@pytest.mark.parametrize("says_when", [True, False])
@pytest.mark.parametrize("begins", [0.0, 0.2])
@pytest.mark.parametrize("concurrency", [1, 8, "auto"])
def test_a_storm_of_twelve_seconds_loses_nothing_and_is_over_soon(begins, concurrency, says_when):
    storm = Storm(begins, begins + 12)
    summary, agent = limited(storm, 60, says_when=says_when, code=503, concurrency=concurrency)
    assert summary.unanswered == 0
    assert summary.seconds < begins + 12 + 1.5 + 60 * 0.06 / (1 if concurrency == 1 else 4)
    assert agent.refused < 60
    assert summary.allowance is None  # one outage is no rate


def test_without_a_limit_nothing_waits():
    summary, _ = limited(Storm(9, 9), 400, concurrency=8)
    assert summary.seconds == pytest.approx(400 * 0.05 / 8, rel=0.1)


def test_conversations_are_paced_by_their_calls():
    suite = suite_of(20, input=None, turns=["One", "Two", "Three", "Four", "Five"])

    async def run(loop: VirtualLoop) -> tuple[Summary, LimitedAgent]:
        agent = LimitedAgent(loop, Bucket(5, 1), 0.02, says_when=False, code=429)
        trials = ScheduledRun(work_of(suite), 20, timing=Timing(loop.time), concurrency=8)
        return await trials.under_way(agent), agent

    summary, agent = in_virtual_time(run)
    assert (summary.answered, summary.unanswered) == (20, 0)
    assert 100 / summary.seconds >= 0.85 * 5
    assert agent.refused <= 25


# --- what uses up a retry ------------------------------------------------------------------------


class BusyAgent(ScriptedAgent):
    """Refuses the scenarios that are given, and answers the others after `latency` seconds."""

    def __init__(self, refuses: set[str], latency: float = 1.0, attempt: Attempt | None = None) -> None:
        super().__init__()
        self._refuses, self._latency = refuses, latency
        self._attempt = attempt or Attempt("infrastructure", reason="HTTP 429", busy=True, limited=True)

    async def answer(self, call: AgentCall) -> Attempt:
        if call.id in self._refuses:
            return self._attempt
        await asyncio.sleep(self._latency)
        return ANSWERED


def busy(agent: ScriptedAgent, count: int, **settings: object) -> tuple[Summary, ScheduledRun]:
    async def run(loop: VirtualLoop) -> tuple[Summary, ScheduledRun]:
        trials = ScheduledRun(work_of(suite_of(count)), count, timing=Timing(loop.time), **settings)
        return await trials.under_way(agent), trials

    return in_virtual_time(run)


def test_a_question_that_alone_is_refused_is_undecided_after_the_patience_and_holds_nobody_up():
    summary, run = busy(BusyAgent({"S1"}), 100, concurrency=2, retries=2)
    assert (summary.answered, summary.unanswered) == (99, 1)
    outcome, attempts = run.outcomes["S1"]
    assert outcome == "infrastructure"
    assert attempts > 3
    last_answer = max(99 / 2, 0)
    assert last_answer + 300 < summary.seconds < last_answer * 1.5 + 300 + 200


@pytest.mark.parametrize("patience", [0, 20, 300])
def test_a_server_that_never_answers_is_given_up_after_the_patience(patience):
    summary, _ = busy(BusyAgent({f"S{place}" for place in range(4)}), 4, retries=2, patience=Fraction(patience))
    assert summary.unanswered == 4
    assert patience < summary.seconds < patience + 150
    assert summary.no_answer == "HTTP 429"


def test_an_answer_now_and_then_is_enough_however_short_the_patience():
    """Each window is longer than the patience, but others are answered between two refusals of the same question."""
    summary, _ = limited(Window(6, 30), 30, concurrency=8, retries=1, patience=Fraction(1))
    assert summary.answered >= 6  # what does not wait for others is lost
    summary, _ = limited(Window(6, 30), 30, concurrency=8, retries=1, patience=Fraction(31))
    assert summary.answered == 30


@pytest.mark.parametrize("limited_", [True, False])
def test_what_is_no_limit_of_a_server_uses_up_retries(limited_):
    """As when no process can be started: an agent could cause that, and stay undecided."""
    attempt = Attempt("infrastructure", reason="no process", limited=limited_)
    summary, run = busy(BusyAgent({"S1"}, attempt=attempt), 100, concurrency=2, retries=2)
    assert run.outcomes["S1"] == ("infrastructure", 3)
    assert summary.seconds < 60
    assert summary.allowance is None


def test_the_time_of_the_run_ends_a_wait_for_the_server():
    summary, _ = busy(BusyAgent({f"S{place}" for place in range(9)}), 9, max_time=Fraction(40))
    assert summary.how == "time"
    assert summary.seconds == pytest.approx(40, abs=0.1)


def test_a_request_to_stop_ends_a_wait_for_the_server():
    async def run(loop: VirtualLoop) -> Summary:
        trials = ScheduledRun(work_of(suite_of(9)), 9, timing=Timing(loop.time))
        loop.call_later(100, trials.stop.request)
        return await trials.under_way(BusyAgent({f"S{place}" for place in range(9)}))

    summary = in_virtual_time(run)
    assert summary.how == "interrupted"
    assert summary.seconds == pytest.approx(100, abs=0.1)


# --- the pace alone --------------------------------------------------------------------------------


@pytest.mark.hazard("H87")
@given(st.lists(st.tuples(st.floats(0, 100), st.booleans(), st.none() | st.floats(allow_infinity=True)), max_size=60))
def test_whatever_a_server_says_the_next_call_begins_within_a_minute(events):
    pace, now, waits = Pace(), 0.0, []
    for later, is_refused, asked in events:
        now = max(now + later, pace.due())
        waits.append(pace.begin(now))
        if is_refused:
            pace.refused(now, waits.pop(), asked)
        elif len(waits) > 3:
            pace.taken(now, waits.pop(0), later)
        assert pace.due() <= now + 61


def test_a_rate_is_said_in_words_that_can_be_read():
    rates = {123.4: "about 120 calls per second", 1.0: "about 1 call per second", 0.999: "about 60 calls per minute"}
    assert {rate: str(AllowedRate(rate, 1)) for rate in rates} == rates
