"""A question in, how much evidence it takes out: from plain numbers, from a policy, or from a verdict. Pure.

suppose(threshold, rate, assumptions)         scenarios that judge an agent of this true rate
reach(scenarios, threshold, assumptions)      the rates that so many scenarios can pass and fail
chance(scenarios, threshold, rate, …)         how so many scenarios would judge an agent of this true rate
smallest(scenarios, differing, …), show(…)    the difference between two versions that a suite can show
plan_policy(policy, …), plan_verdict(…)       the same for every rule: beforehand, and from results
"""

from highbar.planning.plans import (
    Assumptions,
    Budget,
    Chance,
    Joint,
    Plan,
    PlannedDifference,
    Reach,
    Repeats,
    RuleNeed,
    RuleStanding,
    Supposed,
)
from highbar.planning.rules import plan_policy, plan_verdict
from highbar.planning.suites import gate_chance, needed_to_show, reach, smallest_shown, suppose

__all__ = [
    "Assumptions",
    "Budget",
    "Chance",
    "Joint",
    "Plan",
    "PlannedDifference",
    "Reach",
    "Repeats",
    "RuleNeed",
    "RuleStanding",
    "Supposed",
    "gate_chance",
    "needed_to_show",
    "plan_policy",
    "plan_verdict",
    "reach",
    "smallest_shown",
    "suppose",
]
