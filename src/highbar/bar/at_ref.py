"""Judges by two bars at once: the policy as it is, and as it was at a git ref. The worse verdict wins.

So a change cannot lower the bar that it is judged by: neither the policy nor its suite, baseline or mapping, nor the
checks of a suite that was run. Everything that it lowered is listed, even if the verdict is a pass.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from msgspec.structs import replace

from highbar import gate, measure, pipeline
from highbar import policy as policies
from highbar.bar import regrading
from highbar.bar.on_demand import with_readers
from highbar.bar.weakened_files import weakened_baseline, weakened_labels
from highbar.bar.weakened_policy import weakened
from highbar.engine.opening import reduce
from highbar.errors import InputError, Problem
from highbar.language import formula
from highbar.load import foreign, revision
from highbar.load.refusals import explain_refusals, refuse_columns
from highbar.load.results import open_results
from highbar.load.revision import Revision
from highbar.model import (
    Against,
    BaselineRule,
    ConditionRule,
    NewFailuresRule,
    Policy,
    QuarantineRule,
    Rule,
    RuleResult,
    ScenarioRule,
    Source,
    StepRule,
    SuiteDemands,
    SuiteRule,
    Verdict,
    Weakening,
)
from highbar.model.job import SILENT, Job, JobWatch
from highbar.model.quarantine import AutoQuarantine
from highbar.model.requests import Request, covering
from highbar.verdicts import CheckResult
from highbar.verdicts.notes import POLICY_CHANGED

_NOT_DEMANDED = ("file", "place", "threshold_place", "description", "stage", "folder")
"""Fields of a rule that do not change what it demands of the present version."""
_DOUBTED = "against_ref"
"""The name of the rule that holds what cannot be said for certain about the verdict at the ref."""
_FIRST = "a change that brings the first policy is checked without --against-ref"


def check_against_ref(job: Job, against_ref: str) -> Verdict:
    """The worse of two verdicts: that of `pipeline.check`, and that by the policy at the ref. Raises InputError."""
    return checked_against_ref(job, against_ref).verdict


def checked_against_ref(job: Job, against_ref: str, watch: JobWatch = SILENT) -> CheckResult:
    """The result of `pipeline.check_result`, with that verdict.

    Raises InputError if the ref, or the policy there, cannot be read: one of the two bars alone is not enough.
    """
    with (
        tempfile.TemporaryDirectory(prefix="highbar-") as folder,
        tempfile.TemporaryDirectory(prefix="highbar-") as rows,
        _repeatable(job) as again,
    ):
        there = revision.revision_at(against_ref, Path(folder).resolve())
        path = _policy_path(there, _named(job.policy))
        here = policies.choose(job.policy)
        if here.advisory:  # fail closed: a change that deletes the policy is not judged
            raise InputError(_deleted_policy(there, path))
        before = _read_policy(there, path)
        flaky = _flaky_before(there, path, before, here, job)
        recalls = flaky is not None or before.recalls is not None or here.recalls is not None
        texts = recalls and job.engine.name == "duckdb"  # no other engine computes digests of texts
        job = replace(
            with_readers(job, there),
            flaky=flaky,
            wants=replace(job.wants, texts=job.wants.texts or texts),
            seed=here.seed if here.seed == before.seed else None,
        )
        earlier = replace(
            job,
            policy=replace(before, suite=_with_new_scenarios(before.suite, here.suite)),
            mapping=str(there.read(there.path(job.mapping))) if isinstance(job.mapping, str) else job.mapping,
            # Reports and the history use the policy now, so this check needs no more than the verdict.
            wants=replace(job.wants, scenarios=False, details=False, run=False, texts=texts),
        )
        runs = regrading.runs_in(job.results)
        bounded = _quarantine_bounded(here, before)
        asked = replace(
            again(), policy=bounded, flaky=flaky, recall=job.recall, order=job.order, wants=job.wants, seed=job.seed
        )
        # The rows of runs are not alike: at the ref they are graded by the suite as it was there.
        with _judged_now(asked, earlier, watch, alike=not runs) as (now, judge_earlier):
            earlier_baseline = _baseline_before(there, before, job.baseline)
            named = str(earlier_baseline) if job.baseline is not None and earlier_baseline else None
            graded = regrading.regrade(runs, there, before, Path(rows))
            try:
                then = judge_earlier(replace(earlier, stdin=again().stdin, baseline=named, regraded=graded.rows))
            except InputError as error:
                raise _problems_there(error, there) from None
        listed = (
            *weakened(before, here),
            *weakened_labels(before, here),
            *_weakened_quarantine(before, here),
            *graded.weakened,
        )
        lost = weakened_baseline(before, earlier_baseline, _baseline_now(here, job.baseline))
    # The file was read twice. If it was written in between, the two verdicts are about different results.
    if now.verdict.results != then.verdict.results:
        raise InputError(Problem("the results changed while they were read", hint="run it again"))
    merged = _merge_verdicts(now, then, there, (*listed, *lost), graded.doubts)
    return replace(now, verdict=replace(merged, warnings=(*merged.warnings, *graded.notes)))


def _flaky_before(there: Revision, path: str, before: Policy, here: Policy, job: Job) -> AutoQuarantine | None:
    if before.quarantine is None or before.quarantine.auto is None:
        return None
    from highbar.bar.quarantining import flaky_before  # few policies have one, and it reads the history

    return flaky_before(there, path, before, here, job)


def _quarantine_bounded(here: Policy, before: Policy) -> Policy:
    if here.quarantine is None:
        return here
    from highbar.bar.quarantining import bounded  # as above

    return bounded(here, before)


def _weakened_quarantine(before: Policy, here: Policy) -> Iterator[Weakening]:
    if here.quarantine is not None:
        from highbar.bar.quarantining import weakened_quarantine  # as above

        yield from weakened_quarantine(before, here)


@contextmanager
def _judged_now(
    job: Job, earlier: Job, watch: JobWatch, *, alike: bool
) -> Iterator[tuple[CheckResult, Callable[[Job], CheckResult]]]:
    """The check by the policy now, and a function that checks the same results by the policy at the ref.

    The rows are reduced only once if they are the same for both (`alike`) and both policies read and score them alike.
    """
    policy = policies.choose(job.policy, job.where)
    bar = _bar_alike(job, policy, earlier) if alike else None

    def needs(columns: Sequence[str]) -> tuple[Request, Request | None]:
        now = measure.needs(policy, columns, pipeline.with_order(job.wants, found))
        return now, None if bar is None else covering(now, measure.needs(bar, columns, earlier.wants))

    # One reduction covers both policies: reading the rows twice would double the time of every pull request.
    with open_results(job, policy, watch) as found:
        sums = reduce(found, lambda columns: needs(columns)[1] or needs(columns)[0])

        def judge_earlier(other: Job) -> CheckResult:
            if bar is None or needs(sums.columns)[1] is None:
                return pipeline.check_result(other, JobWatch(watch.progress))
            seen = replace(found, policy=bar)
            with explain_refusals(seen):
                refuse_columns(seen, sums.columns)
            return pipeline.judge_sums(other, bar, seen, sums)

        yield pipeline.judge_sums(job, policy, found, sums), judge_earlier


def _bar_alike(job: Job, policy: Policy, earlier: Job) -> Policy | None:
    """The policy at the ref, if it reads the same rows from the files as the policy now; else None."""
    try:
        bar = policies.choose(earlier.policy, earlier.where)
        alike = foreign.guidance(job.mapping, policy) == foreign.guidance(earlier.mapping, bar)
    except InputError:  # its own check reports the problem, and names the policy
        return None
    return bar if alike else None


def _baseline_before(there: Revision, before: Policy, named: str | None) -> Path | None:
    """The baseline of the policy at the ref; None if that policy does not compare."""
    if not before.comparing:
        return None
    if named is None:
        return policies.baseline_file(before)
    path = there.path(named)
    return there.read(path) if there.has(path) else there.folder / path


def _baseline_now(here: Policy, named: str | None) -> Path | None:
    return policies.baseline_file(here, named) if named or here.comparing else None


def _deleted_policy(there: Revision, path: str) -> Problem:
    missing = policies.missing()
    hint = f"restore {path}, which {there.ref} has; a change that removes the policy is not judged"
    return Problem(f"--against-ref {there.ref}: {missing.message}", hint=hint)


@contextmanager
def _repeatable(job: Job) -> Iterator[Callable[[], Job]]:
    """A function that returns the job with standard input rewound, each time that it is called."""
    if "-" not in job.results or job.stdin is None:
        yield lambda: job
        return
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(job.stdin, copy)

        def again() -> Job:
            copy.seek(0)
            return replace(job, stdin=cast("BinaryIO", copy))

        yield again


def _named(policy: str | Mapping[str, Any] | Policy | None) -> str | None:
    """The path by which a policy was named; None for one that was found, as the command at the ref would find it."""
    if isinstance(policy, Policy):
        found = policies.find_here()
        return None if found is None or policy.file == str(found) else policy.file
    return policy if isinstance(policy, str) else None


def _policy_path(there: Revision, policy: str | None) -> str:
    """The path of the policy in the repository at the ref: the named one, or the one that a search from here finds."""
    if policy == policies.TYPICAL:
        hint = f"name a policy file; {policies.TYPICAL} is the same at every ref of this repository"
        raise InputError(Problem(f"--against-ref {there.ref}: the typical thresholds are no file", hint=hint))
    if policy is not None:
        return there.path(policy)
    for folder in policies.folders():
        inside = [there.path(folder / name) for name in policies.NAMES]
        found = [path for path in inside if there.has(path)]
        if len(found) > 1:
            raise InputError(Problem(f"{there.ref} has two policies, {' and '.join(found)}", hint="name it: --policy"))
        if found:
            return found[0]
    wanted = ", ".join(policies.NAMES)
    raise InputError(
        Problem(f"--against-ref {there.ref}: no policy there, neither here nor above ({wanted})", hint=_FIRST)
    )


def _read_policy(there: Revision, path: str) -> Policy:
    """The policy as it was at the ref, with copies of the files that it names beside it."""
    if not there.has(path):
        inside = there.submodule(path)
        if inside is not None:
            message = f"is in the submodule {inside}, of which {there.ref} does not hold the files"
            raise InputError(Problem(message, path, hint="keep the policy outside of submodules"))
        raise InputError(Problem(f"is not there at {there.ref}", path, hint=_FIRST))
    copy = there.read(path)
    for named in policies.names_in(copy):
        beside = there.beside(path, named)
        if there.has(beside):  # if it is missing, the reader of the policy says so
            regrading.read_with_files(there, beside)
    try:
        return policies.read(copy)
    except InputError as error:
        raise _problems_there(error, there) from None


def _with_new_scenarios(before: SuiteDemands | None, now: SuiteDemands | None) -> SuiteDemands | None:
    """The suite as it was, plus the scenarios added since: more scenarios do not lower the bar, fewer do."""
    if before is None or now is None:
        return before
    return replace(before, scenarios={**now.scenarios, **before.scenarios})


def _merge_verdicts(
    now: CheckResult, then: CheckResult, there: Revision, listed: tuple[Weakening, ...], doubts: Sequence[str]
) -> Verdict:
    """The verdict now, plus every rule of the ref that has changed since or has another outcome, named after the ref.

    The verdict of all these rules together is the worse of the two. A rule that is the same in both is there once. Any
    of the `doubts` makes the verdict at the ref inconclusive at best.
    """
    # Compares what rules demand, not their sentences: the wording of a report must not decide which are the same.
    known = {_key(rule, result, now) for rule, result in zip(now.policy.rules, now.verdict.rules, strict=True)}
    others = [
        _result_there(result, there)
        for rule, result in zip(then.policy.rules, then.verdict.rules, strict=True)
        if _key(rule, result, then) not in known
    ]
    unsure = (RuleResult(there.name(_DOUBTED), "blocking", "inconclusive", "; ".join(doubts)),) if doubts else ()
    rules = (*now.verdict.rules, *others, *unsure)
    policy = then.verdict.policy or Source(there.ref, None)
    listed = tuple(replace(each, before=there.renamed(each.before)) for each in listed)
    judged = gate.decide((*then.verdict.rules, *unsure))
    against = Against(there.ref, there.commit, judged, Source(there.renamed(policy.file), policy.sha256), listed)
    # The policy at the ref is older than the run, so it was not changed to fit the results.
    unsaid = {*gate.slack_notes(then.verdict.rules), POLICY_CHANGED}
    own = now.verdict.warnings
    notes = [there.renamed(note) for note in then.verdict.warnings if note not in unsaid and note not in own]
    again = gate.second_run(rules)
    return replace(
        now.verdict,
        verdict=gate.decide(rules),
        second_run=again and again.high,
        second_run_low=again and again.low,
        rules=rules,
        warnings=(*against.notes, *own, *(f"{there.ref}: {note}" for note in notes)),
        against=against,
    )


def _key(rule: Rule, result: RuleResult, checked: CheckResult) -> tuple[object, ...]:
    """What identifies a rule in both policies: what it demands, the evidence that it was judged by, and its outcome."""
    demand = tuple(getattr(rule, name) for name in rule.__struct_fields__ if name not in _NOT_DEMANDED)
    return type(rule), demand, result.level, result.outcome, result.best, _evidence(rule, result, checked)


def _evidence(rule: Rule, result: RuleResult, checked: CheckResult) -> object:
    """The evidence that a rule was judged by, without paths: the copy of a file has another path than the file."""
    match rule:
        case ScenarioRule():
            return checked.sums.patterns.get(rule.pattern)
        case SuiteRule():
            return checked.sums.suite
        case ConditionRule():
            judged_by = (checked.verdict.metrics.get(name) for name in sorted(formula.names(rule.condition)))
            return (*judged_by, checked.policy.latency_limit)
        case BaselineRule() | StepRule() | NewFailuresRule():
            base = checked.changes and tuple(source.sha256 for source in checked.changes.base.about.sources)
            return result.value, base, checked.verdict.quarantined
        case QuarantineRule():
            return checked.verdict.quarantined
    return result.value


def _result_there(rule: RuleResult, there: Revision) -> RuleResult:
    file = rule.place.file
    place = replace(rule.place, file=there.renamed(file)) if file else rule.place
    return replace(rule, rule=there.name(rule.rule), reason=there.renamed(rule.reason), place=place, slack=None)


def _problems_there(error: InputError, there: Revision) -> InputError:
    """The same problems, each marked as a problem of the policy at the ref."""
    return InputError(
        *(
            replace(
                problem,
                message=f"by the policy at {there.ref}: {there.renamed(problem.message)}",
                file=there.renamed(problem.file) if problem.file else None,
            )
            for problem in error.problems
        )
    )
