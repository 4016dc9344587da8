"""Judge by two bars at once: the policy as it is, and as it was at a git ref. The worse verdict wins.

A change can then not lower the bar that it is judged by: not the policy, nor the suite, the baseline or the mapping of
it. What it lowered is listed, whatever the verdict.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, cast

from highbar import gate, pipeline
from highbar import policy as policies
from highbar.bar.weakened_baseline import weakened_baseline
from highbar.bar.weakened_policy import weakened
from highbar.errors import InputError, Problem
from highbar.load import revision
from highbar.load.revision import Revision
from highbar.model import Against, Policy, RuleResult, Source, Suite, Verdict, Weakening
from highbar.model.job import SILENT, Job, Watch

_FIRST = "a change that brings the first policy is checked without --against-ref"


def check(job: Job, against_ref: str, watch: Watch = SILENT) -> Verdict:
    """The verdict of `pipeline.check`, made worse by what the policy at the ref says. Raises InputError.

    If the ref, or the policy there, cannot be read, nothing is judged: half of the bar is not the bar.
    """
    with tempfile.TemporaryDirectory(prefix="highbar-") as temporary, _repeatable(job) as again:
        there = revision.at(against_ref, Path(temporary).resolve())
        path = _policy_path(there, job.policy if isinstance(job.policy, str) else None)
        here = policies.choose(job.policy)
        if here.advisory:  # taking the policy away must not leave the choice between two bars to chance
            raise InputError(_taken_away(there, path))
        before = _read_policy(there, path)
        mapping = None if job.map_file is None else str(there.read(there.path(job.map_file)))
        now = pipeline.check(replace(again(), policy=here), watch)
        bar = replace(before, suite=_with_new_scenarios(before.suite, here.suite))
        kept = _baseline(there, before, job.baseline)
        other = replace(
            again(),
            policy=bar,
            map_file=mapping,
            baseline=str(kept) if job.baseline is not None and kept else None,
            wants=replace(job.wants, scenarios=False, details=False),  # the reports show the rows by the policy now
        )
        try:
            then = pipeline.check(other, Watch(watch.progress))
        except InputError as error:
            raise _renamed(error, there) from None
        listed = weakened(before, here)
        lost = weakened_baseline(before, kept, _named(here, job.baseline)) if kept else ()
    if now.results != then.results:
        raise InputError(Problem("the results changed while they were read", hint="run it again"))
    return _merged(now, then, there, (*listed, *lost))


def _baseline(there: Revision, before: Policy, named: str | None) -> Path | None:
    """The baseline of the policy at the ref; None if it compares with none."""
    if not before.compares:
        return None
    if named is None:
        return policies.baseline_file(before)
    path = there.path(named)
    return there.read(path) if there.has(path) else there.folder / path


def _named(here: Policy, named: str | None) -> Path | None:
    return policies.baseline_file(here, named) if named or here.compares else None


def _taken_away(there: Revision, path: str) -> Problem:
    missing = policies.missing()
    hint = f"restore {path}, which {there.ref} has; a change that removes the policy is not judged"
    return Problem(f"--against-ref {there.ref}: {missing.message}", hint=hint)


@contextmanager
def _repeatable(job: Job) -> Iterator[Callable[[], Job]]:
    """A function that gives the job with standard input at its beginning, each time that it is called."""
    if "-" not in job.results or job.stdin is None:
        yield lambda: job
        return
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(job.stdin, copy)

        def again() -> Job:
            copy.seek(0)
            return replace(job, stdin=cast("BinaryIO", copy))

        yield again


def _policy_path(there: Revision, policy: str | None) -> str:
    """Where in the repository the policy was: at the same path, or where it would have been found from here."""
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
    """The policy as it was, with copies of the files that it names beside it."""
    if not there.has(path):
        inside = there.submodule(path)
        if inside is not None:
            message = f"is in the submodule {inside}, of which {there.ref} does not hold the files"
            raise InputError(Problem(message, path, hint="keep the policy outside of submodules"))
        raise InputError(Problem(f"is not there at {there.ref}", path, hint=_FIRST))
    copy = there.read(path)
    for named in policies.names_in(copy):
        beside = there.beside(path, named)
        if there.has(beside):  # else whoever needs it says that it is missing
            there.read(beside)
    try:
        return policies.read(copy)
    except InputError as error:
        raise _renamed(error, there) from None


def _with_new_scenarios(before: Suite | None, now: Suite | None) -> Suite | None:
    """The suite as it was, and what was added since: more scenarios are no lower bar, fewer are."""
    if before is None or now is None:
        return before
    return replace(before, scenarios={**now.scenarios, **before.scenarios})


def _merged(now: Verdict, then: Verdict, there: Revision, listed: tuple[Weakening, ...]) -> Verdict:
    """The verdict now, and every rule of then that did not come out the same now, under the name of the ref.

    The worse of the two verdicts is that of all these rules together: what came out the same is there once.
    """
    told = {_told(rule) for rule in now.rules}
    others = [
        _as_there(rule, there)
        for rule in then.rules
        if _told(replace(rule, reason=there.as_here(rule.reason))) not in told
    ]
    rules = (*now.rules, *others)
    policy = then.policy or Source(there.ref, None)
    listed = tuple(replace(each, before=there.renamed(each.before)) for each in listed)
    judged = gate.decide(then.rules)
    against = Against(there.ref, there.commit, judged, Source(there.renamed(policy.file), policy.sha256), listed)
    slack = set(gate.slack_notes(then.rules))
    notes = [there.renamed(note) for note in then.warnings if note not in slack and note not in now.warnings]
    again = gate.second_run(rules)
    return replace(
        now,
        verdict=gate.decide(rules),
        second_run=again and again.high,
        second_run_low=again and again.low,
        rules=rules,
        warnings=(*against.notes, *now.warnings, *(f"{there.ref}: {note}" for note in notes)),
        against=against,
    )


def _told(rule: RuleResult) -> tuple[object, ...]:
    """What a rule says about the results, wherever it stands and whatever it is described by."""
    return rule.rule, rule.level, rule.outcome, rule.reason, rule.metric, rule.slice, rule.threshold, rule.value


def _as_there(rule: RuleResult, there: Revision) -> RuleResult:
    file = rule.place.file
    place = replace(rule.place, file=there.renamed(file)) if file else rule.place
    return replace(rule, rule=there.name(rule.rule), reason=there.renamed(rule.reason), place=place, slack=None)


def _renamed(error: InputError, there: Revision) -> InputError:
    """The same problems, of which each says that it is one of the bar at the ref."""
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
