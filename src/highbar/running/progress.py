"""How far a run is, and what is known of its verdict → a line for the user. Nothing here prints or reads a clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from decimal import Decimal

import msgspec
from msgspec import Struct

from highbar.model import Decision, RuleResult, Verdict

PLAIN_EVERY = 10.0
"""Seconds between two lines if the output is not a terminal."""
COST_UNKNOWN = "cost unknown"
_RECENT = 30
_UNITS = ((3600, "h"), (60, "min"), (1, "s"))


class Standing(Struct, frozen=True, eq=False):
    """The verdict so far and the open rules that can still change it, or the problem why there is no verdict yet."""

    verdict: Verdict | None = None
    open: tuple[RuleResult, ...] = ()
    problem: str | None = None

    @property
    def decision(self) -> Decision | None:
        """The verdict in one word; None if nothing can be judged so far."""
        return None if self.verdict is None else self.verdict.verdict

    @property
    def is_decided(self) -> bool:
        """Whether the rest of the run cannot change the verdict."""
        return self.decision is not None and not self.open


class ProgressState(Struct):
    """How far a run has come, updated while it goes on. `done` and costs include earlier sessions.

    The grader sets `failed`: scheduling knows only errors. `unanswered` counts trials that ended without an answer
    through no fault of the agent. `agent_version` is the version that was declared or seen first. `standing` is what is
    known of the verdict, if the run stops when it is decided. `recent` has moments of the last half minute, each with
    the value of `done` at that time.
    """

    planned: int
    done: int = 0
    failed: int = 0
    errors: int = 0
    unanswered: int = 0
    in_flight: int = 0
    waiting: int = 0
    to_judge: int = 0
    to_grade: int = 0
    at_once: int = 0
    cost_usd: Decimal = Decimal(0)
    cost_unknown: int = 0
    agent_version: str | None = None
    standing: Standing | None = None
    recent: deque[tuple[float, int]] = msgspec.field(default_factory=lambda: deque(maxlen=_RECENT))

    def note(self, now: float) -> None:
        """Remember this moment. Call it about once a second: the pace is that of the last 30 calls."""
        self.recent.append((now, self.done))

    def per_second(self, now: float) -> float | None:
        """How many trials ended per second in the last half minute; None if that is not known yet."""
        if not self.recent or now <= self.recent[0][0]:
            return None
        return (self.done - self.recent[0][1]) / (now - self.recent[0][0])


def progress_line(state: ProgressState, now: float, width: int | None = None, *, left_out: Collection[str] = ()) -> str:
    """The line for a terminal of this width, without the parts `left_out`.

    If it is too long, more parts are left out, the least important first.

    >>> progress_line(ProgressState(planned=500, done=120, failed=3, errors=1, in_flight=8), now=0.0)
    '120/500 done, 3 failed, 1 error, 8 in flight'
    """
    parts = [part for part in _parts(state, now) if part[1] not in left_out]
    while width is not None and len(parts) > 1 and len(", ".join(text for _, text in parts)) > width:
        parts.remove(max(parts, key=lambda part: part[0]))
    text = ", ".join(text for _, text in parts)
    return text if width is None else text[: max(width, 0)]


def _parts(state: ProgressState, now: float) -> Iterator[tuple[int, str]]:
    """Each part in the order of the line, with its rank: the highest rank is left out first."""
    yield 0, f"{state.done}/{state.planned} done"
    yield 1, f"{state.failed} failed"
    yield 2, f"{state.errors} error{'s' if state.errors != 1 else ''}"
    if state.unanswered:
        yield 3, f"{state.unanswered} without an answer"
    yield 6, f"{state.in_flight} in flight"
    if state.waiting:
        yield 8, f"{state.waiting} waiting for a retry"
    if state.to_judge:
        yield 3, f"{state.to_judge} to judge"
    if state.to_grade:
        yield 3, f"{state.to_grade} to grade"
    pace = state.per_second(now)
    if pace is not None:
        yield 7, f"{pace:.1f}/s"
        if pace > 0 and state.planned > state.done:
            most = "" if state.standing is None else "at most "
            yield 4, f"{most}{duration_text((state.planned - state.done) / pace)} left"
    if (cost := cost_text(state)) is not None:
        yield 5, cost


def cost_text(state: ProgressState) -> str | None:
    """What the trials cost so far; None if that is 0 and no cost is unknown. An unknown cost is not 0.

    >>> cost_text(ProgressState(planned=9, cost_usd=Decimal("0.5"), cost_unknown=2))
    '$0.5 + 2 unknown'
    """
    cost = f"${state.cost_usd:.2f}" if state.cost_usd >= 1 else f"${state.cost_usd:.2g}"
    if not state.cost_unknown:
        return cost if state.cost_usd else None
    return f"{cost} + {state.cost_unknown} unknown" if state.cost_usd else COST_UNKNOWN


def duration_text(seconds: float) -> str:
    """A duration in its two largest units, at least 1 s.

    >>> duration_text(0.2), duration_text(59.6), duration_text(3725)
    ('1 s', '1 min', '1 h 2 min')
    """
    left = max(1, round(seconds))
    if left >= 3600:  # no seconds beside hours
        left -= left % 60
    counts = [(left // size % (60 if size < 3600 else left + 1), unit) for size, unit in _UNITS]
    return " ".join(f"{count} {unit}" for count, unit in counts if count)
