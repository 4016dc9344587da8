"""Slots of calls: never more than allowed, in order, and none is lost."""

from __future__ import annotations

import asyncio

from bench.limiters import Bucket

from highbar.running.calls import Attempt
from highbar.running.judging.call_slots import CallSlots
from tests.scripted_agent import ANSWERED, LIMITED
from tests.virtual_time import VirtualLoop, in_virtual_time


def test_who_waits_gets_the_next_slot_in_order():
    async def run():
        slots = CallSlots(1, 8, 64)
        began = await slots.take()
        got = []

        async def wait(name):
            since = await slots.take()
            got.append(name)
            slots.give_back(since, ANSWERED)

        tasks = [asyncio.create_task(wait(name)) for name in "abc"]
        await asyncio.sleep(0)
        assert not got
        slots.give_back(began, ANSWERED)
        await asyncio.gather(*tasks)
        return got

    assert asyncio.run(run()) == ["a", "b", "c"]


def test_a_slot_that_was_given_to_one_who_left_is_not_lost():
    async def run():
        slots = CallSlots(1, 8, 64)
        began = await slots.take()
        leaving, staying = (asyncio.create_task(slots.take()) for _ in range(2))
        await asyncio.sleep(0)
        slots.give_back(began, ANSWERED)  # `leaving` has it now, and does not know yet
        leaving.cancel()
        await asyncio.wait([leaving, staying])
        assert leaving.cancelled()
        slots.give_back(staying.result(), ANSWERED)
        slots.give_back(await slots.take(), None)

    asyncio.run(run())


def test_one_who_leaves_while_waiting_is_passed_over():
    async def run():
        slots = CallSlots(1, 8, 64)
        began = await slots.take()
        leaving, staying = (asyncio.create_task(slots.take()) for _ in range(2))
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.sleep(0)
        slots.give_back(began, ANSWERED)
        await asyncio.wait([staying])
        slots.give_back(staying.result(), None)

    asyncio.run(run())


def test_a_server_that_wants_fewer_gets_fewer():
    told = []

    async def run():
        slots = CallSlots("auto", 8, 64, told.append)
        slots.give_back(await slots.take(), LIMITED)

    asyncio.run(run())
    assert told == [8, 6]


def test_calls_begin_as_fast_as_the_server_takes_them():
    async def run(loop: VirtualLoop) -> tuple[int, int]:
        slots, bucket, taken, refused = CallSlots(8, 8, 64), Bucket(5, 1), 0, 0

        async def work() -> None:
            nonlocal taken, refused
            while loop.time() < 40:
                slot = await slots.take()
                is_busy = bucket.refuse(loop.time()) is not None
                await asyncio.sleep(0.02)
                taken, refused = taken + (not is_busy), refused + is_busy
                slots.give_back(slot, Attempt("infrastructure", busy=True) if is_busy else ANSWERED)

        await asyncio.gather(*(work() for _ in range(20)))
        return taken, refused

    taken, refused = in_virtual_time(run)
    assert taken >= 0.85 * 5 * 40
    assert refused < 40


def test_nobody_waits_for_the_pace_who_does_not_want_to():
    async def run(loop: VirtualLoop) -> float:
        slots = CallSlots(1, 8, 64)
        for _ in range(9):
            slots.give_back(await slots.take(lambda _: False), Attempt("infrastructure", busy=True, retry_after=60.0))
        return loop.time()

    assert in_virtual_time(run) == 0
