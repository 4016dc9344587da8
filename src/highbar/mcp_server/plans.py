"""`plan`: how many scenarios a clear verdict takes, by results, by a policy, or by numbers alone."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta
from msgspec.structs import asdict

from highbar import api
from highbar import policy as policies
from highbar.mcp_server.arguments import IS_PATH, PolicyPath, ToolAnswer, ToolArguments, Word
from highbar.mcp_server.confinement import Workspace
from highbar.planning import Plan
from highbar.planning.questions import PlanOptions, answer_numbers, answer_rules, read_question
from highbar.store.plan import write
from highbar.verdicts.settling import plan_from

_ASKED = ("suppositions", "suites", "chances", "differences", "rules", "sequential")


class PlanArguments(ToolArguments, frozen=True, kw_only=True):
    """The arguments of `plan`: a question about results, about numbers alone, or by default about the policy."""

    results: Annotated[
        tuple[Annotated[str, Meta(extra=IS_PATH)], ...],
        Meta(max_length=100, description="As in check: what would settle each rule."),
    ] = ()
    policy: PolicyPath = None
    threshold: Annotated[Word | None, Meta(description="A share to reach: 85%.")] = None
    rate: Annotated[
        tuple[str, ...], Meta(max_length=10, description="Supposed true rates, with threshold: ['90%'].")
    ] = ()
    scenarios: Annotated[Annotated[int, Meta(ge=1, le=10**9)] | None, Meta(description="What so many can show.")] = None
    difference: Annotated[Word | None, Meta(description="Between two versions, to be shown: 5%.")] = None
    trials: Annotated[
        Annotated[int, Meta(ge=1, le=10**6)] | None, Meta(description="Of each scenario, with threshold and icc.")
    ] = None
    icc: Annotated[Word | None, Meta(description="How alike the trials of a scenario are: 0.3.")] = None
    sequential: Annotated[
        bool,
        Meta(description="For a run that stops as soon as it is decided."),
    ] = False


class PlanAnswer(ToolAnswer, frozen=True, omit_defaults=True, kw_only=True):
    """The plan document of `highbar plan --format json`, without the parts that were not asked for."""

    assumptions: dict[str, Any]
    policy: str | None = None
    suppositions: tuple[dict[str, Any], ...] = ()
    suites: tuple[dict[str, Any], ...] = ()
    chances: tuple[dict[str, Any], ...] = ()
    differences: tuple[dict[str, Any], ...] = ()
    rules: tuple[dict[str, Any], ...] = ()
    sequential: tuple[dict[str, Any], ...] = ()
    joint: dict[str, Any] | None = None


def answer_plan(asked: PlanArguments, workspace: Workspace) -> PlanAnswer:
    """Say how many scenarios a clear verdict takes, as `highbar plan` does."""
    document = write(_plan(asked, workspace))
    kept: dict[str, Any] = {name: tuple(_without_nulls(one) for one in document[name]) for name in _ASKED}
    assumptions = _without_nulls(document["assumptions"])
    return PlanAnswer(assumptions=assumptions, policy=document["policy"], joint=document["joint"], **kept)


def _plan(asked: PlanArguments, workspace: Workspace) -> Plan:
    question = read_question(PlanOptions(**asdict(asked)))
    if question.options.results:
        return plan_from(api.check(question.options.results, workspace.demanded_policy(asked.policy)))
    if not question.options.about_policy:
        return answer_numbers(question)
    policy = policies.read_named(str(workspace.demanded_policy(asked.policy)))
    known = policies.resolve_version(policy, given=policy.agent_version) if policy.agent_version else policy
    return answer_rules(known, question)


def _without_nulls(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if value is not None}
