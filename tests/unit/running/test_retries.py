"""How long a trial waits before a retry, and which one is next."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highbar.running.conversation import Conversation
from highbar.running.retries import Backoff, WaitingTrials
from tests.scripted_agent import suite_of

NEARLY_ONE = math.nextafter(1, 0)


def test_the_wait_is_a_random_part_of_a_time_that_doubles() -> None:
    longest = Backoff(random=lambda: 1.0)
    assert [longest.wait(attempts, None) for attempts in range(1, 9)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert Backoff(random=lambda: 0.25).wait(3, None) == 1.0
    assert Backoff(random=lambda: 0.0).wait(3, None) == 0.0


def test_trials_that_were_refused_together_do_not_come_back_together() -> None:
    waits = {Backoff().wait(1, 20.0) for _ in range(50)}
    assert len(waits) == 50
    assert all(20 <= wait <= 21 for wait in waits)


@pytest.mark.hazard("H87")
@pytest.mark.parametrize("asked", [-1.0, 0.0, math.nan, -math.inf, None])
def test_advice_to_wait_for_no_time_does_not_make_it_hammer(asked: float | None) -> None:
    assert Backoff(random=lambda: 1.0).wait(4, asked) == 8.0


@pytest.mark.hazard("H87")
@given(st.integers(1, 10**6), st.none() | st.floats(), st.floats(0, NEARLY_ONE))
def test_no_header_makes_it_wait_for_more_than_two_minutes(attempts: int, asked: float | None, drawn: float) -> None:
    assert 0 <= Backoff(random=lambda: drawn).wait(attempts, asked) <= 120


def test_the_trial_that_is_due_first_comes_first() -> None:
    trials = {due: Conversation(suite_of(1).scenarios["S0"], due, None) for due in (30, 10, 20)}
    waiting = WaitingTrials()
    assert waiting.next_due is None
    for due, trial in trials.items():
        waiting.add(due, trial)
    assert (len(waiting), waiting.next_due, waiting.pop(9.9)) == (3, 10, None)
    assert [waiting.pop(25), waiting.pop(25), waiting.pop(25)] == [trials[10], trials[20], None]
    assert waiting.next_due == 30
    waiting.clear()
    assert (len(waiting), waiting.pop(99)) == (0, None)


def test_trials_that_are_due_at_the_same_time_keep_their_order() -> None:
    trials = [Conversation(suite_of(1).scenarios["S0"], place, None) for place in range(9)]
    waiting = WaitingTrials()
    for trial in trials:
        waiting.add(1.0, trial)
    assert [waiting.pop(1.0) for _ in trials] == trials
