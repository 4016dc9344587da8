"""The outcomes of all rules → the verdict of the whole."""

from __future__ import annotations

from collections.abc import Sequence

from highbar.errors import InputError, Problem
from highbar.model import Decision, RuleResult


def decide(results: Sequence[RuleResult]) -> Decision:
    """Fail if a blocking rule failed or is undefined; else inconclusive if one is; pass if all of them passed."""
    if not results:
        raise InputError(Problem("there is no rule to judge by", hint="a policy needs at least one rule"))
    outcomes = {result.outcome for result in results if result.level == "blocking"}
    if outcomes <= {"pass"}:
        return "pass"
    if outcomes <= {"pass", "inconclusive"}:
        return "inconclusive"
    return "fail"
