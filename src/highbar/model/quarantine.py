"""Scenarios that are known to be flaky, and so do not count as new failures: what a policy says, and who it is."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from fractions import Fraction

from msgspec import Struct, field

LARGEST_SHARE = Fraction(5, 100)
"""Of the suite. A quarantine of more is no exception any more, and the rule `quarantine` fails."""
MOST_DAYS = 30
"""A scenario that `auto` took goes free after so many days, repaired or not."""
MOST_RUNS = 50
"""And after so many runs."""
NEVER = "adversarial"
"""The category that no quarantine takes: an attack that works only sometimes works."""


class QuarantineEntry(Struct, frozen=True):
    """A scenario that the policy names; `until` is the last day, None if it has no end."""

    id: str
    until: date | None = None


class QuarantinePolicy(Struct, frozen=True):
    """The block `quarantine`: scenarios by name, and how many runs `auto` looks at; None if there is no `auto`.

    `history` is the folder of the runs as the policy has it, `folder` the same seen from the working folder.
    """

    ids: tuple[QuarantineEntry, ...] = ()
    auto: int | None = None
    history: str = "history"
    folder: str = "history"


class UnsteadyScenario(Struct, frozen=True):
    """A text of a scenario that passed in one of the last runs and failed in another, judged alike.

    That has been so in every run since the day `since`, for `runs` runs. `passed` and `failed` count the last runs. If
    the start is not known, the history has too few runs before that day: it may have been so long before.
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
    """What the history says: the unsteady scenarios, the digests of today's texts by id, and what people should know.

    `window` is how many runs decide whether a scenario is unsteady. `problem` says why nothing is known; then nothing
    is unsteady.
    """

    unsteady: tuple[UnsteadyScenario, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    problem: str | None = None
    window: int = 0


class QuarantinedScenario(Struct, frozen=True):
    """A scenario whose failure is no new failure, and why; both dates are ISO 8601, None if there is none."""

    id: str
    why: str
    since: str | None = None
    until: str | None = None
