"""The rule about scenarios that passed in the baseline and do not now.

A baseline of a single run shows only that a scenario passed once. With a history, or with a baseline of several runs,
a scenario newly fails only if a test against its earlier trials says so. The rule also fails if more scenarios fail at
once than their earlier trials explain.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from highbar.gate.evidence import Compared, Evidence
from highbar.gate.outlook import certain_outlooks
from highbar.gate.thresholds import ThresholdOutcome
from highbar.language.phrases import count, some
from highbar.model import NewFailuresRule, Outcome
from highbar.model.recall import Recalled, Trials
from highbar.policy import matches


class NamedScenarios(Struct, frozen=True):
    """The scenarios that the rule is about (`matched`): those that passed all trials in the baseline, and their state.

    `broken` is a part of `matched`; `quarantined` are broken too, but do not count. `flaky` passed only some of their
    trials in a pooled baseline. `failing` are the flaky ones that fail now, which they may, but not more often than
    before. `absent` are those that have no result now, steady, flaky or quarantined: leaving one out must not help.
    """

    matched: tuple[str, ...]
    broken: tuple[str, ...]
    quarantined: tuple[str, ...]
    absent: tuple[str, ...]
    steady: tuple[str, ...]  # matched, and not quarantined
    flaky: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()


def judge_new_failures(rule: NewFailuresRule, compared: Compared, evidence: Evidence) -> ThresholdOutcome:
    """Whether a scenario newly fails, or has no result any more."""
    # A history goes back further. Only without one does a baseline of several runs serve as the history.
    own = compared.pooled if rule.history is None and compared.runs_in_base > 1 else None
    named = _find_scenarios(rule, compared, evidence, own)
    if not named.matched and not named.flaky:
        reason = "no scenario that it is about passed all its trials in the baseline"
        return ThresholdOutcome("undefined", reason, outlooks=certain_outlooks("undefined"))
    beside = ""
    if named.quarantined:
        beside = f"; {count(len(named.quarantined), 'scenario')} failed in quarantine: {some(named.quarantined)}"
    suspects = (*named.broken, *named.failing)
    if suspects and (rule.history is not None or own is not None):
        return _test_failures(named, suspects, own, evidence, beside)
    if named.broken or named.absent:
        return _failed_outcome(named, named.broken, beside)
    others = "other scenario" if named.quarantined else "scenario"
    each = f"each of the {count(len(named.matched) - len(named.quarantined), others)}"
    return ThresholdOutcome("pass", f"{each} that passed in the baseline passes{beside}")


def _find_scenarios(
    rule: NewFailuresRule, compared: Compared, evidence: Evidence, own: Recalled | None
) -> NamedScenarios:
    matched = tuple(id_ for id_ in compared.passed_in_base if _is_about(rule, id_))
    quarantined = {one.id for one in evidence.quarantined}
    now: Mapping[str, Trials] = {} if own is None else own.now
    sometimes = tuple(id_ for id_ in _passed_sometimes(compared) if _is_about(rule, id_))
    flaky = () if own is None else tuple(id_ for id_ in sometimes if id_ not in quarantined)
    return NamedScenarios(
        matched=matched,
        broken=tuple(id_ for id_ in matched if id_ in compared.broken and id_ not in quarantined),
        quarantined=tuple(id_ for id_ in matched if id_ in compared.broken and id_ in quarantined),
        # A quarantined scenario must still run, so an absent one counts.
        absent=tuple(id_ for id_ in (*matched, *sometimes) if id_ in compared.missing_ids),
        steady=tuple(id_ for id_ in matched if id_ not in quarantined),
        flaky=flaky,
        failing=tuple(id_ for id_ in flaky if id_ in now and now[id_][0] < now[id_][1]),
    )


def _passed_sometimes(compared: Compared) -> tuple[str, ...]:
    """The scenarios that passed some trials of a pooled baseline, and failed others."""
    if compared.runs_in_base == 1:  # the trials of one run say too little about how often a scenario fails
        return ()
    (before,) = compared.pooled.excusing
    return tuple(id_ for id_, (passed, trials) in before.items() if 0 < passed < trials)


def _is_about(rule: NewFailuresRule, id_: str) -> bool:
    return any(matches(pattern, id_) for pattern in rule.patterns)


def _test_failures(
    named: NamedScenarios, suspects: tuple[str, ...], own: Recalled | None, evidence: Evidence, beside: str
) -> ThresholdOutcome:
    from highbar.gate.history import NOT_READ, explain_failures  # few policies have one

    recalled = own or evidence.recalled or NOT_READ
    found = explain_failures((*named.steady, *named.flaky), suspects, recalled, is_baseline=own is not None)
    if not found.failing and not named.absent and not found.too_many:
        outcome: Outcome = "inconclusive" if found.unsure else "pass"
        return ThresholdOutcome(outcome, f"{found.in_words}{beside}", outlooks=certain_outlooks(outcome))
    beside += f"; {found.no_excuse}" if found.no_excuse else ""
    beside += f"; {found.in_words}" if found.chance else ""
    return _failed_outcome(named, found.failing, beside, tested=True)


def _failed_outcome(
    named: NamedScenarios, broken: tuple[str, ...], beside: str, *, tested: bool = False
) -> ThresholdOutcome:
    """The failed outcome; if it was `tested` against earlier runs, a second run is assumed to fail too."""
    reasons = [f"{count(len(broken), 'scenario')} passed in the baseline and not now: {some(broken)}"] if broken else []
    if named.absent:
        absent = f"{count(len(named.absent), 'scenario')} passed in the baseline, with no result now"
        reasons.append(f"{absent}: {some(named.absent)}")
    outlooks = certain_outlooks("fail") if named.absent or tested else ()
    return ThresholdOutcome("fail", ("; ".join(reasons) + beside).removeprefix("; "), outlooks=outlooks)
