"""The line that says how far a run is."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highbar.running.progress import ProgressState, duration_text, progress_line


def half_way(**keys: object) -> ProgressState:
    return ProgressState(planned=500, done=250, **keys)


def test_the_line_says_all_that_is_known() -> None:
    state = half_way(failed=3, errors=1, unanswered=2, in_flight=8, waiting=4, cost_usd=Decimal("0.4249"))
    state.recent.append((90.0, 130))
    assert progress_line(state, now=100.0) == (
        "250/500 done, 3 failed, 1 error, 2 without an answer, 8 in flight, 4 waiting for a retry, "
        "12.0/s, 21 s left, $0.42"
    )


def test_what_is_not_there_is_not_said() -> None:
    assert progress_line(ProgressState(planned=9), now=0.0) == "0/9 done, 0 failed, 0 errors, 0 in flight"


def test_the_least_important_parts_are_left_out_if_the_terminal_is_narrow() -> None:
    state = half_way(failed=3, errors=1, in_flight=8, waiting=4, cost_usd=Decimal(1))
    state.recent.append((90.0, 130))
    assert progress_line(state, 100.0, 80) == "250/500 done, 3 failed, 1 error, 8 in flight, 12.0/s, 21 s left, $1.00"
    assert progress_line(state, 100.0, 50) == "250/500 done, 3 failed, 1 error, 21 s left, $1.00"
    assert progress_line(state, 100.0, 30) == "250/500 done, 3 failed"
    assert progress_line(state, 100.0, 5) == "250/5"


def test_the_pace_is_that_of_the_last_half_minute() -> None:
    state = ProgressState(planned=1000)
    assert state.per_second(0.0) is None
    for second in range(100):
        state.note(float(second))
        state.done += 1 if second < 60 else 5
    assert state.per_second(100.0) == 5.0


def test_the_time_left_is_not_said_if_nothing_moves_or_all_is_done() -> None:
    state = half_way()
    state.recent.append((0.0, 250))
    assert progress_line(state, 10.0) == "250/500 done, 0 failed, 0 errors, 0 in flight, 0.0/s"
    done = ProgressState(planned=5, done=5)
    done.recent.append((0.0, 0))
    assert "left" not in progress_line(done, 10.0)


@pytest.mark.parametrize(
    ("cost", "unknown", "said"),
    [("0", 0, None), ("1.5", 0, "$1.50"), ("0", 7, "cost unknown"), ("1.5", 2, "$1.50 + 2 unknown")],
)
def test_an_unknown_cost_is_never_shown_as_nothing(cost: str, unknown: int, said: str | None) -> None:
    found = progress_line(half_way(cost_usd=Decimal(cost), cost_unknown=unknown), 0.0)
    assert found == "250/500 done, 0 failed, 0 errors, 0 in flight" + (f", {said}" if said else "")


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "1 s"), (1, "1 s"), (59.4, "59 s"), (61, "1 min 1 s"), (600, "10 min"), (7199, "1 h 59 min"), (90000, "25 h")],
)
def test_a_time_is_said_in_its_largest_units(seconds: float, said: str) -> None:
    assert duration_text(seconds) == said


@given(
    numbers=st.lists(st.integers(0, 10**7), min_size=7, max_size=7),
    cost=st.decimals(0, 10**9, places=6),
    before=st.integers(0, 10**7),
    width=st.integers(0, 200),
)
def test_the_line_is_one_line_and_fits(numbers: list[int], cost: Decimal, before: int, width: int) -> None:
    state = ProgressState(*numbers, cost_usd=cost)
    state.recent.append((0.0, min(before, state.done)))
    found = progress_line(state, 7.5, width)
    assert len(found) <= width
    assert "\n" not in found
    assert progress_line(state, 7.5).startswith(f"{state.done}/{state.planned} done")
