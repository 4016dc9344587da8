"""`compare`: two runs in; what changed, and whether it is more than chance, out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct

from highbar import api
from highbar.mcp_server.arguments import IS_PATH, PolicyPath, ToolArguments, UntrustedAnswer
from highbar.mcp_server.checking import MOST_NOTES, RuleBrief, brief_rule
from highbar.mcp_server.confinement import Workspace
from highbar.mcp_server.texts import UNTRUSTED

_MOST_IDS = 20
"""Scenarios in one list of the answer."""
_MOST_RULES = 10
"""Rules of the comparison in the answer."""
_CHANGED = ("better", "worse")


class CompareArguments(ToolArguments, frozen=True, kw_only=True):
    """The arguments of `compare`."""

    base: Annotated[str, Meta(extra=IS_PATH, description="The earlier run: results, a run folder, or a baseline.")]
    head: Annotated[str, Meta(extra=IS_PATH, description="The later run.")]
    policy: PolicyPath = None


class MetricDifference(Struct, frozen=True, omit_defaults=True):
    """Head minus base over the scenarios of both runs, with its interval."""

    metric: str
    outcome: str
    base: float | None = None
    head: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    margin: str | None = None
    reason: str | None = None


class CompareAnswer(UntrustedAnswer, frozen=True, omit_defaults=True, kw_only=True):
    """What changed from base to head. `verdict` is absent if no rule compares the two."""

    verdict: str | None = None
    direction: Annotated[str, Meta(description="better, worse, mixed, or no clear change: beyond chance.")]
    pairs: Annotated[int, Meta(description="Scenarios of both runs.")]
    broken: int
    fixed: int
    p_value: Annotated[float, Meta(description="Chance of such a difference if as many break as are fixed.")]
    metrics: Annotated[
        tuple[MetricDifference, ...], Meta(description="Those that a rule is about, and those that surely changed.")
    ]
    rules_not_passed: tuple[RuleBrief, ...] = ()
    broken_ids: tuple[str, ...] = ()
    fixed_ids: tuple[str, ...] = ()
    only_in_base: int = 0
    only_in_head: int = 0
    notes: tuple[str, ...] = ()


def answer_compare(asked: CompareArguments, workspace: Workspace) -> CompareAnswer:
    """Compare two runs, as `highbar compare` does."""
    comparison = api.compare(asked.base, asked.head, workspace.chosen_policy(asked.policy))
    document = comparison.to_dict()
    missed = [rule for rule in document["rules"] if rule["outcome"] != "pass"]
    passes = document["passes"]
    return CompareAnswer(
        untrusted=UNTRUSTED,
        verdict=document["verdict"],
        direction=comparison.direction,
        pairs=document["pairs"],
        broken=passes["broken"],
        fixed=passes["fixed"],
        p_value=passes["p_value"],
        metrics=tuple(_difference(name, document["metrics"][name]) for name in _metrics_to_show(document)),
        rules_not_passed=tuple(brief_rule(rule) for rule in missed[:_MOST_RULES]),
        broken_ids=tuple(document["broken"][:_MOST_IDS]),
        fixed_ids=tuple(document["fixed"][:_MOST_IDS]),
        only_in_base=len(document["only_in_base"]),
        only_in_head=len(document["only_in_head"]),
        notes=tuple(document["warnings"][:MOST_NOTES]),
        cut=tuple(
            f"{name}_ids: {_MOST_IDS} of {len(document[name])} are here; highbar compare --format json has all"
            for name in ("broken", "fixed")
            if len(document[name]) > _MOST_IDS
        ),
    )


def _metrics_to_show(document: Mapping[str, Any]) -> list[str]:
    """The names of the pass rate, of the metrics that rules are about, and of those that certainly changed."""
    ruled = {"pass_rate", *(rule["metric"] for rule in document["rules"])}
    return [name for name, one in document["metrics"].items() if name in ruled or one["outcome"] in _CHANGED]


def _difference(name: str, change: Mapping[str, Any]) -> MetricDifference:
    kept = {key: change[key] for key in MetricDifference.__struct_fields__ if key != "metric"}
    return MetricDifference(name, **kept)
