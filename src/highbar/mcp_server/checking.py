"""`check` and `explain_rule`: results and a policy in; the verdict, or one of its rules, out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from highbar import api
from highbar import policy as policies
from highbar.engine.limits import MOST_UNDECIDED_LISTED
from highbar.errors import InputError, Problem
from highbar.language.spelling import did_you_mean
from highbar.mcp_server.arguments import (
    IS_PATH,
    AgainstRef,
    PolicyPath,
    ResultPaths,
    ToolArguments,
    UntrustedAnswer,
    Word,
)
from highbar.mcp_server.confinement import Workspace
from highbar.mcp_server.texts import UNTRUSTED
from highbar.model import Against, Policy, Verdict
from highbar.policy.words import say_all
from highbar.report import line

MOST_RULES = 10
"""Rules in one answer; the counts cover all of them."""
MOST_FAILURES = 5
"""Failed scenarios in one answer, the worst first; `list_failures` has more."""
MOST_WEAKENED = 40
"""Lines about what differs from the bar at the ref, in one answer."""
MOST_NOTES = 5
"""Notes in one answer."""
FIX_THE_AGENT = (
    "The bar differs from that of the ref. Unless you were asked to change it, restore it and fix the agent."
)
NOT_GUARDED = "Judged by the policy of the working copy alone. Pass against_ref to see what differs from the bar there."


class CheckArguments(ToolArguments, frozen=True, kw_only=True):
    """The arguments of `check`."""

    results: ResultPaths
    policy: PolicyPath = None
    against_ref: AgainstRef = None


class RuleBrief(Struct, frozen=True, omit_defaults=True):
    """The most important fields of a rule in the verdict document."""

    rule: str
    level: str
    outcome: str
    reason: str
    metric: str | None = None
    threshold: str | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    scenarios: int | None = None
    more_scenarios: Annotated[int | None, Meta(description="About how many more would settle it.")] = None
    file: str | None = None
    line: int | None = None


class FailureBrief(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A scenario that failed or is undecided."""

    id: str
    outcome: Literal["failed", "undecided"]
    reason: str
    category: str | None = None
    required: bool = False
    trials: int = 1
    passed_trials: int = 0


class JudgedBy(Struct, frozen=True, omit_defaults=True):
    """The policy that decided, and if a ref was given, the policy at that git ref."""

    policy: str
    against_ref: str | None = None
    commit: str | None = None
    verdict_there: Annotated[str | None, Meta(description="By the policy at the ref alone.")] = None


class CheckAnswer(UntrustedAnswer, frozen=True, omit_defaults=True, kw_only=True):
    """The verdict, the same as that of `highbar check`."""

    verdict: Literal["pass", "fail", "inconclusive"]
    headline: str
    bar: JudgedBy
    counts: dict[str, int]
    weakened: Annotated[
        tuple[str, ...],
        Meta(description="A diff of what differs from the bar at the ref. If nobody asked for it: restore it."),
    ] = ()
    rules_passed: int
    rules_not_passed: tuple[RuleBrief, ...] = ()
    failures: Annotated[tuple[FailureBrief, ...], Meta(description="The worst few; list_failures has all.")] = ()
    notes: tuple[str, ...] = ()


class ExplainArguments(ToolArguments, frozen=True, kw_only=True):
    """The arguments of `explain_rule`."""

    rule: Annotated[Word, Meta(description="Its name as check gives it: thresholds.blocking.accuracy")]
    results: Annotated[
        tuple[Annotated[str, Meta(extra=IS_PATH)], ...],
        Meta(max_length=100, description="As in check. Without them, only what the rule demands is explained."),
    ] = ()
    policy: PolicyPath = None
    against_ref: AgainstRef = None


class MetricAnswer(Struct, frozen=True, omit_defaults=True):
    """How the metric of a rule is computed."""

    name: str
    formula: str
    better: str
    unit: str
    use_case: str = ""


class ExplainAnswer(UntrustedAnswer, frozen=True, omit_defaults=True, kw_only=True):
    """A rule in words, the place where it is written, how its metric is computed, and its outcome."""

    rule: str
    demands: Annotated[str, Meta(description="The rule as a sentence.")] = ""
    metric: MetricAnswer | None = None
    result: RuleBrief | None = None
    fragile: Annotated[bool, Meta(description="The interval reaches across the threshold.")] = False
    second_run: Annotated[float | None, Meta(description="Chance that a second run has another outcome, at most.")] = (
        None
    )
    undecided: Annotated[tuple[str, ...], Meta(description="Undecided trials that the rule hangs on.")] = ()
    description: str | None = None
    notes: tuple[str, ...] = ()


def answer_check(asked: CheckArguments, workspace: Workspace) -> CheckAnswer:
    """Judge results, as `highbar check` does."""
    path = workspace.demanded_policy(asked.policy)
    verdict = api.check(asked.results, path, against_ref=workspace.chosen_ref(asked.against_ref))
    document = verdict.to_dict()
    missed = [rule for rule in document["rules"] if rule["outcome"] != "pass"]
    missed.sort(key=lambda rule: rule["level"] != "blocking")
    against = verdict.against
    return CheckAnswer(
        untrusted=UNTRUSTED,
        verdict=document["verdict"],
        headline=line.render(verdict),
        bar=_bar(document),
        counts={name: number for name, number in document["counts"].items() if number},
        weakened=() if against is None else _differing(against),
        rules_passed=len(document["rules"]) - len(missed),
        rules_not_passed=tuple(brief_rule(rule) for rule in missed[:MOST_RULES]),
        failures=tuple(islice(failures_in(document), MOST_FAILURES)),
        notes=_notes(verdict, path),
        cut=_cut(document, missed),
    )


def answer_explain(asked: ExplainArguments, workspace: Workspace) -> ExplainAnswer:
    """Say what a rule demands, and if results are named, its outcome for these."""
    path = workspace.demanded_policy(asked.policy)
    policy = policies.read_named(str(path))
    sentences = {rule.name: sentence for rule, sentence in say_all(policy)}
    if not asked.results:
        _refuse_unknown(asked.rule, sentences)
        metric = next((getattr(rule, "metric", None) for rule in policy.rules if rule.name == asked.rule), None)
        return ExplainAnswer(
            untrusted=UNTRUSTED,
            rule=asked.rule,
            demands=sentences[asked.rule],
            metric=_metric(policy, metric),
        )
    document = api.check(asked.results, path, against_ref=workspace.chosen_ref(asked.against_ref)).to_dict()
    rules = {rule["rule"]: rule for rule in document["rules"]}
    _refuse_unknown(asked.rule, rules)
    found = rules[asked.rule]
    return ExplainAnswer(
        untrusted=UNTRUSTED,
        rule=asked.rule,
        demands=sentences.get(asked.rule, ""),  # empty for a rule that only the policy at the ref has
        metric=_metric(policy, found["metric"]),
        result=brief_rule(found),
        fragile=found["fragile"],
        second_run=found["second_run"],
        undecided=tuple(_trial_name(each) for each in found["undecided"]),
        description=found["description"],
        notes=("list_failures has the scenarios behind it",) if found["outcome"] != "pass" else (),
    )


def brief_rule(rule: Mapping[str, Any]) -> RuleBrief:
    """A rule of a verdict or comparison document, with its most important fields only."""
    kept: dict[str, Any] = {name: rule.get(name) for name in RuleBrief.__struct_fields__}
    return RuleBrief(**kept)


def failures_in(document: Mapping[str, Any]) -> Iterator[FailureBrief]:
    """The failed scenarios of a verdict document, then the undecided ones."""
    yield from (FailureBrief(outcome="failed", **one) for one in document["scenarios_failed"])
    yield from (FailureBrief(outcome="undecided", **one) for one in document["scenarios_undecided"])


def _differing(against: Against | None) -> tuple[str, ...]:
    """The first lines of the diff."""
    lines = against.difference.split("\n") if against is not None and against.difference else []
    return tuple(lines[:MOST_WEAKENED])


def _bar(document: Mapping[str, Any]) -> JudgedBy:
    policy, against = document["policy"], document["against"] or {}
    return JudgedBy(policy["file"], against.get("ref"), against.get("commit"), against.get("verdict"))


def _notes(verdict: Verdict, policy: Path) -> tuple[str, ...]:
    """The notes that a reader must not overlook, then the warnings of the verdict; at most `MOST_NOTES`."""
    found = policies.find_here()
    notes = []
    if found is not None and found != policy:
        notes.append(f"judged by {policy}, and not by {found}, which highbar check finds here")
    if verdict.against is None:
        notes.append(NOT_GUARDED)
    elif verdict.against.digest is not None:
        notes.append(FIX_THE_AGENT)
    listed = () if verdict.against is None else verdict.against.notes
    return (*notes, *(each for each in verdict.warnings if each not in listed))[:MOST_NOTES]


def _cut(document: Mapping[str, Any], missed: Sequence[Any]) -> tuple[str, ...]:
    undecided = len(document["scenarios_undecided"])
    failed = document["counts"]["failed"] + undecided
    differing = (document["against"] or {}).get("difference", "").split("\n")
    everything = "highbar check --format json has all"
    listed = (
        ("rules_not_passed", MOST_RULES, len(missed), everything),
        ("failures", MOST_FAILURES, failed, "list_failures has all"),
        ("weakened", MOST_WEAKENED, len(differing), everything),
    )
    cut = (f"{name}: {most} of {number} are here; {rest}" for name, most, number, rest in listed if number > most)
    return (*cut, *unlisted_undecided(undecided))


def unlisted_undecided(number: int) -> tuple[str, ...]:
    """What an answer says if so many undecided scenarios are listed that there may be more: they are not counted."""
    if number < MOST_UNDECIDED_LISTED:
        return ()
    return (f"undecided: only the first {number} are listed and counted; there may be more",)


def _metric(policy: Policy, name: str | None) -> MetricAnswer | None:
    found = policy.metrics.get(name or "")
    if found is None:
        return None
    return MetricAnswer(found.name, found.formula, found.better, found.unit, found.use_case)


def _trial_name(undecided: Mapping[str, Any]) -> str:
    id_, trial = undecided["id"], undecided["trial"]
    return f"{id_}" if trial is None else f"{id_}, trial {trial}"


def _refuse_unknown(rule: str, known: Iterable[str]) -> None:
    names = list(known)
    if rule not in names:
        near = did_you_mean(rule, names)
        there = f"there is {', '.join(names)}"
        raise InputError(
            Problem("mcp.not-found", f"there is no rule {rule!r}", hint=f"{near} {there}" if near else there)
        )
