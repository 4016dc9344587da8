"""Scenarios that are known to be flaky, so that they do not count as new failures: which ones may be."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from fractions import Fraction

from msgspec import Struct

LARGEST_SHARE = Fraction(5, 100)
"""Share of the suite. A larger quarantine is no longer an exception, and the rule `quarantine` fails."""
OFFERED_DAYS = 30
"""Days of a quarantine that `highbar history flaky` offers: time enough to repair a scenario."""
NEVER = "adversarial"
"""The category that is never quarantined: an attack that works only sometimes still works."""

LastDays = Mapping[str, date | None]
"""What a policy lists: by id the last day, None for a quarantine without an end."""


class QuarantinedScenario(Struct, frozen=True):
    """A scenario whose failure does not count as new, why, and its last day in ISO 8601; None if it has no end."""

    id: str
    why: str
    until: str | None = None


def most_of(scenarios: int) -> int:
    """The most scenarios of a suite that may be quarantined: LARGEST_SHARE of it, rounded down, but at least one.

    Otherwise suites of fewer than 20 scenarios could have no quarantine. One scenario is no loophole: it is only exempt
    from `new_failures`, and every rate still counts it.
    """
    return max(1, int(scenarios * LARGEST_SHARE))
