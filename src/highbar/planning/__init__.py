"""A question in, how much evidence it takes out: from plain numbers, from a policy, or from a verdict. Pure.

size_needed(threshold, rate, assumptions)   how many scenarios it takes to judge an agent of this true rate
reach(scenarios, threshold, assumptions)    the true rates that pass and fail on a suite of this size
gate_chance(scenarios, threshold, rate, …)  how a suite of this size would judge an agent of this true rate
difference_shown(scenarios, differing, …)   the smallest difference between two versions that a suite can show
scenarios_to_show(difference, differing, …) how many scenarios it takes to show a difference
unseen_loss(verdict)                        the loss that a comparison with this run would often miss
stop_early(design, rates)                   how a run that stops as soon as it is decided would judge agents
plan_policy(policy, …), plan_verdict(…)     for every rule of a policy: beforehand, and from results
plan_sequential(policy, …)                  for every rule of a policy, if the run stops as soon as it is decided
"""

from highbar.planning.plans import (
    Assumptions,
    Budget,
    Chance,
    EarlyChance,
    Joint,
    Plan,
    PlannedDifference,
    Reach,
    Repeats,
    RuleNeed,
    RuleStanding,
    SizeNeeded,
    UnseenLoss,
)
from highbar.planning.rules import plan_policy, plan_verdict
from highbar.planning.sequential import MOST_PLANNED, Design, plan_sequential, stop_early
from highbar.planning.suites import difference_shown, gate_chance, reach, scenarios_to_show, size_needed
from highbar.planning.unseen import unseen_loss

__all__ = [
    "MOST_PLANNED",
    "Assumptions",
    "Budget",
    "Chance",
    "Design",
    "EarlyChance",
    "Joint",
    "Plan",
    "PlannedDifference",
    "Reach",
    "Repeats",
    "RuleNeed",
    "RuleStanding",
    "SizeNeeded",
    "UnseenLoss",
    "difference_shown",
    "gate_chance",
    "plan_policy",
    "plan_sequential",
    "plan_verdict",
    "reach",
    "scenarios_to_show",
    "size_needed",
    "stop_early",
    "unseen_loss",
]
