"""Scenarios that are known to be flaky, so that they do not count as new failures: what a policy says about them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from fractions import Fraction

from msgspec import Struct, field

LARGEST_SHARE = Fraction(5, 100)
"""Share of the suite. A larger quarantine is no longer an exception, and the rule `quarantine` fails."""
MOST_DAYS = 30
"""Days after which a quarantine by `auto` ends, whether or not the scenario was repaired."""
MOST_RUNS = 50
"""Runs after which it ends."""
NEVER = "adversarial"
"""The category that is never quarantined: an attack that works only sometimes still works."""


class QuarantinePolicy(Struct, frozen=True):
    """The block `quarantine`: the last day of each scenario that it names, and how many runs `auto` looks at.

    A day is None if the quarantine has no end, and `auto` if there is none. `history` is the folder of the runs as the
    policy writes it, `folder` the same folder as a path from the working folder.
    """

    ids: Mapping[str, date | None] = field(default_factory=dict)
    auto: int | None = None
    history: str = "history"
    folder: str = "history"


class UnsteadyScenario(Struct, frozen=True):
    """A text of a scenario that passed in one of the last runs and failed in another, scored and judged alike.

    It has been unsteady since the day `since`, for `runs` runs. `passed` and `failed` count the runs of the last
    window. If `is_start_known` is False, the history has too few runs before that day: the scenario may have been
    unsteady for longer.
    """

    id: str
    digest: str
    since: date
    runs: int
    passed: int
    failed: int
    is_adversarial: bool = False
    is_start_known: bool = True


class AutoQuarantine(Struct, frozen=True):
    """What the history says: the unsteady scenarios, the digests of today's texts by id, and notes for the report.

    `window` is how many runs decide whether a scenario is unsteady. `problem` says why the history could not be used;
    then no scenario is unsteady.
    """

    unsteady: tuple[UnsteadyScenario, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    problem: str | None = None
    window: int = 0


class QuarantinedScenario(Struct, frozen=True):
    """A scenario whose failure does not count as new, and why; both dates are ISO 8601, None if there is none."""

    id: str
    why: str
    since: str | None = None
    until: str | None = None
