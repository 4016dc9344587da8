"""How many calls run at once, against simulated agents with a simulated clock."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highbar.running.concurrency import Concurrency


class SimulatedRun:
    """Calls that are always as many as allowed. `latency` and `limited` depend on how many run when a call begins."""

    def __init__(
        self,
        concurrency: Concurrency,
        latency: Callable[[int], float],
        limited: Callable[[int], bool] = lambda _: False,
        demand: int = 10**9,
    ) -> None:
        self.concurrency, self.latency, self.limited, self.demand = concurrency, latency, limited, demand
        self.now = 0.0
        self.limits = [concurrency.limit]
        self._running: list[tuple[float, int, float, bool]] = []
        self._number = 0

    def calls(self, count: int) -> list[int]:
        """Make so many calls; the limits in the order in which they changed."""
        for _ in range(count):
            while self.concurrency.in_flight < min(self.concurrency.limit, self.demand):
                self._begin()
            self._end()
        return self.limits

    def _begin(self) -> None:
        self.concurrency.began(self.now)
        running = self.concurrency.in_flight
        limited = self.limited(running)
        ends = self.now + (0.01 if limited else self.latency(running))
        self._number += 1
        heapq.heappush(self._running, (ends, self._number, self.now, limited))

    def _end(self) -> None:
        self.now, _, began, limited = heapq.heappop(self._running)
        latency = None if limited else (self.now - began) * 1000
        self.concurrency.ended(self.now, began, latency, limited=limited)
        if self.concurrency.limit != self.limits[-1]:
            self.limits.append(self.concurrency.limit)


def test_it_doubles_up_to_the_most_while_each_step_pays() -> None:
    assert SimulatedRun(Concurrency(8, 64), lambda _: 1.0).calls(2000) == [8, 16, 32, 64]


def test_five_hundred_calls_are_enough_to_get_there() -> None:
    assert SimulatedRun(Concurrency(8, 64), lambda _: 0.05).calls(500)[-1] == 64


def test_the_most_need_not_be_a_power_of_two_times_the_start() -> None:
    assert SimulatedRun(Concurrency(8, 24), lambda _: 1.0).calls(2000) == [8, 16, 24]
    assert SimulatedRun(Concurrency(8, 4), lambda _: 1.0).calls(2000) == [4]


def test_a_step_that_makes_calls_slower_is_taken_back() -> None:
    serial = SimulatedRun(Concurrency(8, 64), lambda running: 0.1 * running)
    assert serial.calls(200) == [8, 16, 8]


def test_a_step_that_raises_latency_by_a_tenth_does_not_pay_even_if_throughput_rises() -> None:
    assert SimulatedRun(Concurrency(8, 16), lambda running: 1.0 if running <= 8 else 1.2).calls(200) == [8, 16, 8]
    assert SimulatedRun(Concurrency(8, 16), lambda running: 1.0 if running <= 8 else 1.05).calls(200) == [8, 16]


def test_it_finds_the_capacity_of_a_server() -> None:
    sixteen = SimulatedRun(Concurrency(8, 64), lambda running: max(1.0, running / 16))
    assert sixteen.calls(220) == [8, 16, 32, 16]


def test_a_step_that_failed_is_tried_again_after_ever_longer_times() -> None:
    serial = SimulatedRun(Concurrency(8, 64), lambda running: 0.1 * running)
    changes, last = [], 0
    for call in range(6000):
        found = len(serial.calls(1))
        if found != last:
            changes.append(call)
            last = found
    doublings = changes[1::2]
    gaps = [later - earlier for earlier, later in pairwise(doublings)]
    assert len(gaps) >= 3
    assert all(later > 1.5 * earlier for earlier, later in pairwise(gaps))
    assert set(serial.limits) == {8, 16}


def test_one_slow_call_among_few_does_not_fix_the_pace_of_a_long_run() -> None:
    generator = random.Random(1)
    noisy = SimulatedRun(Concurrency(8, 64), lambda _: generator.lognormvariate(0, 0.6))
    assert max(noisy.calls(10_000)) == 64


def test_it_falls_by_a_fifth_once_for_an_episode() -> None:
    concurrency = Concurrency(10, 64)
    for _ in range(10):
        concurrency.began(0.0)
    for place in range(10):  # all of them began before the first of them was refused
        concurrency.ended(1.0 + place, 0.0, None, limited=True)
    assert concurrency.limit == 8
    concurrency.began(20.0)
    concurrency.ended(21.0, 20.0, None, limited=True)
    assert concurrency.limit == 6


def test_it_never_falls_below_one() -> None:
    concurrency = Concurrency(3, 64)
    for place in range(20):
        concurrency.began(place)
        concurrency.ended(place + 0.5, place, None, limited=True)
    assert concurrency.limit == 1


def test_after_a_fall_it_grows_slowly_and_settles_below_the_servers_limit() -> None:
    twenty = SimulatedRun(Concurrency(8, 64), lambda _: 1.0, limited=lambda running: running > 20)
    limits = twenty.calls(5000)
    assert limits[:4] == [8, 16, 32, 25]
    after = limits[limits.index(25) :]
    assert max(after[1:]) <= 22
    assert all(later - earlier <= 2 for earlier, later in pairwise(after))
    assert min(after) >= 15


def test_after_a_fall_it_grows_only_while_calls_stay_as_fast() -> None:
    concurrency = Concurrency(10, 64)
    concurrency.began(0.0)
    concurrency.ended(0.5, 0.0, None, limited=True)
    slowing = SimulatedRun(concurrency, lambda running: 1.0 if running <= 9 else 2.0)
    slowing.now = 1.0
    # The ninth call of ten still finds nine: only those that fill the last slots are slow, so it takes some more.
    assert slowing.calls(3000)[:3] == [8, 9, 10]
    assert slowing.limits[-1] < 20


def test_a_fall_during_a_step_ends_the_step() -> None:
    run = SimulatedRun(Concurrency(8, 64), lambda _: 1.0)
    while run.limits[-1] == 8:
        run.calls(1)
    run.limited = lambda _: True
    while run.limits[-1] == 16:
        run.calls(1)
    run.limited, run.latency = lambda _: False, lambda _: 50.0
    assert run.calls(200)[:4] == [8, 16, 12, 13]  # it is not taken back to 8, the level before the step


def test_it_grows_only_if_the_slots_are_used() -> None:
    assert SimulatedRun(Concurrency(8, 64), lambda _: 1.0, demand=6).calls(1000) == [8]
    assert SimulatedRun(Concurrency(8, 64), lambda _: 1.0, demand=7).calls(50) == [8, 16]


def test_after_a_fall_it_grows_only_if_the_slots_are_used() -> None:
    concurrency = Concurrency(10, 64)
    concurrency.began(0.0)
    concurrency.ended(0.5, 0.0, None, limited=True)
    idle = SimulatedRun(concurrency, lambda _: 1.0, demand=4)
    idle.now = 1.0
    assert idle.calls(1000) == [8]
    idle.demand = 99
    assert idle.calls(100)[:3] == [8, 9, 10]


def test_a_number_is_kept_whatever_happens() -> None:
    fixed = SimulatedRun(Concurrency(7), lambda running: 0.1 * running, limited=lambda running: running > 5)
    assert fixed.calls(1000) == [7]


def test_calls_that_take_less_than_a_millisecond_do_not_count_as_slower() -> None:
    instant = SimulatedRun(Concurrency(8, 64), lambda running: 1e-4 if running <= 8 else 1.5e-4)
    assert instant.calls(500) == [8, 16, 32, 64]


def test_questions_in_advance_do_not_make_up_for_idle_slots() -> None:
    concurrency, limits = Concurrency(4, 64), set()
    for start in range(0, 20, 2):  # twice as many as there are slots, but half of the time none
        for _ in range(8):
            concurrency.began(start)
        for _ in range(8):
            concurrency.ended(start + 1, start, 1000.0)
            limits.add(concurrency.limit)
    assert limits == {4}


@pytest.mark.parametrize("most", [None, 64])
@given(events=st.lists(st.tuples(st.sampled_from(["begin", "end", "limited", "lost"]), st.floats(0, 5)), max_size=300))
def test_whatever_happens_the_limit_stays_in_its_bounds(most: int | None, events: list[tuple[str, float]]) -> None:
    concurrency, now, running = Concurrency(8, most), 0.0, []
    for what, later in events:
        now += later
        if what == "begin":
            concurrency.began(now)
            running.append(now)
        elif running:
            began = running.pop(0)
            latency = (now - began) * 1000 if what == "end" else None
            concurrency.ended(now, began, latency, limited=what == "limited")
        assert concurrency.in_flight == len(running)
        assert concurrency.limit == 8 if most is None else 1 <= concurrency.limit <= 64
