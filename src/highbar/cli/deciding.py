"""`highbar run --until-decided`: the check that decides the run, and the lines printed about it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from msgspec.structs import replace

from highbar import pipeline
from highbar.bar.on_demand import with_readers
from highbar.cli.check import BarOptions, ReportOptions
from highbar.errors import InputError, Problem
from highbar.language.phrases import count, some
from highbar.model import DriftRule, Policy, Rule, ScenarioRule, SuiteRule, Verdict
from highbar.model.job import Job, Wants
from highbar.model.rules import demands_of
from highbar.planning.plans import Assumptions
from highbar.planning.sequential import plan_sequential
from highbar.report.early_words import expected_line
from highbar.running.deciding import UntilDecided, describe_scenarios, refuse_undecidable, required_scenarios
from highbar.running.preparing import Prepared
from highbar.running.records import RunPlan


def until_decided(
    plan: RunPlan, bar: BarOptions, reports: ReportOptions, policy: Policy | None, *, subset: bool
) -> UntilDecided:
    """What decides a run: the same check that judges it at its end. Raises InputError if that cannot decide it."""
    if policy is None:  # --resume --no-check of a run that was started with --until-decided
        hint = "--run-all runs every trial; or leave out --no-check"
        raise InputError(
            Problem("run.undecidable", "this run is to stop when it is decided, which takes a verdict", hint=hint)
        )
    refuse_undecidable(policy, plan.chosen, subset=subset, strict=reports.strict)

    def judge(folder: Path) -> Verdict:
        job = replace(bar.on(Job((str(folder),), wants=Wants(subset=subset))), policy=policy)
        if bar.against_ref is None:
            return pipeline.check(with_readers(job))
        from highbar.bar.at_ref import check_against_ref  # few runs need it, or git

        return check_against_ref(job, bar.against_ref, bar.accept_change)

    return UntilDecided(policy, judge, strict=reports.strict)


def expected_lines(prepared: Prepared, policy: Policy) -> Iterator[str]:
    """Lines printed before the first call: how many scenarios it takes to decide, and what cannot be decided early."""
    suite = describe_scenarios(prepared.suite, prepared.plan.order)
    blocking = [rule for rule in policy.rules if rule.level == "blocking"]
    sequential = [rule for rule in blocking if any(demand.is_sequential for demand in demands_of(rule))]
    planned = plan_sequential(replace(policy, suite=suite, rules=tuple(sequential)), Assumptions())
    for _, rows in groupby(planned.early, key=lambda row: row.rule):
        yield f"until decided: {expected_line([*rows])}"
    first = required_scenarios(policy, suite)
    if first:
        yield f"until decided: {count(len(first), 'required scenario')} first; one that fails decides the run"
    late = [rule.name for rule in blocking if _needs_all(rule, is_sequential=bool(sequential))]
    rest = [rule.name for rule in blocking if rule not in sequential and not isinstance(rule, ScenarioRule | SuiteRule)]
    if late:
        yield f"note: {some(late)} can pass only when every trial was run, so only a fail is decided early"
    elif rest:
        yield f"note: decided early only if the rest of the run cannot change it: {some(rest)} (not sequential)"


def _needs_all(rule: Rule, *, is_sequential: bool) -> bool:
    """Whether a rule can pass only if every trial was run.

    A drift rule always; a suite rule unless some rule is sequential, which excuses the rest of the suite.
    """
    return isinstance(rule, DriftRule) or (isinstance(rule, SuiteRule) and not is_sequential)
