"""Which trial is called when, and what is tried again: with agents in this process whose every call is counted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest

from highbar.running.calls import AgentCall, Attempt, Reply
from highbar.running.records import Began
from highbar.running.retries import Backoff
from highbar.running.scheduling import Timing
from highbar.suite import Scenario
from tests.scheduled import ManualClock, ScheduledRun
from tests.scripted_agent import ANSWERED, BUSY, CRASHED, LIMITED, ScriptedAgent, suite_of, work_of


def of(count: int, trials: int = 1, **keys: object) -> ScheduledRun:
    return ScheduledRun(work_of(suite_of(count), trials), count * trials, **keys)


def test_every_trial_is_called_once_in_its_order_and_reported_when_it_ends() -> None:
    run, agent = of(20, trials=3, concurrency=4), ScriptedAgent()
    summary = run.with_(agent)
    planned = [(f"S{place}", trial) for trial in (1, 2, 3) for place in range(20)]
    assert [(call.id, call.trial) for call in agent.calls] == planned
    assert run.began == [Began(*key) for key in planned]
    assert sorted((ended.id, ended.trial) for ended in run.ended) == sorted(planned)
    assert (summary.how, summary.began, summary.ended, summary.answered, summary.calls) == ("complete", 60, 60, 60, 60)
    assert agent.most_at_once == 4


def test_a_run_without_trials_is_complete() -> None:
    assert ScheduledRun(iter(()), 0).with_(ScriptedAgent()).how == "complete"


@pytest.mark.hazard("H21")
def test_an_error_of_the_agent_is_final_at_its_first_attempt() -> None:
    run, agent = of(9, concurrency=3), ScriptedAgent({"S2": [CRASHED], "S5": [CRASHED]})
    summary = run.with_(agent)
    assert set(agent.counts.values()) == {1}
    assert (summary.errors, summary.answered, summary.calls) == (2, 7, 9)
    assert run.outcomes["S2"] == run.outcomes["S5"] == ("error", 1)


def test_what_is_no_fault_of_the_agent_is_tried_again_so_many_times() -> None:
    plan = {"S0": [BUSY] * 2, "S1": [LIMITED] * 3, "S2": [BUSY] * 9, "S3": [BUSY, CRASHED]}
    run, agent = of(5, concurrency=2, retries=3), ScriptedAgent(plan)
    summary = run.with_(agent)
    assert agent.counts == {"S0": 3, "S1": 4, "S2": 4, "S3": 2, "S4": 1}
    assert run.outcomes == {
        "S0": ("answered", 3),
        "S1": ("answered", 4),
        "S2": ("infrastructure", 4),
        "S3": ("error", 2),
        "S4": ("answered", 1),
    }
    assert (summary.answered, summary.errors, summary.unanswered, summary.calls) == (3, 1, 1, 14)
    assert [began.id for began in run.began] == ["S0", "S1", "S2", "S3", "S4"]


def test_without_retries_the_first_attempt_is_the_last() -> None:
    run, agent = of(3, concurrency=1, retries=0), ScriptedAgent({"S1": [BUSY]})
    run.with_(agent)
    assert agent.counts == {"S0": 1, "S1": 1, "S2": 1}
    assert run.outcomes["S1"] == ("infrastructure", 1)


def test_a_turn_is_tried_again_without_the_turns_before_it() -> None:
    suite = suite_of(1, input=None, turns=["One", "Two", "Three"])
    agent = ScriptedAgent({"S0": [ANSWERED, BUSY, LIMITED, ANSWERED, BUSY, ANSWERED]})
    run = ScheduledRun(work_of(suite), 1)
    run.with_(agent)
    assert [call.turn for call in agent.calls] == [1, 2, 2, 2, 3, 3]
    assert run.outcomes == {"S0": ("answered", 3)}
    assert len(run.ended[0].turns) == 3


class ClockedAgent(ScriptedAgent):
    """Each call takes one second of the clock."""

    def __init__(self, clock: ManualClock, plan: dict[str, list[Attempt]]) -> None:
        super().__init__(plan)
        self.clock = clock

    async def answer(self, call: AgentCall) -> Attempt:
        self.clock.now += 1
        return await super().answer(call)


def test_a_trial_that_waits_for_a_retry_holds_no_slot() -> None:
    clock = ManualClock()
    timing = Timing(clock, Backoff(first=0.0))
    busy = Attempt("infrastructure", reason="HTTP 429", limited=True, retry_after=2.5)
    agent = ClockedAgent(clock, {"S0": [busy]})
    of(6, concurrency=1, timing=timing).with_(agent)
    assert [call.id for call in agent.calls] == ["S0", "S1", "S2", "S3", "S0", "S4", "S5"]


def test_a_retry_waits_as_long_as_the_other_side_asks() -> None:
    asked = 0.05
    agent = ScriptedAgent({"S0": [Attempt("infrastructure", reason="HTTP 429", limited=True, retry_after=asked)]})
    start = time.monotonic()
    assert of(1).with_(agent).calls == 2
    assert time.monotonic() - start >= asked


def test_few_trials_use_up_their_retries_while_the_other_side_is_down() -> None:
    most = 0

    class DeadAgent(ScriptedAgent):
        async def answer(self, _: AgentCall) -> Attempt:
            nonlocal most
            most = max(most, len(run.began) - len(run.ended))
            await asyncio.sleep(0)
            return Attempt("infrastructure", reason="HTTP 503", retry_after=0.002)

    run = of(60, concurrency=4, retries=2)
    summary = run.with_(DeadAgent())
    assert (summary.unanswered, summary.calls) == (60, 180)
    assert most <= 8


@pytest.mark.hazard("H89")
def test_many_trials_make_no_more_tasks_than_calls_at_once() -> None:
    suite, pulled, most_pulled, most_tasks = suite_of(10), 0, 0, 0

    def work() -> Iterator[tuple[Scenario, int]]:
        nonlocal pulled
        for trial in range(1, 2001):
            for scenario in suite.scenarios.values():
                pulled += 1
                yield scenario, trial

    class WatchedAgent(ScriptedAgent):
        async def answer(self, call: AgentCall) -> Attempt:
            nonlocal most_pulled, most_tasks
            most_pulled = max(most_pulled, pulled - len(run.ended))
            if call.trial % 100 == 0:
                most_tasks = max(most_tasks, len(asyncio.all_tasks()))
            return await super().answer(call)

    run = ScheduledRun(work(), 20_000, concurrency=16)
    assert run.with_(WatchedAgent()).ended == 20_000
    assert most_pulled <= 16
    assert most_tasks <= 16 + 2  # the run itself, and the test's


@pytest.mark.parametrize(("ahead", "most"), [(False, 6), (True, 12)])
def test_a_caller_that_takes_questions_ahead_gets_one_more_for_each_call(ahead: bool, most: int) -> None:
    agent = ScriptedAgent(ahead=ahead)
    of(100, concurrency=6).with_(agent)
    assert agent.allowed == [6]
    assert agent.most_at_once == most


def test_without_a_number_the_calls_at_once_grow_up_to_what_the_caller_takes() -> None:
    class SleepingAgent(ScriptedAgent):
        async def answer(self, call: AgentCall) -> Attempt:
            clock.now += 1 / len(agent.allowed) ** 3  # more calls at once are faster for all
            return await super().answer(call)

    clock, agent = ManualClock(), SleepingAgent()
    agent.start, agent.most = 2, 8
    summary = of(400, timing=Timing(clock, Backoff(first=0.0))).with_(agent)
    assert agent.allowed == [2, 4, 8]
    assert (agent.most_at_once, summary.at_once) == (8, 8)


def test_how_long_calls_take_is_measured_if_the_caller_does_not_say_it() -> None:
    class SilentAgent(ScriptedAgent):
        async def answer(self, _: AgentCall) -> Attempt:
            await asyncio.sleep(0)
            clock.now += 0.01
            return Attempt("answered", Reply("yes"))

    clock, agent = ManualClock(), SilentAgent()
    of(60, timing=Timing(clock, Backoff(first=0.0))).with_(agent)
    assert agent.allowed[:2] == [8, 16]


def test_fewer_calls_run_at_once_after_the_other_side_asked_for_it() -> None:
    class WatchedAgent(ScriptedAgent):
        async def answer(self, call: AgentCall) -> Attempt:
            found = await super().answer(call)
            seen[call.id] = self.at_once
            return found

    seen: dict[str, int] = {}
    agent = WatchedAgent({"S3": [LIMITED]})
    agent.start = agent.most = 10
    summary = of(40).with_(agent)
    assert agent.allowed[:2] == [10, 8]
    assert summary.answered == 40
    assert (seen["S0"], seen["S25"]) == (10, 8)


def test_calls_have_the_timeout_of_their_scenario_and_of_the_trial() -> None:
    agent = ScriptedAgent()
    ScheduledRun(work_of(suite_of(1, timeout="9s")), 1).with_(agent)
    ScheduledRun(work_of(suite_of(1, timeout="9s")), 1, trial_timeout=4).with_(agent)
    assert [call.timeout for call in agent.calls] == [9.0, 4.0]


def test_latency_and_the_delay_of_the_loop_are_in_the_summary() -> None:
    class BlockingAgent(ScriptedAgent):
        async def answer(self, _: AgentCall) -> Attempt:
            time.sleep(0.06)  # noqa: ASYNC251 - that is the fault of this agent
            await asyncio.sleep(0)
            return Attempt("answered", Reply("yes"), latency_ms=60.0)

    summary = of(6, concurrency=3).with_(BlockingAgent())
    assert summary.latency_p95_ms == pytest.approx(60, rel=0.02)
    assert summary.loop_delay_p95_ms is not None
    assert summary.loop_delay_p95_ms > 50
    assert summary.is_loop_slow


def test_a_loop_that_is_late_by_less_than_a_tenth_is_not_slow() -> None:
    class SlowAgent(ScriptedAgent):
        async def answer(self, _: AgentCall) -> Attempt:
            await asyncio.sleep(0.2)
            return Attempt("answered", Reply("yes"), latency_ms=1e9)

    summary = of(1).with_(SlowAgent())
    assert summary.loop_delay_p95_ms is not None
    assert not summary.is_loop_slow


def test_the_progress_is_that_of_the_trials() -> None:
    run = of(8, concurrency=2, retries=1)
    summary = run.with_(ScriptedAgent({"S1": [CRASHED], "S2": [BUSY, BUSY], "S3": [BUSY]}))
    state = run.progress
    assert (state.done, state.errors, state.unanswered, state.in_flight, state.waiting) == (8, 1, 1, 0, 0)
    assert (state.planned, state.failed, state.at_once) == (8, 0, 2)
    assert (summary.errors, summary.unanswered, summary.answered) == (1, 1, 6)
    assert state.recent


@pytest.mark.parametrize("ahead", [False, True])
def test_the_progress_says_what_is_in_flight_while_it_runs(ahead: bool) -> None:
    seen = []

    class SlowAgent(ScriptedAgent):
        async def answer(self, _: AgentCall) -> Attempt:
            while not run.progress.in_flight:  # noqa: ASYNC110 - the progress is a number
                await asyncio.sleep(0.01)
            seen.append(run.progress.in_flight)
            return ANSWERED

    run = of(15, concurrency=5)
    run.with_(SlowAgent(ahead=ahead))
    assert max(seen) == 5  # what is handed over ahead has not begun
