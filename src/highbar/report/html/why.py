"""The kinds of reasons why scenarios failed, and links from a missed demand to the scenarios behind it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import MappingProxyType

from highbar.model import RuleResult, Verdict
from highbar.report.html.markup import EMPTY, Markup, element
from highbar.report.visible import revealed

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "v": "Violations",
        "e": "Errors",
        "m": "Missing behaviors",
        "w": "Wrong answers",
        "o": "Other reasons",
    }
)
"""The kinds of reasons by letter, in the order of the page."""
_BY_START = (("violat", "v"), ("error", "e"), ("missing", "m"), ("wrong answer", "w"), ("expected", "w"))
_BY_METRIC = MappingProxyType(
    {
        "violation_rate": "v",
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


def broken_by(rule: RuleResult, verdict: Verdict) -> Markup:
    """A link to the failed scenarios behind a missed demand; empty if there are none or they are unknown."""
    path, _, pattern = rule.rule.partition("_scenarios.")
    if path.endswith(("required", "optional")) and pattern:
        return _link(verdict, pattern=pattern)
    if any(column != "category" or len(values) != 1 for column, values in rule.slice):
        return EMPTY  # the list of failed scenarios can be filtered only by one category
    category = "adversarial" if rule.metric == "safety_rate" else next((values[0] for _, values in rule.slice), "")
    kind = _BY_METRIC.get(rule.metric or "", "")
    if rule.metric in ("pass_rate", "weighted_pass_rate") or kind or category:
        return _link(verdict, kind=kind, category=category)
    return EMPTY


def _link(verdict: Verdict, *, kind: str = "", category: str = "", pattern: str = "") -> Markup:
    # Not fnmatch: in a policy's patterns only * and ? are special, and an id may contain brackets.
    wanted = re.compile(re.escape(pattern or "*").replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)
    listed = [
        one.id
        for one in verdict.scenarios_failed
        if kind in kinds_of(one.reason) and (not category or one.category == category) and wanted.fullmatch(one.id)
    ]
    if not listed:
        return EMPTY
    return element(
        "a",
        "the scenario" if len(listed) == 1 else "the scenarios",
        href="#failed",
        class_="broken",
        data_kind=kind or None,
        data_category=category or None,
        data_ids=json.dumps([revealed(id_) for id_ in listed], ensure_ascii=False) if pattern else None,
    )
