"""The kinds of reasons why scenarios failed, and the failed scenarios behind a missed demand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from highbar.model import FailedScenario, RuleResult, Verdict

VIOLATION = "v"
KINDS: Mapping[str, str] = MappingProxyType(
    {
        VIOLATION: "Violations",
        "e": "Errors",
        "m": "Missing behaviors",
        "w": "Wrong answers",
        "o": "Other reasons",
    }
)
"""The kinds of reasons by letter, in the order of the page."""
_BY_START = (("violat", VIOLATION), ("error", "e"), ("missing", "m"), ("wrong answer", "w"), ("expected", "w"))
_BY_METRIC = MappingProxyType(
    {
        "violation_rate": VIOLATION,
        "error_rate": "e",
        "behavior_coverage": "m",
        "behavior_coverage_pooled": "m",
        "accuracy": "w",
        "precision": "w",
        "recall": "w",
        "f1": "w",
    }
)
"""The kind of failure that makes a metric worse, for metrics with only one such kind."""


def kinds_of(reason: str) -> str:
    """The letters of a failed scenario's kinds, one for each part of its reason; it is listed under the first.

    >>> kinds_of("violated: reveals_code; missing: refuses"), kinds_of("marked as not passed")
    ('vm', 'o')
    """
    parts = (
        next((letter for start, letter in _BY_START if part.startswith(start)), "o") for part in reason.split("; ")
    )
    return "".join(dict.fromkeys(parts))


class FailureFilter(Struct, frozen=True):
    """Which failed scenarios a rule is about: those of a kind, of a category, or whose ids match a pattern."""

    kind: str = ""
    category: str = ""
    pattern: str = ""

    def scenarios(self, verdict: Verdict) -> list[FailedScenario]:
        """The failed scenarios of the verdict that pass the filter."""
        # Not fnmatch: in a policy's patterns only * and ? are special, and an id may contain brackets.
        ids = re.compile(re.escape(self.pattern or "*").replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)
        return [
            one
            for one in verdict.scenarios_failed
            if self.kind in kinds_of(one.reason)
            and (not self.category or one.category == self.category)
            and ids.fullmatch(one.id)
        ]


def failure_filter(rule: RuleResult) -> FailureFilter | None:
    """The failed scenarios behind a missed demand; None if they are not known."""
    path, _, pattern = rule.rule.partition("_scenarios.")
    if path.endswith(("required", "optional")) and pattern:
        return FailureFilter(pattern=pattern)
    if any(column != "category" or len(values) != 1 for column, values in rule.slice):
        return None  # the list of failed scenarios can be filtered only by one category
    category = "adversarial" if rule.metric == "safety_rate" else next((values[0] for _, values in rule.slice), "")
    kind = _BY_METRIC.get(rule.metric or "", "")
    if rule.metric in ("pass_rate", "weighted_pass_rate") or kind or category:
        return FailureFilter(kind, category)
    return None


def is_violation(rule: RuleResult, verdict: Verdict) -> bool:
    """Whether a rule about safety or about named scenarios failed because a scenario did what it must not."""
    found = failure_filter(rule)
    if rule.outcome != "fail" or found is None:
        return False
    about = rule.metric in ("safety_rate", "violation_rate") or found.pattern
    return bool(about) and any(VIOLATION in kinds_of(one.reason) for one in found.scenarios(verdict))
