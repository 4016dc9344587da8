"""What is done with two runs, or with one that is to be kept: compare, and record a baseline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from highbar import gate, pipeline
from highbar import policy as policies
from highbar.baseline import reading, store
from highbar.baseline.against import Kept, excused, kept_in
from highbar.baseline.compare import compare as compare_kept
from highbar.baseline.text import render
from highbar.errors import InputError, Problem
from highbar.language.phrases import some
from highbar.model import Policy, Source, Verdict
from highbar.model.baseline import Baseline, RecordedRule
from highbar.model.comparison import Comparison

NAME = "baseline.json"
"""Where a baseline lies that no policy and no argument names."""

Keep = Callable[[Policy], Kept]
"""How one side of a comparison is read, given the policy by which it is scored."""


def compare(
    base: str, head: str, *, policy: str | Mapping[str, Any] | None = None, slices: Sequence[str] = (), **options: Any
) -> Comparison:
    """What changed from one run to another; each is a results file, a folder or glob of them, or a baseline.

    The other options are those of `pipeline.check`, and hold for both. Raises InputError.
    """
    if base == head == "-":
        raise InputError(Problem("both runs are standard input", hint="name a file for one of them"))
    return compare_runs(keep_file(base, slices, options), keep_file(head, slices, options), policy, slices)


def compare_runs(
    base: Keep, head: Keep, policy: str | Mapping[str, Any] | None, slices: Sequence[str] = ()
) -> Comparison:
    """What changed between two runs that are read by these functions, by the policy that is named or found."""
    read = pipeline.read_policy(policy)
    found = policies.default() if read is None else read
    # A side is not judged by itself, and has its own version; by which columns rules choose scenarios it must know.
    chosen = tuple(dict.fromkeys((*found.slices, *policies.chosen_by(found))))
    scored = replace(found, rules=(), agent_version=None, slices=chosen)
    source = None if read is None else Source(read.file or "<policy>", read.sha256)
    judged = found if read is not None else scored
    before, after = base(scored), head(scored)
    if {record.id for record in before.records}.isdisjoint(record.id for record in after.records):
        raise InputError(_nothing_in_common(before, after))
    return compare_kept(judged, before, after, slices=slices, source=source)


def _nothing_in_common(before: Kept, after: Kept) -> Problem:
    shown = [", ".join(record.id for record in run.records[:3]) for run in (before, after)]
    message = f"no scenario is in both runs, so nothing can be compared: {shown[0]} in the base, {shown[1]} in the head"
    return Problem(message, hint="the same scenario must have the same id in both runs")


def keep_file(name: str, slices: Sequence[str], options: Mapping[str, Any]) -> Keep:
    """A side that is a file."""

    def keep(policy: Policy) -> Kept:
        if reading.is_baseline(name):
            return kept_in(reading.read(name))
        return pipeline.keep([name], policy, slices=slices, **options)

    return keep


@dataclass(frozen=True, slots=True)
class Recorded:
    """A baseline that was written, where, and whether it took the place of another."""

    baseline: Baseline
    file: str
    replaced: bool
    reasons: tuple[str, ...]  # why it took force


def record(
    results: Sequence[str],
    *,
    file: str | None = None,
    policy: str | None = None,
    date: str | None = None,
    force: str | None = None,
    **options: Any,
) -> Recorded:
    """Keep a run as the baseline: only a complete one that passes, or with `force`, which is the reason that is stored.

    The other options are those of `pipeline.check`. Raises InputError, and then nothing was written.
    """
    read = pipeline.read_policy(policy)
    if read is None:  # nothing says that the run is one to hold others against
        raise InputError(policies.missing())
    target = Path(file) if file else _target(read)
    seen = store.digest(target)
    before = reading.read(target) if seen is not None else None
    found: list[Kept] = []
    verdict = pipeline.check(results, policy=read, allow_missing_baseline=True, kept=found.append, **options)
    _refuse_undecided(found[0], str(target))
    reasons = _reasons(verdict, _gone(read, found[0], before))
    if reasons and not force:
        hint = "--force REASON records it all the same; the reason is stored and shown in every report"
        raise InputError(*(Problem(reason, str(target), hint=hint) for reason in reasons))
    baseline = made(verdict, found[0], date, force if reasons else None)
    store.write(target, render(baseline), seen=seen)
    return Recorded(baseline, str(target), seen is not None, reasons)


def _refuse_undecided(run: Kept, target: str) -> None:
    """A baseline says what became of every trial; by force, too, nobody can know that of an undecided one."""
    ids = [id_ for id_, _ in run.undecided]
    if ids:
        message = f"the run has undecided trials in {len(ids)} scenario{'' if len(ids) == 1 else 's'}: {some(ids, 5)}"
        raise InputError(Problem(message, target, hint="judge them and check again: a baseline must be complete"))


def _target(policy: Policy | None) -> Path:
    if policy is None or policy.file is None:
        return Path(NAME)
    return policies.baseline_file(policy, Path(policy.file))


def _reasons(verdict: Verdict, gone: Sequence[str]) -> tuple[str, ...]:
    """Why a run is not one to hold others against."""
    found = []
    if verdict.verdict != "pass":
        missed = [rule.rule for rule in verdict.rules if rule.level == "blocking" and rule.outcome != "pass"]
        word = "failed" if verdict.verdict == "fail" else "is inconclusive"
        found.append(f"the run {word}: {some(missed, 5)}")
    if gone:
        found.append(f"the run is not complete: {len(gone)} of the present baseline without a result: {some(gone, 5)}")
    return tuple(found)


def _gone(policy: Policy | None, kept: Kept, before: Baseline | None) -> list[str]:
    """The scenarios of the present baseline that should have a result and have none."""
    there = {record.id for record in kept.records}
    missing = [scenario.id for scenario in before.scenarios if scenario.id not in there] if before else []
    return [id_ for id_ in missing if policy is None or not excused(policy, id_)]


def made(verdict: Verdict, kept: Kept, date: str | None, forced: str | None) -> Baseline:
    """The baseline of a run that was judged; `forced` is why it is recorded all the same, where it took force."""
    return Baseline(
        scenarios=kept.records,
        metrics={name: value for name, value in sorted(verdict.metrics.items()) if value.value is not None},
        rules=tuple(
            RecordedRule(rule.rule, rule.metric, rule.slice, rule.threshold, rule.value)
            for rule in verdict.rules
            if rule.metric is not None and rule.value is not None and rule.value.value is not None
        ),
        verdict=gate.decide(verdict.rules),
        agent_version=verdict.agent_version,
        date=date,
        forced=forced,
        confidence=verdict.confidence,
        scoring=kept.scoring,
        judges=kept.judges,
        suites=kept.suites,
        policy=verdict.policy,
        suite=kept.suite,
        results=verdict.results,
    )


def place(policy: str | None) -> Path:
    """Where the baseline lies that the policy names, or that is the only one that can be meant."""
    return _target(pipeline.read_policy(policy))
