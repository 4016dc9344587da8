"""Slots of calls: never more than allowed, in order, and none is lost."""

from __future__ import annotations

import asyncio

from highbar.running.judging.call_slots import CallSlots


def test_who_waits_gets_the_next_slot_in_order():
    async def run():
        slots = CallSlots(1, 8, 64)
        began = await slots.take()
        got = []

        async def wait(name):
            since = await slots.take()
            got.append(name)
            slots.give_back(since, 1.0)

        tasks = [asyncio.create_task(wait(name)) for name in "abc"]
        await asyncio.sleep(0)
        assert not got
        slots.give_back(began, 1.0)
        await asyncio.gather(*tasks)
        return got

    assert asyncio.run(run()) == ["a", "b", "c"]


def test_a_slot_that_was_given_to_one_who_left_is_not_lost():
    async def run():
        slots = CallSlots(1, 8, 64)
        began = await slots.take()
        leaving, staying = (asyncio.create_task(slots.take()) for _ in range(2))
        await asyncio.sleep(0)
        slots.give_back(began, 1.0)  # `leaving` has it now, and does not know yet
        leaving.cancel()
        await asyncio.wait([leaving, staying])
        assert leaving.cancelled()
        slots.give_back(staying.result(), 1.0)
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
        slots.give_back(began, 1.0)
        await asyncio.wait([staying])
        slots.give_back(staying.result(), None)

    asyncio.run(run())


def test_a_server_that_wants_fewer_gets_fewer():
    told = []

    async def run():
        slots = CallSlots("auto", 8, 64, told.append)
        slots.give_back(await slots.take(), None, limited=True)

    asyncio.run(run())
    assert told == [8, 6]
