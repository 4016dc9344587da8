"""What ends a run before its last trial: money, time, a wrong key, another version, the user, and faults of our own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import count

import pytest

from highbar.running.calls import AgentCall, Attempt, Reply
from highbar.running.progress import ProgressState
from highbar.running.records import Began, TrialEnded
from highbar.running.retries import Backoff
from highbar.running.scheduling import Timing, run_trials
from highbar.running.stopping import StopRequest
from highbar.suite import RunSettings, Scenario
from tests.patience import PATIENCE
from tests.scheduled import ManualClock, ScheduledRun
from tests.scripted_agent import (
    ANSWERED,
    BUSY,
    CRASHED,
    NO_CONNECTION,
    WRONG_KEY,
    ScriptedAgent,
    suite_of,
    work_of,
)


def of(planned: int, **keys: object) -> ScheduledRun:
    return ScheduledRun(work_of(suite_of(planned)), planned, **keys)


def endless() -> Iterator[tuple[Scenario, int]]:
    scenario = suite_of(1).scenarios["S0"]
    return ((scenario, trial) for trial in count(1))


def costing(cost: str | None) -> Attempt:
    return Attempt("answered", Reply("yes", cost_usd=None if cost is None else Decimal(cost)), latency_ms=1.0)


class PaidAgent(ScriptedAgent):
    """Every answer costs the same, unless the plan says something else."""

    def __init__(self, cost: str | None, plan: dict[str, list[Attempt]] | None = None, *, ahead: bool = False) -> None:
        super().__init__(plan, ahead=ahead)
        self.cost = cost

    async def answer(self, call: AgentCall) -> Attempt:
        found = await super().answer(call)
        return costing(self.cost) if found is ANSWERED else found


class HangingAgent(ScriptedAgent):
    """Answers a number of calls, and then none. `hanging` counts those, `canceled` how many of them were ended."""

    def __init__(self, answers: int = 0) -> None:
        super().__init__()
        self.answers = answers
        self.hanging = 0
        self.canceled = 0

    async def answer(self, _: AgentCall) -> Attempt:
        if len(self.calls) > self.answers:
            self.hanging += 1
            try:
                await asyncio.Event().wait()
            finally:
                for _ in range(5):  # as an agent that has to end a process
                    await asyncio.sleep(0)
                self.canceled += 1
        await asyncio.sleep(0)
        return ANSWERED


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - a condition is no event
            await asyncio.sleep(0.001)


# --- money and time ----------------------------------------------------------------------------


@pytest.mark.parametrize("ahead", [False, True])
def test_no_trial_begins_once_the_budget_is_used_up(ahead: bool) -> None:
    run, agent = of(20, concurrency=1, budget=Fraction(1)), PaidAgent("0.30", ahead=ahead)
    summary = run.with_(agent)
    assert (summary.how, summary.reason) == ("budget", "the budget of $1 is used up")
    assert (len(agent.calls), summary.ended, summary.cost_usd) == (4, 4, Decimal("1.20"))
    assert run.progress.cost_usd == Decimal("1.20")


@pytest.mark.parametrize("ahead", [False, True])
def test_calls_that_run_when_the_budget_is_used_up_are_finished(ahead: bool) -> None:
    run, agent = of(20, concurrency=4, budget=Fraction(1)), PaidAgent("0.30", ahead=ahead)
    summary = run.with_(agent)
    assert (len(agent.calls), len(run.ended), summary.how) == (7, 7, "budget")


def test_a_budget_is_met_exactly() -> None:
    run, agent = of(20, concurrency=1, budget=Fraction(3, 10)), PaidAgent("0.1")
    assert run.with_(agent).ended == 3


def test_a_budget_that_the_last_trial_uses_up_leaves_the_run_complete() -> None:
    summary = of(4, concurrency=1, budget=Fraction(1)).with_(PaidAgent("0.25"))
    assert (summary.how, summary.ended) == ("complete", 4)


def test_what_an_error_cost_counts_if_it_is_known() -> None:
    failed = Attempt("error", Reply("half", cost_usd=Decimal("0.9")), "malformed", latency_ms=1.0)
    run = of(20, concurrency=1, budget=Fraction(1))
    summary = run.with_(PaidAgent("0.1", {"S0": [CRASHED], "S1": [failed]}))
    assert (summary.ended, summary.cost_usd, summary.cost_unknown) == (3, Decimal("1.0"), 0)


def test_with_a_budget_an_unknown_cost_ends_the_run_since_it_is_not_nothing() -> None:
    run, agent = of(20, concurrency=2, budget=Fraction(1)), PaidAgent(None)
    summary = run.with_(agent)
    assert summary.how == "budget"
    assert summary.reason == "the cost of an answer is not known, so the budget cannot be enforced"
    assert (len(agent.calls), summary.ended, summary.cost_unknown) == (2, 2, 2)


@pytest.mark.parametrize("last", [CRASHED, BUSY])
def test_an_unknown_cost_of_an_earlier_turn_counts_whatever_the_trial_comes_to(last: Attempt) -> None:
    suite = suite_of(1, input=None, turns=["One", "Two"])
    run = ScheduledRun(work_of(suite), 1, retries=0)
    assert run.with_(PaidAgent(None, {"S0": [ANSWERED, last]})).cost_unknown == 1


def test_without_a_budget_unknown_costs_are_counted() -> None:
    summary = of(5).with_(PaidAgent("0.5", {"S1": [costing(None)], "S2": [CRASHED]}))
    assert (summary.how, summary.cost_usd, summary.cost_unknown) == ("complete", Decimal("1.5"), 1)


def test_what_earlier_sessions_spent_counts() -> None:
    earlier = ProgressState(planned=20, done=3, cost_usd=Decimal("0.8"))
    summary = of(17, concurrency=1, budget=Fraction(1), progress=earlier).with_(PaidAgent("0.15"))
    assert (summary.ended, summary.cost_usd, earlier.done) == (2, Decimal("1.10"), 5)


@pytest.mark.parametrize("earlier", [{"cost_usd": Decimal(1)}, {"cost_unknown": 1}])
def test_nothing_begins_if_earlier_sessions_used_up_the_budget(earlier: dict[str, object]) -> None:
    agent = PaidAgent("0.1")
    run = of(20, budget=Fraction(1), progress=ProgressState(planned=21, done=1, **earlier))
    assert (run.with_(agent).how, len(agent.calls), run.began) == ("budget", 0, [])


@pytest.mark.parametrize("cost", ["NaN", "sNaN", "-5", "-Infinity", "Infinity"])
def test_a_cost_that_cannot_be_is_not_known(cost: str) -> None:
    summary = of(20, concurrency=1, budget=Fraction(1)).with_(PaidAgent(cost))
    assert (summary.how, summary.ended, summary.cost_usd, summary.cost_unknown) == ("budget", 1, 0, 1)


def test_costs_beyond_all_numbers_are_above_every_budget() -> None:
    summary = of(3, concurrency=1).with_(PaidAgent("9E+999999"))
    assert (summary.how, summary.ended, summary.cost_usd) == ("complete", 3, Decimal("Infinity"))
    assert of(9, concurrency=1, budget=Fraction(5)).with_(PaidAgent("9E+999999")).ended == 1


def test_the_cost_of_all_turns_counts() -> None:
    suite = suite_of(9, input=None, turns=["One", "Two"])
    run = ScheduledRun(work_of(suite), 9, concurrency=1, budget=Fraction(1))
    assert run.with_(PaidAgent("0.3")).ended == 2


def test_no_trial_begins_once_the_time_is_used_up() -> None:
    clock = ManualClock()

    class SlowAgent(ScriptedAgent):
        async def answer(self, call: AgentCall) -> Attempt:
            clock.now += 3
            return await super().answer(call)

    run, agent = of(20, concurrency=1, max_time=Fraction(10), timing=Timing(clock)), SlowAgent()
    summary = run.with_(agent)
    assert (summary.how, summary.ended, summary.seconds) == ("time", 4, 12)
    assert summary.reason == "the time of the run is used up"


def test_a_trial_that_waits_for_a_retry_is_given_up_when_the_time_is_used_up() -> None:
    waits = Attempt("infrastructure", reason="HTTP 503", retry_after=60.0)
    run = of(1, max_time=Fraction(1, 20))
    summary = run.with_(ScriptedAgent({"S0": [waits] * 9}))
    assert (summary.how, summary.began, summary.ended, run.ended) == ("time", 1, 0, [])


# --- a wrong key, address or version -----------------------------------------------------------


@pytest.mark.parametrize("at_once", [1, 3, 8])
def test_five_equal_refusals_end_the_run_and_are_not_recorded(at_once: int) -> None:
    run = of(50, concurrency=at_once)
    agent = ScriptedAgent({f"S{place}": [WRONG_KEY] * 9 for place in range(50)})
    summary = run.with_(agent)
    assert (summary.how, summary.refusal) == ("refused", "HTTP 401")
    assert (summary.ended, run.ended, run.progress.done) == (0, [], 0)
    assert 5 <= len(agent.calls) < 5 + at_once


def test_five_refused_connections_end_the_run_without_waiting_for_retries() -> None:
    waits: list[int] = []
    agent = ScriptedAgent({f"S{place}": [NO_CONNECTION] * 9 for place in range(50)})
    run = of(50, concurrency=1, timing=Timing(backoff=Backoff(first=1e9, random=lambda: waits.append(1) or 1.0)))
    summary = run.with_(agent)
    assert (summary.how, summary.refusal, summary.calls, len(waits)) == ("refused", "connection refused", 5, 4)
    assert set(agent.counts.values()) == {1}


def test_a_trial_that_is_refused_five_times_is_one_trial() -> None:
    agent = ScriptedAgent({"S0": [NO_CONNECTION] * 9})
    run = of(9, concurrency=1)
    assert (run.with_(agent).how, run.outcomes["S0"]) == ("complete", ("infrastructure", 5))


def test_calls_that_run_when_a_wrong_key_is_certain_are_ended() -> None:
    class LockedAgent(HangingAgent):
        async def answer(self, call: AgentCall) -> Attempt:
            await super().answer(call)
            return WRONG_KEY

    run, agent = of(50, concurrency=8), LockedAgent(answers=5)
    summary = run.with_(agent)
    assert (summary.how, agent.hanging) == ("refused", agent.canceled)
    assert agent.hanging > 0


def test_if_all_of_fewer_than_five_trials_are_refused_the_run_ends_too() -> None:
    agent = ScriptedAgent({f"S{place}": [WRONG_KEY] for place in range(3)})
    summary = of(3).with_(agent)
    assert (summary.how, summary.ended, summary.calls) == ("refused", 0, 3)


@pytest.mark.parametrize("other", [ANSWERED, CRASHED, Attempt("error", reason="HTTP 403", refusal="HTTP 403"), BUSY])
def test_four_refusals_and_something_else_are_recorded_as_they_are(other: Attempt) -> None:
    plan = {f"S{place}": [WRONG_KEY] for place in range(20)} | {"S4": [other]}
    run, agent = of(20, concurrency=1), ScriptedAgent(plan)
    summary = run.with_(agent)
    assert (summary.how, summary.ended) == ("complete", 20)
    assert [ended.id for ended in run.ended[:4]] == ["S0", "S1", "S2", "S3"]
    assert {run.outcomes[f"S{place}"] for place in range(20) if place != 4} == {("error", 1)}


def test_refusals_after_an_answer_are_errors_like_any_other() -> None:
    agent = ScriptedAgent({f"S{place}": [WRONG_KEY] for place in range(1, 20)})
    summary = of(20, concurrency=1).with_(agent)
    assert (summary.how, summary.errors, summary.answered, summary.calls) == ("complete", 19, 1, 20)


def test_refusals_in_a_later_session_are_errors_like_any_other() -> None:
    agent = ScriptedAgent({f"S{place}": [WRONG_KEY] for place in range(20)})
    summary = of(20, progress=ProgressState(planned=21, done=1)).with_(agent)
    assert (summary.how, summary.errors) == ("complete", 20)


def test_refusals_of_a_run_that_is_interrupted_before_the_fifth_are_asked_again() -> None:
    class StoppingAgent(ScriptedAgent):
        async def answer(self, _: AgentCall) -> Attempt:
            if len(self.calls) == 3:
                run.stop.request()
            return WRONG_KEY

    run = of(20, concurrency=1)
    summary = run.with_(StoppingAgent())
    assert (summary.how, summary.began, summary.ended, run.ended) == ("interrupted", 3, 0, [])


def test_refusals_of_a_run_whose_time_ends_before_the_fifth_are_asked_again() -> None:
    clock = ManualClock()

    class SlowAgent(ScriptedAgent):
        async def answer(self, _: AgentCall) -> Attempt:
            clock.now += 4
            return WRONG_KEY

    run = of(20, concurrency=1, max_time=Fraction(10), timing=Timing(clock))
    summary = run.with_(SlowAgent())
    assert (summary.how, summary.began, summary.ended, run.ended) == ("time", 3, 0, [])


def versioned(version: str | None) -> Attempt:
    return Attempt("answered", Reply("yes", agent_version=version), latency_ms=1.0)


def test_two_versions_end_the_run_with_the_trial_that_had_the_second_one() -> None:
    plan = {"S0": [versioned("1.0")], "S1": [versioned(None)], "S2": [versioned("1.0")], "S3": [versioned("1.1")]}
    run, agent = of(20, concurrency=1), ScriptedAgent(plan)
    summary = run.with_(agent)
    assert (summary.how, summary.versions) == ("versions", ("1.0", "1.1"))
    assert (summary.ended, len(agent.calls)) == (4, 4)
    assert run.progress.agent_version == "1.0"


def test_calls_that_run_when_a_second_version_comes_are_ended() -> None:
    class UpdatedAgent(HangingAgent):
        async def answer(self, call: AgentCall) -> Attempt:
            await super().answer(call)
            return versioned(call.id)

    run, agent = of(50, concurrency=8), UpdatedAgent(answers=2)
    summary = run.with_(agent)
    assert (summary.how, summary.versions, agent.hanging) == ("versions", ("S0", "S1"), agent.canceled)
    assert agent.hanging > 0


def test_a_version_other_than_the_declared_one_ends_the_run() -> None:
    run = of(20, concurrency=1, progress=ProgressState(planned=20, agent_version="2.0"))
    summary = run.with_(ScriptedAgent({"S0": [versioned("2.0")], "S1": [versioned("1.0")]}))
    assert (summary.how, summary.versions, summary.ended) == ("versions", ("2.0", "1.0"), 2)


def test_another_version_in_a_later_turn_or_in_an_error_ends_the_run() -> None:
    suite = suite_of(5, input=None, turns=["One", "Two"])
    run = ScheduledRun(work_of(suite), 5, concurrency=1)
    assert run.with_(ScriptedAgent({"S0": [versioned("1"), versioned("2")]})).versions == ("1", "2")
    run = ScheduledRun(work_of(suite_of(5, input=None, turns=["One", "Two", "Three"])), 5, concurrency=1)
    three = [versioned("1"), versioned("2"), versioned("3")]
    assert run.with_(ScriptedAgent({"S0": three})).versions == ("1", "2")
    failed = Attempt("error", Reply(agent_version="2"), "crashed")
    run = of(5, concurrency=1)
    assert run.with_(ScriptedAgent({"S0": [versioned("1")], "S1": [failed]})).versions == ("1", "2")


def test_one_version_is_no_conflict() -> None:
    summary = of(5).with_(ScriptedAgent({f"S{place}": [versioned("1.0")] for place in range(3)}))
    assert (summary.how, summary.versions) == ("complete", ("1.0",))


# --- the user ----------------------------------------------------------------------------------


@pytest.mark.hazard("H71")
def test_the_first_request_begins_nothing_more_and_finishes_what_runs() -> None:
    run, agent = of(60, concurrency=4), ScriptedAgent(pauses=3)
    run.on_end = lambda _: run.stop.request() if len(run.ended) == 10 else None
    summary = run.with_(agent)
    assert summary.how == "interrupted"
    assert summary.began == summary.ended == len(run.ended) == len(agent.calls) == 13


def test_a_conversation_that_runs_is_finished_with_all_its_turns() -> None:
    suite = suite_of(9, input=None, turns=["One", "Two", "Three"])
    run = ScheduledRun(work_of(suite), 9, concurrency=1)

    class StoppingAgent(ScriptedAgent):
        async def answer(self, _: AgentCall) -> Attempt:
            run.stop.request() if len(self.calls) == 1 else None
            return ANSWERED

    assert run.with_(StoppingAgent()).calls == 3
    assert run.outcomes == {"S0": ("answered", 1)}


def test_trials_that_wait_for_a_retry_are_given_up_at_the_first_request() -> None:
    waits = Attempt("infrastructure", reason="HTTP 503", retry_after=60.0)
    run = of(3, concurrency=1, timing=Timing())
    run.on_end = lambda _: run.stop.request()
    summary = run.with_(ScriptedAgent({"S0": [waits] * 9}))
    assert (summary.how, summary.began, summary.ended) == ("interrupted", 2, 1)
    assert [ended.id for ended in run.ended] == ["S1"]


def test_a_call_that_fails_after_the_first_request_is_not_made_again() -> None:
    run = of(9, concurrency=1)

    class StoppingAgent(ScriptedAgent):
        async def answer(self, _: AgentCall) -> Attempt:
            run.stop.request() if len(self.calls) == 3 else None
            return BUSY if len(self.calls) == 3 else ANSWERED

    summary = run.with_(StoppingAgent())
    assert (summary.how, summary.began, summary.ended, summary.calls) == ("interrupted", 3, 2, 3)


@pytest.mark.hazard("H71")
def test_the_second_request_ends_calls_at_once() -> None:
    async def interrupted() -> None:
        agent, run = HangingAgent(answers=10), of(60, concurrency=4)
        under_way = asyncio.ensure_future(run.under_way(agent))
        await until(lambda: agent.hanging == 4)
        run.stop.request()
        await asyncio.sleep(0.01)
        assert not under_way.done()
        run.stop.request()
        summary = await asyncio.wait_for(under_way, PATIENCE)
        assert (summary.how, summary.began, summary.ended, agent.canceled) == ("interrupted", 14, 10, 4)
        assert len(run.ended) == 10
        assert run.progress.in_flight == 0

    asyncio.run(interrupted())


def test_requests_may_come_from_another_thread() -> None:
    agent, run = HangingAgent(answers=2), of(60, concurrency=4)

    def ask() -> None:
        while agent.hanging < 4:
            threading.Event().wait(0.001)
        run.stop.request()
        run.stop.request()

    thread = threading.Thread(target=ask)
    thread.start()
    summary = run.with_(agent)
    thread.join()
    assert (summary.how, summary.ended, agent.canceled) == ("interrupted", 2, 4)


def test_a_request_reaches_a_run_whose_agent_never_waits() -> None:
    run = ScheduledRun(endless(), 10**9, concurrency=4)
    run.on_end = lambda _: run.ended.clear()  # there will be many
    agent = ScriptedAgent(pauses=0)
    agent.calls = type("Uncounted", (list,), {"append": lambda *_: None})()

    async def interrupted() -> str:
        under_way = asyncio.ensure_future(run.under_way(agent))
        await asyncio.sleep(0.01)  # a timer of the loop, as a signal's function is
        run.stop.request()
        return (await under_way).how

    assert asyncio.run(asyncio.wait_for(interrupted(), PATIENCE)) == "interrupted"


def test_a_request_before_the_first_trial_or_after_the_last_one_does_no_harm() -> None:
    run, agent = of(9), ScriptedAgent()
    run.stop.request()
    summary = run.with_(agent)
    assert (summary.how, summary.began, agent.calls) == ("interrupted", 0, [])
    run.stop.request()
    assert run.stop.stage == 2


def test_a_stop_is_no_part_of_a_run_that_did_not_ask_for_one() -> None:
    summary = asyncio.run(
        run_trials(
            work_of(suite_of(3)),
            ScriptedAgent(),
            RunSettings(),
            on_begin=lambda _: None,
            on_end=lambda _: None,
            progress=ProgressState(3),
        )
    )
    assert summary.how == "complete"
    assert StopRequest().stage == 0


# --- faults of our own -------------------------------------------------------------------------


def test_what_a_report_of_an_end_raises_ends_the_run_and_all_calls() -> None:
    agent, run = HangingAgent(answers=1), of(60, concurrency=4)

    def fail(_: TrialEnded) -> None:
        raise OSError(28, "No space left on device")

    run.on_end = fail
    with pytest.raises(OSError, match="No space left"):
        run.with_(agent)
    assert agent.canceled == agent.hanging


@pytest.mark.parametrize("place", [0, 5])
def test_what_a_report_of_a_beginning_raises_ends_the_run(place: int) -> None:
    def fail(began: Began) -> None:
        if began.id == f"S{place}":
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        asyncio.run(
            run_trials(
                work_of(suite_of(9)),
                ScriptedAgent(),
                RunSettings(concurrency=2),
                on_begin=fail,
                on_end=lambda _: None,
                progress=ProgressState(9),
            )
        )


@pytest.mark.parametrize(("error", "said"), [(ValueError("a fault"), "a fault"), (asyncio.CancelledError(), "nobody")])
def test_what_a_caller_raises_ends_the_run_and_loses_no_trial_in_silence(error: BaseException, said: str) -> None:
    class BrokenAgent(ScriptedAgent):
        async def answer(self, call: AgentCall) -> Attempt:
            if call.id == "S3":
                raise error
            return await super().answer(call)

    with pytest.raises((ValueError, RuntimeError), match=said):
        of(9, concurrency=2).with_(BrokenAgent())


def test_a_run_that_is_canceled_cancels_its_calls() -> None:
    async def canceled() -> None:
        agent, run = HangingAgent(), of(60, concurrency=4)
        under_way = asyncio.ensure_future(run.under_way(agent))
        await until(lambda: agent.hanging == 4)
        under_way.cancel()
        with pytest.raises(asyncio.CancelledError):
            await under_way
        assert agent.canceled == 4
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(canceled())


# --- a verdict that is certain -------------------------------------------------------------------


@pytest.mark.parametrize("ahead", [False, True])
def test_a_run_that_is_decided_begins_nothing_more_and_finishes_what_runs(ahead: bool) -> None:
    run, agent = of(60, concurrency=4), ScriptedAgent(pauses=3, ahead=ahead)
    run.on_end = lambda _: run.stop.decide() if len(run.ended) == 10 else None
    summary = run.with_(agent)
    assert (summary.how, summary.reason) == ("decided", None)
    assert 10 < summary.ended == len(run.ended) == len(agent.calls) < 20


def test_a_run_that_its_last_trial_decides_is_complete() -> None:
    run = of(3, concurrency=1)
    run.on_end = lambda _: run.stop.decide() if len(run.ended) == 3 else None
    assert run.with_(ScriptedAgent()).how == "complete"


def test_trials_that_wait_for_a_retry_when_the_run_is_decided_are_not_run() -> None:
    timing = Timing(backoff=Backoff(first=PATIENCE, random=lambda: 1.0))
    run, agent = of(6, concurrency=1, retries=3, timing=timing), ScriptedAgent({"S0": [BUSY]})
    run.on_end = lambda _: run.stop.decide()
    assert run.with_(agent).how == "decided"
    assert run.outcomes == {"S1": ("answered", 1)}


def test_a_user_who_stops_a_run_that_is_decided_interrupts_it() -> None:
    run = of(60, concurrency=4)

    def stop(_: object) -> None:
        run.stop.decide()
        run.stop.request()

    run.on_end = stop
    assert run.with_(ScriptedAgent()).how == "interrupted"


def test_nothing_new_begins_while_it_is_held_and_everything_does_in_the_end() -> None:
    """Every third trial that ended has to be fetched by someone before another one begins."""
    waiting: list[str] = []
    run, agent = of(30, concurrency=2, timing=Timing(hold=lambda: len(waiting) > 2)), ScriptedAgent()
    most = 0

    def note(ended: TrialEnded) -> None:
        nonlocal most
        waiting.append(ended.id)
        most = max(most, len(waiting))
        if len(waiting) > 2:
            asyncio.get_running_loop().call_later(0.001, waiting.clear)

    run.on_end = note
    summary = run.with_(agent)
    assert (summary.how, summary.ended) == ("complete", 30)
    assert most <= 4  # one more may have been in flight


@pytest.mark.parametrize("decided", [True, False])
def test_a_run_that_is_held_can_be_decided_or_stopped(decided: bool) -> None:
    run = of(30, concurrency=2, timing=Timing(hold=lambda: len(run.ended) >= 2))

    def end() -> None:
        run.stop.decide() if decided else run.stop.request()

    def stop(_: object) -> None:
        if len(run.ended) == 2:
            asyncio.get_running_loop().call_later(0.001, end)

    run.on_end = stop
    summary = run.with_(ScriptedAgent())
    assert summary.how == ("decided" if decided else "interrupted")
    assert summary.ended < 5
