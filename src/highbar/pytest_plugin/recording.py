"""The fixture `behaviors`: what a test records about the agent → columns of its row. Misuse raises immediately."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from highbar.columns import BY_NAME, COLUMN_NAMES, column_names
from highbar.language.spelling import near_miss
from highbar.load.row_faults import CHECKS, LARGEST_WHOLE, shown

DEMAND_LISTS = ("expected_behaviors", "must_not")
"""The demands of a mark that are lists of names, which the test looks for."""

_KEY = pytest.StashKey["Behaviors"]()
_MARKED = frozenset(column_names("identifies", "describes", "demands"))
_MADE = {
    "passed": "the outcome of the test says it",
    "error": "raise an exception other than AssertionError",
    "unjudged": "a test that did not run gets it",
    "behaviors": "call behaviors.observed(name)",
    "violations": "call behaviors.violated(name)",
}


def begin_recording(item: pytest.Item) -> Behaviors:
    """A new recorder for this run of a test."""
    marks = [mark.kwargs.get(column) for mark in item.iter_markers("scenario") for column in DEMAND_LISTS]
    declared = [name for names in marks if isinstance(names, list | tuple) for name in names if isinstance(name, str)]
    item.stash[_KEY] = Behaviors(declared)
    return item.stash[_KEY]


def end_recording(item: pytest.Item) -> Behaviors | None:
    """Close the recorder of a run, and return it; None if the test did not request the fixture."""
    found = item.stash.get(_KEY, None)
    if found is not None:
        del item.stash[_KEY]
        found.close()
    return found


def current_recording(item: pytest.Item) -> Behaviors | None:
    """The recorder of the current run; None if the test did not request the fixture."""
    return item.stash.get(_KEY, None)


class Behaviors:
    """What one run of a test observes of the agent.

    What was recorded counts even if the test fails later. What a test could not record because it failed earlier is
    undecided, so record first and assert last.
    """

    __slots__ = ("_columns", "_declared", "_is_open", "_observed", "_timed", "_violated")

    def __init__(self, declared: Iterable[str] = ()) -> None:
        self._declared = frozenset(declared)
        self._columns: dict[str, Any] = {}
        self._observed: dict[str, bool] = {}
        self._violated: dict[str, bool] = {}
        self._timed: float | None = None
        self._is_open = True

    def observed(self, name: str, seen: bool = True) -> None:  # noqa: FBT001, FBT002 - observed("greets", "hi" in reply)
        """Record that a behavior was observed, or with False, that the test looked for it and did not observe it."""
        self._note(self._observed, "observed", name, seen)

    def violated(self, name: str, happened: bool = True) -> None:  # noqa: FBT001, FBT002 - as observed
        """Record that something forbidden happened, or with False, that the test looked for it and it did not."""
        self._note(self._violated, "violated", name, happened)

    def input(self, text: str) -> None:
        """Record what the agent was asked."""
        self._put("input", text)

    def output(self, text: str) -> None:
        """Record what the agent answered."""
        self._put("output", text)

    def correct(self, is_correct: bool) -> None:  # noqa: FBT001 - correct(reply == "42")
        """Record whether the answer was right."""
        self._put("correct", is_correct)

    def predicted(self, label: str | bool) -> None:  # noqa: FBT001 - a label may be a truth value
        """Record the label that the agent gave; the mark has the right one, as `expected`."""
        self._put("predicted", label)

    def latency_ms(self, milliseconds: float) -> None:
        """Record how long the agent took; `timing()` measures it."""
        self._put("latency_ms", milliseconds)

    def tokens_used(self, tokens: int) -> None:
        """Record how many tokens the agent used."""
        self._put("tokens_used", tokens)

    def cost_usd(self, dollars: float) -> None:
        """Record what the answer cost."""
        self._put("cost_usd", dollars)

    def quality_score(self, score: float) -> None:
        """Record how good the output was, from 0 to 1."""
        self._put("quality_score", score)

    def column(self, name: str, value: str | float | bool) -> None:  # noqa: FBT001 - any scalar
        """Record a column of your own, or `agent_version`, `judge` or `outcome`."""
        _check_name("column", name)
        if name in _MARKED:
            raise ValueError(f"behaviors.column: {name} describes the scenario: write @pytest.mark.scenario({name}=…)")
        if name in _MADE:
            raise ValueError(f"behaviors.column: {name} is not recorded: {_MADE[name]}")
        meant = near_miss(name, COLUMN_NAMES)
        if meant:
            raise ValueError(f"behaviors.column: {name!r} is no column; did you mean {meant!r}?")
        self._put(name, value)

    @contextmanager
    def timing(self) -> Iterator[None]:
        """Measure the time of the block, by a monotonic clock, as `latency_ms`. The times of several blocks add up."""
        self._check_open()
        if "latency_ms" in self._columns:
            raise ValueError("behaviors.timing: latency_ms is recorded already")
        start = time.perf_counter()
        # Not in a `finally`: the time until an exception is not the latency of an answer.
        yield
        self._check_open()
        self._timed = (self._timed or 0) + (time.perf_counter() - start) * 1000

    @property
    def columns(self) -> Mapping[str, Any]:
        """The recorded columns, without behaviors and violations."""
        timed = {} if self._timed is None else {"latency_ms": round(self._timed, 3)}
        return {**self._columns, **timed}

    @property
    def seen(self) -> tuple[str, ...]:
        """The behaviors that were observed."""
        return tuple(name for name, seen in self._observed.items() if seen)

    @property
    def happened(self) -> tuple[str, ...]:
        """The violations that were recorded."""
        return tuple(name for name, happened in self._violated.items() if happened)

    @property
    def looked_for(self) -> frozenset[str]:
        """The names that the test recorded in any way, as observed or not, as violated or not."""
        return frozenset({*self._observed, *self._violated})

    def close(self) -> None:
        """End the recording: later calls raise RuntimeError, because they belong to no row."""
        self._is_open = False

    def _note(self, known: dict[str, bool], method: str, name: str, value: bool) -> None:  # noqa: FBT001 - as observed
        self._check_open()
        _check_name(method, name)
        wanted = CHECKS["passed"](value)
        if wanted:
            raise TypeError(f"behaviors.{method}({name!r}, …): found {shown(value)}, {wanted}")
        meant = near_miss(name, self._declared) or _other_case(name, {*self._observed, *self._violated})
        if meant:
            raise ValueError(f"behaviors.{method}: {name!r} is not in the mark of this test; did you mean {meant!r}?")
        # A test may record each turn of a conversation: what was observed in one turn was observed.
        known[name] = known.get(name, False) or value

    def _put(self, name: str, value: Any) -> None:
        self._check_open()
        wanted = CHECKS[name](value) if name in BY_NAME else own_value(value)
        if wanted:
            raise TypeError(f"behaviors.{name}: found {shown(value)}, {wanted}")
        before = self._timed if name == "latency_ms" else None
        before = self._columns.get(name, before)
        if before is not None and before != value:
            raise ValueError(f"behaviors.{name}: found {shown(value)}, and {shown(before)} is recorded already")
        self._columns[name] = value

    def _check_open(self) -> None:
        if not self._is_open:
            raise RuntimeError("behaviors: the test that this belongs to has ended")


def _check_name(method: str, name: object) -> None:
    if not isinstance(name, str) or not name.strip():
        raise TypeError(f"behaviors.{method}: found {shown(name)}, wanted a name")


def _other_case(name: str, known: Iterable[str]) -> str | None:
    """A known name that differs only in case; None if there is none. Results refuse a row with both."""
    return next((other for other in known if other != name and other.casefold() == name.casefold()), None)


def own_value(value: object) -> str | None:
    """What a column of the user's own accepts, in words; None if it accepts the value."""
    is_number = isinstance(value, int | float) and abs(value) <= LARGEST_WHOLE  # False for NaN, too
    return None if is_number or isinstance(value, str) else "wanted text, a number, or True or False"
