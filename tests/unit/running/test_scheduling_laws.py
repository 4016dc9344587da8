"""What holds whatever calls come to."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from highbar.running.calls import Attempt
from tests.scheduled import ScheduledRun
from tests.scripted_agent import ANSWERED, BUSY, CRASHED, LIMITED, NO_CONNECTION, ScriptedAgent, suite_of, work_of

ATTEMPTS = st.sampled_from([ANSWERED, CRASHED, BUSY, LIMITED, NO_CONNECTION])
PLANS = st.lists(st.lists(ATTEMPTS, max_size=8), min_size=1, max_size=12)


def expected(plan: list[Attempt], retries: int, turns: int) -> tuple[str, int, int]:
    """How a trial ends, at which attempt of its longest turn, and after how many calls: from the plan alone."""
    left, calls, most = iter(plan), 0, 1
    for _ in range(turns):
        for attempts in range(1, retries + 2):
            attempt = next(left, ANSWERED)
            calls += 1
            most = max(most, attempts)
            if attempt.outcome != "infrastructure":
                break
        if attempt.outcome != "answered":
            return attempt.outcome, most, calls
    return "answered", most, calls


@given(
    plans=PLANS,
    retries=st.integers(0, 4),
    at_once=st.integers(1, 6),
    ahead=st.booleans(),
    trials=st.integers(1, 2),
    turns=st.integers(1, 3),
    pauses=st.integers(0, 2),
)
def test_every_trial_ends_once_as_its_calls_say(
    plans: list[list[Attempt]], retries: int, at_once: int, ahead: bool, trials: int, turns: int, pauses: int
) -> None:
    keys = {"input": None, "turns": ["Say it"] * turns} if turns > 1 else {}
    suite = suite_of(len(plans), **keys)
    plan = {f"S{place}": given_ for place, given_ in enumerate(plans)}
    agent = ScriptedAgent(plan, ahead=ahead, pauses=pauses)
    run = ScheduledRun(work_of(suite, trials), len(plans) * trials, retries=retries, concurrency=at_once)
    summary = run.with_(agent)
    assert agent.most_at_once <= at_once * (2 if ahead else 1)
    if summary.how == "refused":
        assert run.ended == []
        assert all(given_ and given_[0] is NO_CONNECTION for given_ in plans[:5])
        return
    assert summary.how == "complete"
    planned = Counter((f"S{place}", trial + 1) for place in range(len(plans)) for trial in range(trials))
    assert Counter((ended.id, ended.trial) for ended in run.ended) == planned
    assert Counter((began.id, began.trial) for began in run.began) == planned
    calls = Counter((call.id, call.trial) for call in agent.calls)
    for ended in run.ended:
        found = (ended.outcome, ended.attempts, calls[ended.id, ended.trial])
        assert found == expected(plan[ended.id], retries, turns)
        assert ended.attempts <= retries + 1
    assert summary.ended == summary.began == sum(planned.values()) == run.progress.done
    assert summary.calls == len(agent.calls) == agent.ended
    assert summary.answered + summary.errors + summary.unanswered == summary.ended


@given(plans=PLANS, at_once=st.integers(1, 6), stop_after=st.integers(1, 12), stages=st.integers(1, 2))
def test_a_run_that_is_interrupted_reports_no_trial_twice_and_none_that_has_not_begun(
    plans: list[list[Attempt]], at_once: int, stop_after: int, stages: int
) -> None:
    run = ScheduledRun(work_of(suite_of(len(plans))), len(plans), concurrency=at_once)

    def stop(_: object) -> None:
        if len(run.ended) == stop_after:
            for _ in range(stages):
                run.stop.request()

    run.on_end = stop
    summary = run.with_(ScriptedAgent({f"S{place}": given_ for place, given_ in enumerate(plans)}))
    ended = [one.id for one in run.ended]
    assert len(set(ended)) == len(ended)
    assert set(ended) <= {began.id for began in run.began}
    assert (summary.how == "interrupted") == (run.stop.stage > 0)
    assert summary.ended == len(ended) <= summary.began == len(run.began)
