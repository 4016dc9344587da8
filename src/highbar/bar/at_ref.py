"""Judges by two bars at once: the policy as it is, and as it was at a git ref. The worse verdict wins.

So a change cannot lower the bar that it is judged by: neither the policy nor its suite, baseline or mapping, nor the
checks of a suite that was run. What differs is shown, even if the verdict is a pass.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from msgspec.structs import replace

from highbar import measure, pipeline
from highbar import policy as policies
from highbar.bar import regrading
from highbar.bar.differences import differences, digest_of, refuse_other_digest
from highbar.bar.merging import merge_verdicts, problems_there
from highbar.bar.on_demand import with_readers
from highbar.bar.policy_there import (
    baseline_there,
    deleted_policy,
    named_policy,
    policy_path,
    read_policy,
    with_least_steps,
)
from highbar.engine.opening import reduce
from highbar.engine.row_checks import NO_ROW
from highbar.errors import InputError, Problem
from highbar.language.phrases import some_and_more
from highbar.load import foreign, revision
from highbar.load.refusals import explain_refusals, refuse_columns
from highbar.load.results import open_results
from highbar.load.revision import Revision
from highbar.model import (
    Policy,
    Verdict,
)
from highbar.model.job import SILENT, Job, JobWatch
from highbar.model.origin import read_origin
from highbar.model.requests import Request, covering
from highbar.running.watched import refuse_startup_code
from highbar.verdicts import CheckResult


def check_against_ref(job: Job, against_ref: str, accept: str | None = None) -> Verdict:
    """The worse of two verdicts: that of `pipeline.check`, and that by the policy at the ref. Raises InputError."""
    return checked_against_ref(job, against_ref, accept).verdict


def checked_against_ref(job: Job, against_ref: str, accept: str | None = None, watch: JobWatch = SILENT) -> CheckResult:
    """The result of `pipeline.check_result`, with that verdict; that at the ref is advice if `accept` is its digest.

    Raises InputError if the ref, or the policy there, cannot be read: one of the two bars alone is not enough.
    """
    with (
        tempfile.TemporaryDirectory(prefix="highbar-") as folder,
        tempfile.TemporaryDirectory(prefix="highbar-") as rows,
        _repeatable(job) as again,
    ):
        there = revision.revision_at(against_ref, Path(folder).resolve())
        refuse_startup_code(there.root.resolve(), against_ref)
        path = policy_path(there, named_policy(job.policy))
        here = policies.choose(job.policy)
        if here.advisory:  # fail closed: a change that deletes the policy is not judged
            raise InputError(deleted_policy(there, path))
        before = read_policy(there, path)
        recalls = before.recalls is not None or here.recalls is not None
        texts = recalls and job.engine.name == "duckdb"  # no other engine computes digests of texts
        job = replace(
            with_readers(job, there),
            wants=replace(job.wants, texts=job.wants.texts or texts),
            seed=here.seed if here.seed == before.seed else None,
        )
        runs = regrading.runs_in(job.results)
        earlier = replace(
            job,
            policy=before if runs else with_least_steps(before, (regrading.version_of_policy(there, before),)),
            mapping=str(there.read(there.path(job.mapping))) if isinstance(job.mapping, str) else job.mapping,
            # Reports and the history use the policy now, so this check needs no more than the verdict.
            wants=replace(job.wants, scenarios=False, details=False, run=False, texts=texts, within_suite=True),
        )
        bounded = _quarantine_bounded(here, before)
        read = {name: getattr(job, name) for name in ("recall", "order", "wants", "seed")}
        asked = replace(again(), policy=bounded, **read)
        # The rows of runs are not alike: at the ref they are graded by the suite as it was there.
        with _judged_now(asked, earlier, watch, alike=not runs) as (now, judge_earlier):
            baseline = baseline_there(there, before, job.baseline)
            graded = _regraded(job, now, there, before, Path(rows))
            if runs:
                earlier = replace(
                    earlier,
                    policy=with_least_steps(before, graded.versions),
                    order=regrading.order_among(earlier.order, graded.scenarios),
                )
            named = str(baseline) if job.baseline is not None and baseline else None
            judging = replace(earlier, stdin=again().stdin, baseline=named, regraded=graded.rows)
            then, nothing = _judged_there(lambda: judge_earlier(judging), now, there, before, graded)
        doubts = tuple(dict.fromkeys((*graded.doubts, *nothing, *_doubts(there))))
        words = (*graded.differs, *_demands(before, here, job), *doubts)
        suites = _suites(there, before, here, graded)
        files = (*_files(there, path, here, job), *suites)
        differs = differences(there, files, suites, words, code=graded.code, first=_policies(there, path, here))
    # The file was read twice. If it was written in between, the two verdicts are about different results.
    if not set(then.verdict.results) <= set(now.verdict.results):
        raise InputError(Problem("file.changed", "the results changed while they were read", hint="run it again"))
    if accept is not None:
        refuse_other_digest(accept, differs, there)
    merged = merge_verdicts(now, then, there, differs, doubts, accepted=accept is not None)
    notes = (*graded.notes, *_only_here(then, there), *_outside(there, job))
    return replace(now, verdict=replace(merged, warnings=(*merged.warnings, *notes)))


def _judged_there(
    judge: Callable[[], CheckResult], now: CheckResult, there: Revision, before: Policy, graded: regrading.Regraded
) -> tuple[CheckResult, tuple[str, ...]]:
    """The check at the ref; without a row of its scenarios no rule, and a doubt, which somebody may accept."""
    try:
        return judge(), ()
    except InputError as error:
        if not graded.nothing and all(one.message != NO_ROW.message for one in error.problems):
            raise problems_there(error, there) from None
    nothing = replace(now, policy=replace(before, rules=()), verdict=replace(now.verdict, rules=()))
    return nothing, (regrading.nothing_there(there),)


def _files(there: Revision, path: str, here: Policy, job: Job) -> Iterator[str]:
    """The paths in the repository of the files that the verdict of either side depends on, without the suites."""
    yield path
    yield from (there.beside(path, name) for name in policies.names_in(there.folder / path))
    named = [job.baseline, job.mapping if isinstance(job.mapping, str) else None, here.file]
    named += policies.files_named_in(Path(here.file)) if here.file is not None else ()
    named += [str(policies.baseline_file(here, job.baseline))] if here.comparing else []
    yield from filter(None, (there.inside(name) for name in named if name is not None))


def _policies(there: Revision, path: str, here: Policy) -> frozenset[str]:
    now = None if here.file is None else there.inside(here.file)
    return frozenset({path, *([now] if now else [])})


def _suites(there: Revision, before: Policy, here: Policy, graded: regrading.Regraded) -> frozenset[str]:
    """The paths in the repository of the suites of both sides."""
    mine = here.suite and there.inside(here.suite.file)
    theirs = before.suite and there.place_of(before.suite.file)
    return frozenset(path for path in (mine, theirs, *graded.files) if path)


def _demands(before: Policy, here: Policy, job: Job) -> Iterator[str]:
    """Digests of what a diff of files may lack: scenarios from more files than the suite's, a policy without a file."""
    theirs, mine = (one.suite and one.suite.scenarios for one in (before, here))
    if theirs and mine and theirs != mine:
        yield f"scenarios that the suite demands: {digest_of(mine)}"
    if isinstance(job.policy, Mapping):
        yield f"a policy that is in no file: {digest_of(job.policy)}"


def _doubts(there: Revision) -> Iterator[str]:
    link = there.link_to(there.path("."))
    if link is not None:
        yield f"a link leads to the working folder: {link}"


def _regraded(job: Job, now: CheckResult, there: Revision, before: Policy, rows: Path) -> regrading.Regraded:
    """The rows of runs as the suite at the ref grades them, in the folders of the runs or wherever they lie."""
    of_run = any(origin is not None for origin, _ in now.sums.origins)
    runs = regrading.runs_in(job.results)
    if (of_run or runs) and (job.table is not None or job.engine.reads_paths or "-" in job.results):
        message = f"the rows of a run are graded by the suite at {there.ref}, and only those in files can be"
        raise InputError(
            Problem("ref.not-regradable", message, hint="hand over the folder of the run, without --engine")
        )
    graded = regrading.regrade(runs, there, before, rows)
    if not of_run:
        return graded
    from highbar.bar.copied_rows import may_call_functions, with_copies  # few results are rows of runs

    found = with_copies(graded, job.results, there, before, rows)
    if found is graded:
        return found
    suites = {origin.id.partition("-")[2] for text, _ in now.sums.origins if (origin := read_origin(text)) is not None}
    found = replace(found, code=found.code or may_call_functions(suites, found.files, there))
    if found.doubts == graded.doubts:
        return found
    return replace(found, differs=(*found.differs, f"graded by the suite {', '.join(sorted(suites))}"))


def _only_here(then: CheckResult, there: Revision) -> Iterator[str]:
    """A note about the rows that take no part at the ref."""
    suite = then.policy.suite
    if then.sums.outside and suite is not None:
        yield regrading.only_here(there, there.place_of(suite.file), then.sums.outside)


def _outside(there: Revision, job: Job) -> Iterator[str]:
    """A note about what the pipeline handed over from outside of the repository."""
    named = (*(path for path in job.results if path != "-"), *([job.baseline] if job.baseline else []))
    outside = [path for path in named if there.inside(path) is None]
    if outside:
        yield f"{there.ref}: taken as it is, from outside of the repository: {some_and_more(outside)}"


def _quarantine_bounded(here: Policy, before: Policy) -> Policy:
    """The policy now, with only the part of its quarantine that the policy at the ref has too.

    So no change can quarantine a failure of its own. What it adds counts once it is merged.
    """
    if here.quarantine is None:
        return here
    then = before.quarantine or {}
    days = {id_: (until, then[id_]) for id_, until in here.quarantine.items() if id_ in then}
    return replace(here, quarantine={id_: min(filter(None, both), default=None) for id_, both in days.items()})


@contextmanager
def _judged_now(
    job: Job, earlier: Job, watch: JobWatch, *, alike: bool
) -> Iterator[tuple[CheckResult, Callable[[Job], CheckResult]]]:
    """The check by the policy now, and a function that checks the same results by the policy at the ref.

    The rows are reduced only once if they are the same for both (`alike`) and both policies read and score them alike.
    """
    policy = policies.choose(job.policy, job.where)
    bar = _bar_alike(job, policy, earlier) if alike else None

    wants = replace(earlier.wants, within_suite=False)

    def needs(columns: Sequence[str]) -> tuple[Request, Request | None]:
        now = measure.needs(policy, columns, pipeline.with_order(job.wants, found))
        return now, None if bar is None else covering(now, measure.needs(bar, columns, wants))

    # One reduction covers both policies: reading the rows twice would double the time of every pull request.
    with open_results(job, policy, watch) as found:
        sums = reduce(found, lambda columns: needs(columns)[1] or needs(columns)[0])

        def judge_earlier(other: Job) -> CheckResult:
            added = sums.suite is not None and sums.suite.extra
            if bar is None or added or other.regraded or needs(sums.columns)[1] is None:
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
