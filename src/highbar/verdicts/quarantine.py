"""Which scenarios are quarantined today, and why, by the policy's `quarantine`, the history and the results."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

from msgspec.structs import replace

from highbar import gate
from highbar.language.phrases import some
from highbar.model import Policy, ScenarioRule
from highbar.model.job import Job
from highbar.model.quarantine import (
    MOST_DAYS,
    MOST_RUNS,
    NEVER,
    AutoQuarantine,
    QuarantinedScenario,
    QuarantinePolicy,
    UnsteadyScenario,
)
from highbar.model.reduction import Reduction
from highbar.policy import matches

_LISTED = "listed in the policy"
_NO_REF = "without --against-ref it is not known which runs came before the change"
_UNKNOWN_TEXTS = "what the scenarios ask is not known: the rows have no input, and there is neither a run nor a suite"


def with_quarantine(
    job: Job, policy: Policy, sums: Reduction, evidence: gate.Evidence
) -> tuple[gate.Evidence, tuple[str, ...]]:
    """The evidence with the quarantined scenarios, and notes on those that are not, or no longer, quarantined."""
    block = policy.quarantine or QuarantinePolicy()
    today = job.today or datetime.now(UTC).date()
    categories = _categories(policy, sums)
    listed, notes = _listed_scenarios(block, today, categories)
    found = {one.id: one for one in listed}
    if block.auto is not None:
        flaky = job.flaky or AutoQuarantine(problem=_NO_REF)
        texts = flaky.texts or ({} if sums.records is None else sums.records.texts)
        automatic, more = _flaky_scenarios(replace(flaky, texts=texts), policy, today, categories)
        # What the policy lists by id takes precedence, with its own last day.
        found = {one.id: one for one in automatic if one.id in categories} | found
        notes += more
    quarantined = tuple(found[id_] for id_ in sorted(found))
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
    block: QuarantinePolicy, today: date, categories: dict[str, set[str | None]]
) -> tuple[list[QuarantinedScenario], list[str]]:
    """The scenarios that the policy lists, without those whose quarantine has ended and those that never have one."""
    found: list[QuarantinedScenario] = []
    notes: list[str] = []
    for id_, last_day in block.ids.items():
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


def _flaky_scenarios(
    flaky: AutoQuarantine, policy: Policy, today: date, categories: dict[str, set[str | None]]
) -> tuple[list[QuarantinedScenario], list[str]]:
    """The scenarios that are unsteady in the history, with the same text as now."""
    if flaky.problem is not None:
        return [], [f"quarantine.auto takes no scenario: {flaky.problem}"]
    if not flaky.texts:
        return [], [*flaky.notes, f"quarantine.auto takes no scenario: {_UNKNOWN_TEXTS}"]
    known = [one for one in flaky.unsteady if flaky.texts.get(one.id) == one.digest]
    allowed = [one for one in known if not _is_never_taken(one, policy, categories)]
    over = [one for one in allowed if _is_over(one, today)]
    notes = list(flaky.notes)
    if over:
        limits = f"{MOST_DAYS} days or {MOST_RUNS} runs"
        notes.append(f"quarantine: still flaky, but free again after {limits}: {some([one.id for one in over])}")
    open_ = [one for one in allowed if not _is_over(one, today)]
    unknown = [one.id for one in open_ if not one.is_start_known]
    if unknown:
        remedy = "keep more runs, or list it under quarantine.ids"
        since_when = "flaky, but the history has too few runs to say since when"
        notes.append(f"quarantine: {since_when}: {some(unknown)}; {remedy}")
    return [_quarantine_flaky(one, flaky.window) for one in open_ if one.is_start_known], notes


def _is_never_taken(one: UnsteadyScenario, policy: Policy, categories: dict[str, set[str | None]]) -> bool:
    """Whether a scenario is adversarial, now or in the history, or required."""
    return one.is_adversarial or NEVER in categories.get(one.id, ()) or any(_requires(policy, one.id))


def _requires(policy: Policy, id_: str) -> Iterator[bool]:
    for rule in policy.rules:
        if isinstance(rule, ScenarioRule) and rule.level == "blocking":
            yield matches(rule.pattern, id_)


def _is_over(one: UnsteadyScenario, today: date) -> bool:
    return today > one.since + timedelta(days=MOST_DAYS) or one.runs > MOST_RUNS


def _quarantine_flaky(one: UnsteadyScenario, window: int) -> QuarantinedScenario:
    found = f"it passed in {one.passed} and failed in {one.failed} of the last runs before the change"
    why = f"flaky: {found}; quarantined until its last {window} runs agree"
    until = one.since + timedelta(days=MOST_DAYS)
    return QuarantinedScenario(one.id, why, one.since.isoformat(), until.isoformat())
