"""Which scenarios are quarantined today, by the policy's `quarantine`, the suite and the results."""

from __future__ import annotations

from datetime import UTC, date, datetime

from highbar import gate
from highbar.language.phrases import some
from highbar.model import Policy
from highbar.model.job import Job
from highbar.model.quarantine import NEVER, LastDays, QuarantinedScenario
from highbar.model.reduction import Reduction

_LISTED = "listed in the policy"


def with_quarantine(
    job: Job, policy: Policy, sums: Reduction, evidence: gate.Evidence
) -> tuple[gate.Evidence, tuple[str, ...]]:
    """The evidence with the quarantined scenarios, and notes on those that are not, or no longer, quarantined."""
    today = job.today or datetime.now(UTC).date()
    listed, notes = _listed_scenarios(policy.quarantine or {}, today, _categories(policy, sums))
    quarantined = tuple(sorted(listed, key=lambda one: one.id))
    size = len(policy.suite.scenarios) if policy.suite is not None else sums.whole.scenarios
    return evidence.with_fields(quarantined=quarantined, suite_size=size), tuple(notes)


def _categories(policy: Policy, sums: Reduction) -> dict[str, set[str | None]]:
    """The categories of each scenario, in the results and in the suite: either may call it adversarial."""
    found: dict[str, set[str | None]] = {}
    for record in () if sums.records is None else sums.records.scenarios:
        found.setdefault(record.id, set()).add(record.columns.get("category"))
    for id_, columns in {} if policy.suite is None else policy.suite.scenarios.items():
        found.setdefault(id_, set()).add(columns.get("category"))
    return found


def _listed_scenarios(
    last_days: LastDays, today: date, categories: dict[str, set[str | None]]
) -> tuple[list[QuarantinedScenario], list[str]]:
    """The scenarios that the policy lists, without those whose quarantine has ended and those that never have one."""
    found: list[QuarantinedScenario] = []
    notes: list[str] = []
    for id_, last_day in last_days.items():
        until = None if last_day is None else last_day.isoformat()
        if last_day is not None and today > last_day:
            notes.append(f"quarantine: that of {id_} ended on {until}; remove it from the policy")
        elif NEVER in categories.get(id_, ()):
            notes.append(f"quarantine: {id_} is {NEVER}, and so is not quarantined")
        else:
            found.append(QuarantinedScenario(id_, _LISTED, until=until))
    unknown = [one.id for one in found if one.id not in categories]
    if unknown:
        notes.append(f"quarantine: no result has the id {some(unknown)}; remove it from the policy")
    return found, notes
