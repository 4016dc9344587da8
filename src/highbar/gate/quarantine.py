"""The rule `quarantine`: a quarantine is for exceptions, so it may contain only a small share of the suite."""

from __future__ import annotations

from highbar.gate.evidence import Evidence
from highbar.gate.outlook import certain_result
from highbar.language.digits import amount
from highbar.language.phrases import count, some
from highbar.model import Outcome, QuarantineRule, RuleResult
from highbar.model.quarantine import LARGEST_SHARE


def most_of(scenarios: int) -> int:
    """The most scenarios of a suite that may be quarantined: LARGEST_SHARE of it, rounded down, but at least one.

    Otherwise suites of fewer than 20 scenarios could have no quarantine. One scenario is no loophole: it is only exempt
    from `new_failures`, and every rate still counts it.
    """
    return max(1, int(scenarios * LARGEST_SHARE))


def judge_quarantine(rule: QuarantineRule, evidence: Evidence) -> RuleResult:
    """Whether the quarantine is small enough."""
    ids, most = [one.id for one in evidence.quarantined], most_of(evidence.suite_size)
    bound = f"at most {most} may be, {amount(LARGEST_SHARE, 'ratio')} of {evidence.suite_size}"
    outcome: Outcome = "pass" if len(ids) <= most else "fail"
    found = f"{count(len(ids), 'scenario')} quarantined: {some(ids)}" if ids else "no scenario is quarantined"
    return certain_result(rule, outcome, f"{found}; {bound}")
